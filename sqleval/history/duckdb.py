"""A history in a DuckDB file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from sqleval.common.arrow import ArrowStream
from sqleval.engines.duckdb_files import database
from sqleval.errors import EngineError
from sqleval.history.store import (
    ALL,
    TABLES,
    Parameters,
    Selection,
    define_columns,
    write_conditions,
)


def _create_tables(con: Any) -> None:
    """Create the tables that a new file, or one of an older release, lacks."""
    for table in TABLES:
        con.execute(f"CREATE TABLE IF NOT EXISTS {table} ({define_columns(table)})")


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
        with database(self.path, read_only=True) as con:
            names = {
                name for (name,) in con.execute("SELECT table_name FROM duckdb_tables()").fetchall()
            }
            if table not in names:
                return pl.DataFrame(schema=schema)
            start, end = ("SELECT DISTINCT", "") if only.distinct else ("SELECT", " ORDER BY rowid")
            rows = con.sql(f"{start} {columns} FROM {table}{where}{end}", params=parameters.values)
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
        try:
            Path(self.path).parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise EngineError(f"the history {self.path}: {error}") from error
        with database(self.path) as con:
            _create_tables(con)
            con.execute(
                "DELETE FROM sqleval_history "
                "WHERE job = $job AND period IN (SELECT UNNEST($periods))",
                {"job": job, "periods": list(periods)},
            )
            self._insert(con, "sqleval_history", results)
            if files is not None:
                con.execute("DELETE FROM sqleval_files WHERE job = $job", {"job": job})
                self._insert(con, "sqleval_files", files)
            if restated is not None:
                self._insert(con, "sqleval_restated", restated)

    def replace_definitions(self, job: str, definitions: Mapping[str, str]) -> None:
        """Replace definition hashes in the results of a job: old hash to new hash."""
        with database(self.path) as con:
            con.executemany(
                "UPDATE sqleval_history SET definition = ? WHERE job = ? AND definition = ?",
                [[new, job, old] for old, new in definitions.items()],
            )

    def remove(self, job: str, periods: Sequence[str]) -> None:
        """Remove the results of these periods, and those that they had replaced."""
        with database(self.path) as con:
            _create_tables(con)
            for table in ("sqleval_history", "sqleval_restated"):
                con.execute(
                    f"DELETE FROM {table} WHERE job = $job AND period IN (SELECT UNNEST($periods))",
                    {"job": job, "periods": list(periods)},
                )

    def compact(self) -> None:
        """Write each table anew, to the free blocks, so that the end of the file is cut off."""
        with database(self.path) as con:
            _create_tables(con)
            for table in TABLES:
                con.execute(f"CREATE TABLE _compacted AS SELECT * FROM {table} ORDER BY rowid")
                con.execute(f"DROP TABLE {table}")
                con.execute(f"ALTER TABLE _compacted RENAME TO {table}")

    @staticmethod
    def _insert(con: Any, table: str, frame: pl.DataFrame) -> None:
        con.register("_new_rows", frame)
        con.execute(f"INSERT INTO {table} BY NAME SELECT * FROM _new_rows")
        con.unregister("_new_rows")
