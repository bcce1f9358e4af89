"""Every kind of source gives the numbers of the same rows in one Parquet file."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import adbc_driver_sqlite.dbapi as sqlite
import polars as pl
import pytest
from sklearn.metrics import roc_auc_score

import sqleval
from sqleval import RequestError
from tests.support.comparison import assert_frame_equal
from tests.support.ducklakes import unpack
from tests.support.flights import FEW, METRICS, ROLES, ROWS
from tests.support.sources import (
    MAKERS,
    NAMES,
    READ_ONCE,
    as_dataset,
    as_frame,
    as_lazy_frame,
    as_path,
    as_relation,
    as_sqlite_file,
    as_table,
    as_uncommitted_table,
)

#: A curve has another statement, so it is tried on one source of each way to the engine: read by
#: the engine, from memory, as a stream, in batches, from another connection or within it.
WITH_CURVE = (as_path, as_frame, as_lazy_frame, as_dataset, as_relation, as_table)


@pytest.fixture(scope="module")
def curve(one_file: Path) -> pl.DataFrame:
    """Return the ROC curve of the rows in one file."""
    points = sqleval.scan(one_file, **ROLES).curve("roc").collect()
    assert points.height > 100
    assert points["tpr"].max() == 1
    return points


@pytest.mark.parametrize("make", MAKERS, ids=NAMES)
def test_same_numbers_as_one_file(
    make: Callable[[Path], dict[str, Any]],
    tmp_path: Path,
    expected: pl.DataFrame,
    curve: pl.DataFrame,
) -> None:
    """A source that can be read again is evaluated twice."""
    bound = sqleval.scan(**make(tmp_path), **ROLES)
    first, second = (METRICS, []) if make in READ_ONCE else (FEW[:1], FEW[1:])
    if make in WITH_CURVE:
        first, second = FEW, []
        assert_frame_equal(bound.curve("roc").collect(), curve)
    for names in filter(None, (first, second)):
        wanted = expected.filter(pl.col("metric").is_in(names))
        assert_frame_equal(bound.evaluate(names).collect(), wanted)


def test_a_connection_of_adbc(tmp_path: Path, expected: pl.DataFrame) -> None:
    as_sqlite_file(tmp_path)
    with sqlite.connect(str(tmp_path / "rows.sqlite")) as con:
        bound = sqleval.scan("rows", con=con, **ROLES)
        assert_frame_equal(bound.evaluate(METRICS).collect(), expected)


def test_a_ducklake(tmp_path: Path) -> None:
    """DuckDB's extension wrote the lake, so it holds other rows."""
    lakes = unpack(tmp_path)
    rows = pl.read_parquet(lakes / "sqlite" / "rows.parquet")
    roles: dict[str, Any] = {"label": "y", "score": "p", "by": "day", "nulls": "drop"}
    lake = sqleval.scan(f"ducklake:{lakes}/sqlite/lake.sqlite#preds", **roles).evaluate("roc_auc")
    frame = sqleval.scan(rows.filter(snapshot=rows["snapshot"].max()), **roles).evaluate("roc_auc")
    assert_frame_equal(lake.collect().drop("method"), frame.collect().drop("method"))


def test_the_numbers_are_those_of_scikit_learn(expected: pl.DataFrame) -> None:
    used = ROWS.filter(pl.col("month") != 9)
    assert expected["carrier"].unique().sort().to_list() == [None, "AA", "DL"]
    for (carrier,), rows in used.group_by("carrier"):
        got = expected.filter(pl.col("carrier").eq_missing(pl.lit(carrier)))
        auc = got.filter(pl.col("metric") == "roc_auc")
        reference = roc_auc_score(rows["delayed"], rows["p"], sample_weight=rows["w"])
        assert auc["value"].item() == pytest.approx(reference, rel=1e-12)
        assert auc["n"].item() == rows.height


def test_the_connection_is_left_as_it_was(tmp_path: Path) -> None:
    con = as_uncommitted_table(tmp_path)["con"]
    before = con.execute("SELECT view_name FROM duckdb_views() ORDER BY ALL").fetchall()
    labels = ROWS.select("key", "delayed")
    bound = sqleval.scan(
        "later", con=con, score="p", label="delayed", labels=labels.lazy(), on="key"
    )
    bound.evaluate("roc_auc").collect()
    assert con.execute("SELECT view_name FROM duckdb_views() ORDER BY ALL").fetchall() == before
    con.execute("ROLLBACK")
    assert con.execute("SELECT COUNT(*) FROM rows").fetchall() == [(ROWS.height,)]


def test_a_relation_keeps_its_connection_usable(tmp_path: Path) -> None:
    con = as_table(tmp_path)["con"]
    result = sqleval.scan(con.table("rows"), **ROLES).evaluate(METRICS)
    result.collect()
    con.execute("DELETE FROM rows WHERE carrier = 'AA'")
    assert result.collect()["carrier"].unique().sort().to_list() == [None, "DL"]


def test_python_variables_are_not_tables() -> None:
    hidden = ROWS
    with pytest.raises(sqleval.SqlevalError, match="hidden"):
        sqleval.scan(query="SELECT * FROM hidden", label="delayed", score="p")
    assert hidden.height


def test_wrong_sources_are_refused() -> None:
    for column in (ROWS["p"], ROWS["p"].to_arrow(), ROWS["p"].to_pandas()):
        with pytest.raises(RequestError, match="which has no named columns"):
            sqleval.scan(column, label="y", score="p")
    with pytest.raises(RequestError, match="cannot evaluate a pandas"):
        sqleval.scan(ROWS.to_pandas().columns, label="y", score="p")
    with pytest.raises(
        RequestError,
        match=r"cannot evaluate a builtins\.dict; give a path.* Iceberg .* DuckLake .* ADBC cursor",
    ):
        sqleval.scan({"y": [0, 1]}, label="y", score="y")
    with pytest.raises(RequestError, match="give a source or query=, not both"):
        sqleval.scan(ROWS, query="SELECT 1", label="y", score="y")
