"""PostgreSQL as a source: tables, queries, the columns that are read, and errors."""

import logging
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import polars as pl
import psycopg
import pyarrow as pa
import pytest

import sqleval
from sqleval import SourceError
from tests.core.sources import test_databases as files
from tests.core.sources.test_databases import PAIR, evaluate
from tests.support.comparison import assert_frame_equal
from tests.support.engines import PostgreSQL
from tests.support.flights import ROLES, ROWS


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgreSQL]:
    with PostgreSQL() as server:
        server.load("flights", ROWS.to_arrow())
        yield server


@pytest.fixture
def database(postgres: PostgreSQL) -> str:
    return postgres.url


test_tables_and_queries = files.test_tables_and_queries
test_the_command = files.test_the_command
test_only_columns_and_rows_that_are_needed_leave = (
    files.test_only_columns_and_rows_that_are_needed_leave
)


def execute(server: PostgreSQL, statement: str) -> None:
    with psycopg.connect(server.url, autocommit=True) as con:
        con.execute(statement)  # type: ignore


def test_conditions_that_postgres_evaluates(postgres: PostgreSQL) -> None:
    day = "flight_date BETWEEN '2013-08-01' AND DATE '2013-08-15'"
    for where, statement in {
        day: "(\"flight_date\" >= DATE '2013-08-01' AND \"flight_date\" <= DATE '2013-08-15')",
        "carrier > 'AB'": None,  # the database's collation orders texts
        "carrier = 'it''s\\' OR month = 7": "(\"carrier\" = 'it''s\\' OR \"month\" = 7)",
        "carrier = 'AA' OR p > 0.5": None,
    }.items():
        predictions = sqleval.scan(postgres.url, **{**ROLES, "where": where})
        (rows,) = predictions.source.objects(["p"]).values()
        text = getattr(rows, "statement")  # noqa: B009
        assert (statement is None and "WHERE" not in text) or str(statement) in text
        assert_frame_equal(evaluate(postgres.url, where=where), evaluate(ROWS, where=where))


def test_types_of_postgres(postgres: PostgreSQL) -> None:
    execute(postgres, "CREATE TYPE mood AS ENUM ('ok', 'no')")
    execute(
        postgres,
        "CREATE TABLE typed AS SELECT i::smallint AS y, (i / 3.0)::numeric(8, 4) AS p, "
        "'ok'::mood AS m, i > 0 AS b, now() AS t, gen_random_uuid() AS u, 'a'::char(3) AS c, "
        "ARRAY[i] AS l, '{}'::jsonb AS j, '1 day'::interval AS v, NULL::float4 AS f "
        "FROM generate_series(0, 1) AS g(i)",
    )
    where = "m = 'ok' AND b IS NOT NULL"
    for key in ("m", "b", "t", "u", "c"):
        found = sqleval.scan(f"{postgres.url}#typed", **PAIR, by=key, where=where)
        assert found.evaluate("brier_score").collect()["n"].sum() == 2
    columns = sqleval.scan(f"{postgres.url}#typed", **PAIR).source.empty
    assert isinstance(columns, pa.Table)
    execute(postgres, "DROP TABLE typed; DROP TYPE mood")


def test_the_password_of_the_environment(
    postgres: PostgreSQL, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("PGPASSWORD", "s3cret")
    with caplog.at_level(logging.DEBUG):
        predictions = sqleval.scan(postgres.url, **ROLES)
        predictions.evaluate("roc_auc").collect()
    texts = [predictions.sql("roc_auc"), repr(predictions), repr(predictions.source), caplog.text]
    for url in ("postgresql://me@127.0.0.1:1/db", f"{postgres.url}#nosuch"):
        with pytest.raises(SourceError) as raised:
            sqleval.scan(url, **ROLES)
        texts.append(str(raised.value))
    with pytest.raises(SourceError, match='column "nosuch" does not exist'):
        sqleval.scan(postgres.url, query="SELECT nosuch FROM flights", **ROLES)
    execute(postgres, "CREATE SEQUENCE numbers")
    query = "SELECT nextval('numbers') AS y, 0.5::float8 AS p"
    with pytest.raises(SourceError, match=r"cannot execute nextval\(\) in a read-only transaction"):
        sqleval.scan(postgres.url, query=query, **PAIR).evaluate("roc_auc").collect()
    execute(postgres, "DROP SEQUENCE numbers")
    assert not any("s3cret" in text for text in texts)


def test_a_connection_to_postgres(postgres: PostgreSQL, few: pl.DataFrame) -> None:
    import adbc_driver_postgresql.dbapi as driver

    with driver.connect(postgres.url) as con:
        assert_frame_equal(evaluate("flights", con=con), few)
        assert_frame_equal(evaluate("public.flights", con=con), few)


#: All connections except the fixture's.
READERS = """
SELECT pid FROM pg_stat_activity WHERE datname = CURRENT_DATABASE() AND pid <> PG_BACKEND_PID()
    AND backend_type = 'client backend'
"""
#: More than a socket buffers, so that the server is still sending rows after the first batch.
LONG = """
CREATE TABLE long AS SELECT i % 2 AS y, (i % 1009) / 1009.0::float8 AS p,
    REPEAT('x', 2000) || i AS filler FROM generate_series(1, 60000) AS g(i)
"""


@pytest.fixture(scope="module")
def long(postgres: PostgreSQL) -> str:
    execute(postgres, LONG)
    return f"{postgres.url}#long"


def find_readers(server: PostgreSQL, number: int = 0) -> list[int]:
    """Return the processes of the readers; wait a while if they are not the expected ones."""
    deadline = time.monotonic() + 30
    while True:
        found = [row[0] for row in server.run(READERS).rows]
        if len(found) == number or time.monotonic() > deadline:
            return found  # type: ignore
        time.sleep(0.02)


def open_reader(source: str, columns: list[str]) -> Any:
    (rows,) = sqleval.scan(source, **PAIR).source.objects(columns).values()
    return pa.RecordBatchReader.from_stream(rows)


def test_one_connection_reads_and_none_is_left(postgres: PostgreSQL, long: str) -> None:
    for batches in (0, 1, 3):
        reader = open_reader(long, ["y", "filler"])
        for _ in range(batches):
            reader.read_next_batch()
            assert len(find_readers(postgres, 1)) == 1
        del reader
        assert find_readers(postgres) == []
    with pytest.raises(sqleval.SqlevalError, match="Could not convert"):
        sqleval.scan(long, **PAIR, where="filler::INT > 0").evaluate("roc_auc").collect()
    assert find_readers(postgres) == []


def test_a_connection_that_is_lost(postgres: PostgreSQL, long: str) -> None:
    reader = open_reader(long, ["y", "filler"])
    reader.read_next_batch()
    (victim,) = find_readers(postgres, 1)
    execute(postgres, f"SELECT PG_TERMINATE_BACKEND({victim}, 5000)")
    message = "terminating connection due to administrator command|server closed the connection"
    with pytest.raises(OSError, match=message):
        reader.read_all()
    assert find_readers(postgres) == []


CODE = """
import sys, time
import sqleval
from sqleval.sources.database import adbc

read = adbc._Rows.read_batches

def slowly(self):
    for batch in read(self):
        time.sleep(0.05)
        yield batch

adbc._Rows.read_batches = slowly
try:
    sqleval.scan(sys.argv[1], label="y", score="p", by="filler").evaluate("roc_auc").collect()
except KeyboardInterrupt:
    print("interrupted")
"""


def test_an_interrupt_leaves_nothing(postgres: PostgreSQL, long: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", CODE, long], stdout=subprocess.PIPE, text=True
    )
    try:
        assert len(find_readers(postgres, 1)) == 1
        time.sleep(0.5)  # until it has read some rows
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=30)[0] == "interrupted\n"
    finally:
        process.kill()
        process.communicate()
    assert find_readers(postgres) == []
