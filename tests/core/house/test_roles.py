"""A row of one table defines a role: a role that a test adds is read on every path."""

import inspect
import re
import subprocess
import sys
from datetime import date
from io import StringIO
from pathlib import Path
from shutil import copytree
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

import sqleval
from sqleval.binding.roles import bind
from sqleval.catalog import Catalogue, builtin, find_sql_folder
from sqleval.catalog.roles import ROLES, VALUES, RoleFacts, list_added_arguments, list_arguments
from sqleval.errors import DataError, RequestError
from sqleval.export.statement import export_statement
from sqleval.states.merging import merge_states
from tests.core.comparison.data import draw_models

#: The mean of the labels, weighted by the role: its values, labels and weights are read.
DOSED_RATE = """/*
summary: mean of the labels, in which a row counts by its treatment
formula: sum w t y / sum w t
direction: none
range: 0 .. 1
task: two classes
reference: numpy.average
weights: frequency
since: 0.2
*/
SELECT
    slice,
    CAST(SUM(weight * treatment * label) AS DOUBLE) / NULLIF(SUM(weight * treatment), 0) AS value,
    CASE WHEN SUM(weight * treatment) = 0 THEN 'no treatment' END AS note
FROM predictions
GROUP BY slice
"""
#: The Brier score times the treatment: a step of rows, which bins and states add up.
DOSED_LOSSES = """/*
summary: each row's squared distance from the label, times its treatment
means: [loss]
centres: [loss_centre]
variances: [loss_variance]
*/
SELECT
    slice,
    treatment * (CAST(score AS DOUBLE) - label) * (CAST(score AS DOUBLE) - label) AS loss,
    treatment * (CAST(score AS DOUBLE) - label) * (CAST(score AS DOUBLE) - label) AS loss_centre,
    0e0 AS loss_variance,
    weight,
    squares,
    n_rows
FROM predictions
"""
#: The header of its metric; the SQL is the Brier score's.
DOSED_BRIER = """/*
summary: mean of the treatment times the squared distance of the score from the label
formula: sum w t (p - y)^2 / sum w
direction: lower
range: 0 .. inf
task: two classes
reference: numpy.average
weights: frequency
since: 0.2
*/
"""
ROWS = draw_models().with_columns(
    t=pl.Series(np.random.default_rng(5).integers(0, 4, 400)).cast(pl.Float64)
)
RATE, BRIER = "dosed_rate", "dosed_brier"
TWO = {"a": "a", "b": "b"}


@pytest.fixture
def catalogue(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Catalogue:
    """Return a catalogue whose metrics read a role added to the table."""
    monkeypatch.setitem(ROLES, "treatment", RoleFacts("treatment", "number", "Column of doses."))
    files = {"base/dosed_losses": DOSED_LOSSES, "ours/dosed_rate": DOSED_RATE}
    for name, text in files.items():
        path = tmp_path / "sql" / f"{name}.sql"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    # The value and the standard error of a mean of losses, as for the Brier score.
    brier = builtin().get("brier_score")
    headers = {"dosed_brier": DOSED_BRIER, "dosed_brier.stderr": "/*\nsummary: its error\n*/\n"}
    for (name, header), file in zip(headers.items(), (brier, *brier.parts), strict=True):
        body = file.text.partition("*/")[2]
        body = body.replace("squared_error", "loss").replace("probabilities", "dosed_losses")
        (tmp_path / "sql" / "ours" / f"{name}.sql").write_text(header + body)
    return Catalogue(find_sql_folder(), tmp_path / "sql")


def scan(
    catalogue: Catalogue, score: Any = "a", rows: pl.DataFrame = ROWS, **roles: Any
) -> sqleval.Predictions:
    return sqleval.scan(
        rows, **{"label": "y", "score": score, "treatment": "t", **roles}, catalogue=catalogue
    )


def compute(rows: pl.DataFrame, score: str = "a") -> dict[str, float]:
    """Return the metrics of rows by NumPy."""
    y, t, p = (rows[name].to_numpy() for name in ("y", "t", score))
    return {RATE: np.average(y, weights=t), BRIER: np.average(t * (p - y) ** 2)}


def read(frame: pl.DataFrame) -> dict[str, float]:
    return dict(frame.select("metric", "value").iter_rows())


def test_it_is_evaluated(catalogue: Catalogue) -> None:
    bound = scan(catalogue)
    expected = pytest.approx(compute(ROWS), rel=1e-12)
    assert read(bound.evaluate([RATE, BRIER]).collect()) == expected
    # Evaluate it with another metric that needs distinct scores, or rows in order.
    assert read(bound.evaluate([RATE, BRIER, "roc_auc"]).collect()).items() >= {
        (name, value) for name, value in read(bound.evaluate([RATE, BRIER]).collect()).items()
    }
    found = scan(catalogue, by="g").evaluate(RATE).collect()
    for key, value in found.select("g", "value").iter_rows():
        rows = ROWS.filter(pl.col("g").eq_missing(key))
        assert value == pytest.approx(compute(rows)[RATE])
    found = scan(catalogue, TWO).evaluate(BRIER).collect()
    for model, value in found.select("model", "value").iter_rows():
        assert value == pytest.approx(compute(ROWS, model)[BRIER])


def test_the_audit_counts_its_missing_values(catalogue: Catalogue) -> None:
    for bad in (None, float("nan"), float("inf")):
        rows = ROWS.with_columns(t=pl.when(pl.col("k") < 3).then(pl.lit(bad)).otherwise("t"))
        with pytest.raises(DataError, match=r"treatment='t' is NULL, NaN or infinite in 3 of 400"):
            scan(catalogue, rows=rows).evaluate(RATE).collect()
        found = scan(catalogue, rows=rows, nulls="drop").evaluate(RATE).collect()
        assert found["n_dropped"].item() == 3
        assert read(found)[RATE] == pytest.approx(compute(ROWS[3:])[RATE])
    with pytest.raises(RequestError, match="treatment='g' must be a number and is VARCHAR"):
        scan(catalogue, treatment="g")
    with pytest.raises(RequestError, match="treatment='tt': no such column"):
        scan(catalogue, treatment="tt")
    with pytest.raises(RequestError, match="treatment=3 must be one name"):
        scan(catalogue, treatment=3)
    with pytest.raises(RequestError, match="treatment= is needed and not given"):
        scan(catalogue, treatment=None).evaluate(RATE).collect()


def read_interval(frame: pl.DataFrame) -> list[tuple[float, float]]:
    return [*frame.select("low", "high").iter_rows()]


def test_it_is_in_intervals(catalogue: Catalogue) -> None:
    found = scan(catalogue).evaluate(BRIER, ci=0.95).collect()
    y, t, p = (ROWS[name].to_numpy() for name in ("y", "t", "a"))
    losses = t * (p - y) ** 2
    half = 1.959963984540054 * losses.std(ddof=1) / 20
    assert read_interval(found) == [pytest.approx((losses.mean() - half, losses.mean() + half))]


def test_it_is_drawn_with_its_row(catalogue: Catalogue) -> None:
    """Intervals from replicates equal those from NumPy's draws, except for random numbers."""
    rng = np.random.default_rng(3)
    drawn = [compute(ROWS[rng.integers(0, 400, 400)]) for _ in range(4000)]
    users = ROWS["user"].unique()
    of_user = ROWS.partition_by("user", as_dict=True)
    clusters = [
        compute(pl.concat([of_user[user,] for user in rng.choice(users, len(users))]))
        for _ in range(2000)
    ]
    for options, sample in (({}, drawn), ({"cluster": "user"}, clusters)):
        found = (
            scan(catalogue)
            .evaluate([RATE, BRIER], ci=0.95, ci_method="percentile", replicates=4000, **options)
            .collect()
        )
        for (low, high), name in zip(read_interval(found), (RATE, BRIER), strict=True):
            expected = np.quantile([each[name] for each in sample], [0.025, 0.975])
            width = expected[1] - expected[0]
            assert [low, high] == pytest.approx(expected, abs=width / 12)
    large = pl.concat([ROWS] * 6)
    found = scan(catalogue, rows=large, by="g").evaluate(RATE, ci=0.95, replicates=100).collect()
    assert found["low"].null_count() == 0


def test_models_are_compared_by_it(catalogue: Catalogue) -> None:
    found = scan(catalogue, TWO).compare([BRIER, RATE, "roc_auc"], replicates=400).collect()
    y, t = (ROWS[name].to_numpy() for name in ("y", "t"))
    a, b = (t * (ROWS[name].to_numpy() - y) ** 2 for name in ("a", "b"))
    row = found.filter(pl.col("metric") == BRIER).row(0, named=True)
    assert row["difference"] == pytest.approx((b - a).mean())
    half = 1.959963984540054 * (b - a).std(ddof=1) / 20
    ends = [(b - a).mean() - half, (b - a).mean() + half]
    assert [row["low"], row["high"]] == pytest.approx(ends, rel=0.02)
    assert found.filter(pl.col("metric") == RATE)["difference"].item() == 0
    # The same holds with folds, and by replicates of pairs.
    resampled = scan(catalogue, TWO).compare(BRIER, cluster="user", replicates=1000).collect()
    assert resampled["difference"].item() == pytest.approx((b - a).mean())
    long = ROWS.unpivot(["a", "b"], index=["k", "y", "t"], variable_name="m", value_name="p")
    matched = scan(catalogue, "p", long).compare(BRIER, model="m", key="k").collect()
    assert matched["difference"].item() == pytest.approx((b - a).mean())
    assert matched["low"].item() == pytest.approx(row["low"])


def test_bins_and_states_keep_it(catalogue: Catalogue, tmp_path: Path) -> None:
    expected = compute(ROWS)
    found = scan(catalogue).evaluate([RATE, BRIER, "roc_auc"], bins=8).collect()
    assert read(found).items() >= {RATE: pytest.approx(expected[RATE])}.items()
    assert read(found)[BRIER] == pytest.approx(expected[BRIER])
    built = scan(catalogue, by="g").state([RATE, BRIER], ci=True).collect()
    assert built.schema["treatment"] == pl.Float64
    back = sqleval.from_state(built, catalogue=catalogue)
    assert read(back.evaluate([RATE, BRIER]).collect()) == pytest.approx(expected)
    # The same holds for two merged halves, and with intervals.
    halves = []
    for i, rows in enumerate((ROWS[:150], ROWS[150:])):
        halves.append(str(tmp_path / f"{i}.parquet"))
        state = scan(catalogue, rows=rows).state([RATE, BRIER], ci=True)
        state.collect().write_parquet(halves[-1])
    merged = merge_states(halves).collect()
    back = sqleval.from_state(merged, catalogue=catalogue).evaluate([RATE, BRIER], ci=0.95)
    exact = scan(catalogue).evaluate([RATE, BRIER], ci=0.95).collect()
    assert read(back.collect()) == pytest.approx(expected)
    assert read_interval(back.collect())[1] == pytest.approx(read_interval(exact)[1])
    other = scan(catalogue, treatment="w", rows=ROWS[:9]).state([RATE, BRIER], ci=True).collect()
    with pytest.raises(RequestError, match="role treatment"):
        sqleval.from_state(pl.concat([merged, other.select(merged.columns)]))


def test_it_is_read_in_other_tasks(catalogue: Catalogue, tmp_path: Path) -> None:
    """The role works for values, classes and rankings, with weights, folds, and late labels."""
    rng = np.random.default_rng(0)
    drawn = {name: rng.integers(0, 3, 400) for name in ("c", "pc")}
    drawn |= {name: rng.normal(size=400) for name in ("v", "pv")}
    part = pl.when(pl.col("k") < 200).then(pl.lit("train")).otherwise(pl.lit("test"))
    rows = ROWS.with_columns(**{name: pl.Series(each) for name, each in drawn.items()}, part=part)
    t, w = (rows[name].to_numpy() for name in ("t", "w"))
    kinds = {
        "error": ("regression", "ABS(label - prediction)"),
        "hits": ("several classes", "CASE WHEN label = prediction THEN 1 ELSE 0 END"),
        "gain": ("ranking", "label"),
    }
    for name, (task, sql) in kinds.items():
        text = DOSED_RATE.replace("task: two classes", f"task: {task}").replace(
            "* label", f"* {sql}"
        )
        text = text.replace("0 .. 1", "0 .. inf")
        (tmp_path / "sql" / "ours" / f"dosed_{name}.sql").write_text(text, encoding="utf-8")
    more = Catalogue(find_sql_folder(), tmp_path / "sql")

    def evaluate(metric: str, score: Any = None, **roles: Any) -> Any:
        found = scan(more, score, rows, **roles).evaluate(metric).collect()
        found = found.filter(pl.col("role") == "test") if "role" in roles else found
        return found["value"].item()

    errors = abs(drawn["v"] - drawn["pv"])
    hits = drawn["c"] == drawn["pc"]
    queries = [each for each in rows.partition_by("user") if each["t"].sum() > 0]
    folds = [compute(each)[RATE] for each in rows.partition_by("fold")]
    for found, expected in (
        (evaluate("dosed_error", label="v", prediction="pv"), np.average(errors, weights=t)),
        (evaluate("dosed_hits", label="c", prediction="pc"), np.average(hits, weights=t)),
        (evaluate("dosed_gain", "a", qid="user"), np.mean([compute(q)[RATE] for q in queries])),
        (evaluate(RATE, "a", weight="w"), np.average(rows["y"], weights=t * w)),
        (evaluate(f"{RATE}(average='macro')", "a", over="fold"), np.mean(folds)),
        (evaluate(RATE, "a", role="part"), compute(rows[200:])[RATE]),
        (evaluate(RATE, "a", label=None, expected=True), np.average(rows["a"], weights=t)),
    ):
        assert found == pytest.approx(expected)
    classes: Any = {0: "a", 1: "b", 2: "c"}
    with pytest.raises(RequestError, match="dosed_rate of a class cannot read treatment="):
        evaluate(f"{RATE}(average='macro')", classes, label="c", task="multiclass")


@pytest.mark.parametrize(
    ("values", "column"),
    [
        ("number", "a"), ("whole", "w"), ("two classes", "y"), ("class", "user"), ("text", "s"),
        ("time", "day"), ("list", "l"),
    ],
)  # fmt: skip
def test_values_of_each_kind_are_kept(
    values: Any, column: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Metrics that do not read the role are the same on every path."""
    role = f"kept_{values.replace(' ', '_')}"
    monkeypatch.setitem(ROLES, role, RoleFacts(role, values, "Column of a kept role."))
    day = pl.date(2026, 1, 1) + pl.duration(days=pl.col("fold"))
    rows = ROWS.with_columns(
        day=day, l=pl.concat_list("w", "fold"), s=pl.col("g").fill_null("none")
    )
    named: dict[str, Any] = {role: column}
    with_role = sqleval.scan(rows, label="y", score=TWO, **named)
    without = sqleval.scan(rows, label="y", score=TWO)

    def compute_all(bound: sqleval.Predictions) -> list[float]:
        back = sqleval.from_state(bound.state("roc_auc").collect(), by="model")
        frames = (
            bound.evaluate(["roc_auc", "ks", "f1"]),
            bound.evaluate(["roc_auc", "f1"], bins=12),
            back.evaluate("roc_auc"),
        )
        compared = bound.compare("ks", replicates=100).collect()["difference"]
        return [*(value for each in frames for value in each.collect()["value"]), *compared]

    assert compute_all(with_role) == pytest.approx(compute_all(without))


def test_a_role_that_is_not_kept_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ROLES, "lost", RoleFacts("lost", "class", "A role.", is_kept=False))
    bound = sqleval.scan(ROWS, label="y", score="a", lost="user")
    with pytest.raises(RequestError, match="bins= does not keep the values of lost=: leave it out"):
        bound.evaluate("roc_auc", bins=8).collect()
    with pytest.raises(RequestError, match="a state does not keep the values of lost=: leave it"):
        bound.state("roc_auc")


def test_the_query_of_rows_is_kept_in_other_tasks() -> None:
    bound = sqleval.scan(ROWS, label="y", score="a", qid="user", task="binary")
    plain = sqleval.scan(ROWS, label="y", score="a").evaluate("roc_auc", bins=8).collect()
    assert bound.evaluate("roc_auc", bins=8).collect()["value"].item() == plain["value"].item()
    back = sqleval.from_state(bound.state("roc_auc", bins=8).collect()).evaluate("roc_auc")
    assert back.collect()["value"].item() == plain["value"].item()


def test_an_unknown_argument_is_refused() -> None:
    with pytest.raises(TypeError, match="argument 'wieght'; did you mean 'weight'"):
        sqleval.scan(ROWS, label="y", score="a", wieght="t")


WRONG: list[tuple[str, list[Any], str]] = [
    (
        "whole",
        [1.0, 2.5, 0.0],
        "holds 2.5, and must hold whole numbers; another value is in 1 of",
    ),
    ("two classes", [0, 2, 1], "holds 2, and must hold 0 and 1; another value is in 1 of 3 rows"),
    ("two classes", [0.0, None, 1.0], "is NULL or NaN in 1 of 3"),
    ("two classes", ["a", "b", "c"], "must be a number or a truth value and is VARCHAR"),
    ("number", [[1.0], [2.0], [3.0]], r"is DOUBLE\[\], and must be one value in each row"),
    ("class", [[1.0], [2.0], [3.0]], r"is DOUBLE\[\], and must be one value in each row"),
    ("class", ["a", None, "b"], "is NULL or NaN in 1 of 3"),
    ("text", ["a", None, "b"], "is NULL or NaN in 1 of 3"),
    ("text", [1, 2, 3], "must be a text and is BIGINT"),
    ("time", [date(2026, 1, 1), None, None], "is NULL or NaN in 2 of 3"),
    ("time", ["a", "b", "c"], "must be a date or a time and is VARCHAR"),
    ("list", [[1], None, [2]], "is NULL or NaN in 1 of 3"),
    ("list", [1, 2, 3], "must be a list in each row and is BIGINT"),
]


@pytest.mark.parametrize(("values", "column", "message"), WRONG)
def test_what_it_holds_is_checked(
    values: Any, column: list[Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Statements are cached by role names.
    role = f"extra_{values.replace(' ', '_')}"
    monkeypatch.setitem(ROLES, role, RoleFacts(role, values, "Column of an extra role."))
    rows = pl.DataFrame({"y": [0, 1, 1], "p": [0.1, 0.2, 0.9], "x": column})
    bound: dict[str, Any] = {"label": "y", "score": "p", role: "x"}
    with pytest.raises((RequestError, DataError), match=rf"{role}='x' {message}"):
        sqleval.scan(rows, **bound).evaluate("roc_auc").collect()


def test_its_limits_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    limits: dict[str, Any] = {
        "dose": {"values": "number", "may_be_negative": False},
        "arm": {"values": "text", "allowed": ("control", "treated")},
    }
    for role, facts in limits.items():
        monkeypatch.setitem(ROLES, role, RoleFacts(role, help="Column of limits.", **facts))
    rows = pl.DataFrame({"y": [0, 1, 1], "p": [0.1, 0.2, 0.9], "x": [1, -2, 3], "g": ["a"] * 3})
    for role, column, message in (
        ("dose", "x", "dose='x' is negative in 1 of 3 rows; doses are 0 or more"),
        ("arm", "g", "arm='g' holds 'a'; its values must be among control, treated"),
    ):
        named: dict[str, Any] = {role: column}
        with pytest.raises(DataError, match=message):
            sqleval.scan(rows, label="y", score="p", **named).evaluate("roc_auc").collect()


def test_no_role_is_without_an_audit() -> None:
    """A missing value in the column of any role is an error that names its argument."""
    rows = pl.DataFrame(
        {"y": [0, 1, 1], "p": [0.1, 0.2, 0.9], "c": [0, 1, 1], "w": [1, 1, 1], "q": [1, 1, 2]}
        | {"r": ["train", "test", "test"]}
    )
    columns = {
        "label": "y", "score": "p", "prediction": "c", "weight": "w", "count": "w", "query": "q",
        "role": "r", "value": "c", "item": "c",
    }  # fmt: skip
    assert columns.keys() == {role for role, facts in ROLES.items() if facts.is_bound}
    assert {facts.values for facts in ROLES.values()} <= VALUES.keys()
    for role, column in columns.items():
        argument = ROLES[role].argument
        roles: dict[str, Any] = {"label": "y", "score": "p", argument: column}
        lacking = rows.with_columns(pl.when(pl.col("q") == 1).then(pl.col(column)))
        if role == "query":
            lacking = rows.with_columns(q=pl.when(pl.col("y") == 1).then("q"))
            roles["task"] = "ranking"
        roles |= {"qid": "q"} if role == "item" else {}
        metric = {"query": "ndcg", "item": "novelty", "value": "mean"}.get(role, "accuracy")
        if role not in ("query", "item", "prediction"):
            roles["threshold"] = 0.5
        roles = {argument: column} if role == "value" else roles
        with pytest.raises(DataError, match=rf"{argument}='{column}' is NULL"):
            sqleval.scan(lacking, **roles).evaluate(metric).collect()


def test_signatures_name_the_roles_of_the_table() -> None:
    assert list_added_arguments() == ()
    for function in (sqleval.scan, bind, export_statement):
        assert {*list_arguments()} <= {*inspect.signature(function).parameters}


#: Runs the command with the role in the table, and its metrics beside those of the package.
RUN = """
import sys
from io import StringIO
from pathlib import Path
from shutil import copytree
from sqleval.catalog import catalogue
from sqleval.catalog.roles import ROLES, RoleFacts
ROLES["treatment"] = RoleFacts("treatment", "number", "Column of doses.")
catalogue.find_sql_folder = lambda: Path("sql")
from sqleval.cli.main import main
main()
"""
JOB = """
name: doses
source: rows.parquet
label: y
score: a
treatment: t
by: g
period: {column: day, grain: day}
metrics: [dosed_rate, dosed_brier, roc_auc]
ci: 0.95
history: history.duckdb
states: states
gates: [dosed_rate >= 0.1]
"""


@pytest.fixture
def folder(catalogue: Catalogue, tmp_path: Path) -> Path:
    """Return a folder with rows, labels, a job, and all SQL files."""
    copytree(find_sql_folder(), tmp_path / "sql", dirs_exist_ok=True)
    rows = ROWS.with_columns(day=pl.date(2026, 1, 1))
    rows.write_parquet(tmp_path / "rows.parquet")
    rows.drop("y", "t").write_parquet(tmp_path / "early.parquet")
    rows.select("k", "y", "t").write_parquet(tmp_path / "labels.parquet")
    (tmp_path / "job.yml").write_text(JOB, encoding="utf-8")
    return tmp_path


def run(folder: Path, *arguments: str, script: str = RUN) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], cwd=folder, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


ROLE_OPTIONS = ["--label", "y", "--score", "a", "--treatment", "t"]
#: Prints the definitions of a job that uses all roles of the present table.
DEFINITIONS = """
import sys
if sys.argv[1] == "more":
    from sqleval.catalog.roles import ROLES, RoleFacts
    ROLES["treatment"] = RoleFacts("treatment", "number", "Column of doses.")
from sqleval.jobs.definitions import list_definitions, write_input_text
from sqleval.jobs.file.reading import read_job
job = read_job("job.yml")
print(write_input_text(job, task=True), list_definitions(job))
"""


def run_json(folder: Path, *arguments: str) -> pl.DataFrame:
    return pl.read_json(StringIO(run(folder, *arguments, "--format", "json")))


def open_console(folder: Path) -> duckdb.DuckDBPyConnection:
    con = duckdb.connect()
    con.execute(f"CREATE VIEW preds AS FROM read_parquet('{folder}/rows.parquet')")
    return con


def test_commands_take_it(folder: Path) -> None:
    expected = compute(ROWS)
    metrics = ["-m", RATE, "-m", BRIER]
    found = run_json(folder, "evaluate", "rows.parquet", *ROLE_OPTIONS, *metrics)
    assert read(found) == pytest.approx(expected)
    # The column arrives late, with the labels.
    late = ["--labels", "labels.parquet", "--on", "k"]
    found = run_json(folder, "evaluate", "early.parquet", *ROLE_OPTIONS, *late, *metrics)
    assert read(found) == pytest.approx(expected)
    help_text = run(folder, "evaluate", "--help")
    assert "--treatment COLUMN" in help_text
    assert "Column of doses." in help_text
    output = ["--output", "state.parquet"]
    run(folder, "state", "build", "rows.parquet", *ROLE_OPTIONS, "-m", RATE, *output)
    found = run_json(folder, "state", "evaluate", "state.parquet", "-m", RATE)
    assert read(found) == pytest.approx({RATE: expected[RATE]})


def test_the_text_for_another_engine_reads_it(folder: Path) -> None:
    preds = ["--table", "preds", *ROLE_OPTIONS]
    statement = run(folder, "sql", RATE, "--dialect", "postgres", *preds).replace('"', "")
    assert "CAST(s.t AS DOUBLE PRECISION) AS treatment" in statement
    assert "treatment='t' is NULL, NaN or infinite" in statement.replace("''", "'")
    found = open_console(folder).sql(run(folder, "sql", RATE, BRIER, *preds)).pl()
    assert read(found) == pytest.approx(compute(ROWS))
    assert found["_problem"].null_count() == 2


def test_a_console_macro_refuses_it(folder: Path) -> None:
    con = open_console(folder)
    con.execute(run(folder, "macros"))
    message = "dosed_rate reads treatment=, and console macros have no argument for it: sqleval sql"
    call = "FROM sqleval.dosed_rate('preds', label := y, score := a, treatment := t)"
    with pytest.raises(duckdb.InvalidInputException, match=message):
        con.sql(call).fetchall()
    assert con.sql("FROM sqleval.accuracy('preds', label := y, score := a)").fetchall()


def test_a_job_keeps_it(folder: Path) -> None:
    """The role works by day, from the states of days, and with late labels."""
    late = {"source: rows": "source: early", "states: states\n": "", "name: doses": "name: late"}
    text = JOB + "labels: {source: labels.parquet, on: k, maturity: 1d}\n"
    for before, after in late.items():
        text = text.replace(before, after)
    (folder / "late.yml").write_text(text, encoding="utf-8")
    kept = re.sub("(?m)^(source|label|score|treatment|states): .*\n", "", JOB)
    kept = kept.replace("name: doses", "name: kept\nfrom_state: states")
    kept = kept.replace("{column: day", "{column: period")
    (folder / "kept.yml").write_text(kept, encoding="utf-8")
    expected = compute(ROWS.filter(pl.col("g") == "s"))
    for job in ("job.yml", "late.yml", "kept.yml"):
        run(folder, "validate", job)
        run(folder, "run", job, "--as-of", "2026-01-05")
        found = run_json(folder, "history", "show", job).filter(pl.col("slice") == '{"g":"s"}')
        values = read(found)
        assert {name: values[name] for name in expected} == pytest.approx(expected)


def test_definitions_stay_where_a_role_is_not_used(folder: Path) -> None:
    text = JOB.replace("treatment: t\n", "").replace("dosed_rate, dosed_brier, ", "")
    text = text.replace("gates: [dosed_rate >= 0.1]\n", "")
    (folder / "job.yml").write_text(text, encoding="utf-8")
    today, more = (run(folder, which, script=DEFINITIONS) for which in ("today", "more"))
    assert "roc_auc" in today
    assert today == more
