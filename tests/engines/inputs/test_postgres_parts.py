"""A large table of PostgreSQL is read by several connections, as one would read it."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any
from urllib.parse import unquote

import polars as pl
import psycopg
import pyarrow as pa
import pytest

import sqleval
from sqleval import SourceError
from sqleval.inputs import postgres_parts
from tests.support.comparison import assert_frame_equal
from tests.support.engines import PostgreSQL

ROLES: dict[str, Any] = {"label": "y", "score": "p"}
COUNT = 4
#: Six times what a socket holds: 1.7 MB for each of the connections.
N = 24_000
#: No part may be kept waiting for longer, in seconds.
LIMIT = 30
ROWS = f"""
SELECT i AS id, i % 2 AS y, (i % 1009) / 1009.0::float8 AS p, (i % 997 / 997.0)::numeric(9, 6) AS n,
    CASE WHEN i % 7 > 0 THEN 'it''s ' || i END AS note, DATE '2026-01-01' + i % 365 AS day,
    REPEAT('x', 200) AS filler
FROM generate_series(1, {N}) AS g(i)
"""
COLUMNS = ["id", "y", "p", "n", "note", "day", "filler"]
#: The connections of others than tests.
READERS = """
SELECT pid FROM pg_stat_activity WHERE datname = CURRENT_DATABASE() AND application_name = ''
    AND backend_type = 'client backend'
"""


@pytest.fixture(scope="module")
def server() -> Iterator[PostgreSQL]:
    with PostgreSQL() as server:
        server.run("SELECT SET_CONFIG('application_name', 'tests', FALSE)")
        # To copy rows takes the server a fraction of the time of making them.
        execute(server, f"CREATE TABLE template AS {ROWS}")
        yield server


@pytest.fixture(autouse=True)
def table(server: PostgreSQL, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(postgres_parts, "_BYTES", 1 << 20)
    monkeypatch.setattr(postgres_parts, "_BATCH", 1 << 16)
    monkeypatch.setattr(postgres_parts, "count_connections", lambda: COUNT)
    execute(server, "CREATE TABLE rows AS TABLE template")
    before = {*threading.enumerate()}  # libraries keep some
    yield
    execute(server, "DROP TABLE rows CASCADE")
    assert find_readers(server) == []
    assert [each for each in {*threading.enumerate()} - before if "ThreadPool" in each.name] == []


@pytest.fixture(scope="module")
def expected(server: PostgreSQL) -> pl.DataFrame:
    """Return the rows of the table before a test changes them, as one connection reads them."""
    with pytest.MonkeyPatch.context() as patch:
        return read_alone(server, patch, "template")


def connect(server: PostgreSQL) -> Any:
    return psycopg.connect(server.url, autocommit=True, application_name="tests")


def execute(server: PostgreSQL, *statements: str) -> None:
    with connect(server) as con:
        for statement in statements:
            con.execute(statement)


def find_readers(server: PostgreSQL, number: int = 0) -> list[int]:
    """Return the processes of the readers, after a while if there are more than expected."""
    deadline = time.monotonic() + LIMIT
    while True:
        found = [row[0] for row in server.run(READERS).rows]
        if len(found) <= number or time.monotonic() > deadline:
            return found  # type: ignore
        time.sleep(0.02)


def open_reader(source: str, columns: list[str] = COLUMNS, **options: Any) -> Any:
    """Return a reader of what sqleval reads of a source."""
    predictions = sqleval.scan(source, **{**ROLES, **options})
    (rows,) = predictions.source.objects(columns).values()
    return pa.RecordBatchReader.from_stream(rows)


def evaluate(server: PostgreSQL, **roles: Any) -> pl.DataFrame:
    predictions = sqleval.scan(f"{server.url}#rows", **{**ROLES, **roles})
    return predictions.evaluate(["roc_auc", "log_loss"]).collect()


def read(reader: Any) -> pl.DataFrame:
    """Return the rows that are left, by their number."""
    frame = pl.DataFrame(reader.read_all())
    return frame.sort("id")


def count_readers(server: PostgreSQL, source: str, columns: list[str] = COLUMNS,
                  **options: Any) -> int:  # fmt: skip
    """Return the number of connections that read a source, in the middle of it."""
    reader = open_reader(source, columns, **options)
    assert find_readers(server) == []  # The connection that described the source has ended.
    reader.read_next_batch()
    number = len(find_readers(server, COUNT))
    del reader
    assert find_readers(server) == []
    return number


def read_alone(
    server: PostgreSQL, monkeypatch: pytest.MonkeyPatch, name: str = "rows"
) -> pl.DataFrame:
    with monkeypatch.context() as patch:
        patch.setattr(postgres_parts, "_BYTES", 1 << 40)
        return read(open_reader(f"{server.url}#{name}"))


def before_reading(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Do something after the snapshot is taken, before a part is read."""
    original = postgres_parts._read_parts

    def read_parts(parts: Any, pool: Any) -> Generator[Any]:
        assert len(parts) == COUNT
        act()
        yield from original(parts, pool)

    monkeypatch.setattr(postgres_parts, "_read_parts", read_parts)


def test_rows_types_and_results_are_those_of_one_stream(
    server: PostgreSQL, monkeypatch: pytest.MonkeyPatch, expected: pl.DataFrame
) -> None:
    reader = open_reader(f"{server.url}#rows")
    first = pl.DataFrame(reader.read_next_batch())
    assert len(find_readers(server, COUNT)) == COUNT
    found = pl.concat([first, pl.DataFrame(reader.read_all())])
    assert found.schema["n"] == pl.Float64
    assert_frame_equal(found.sort("id"), expected)
    items = "COUNT(*), SUM(p), SUM(n::float8), COUNT(note)"
    by_server = server.run(f"SELECT {items} FROM ({ROWS}) AS r")
    sums = found.select(pl.len(), pl.sum("p"), pl.sum("n"), pl.count("note")).row(0)
    assert sums == pytest.approx(by_server.rows[0], rel=1e-12)
    scores = {"a double": "p", "a numeric": "n"}
    parts = evaluate(server, score=scores, by="day")
    with monkeypatch.context() as patch:
        patch.setattr(postgres_parts, "count_connections", lambda: 1)
        one = evaluate(server, score=scores, by="day")
    assert_frame_equal(parts, one)


def test_a_part_reads_its_own_blocks_alone(
    server: PostgreSQL, monkeypatch: pytest.MonkeyPatch
) -> None:
    statements: list[str] = []
    original = postgres_parts._read

    def note(connection: Any, statement: str) -> Generator[Any]:
        statements.append(statement)
        return original(connection, statement)

    monkeypatch.setattr(postgres_parts, "_read", note)
    read(open_reader(f"{server.url}#rows"))
    assert len(statements) == COUNT
    touched = 0
    for statement in statements:
        ((plan,),) = server.run(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement}").rows
        node = plan[0]["Plan"]  # type: ignore
        assert node["Node Type"] == "Tid Range Scan"
        touched += node["Shared Hit Blocks"] + node["Shared Read Blocks"]
    ((blocks,),) = server.run("SELECT PG_RELATION_SIZE('rows') / 8192").rows
    assert touched == blocks


def test_all_parts_read_one_snapshot(
    server: PostgreSQL, monkeypatch: pytest.MonkeyPatch, expected: pl.DataFrame
) -> None:
    writes = [
        "DELETE FROM rows WHERE id % 3 = 0", "UPDATE rows SET p = 0.5, id = -id WHERE id % 3 = 1",
        "INSERT INTO rows SELECT id + 1000000, y, p FROM rows", "VACUUM rows",
    ]  # fmt: skip
    original = postgres_parts._select_row

    def select_row(cursor: Any, relation: str, items: str) -> Any:
        row = original(cursor, relation, items)
        if "SNAPSHOT" in items:  # No other connection is open.
            execute(server, *writes)
        return row

    with monkeypatch.context() as patch:
        patch.setattr(postgres_parts, "_select_row", select_row)
        before_reading(patch, lambda: execute(server, *writes))
        assert_frame_equal(read(open_reader(f"{server.url}#rows")), expected)
    after = read_alone(server, monkeypatch)
    assert after.height > expected.height
    # In the middle of the parts, which have begun at different times.
    reader = open_reader(f"{server.url}#rows")
    first = pl.DataFrame(reader.read_next_batch())
    execute(server, "DELETE FROM rows", "VACUUM rows")
    found = pl.concat([first, pl.DataFrame(reader.read_all())]).sort("id")
    assert_frame_equal(found, after)


def test_the_snapshot_outlasts_the_connection_that_shares_it(
    server: PostgreSQL, monkeypatch: pytest.MonkeyPatch, expected: pl.DataFrame
) -> None:
    original = postgres_parts._read
    writing, written = threading.Lock(), threading.Event()

    def read_late(connection: Any, statement: str) -> Generator[Any]:
        if "(0,0)" not in statement:
            deadline = time.monotonic() + LIMIT
            while len(server.run(READERS).rows) == COUNT:
                assert time.monotonic() < deadline
                time.sleep(0.01)
            with writing:
                if not written.is_set():
                    execute(server, "DELETE FROM rows", "VACUUM rows")
                    written.set()
        yield from original(connection, statement)

    monkeypatch.setattr(postgres_parts, "_read", read_late)
    assert_frame_equal(read(open_reader(f"{server.url}#rows")), expected)
    assert written.is_set()


def test_a_table_is_not_emptied_or_extended_by_a_child(
    server: PostgreSQL, monkeypatch: pytest.MonkeyPatch, expected: pl.DataFrame
) -> None:
    execute(server, "CREATE TABLE child AS SELECT * FROM rows LIMIT 1000")
    refused: list[str] = []

    def disturb() -> None:
        with connect(server) as con:
            con.execute("SET lock_timeout = '100ms'")
            for statement in ("TRUNCATE rows", "DROP TABLE rows", "VACUUM FULL rows"):
                with pytest.raises(psycopg.errors.LockNotAvailable):
                    con.execute(statement)
                refused.append(statement)
            con.execute("ALTER TABLE child INHERIT rows")

    with monkeypatch.context() as patch:
        before_reading(patch, disturb)
        assert_frame_equal(read(open_reader(f"{server.url}#rows")), expected)
    assert len(refused) == 3
    # With its child the table is read in one stream.
    assert read(open_reader(f"{server.url}#rows")).height == N + 1000


def finish(server: PostgreSQL, future: Future[Any]) -> Any:
    """Return a result; end the readers if they take too long."""
    try:
        return future.result(LIMIT)
    except TimeoutError:
        server.run(f"SELECT PG_TERMINATE_BACKEND(pid) FROM ({READERS}) AS r")
        raise


def wait_for_waiters(server: PostgreSQL, number: int = 1) -> None:
    deadline = time.monotonic() + LIMIT
    while len(server.run("SELECT 1 FROM pg_locks WHERE NOT granted").rows) < number:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_somebody_who_waits_for_the_table_is_not_waited_for(
    server: PostgreSQL, monkeypatch: pytest.MonkeyPatch, expected: pl.DataFrame
) -> None:
    # They wait for the first connection, and the others would wait for them.
    original = postgres_parts._select_row
    changes: list[Future[None]] = []

    def select_row(cursor: Any, relation: str, items: str) -> Any:
        if "SNAPSHOT" in items:
            change = "ALTER TABLE rows ADD COLUMN later INT"
            changes.append(pool.submit(execute, server, change))
            wait_for_waiters(server)
        return original(cursor, relation, items)

    monkeypatch.setattr(postgres_parts, "_select_row", select_row)
    with ThreadPoolExecutor(2, "tests") as pool:
        reading = pool.submit(lambda: read(open_reader(f"{server.url}#rows")))
        assert_frame_equal(finish(server, reading), expected)
        assert len(changes) == 1
        finish(server, changes[0])


@pytest.mark.parametrize("is_dropped", [False, True])
def test_a_part_may_wait_until_another_one_has_ended(
    server: PostgreSQL, monkeypatch: pytest.MonkeyPatch, expected: pl.DataFrame, is_dropped: bool
) -> None:
    # An index is rebuilt when nobody reads the table who has planned a statement; others wait.
    execute(server, "CREATE INDEX ids ON rows (id)")
    original = postgres_parts._read
    changes: list[Future[None]] = []

    def read_late(connection: Any, statement: str) -> Generator[Any]:
        batches = original(connection, statement)
        if "(0,0)" in statement:
            yield next(batches)
            changes.append(pool.submit(execute, server, "REINDEX INDEX ids"))
        wait_for_waiters(server)
        yield from batches

    def read_or_drop() -> pl.DataFrame | None:
        reader = open_reader(f"{server.url}#rows")
        if not is_dropped:
            return read(reader)
        reader.read_next_batch()
        wait_for_waiters(server, COUNT)
        return None

    monkeypatch.setattr(postgres_parts, "_read", read_late)
    with ThreadPoolExecutor(2, "tests") as pool:
        found = finish(server, pool.submit(read_or_drop))
        assert len(changes) == 1
        finish(server, changes[0])
    if not is_dropped:
        assert_frame_equal(found, expected)


def test_what_one_stream_reads(server: PostgreSQL, monkeypatch: pytest.MonkeyPatch) -> None:
    import adbc_driver_postgresql.dbapi as driver

    host = unquote(server.url.partition("host=")[2])
    # Enough for two connections.
    some = "SELECT * FROM rows LIMIT 12000"
    execute(
        server,
        "CREATE VIEW seen AS SELECT * FROM rows",
        f"CREATE MATERIALIZED VIEW kept AS {some}",
        "CREATE TABLE split (LIKE rows) PARTITION BY LIST (y)",
        "CREATE TABLE split_0 PARTITION OF split FOR VALUES IN (0)",
        "CREATE TABLE split_1 PARTITION OF split FOR VALUES IN (1)",
        f"INSERT INTO split {some}",
        f"CREATE TABLE parent AS {some}",
        "CREATE TABLE child () INHERITS (parent)",
        f"CREATE UNLOGGED TABLE unlogged AS {some}",
        f"CREATE TABLE policed AS {some}",
        "ALTER TABLE policed ENABLE ROW LEVEL SECURITY",
        "CREATE TABLE small AS SELECT * FROM rows LIMIT 3000",
        "CREATE EXTENSION postgres_fdw",
        "CREATE SERVER here FOREIGN DATA WRAPPER postgres_fdw "
        f"OPTIONS (dbname '{server.database}', host '{host}')",
        "CREATE USER MAPPING FOR postgres SERVER here OPTIONS (user 'postgres')",
        "CREATE FOREIGN TABLE far (id INT, y INT, p FLOAT8) SERVER here "
        "OPTIONS (table_name 'rows')",
    )
    try:
        for name in ("seen", "kept", "split", "parent", "unlogged", "policed", "small"):
            assert count_readers(server, f"{server.url}#{name}") == 1, name
        assert read(open_reader(f"{server.url}#far", ["id"])).height == N
        assert count_readers(server, f"{server.url}#rows", where="y = 1 AND id > 5") == 1
        assert count_readers(server, server.url, query="SELECT * FROM rows") == 1
        with driver.connect(server.url) as con:
            reader = open_reader("rows", con=con)
            reader.read_next_batch()
            assert len(find_readers(server, 1)) == 1
            del reader
        with monkeypatch.context() as patch:
            patch.setattr(postgres_parts, "count_connections", lambda: 1)
            assert count_readers(server, f"{server.url}#rows") == 1
        assert count_readers(server, f"{server.url}#rows") == COUNT
    finally:
        execute(
            server, "DROP EXTENSION IF EXISTS postgres_fdw CASCADE", "DROP MATERIALIZED VIEW kept",
            "DROP TABLE split, parent, unlogged, policed, small CASCADE",
        )  # fmt: skip


def test_odd_names(server: PostgreSQL) -> None:
    odd = """a "b".c'; {relation} \\ %s"""
    quoted = '"' + odd.replace('"', '""') + '"'
    execute(server, f"CREATE SCHEMA {quoted}", f"CREATE TABLE {quoted}.{quoted} AS TABLE template",
            f"ALTER TABLE {quoted}.{quoted} RENAME COLUMN note TO {quoted}")  # fmt: skip
    try:
        source = f"{server.url}#{odd.replace('%', '%25')}"
        assert count_readers(server, source, ["id", odd]) == COUNT
        assert read(open_reader(source, ["id", odd]))[odd].null_count() == N // 7
    finally:
        execute(server, f"DROP SCHEMA {quoted} CASCADE")


@pytest.mark.parametrize("function", ["", "pg_export_snapshot()", "pg_relation_size(regclass)"])
def test_a_server_that_refuses_is_read_by_one_connection(
    server: PostgreSQL, monkeypatch: pytest.MonkeyPatch, expected: pl.DataFrame, function: str
) -> None:
    url = server.url.replace("postgres@", "reader@")
    limit = 100 if function else 2
    execute(server, f"CREATE ROLE reader LOGIN CONNECTION LIMIT {limit}",
            "GRANT SELECT ON rows TO reader")  # fmt: skip
    try:
        if function:
            assert count_readers(server, f"{url}#rows") == COUNT
            execute(server, f"REVOKE EXECUTE ON FUNCTION {function} FROM PUBLIC")
        assert count_readers(server, f"{url}#rows") == 1
        assert_frame_equal(read(open_reader(f"{url}#rows")), expected)
    finally:
        if function:
            execute(server, f"GRANT EXECUTE ON FUNCTION {function} TO PUBLIC")
        execute(server, "DROP OWNED BY reader", "DROP ROLE reader")


def test_a_copy_of_the_server_is_not_read(
    server: PostgreSQL, monkeypatch: pytest.MonkeyPatch, expected: pl.DataFrame
) -> None:
    # Behind one address there may be several; here each connection says that it leads to another.
    monkeypatch.setattr(postgres_parts, "_SERVER", "PG_BACKEND_PID()::text")
    assert count_readers(server, f"{server.url}#rows") == 1
    assert_frame_equal(read(open_reader(f"{server.url}#rows")), expected)


def test_a_value_that_cannot_be_read(server: PostgreSQL, monkeypatch: pytest.MonkeyPatch) -> None:
    change = f"UPDATE rows SET n = ('1' || REPEAT('0', 400))::numeric WHERE id = {N - 5}"
    execute(server, "ALTER TABLE rows ALTER n TYPE numeric", change)
    texts: list[str] = []
    for cores in (1, COUNT):
        monkeypatch.setattr(postgres_parts, "count_connections", lambda cores=cores: cores)
        with pytest.raises(SourceError, match=r"out of range for type double precision") as raised:
            evaluate(server, score="n")
        texts.append(str(raised.value))
        assert find_readers(server) == []
    assert texts[0] == texts[1]


def test_a_connection_that_is_lost(server: PostgreSQL, monkeypatch: pytest.MonkeyPatch) -> None:
    original = postgres_parts._read_parts
    message = "terminating connection due to administrator command|server closed the connection"
    for lost in range(COUNT):

        def read_parts(parts: Any, pool: Any, lost: int = lost) -> Generator[Any]:
            for number, batch in enumerate(original(parts, pool)):
                if number == COUNT:
                    victim = sorted(find_readers(server, COUNT))[lost]
                    execute(server, f"SELECT PG_TERMINATE_BACKEND({victim}, 5000)")
                yield batch

        monkeypatch.setattr(postgres_parts, "_read_parts", read_parts)
        with pytest.raises(SourceError, match=message) as raised:
            evaluate(server, by="filler")
        assert server.url not in str(raised.value).partition(":")[2]
        assert find_readers(server) == []


def test_a_reader_that_is_dropped_leaves_nothing(server: PostgreSQL) -> None:
    for batches in (0, 1, 7):
        reader = open_reader(f"{server.url}#rows")
        for _ in range(batches):
            reader.read_next_batch()
        start = time.monotonic()
        del reader
        assert find_readers(server) == []
        assert time.monotonic() - start < LIMIT / 2
    # An error elsewhere in the statement.
    for _ in range(3):
        with pytest.raises(sqleval.SqlevalError, match="Could not convert"):
            evaluate(server, where="note::INT > 0")
        assert find_readers(server) == []


CODE = """
import sys, threading, time
import sqleval
from sqleval.inputs import postgres_parts as parts

parts._BYTES, parts._BATCH, parts.count_connections = 1 << 20, 1 << 16, lambda: 4
read = parts._read_parts

def slowly(*arguments):
    for batch in read(*arguments):
        time.sleep(0.05)
        yield batch

parts._read_parts = slowly
try:
    sqleval.scan(sys.argv[1], label="y", score="p", by="filler").evaluate("roc_auc").collect()
except KeyboardInterrupt:
    left = [each.name for each in threading.enumerate() if "ThreadPool" in each.name]
    print("interrupted", left)
"""


def test_an_interrupt_leaves_nothing(server: PostgreSQL) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", CODE, f"{server.url}#rows"], stdout=subprocess.PIPE, text=True,
        env=dict(os.environ),
    )  # fmt: skip
    try:
        deadline = time.monotonic() + 2 * LIMIT
        while len(server.run(READERS).rows) < COUNT:
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=LIMIT)[0] == "interrupted []\n"
    finally:
        process.kill()
        process.communicate()
    assert find_readers(server) == []
