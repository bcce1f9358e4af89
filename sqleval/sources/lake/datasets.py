"""Reads the data files of a Delta or Iceberg table by PyArrow, file by file.

Memory does not grow with the table. The libraries of the tables would read row groups of many files
ahead. Conditions of a statement skip partitions, files and row groups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from importlib import import_module
from typing import Any, NamedTuple

from sqleval.common.sql_text import quote
from sqleval.sources.bounded import read_file_by_file
from sqleval.sources.source import Source
from sqleval.sources.stores import shorten

#: The least and the largest value of columns, by column, or by file and column.
Bounds = Mapping[str, tuple[Any, Any]]
BoundsOfFiles = Mapping[str, Bounds]
#: Logs of tables truncate times to milliseconds.
_MILLISECOND = timedelta(milliseconds=1)
#: Logs may truncate texts of this length or more.
_LONG_TEXT = 30


class TableFile(NamedTuple):
    """A Parquet file of a table.

    Attributes
    ----------
    place : str
        Its path within the filesystem.
    size : int
        Its bytes.
    keys : mapping of str to object
        The values of the partition columns, which the file may lack.
    mask : pyarrow.BooleanArray or None
        The rows that remain. Rows beyond the end of the array remain, too.
    """

    place: str
    size: int
    keys: Mapping[str, object]
    mask: Any = None


def make_parquet_format() -> Any:
    """Return the format by which PyArrow reads the Parquet files of a table."""
    ds: Any = import_module("pyarrow.dataset")
    # Spark writes times as INT96. As nanoseconds they would overflow for some years.
    options = ds.ParquetReadOptions(coerce_int96_timestamp_unit="us")
    return ds.ParquetFileFormat(read_options=options)


def open_table_dataset(
    files: Iterable[TableFile],
    schema: Any,
    filesystem: Any,
    name: str,
    label: str,
    read_bounds: Callable[[Sequence[str]], BoundsOfFiles],
) -> Source:
    """Return the source of files whose columns have the names of the table.

    Parameters
    ----------
    files : iterable of TableFile
        The files.
    schema : pyarrow.Schema
        The columns of the table.
    filesystem : pyarrow.fs.FileSystem
        The filesystem that holds the files.
    name : str
        The name that the source is registered under.
    label : str
        The table's name in messages.
    read_bounds : callable
        Returns the bounds of columns in the table's log, by the place of a file.
    """
    pa: Any = import_module("pyarrow")
    ds: Any = import_module("pyarrow.dataset")
    form = make_parquet_format()
    listed = sorted(files, key=lambda file: file.place)
    masks = {file.place: file.mask for file in listed if file.mask is not None}

    def make(columns: Sequence[str]) -> object:
        kept = pa.schema([schema.field(column) for column in columns or schema.names])
        bounds = read_bounds(kept.names)
        fragments = [
            form.make_fragment(
                file.place, filesystem, _write_guarantee(file, bounds.get(file.place, {}), schema),
                file_size=file.size,
            )
            for file in listed
        ]  # fmt: skip
        plain = ds.FileSystemDataset(fragments, kept, form, filesystem)
        return read_file_by_file(plain, masks)

    def find_unreadable() -> str | None:
        for file in listed:
            try:
                with filesystem.open_input_file(file.place) as stream:
                    stream.read_at(1, max(stream.size() - 1, 0))
            except OSError as error:
                return f"{file.place}: {shorten(error)}"
        return None

    return Source(
        quote(name), name, make, empty=schema.empty_table(), stream=True, label=label,
        find_unreadable=find_unreadable,
    )  # fmt: skip


def _write_guarantee(file: TableFile, bounds: Bounds, schema: Any) -> Any:
    """Return an expression that is true for all rows of a file, so that PyArrow can skip it."""
    pa: Any = import_module("pyarrow")
    ds: Any = import_module("pyarrow.dataset")
    condition = ds.scalar(True)
    for key, value in file.keys.items():
        if value is not None:
            condition = condition & (ds.field(key) == pa.scalar(value, schema.field(key).type))
    for name, (least, largest) in bounds.items():
        kind, field = schema.field(name).type, ds.field(name)
        # Skip the bounds of floats (NaN lies outside them) and of texts (long ones are truncated).
        is_exact = isinstance(largest, (int, date)) or 0 < len(str(largest)) < _LONG_TEXT
        if least is None or largest is None or pa.types.is_floating(kind) or not is_exact:
            continue
        if isinstance(largest, datetime) and largest.year < 9999:
            largest += _MILLISECOND
        # PyArrow can use a comparison OR IS NULL, but no two comparisons OR IS NULL.
        condition = condition & ((field >= pa.scalar(least, kind)) | field.is_null())
        condition = condition & ((field <= pa.scalar(largest, kind)) | field.is_null())
    return condition
