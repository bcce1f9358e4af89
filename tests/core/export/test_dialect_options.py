"""Each option of `evaluate` as text for other engines, run on those that need no server."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import sqleval
from sqleval import DataError, RequestError
from sqleval.errors import UnmatchedRows
from sqleval.export.statement import export_statement
from tests.core.export.test_dialects import NAMES
from tests.support.engines import HERE, Engine
from tests.support.support_matrix import compare
from tests.support.versions import is_older


def _rows() -> dict[str, pa.Table]:
    random = np.random.default_rng(11)
    n = 300
    label = random.integers(0, 2, n)
    score = np.round(np.clip(random.normal(0.35 + 0.3 * label, 0.2), 0, 1), 2)
    # 0.0 and -0.0 are equal scores; a score just below 0.25 must not be rounded to it.
    score[score == 0] *= (-1.0) ** np.arange(np.count_nonzero(score == 0))
    score[:2] = 0.24999999999999997, 0.25
    flaws = random.random(n) < 0.05
    preds = pl.DataFrame(
        {
            "id": np.arange(n),
            "y": pl.Series(label, dtype=pl.Int32),
            "p": score,
            "holed": pl.Series(score).scatter(np.flatnonzero(flaws), None),
            "q": np.round(random.random(n), 3),
            "far": np.where(np.arange(n) == 7, 1.5, score),
            "w": np.round(random.random(n) * 3, 1),
            "debt": np.where(np.arange(n) == 9, -1.0, 1.0),
            "c": random.integers(0, 3, n),
            "kind": [("x", "y'z", "ü")[i] for i in random.integers(0, 3, n)],
            "word": [("no", "yes")[i] for i in label],
            "flag": label == 1,
            "decided": [("no", "yes")[i] for i in random.integers(0, 2, n)],
            "a": [("a1", "a2", None)[i] for i in random.integers(0, 3, n)],
            "b": [("b1", "b2")[i] for i in random.integers(0, 2, n)],
            "fold": random.integers(1, 4, n),
            "part": [("train", "validation", "test")[i] for i in random.integers(0, 3, n)],
        }
    )
    late = pl.DataFrame({"id": np.arange(40, n + 10)}).join(
        preds.select("id", "y"), on="id", how="left"
    )
    late = late.with_columns(truth=pl.col("y").fill_null(1)).drop("y")
    cells = pl.DataFrame({"run": ["r1", "r2"], "hits": [5, 8], "fa": [2, 0], "miss": [1, 4],
                          "cr": [9, 3], "n": [3, 2]})  # fmt: skip
    counted = preds.group_by("y", "p", "b").len("n").sort("y", "p", "b")
    counted = counted.with_columns(pl.col("n").cast(pl.Int64))
    blank = preds.head(20).with_columns(p=pl.when(pl.col("b") == "b1").then(pl.col("p")))
    repeated = pl.concat([late, late.head(1)])
    lists = preds.select("fold", "a", "b", "p", doc=pl.col("id") % 60)
    lists = lists.unique(["fold", "b", "doc"], maintain_order=True)
    judged = pl.DataFrame({"fold": [1, 2, 3, 4]}).join(
        pl.DataFrame({"doc": np.arange(40, 80)}), how="cross"
    )
    judged = judged.with_columns(grade=pl.Series(random.integers(0, 3, judged.height)))
    found = {"preds": preds, "late": late, "cells": cells, "counted": counted, "blank": blank,
             "repeated": repeated, "lists": lists, "judged": judged}  # fmt: skip
    return {name: _plain(frame.to_arrow()) for name, frame in found.items()}


def _plain(table: pa.Table) -> pa.Table:
    kinds = {pa.large_string(): pa.string(), pa.string_view(): pa.string()}
    schema = [(field.name, kinds.get(field.type, field.type)) for field in table.schema]
    return table.cast(pa.schema(schema))


TABLES = _rows()


class Call(NamedTuple):
    """A request: metrics or one curve of a table, with options."""

    metrics: list[str]
    table: str = "preds"
    roles: Mapping[str, Any] = {"label": "y", "score": "p"}
    options: Mapping[str, Any] = {}
    #: Engines whose SQL lacks a needed function.
    but: tuple[str, ...] = ()


#: Roles, conditions, sets of slices, thresholds and metrics are independent parts of a statement,
#: so every value of an option is requested once, several values together. All statements of
#: `test_dialects` drop rows with a missing value, and one of them predicts classes.
ASKED = {
    "where, overall": Call(["roc_auc", "log_loss"],
                            options={"where": "b = 'b1' AND (w > 1.5 OR a IS NULL) AND c IN (0, 2)",
                                     "by": ["a", "b"], "sets": "overall"}),
    "where true, rollup": Call(["precision"], options={"where": "(p >= 0.25) IS TRUE",
                                                       "by": ["a", "b"], "sets": "rollup"}),
    "cube, positive": Call(["f1"], options={"by": ["a", "b"], "sets": "cube"},
                            roles={"label": "word", "score": "p", "positive": "yes"}),
    "sets, threshold": Call(["recall"],
                             roles={"label": "y", "score": "far", "threshold": 0.7},
                             options={"by": ["a", "b"], "sets": [["b"], ["a", "b"]]}),
    "over": Call(["roc_auc(average='macro')", "f1(average='micro')", "recall"],
                  options={"over": "fold", "by": "b"}),
    "ci, queries": Call(["ndcg"], roles={"label": "c", "score": "p", "qid": "fold"},
                         options={"ci": 0.9, "by": "b"}, but=("SQLite",)),
    "role, by, zero_division": Call(["precision(zero_division=1.0)", "roc_auc"],
                                     options={"role": "part", "by": "b", "threshold": 2.0}),
    "cells": Call(["f1", "accuracy"], "cells",
                   {"counts": {"tp": "hits", "fp": "fa", "fn": "miss", "tn": "cr"}, "by": "run"}),
    "counts": Call(["precision", "average_precision"], "counted",
                    {"label": "y", "score": "p", "counts": "n", "by": "b"}),
    "labels, where": Call(["average_precision", "precision"], but=("ClickHouse",),
                           roles={"label": "truth", "score": "p"},
                           options={"labels": "late", "on": "id", "by": "a",
                                    "where": "b = 'b1'"}),
    "items of labels": Call(["ndcg", "ndcg(k=5)"], "lists", but=("ClickHouse",),
                             roles={"label": "grade", "score": "p", "qid": "fold"},
                             options={"labels": "judged", "on": ["fold", "doc"], "by": "b",
                                      "where": "a = 'a1'"}),
    # Without weights, `test_dialects` requests the interval of every method.
    "ci, weight": Call(["log_loss", "precision"], options={"ci": 0.95, "weight": "w"}),
    "bins": Call(["average_precision", "brier_score"], options={"bins": 5, "by": "a"}),
    "bins, ci, weight": Call(["roc_auc", "recall"],
                              options={"bins": 5, "ci": 0.95, "weight": "w"}),
    "bins, curve": Call(["roc_curve"], options={"bins": 4, "by": "b"}),
    "no rows": Call(["roc_auc", "log_loss", "recall"], "blank",
                     options={"nulls": "drop", "by": "b"}),
    "no rows at all": Call(["average_precision", "precision"], options={"where": "b = 'none'"}),
    # A logarithm of 0 is an error in PostgreSQL, and NULL in Spark and SQLite.
    "truth": Call(["ks", "log_loss(eps=0)"],
                   roles={"label": "flag", "score": "p", "positive": True, "by": "fold"}),
    "falsehood": Call(["f1"], roles={"label": "flag", "prediction": "flag", "positive": False},
                       options={"task": "binary", "by": "b"}),
    "decided": Call(["cohen_kappa"],
                     roles={"label": "word", "prediction": "decided", "positive": "yes"}),
    "models, all positive": Call(["roc_auc", "recall"],
                                  roles={"label": "y", "score": {"one": "p", "it's": "q"}},
                                  options={"threshold": -np.inf}),
    "two decisions": Call(["f1(average='macro')", "recall(average=None)"],
                           roles={"label": "kind", "prediction": {"same": "kind", "other": "kind"}},
                           options={"task": "multiclass"}),
    "confusion": Call(["confusion"], options={"by": "b", "threshold": 0.3}),
}  # fmt: skip


@contextmanager
def start(make: Callable[[], Engine]) -> Iterator[Engine]:
    """Start an engine that has the tables."""
    with make() as running:
        for name, rows in TABLES.items():
            running.load(name, rows)
        yield running


@pytest.fixture(scope="module", params=NAMES)
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    with start(HERE[request.param]) as running:
        yield running


def _frame(asked: Call) -> pl.DataFrame:
    """Return the result of the front end."""
    given = {**asked.roles, **asked.options}
    own: dict[str, Any] = {name: given.pop(name) for name in ("ci", "bins") if name in given}
    if "ci" in own:
        own["replicates"] = 0  # a text has only the intervals in closed form
    if "labels" in given:
        given["labels"] = TABLES[given["labels"]]
    bound = sqleval.scan(TABLES[asked.table], **given)
    if asked.metrics == ["confusion"]:
        return bound.confusion().collect()
    if asked.metrics[0].endswith("_curve"):
        return bound.curve(asked.metrics[0], **own).collect()
    return bound.evaluate(asked.metrics, **own).collect()


@cache
def _noticed(name: str) -> tuple[pl.DataFrame, set[str]]:
    """Return the result of the front end and its warnings, once for all engines."""
    with warnings.catch_warnings(record=True) as noticed:
        warnings.simplefilter("always", UnmatchedRows)
        return _frame(ASKED[name]), {str(each.message) for each in noticed}


@cache
def _read_error(name: str) -> str:
    """Return the error that the front end raises, once for all engines."""
    with pytest.raises(DataError) as raised:
        _frame(WRONG[name])
    return str(raised.value)


@cache
def _text(dialect: str, shown: str) -> str:
    """Return the statement of a request, which engines of one dialect share."""
    asked = next(each for each in (*ASKED.values(), *WRONG.values()) if str(each) == shown)
    sql = export_statement(asked.metrics, dialect, asked.table, **asked.roles, **asked.options)
    return sql.rstrip().rstrip(";")


def _ran(engine: Engine, asked: Call) -> pl.DataFrame:
    found = engine.run(_text(engine.dialect, str(asked)))
    names = [name.lower() for name in found.columns]
    return pl.DataFrame(found.rows, schema=names, orient="row", infer_schema_length=None)


def _whole(engine: Engine, output: str | None) -> str | None:
    """Return a sentence with its counts as whole numbers, which fakesnow writes as DOUBLE."""
    is_snowflake = engine.name == "Snowflake (fakesnow)"
    return re.sub(r"\.0(?=[ ;])", "", output) if output and is_snowflake else output


@pytest.mark.parametrize("name", ASKED)
def test_options_give_what_evaluate_gives(engine: Engine, name: str) -> None:
    asked = ASKED[name]
    if "log_loss(eps=0)" in asked.metrics and is_older("duckdb", "2"):
        pytest.skip("DuckDB 1 raises an error for the logarithm of 0")
    if engine.name in asked.but:
        with pytest.raises(RequestError, match=f"{engine.name} |cannot be used with"):
            export_statement(
                asked.metrics, engine.dialect, asked.table, **asked.roles, **asked.options
            )
        return
    found = _ran(engine, asked)
    assert found["_problem"].null_count() == found.height
    want, noticed = _noticed(name)
    assert {_whole(engine, message) for message in found["_notice"]} == (noticed or {None})
    assert bool(noticed) is (name == "labels, where")
    found, want = (each.drop("method", strict=False) for each in (found, want))
    assert found.columns == [*want.columns, "_problem", "_notice"]
    assert compare(found.drop("_problem", "_notice").rows(), want.rows()) == ""


_AS_IS = {"label": "y", "score": "p"}
WRONG = {
    "missing": Call(["roc_auc"], roles={"label": "y", "score": "holed"}, options={"by": "a"}),
    "missing in a model": Call(["ks"], roles={"label": "y", "score": {"s": "p", "t": "holed"}}),
    "missing value": Call(["rmse"], roles={"label": "p", "prediction": "holed"}),
    "several labels": Call(["roc_auc"], roles={"label": "c", "score": "p"}),
    "several words": Call(["roc_auc"], roles={"label": "kind", "score": "p", "positive": "x"}),
    "negative weight": Call(["roc_auc"], roles={**_AS_IS, "weight": "debt"}, options={"by": "b"}),
    "domain": Call(["log_loss"], roles={"label": "y", "score": "far"}),
    "default threshold": Call(["f1"], roles={"label": "y", "score": "far"}, options={"by": "b"}),
    "part of a row": Call(["f1"], roles={**_AS_IS, "counts": "w"}),
    "role": Call(["f1"], roles=_AS_IS, options={"role": "b"}),
    "class": Call(["log_loss"],
                   roles={"label": "c", "score": {0: "p", 1: "q"}, "task": "multiclass"}),
    "repeated key": Call(["f1"], roles={"label": "truth", "score": "p"}, but=("ClickHouse",),
                          options={"labels": "repeated", "on": "id"}),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_verdict_is_the_error_that_evaluate_raises(engine: Engine, name: str) -> None:
    asked = WRONG[name]
    if engine.name in asked.but:
        return
    (problem,) = set(_ran(engine, asked)["_problem"])
    # A number that is DOUBLE there is written differently.
    verdict, error = (
        str(each).partition(" such as ")[0] for each in (_whole(engine, problem), _read_error(name))
    )
    assert verdict == error


_LACKING = [
    ({"where": "p > 0.5; DROP TABLE preds"}, "sqlite", "must be one condition"),
    ({"where": "kind LIKE 'x%'"}, "postgres", "Like is not read alike by all engines"),
    ({"where": "year(day) = 2026"}, "postgres", "Year is not read alike by all engines"),
    ({"where": "nearly(p, 1)"}, "postgres", "NEARLY is not read alike by all engines"),
    ({"where": "day >= DATE '2026-01-01'"}, "sqlite", "SQLite has no DATE; compare texts"),
    ({"labels": "late", "on": "id"}, "clickhouse", "cannot be used with ClickHouse, whose FULL"),
    ({"labels": "late; --", "on": "id"}, "spark", "--labels 'late; --' must be the name of"),
    ({"labels": "late"}, "spark", "labels= and on= go together"),
    ({"ci": 95}, "spark", "ci=95 must be a number between 0 and 1"),
    ({"bins": 99}, "spark", "bins=99 must be a whole number"),
    ({"sets": "overall"}, "spark", "needs by="),
    ({"nulls": "keep"}, "spark", "nulls='keep' must be 'error' or 'drop'"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "dialect", "message"), _LACKING)
def test_an_option_that_a_dialect_lacks_is_refused(options, dialect, message) -> None:
    with pytest.raises(RequestError, match=message):
        export_statement(["roc_auc"], dialect, "preds", label="y", score="p", **options)


def test_an_interval_is_for_metrics() -> None:
    with pytest.raises(RequestError, match="is for metrics, and roc_curve is a curve"):
        export_statement(["roc_curve"], "spark", "preds", label="y", score="p", ci=0.9)


@pytest.mark.parametrize(("dialect", "name"), [
    ("sqlite", 's."order"'), ("snowflake", 's."ORDER"'),
])  # fmt: skip
def test_a_reserved_word_is_quoted(dialect: str, name: str) -> None:
    sql = export_statement(["f1"], dialect, "preds", label="y", score="p", by="order")
    assert f"{name} AS slice_1" in sql


def test_sqlite_writes_a_value_with_a_limit_once() -> None:
    sql = export_statement(["gini"], "sqlite", "preds", label="y", score="p", ci=0.9)
    assert re.search(r"COALESCE\(\s*MAX\(", sql)
    assert not re.search(r"COALESCE\(\s*0e0", sql)


def test_the_comment_on_counts_names_them_once() -> None:
    cells = {"tp": "a", "fp": "b", "fn": "c", "tn": "d"}
    sql = export_statement(["f1"], "spark", "preds", counts=cells)
    assert "such as that a, b, c, d is NULL, NaN or infinite.\n" in sql


def test_a_name_stays_within_its_comment() -> None:
    sql = export_statement(["roc_auc"], "spark", "preds", label="y\n; DROP TABLE preds", score="p")
    assert "\n; DROP" not in sql.partition("WITH")[0]
