"""An inspection: roles by names and contents, problems, and commands that run as printed."""

import math
import shlex
import sys
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from datetime import date, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import click
import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sqleval
from sqleval.cli import main
from sqleval.cli.inspection import write_findings
from sqleval.engines.duckdb import DuckDB
from sqleval.errors import RequestError
from sqleval.inspection.columns import describe_columns
from sqleval.inspection.files import describe_all_files
from sqleval.inspection.findings import Finding
from sqleval.sources.opening import open_source

DATA = Path(__file__).parents[3] / "data"
N = 2000
RNG = np.random.default_rng(5)
Y = (RNG.random(N) < 0.2).astype(int)
P = np.clip(0.2 + 0.2 * Y + RNG.normal(0, 0.12, N), 0, 1)
GROUPS = np.array(["FR", "DE", "IT"])[np.arange(N) % 3]
PLAIN = {"y": Y, "p": P, "country": GROUPS}
DAYS = [date(2026, 5, 21) + timedelta(i // 50) for i in range(N)]
#: 40 days to 2026-06-29; of the last two a tenth and a half have labels.
LATE = [
    y if i < 1900 or (i < 1950 and i % 2) or i % 10 == 0 else None for i, y in enumerate(Y.tolist())
]


def run(*arguments: str) -> str:
    """Run a command in this process; return what it prints."""
    out, err, hook = StringIO(), StringIO(), sys.unraisablehook
    try:
        with redirect_stdout(out), redirect_stderr(err):
            code = main.run_command(arguments)
    finally:
        sys.unraisablehook = hook
    assert code == 0, err.getvalue()
    return out.getvalue()


def roles_of(findings: list[Finding]) -> dict[str, list[str | None]]:
    found: dict[str, list[str | None]] = {}
    for each in findings:
        if each.section == "role" and each.check not in ("classes", "roc_auc", "duplicate keys"):
            found.setdefault(each.check, []).append(each.column)
    return found


def problems_of(findings: list[Finding]) -> dict[tuple[str, str | None], Finding]:
    return {(f.check, f.column): f for f in findings if f.section == "problem"}


def commands_of(findings: list[Finding]) -> list[str]:
    return [each.value for each in findings if each.section == "command"]


TABLES: dict[str, tuple[Mapping[str, Any], dict[str, list[str]]]] = {
    "0 and 1": (PLAIN, {"label": ["y"], "score": ["p"], "slices": ["country (3)"]}),
    "two models": (
        {"id": range(N), "churned": Y, "p_old": P, "p_new": P**2},
        {"label": ["churned"], "score": ["p_old", "p_new"], "key": ["id"]},
    ),
    "text": (
        {"outcome": np.where(Y == 1, "yes", "no"), "score": P},
        {"label": ["outcome"], "positive": ["yes"], "score": ["score"]},
    ),
    "text without a clear positive": (
        {"kind": np.where(Y == 1, "B", "A"), "prob": P},
        {"label": ["kind"], "positive": ["B"], "score": ["prob"]},
    ),
    "floats with NaN": (
        {"y": np.where(P > 0.5, np.nan, Y), "p": np.where(P < 0.01, np.nan, P)},
        {"label": ["y"], "score": ["p"]},
    ),
    "missing together": (
        {"y": [None, *Y[1:].tolist()], "p": [None, *P[1:]], "ratio": [None, *P[1:]]},
        {"label": ["y"], "score": ["p"]},
    ),
    "1 and 2": (
        {"target": Y + 1, "prob": P},
        {"label": ["target"], "positive": ["2"], "score": ["prob"]},
    ),
    "a probability of each of two classes": (
        {"y": Y, "p_0": 1 - P, "p_1": P}, {"label": ["y"], "score": ["p_1"]}
    ),
    "classes": (
        {"label": GROUPS, "p_fr": P, "p_de": (1 - P) / 2, "p_it": (1 - P) / 2, "x": P},
        {"label": ["label"], "score": ["p_de, p_fr, p_it"]},
    ),
    "predicted classes": (
        {"truth": GROUPS, "predicted": GROUPS[::-1], "fold": np.arange(N) % 5},
        {"label": ["truth"], "prediction": ["predicted"], "fold": ["fold"]},
    ),
    "numbers": (
        {"price": P * 9, "predicted_price": P * 8, "weight": P},
        {"label": ["price"], "prediction": ["predicted_price"], "weight": ["weight"]},
    ),
    "queries": (
        {"qid": np.arange(N) // 10, "relevance": np.arange(N) % 4, "score": P * 9},
        {"label": ["relevance"], "score": ["score"], "query": ["qid"]},
    ),
    "queries of text": (
        {"qid": GROUPS, "relevance": np.arange(N) % 4, "score": P * 9},
        {"label": ["relevance"], "score": ["score"], "query": ["qid"]},
    ),
    "a list": (
        {"label": [[y] for y in Y], "churned": Y, "p": P}, {"label": ["churned"], "score": ["p"]}
    ),
    "training and test": (
        {**PLAIN, "split": np.where(np.arange(N) % 2, "train", "test")},
        {"label": ["y"], "score": ["p"], "role": ["split"], "slices": ["country (3)"]},
    ),
    "late labels, a margin": (
        {"key": range(N), "day": DAYS, "clicked": LATE, "score": P * 9 - 3},
        {"label": ["clicked"], "score": ["score"], "key": ["key"], "time": ["day"]},
    ),
    "odd names": (
        {"y": Y, "p=x": P, "my, group": GROUPS, "it's": GROUPS},
        {"label": ["y"], "score": ["p=x"], "slices": ["it's (3)"]},
    ),
    "counts": ({"tp": [1], "fp": [2], "fn": [3], "tn": [4]}, {"counts": ["tp, fp, fn, tn"]}),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_roles_are_suggested_and_the_commands_run_as_printed(name: str, tmp_path: Path) -> None:
    rows, roles = TABLES[name]
    path = tmp_path / "it's $here.parquet"
    pl.DataFrame(rows, strict=False).write_parquet(path)
    findings = sqleval.inspect(str(path))
    assert roles_of(findings) == roles
    commands = commands_of(findings)
    slices = "slices" in roles and "role" not in roles
    curves = sum("sqleval curve" in command for command in commands)
    assert curves == ("--task regression" in commands[0])
    assert len(commands) == 1 + slices + curves + ("fold" in roles and "query" not in roles)
    for command in commands:
        first, *words = shlex.split(command)
        assert first == "sqleval"
        assert len(run(*words).splitlines()) > 1


@pytest.mark.parametrize("name", ["breast_cancer", "diabetes", "digits"])
def test_the_commands_for_the_data_run_as_printed(name: str) -> None:
    findings = sqleval.inspect(DATA / "classics" / f"{name}.parquet")
    assert problems_of(findings) == {}
    command, over_folds, *curve = commands_of(findings)
    assert len(curve) == (name == "diabetes")
    run(*shlex.split(command)[1:])
    assert shlex.split(over_folds)[-2:] == ["--over", "fold"]
    assert "average='macro'" in run(*shlex.split(over_folds)[1:])


def test_a_month_of_flights() -> None:
    findings = sqleval.inspect(str(DATA / "flights" / "predictions" / "month=07"))
    roles = {f.check: f for f in findings if f.section == "role"}
    assert roles["label"].column == "delayed"
    assert roles["label"].advice == "or delay_class, arr_delay"
    assert "AUC 0.7" in roles["score"].value
    problems = problems_of(findings)
    assert problems.keys() == {("NULL", "delayed"), ("constant columns", None)}
    for command in commands_of(findings):
        assert "--score logistic=p_logistic --score boosted=p_boosted --nulls drop" in command
        run(*shlex.split(command)[1:])


def test_text_files_and_queries_have_commands(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    pl.DataFrame(PLAIN).write_csv(path)
    for given in ((str(path),), ("--query", f"SELECT * FROM '{path}' WHERE country <> 'FR'")):
        printed = run("inspect", *given).splitlines()
        commands = [line.strip() for line in printed if line.startswith("  sqleval")]
        assert len(commands) == 2
        for command in commands:
            run(*shlex.split(command)[1:])


def test_frames_and_tables_have_calls_of_python() -> None:
    frame = pl.DataFrame(PLAIN)
    con = duckdb.connect()
    con.execute("CREATE TABLE preds AS FROM frame")
    for source, more, first in (
        (frame, {}, "SOURCE"),
        (frame.lazy(), {}, "SOURCE"),
        (frame.to_arrow(), {}, "SOURCE"),
        (con.sql("FROM preds"), {}, "SOURCE"),
        ("preds", {"con": con}, "'preds'"),
    ):
        findings = sqleval.inspect(source, **more)
        assert roles_of(findings)["label"] == ["y"]
        call = commands_of(findings)[0]
        assert call.startswith(f"sqleval.scan({first}, label='y', score='p'")
        result = eval(call, {"sqleval": sqleval, "SOURCE": source, "con": con})
        assert result.height > 1


def test_what_is_not_clear_is_not_guessed(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pl.DataFrame({"a_flag": Y, "b_flag": Y[::-1], "prob": P}).write_parquet(path)
    findings = sqleval.inspect(str(path))
    assert problems_of(findings)["label", None].value == "not clear; it may be a_flag, b_flag"
    (command,) = commands_of(findings)
    assert shlex.split(command)[1:] == ["inspect", str(path), "--label", "a_flag"]
    assert "sqleval evaluate" in run(*shlex.split(command)[1:])
    labels = sqleval.inspect(pl.DataFrame({"key": range(N), "delayed": Y}))
    assert "--labels THIS --on KEY" in (problems_of(labels)["score", None].advice or "")
    assert commands_of(labels) == []


def test_problems_of_scores_and_labels() -> None:
    frame = pl.DataFrame(
        {"y": Y, "far": P + 0.5, "leak": Y * 0.9 + P / 99, "copy": Y, "back": 1 - P, "same": 0.5}
    )
    findings = sqleval.inspect(frame, label="y", score=["far", "leak", "copy", "back", "same"])
    problems = problems_of(findings)
    outside = int((P + 0.5 > 1).sum())
    value = problems["score range", "far"].value
    assert value == f"{outside} of {N:,} rows outside 0 .. 1 (0.5 to {P.max() + 0.5:.4g})"
    assert "leak" in (problems["roc_auc", "leak"].advice or "")
    assert problems["equals the label", "copy"].value == "in 100 % of the rows"
    assert "--positive 0" in (problems["roc_auc", "back"].advice or "")
    assert problems["constant score", "same"].value == "0.5"
    assert ("roc_auc", "far") not in problems
    swapped = problems_of(sqleval.inspect(frame, label="y", score="far", positive="0"))
    assert "--positive 1" in (swapped["roc_auc", "far"].advice or "")
    one = problems_of(sqleval.inspect(pl.DataFrame({"y": [1] * 9, "p": P[:9], "z": 3})))
    assert (one["classes", "y"].advice or "").startswith("one class only")
    assert one["constant columns", None].value == "z"
    empty = problems_of(sqleval.inspect(pl.DataFrame({"y": [None] * 9, "p": P[:9]})))
    assert empty["NULL", "y"].value == "9 of 9 rows"


def test_repeated_keys_are_counted() -> None:
    frame = pl.DataFrame({**PLAIN, "id": [*range(N - 2), 0, 1]})
    assert problems_of(sqleval.inspect(frame))["duplicate keys", "id"].value == "2"
    counted = problems_of(sqleval.inspect(frame.lazy(), key="id"))  # of unknown size
    assert counted["duplicate keys", "id"].value == "2"
    suggested = sqleval.inspect(frame.lazy())
    assert "--key id counts repeats" in next(f.value for f in suggested if f.check == "key")


def test_files_that_differ_are_named(tmp_path: Path) -> None:
    for i in range(4):
        rows = {**PLAIN, "p": P / 3 if i == 2 else P, "y": Y if i != 1 else 1 - Y, "n": i}
        frame = pl.DataFrame(rows).drop("country" if i == 3 else "n")
        frame.write_parquet(tmp_path / f"part-{i}.parquet")
    findings = sqleval.inspect(str(tmp_path))
    problems = problems_of(findings)
    assert problems["missing column", "country"].value == f"not in {tmp_path}/part-3.parquet"
    assert problems["missing column", "n"].value.endswith("part-0.parquet and 2 more")
    rate = problems["drift", "y"].value
    assert rate == "rate 79 % in part-1.parquet, 21 % in the others"
    assert "in part-2.parquet" in problems["drift", "p"].value
    assert "slices" not in roles_of(findings)  # a column that a file lacks cannot be read
    (command,) = commands_of(findings)
    run(*shlex.split(command)[1:])
    pl.DataFrame({"y": Y, "p": P.astype(str)}).write_parquet(tmp_path / "part-4.parquet")
    assert ("cannot be used", "p") in problems_of(sqleval.inspect(str(tmp_path)))


def test_expressions_of_files_are_compared(tmp_path: Path) -> None:
    for i in range(3):
        scores = (P / 3 if i == 2 else P).tolist()
        label = np.where((1 - Y if i == 1 else Y) == 1, "won", "lost")
        frame = pl.DataFrame({"outcome": label, "p": [[1 - each, each] for each in scores]})
        frame.write_parquet(tmp_path / f"part-{i}.parquet")
    roles: dict[str, Any] = {"label": "outcome = 'won'", "score": "p[2]"}
    for where in (None, "p[1] < 2"):
        problems = problems_of(sqleval.inspect(str(tmp_path), **roles, where=where))
        assert problems["drift", "outcome = 'won'"].value.startswith("rate 79 % in part-1.parquet")
        assert "in part-2.parquet" in problems["drift", "p[2]"].value


def test_files_alike_are_not_named(tmp_path: Path) -> None:
    for i, part in enumerate(pl.DataFrame(PLAIN).iter_slices(500)):
        part.write_parquet(tmp_path / f"{i}.parquet")
    assert problems_of(sqleval.inspect(str(tmp_path))) == {}


@pytest.mark.parametrize("kind", ["date", "time", "instant", "hive"])
def test_days_whose_labels_are_late_are_named(kind: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"day": DAYS, "y": LATE, "p": P})
    if kind == "time":
        frame = frame.with_columns(pl.col("day").cast(pl.Datetime) + timedelta(hours=9))
    elif kind == "instant":
        frame = frame.with_columns(pl.lit(datetime(2026, 1, 1)).alias("_")).with_columns(
            (pl.col("day").cast(pl.Datetime) + timedelta(hours=9)).dt.replace_time_zone("UTC")
        )
    source: object = frame
    if kind == "hive":
        for (day,), part in frame.partition_by("day", as_dict=True, include_key=False).items():
            (tmp_path / f"day={day}").mkdir()
            part.write_parquet(tmp_path / f"day={day}" / "part.parquet")
        source = str(tmp_path)
    found = problems_of(sqleval.inspect(source, time="day"))["label maturity", "y"]
    assert found.value == "2026-06-29: 10 % labelled, 2026-06-28: 60 % labelled; 100 % before"
    where = "day <= '2026-06-27'" if kind == "hive" else "day < DATE '2026-06-28'"
    assert found.advice == f'labels take 2 days; --where "{where}" leaves these rows out'
    bound = sqleval.scan(source, label="y", score="p", where=where)
    assert bound.evaluate("roc_auc").collect()["n_dropped"].item() == 0


def test_the_columns_are_described_by_one_statement(monkeypatch: pytest.MonkeyPatch) -> None:
    statements: list[str] = []
    rows = DuckDB.rows

    def record(self: DuckDB, statement: str, *given: Any, **more: Any) -> list[tuple[Any, ...]]:
        statements.append(statement)
        return rows(self, statement, *given, **more)

    monkeypatch.setattr(DuckDB, "rows", record)
    sqleval.inspect(pl.LazyFrame({f"x{i}": P for i in range(40)}))
    (one,) = [text for text in statements if "APPROX_COUNT_DISTINCT" in text]
    assert one.count("APPROX_COUNT_DISTINCT") == 40
    statements.clear()
    wide = sqleval.inspect(pl.DataFrame({**PLAIN, "x": 1}), label="y", score="p", suggest=False)
    assert [each.column for each in wide if each.check == "column"] == ["y", "p"]
    assert not commands_of(wide)
    assert not any('"x"' in text for text in statements)


@pytest.mark.parametrize("is_lazy", [False, True])
def test_values_that_are_no_numbers_are_told_apart(is_lazy: bool) -> None:
    nan, inf = math.nan, math.inf
    rows = pl.DataFrame(
        {
            "a": [1.0, 1.0, nan, 1.0], "b": [1.0, inf, 2.0, None], "c": [nan] * 4, "d": [None] * 4,
            "e": ["x", "y", None, "y"], "f": [-0.0, 0.0, 1.0, 1.0], "g": [inf, -inf, nan, None],
            "h": [[1], [2], [1], None], "i": pl.Series([1.5, inf, nan, 1.5], dtype=pl.Float32),
        },
        strict=False,
    )  # fmt: skip
    source, columns, _, _ = describe_all_files(
        open_source(rows.lazy() if is_lazy else rows, name="_sqleval_rows")
    )
    count, facts = describe_columns(source, columns)
    assert count == 4
    got = {f.name: (f.present, f.low, f.high, f.distinct, f.nan, f.infinite) for f in facts}
    assert got == {
        "a": (4, 1, 1, 1, 1, 0), "b": (3, 1, 2, 3, 0, 1), "c": (4, None, None, 0, 4, 0),
        "d": (0, None, None, 0, 0, 0), "e": (3, "x", "y", 2, 0, 0), "f": (4, 0, 1, 2, 0, 0),
        "g": (3, None, None, 2, 1, 2), "h": (3, None, None, 0, 0, 0), "i": (4, 1.5, 1.5, 2, 1, 1),
    }  # fmt: skip


def test_nan_that_statistics_of_a_file_ignore_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"y": [0, 1, 0, 1], "p": [0.1, math.nan, 0.2, 0.3]}), path)
    assert problems_of(sqleval.inspect(path))["NaN", "p"].value == "1 of 4 rows"


@pytest.mark.parametrize("shape", ["wide", "empty", "empty csv", "one column", "flags", "nested"])
def test_the_screen_is_read_at_a_glance(shape: str, tmp_path: Path) -> None:
    path = tmp_path / ("rows.csv" if shape == "empty csv" else "rows.parquet")
    frame = {
        "wide": pl.DataFrame({**PLAIN, **{f"feature_{i}": P for i in range(60)}}),
        "empty": pl.DataFrame(schema={"y": pl.Int8, "p": pl.Float64}),
        "one column": pl.DataFrame({"a": range(3)}),
        "flags": pl.DataFrame({f"is_{i}": Y[:99] for i in range(9)}),
        "nested": pl.DataFrame({"a": [[1], [2]], "b": [b"x", None], "c": [{"d": 1}] * 2}),
    }
    if shape == "empty csv":
        path.write_text("y,p\n")
    else:
        frame[shape].write_parquet(path)
    printed = [click.unstyle(line) for line in write_findings("x", sqleval.inspect(path), 80)]
    assert printed[0].startswith("x: ")
    assert all(len(line) <= 80 for line in printed if not line.startswith("  sqleval"))
    assert len(printed) < 45
    assert "Columns" in printed
    if shape != "wide":  # which takes longest
        assert "Columns" in run("inspect", str(path))


@pytest.mark.parametrize("kind", ["files", "DataFrame", "LazyFrame"])
def test_a_condition_leaves_rows_out(kind: str, tmp_path: Path) -> None:
    # Of the rows of the second file that meet it, none lacks a score or is of another rate.
    frame = pl.DataFrame({**PLAIN, "state": "ok"})
    other = frame.with_columns(
        y=pl.when(pl.int_range(N) % 2 == 0).then(None).otherwise(1), p=None, state=pl.lit("new")
    )
    parts = [frame[:1000], pl.concat([frame[1000:], other], how="vertical_relaxed")]
    source: Any = pl.concat(parts, how="vertical_relaxed")
    if kind == "LazyFrame":
        source = source.lazy()
    if kind == "files":
        for i, part in enumerate(parts):
            part.write_parquet(tmp_path / f"{i}.parquet")
        source = tmp_path
    roles: dict[str, Any] = {"label": "y", "score": "p"}
    checks = {each.check for each in sqleval.inspect(source, **roles)}
    assert {"NULL", *(("drift",) if kind == "files" else ())} <= checks
    found = sqleval.inspect(source, **roles, where="state = 'ok'")
    assert not {"NULL", "drift"} & {each.check for each in found}
    assert found[0] == Finding("rows", None, "2,000")
    auc = sqleval.scan(frame, **roles).evaluate("roc_auc").collect()["value"].item()
    assert Finding("roc_auc", "p", f"{auc:.6f}", None, "role") in found
    commands = commands_of(found)
    assert all("state = " in each for each in commands)
    if kind == "files":
        for command in commands:
            run(*shlex.split(command)[1:])
        arguments = ["--label", "y", "--score", "p", "--where", "state = 'ok'"]
        assert "2,000 rows" in run("inspect", str(source), *arguments)


def test_a_condition_beside_labels_of_nan() -> None:
    label = [math.nan, *Y[1:].astype(float)]
    frame = pl.DataFrame({**PLAIN, "y": label, "n": range(N)})
    found = sqleval.inspect(frame, label="y", score="p", where="n < 9 OR n > 11")
    (command, _) = commands_of(found)
    assert "where='(n < 9 OR n > 11) AND isfinite(y)'" in command


@pytest.mark.parametrize("classes", [(True, False), ("it's up", "no show")])
def test_values_of_options_are_those_of_the_shell(classes: tuple[Any, Any], tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    labels = [classes[0] if y else classes[1] for y in Y]
    pl.DataFrame({"y": labels, "p": P}).write_parquet(path)
    for value, other in (classes, classes[::-1]):
        found = sqleval.inspect(path, label="y", score="p", positive=value)
        (command,) = commands_of(found)
        assert shlex.split(command)[-2:] == ["--positive", str(value)]
        run(*shlex.split(command)[1:])
        if isinstance(value, str):
            (advice,) = [each.advice for each in found if each.check == "classes"]
            assert shlex.split(str(advice).partition(": ")[2]) == ["--positive", value]
        if inverted := problems_of(found).get(("roc_auc", "p")):
            option = str(inverted.advice).partition("; ")[2].partition(", or")[0]
            assert shlex.split(option) == ["--positive", str(other)]
            break
    else:
        pytest.fail("one of the values is inverted")


def test_wrong_roles_are_refused() -> None:
    frame = pl.DataFrame(PLAIN)
    with pytest.raises(RequestError, match="where='z': no such column"):
        sqleval.inspect(frame, where="z = 1")
    with pytest.raises(RequestError, match=r"where='country \+ p > 1': Binder Error"):
        sqleval.inspect(frame, where="country + p > 1")
    with pytest.raises(RequestError, match="time='dy': no such column"):
        sqleval.inspect(frame, time="dy")
    with pytest.raises(RequestError, match="read only once"):
        sqleval.inspect(frame.to_arrow().to_reader())


def test_a_positive_value_that_no_row_has_is_shown() -> None:
    frame = pl.DataFrame({"y": Y, "p_0": 1 - P, "p_1": P})
    found = problems_of(sqleval.inspect(frame, label="y", positive=7))
    assert "positive=7" in (found["roc_auc", "p_1"].advice or "")


def test_one_row_is_no_plural() -> None:
    query = "SELECT 1 AS y, CAST('inf' AS DOUBLE) AS p"
    shown = run("inspect", "--query", query, "--label", "y", "--score", "p")
    assert ": 1 row, 2 columns" in shown
    assert "1 of 1 row\n" in shown
    assert "1 rows" not in shown


def test_whole_numbers_have_two_readings(tmp_path: Path) -> None:
    prices = pl.DataFrame({"price": range(100, 200), "predicted_price": range(101, 201)})
    path = tmp_path / "prices.parquet"
    for frame, tasks in (
        (prices, ("regression", "multiclass")),
        # Five values in a column of floats.
        ((prices % 5).cast(pl.Float64), ("regression", "multiclass")),
        (prices % 5, ("multiclass",)),
    ):
        frame.write_parquet(path)
        commands = [each for each in commands_of(sqleval.inspect(str(path))) if "evaluate" in each]
        assert [shlex.split(command)[-1] for command in commands] == [*tasks]
