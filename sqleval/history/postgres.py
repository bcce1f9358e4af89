"""Stores a history in a PostgreSQL database, with rows as Arrow."""

import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import Any

import polars as pl

from sqleval.common.imports import import_optional
from sqleval.common.postgres import PostgresDatabase
from sqleval.common.sql_text import quote, write_literal
from sqleval.errors import EngineError, StoreBusy, get_first_line
from sqleval.history import schema
from sqleval.history.postgres_rights import LACKS_RIGHT, describe_lacking_rights
from sqleval.history.store import ALL, TABLES, Parameters, Selection, write_conditions

#: SQLSTATE: serialization failure, deadlock, too many connections, server starting, lock timeout.
_BUSY = ("40001", "40P01", "53300", "57P03", "55P03")
#: Periods are ordered by bytes, whatever the language of the database.
_COLLATE = ' COLLATE "C"'
_INDEX = (
    "CREATE INDEX IF NOT EXISTS sqleval_history_by_period "
    f"ON sqleval_history (job, period{_COLLATE})"
)
#: The columns of each table (NULL for a missing table), and the description of the results.
_CATALOG = " UNION ALL ".join(
    f"SELECT '{table}', (SELECT string_agg(attname, ' ') FROM pg_attribute "
    f"WHERE attrelid = to_regclass('{table}') AND attnum > 0 AND NOT attisdropped), "
    "obj_description(to_regclass('sqleval_history'), 'pg_class')"
    for table in TABLES
)
_OWNED = (
    "SELECT pg_has_role(relowner, 'USAGE'), to_regclass('sqleval_history_by_period') IS NOT NULL "
    "FROM pg_class WHERE oid = 'sqleval_history'::regclass"
)
#: The time for which a writer waits for another one before it raises `StoreBusy`.
_LOCK_TIMEOUT = "5s"
_LOCK = "SELECT pg_advisory_xact_lock(hashtext('sqleval'), hashtext($1))"

#: Held while the password is in the environment, which all threads share.
_CONNECTING = Lock()


@contextmanager
def _set_password(password: str | None) -> Generator[None]:
    """Pass the password in the environment while a connection is made.

    ADBC has no option for it, and messages of libpq repeat a URL that libpq cannot read.
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
            if error.sqlstate == LACKS_RIGHT:
                self.check_rights()
            kind = StoreBusy if error.sqlstate in _BUSY else EngineError
            text = get_first_line(error)
            raise kind(f"the history {self.url}: {text}") from None

    def _read_catalog(self, cursor: Any) -> tuple[dict[str, list[str]], str | None]:
        """Return the columns of each table that exists, and the description of the results.

        Raises
        ------
        EngineError
            If the history has a newer version.
        """
        cursor.execute(_CATALOG)
        rows = cursor.fetchall()
        description = rows[0][2]
        schema.check_version(description, self.url)
        return {table: names.split() for table, names, _ in rows if names}, description

    def _upgrade(self, cursor: Any) -> None:
        """Create the tables and columns that a new or older database lacks.

        It waits for other writers. If nothing is missing, rights on the rows are enough, because
        it then runs neither CREATE ... IF NOT EXISTS nor any statement that only the owner may run.
        """
        cursor.execute(f"SET LOCAL lock_timeout = '{_LOCK_TIMEOUT}'")
        # CREATE TABLE IF NOT EXISTS fails if two sessions run it at the same time.
        cursor.execute(_LOCK, ("",))
        stored, description = self._read_catalog(cursor)
        for table in TABLES:
            if table not in stored:
                columns = f"ordinal BIGSERIAL PRIMARY KEY, {schema.define_columns(table)}"
                cursor.execute(f"CREATE TABLE IF NOT EXISTS {table} ({columns})")
        cursor.execute(_OWNED)
        is_owned, has_index = cursor.fetchone()
        for table, columns in stored.items():
            missing = schema.list_missing_columns(table, columns)
            if missing and not is_owned:
                raise EngineError(
                    f"the history {self.url}: the table {table} is of an older version and lacks "
                    f"{', '.join(missing)}; a run by its owner adds them"
                )
            for name, kind in missing.items():
                cursor.execute(f"ALTER TABLE {table} ADD COLUMN {quote(name)} {kind}")
        # Only the owner can do these: the index saves time, and later versions need the version.
        if is_owned and not has_index:
            cursor.execute(_INDEX)
        if is_owned and schema.read_version(description) < schema.VERSION:
            text = write_literal(schema.write_version(description))
            cursor.execute(f"COMMENT ON TABLE sqleval_history IS {text}")

    def check_rights(self) -> None:
        """Raise `EngineError` if the user lacks a right on tables, sequences or the schema."""
        with self._connect() as cursor:
            lacking = describe_lacking_rights(cursor)
        if lacking is not None:
            raise EngineError(f"the history {self.url}: {lacking}")

    def read(self, table: str, job: str | None = None, only: Selection = ALL) -> pl.DataFrame:
        """Return the rows of a table, optionally of one job; a missing table is empty."""
        types = only.list_columns(table)
        columns = only.write_columns(table)
        parameters = Parameters()
        where = write_conditions(job, only, parameters.place, _COLLATE)
        start, end = ("SELECT DISTINCT", "") if only.distinct else ("SELECT", " ORDER BY ordinal")
        with self._connect() as cursor:
            stored, _ = self._read_catalog(cursor)
            if table not in stored:
                return pl.DataFrame(schema=types)
            source = schema.write_relation(table, stored[table], table)
            statement = f"{start} {columns} FROM {source}{where}{end}"
            cursor.execute(statement, parameters.values or None)
            return pl.DataFrame(cursor.fetch_arrow_table(), schema_overrides=types)

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
        with self._connect() as cursor:
            self._upgrade(cursor)
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
        """Remove the results of these periods, and the results that they had replaced."""
        with self._connect() as cursor:
            self._upgrade(cursor)
            for table in ("sqleval_history", "sqleval_restated"):
                cursor.execute(
                    f"DELETE FROM {table} "
                    f"WHERE job = $1 AND period{_COLLATE} = ANY(string_to_array($2, '|'))",
                    (job, "|".join(periods)),
                )

    def compact(self) -> None:
        """Do nothing: the server's autovacuum frees the space of removed rows."""

    def tidy(self, job: str) -> None:
        """Do nothing, like `compact`."""

    def append(self, table: str, rows: pl.DataFrame) -> None:
        """Add rows to a table."""
        with self._connect() as cursor:
            self._upgrade(cursor)
            cursor.adbc_ingest(table, rows.to_arrow(), mode="append")
