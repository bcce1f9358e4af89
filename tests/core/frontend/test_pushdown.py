"""Filters, columns and limits on a result reach the statement; the audit is never pushed away."""

import datetime
import json
import logging
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Literal

import duckdb
import polars as pl
import pytest

import sqleval
from sqleval import DataError
from tests.support.comparison import assert_frame_equal
from tests.support.lazy import METRICS, SMALL, flights, small

#: A metric of ranks and one of decisions.
FEW = ["roc_auc", "precision"]


class Executed:
    """The statements that the logger showed."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.DEBUG, logger="sqleval")
        self._caplog = caplog

    def last(self) -> tuple[str, list[dict[str, Any]]]:
        """Return the last statement, and every operator of DuckDB's plan for it."""
        (statement, params) = self._caplog.records[-1].args  # pyright: ignore[reportAssignmentType, reportGeneralTypeIssues]
        text = f"EXPLAIN (FORMAT json) {statement}"
        ((_, plan),) = duckdb.connect().execute(text, params).fetchall()
        found: list[dict[str, Any]] = []
        todo = list(json.loads(plan))
        while todo:
            operator = todo.pop()
            found.append(operator)
            todo += operator.get("children", [])
        return str(statement), found


@pytest.fixture
def executed(caplog: pytest.LogCaptureFixture) -> Executed:
    return Executed(caplog)


def scans(plan: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found = [node["extra_info"] for node in plan if node["name"].strip() == "READ_PARQUET"]
    assert found
    return found


def columns_read(plan: list[dict[str, Any]]) -> set[str]:
    listed = [scan["Projections"] for scan in scans(plan)]
    return {name for names in listed for name in ([names] if isinstance(names, str) else names)}


def test_only_the_bound_columns_are_read(executed: Executed) -> None:
    flights(by="carrier", where="p_boosted > 0.4").evaluate(METRICS).collect()
    _, plan = executed.last()
    assert columns_read(plan) == {"carrier", "delayed", "p_boosted"}
    flights(where="origin = 'JFK'").evaluate("roc_auc").collect()
    _, plan = executed.last()
    assert columns_read(plan) <= {"origin", "delayed", "p_boosted"}
    for scan in scans(plan):
        assert "origin='JFK'" in str(scan["Filters"]).replace(" ", "")


def test_a_filter_on_a_key_reaches_the_scan(executed: Executed) -> None:
    result = flights(by=["month", "carrier"]).evaluate(FEW)
    got = result.filter(pl.col("carrier") == "AA").collect()
    _, plan = executed.last()
    for scan in scans(plan):
        assert "carrier='AA'" in str(scan["Filters"]).replace(" ", "")
    assert_frame_equal(got, result.collect().filter(pl.col("carrier") == "AA"))


def test_a_filter_on_a_partition_reads_only_its_files(executed: Executed) -> None:
    result = flights(by="month", where="carrier = 'VX'").evaluate(FEW)
    got = result.filter((pl.col("month") == "07") | (pl.col("month") == "08")).collect()
    _, plan = executed.last()
    assert {scan["Scanning Files"] for scan in scans(plan)} == {"2/6"}
    assert_frame_equal(
        got, result.collect().filter((pl.col("month") == "07") | (pl.col("month") == "08"))
    )


def test_of_a_mixed_filter_the_part_on_keys_reaches_the_scan(executed: Executed) -> None:
    result = flights(by="month", where="carrier = 'VX'").evaluate(FEW)
    mixed = (pl.col("month") == "09") & (pl.col("value") > 0.5)
    got = result.filter(mixed).collect()
    _, plan = executed.last()
    assert {scan["Scanning Files"] for scan in scans(plan)} == {"1/6"}
    assert_frame_equal(got, result.collect().filter(mixed))


def test_a_filter_on_a_curve_reaches_the_scan(executed: Executed) -> None:
    result = flights(by="month", where="carrier = 'VX'").curve("roc")
    got = result.filter(pl.col("month") == "12").collect()
    _, plan = executed.last()
    assert {scan["Scanning Files"] for scan in scans(plan)} == {"1/6"}
    assert_frame_equal(got, result.collect().filter(pl.col("month") == "12"))


def test_only_the_wanted_columns_are_returned(executed: Executed) -> None:
    got = flights(by="month", where="carrier = 'VX'").evaluate(METRICS).select("value").collect()
    statement, _ = executed.last()
    assert got.columns == ["value"]
    outermost = statement[statement.rindex("\nSELECT") :]
    assert 'AS "value"' in outermost
    for name in ("month", "metric", "low", "n_dropped", "note"):
        assert f'"{name}"' not in outermost


def test_a_limit_reaches_the_statement(executed: Executed) -> None:
    result = flights(by="month", where="carrier = 'VX'").evaluate(FEW)
    got = result.head(2).collect()
    statement, plan = executed.last()
    assert statement.endswith("LIMIT 2")
    assert {node["name"].strip() for node in plan} & {"TOP_N", "LIMIT", "STREAMING_LIMIT"}
    assert_frame_equal(got, result.collect().head(2))


PREDICATES = [
    pl.col("g") == "a",
    pl.col("g") != "a",
    pl.col("g").ne_missing(pl.lit("a")),
    pl.col("g").eq_missing(pl.lit(None, pl.String)),
    pl.col("g").is_null(),
    pl.col("g").is_not_null(),
    ~(pl.col("g") == "a"),
    pl.col("g").is_in(["a", "zz"]),
    pl.col("g").is_in(["a", None]),
    pl.col("g").is_in(["a", None], nulls_equal=True),
    ~pl.col("g").is_in(["a"]),
    pl.col("g").is_in([]),
    pl.col("g") > "a",
    pl.col("g").str.starts_with("b"),
    pl.col("g") == "it's; DROP TABLE x --",
    (pl.col("g") == "a") | (pl.col("g") == "b"),
    (pl.col("g") == "a") | (pl.col("value") > 0.6),
    (pl.col("g") == "a") & (pl.col("value") > 0.6) & (pl.col("metric") == "roc_auc"),
    pl.col("d") == datetime.date(2013, 7, 1),
    pl.col("d") > datetime.date(2013, 7, 1),
    pl.col("d").is_between(datetime.date(2013, 7, 1), datetime.date(2013, 7, 1)),
    pl.col("i") >= 2,
    pl.col("i") + 1 > 2,
    pl.col("i") / 2 == 0.5,
    pl.col("i") // 2 == 0,
    pl.col("i") % 2 == 1,
    pl.col("i") > 1.5,
    pl.col("i").cast(pl.String) == "2",
    pl.col("i") == pl.col("n"),
    pl.col("f") > 1,
    pl.col("f") < 1,
    pl.col("f") == float("nan"),
    pl.col("f").is_nan(),
    pl.col("f") != 0.5,
    pl.col("b"),
    ~pl.col("b"),
    pl.col("b") | (pl.col("g") == "b"),
    pl.col("metric") == "roc_auc",
    pl.col("value").is_null(),
    pl.col("value") > 0.5,
    pl.col("n") > 1,
    pl.lit(True),
    pl.lit(False),
]


#: A lazy result, the collected result, and whether the source is a stream.
LazyAndWhole = tuple[pl.LazyFrame, pl.DataFrame, bool]


@pytest.fixture(scope="module")
def evaluate_keys(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], LazyAndWhole]:
    """Return a function that evaluates a source with keys of many types once."""

    @cache
    def evaluate(kind: str) -> LazyAndWhole:
        path = tmp_path_factory.mktemp("keys") / "rows.parquet"
        SMALL.write_parquet(path)
        source: Any = {"file": path, "stream": SMALL.lazy()}[kind]
        bound = sqleval.scan(source, label="y", score="p", by=["g", "d", "i", "f", "b"])
        # A metric of ranks for the file, one of decisions for the stream.
        result = bound.evaluate([FEW[kind == "stream"], "prevalence"])
        whole = result.collect()
        # Predicates on values must neither keep nor drop all rows.
        assert whole["value"].null_count()
        assert {*(whole["value"] > 0.6).drop_nulls()} == {True, False}
        return result, whole, kind == "stream"

    return evaluate


@pytest.mark.parametrize(
    ("kind", "place"),
    [("file", place) for place in range(len(PREDICATES))]
    + [("stream", place) for place in range(0, len(PREDICATES), 3)],
)
def test_a_filter_before_collect_is_a_filter_after_it(
    kind: str, place: int, evaluate_keys: Callable[[str], LazyAndWhole]
) -> None:
    """Every predicate is tried on the file, and every third one on a stream, too.

    Both put the same condition into the statement. A stream also gets a condition translated
    from it; `sources/test_tables.py` tries many of those.
    """
    result, whole, is_stream = evaluate_keys(kind)
    predicate = PREDICATES[place]
    if place % 2 == is_stream:
        assert_frame_equal(result.filter(predicate).collect(), whole.filter(predicate))
    else:
        picked = result.filter(predicate).select("value", "g").collect(engine="streaming")
        assert_frame_equal(picked, whole.filter(predicate).select("value", "g"))


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_other_operations_before_collect_are_those_after_it(
    engine: Literal["in-memory", "streaming"],
) -> None:
    result = small(by=["g", "d"]).evaluate(FEW)
    whole = result.collect()
    on_a, good = pl.col("g") == "a", pl.col("value") > 0.5
    pairs = [
        (result.head(3), whole.head(3)),
        (result.tail(3), whole.tail(3)),
        (result.slice(2, 4), whole.slice(2, 4)),
        (result.head(0), whole.head(0)),
        (result.head(1000), whole),
        (result.filter(on_a).head(3), whole.filter(on_a).head(3)),
        (result.head(7).filter(on_a), whole.head(7).filter(on_a)),
        (result.filter(good).head(2), whole.filter(good).head(2)),
        (result.head(7).filter(good), whole.head(7).filter(good)),
        (result.filter(on_a).filter(good), whole.filter(on_a).filter(good)),
        (result.select("value"), whole.select("value")),
        (result.select("note", "d", "metric"), whole.select("note", "d", "metric")),
        (result.select(pl.len()), whole.select(pl.len())),
        (result.select(pl.col("value").mean()), whole.select(pl.col("value").mean())),
        (result.drop("value"), whole.drop("value")),
        (result.rename({"g": "k"}).filter(k="b"), whole.filter(g="b").rename({"g": "k"})),
        (result.with_row_index().filter(on_a), whole.with_row_index().filter(on_a)),
        (result.sort("value", "metric", "g", "d"), whole.sort("value", "metric", "g", "d")),
        (result.filter(on_a).select("value").head(1), whole.filter(on_a).select("value").head(1)),
    ]  # fmt: skip
    for lazy, expected in pairs:
        assert_frame_equal(lazy.collect(engine=engine), expected)


def test_a_filter_on_the_key_of_models() -> None:
    bound = sqleval.scan(
        SMALL, label="y", score={"one": "p", "it's two": "i"}, by="b", nulls="drop"
    )
    result = bound.evaluate(["roc_auc", "ks"])
    for predicate in (
        pl.col("model") == "it's two",
        (pl.col("model") == "one") & pl.col("b"),
        (pl.col("model") == "one") | pl.col("b"),
    ):
        got = result.filter(predicate).collect()
        assert got.height
        assert_frame_equal(got, result.collect().filter(predicate))


def test_more_rows_than_come_back_at_once() -> None:
    # 3000 slices of two metrics: the first rows come back as objects, the others as Arrow.
    frame = pl.DataFrame({"y": [0, 1] * 3000, "p": [0.2, 0.7] * 3000}).with_row_index("k")
    frame = frame.with_columns(k=(pl.col("k") // 2).cast(pl.Int32))
    got = (
        sqleval.scan(frame, label="y", score="p", by="k").evaluate(["roc_auc", "recall"]).collect()
    )
    assert got.height == 6000
    assert got["value"].to_list() == [1.0] * 6000
    assert got["k"].to_list() == [i // 2 for i in range(6000)]


MISSING = {"null": None, "nan": float("nan")}


@pytest.mark.parametrize("kind", ["file", "frame", "stream"])
@pytest.mark.parametrize("missing", MISSING)
def test_the_audit_is_never_pushed_away(missing: str, kind: str, tmp_path: Path) -> None:
    # The bad row is in the last slice, where a limit would not look.
    bad = SMALL.head(6).with_columns(
        p=pl.when(pl.int_range(pl.len()) == 5)
        .then(pl.lit(MISSING[missing], pl.Float64))
        .otherwise("p")
    )
    bad.write_parquet(tmp_path / "bad.parquet")
    source: Any = {"file": tmp_path / "bad.parquet", "frame": bad, "stream": bad.lazy()}[kind]
    bound = sqleval.scan(source, label="y", score="p", by="g")
    sentence = r"score='p' is NULL or NaN in 1 of 6 rows; nulls='drop'"
    some = bound.evaluate(["roc_auc", "precision"])
    turn = [*MISSING].index(missing) + ["file", "frame", "stream"].index(kind)
    for number, result in enumerate((some, bound.evaluate("prevalence"), bound.curve("roc"))):
        expected = result.collect_schema().names()[-1]
        ways = (
            result,
            result.select(expected),
            result.head(1),
            result.select(expected).head(1),
            result.select(pl.len()),
            result.filter(pl.col(expected).is_null()),
        )
        # Half of the cases, in turn: each way meets each result, kind of source and both values.
        for asked in ways[(turn + number) % 2 :: 2]:
            with pytest.raises(DataError, match=sentence):
                asked.collect()


def test_the_audit_raises_even_where_no_row_is_left() -> None:
    # A curve has no points where all weights are below 0.
    frame = pl.DataFrame({"y": [0, 1], "p": [0.1, 0.9], "w": [-1, -1]})
    bound = sqleval.scan(frame, label="y", score="p", weight="w")
    for result in (
        bound.evaluate("roc_auc"),
        bound.curve("roc"),
        bound.curve("pr"),
        bound.confusion(),
    ):
        with pytest.raises(DataError, match=r"weight='w' is negative in 2 of 2 rows"):
            result.collect()
