"""Runs statements in PostgreSQL, through its ADBC driver."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from importlib import import_module
from threading import Event, Lock
from typing import Any

from sqlglot import exp

from sqleval.common.columns import Column
from sqleval.common.imports import import_optional
from sqleval.common.postgres import PostgresDatabase
from sqleval.common.sql_text import quote
from sqleval.dialects.postgres import read_field, rewrite, write_fields
from sqleval.engines.waiting import wait_for
from sqleval.engines.warehouse import Translated, Warehouse, check_source
from sqleval.errors import DataError, EngineError, SourceError, SqlevalError
from sqleval.sources.database.adbc import shorten_error
from sqleval.sources.database.naming import write_subquery
from sqleval.sources.database.postgres import find_postgres_table, open_reading
from sqleval.sources.source import Source

#: Beginnings of SQLSTATE codes (PostgreSQL's manual, appendix A): a bad value in the rows, and a
#: missing or unreadable table.
_VALUES = "22"
_UNREADABLE = ("3D", "3F", "42501", "42P01")
#: The seconds between attempts to cancel: the first may precede the statement at the server.
_PULSE = 0.1


class Postgres(Warehouse):
    """PostgreSQL, through an address or the user's own connection; see `base.Engine`.

    With an address, each statement opens a read-only connection. The user's connection runs one
    statement at a time.

    Parameters
    ----------
    address : str
        A URL without a password: ``postgresql://user@host/database``.
    connection : adbc_driver_manager.dbapi.Connection, optional
        An open connection, instead of an address.
    """

    name = "PostgreSQL"
    dialect = "postgres"
    # By itself it keeps the rows of every relation that is read twice, which takes as long again.
    keeps_hints = True

    def __init__(self, address: str = "", connection: Any = None) -> None:
        self._address = address
        self._connection = connection
        self._lock = Lock()

    @contextmanager
    def _open_cursor(self) -> Generator[Any]:
        if self._address:
            with open_reading(self._database.connect()) as cursor:
                yield cursor
            return
        with self._lock, self._connection.cursor() as cursor:
            try:
                yield cursor
            except Exception:
                # The transaction has failed, and the server refuses statements until the client
                # rolls it back.
                self._connection.rollback()
                raise

    @cached_property
    def _database(self) -> PostgresDatabase:
        return PostgresDatabase(self._address)

    def open(self, source: object, query: str | None, name: str) -> Source:
        """Return a table or a query as a source.

        Raises
        ------
        SourceError
            If there is no such table, or the query is wrong.
        RequestError
            If the source is something else.
        """
        check_source(source, query, "a PostgreSQL database")
        label = "the query" if query is not None else str(source)
        with self._convert_errors("", label, SourceError), self._open_cursor() as cursor:
            if query is not None:
                relation = write_subquery(query)
            elif self._address:
                relation = find_postgres_table(cursor, str(source), self._address, "")
            else:
                relation = ".".join(quote(part) for part in str(source).split("."))
            cursor.execute(f"SELECT * FROM {relation} AS s LIMIT 0")
            columns = [read_field(field) for field in cursor.fetch_record_batch().schema]
        names = [column.name for column in columns]
        repeated = sorted({each for each in names if names.count(each) > 1})
        if repeated:
            raise SourceError(f"{label} has two columns called {repeated[0]!r}; rename one")
        rows = write_fields(relation, columns)
        # This lists all columns, but the server reads only those that a statement names.
        return Source(quote(name), name=name, make=lambda _: rows, empty=columns, label=label)

    def describe(self, source: Source) -> tuple[Source, dict[str, Column]]:
        """Return the source, and its columns by name.

        Raises
        ------
        SourceError
            If PostgreSQL cannot read it.
        """
        columns: Any = source.empty
        if source.relation != quote(source.name):
            text = f"SELECT * FROM {source.relation} AS s"
            text = self.translate(text, {}, source.objects([])).text
            with (
                self._convert_errors(text, source.label, SourceError),
                self._open_cursor() as cursor,
            ):
                cursor.execute(f"{text} LIMIT 0")
                columns = [read_field(field) for field in cursor.fetch_record_batch().schema]
            source = replace(source, relation=write_fields(source.relation, columns))
        return source, {each.name: Column(each.name, each.type) for each in columns}

    def _rewrite(self, tree: exp.Expr) -> None:
        rewrite(tree)

    def _fetch(self, translated: Translated) -> Any:
        running: list[Any] = []
        guard, ended = Lock(), Event()

        def work() -> Any:
            try:
                with self._open_cursor() as cursor:
                    with guard:
                        running.append(cursor)
                    try:
                        cursor.execute(translated.text)
                        return _read_numbers(cursor.fetch_arrow_table())
                    finally:
                        with guard:
                            running.clear()
            finally:
                ended.set()

        def cancel() -> None:
            while not ended.is_set():
                with guard:
                    for cursor in running:
                        cursor.adbc_cancel()
                ended.wait(_PULSE)

        return wait_for(work, cancel, lambda: -1.0)

    def close(self) -> None:
        """Leave the user's connection open."""

    @contextmanager
    def _convert_errors(
        self, text: str, label: str, kind: type[SqlevalError] | None = None
    ) -> Generator[None]:
        """Raise the driver's errors as this package's: of a class, or by SQLSTATE."""
        adbc: Any = import_optional("adbc_driver_manager", "postgres", "PostgreSQL")
        try:
            yield
        except adbc.Error as error:
            state, reason = str(error.sqlstate or ""), shorten_error(error)
            if not state and error.status_code == adbc.AdbcStatusCode.IO:
                where = f"engine={self._address!r}" if self._address else "the connection"
                raise EngineError(f"{where} does not answer: {reason}") from error
            raise self._make_error(kind or _find_error_class(state), label, text, reason) from error


def _find_error_class(state: str) -> type[SqlevalError]:
    """Return the class of error to raise for a SQLSTATE."""
    if state.startswith(_UNREADABLE):
        return SourceError
    return DataError if state.startswith(_VALUES) else EngineError


def _read_numbers(table: Any) -> Any:
    """Return a result with doubles for PostgreSQL's ``numeric``, which Arrow holds as a text."""
    pa: Any = import_module("pyarrow")
    columns = [
        pa.chunked_array([c.storage for c in column.chunks], pa.string()).cast(pa.float64())
        if isinstance(column.type, pa.BaseExtensionType)
        else column
        for column in table.columns
    ]
    return pa.table(columns, names=table.column_names)
