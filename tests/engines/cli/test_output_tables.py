"""`--output` writes a result to a table of a Delta lake, or of PostgreSQL."""

from collections.abc import Iterator
from pathlib import Path

import deltalake
import polars as pl
import psycopg
import pytest

from tests.support.commands import run
from tests.support.engines import PostgreSQL
from tests.support.flights import FLIGHTS

ROLES = ["--label", "delayed", "--score", "p_boosted", "--nulls", "drop", "--by", "carrier"]


@pytest.fixture(scope="module")
def server() -> Iterator[PostgreSQL]:
    with PostgreSQL() as engine:
        yield engine


def connect(server: PostgreSQL) -> psycopg.Connection:
    return psycopg.connect(server.url, autocommit=True)


def evaluate(output: str, *others: str, code: int = 0) -> str:
    metrics = others or ("-m", "roc_auc", "-m", "f1")
    return run(
        "evaluate", str(FLIGHTS / "predictions"), *ROLES, *metrics, "--output", output, code=code
    ).stderr


def read_file(folder: Path, *others: str) -> list[tuple[object, ...]]:
    evaluate(str(folder / "expected.parquet"), *others)
    return pl.read_parquet(folder / "expected.parquet").rows()


def test_a_delta_table_and_its_next_version(tmp_path: Path) -> None:
    place = tmp_path / "metrics"
    evaluate(f"delta+{place}")
    assert pl.read_delta(str(place)).rows() == read_file(tmp_path)
    evaluate(f"delta+{place}", "-m", "f1(threshold=0.3)", "--ci", "0.9")
    assert deltalake.DeltaTable(place).version() == 1
    found = pl.read_delta(str(place)).rows()
    assert found == read_file(tmp_path, "-m", "f1(threshold=0.3)", "--ci", "0.9")


@pytest.mark.parametrize("table", ["metrics", "kept.metrics"])
def test_a_table_of_postgresql_is_replaced(table: str, server: PostgreSQL, tmp_path: Path) -> None:
    url = f"{server.url}#{table}"
    with connect(server) as connection:
        connection.execute("CREATE SCHEMA IF NOT EXISTS kept")
        for others in ((), ("-m", "log_loss", "--ci", "0.9")):
            evaluate(url, *others)
            found = connection.execute(f"SELECT * FROM {table}").fetchall()
            assert sorted(map(str, found)) == sorted(map(str, read_file(tmp_path, *others)))


def test_wrong_tables(server: PostgreSQL, tmp_path: Path) -> None:
    url = server.url
    assert "write its table after #" in evaluate(url, code=2)
    assert "--format is for files" in evaluate(f"{url}#t", "--format", "csv", code=2)
    with connect(server) as connection:
        connection.execute("CREATE TABLE base AS SELECT 7 AS seven")
        connection.execute("CREATE VIEW dependent AS SELECT seven FROM base")
        error = evaluate(f"{url}#base", code=3)
        assert "cannot write the table 'base'" in error
        assert "depend" in error
        assert connection.execute("SELECT seven FROM dependent").fetchall() == [(7,)]
    (tmp_path / "file").write_text("")
    assert "cannot write the table" in evaluate(f"delta+{tmp_path / 'file'}", code=3)
