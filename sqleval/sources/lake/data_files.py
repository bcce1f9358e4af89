"""Lists the data files of a table of a lake, and reads their rows."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import Any, NamedTuple
from urllib.parse import unquote

import polars as pl
from polars.selectors import by_name

from sqleval.common.sql_text import quote
from sqleval.errors import SourceError
from sqleval.sources.batches import BatchStream
from sqleval.sources.bounded import drop_rows
from sqleval.sources.lake.datasets import (
    BoundsOfFiles,
    TableFile,
    make_parquet_format,
    open_table_dataset,
)
from sqleval.sources.lake.delta_columns import find_file_names, name_columns
from sqleval.sources.lake.readers import (
    Part,
    Value,
    hold_same_times,
    is_value,
    open_parts,
    read_file_schemas,
    read_number,
)
from sqleval.sources.source import Source
from sqleval.sources.stores import Storage, is_remote, open_store, shorten

#: The number of small data files that are read into memory at a time, because each takes some
#: requests, and the size in bytes of a small file.
_AT_ONCE, _SMALL = 8, 8_000_000


class DataFile(NamedTuple):
    """A data file.

    Attributes
    ----------
    path : str
        Its path or URL.
    size : int
        Its bytes.
    deleted : str
        A text that changes when rows are deleted; empty without deleted rows.
    columns : mapping of str to str
        The file of each column that is stored elsewhere.
    """

    path: str
    size: int
    deleted: str = ""
    columns: Mapping[str, str] = {}


class TableFiles(NamedTuple):
    """The data files of a table at one version.

    Attributes
    ----------
    label : str
        The table's name in messages.
    files : tuple of DataFile
        The files, in order.
    schema : pyarrow.Schema
        The columns of the table.
    read : callable
        Returns the record batches of a file, without deleted rows, with some columns.
    """

    label: str
    files: tuple[DataFile, ...]
    schema: Any
    read: Callable[[DataFile, Sequence[str]], Iterable[Any]]

    def open(self, paths: Iterable[str], name: str, name_as: str = "") -> Source:
        """Return the source of some files, with each row's file in a column ``name_as``."""
        pa: Any = import_module("pyarrow")
        chosen = set(paths)
        part = self._replace(files=tuple(file for file in self.files if file.path in chosen))
        fields = [*self.schema, *([pa.field(name_as, pa.string())] if name_as else [])]
        schema = pa.schema(fields)
        errors: list[str] = []

        def make(columns: Sequence[str]) -> object:
            kept = pa.schema([schema.field(column) for column in columns])
            return _FileStream(part, kept, name_as, errors)

        return Source(
            quote(name),
            name,
            make,
            empty=schema.empty_table(),
            stream=True,
            label=self.label,
            find_unreadable=lambda: errors[-1] if errors else None,
        )


class _FileStream(BatchStream):
    """The rows of data files as an Arrow stream, a few files at a time."""

    def __init__(self, files: TableFiles, schema: Any, name_as: str, errors: list[str]) -> None:
        self._files, self.schema, self._name_as, self._errors = files, schema, name_as, errors

    def read_batches(self) -> Iterator[Any]:
        small = [file for file in self._files.files if file.size <= _SMALL]
        for file in self._files.files:
            if file.size > _SMALL:
                yield from (self._complete(file, batch) for batch in self._read_file(file))

        def read_whole(file: DataFile) -> list[Any]:
            return list(self._read_file(file))

        with ThreadPoolExecutor(_AT_ONCE) as pool:
            for start in range(0, len(small), _AT_ONCE):
                part = small[start : start + _AT_ONCE]
                read = pool.map(read_whole, part)
                for file, batches in zip(part, read, strict=True):
                    yield from (self._complete(file, batch) for batch in batches)

    def _read_file(self, file: DataFile) -> Iterator[Any]:
        """Read a file; keep the text of an error, because a stream adds a traceback to it."""
        pa: Any = import_module("pyarrow")
        columns = [name for name in self.schema.names if name != self._name_as]
        try:
            # Without columns, read one for the number of rows.
            yield from self._files.read(file, columns or self._files.schema.names[:1])
        except (OSError, ValueError, pa.ArrowException) as error:
            self._errors.append(f"{self._files.label}: {file.path}: {shorten(error)}")
            raise

    def _complete(self, file: DataFile, batch: Any) -> Any:
        """Return a batch in the types of the table, with its file."""
        pa: Any = import_module("pyarrow")
        arrays = [
            pa.repeat(file.path, batch.num_rows)
            if field.name == self._name_as
            else batch.column(field.name).cast(field.type)
            for field in self.schema
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def list_delta_files(table: Any, path: str, storage: Storage, label: str) -> TableFiles:
    """Return the data files of a ``deltalake.DeltaTable`` at a path or URL.

    Raises
    ------
    SourceError
        If the columns of the files cannot be found by name.
    """
    in_files = find_file_names(table, label)
    pa: Any = import_module("pyarrow")
    ds: Any = import_module("pyarrow.dataset")
    fs: Any = import_module("pyarrow.fs")
    keys, by_path = _read_delta_log(table, path)
    schema = pa.schema(table.schema().to_arrow())
    masks = read_delta_masks(table)
    if unknown := masks.keys() - {action["path"] for action in by_path.values()}:
        raise SourceError(f"cannot read {label}: deleted rows of {unknown.pop()}, an unknown file")
    kept = {name: masks.get(action["path"]) for name, action in by_path.items()}
    filesystem: Any = open_store(path, storage)[0].filesystem if is_remote(path) else None
    filesystem = filesystem or fs.LocalFileSystem()

    def locate(file: DataFile) -> str:
        return open_store(file.path, storage)[1] if is_remote(file.path) else file.path

    def read(file: DataFile, columns: Sequence[str]) -> Iterator[Any]:
        form = make_parquet_format()
        plain = form.make_fragment(locate(file), filesystem, file_size=file.size)
        names = name_columns(in_files, plain)
        partition = ds.scalar(True)
        for key in keys:
            value = by_path[file.path][f"{_KEY}{key}"]
            if value is not None:
                constant = pa.scalar(value, schema.field(key).type)
                partition = partition & (ds.field(names[key]) == constant)
        fragment = form.make_fragment(locate(file), filesystem, partition, file_size=file.size)
        physical = pa.schema([field.with_name(names[field.name]) for field in schema])
        chosen = [names[column] for column in columns]
        scanner = ds.Scanner.from_fragment(fragment, schema=physical, columns=chosen)
        batches = (batch.rename_columns([*columns]) for batch in scanner.to_batches())
        mask = kept[file.path]
        return batches if mask is None else drop_rows(batches, mask)

    files = (
        DataFile(name, action["size_bytes"], _hash_mask(kept[name]))
        for name, action in by_path.items()
    )
    return TableFiles(label, tuple(sorted(files)), schema, read)


#: Features of Delta's protocol under which a table's rows are its files' rows, except deleted ones.
_READABLE = {
    "columnMapping", "deletionVectors", "timestampNtz", "typeWidening", "v2Checkpoint",
    "vacuumProtocolCheck", "variantType",
}  # fmt: skip
#: The prefix of partition columns in the log.
_KEY = "partition."


def _read_delta_log(table: Any, path: str) -> tuple[list[str], dict[str, dict[str, Any]]]:
    """Return the partition columns of a Delta table, and its log's entry of each data file."""
    # Not `pyarrow.table`, which imports pandas to look at its argument.
    log = pl.DataFrame(table.get_add_actions(flatten=True))
    keys = [name for name in log.columns if name.startswith(_KEY)]
    actions = log.select(by_name("path", "size_bytes", *keys)).to_dicts()
    # The log encodes paths as in URLs.
    by_path = {_join(path, unquote(action["path"])): action for action in actions}
    return [key.removeprefix(_KEY) for key in keys], by_path


def open_delta_parts(table: Any, path: str, label: str) -> Source | None:
    """Return the source of a Delta table that the engine itself reads; None for another one.

    The engine reads local files without deleted rows and with columns of simple types.
    """
    features = set(table.protocol().reader_features or ())
    if is_remote(path) or features - _READABLE or read_delta_masks(table):
        return None
    pa: Any = import_module("pyarrow")
    keys, by_path = _read_delta_log(table, path)
    schema = pa.schema(table.schema().to_arrow())
    parts: dict[tuple[Value, ...], list[str]] = {}
    for file, action in by_path.items():
        values = tuple(action[f"{_KEY}{key}"] for key in keys)
        if not file.startswith(path) or not all(map(is_value, values)):
            return None
        parts.setdefault(values, []).append(file)
    names = find_file_names(table, label)
    has_numbers = any(isinstance(key, int) for key in names.values())
    if has_numbers or any(pa.types.is_timestamp(kind) for kind in schema.types):
        in_files = read_file_schemas(by_path)
        lacks_numbers = any(read_number(field) is None for each in in_files for field in each)
        if (has_numbers and lacks_numbers) or not hold_same_times(schema, names, in_files):
            return None
    return open_parts(
        (
            Part(files, dict(zip(keys, values, strict=True)), names)
            for values, files in parts.items()
        ),
        schema,
        label,
    )


def open_delta_dataset(
    table: Any, path: str, storage: Storage, name: str, label: str
) -> Source | None:
    """Return the source of a Delta table that PyArrow reads file by file; None for another one."""
    features = set(table.protocol().reader_features or ())
    if features - _READABLE:
        return None
    pa: Any = import_module("pyarrow")
    fs: Any = import_module("pyarrow.fs")
    keys, by_path = _read_delta_log(table, path)
    masks = read_delta_masks(table)
    schema = pa.schema(table.schema().to_arrow())
    filesystem: Any = open_store(path, storage)[0].filesystem if is_remote(path) else None

    def locate(file: str) -> str:
        return open_store(file, storage)[1] if is_remote(file) else file

    files = [
        TableFile(
            locate(file),
            action["size_bytes"],
            {key: action[f"{_KEY}{key}"] for key in keys},
            masks.pop(action["path"], None),
        )
        for file, action in by_path.items()
    ]
    if masks or not files:
        return None

    def read_bounds(columns: Sequence[str]) -> BoundsOfFiles:
        return _read_delta_bounds(table, path, set(columns).difference(keys), locate)

    return open_table_dataset(
        files, schema, filesystem or fs.LocalFileSystem(), name, label, read_bounds
    )


def _read_delta_bounds(
    table: Any, path: str, columns: Iterable[str], locate: Callable[[str], str]
) -> BoundsOfFiles:
    """Return the least and largest values of simple columns by file, where the log has them."""
    log = pl.DataFrame(table.get_add_actions(flatten=True))
    pairs = {
        column: (f"min.{column}", f"max.{column}")
        for column in columns
        if {f"min.{column}", f"max.{column}"} <= {*log.columns}
        and not log.schema[f"min.{column}"].is_nested()
    }
    names = [name for pair in pairs.values() for name in pair]
    return {
        locate(_join(path, unquote(action["path"]))): {
            column: (action[least], action[largest]) for column, (least, largest) in pairs.items()
        }
        for action in log.select(by_name("path", *names)).to_dicts()
    }


def _join(root: str, path: str) -> str:
    return path if is_remote(path) else f"{root.rstrip('/')}/{path}"


def read_delta_masks(table: Any) -> dict[str, Any]:
    """Return a mask of the rows that remain for each data file with a deletion vector.

    The keys are the files' paths in the log. Rows beyond the end of a mask remain.
    """
    pa: Any = import_module("pyarrow")
    if "deletionVectors" not in (table.protocol().reader_features or ()):
        return {}
    vectors = pa.table(table.deletion_vectors())
    return {
        url.as_py().removeprefix(table.table_uri): mask.values
        for url, mask in zip(vectors["filepath"], vectors["selection_vector"], strict=True)
    }


def _hash_mask(mask: Any) -> str:
    if mask is None:
        return ""
    pc: Any = import_module("pyarrow.compute")
    deleted = pc.indices_nonzero(pc.invert(mask))
    return hashlib.sha256(deleted.to_numpy().tobytes()).hexdigest()[:16]
