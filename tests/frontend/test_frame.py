"""The result is a LazyFrame: nothing runs before collect, and what is asked is pushed down."""

import datetime
import json
import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import duckdb
import polars as pl
import pytest
from polars.io.plugins import register_io_source
from polars.testing import assert_frame_equal

import sqleval
from sqleval import DataError, Predictions, RequestError, SourceError

FLIGHTS = Path(__file__).resolve().parents[2] / "data" / "flights" / "predictions"
METRICS = ["roc_auc", "average_precision", "log_loss", "precision", "f_beta(beta=2)"]
TALL = ["metric", "value", "low", "high", "method", "n", "n_dropped", "note"]
SMALL = pl.DataFrame(
    {
        "y": [0, 0, 1, 1, 0, 1, 1, 0],
        "p": [0.1, 0.4, 0.35, 0.8, 0.5, 0.6, 0.2, 0.3],
        "g": ["a", "a", "a", "a", "b", "b", None, None],
        "d": [datetime.date(2013, 7, 1 + i % 2) for i in range(8)],
        "i": [1, 1, 2, 2, 3, 3, None, None],
        "f": [0.5, 0.5, float("nan"), float("nan"), 1.5, 1.5, None, None],
        "b": [True, True, True, True, False, False, False, False],
    }
)


def flights(**roles: Any) -> Predictions:
    return sqleval.scan(FLIGHTS, label="delayed", score="p_boosted", nulls="drop", **roles)


def small(**roles: Any) -> Predictions:
    return sqleval.scan(SMALL, label="y", score="p", **roles)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    SMALL.write_parquet(tmp_path / "rows.parquet")
    return tmp_path / "rows.parquet"


def assert_same(got: pl.DataFrame, wanted: pl.DataFrame) -> None:
    # Sums of doubles repeat to 1e-12, whatever the threads.
    assert_frame_equal(got, wanted, check_exact=False, rel_tol=1e-12, abs_tol=1e-12)


def counted() -> tuple[pl.LazyFrame, list[int]]:
    """Return the small rows as a LazyFrame, and a list that grows with each read."""
    reads: list[int] = []

    def read(
        columns: list[str] | None, predicate: pl.Expr | None, limit: int | None, size: int | None
    ) -> Iterator[pl.DataFrame]:
        reads.append(1)
        frame = SMALL if predicate is None else SMALL.filter(predicate)
        yield frame.select(columns) if columns is not None else frame

    return register_io_source(read, schema=SMALL.schema), reads


# -- lazy ----------------------------------------------------------------------------------


def test_nothing_is_read_before_collect() -> None:
    lazy, reads = counted()
    bound = sqleval.scan(lazy, label="y", score="p", by="g")
    results = [bound.evaluate(METRICS, ci=0.9), bound.curve("roc"), bound.confusion()]
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
    result = flights(by=["month", "carrier"]).evaluate(METRICS)
    assert result.collect(engine=engine).height == 6 * 16 * len(METRICS) - missing_slices()
    picked = result.filter(pl.col("month") == "07", pl.col("value") > 0.1).select("metric", "value")
    assert_same(picked.collect(engine=engine), picked.collect(engine="in-memory"))


def missing_slices() -> int:
    """Return how many results are missing because a carrier did not fly in a month."""
    flown = pl.scan_parquet(FLIGHTS, hive_partitioning=True).select("month", "carrier").unique()
    return (6 * 16 - flown.collect().height) * len(METRICS)


def test_a_result_can_be_collected_again_and_joined_with_itself() -> None:
    result = flights(by="month").evaluate(METRICS)
    first = result.collect()
    assert_same(result.collect(), first)
    engines: tuple[Literal["in-memory", "streaming"], ...] = ("in-memory", "streaming")
    for engine in engines:
        joined = result.join(result, on=["month", "metric"]).collect(engine=engine)
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


def test_a_result_can_be_written_without_being_held(tmp_path: Path) -> None:
    result = small(by="g").evaluate(METRICS)
    result.sink_parquet(tmp_path / "result.parquet")
    assert_same(pl.read_parquet(tmp_path / "result.parquet"), result.collect())


def test_eight_threads_at_once() -> None:
    result = flights(by="month").evaluate(METRICS)
    wanted = result.collect()
    with ThreadPoolExecutor(8) as pool:
        for got in pool.map(lambda _: result.collect(), range(8)):
            assert_same(got, wanted)


@pytest.mark.slow
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
    results = [bound.evaluate(METRICS), bound.curve("pr"), bound.confusion()]
    wanted = [result.collect() for result in results]
    with ThreadPoolExecutor(8) as pool:
        collected = list(pool.map(lambda i: results[i % 3].collect(), range(48)))
    for i, got in enumerate(collected):
        assert_same(got, wanted[i % 3])


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
        assert len(set(pool.map(one, range(32)))) == 1


def test_threads_may_share_one_connection_through_its_relations() -> None:
    con = duckdb.connect()
    con.from_arrow(SMALL.to_arrow()).create("rows")
    relations = [con.table("rows") for _ in range(4)]

    def one(i: int) -> float:
        bound = sqleval.scan(relations[i % 4], label="y", score="p", where="p >= 0")
        return bound.evaluate("ks").collect()["value"].item()

    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(one, range(40)))) == 1


# -- the namespace -------------------------------------------------------------------------


def test_the_namespace_of_a_lazy_frame() -> None:
    lazy: Any = SMALL.lazy()
    got = lazy.sqleval.evaluate(METRICS, label="y", score="p", by="g", ci=0.9).collect()
    assert_same(
        got, sqleval.scan(lazy, label="y", score="p", by="g").evaluate(METRICS, ci=0.9).collect()
    )
    assert lazy.sqleval.evaluate(label="y", score="p").collect().height == 12
    curve = lazy.sqleval.curve("roc", label="y", score="p").collect()
    assert_same(curve, small().curve("roc").collect())
    assert lazy.sqleval.confusion(label="y", score="p").collect()["n"].sum() == SMALL.height
    assert "roc_auc" in lazy.sqleval.sql("roc_auc", label="y", score="p")


def test_the_namespace_reads_nothing_before_collect() -> None:
    lazy, reads = counted()
    result = lazy.filter(pl.col("g") == "a").sqleval.evaluate("roc_auc", label="y", score="p")  # pyright: ignore[reportAttributeAccessIssue]
    assert reads == []
    assert result.collect()["n"].item() == 4


# -- pushdown ------------------------------------------------------------------------------


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
    flights(by="carrier").evaluate(METRICS).collect()
    _, plan = executed.last()
    assert columns_read(plan) == {"carrier", "delayed", "p_boosted"}
    flights(where="origin = 'JFK'").evaluate("roc_auc").collect()
    _, plan = executed.last()
    assert columns_read(plan) <= {"origin", "delayed", "p_boosted"}
    for scan in scans(plan):
        assert "origin='JFK'" in str(scan["Filters"]).replace(" ", "")


def test_a_filter_on_a_key_reaches_the_scan(executed: Executed) -> None:
    result = flights(by=["month", "carrier"]).evaluate(METRICS)
    got = result.filter(pl.col("carrier") == "AA").collect()
    _, plan = executed.last()
    for scan in scans(plan):
        assert "carrier='AA'" in str(scan["Filters"]).replace(" ", "")
    assert_same(got, result.collect().filter(pl.col("carrier") == "AA"))


def test_a_filter_on_a_partition_reads_only_its_files(executed: Executed) -> None:
    result = flights(by="month").evaluate(METRICS)
    got = result.filter((pl.col("month") == "07") | (pl.col("month") == "08")).collect()
    _, plan = executed.last()
    assert {scan["Scanning Files"] for scan in scans(plan)} == {"2/6"}
    assert_same(got, result.collect().filter((pl.col("month") == "07") | (pl.col("month") == "08")))


def test_of_a_mixed_filter_the_part_on_keys_reaches_the_scan(executed: Executed) -> None:
    result = flights(by="month").evaluate(METRICS)
    mixed = (pl.col("month") == "09") & (pl.col("value") > 0.5)
    got = result.filter(mixed).collect()
    _, plan = executed.last()
    assert {scan["Scanning Files"] for scan in scans(plan)} == {"1/6"}
    assert_same(got, result.collect().filter(mixed))


def test_a_filter_on_a_curve_reaches_the_scan(executed: Executed) -> None:
    result = flights(by="month").curve("roc")
    got = result.filter(pl.col("month") == "12").collect()
    _, plan = executed.last()
    assert {scan["Scanning Files"] for scan in scans(plan)} == {"1/6"}
    assert_same(got, result.collect().filter(pl.col("month") == "12"))


def test_only_the_wanted_columns_are_returned(executed: Executed) -> None:
    got = flights(by="month").evaluate(METRICS).select("value").collect()
    statement, _ = executed.last()
    assert got.columns == ["value"]
    outermost = statement[statement.rindex("\nSELECT") :]
    assert 'AS "value"' in outermost
    for name in ("month", "metric", "low", "n_dropped", "note"):
        assert f'"{name}"' not in outermost


def test_a_limit_reaches_the_statement(executed: Executed) -> None:
    result = flights(by="month").evaluate(METRICS)
    got = result.head(2).collect()
    statement, plan = executed.last()
    assert statement.endswith("LIMIT 2")
    assert {node["name"].strip() for node in plan} & {"TOP_N", "LIMIT", "STREAMING_LIMIT"}
    assert_same(got, result.collect().head(2))


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


@pytest.fixture(scope="module", params=["file", "stream"])
def lazy_and_whole(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[pl.LazyFrame, pl.DataFrame]:
    """Return a result with keys of many types, lazy and collected."""
    path = tmp_path_factory.mktemp("keys") / "rows.parquet"
    SMALL.write_parquet(path)
    source: Any = {"file": path, "stream": SMALL.lazy()}[request.param]
    bound = sqleval.scan(source, label="y", score="p", by=["g", "d", "i", "f", "b"])
    result = bound.evaluate(["roc_auc", "precision", "f_beta(beta=2)"])
    return result, result.collect()


@pytest.mark.parametrize("predicate", PREDICATES, ids=str)
def test_a_filter_before_collect_is_a_filter_after_it(
    predicate: pl.Expr, lazy_and_whole: tuple[pl.LazyFrame, pl.DataFrame]
) -> None:
    result, whole = lazy_and_whole
    assert_same(result.filter(predicate).collect(), whole.filter(predicate))
    picked = result.filter(predicate).select("value", "g").collect(engine="streaming")
    assert_same(picked, whole.filter(predicate).select("value", "g"))


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_other_operations_before_collect_are_those_after_it(
    engine: Literal["in-memory", "streaming"],
) -> None:
    result = small(by=["g", "d"]).evaluate(METRICS)
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
    for lazy, wanted in pairs:
        assert_same(lazy.collect(engine=engine), wanted)


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
        assert_same(got, result.collect().filter(predicate))


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


# -- the audit -----------------------------------------------------------------------------

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
    for result in (bound.evaluate(METRICS), bound.evaluate("prevalence"), bound.curve("roc")):
        wanted = result.collect_schema().names()[-1]
        for asked in (
            result,
            result.select(wanted),
            result.head(1),
            result.select(wanted).head(1),
            result.select(pl.len()),
            result.filter(pl.col(wanted).is_null()),
        ):
            with pytest.raises(DataError, match=sentence):
                asked.collect()


def test_the_audit_speaks_even_where_no_row_is_left() -> None:
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


# -- the text of the statement -------------------------------------------------------------


@pytest.mark.parametrize("plan", ["rows", "numbered", "groups"])
@pytest.mark.parametrize("ci", [None, 0.9])
@pytest.mark.parametrize(
    "roles",
    [
        {},
        {"by": ["carrier"]},
        {"by": ["month", "carrier"], "where": "origin = 'JFK'", "threshold": 0.3},
        {"weight": "w", "by": "carrier"},
    ],
    ids=["whole", "sliced", "two keys", "weighted"],
)
def test_the_statement_runs_as_pasted(
    roles: dict[str, Any],
    ci: float | None,
    plan: Literal["rows", "numbered", "groups"],
    tmp_path: Path,
) -> None:
    frame = pl.scan_parquet(FLIGHTS, hive_partitioning=True).filter(
        pl.col("carrier").is_in(["AA", "VX"])
    )
    frame.with_columns(w=pl.col("key") % 3).collect().write_parquet(tmp_path / "rows.parquet")
    bound = sqleval.scan(
        tmp_path / "rows.parquet", label="delayed", score="p_boosted", nulls="drop", **roles
    )
    text = bound.sql(METRICS, ci=ci, plan=plan)
    pasted = duckdb.connect().sql(text).pl()
    assert pasted["_problem"].null_count() == pasted.height
    wanted = bound.evaluate(METRICS, ci=ci).collect()
    # Which plan it was is what `method` says.
    assert_same(pasted.drop("_problem", "_notice", "method"), wanted.drop("method"))


def test_the_statement_with_its_parameters_is_the_same() -> None:
    bound = flights(by="month")
    kept = bound.sql(METRICS, params=True)
    assert "$threshold" in kept
    assert "$" not in bound.sql(METRICS)
    statement = bound.statement(METRICS)
    got = duckdb.connect().sql(kept, params=dict(statement.params)).pl()
    wanted = bound.evaluate(METRICS).collect()
    assert_same(got.drop("_problem", "_notice", "method"), wanted.drop("method"))


@pytest.mark.parametrize("curve", ["roc_curve", "pr", "confusion"])
def test_the_statement_of_a_curve_runs_as_pasted(curve: str) -> None:
    bound = flights(by="month")
    pasted = duckdb.connect().sql(bound.sql(curve)).pl()
    result = bound.confusion() if curve == "confusion" else bound.curve(curve)
    wanted = result.collect()
    assert_same(pasted.drop("_problem", "_notice").cast(dict(wanted.schema)), wanted)


def test_the_pasted_statement_says_what_is_wrong() -> None:
    bound = sqleval.scan(FLIGHTS, label="delayed", score="p_boosted")
    pasted = duckdb.connect().sql(bound.sql("roc_auc")).pl()
    with pytest.raises(DataError) as raised:
        bound.evaluate("roc_auc").collect()
    assert pasted["_problem"].to_list() == [str(raised.value)]
    assert "in 3950 of 170618 rows" in str(raised.value)


def test_the_statement_of_class_scores_runs_as_pasted() -> None:
    bound = sqleval.scan(
        FLIGHTS,
        label="delay_class",
        score={"on time": "on_time_boosted", "minor": "minor_boosted", "major": "major_boosted"},
        task="multiclass",
        nulls="drop",
        by="month",
    )
    pasted = duckdb.connect().sql(bound.sql()).pl()
    wanted = bound.evaluate().collect()
    assert_same(pasted.drop("_problem", "_notice", "method"), wanted.drop("method"))


# -- step by step --------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["file", "frame", "stream"])
def test_every_step_can_be_seen(kind: str, path: Path) -> None:
    source: Any = {"file": path, "frame": SMALL, "stream": SMALL.lazy()}[kind]
    bound = sqleval.scan(source, label="y", score="p", by="g")
    seen = list(bound.steps(METRICS, rows=3))
    ctes = bound.statement(METRICS).ctes
    assert [name for name, _, _ in seen] == [cte.name for cte in ctes]
    assert {"_source", "_audit", "predictions", "cutoffs", "outcomes", "_results"} <= {
        name for name, _, _ in seen
    }
    for name, sql, rows in seen:
        assert sql in [cte.sql for cte in ctes]
        assert rows.height <= 3
        assert rows.width, name
    shown = {name: rows for name, _, rows in seen}
    assert set(shown["predictions"].columns) >= {"label", "score", "weight"}
    whole = {name: rows for name, _, rows in bound.steps(METRICS, rows=1000)}
    assert whole["predictions"].height == SMALL.height
    assert whole["_results"].height == 3 * len(METRICS)


def test_the_steps_show_bad_rows_instead_of_raising() -> None:
    bad = SMALL.with_columns(p=pl.lit(None, pl.Float64))
    steps = sqleval.scan(bad, label="y", score="p").steps("roc_auc")
    shown = {name: rows for name, _, rows in steps}
    assert "is NULL or NaN in 8 of 8 rows" in shown["_problems"]["problem"].item()


def test_what_can_be_refused_is_refused_before_collect() -> None:
    with pytest.raises(RequestError, match="no metric called 'roc_acu'; did you mean 'roc_auc'"):
        small().evaluate("roc_acu")
    with pytest.raises(RequestError, match="no curve called 'rok'; did you mean 'roc_curve'"):
        small().curve("rok")
