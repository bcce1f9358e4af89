"""A second engine gives the frame that DuckDB gives, through the same interface and calls."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import sqleval
from sqleval import DataError, RequestError, SourceError
from tests.support.engines import PostgreSQL
from tests.support.postgres_engine import PostgresEngine

pytestmark = pytest.mark.slow  # the server is the same beside every version of DuckDB


@pytest.fixture(scope="module")
def rows() -> pl.DataFrame:
    rng = np.random.default_rng(5)
    n = 300
    label = rng.integers(0, 2, n)
    return pl.DataFrame(
        {
            "y": label,
            "p": np.round(np.clip(rng.normal(0.4 + 0.2 * label, 0.2), 0, 1), 2),
            "q": np.round(rng.random(n), 2),
            "seg": rng.choice(["a", "b", "c"], n),
            "fold": rng.integers(1, 4, n),
            "w": rng.integers(0, 4, n).astype(float),
            "c": rng.choice(["x", "y", "z"], n),
            "d": rng.choice(["x", "y", "z"], n),
        }
    ).with_columns(gap=pl.when(pl.col("p") < 0.9).then("p"))


@pytest.fixture(scope="module")
def engine(rows: pl.DataFrame) -> Iterator[PostgresEngine]:
    with PostgreSQL() as server:
        server.load("preds", rows.to_arrow())
        yield PostgresEngine(server._connection)


SCORED: dict[str, Any] = {"label": "y", "score": "p"}
CALLS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "the default set": (SCORED, {}),
    "slices": ({**SCORED, "by": "seg"}, {}),
    "intervals": (SCORED, {"ci": 0.95}),
    "bins": (SCORED, {"metrics": ["roc_auc", "f1", "average_precision"], "bins": 5}),
    "weights": ({**SCORED, "weight": "w"}, {}),
    "models": ({"label": "y", "score": {"one": "p", "two": "q"}, "by": "seg"}, {}),
    "a condition": ({**SCORED, "where": "seg <> 'a'"}, {"metrics": ["roc_auc", "log_loss"]}),
    "folds": ({**SCORED, "over": "fold"}, {"metrics": ["f1(average='macro')"]}),
    "sets of keys": ({**SCORED, "by": ["seg", "fold"], "sets": "cube"}, {"metrics": "roc_auc"}),
    "classes": ({"label": "c", "prediction": "d", "task": "multiclass"}, {}),
    "missing scores": ({"label": "y", "score": "gap", "nulls": "drop"}, {}),
    "a gap": ({**SCORED, "by": "seg", "sets": "overall"}, {"metrics": "ks", "gap": True}),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_frame_is_that_of_duckdb(name: str, rows: pl.DataFrame, engine: PostgresEngine) -> None:
    roles, call = CALLS[name]
    wanted = sqleval.scan(rows, **roles).evaluate(**call).collect()
    found = sqleval.scan("preds", **roles, engine=engine).evaluate(**call).collect()
    keys = [key for key in wanted.columns if key not in ("value", "low", "high", "method", "note")]
    order = [key for key in keys if key not in ("n", "n_dropped")]
    # Which units an engine takes is its own choice: rows where it has a twin for them.
    drop = ["method"]
    assert found.schema == wanted.schema
    assert_frame_equal(
        found.drop(drop).sort(order), wanted.drop(drop).sort(order), abs_tol=1e-12, rel_tol=1e-12
    )
    assert "read_parquet" not in engine.statements[-1]


@pytest.mark.parametrize("curve", ["roc", "pr", "calibration", "gain_table"])
def test_curves_are_those_of_duckdb(curve: str, rows: pl.DataFrame, engine: PostgresEngine) -> None:
    roles = {**SCORED, "by": "seg"}
    wanted = sqleval.scan(rows, **roles).curve(curve).collect()
    found = sqleval.scan("preds", **roles, engine=engine).curve(curve).collect()
    assert_frame_equal(found, wanted, abs_tol=1e-12)


def test_a_filter_reaches_the_server(rows: pl.DataFrame, engine: PostgresEngine) -> None:
    lazy = sqleval.scan("preds", **SCORED, by="seg", engine=engine).evaluate("roc_auc")
    found = lazy.filter(pl.col("seg") == "b").select("seg", "value").collect()
    part = rows.filter(seg="b")
    wanted = sqleval.scan(part, **SCORED).evaluate("roc_auc").collect()["value"].item()
    assert found.rows() == [("b", pytest.approx(wanted, abs=1e-12))]


def test_errors_are_those_of_duckdb(engine: PostgresEngine) -> None:
    with pytest.raises(SourceError, match="cannot read nowhere"):
        sqleval.scan("nowhere", **SCORED, engine=engine)
    with pytest.raises(RequestError, match="no such column in preds; did you mean"):
        sqleval.scan("preds", label="y", score="pp", engine=engine)
    lazy = sqleval.scan("preds", label="y", score="gap", engine=engine).evaluate("roc_auc")
    with pytest.raises(DataError, match=r"score='gap' is NULL or NaN in \d+ of 300 rows"):
        lazy.collect()
    with pytest.raises(RequestError, match="the engine of postgres cannot be configured here"):
        engine.configure({"threads": 1})
