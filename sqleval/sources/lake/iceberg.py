"""Finds Iceberg tables in a catalogue or folder, and opens them at a snapshot."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from sqleval.common.imports import import_optional
from sqleval.errors import SourceError, get_first_line
from sqleval.sources.lake.ducklake_catalogue import OpenCatalogue
from sqleval.sources.lake.format import AsOf, Snapshot, TableFormat, describe_as_of, open_lazy
from sqleval.sources.lake.iceberg_commits import read_iceberg_commits
from sqleval.sources.lake.iceberg_files import list_iceberg_files, open_iceberg_parts
from sqleval.sources.lake.iceberg_tasks import Task, list_equality_deletes, list_tasks
from sqleval.sources.source import Source
from sqleval.sources.stores import Storage, is_remote, list_stored, write_variables


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


def _find_table(path: str, storage: Storage) -> Any:
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
        If the table has no snapshot of this name, number or time.
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
        ids = ", ".join(str(each.snapshot_id) for each in table.snapshots())
        names = ", ".join(table.metadata.refs)
        raise SourceError(
            f"{label} has no snapshot at {describe_as_of(as_of)} (snapshots: {ids}; branches and "
            f"tags: {names})"
        )
    return snapshot.snapshot_id


def _load_table(table: str, storage: Storage) -> Any:
    """Load an Iceberg table: a path, a URL, or ``//CATALOG/NAMESPACE.TABLE``."""
    errors: Any = import_optional("pyiceberg.exceptions", "iceberg", "an Iceberg table")
    try:
        return _find_table(table, storage)
    except (
        OSError, ValueError, errors.ValidationError, errors.RESTError,
        errors.NoSuchTableError, errors.NoSuchNamespaceError, errors.NoSuchIdentifierError,
    ) as error:  # fmt: skip
        raise SourceError(f"cannot read {f'iceberg:{table}'!r}: {get_first_line(error)}") from error


#: The property of a table that has files without column numbers.
_NAME_MAPPING = "schema.name-mapping.default"


def _open_snapshot(
    table: Any,
    snapshot: int | None,
    label: str,
    name: str,
    folder: str | None = None,
    only: Collection[str] | None = None,
    planned: Sequence[Task] | None = None,
) -> Source:
    """Return the source of a loaded Iceberg table at a snapshot, the current one if None.

    The engine itself reads files in the local ``folder`` (by default the table's location) if it
    can. With ``only``, it opens no file of another path. ``planned`` are files listed before.
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
        # Polars 1 cannot read files without column numbers, such as files that were added to a
        # table later. No Polars reads equality deletes.
        planned = list_tasks(table, snapshot, label) if planned is None else planned
        files = list_iceberg_files(table, label, snapshot, planned)
        return files.open([f.path for f in files.files if only is None or f.path in only], name)
    # This library plans the files to read. Without it Polars warns, and plans by PyIceberg, slower.
    import_optional("polars_iceberg", "iceberg", "an Iceberg table")
    return open_lazy(pl.scan_iceberg(table, snapshot_id=snapshot), name, label)


def _open(table: Any, as_of: AsOf, storage: Storage, name: str) -> Source:
    """Open an Iceberg table: a path, URL or catalogue name, or a ``pyiceberg`` table."""
    label = f"iceberg:{table}" if isinstance(table, str) else ".".join(table.name())
    folder = table if isinstance(table, str) and Path(table).is_dir() else None
    table = _load_table(table, storage) if isinstance(table, str) else table
    snapshot = _find_snapshot(table, as_of, label)
    return _open_snapshot(table, snapshot, label, name, folder)


def _load(path: str, storage: Storage, _: OpenCatalogue) -> Snapshot:
    table: Any = _load_table(path, storage)
    label = f"the Iceberg table {path!r}"
    planned = list_tasks(table, None, label)
    content = list_iceberg_files(table, label, None, planned)
    fields = {field.name: field.field_id for field in table.schema().fields}
    folder = path if Path(path).is_dir() else None

    def open_rows(paths: Collection[str], name: str) -> Source:
        return _open_snapshot(table, None, label, name, folder, paths, planned)

    return Snapshot(
        table.location().removeprefix("file://"),
        content,
        open_rows,
        fields,
        partial(read_iceberg_commits, table),
    )


def _is_table(path: str) -> bool:
    if path.startswith("iceberg://") or path.endswith(".metadata.json"):
        return True
    folder = Path(path)
    return not is_remote(path) and folder.is_dir() and any(folder.glob("metadata/*.metadata.json"))


ICEBERG = TableFormat(_is_table, _open, _load, ("pyiceberg.Table", "pyiceberg.StaticTable"))
