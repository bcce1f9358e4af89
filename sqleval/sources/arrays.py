"""Converts arrays, lists, Series and frames to Arrow columns, by position.

PyArrow and NumPy are imported late, because not every source needs them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple, cast

import polars as pl

from sqleval.errors import RequestError, get_first_line
from sqleval.sources.arrow_types import is_readable

#: What an array may be, in the words of an error.
_ACCEPTED = "a NumPy array, a list, a Series of pandas or Polars, or an Arrow array"


class Columns(NamedTuple):
    """The columns of an array or a frame.

    Attributes
    ----------
    arrays : tuple of pyarrow.Array or pyarrow.ChunkedArray
        The columns.
    names : tuple, optional
        The names of a frame's columns; None for an array, whose columns have no names.
    """

    arrays: tuple[Any, ...]
    names: tuple[Any, ...] | None = None

    @property
    def is_single(self) -> bool:
        """Whether there is one value per row: one dimension, or a single column."""
        return len(self.arrays) == 1


def read_columns(values: object, name: str) -> Columns:
    """Return the columns of an array of one or two dimensions, or of a frame.

    Parameters
    ----------
    values : array, sequence, Series or frame
        Of NumPy, pandas, Polars or Arrow, or an object with ``__array__``, ``__dlpack__`` or
        Arrow's interface, such as a tensor. The index of pandas is not read.
    name : str
        The argument, in errors.

    Raises
    ------
    RequestError
        If it is something else, has another number of dimensions, or Arrow has no type for it.

    Examples
    --------
    >>> [each.to_pylist() for each in read_columns([[0.9, 0.1], [0.2, 0.8]], "p").arrays]
    [[0.9, 0.2], [0.1, 0.8]]
    """
    try:
        columns = _read_frame(values)
        columns = columns or _split_lists(_read_array(values, name), name)
    except RequestError:
        raise
    except (ValueError, TypeError, RuntimeError, BufferError, OverflowError) as error:
        # Of Arrow, NumPy or the library of a tensor, which says what is wrong with the values.
        kind = getattr(values, "dtype", type(values).__qualname__)
        raise RequestError(
            f"cannot read {name}, of {kind}: {get_first_line(error)}; give numbers (as by "
            ".astype(float)), texts or truth values of one type"
        ) from error
    arrays = tuple(_decode(each, name) for each in columns.arrays)
    if not arrays:
        raise RequestError(f"{name} has no columns")
    return columns._replace(arrays=arrays)


def make_table(columns: Mapping[str, Any]) -> object:
    """Return an Arrow table of columns of equal lengths, whose values are not copied."""
    pa: Any = import_module("pyarrow")
    return pa.table(columns)


def find_index(values: object) -> Any:
    """Return the index of a pandas Series or frame if it names rows; otherwise None."""
    if not _is_of("pandas", values) or not hasattr(values, "iloc"):
        return None
    index = cast("Any", values).index
    return None if type(index).__name__ == "RangeIndex" else index


def _is_of(library: str, values: object) -> bool:
    return type(values).__module__.partition(".")[0] == library


def _read_frame(values: object) -> Columns | None:
    """Return the columns of a frame or an Arrow table; None for anything else."""
    frame: Any = values
    if isinstance(values, pl.DataFrame):
        return Columns(tuple(each.to_arrow() for each in frame), tuple(values.columns))
    pa: Any = import_module("pyarrow")
    if _is_of("pandas", values) and hasattr(values, "columns"):
        places = range(frame.shape[1])
        series = (pa.array(frame.iloc[:, i], from_pandas=True) for i in places)
        return Columns(tuple(series), tuple(frame.columns.tolist()))
    if isinstance(values, (pa.Table, pa.RecordBatch)):
        return Columns(tuple(frame.columns), tuple(frame.schema.names))
    return None


def _read_array(values: object, name: str) -> Any:
    """Return an array as Arrow's; two dimensions of NumPy are `Columns`."""
    pa: Any = import_module("pyarrow")
    array: Any = values
    if isinstance(values, pl.Series):
        return array.to_arrow()
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return array
    if _is_of("pandas", values):
        return pa.array(values, from_pandas=True)
    if isinstance(values, Sequence) and not isinstance(values, (str, bytes, bytearray)):
        return pa.array(values)
    if hasattr(values, "__arrow_c_array__"):
        return pa.array(values)
    if hasattr(values, "__array__") or hasattr(values, "__dlpack__"):
        return _read_numpy(values, name)
    if hasattr(values, "__arrow_c_stream__"):
        return pa.chunked_array(values)
    if isinstance(values, str):
        raise RequestError(
            f"{name}={values!r} is a text, not {_ACCEPTED}; for columns of a frame or a file use "
            "sqleval.scan(...).evaluate(), or the methods DataFrame.sqleval"
        )
    kind = type(values)
    also = " (collect it first)" if isinstance(values, pl.LazyFrame) else ""
    also = ", not a mapping" if isinstance(values, Mapping) else also
    raise RequestError(
        f"{name} is a {kind.__module__}.{kind.__qualname__}{also}; it must be {_ACCEPTED}"
    )


def _read_numpy(values: Any, name: str) -> Any:
    """Return a NumPy array, or a tensor, as an Arrow array or as the columns of one."""
    np: Any = import_module("numpy")
    pa: Any = import_module("pyarrow")
    if not isinstance(values, np.ma.MaskedArray):
        values = np.asarray(values) if hasattr(values, "__array__") else np.from_dlpack(values)
    if not values.dtype.isnative:
        values = values.astype(values.dtype.newbyteorder("="))
    if values.ndim == 2:
        return Columns(tuple(pa.array(values[:, i]) for i in range(values.shape[1])))
    if values.ndim != 1:
        raise RequestError(
            f"{name} has the shape {values.shape}; it must have one value per row, or one row and "
            "a column per class"
        )
    return pa.array(values)


def _split_lists(array: Any, name: str) -> Columns:
    """Return an array of lists of equal lengths as columns, and any other as one column."""
    pa: Any = import_module("pyarrow")
    pc: Any = import_module("pyarrow.compute")
    if isinstance(array, Columns):
        return array
    if not (pa.types.is_list(array.type) or pa.types.is_large_list(array.type)) and not (
        pa.types.is_fixed_size_list(array.type)
    ):
        return Columns((array,))
    lengths = pc.list_value_length(array)
    first = next((each.as_py() for each in pc.unique(lengths) if each.is_valid), 0)
    other = pc.index(pc.not_equal(lengths, first), pa.scalar(True)).as_py()
    if other >= 0:
        raise RequestError(
            f"{name} has {first} values in one row and {lengths[other]} in row {other}; all rows "
            "need as many"
        )
    return Columns(tuple(pc.list_element(array, i) for i in range(first)))


def _decode(array: Any, name: str) -> Any:
    """Return a column with plain values: categories are decoded; without any value, numbers."""
    pa: Any = import_module("pyarrow")
    if pa.types.is_null(array.type):
        return array.cast(pa.float64())
    if pa.types.is_nested(array.type) or not is_readable(array.type):
        raise RequestError(f"{name} holds {array.type}; it must have one value per row")
    # Categories that are intervals of pandas become texts later.
    is_plain = pa.types.is_dictionary(array.type) and not isinstance(
        array.type.value_type, pa.BaseExtensionType
    )
    if not is_plain:
        return array
    is_chunked = isinstance(array, pa.ChunkedArray)
    return array.cast(array.type.value_type) if is_chunked else array.dictionary_decode()
