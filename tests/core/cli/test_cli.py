"""The command line as a process: its output, its errors and its exit codes."""

import json
import os
import subprocess
from pathlib import Path

import click
import polars as pl
import pytest
from click.testing import CliRunner
from sklearn.metrics import log_loss, roc_auc_score

import sqleval
from sqleval.cli import main, output
from tests.support.commands import SQLEVAL, run, run_process

ROOT = Path(__file__).parents[3]
FLIGHTS = str(ROOT / "data" / "flights" / "predictions")
ROLES = ("--label", "delayed", "--score", "p_boosted", "--nulls", "drop")


@pytest.fixture(scope="module")
def flights() -> pl.DataFrame:
    return pl.read_parquet(FLIGHTS + "/**/*.parquet").drop_nulls("delayed")


def test_json_holds_the_same_values_as_scikit_learn(flights: pl.DataFrame, tmp_path: Path) -> None:
    metrics = ("--metric", "roc_auc", "-m", "log_loss", "--ci", "0.95")
    # From another folder: nothing may depend on the working directory.
    done = run_process("evaluate", FLIGHTS, *ROLES, *metrics, "--format", "json", cwd=tmp_path)
    rows = {row["metric"]: row for row in json.loads(done.stdout)}
    y, p = flights["delayed"].to_numpy(), flights["p_boosted"].to_numpy()
    assert rows["roc_auc"]["value"] == pytest.approx(roc_auc_score(y, p), rel=1e-12)
    assert rows["log_loss"]["value"] == pytest.approx(log_loss(y, p), rel=1e-12)
    assert rows["roc_auc"]["low"] < rows["roc_auc"]["value"] < rows["roc_auc"]["high"]
    assert rows["roc_auc"]["n"] + rows["roc_auc"]["n_dropped"] == 170_618
    assert list(rows["roc_auc"]) == [
        "metric", "value", "low", "high", "n", "n_dropped", "method", "note",
    ]  # fmt: skip
    assert not list(tmp_path.iterdir())


def test_models_by_slice_in_a_table() -> None:
    done = run(
        "evaluate", FLIGHTS, "--label", "delayed", "--score", "a=p_logistic", "--score",
        "b=p_boosted", "--by", "origin", "-m", "roc_auc", "--nulls", "drop",
    )  # fmt: skip
    lines = done.stdout.splitlines()
    assert lines[0].split()[:4] == ["origin", "model", "metric", "value"]
    assert [line.split()[:2] for line in lines[1:]] == [
        [origin, model] for origin in ("EWR", "JFK", "LGA") for model in ("a", "b")
    ]


@pytest.mark.parametrize("ending", ["csv", "json", "parquet", "txt"])
def test_output_follows_the_file_ending(ending: str, tmp_path: Path) -> None:
    target = tmp_path / f"out.{ending}"
    done = run("evaluate", FLIGHTS, *ROLES, "-m", "recall", "--output", str(target))
    assert done.stdout == ""
    if ending == "parquet":
        assert pl.read_parquet(target)["metric"].to_list() == ["recall"]
    elif ending == "csv":
        assert pl.read_csv(target)["metric"].to_list() == ["recall"]
    else:
        assert "recall" in target.read_text()


def test_infinity_is_written_as_text() -> None:
    done = run("curve", "roc", FLIGHTS, *ROLES, "--drop-intermediate", "--format", "json")
    points = json.loads(done.stdout)
    assert points[0] == {"threshold": "inf", "fpr": 0.0, "tpr": 0.0}
    assert points[-1]["fpr"] == points[-1]["tpr"] == 1.0


def test_confusion_of_classes() -> None:
    scores = [
        f"--score={name}={name.replace(' ', '_')}_boosted" for name in ("on time", "minor", "major")
    ]
    done = run(
        "confusion", FLIGHTS, "--label", "delay_class", *scores, "--task", "multiclass",
        "--nulls", "drop", "--format", "json",
    )  # fmt: skip
    rows = json.loads(done.stdout)
    assert sum(row["n"] for row in rows) == 166_668
    assert {row["label"] for row in rows} == {"on time", "minor", "major"}


def test_late_labels_report_both_sides_on_stderr(tmp_path: Path) -> None:
    pl.DataFrame({"id": [1, 2, 3], "p": [0.2, 0.7, 0.4]}).write_parquet(tmp_path / "p.parquet")
    pl.DataFrame({"id": [1, 2, 9], "y": [0, 1, 1]}).write_parquet(tmp_path / "y.parquet")
    done = run(
        "evaluate", str(tmp_path / "p.parquet"), "--label", "y", "--score", "p", "--labels",
        str(tmp_path / "y.parquet"), "--on", "id", "-m", "roc_auc", "--format", "json",
    )  # fmt: skip
    assert "1 of 3 rows have no label yet" in done.stderr
    assert "1 labels match no row" in done.stderr
    (row,) = json.loads(done.stdout)
    assert (row["value"], row["n"], row["n_dropped"]) == (1.0, 2, 1)


def test_sql_runs_where_it_is_pasted() -> None:
    import duckdb

    done = run("sql", FLIGHTS, *ROLES, "-m", "f_beta(beta=2)", "-m", "f_beta(beta=0.5)")
    rows = duckdb.sql(done.stdout.strip().rstrip(";")).fetchall()
    ours = sqleval.scan(FLIGHTS, label="delayed", score="p_boosted", nulls="drop")
    frame = ours.evaluate(["f_beta(beta=2)", "f_beta(beta=0.5)"]).collect()
    assert [row[:2] for row in rows] == frame.select("metric", "value").rows()
    with_params = run(
        "sql", FLIGHTS, *ROLES, "-m", "f_beta(beta=2)", "-m", "f_beta(beta=0.5)", "--params"
    )
    assert "$beta_2" in with_params.stdout


def test_the_text_for_a_table_takes_what_evaluate_takes() -> None:
    import duckdb

    given = [
        "--label", "delayed", "--score", "p_boosted", "--by", "carrier", "--sets", "overall",
        "--where", "carrier IN ('AA', 'DL')", "--nulls", "drop", "--ci", "0.9",
    ]  # fmt: skip
    done = run("sql", "roc_auc", "recall", "--table", "preds", "--dialect", "duckdb", *given)
    con = duckdb.connect()
    con.execute(f"CREATE VIEW preds AS FROM read_parquet('{FLIGHTS}/**/*.parquet')")
    rows = con.execute(done.stdout.strip().rstrip(";")).fetchall()
    shown = run("evaluate", FLIGHTS, *given, "-m", "roc_auc", "-m", "recall", "--format", "json")
    want = [tuple(row.values()) for row in json.loads(shown.stdout)]
    assert [row[-2:] for row in rows] == [(None, None)] * 6
    assert [row[:3] for row in rows] == [row[:3] for row in want]
    for row, other in zip(rows, want, strict=True):
        assert row[3:6] == pytest.approx(other[3:6])
        assert row[7:10] == other[7:10]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--query", "SELECT 1"), "--query cannot be used with --table: create a view"),
        (("--params",), "--params cannot be used with --table: engines write parameters diff"),
        (("--steps",), "--steps cannot be used with --table: sqleval does not connect"),
        (("--plan", "groups"), "--plan cannot be used with --table: only DuckDB has plans"),
        (("--labels", "late", "--on", "id"), "labels= (--labels) cannot be used with ClickHouse"),
    ],
)
def test_an_option_that_a_table_elsewhere_cannot_have_is_refused(options, message) -> None:
    roles = ("--table", "t", "--dialect", "clickhouse", "--label", "y", "--score", "p")
    done = run("sql", "roc_auc", *roles, *options, code=2)
    assert message in done.stderr


def test_steps_show_each_relation_with_rows() -> None:
    done = run("sql", FLIGHTS, *ROLES, "-m", "precision", "--steps")
    shown = [line[3:] for line in done.stdout.splitlines() if line.startswith("-- ")]
    assert shown[:3] == ["_source", "_audit", "predictions"]
    assert {"decisions", "decision_counts", "outcomes", "_results"} <= set(shown)
    assert "129,049" in done.stdout or "129049" in done.stdout


def test_inspect_names_what_is_wrong_and_what_helps(tmp_path: Path) -> None:
    path = tmp_path / "bad.parquet"
    pl.DataFrame(
        {
            "id": [1, 1, 2, 3, 4, 5],
            "y": [0, 1, None, 1, 0, 1],
            "s": [0.9, 0.1, 0.2, float("nan"), float("inf"), 0.3],
            "c": [0.5] * 6,
        }
    ).write_parquet(path)
    done = run(
        "inspect", str(path), "--label", "y", "--score", "s", "--score", "c", "--key", "id",
        "--format", "json",
    )  # fmt: skip
    found = {(row["check"], row["column"]): row for row in json.loads(done.stdout)}
    assert found["rows", None]["value"] == "6"
    assert found["NULL", "y"]["value"] == "1 of 6 rows"
    assert found["NULL", "y"]["advice"] == "--nulls drop"
    assert found["NaN", "s"]["value"] == "1 of 6 rows"
    assert found["infinite", "s"]["value"] == "1 of 6 rows"
    assert found["classes", "y"]["value"] == "1: 3, 0: 2"
    assert found["duplicate keys", "id"]["value"] == "1"
    assert found["constant score", "c"]["value"] == "0.5"
    assert found["roc_auc", "s"]["value"] == "0.000000"
    assert "--positive" in found["roc_auc", "s"]["advice"]
    twice = run("inspect", str(path), "--score", "a=s", "--score", "a=c", code=2)
    assert "--score names 'a' twice" in twice.stderr


def test_list_and_show() -> None:
    listed = json.loads(run("list", "--format", "json").stdout)
    assert {row["name"] for row in listed} == {row["name"] for row in sqleval.metrics()}
    assert {
        row["family"]
        for row in json.loads(run("list", "--family", "curve", "--format", "json").stdout)
    } == {"curve"}
    tables = run("list").stdout
    titles = [line for line in tables.splitlines()[:-1] if not line.startswith(" ")]
    assert titles[:2] == ["binary", "binary: calibration"]
    assert {"any classes: classification", "regression", "ranking", "value"} <= {*titles}
    # The other spellings of ROC AUC are no entries, but keep their names.
    assert "  roc_auc  " in tables
    assert "roc_auc_pairs" not in tables
    assert "same_as" in run("show", "roc_auc_pairs").stdout
    assert {row["same_as"] for row in listed} == {None, "roc_auc"}
    shown = run("list", "--task", "regression").stdout.splitlines()
    assert shown[0] == "regression"
    assert any(line.startswith("  mae ") for line in shown)
    several = json.loads(run("list", "--task", "multiclass", "--format", "json").stdout)
    assert {row["task"] for row in several} == {"binary", "any classes", "multiclass"}
    shown = run("show", "roc_auc").stdout
    assert "sklearn.metrics.roc_auc_score" in shown
    assert "FROM cutoffs" in shown
    for name, file in (("recall@10", "recall_at_k"), ("f1_macro", "f1")):
        assert run("show", name).stdout == run("show", file).stdout


def test_every_metric_and_curve_is_shown() -> None:
    for row in sqleval.metrics():
        shown = run("show", row["name"])
        assert row["name"] in shown.stdout.splitlines()[0]


WRONG = [
    (("evaluate", "nowhere.parquet", *ROLES), "no such file: 'nowhere.parquet'"),
    (("evaluate", FLIGHTS, "--label", "delayd", "--score", "p_boosted"), "did you mean 'delayed'?"),
    (("evaluate", FLIGHTS, "--label", "delayed", "--score", "p_boosted"), "3950 of 170618 rows"),
    (("evaluate", FLIGHTS, *ROLES, "-m", "roc_acu"), "did you mean 'roc_auc'?"),
    (("evaluate", FLIGHTS, *ROLES, "--ci", "95"), "between 0 and 1"),
    (("evaluate", FLIGHTS, *ROLES, "--format", "parquet"), "--output FILE"),
    (("evaluate", FLIGHTS, *ROLES, "--output", "/nonexistent/x.csv"), "cannot write"),
    (("evaluate", FLIGHTS, "--score", "p_boosted"), "give label=, the column of the truth"),
    (("evaluate", "--label", "y", "--score", "p"), "give either a SOURCE"),
    (("evaluate", FLIGHTS, *ROLES, "--by", "carier"), "did you mean 'carrier'?"),
    (("curve", "rok", FLIGHTS, *ROLES), "did you mean 'roc_curve'?"),
    (("show", "aucc"), "no metric called 'aucc'"),
    (("list", "--family", "binry"), "did you mean 'binary'?"),
    (("list", "--task", "regresion"), "did you mean 'regression'?"),
    (("list", "--task", "ranking", "--family", "cost"), "no metric of the family 'cost'"),
    (("evalute",), "No such command"),
    (("plot", "roc", FLIGHTS, *ROLES), "'plot': draw with sqleval curve NAME SOURCE ... --plot"),
    (("evaluate", FLIGHTS, *ROLES, "--where", ""), "where='' is empty: leave it out, or give"),
    (("select", FLIGHTS, *ROLES, "-m", "roc_auc", "--config", "nosuch", "--fold", "month"),
     "error: config='nosuch': no such column"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "message"), WRONG, ids=lambda v: str(v)[:40])
def test_wrong_use_is_one_clear_line_and_exit_code_2(
    arguments: tuple[str, ...], message: str
) -> None:
    done = run(*arguments, code=2)
    assert message in done.stderr
    assert done.stdout == ""


#: A query whose rows cannot be computed.
FAILING = (
    "--query", "SELECT 1 AS y, 1 AS id, CAST(error('computed') AS DOUBLE) AS p",
    "--label", "y", "--score", "p",
)  # fmt: skip


@pytest.mark.parametrize("arguments", [
    ("evaluate", *FAILING), ("curve", "roc", *FAILING), ("confusion", *FAILING),
    ("sample-size", *FAILING), ("compare", *FAILING, "--score", "q=p"), ("inspect", *FAILING),
    ("resample", *FAILING), ("select", *FAILING, "-m", "roc_auc", "--config", "id"),
    ("state", "evaluate", "nowhere.parquet"), ("drift", "nowhere.parquet", "nowhere.parquet"),
    ("history", "nowhere.duckdb"), ("split", "check", "nowhere.parquet", "x", "--key", "id"),
])  # fmt: skip
def test_a_format_is_checked_before_anything_is_computed(arguments: tuple[str, ...]) -> None:
    for options, message in (
        (("--output", "out.xyz"), "--output 'out.xyz': give --format, or use one of the suffixes"),
        (("--format", "parquet"), "--format parquet needs --output FILE"),
    ):
        done = run(*arguments, *options, code=2)
        assert done.stderr.strip().startswith(f"error: {message}")


@pytest.mark.parametrize(("arguments", "message"), [
    (("state", "build", *FAILING, "--output", "out.csv"), "the suffix must be .parquet or .duckdb"),
    (("state", "merge", "nowhere", "--output", "out"), "the suffix must be .parquet or .duckdb"),
    (("curve", "roc", *FAILING, "--plot", "roc.pdf"), "'roc.pdf': the suffix must be one of"),
])  # fmt: skip
def test_a_suffix_is_checked_before_anything_is_computed(
    arguments: tuple[str, ...], message: str
) -> None:
    assert message in run(*arguments, code=2).stderr


def test_an_engine_failure_is_exit_code_3() -> None:
    failing = "SELECT 1 AS y, CAST(error('disk on fire') AS DOUBLE) AS p"
    done = run_process("evaluate", "--query", failing, "--label", "y", "--score", "p", code=3)
    assert "disk on fire" in done.stderr


def test_debug_shows_the_traceback() -> None:
    done = subprocess.run(
        [SQLEVAL, "--debug", "evaluate", "nowhere.parquet", *ROLES],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "Traceback" in done.stderr
    (last,) = done.stderr.splitlines()[-1:]
    assert last.startswith("error: ")


@pytest.mark.parametrize("flags", [(), ("--debug",)])
def test_debug_keeps_the_exit_code_of_an_engine(flags: tuple[str, ...], tmp_path: Path) -> None:
    broken = tmp_path / "history.duckdb"
    broken.write_text("no database", encoding="utf-8")
    done = run(*flags, "history", str(broken), code=3)
    assert ("Traceback" in done.stderr) == bool(flags)
    assert "error: the history" in done.stderr


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_closed_pipe_is_silent(unbuffered: str) -> None:
    command = f"'{SQLEVAL}' curve pr '{FLIGHTS}' {' '.join(ROLES)} --format csv | head -n 1"
    done = subprocess.run(
        command, shell=True, capture_output=True, text=True, check=True,
        env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
    )  # fmt: skip
    assert done.stdout == "threshold,precision,recall\n"
    assert done.stderr == ""


@pytest.mark.parametrize("verb", sorted(main.sqleval.commands))
def test_each_verb_has_help_with_an_example(verb: str) -> None:
    command = main.sqleval.commands[verb]
    below = command.commands if isinstance(command, click.Group) else {}
    for path in ([verb], *([verb, name] for name in below)):
        shown = CliRunner().invoke(main.sqleval, [*path, "--help"], terminal_width=80).output
        # On a separate line, ready to type, and within a terminal of 80 columns.
        assert f"Example:\n    sqleval {verb}" in shown
        assert not [line for line in shown.splitlines() if len(line) > 80], path


def test_outputs_are_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text("y,p\n0,0.1\n1,0.8\n", encoding="utf-8")
    asked = ("evaluate", str(rows), "--label", "y", "--score", "p", "--metric", "roc_auc")
    for name in ("new.csv", "new.parquet", "new.json"):
        missing = run(*asked, "--output", str(tmp_path / "nowhere" / name), code=2)
        assert "cannot write" in missing.stderr
    assert not (tmp_path / "nowhere").exists()
    old = tmp_path / "old.csv"
    run(*asked, "--output", str(old))
    before = old.read_bytes()

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(output, "_write_text", fail)
    full = run(*asked, "--output", str(old), code=3)
    assert "No space left on device" in full.stderr
    monkeypatch.setattr(output, "_print_table", fail)  # to stdout
    assert run(*asked, code=3).stderr == "error: cannot write: No space left on device\n"
    assert old.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["old.csv", "rows.csv"]


def test_an_output_that_is_not_a_file_is_written_directly(tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text("y,p\n0,0.1\n1,0.8\n", encoding="utf-8")
    roles = ("--label", "y", "--score", "p", "--metric", "roc_auc", "--format", "csv")
    done = run_process("evaluate", str(rows), *roles, "--output", "/dev/stdout")
    assert done.stdout.startswith("metric,value")
