"""The data files of a Lance dataset: what its manifest says of each fragment, and its rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sqleval.sources.lake.data_files import DataFile, TableFiles
from sqleval.sources.lake.delta_commits import Commit

#: The batches of a fragment that are read ahead; see `tables`.
_BATCHES = 2
#: By operation of Lance, the key of the fragments that it adds; a rewrite has groups of them.
_ADDED = {"Append": "fragments", "Overwrite": "fragments", "Update": "new_fragments"}


def list_lance_files(dataset: Any, location: str, label: str) -> TableFiles:
    """Return the fragments of a ``lance.LanceDataset``, each by the path of its first data file.

    Numbers of fragments are not names: a new table at the same place has the same ones.
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


def read_lance_commits(dataset: Any, location: str) -> Iterator[Commit]:
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
                # Of another one, rows were deleted or columns written anew before the rewrite.
                is_plain = all(map(_is_plain, group.old_fragments))
                yield Commit(added, removed, is_plain and bool(added) and bool(removed))
        else:
            added = list_paths(getattr(operation, _ADDED.get(kind, ""), ()))
            yield Commit(dict.fromkeys(added), frozenset(), is_rewrite=False)


def _is_plain(fragment: Any) -> bool:
    """Whether the rows of a fragment are those of its first data file."""
    others = fragment.deletion_file or getattr(fragment, "overlays", None)
    return len(fragment.files) == 1 and not others


def _join(location: str, path: str) -> str:
    return f"{location.rstrip('/')}/data/{path}"
