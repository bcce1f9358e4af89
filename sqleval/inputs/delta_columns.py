"""Column mapping of a Delta table: the names and numbers of its columns within its files."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from sqleval.errors import SourceError

#: What the metadata of a column say of it.
_PHYSICAL, _NUMBER = b"delta.columnMapping.physicalName", b"delta.columnMapping.id"


def find_file_names(table: Any, label: str) -> dict[str, str]:
    """Return the name that each column of a Delta table has in its files (column mapping).

    Raises
    ------
    SourceError
        If files are to be read by the numbers of columns, or a nested column is renamed within.
    """
    pa: Any = import_module("pyarrow")
    mapping = table.metadata().configuration.get("delta.columnMapping.mode", "none")
    schema: Any = pa.schema(table.schema().to_arrow())
    if mapping == "none":
        return {name: name for name in schema.names}
    nested = next((field.name for field in schema if pa.types.is_nested(field.type)), "")
    if mapping != "name" or nested:
        what = f"and {nested!r} is a nested column" if mapping == "name" else "and not by name"
        raise SourceError(f"cannot read {label}: it has column mapping by {mapping}, {what}")
    return {field.name: field.metadata[_PHYSICAL].decode() for field in schema}


def number_columns(table: Any) -> dict[str, int]:
    """Return the numbers of the columns of a Delta table, where it has them (column mapping)."""
    pa: Any = import_module("pyarrow")
    schema: Any = pa.schema(table.schema().to_arrow())
    metadata: dict[str, dict[bytes, bytes]] = {f.name: f.metadata or {} for f in schema}
    numbers = {name: each.get(_NUMBER) for name, each in metadata.items()}
    return {name: int(number) for name, number in numbers.items() if number is not None}
