"""Opens Lance datasets at a version; fragments are data files, and transactions are commits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from sqleval.common.imports import import_optional
from sqleval.errors import SourceError, get_first_line
from sqleval.sources.frames import open_arrow
from sqleval.sources.lake.data_files import DataFile, TableFiles
from sqleval.sources.lake.delta_commits import Commit
from sqleval.sources.lake.ducklake_catalogue import OpenCatalogue
from sqleval.sources.lake.format import AsOf, Snapshot, TableFormat
from sqleval.sources.source import Source
from sqleval.sources.stores import Storage, is_remote, write_variables

#: Limits for reading ahead. Without them Lance fills gigabytes.
_LANCE = {"fragment_readahead": 1, "batch_readahead": 2}


def _load_dataset(table: Any, as_of: AsOf, storage: Storage) -> Any:
    """Load a Lance dataset at a version: a path, a URL or a ``lance.LanceDataset``."""
    label = table if isinstance(table, str) else table.uri
    library: Any = import_optional("lance", "lance", "a Lance dataset")
    if not isinstance(table, str) and as_of == AsOf():
        return table
    # Lance compares it with local times without a zone.
    moment = as_of.timestamp and as_of.timestamp.astimezone().replace(tzinfo=None)
    try:
        return library.dataset(
            label, version=as_of.version, asof=moment,
            storage_options=write_variables(storage), default_scan_options=_LANCE,
        )  # fmt: skip
    except (OSError, ValueError, OverflowError) as error:
        raise SourceError(f"cannot read {label!r}: {get_first_line(error)}") from error


def _open(table: Any, as_of: AsOf, storage: Storage, name: str) -> Source:
    """Open a Lance dataset by a path, a URL or the object; it is also a dataset of PyArrow."""
    label = table if isinstance(table, str) else table.uri
    table = _load_dataset(table, as_of, storage)
    source = open_arrow(table, name)
    assert source is not None
    return replace(source, label=f"{label} (version {table.version})")


def _load(path: str, storage: Storage, _: OpenCatalogue) -> Snapshot:
    dataset = _load_dataset(path, AsOf(), storage)
    location = path if is_remote(path) else str(Path(path).absolute())
    content = _list_files(dataset, location, f"the Lance dataset {path!r}")
    return Snapshot(
        location,
        content,
        content.open,
        {field.name(): field.id() for field in dataset.lance_schema.fields()},
        partial(_read_commits, dataset, location),
    )


#: The batches of a fragment that are read ahead.
_BATCHES = 2
#: The attribute with the added fragments, by operation of Lance. A rewrite has groups of fragments.
_ADDED = {"Append": "fragments", "Overwrite": "fragments", "Update": "new_fragments"}


def _list_files(dataset: Any, location: str, label: str) -> TableFiles:
    """Return the fragments of a ``lance.LanceDataset``, each by the path of its first data file.

    Numbers cannot name fragments, because a new table at the same place has the same numbers.
    """
    numbers = {field.id(): field.name() for field in dataset.lance_schema.fields()}
    fragments: dict[str, Any] = {}
    files: list[DataFile] = []
    for fragment in dataset.get_fragments():
        first, *others = fragment.metadata.files
        path = _join(location, first.path)
        columns = {
            numbers[number]: file.path
            for file in others
            for number in file.fields
            if number in numbers
        }
        deleted = fragment.metadata.deletion_file and fragment.deletion_file()
        overlays = getattr(fragment.metadata, "overlays", None)
        changes = "|".join(str(each) for each in (deleted, overlays) if each)
        fragments[path] = fragment
        files.append(DataFile(path, first.file_size_bytes or 0, changes, columns))

    def read(file: DataFile, columns: Sequence[str]) -> Iterator[Any]:
        return fragments[file.path].to_batches(columns=[*columns], batch_readahead=_BATCHES)

    return TableFiles(label, tuple(sorted(files)), dataset.schema, read)


def _read_commits(dataset: Any, location: str) -> Iterator[Commit]:
    """Yield the transactions that led to a dataset, the last one first; old ones may be gone."""

    def list_paths(fragments: Iterable[Any]) -> list[str]:
        return [_join(location, fragment.files[0].path) for fragment in fragments]

    for version in range(dataset.version, 0, -1):
        try:
            transaction = dataset.read_transaction(version)
        except (OSError, ValueError):
            return  # Old versions are cleaned up.
        if transaction is None:
            return
        operation = transaction.operation
        kind = type(operation).__name__
        if kind == "Rewrite":
            for group in operation.groups:
                added = {
                    _join(location, new.files[0].path): new.physical_rows
                    for new in group.new_fragments
                }
                removed = frozenset(list_paths(group.old_fragments))
                # A fragment that is not plain had deleted rows or rewritten columns before.
                is_plain = all(map(_is_plain, group.old_fragments))
                yield Commit(added, removed, is_plain and bool(added) and bool(removed))
        else:
            added = list_paths(getattr(operation, _ADDED.get(kind, ""), ()))
            yield Commit(dict.fromkeys(added), frozenset(), is_rewrite=False)


def _is_plain(fragment: Any) -> bool:
    """Whether the rows of a fragment are exactly the rows of its first data file."""
    others = fragment.deletion_file or getattr(fragment, "overlays", None)
    return len(fragment.files) == 1 and not others


def _join(location: str, path: str) -> str:
    return f"{location.rstrip('/')}/data/{path}"


def _is_table(path: str) -> bool:
    is_named = path.rstrip("/").endswith(".lance")
    return is_named and (is_remote(path) or Path(path).is_dir())


LANCE = TableFormat(_is_table, _open, _load, ("lance.LanceDataset",))
