"""Opens files that PyArrow reads for the engine: files of object stores, and Arrow IPC files.

The engine passes its columns and conditions down to PyArrow, so that only the needed files,
row groups and columns are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

from sqleval.common.sql_text import quote
from sqleval.errors import SourceError
from sqleval.sources.arrow_formats import make_format, number_columns
from sqleval.sources.arrow_guesses import Guess, guess_types
from sqleval.sources.bounded import read_file_by_file
from sqleval.sources.formats import FORMATS
from sqleval.sources.lines import LineTable
from sqleval.sources.paths import list_keys
from sqleval.sources.reading import Reading, find_date_option
from sqleval.sources.source import Partitions, Source
from sqleval.sources.stores import ObjectStore, StoredFile, shorten
from sqleval.sources.text_tables import describe_lines

#: The number of simultaneous requests for metadata.
_AT_ONCE = 16


@dataclass(frozen=True, eq=False)
class _Files:
    """Files of one format, before their columns are known.

    Attributes
    ----------
    store : ObjectStore
        The store that holds them.
    files : tuple of StoredFile
        The files.
    reading : Reading
        How they are read.
    keys : tuple of str
        The columns in the names of their folders (Hive partitions).
    name_as : str
        The column for the file of each row; none if empty.
    """

    store: ObjectStore
    files: tuple[StoredFile, ...]
    reading: Reading
    keys: tuple[str, ...]
    name_as: str

    def make_fragments(self, table: LineTable | None) -> tuple[list[Any], dict[str, str]]:
        """Return a fragment of a dataset per file, which knows the file's partition keys.

        Also return why columns cannot be used. ``table`` has the columns, if SQL splits the lines.
        """
        ds: Any = import_module("pyarrow.dataset")
        names: list[str] = []
        guess = Guess({}, {})
        filesystem = self.store.filesystem
        if FORMATS[self.reading.format_name].reader == "read_csv":
            if self.reading.options.get("header", True) is False:
                names = number_columns(filesystem, self.files[0].path, self.reading)
            guess = guess_types(filesystem, [file.path for file in self.files], self.reading, names)
        form = make_format(self.reading, table, names, guess.types)
        partitioning = _make_partitioning(self.keys)
        fragments: list[Any] = []
        for file in self.files:
            partition = partitioning.parse(file.path)
            if self.name_as:
                partition = partition & (ds.field(self.name_as) == file.url)
            # Passing the size saves a request for each file.
            fragments.append(
                form.make_fragment(file.path, self.store.filesystem, partition, file_size=file.size)
            )
        return fragments, guess.unusable


def _make_partitioning(keys: Sequence[str]) -> Any:
    """Return the Hive partitioning of keys, all read as texts."""
    pa: Any = import_module("pyarrow")
    ds: Any = import_module("pyarrow.dataset")
    return ds.HivePartitioning(pa.schema([(key, pa.string()) for key in keys]))


def _widen(kind: Any) -> Any:
    """Return a type that the engine reads and that holds the same values."""
    pa: Any = import_module("pyarrow")
    if pa.types.is_float16(kind):
        return pa.float32()
    if pa.types.is_decimal256(kind):
        return pa.float64()
    if not pa.types.is_dictionary(kind):
        return kind
    if pa.types.is_string_view(kind.value_type):
        # Polars writes categories to Arrow files this way, and PyArrow cannot decode them.
        return pa.dictionary(pa.int32(), pa.large_string())
    return kind.value_type


def _align(kinds: Sequence[Any]) -> list[Any]:
    """Return types that hold the same values and that PyArrow can unify."""
    pa: Any = import_module("pyarrow")
    pa_types = pa.types
    if all(pa_types.is_timestamp(kind) and kind.tz for kind in kinds):
        # The zone changes only how an instant is displayed.
        return [pa.timestamp(kind.unit, "UTC") for kind in kinds]
    if pa.uint64() in kinds and all(map(pa_types.is_integer, kinds)):
        is_signed = any(map(pa_types.is_signed_integer, kinds))
        return [pa.decimal128(20, 0) if is_signed else pa.uint64()]
    if all(map(_is_text, kinds)):
        return [pa.large_string()]
    return list(kinds)


def _is_text(kind: Any) -> bool:
    pa: Any = import_module("pyarrow")
    pa_types = pa.types
    return (
        pa_types.is_string(kind) or pa_types.is_large_string(kind) or pa_types.is_string_view(kind)
    )


def _unify(name: str, types: dict[Any, str]) -> tuple[Any, str]:
    """Return a type for a column of several types; if none fits, also say how they differ.

    ``types`` maps each type to a file with it. The type None means that the file lacks the column.
    """
    pa: Any = import_module("pyarrow")
    present = [kind for kind in types if kind is not None]
    differs = ", ".join(
        f"{'none' if kind is None else kind} in {file}" for kind, file in types.items()
    )
    try:
        schemas = [pa.schema([(name, kind)]) for kind in _align(present)]
        unified = pa.unify_schemas(schemas, promote_options="permissive").field(name).type
    except pa.ArrowTypeError:
        return present[0], differs
    return unified, differs if None in types else ""


def _read_schemas(files: _Files, fragments: Sequence[Any]) -> list[Any]:
    """Return the schema of each file, with several requests at a time."""
    pa: Any = import_module("pyarrow")

    def read(i: int) -> Any:
        try:
            schema = fragments[i].physical_schema
            _ = schema.names  # decodes them
        except (OSError, UnicodeDecodeError, pa.ArrowException) as error:
            raise SourceError(f"cannot read {files.files[i].url}: {shorten(error)}") from error
        return schema

    with ThreadPoolExecutor(min(_AT_ONCE, len(fragments))) as pool:
        return list(pool.map(read, range(len(fragments))))


def _check_batches(files: _Files, fragments: Sequence[Any], columns: Sequence[str]) -> None:
    """Raise `SourceError` for an Arrow IPC file whose offsets point outside of its values.

    PyArrow passes such values on unchecked, and they would crash DuckDB.
    """
    pa: Any = import_module("pyarrow")
    for file, fragment in zip(files.files, fragments, strict=True):
        names = fragment.physical_schema.names
        chosen = [name for name in names if name in columns] if columns else names
        try:
            for batch in fragment.to_batches(columns=chosen):
                batch.validate(full=True)
        except (OSError, pa.ArrowException) as error:
            raise SourceError(f"cannot read {file.url}: {shorten(error)}") from error


def _find_unreadable(files: _Files) -> str | None:
    """Return a file that cannot be read now, with the reason; errors of a stream do not name it."""

    def read(file: StoredFile) -> str | None:
        try:
            with files.store.filesystem.open_input_file(file.path) as stream:
                if stream.size() != file.size:
                    return f"{file.url}: it was rewritten while it was read"
                stream.read_at(65_536, 0)
        except OSError as error:
            return f"{file.url}: {shorten(error)}"
        return None

    with ThreadPoolExecutor(min(_AT_ONCE, len(files.files))) as pool:
        return next(filter(None, pool.map(read, files.files)), None)


def _describe(files: _Files, source: Source) -> Source:
    """Read the metadata of files, and return their source as statements must read it."""
    pa: Any = import_module("pyarrow")
    ds: Any = import_module("pyarrow.dataset")
    is_lines = FORMATS[files.reading.format_name].reader == "lines"
    table = describe_lines(files.store, files.files, files.reading) if is_lines else None
    fragments, unusable = files.make_fragments(table)
    schemas = _read_schemas(files, fragments)
    extra = [*files.keys, *([files.name_as] if files.name_as else [])]
    fields: list[Any] = []
    singles = set[str]()
    # A key in the paths replaces a column of that name, as where DuckDB reads the files.
    hidden = {name.casefold() for name in extra}
    for name in dict.fromkeys(name for schema in schemas for name in schema.names):
        if name.casefold() in hidden:
            continue
        types: dict[Any, str] = {}
        again = ""
        for file, schema in zip(files.files, schemas, strict=True):
            places = schema.get_all_field_indices(name)
            again = file.url if len(places) > 1 else again
            types.setdefault(_widen(schema.field(places[0]).type) if places else None, file.url)
        kind, differ = next(iter(types)), ""
        if len(types) > 1:
            kind, differ = _unify(name, types)
            singles |= {name.casefold()} if pa.float32() in types else set()
        if again:
            differ = f"several columns of this name in {again}"
        fields.append((name, kind))
        unusable |= {name: f"is not the same in all files: {differ}"} if differ else {}
    fields += [(name, pa.string()) for name in extra]
    schema = pa.schema(fields)
    form = fragments[0].format
    dataset = read_file_by_file(
        ds.FileSystemDataset(fragments, schema, form, files.store.filesystem)
    )
    rows = None
    if files.reading.format_name == "Parquet":
        rows = sum(fragment.metadata.num_rows for fragment in fragments)

    def read(columns: Sequence[str]) -> object:
        if files.reading.format_name == "Arrow":
            _check_batches(files, fragments, columns)
        return dataset

    described = replace(
        source,
        make=read,
        empty=schema.empty_table(),
        unusable=unusable,
        singles=frozenset(singles),
        rows=rows,
        look=None,
        partitions=None,
        find_unreadable=lambda: _find_unreadable(files),
    )
    if table is not None:
        return table.wrap(described, files.keys)
    return _cast(described, schema)


def _cast(source: Source, schema: Any) -> Source:
    """Return a source of CSV files with DuckDB's types of dates and of large whole numbers."""
    pa: Any = import_module("pyarrow")
    if FORMATS[source.reading.format_name].reader != "read_csv":
        return source
    text_format = source.reading.options.get("date_format", "")
    types = {field.name: "HUGEINT" for field in schema if field.type == pa.decimal128(38, 0)}
    if text_format and find_date_option(text_format) == "dateformat":
        # PyArrow reads a format as times.
        types |= {field.name: "DATE" for field in schema if pa.types.is_timestamp(field.type)}
    if not types:
        return source
    casts = ", ".join(f"CAST({quote(n)} AS {kind}) AS {quote(n)}" for n, kind in types.items())
    return replace(source, relation=f"(SELECT * REPLACE ({casts}) FROM {source.relation})")


def _make_partitions(files: _Files, source: Source) -> Partitions | None:
    if not files.keys:
        return None
    pa: Any = import_module("pyarrow")
    ds: Any = import_module("pyarrow.dataset")
    partitioning = _make_partitioning(files.keys)
    values = [ds.get_partition_keys(partitioning.parse(file.path)) for file in files.files]
    columns = {key: pa.array([each.get(key) for each in values], pa.string()) for key in files.keys}
    columns["_sqleval_place"] = pa.array(range(len(files.files)), pa.int64())

    def select(places: Sequence[int]) -> Source:
        # Keep at least one file, for its columns.
        chosen = tuple(files.files[place] for place in sorted(places)) or files.files[:1]
        return _make_source(replace(files, files=chosen), source.name, source.label)

    return Partitions(files.keys, pa.table(columns), select)


def _make_source(files: _Files, name: str, label: str) -> Source:
    source = Source(
        quote(name),
        name,
        stream=True,
        label=label,
        listed=tuple((file.url, file.size, file.modified) for file in files.files),
        reading=files.reading,
    )
    return replace(
        source,
        look=lambda: _describe(files, source),
        partitions=_make_partitions(files, source),
    )


def open_dataset(
    store: ObjectStore,
    files: Sequence[StoredFile],
    reading: Reading,
    *,
    name: str,
    label: str,
    name_as: str = "",
) -> Source:
    """Return the source of files of one format, without reading their rows yet.

    Parameters
    ----------
    store : ObjectStore
        The store that holds the files.
    files : sequence of StoredFile
        The files; ``key=value`` in their paths are columns.
    reading : Reading
        Their format, and how they are read.
    name : str
        The name that the dataset is registered under.
    label : str
        Their name in messages.
    name_as : str, optional
        The column for the file of each row.
    """
    keys = list_keys([file.path for file in files])
    return _make_source(_Files(store, tuple(files), reading, keys, name_as), name, label)
