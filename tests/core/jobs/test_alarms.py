"""The gate ``worse`` and incidents, from Parquet files to the output of ``sqleval run``."""

import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import duckdb
import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from sqleval import RequestError
from sqleval.cli.main import sqleval
from sqleval.jobs.file.gate_text import parse_check
from sqleval.jobs.file.parts import Gate
from sqleval.jobs.outputs import results
from tests.support.commands import run as command
from tests.support.lake import FIRST, Lake, rows

DROP = FIRST + timedelta(days=25)


def simulate(days: int = 35, each: int = 250) -> pl.DataFrame:
    """Return binormal scores of three segments; the scores of b are noise from `DROP` on."""
    rng = np.random.default_rng(11)
    n = days * each * 3
    label = rng.random(n) < 0.4
    score = rng.standard_normal(n) + 1.2 * label
    frame = pl.DataFrame({"y": label.astype(int), "s": score, "noise": rng.standard_normal(n)})
    day = [FIRST + timedelta(days=i // (3 * each)) for i in range(n)]
    frame = frame.with_columns(day=pl.Series(day), seg=pl.Series(["abc"[i % 3] for i in range(n)]))
    is_bad = (pl.col("seg") == "b") & (pl.col("day") >= DROP)
    s = pl.when(is_bad).then("noise").otherwise("s")
    return frame.select("y", "seg", "day", p=1 / (1 + (-s).exp()))


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    made = Lake(tmp_path_factory.mktemp("alarms"))
    made.put(simulate())
    made.job(
        ci=0.95, by=None, slices=[[], ["seg"]], metrics=["roc_auc", "log_loss", "accuracy"],
        outputs={"junit": "run.xml"},
    )  # fmt: skip
    made.run(backfill=True)
    return made


def run(lake: Lake, *gates: Any, **changes: Any) -> tuple[int, dict[str, Any], str]:
    """Run the command on all periods, and return its code, document and messages."""
    lake.job(gates=list(gates), **changes)
    command = ["run", str(lake.folder / "job.yml"), "--backfill", "--format", "json"]
    done = CliRunner().invoke(sqleval, command)
    assert done.exit_code in (0, 1), done.stderr
    return done.exit_code, json.loads(done.stdout)[0], done.stderr


def read_red(document: dict[str, Any]) -> set[tuple[str, str]]:
    return {
        (row["slice"].get("seg", ""), row["period"])
        for row in document["verdicts"]
        if row["status"] == "failed"
    }


@pytest.mark.parametrize("metric", ["roc_auc", "log_loss", "accuracy"])
def test_a_drop_of_one_slice_is_one_incident(lake: Lake, metric: str) -> None:
    gate = {"check": f"worse({metric}, previous 28) < 0.02", "by": ["seg"], "name": "quality"}
    code, document, messages = run(lake, gate)
    assert code == 1
    red = read_red(document)
    assert {seg for seg, _ in red} == {"b"}
    assert min(period for _, period in red) <= str(DROP + timedelta(days=3))
    assert max(period for _, period in red) == str(FIRST + timedelta(days=34))
    (incident,) = document["incidents"]
    assert (incident["gate"], incident["slice"]) == ("quality", {"seg": "b"})
    assert abs(date.fromisoformat(incident["since"]) - DROP) <= timedelta(days=2)
    assert incident["periods"] == len(red)
    assert incident["contributions"][0]["slice"] == '{"seg":"b"}'
    quality, mix = (abs(incident["contributions"][0][name]) for name in ("quality", "mix"))
    assert quality > 10 * mix
    assert f"incident: quality failed since {incident['since']}" in messages
    first = {row["status"] for row in document["verdicts"] if row["period"] <= "2026-01-07"}
    assert first == {"no reference"}


def test_the_incident_of_all_rows_names_the_slice(lake: Lake) -> None:
    _, document, messages = run(lake, {"check": "worse(roc_auc, previous 28)", "by": []})
    (incident,) = document["incidents"]
    assert incident["slice"] == {}
    assert incident["contributions"][0]["slice"] == '{"seg":"b"}'
    assert "most of the change: seg=b" in messages


def test_a_fixed_baseline_and_its_limit(lake: Lake) -> None:
    base = {"from": "2026-01-01", "to": "2026-01-20"}
    gate = {"check": "worse(roc_auc, baseline) < 0.02", "by": ["seg"]}
    _, document, _ = run(lake, gate, baseline=base)
    assert {seg for seg, _ in read_red(document)} == {"b"}
    history = lake.history().filter(metric="roc_auc", slice='{"seg":"b"}').sort("period")
    mean = history["value"].head(20).mean()
    limits = {row["limit"] for row in document["verdicts"] if row["slice"] == {"seg": "b"}}
    assert None in limits  # in the baseline
    (limit,) = limits - {None}
    assert limit == pytest.approx(mean - 0.02, abs=0.003)  # the mean of logits


def test_a_metric_without_an_interval_says_so(lake: Lake) -> None:
    gate = {"check": "worse(ks, previous 28)", "by": []}
    code, document, _ = run(lake, gate, metrics=["roc_auc", "log_loss", "accuracy", "ks"])
    assert code == 1  # nothing is judged
    found = [row for row in document["verdicts"] if row["gate"] != "undefined"]
    assert {row["status"] for row in found} == {"undefined"}
    assert {row["reason"] for row in found} == {
        "no interval in closed form; the bootstrap gives one"
    }


@pytest.mark.parametrize(
    ("gate", "message"),
    [
        ("worse(roc_auc)", "cannot read the check"),
        ("worse(roc_auc, yesterday)", "is not a reference"),
        ("worse(roc_auc, previous 28) > 0.1", "cannot read the check"),
        ("worse(roc_auc, previous 28) < -1", "must not be negative"),
        ("worse(prevalence, previous 28)", "the job has no metric"),
        ("worse(roc_auc, baseline)", "needs a baseline"),
        ({"check": "worse(roc_auc, previous 28)", "on": "low"}, "leave out on and in_a_row"),
        ({"check": "roc_auc > 0.5", "windows": [7]}, "fit a check worse"),
        ({"check": "worse(roc_auc, previous 28)", "windows": [0]}, "at least 1"),
    ],
)
def test_wrong_gates(lake: Lake, gate: Any, message: str) -> None:
    with pytest.raises(RequestError, match=message):
        lake.run(changes={"gates": [gate], "baseline": None})


def test_a_metric_without_direction_and_a_job_without_intervals(tmp_path: Path) -> None:
    made = Lake(tmp_path)
    made.put(rows(days=1))
    gates = ["worse(prevalence, previous 28)"]
    with pytest.raises(RequestError, match="neither higher nor lower"):
        made.run(changes={"gates": gates, "ci": 0.9, "metrics": ["prevalence"]})
    with pytest.raises(RequestError, match="needs the standard errors of ci"):
        made.run(changes={"ci": None})


def test_relative_limits() -> None:
    assert parse_check("log_loss <= baseline * 1.1")[2:5] == ("baseline", 0.0, 1.1)
    assert parse_check("log_loss <= previous 7*1.1 + 0.01")[2:5] == (7, 0.01, 1.1)
    with pytest.raises(RequestError, match="is not a limit"):
        parse_check("log_loss <= * 1.1")


def test_a_relative_limit_is_a_share_of_the_reference(lake: Lake) -> None:
    base = {"from": "2026-01-01", "to": "2026-01-20"}
    _, document, _ = run(lake, {"check": "log_loss <= baseline * 1.1", "by": []}, baseline=base)
    values = lake.history().filter(metric="log_loss", slice="{}").sort("period")["value"]
    limits = [row["limit"] for row in document["verdicts"]]
    assert limits == pytest.approx([1.1 * values.head(20).mean()] * 35)  # type: ignore[operator]


def test_names_tell_gates_apart(lake: Lake) -> None:
    assert Gate(check="roc_auc >= 0.7").title == "roc_auc >= 0.7"
    long = Gate(check="roc_auc >= 0.7", by=["seg"], min_rows=9, on="high", in_a_row=2)
    assert long.title == "roc_auc >= 0.7 (by seg; at least 9 rows; on high; 2 in a row)"
    assert Gate(check="roc_auc >= 0.7", by=[]).title == "roc_auc >= 0.7 (all rows)"
    same = {"check": "roc_auc >= 0.9", "severity": "warn"}
    job = lake.job(gates=["roc_auc >= 0.9", same, {**same, "on": "low"}], baseline=None)
    assert job.gate_names == ["roc_auc >= 0.9", "roc_auc >= 0.9 #2", "roc_auc >= 0.9 (on low)"]
    done = lake.run(backfill=True)
    cases = ElementTree.fromstring(results.write_junit(done)).findall("testsuite/testcase")
    names = [case.attrib["name"] for case in cases]
    assert len(names) == len(set(names)) == 3 * 35 * 4
    with pytest.raises(RequestError, match="two gates have the name 'x'"):
        lake.job(gates=[{"check": "roc_auc > 0", "name": "x"}] * 2)


def test_a_slice_that_failed_is_not_missing(tmp_path: Path) -> None:
    made = Lake(tmp_path)
    made.put(rows(days=9))
    broken = rows(days=1, start=8).with_columns(
        p=pl.when(pl.col("seg") == "c").then(7.0).otherwise("p")
    )
    made.put(broken)
    done = made.run(backfill=True, as_of=datetime(2026, 2, 1, tzinfo=UTC))
    assert len(done.errors) == 1
    assert done.verdicts.filter(gate="missing").is_empty()


def test_validate_says_what_to_expect_of_gates(lake: Lake) -> None:
    gates = [
        {"check": "roc_auc >= 0.78", "by": ["seg"]},
        {"check": "worse(roc_auc, previous 28) < 0.01", "by": ["seg"], "false_alarms": 2},
    ]
    base = {"metrics": ["roc_auc"], "baseline": None}
    _, document, _ = run(lake, *gates, **base)
    limit, watch = document["expected"]
    assert limit["gate"] == "roc_auc >= 0.78 (by seg)"
    assert limit["false_alarms"] > 20 > watch["false_alarms"]
    assert watch["false_alarms"] == pytest.approx(2)
    assert (watch["slices"], watch["within"]) == (3, 7)
    assert 0.01 < watch["drop"] < 0.2
    done = CliRunner().invoke(sqleval, ["validate", str(lake.folder / "job.yml")])
    assert done.exit_code == 0
    assert "worse(roc_auc, previous 28) < 0.01 (by seg): false alarms a year: 2 " in done.stderr


def test_validate_refuses_a_history_that_a_run_refuses(lake: Lake) -> None:
    """A database that does not exist yet is no error: the first run makes it."""
    history, path = lake.folder / "refused.duckdb", str(lake.folder / "job.yml")
    lake.job(history=history.name, gates=["roc_auc >= 0.6"], metrics=["roc_auc"], baseline=None)
    command("validate", path)
    history.write_text("no database", encoding="utf-8")
    refused = [command(verb, path, code=3) for verb in ("validate", "run")]
    history.unlink()
    with duckdb.connect(history) as con:
        con.execute("CREATE VIEW sqleval_history AS SELECT 1 AS x")
    refused += [command(verb, path, code=3) for verb in ("validate", "run")]
    lake.job(history="history.duckdb")
    messages = ["refused.duckdb"] * 2 + ["is a view, and must be a table"] * 2
    for done, message in zip(refused, messages, strict=True):
        assert message in done.stderr
