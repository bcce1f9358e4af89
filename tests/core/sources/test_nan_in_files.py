"""NaN in a large Parquet file is noticed, although the file's statistics leave it out."""

from pathlib import Path
from typing import Any

import deltalake
import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

import sqleval
from sqleval import DataError
from tests.support.comparison import assert_frame_equal

#: Only above this number of rows does the engine optimize, and read statistics.
_N = 100_000


def _make_rows() -> pl.DataFrame:
    rng = np.random.default_rng(7)
    rows = pl.DataFrame({"y": rng.integers(0, 2, _N), "p": rng.random(_N), "x": 3 * rng.random(_N),
                         "key": np.arange(_N)})  # fmt: skip
    holes = pl.Series(rng.random(_N) < 0.05)
    nan = pl.lit(float("nan"))
    rows = rows.with_columns(
        x=pl.when(holes).then(nan).otherwise("x"),
        # There is a single value beside NaN, so that the minimum equals the maximum.
        size=pl.when(holes).then(nan).otherwise(1.5),
    )
    return rows.with_columns(f=pl.col("x").cast(pl.Float32))


ROWS = _make_rows()
ROLES: dict[str, Any] = {"label": "y", "score": "p"}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("nan") / "rows.parquet"
    pq.write_table(ROWS.to_arrow(), path, row_group_size=20_000)
    return path


def _count(source: Any, where: str) -> int:
    bound = sqleval.scan(source, where=where, **ROLES)
    return bound.evaluate("prevalence").collect()["n"].item()


@pytest.mark.parametrize("column", ["x", "f", "size"])
@pytest.mark.parametrize(
    ("where", "is_kept"),
    [
        ("isnan({})", True),
        ("{} >= 5", True),
        ("5 < {}", True),
        ("NOT ({} < 5)", True),
        ("{} IN (CAST('nan' AS DOUBLE), 7)", True),
        ("{} * 2 >= 10 OR key < 0", True),
        ("{} BETWEEN 5 AND CAST('nan' AS DOUBLE)", True),
        ("{} <= 5", False),
        ("NOT isnan({})", False),
        ("CASE WHEN {} >= 5 THEN FALSE ELSE TRUE END", False),
    ],
)
def test_conditions_see_nan(where: str, is_kept: bool, column: str, path: Path) -> None:
    nan = int(ROWS[column].is_nan().sum())
    assert nan > 0
    assert _count(path, where.format(column)) == (nan if is_kept else _N - nan)


def test_computed_keys_see_nan(path: Path) -> None:
    by = {"big": "x >= 5", "band": "cut(x, [1, 9])"}
    got = sqleval.scan(path, by=by, **ROLES).evaluate("prevalence").collect()
    want = sqleval.scan(ROWS, by=by, **ROLES).evaluate("prevalence").collect()
    assert_frame_equal(got, want)
    assert got.filter("big")["band"].to_list() == [None]


def test_qcut_judges_the_condition_with_nan(path: Path) -> None:
    by = {"half": "qcut(p, 2)"}
    got = sqleval.scan(path, by=by, where="f >= 5", **ROLES).evaluate("prevalence").collect()
    assert got["n"].sum() == ROWS["f"].is_nan().sum()
    assert abs(got["n"][0] - got["n"][1]) <= 1


def test_a_filter_of_the_result_keeps_the_key_nan(path: Path) -> None:
    result = sqleval.scan(path, by="size", **ROLES).evaluate("prevalence")
    kept = result.filter(pl.col("size") > 2)
    assert kept.collect()["n"].to_list() == [ROWS["size"].is_nan().sum()]


def test_splits_see_nan(path: Path) -> None:
    folds = sqleval.split(path, method="kfold", key="key", n_splits=2, where="x >= 5").collect()
    assert folds["key"].n_unique() == ROWS["x"].is_nan().sum()
    with pytest.raises(DataError, match=r"the time of .* rows of .* is NULL or NaN"):
        sqleval.split(path, method="expanding", key="key", n_splits=2, time="size").collect()


def test_a_table_whose_files_have_floats_where_it_has_doubles(tmp_path: Path) -> None:
    # DuckDB 1.5 would round the constant to the type of the file: 0.7 is above 0.7 as a FLOAT.
    table = tmp_path / "table"
    single = ROWS.with_columns(
        pl.col("p").cast(pl.Float32), pl.col("x", "size").cast(pl.Float32)
    ).drop("f")
    single = single.with_columns(
        pl.when(pl.col("key") % 9 == 0).then(0.7).otherwise("p").alias("p").cast(pl.Float32)
    )
    wide = single.cast({"p": pl.Float64, "x": pl.Float64, "size": pl.Float64})
    deltalake.write_deltalake(table, wide.to_arrow())
    (file,) = table.glob("*.parquet")
    log = table / "_delta_log" / f"{0:020}.json"
    size = file.stat().st_size
    pq.write_table(single.to_arrow(), file, row_group_size=20_000)
    log.write_text(log.read_text().replace(f'"size":{size}', f'"size":{file.stat().st_size}'))
    bound = sqleval.scan(table, **ROLES)
    assert bound.source.files  # the engine itself reads them
    for where, kept in {
        "p >= 0.7": pl.col("p") >= 0.7,
        "p < 0.7": pl.col("p") < 0.7,
        "p = 0.7": pl.col("p") == 0.7,
        "x >= 5": pl.col("x").is_nan(),
        "isnan(size)": pl.col("size").is_nan(),
    }.items():
        assert _count(table, where) == wide.filter(kept).height, where
