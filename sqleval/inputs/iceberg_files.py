"""The data files of an Iceberg table: what its manifests say of each, and their rows."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from glob import escape
from importlib import import_module
from typing import Any

from sqleval.common.sql_text import literal
from sqleval.errors import SourceError
from sqleval.inputs.source import Source
from sqleval.inputs.table_files import DataFile, TableFiles
from sqleval.inputs.table_readers import (
    Part,
    hold_same_times,
    open_parts,
    read_file_schemas,
    read_number,
)


def list_iceberg_files(table: Any, label: str, snapshot: int | None = None) -> TableFiles:
    """Return the data files of a ``pyiceberg`` table at a snapshot, the current one if None."""
    io: Any = import_module("pyiceberg.io.pyarrow")
    expressions: Any = import_module("pyiceberg.expressions")
    whole = table.scan(snapshot_id=snapshot)
    tasks = {task.file.file_path: task for task in whole.plan_files()}

    def read(file: DataFile, columns: Sequence[str]) -> Iterator[Any]:
        chosen = whole.select(*columns).projection()
        scan = io.ArrowScan(table.metadata, table.io, chosen, expressions.AlwaysTrue())
        return scan.to_record_batches([tasks[file.path]])

    files = (
        DataFile(path, task.file.file_size_in_bytes, _hash_deletes(task.delete_files))
        for path, task in tasks.items()
    )
    schema = io.schema_to_pyarrow(whole.projection(), include_field_ids=False)
    return TableFiles(label, tuple(sorted(files)), schema, read)


def open_iceberg_parts(
    table: Any, snapshot: int | None, folder: str, label: str, only: Collection[str] | None
) -> Source | None:
    """Return the source of an Iceberg table that the engine itself reads; None for another one.

    It reads files of a local folder whose columns carry their numbers and are of simple types;
    deleted rows are numbers in Parquet files. With ``only``, files of other paths are not opened.
    """
    io: Any = import_module("pyiceberg.io.pyarrow")
    scan = table.scan(snapshot_id=snapshot)
    columns = scan.projection().fields
    try:
        tasks = [t for t in scan.plan_files() if only is None or t.file.file_path in only]
    except (OSError, ValueError, NotImplementedError) as error:
        raise SourceError(
            f"cannot read {label}: {error}; equality deletes are gone when the table's data files "
            "are rewritten (in Spark by CALL system.rewrite_data_files)"
        ) from error
    deletes = {file for task in tasks for file in task.delete_files}
    inside = f"{folder.rstrip('/')}/"
    if not all(
        _get_place(file).startswith(inside) and file.file_format == "PARQUET"
        for file in (*(task.file for task in tasks), *deletes)
    ) or any(getattr(column, "initial_default", None) is not None for column in columns):
        return None
    schema = io.schema_to_pyarrow(scan.projection(), include_field_ids=False)
    in_files = read_file_schemas(_get_place(task.file) for task in tasks)
    for task, in_file in zip(tasks, in_files, strict=True):
        present = {read_number(field) for field in in_file}
        # A file that was not written as part of a table may lack the column of its partition.
        sources = {field.source_id for field in table.specs()[task.file.spec_id].fields}
        if None in present or any(c.field_id in sources - present for c in columns):
            return None
    numbers = {column.name: column.field_id for column in columns}
    if not hold_same_times(schema, numbers, in_files):
        return None
    parts = [
        Part(
            [_get_place(task.file) for task in tasks if bool(task.delete_files) is has_deleted],
            {},
            numbers,
            _write_deleted(deletes) if has_deleted else "",
        )
        for has_deleted in (False, True)
    ]
    source = open_parts(parts, schema, label)
    if source is None:
        return None
    return replace(source, files=(*source.files, *sorted(map(_get_place, deletes))))


def _get_place(file: Any) -> str:
    return file.file_path.removeprefix("file://")


def _write_deleted(deletes: Iterable[Any]) -> str:
    """Write the SELECT of the data files and numbers of deleted rows."""
    files = ", ".join(sorted(literal(escape(_get_place(file))) for file in deletes))
    return f"SELECT REGEXP_REPLACE(file_path, '^file://', ''), pos FROM read_parquet([{files}])"


def _hash_deletes(files: Iterable[Any]) -> str:
    texts = sorted(f"{file.file_path}|{file.file_size_in_bytes}" for file in files)
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16] if texts else ""
