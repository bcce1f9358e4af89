"""Reads the column mapping of a Delta table: the names and numbers of its columns in its files."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from sqleval.errors import SourceError
from sqleval.sources.lake.readers import read_number

#: Keys in the metadata of a column: its name and its number in the files.
_PHYSICAL, _NUMBER = b"delta.columnMapping.physicalName", b"delta.columnMapping.id"


def find_file_names(table: Any, label: str) -> dict[str, str | int]:
    """Return the name or number of each column of a Delta table in its files.

    Raises
    ------
    SourceError
        If a nested column has renamed fields, or the mode of column mapping is unknown.
    """
    pa: Any = import_module("pyarrow")
    mapping = table.metadata().configuration.get("delta.columnMapping.mode", "none")
    schema: Any = pa.schema(table.schema().to_arrow())
    if mapping == "none":
        return {name: name for name in schema.names}
    nested = next((field.name for field in schema if pa.types.is_nested(field.type)), "")
    if mapping not in ("name", "id") or nested:
        what = f", and {nested!r} is a nested column" if nested else ""
        raise SourceError(f"cannot read {label}: it has column mapping by {mapping}{what}")
    if mapping == "id":
        return {field.name: int(field.metadata[_NUMBER]) for field in schema}
    return {field.name: field.metadata[_PHYSICAL].decode() for field in schema}


def name_columns(in_files: Mapping[str, str | int], file: Any) -> dict[str, str]:
    """Return the name of each of a table's columns in a file, which may lack the column.

    Raises
    ------
    OSError
        If the table maps columns by number, and the file has no numbers.
    """
    if all(isinstance(key, str) for key in in_files.values()):
        return {name: str(key) for name, key in in_files.items()}
    names: dict[str | int | None, str] = {
        read_number(field): field.name for field in file.physical_schema
    }
    if None in names:
        raise OSError("the table has column mapping by id, and the file has no column numbers")
    return {name: names.get(key, f"_sqleval_{key}") for name, key in in_files.items()}


def number_columns(table: Any) -> dict[str, int]:
    """Return the numbers of the columns of a Delta table that has column mapping."""
    pa: Any = import_module("pyarrow")
    schema: Any = pa.schema(table.schema().to_arrow())
    metadata: dict[str, dict[bytes, bytes]] = {f.name: f.metadata or {} for f in schema}
    numbers = {name: each.get(_NUMBER) for name, each in metadata.items()}
    return {name: int(number) for name, number in numbers.items() if number is not None}
