"""Columns whose type a library cannot pass on are left out, and intervals are texts."""

from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

import sqleval
from sqleval import RequestError

ROWS = pd.DataFrame({"y": [0, 1, 0, 1], "s": [0.1, 0.2, 0.6, 0.7], "x": [1.0, None, 3.0, 4.0]})
TABLE = pa.Table.from_pandas(ROWS)


class Odd(pa.ExtensionType):
    """A type of a library, which no engine knows."""

    def __init__(self) -> None:
        super().__init__(pa.int64(), "tests.odd")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: pa.DataType, serialized: bytes) -> "Odd":
        return cls()


UNION = pa.UnionArray.from_sparse(
    pa.array([0, 1, 0, 1], pa.int8()), [pa.array([1, 2, 3, 4]), pa.array(["a"] * 4)]
)
STRUCTS = pa.DictionaryArray.from_arrays(pa.array([0, 0, 1, 1]), pa.array([{"a": 1}, {"a": 2}]))
WIDE = pa.array([1, 2, 3, 4], pa.decimal256(60, 0))
HALVES = pa.array([[1.0]] * 4, pa.list_(pa.float16()))
EXTENSION = pa.ExtensionArray.from_storage(Odd(), pa.array([1, 2, 1, 2]))


def area(source: Any, **options: Any) -> list[Any]:
    bound = sqleval.scan(source, label="y", score="s", **options)
    return bound.evaluate("roc_auc").collect()["value"].to_list()


@pytest.mark.parametrize("odd", [UNION, STRUCTS, WIDE, HALVES], ids=lambda each: str(each.type))
def test_arrow(odd: pa.Array) -> None:
    table = TABLE.append_column("odd", odd)
    for source in (table, table.to_reader(), table.combine_chunks().to_batches()[0]):
        assert area(source) == [0.75]
    with pytest.raises(RequestError, match=r"by='odd' is .*, which DuckDB does not read; convert"):
        area(table, by="odd")
    assert all(each.column != "odd" for each in sqleval.inspect(table))


def test_an_extension_is_read_as_what_it_is_stored_as() -> None:
    table = TABLE.append_column("odd", EXTENSION)
    for source in (table, table.to_reader(), ds.dataset(table)):
        assert area(source, by="odd") == [None, None]
        source = table.to_reader() if isinstance(source, pa.RecordBatchReader) else source
        found = sqleval.scan(source, label="y", score="s", by="odd").evaluate("roc_auc").collect()
        assert found["odd"].to_list() == [1, 2]


@pytest.mark.parametrize(
    ("odd", "kind"),
    [
        (ROWS["s"] + 1j, "complex128"),
        (pd.arrays.SparseArray([0, 0, 1, 0]), "Sparse"),
        ([{1}, 2, "a", None], "of Python objects of several types"),
    ],
    ids=["complex", "sparse", "objects"],
)
def test_pandas(odd: Any, kind: str) -> None:
    frame = ROWS.assign(odd=odd)
    assert area(frame) == [0.75]
    assert area(frame[["odd", "y", "s"]]) == [0.75]
    with pytest.raises(
        RequestError, match=rf"weight='odd' is {kind}.*, which DuckDB does not read"
    ):
        area(frame, weight="odd")
    assert all(each.column != "odd" for each in sqleval.inspect(frame))


def test_polars() -> None:
    odd = pl.Series("odd", [[1]] * 4, dtype=pl.List(pl.Int128))
    frame = pl.from_pandas(ROWS).with_columns(odd)
    assert area(frame) == area(frame.lazy()) == [0.75]
    with pytest.raises(RequestError, match=r"score='odd' is List\(Int128\), which DuckDB does not"):
        sqleval.scan(frame.lazy(), label="y", score={"a": "s", "b": "odd"})


def test_bands_of_pandas_are_their_text() -> None:
    bands = pd.cut(ROWS["x"], [0, 2, 4])
    for band in (bands, pd.Series(pd.array(bands))):
        table = pa.Table.from_pandas(ROWS.assign(band=band))
        for source in (ROWS.assign(band=band), table, table.to_reader()):
            scan = sqleval.scan(source, label="y", score="s", by="band")
            found = scan.evaluate("roc_auc").collect()
            assert found.select("band", "n", "value").rows() == [
                ("(0, 2]", 1, None), ("(2, 4]", 2, 1.0), (None, 1, None),
            ]  # fmt: skip
    # Intervals as pandas writes them, also if no row has a band.
    halves = ROWS.assign(band=pd.cut(ROWS["x"], [0.5, 9], right=False))
    found = sqleval.scan(halves, label="y", score="s", by="band").evaluate("roc_auc").collect()
    assert found["band"].to_list() == ["[0.5, 9.0)", None]
    assert area(halves.assign(band=pd.cut(ROWS["x"], [50, 90])), by="band") == [0.75]
