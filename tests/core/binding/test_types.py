"""Column types: types of slice keys, types of labels, and types that no engine knows."""

import csv
import datetime
import decimal
import gc
import json
import weakref
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pytest
from sklearn.metrics import roc_auc_score

import sqleval
from sqleval import DataError, RequestError, SourceError
from sqleval.engines.duckdb_columns import read_object_columns
from tests.support.commands import run
from tests.support.comparison import assert_frame_equal
from tests.support.flights import ROWS
from tests.support.versions import needs


@pytest.mark.parametrize(
    "odd",
    [pl.lit(1, pl.Int128), pl.lit(1, pl.Float16), pl.lit(pl.Series([object()] * ROWS.height))],
    ids=["Int128", "Float16", "Object"],
)
def test_a_frame_may_have_columns_that_no_engine_knows(odd: pl.Expr) -> None:
    # The call does not name the column, so its type does not matter.
    for frame in (ROWS.with_columns(odd=odd), ROWS.with_columns(odd=odd).lazy()):
        got = sqleval.scan(frame, label="delayed", score="p").evaluate("roc_auc").collect()
        assert got["value"].item() == pytest.approx(roc_auc_score(ROWS["delayed"], ROWS["p"]))


@pytest.mark.parametrize(
    "roles", [{"label": "y", "score": "none"}, {"label": "none", "score": "p", "positive": "yes"}]
)
@needs("a column of NULLs is INTEGER in DuckDB 1", duckdb="2")
def test_a_column_without_any_value_has_rows_that_are_left_out(roles: dict[str, Any]) -> None:
    # Arrow and pandas write a column of NULL without a type, such as for a day without labels.
    frame = pl.DataFrame({"y": [0, 1], "p": [0.1, 0.2], "none": [None, None]})
    with pytest.raises(DataError, match="'none' is NULL or NaN in 2 of 2 rows"):
        sqleval.scan(frame, **roles).evaluate("roc_auc").collect()
    got = sqleval.scan(frame, nulls="drop", **roles).evaluate("roc_auc").collect()
    assert got.select("value", "n", "n_dropped").rows() == [(None, 0, 2)]


@pytest.mark.parametrize(
    "casts",
    [
        {"p": pl.Float16},
        {"delayed": pl.Int128},
        {"delayed": pl.UInt128, "carrier": pl.Int128},
        {"p": pl.Int128},
    ],
    ids=str,
)
def test_columns_of_types_that_duckdb_lacks_play_any_role(casts: dict[str, Any]) -> None:
    carrier = pl.col("carrier").fill_null("").rank("dense").cast(pl.Int64)
    frame = ROWS.select("delayed", pl.col("p") * 8, carrier=carrier).cast(casts)
    roles = {"label": "delayed", "score": "p", "by": "carrier"}
    for source in (frame, frame.lazy()):
        got = sqleval.scan(source, **roles).evaluate("roc_auc").collect()
        keys = dict(zip(got["carrier"].cast(pl.Int64), got["value"], strict=True))
        assert len(keys) == frame["carrier"].n_unique() > 1
        for (carrier,), group in frame.partition_by("carrier", as_dict=True).items():
            want = roc_auc_score(group["delayed"].cast(pl.Int8), group["p"].cast(pl.Float64))
            assert keys[int(carrier)] == pytest.approx(want, rel=1e-12)


@pytest.mark.parametrize("kind", ["polars", "arrow"])
def test_a_frame_is_described_once_for_its_columns(kind: str) -> None:
    frames = [
        pl.DataFrame({"y": [0, 1, 1], "p": [0.1, 0.2, 0.3], "k": pl.Series(["abc"] * 3, dtype=of)})
        for of in (pl.Enum(["abc"]), pl.String, pl.Enum(["abc", "b"]))
    ]
    # A column may have another type in the next frame.
    described: list[Any] = []
    for frame in (*frames, *frames):
        source = frame if kind == "polars" else frame.to_arrow()
        found = sqleval.scan(source, label="y", score="p", by="k").evaluate("roc_auc")
        described.append(found.collect_schema()["k"])
        assert found.collect()["value"].to_list() == [1.0]
    assert described[:3] == described[3:]
    before = read_object_columns.cache_info()
    sqleval.scan(frames[0], label="y", score="p")
    after = read_object_columns.cache_info()
    assert (after.hits, after.misses) == (before.hits + 1, before.misses)


def test_the_rows_of_a_frame_are_not_kept_in_memory() -> None:
    table = ROWS.to_arrow()
    alive = weakref.ref(table)
    sqleval.scan(table, label="delayed", score="p")
    del table
    gc.collect()
    assert alive() is None


class _Stream:
    """Rows of another library as an Arrow stream."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


class _Array:
    """Rows of another library as an Arrow array."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self._batch = batch

    def __arrow_c_array__(self, requested_schema: object = None) -> object:
        return self._batch.__arrow_c_array__(requested_schema)


def test_half_floats_of_arrow_and_pandas() -> None:
    rows = ROWS.select("delayed", pl.col("p").cast(pl.Float32))
    half = rows.to_arrow().set_column(
        1, "p", pa.array(rows["p"].to_numpy().astype(np.float16), pa.float16())
    )
    want = roc_auc_score(rows["delayed"], rows["p"].to_numpy().astype(np.float16))
    odd = half.append_column("odd", half["p"])
    batch = half.combine_chunks().to_batches()[0]
    for source in (half, odd, odd.to_reader(), half.to_pandas(), _Stream(odd), _Array(batch)):
        got = sqleval.scan(source, label="delayed", score="p").evaluate("roc_auc").collect()
        assert got["value"].item() == pytest.approx(want, rel=1e-12)
    dataset = pyarrow.dataset.dataset(odd.set_column(1, "p", rows["p"].to_arrow()))
    got = sqleval.scan(dataset, label="delayed", score="p").evaluate("roc_auc").collect()
    assert got["value"].item() == roc_auc_score(rows["delayed"], rows["p"])
    with pytest.raises(RequestError, match="score='odd' is float16, which DuckDB does not read"):
        sqleval.scan(dataset, label="delayed", score="odd")


def test_objects_of_pandas_have_the_types_of_their_values() -> None:
    # pandas 2 stores texts so, and every version dates and decimals.
    columns: dict[str, list[Any]] = {
        "carrier": ROWS["carrier"].to_list(),
        "flight_date": ROWS["flight_date"].cast(pl.Date).to_list(),
        "y": ["yes" if each else "no" for each in ROWS["delayed"]],
        "d": [decimal.Decimal(f"{each:.6f}") for each in ROWS["p"]],
    }
    odd = ([object(), 1, decimal.Decimal(1)] * ROWS.height)[: ROWS.height]
    frame = ROWS.select("delayed", "p").to_pandas()
    frame = frame.assign(**{k: pd.Series(v, dtype=object) for k, v in columns.items()})
    frame["odd"] = odd
    assert frame.dtypes[["carrier", "flight_date", "y", "d", "odd"]].eq(object).all()
    same = ROWS.select("delayed", "p").with_columns(pl.Series(k, v) for k, v in columns.items())
    cases: list[dict[str, Any]] = [
        {"label": "delayed", "score": "p", "by": ["carrier", "flight_date"]},
        {"label": "y", "positive": "yes", "score": "d", "where": "carrier > 'D'"},
    ]
    for roles in cases:
        got = sqleval.scan(frame, **roles).evaluate("f1(threshold=0.3)").collect()
        want = sqleval.scan(same, **roles).evaluate("f1(threshold=0.3)").collect()
        assert_frame_equal(got, want)
    with pytest.raises(RequestError, match="by='odd' is of Python objects of several types, which"):
        sqleval.scan(frame, label="delayed", score="p", by="odd")


def test_columns_of_pandas_need_not_have_texts_as_names() -> None:
    frame = ROWS.select("delayed", "p").to_pandas()
    want = roc_auc_score(ROWS["delayed"], ROWS["p"])
    numbered = frame.set_axis([0, 1], axis=1)
    got = sqleval.scan(numbered, label="0", score="1").evaluate("roc_auc").collect()
    assert got["value"].item() == pytest.approx(want)
    assert list(numbered.columns) == [0, 1]
    with pytest.raises(SourceError, match="pandas DataFrame has several columns called 'p'"):
        sqleval.scan(frame[["delayed", "p", "p"]], label="delayed", score="p")


def test_a_frame_may_be_changed_before_it_is_collected() -> None:
    polars, pandas = ROWS.select("delayed", "p"), ROWS.select("delayed", "p").to_pandas()
    want = roc_auc_score(ROWS["delayed"], ROWS["p"])
    results = [
        sqleval.scan(each, label="delayed", score="p").evaluate("roc_auc")
        for each in (polars, pandas)
    ]
    polars.insert_column(0, (1 - polars["delayed"]).alias("on time"))
    pandas.insert(0, "on time", 1 - pandas["delayed"])
    for result in results:  # columns are found by their names, wherever they are now
        assert result.collect()["value"].item() == pytest.approx(want)
    polars.drop_in_place("p")
    del pandas["p"]
    for result in results:
        with pytest.raises(SourceError, match="no longer has the column 'p'"):
            result.collect()


def test_a_key_that_the_result_cannot_hold_is_refused() -> None:
    frame = pl.DataFrame({"y": [0, 1], "p": [0.1, 0.9], "g": [datetime.timedelta(1)] * 2})
    with pytest.raises(RequestError, match=r"by='g'.*INTERVAL"):
        sqleval.scan(frame, label="y", score="p", by="g")
    rows = duckdb.sql("SELECT i % 2 AS y, 0.5 AS p, union_value(a := i) AS g FROM range(4) AS t(i)")
    with pytest.raises(RequestError, match=r"by='g' is UNION\(a BIGINT\), and Polars has neither"):
        sqleval.scan(rows, label="y", score="p", by="g")
    names = ["UNION(", "INTERVAL"]
    words = frame.with_columns(g=pl.Series(names, dtype=pl.Enum(names)))
    by_word = sqleval.scan(words, label="y", score="p", by="g").evaluate("prevalence").collect()
    assert set(by_word["g"]) == set(names)
    bound = sqleval.scan(frame.rename({"g": "_problem"}).drop("_problem").with_columns(
        _problem=pl.lit("a")), label="y", score="p", by="_problem")  # fmt: skip
    with pytest.raises(RequestError, match="by='_problem': the result has a column of that name"):
        bound.evaluate("roc_auc")


@needs("DuckDB 1 writes a map in another way", duckdb="2")
def test_nested_keys_are_texts_in_csv() -> None:
    keys = "[1, 2] AS l, {'a': 1} AS s, MAP {'a': 1} AS m, 'ab'::BLOB AS b"
    query = f"SELECT i % 2 AS y, 0.5 AS p, {keys} FROM range(4) AS t(i)"
    arguments = ("evaluate", "--query", query, "--label", "y", "--score", "p", "-m", "prevalence")
    sliced = (*arguments, "--by", "l,s,m,b", "--format")
    (row,) = csv.reader(run(*sliced, "csv").stdout.splitlines()[1:])
    assert row[:4] == ["[1, 2]", "{'a': 1}", "{'a': 1}", "b'ab'"]
    assert row[:4] == list(json.loads(run(*sliced, "json").stdout)[0].values())[:4]


def test_a_class_above_the_largest_whole_number_is_refused() -> None:
    frame = pl.DataFrame({"y": pl.Series([2**64 - 1, 3], dtype=pl.UInt64)})
    bound = sqleval.scan(frame, label="y", prediction="y", task="multiclass")
    assert bound.evaluate("accuracy").collect()["value"].item() == 1
    for lazy in (bound.confusion(), bound.evaluate("f1(average=None)")):
        with pytest.raises(DataError, match=r"a class is below -2\^63 or above 2\^63 - 1"):
            lazy.collect()


KEYS: list[tuple[Any, list[Any]]] = [
    (pl.Int8, [1, 2]),
    (pl.UInt64, [1, 2**63 + 1]),
    (pl.Float32, [0.5, 1.5]),
    (pl.Boolean, [False, True]),
    (pl.Date, [datetime.date(2013, 7, 1), datetime.date(2013, 7, 2)]),
    (pl.Datetime("us"), [datetime.datetime(2013, 7, 1, 12), datetime.datetime(2013, 7, 2)]),
    (pl.Decimal(10, 2), ["1.25", "2.50"]),
    (pl.Time, [datetime.time(1, 2, 3), datetime.time(4, 5, 6)]),
]
#: The engine finds the types of a source, whatever its kind: each type is read from two kinds.
KINDS = ("file", "frame", "stream")


@pytest.mark.parametrize(
    ("kind", "keys", "kind_of_source"),
    [(*each, KINDS[(at + k) % 3]) for at, each in enumerate(KEYS) for k in (0, 1)],
    ids=str,
)
def test_a_key_keeps_its_type_and_value(
    kind: Any, keys: list[Any], kind_of_source: str, tmp_path: Path
) -> None:
    groups = pl.Series("g", [keys[0]] * 3 + [keys[1]] * 3 + [None] * 2).cast(kind)
    frame = pl.DataFrame({"y": [0, 1, 0, 1, 1, 0, 0, 1], "p": np.linspace(0, 1, 8), "g": groups})
    frame.write_parquet(tmp_path / "rows.parquet")
    source: Any = {"frame": frame, "stream": frame.lazy(), "file": tmp_path / "rows.parquet"}
    lazy = sqleval.scan(source[kind_of_source], label="y", score="p", by="g").evaluate("roc_auc")
    got = lazy.collect()
    assert got["g"].to_list() == [*groups.unique().drop_nulls().sort().to_list(), None]
    assert got.schema == lazy.collect_schema()
    below = lazy.filter(pl.col("g") < pl.lit(groups[3], dtype=groups.dtype)).collect()
    assert below["g"].to_list() == [groups[0]]


@pytest.mark.parametrize(
    "keys",
    [
        "CAST('00000000-0000-0000-0000-00000000000' || i AS UUID)",
        "CASE i WHEN 0 THEN DATE '9999-12-31' ELSE DATE 'infinity' END",
        "DATE '20000-01-01' + CAST(i AS INTEGER)",
        "DATE '0044-03-15 (BC)' + CAST(i AS INTEGER)",
    ],
)
def test_a_key_that_python_does_not_know_is_kept(keys: str, tmp_path: Path) -> None:
    con = duckdb.connect()
    con.execute(
        f"CREATE TABLE t AS SELECT k % 2 AS y, k / 10 AS p, {keys} AS g "
        "FROM RANGE(4) AS r(k), RANGE(2) AS s(i)"
    )
    con.execute(f"COPY t TO '{tmp_path / 'rows.parquet'}' (FORMAT parquet)")
    found = [
        sqleval.scan(source, label="y", score="p", by="g", **given)
        .evaluate("brier_score")
        .collect()
        for source, given in (
            (con.table("t"), {}),
            ("t", {"con": con}),
            (tmp_path / "rows.parquet", {}),
        )
    ]
    assert found[0]["g"].n_unique() == 2
    for other in found[1:]:
        assert_frame_equal(found[0], other)


@pytest.mark.parametrize("kind", [pl.Categorical(), pl.Enum(["a", "b"])], ids=str)
def test_categories_are_keys_and_labels(kind: Any) -> None:
    frame = pl.DataFrame({"y": ["a", "b", "a", "b"], "p": [0.1, 0.9, 0.4, 0.3]})
    frame = frame.with_columns(
        y=pl.col("y").cast(kind), g=pl.Series(["a", "a", "b", "b"], dtype=kind)
    )
    got = (
        sqleval.scan(frame, label="y", score="p", positive="b", by="g")
        .evaluate("roc_auc")
        .collect()
    )
    assert got["value"].to_list() == [1, 0]
    assert got["g"].cast(pl.String).to_list() == ["a", "b"]


LABELS = [0, 1, 1, 0, 1, 0]


TWO_VALUES: list[tuple[list[Any], Any]] = [
    (LABELS, None),
    ([float(y) for y in LABELS], None),
    ([bool(y) for y in LABELS], None),
    ([2 * y - 1 for y in LABELS], None),
    ([float(2 * y - 1) for y in LABELS], None),
    (LABELS, 1),
    ([1 - y for y in LABELS], 0),
    ([bool(y) for y in LABELS], True),
    ([not y for y in LABELS], False),
    ([y + 1 for y in LABELS], 2),
    ([y + 1.5 for y in LABELS], 2.5),
    (["yes" if y else "no" for y in LABELS], "yes"),
    (["no" if y else "yes" for y in LABELS], "no"),
    (["it's" if y else "it is" for y in LABELS], "it's"),
    ([datetime.date(2013, 7, 1 + y) for y in LABELS], "2013-07-02"),
]


@pytest.mark.parametrize(
    ("values", "positive", "kind_of_source"),
    [(*each, KINDS[at % 3]) for at, each in enumerate(TWO_VALUES)],
    ids=str,
)
def test_two_values_of_any_kind(
    values: list[Any], positive: Any, kind_of_source: str, tmp_path: Path
) -> None:
    score = [0.1, 0.7, 0.4, 0.45, 0.9, 0.6]
    frame = pl.DataFrame({"y": values, "p": score})
    frame.write_parquet(tmp_path / "rows.parquet")
    source: Any = {"frame": frame, "stream": frame.lazy(), "file": tmp_path / "rows.parquet"}
    bound = sqleval.scan(source[kind_of_source], label="y", score="p", positive=positive)
    got = bound.evaluate(["roc_auc", "recall", "prevalence"]).collect()
    assert got["value"].to_list() == [roc_auc_score(LABELS, score), pytest.approx(2 / 3), 0.5]


def test_positive_names_a_value_of_label_and_prediction() -> None:
    frame = pl.DataFrame({"y": ["bad", "good", "bad", "bad"], "z": ["bad", "bad", "good", "bad"]})
    bound = sqleval.scan(frame, label="y", prediction="z", positive="bad")
    got = bound.evaluate(["precision", "recall", "accuracy"]).collect()
    assert got["value"].to_list() == [pytest.approx(2 / 3), pytest.approx(2 / 3), 0.5]


def test_a_label_and_a_prediction_may_write_the_same_truth_differently() -> None:
    frame = pl.DataFrame({"y": [True, False, True], "z": [1, -1, -1]})
    bound = sqleval.scan(frame, label="y", prediction="z", task="binary")
    assert bound.evaluate("recall").collect()["value"].item() == 0.5


def test_scores_of_truth_values_are_0_and_1() -> None:
    frame = pl.DataFrame({"y": [1, 1, 0, 0, 1], "b": [True, False, True, False, True]})
    truth = sqleval.scan(frame, label="y", score="b").evaluate().collect()
    numbers = frame.with_columns(pl.col("b").cast(pl.Int8))
    assert truth.equals(sqleval.scan(numbers, label="y", score="b").evaluate().collect())


@pytest.mark.parametrize(
    "value", [datetime.date(2024, 1, 2), datetime.datetime(2024, 1, 2, 3, 4, 5, 6)]
)
def test_a_date_may_be_the_positive_value(value: datetime.date) -> None:
    other = value - datetime.timedelta(days=1)
    frame = pl.DataFrame({"y": [value, other, value, other], "p": [0.9, 0.2, 0.4, 0.6]})
    found = sqleval.scan(frame, label="y", score="p", positive=value).evaluate("roc_auc").collect()
    assert found["value"].item() == 0.75
