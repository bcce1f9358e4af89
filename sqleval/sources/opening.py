"""Opens the source that a user passes: files, a table, a frame or a query."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any, cast

from sqleval.common.sql_text import quote
from sqleval.errors import RequestError, SourceError, SqlevalError
from sqleval.sources.alike import rename_alike
from sqleval.sources.database.naming import check_file, find_database, write_subquery
from sqleval.sources.files import open_paths
from sqleval.sources.frames import (
    check_connection,
    is_adbc,
    open_arrow,
    open_frame,
    open_relation,
    open_stream,
)
from sqleval.sources.lake.format import AsOf, parse_as_of
from sqleval.sources.lake.tables import open_table
from sqleval.sources.order import is_one_file
from sqleval.sources.reading import Reading, make_reading
from sqleval.sources.source import DatabaseFile, Source
from sqleval.sources.stores import Storage, check_storage, expand_home
from sqleval.sources.verify import verify_source

#: Each returns the source for an object of its kind, or None for another one.
KINDS: list[Callable[[object, str], Source | None]] = [
    open_frame, open_arrow, open_relation, open_stream,
]  # fmt: skip
_ACCEPTED = (
    "a path, pattern, folder or list of paths, a database, query=, a Delta, Iceberg or Lance table "
    "(its path or the object), a DuckLake table, a Polars DataFrame or LazyFrame, a PyArrow Table, "
    "RecordBatchReader or Dataset, a pandas DataFrame, a DuckDB relation, an Arrow stream "
    "(__arrow_c_stream__), an ADBC cursor, or a table name with con="
)


def _open_database(source: object, query: str | None, name: str) -> Source | None:
    """Return the source of a table or a query of a database; None for another source.

    Raises
    ------
    SourceError
        If there is no such database or table.
    RequestError
        If there are both a table and a query, or there is a password.
    MissingExtra
        If the driver is not installed.
    """
    database = find_database(source)
    if database is None:
        return None
    kind, address, table = database
    if kind == "ducklake":
        raise RequestError("query= cannot read a DuckLake; name its table, and give where=")
    if table and query is not None:
        raise RequestError(f"give #{table} or query=, not both")
    label = f"the query on {address}" if query is not None else str(source)
    if kind != "postgres":
        check_file(address)
    if kind == "duckdb":
        # The engine lists its tables.
        return Source("", label=label, database=DatabaseFile(address, table, query))
    from sqleval.sources.database.adbc import open_postgres, open_sqlite  # late: few need it

    open_kind = open_postgres if kind == "postgres" else open_sqlite
    return open_kind(address, table, query, name=name, label=label)


def _open_table(con: Any, name: str) -> Source:
    return Source(".".join(quote(part) for part in name.split(".")), con=con, label=name)


def open_source(
    source: object,
    *,
    query: str | None = None,
    con: Any = None,
    name: str,
    table: bool = False,
    storage: Mapping[str, object] | None = None,
    version: object = None,
    timestamp: object = None,
    verify: bool = False,
    rows: str | None = None,
    csv: Mapping[str, object] | None = None,
) -> Source:
    """Open the source that a user passes.

    Parameters
    ----------
    source : object
        See ``docs/guide/first-steps.md`` for the kinds of sources.
    query : str or None
        A SELECT instead of a source, or over the tables of a database.
    con : duckdb.DuckDBPyConnection, ADBC connection or None
        The connection in which a table name or a query is looked up.
    name : str
        The name under which an object in memory is registered.
    table : bool
        Whether a text is the name of a table instead of a path.
    storage : mapping of str to object, optional
        Options of an object store; `stores.OPTIONS` lists them.
    version, timestamp : optional
        The state of a table to read; see `tables.parse_as_of`.
    verify : bool
        Whether page checksums are checked before rows are read; see `verify`.
    rows : str or None
        The field of JSON documents that holds the rows.
    csv : mapping of str to object, optional
        Options of CSV files, which `reading.CSV_OPTIONS` lists; other sources have none.

    Raises
    ------
    SourceError
        If a file is missing or a pattern matches nothing.
    RequestError
        If this kind of object cannot be a source.
    """
    as_of, options = parse_as_of(version, timestamp), check_storage(storage)
    reading = make_reading(rows, csv, is_second=name == "_sqleval_labels")
    opened = _open(source, query, con, name, table, as_of, options, reading)
    if reading.rows and not opened.reading.rows:
        raise RequestError(
            f"rows={rows!r} (--rows) is for JSON files, and {opened.label} is something else; "
            "query= (--query) can UNNEST its rows"
        )
    return verify_source(opened) if verify else opened


def check_used(csv: object, *sources: Source | None) -> None:
    """Raise `RequestError` if there are options of CSV, and no source has any."""
    opened = [source for source in sources if source is not None]
    if csv and not any(source.reading.csv for source in opened):
        labels = " and ".join(source.label or "this source" for source in opened)
        raise RequestError(f"csv= (--csv) is for CSV files and other text, which {labels} is not")


def _open(
    source: object,
    query: Any,
    con: Any,
    name: str,
    table: bool,
    as_of: AsOf,
    options: Storage,
    reading: Reading,
) -> Source:
    check_connection(con)
    source = _check_texts(source, query)
    is_place, opened = con is None and not table, None
    if is_place and query is None:
        opened = _open_lake_table(source, as_of, options, name)
    if opened is None and as_of != AsOf():
        raise RequestError(
            "version= and timestamp= need a table: Delta, Iceberg, Lance or DuckLake"
        )
    if opened is None and is_place:
        opened = _open_database(source, query, name)
    if opened is not None:
        return opened
    if query is not None and source is not None:
        raise RequestError("give a source or query=, not both; query= is over a database alone")
    if is_adbc(con, "Connection"):
        from sqleval.sources.database.adbc import open_connection  # late: few need it

        return open_connection(con, source, query, name)
    if query is not None:
        return Source(write_subquery(query), con=con, label="the query")
    if isinstance(source, str) and not is_place:
        return _open_table(con, source)
    if isinstance(source, (str, list, tuple)):
        paths = _list_paths(cast("str | Sequence[object]", source))
        opened = open_paths(paths, name=name, storage=options, reading=reading)
        return replace(opened, has_order=all(map(is_one_file, paths)))
    return _open_object(source, name)


def _check_texts(source: object, query: object) -> object:
    """Check that source and query are not empty; return the source, with a path as text."""
    if query is not None and not isinstance(query, str):
        raise RequestError(f"query={query!r} must be a SELECT, as a text")
    if isinstance(source, PathLike):
        source = str(cast("PathLike[str]", source))
    if isinstance(source, str):
        if not source.strip():
            raise RequestError(f"the source is {source!r}: name a file, a folder or a table")
        source = expand_home(source)
    if query is not None and not query.strip():
        raise RequestError("query= is empty: give a SELECT statement")
    return source


def _open_lake_table(source: object, as_of: AsOf, storage: Storage, name: str) -> Source | None:
    try:
        return open_table(source, as_of, storage, name)
    except OSError as error:
        if isinstance(error, SqlevalError):
            raise
        # For example, the name is too long for the file system.
        raise SourceError(f"cannot read {source!r}: {error.strerror or error}") from error


def _list_paths(source: str | Sequence[object]) -> list[str]:
    """Return the paths in a source that is a path or a list of paths."""
    if isinstance(source, str):
        return [source]
    for each in source:
        if not isinstance(each, (str, PathLike)):
            kind = type(each).__name__
            raise RequestError(f"a list holds paths, and this one a {kind}; concatenate frames")
    paths = [expand_home(str(path)) for path in source]
    if any(find_database(path) is not None for path in paths):
        raise RequestError("a list holds files; give a database alone, and join by query=")
    return paths


def _open_object(source: object, name: str) -> Source:
    renamed = rename_alike(source)
    for open_kind in KINDS:
        if (opened := open_kind(renamed, name)) is not None:
            return opened
    kind = type(source)
    raise RequestError(f"cannot evaluate a {kind.__module__}.{kind.__qualname__}; give {_ACCEPTED}")
