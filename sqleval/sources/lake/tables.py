"""Tables of a lake at a version or a time: Delta, Iceberg, Lance and DuckLake."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import polars as pl

from sqleval.common.imports import import_optional
from sqleval.errors import RequestError, SourceError, SqlevalError, get_first_line, join_lines
from sqleval.sources.database.naming import DUCKLAKE, Database, check_file, find_database
from sqleval.sources.frames import open_arrow, open_frame
from sqleval.sources.lake.data_files import (
    list_delta_files,
    open_delta_dataset,
    open_delta_parts,
    read_delta_masks,
)
from sqleval.sources.lake.delta_columns import find_file_names
from sqleval.sources.lake.ducklake import LakeCatalogue, LakeTable, read_lake_table
from sqleval.sources.lake.ducklake_rows import open_lake
from sqleval.sources.lake.iceberg_files import list_iceberg_files, open_iceberg_parts
from sqleval.sources.lake.iceberg_tasks import Task, list_equality_deletes, list_tasks
from sqleval.sources.source import DatabaseFile, Source
from sqleval.sources.stores import Storage, is_remote, list_stored, split_kind, write_variables


class AsOf(NamedTuple):
    """The state of a table to read: its version or a time; the current one if both are None."""

    version: int | str | None = None
    timestamp: datetime | None = None


def parse_as_of(version: object, timestamp: object) -> AsOf:
    """Return the state of a table that the options ``version`` and ``timestamp`` name.

    Raises
    ------
    RequestError
        If both are given, or one is malformed.
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


def _open_lazy(frame: pl.LazyFrame, name: str, label: str) -> Source:
    source = open_frame(frame, name)
    assert source is not None
    return replace(source, label=label)


def load_delta(table: Any, as_of: AsOf, storage: Storage) -> Any:
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
        which = "" if as_of == AsOf() else f" at {_describe(as_of)}"
        # The first line of an object store does not say why.
        reason = join_lines(error) if isinstance(error, OSError) else get_first_line(error)
        if "Unsupported" in reason:
            reason += (
                f"; deltalake {library.__version__} does not read tables of this protocol: install "
                "a newer one, or copy the rows to a table without the feature"
            )
        raise SourceError(f"cannot read the Delta table {label!r}{which}: {reason}") from error
    return table


def open_delta(
    table: Any, path: str, storage: Storage, name: str, *, by_engine: bool = False
) -> Source:
    """Return the source of a loaded Delta table, which lies at a path or URL.

    With ``by_engine``, the engine itself reads its files where it can.
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
        if is_renamed:  # which Polars refuses
            files = list_delta_files(table, path, storage, label)
            return files.open([file.path for file in files.files], name)
        source = _open_lazy(
            pl.scan_delta(table, storage_options=write_variables(storage)), name, label
        )
    except library.exceptions.DeltaError as error:
        reason = get_first_line(error)
        raise SourceError(f"cannot read the Delta table {path!r}: {reason}") from error
    # With such paths Polars finds no file, or no deletion vector of it: deleted rows would count.
    if "%" in table.table_uri or any("%" in file for file in read_delta_masks(table)):
        files = list_delta_files(table, path, storage, label)
        return files.open([file.path for file in files.files], name)
    return source


def _open_delta(table: Any, as_of: AsOf, storage: Storage, name: str) -> Source:
    path = table if isinstance(table, str) else _read_path(table.table_uri)
    return open_delta(load_delta(table, as_of, storage), path, storage, name, by_engine=True)


def _read_path(url: str) -> str:
    """Return the local path of a URL; another URL as it is."""
    return unquote(urlsplit(url).path) if url.startswith("file://") else url


def _check_time(table: Any, as_of: AsOf, label: str) -> None:
    """Raise `SourceError` for a time before the first commit, for which version 0 is read."""
    if as_of.timestamp is None:
        return
    first = min(commit["timestamp"] for commit in table.history())
    if as_of.timestamp.timestamp() * 1000 < first:
        since = datetime.fromtimestamp(first / 1000, UTC)
        raise SourceError(
            f"the Delta table {label!r} begins at {since:%Y-%m-%d %H:%M:%S %Z}, after "
            f"{_describe(as_of)}"
        )


def _describe(as_of: AsOf) -> str:
    if as_of.version is not None:
        return f"version {as_of.version}"
    return f"{as_of.timestamp:%Y-%m-%d %H:%M:%S %Z}"


def _number(path: str) -> tuple[int, str]:
    """Return the version in the name of a metadata file: ``v3.``, or ``00003-...``."""
    file = path.rpartition("/")[2]
    match = re.match(r"v?(\d+)", file)
    return (int(match[1]) if match else -1), file


def _find_metadata(path: str, storage: Storage) -> str:
    """Return the newest metadata file in the folder of an Iceberg table."""
    if path.endswith(".metadata.json"):
        return path
    if is_remote(path):
        _, files, _ = list_stored(f"{path.rstrip('/')}/metadata/*.metadata.json", storage)
        paths = [file.url for file in files]
    else:
        paths = [str(file) for file in Path(path).glob("metadata/*.metadata.json")]
    if not paths:
        raise SourceError(f"{path!r} is not an Iceberg table: it has no metadata/*.metadata.json")
    return max(paths, key=_number)


def _load_iceberg(path: str, storage: Storage) -> Any:
    """Load an Iceberg table from ``//CATALOG/NAMESPACE.TABLE``, a folder or a metadata file."""
    catalogs: Any = import_optional("pyiceberg.catalog", "iceberg", "an Iceberg table")
    tables: Any = import_optional("pyiceberg.table", "iceberg", "an Iceberg table")
    if path.startswith("//"):
        catalog, _, table = path[2:].partition("/")
        return catalogs.load_catalog(catalog).load_table(table.replace("/", "."))
    options = {
        f"s3.{name.removeprefix('AWS_').lower().replace('endpoint_url', 'endpoint')}": value
        for name, value in write_variables(storage).items()
        if name in ("AWS_ENDPOINT_URL", "AWS_REGION")
    }
    return tables.StaticTable.from_metadata(_find_metadata(path, storage), options)


def _find_snapshot(table: Any, as_of: AsOf, label: str) -> int | None:
    """Return the snapshot of an Iceberg table; None for the current one.

    Raises
    ------
    SourceError
        If it has none of this name, number or time.
    """
    if as_of == AsOf():
        return None
    if as_of.timestamp is not None:
        snapshot = table.snapshot_as_of_timestamp(int(as_of.timestamp.timestamp() * 1000))
    elif isinstance(as_of.version, int):
        snapshot = table.snapshot_by_id(as_of.version)
    else:
        snapshot = table.snapshot_by_name(as_of.version)
    if snapshot is None:
        there = ", ".join(str(each.snapshot_id) for each in table.snapshots())
        names = ", ".join(table.metadata.refs)
        raise SourceError(
            f"{label} has no snapshot at {_describe(as_of)} (snapshots: {there}; branches and "
            f"tags: {names})"
        )
    return snapshot.snapshot_id


def load_iceberg(table: str, storage: Storage) -> Any:
    """Load an Iceberg table: a path, a URL, or ``//CATALOG/NAMESPACE.TABLE``."""
    errors: Any = import_optional("pyiceberg.exceptions", "iceberg", "an Iceberg table")
    try:
        return _load_iceberg(table, storage)
    except (
        OSError, ValueError, errors.ValidationError, errors.RESTError,
        errors.NoSuchTableError, errors.NoSuchNamespaceError, errors.NoSuchIdentifierError,
    ) as error:  # fmt: skip
        raise SourceError(f"cannot read {f'iceberg:{table}'!r}: {get_first_line(error)}") from error


#: The property of a table with files whose columns are found by name.
_NAME_MAPPING = "schema.name-mapping.default"


def open_iceberg(
    table: Any,
    snapshot: int | None,
    label: str,
    name: str,
    folder: str | None = None,
    only: Collection[str] | None = None,
    planned: Sequence[Task] | None = None,
) -> Source:
    """Return the source of a loaded Iceberg table at a snapshot, the current one if None.

    In a local ``folder``, its own location if None, the engine itself reads its files where it can;
    with ``only``, no file of another path. ``planned`` are its files where they are listed already.
    """
    place: str = folder or table.location().removeprefix("file://")
    if not is_remote(place):
        planned = list_tasks(table, snapshot, label) if planned is None else planned
        source = open_iceberg_parts(table, snapshot, planned, place, label, only)
        if source is not None:
            return replace(source, catalogued=folder is None)
    is_named = _NAME_MAPPING in table.properties and pl.__version__.startswith("1.")
    has_deletes = any(task.deletes for task in planned or ())  # others may apply to no file
    if is_named or has_deletes or list_equality_deletes(table, snapshot, label):
        # Polars 1 cannot read files without numbers of columns, such as those that were added to a
        # table by name; no Polars reads equality deletes.
        planned = list_tasks(table, snapshot, label) if planned is None else planned
        files = list_iceberg_files(table, label, snapshot, planned)
        return files.open([f.path for f in files.files if only is None or f.path in only], name)
    # Plans which files are read; without it Polars warns, and asks PyIceberg, which is slower.
    import_optional("polars_iceberg", "iceberg", "an Iceberg table")
    return _open_lazy(pl.scan_iceberg(table, snapshot_id=snapshot), name, label)


def _open_iceberg(table: Any, as_of: AsOf, storage: Storage, name: str) -> Source:
    """Open an Iceberg table: a path, URL or catalogue name, or a ``pyiceberg`` table."""
    label = f"iceberg:{table}" if isinstance(table, str) else ".".join(table.name())
    folder = table if isinstance(table, str) and Path(table).is_dir() else None
    table = load_iceberg(table, storage) if isinstance(table, str) else table
    snapshot = _find_snapshot(table, as_of, label)
    return open_iceberg(table, snapshot, label, name, folder)


#: Limits for reading ahead in Lance, which without them fills gigabytes.
_LANCE = {"fragment_readahead": 1, "batch_readahead": 2}


def load_lance(table: Any, as_of: AsOf, storage: Storage) -> Any:
    """Load a Lance dataset at a version: a path, a URL or a ``lance.LanceDataset``."""
    label = table if isinstance(table, str) else table.uri
    library: Any = import_optional("lance", "lance", "a Lance dataset")
    if not isinstance(table, str) and as_of == AsOf():
        return table
    # The library compares with times of its own that have no zone.
    moment = as_of.timestamp and as_of.timestamp.astimezone().replace(tzinfo=None)
    try:
        return library.dataset(
            label, version=as_of.version, asof=moment,
            storage_options=write_variables(storage), default_scan_options=_LANCE,
        )  # fmt: skip
    except (OSError, ValueError, OverflowError) as error:
        raise SourceError(f"cannot read {label!r}: {get_first_line(error)}") from error


def _open_lance(table: Any, as_of: AsOf, storage: Storage, name: str) -> Source:
    """Open a Lance dataset, which is a dataset of PyArrow: a path, a URL or the object."""
    label = table if isinstance(table, str) else table.uri
    table = load_lance(table, as_of, storage)
    source = open_arrow(table, name)
    assert source is not None
    return replace(source, label=f"{label} (version {table.version})")


def load_ducklake(source: Database, as_of: AsOf, catalogue: LakeCatalogue) -> LakeTable:
    """Return a table of a DuckLake, whose catalogue is open."""
    return read_lake_table(catalogue, source.table, as_of.version, as_of.timestamp)


def _open_ducklake(table: str, as_of: AsOf, storage: Storage, name: str) -> Source:
    """Open a table of a DuckLake: its catalogue's path, ``#`` and the table."""
    database = find_database(f"{DUCKLAKE}{table}")
    assert database is not None
    check_file(database.address)

    def read(catalogue: LakeCatalogue) -> Source:
        return open_lake(load_ducklake(database, as_of, catalogue), name)

    file = DatabaseFile(database.address, database.table, None, read)
    return Source("", label=f"{DUCKLAKE}{table}", database=file)


_Open = Callable[[Any, AsOf, Storage, str], Source]
#: The function that opens a table of each kind.
_KINDS: dict[str, _Open] = {
    "delta": _open_delta, "iceberg": _open_iceberg, "lance": _open_lance,
    "ducklake": _open_ducklake,
}  # fmt: skip
#: The kind of a library's own table object, by its module and class.
_OBJECTS = {
    ("deltalake", "DeltaTable"): "delta",
    ("pyiceberg", "Table"): "iceberg",
    ("pyiceberg", "StaticTable"): "iceberg",
    ("lance", "LanceDataset"): "lance",
}


def find_table_kind(path: str) -> tuple[str, str]:
    """Return the kind of a table and its path; an empty kind for what is not a table."""
    kind, rest = split_kind(path)
    if kind:
        return kind[:-1], rest
    if path.startswith("iceberg://"):
        return "iceberg", path.removeprefix("iceberg:")
    if path.endswith(".metadata.json"):
        return "iceberg", path
    if is_remote(path):
        return "lance" if path.rstrip("/").endswith(".lance") else "", path
    folder = Path(path)
    if not folder.is_dir():
        return "", path
    if (folder / "_delta_log").is_dir():
        return "delta", path
    if any(folder.glob("metadata/*.metadata.json")):
        return "iceberg", path
    return "lance" if folder.suffix == ".lance" else "", path


def open_table(source: object, as_of: AsOf, storage: Storage, name: str) -> Source | None:
    """Return the source of a table of a lake; None if it is not a table.

    Parameters
    ----------
    source : object
        A path or URL, which ``delta+``, ``iceberg+`` or ``lance+`` may precede,
        ``iceberg://CATALOG/NAMESPACE.TABLE``, ``ducklake:CATALOGUE#SCHEMA.TABLE``, or a table
        object of the library.
    as_of : AsOf
        The version or time to read.
    storage : mapping of str to str
        Options of its object store.
    name : str
        The name that it is registered under.

    Raises
    ------
    SourceError
        If there is no such table, version or snapshot.
    MissingExtra
        If the library of the table is not installed.
    """
    if isinstance(source, str):
        kind, target = find_table_kind(source)
        return _KINDS[kind](target, as_of, storage, name) if kind else None
    module = type(source).__module__.split(".")[0]
    kind = _OBJECTS.get((module, type(source).__name__))
    return _KINDS[kind](source, as_of, storage, name) if kind else None
