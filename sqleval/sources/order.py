"""Numbers the rows of sources that are joined by position."""

from dataclasses import replace
from glob import has_magic
from pathlib import Path, PurePath

from sqleval.errors import RequestError
from sqleval.sources.source import Source
from sqleval.sources.stores import is_remote, split_kind

#: The column with the number of a row.
PLACE = "_sqleval_place"


def is_one_file(path: str) -> bool:
    """Whether a path names a file, and is no folder or pattern, which list files by name."""
    path = split_kind(path)[1]
    if is_remote(path):
        return not has_magic(path) and bool(PurePath(path).suffix)
    return Path(path).is_file()


def take_order(source: Source) -> Source:
    """Return a source that reads its rows in their stated order.

    Raises
    ------
    RequestError
        If its rows have no such order.
    """
    if not source.has_order:
        raise RequestError(
            f"by_position=True needs rows in a stated order, which {source.label} does not have; "
            "give a file, a list of files or a frame, or join by a key, on="
        )
    return source if source.in_order is None else source.in_order()


def number_rows(source: Source) -> Source:
    """Return a described source with the column `PLACE`."""
    relation = f"(SELECT s.*, ROW_NUMBER() OVER () AS {PLACE} FROM {source.relation} AS s)"
    return replace(source.add_columns(relation, [PLACE], []), keeps_order=True)
