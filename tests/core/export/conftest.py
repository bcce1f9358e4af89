"""A DuckDB console with the macros and a table of predictions."""

from collections.abc import Iterator

import duckdb
import polars as pl
import pytest

from sqleval.export.macro_script import write_script
from tests.support.cases import drawn
from tests.support.macros import create_table


@pytest.fixture(scope="session")
def console() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as con:
        con.execute(write_script())
        frame = drawn("binary", 60).with_columns(c=pl.col("p").round(), q=pl.col("h"), a="p", b="w")
        create_table(con, frame, "preds")
        yield con
