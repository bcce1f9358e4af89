"""Reads tables and queries of databases by ADBC drivers: SQLite, PostgreSQL and others.

Rows come as Arrow batches while the engine pulls them. The database selects the needed columns, and
filters by comparisons whose result is the same in the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import quote as escape

import polars as pl

from sqleval.common.imports import import_optional
from sqleval.common.postgres import PostgresDatabase
from sqleval.common.sql_text import quote, write_literal
from sqleval.errors import RequestError, SourceError, SqlevalError, get_first_line
from sqleval.sources.batches import BatchStream
from sqleval.sources.database.naming import (
    choose_table,
    write_sqlite_url,
    write_subquery,
    write_table_name,
)
from sqleval.sources.database.postgres import find_postgres_table, open_reading
from sqleval.sources.lake.ducklake_catalogue import LakeCatalogue
from sqleval.sources.pruning import write_condition
from sqleval.sources.source import Source

#: The number of rows of SQLite from which column types are inferred, and of rows in a batch.
_ROWS = 10_000
_SQLITE_TABLES = """
SELECT 'main', name FROM sqlite_schema
WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
"""


@dataclass(frozen=True, eq=False)
class _Rows(BatchStream):
    """Rows of a database as an Arrow stream; each reading runs the statement again.

    Attributes
    ----------
    open : callable
        Returns a context manager that yields a new cursor.
    statement : str
        A SELECT.
    schema : object
        The Arrow types of its columns.
    label : str
        The source in messages.
    skip : int
        The number of rows at the beginning to leave out.
    """

    open: Callable[[], AbstractContextManager[Any]]
    statement: str
    schema: Any
    label: str
    skip: int = 0

    def read_batches(self) -> Generator[Any]:
        skip = self.skip
        try:
            with self.open() as cursor:
                cursor.execute(self.statement)
                for batch in cursor.fetch_record_batch():
                    yield batch.slice(skip).cast(self.schema)
                    skip = 0
        except Exception as error:
            # Arrow passes on the text of an OSError.
            raise OSError(shorten_error(error)) from None


def shorten_error(error: BaseException) -> str:
    """Return the first line of a driver's error, without its codes."""
    text = get_first_line(error)
    for word in ("ERROR:", "[SQLite]", "[libpq]", "Failed to prepare query:"):
        text = text.rpartition(word)[2]
    code, separator, rest = text.partition(": ")
    text = rest if separator and code.isupper() else text
    if "Type mismatch" in text:
        text += "; read a view or a query with CAST(column AS REAL), or the type that fits all rows"
    return text.strip()


@contextmanager
def _convert_errors(label: str) -> Generator[None]:
    """Raise an error of a driver as sqleval's."""
    try:
        yield
    except SqlevalError:
        raise
    except Exception as error:
        raise SourceError(f"cannot read {label}: {shorten_error(error)}") from error


def _list_comparable(schema: Any) -> dict[str, pl.DataType]:
    """Return the columns that the database may compare with constants, and their types."""
    types: Any = import_module("pyarrow").types
    kinds: list[tuple[Callable[[Any], bool], pl.DataType]] = [
        (types.is_integer, pl.Int64()),
        (types.is_string, pl.String()),
        (types.is_date32, pl.Date()),
        (lambda kind: types.is_timestamp(kind) and kind.tz is None, pl.Datetime()),
    ]
    return {field.name: kind for field in schema for matches, kind in kinds if matches(field.type)}


def _make_source(
    open_cursor: Callable[[], AbstractContextManager[Any]],
    select: Callable[[Sequence[str], str], str],
    schema: Any,
    *,
    name: str,
    label: str,
    skip: int = 0,
    prunes: bool = True,
) -> Source:
    """Return the source of a SELECT that ``select`` writes from columns and a condition."""
    types = _list_comparable(schema)

    def make(columns: Sequence[str], where: str = "") -> object:
        pa: Any = import_module("pyarrow")
        chosen = pa.schema([schema.field(column) for column in columns])
        return _Rows(open_cursor, select(columns, where), chosen, label, skip)

    def choose(condition: str) -> Source:
        where = write_condition(condition, types)
        if where is None:
            return source

        def make_fewer(columns: Sequence[str]) -> object:
            return make(columns, f"\nWHERE {where}")

        return replace(source, make=make_fewer)

    source = Source(
        quote(name), name, make, empty=schema.empty_table(), stream=True, label=label,
        select=choose if prunes else None,
    )  # fmt: skip
    return source


def _list_columns(columns: Sequence[str], written: Mapping[str, str]) -> str:
    """Return the text of a SELECT's columns; ``written`` has expressions for some of them."""
    return ", ".join(
        f"{written[each]} AS {quote(each)}" if each in written else quote(each) for each in columns
    )


def _describe_typed(cursor: Any, relation: str) -> tuple[Any, dict[str, str]]:
    """Return the schema of a relation of a typed database, and the columns that need a cast.

    Arrow has no type for some types of PostgreSQL, such as ``numeric`` and enumerations. Numbers
    are then read as doubles, and other values as texts.
    """
    pa: Any = import_module("pyarrow")
    cursor.execute(f"SELECT * FROM {relation} AS s LIMIT 0")
    schema = cursor.fetch_record_batch().schema
    fields: list[Any] = []
    casts: dict[str, str] = {}
    for field in schema:
        kind = field.type
        if isinstance(kind, pa.BaseExtensionType):
            is_number = getattr(kind, "type_name", "") == "numeric"
            target = "DOUBLE PRECISION" if is_number else "TEXT"
            casts[field.name] = f"CAST({quote(field.name)} AS {target})"
            kind = pa.float64() if is_number else pa.string()
        fields.append((field.name, kind))
    return pa.schema(fields), casts


def _open_typed(
    cursor: Any,
    open_cursor: Callable[[], AbstractContextManager[Any]],
    relation: str,
    *,
    name: str,
    label: str,
    prunes: bool,
) -> Source:
    """Return the source of a relation.

    ``cursor`` describes the relation, and each pass over its rows opens another cursor.
    """
    schema, casts = _describe_typed(cursor, relation)

    def select(columns: Sequence[str], where: str) -> str:
        # With a condition select all columns, because it may read others.
        inner = _list_columns(schema.names if where else columns, casts)
        rows = f"SELECT {inner} FROM {relation} AS s"
        if not where:
            return rows
        return f"SELECT {_list_columns(columns, {})} FROM ({rows}) AS s{where}"

    return _make_source(open_cursor, select, schema, name=name, label=label, prunes=prunes)


def open_postgres(url: str, table: str, query: str | None, *, name: str, label: str) -> Source:
    """Return the source of a table or a query of PostgreSQL; see `opening.open_source`."""
    subquery = None if query is None else write_subquery(query)
    with _convert_errors(label):
        database = PostgresDatabase(url)

        def open_cursor() -> AbstractContextManager[Any]:
            return open_reading(database.connect())

        with open_cursor() as cursor:
            relation = subquery or find_postgres_table(cursor, table, url, f"{url}#")
            return _open_typed(cursor, open_cursor, relation, name=name, label=label, prunes=True)


def _infer_types(cursor: Any, relation: str) -> Any:
    """Infer a schema from the first rows of SQLite, whose columns have no types.

    If these rows have no value in a column, the column's first value decides.
    """
    pa: Any = import_module("pyarrow")
    types = {"real": pa.float64(), "text": pa.string(), "blob": pa.binary()}
    cursor.execute(f"SELECT * FROM {relation} AS s LIMIT {_ROWS}")
    rows = cursor.fetch_arrow_table()
    fields: list[Any] = []
    for field, column in zip(rows.schema, rows.columns, strict=True):
        kind = field.type
        if column.null_count == len(column):
            at = quote(field.name)
            present = f"FROM {relation} AS s WHERE {at} IS NOT NULL LIMIT 1"
            cursor.execute(f"SELECT typeof({at}) {present}")
            first = cursor.fetchone()
            kind = types.get(first[0] if first else "", pa.int64())
        fields.append((field.name, kind))
    return pa.schema(fields)


def _connect_sqlite(path: str) -> Any:
    dbapi: Any = import_optional("adbc_driver_sqlite.dbapi", "sqlite", "SQLite")
    return dbapi.connect(f"file:{escape(str(Path(path).absolute()))}?mode=ro")


@contextmanager
def open_sqlite_catalogue(path: str) -> Generator[LakeCatalogue]:
    """Yield the catalogue of a DuckLake in a SQLite file."""
    with _connect_sqlite(path) as con, con.cursor() as cursor:

        def select(statement: str) -> Any:
            with _convert_errors(repr(path)):
                cursor.execute(statement)
                return cursor.fetch_arrow_table()

        names = select("SELECT name FROM sqlite_schema WHERE type = 'table'")
        yield LakeCatalogue(path, frozenset(names["name"].to_pylist()), select)


def open_sqlite(path: str, table: str, query: str | None, *, name: str, label: str) -> Source:
    """Return the source of a table or a query of SQLite; see `opening.open_source`."""

    @contextmanager
    def open_cursor() -> Generator[Any]:
        with _connect_sqlite(path) as con, _open_batches(con) as cursor:
            yield cursor

    with _convert_errors(label):
        prefix = f"{write_sqlite_url(path, '')}#"
        return _open_untyped(open_cursor, path, prefix, table, query, name=name, label=label)


@contextmanager
def _open_batches(con: Any) -> Generator[Any]:
    """Yield a cursor on SQLite that infers column types from as many rows as `_infer_types`."""
    with con.cursor() as cursor:
        cursor.adbc_statement.set_options(**{"adbc.sqlite.query.batch_rows": str(_ROWS)})
        yield cursor


def _open_untyped(
    open_cursor: Callable[[], AbstractContextManager[Any]],
    address: str,
    prefix: str,
    table: str,
    query: str | None,
    *,
    name: str,
    label: str,
) -> Source:
    pa: Any = import_module("pyarrow")
    with open_cursor() as cursor:
        relation = "" if query is None else write_subquery(query)
        if not relation:
            cursor.execute(_SQLITE_TABLES)
            where = f"the database {address!r}"
            relation = write_table_name(*choose_table(cursor.fetchall(), table, where, prefix))
        schema = _infer_types(cursor, relation)
    texts = {
        field.name: f"CAST({quote(field.name)} AS TEXT)"
        for field in schema
        if field.type == pa.string()
    }
    examples = {
        pa.int64(): "0",
        pa.float64(): "0.0",
        pa.string(): write_literal(""),
        pa.binary(): "x''",
    }

    def select(columns: Sequence[str], where: str) -> str:
        # The driver infers a column's type from its first values, which may be NULL or whole
        # numbers. So a row of the inferred types comes first, and is skipped when read.
        first = ", ".join(
            f"{examples[schema.field(each).type]} AS {quote(each)}" for each in columns
        )
        inner = _list_columns(schema.names if where else columns, texts)
        rows = f"SELECT {inner} FROM {relation} AS s"
        if where:
            rows = f"SELECT {_list_columns(columns, {})} FROM ({rows}) AS s{where}"
        return f"SELECT {first} UNION ALL\n{rows}"

    return _make_source(open_cursor, select, schema, name=name, label=label, skip=1)


def open_connection(con: Any, source: object, query: str | None, name: str) -> Source:
    """Return the source of a table or a query on the user's own ADBC connection.

    Raises
    ------
    RequestError
        If the source is not the name of a table.
    SourceError
        If the database refuses the table or query.
    """
    if query is None and not isinstance(source, str):
        raise RequestError("con= is an ADBC connection: give the name of a table, or query=")
    label = "the query" if query is not None else str(source)
    with _convert_errors(label):
        vendor = str(con.adbc_get_info().get("vendor_name", ""))
        if vendor == "SQLite":
            return _open_untyped(
                lambda: _open_batches(con), "SQLite", "", str(source), query, name=name, label=label
            )
        relation = ".".join(quote(part) for part in str(source).split("."))
        relation = relation if query is None else write_subquery(query)
        prunes = vendor == "PostgreSQL"
        with con.cursor() as cursor:
            return _open_typed(cursor, con.cursor, relation, name=name, label=label, prunes=prunes)
