"""Opens frames, Arrow objects and DuckDB relations as a source."""

from collections.abc import Callable, Sequence
from importlib import import_module
from itertools import chain
from typing import Any

import polars as pl
from polars.selectors import by_name

from sqleval.common.sql_text import quote
from sqleval.errors import RequestError, SourceError
from sqleval.sources.arrow_types import (
    convert_reader,
    convert_schema,
    convert_table,
    find_unreadable,
)
from sqleval.sources.bounded import read_file_by_file
from sqleval.sources.lazy_stream import LazyStream
from sqleval.sources.pruning import write_filter
from sqleval.sources.source import Source


class _ReadOnce:
    """A reader that gives its rows once."""

    def __init__(self, reader: Any, kind: str) -> None:
        self._reader = reader
        self._kind = kind
        self._is_read = False

    def peek(self, rows: int) -> object:
        """Return a table of the first rows, and keep them for the later reading."""
        pa: Any = import_module("pyarrow")
        schema, batches = self._reader.schema, list[Any]()
        for batch in self._reader:
            batches.append(batch)
            if sum(each.num_rows for each in batches) >= rows:
                break
        kept = chain(batches, self._reader)
        self._reader = pa.RecordBatchReader.from_batches(schema, kept)
        return pa.Table.from_batches(batches, schema).slice(0, rows)

    def __call__(self, _: Sequence[str]) -> object:
        if self._is_read:
            raise SourceError(
                f"this {self._kind} has been read, and it can be read only once; "
                "pass a Table or a Dataset to evaluate it again"
            )
        self._is_read = True
        return self._reader


def _make_source(name: str, make: Callable[[Sequence[str]], object], **kwargs: Any) -> Source:
    return Source(quote(name), name, make, **kwargs)


#: Types of Polars that DuckDB cannot read, and readable types that hold the same values.
_CASTS: dict[Any, Any] = {
    pl.Float16: pl.Float32,
    pl.Int128: pl.Decimal(38, 0),
    pl.UInt128: pl.Decimal(38, 0),
}


def _is_readable(kind: Any) -> bool:
    """Return whether DuckDB reads columns of a type of Polars."""
    if isinstance(kind, pl.Struct):
        inner = [each.dtype for each in kind.fields]
    else:
        inner = [kind.inner] if isinstance(kind, (pl.List, pl.Array)) else []
    return kind != pl.Object and all(each not in _CASTS and _is_readable(each) for each in inner)


def _find_unreadable(schema: pl.Schema) -> dict[str, str]:
    """Return the columns that DuckDB cannot read, and their types."""
    return {name: str(kind) for name, kind in schema.items() if not _is_readable(kind)}


def _make_empty(schema: pl.Schema) -> pl.DataFrame:
    """Return a frame without rows, and without unreadable columns."""
    unreadable = _find_unreadable(schema)
    readable = {name: kind for name, kind in schema.items() if name not in unreadable}
    empty = pl.DataFrame(schema=readable)
    return empty.cast(_CASTS) if any(kind in _CASTS for kind in empty.dtypes) else empty


def _select(frame: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Return some columns, in types that DuckDB reads."""
    try:
        # By name, because Polars takes a text such as ^.*$ as a pattern.
        chosen = frame.select(by_name(*columns))
    except pl.exceptions.ColumnNotFoundError as error:
        missing = next((each for each in columns if each not in frame.columns), "")
        raise SourceError(f"the DataFrame no longer has the column {missing!r}") from error
    # Cast only if needed: a cast without effect takes longer than the selection.
    return chosen.cast(_CASTS) if any(kind in _CASTS for kind in chosen.dtypes) else chosen


def load_relation(source: Source) -> Source:
    """Load a DuckDB relation as an Arrow table, which can be joined with another source."""
    if source.duckdb_relation is None:
        return source
    relation = source.duckdb_relation
    return Source(
        source.relation,
        source.name,
        # A whole table, because the connection cannot stream and run the join at the same time.
        lambda columns: relation.project(", ".join(map(quote, columns))).to_arrow_table(),
        empty=relation.limit(0).to_arrow_table(),
        label=source.label,
    )


def _open_lazy_frame(frame: pl.LazyFrame, name: str, *, keeps_order: bool = False) -> Source:
    schema = frame.collect_schema()

    def select(condition: str) -> Source:
        chosen = write_filter(condition, schema)
        if chosen is None:
            return opened
        return _open_lazy_frame(frame.filter(chosen), name, keeps_order=keeps_order)

    opened = _make_source(
        name,
        lambda columns: LazyStream(
            frame.select(by_name(*columns)).cast(_CASTS), keeps_order=keeps_order
        ),
        empty=_make_empty(schema),
        stream=True,
        label="the LazyFrame",
        unreadable=_find_unreadable(schema),
        select=select,
        has_order=True,
        in_order=lambda: _open_lazy_frame(frame, name, keeps_order=True),
    )
    return opened


def open_frame(source: object, name: str) -> Source | None:
    """Return the source for a Polars or pandas frame."""
    if isinstance(source, pl.DataFrame):
        return _make_source(
            name,
            lambda columns: _select(source, columns),
            empty=_make_empty(source.schema),
            rows=source.height,
            label="the DataFrame",
            has_order=True,
            unreadable=_find_unreadable(source.schema),
        )
    if isinstance(source, pl.LazyFrame):
        return _open_lazy_frame(source, name)
    # A Series or an Index has no columns.
    if type(source).__module__.split(".")[0] == "pandas" and hasattr(source, "columns"):
        return _open_pandas(source, name)
    return None


def _open_pandas(frame: Any, name: str) -> Source:
    """Return the source for a pandas frame, whose column names may also be numbers or tuples."""
    pa: Any = import_module("pyarrow")
    schema, unreadable = _read_pandas_schema(frame, list(_find_pandas_columns(frame)))

    def make(columns: Sequence[str]) -> object:
        places = _find_pandas_columns(frame)  # again, as the frame may have changed
        if missing := [each for each in columns if each not in places]:
            raise SourceError(f"the pandas DataFrame no longer has the column {missing[0]!r}")
        chosen = frame.iloc[:, [places[each] for each in columns]]
        chosen.columns = list(columns)
        types = pa.schema([schema.field(each) for each in columns])
        try:
            # Convert to Arrow, because DuckDB reads past the end of a reversed or strided frame.
            rows = pa.Table.from_pandas(chosen, schema=types, preserve_index=False)
        except (pa.ArrowException, OverflowError, UnicodeError) as error:
            parts = error.args if isinstance(error, pa.ArrowException) else [error]
            reason = "; ".join(map(str, parts))
            raise SourceError(f"cannot read the pandas DataFrame: {reason}") from error
        return convert_table(rows, columns)

    return _make_source(
        name,
        make,
        empty=convert_schema(schema).empty_table(),
        rows=len(frame),
        label="the pandas DataFrame",
        has_order=True,
        unreadable=unreadable,
    )


def _find_pandas_columns(frame: Any) -> dict[str, int]:
    """Return the columns of a pandas frame, and their positions."""
    names = list(map(str, frame.columns))
    places = {each: place for place, each in enumerate(names)}
    if len(places) < len(names):
        twice = next(each for each in names if names.count(each) > 1)
        raise SourceError(f"the pandas DataFrame has several columns called {twice!r}; rename them")
    return places


def _read_pandas_schema(frame: Any, names: Sequence[str]) -> tuple[Any, dict[str, str]]:
    """Return the Arrow types of the columns, and the columns for which Arrow has no type.

    The types of Python objects are inferred from their values.
    """
    pa: Any = import_module("pyarrow")
    head = frame.head(0)
    head.columns = list(names)
    unreadable: dict[str, str] = {}
    try:
        schema = pa.Schema.from_pandas(head, preserve_index=False)
    except (pa.ArrowException, TypeError):  # from columns of complex numbers or Sparse, for example
        for name, dtype in head.dtypes.items():
            try:
                pa.Schema.from_pandas(head[[name]], preserve_index=False)
            except (pa.ArrowException, TypeError):
                unreadable[name] = str(dtype)
        schema = pa.Schema.from_pandas(head.drop(columns=[*unreadable]), preserve_index=False)
    for place, name in enumerate(names):
        if str(head.dtypes[name]) == "object":
            at = schema.get_field_index(name)
            try:
                kind = pa.infer_type(frame.iloc[:, place].to_numpy(), from_pandas=True)
            except pa.ArrowException:
                unreadable[name] = "of Python objects of several types"
                schema = schema.remove(at)
            else:
                schema = schema.set(at, schema.field(at).with_type(kind))
    more = find_unreadable(schema)
    return pa.schema([each for each in schema if each.name not in more]), unreadable | more


def open_arrow(source: object, name: str) -> Source | None:
    """Return the source for a PyArrow object; its existence implies that pyarrow is installed."""
    if type(source).__module__.split(".")[0] not in ("pyarrow", "lance"):
        return None
    pa: Any = import_module("pyarrow")
    ds: Any = import_module("pyarrow.dataset")
    table: Any = source
    if isinstance(source, pa.RecordBatch):
        table = pa.Table.from_batches([source])
    if isinstance(table, pa.Table):
        return _make_source(
            name,
            lambda columns: convert_table(table, columns),
            empty=convert_schema(table.schema).empty_table(),
            rows=table.num_rows,
            label="the Arrow table",
            has_order=True,
            unreadable=find_unreadable(table.schema),
        )
    if isinstance(source, pa.RecordBatchReader):
        return _open_reader(source, "RecordBatchReader", name)
    return _open_dataset(table, name) if isinstance(source, ds.Dataset) else None


def _open_reader(original: Any, kind: str, name: str) -> Source:
    """Return the source for a reader that gives its rows once."""
    reader = convert_reader(original)
    read = _ReadOnce(reader, kind)
    return _make_source(
        name,
        read,
        empty=reader.schema.empty_table(),
        stream=True,
        once=True,
        peek=read.peek,
        label=f"the {kind}",
        has_order=True,
        unreadable=find_unreadable(original.schema),
    )


def _open_dataset(dataset: Any, name: str) -> Source:
    """Return the source for a dataset, which the engine scans itself, without conversions."""
    pa: Any = import_module("pyarrow")
    ds: Any = import_module("pyarrow.dataset")
    schema = dataset.schema
    unreadable = find_unreadable(schema)
    unreadable |= {each.name: "float16" for each in schema if pa.types.is_float16(each.type)}
    if unreadable:
        kept = [field for field in schema if field.name not in unreadable]
        dataset = dataset.replace_schema(pa.schema(kept, schema.metadata))
    storage = [
        field.with_type(field.type.storage_type)
        if isinstance(field.type, pa.ExtensionType)
        else field
        for field in dataset.schema
    ]
    is_files = isinstance(dataset, (ds.FileSystemDataset, ds.UnionDataset))
    return _make_source(
        name,
        lambda _: read_file_by_file(dataset) if is_files else dataset,
        empty=pa.schema(storage).empty_table(),
        label="the dataset",
        unreadable=unreadable,
    )


def open_relation(source: object, name: str) -> Source | None:
    """Return the source for a DuckDB relation, which runs on its own connection."""
    if type(source).__name__ != "DuckDBPyRelation":
        return None
    return Source(quote(name), name, duckdb_relation=source, label="the relation")


def is_adbc(thing: object, kind: str) -> bool:
    """Whether something is a ``Connection`` or ``Cursor`` of ADBC; each driver has its own."""
    return any(
        (each.__module__, each.__name__) == ("adbc_driver_manager.dbapi", kind)
        for each in type(thing).__mro__
    )


def check_connection(con: object) -> None:
    """Raise `RequestError` if ``con=`` is no connection of DuckDB or ADBC."""
    is_duckdb = any(each.__name__ == "DuckDBPyConnection" for each in type(con).__mro__)
    if not (con is None or is_duckdb or is_adbc(con, "Connection")):
        # The message leaves out the value, which may hold a password.
        raise RequestError(
            f"con= is a {type(con).__name__}; it must be a connection of DuckDB or ADBC, such as "
            "duckdb.connect('a.db')"
        )


def open_stream(source: object, name: str) -> Source | None:
    """Return the source for an Arrow stream of any library, or an ADBC cursor after a query."""
    pa: Any = import_module("pyarrow")
    stream: Any = source
    kind = type(source).__name__
    try:
        if is_adbc(source, "Cursor"):
            reader = stream.fetch_record_batch()
        elif hasattr(source, "__arrow_c_stream__"):
            reader = pa.RecordBatchReader.from_stream(stream)
        elif hasattr(source, "__arrow_c_array__"):
            reader = pa.Table.from_batches([pa.record_batch(stream)]).to_reader()
        else:
            return None
    except pa.ArrowInvalid as error:
        # A Series, for example, streams values without a name.
        raise RequestError(
            f"cannot evaluate a {kind}, which has no named columns; pass a frame that has one for "
            "each role"
        ) from error
    return _open_reader(reader, kind, name)
