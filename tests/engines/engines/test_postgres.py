"""The front end on PostgreSQL gives the frames that DuckDB gives."""

import json
import logging
import math
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import adbc_driver_postgresql.dbapi as driver
import adbc_driver_sqlite.dbapi as sqlite
import numpy as np
import polars as pl
import pytest

import sqleval
from sqleval import DataError, EngineError, RequestError, SourceError
from tests.support import support_matrix as matrix
from tests.support.commands import run
from tests.support.comparison import assert_frame_equal, assert_same_result
from tests.support.engines import PostgreSQL

SCORED: dict[str, Any] = {"label": "y", "score": "p"}
YES = "it's \\ yes"


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
            # In the collation of most databases, a would come before B.
            "seg": rng.choice(["a", "B", "c"], n),
            "fold": rng.integers(1, 4, n),
            "w": rng.integers(0, 4, n).astype(float),
            "c": rng.choice(["x", "Y", "z"], n),
            "d": rng.choice(["x", "Y", "z"], n),
            "day": pl.date_range(pl.date(2026, 1, 1), pl.date(2026, 10, 27), eager=True),
        }
    ).with_columns(
        answer=pl.when(pl.col("y") == 1).then(pl.lit(YES)).otherwise(pl.lit("no")),
        gap=pl.when(pl.col("p") < 0.9).then("p"),
        nan=pl.when(pl.col("p") < 0.9).then("p").otherwise(float("nan")),
        zero=pl.when(pl.int_range(pl.len()) % 3 > 0).then(0.0).otherwise(-0.0),
        # Their squares underflow and overflow, which is an error in PostgreSQL.
        tiny=pl.when(pl.col("p") < 0.5).then(1e-200).otherwise("p"),
        huge=pl.when(pl.col("p") < 0.5).then(1e200).otherwise("p"),
    )


@pytest.fixture(scope="module")
def server(rows: pl.DataFrame) -> Iterator[PostgreSQL]:
    with PostgreSQL() as server:
        for name, table in {"rows": rows.to_arrow(), **matrix.tables()}.items():
            server.load(name, table)
        yield server


@pytest.fixture(scope="module")
def url(server: PostgreSQL) -> str:
    return server.url


#: Few, as `export.test_dialects` runs the text of every metric and curve on PostgreSQL.
ASKED = matrix.together(matrix.sample())


@pytest.mark.parametrize(("asked", "names"), ASKED, ids=matrix.name_statement)
def test_metrics_and_curves(asked: matrix.Call, names: list[str], url: str) -> None:
    found = matrix.evaluate(asked, names, asked.table, engine=url)
    assert_same_result(found, matrix.evaluate(asked, names, matrix.tables()[asked.table]))


#: `export.test_dialect_options` runs the text of each option on PostgreSQL. The front end reads
#: each once here, with cases that are an error in PostgreSQL and a value elsewhere.
CALLS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "the default set, with weights": ({**SCORED, "weight": "w"}, {}),
    "slices": ({**SCORED, "by": ["seg", "day"]}, {"metrics": ["f1", "log_loss"]}),
    "zeros of both signs": ({**SCORED, "by": ["zero", "seg"]}, {"metrics": ["f1", "roc_auc"]}),
    "bins": (SCORED, {"metrics": ["roc_auc", "f1"], "bins": 5}),
    "a tolerance": (SCORED, {"metrics": "roc_auc", "tolerance": 1e-3}),
    # One by bootstrap, one in closed form; `export.test_dialects` has each closed form.
    "models": (
        {"label": "y", "score": {"one": "p", "two": "q"}, "by": "seg"},
        {"metrics": ["ks", "log_loss"], "ci": 0.9},
    ),
    "a condition": (
        {**SCORED, "where": "seg <> 'a' AND day < DATE '2026-03-01' AND q / 2 > 0.1"},
        {"metrics": ["roc_auc", "log_loss"]},
    ),
    "no rows": ({**SCORED, "where": "q > 2"}, {}),
    "no slices": ({**SCORED, "where": "q > 2", "by": "seg"}, {"metrics": "f1"}),
    "one class": ({**SCORED, "where": "y = 1"}, {}),
    "a class a slice": ({**SCORED, "by": "y"}, {"metrics": "normalized_entropy", "ci": 0.9}),
    "folds": ({**SCORED, "over": "fold"}, {"metrics": ["f1(average='macro')"]}),
    "sets of keys, some of few rows": (
        {**SCORED, "by": ["seg", "fold"], "sets": "cube"},
        {"metrics": "roc_auc", "min_rows": 35},
    ),
    "classes": ({"label": "c", "prediction": "d", "task": "multiclass"}, {}),
    "one row a class": (
        {"label": "c", "prediction": "d", "task": "multiclass", "by": "seg"},
        {"metrics": "recall(average=None)"},
    ),
    "a positive class": (
        {"label": "answer", "score": "p", "positive": YES},
        {"metrics": ["roc_auc", "f1(threshold=0.25)"]},
    ),
    "an infinite threshold": ({**SCORED, "by": "seg", "threshold": math.inf}, {}),
    "a threshold below all scores": (
        {**SCORED, "threshold": -math.inf},
        {"metrics": ["f1", "accuracy"]},
    ),
    "missing scores": ({"label": "y", "score": "gap", "nulls": "drop"}, {"metrics": "roc_auc"}),
    "scores that are NaN": (
        {"label": "y", "score": "nan", "nulls": "drop"},
        {"metrics": ["roc_auc", "log_loss"]},
    ),
    "probabilities of 0": ({"label": "y", "score": "zero"}, {"metrics": "log_loss(eps=0)"}),
    "tiny probabilities": (
        {"label": "y", "score": "tiny", "by": {"is_low": "tiny < 0.1"}},
        {"metrics": ["pcoc", "brier_score", "brier_reliability"], "ci": 0.9},
    ),
    "huge errors": (
        {"label": "q", "prediction": "huge", "task": "regression"},
        {"metrics": ["mse", "rmse"], "ci": 0.9},
    ),
    "a gap": ({**SCORED, "by": "seg", "sets": "overall"}, {"metrics": "ks", "gap": True}),
    "computed keys": (
        {**SCORED, "by": {"month": "date_trunc('month', day)", "kind": "seg || '/' || c"}},
        {"metrics": "roc_auc"},
    ),
    "intervals of a number": (
        {**SCORED, "by": {"size": "cut(q, [0.3, 0.6])"}},
        {"metrics": "roc_auc"},
    ),
    "equal shares of a number": (
        {**SCORED, "by": {"size": "qcut(q, 4)"}, "where": "y + 1 > 0"},
        {"metrics": "roc_auc"},
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_every_option(name: str, rows: pl.DataFrame, url: str) -> None:
    roles, call = CALLS[name]
    found = sqleval.scan("rows", engine=url, **roles).evaluate(**call)
    expected = sqleval.scan(rows, **roles).evaluate(**call)
    if isinstance(roles.get("by"), dict):
        # DuckDB has an ENUM for intervals, and a DATE for the first of a month.
        expected = expected.cast({name: found.collect_schema()[name] for name in roles["by"]})
    assert_same_result(found, expected)


@pytest.mark.parametrize("setting", ["on", "off"])
def test_a_quoted_text_is_never_read_as_sql(
    setting: str, rows: pl.DataFrame, server: PostgreSQL
) -> None:
    # Off, as in old servers, a backslash escapes the quote behind it.
    where = "answer <> 'x\\' AND answer <> ' OR TRUE --'"
    call: dict[str, Any] = {"label": "answer", "score": "p", "positive": YES, "where": where}
    url = f"{server.url}&options=-cstandard_conforming_strings%3D{setting}"
    assert_same_result(
        sqleval.scan("rows", engine=url, **call).evaluate("roc_auc"),
        sqleval.scan(rows, **call).evaluate("roc_auc"),
    )


def test_the_statement_is_in_postgresqls_sql(server: PostgreSQL) -> None:
    scan = sqleval.scan("rows", **SCORED, by="seg", engine=server.url)
    shown = server.run(scan.sql("f1"))
    found = scan.evaluate("f1").collect()
    assert shown.columns[:3] == ["seg", "metric", "value"]
    assert [row[2] for row in shown.rows] == found["value"].to_list()
    assert [name for name, _, _ in scan.steps("f1")][:2] == ["_source", "_audit"]
    # The rows are read from the table, not from a copy that the server keeps.
    plan = server.run(f"EXPLAIN {scan.sql(['f1', 'log_loss'])}").rows
    copies = [line for (line,) in plan if "CTE Scan" in str(line)]
    assert all("_source" not in str(line) and "predictions" not in str(line) for line in copies)


def test_only_results_travel(
    rows: pl.DataFrame, url: str, caplog: pytest.LogCaptureFixture
) -> None:
    lazy = sqleval.scan("rows", **SCORED, by="seg", engine=url).evaluate("roc_auc")
    with caplog.at_level(logging.DEBUG, "sqleval"):
        found = lazy.filter(pl.col("seg") == "B").select("seg", "value").collect()
        spelled = lazy.filter(pl.col("seg").str.starts_with("B")).select("value").collect()
    part = sqleval.scan(rows.filter(seg="B"), **SCORED).evaluate("roc_auc").collect()
    assert found.rows() == [("B", pytest.approx(part["value"].item(), abs=1e-12))]
    assert spelled["value"].to_list() == found["value"].to_list()
    first, second = (each.getMessage() for each in caplog.records)
    assert "DOUBLE PRECISION" in first
    assert "\"seg\" = 'B'" in first
    # A function that engines do not share stays with Polars.
    assert "WHERE" not in second.split("_audit")[0]


def test_every_kind_of_source(rows: pl.DataFrame, server: PostgreSQL) -> None:
    expected = sqleval.scan(rows, **SCORED).evaluate("roc_auc")
    # Expressions that sqlglot would misread, or not parse.
    query = "SELECT y, (ARRAY[p, q])[1] AS p FROM rows WHERE seg ~ '^[aBc]$' -- all;"
    with driver.connect(server.url) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE mine AS SELECT y, p FROM rows")
        sources: list[dict[str, Any]] = [
            {"source": "public.rows", "engine": server.url},
            {"query": query, "engine": server.url},
            {"source": "mine", "engine": connection},
            {"query": query, "engine": connection},
        ]
        for source in sources:
            scan = sqleval.scan(**source, **SCORED)
            # Two at once, each in a thread.
            both = pl.collect_all([scan.evaluate("roc_auc"), scan.evaluate("roc_auc")])
            for found in both:
                assert_same_result(found.lazy(), expected)


def test_types_are_read_as_numbers_times_and_texts(server: PostgreSQL) -> None:
    server._connection.execute(
        """
        CREATE TYPE mood AS ENUM ('sad', 'ok');
        CREATE TABLE typed (
            y SMALLINT, p NUMERIC(4, 2), free NUMERIC, at TIMESTAMPTZ, mood MOOD, code CHAR(3),
            id UUID, tags INT [], doc JSONB
        );
        INSERT INTO typed
        SELECT
            i % 2, i / 10.0, CASE WHEN i = 3 THEN 'NaN' ELSE i / 10.0 END,
            '2026-07-01 23:30+00', 'ok', 'ab',
            '00000000-0000-0000-0000-000000000001', '{1,2}', '{"a": 1}'
        FROM GENERATE_SERIES(1, 8) AS i
        """
    )
    keys = ["mood", "code", "id", "tags", "doc"]
    call: dict[str, Any] = {"label": "y", "engine": server.url}
    scan = sqleval.scan("typed", score="p", by=keys, where="mood = 'ok' AND code = 'ab'", **call)
    frame = scan.evaluate("roc_auc").collect()
    uuid = "00000000-0000-0000-0000-000000000001"
    assert frame.select(keys).rows() == [("ok", "ab", uuid, "{1,2}", '{"a": 1}')]
    assert frame["n"].item() == 8
    lazy = sqleval.scan("typed", score="free", **call).evaluate("roc_auc")
    with pytest.raises(DataError, match="score='free' is NULL or NaN in 1 of 8 rows"):
        lazy.collect()
    # The time zone of the session shifts an instant, but not a date.
    zone = f"{server.url}&options=-cTimeZone%3DAsia/Tokyo"
    by = {"day": "CAST(at AS DATE)"}
    found = sqleval.scan("typed", label="y", score="p", by=by, engine=zone).evaluate("roc_auc")
    assert str(found.collect()["day"].item()) == "2026-07-02"
    by = {"month": "date_trunc('month', day)"}
    found = sqleval.scan("rows", **SCORED, by=by, engine=zone).evaluate("accuracy").collect()
    assert [str(month) for month in found["month"][:2]] == [
        "2026-01-01 00:00:00",
        "2026-02-01 00:00:00",
    ]


def test_labels_lie_in_a_second_table(rows: pl.DataFrame, server: PostgreSQL) -> None:
    keyed = rows.with_row_index("id").with_columns(pl.format("k{}", pl.col("id")).alias("id"))
    scores, labels = keyed.select("id", "p", "seg"), keyed.select("id", "y")[:200]
    for name, frame in {"scores": scores, "labels": labels}.items():
        server.load(name, frame.to_arrow())
    call: dict[str, Any] = {**SCORED, "by": "seg", "on": "id", "where": "seg <> 'c'"}
    metrics = ["roc_auc", "f1"]
    found = sqleval.scan("scores", labels="labels", engine=server.url, **call).evaluate(metrics)
    expected = sqleval.scan(scores, labels=labels, **call).evaluate(metrics)
    with pytest.warns(sqleval.UnmatchedRows, match="rows have no label"):
        assert_same_result(found, expected)


@pytest.mark.parametrize(
    ("grain", "timezone"), [("hour", None), ("day", "Europe/Berlin"), ("month", None)]
)
def test_states_are_those_of_duckdb(grain: str, timezone: str | None, url: str) -> None:
    # DuckDB reads the same table, so its type of a time equals the column's.
    both = [
        sqleval.scan("rows", **SCORED, by="seg", engine=url),
        sqleval.scan(f"{url}#rows", **SCORED, by="seg"),
    ]
    time = "day" if grain == "month" else "at"
    if time == "at":
        query = "SELECT *, day + TIME '22:30' AS at FROM rows"
        both = [
            sqleval.scan(query=query, **SCORED, by="seg", engine=url),
            sqleval.scan(url, query=query, **SCORED, by="seg"),
        ]
    found, expected = (
        each.state(["roc_auc", "log_loss"], grain=grain, time=time, timezone=timezone, ci=True)
        for each in both
    )
    keys = ["period", "seg", "label", "score", "used"]
    one, other = found.collect().sort(keys), expected.collect().sort(keys)
    assert_frame_equal(one, other)
    for name in ("label", "score", "score_low", "score_high", "n", "definition"):
        assert one[name].equals(other[name])
    merged = sqleval.from_state(pl.concat([one[:100], other[100:]]), by="seg")
    metrics, columns = ["log_loss", "accuracy"], ["seg", "metric", "value", "n"]
    assert_same_result(
        merged.evaluate(metrics).select(columns), both[1].evaluate(metrics).select(columns)
    )


def test_states_of_scores_that_are_whole_numbers(url: str) -> None:
    # DuckDB casts them to integers of 128 bits.
    roles: dict[str, Any] = {"label": "y", "score": "fold"}
    found, expected = (
        sqleval.scan(*source, **roles, **options).state("roc_auc").collect()
        for source, options in ((["rows"], {"engine": url}), ([f"{url}#rows"], {}))
    )
    assert_frame_equal(found, expected, check_row_order=False)


def test_the_command(server: PostgreSQL, tmp_path: Path) -> None:
    # Two statements of the command, one of Python.
    options = ("--engine", server.url, "--label", "y", "--score", "p", "--by", "seg")
    done = run("evaluate", "public.rows", *options, "-m", "roc_auc", "--format", "json")
    expected = sqleval.scan("rows", **SCORED, by="seg", engine=server.url).evaluate("roc_auc")
    assert [row["value"] for row in json.loads(done.stdout)] == expected.collect()[
        "value"
    ].to_list()
    state = str(tmp_path / "state.parquet")
    run("state", "build", "rows", *options, "--grain", "month", "--time", "day", "--output", state)
    assert sqleval.from_state(state, by="seg").evaluate("accuracy").collect()["n"].sum() == 300
    refused = run(
        "evaluate", "rows", "--engine", "postgresql://me:secret@host/db", "--label", "y",
        "--score", "p", code=2,
    )  # fmt: skip
    assert "must not hold a password" in refused.stderr
    assert "secret" not in refused.stderr
    run("evaluate", "rows", "--engine", f"{server.url}&port=1", *options[2:], code=3)


def test_a_report_and_a_choice(server: PostgreSQL, tmp_path: Path) -> None:
    source = ("rows", "--engine", server.url)
    page = tmp_path / "page.html"
    # Without curves, which take longer to draw than everything else.
    numbers = ("--label", "q", "--prediction", "p", "--task", "regression", "-m", "rmse")
    run("report", *source, *numbers, "--output", str(page))
    # The page shows the statements that ran.
    assert "DOUBLE PRECISION" in page.read_text(encoding="utf-8")
    source = (*source, "--label", "y", "--score", "p")
    options = ("--config", "seg", "--fold", "fold", "-m", "roc_auc", "--format", "json")
    ranked = json.loads(run("select", *source, *options).stdout)
    assert {row["seg"] for row in ranked} == {"a", "B", "c"}


PAGE = Path(__file__).parents[3] / "docs" / "guide" / "warehouses.md"
COMMANDS = re.findall(r"^sqleval .+$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command.split()[1:3]))
def test_a_command_of_the_page(
    command: str, server: PostgreSQL, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _, *arguments = shlex.split(command.replace("postgresql://reader@db/scores", server.url))
    done = run(*arguments)
    assert done.stdout or done.stderr.startswith("wrote preds.parquet")


def test_an_interrupt_leaves_no_statement_on_the_server(server: PostgreSQL) -> None:
    rows = "SELECT y, p + CAST(CAST(PG_SLEEP(60) AS TEXT) = 'x' AS INT) AS p FROM rows"
    command = [sys.executable, "-m", "sqleval", "evaluate", "--query", rows]
    command += ["--engine", server.url, "--label", "y", "--score", "p"]
    activity = "SELECT pid FROM PG_STAT_ACTIVITY WHERE state = 'active' AND query LIKE '%_sou%'"
    others = f"{activity} AND pid <> PG_BACKEND_PID()"
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=dict(os.environ))
    try:
        deadline = time.monotonic() + 60
        while not server.run(others).rows:
            # An ended command prints nothing more.
            assert process.poll() is None, process.communicate()[1]
            assert time.monotonic() < deadline, server.run("TABLE PG_STAT_ACTIVITY").rows
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        # A second Ctrl-C of an impatient user, while the statement is cancelled.
        time.sleep(0.15)
        process.send_signal(signal.SIGINT)
        stderr = process.communicate(timeout=20)[1]
    finally:
        process.kill()
        process.communicate()
    assert (process.returncode, stderr.strip()) == (3, "error: interrupted")
    assert not server.run(others).rows


def test_errors_are_those_of_duckdb(url: str) -> None:
    with pytest.raises(SourceError, match=r"has no table 'row'; did you mean 'rows'\?"):
        sqleval.scan("row", **SCORED, engine=url)
    with pytest.raises(SourceError, match='cannot read the query: syntax error at or near "1"'):
        sqleval.scan(query="SELEC 1", **SCORED, engine=url)
    with pytest.raises(SourceError, match="the query has two columns called 'p'"):
        sqleval.scan(query="SELECT y, p, q AS p FROM rows", **SCORED, engine=url)
    with pytest.raises(RequestError, match="no such column in rows; did you mean"):
        sqleval.scan("rows", label="y", score="pp", engine=url)
    with pytest.raises(RequestError, match="version= is for what DuckDB reads"):
        sqleval.scan("rows", **SCORED, engine=url, version=1)
    with pytest.raises(RequestError, match="the engine of postgres cannot be configured here"):
        sqleval.scan("rows", **SCORED, engine=url).engine.configure({"threads": 1})
    with pytest.raises(RequestError, match="give the name of one of its tables"):
        sqleval.scan(pl.DataFrame({"y": [1]}), **SCORED, engine=url)
    lazy = sqleval.scan("rows", label="y", score="gap", engine=url).evaluate("roc_auc")
    with pytest.raises(DataError, match=r"score='gap' is NULL or NaN in \d+ of 300 rows"):
        lazy.collect()


def test_errors_of_the_server(server: PostgreSQL) -> None:
    divided = sqleval.scan("rows", **SCORED, where="1 / (fold - 1) > 0", engine=server.url)
    with pytest.raises(DataError, match="a value of rows cannot be used: division by zero") as one:
        divided.evaluate("roc_auc").collect()
    assert "DOUBLE PRECISION" in str(one.value.statement)
    hurried = f"{server.url}&options=-cstatement_timeout%3D200"
    query = "SELECT y, p FROM rows, LATERAL (SELECT PG_SLEEP(1) WHERE y >= 0) AS s"
    lazy = sqleval.scan(query=query, **SCORED, engine=hurried).evaluate("roc_auc")
    with pytest.raises(EngineError, match="over the query: canceling statement due to") as two:
        lazy.collect()
    assert "PG_SLEEP" in str(two.value.statement)
    written = "WITH w AS (DELETE FROM rows RETURNING y, p) SELECT y, p FROM w"
    with pytest.raises(SourceError, match="cannot read the query"):
        sqleval.scan(query=written, **SCORED, engine=server.url)
    with driver.connect(server.url) as connection:
        scan = sqleval.scan("rows", **SCORED, where="1 / (fold - 1) > 0", engine=connection)
        with pytest.raises(DataError, match="division by zero"):
            scan.evaluate("roc_auc").collect()
        # The connection is still usable.
        found = sqleval.scan("rows", **SCORED, engine=connection).evaluate("roc_auc").collect()
        assert found["n"].item() == 300


@pytest.mark.parametrize(
    ("engine", "message"),
    [
        ("postgresql://me:secret@host/db", "must not hold a password.* PGPASSWORD"),
        ("postgresql://me@host/db?password=secret", "must not hold a password.* PGPASSWORD"),
        ("mysql://me:secret@host/db", r"engine='mysql://\.\.\.' must be one of: duckdb, spark"),
        ("postgresql://me@host/db#rows", "is the database; its table is the source"),
        ("postgresql://me@127.0.0.1:1/db", "does not answer: Failed to connect"),
        (sqlite.connect, "a connection to SQLite, where no statements run"),
    ],
)
def test_unusable_engines_are_refused(engine: Any, message: str) -> None:
    if engine is sqlite.connect:
        with sqlite.connect() as connection, pytest.raises(RequestError, match=message):
            sqleval.scan("rows", **SCORED, engine=connection)
        return
    with pytest.raises((RequestError, EngineError), match=message) as error:
        sqleval.scan("rows", **SCORED, engine=engine)
    assert "secret" not in str(error.value)


@pytest.mark.parametrize(
    ("where", "what"),
    [("lower(seg) = 'a'", "Lower"), ("seg LIKE 'a%'", "Like"), ("starts_with(seg, 'a')", "Starts")],
)
def test_a_condition_means_the_same_everywhere(where: str, what: str, url: str) -> None:
    with pytest.raises(RequestError, match=f"{what}.* is not read alike by all engines"):
        sqleval.scan("rows", **SCORED, where=where, engine=url)
    with pytest.raises(RequestError, match="where='seg > 1': operator does not exist"):
        sqleval.scan("rows", **SCORED, where="seg > 1", engine=url)
    with pytest.raises(RequestError, match="where=\"fold = 'x'\": invalid input syntax"):
        sqleval.scan("rows", **SCORED, where="fold = 'x'", engine=url)


def test_splits_are_refused(url: str) -> None:
    # DuckDB makes and checks splits, with the table as a source.
    folds = sqleval.split(f"{url}#public.rows", key="day").collect()
    assert sqleval.check_split(folds, f"{url}#public.rows", key="day").is_empty()
    engine = "postgresql://me@host/db"  # no server listens there, and none is called
    message = "engine= is PostgreSQL; .* sqleval split --table TABLE --dialect postgres prints"
    with pytest.raises(RequestError, match=message):
        sqleval.split("rows", key="y", engine=engine)
    with pytest.raises(RequestError, match=message):
        sqleval.check_split("folds", "rows", key="y", engine=engine)
    for command in (["split", "rows"], ["split", "check", "folds", "rows"]):
        refused = run(*command, "--engine", engine, "--key", "y", code=2)
        assert re.search(message, " ".join(refused.stderr.split()))


def test_wrong_rows_and_worse_slices(rows: pl.DataFrame, url: str) -> None:
    ours = sqleval.scan("rows", engine=url, **SCORED)
    theirs = sqleval.scan(rows, **SCORED)
    for by in ("log_loss", "error_rate"):
        found, wanted = (each.rows(300, by=by).collect() for each in (ours, theirs))
        assert found.columns == wanted.columns
        np.testing.assert_allclose(found[by], wanted[by], rtol=1e-12)
    found, wanted = (each.rows(5, cell="fp").collect() for each in (ours, theirs))
    np.testing.assert_allclose(found["log_loss"], wanted["log_loss"], rtol=1e-12)
    columns = ["seg", "q", "CASE WHEN p >= 0.5 AND y = 0 THEN 'wrong' ELSE 'right' END"]
    found, wanted = (
        each.slices(columns, "brier_score", min_rows=10).collect() for each in (ours, theirs)
    )
    assert wanted.height > 0
    assert_frame_equal(found, wanted, rel_tol=1e-9)
