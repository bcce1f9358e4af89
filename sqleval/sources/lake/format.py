"""Defines a table format: how a table is recognised, opened at a version, and lists its files."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, NamedTuple, Protocol

import polars as pl

from sqleval.errors import RequestError
from sqleval.sources.frames import open_frame
from sqleval.sources.lake.data_files import DataFile
from sqleval.sources.lake.delta_commits import Commit
from sqleval.sources.lake.ducklake_catalogue import OpenCatalogue
from sqleval.sources.source import Source
from sqleval.sources.stores import Storage


class AsOf(NamedTuple):
    """The state of a table to read: its version or a time; the current one if both are None."""

    version: int | str | None = None
    timestamp: datetime | None = None


def parse_as_of(version: object, timestamp: object) -> AsOf:
    """Check the options ``version`` and ``timestamp``, and return the state that they name.

    Raises
    ------
    RequestError
        If both are set, or one is malformed.
    """
    if version is not None and timestamp is not None:
        raise RequestError("give version= or timestamp=, not both")
    if version is not None and (isinstance(version, bool) or not isinstance(version, (int, str))):
        raise RequestError(f"version={version!r} must be a number, or the name of a branch or tag")
    if isinstance(version, str) and re.fullmatch(r"\d+", version):
        version = int(version)
    if isinstance(timestamp, str):
        try:
            timestamp = datetime.fromisoformat(timestamp)
        except ValueError:
            raise RequestError(
                f"timestamp={timestamp!r} is not a time; "
                "write 2026-01-31 or 2026-01-31T08:00:00+01:00"
            ) from None
    if timestamp is not None and not isinstance(timestamp, datetime):
        raise RequestError(f"timestamp={timestamp!r} must be a datetime or a text")
    if timestamp is not None and timestamp.tzinfo is None:
        timestamp = timestamp.replace(tzinfo=UTC)
    return AsOf(version, timestamp)


def describe_as_of(as_of: AsOf) -> str:
    """Return a version or a time as text for messages."""
    if as_of.version is not None:
        return f"version {as_of.version}"
    return f"{as_of.timestamp:%Y-%m-%d %H:%M:%S %Z}"


def open_lazy(frame: pl.LazyFrame, name: str, label: str) -> Source:
    """Return the source of a lazy frame under the name of its table."""
    source = open_frame(frame, name)
    assert source is not None
    return replace(source, label=label)


class Content(Protocol):
    """Lists the data files of a table, and opens some of them."""

    @property
    def files(self) -> tuple[DataFile, ...]:
        """The data files, in order."""
        ...

    def open(self, paths: Iterable[str], name: str, name_as: str = "") -> Source:
        """Return the source of some files, with each row's file in a column ``name_as``."""
        ...


class Snapshot(NamedTuple):
    """A table at one version, which later commits do not change.

    Attributes
    ----------
    location : str
        The folder of the table: a path or URL.
    content : Content
        Its data files.
    open : callable
        Returns the source, registered under a name, of the rows of some data files, perhaps of
        more.
    fields : mapping of str to int
        The number of each column. A new column that replaces one of its name has another number.
    read_commits : callable, optional
        Yields the commits that led to it, the last one first, if they tell which files a commit
        has only rewritten.
    """

    location: str
    content: Content
    open: Callable[[Collection[str], str], Source]
    fields: Mapping[str, int]
    read_commits: Callable[[], Iterator[Commit]] | None = None

    @property
    def files(self) -> tuple[DataFile, ...]:
        """The data files."""
        return self.content.files

    def open_files(self, paths: Iterable[str], name: str, name_as: str = "") -> Source:
        """Return the source of the rows of some data files, with a column of their paths."""
        return self.content.open(paths, name, name_as)


class TableFormat(NamedTuple):
    """A format of tables: Delta, Iceberg ...

    Attributes
    ----------
    is_table : callable
        Whether a path or URL, without the prefix of a kind, is a table of this format.
    open : callable
        Returns the source of a table at a version. Its arguments are the table (a path, a URL or an
        object of the format's library), the version, options of the object store, and a name.
    load : callable
        Returns the current snapshot of the table at a path or URL, for jobs.
    objects : tuple of str
        The objects of the library that are tables: module and class.
    """

    is_table: Callable[[str], bool]
    open: Callable[[Any, AsOf, Storage, str], Source]
    load: Callable[[str, Storage, OpenCatalogue], Snapshot]
    objects: tuple[str, ...] = ()
