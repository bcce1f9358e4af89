"""Starts other SQL engines, all with the same few methods.

An engine's package is imported when the engine starts: ImportError says that it is missing.
"""

from __future__ import annotations

import atexit
import os
import pwd
import shutil
import sqlite3
import subprocess
import tempfile
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from functools import cache
from io import BytesIO
from itertools import count
from pathlib import Path
from signal import SIGINT
from typing import Any, ClassVar, NamedTuple, Self
from urllib.parse import quote

import pyarrow as pa
from pyarrow import csv

#: The name that most engines have for an Arrow type.
TYPES: dict[pa.DataType, str] = {
    pa.bool_(): "BOOLEAN",
    pa.int8(): "SMALLINT",
    pa.int32(): "INT",
    pa.int64(): "BIGINT",
    pa.float32(): "REAL",
    pa.float64(): "DOUBLE PRECISION",
    pa.string(): "VARCHAR",
    pa.large_string(): "VARCHAR",
    pa.date32(): "DATE",
}


class Result(NamedTuple):
    """Column names as the engine returns them, and rows without Decimal values."""

    columns: list[str]
    rows: list[tuple[object, ...]]


class Engine(ABC):
    """A running engine into which tables are loaded, until ``close``."""

    name: ClassVar[str]
    #: The sqlglot dialect whose text it takes.
    dialect: ClassVar[str]
    _connection: Any  # the default methods use it as a DB-API connection

    @abstractmethod
    def load(self, table: str, data: pa.Table) -> None:
        """Create or replace a table; NULL, NaN and infinities stay what they are."""

    def run(self, sql: str) -> Result:
        """Run one query and read all of its rows."""
        return _fetched(self._connection.cursor().execute(sql))

    def close(self) -> None:
        """End the engine, and with it its tables; a second call does nothing."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class DuckDB(Engine):
    """DuckDB in memory."""

    name, dialect = "DuckDB", "duckdb"

    def __init__(self) -> None:
        import duckdb

        self._connection = duckdb.connect(config={"python_enable_replacements": False})

    def load(self, table: str, data: pa.Table) -> None:
        self._connection.register("arrow_data", data)
        self._connection.execute(f'CREATE OR REPLACE TABLE "{table}" AS FROM arrow_data')
        self._connection.unregister("arrow_data")


class Polars(Engine):
    """Polars' own SQL, which needs Polars 2."""

    name, dialect = "Polars", "postgres"

    def __init__(self) -> None:
        import polars as pl

        self._connection = pl.SQLContext(eager=True)

    def load(self, table: str, data: pa.Table) -> None:
        self._connection.register(table, data)

    def run(self, sql: str) -> Result:
        frame = self._connection.execute(sql)
        return _result(frame.columns, frame.rows())

    def close(self) -> None:
        self._connection = None


class DataFusion(Engine):
    """DataFusion in memory; its quotient of integers is an integer, as in PostgreSQL."""

    name, dialect = "DataFusion", "postgres"

    def __init__(self) -> None:
        from datafusion import SessionContext

        self._connection = SessionContext()

    def load(self, table: str, data: pa.Table) -> None:
        self._connection.deregister_table(table)
        self._connection.from_arrow(data, table)

    def run(self, sql: str) -> Result:
        return _from_arrow(self._connection.sql(sql).to_arrow_table())

    def close(self) -> None:
        self._connection = None


class ClickHouse(Engine):
    """ClickHouse in this process, by chdb, with its defaults.

    LEFT JOIN, LAG and an empty SUM give 0, not NULL, if the column cannot be NULL, as COUNT's.
    """

    name, dialect = "ClickHouse", "clickhouse"

    def __init__(self) -> None:
        from chdb.session import Session

        self._connection = Session()

    def load(self, table: str, data: pa.Table) -> None:
        # chdb finds the local variable `data` by its name; its columns are Nullable.
        self._connection.query(
            f"CREATE OR REPLACE TABLE `{table}` ENGINE = Memory AS SELECT * FROM Python(data)"
        )

    def run(self, sql: str) -> Result:
        return _from_arrow(self._connection.query(sql, "ArrowTable"))


class SQLite(Engine):
    """SQLite in memory: a NaN becomes NULL, a date its ISO text, a boolean 0 or 1."""

    name, dialect = "SQLite", "sqlite"

    def __init__(self) -> None:
        self._connection = sqlite3.connect(":memory:")

    def load(self, table: str, data: pa.Table) -> None:
        self._connection.execute(f'DROP TABLE IF EXISTS "{table}"')
        self._connection.execute(f'CREATE TABLE "{table}" ({_columns(data)})')
        plain = [c.cast(pa.string()) if c.type == pa.date32() else c for c in data.columns]
        rows = zip(*(column.to_pylist() for column in plain), strict=True)
        places = ", ".join("?" * data.num_columns)
        self._connection.executemany(f'INSERT INTO "{table}" VALUES ({places})', rows)
        self._connection.commit()


class Snowflake(Engine):
    """Fakesnow: text is parsed as Snowflake's and names fold, but DuckDB does the arithmetic."""

    name, dialect = "Snowflake (fakesnow)", "snowflake"

    def __init__(self) -> None:
        from fakesnow import FakeSnow

        self._connection = FakeSnow().connect(database="DB", schema="TESTS")

    def load(self, table: str, data: pa.Table) -> None:
        folded = data.rename_columns([name.upper() for name in data.column_names])
        self.run(f'CREATE OR REPLACE TABLE "{table.upper()}" ({_columns(folded)})')
        # Fakesnow has no other fast way to load many rows.
        duck: Any = self._connection._duck_conn
        duck.register("arrow_data", folded)
        duck.execute(f'INSERT INTO "{table.upper()}" FROM arrow_data')
        duck.unregister("arrow_data")

    def run(self, sql: str) -> Result:
        from snowflake.connector.cursor import DictCursor

        with warnings.catch_warnings():  # Of DuckDB 2, at how fakesnow reads its results.
            warnings.simplefilter("ignore", UserWarning)
            cursor = self._connection.cursor(DictCursor).execute(sql)
            # The names come from a row, because the cursor would run another statement for them.
            rows = cursor.fetchall()
            columns = [*rows[0]] if rows else [column[0] for column in cursor.description]
        return _result(columns, (tuple(row.values()) for row in rows))


class _Server:
    """A PostgreSQL server on a Unix socket in a temporary folder, without network."""

    def __init__(self) -> None:
        binaries = postgres_binaries()
        if binaries is None:
            raise ImportError("no PostgreSQL server here: Debian's package is postgresql")
        # The path of a socket has at most 107 bytes, and the server's user must reach it.
        self.folder = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))
        atexit.register(self._stop)
        self._process: subprocess.Popen[bytes] | None = None
        how: dict[str, Any] = {"cwd": self.folder, "stderr": subprocess.STDOUT}
        if os.geteuid() == 0:  # The server refuses to run as root.
            user = next(u for u in pwd.getpwall() if u.pw_name in ("postgres", "nobody"))
            os.chown(self.folder, user.pw_uid, user.pw_gid)
            how |= {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        options = ["-Ddata", "-Atrust", "-Upostgres", "-EUTF8", "--locale=C", "--no-sync"]
        settings = ["-Ddata", f"-k{self.folder}", "-h", "", "-cfsync=off", "-cjit=off"]
        with (self.folder / "log").open("wb") as log:
            subprocess.run([binaries / "initdb", *options], check=True, stdout=log, **how)
            self._process = subprocess.Popen([binaries / "postgres", *settings], stdout=log, **how)
        for _ in range(600):
            try:
                self.connect("postgres").close()
                return
            except OSError:
                if self._process.poll() is not None:
                    break
                time.sleep(0.05)
        raise RuntimeError(f"PostgreSQL: {(self.folder / 'log').read_text()}")

    def connect(self, database: str) -> Any:
        """Return a connection to a database; raise OSError if the server does not answer."""
        import psycopg

        try:
            return psycopg.connect(
                host=str(self.folder), user="postgres", dbname=database, autocommit=True
            )
        except psycopg.OperationalError as error:
            raise OSError(error) from error

    def _stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(SIGINT)  # Its fast shutdown; nothing if it has ended.
            self._process.wait(30)
        shutil.rmtree(self.folder, ignore_errors=True)


#: One server for all tests of this process: a new database takes a tenth of its start.
_start_server = cache(_Server)
_databases = count()


class PostgreSQL(Engine):
    """A database of its own, on the PostgreSQL server of this process."""

    name, dialect = "PostgreSQL", "postgres"
    _connection = None

    def __init__(self) -> None:
        import psycopg  # noqa: F401  # no server is needed without it

        self._server = _start_server()
        self.database = f"tests_{next(_databases)}"
        self._execute_alone(f"CREATE DATABASE {self.database}")
        self._connection = self._server.connect(self.database)

    def _execute_alone(self, statement: str) -> None:
        with self._server.connect("postgres") as connection:
            connection.execute(statement)

    @property
    def url(self) -> str:
        """The address of the database for other clients."""
        host = quote(str(self._server.folder), safe="")
        return f"postgresql://postgres@/{self.database}?host={host}"

    def load(self, table: str, data: pa.Table) -> None:
        self._connection.execute(f'DROP TABLE IF EXISTS "{table}"')
        self._connection.execute(f'CREATE TABLE "{table}" ({_columns(data)})')
        text = BytesIO()  # Arrow puts strings in quotes and leaves NULL empty, as COPY wants.
        csv.write_csv(data, text, csv.WriteOptions(include_header=False))
        with self._connection.cursor().copy(f'COPY "{table}" FROM STDIN (FORMAT csv)') as copy:
            copy.write(text.getvalue())
        self._connection.execute(f'ANALYZE "{table}"')

    def run(self, sql: str) -> Result:
        # Binary, because the text of a REAL is not its value as a DOUBLE.
        return _fetched(self._connection.execute(sql, binary=True))

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
            # FORCE drops it even while other clients are connected.
            self._execute_alone(f"DROP DATABASE {self.database} WITH (FORCE)")


class Sail(Engine):
    """Sail in this process, by Spark Connect; it has no ANSI mode like Spark's."""

    name, dialect = "Sail", "spark"

    def __init__(self) -> None:
        from sqleval.engines.opening import open_engine

        self._connection: Any = open_engine("sail")

    def load(self, table: str, data: pa.Table) -> None:
        with warnings.catch_warnings():  # Of PySpark 4.2, about pandas 3.
            warnings.simplefilter("ignore")
            frame = self._connection.session.createDataFrame(data)
        frame.createOrReplaceTempView(table)

    def run(self, sql: str) -> Result:
        # Arrow is not used: PySpark would cast to the type of the first part of UNION ALL.
        frame = self._connection.session.sql(sql)
        rows = frame.collect()
        # The names come from a row, because the frame would plan the statement again for them.
        columns = rows[0].__fields__ if rows else frame.columns
        return _result(columns, map(tuple, rows))

    def close(self) -> None:
        """Do nothing: other tests use the session, which ends with the process."""


class Spark(Sail):
    """Spark in a JVM of this process, which then cannot speak Spark Connect."""

    name = "Spark"

    def __init__(self) -> None:
        from pyspark.sql import SparkSession

        from sqleval.engines.spark import Spark as Session

        settings = {
            "spark.master": "local[2]",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.shuffle.partitions": "2",
            # As the page says, for Newton's steps of a calibration line.
            "spark.sql.analyzer.maxIterations": "10000",
        }
        self._connection = Session(SparkSession.builder.config(map=settings).getOrCreate())

    def close(self) -> None:
        self._connection.session.stop()


#: The class of each engine, by its name.
ENGINES: dict[str, Callable[[], Engine]] = {
    engine.name: engine
    for engine in (DuckDB, Polars, DataFusion, ClickHouse, PostgreSQL, SQLite, Snowflake, Sail)
}
#: Engines that the extra `dev` installs, and all others.
HERE = {name: start for name, start in ENGINES.items() if start in (DuckDB, Polars, SQLite)}
ELSEWHERE = {name: start for name, start in ENGINES.items() if name not in HERE}
#: Engines that need a process of their own, and too much time for each test of the others.
SLOW_ENGINES: dict[str, Callable[[], Engine]] = {Spark.name: Spark}


def postgres_binaries() -> Path | None:
    """Return the folder of PostgreSQL's programs: in PATH, else Debian's newest, else None."""
    debian = Path("/usr/lib/postgresql").glob("[0-9]*/bin")
    newest = sorted(debian, key=lambda folder: float(folder.parent.name), reverse=True)
    for folder in (*os.get_exec_path(), *newest):
        if all(shutil.which(name, path=str(folder)) for name in ("initdb", "postgres")):
            return Path(folder)
    return None


def _columns(data: pa.Table) -> str:
    """Return the columns of a CREATE TABLE."""
    return ", ".join(f'"{field.name}" {TYPES[field.type]}' for field in data.schema)


def _plain(value: object) -> object:
    """Return a Decimal as an integer if it has no places, else as a float."""
    if isinstance(value, Decimal):
        return int(value) if value.as_tuple().exponent == 0 else float(value)
    return value


def _result(columns: Iterable[str], rows: Iterable[Sequence[object]]) -> Result:
    return Result(list(columns), [tuple(map(_plain, row)) for row in rows])


def _fetched(cursor: Any) -> Result:
    return _result((column[0] for column in cursor.description), cursor.fetchall())


def _from_arrow(data: pa.Table) -> Result:
    return _result(data.column_names, zip(*(c.to_pylist() for c in data.columns), strict=True))
