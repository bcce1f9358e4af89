"""Several thresholds in one request: one pass over the rows, and the values of each by itself."""

from collections.abc import Sequence

import duckdb
import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from sklearn import metrics as sk

import sqleval
from sqleval.catalog.catalogue import builtin

#: Metrics that are made of the counts of decisions.
NAMES = [
    relation.name
    for relation in builtin().relations("metric")
    if relation.task == "two classes" and "decision_counts" in builtin().closure(relation.name)
]
THRESHOLDS = (0.1, 0.25, 0.55, 0.7, 0.9, 1.5)
TOLERANCE = {"rel_tol": 1e-12, "abs_tol": 1e-12}


def _make_rows(rows: int = 3000) -> pl.DataFrame:
    rng = np.random.default_rng(58)
    score = rng.random(rows).round(2)
    return pl.DataFrame(
        {
            "y": (rng.random(rows) < score).astype(np.int8),
            "p": score,
            "q": rng.random(rows).round(2),
            "f": score.astype(np.float32),
            "w": rng.random(rows) + 0.5,
            "n": rng.integers(0, 4, rows),
            "g": rng.choice(["a", "b", "c"], rows),
        }
    )


def _ask(names: Sequence[str], thresholds: Sequence[float]) -> list[str]:
    return [f"{name}(threshold={threshold})" for name in names for threshold in thresholds]


def test_values_are_those_of_scikit_learn() -> None:
    rows = _make_rows()
    calls = {"precision": sk.precision_score, "recall": sk.recall_score, "f1": sk.f1_score}
    bound = sqleval.scan(rows, label="y", score="p", weight="w")
    result = bound.evaluate(_ask(list(calls), THRESHOLDS[:-1])).collect()
    values = dict(result.select("metric", "value").iter_rows())
    for name, call in calls.items():
        for threshold in THRESHOLDS[:-1]:
            decided = rows["p"].to_numpy() >= threshold
            wanted = call(rows["y"], decided, sample_weight=rows["w"])
            value = values[f"{name}(threshold={threshold})"]
            assert value == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize(
    "roles",
    [
        {"score": "p"},
        {"score": "f"},
        {"score": "p", "by": "g"},
        {"score": "p", "weight": "w", "by": "g"},
        {"score": "p", "counts": "n"},
        {"score": {"one": "p", "two": "q"}},
        {"score": {"one": "p", "two": "q"}, "threshold": {"one": 0.3, "two": 0.6}},
        {"score": {"one": "p", "two": "f"}},
        {"score": "p", "over": "g"},
    ],
    ids=str,
)
@pytest.mark.parametrize("ci", [None, 0.9])
def test_each_value_is_that_of_the_threshold_alone(roles: dict, ci: float | None) -> None:
    bound = sqleval.scan(_make_rows(400), label="y", **roles)
    usable = [name for name in NAMES if builtin().get(name).header.get("weights") != "none"]
    names = usable if {"weight", "counts"} & {*roles} else NAMES
    asked = [*_ask(names, THRESHOLDS[:3]), "accuracy"]
    together = bound.evaluate(asked, ci=ci, replicates=0).collect()
    alone = [bound.evaluate(each, ci=ci, replicates=0).collect() for each in asked]
    assert_frame_equal(together, pl.concat(alone), check_row_order=False, **TOLERANCE)


def test_the_rows_are_read_once_for_any_number_of_thresholds(tmp_path) -> None:
    path = str(tmp_path / "rows.parquet")
    _make_rows().write_parquet(path)
    bound = sqleval.scan(path, label="y", score="p")

    def count_scans(asked: Sequence[str]) -> int:
        rows = duckdb.execute(f"EXPLAIN {bound.sql(asked)}").fetchall()
        return sum(text.count("READ_PARQUET") for _, text in rows)

    one = count_scans(["precision(threshold=0.3)"])
    assert one > 0
    thresholds = [each / 51 for each in range(1, 51)]
    assert count_scans(_ask(["precision", "recall", "expected_cost"], thresholds)) == one
