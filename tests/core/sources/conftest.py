"""The rows in one Parquet file, and their metrics."""

from pathlib import Path

import polars as pl
import pytest

import sqleval
from tests.support.flights import FEW, METRICS, ROLES, ROWS


@pytest.fixture(scope="session")
def one_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the rows to one Parquet file."""
    path = tmp_path_factory.mktemp("one") / "rows.parquet"
    ROWS.write_parquet(path)
    return path


@pytest.fixture(scope="session")
def expected(one_file: Path) -> pl.DataFrame:
    """Return the metrics of that file."""
    return sqleval.scan(one_file, **ROLES).evaluate(METRICS).collect()


@pytest.fixture(scope="session")
def few(expected: pl.DataFrame) -> pl.DataFrame:
    """Return some of these metrics, without their methods."""
    return expected.filter(pl.col("metric").is_in(FEW)).drop("method")
