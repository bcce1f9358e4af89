"""Lists the data files of an Iceberg table at a snapshot, each with the files of its deleted rows.

Rows are deleted by their numbers or, in equality deletes, by the values of some columns. By the
specification, equality deletes apply to data files with smaller sequence numbers, in the same
partition, or in all partitions if the deletes have none.
"""

# Equality deletes are frozen: no new features; `iceberg_deletes` says when they are unnecessary.

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from importlib import import_module
from operator import attrgetter
from typing import Any, NamedTuple

from sqleval.errors import SourceError

#: The end of error messages about equality deletes.
REWRITE = (
    "equality deletes are gone when the table's data files are rewritten (in Spark by CALL "
    "system.rewrite_data_files)"
)
#: The formats of delete files that PyIceberg reads.
_FORMATS = ("PARQUET", "ORC")
_get_sequence = attrgetter("sequence")
#: The values of a partition; None for deletes that apply to all partitions.
Partition = tuple[object, ...] | None


class DeleteKind(NamedTuple):
    """The columns and partition that several files of equality deletes share.

    Attributes
    ----------
    keys : tuple of int
        The numbers of the columns that they compare.
    partition : tuple or None
        The partition to which they apply; None for all partitions.
    """

    keys: tuple[int, ...]
    partition: Partition


class EqualityDeletes(NamedTuple):
    """A file of equality deletes.

    Attributes
    ----------
    file : pyiceberg.manifest.DataFile
        The file.
    sequence : int
        Its sequence number. It deletes rows of data files with smaller numbers.
    kind : DeleteKind
        The columns that it compares, and its partition.
    """

    file: Any
    sequence: int
    kind: DeleteKind


class Task(NamedTuple):
    """A data file and the files of its deleted rows, as a task of PyIceberg.

    Attributes
    ----------
    file : pyiceberg.manifest.DataFile
        The data file.
    delete_files : frozenset of pyiceberg.manifest.DataFile
        The files with numbers of deleted rows.
    sequence : int
        Its sequence number.
    deletes : tuple of EqualityDeletes
        The files with values of deleted rows.
    """

    file: Any
    delete_files: frozenset[Any] = frozenset()
    sequence: int = 0
    deletes: tuple[EqualityDeletes, ...] = ()

    @property
    def partition(self) -> Partition:
        """A key of its partition."""
        return _find_partition(self.file)


def list_equality_deletes(table: Any, snapshot: int | None, label: str) -> list[EqualityDeletes]:
    """Return the files of equality deletes of a ``pyiceberg`` table, by sequence number.

    Parameters
    ----------
    table : pyiceberg.table.Table
        The table.
    snapshot : int or None
        The snapshot; the current one if None.
    label : str
        The table's name in messages.

    Raises
    ------
    SourceError
        If a manifest cannot be read, or PyIceberg does not read such files.
    """
    content: Any = import_module("pyiceberg.manifest")
    try:
        entries = [
            entry
            for manifest in _read_manifests(table, snapshot)
            if manifest.content == content.ManifestContent.DELETES
            for entry in manifest.fetch_manifest_entry(table.io)
            if entry.data_file.content == content.DataFileContent.EQUALITY_DELETES
        ]
    except (OSError, ValueError) as error:
        raise SourceError(f"cannot read {label}: {error}") from error
    return _sort_deletes(table, entries, label)


def _read_manifests(table: Any, snapshot: int | None) -> Sequence[Any]:
    at = table.scan(snapshot_id=snapshot).snapshot()
    return () if at is None else at.manifests(table.io)


def _sort_deletes(table: Any, entries: Iterable[Any], label: str) -> list[EqualityDeletes]:
    """Return the files of equality deletes in entries of manifests, by sequence number."""
    deletes: list[EqualityDeletes] = []
    for entry in entries:
        file = entry.data_file
        if file.file_format not in _FORMATS:
            raise SourceError(
                f"cannot read {label}: the equality deletes of {file.file_path} are in the format "
                f"{file.file_format.value}, and must be in {' or '.join(_FORMATS)}; {REWRITE}"
            )
        partition = None if _is_global(table, file) else _find_partition(file)
        kind = DeleteKind(tuple(sorted(file.equality_ids or ())), partition)
        deletes.append(EqualityDeletes(file, entry.sequence_number or 0, kind))
    return sorted(deletes, key=_get_sequence)


def list_tasks(table: Any, snapshot: int | None, label: str) -> list[Task]:
    """Return the data files of a ``pyiceberg`` table at a snapshot, the current one if None.

    Raises
    ------
    SourceError
        If they cannot be listed, or deleted rows cannot be read.
    """
    tables: Any = import_module("pyiceberg.table")
    content: Any = import_module("pyiceberg.manifest")
    sequences: dict[str, int] = {}
    entries: list[Any] = []

    def is_planned(entry: Any) -> bool:
        """Take out equality deletes, which PyIceberg refuses."""
        if entry.data_file.content == content.DataFileContent.EQUALITY_DELETES:
            entries.append(entry)
            return False
        sequences[entry.data_file.file_path] = entry.sequence_number or 0
        return True

    planner = tables.ManifestGroupPlanner(table.metadata, table.io)
    try:
        planned = planner.plan_files(_read_manifests(table, snapshot), is_planned)
    except (OSError, ValueError, NotImplementedError) as error:
        raise SourceError(f"cannot read {label}: {error}") from error
    by_partition: dict[Partition, list[EqualityDeletes]] = {}
    for each in _sort_deletes(table, entries, label):
        by_partition.setdefault(each.kind.partition, []).append(each)
    # Data files share tuples of deletes, because thousands may apply to each file.
    shared: dict[object, tuple[EqualityDeletes, ...]] = {}
    tasks: list[Task] = []
    for each in planned:
        sequence = sequences[each.file.file_path]
        task = Task(each.file, frozenset(each.delete_files), sequence)
        partition = task.partition if by_partition else None
        groups = [by_partition.get(key, []) for key in (None, partition)]
        starts = [bisect_right(group, sequence, key=_get_sequence) for group in groups]
        key = partition, *starts
        if key not in shared:
            shared[key] = (*groups[0][starts[0] :], *groups[1][starts[1] :])
        tasks.append(task._replace(deletes=shared[key]))
    return tasks


def unite_deletes(tasks: Iterable[Task]) -> list[EqualityDeletes]:
    """Return the equality deletes of data files, each once."""
    several = {id(task.deletes): task.deletes for task in tasks}
    return [*dict.fromkeys(each for deletes in several.values() for each in deletes)]


def _is_global(table: Any, file: Any) -> bool:
    """Whether deletes have no partition; a void field is the rest of a dropped one."""
    transforms: Any = import_module("pyiceberg.transforms")
    fields = table.specs()[file.spec_id].fields
    return all(isinstance(field.transform, transforms.VoidTransform) for field in fields)


def _find_partition(file: Any) -> Partition:
    """Return a key of the partition of a file; its values are texts, so that NaN equals NaN."""
    values = (repr(file.partition[at]) for at in range(len(file.partition)))
    return (file.spec_id, *values)
