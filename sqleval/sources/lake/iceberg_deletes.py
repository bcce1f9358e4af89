"""Leaves out the rows that equality deletes of an Iceberg table name by the values of columns.

A row is deleted if all compared columns are equal. NULL is equal to NULL, and NaN to NaN.
"""

# Frozen: no new features. This module, and the equality deletes in `iceberg_tasks`, become
# unnecessary when PyIceberg's scans apply them; 0.12 refuses them (apache/iceberg, issue 6568).

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any, NamedTuple

import polars as pl

from sqleval.common.sql_text import quote, write_literal
from sqleval.errors import SourceError
from sqleval.sources.bounded import drop_rows
from sqleval.sources.lake.iceberg_tasks import (
    REWRITE,
    DeleteKind,
    EqualityDeletes,
    Task,
    unite_deletes,
)
from sqleval.sources.lake.readers import Part, write_part

#: The prefix of columns that are read only for comparison; the column's number follows.
_KEY = "_sqleval_key_"
#: The columns for the file of a row, and for the last sequence number of a deleted value.
_PLACE, _LAST = "_sqleval_place", "_sqleval_last"
#: The number of sets of deleted values in memory while data files are read one by one.
_KINDS = 4


class KeyColumns(NamedTuple):
    """The columns that equality deletes compare.

    Attributes
    ----------
    names : dict of int to str
        The name of each by its number.
    schema : pyiceberg.schema.Schema
        The columns that are read, also those that are read only to be compared.
    """

    names: dict[int, str]
    schema: Any


def check_key_columns(table: Any, tasks: Iterable[Task], label: str) -> None:
    """Raise `SourceError` if equality deletes compare columns that are unknown or not simple.

    Parameters
    ----------
    table : pyiceberg.table.Table
        The table.
    tasks : iterable of Task
        The data files.
    label : str
        The table's name in messages.
    """
    fields = _list_fields(table)
    for each in unite_deletes(tasks):
        for number in each.kind.keys or (0,):
            if number not in fields or not fields[number].field_type.is_primitive:
                raise SourceError(
                    f"cannot read {label}: the equality deletes of {each.file.file_path} compare "
                    f"column number {number}, and must compare columns of simple types that the "
                    f"table has or had; {REWRITE}"
                )


def find_key_columns(table: Any, tasks: Iterable[Task], projection: Any) -> KeyColumns:
    """Return the columns that equality deletes compare, including dropped columns.

    Parameters
    ----------
    table : pyiceberg.table.Table
        The table.
    tasks : iterable of Task
        The data files.
    projection : pyiceberg.schema.Schema
        The columns of the rows.
    """
    schemas: Any = import_module("pyiceberg.schema")
    fields = _list_fields(table)
    shown = {field.field_id: field.name for field in projection.fields}
    numbers = dict.fromkeys(n for each in unite_deletes(tasks) for n in each.kind.keys)
    names = {number: shown.get(number, f"{_KEY}{number}") for number in numbers}
    hidden = [_rename(fields[number], names[number]) for number in names if number not in shown]
    return KeyColumns(names, schemas.Schema(*projection.fields, *hidden))


def _list_fields(table: Any) -> dict[int, Any]:
    """Return the columns of all schemas of a table, by number.

    Types are only ever widened, so the type in the last schema holds the values of all files.
    """
    every = [table.schemas()[number] for number in sorted(table.schemas())]
    return {field.field_id: field for each in every for field in each.fields}


def _rename(field: Any, name: str) -> Any:
    """Return a column under another name, which files may lack."""
    return field.model_copy(update={"name": name, "required": False})


def write_kept_rows(
    tasks: Sequence[Task],
    part: Part,
    types: Mapping[str, str],
    shown: Iterable[str],
    keys: KeyColumns,
) -> str:
    """Write the SELECT of the rows of local data files that equality deletes do not remove.

    Parameters
    ----------
    tasks : sequence of Task
        The data files.
    part : Part
        The same files, as the engine reads them.
    types : mapping of str to str
        The columns that are read, and their types in DuckDB.
    shown : iterable of str
        The columns of the rows.
    keys : KeyColumns
        The columns that are compared.
    """
    partitions = {task.partition: at for at, task in enumerate(tasks)}
    files = [(get_place(task.file), partitions[task.partition], task.sequence) for task in tasks]
    groups: dict[tuple[tuple[int, ...], bool], list[EqualityDeletes]] = {}
    for each in unite_deletes(tasks):
        groups.setdefault((each.kind.keys, each.kind.partition is None), []).append(each)
    joins = [
        _write_join(
            {keys.names[number]: number for number in numbers},
            [(get_place(e.file), partitions.get(e.kind.partition, 0), e.sequence) for e in group],
            types,
            is_global,
        )
        for (numbers, is_global), group in groups.items()
    ]
    return (
        f"SELECT {', '.join(f't.{quote(name)}' for name in shown)} "
        f"FROM ({write_part(part, types, name_as=_PLACE)}) AS t "
        f"JOIN {_write_files(files)} ON n.file = t.{_PLACE} {' '.join(joins)}"
    )


def _write_join(
    keys: Mapping[str, int],
    files: Sequence[tuple[str, int, int]],
    types: Mapping[str, str],
    is_global: bool,
) -> str:
    """Write the join that leaves out the rows named by deletes that compare the same columns.

    It is an ANTI JOIN, because for NOT EXISTS DuckDB would hold all rows of the data files.
    """
    part = Part([file for file, _, _ in files], {}, keys)
    rows = write_part(part, {name: types[name] for name in keys}, name_as=_PLACE)
    names = [f"key_{at}" for at in range(len(keys))]
    columns = [f"t.{quote(name)}" for name in keys]
    equal = [f"d.{n} IS NOT DISTINCT FROM {c}" for n, c in zip(names, columns, strict=True)]
    equal += [] if is_global else ["d.part = n.part"]
    # The last delete of a value includes the earlier ones, so each value occurs once.
    return (
        f"ANTI JOIN (SELECT {', '.join(columns)}, {'0' if is_global else 'n.part'} AS part, "
        f"MAX(n.sequence) FROM ({rows}) AS t JOIN {_write_files(files)} ON n.file = t.{_PLACE} "
        f"GROUP BY ALL) AS d({', '.join(names)}, part, sequence) "
        f"ON {' AND '.join(equal)} AND d.sequence > n.sequence"
    )


def _write_files(files: Iterable[tuple[str, int, int]]) -> str:
    """Write a relation of files, the numbers of their partitions, and their sequence numbers."""
    rows = ", ".join(f"({write_literal(file)}, {part}, {number})" for file, part, number in files)
    return f"(VALUES {rows}) AS n(file, part, sequence)"


#: A function that reads the deleted values of a kind of deletes.
ReadValues = Callable[[DeleteKind], pl.DataFrame]


def make_reader(table: Any, tasks: Iterable[Task]) -> ReadValues:
    """Return a function that reads deleted values, with the last sequence number of each.

    The columns of its frames have names made of the columns' numbers.
    """
    arrow: Any = import_module("pyiceberg.io.pyarrow")
    expressions: Any = import_module("pyiceberg.expressions")
    schemas: Any = import_module("pyiceberg.schema")
    fields = _list_fields(table)
    groups: dict[DeleteKind, list[EqualityDeletes]] = {}
    for each in unite_deletes(tasks):
        groups.setdefault(each.kind, []).append(each)

    @lru_cache(_KINDS)
    def read(kind: DeleteKind) -> pl.DataFrame:
        keys = [_rename(fields[number], f"{_KEY}{number}") for number in kind.keys]
        scan = arrow.ArrowScan(
            table.metadata, table.io, schemas.Schema(*keys), expressions.AlwaysTrue()
        )
        rows = pl.concat(
            pl.DataFrame(scan.to_table([Task(each.file)])).with_columns(
                pl.lit(each.sequence).alias(_LAST)
            )
            for each in groups[kind]
        )
        return rows.group_by(key.name for key in keys).agg(pl.col(_LAST).max())

    return read


def drop_deleted(
    batches: Iterable[Any], task: Task, keys: KeyColumns, read: ReadValues
) -> Iterator[Any]:
    """Yield the batches of a data file without the rows that equality deletes name.

    Parameters
    ----------
    batches : iterable of pyarrow.RecordBatch
        The batches, with the columns that are compared.
    task : Task
        The data file.
    keys : KeyColumns
        The columns that are compared.
    read : callable
        Reads deleted values; `make_reader` makes it.
    """
    held = list(batches)  # PyIceberg holds them in memory, too.
    if not held:
        return
    rows = pl.concat(pl.DataFrame(batch.select([*keys.names.values()])) for batch in held)
    kept = pl.repeat(value=True, n=rows.height, eager=True)
    for kind in dict.fromkeys(each.kind for each in task.deletes):
        deleted = read(kind)
        names = {number: f"{_KEY}{number}" for number in kind.keys}
        values = rows.select(
            pl.col(keys.names[number]).cast(deleted.schema[name]).alias(name)
            for number, name in names.items()
        )
        matches = values.join(
            deleted, on=[*names.values()], how="left", nulls_equal=True, maintain_order="left"
        )
        kept &= matches[_LAST].fill_null(0) <= task.sequence
    yield from drop_rows(held, kept.rechunk().to_arrow())


def get_place(file: Any) -> str:
    """Return the path of a local file."""
    return file.file_path.removeprefix("file://")
