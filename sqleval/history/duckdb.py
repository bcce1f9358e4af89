"""The history in a DuckDB file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from sqleval.common.sql_text import quote
from sqleval.engines.duckdb import database
from sqleval.errors import EngineError
from sqleval.history.store import TABLES, columns_sql


@dataclass(frozen=True)
class DuckDB:
    """A file that one process holds at a time, for as long as a read or a write takes."""

    path: str

    def read(self, table: str, job: str | None = None) -> pl.DataFrame:
        """Return a table's rows, or those of one job."""
        schema = TABLES[table]
        if not Path(self.path).exists():
            return pl.DataFrame(schema=schema)
        columns = ", ".join(map(quote, schema))
        where = "" if job is None else " WHERE job = $job"
        with database(self.path) as con:
            names = {
                name for (name,) in con.execute("SELECT table_name FROM duckdb_tables()").fetchall()
            }
            if table not in names:
                return pl.DataFrame(schema=schema)
            params = {} if job is None else {"job": job}
            found = con.sql(f"SELECT {columns} FROM {table}{where} ORDER BY rowid", params=params)
            return pl.DataFrame(found, schema_overrides=schema)

    def replace(
        self,
        job: str,
        periods: Sequence[str],
        results: pl.DataFrame,
        files: pl.DataFrame | None,
    ) -> None:
        """Put ``results`` in the place of these periods' rows, and ``files`` of all files."""
        try:
            Path(self.path).parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise EngineError(f"the history {self.path}: {error}") from error
        with database(self.path) as con:
            for table in TABLES:
                con.execute(f"CREATE TABLE IF NOT EXISTS {table} ({columns_sql(table)})")
            given = {"job": job, "periods": list(periods)}
            con.execute(
                "DELETE FROM sqleval_history "
                "WHERE job = $job AND period IN (SELECT UNNEST($periods))",
                given,
            )
            self._add(con, "sqleval_history", results)
            if files is not None:
                con.execute("DELETE FROM sqleval_files WHERE job = $job", {"job": job})
                self._add(con, "sqleval_files", files)

    def rename(self, job: str, definitions: Mapping[str, str]) -> None:
        """Write each definition of a job's rows under its new name."""
        with database(self.path) as con:
            con.executemany(
                "UPDATE sqleval_history SET definition = ? WHERE job = ? AND definition = ?",
                [[new, job, old] for old, new in definitions.items()],
            )

    @staticmethod
    def _add(con: Any, table: str, frame: pl.DataFrame) -> None:
        con.register("_added", frame)
        con.execute(f"INSERT INTO {table} BY NAME SELECT * FROM _added")
        con.unregister("_added")
