"""A history in a PostgreSQL database, read and written as Arrow."""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote as quoted
from urllib.parse import urlsplit, urlunsplit

import polars as pl

from sqleval.common.imports import import_optional
from sqleval.common.sql_text import quote
from sqleval.errors import EngineError, StoreBusy
from sqleval.history.store import TABLES, define_columns

#: SQLSTATE: serialization failure, deadlock, too many connections, server starting.
_BUSY = ("40001", "40P01", "53300", "57P03")
_LOCK = "SELECT pg_advisory_xact_lock(hashtext('sqleval'), hashtext($1))"


@dataclass(frozen=True)
class PostgreSQL:
    """Two tables in the first schema of the search path."""

    url: str
    password: str | None = field(repr=False)

    @contextmanager
    def _connect(self) -> Generator[Any]:
        dbapi = import_optional("adbc_driver_postgresql.dbapi", "postgres", "PostgreSQL")
        try:
            with dbapi.connect(self._add_password()) as con, con.cursor() as cursor:
                yield cursor
                con.commit()
        except dbapi.Error as error:
            kind = StoreBusy if error.sqlstate in _BUSY else EngineError
            # The driver's message may repeat the URL; hide its password.
            text = str(error).replace(self._add_password(), self.url).strip().splitlines()[0]
            raise kind(f"the history {self.url}: {text}") from None

    def _add_password(self) -> str:
        if self.password is None:
            return self.url
        parts = urlsplit(self.url)
        user, at, host = parts.netloc.rpartition("@")
        secret = f"{user}:{quoted(self.password, safe='')}{at}{host}"
        return urlunsplit(parts._replace(netloc=secret))

    def read(self, table: str, job: str | None = None) -> pl.DataFrame:
        """Return the rows of a table, optionally of one job; a missing table is empty."""
        schema = TABLES[table]
        columns = ", ".join(map(quote, schema))
        where, parameters = ("", None) if job is None else (" WHERE job = $1", (job,))
        with self._connect() as cursor:
            cursor.execute("SELECT to_regclass($1) IS NOT NULL", (table,))
            if not cursor.fetchone()[0]:
                return pl.DataFrame(schema=schema)
            cursor.execute(f"SELECT {columns} FROM {table}{where} ORDER BY ordinal", parameters)
            return pl.DataFrame(cursor.fetch_arrow_table(), schema_overrides=schema)

    def replace(
        self,
        job: str,
        periods: Sequence[str],
        results: pl.DataFrame,
        files: pl.DataFrame | None,
    ) -> None:
        """Replace the results of these periods and, if ``files`` is not None, all file rows."""
        with self._connect() as cursor:
            # CREATE TABLE IF NOT EXISTS fails if two sessions run it at the same time.
            cursor.execute(_LOCK, ("",))
            for table in TABLES:
                columns = f"ordinal BIGSERIAL PRIMARY KEY, {define_columns(table)}"
                cursor.execute(f"CREATE TABLE IF NOT EXISTS {table} ({columns})")
            if periods:
                cursor.execute(
                    "DELETE FROM sqleval_history "
                    "WHERE job = $1 AND period = ANY(string_to_array($2, '|'))",
                    (job, "|".join(periods)),
                )
                cursor.adbc_ingest("sqleval_history", results.to_arrow(), mode="append")
            if files is not None:
                cursor.execute("DELETE FROM sqleval_files WHERE job = $1", (job,))
                cursor.adbc_ingest("sqleval_files", files.to_arrow(), mode="append")

    def replace_definitions(self, job: str, definitions: Mapping[str, str]) -> None:
        """Replace definition hashes in the results of a job: old hash to new hash."""
        with self._connect() as cursor:
            cursor.executemany(
                "UPDATE sqleval_history SET definition = $1 WHERE job = $2 AND definition = $3",
                [(new, job, old) for old, new in definitions.items()],
            )
