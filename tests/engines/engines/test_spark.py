"""The front end on Spark and on Sail gives the frames that DuckDB gives."""

import gc
import json
import warnings
import weakref
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import deltalake
import duckdb
import numpy as np
import polars as pl
import pytest

import sqleval
from sqleval import DataError, EngineError, RequestError, SourceError
from sqleval.compiler.buckets import Buckets
from sqleval.dialects.spark import translate
from sqleval.engines.opening import _start_sail, open_engine
from sqleval.frontend import choosing, plan
from tests.support import support_matrix as matrix
from tests.support.commands import run
from tests.support.comparison import assert_frame_equal, assert_same_result
from tests.support.delta import delete_rows
from tests.support.object_store import ObjectStore
from tests.support.pages import blocks


@pytest.fixture(scope="module")
def rows() -> pl.DataFrame:
    rng = np.random.default_rng(5)
    n = 300
    label = rng.integers(0, 2, n)
    return pl.DataFrame(
        {
            "y": label,
            "p": np.round(np.clip(rng.normal(0.4 + 0.2 * label, 0.2), 0, 1), 2),
            "q": np.round(rng.random(n), 2),
            "seg": rng.choice(["a", "b", "c"], n),
            "fold": rng.integers(1, 4, n),
            "w": rng.integers(0, 4, n).astype(float),
            "c": rng.choice(["x", "y", "z"], n),
            "d": rng.choice(["x", "y", "z"], n),
            "day": pl.date_range(pl.date(2026, 1, 1), pl.date(2026, 10, 27), eager=True),
        }
    ).with_columns(gap=pl.when(pl.col("p") < 0.9).then("p"))


@pytest.fixture(scope="module")
def session(rows: pl.DataFrame) -> Iterator[Any]:
    """A session of Sail, with the rows and the tables of the page on engines as views."""
    engine: Any = open_engine("sail")
    session = engine.session
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PySpark 4.2 about pandas 3
        for name, table in {"rows": rows.to_arrow(), **matrix.tables()}.items():
            session.createDataFrame(_plain(table)).createOrReplaceTempView(name)
    return session


def _plain(table: Any) -> Any:
    return table.cast(matrix._plain(table.schema))


#: Few, as `export.test_dialects` runs the text of every metric and curve on Sail. A curve of models
#: takes as long as all of these, and has its own test below.
ASKED = [each for each in matrix.together(matrix.sample()) if each[0].name != "roc_dominance"]


@pytest.mark.parametrize(("asked", "names"), ASKED, ids=matrix.name_statement)
def test_metrics_and_curves(asked: matrix.Call, names: list[str], session: Any) -> None:
    found = matrix.evaluate(asked, names, asked.table, engine=session)
    assert_same_result(found, matrix.evaluate(asked, names, matrix.tables()[asked.table]))


SCORED: dict[str, Any] = {"label": "y", "score": "p"}
#: `export.test_dialect_options` runs the text of each option on Sail; here each is read once by the
#: front end, several together.
CALLS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "the default set, with weights": ({**SCORED, "weight": "w"}, {}),
    "slices": ({**SCORED, "by": ["seg", "day"]}, {"metrics": ["f1", "log_loss"]}),
    "bins": (SCORED, {"metrics": ["roc_auc", "f1"], "bins": 5}),
    "a tolerance": (SCORED, {"metrics": "roc_auc", "tolerance": 1e-3}),
    # One by bootstrap, one in closed form; `export.test_dialects` has each closed form.
    "models by slice, with intervals": (
        {"label": "y", "score": {"one": "p", "two": "q"}, "by": "seg"},
        {"metrics": ["ks", "log_loss"], "ci": 0.9},
    ),
    "a condition, and missing scores": (
        # Braces are placeholders of PySpark.
        {"label": "y", "score": "gap", "nulls": "drop", "where": "seg <> 'a' AND c <> '{x}'"},
        {"metrics": ["roc_auc", "log_loss"]},
    ),
    "folds": ({**SCORED, "over": "fold"}, {"metrics": ["f1(average='macro')"]}),
    "sets of keys, some of few rows": (
        {**SCORED, "by": ["seg", "fold"], "sets": "cube"},
        {"metrics": "roc_auc", "min_rows": 35},
    ),
    "classes": ({"label": "c", "prediction": "d", "task": "multiclass"}, {}),
    "one class and all": (
        {"label": "c", "prediction": "d"},
        {"metrics": ["f1(average='macro')", "recall(average=None)"]},
    ),
    "a gap": ({**SCORED, "by": "seg", "sets": "overall"}, {"metrics": "ks", "gap": True}),
}


@pytest.mark.parametrize("name", CALLS)
def test_every_option(name: str, rows: pl.DataFrame, session: Any) -> None:
    roles, call = CALLS[name]
    found = sqleval.scan("rows", engine=session, **roles).evaluate(**call)
    assert_same_result(found, sqleval.scan(rows, **roles).evaluate(**call))


def test_windows_within_slices_that_one_task_can_rank(
    rows: pl.DataFrame, session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "ROWS_OF_ONE_TASK", 150)  # of 300, about 100 a slice
    models: dict[str, Any] = {"label": "y", "score": {"one": "p", "two": "q"}}
    calls: list[tuple[dict[str, Any], bool]] = [
        ({**SCORED, "by": "seg"}, False),
        ({**SCORED, "by": "seg", "sets": "overall"}, True),
        ({**models, "weight": "w"}, True),
    ]
    for roles, has_buckets in calls:
        scan = sqleval.scan("rows", engine=session, **roles)
        assert isinstance(choosing.choose_buckets(scan), Buckets) == has_buckets
        assert_same_result(scan.evaluate("ks"), sqleval.scan(rows, **roles).evaluate("ks"))
    # The last roles once more, for a curve.
    curve = sqleval.scan(rows, **models, weight="w").curve("roc_dominance")
    assert_same_result(scan.curve("roc_dominance"), curve)


def test_a_filter_reaches_the_engine(rows: pl.DataFrame, session: Any) -> None:
    lazy = sqleval.scan("rows", **SCORED, by="seg", engine=session).evaluate("roc_auc")
    found = lazy.filter(pl.col("seg") == "b").select("seg", "value").collect()
    part = sqleval.scan(rows.filter(seg="b"), **SCORED).evaluate("roc_auc").collect()
    assert found.rows() == [("b", pytest.approx(part["value"].item(), abs=1e-12))]


def test_every_kind_of_source(rows: pl.DataFrame, session: Any, tmp_path: Any) -> None:
    rows.write_parquet(tmp_path / "part.parquet")
    rows.write_csv(tmp_path / "part.csv")
    expected = sqleval.scan(rows, **SCORED).evaluate("roc_auc")
    frame = session.table("rows")
    sources: list[dict[str, Any]] = [
        {"source": frame},
        {"source": "rows", "engine": session},
        {"source": str(tmp_path / "part.parquet"), "engine": session},
        {"source": str(tmp_path / "part.csv"), "engine": session},
        {"query": "SELECT y, p FROM rows", "engine": session},
    ]
    for source in sources:
        assert_same_result(sqleval.scan(**source, **SCORED).evaluate("roc_auc"), expected)


def test_labels_lie_in_a_second_table(rows: pl.DataFrame, session: Any) -> None:
    keyed = rows.with_row_index("id").with_columns(pl.col("id").cast(pl.Int64))
    scores, labels = keyed.select("id", "p", "seg"), keyed.select("id", "y")[:200]
    for name, frame in {"scores": scores, "labels": labels}.items():
        session.createDataFrame(_plain(frame.to_arrow())).createOrReplaceTempView(name)
    call: dict[str, Any] = {**SCORED, "by": "seg", "on": "id"}
    metrics = ["roc_auc", "f1"]
    found = sqleval.scan("scores", labels="labels", engine=session, **call).evaluate(metrics)
    expected = sqleval.scan(scores, labels=labels, **call).evaluate(metrics)
    with pytest.warns(sqleval.UnmatchedRows, match="100 of 300 rows"):
        assert_same_result(found, expected)


@pytest.mark.parametrize("prefix", ["", "delta+"])
def test_labels_of_a_delta_table_without_its_deleted_rows(
    prefix: str, rows: pl.DataFrame, session: Any, tmp_path: Path
) -> None:
    keyed = rows.with_row_index("id").with_columns(pl.col("id").cast(pl.Int64))
    keyed.select("id", "p", "seg").write_parquet(tmp_path / "scores.parquet")
    deltalake.write_deltalake(
        tmp_path / "labels", keyed.select("id", "y").to_arrow(),
        configuration={"delta.enableDeletionVectors": "true"},
    )  # fmt: skip
    delete_rows(tmp_path / "labels", [0, 2, 5, 299])
    call: dict[str, Any] = {**SCORED, "by": "seg", "on": "id"}
    found, expected = (
        sqleval.scan(
            str(tmp_path / "scores.parquet"), labels=f"{prefix}{tmp_path}/labels", **call, **options
        ).evaluate("roc_auc")
        for options in ({"engine": session}, {})
    )
    with pytest.warns(sqleval.UnmatchedRows, match="4 of 300 rows"):
        assert_same_result(found, expected)


def test_a_folder_of_a_store_that_holds_a_table(
    session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = pl.DataFrame({"y": [0, 1, 0], "p": [0.1, 0.6, 0.7]})
    deltalake.write_deltalake(tmp_path / "table", frame.to_arrow())
    deltalake.write_deltalake(tmp_path / "table", frame[:2].to_arrow(), mode="overwrite")
    frame.write_parquet(tmp_path / "part.parquet")
    store = ObjectStore()
    for name, value in {
        "ACCESS_KEY_ID": "writer", "SECRET_ACCESS_KEY": "writer", "ENDPOINT_URL": store.url,
        "REGION": "eu-west-1", "ALLOW_HTTP": "true",
    }.items():  # fmt: skip
        monkeypatch.setenv(f"AWS_{name}", value)
    try:
        store.put_folder(tmp_path / "table", "lake/table")
        store.put("lake/plain/part.parquet", (tmp_path / "part.parquet").read_bytes())
        for path, rows in {"s3://lake/plain": 3, "delta+s3://lake/table": 2}.items():
            found = sqleval.scan(path, **SCORED, engine=session).evaluate("prevalence").collect()
            assert found["n"].item() == rows
        # Its files include the deleted rows.
        with pytest.raises(SourceError, match=r"a table in the Delta format; write delta\+s3://"):
            sqleval.scan("s3://lake/table", **SCORED, engine=session)
        both = [f"{tmp_path}/part.parquet", f"{tmp_path}/table"]
        with pytest.raises(SourceError, match=r"/table' is a table in a list of 2 paths"):
            sqleval.scan(both, **SCORED, engine=session)
    finally:
        store.close()


def test_states_that_are_built_within_tasks(session: Any, tmp_path: Path) -> None:
    """The page's recipe gives the state of all rows."""
    (recipe,) = (
        block for block in blocks("docs/guide/spark.md", "text") if "mapInArrow" in block.text
    )
    source = Path(__file__).parents[3] / "data" / "flights" / "predictions"
    code = recipe.text.replace('"data/flights/predictions"', repr(str(source)))
    code = code.replace('"states"', repr(str(tmp_path / "states")))
    # Sail's workers, like those of a cluster, receive a function by value.
    space: dict[str, Any] = {"session": session, "__name__": "__main__"}
    exec(compile(code, "spark.md", "exec"), space)
    roles, metrics = space["ROLES"], ["roc_auc", "log_loss"]
    expected = sqleval.from_state(
        sqleval.scan(source, **roles).state(metrics).collect(), by="carrier"
    )
    assert_frame_equal(space["result"], expected.evaluate(metrics).collect(), abs_tol=1e-9)
    assert len(list((tmp_path / "states").glob("*.parquet"))) >= 1


@pytest.mark.parametrize(
    ("column", "zone", "grain"),
    # Each column with and without a zone. The grain is a word in the statement, except for the hour
    # in a zone, which is calculated from all parts.
    [
        ("instant", None, "hour"),
        ("instant", "America/New_York", "week"),
        ("naive", None, "day"),
        ("naive", "America/New_York", "hour"),
        ("text", None, "week"),
        ("text", "America/New_York", "hour"),
    ],
)
def test_periods_do_not_depend_on_the_zone_of_the_session(
    column: str, zone: str | None, grain: str, session: Any, tmp_path: Any
) -> None:
    start = datetime(2024, 3, 9, tzinfo=UTC)  # New York changes its clocks on the 10th.
    times = [start + timedelta(hours=i) for i in range(72)]
    frame = pl.DataFrame(
        {
            "y": pl.Series([i % 3 % 2 for i in range(72)], dtype=pl.Int32),
            "p": [i * 37 % 72 / 72 for i in range(72)],
            "instant": times,
            "naive": [time.replace(tzinfo=None) for time in times],
            # Times with and without an offset are branches of one expression.
            "text": [
                (time if time.hour % 3 else time.replace(tzinfo=None)).isoformat() for time in times
            ],
        }
    )
    path = str(tmp_path / "rows.parquet")
    frame.write_parquet(path)
    before = session.conf.get("spark.sql.session.timeZone")
    session.conf.set("spark.sql.session.timeZone", "America/Los_Angeles")
    try:
        found, expected = (
            sqleval.scan(path, **SCORED, **options)
            .state(grain=grain, time=column, timezone=zone)
            .select("period", "label", "score", "n")
            .collect()
            for options in ({"engine": session}, {})
        )
        assert_frame_equal(found, expected, check_row_order=False)
    finally:
        # Sail has no default for this setting, so it cannot be unset.
        session.conf.set("spark.sql.session.timeZone", before)


SPLITS: list[dict[str, Any]] = [
    {"stratify": "y", "seed": 3},
    {"method": "kfold", "n_splits": 4, "seed": 3, "where": "seg <> 'a'"},
    {"method": "nested_kfold", "n_splits": 3},
    {"method": "hash_kfold"},
    {"method": "bootstrap", "repeats": 2},
    {"method": "expanding", "time": "day", "n_splits": 3, "gap": "7d"},
    # Several rows a second; the fractions decide which are within the gap.
    {"method": "sliding", "time": "moment", "window": "9s", "n_splits": 3, "gap": "1s"},
    {"method": "kfold", "group": "seg", "n_splits": 3},
    {"method": "leave_p_groups_out", "group": "seg", "p": 2},
]


@pytest.mark.parametrize("options", SPLITS, ids=lambda options: options.get("method", "holdout"))
def test_splits_assign_the_rows_alike(
    options: dict[str, Any], rows: pl.DataFrame, session: Any
) -> None:
    numbered = rows.with_row_index("id").with_columns(
        pl.col("id").cast(pl.Int64),
        moment=pl.datetime(2026, 1, 1) + pl.duration(milliseconds=pl.col("id") * 7919 % 300 * 137),
    )
    view = session.createDataFrame(_plain(numbered.to_arrow()))
    found = sqleval.split(view, key="id", **options)
    expected = sqleval.split(numbered, key="id", **options)
    assert found.collect_schema() == expected.collect_schema()
    whole = found.collect()
    assert_frame_equal(whole, expected.collect(), check_row_order=False)
    # The code that reads a split wraps its statement, so one method is enough.
    if options.get("method") == "bootstrap":
        tested = found.filter(pl.col("role") == "test").select("id", "fold").collect()
        mine = whole.filter(pl.col("role") == "test").select("id", "fold")
        assert_frame_equal(tested, mine, check_row_order=False)


def test_a_stopped_session_is_opened_again(rows: pl.DataFrame, tmp_path: Path) -> None:
    path = str(tmp_path / "part.parquet")
    rows.write_parquet(path)
    # A second server, opened by its address, so that the session of this module lives on.
    address = _start_sail()
    expected = sqleval.scan(rows, **SCORED).evaluate("roc_auc")
    for _ in range(2):
        engine: Any = open_engine(address)
        assert open_engine(address) is engine
        assert_same_result(
            sqleval.scan(path, engine=address, **SCORED).evaluate("roc_auc"), expected
        )
        engine.session.stop()
        assert engine.is_stopped
    assert open_engine(address) is not engine


def test_the_command_writes_the_split_that_duckdb_writes(
    rows: pl.DataFrame, tmp_path: Path
) -> None:
    path = tmp_path / "rows.parquet"
    rows.with_row_index("id").cast({"id": pl.Int64}).write_parquet(path)
    found: list[pl.DataFrame] = []
    for engine in ("sail", "duckdb"):
        call = ["split", str(path), "--engine", engine, "--key", "id"]
        call += ["--method", "kfold", "--n-splits", "3", "--where", "seg <> 'a'"]
        folder, file = tmp_path / engine / "folds", tmp_path / engine / "split.duckdb"
        folder.parent.mkdir()
        run(*call, "--output", str(folder), "--by", "fold")
        run(*call, "--output", str(file), "--into", "folds")
        assert sorted(each.name for each in folder.iterdir()) == ["fold=1", "fold=2", "fold=3"]
        with duckdb.connect(str(file)) as con:
            found.append(con.sql("FROM folds ORDER BY ALL").pl())
        written = pl.read_parquet(folder, hive_partitioning=True).select(found[-1].columns)
        types = found[-1].schema
        assert_frame_equal(written.cast(dict(types)), found[-1], check_row_order=False)
    assert_frame_equal(found[0], found[1], check_dtypes=False)


def test_a_split_is_checked_as_by_duckdb(rows: pl.DataFrame, tmp_path: Path) -> None:
    source, path = tmp_path / "rows.parquet", tmp_path / "split.parquet"
    columns = pl.col("y", "q", "seg", "day")
    numbered = rows.select(pl.int_range(pl.len()).alias("id"), columns)
    numbered.with_columns(q=pl.col("q").round(1)).write_parquet(source)
    held = pl.when(pl.col("y") == 1, pl.col("id") < 60).then(pl.lit("test"))
    bad = numbered.select("id", fold=pl.lit("A"), role=held.otherwise(pl.lit("train")))
    # Keys that occur twice, and rows without a role.
    bad = pl.concat([bad.head(250), bad.head(3)])
    nested = sqleval.split(numbered, key="id", method="nested_kfold", n_splits=3, stratify="y")
    call = ["--key", "id", "--group", "seg", "--time", "day", "--stratify", "y"]
    call += ["--content", "q", "--content", "seg", "--format", "json"]
    found: dict[str, list[Any]] = {}
    for split in (bad, nested.collect()):
        split.write_parquet(path)
        for engine in ("sail", "duckdb"):
            checked = run(
                "split", "check", str(path), str(source), "--engine", engine, *call, code=1
            )
            found.setdefault(engine, []).append(json.loads(checked.stdout))
    assert found["sail"] == found["duckdb"]
    assert [each["check"] for each in found["sail"][0]] == [
        "keys", "groups", "duplicates", "future", "strata", "share", "unassigned",
    ]  # fmt: skip
    with pytest.raises(RequestError, match="verify= is for what DuckDB reads"):
        sqleval.check_split(str(path), str(source), key="id", engine="sail", verify=True)


@pytest.mark.parametrize("form", ["JOIN", "LEFT JOIN", "ANTI JOIN"])
def test_keys_that_may_be_null_are_joined_by_hashing(session: Any, form: str) -> None:
    statement = (
        f"SELECT COUNT(*) FROM rows AS a {form} rows AS b ON a.seg IS NOT DISTINCT FROM b.seg"
    )
    ((plan,),) = session.sql(f"EXPLAIN {translate(statement, ())}").collect()
    assert "HashJoinExec" in plan
    assert "NestedLoopJoinExec" not in plan


def test_errors_are_those_of_duckdb(session: Any) -> None:
    with pytest.raises(SourceError, match=r"cannot read nowhere: .*nowhere"):
        sqleval.scan("nowhere", **SCORED, engine=session)
    with pytest.raises(SourceError, match=r"cannot read /nowhere/x\.parquet"):
        sqleval.scan("/nowhere/x.parquet", **SCORED, engine=session)
    with pytest.raises(SourceError, match="cannot read the query"):
        sqleval.scan(query="SELEC 1", **SCORED, engine=session)
    with pytest.raises(RequestError, match="no such column in rows; did you mean"):
        sqleval.scan("rows", label="y", score="pp", engine=session)
    with pytest.raises(RequestError, match=r"engine='sprak' must be one of: duckdb, spark"):
        sqleval.scan("rows", **SCORED, engine="sprak")
    with pytest.raises(EngineError, match=r"engine='sc://127.0.0.1:1': no server answers there"):
        sqleval.scan("rows", **SCORED, engine="sc://127.0.0.1:1")
    with pytest.raises(RequestError, match=r"version= is for what DuckDB reads"):
        sqleval.scan("rows", **SCORED, engine=session, version=1)
    with pytest.raises(RequestError, match=r"version= is for what DuckDB reads"):
        sqleval.scan("rows", **SCORED, engine=session, version=0)
    lazy = sqleval.scan("rows", label="y", score="gap", engine=session).evaluate("roc_auc")
    with pytest.raises(DataError, match=r"score='gap' is NULL or NaN in \d+ of 300 rows"):
        lazy.collect()


def test_an_engine_lives_as_long_as_its_session(session: Any) -> None:
    other = session.builder.remote(_start_sail()).create()
    assert open_engine(other) is open_engine(other)
    assert open_engine(other) is not open_engine(session)
    of_session = weakref.ref(other)
    del other
    gc.collect()
    assert of_session() is None


def test_a_condition_means_the_same_everywhere(session: Any) -> None:
    for where, what in {"lower(seg) = 'a'": "Lower", "seg LIKE 'a%'": "Like"}.items():
        with pytest.raises(RequestError, match=f"{what} is not read alike by all engines"):
            sqleval.scan("rows", **SCORED, where=where, engine=session)


def test_a_predicate_that_engines_read_otherwise_stays_with_polars(
    rows: pl.DataFrame, session: Any
) -> None:
    lazy = sqleval.scan("rows", **SCORED, by="seg", engine=session).evaluate("roc_auc")
    found = lazy.filter(pl.col("seg").str.starts_with("b")).collect()
    part = sqleval.scan(rows.filter(seg="b"), **SCORED).evaluate("roc_auc").collect()
    assert found["value"].item() == pytest.approx(part["value"].item(), abs=1e-12)


def test_states_by_the_hour(rows: pl.DataFrame, session: Any) -> None:
    timed = rows.with_columns(at=pl.col("day").cast(pl.Datetime("us")) + pl.duration(minutes=90))
    session.createDataFrame(_plain(timed.to_arrow())).createOrReplaceTempView("timed")
    call: dict[str, Any] = {"grain": "hour", "time": "at"}
    found = sqleval.scan("timed", **SCORED, engine=session).state("roc_auc", **call).collect()
    expected = sqleval.scan(timed, **SCORED).state("roc_auc", **call).collect()
    keys = ["period", "label", "score"]
    names = [*keys, "score_low", "score_high", "n", "used"]
    assert_frame_equal(found.select(names).sort(keys), expected.select(names).sort(keys))


def test_printed_sql_is_over_the_table(rows: pl.DataFrame, session: Any, tmp_path: Path) -> None:
    part, csv = str(tmp_path / "a `part`.parquet"), str(tmp_path / "part.csv")
    rows.write_parquet(part)
    rows.write_csv(csv)
    expected = sqleval.scan(rows, **SCORED).evaluate(["roc_auc", "f1"])
    frame = session.table("rows")
    query = "SELECT y, p FROM rows WHERE y < 9"
    sources: list[tuple[str, dict[str, Any]]] = [
        ("FROM rows AS s", {"source": "rows", "engine": session}),
        ("FROM parquet.`", {"source": part, "engine": session}),
        (f"FROM ({query}) AS s", {"query": f"{query};", "engine": session}),
        ("-- _sqleval_rows stands for the DataFrame", {"source": frame}),
        ("part.csv: make a temporary view", {"source": csv, "engine": session}),
    ]
    frame.createOrReplaceTempView("_sqleval_rows")
    for beginning, source in sources:
        text = sqleval.scan(**source, **SCORED).sql(["roc_auc", "f1"])
        assert beginning in " ".join(text.split()), text
        found = pl.DataFrame(session.sql(text).toArrow())
        assert_same_result(found.select(expected.collect_schema().names()).lazy(), expected)


def test_a_result_becomes_a_table_of_spark(
    rows: pl.DataFrame, session: Any, tmp_path: Path
) -> None:
    result = sqleval.scan(rows, **SCORED, by="seg").evaluate(["roc_auc", "f1"], ci=0.9).collect()
    writer = session.createDataFrame(result.to_arrow()).write.mode("overwrite")
    writer.saveAsTable("metrics", path=str(tmp_path / "metrics"))
    assert_frame_equal(pl.DataFrame(session.table("metrics").toArrow()), result)
    session.sql("DROP TABLE metrics")


@pytest.mark.parametrize("options", [{}, {"by": "seg"}, {"weight": "w"}], ids=str)
def test_models_are_compared_by_many_tasks(
    options: dict[str, Any], rows: pl.DataFrame, session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = {"label": "y", "score": {"p": "p", "q": "q"}, **options}
    expected = sqleval.scan(rows, **call).compare(["roc_auc", "gini"]).collect()
    monkeypatch.setattr(plan, "ROWS_OF_ONE_TASK", 50)
    # `p` and `q` have many ties, also with each other.
    found = sqleval.scan("rows", engine=session, **call).compare(["roc_auc", "gini"])
    assert_frame_equal(found.collect(), expected, abs_tol=1e-12)


def test_wrong_rows_and_worse_slices(rows: pl.DataFrame, session: Any) -> None:
    ours = sqleval.scan("rows", engine=session, label="y", score="p")
    theirs = sqleval.scan(rows, label="y", score="p")
    for by in ("log_loss", "error_rate"):
        found, wanted = (each.rows(300, by=by).collect() for each in (ours, theirs))
        assert found.columns == wanted.columns
        np.testing.assert_allclose(found[by], wanted[by], rtol=1e-12)
    # The ends of ranges are near those of DuckDB, so only values are searched.
    columns = ["seg", "fold", "CASE WHEN p >= 0.5 AND y = 0 THEN 'wrong' ELSE 'right' END"]
    found, wanted = (
        each.slices(columns, "brier_score", min_rows=10).collect() for each in (ours, theirs)
    )
    assert wanted.height > 0
    assert found["slice"].to_list() == wanted["slice"].to_list()
    np.testing.assert_allclose(found["low"], wanted["low"], rtol=1e-9)
    assert ours.slices("q", min_rows=10).collect().columns == wanted.columns
