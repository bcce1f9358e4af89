"""The outputs of a run besides the history (report, results, exports), and the job commands."""

import json
import re
import sys
from dataclasses import replace
from datetime import UTC, date, datetime
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import polars as pl
import pytest
import yaml
from click.testing import CliRunner
from prometheus_client.parser import text_string_to_metric_families

from sqleval.cli.main import sqleval
from sqleval.errors import EngineError, MissingExtra
from sqleval.jobs.file.reading import read_job
from sqleval.jobs.outputs import exports, results
from sqleval.jobs.outputs.report import write_report
from sqleval.jobs.running.run import Run, open_job_store
from sqleval.plots import charts
from tests.support.commands import run, run_process
from tests.support.lake import LATER, SMALLEST, Lake, on, rows

BAD = '<b>"&'  # a slice that must be quoted everywhere


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    made = Lake(tmp_path)
    worse = (pl.col("seg") == "b") & (pl.col("day") == date(2026, 1, 4))
    made.put(rows().with_columns(
        p=pl.when(worse).then(1 - pl.col("p")).otherwise("p"),
        seg=pl.col("seg").replace("b", BAD),
    ))  # fmt: skip
    made.job(gates=["roc_auc >= 0.6", {"check": "log_loss <= 0.4", "severity": "warn"}])
    return made


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run commands outside the job's folder, on a wide screen."""
    monkeypatch.chdir(tmp_path.parent)
    monkeypatch.setenv("COLUMNS", "200")


def test_the_smallest_job_and_its_two_commands(tmp_path: Path) -> None:
    (tmp_path / "nightly.yml").write_text(SMALLEST, encoding="utf-8")
    rows().write_parquet(tmp_path / "preds.parquet")
    _, out, err = run("run", str(tmp_path / "nightly.yml"), "--backfill")
    assert out == ""
    assert "nightly: 4 evaluated, gates: 12 passed, 0 failed" in err
    found = json.loads(run("history", str(tmp_path / "history.duckdb"), "--format", "json").stdout)
    assert len(found) == 24
    assert {row["metric"] for row in found} == {"roc_auc", "log_loss"}


def test_a_failed_gate_is_exit_code_1_and_a_table(lake: Lake) -> None:
    job = str(lake.folder / "job.yml")
    _, out, err = run_process("run", job, "--backfill", "--log-json", code=1)
    failed = [line.split() for line in out.splitlines() if line.startswith("failed")]
    assert len(failed) == 1
    assert failed[0][:6] == ["failed", "roc_auc", ">=", "0.6", "2026-01-04", f"seg={BAD}"]
    assert "warned" in out
    # Each line is JSON, except DuckDB's own messages at the end of a process.
    lines = [line for line in err.splitlines() if not re.match(r"nanobind|See |\s*- ", line)]
    logged = [json.loads(line) for line in lines]
    assert [line["message"] for line in logged[:5]] == ["planned"] + ["evaluated"] * 4
    assert {line["job"] for line in logged[:5]} == {"nightly"}
    assert logged[4]["period"] == "2026-01-04"
    incidents = [line["message"] for line in logged[5:-1]]
    assert incidents[0].startswith(
        "roc_auc >= 0.6 failed since 2026-01-04 (in 1 period), worst: seg="
    )
    assert incidents[1].startswith("log_loss <= 0.4 warned since 2026-01-0")
    assert len(incidents) == 2
    assert logged[-1]["message"].startswith("nightly: 4 evaluated, gates:")


def test_a_failed_slice_is_exit_code_3_and_other_jobs_go_on(lake: Lake) -> None:
    lake.put(rows(days=1).with_columns(p=pl.when(pl.col("seg") == "a").then(7.0).otherwise("p")))
    job = str(lake.folder / "job.yml")
    broken = lake.folder / "broken.yml"
    broken.write_text("name: broken\n", encoding="utf-8")
    _, out, err = run("run", str(broken), job, "--backfill", "--format", "json", code=3)
    (document,) = json.loads(out)
    assert document["exit_code"] == 3
    assert len(document["errors"]) == 1
    assert f"error: {broken}:1: 'source' is needed" in err
    assert run("run", str(broken), code=2).stdout == ""


def test_a_run_as_json_junit_and_prometheus(lake: Lake) -> None:
    outputs = {"json": "out/run.json", "junit": "out/run.xml", "prometheus": "out/run.prom"}
    done = replace(lake.run(changes={"outputs": outputs}, backfill=True), notes=["a note"])
    paths = results.write_outputs(done, 1)
    assert paths == [str(lake.folder / path) for path in outputs.values()]

    document = json.loads(Path(paths[0]).read_text(encoding="utf-8"))
    assert document["exit_code"] == 1
    assert [step["action"] for step in document["steps"]] == ["evaluate"] * 4
    bad = [row for row in document["verdicts"] if row["status"] == "failed"]
    assert [(row["slice"], row["since"]) for row in bad] == [({"seg": BAD}, "2026-01-04")]
    assert (document["rows_written"], document["notes"]) == (done.rows.height, ["a note"])

    suite = ElementTree.parse(paths[1]).getroot().find("testsuite")
    assert suite is not None
    warned = done.verdicts.filter(status="warned").height
    assert suite.attrib["tests"] == str(done.verdicts.height)
    assert (suite.attrib["failures"], suite.attrib["skipped"]) == ("1", str(warned))
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert "since 2026-01-04" in failure.attrib["message"]
    assert f"short by {bad[0]['short_by']:.6g}, " in failure.attrib["message"]

    text = Path(paths[2]).read_text(encoding="utf-8")
    families = {family.name: family for family in text_string_to_metric_families(text)}
    last = {
        (sample.labels["metric"], sample.labels["slice"]): sample.value
        for sample in families["sqleval_value"].samples
    }
    expected = lake.history().filter(period="2026-01-04", slice='{"seg":"a"}', metric="roc_auc")
    assert last["roc_auc", "seg=a"] == expected["value"][0]
    assert ("roc_auc", f"seg={BAD}") in last
    assert families["sqleval_gates_failed"].samples[0].value == 1
    assert {sample.value for sample in families["sqleval_rows"].samples} == {40}
    begins = {sample.value for sample in families["sqleval_period_start"].samples}
    assert begins == {datetime(2026, 1, 4, tzinfo=UTC).timestamp()}
    failing = results.write_prometheus(replace(done, errors=["one", "two"]))
    assert 'sqleval_errors{job_name="nightly"} 2.0' in failing


def test_prometheus_has_a_label_per_slice_key(lake: Lake) -> None:
    lake.put(rows().with_columns(
        **{"a-b": pl.col("seg"), "job_name": pl.col("key") % 2 == 0, "9": pl.lit(None, pl.Int8)}
    ))  # fmt: skip
    sets = [[], ["a-b", "job_name"], ["9"]]
    done = lake.run(changes={"by": None, "slices": sets}, date=on("2026-01-01"))
    assert done.errors == []
    families = text_string_to_metric_families(results.write_prometheus(done))
    samples = next(family.samples for family in families if family.name == "sqleval_value")
    assert len(samples) == 2 * (1 + 3 * 2 + 1)
    found = {
        (sample.labels["slice"], *(sample.labels[name] for name in ("a_b", "slice_job_name")))
        for sample in samples
    }
    assert ("all rows", "", "") in found
    assert ("a-b=c, job_name=True", "c", "true") in found
    assert ("9 is null", "", "") in found
    assert {sample.labels["slice_9"] for sample in samples} == {""}


def test_names_in_junit_are_unique(lake: Lake) -> None:
    checks = [{"check": "roc_auc >= 0.6", "min_rows": n} for n in (0, 1, 2)]
    # There are two errors, because the numbers of rows differ.
    bad = pl.when(pl.col("seg") == "c", pl.col("key") != 2).then(7.0).otherwise("p")
    lake.put(rows(days=2).with_columns(p=bad))
    done = lake.run(changes={"gates": checks}, backfill=True)
    suite = ElementTree.fromstring(results.write_junit(done)).find("testsuite")
    assert suite is not None
    names = [case.attrib["name"] for case in suite.iter("testcase")]
    assert len(names) == len(set(names)) > 20
    assert {"evaluation", "evaluation (2)"} < set(names)
    assert "roc_auc >= 0.6 (at least 2 rows) [2026-01-01] seg=a" in names


def test_the_page_has_both_curves_and_quotes_what_it_shows(lake: Lake) -> None:
    changes = {"report": "page.html", "ci": 0.95, "score": {"one": "p", "two": "p"}}
    lake.job(**changes)
    _, _, err = run("run", str(lake.folder / "job.yml"), "--backfill", code=1)
    page = lake.folder / "page.html"
    assert f"wrote {page}" in err
    text = page.read_text(encoding="utf-8")
    assert text.count("<svg") == 2 + 2  # trends of two metrics, and two curves
    assert "True positive rate" in text
    assert "Precision" in text
    assert BAD not in text
    assert "seg=&lt;b&gt;" in text
    assert not re.search(r'(src|href)="http', text)
    value = lake.history().filter(period="2026-01-04", metric="roc_auc")["value"][0]
    assert f"{value:.4f}" in text
    assert 'class="failed">failed' in text
    assert "roc_auc &gt;= 0.6 failed since 2026-01-04 (in 1 period), worst: seg=&lt;b&gt;" in text
    before = page.stat().st_mtime_ns
    run("run", str(lake.folder / "job.yml"), "--as-of", "2026-01-05", code=1)
    assert page.stat().st_mtime_ns == before  # nothing new, and nothing is read


def test_each_slice_is_a_metric_of_its_own_in_mlflow() -> None:
    values = pl.DataFrame({"metric": ["f1"] * 3, "slice": ['{"a":"<"}', '{"a":">"}', "{}"]})
    names = exports._name_metrics(values)
    assert sorted(names.values()) == ["f1/a__", "f1/a___2", "f1/all rows"]


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> dict[str, tuple[pl.DataFrame, pl.DataFrame]]:
    """The frames of the drawn trends by title; no picture is made."""
    frames: dict[str, tuple[pl.DataFrame, pl.DataFrame]] = {}

    def keep(frame: pl.DataFrame, others: pl.DataFrame, *, title: str) -> str:
        frames[title] = frame, others
        return f"<svg>{title}</svg>"

    monkeypatch.setattr(charts, "draw_trend", keep)
    monkeypatch.setattr(charts, "draw_curve", lambda chart, *_: f"<svg>{chart.curve}</svg>")
    monkeypatch.setattr(charts, "write_svg", lambda text: text)
    return frames


def read_page(lake: Lake, done: Run) -> str:
    assert write_report(done) == [str(lake.folder / "page.html")]
    return (lake.folder / "page.html").read_text(encoding="utf-8")


def test_a_trend_has_the_values_intervals_and_failures_of_the_history(
    lake: Lake, drawn: dict[str, tuple[pl.DataFrame, pl.DataFrame]]
) -> None:
    changes = {"report": "page.html", "ci": 0.9, "by": None, "slices": [[], ["seg"]]}
    gates = ["roc_auc >= 0.6", {"check": "log_loss <= 0.01", "by": []}]
    text = read_page(lake, lake.run(changes={**changes, "gates": gates}, backfill=True))
    assert list(drawn) == ["roc_auc", "log_loss"]
    expected = lake.history().filter(slice="{}", metric="roc_auc").sort("period")
    frame, others = drawn["roc_auc"]
    assert frame["y"].to_list() == expected["value"].to_list()
    assert frame["low"].to_list() == expected["low"].to_list()
    assert frame["high"].to_list() == expected["high"].to_list()
    days = [datetime.fromtimestamp(x / 1000, UTC) for x in frame["x"]]
    assert days == [datetime(2026, 1, day, tzinfo=UTC) for day in range(1, 5)]
    # On the fourth day one slice fails, but all rows together pass.
    assert expected["value"].min() >= 0.6
    assert frame["failed"].to_list() == [False] * 4
    assert others["x"].to_list() == frame["x"].to_list()[3:]
    frame, others = drawn["log_loss"]
    assert (frame["failed"].to_list(), others.height) == ([True] * 4, 0)
    assert "Band: interval of 90 %. Red dot: a gate failed or warns. Red mark at the" in text


def read_cells(text: str) -> list[dict[str, str]]:
    """Return the cells of each row of the page's tables by their names."""
    cells = (re.findall(r'data-name="(.*?)">(.*?)</td>', row) for row in text.split("<tr>"))
    return [{name: unescape(cell) for name, cell in row} for row in cells if row]


def write_cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def test_the_tables_of_the_page_are_those_of_the_history(
    lake: Lake, drawn: dict[str, tuple[pl.DataFrame, pl.DataFrame]]
) -> None:
    frame = rows().with_columns(seg=pl.col("seg").replace("b", BAD))
    lake.put(frame.drop("y"))
    frame.select("key", "y").head(440).write_parquet(lake.folder / "labels.parquet")
    labels = {"source": "labels.parquet", "on": "key", "maturity": "1d"}
    changes = {"report": "page.html", "ci": 0.9, "nulls": "drop", "labels": labels}
    done = lake.run(changes=changes, backfill=True)
    text = read_page(lake, done)
    verdicts, metrics = (
        [row for row in read_cells(text) if name in row] for name in ("gate", "metric")
    )
    problems = results.list_problems(done.verdicts)
    assert f"<summary>{problems.height} verdict" in text
    assert [*verdicts[0]] == [
        "gate", "period", "slice", "value", "limit", "short by", "since", "reason"
    ]  # fmt: skip
    assert [[*row.values()] for row in verdicts] == [
        [*map(write_cell, row)]
        for row in problems.rename({"short_by": "short by"}).select(*verdicts[0]).rows()
    ]
    here = lake.history().filter(period="2026-01-04")
    assert [{**row, "slice": ""} for row in metrics] == [
        {"slice": "", "metric": row["metric"],
         **{name: write_cell(row[name]) for name in ("value", "low", "high", "n")},
         "dropped": write_cell(row["n_dropped"]), "note": row["error"] or row["note"] or ""}
        for row in here.iter_rows(named=True)
    ]  # fmt: skip
    assert {row["slice"] for row in metrics} == {"seg=a", f"seg={BAD}", "seg=c"}
    assert results.describe_counts(done.verdicts) in text
    (matured,) = here["matured"].unique()
    assert f"2026-01-04: 120 rows &middot; {100 * matured:.1f} % with a label" in text


def test_the_page_is_of_the_job(
    lake: Lake, drawn: dict[str, tuple[pl.DataFrame, pl.DataFrame]]
) -> None:
    """Whatever period is run, the page has the newest numbers and failures, and whole trends."""
    changes = {"report": "page.html", "gates": None, "missing": "warn"}
    text = read_page(lake, lake.run(changes=changes, backfill=True))
    assert "2026-01-01 to 2026-01-04 (4 periods of one day)" in text
    assert "Metrics of 2026-01-04" in text
    lake.put(rows(days=1, seed=7, start=1))
    text = read_page(lake, lake.run(date=on("2026-01-02")))
    assert "2026-01-02 to 2026-01-04 (2 periods of one day)" in text
    assert "Metrics of 2026-01-04" in text
    assert "<svg>roc_curve</svg>" in text
    points = drawn["roc_auc"][0].filter(slice="seg=a").sort("x")["y"].to_list()
    again = lake.history().filter(metric="roc_auc", slice='{"seg":"a"}').sort("period")
    assert points == again["value"].to_list()
    text = read_page(lake, lake.run(date=on("2026-01-09")))
    assert "2026-01-04 to 2026-01-09 (2 periods of one day)" in text
    assert "the period has no rows" in text
    assert "Metrics of 2026-01-04" in text


def test_the_page_of_a_plain_run_is_of_the_newest_period(
    lake: Lake, drawn: dict[str, tuple[pl.DataFrame, pl.DataFrame]]
) -> None:
    lake.run(changes={"report": "page.html", "gates": None}, backfill=True)
    lake.put(rows(days=1, seed=7))
    text = read_page(lake, lake.run())
    assert "2026-01-01 to 2026-01-04 (2 periods of one day)" in text
    assert "Metrics of 2026-01-04" in text
    assert drawn["roc_auc"][0]["x"].n_unique() == 4


def test_a_trend_breaks_where_the_definition_changes_or_values_lack(
    lake: Lake, drawn: dict[str, tuple[pl.DataFrame, pl.DataFrame]]
) -> None:
    changes = {"report": "page.html", "by": [], "metrics": ["recall"], "gates": None}
    one_class = rows(days=2).with_columns(y=pl.when(pl.col("day") == date(2026, 1, 2)).then(0)
        .otherwise("y").cast(pl.Int8))  # fmt: skip
    lake.put(one_class)
    lake.run(changes={**changes, "threshold": 0.5}, backfill=True)
    lake.put(rows(days=1, start=4))
    read_page(lake, lake.run(changes={"threshold": 0.4}, date=on("2026-01-05")))
    (frame, _) = drawn["recall"]
    assert frame.height == 4  # the second day has no positive
    parts = frame["part"].to_list()
    assert parts[0] != parts[1] == parts[2] != parts[3]


def test_a_page_without_any_result_is_not_written(lake: Lake) -> None:
    early = datetime(2025, 12, 1, tzinfo=UTC)
    done = lake.run(changes={"report": "page.html", "gates": None}, as_of=early)
    assert write_report(done) == []
    assert not (lake.folder / "page.html").exists()


@pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy:DeprecationWarning")
def test_a_run_is_sent_to_openlineage_and_mlflow(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MLFLOW_ALLOW_FILE_STORE", raising=False)
    outputs = {"openlineage": "lineage.jsonl", "mlflow": "sqlite:///runs.db"}
    done = lake.run(changes={"outputs": outputs, "by": []}, backfill=True)
    went = exports.export_run(done)
    events = [json.loads(line) for line in Path(went[0]).read_text().splitlines()]
    assert [event["eventType"] for event in events] == ["START", "COMPLETE"]
    assert {event["job"]["name"] for event in events} == {"nightly"}
    assert len(events[0]["inputs"]) == 4
    assert events[0]["inputs"][0]["name"].endswith("2026-01-01.parquet")
    assert events[0]["run"] == events[1]["run"]

    assert went[1] == f"sqlite:///{lake.folder / 'runs.db'}"

    import mlflow

    client = mlflow.MlflowClient(tracking_uri=went[1])
    experiment = client.get_experiment_by_name("nightly")
    assert experiment is not None
    (logged,) = client.search_runs([experiment.experiment_id])
    history = client.get_metric_history(logged.info.run_id, "roc_auc/all rows")
    expected = lake.history().filter(metric="roc_auc").sort("period")["value"].to_list()
    assert [point.value for point in sorted(history, key=lambda point: point.step)] == expected
    begins = [int(datetime(2026, 1, day, tzinfo=UTC).timestamp() * 1000) for day in range(1, 5)]
    assert sorted((point.step, point.timestamp) for point in history) == [*enumerate(begins)]
    failed = done.verdicts.filter(status="failed").height
    assert (logged.info.status, logged.data.tags["sqleval.failed_gates"]) == (
        "FINISHED", str(failed)
    )  # fmt: skip
    exports.export_run(replace(done, errors=["one"]))
    assert json.loads(Path(went[0]).read_text().splitlines()[-1])["eventType"] == "FAIL"
    (latest, _) = client.search_runs([experiment.experiment_id], order_by=["start_time DESC"])
    assert latest.info.status == "FAILED"
    assert not exports.export_run(lake.run(backfill=True))[1:]  # without news nothing is logged
    nowhere = lake.job(outputs={"mlflow": "nowhere://at.all"})
    with pytest.raises(EngineError, match="MLflow at nowhere"):
        exports.export_run(replace(done, job=nowhere))
    for package in ("mlflow", "alembic"):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(MissingExtra, match=rf"cannot import '{package}'; .*'mlflow-skinny>="):
            exports.export_run(done)


def test_init_writes_a_job_that_validates_and_runs(tmp_path: Path) -> None:
    made = Lake(tmp_path)
    made.put(rows(days=2).with_columns(x=pl.lit(1.5)))
    job = tmp_path / "jobs" / "mine.yml"
    run("init", str(tmp_path / "preds"), "--output", str(job))
    text = job.read_text(encoding="utf-8")
    given = yaml.safe_load(text)
    keys = ("name", "source", "label", "score", "slices", "period")
    assert {key: given[key] for key in keys} == {
        "name": "mine", "source": "../preds", "label": "y", "score": "p", "slices": [[], ["seg"]],
        "period": {"column": "day", "grain": "day"},
    }  # fmt: skip
    # Every line that is commented out is valid as well.
    assert "CHANGE" not in text
    err = run("validate", str(job)).stderr
    assert "2 files, binary (1 is positive, threshold 0.5), 2 metrics by all" in err
    assert "rows and by seg, 3 gates," in err
    run("run", str(job), "--backfill", "--as-of", "2026-01-03")
    done = run("init", str(tmp_path / "preds"), "--output", str(job), code=2)
    assert "exists already" in done.stderr


def test_the_first_run_of_the_starter_does_not_fail_on_small_slices(tmp_path: Path) -> None:
    job, flights = tmp_path / "job.yml", Path(__file__).parents[3] / "data/flights/predictions"
    run("init", str(flights), "--output", str(job))
    err = run("run", str(job), "--as-of", "2014-01-01").stderr
    # All rows of the day are judged; the check worse needs earlier days.
    assert "gates: 3 passed, 22 no reference, 10 undefined, 0 failed" in err
    values = open_job_store(read_job(job)).read("sqleval_history").filter(metric="roc_auc")
    assert values.filter(pl.col("value") < 0.6, pl.col("n") < 500)["n"].min() == 13


def test_the_starter_has_every_model_that_is_seen(tmp_path: Path) -> None:
    from sqleval.jobs.file.starter import write_starter

    frame = rows(days=2, each=30).with_columns(p_old="p", p_new=1 - pl.col("p")).drop("p")
    frame.write_parquet(tmp_path / "rows.parquet")
    given = yaml.safe_load(write_starter(str(tmp_path / "rows.parquet"), tmp_path / "job.yml"))
    assert given["score"] == {"old": "p_old", "new": "p_new"}


def test_the_starter_takes_no_row_key_for_a_slice(tmp_path: Path) -> None:
    from sqleval.jobs.file.starter import write_starter

    frame = rows(days=1, each=300).with_columns(
        order=pl.format("order {}", pl.int_range(300)), a=pl.lit(0), b=pl.lit(1)
    )
    frame.select("order", "a", "b", "seg", "y", "p", "day").write_parquet(tmp_path / "rows.parquet")
    given = yaml.safe_load(write_starter(str(tmp_path / "rows.parquet"), tmp_path / "job.yml"))
    assert (given["label"], given["score"], given["slices"]) == ("y", "p", [[], ["seg"]])
    assert given["period"] == {"column": "day", "grain": "day"}  # although it is a single one


def test_the_starter_of_an_empty_file(tmp_path: Path) -> None:
    from sqleval.jobs.file.starter import write_starter

    rows(days=1).head(0).write_parquet(tmp_path / "rows.parquet")
    text = write_starter(str(tmp_path / "rows.parquet"), tmp_path / "job.yml")
    assert "\nlabel: y\n" in text
    assert "CHANGE: no such column found among key, y, p, seg, day" in text


def test_commented_lines_of_the_starter_are_right(tmp_path: Path) -> None:
    from sqleval.jobs.file.starter import write_starter

    made = Lake(tmp_path)
    made.put(rows(days=1).rename({"day": "tag"}), "tag")
    text = write_starter(str(tmp_path / "preds"), tmp_path / "job.yml")
    lines = text.splitlines()
    given = {
        line.partition("#")[2].strip().partition(":")[0]: line.partition("# ")[2]
        for line in lines
        if re.match(r"# [a-z]+: ", line)
    }
    assert {"score", "labels", "by", "report", "outputs", "baseline"} <= given.keys()
    for key, line in given.items():
        instead = "slices" if key == "by" else key
        changed = [other for other in lines if not other.startswith(f"{instead}:")]
        path = tmp_path / "job.yml"
        path.write_text("\n".join([*changed, line]), encoding="utf-8")
        read_job(path)


def test_validate_names_what_is_wrong_before_a_night_is_lost(lake: Lake) -> None:
    path = lake.folder / "job.yml"
    for change, message in (
        ({"score": "q"}, "score='q': no such column"), ({"metrics": ["roc"]}, "did you mean"),
        ({"by": ["sek"]}, "did you mean 'seg'"), ({"period": {"column": "y"}}, "is TINYINT"),
        ({"source": "nowhere"}, "no such file"), ({"gates": ["ks > 0"]}, "no metric 'ks'"),
        ({"history": {"url": "postgresql://h/d", "password": {"env": "NOT_SET"}}}, "NOT_SET"),
    ):  # fmt: skip
        path.write_text(yaml.safe_dump({**lake.spec, **change}), encoding="utf-8")
        done = CliRunner().invoke(sqleval, ["validate", str(path)])
        assert message in str(done.exception), change
        assert str(done.exception).startswith(f"{path}:"), change
        (key,) = change
        if key in ("score", "metrics", "by"):
            lines = path.read_text(encoding="utf-8").splitlines()
            (line,) = (i for i, each in enumerate(lines, 1) if each.startswith(f"{key}:"))
            assert f"{path}:{line}: {key}" in str(done.exception)
        assert done.exit_code != 0
    done = CliRunner().invoke(sqleval, ["validate", "--schema"])
    assert "metrics" in json.loads(done.output)["properties"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--date", "yesterday"], "'yesterday' is not a date"),
        (["--from", "2026-01-01"], "--from and --to are needed together"),
        (["--from", "2026-02-01", "--to", "2026-01-01"], "is later than"),
        (["--backfill", "--date", "2026-01-01"], "give only one of"),
    ],
)
def test_wrong_use_of_run(arguments: list[str], message: str, lake: Lake) -> None:
    done = CliRunner().invoke(sqleval, ["run", str(lake.folder / "job.yml"), *arguments])
    assert message in str(done.exception)


def test_a_dry_run_writes_nothing(lake: Lake) -> None:
    path = str(lake.folder / "job.yml")
    out = run("run", path, "--from", "2026-01-02", "--to", "2026-01-03", "--dry-run").stdout
    assert [line.split() for line in out.splitlines()[1:]] == [
        ["2026-01-02", "evaluate", "new"], ["2026-01-03", "evaluate", "new"],
    ]  # fmt: skip
    assert not (lake.folder / "history.duckdb").exists()


def test_the_time_of_a_run_can_be_set(lake: Lake) -> None:
    assert LATER.tzinfo is not None
    path = str(lake.folder / "job.yml")
    lake.job(gates=["age <= 1"])
    run("run", path, "--as-of", "2026-01-06T03:00")
    run("run", path, "--as-of", "2026-01-08", code=1)


def test_each_table_of_several_jobs_names_its_file(tmp_path: Path) -> None:
    rows_text = "day,y,p\n2026-01-01,0,0.9\n2026-01-01,1,0.1\n"
    (tmp_path / "rows.csv").write_text(rows_text, encoding="utf-8")
    paths: list[str] = []
    for name in ("first", "second"):
        path = tmp_path / f"{name}.yml"
        path.write_text(
            f"name: {name}\nsource: rows.csv\nlabel: y\nscore: p\nmetrics: [roc_auc]\n"
            f"period: {{column: day}}\nhistory: {name}.duckdb\ngates: [roc_auc >= 0.5]\n",
            encoding="utf-8",
        )
        paths.append(str(path))
    options = ["--as-of", "2026-01-02"]
    plan = run("run", *paths, *options, "--dry-run").stdout.splitlines()
    assert [line for line in plan if line.endswith(":")] == [f"{path}:" for path in paths]
    printed = run("run", *paths, *options, code=1).stdout.splitlines()
    assert [printed[0], printed[3]] == [f"{path}:" for path in paths]
    # With one job, no name is needed.
    assert not run("run", paths[0], *options, "--dry-run").stdout.startswith(paths[0])
