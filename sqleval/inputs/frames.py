"""Opens frames, Arrow objects and DuckDB relations as a source."""

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from itertools import chain
from queue import Full, Queue
from threading import Event, Thread
from typing import Any

import polars as pl
from polars.selectors import by_name

from sqleval.common.sql_text import quote
from sqleval.errors import RequestError, SourceError
from sqleval.inputs.batches import BatchStream
from sqleval.inputs.bounded import read_file_by_file
from sqleval.inputs.pruning import write_filter
from sqleval.inputs.source import Source

#: Batches of a LazyFrame that wait to be read.
_BATCHES_AHEAD = 4


class _LazyStream(BatchStream):
    """A LazyFrame as an Arrow stream that DuckDB pulls batch by batch, never collected."""

    def __init__(self, frame: pl.LazyFrame) -> None:
        pa: Any = import_module("pyarrow")
        self._frame = frame
        empty = pl.DataFrame(schema=frame.collect_schema())
        self.schema: Any = pa.RecordBatchReader.from_stream(empty).schema

    def read_batches(self) -> Iterator[Any]:
        """Yield the batches that a thread of its own makes; raise the error that ends it.

        Not `collect_batches`: where a thread of Polars panics, as over a torn file, its stream
        ends as if all rows had been read.
        """
        pa: Any = import_module("pyarrow")
        batches: Queue[pl.DataFrame | BaseException | None] = Queue(_BATCHES_AHEAD)
        is_stopped = Event()

        def put(item: pl.DataFrame | BaseException | None) -> bool:
            while not is_stopped.is_set():
                try:
                    batches.put(item, timeout=0.1)
                except Full:
                    continue
                return False
            return True

        def run() -> None:
            try:
                self._frame.sink_batches(put, maintain_order=False)
            except BaseException as error:  # a panic is not an Exception
                put(error)
            else:
                put(None)

        Thread(target=run, daemon=True).start()
        try:
            while (item := batches.get()) is not None:
                if isinstance(item, BaseException):
                    raise _convert_error(item) from item
                yield from pa.RecordBatchReader.from_stream(item)
        finally:
            is_stopped.set()


def _convert_error(error: BaseException) -> Exception:
    """Return an error of Polars as one of Python's own, which a stream tells apart."""
    text = str(error) or type(error).__name__
    if isinstance(error, OSError):
        return OSError(text)
    return ValueError(text) if isinstance(error, pl.exceptions.PolarsError) else RuntimeError(text)


class _ReadOnce:
    """A reader that gives its rows once."""

    def __init__(self, reader: Any, kind: str) -> None:
        self._reader = reader
        self._kind = kind
        self._is_read = False

    def peek(self, rows: int) -> object:
        """Return a table of the first rows, which are kept for the reading."""
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


#: Types of Polars that DuckDB cannot read, and types that it can and that hold the same values.
_CASTS: dict[Any, Any] = {
    pl.Float16: pl.Float32,
    pl.Int128: pl.Decimal(38, 0),
    pl.UInt128: pl.Decimal(38, 0),
}


def _make_empty(schema: pl.Schema) -> pl.DataFrame:
    """Return a frame without rows, and without columns of Python objects: they play no role."""
    readable = {name: kind for name, kind in schema.items() if kind != pl.Object}
    empty = pl.DataFrame(schema=readable)
    return empty.cast(_CASTS) if any(kind in _CASTS for kind in empty.dtypes) else empty


def _select(frame: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Return some columns, in types that DuckDB reads."""
    try:
        # By name: Polars takes a name such as ^.*$ as a pattern.
        chosen = frame.select(by_name(*columns))
    except pl.exceptions.ColumnNotFoundError as error:
        missing = next((each for each in columns if each not in frame.columns), "")
        raise SourceError(f"the DataFrame no longer has the column {missing!r}") from error
    # A cast of nothing would take longer than the selection.
    return chosen.cast(_CASTS) if any(kind in _CASTS for kind in chosen.dtypes) else chosen


def load_relation(source: Source) -> Source:
    """Load a DuckDB relation as an Arrow table, which can be joined with another source."""
    if source.duckdb_relation is None:
        return source
    relation = source.duckdb_relation
    return Source(
        source.relation,
        source.name,
        # The whole table: its connection cannot stream it and run the join at the same time.
        lambda columns: relation.project(", ".join(map(quote, columns))).to_arrow_table(),
        empty=relation.limit(0).to_arrow_table(),
        label=source.label,
    )


def _open_lazy_frame(frame: pl.LazyFrame, name: str) -> Source:
    schema = frame.collect_schema()

    def select(condition: str) -> Source:
        chosen = write_filter(condition, schema)
        return opened if chosen is None else _open_lazy_frame(frame.filter(chosen), name)

    opened = _make_source(
        name,
        lambda columns: _LazyStream(frame.select(by_name(*columns)).cast(_CASTS)),
        empty=_make_empty(schema),
        stream=True,
        label="the LazyFrame",
        select=select,
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
    names = list(_find_pandas_columns(frame))
    schema = _read_pandas_schema(frame, names)

    def make(columns: Sequence[str]) -> object:
        places = _find_pandas_columns(frame)  # anew: the frame may have been changed since
        if missing := [each for each in columns if each not in places]:
            raise SourceError(f"the pandas DataFrame no longer has the column {missing[0]!r}")
        chosen = frame.iloc[:, [places[each] for each in columns]]
        chosen.columns = list(columns)
        types = pa.schema([schema.field(each) for each in columns])
        try:
            # Through Arrow: DuckDB reads past the end of a reversed or strided frame.
            rows = pa.Table.from_pandas(chosen, schema=types, preserve_index=False)
        except (pa.ArrowException, OverflowError, UnicodeError) as error:
            parts = error.args if isinstance(error, pa.ArrowException) else [error]
            reason = "; ".join(map(str, parts))
            raise SourceError(f"cannot read the pandas DataFrame: {reason}") from error
        return _widen_halves(rows)

    return _make_source(
        name,
        make,
        empty=_widen_halves(schema.empty_table()),
        rows=len(frame),
        label="the pandas DataFrame",
    )


def _find_pandas_columns(frame: Any) -> dict[str, int]:
    """Return the columns of a pandas frame, and their places."""
    names = list(map(str, frame.columns))
    places = {each: place for place, each in enumerate(names)}
    if len(places) < len(names):
        twice = next(each for each in names if names.count(each) > 1)
        raise SourceError(f"the pandas DataFrame has several columns called {twice!r}; rename them")
    return places


def _read_pandas_schema(frame: Any, names: Sequence[str]) -> Any:
    """Return the Arrow types of the columns; those of Python objects are found in their values."""
    pa: Any = import_module("pyarrow")
    head = frame.head(0)
    head.columns = list(names)
    schema = pa.Schema.from_pandas(head, preserve_index=False)
    for place, dtype in enumerate(frame.dtypes):
        if str(dtype) == "object":
            kind = _infer_type(frame.iloc[:, place].to_numpy())
            schema = schema.set(place, schema.field(place).with_type(kind))
    return schema


def _infer_type(values: Any) -> Any:
    """Return the Arrow type of Python objects, of which none is copied.

    What DuckDB cannot hold counts as a text, which is an error only where the column is read.
    """
    pa: Any = import_module("pyarrow")
    try:
        kind = pa.infer_type(values, from_pandas=True)
    except pa.ArrowException:
        return pa.string()
    return pa.string() if pa.types.is_decimal256(kind) else kind


def _widen_halves(rows: Any) -> Any:
    """Return an Arrow table or reader with float16 as float32, which holds the same values."""
    pa: Any = import_module("pyarrow")
    if not any(map(pa.types.is_float16, rows.schema.types)):
        return rows
    fields = [
        field.with_type(pa.float32()) if pa.types.is_float16(field.type) else field
        for field in rows.schema
    ]
    return rows.cast(pa.schema(fields, rows.schema.metadata))


def _check_dataset(schema: Any) -> None:
    """Raise `SourceError` for a column of float16, which neither DuckDB nor a dataset casts."""
    pa: Any = import_module("pyarrow")
    for field in schema:
        if pa.types.is_float16(field.type):
            raise SourceError(
                f"cannot read the dataset: column {field.name!r} is float16, which DuckDB does not "
                "read; write it as float32, or pass a Table"
            )


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
            lambda columns: _widen_halves(table.select(list(columns))),
            empty=_widen_halves(table.schema.empty_table()),
            rows=table.num_rows,
            label="the Arrow table",
        )
    if isinstance(source, pa.RecordBatchReader):
        return _open_reader(name, _widen_halves(source), "RecordBatchReader")
    if isinstance(source, ds.Dataset):
        _check_dataset(table.schema)
        is_files = isinstance(source, (ds.FileSystemDataset, ds.UnionDataset))
        return _make_source(
            name,
            lambda _: read_file_by_file(table) if is_files else table,
            empty=table.schema.empty_table(),
            label="the dataset",
        )
    return None


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
        # Not the value, which may hold a password.
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
        # Such as that of a Series: values without a name.
        raise RequestError(
            f"cannot evaluate a {kind}, which has no named columns; pass a frame that has one for "
            "each role"
        ) from error
    return _open_reader(name, _widen_halves(reader), kind)


def _open_reader(name: str, reader: Any, kind: str) -> Source:
    """Return the source for a reader that gives its rows once."""
    read = _ReadOnce(reader, kind)
    return _make_source(
        name, read, empty=reader.schema.empty_table(), stream=True, once=True, peek=read.peek,
        label=f"the {kind}",
    )  # fmt: skip
