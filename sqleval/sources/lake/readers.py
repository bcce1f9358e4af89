"""Writes how the engine itself reads the local data files of a table of a lake.

DuckDB's reader of Parquet holds a few pages of each column, whatever the size of the table. The
libraries of the tables would read row groups of many files ahead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from glob import escape
from importlib import import_module
from typing import Any, NamedTuple

from sqleval.common.sql_text import quote, write_literal
from sqleval.errors import SourceError
from sqleval.sources.source import Source
from sqleval.sources.stores import shorten

#: DuckDB's type of each Arrow type that DuckDB reads from Parquet without loss.
_TYPES = {
    "bool": "BOOLEAN", "int8": "TINYINT", "int16": "SMALLINT", "int32": "INTEGER",
    "int64": "BIGINT", "float": "FLOAT", "double": "DOUBLE", "date32[day]": "DATE",
    "string": "VARCHAR", "large_string": "VARCHAR", "string_view": "VARCHAR",
    "timestamp[us]": "TIMESTAMP", "timestamp[us, tz=UTC]": "TIMESTAMPTZ",
}  # fmt: skip
#: The largest number of partitions, each of which is a SELECT; planning more takes too long.
_PARTITIONS = 64
#: A value of a partition column.
Value = str | int | bool | date | None


class Part(NamedTuple):
    """Local data files with the same values of the partition columns.

    Attributes
    ----------
    files : sequence of str
        The files.
    values : mapping of str to value
        The values of the columns that are not in the files.
    keys : mapping of str to str or int
        Each column's name or field number within the files.
    deleted : str
        A SELECT of the files and numbers of deleted rows; empty without any.
    """

    files: Sequence[str]
    values: Mapping[str, Value]
    keys: Mapping[str, str | int]
    deleted: str = ""


def open_parts(
    parts: Iterable[Part],
    schema: Any,
    label: str,
    write: Callable[[Part, Mapping[str, str]], str] | None = None,
) -> Source | None:
    """Return the source of data files that the engine reads; None if it might not read them.

    Parameters
    ----------
    parts : iterable of Part
        The files, by partition.
    schema : pyarrow.Schema
        The columns of the table.
    label : str
        The table's name in messages.
    write : callable, optional
        Writes the SELECT of a part, from the part and the types of the columns; `write_part` if
        None.
    """
    parts = [part for part in parts if part.files]
    types = {field.name: kind for field in schema if (kind := _write_type(field.type)) is not None}
    if not 0 < len(parts) <= _PARTITIONS or len(types) < len(schema):
        return None
    if len({name.casefold() for name in types}) < len(types):
        return None  # DuckDB takes the names A and a as one column.
    texts = [(write or write_part)(part, types) for part in parts]
    return Source(
        f"({' UNION ALL '.join(texts)})",
        files=tuple(sorted(file for part in parts for file in part.files)),
        label=label,
        is_table=True,
    )


def _write_type(kind: Any) -> str | None:
    pa: Any = import_module("pyarrow")
    if pa.types.is_decimal128(kind):
        return f"DECIMAL({kind.precision}, {kind.scale})"
    return _TYPES.get(str(kind))


def write_part(
    part: Part,
    types: Mapping[str, str],
    defaults: Mapping[str, str | None] | None = None,
    name_as: str = "",
) -> str:
    """Write the SELECT of the files of a part.

    Parameters
    ----------
    part : Part
        The files.
    types : mapping of str to str
        The columns, and their types in DuckDB.
    defaults : mapping of str to str, optional
        The values of columns in files without them, if not NULL.
    name_as : str
        The column for the file of each row; none if empty.
    """
    defaults = defaults or {}
    # A column of the table may have the name of DuckDB's column for the file or row number.
    is_plain = not part.deleted and not name_as
    inner = {name: name if is_plain else f"column_{at}" for at, name in enumerate(types)}
    columns = [
        f"CAST({_write_value(part.values[name])} AS {kind}) AS {quote(name)}"
        if name in part.values
        else _write_column(inner[name], kind, name)
        for name, kind in types.items()
    ]
    columns += [f"f.filename AS {quote(name_as)}"] if name_as else []
    fields = ", ".join(
        f"{_write_value(part.keys[name])}: {{'name': {write_literal(inner[name])}, "
        f"'type': {write_literal(kind)}, 'default_value': {_write_value(defaults.get(name))}}}"
        for name, kind in types.items()
        if name not in part.values
    )
    files = ", ".join(write_literal(escape(file)) for file in sorted(part.files))
    text = (
        f"SELECT {', '.join(columns)} FROM read_parquet([{files}], schema = MAP {{{fields}}}) AS f"
    )
    if part.deleted:
        text += (
            f" WHERE NOT EXISTS (SELECT 1 FROM ({part.deleted}) AS d(file, place) "
            "WHERE d.file = f.filename AND d.place = f.file_row_number)"
        )
    return text


def _write_column(inner: str, kind: str, name: str) -> str:
    """Write a column of the files so that DuckDB does not push a condition on floats down.

    DuckDB 1.5 casts the constant of a condition to the file's type, which may be FLOAT although the
    table has DOUBLE. Also, the statistics of files ignore NaN.
    """
    column = f"f.{quote(inner)}"
    if kind in ("FLOAT", "DOUBLE"):
        return f"TRY({column}) AS {quote(name)}"
    return f"{column} AS {quote(name)}"


def is_value(value: object) -> bool:
    """Whether a value of a partition column can be written in a statement as it is."""
    is_time = isinstance(value, datetime)
    return value is None or (isinstance(value, (str, int, date)) and not is_time)


def _write_value(value: Value) -> str:
    if value is None:
        return "NULL"
    return str(value).upper() if isinstance(value, int) else write_literal(str(value))


def read_file_schemas(files: Iterable[str]) -> list[Any]:
    """Return the Arrow schema of each Parquet file, from its footer.

    Raises
    ------
    SourceError
        If a file is missing or damaged.
    """
    pa: Any = import_module("pyarrow")
    parquet: Any = import_module("pyarrow.parquet")
    schemas: list[Any] = []
    for file in files:
        try:
            schemas.append(parquet.read_schema(file))
        except (OSError, pa.ArrowException) as error:
            raise SourceError(f"cannot read {file!r}: {shorten(error)}") from error
    return schemas


def read_number(field: Any) -> int | None:
    """Return the number of a column of a Parquet file, which stays when the column is renamed."""
    metadata: dict[bytes, bytes] = field.metadata or {}
    number = metadata.get(b"PARQUET:field_id")
    return None if number is None else int(number)


def hold_same_times(
    schema: Any, keys: Mapping[str, str | int], file_schemas: Iterable[Any]
) -> bool:
    """Whether times have a zone in the files if they have one in the table.

    Spark writes some times without a zone (INT96), which the engine would take as local times.
    """
    pa: Any = import_module("pyarrow")
    zoned = {keys[f.name]: bool(f.type.tz) for f in schema if pa.types.is_timestamp(f.type)}
    for field in (field for each in file_schemas for field in each):
        key = field.name if field.name in zoned else read_number(field)
        is_time = pa.types.is_timestamp(field.type)
        if key in zoned and not (is_time and bool(field.type.tz) == zoned[key]):
            return False
    return True
