"""Opens what a user passes as a source."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Any, cast

from sqleval.common.sql_text import quote
from sqleval.errors import RequestError, SourceError, SqlevalError
from sqleval.inputs.files import open_paths
from sqleval.inputs.frames import open_arrow, open_frame, open_relation
from sqleval.inputs.source import Source
from sqleval.inputs.stores import check_storage
from sqleval.inputs.tables import AsOf, open_table, parse_as_of

#: Each returns the source for an object of its kind, or None for another one.
KINDS: list[Callable[[object, str], Source | None]] = [open_frame, open_arrow, open_relation]
_ACCEPTED = (
    "a path, pattern, folder or list of paths, query=, a Polars DataFrame or LazyFrame, a PyArrow "
    "Table, RecordBatchReader or Dataset, a pandas DataFrame, a DuckDB relation, or a table name "
    "with con="
)


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
) -> Source:
    """Open what the user passes as a source.

    Parameters
    ----------
    source : object
        See ``docs/guide/first-steps.md`` for the kinds of sources.
    query : str or None
        A SELECT, instead of a source.
    con : duckdb.DuckDBPyConnection or None
        The connection in which a table name or a query is looked up.
    name : str
        The name an object in memory is registered under.
    table : bool
        Whether a text is the name of a table instead of a path.
    storage : mapping of str to object, optional
        Options of an object store, those of `stores.OPTIONS`.
    version, timestamp : optional
        The state of a table to read; see `tables.parse_as_of`.

    Raises
    ------
    SourceError
        If a file is missing or a pattern matches nothing.
    RequestError
        If this kind of object cannot be a source.
    """
    as_of, options = parse_as_of(version, timestamp), check_storage(storage)
    if isinstance(source, PathLike):
        source = str(cast("PathLike[str]", source))
    if isinstance(source, str) and source.startswith("~"):
        with suppress(RuntimeError, ValueError):  # no such user: then it is no such file
            source = str(Path(source).expanduser())
    if query is None and con is None and not table:
        try:
            opened = open_table(source, as_of, options, name)
        except OSError as error:
            if isinstance(error, SqlevalError):
                raise
            # Such as a name that is too long for the file system.
            raise SourceError(f"cannot read {source!r}: {error.strerror or error}") from error
        if opened is not None:
            return opened
    if as_of != AsOf():
        raise RequestError("version= and timestamp= need a table: Delta, Iceberg or Lance")
    if query is not None:
        if source is not None:
            raise RequestError("give a source or query=, not both")
        # The line break ends a comment that the query may end with.
        return Source(f"({query.strip().rstrip(';')}\n)", con=con, label="the query")
    if isinstance(source, str):
        if table or con is not None:
            return _open_table(con, source)
        return open_paths([source], name=name, storage=options)
    if isinstance(source, (list, tuple)):
        for each in cast("Sequence[object]", source):
            if not isinstance(each, (str, PathLike)):
                kind = type(each).__name__
                raise RequestError(f"a list holds paths, and this one a {kind}; concatenate frames")
        paths = [str(path) for path in cast("Sequence[object]", source)]
        return open_paths(paths, name=name, storage=options)
    for open_kind in KINDS:
        if (opened := open_kind(source, name)) is not None:
            return opened
    kind = type(source)
    raise RequestError(f"cannot evaluate a {kind.__module__}.{kind.__qualname__}; give {_ACCEPTED}")
