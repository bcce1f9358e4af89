"""A table at one version: its rows, its data files, and the rows of some of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from sqleval.sources.database.naming import check_file, find_database
from sqleval.sources.lake.data_files import DataFile, list_delta_files
from sqleval.sources.lake.delta_columns import number_columns
from sqleval.sources.lake.delta_commits import Commit, read_commits
from sqleval.sources.lake.ducklake import OpenCatalogue, read_changes
from sqleval.sources.lake.ducklake_rows import LakeFiles
from sqleval.sources.lake.iceberg_commits import read_iceberg_commits
from sqleval.sources.lake.iceberg_files import list_iceberg_files
from sqleval.sources.lake.iceberg_tasks import list_tasks
from sqleval.sources.lake.lance_files import list_lance_files, read_lance_commits
from sqleval.sources.lake.tables import (
    AsOf,
    find_table_kind,
    load_delta,
    load_ducklake,
    load_iceberg,
    load_lance,
    open_delta,
    open_iceberg,
)
from sqleval.sources.source import Source
from sqleval.sources.stores import Storage, is_remote


class Content(Protocol):
    """The data files of a table, and the rows of some of them."""

    @property
    def files(self) -> tuple[DataFile, ...]:
        """The data files, in order."""
        ...

    def open(self, paths: Iterable[str], name: str, name_as: str = "") -> Source:
        """Return the source of some files, with each row's file in a column ``name_as``."""
        ...


class Snapshot(NamedTuple):
    """A table at one version, whatever is committed after it was loaded.

    Attributes
    ----------
    location : str
        The folder of the table: a path or URL.
    content : Content
        Its data files.
    open : callable
        Returns the source of the rows of some data files, at least, registered under a name.
    fields : mapping of str to int
        The number of each column, which a column of the same name that replaces it does not have.
    read_commits : callable, optional
        Yields the commits that led to it, the last one first, where they say which files a commit
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


def load_snapshot(source: str, storage: Storage, open_catalogue: OpenCatalogue) -> Snapshot | None:
    """Load the current version of a table; None for a source that is not a table.

    ``open_catalogue`` opens that of a DuckLake.

    Raises
    ------
    SourceError
        If there is no such table.
    """
    kind, target = find_table_kind(source)
    if kind == "delta":
        return _load_delta(target, storage)
    if kind == "iceberg":
        return _load_iceberg(target, storage)
    if kind == "ducklake":
        return _load_ducklake(source, open_catalogue)
    if kind == "lance":
        return _load_lance(target, storage)
    return None


def _load_delta(path: str, storage: Storage) -> Snapshot:
    table = load_delta(path, AsOf(), storage)
    location = path if is_remote(path) else str(Path(path).absolute())
    label = f"the Delta table {path!r}"

    def open_rows(_: Collection[str], name: str) -> Source:
        return open_delta(table, location, storage, name)

    return Snapshot(
        location,
        list_delta_files(table, location, storage, label),
        open_rows,
        number_columns(table),
        partial(read_commits, location, table.version(), storage),
    )


def _load_iceberg(path: str, storage: Storage) -> Snapshot:
    table: Any = load_iceberg(path, storage)
    label = f"the Iceberg table {path!r}"
    planned = list_tasks(table, None, label)
    content = list_iceberg_files(table, label, None, planned)
    fields = {field.name: field.field_id for field in table.schema().fields}
    folder = path if Path(path).is_dir() else None

    def open_rows(paths: Collection[str], name: str) -> Source:
        return open_iceberg(table, None, label, name, folder, paths, planned)

    return Snapshot(
        table.location().removeprefix("file://"),
        content,
        open_rows,
        fields,
        partial(read_iceberg_commits, table),
    )


def _load_ducklake(source: str, open_catalogue: OpenCatalogue) -> Snapshot:
    database = find_database(source)
    assert database is not None
    check_file(database.address)
    with open_catalogue(database.address) as catalogue:
        table = load_ducklake(database, AsOf(), catalogue)
        content = LakeFiles(table, read_changes(catalogue, table.number))
    return Snapshot(
        table.folder,
        content,
        content.open,
        {column.name: number for number, column in table.columns.items()},
    )


def _load_lance(path: str, storage: Storage) -> Snapshot:
    dataset = load_lance(path, AsOf(), storage)
    location = path if is_remote(path) else str(Path(path).absolute())
    content = list_lance_files(dataset, location, f"the Lance dataset {path!r}")
    return Snapshot(
        location,
        content,
        content.open,
        {field.name(): field.id() for field in dataset.lance_schema.fields()},
        partial(read_lance_commits, dataset, location),
    )
