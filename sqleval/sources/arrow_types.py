"""Converts Arrow columns to types that the engine reads, and finds those that it cannot read.

PyArrow is imported late, because not every source needs it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any


def is_readable(kind: Any) -> bool:
    """Return whether DuckDB reads columns of an Arrow type, perhaps after `convert_type`."""
    pa: Any = import_module("pyarrow")
    types = pa.types
    if is_interval(kind):
        return True
    if isinstance(kind, pa.BaseExtensionType):
        return is_readable(kind.storage_type)
    if types.is_dictionary(kind):
        # DuckDB has a fatal error over nested values if some rows have none of them.
        return not types.is_nested(kind.value_type) and is_readable(kind.value_type)
    if types.is_union(kind) or types.is_decimal256(kind):
        return False
    inner = [kind.field(i).type for i in range(kind.num_fields)] if types.is_nested(kind) else []
    # Only a column of float16 is converted, not a list of it.
    return all(not types.is_float16(each) and is_readable(each) for each in inner)


def convert_type(kind: Any) -> Any:
    """Return the type that DuckDB reads for a readable type; it holds the same values."""
    pa: Any = import_module("pyarrow")
    if pa.types.is_float16(kind):
        return pa.float32()
    if is_interval(kind):
        return pa.dictionary(pa.int32(), pa.string())
    # Arrow's own extension types, such as UUID, have another base class, and DuckDB reads them.
    is_extension = isinstance(kind, pa.ExtensionType)
    return convert_type(kind.storage_type) if is_extension else kind


def is_interval(kind: Any) -> bool:
    """Return whether a type holds intervals of pandas, or categories that are intervals."""
    pa: Any = import_module("pyarrow")
    value = kind.value_type if pa.types.is_dictionary(kind) else kind
    return isinstance(value, pa.ExtensionType) and value.extension_name == "pandas.interval"


def find_unreadable(schema: Any) -> dict[str, str]:
    """Return the columns that cannot be read, and their types."""
    return {field.name: str(field.type) for field in schema if not is_readable(field.type)}


def convert_schema(schema: Any) -> Any:
    """Return the readable columns of a schema, in types that DuckDB reads."""
    pa: Any = import_module("pyarrow")
    fields = [field.with_type(convert_type(field.type)) for field in schema]
    kept = [new for old, new in zip(schema, fields, strict=True) if is_readable(old.type)]
    return pa.schema(kept, schema.metadata)


def convert_table(table: Any, columns: Sequence[str]) -> Any:
    """Return some readable columns of a table or batch, in types that DuckDB reads."""
    pa: Any = import_module("pyarrow")
    chosen = table.select(list(columns))
    schema = convert_schema(chosen.schema)
    if schema.types == chosen.schema.types:
        return chosen
    arrays: list[Any] = []
    for column, to in zip(chosen.columns, schema.types, strict=True):
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        converted = [_convert_array(chunk, to) for chunk in chunks]
        arrays.append(
            pa.chunked_array(converted, to) if isinstance(column, pa.ChunkedArray) else converted[0]
        )
    is_table = isinstance(chosen, pa.Table)
    return (pa.Table if is_table else pa.RecordBatch).from_arrays(arrays, schema=schema)


def convert_reader(reader: Any) -> Any:
    """Return a reader of the readable columns, in types that DuckDB reads."""
    pa: Any = import_module("pyarrow")
    schema = convert_schema(reader.schema)
    if schema.types == reader.schema.types:
        return reader

    def convert() -> Iterator[Any]:
        for batch in reader:
            yield convert_table(batch, schema.names)

    return pa.RecordBatchReader.from_batches(schema, convert())


def _convert_array(array: Any, kind: Any) -> Any:
    pa: Any = import_module("pyarrow")
    if is_interval(array.type):
        return _write_intervals(array)
    if isinstance(array.type, pa.ExtensionType):
        array = array.storage
    return array.cast(kind)


def _write_intervals(array: Any) -> Any:
    """Return intervals as pandas writes them, such as (0, 2]; only distinct ones become texts."""
    pa: Any = import_module("pyarrow")
    if not pa.types.is_dictionary(array.type):
        array = pa.array(array.to_pandas().astype("category"))
    texts = [None if each is None else str(each) for each in array.dictionary.to_pandas()]
    indices = array.indices.cast(pa.int32())
    return pa.DictionaryArray.from_arrays(indices, pa.array(texts, pa.string()))
