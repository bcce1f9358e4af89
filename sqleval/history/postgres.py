"""A history in a PostgreSQL database, read and written as Arrow."""

import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import Any

import polars as pl

from sqleval.common.imports import import_optional
from sqleval.common.postgres import PostgresDatabase
from sqleval.errors import EngineError, StoreBusy, get_first_line
from sqleval.history.store import (
    ALL,
    TABLES,
    Parameters,
    Selection,
    define_columns,
    write_conditions,
)

#: SQLSTATE: serialization failure, deadlock, too many connections, server starting, lock timeout.
_BUSY = ("40001", "40P01", "53300", "57P03", "55P03")
#: The order of periods is that of their bytes, whatever the language of the database.
_COLLATE = ' COLLATE "C"'
_INDEX = (
    "CREATE INDEX IF NOT EXISTS sqleval_history_by_period "
    f"ON sqleval_history (job, period{_COLLATE})"
)
_EXISTING = " UNION ALL ".join(
    f"SELECT '{table}' WHERE to_regclass('{table}') IS NOT NULL" for table in TABLES
)
_LACKS_INDEX = (
    "SELECT to_regclass('sqleval_history_by_period') IS NULL AND pg_has_role(relowner, 'USAGE') "
    "FROM pg_class WHERE oid = 'sqleval_history'::regclass"
)
#: How long a writer waits for another one before it raises `StoreBusy`.
_LOCK_TIMEOUT = "5s"
_LOCK = "SELECT pg_advisory_xact_lock(hashtext('sqleval'), hashtext($1))"

#: The environment is one for all threads.
_CONNECTING = Lock()


@contextmanager
def _set_password(password: str | None) -> Generator[None]:
    """Hand the password over while a connection is made, in the environment.

    ADBC has no option for it, and libpq repeats a URL that it cannot read in its messages.
    """
    if password is None:
        yield
        return
    with _CONNECTING:
        before = os.environ.get("PGPASSWORD")
        os.environ["PGPASSWORD"] = password
        try:
            yield
        finally:
            if before is None:
                del os.environ["PGPASSWORD"]
            else:
                os.environ["PGPASSWORD"] = before


def _create_tables(cursor: Any) -> None:
    """Create what an empty database, or one of an older release, lacks; wait for other writers.

    Where nothing is lacking, rights on the rows are enough: CREATE ... IF NOT EXISTS asks for those
    to create, and CREATE INDEX for the owner.
    """
    cursor.execute(f"SET LOCAL lock_timeout = '{_LOCK_TIMEOUT}'")
    # CREATE TABLE IF NOT EXISTS fails if two sessions run it at the same time.
    cursor.execute(_LOCK, ("",))
    cursor.execute(_EXISTING)
    existing = {name for (name,) in cursor.fetchall()}
    for table in TABLES:
        if table not in existing:
            columns = f"ordinal BIGSERIAL PRIMARY KEY, {define_columns(table)}"
            cursor.execute(f"CREATE TABLE IF NOT EXISTS {table} ({columns})")
    # Tables of older releases have none; it saves time, and may be left to the owner.
    cursor.execute(_LACKS_INDEX)
    if cursor.fetchone()[0]:
        cursor.execute(_INDEX)


@dataclass(frozen=True)
class PostgreSQL:
    """Tables in the first schema of the search path."""

    url: str
    password: str | None = field(repr=False)

    @cached_property
    def _database(self) -> PostgresDatabase:
        return PostgresDatabase(self.url)

    @contextmanager
    def _connect(self) -> Generator[Any]:
        dbapi = import_optional("adbc_driver_postgresql.dbapi", "postgres", "PostgreSQL")
        try:
            with _set_password(self.password):
                connection = self._database.connect()
            with connection as con, con.cursor() as cursor:
                yield cursor
                con.commit()
        except dbapi.Error as error:
            kind = StoreBusy if error.sqlstate in _BUSY else EngineError
            text = get_first_line(error)
            raise kind(f"the history {self.url}: {text}") from None

    def read(self, table: str, job: str | None = None, only: Selection = ALL) -> pl.DataFrame:
        """Return the rows of a table, optionally of one job; a missing table is empty."""
        schema = only.list_columns(table)
        columns = only.write_columns(table)
        parameters = Parameters()
        where = write_conditions(job, only, parameters.place, _COLLATE)
        start, end = ("SELECT DISTINCT", "") if only.distinct else ("SELECT", " ORDER BY ordinal")
        with self._connect() as cursor:
            cursor.execute("SELECT to_regclass($1) IS NOT NULL", (table,))
            if not cursor.fetchone()[0]:
                return pl.DataFrame(schema=schema)
            cursor.execute(f"{start} {columns} FROM {table}{where}{end}", parameters.values or None)
            return pl.DataFrame(cursor.fetch_arrow_table(), schema_overrides=schema)

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
        with self._connect() as cursor:
            _create_tables(cursor)
            if periods:
                cursor.execute(
                    "DELETE FROM sqleval_history "
                    f"WHERE job = $1 AND period{_COLLATE} = ANY(string_to_array($2, '|'))",
                    (job, "|".join(periods)),
                )
                cursor.adbc_ingest("sqleval_history", results.to_arrow(), mode="append")
            if files is not None:
                cursor.execute("DELETE FROM sqleval_files WHERE job = $1", (job,))
                cursor.adbc_ingest("sqleval_files", files.to_arrow(), mode="append")
            if restated is not None:
                cursor.adbc_ingest("sqleval_restated", restated.to_arrow(), mode="append")

    def remove(self, job: str, periods: Sequence[str]) -> None:
        """Remove the results of these periods, and those that they had replaced."""
        with self._connect() as cursor:
            _create_tables(cursor)
            for table in ("sqleval_history", "sqleval_restated"):
                cursor.execute(
                    f"DELETE FROM {table} "
                    f"WHERE job = $1 AND period{_COLLATE} = ANY(string_to_array($2, '|'))",
                    (job, "|".join(periods)),
                )

    def compact(self) -> None:
        """Leave it to the server, whose autovacuum makes the space of removed rows free."""

    def append(self, table: str, rows: pl.DataFrame) -> None:
        """Add rows to a table."""
        with self._connect() as cursor:
            _create_tables(cursor)
            cursor.adbc_ingest(table, rows.to_arrow(), mode="append")

    def replace_definitions(self, job: str, definitions: Mapping[str, str]) -> None:
        """Replace definition hashes in the results of a job: old hash to new hash."""
        with self._connect() as cursor:
            cursor.executemany(
                "UPDATE sqleval_history SET definition = $1 WHERE job = $2 AND definition = $3",
                [(new, job, old) for old, new in definitions.items()],
            )
