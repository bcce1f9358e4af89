"""Stores a history in a DuckDB file."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from sqleval.common.arrow import ArrowStream
from sqleval.common.sql_text import quote, write_literal
from sqleval.engines.duckdb_files import database
from sqleval.errors import EngineError
from sqleval.history import schema
from sqleval.history.store import ALL, TABLES, Parameters, Selection, write_conditions

_PLACE = "WHERE database_name = 'file' AND schema_name = 'main'"
# Two queries, because joining them takes longer.
_TABLES = f"SELECT table_name, comment FROM duckdb_tables() {_PLACE}"
_COLUMNS = f"SELECT table_name, column_name FROM duckdb_columns() {_PLACE}"


class _Stored(NamedTuple):
    """The schema of a history: the columns of each table, and the description of the results."""

    columns: dict[str, list[str]]
    description: str | None


@contextmanager
def _open(path: str, *, read_only: bool = False) -> Generator[tuple[Any, _Stored]]:
    """Yield a connection to a history, and the schema of the history.

    Raises
    ------
    EngineError
        If a view has the name of a table, or the history has a newer version.
    """
    with database(path, read_only=read_only) as con:
        descriptions = dict(con.execute(_TABLES).fetchall())
        columns: dict[str, list[str]] = {}
        for name, column in con.execute(_COLUMNS).fetchall():
            columns.setdefault(name, []).append(column)
        # Views have columns, too.
        if view := next((name for name in columns if name in TABLES.keys() - descriptions), None):
            raise EngineError(f"the history {path}: {view} is a view, and must be a table")
        stored = _Stored(columns, descriptions.get("sqleval_history"))
        schema.check_version(stored.description, path)
        yield con, stored


def _upgrade(con: Any, stored: _Stored) -> None:
    """Create the tables and columns that a file lacks because it is new or has an older version."""
    for table in TABLES:
        if table not in stored.columns:
            con.execute(f"CREATE TABLE file.{table} ({schema.define_columns(table)})")
            continue
        for name, kind in schema.list_missing_columns(table, stored.columns[table]).items():
            con.execute(f"ALTER TABLE file.{table} ADD COLUMN {quote(name)} {kind}")
    if schema.read_version(stored.description) < schema.VERSION:
        _describe(con, stored)


def _describe(con: Any, stored: _Stored) -> None:
    """Write the schema version into the description of the results."""
    text = write_literal(schema.write_version(stored.description))
    con.execute(f"COMMENT ON TABLE file.sqleval_history IS {text}")


@contextmanager
def _create(path: str) -> Generator[Any]:
    """Open a file for writing; create it with its tables if it is missing."""
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EngineError(f"the history {path}: {error}") from error
    with _open(path) as (con, stored):
        _upgrade(con, stored)
        yield con


def _remove(con: Any, table: str, job: str, periods: Sequence[str]) -> None:
    """Remove the rows of a job's periods from a table."""
    parameters = Parameters()
    where = write_conditions(job, Selection(periods=periods), parameters.place)
    con.execute(f"DELETE FROM file.{table}{where}", parameters.values)


def _insert(con: Any, table: str, frame: pl.DataFrame) -> None:
    con.register("added_rows", frame)
    con.execute(f"INSERT INTO file.{table} BY NAME SELECT * FROM added_rows")
    con.unregister("added_rows")


@dataclass(frozen=True)
class DuckDB:
    """A DuckDB file. A process locks it while it writes; several may read at a time."""

    path: str

    def check_rights(self) -> None:
        """Do nothing: the file system itself refuses to open a file."""

    def read(self, table: str, job: str | None = None, only: Selection = ALL) -> pl.DataFrame:
        """Return the rows of a table, optionally of one job; a missing table is empty."""
        types = only.list_columns(table)
        if not Path(self.path).exists():
            return pl.DataFrame(schema=types)
        columns = only.write_columns(table)
        parameters = Parameters()
        where = write_conditions(job, only, parameters.place)
        # DuckDB keeps the order in which rows were written, so they need no sorting.
        start = "SELECT DISTINCT" if only.distinct else "SELECT"
        with _open(self.path, read_only=True) as (con, stored):
            if table not in stored.columns:
                return pl.DataFrame(schema=types)
            source = schema.write_relation(table, stored.columns[table], f"file.{table}")
            rows = con.sql(f"{start} {columns} FROM {source}{where}", params=parameters.values)
            return pl.DataFrame(ArrowStream(rows), schema_overrides=types)

    def replace(
        self,
        job: str,
        periods: Sequence[str],
        results: pl.DataFrame,
        files: pl.DataFrame | None,
        restated: pl.DataFrame | None = None,
    ) -> None:
        """Replace the results of these periods and, if ``files`` is not None, all file rows.

        The rows of ``restated`` are appended.
        """
        with _create(self.path) as con:
            if periods:
                _remove(con, "sqleval_history", job, periods)
                _insert(con, "sqleval_history", results)
            if files is not None:
                con.execute("DELETE FROM file.sqleval_files WHERE job = $job", {"job": job})
                _insert(con, "sqleval_files", files)
            if restated is not None:
                _insert(con, "sqleval_restated", restated)

    def append(self, table: str, rows: pl.DataFrame) -> None:
        """Add rows to a table."""
        with _create(self.path) as con:
            _insert(con, table, rows)

    def remove(self, job: str, periods: Sequence[str]) -> None:
        """Remove the results of these periods, and the results that they had replaced."""
        with _open(self.path) as (con, stored):
            _upgrade(con, stored)
            for table in ("sqleval_history", "sqleval_restated"):
                _remove(con, table, job, periods)

    def compact(self) -> None:
        """Write each table anew to free blocks, so that DuckDB can truncate the file."""
        with _open(self.path) as (con, stored):
            _upgrade(con, stored)
            for table in TABLES:
                con.execute(
                    f"CREATE TABLE file._compacted AS SELECT * FROM file.{table} ORDER BY rowid"
                )
                con.execute(f"DROP TABLE file.{table}")
                con.execute(f"ALTER TABLE file._compacted RENAME TO {table}")
            _describe(con, stored)

    def tidy(self, job: str) -> None:
        """Do nothing: the file reuses the blocks of removed rows."""
