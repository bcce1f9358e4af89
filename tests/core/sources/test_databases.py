"""DuckDB and SQLite as sources: tables, queries, the columns that are read, and errors."""

import io
import logging
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import adbc_driver_sqlite.dbapi as sqlite
import duckdb
import polars as pl
import pyarrow as pa
import pytest

import sqleval
from sqleval import RequestError, SourceError
from sqleval.engines import process
from sqleval.engines.duckdb_databases import open_files
from sqleval.errors import MissingExtra
from sqleval.sources.database import adbc
from sqleval.sources.database import naming as databases
from tests.support.commands import run
from tests.support.comparison import assert_frame_equal
from tests.support.flights import FEW, ROLES, ROWS
from tests.support.sources import Stream
from tests.support.tried import check_tried

PAIR = {"label": "y", "score": "p"}


def write_duckdb(path: Path, **tables: pl.DataFrame) -> Path:
    with duckdb.connect(path) as con:
        for name, frame in tables.items():
            con.from_arrow(frame.to_arrow()).create(name)
    return path


def write_sqlite(path: Path, *statements: str, **tables: pl.DataFrame) -> Path:
    with sqlite.connect(str(path)) as con, con.cursor() as cursor:
        for name, frame in tables.items():
            cursor.adbc_ingest(name, frame.to_arrow())
        for statement in statements:
            cursor.execute(statement)
        con.commit()
    return path


@pytest.fixture(params=["duckdb", "sqlite"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return a database that holds the rows as its only table."""
    if request.param == "duckdb":
        return str(write_duckdb(tmp_path / "rows.duckdb", flights=ROWS))
    return f"sqlite:///{write_sqlite(tmp_path / 'rows.sqlite', flights=ROWS)}"


def evaluate(source: object, **options: Any) -> pl.DataFrame:
    return sqleval.scan(source, **{**ROLES, **options}).evaluate(FEW).collect().drop("method")


def read_all(source: sqleval.Predictions, column: str) -> pl.DataFrame:
    """Return the rows that a source reads from the database."""
    (rows,) = source.source.objects([column]).values()
    return pl.DataFrame(rows)


def test_tables_and_queries(database: str, few: pl.DataFrame) -> None:
    assert_frame_equal(evaluate(database), few)
    name = "public.flights" if "postgres" in database else "main.flights"
    assert_frame_equal(evaluate(f"{database}#{name}"), few)
    query = "SELECT key, carrier, delayed, p, w, month AS m FROM flights WHERE month <> 9; "
    assert_frame_equal(evaluate(database, query=query, where="m < 13"), few)
    # Rows from one database, and labels from the same one or from elsewhere.
    query = "SELECT key, carrier, p, w FROM flights"
    for labels in (f"{database}#flights", ROWS.lazy()):
        found = evaluate(database, query=query, where=None, labels=labels, on="key")
        assert_frame_equal(found, evaluate(ROWS, where=None))


def test_the_command(database: str, expected: pl.DataFrame) -> None:
    roles = ["--label", "delayed", "--score", "p", "--weight", "w", "--by", "carrier"]
    query = ["--query", "SELECT * FROM flights WHERE month <> 9", "-m", "roc_auc"]
    done = run("evaluate", database, *roles, *query, "--format", "csv")
    found = pl.read_csv(io.StringIO(done.stdout))["value"].to_list()
    values = expected.filter(metric="roc_auc")["value"].to_list()
    assert found == pytest.approx(values, rel=1e-12)
    shown = run("inspect", database, *query[:2]).stdout
    assert f"sqleval evaluate {shlex.quote(database)} --query 'SELECT" in shown
    done = run("evaluate", "rows.parquet", *roles, *query, code=2)
    assert "both only if SOURCE is a database" in done.stderr


def test_which_table(tmp_path: Path) -> None:
    small = ROWS.head(5)
    file = write_duckdb(tmp_path / "w.db", preds=small, labels=small)
    with duckdb.connect(file) as con:
        con.execute("CREATE SCHEMA old; CREATE VIEW old.preds AS FROM main.preds LIMIT 3")
    cases = {
        "": r"holds 3 tables \(main.labels, main.preds, old.preds\); "
        r"choose one, such as '.*w\.db#main\.labels'$",
        "#perds": r"has no table 'perds'; did you mean 'preds'\? \(main.labels, ",
        "#preds": r"has several tables 'preds' \(main",
        "#new.preds": "has no table 'new.preds'",
    }
    for table, message in cases.items():
        with pytest.raises(SourceError, match=message):
            sqleval.scan(f"{file}{table}", **ROLES)
    assert evaluate(f"{file}#old.preds", where=None)["n"].max() <= 3
    with pytest.raises(SourceError, match="holds no table"):
        sqleval.scan(write_duckdb(tmp_path / "empty.duckdb"), **ROLES)
    with pytest.raises(RequestError, match="give #labels or query=, not both"):
        sqleval.scan(f"{file}#labels", query="SELECT 1", **ROLES)


def test_files_of_either_kind(tmp_path: Path, few: pl.DataFrame) -> None:
    odd = tmp_path / "it's a #1?.db"  # which begins as SQLite does
    write_sqlite(odd, **{'odd "name".x': ROWS})
    assert_frame_equal(evaluate(odd), few)
    again = write_duckdb(tmp_path / "memory.DuckDB", rows=ROWS)
    with duckdb.connect(again) as con:
        con.execute('ALTER TABLE rows RENAME TO "a.b"')
    assert_frame_equal(evaluate(again), few)
    other = write_duckdb(tmp_path / "memory_2.ddb", rows=ROWS)
    assert_frame_equal(evaluate(again, labels=other, on="key", where=None),
                       evaluate(ROWS, where=None))  # fmt: skip
    (tmp_path / "rows.duckdb").write_text("no database" * 1000)
    for name, message in {
        "rows.duckdb": "cannot read '.*': The file .* not a valid DuckDB database",
        "rows.duckbd": "files must end in|no such file",
        "nosuch.sqlite": r"no such file: '.*nosuch\.sqlite'",
        "w.sqlite": "cannot read .*: file is not a database",
    }.items():
        if name == "w.sqlite":
            (tmp_path / name).write_text("no database" * 1000)
        with pytest.raises(SourceError, match=message):
            sqleval.scan(tmp_path / name, **ROLES)


def test_a_file_is_read_by_two_statements_although_the_database_is_replaced(
    tmp_path: Path,
) -> None:
    """An internal error of DuckDB, in any statement, makes the process replace its database."""
    file = write_duckdb(tmp_path / "rows.duckdb", flights=ROWS)
    with open_files([str(file)]) as (first, (name,)):
        count = f'SELECT COUNT(*) FROM "{name}".flights'
        process.restart()
        with open_files([str(file)]) as (second, _):
            for con in (first, second):
                assert con.execute(count).fetchall() == [(ROWS.height,)]
    # The lock is free now.
    duckdb.connect(file).close()


HOSTILE = (
    "CREATE VIEW v AS SELECT 1 AS y, 0.5 AS p, content AS seg FROM read_text('{secret}')",
    "CREATE VIEW v AS SELECT 1 AS y, 0.5 AS p, seg FROM read_csv('{secret}')",
    "CREATE VIEW v AS SELECT 1 AS y, 0.5 AS p, file AS seg FROM glob('{folder}/*')",
    "CREATE MACRO peek() AS TABLE FROM read_blob('{secret}'); "
    "CREATE VIEW v AS SELECT 1 AS y, 0.5 AS p, size AS seg FROM peek()",
)


@pytest.mark.parametrize("statement", HOSTILE)
def test_a_view_of_a_database_reads_no_other_file(statement: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret" / "secret.csv"
    secret.parent.mkdir()
    secret.write_text("seg\nhidden\n", encoding="utf-8")
    file = write_duckdb(tmp_path / "rows.duckdb", t=pl.DataFrame({"y": [0, 1], "p": [0.2, 0.7]}))
    with duckdb.connect(file) as con:
        con.execute(statement.format(secret=secret, folder=secret.parent))
        assert con.execute("SELECT COUNT(*) FROM v").fetchall() == [(1,)]
    refused = pytest.raises(SourceError, match=r"cannot read '.*secret.*rows.duckdb' reads only")
    for options in ({"source": f"{file}#v"}, {"source": file, "query": "SELECT * FROM v"}):
        with refused:
            sqleval.scan(**options, **PAIR, by="seg").evaluate("accuracy").collect()
    with refused:
        sqleval.scan(f"{file}#t", **PAIR, where="y = 1", labels=f"{file}#v", on="p")
    (tmp_path / "job.yml").write_text(
        "name: j\nsource: rows.duckdb#v\nlabel: y\nscore: p\nslices: [[seg]]\n"
        "period: {column: seg}\nmetrics: [accuracy]\nhistory: history.duckdb\n"
    )
    for command in ("validate", "run"):
        done = run(command, str(tmp_path / "job.yml"), code=2 if command == "validate" else 3)
        assert "reads only the files that are named beside it" in done.stderr
        assert "hidden" not in done.stderr + done.stdout
    found = sqleval.scan(f"{file}#t", **PAIR).evaluate("accuracy").collect()
    assert found["value"].to_list() == [1.0]


def test_files_that_are_named_beside_a_database_are_read(tmp_path: Path) -> None:
    file = write_duckdb(tmp_path / "rows.duckdb", flights=ROWS)
    expected = evaluate(ROWS, where=None)
    late = tmp_path / "it's [late]" / "part=1" / "labels.parquet"
    ROWS.select("key", "delayed").write_parquet(late, mkdir=True)
    ROWS.select("key", "delayed").write_csv(tmp_path / "labels.csv")
    query = "SELECT key, carrier, p, w FROM flights"
    for labels in (late, late.parent.parent, tmp_path / "labels.csv", f"{tmp_path}/*.csv"):
        options = {"where": None, "labels": labels, "on": "key"}
        assert_frame_equal(evaluate(file, query=query, **options), expected)
    joined = f"{query} SEMI JOIN '{tmp_path / 'labels.csv'}' USING (key)"
    options = {"where": None, "labels": late.parent.parent, "on": "key"}
    assert_frame_equal(evaluate(file, query=joined, **options), expected)
    gone = f"{query} SEMI JOIN '{tmp_path / 'gone.parquet'}' USING (key)"
    with pytest.raises(SourceError, match=r"no such file|No files found.*gone\.parquet"):
        evaluate(file, query=gone, **options)


def test_the_catalogue_of_a_lake_reads_no_other_file(tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("key,value\nversion,1.0\n", encoding="utf-8")
    with duckdb.connect(tmp_path / "lake.ducklake") as con:
        con.execute(f"CREATE VIEW ducklake_metadata AS FROM '{tmp_path}/secret.csv'")
    with pytest.raises(SourceError) as refused:
        sqleval.scan(f"ducklake:{tmp_path / 'lake.ducklake'}#t", **PAIR)
    assert "version" not in str(refused.value)


def test_a_file_is_held_only_while_it_is_read(tmp_path: Path) -> None:
    file = write_duckdb(tmp_path / "rows.duckdb", flights=ROWS)
    predictions = sqleval.scan(file, **ROLES)
    before = predictions.evaluate("roc_auc").collect()["n"].sum()
    with duckdb.connect(file) as con:
        con.execute("DELETE FROM flights WHERE carrier = 'AA'")
        with pytest.raises(SourceError, match=r"cannot read|open for writing"):
            predictions.evaluate("roc_auc").collect()
    assert predictions.evaluate("roc_auc").collect()["n"].sum() < before
    code = f"import duckdb; c = duckdb.connect({str(file)!r}); print(flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as writer:
        assert writer.stdout
        writer.stdout.readline()
        with pytest.raises(SourceError, match="another process has it open for writing; try again"):
            sqleval.scan(file, **ROLES)
        writer.communicate(b"\n")
    assert sqleval.scan(file, **ROLES)
    with duckdb.connect() as con:
        con.from_arrow(ROWS.to_arrow()).create("rows")
        with pytest.raises(RequestError, match="beside a table of con="):
            evaluate("rows", con=con, labels=file, on="key")


def test_only_columns_and_rows_that_are_needed_leave(database: str) -> None:
    if database.endswith("duckdb"):
        pytest.skip("DuckDB reads its own files")
    where = "month = 8 AND carrier IN ('AA', 'DL') AND p > 0.1"
    predictions = sqleval.scan(database, **{**ROLES, "where": where})
    kept = ROWS.filter(pl.col("month") == 8, pl.col("carrier").is_in(["AA", "DL"]))
    found = read_all(predictions, "key")
    assert found.columns == ["key"]
    assert found["key"].sort().equals(kept["key"].sort())
    assert_frame_equal(evaluate(database, where=where), evaluate(ROWS, where=where))


def test_types_of_sqlite(tmp_path: Path) -> None:
    # The first values are missing or whole numbers; one column has no type.
    file = write_sqlite(
        tmp_path / "w.sqlite",
        "CREATE TABLE t (at INTEGER, y, p NUMERIC, g, late, score)",
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 25000) "
        "INSERT INTO t SELECT i, CASE WHEN i > 20000 THEN i % 2 END, i / 50000.0, "
        "CASE WHEN i % 3 = 0 THEN 7 ELSE 'b' END, CASE WHEN i > 20000 THEN i / 7.0 END, "
        "CASE WHEN i > 20000 THEN 0.5 ELSE 1 END FROM n",
    )
    options: dict[str, Any] = {**PAIR, "by": "g", "nulls": "drop"}
    found = sqleval.scan(file, **options).evaluate("roc_auc").collect()
    assert found["g"].to_list() == ["7", "b"]
    assert found["n"].sum() == 5000
    only = sqleval.scan(file, **options, where="g = '7'").evaluate("roc_auc").collect()
    assert only.equals(found.head(1))
    described = sqleval.scan(file, label="late", score="p", nulls="drop").source.empty
    assert isinstance(described, pa.Table)
    assert described.schema.field("late").type == pa.float64()
    with pytest.raises(SourceError, match="expected INT64 but got DOUBLE; read a view or a query"):
        sqleval.scan(file, label="y", score="score", nulls="drop").evaluate("roc_auc").collect()
    query = "SELECT y, CAST(score AS REAL) AS score FROM t"
    right = sqleval.scan(file, label="y", score="score", nulls="drop", query=query)
    assert right.evaluate("roc_auc").collect()["value"].item() == 0.5


def test_streams_in_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: pl.DataFrame
) -> None:
    monkeypatch.setattr(adbc, "_ROWS", 100)
    file = write_sqlite(tmp_path / "w.sqlite", flights=ROWS)
    predictions = sqleval.scan(file, **ROLES)
    (rows,) = predictions.source.objects(["p"]).values()
    reader = pa.RecordBatchReader.from_stream(rows)
    assert max(batch.num_rows for batch in reader) <= 100
    assert_frame_equal(evaluate(file), few)
    # A statement that is not read to its end still ends, and the file can be written.
    assert pa.RecordBatchReader.from_stream(rows).read_next_batch().num_rows == 99
    write_sqlite(file, "DROP TABLE flights")
    with pytest.raises(SourceError, match=r"cannot read .*: no such table: main\.flights"):
        predictions.evaluate("roc_auc").collect()


URLS = [
    "postgresql://me:s3cret@host/db", "postgres://host/db?user=me&password=s3cret",
    "postgresql://me:s3cret/x@host/db", "postgresql://me:1#s3cret@host/db",
    "postgresql://me:1?s3cret@host/db", "postgresql://me:s3cret", "postgresql://:s3cret@host/db",
    "postgresql://me@:s3cret@host/db", "postgresql://me:s3cret@host/db#preds",
    "POSTGRESQL://me:s3cret@host/db", "postgresql://host/db?sslpassword=s3cret",
]  # fmt: skip


def test_the_page_counts_the_urls() -> None:
    check_tried("URLs of databases with a password", len(URLS))


@pytest.mark.parametrize("url", URLS)
def test_no_password_in_texts(url: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG), pytest.raises(RequestError) as raised:
        sqleval.scan(url, **PAIR)
    for options in ([], ["--query", "SELECT 1"]):
        done = run("evaluate", url, "--label", "y", "--score", "p", *options, code=2)
        assert "s3cret" not in done.stdout + done.stderr
    other = "mysql://me:s3cret@host/db"
    for source in ([url], other, ["postgresql://me@host/db"]):
        with pytest.raises(RequestError) as also:
            sqleval.scan(source, **PAIR)
        assert "s3cret" not in str(also.value)
    assert "s3cret" not in str(raised.value) + caplog.text
    assert raised.value.__cause__ is None


def test_connections_of_adbc(tmp_path: Path, few: pl.DataFrame) -> None:
    file = write_sqlite(tmp_path / "w.sqlite", flights=ROWS)
    with sqlite.connect(str(file)) as con:
        for options in ({"source": "flights"}, {"query": "SELECT * FROM flights"}):
            predictions = sqleval.scan(**options, con=con, **ROLES)
            for _ in range(2):
                found = predictions.evaluate(FEW).collect()
                assert_frame_equal(found.drop("method"), few)
        with pytest.raises(RequestError, match="give the name of a table, or query="):
            sqleval.scan(ROWS, con=con, **ROLES)
        with pytest.raises(SourceError, match=r"'flihgts'; did you mean .*such as 'main\.f"):
            sqleval.scan("flihgts", con=con, **ROLES)


class Batch:
    """One batch of another library."""

    def __arrow_c_array__(self, requested_schema: object = None) -> object:
        batch = ROWS.to_arrow().combine_chunks().to_batches()[0]
        return batch.__arrow_c_array__(requested_schema)


def test_arrow_streams_of_any_library(tmp_path: Path, expected: pl.DataFrame) -> None:
    file = write_sqlite(tmp_path / "w.sqlite", flights=ROWS)
    asked = ["roc_auc", "log_loss"]
    with sqlite.connect(str(file)) as con, con.cursor() as cursor:
        cursor.execute("SELECT * FROM flights")
        for source in (
            Stream(ROWS), Batch(), ROWS.lazy().collect_batches(lazy=True), cursor,
            ROWS.to_arrow().to_reader(),
        ):  # fmt: skip
            predictions = sqleval.scan(source, **ROLES)
            # A statement with metrics of ranks and of values would read the rows more than once.
            found = predictions.evaluate(asked).collect()
            wanted = expected.filter(pl.col("metric").is_in(asked))
            assert_frame_equal(found.drop("method"), wanted.drop("method"))
            with pytest.raises(SourceError, match=r"this \w+ has been read, and it can"):
                predictions.evaluate("roc_auc").collect()


def test_texts_that_name_a_database(tmp_path: Path) -> None:
    folder = tmp_path / "lake.db"
    folder.mkdir()
    (tmp_path / "a#b.parquet").touch()
    for source in (folder, f"{folder}/*.parquet", tmp_path / "a#b.parquet", "s3://a/b.db", ROWS,
                   f"{tmp_path}/*.duckdb", "-", "", "rows"):  # fmt: skip
        assert databases.find_database(source) is None
    (tmp_path / "v#1.duckdb").touch()
    for source, expected in {
        f"{tmp_path}/v#1.duckdb": ("duckdb", f"{tmp_path}/v#1.duckdb", ""),
        f"{tmp_path}/v#1.duckdb#main.A#B": ("duckdb", f"{tmp_path}/v#1.duckdb", "main.A#B"),
        "x/w.duckdb#a.b": ("duckdb", "x/w.duckdb", "a.b"),
        "sqlite:///x/y.z#t": ("sqlite", "x/y.z", "t"),
        "sqlite:////x/y%20z": ("sqlite", "/x/y z", ""),
        "postgres://me@[::1]:5,h:6/d?sslmode=require#s.t": (
            "postgres", "postgres://me@[::1]:5,h:6/d?sslmode=require", "s.t"),
    }.items():  # fmt: skip
        assert databases.find_database(source) == expected
        if expected[0] == "sqlite":
            assert databases.write_sqlite_url(*expected[1:]) == source


@pytest.mark.parametrize(
    ("name", "library"),
    [("rows.sqlite", "adbc-driver-sqlite"), ("postgresql://me@host/db", "adbc-driver-postgresql")],
)
def test_a_driver_that_is_not_installed(
    name: str, library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_sqlite(tmp_path / "rows.sqlite", flights=ROWS)
    for driver in ("adbc_driver_sqlite.dbapi", "adbc_driver_postgresql.dbapi"):
        monkeypatch.setitem(sys.modules, driver, None)
    source = name if "://" in name else file
    with pytest.raises(MissingExtra, match=rf"run pip install '{library}>=1\.13'$"):
        sqleval.scan(source, **ROLES)
