"""The result is a LazyFrame: nothing runs before collect, and it may be collected by many."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import duckdb
import polars as pl
import pytest

import sqleval
from sqleval import RequestError, SourceError
from tests.support.comparison import assert_frame_equal
from tests.support.lazy import FLIGHTS, METRICS, SMALL, TALL, counted, flights, small

#: A metric of ranks and one of decisions, for tests that collect a result many times.
FEW = ["roc_auc", "precision"]


def test_nothing_is_read_before_collect() -> None:
    lazy, reads = counted()
    bound = sqleval.scan(lazy, label="y", score="p", by="g")
    results = [bound.evaluate(METRICS, ci=0.9, replicates=0), bound.curve("roc"), bound.confusion()]
    schemas = [result.collect_schema() for result in results]
    bound.sql(METRICS)
    assert reads == []
    for i, (result, schema) in enumerate(zip(results, schemas, strict=True), start=1):
        assert isinstance(result, pl.LazyFrame)
        assert result.collect().schema == schema
        assert len(reads) == i


def test_a_file_is_read_at_collect(path: Path) -> None:
    result = sqleval.scan(path, label="y", score="p").evaluate("prevalence")
    assert result.collect()["value"].item() == 0.5
    SMALL.with_columns(y=pl.lit(1)).write_parquet(path)
    assert result.collect()["value"].item() == 1
    path.unlink()
    with pytest.raises(SourceError, match=r"rows\.parquet"):
        result.collect()


def test_the_columns_are_always_the_same() -> None:
    assert small().evaluate("roc_auc").collect_schema().names() == TALL
    result = small(by=["g", "d"]).evaluate("roc_auc", ci=0.9)
    assert result.collect_schema().names() == ["g", "d", *TALL]
    models = sqleval.scan(SMALL, label="y", score={"one": "p", "two": "f"}, by="g")
    assert models.evaluate("roc_auc").collect_schema().names() == ["g", "model", *TALL]


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_both_engines_of_polars(engine: Literal["in-memory", "streaming"]) -> None:
    few = "carrier IN ('HA', 'OO', 'VX', 'YV')"
    result = flights(by=["month", "carrier"], where=few).evaluate(FEW)
    flown = pl.scan_parquet(FLIGHTS, hive_partitioning=True).select("month", "carrier").unique()
    slices = pl.SQLContext(flown=flown).execute(f"SELECT * FROM flown WHERE {few}").collect()
    assert 6 < slices.height < 24  # one of them did not fly in each month
    assert result.collect(engine=engine).height == slices.height * len(FEW)
    picked = result.filter(pl.col("month") == "07", pl.col("value") > 0.1).select("metric", "value")
    assert_frame_equal(picked.collect(engine=engine), picked.collect(engine="in-memory"))


def test_a_result_can_be_collected_again_and_joined_with_itself() -> None:
    result = small(by="b").evaluate(FEW)
    first = result.collect()
    assert_frame_equal(result.collect(), first)
    engines: tuple[Literal["in-memory", "streaming"], ...] = ("in-memory", "streaming")
    for engine in engines:
        joined = result.join(result, on=["b", "metric"]).collect(engine=engine)
        assert joined.height == first.height
        assert joined["value"].to_list() == pytest.approx(joined["value_right"].to_list())


def test_results_of_one_scan_meet_in_one_query(path: Path) -> None:
    bound = sqleval.scan(path, label="y", score="p", by="g")
    one, two = bound.evaluate("roc_auc"), bound.evaluate("precision")
    both = pl.concat([one, two]).collect()
    assert both["metric"].to_list() == ["roc_auc"] * 3 + ["precision"] * 3
    curve = bound.curve("roc")
    joined = curve.join(one, on="g", nulls_equal=True).collect()
    assert joined.height == curve.collect().height
    assert [frame.height for frame in pl.collect_all([one, two, curve])] == [3, 3, joined.height]


def test_a_result_feeds_the_next_scan() -> None:
    by_month = flights(by="month").evaluate(["precision", "recall"])
    judged = by_month.with_columns(good=pl.col("value") > 0.5)
    renamed = judged.rename({"metric": "which"})
    bound = sqleval.scan(renamed, label="good", score="value", by="which")
    got = bound.evaluate("prevalence").collect()
    assert got["which"].to_list() == ["precision", "recall"]
    assert got["n"].to_list() == [6, 6]


def test_predictions_are_equal_to_themselves_alone_and_can_be_keys(path: Path) -> None:
    one, other = (sqleval.scan(path, label="y", score="p") for _ in range(2))
    assert {one: 1, other: 2} == {other: 2, one: 1}
    assert one != other
    assert pickle.loads(pickle.dumps(one)).evaluate("roc_auc").collect().height == 1


def test_a_result_can_be_written_without_being_held(tmp_path: Path) -> None:
    result = small(by="g").evaluate(METRICS)
    result.sink_parquet(tmp_path / "result.parquet")
    assert_frame_equal(pl.read_parquet(tmp_path / "result.parquet"), result.collect())


@pytest.mark.parametrize("kind", ["file", "frame", "stream", "table", "relation"])
def test_eight_threads_on_every_kind_of_source(kind: str, path: Path) -> None:
    con = duckdb.connect()
    con.from_arrow(SMALL.to_arrow()).create("rows")
    sources: dict[str, Any] = {
        "file": {"source": path},
        "frame": {"source": SMALL},
        "stream": {"source": SMALL.lazy()},
        "table": {"source": "rows", "con": con},
        "relation": {"source": con.table("rows")},
    }
    bound = sqleval.scan(**sources[kind], label="y", score="p", by="g")
    results = [bound.evaluate(FEW), bound.curve("pr"), bound.confusion()]
    expected = [result.collect() for result in results]
    with ThreadPoolExecutor(8) as pool:
        collected = list(pool.map(lambda i: results[i % 3].collect(), range(9)))
    for i, got in enumerate(collected):
        assert_frame_equal(got, expected[i % 3])


def test_threads_may_share_one_connection_through_two_scans() -> None:
    con = duckdb.connect()
    con.from_arrow(SMALL.to_arrow()).create("rows")

    def one(i: int) -> float:
        source: Any = "rows" if i % 2 else SMALL
        given: dict[str, Any] = {"con": con} if i % 2 else {}
        return (
            sqleval.scan(source, label="y", score="p", **given)
            .evaluate("ks")
            .collect()["value"]
            .item()
        )

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(one, range(16)))) == 1


def test_threads_may_share_one_connection_through_its_relations() -> None:
    con = duckdb.connect()
    con.from_arrow(SMALL.to_arrow()).create("rows")
    relations = [con.table("rows") for _ in range(4)]

    def one(i: int) -> float:
        bound = sqleval.scan(relations[i % 4], label="y", score="p", where="p >= 0")
        return bound.evaluate("ks").collect()["value"].item()

    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(one, range(8)))) == 1


def test_the_namespace_of_a_lazy_frame() -> None:
    lazy: Any = SMALL.lazy()
    got = lazy.sqleval.evaluate(METRICS, label="y", score="p", by="g", ci=0.9).collect()
    assert_frame_equal(
        got, sqleval.scan(lazy, label="y", score="p", by="g").evaluate(METRICS, ci=0.9).collect()
    )
    assert lazy.sqleval.evaluate(label="y", score="p").collect().height == 12
    curve = lazy.sqleval.curve("roc", label="y", score="p").collect()
    assert_frame_equal(curve, small().curve("roc").collect())
    assert lazy.sqleval.confusion(label="y", score="p").collect()["n"].sum() == SMALL.height
    assert "roc_auc" in lazy.sqleval.sql("roc_auc", label="y", score="p")


def test_the_namespace_reads_nothing_before_collect() -> None:
    lazy, reads = counted()
    result = lazy.filter(pl.col("g") == "a").sqleval.evaluate("roc_auc", label="y", score="p")  # pyright: ignore[reportAttributeAccessIssue]
    assert reads == []
    assert result.collect()["n"].item() == 4


def test_what_can_be_refused_is_refused_before_collect() -> None:
    with pytest.raises(RequestError, match="no metric called 'roc_acu'; did you mean 'roc_auc'"):
        small().evaluate("roc_acu")
    with pytest.raises(RequestError, match="no curve called 'rok'; did you mean 'roc_curve'"):
        small().curve("rok")
