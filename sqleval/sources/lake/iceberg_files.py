"""Lists the data files of an Iceberg table by its manifests, and reads their rows."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from glob import escape
from importlib import import_module
from typing import Any

from sqleval.common.sql_text import write_literal
from sqleval.sources.lake.data_files import DataFile, TableFiles
from sqleval.sources.lake.iceberg_deletes import (
    check_key_columns,
    drop_deleted,
    find_key_columns,
    get_place,
    make_reader,
    write_kept_rows,
)
from sqleval.sources.lake.iceberg_tasks import EqualityDeletes, Task, unite_deletes
from sqleval.sources.lake.readers import (
    Part,
    hold_same_times,
    open_parts,
    read_file_schemas,
    read_number,
    write_part,
)
from sqleval.sources.source import Source


def list_iceberg_files(
    table: Any, label: str, snapshot: int | None, planned: Iterable[Task]
) -> TableFiles:
    """Return the data files of a ``pyiceberg`` table at a snapshot; `list_tasks` has planned them.

    Raises
    ------
    SourceError
        If deleted rows cannot be read.
    """
    io: Any = import_module("pyiceberg.io.pyarrow")
    expressions: Any = import_module("pyiceberg.expressions")
    whole = table.scan(snapshot_id=snapshot)
    tasks = {task.file.file_path: task for task in planned}
    check_key_columns(table, tasks.values(), label)
    read_deletes = make_reader(table, tasks.values())

    def read(file: DataFile, columns: Sequence[str]) -> Iterator[Any]:
        task = tasks[file.path]
        keys = find_key_columns(table, [task], whole.select(*columns).projection())
        scan = io.ArrowScan(table.metadata, table.io, keys.schema, expressions.AlwaysTrue())
        batches = scan.to_record_batches([task])
        return drop_deleted(batches, task, keys, read_deletes) if task.deletes else batches

    files = (
        DataFile(path, task.file.file_size_in_bytes, _hash_deletes(task))
        for path, task in tasks.items()
    )
    schema = io.schema_to_pyarrow(whole.projection(), include_field_ids=False)
    return TableFiles(label, tuple(sorted(files)), schema, read)


def open_iceberg_parts(
    table: Any,
    snapshot: int | None,
    planned: Iterable[Task],
    folder: str,
    label: str,
    only: Collection[str] | None,
) -> Source | None:
    """Return the source of an Iceberg table that the engine itself reads; None for another one.

    The engine reads files of a local folder, as `list_tasks` lists them, if their columns have
    numbers and simple types. Deleted rows must be numbers or values in Parquet files. With
    ``only``, files of other paths are not opened.
    """
    io: Any = import_module("pyiceberg.io.pyarrow")
    projection = table.scan(snapshot_id=snapshot).projection()
    tasks = {get_place(t.file): t for t in planned if only is None or t.file.file_path in only}
    check_key_columns(table, tasks.values(), label)
    keys = find_key_columns(table, tasks.values(), projection)
    positions = {get_place(file): file for task in tasks.values() for file in task.delete_files}
    values = {get_place(each.file): each for each in unite_deletes(tasks.values())}
    files = [each.file for each in (*tasks.values(), *values.values())]
    if not _are_readable([*files, *positions.values()], folder):
        return None
    schema = io.schema_to_pyarrow(keys.schema, include_field_ids=False)
    if not _hold_columns(table, keys.schema.fields, schema, tasks, values):
        return None
    groups: dict[tuple[bool, bool], list[str]] = {}
    for place, task in tasks.items():
        groups.setdefault((bool(task.delete_files), bool(task.deletes)), []).append(place)
    numbers = {column.name: column.field_id for column in keys.schema.fields}
    parts = [
        Part(group, {}, numbers, _write_deleted(positions) if has_deleted else "")
        for (has_deleted, _), group in groups.items()
    ]
    shown = [field.name for field in projection.fields]

    def write(part: Part, types: Mapping[str, str]) -> str:
        chosen = [tasks[place] for place in part.files]
        if chosen[0].deletes:
            return write_kept_rows(chosen, part, types, shown, keys)
        return write_part(part, {name: types[name] for name in shown})

    source = open_parts(parts, schema, label, write)
    if source is None:
        return None
    return replace(source, files=(*source.files, *sorted({**positions, **values})))


def _are_readable(files: Iterable[Any], folder: str) -> bool:
    """Whether all files are Parquet files in a folder."""
    inside = f"{folder.rstrip('/')}/"
    return all(
        get_place(file).startswith(inside) and file.file_format == "PARQUET" for file in files
    )


def _hold_columns(
    table: Any,
    columns: Iterable[Any],
    schema: Any,
    tasks: Mapping[str, Task],
    values: Mapping[str, EqualityDeletes],
) -> bool:
    """Whether the engine finds all columns in the data files and in the equality deletes' files.

    Parameters
    ----------
    table : pyiceberg.table.Table
        The table.
    columns : iterable of pyiceberg.types.NestedField
        The columns.
    schema : pyarrow.Schema
        The same columns.
    tasks : mapping of str to Task
        The data files, by path.
    values : mapping of str to EqualityDeletes
        The files of equality deletes, by path.
    """
    if any(getattr(column, "initial_default", None) is not None for column in columns):
        return False
    in_files, in_deletes = read_file_schemas(tasks), read_file_schemas(values)
    for task, in_file in zip(tasks.values(), in_files, strict=True):
        present = {read_number(field) for field in in_file}
        # A file that was added to the table later may lack the column of its partition.
        sources = {field.source_id for field in table.specs()[task.file.spec_id].fields}
        if None in present or any(c.field_id in sources - present for c in columns):
            return False
    for deletes, in_file in zip(values.values(), in_deletes, strict=True):
        if not {*deletes.kind.keys} <= {read_number(field) for field in in_file}:
            return False
    numbers = {column.name: column.field_id for column in columns}
    return hold_same_times(schema, numbers, [*in_files, *in_deletes])


def _write_deleted(deletes: Iterable[str]) -> str:
    """Write the SELECT of the data files and numbers of deleted rows."""
    files = ", ".join(sorted(write_literal(escape(file)) for file in deletes))
    return f"SELECT REGEXP_REPLACE(file_path, '^file://', ''), pos FROM read_parquet([{files}])"


def _hash_deletes(task: Task) -> str:
    files = [*task.delete_files, *(each.file for each in task.deletes)]
    texts = sorted(f"{file.file_path}|{file.file_size_in_bytes}" for file in files)
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16] if texts else ""
