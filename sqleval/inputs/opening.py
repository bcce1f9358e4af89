"""Opens what a user passes as a source."""

from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, cast

from sqleval.common.sql_text import quote
from sqleval.errors import RequestError
from sqleval.inputs.files import open_paths
from sqleval.inputs.frames import open_arrow, open_frame, open_relation
from sqleval.inputs.source import Source

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

    Raises
    ------
    SourceError
        If a file is missing or a pattern matches nothing.
    RequestError
        If this kind of object cannot be a source.
    """
    if query is not None:
        if source is not None:
            raise RequestError("give a source or query=, not both")
        # The line break ends a comment that the query may end with.
        return Source(f"({query.strip().rstrip(';')}\n)", con=con, label="the query")
    if isinstance(source, (str, PathLike)):
        path = str(cast("str | PathLike[str]", source))
        if table or con is not None:
            return _open_table(con, path)
        return open_paths([str(Path(path).expanduser()) if path.startswith("~") else path])
    if isinstance(source, (list, tuple)):
        for each in cast("Sequence[object]", source):
            if not isinstance(each, (str, PathLike)):
                kind = type(each).__name__
                raise RequestError(f"a list holds paths, and this one a {kind}; concatenate frames")
        return open_paths([str(path) for path in cast("Sequence[object]", source)])
    for open_kind in KINDS:
        if (opened := open_kind(source, name)) is not None:
            return opened
    kind = type(source)
    raise RequestError(f"cannot evaluate a {kind.__module__}.{kind.__qualname__}; give {_ACCEPTED}")
