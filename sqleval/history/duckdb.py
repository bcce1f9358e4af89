"""A history in a DuckDB file."""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from sqleval.common.arrow import ArrowStream
from sqleval.engines.duckdb_files import MissingTable, database
from sqleval.errors import EngineError
from sqleval.history.store import (
    ALL,
    TABLES,
    Parameters,
    Selection,
    define_columns,
    write_conditions,
)


@contextmanager
def _open(path: str, *, read_only: bool = False) -> Generator[Any]:
    """Yield a connection to a history, which has tables alone.

    Raises
    ------
    EngineError
        If a view has the name of a table.
    """
    with database(path, read_only=read_only) as con:
        views = con.execute(
            "SELECT view_name FROM duckdb_views() WHERE database_name = 'file'"
        ).fetchall()
        if view := next((name for (name,) in views if name in TABLES), None):
            raise EngineError(f"the history {path}: {view} is a view, and must be a table")
        yield con


def _create_tables(con: Any) -> None:
    """Create the tables that a new file, or one of an older release, lacks."""
    stored = con.execute(
        "SELECT table_name FROM duckdb_tables() "
        "WHERE database_name = 'file' AND schema_name = 'main'"
    ).fetchall()
    for table in TABLES:
        if (table,) not in stored:
            con.execute(f"CREATE TABLE file.{table} ({define_columns(table)})")


@contextmanager
def _create(path: str) -> Generator[Any]:
    """Open a file for writing, which is created with its tables unless it exists."""
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EngineError(f"the history {path}: {error}") from error
    with _open(path) as con:
        _create_tables(con)
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
    """A DuckDB file, which a process locks while it writes; any number may read together."""

    path: str

    def read(self, table: str, job: str | None = None, only: Selection = ALL) -> pl.DataFrame:
        """Return the rows of a table, optionally of one job; a missing table is empty."""
        schema = only.list_columns(table)
        if not Path(self.path).exists():
            return pl.DataFrame(schema=schema)
        columns = only.write_columns(table)
        parameters = Parameters()
        where = write_conditions(job, only, parameters.place)
        # Rows come in the order in which they were written: DuckDB keeps it, with no time to sort.
        start = "SELECT DISTINCT" if only.distinct else "SELECT"
        statement = f"{start} {columns} FROM file.{table}{where}"
        with _open(self.path, read_only=True) as con:
            try:
                rows = con.sql(statement, params=parameters.values)
            except MissingTable:
                return pl.DataFrame(schema=schema)
            return pl.DataFrame(ArrowStream(rows), schema_overrides=schema)

    def replace(
        self,
        job: str,
        periods: Sequence[str],
        results: pl.DataFrame,
        files: pl.DataFrame | None,
        restated: pl.DataFrame | None = None,
    ) -> None:
        """Replace the results of these periods and, if ``files`` is not None, all file rows.

        The rows of ``restated`` are added to what earlier calls have added.
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

    def replace_definitions(self, job: str, definitions: Mapping[str, str]) -> None:
        """Replace definition hashes in the results of a job: old hash to new hash."""
        with _open(self.path) as con:
            con.executemany(
                "UPDATE file.sqleval_history SET definition = ? WHERE job = ? AND definition = ?",
                [[new, job, old] for old, new in definitions.items()],
            )

    def remove(self, job: str, periods: Sequence[str]) -> None:
        """Remove the results of these periods, and those that they had replaced."""
        with _open(self.path) as con:
            _create_tables(con)
            for table in ("sqleval_history", "sqleval_restated"):
                _remove(con, table, job, periods)

    def compact(self) -> None:
        """Write each table anew, to the free blocks, so that the end of the file is cut off."""
        with _open(self.path) as con:
            _create_tables(con)
            for table in TABLES:
                con.execute(
                    f"CREATE TABLE file._compacted AS SELECT * FROM file.{table} ORDER BY rowid"
                )
                con.execute(f"DROP TABLE file.{table}")
                con.execute(f"ALTER TABLE file._compacted RENAME TO {table}")
