"""Opens Delta tables at a version, with their data files and commits."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import polars as pl

from sqleval.common.imports import import_optional
from sqleval.errors import RequestError, SourceError, SqlevalError, get_first_line, join_lines
from sqleval.sources.lake.data_files import (
    list_delta_files,
    open_delta_dataset,
    open_delta_parts,
    read_delta_masks,
)
from sqleval.sources.lake.delta_columns import find_file_names, number_columns
from sqleval.sources.lake.delta_commits import read_commits
from sqleval.sources.lake.ducklake_catalogue import OpenCatalogue
from sqleval.sources.lake.format import AsOf, Snapshot, TableFormat, describe_as_of, open_lazy
from sqleval.sources.source import Source
from sqleval.sources.stores import Storage, is_remote, write_variables


def _load_table(table: Any, as_of: AsOf, storage: Storage) -> Any:
    """Load a Delta table at a version: a path, a URL or a ``deltalake.DeltaTable``."""
    library: Any = import_optional("deltalake", "delta", "a Delta table")
    options = write_variables(storage)
    label = table if isinstance(table, str) else table.table_uri
    try:
        if isinstance(table, str):
            table = library.DeltaTable(table, storage_options=options)
        version = as_of.version if as_of.version is not None else as_of.timestamp
        if isinstance(version, str):
            raise RequestError(f"version={version!r}: versions of a Delta table are numbers")
        if version is not None:
            table = library.DeltaTable(table.table_uri, storage_options=options)
            _check_time(table, as_of, label)
            table.load_as_version(version)
    except (library.exceptions.DeltaError, OSError, OverflowError, ValueError) as error:
        if isinstance(error, SqlevalError):
            raise
        which = "" if as_of == AsOf() else f" at {describe_as_of(as_of)}"
        # The first line of an object store's error does not have the reason.
        reason = join_lines(error) if isinstance(error, OSError) else get_first_line(error)
        if "Unsupported" in reason:
            reason += (
                f"; deltalake {library.__version__} does not read tables of this protocol: install "
                "a newer one, or copy the rows to a table without the feature"
            )
        raise SourceError(f"cannot read the Delta table {label!r}{which}: {reason}") from error
    return table


def _open_version(
    table: Any, path: str, storage: Storage, name: str, *, by_engine: bool = False
) -> Source:
    """Return the source of a loaded Delta table at a path or URL.

    With ``by_engine``, the engine itself reads the files if it can.
    """
    library: Any = import_optional("deltalake", "delta", "a Delta table")
    label = f"{path} (version {table.version()})"
    in_files = find_file_names(table, f"the Delta table {path!r}")
    is_renamed = any(name != physical for name, physical in in_files.items())
    try:
        source = open_delta_parts(table, path, label) if by_engine else None
        if source is None and not is_renamed:
            source = open_delta_dataset(table, path, storage, name, label)
        if source is not None:
            return source
        if is_renamed:  # Polars refuses renamed columns
            files = list_delta_files(table, path, storage, label)
            return files.open([file.path for file in files.files], name)
        source = open_lazy(
            pl.scan_delta(table, storage_options=write_variables(storage)), name, label
        )
    except library.exceptions.DeltaError as error:
        reason = get_first_line(error)
        raise SourceError(f"cannot read the Delta table {path!r}: {reason}") from error
    # For such paths Polars does not find files or deletion vectors, so deleted rows would count.
    if "%" in table.table_uri or any("%" in file for file in read_delta_masks(table)):
        files = list_delta_files(table, path, storage, label)
        return files.open([file.path for file in files.files], name)
    return source


def _open(table: Any, as_of: AsOf, storage: Storage, name: str) -> Source:
    path = table if isinstance(table, str) else _read_path(table.table_uri)
    return _open_version(_load_table(table, as_of, storage), path, storage, name, by_engine=True)


def _read_path(url: str) -> str:
    """Return the local path of a file:// URL, or any other URL unchanged."""
    return unquote(urlsplit(url).path) if url.startswith("file://") else url


def _check_time(table: Any, as_of: AsOf, label: str) -> None:
    """Raise `SourceError` for a time before the first commit; deltalake would read version 0."""
    if as_of.timestamp is None:
        return
    first = min(commit["timestamp"] for commit in table.history())
    if as_of.timestamp.timestamp() * 1000 < first:
        since = datetime.fromtimestamp(first / 1000, UTC)
        raise SourceError(
            f"the Delta table {label!r} begins at {since:%Y-%m-%d %H:%M:%S %Z}, after "
            f"{describe_as_of(as_of)}"
        )


def _load(path: str, storage: Storage, _: OpenCatalogue) -> Snapshot:
    table = _load_table(path, AsOf(), storage)
    location = path if is_remote(path) else str(Path(path).absolute())
    label = f"the Delta table {path!r}"

    def open_rows(_: Collection[str], name: str) -> Source:
        return _open_version(table, location, storage, name)

    return Snapshot(
        location,
        list_delta_files(table, location, storage, label),
        open_rows,
        number_columns(table),
        partial(read_commits, location, table.version(), storage),
    )


def _is_table(path: str) -> bool:
    return not is_remote(path) and (Path(path) / "_delta_log").is_dir()


DELTA = TableFormat(_is_table, _open, _load, ("deltalake.DeltaTable",))
