"""The statement as text runs where it is pasted, and each of its steps can be seen."""

import math
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Literal

import duckdb
import polars as pl
import pytest

import sqleval
from sqleval import DataError, RequestError
from sqleval.export.statement import export_statement
from tests.support.comparison import assert_frame_equal
from tests.support.lazy import FLIGHTS, METRICS, SMALL, flights

PLANS: list[Literal["rows", "few", "numbered", "sorted", "groups"]] = [
    "rows", "few", "numbered", "sorted", "groups",
]  # fmt: skip
LEVELS = [None, 0.9]
ALL_ROLES: dict[str, dict[str, Any]] = {
    "whole": {},
    "two keys": {"by": ["month", "carrier"], "where": "origin = 'JFK'", "threshold": 0.3},
    "weighted": {"weight": "w", "by": "carrier"},
}
#: Every plan with every set of roles; each of them also with and without intervals.
PASTED = [
    (name, LEVELS[(place + other) % 2], plan)
    for place, name in enumerate(ALL_ROLES)
    for other, plan in enumerate(PLANS)
]


@pytest.fixture(scope="module")
def evaluate_roles(
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[str, float | None], tuple[sqleval.Predictions, pl.DataFrame]]:
    """Return a function that scans under some roles, and evaluates the predictions once."""
    path = tmp_path_factory.mktemp("flights") / "rows.parquet"
    frame = pl.scan_parquet(FLIGHTS, hive_partitioning=True).filter(
        pl.col("carrier").is_in(["AA", "VX"]), pl.col("key").hash(1) % 4 == 0
    )
    frame.with_columns(w=pl.col("key") % 3).collect().write_parquet(path)

    @cache
    def evaluate(name: str, ci: float | None) -> tuple[sqleval.Predictions, pl.DataFrame]:
        roles = ALL_ROLES[name]
        bound = sqleval.scan(path, label="delayed", score="p_boosted", nulls="drop", **roles)
        return bound, bound.evaluate(METRICS, ci=ci, replicates=0).collect()

    return evaluate


@pytest.mark.parametrize(("threshold", "accuracy"), [(math.inf, 0.75), (-math.inf, 0.25)])
def test_an_infinite_threshold(threshold: float, accuracy: float) -> None:
    rows = pl.DataFrame({"y": [0, 0, 0, 1], "p": [0.1, 0.2, 0.3, 0.4], "q": [0.4, 0.3, 0.2, 0.1]})
    bound = sqleval.scan(rows, label="y", score="p", threshold=threshold)
    with duckdb.connect() as con:
        con.register("predictions", rows.to_arrow())
        pasted = sqleval.scan(
            "predictions", label="y", score="p", threshold=threshold, con=con
        ).sql("accuracy")
        assert con.sql(pasted).pl()["value"].item() == accuracy
        of_relation = sqleval.scan(
            con.table("predictions"), label="y", score="p", threshold=threshold
        )
        assert of_relation.evaluate("accuracy").collect()["value"].item() == accuracy
    assert bound.evaluate("accuracy").collect()["value"].item() == accuracy
    models = sqleval.scan(rows, label="y", score={"a": "p", "b": "q"}, threshold=threshold)
    found = models.compare("accuracy").collect()
    assert found.select("value", "baseline_value").row(0) == (accuracy, accuracy)


@pytest.mark.parametrize(("roles", "ci", "plan"), PASTED)
def test_the_statement_runs_as_pasted(
    roles: str,
    ci: float | None,
    plan: Literal["rows", "few", "numbered", "sorted", "groups"],
    evaluate_roles: Callable[[str, float | None], tuple[sqleval.Predictions, pl.DataFrame]],
) -> None:
    bound, expected = evaluate_roles(roles, ci)
    pasted = duckdb.connect().sql(bound.sql(METRICS, ci=ci, plan=plan)).pl()
    assert pasted["_problem"].null_count() == pasted.height
    # Only `method` names the plan.
    assert_frame_equal(pasted.drop("_problem", "_notice", "method"), expected.drop("method"))


def test_the_statement_says_what_each_relation_holds() -> None:
    frame = pl.DataFrame({"y": [0, 1], "p": [0.1, 0.8]})
    text = sqleval.scan(frame, label="y", score="p").sql(["precision", "recall"])
    assert "predictions AS NOT MATERIALIZED (\n  -- the usable rows\n  SELECT" in text
    assert "  -- precision, recall\n" in text
    assert not re.search(r"^ *\($", text, re.MULTILINE)  # short parentheses stay on their line
    exported = export_statement(["roc_auc"], "snowflake", "preds", label="y", score="p")
    assert "(\n  /* positives and negatives at each distinct score */\n  SELECT" in exported
    assert "(ABS(label) <= 1.7976931348623157e308)" in exported


def test_the_statement_with_its_parameters_is_the_same() -> None:
    bound = flights(by="month", where="carrier = 'VX'")
    kept = bound.sql(METRICS, params=True)
    assert "$threshold" in kept
    assert "$" not in bound.sql(METRICS)
    statement = bound.statement(METRICS)
    got = duckdb.connect().sql(kept, params=dict(statement.params)).pl()
    expected = bound.evaluate(METRICS).collect()
    assert_frame_equal(got.drop("_problem", "_notice", "method"), expected.drop("method"))


@pytest.mark.parametrize("curve", ["roc_curve", "pr", "confusion"])
def test_the_statement_of_a_curve_runs_as_pasted(curve: str) -> None:
    bound = flights(by="month", where="carrier = 'VX'")
    pasted = duckdb.connect().sql(bound.sql(curve)).pl()
    result = bound.confusion() if curve == "confusion" else bound.curve(curve)
    expected = result.collect()
    assert_frame_equal(pasted.drop("_problem", "_notice").cast(dict(expected.schema)), expected)


def test_the_pasted_statement_raises_errors_of_the_data() -> None:
    bound = sqleval.scan(FLIGHTS, label="delayed", score="p_boosted")
    pasted = duckdb.connect().sql(bound.sql("roc_auc")).pl()
    with pytest.raises(DataError) as raised:
        bound.evaluate("roc_auc").collect()
    assert pasted["_problem"].to_list() == [str(raised.value)]
    assert "in 3950 of 170618 rows" in str(raised.value)


def test_the_statement_of_class_scores_runs_as_pasted() -> None:
    bound = sqleval.scan(
        FLIGHTS,
        label="delay_class",
        score={"on time": "on_time_boosted", "minor": "minor_boosted", "major": "major_boosted"},
        task="multiclass",
        nulls="drop",
        by="month",
        where="carrier = 'VX'",
    )
    pasted = duckdb.connect().sql(bound.sql()).pl()
    expected = bound.evaluate().collect()
    assert_frame_equal(pasted.drop("_problem", "_notice", "method"), expected.drop("method"))


@pytest.mark.parametrize("kind", ["file", "frame", "stream"])
def test_every_step_can_be_seen(kind: str, path: Path) -> None:
    source: Any = {"file": path, "frame": SMALL, "stream": SMALL.lazy()}[kind]
    bound = sqleval.scan(source, label="y", score="p", by="g")
    # From the file fewer rows than there are, from the others all rows.
    most = 3 if kind == "file" else 1000
    seen = list(bound.steps(METRICS, rows=most))
    ctes = bound.statement(METRICS).ctes
    assert [name for name, _, _ in seen] == [cte.name for cte in ctes]
    assert {"_source", "_audit", "predictions", "cutoffs", "outcomes", "_results"} <= {
        name for name, _, _ in seen
    }
    for name, sql, rows in seen:
        assert sql in [cte.sql for cte in ctes]
        assert rows.height <= most
        assert rows.width, name
    shown = {name: rows for name, _, rows in seen}
    assert set(shown["predictions"].columns) >= {"label", "score", "weight"}
    assert shown["predictions"].height == min(SMALL.height, most)
    assert shown["_results"].height == min(3 * len(METRICS), most)


def test_the_steps_show_bad_rows_instead_of_raising() -> None:
    bad = SMALL.with_columns(p=pl.lit(None, pl.Float64))
    steps = sqleval.scan(bad, label="y", score="p").steps("roc_auc")
    shown = {name: rows for name, _, rows in steps}
    assert "is NULL or NaN in 8 of 8 rows" in shown["_audit"]["problem"].item()


def test_the_sql_of_a_curve_has_no_bands() -> None:
    bound = sqleval.scan(query="SELECT 1 AS y, 0.5 AS p", label="y", score="p")
    for call in (bound.sql, bound.statement):
        with pytest.raises(RequestError, match="ci= is for the SQL of metrics, but roc_curve is a"):
            call("roc_curve", ci=0.95)
