"""A run of an old day keeps the job's outputs, and the days between stay a gap."""

import json
from datetime import timedelta
from typing import Any

import polars as pl
import pytest
from prometheus_client.parser import text_string_to_metric_families

from sqleval.jobs.outputs import results
from sqleval.jobs.running.plan import RunOptions
from sqleval.jobs.running.run import Run, run_job
from tests.support.lake import Lake, on, rows, steps

GATE = "roc_auc >= 0.6"


@pytest.fixture
def lake(lake: Lake) -> Lake:
    """Ten days, the last of which fails, and a job that began on the eighth day."""
    frame = rows(days=10)
    is_bad = pl.col("day") == frame["day"].max()
    lake.put(frame.with_columns(p=pl.when(is_bad).then(1 - pl.col("p")).otherwise("p")))
    lake.job(by=None, gates=[GATE])
    for last in (8, 9, 10):
        lake.run(as_of=lake.find_night() - timedelta(days=10 - last))
    return lake


def read_gauge(done: Run) -> float:
    families = text_string_to_metric_families(results.write_prometheus(done))
    return {each.name: each for each in families}["sqleval_gates_failed"].samples[0].value


def list_failed(document: dict[str, Any]) -> list[tuple[str, str]]:
    return [(v["gate"], v["period"]) for v in document["verdicts"] if v["status"] == "failed"]


def test_outputs_tell_what_fails_now(lake: Lake) -> None:
    done = lake.run(date=on("2026-01-03"))
    assert (steps(done), done.has_failed_gate) == ({"2026-01-03": "evaluate"}, False)
    document = json.loads(json.dumps(results.build_document(done, 0), default=str))
    assert list_failed(document) == [(GATE, "2026-01-10")]
    assert [(each["since"], each["open"]) for each in document["incidents"]] == [
        ("2026-01-10", True)
    ]
    junit = results.write_junit(done)
    assert f"{GATE.replace('>', '&gt;')} [2026-01-10]" in junit
    assert 'failures="1"' in junit
    assert read_gauge(done) == 1
    plain = lake.run()
    assert plain.has_failed_gate
    assert read_gauge(plain) == 1


def test_a_failure_of_an_old_day_is_not_one_of_today(lake: Lake) -> None:
    lake.put(rows(days=10))  # the last day is mended
    lake.put(rows(days=3).filter(pl.col("key") >= 240).with_columns(p=1 - pl.col("p")))
    lake.run()
    done = lake.run(date=on("2026-01-03"))
    assert done.has_failed_gate
    assert read_gauge(done) == 0
    (incident,) = done.incidents.to_dicts()
    assert (incident["since"], incident["open"], incident["in_run"]) == ("2026-01-03", False, True)


def test_the_days_between_stay_a_gap_until_a_backfill(lake: Lake) -> None:
    lake.run(date=on("2026-01-03"))
    night = RunOptions(as_of=lake.find_night())
    planned = run_job(lake.job(), night, dry=True)
    gap = {f"2026-01-0{day}": "gap" for day in range(4, 8)}
    assert steps(planned) == {**gap, "2026-01-10": "keep"}
    assert {each.reason for each in planned.decisions if each.action == "gap"} == {
        "left out before; --backfill evaluates it"
    }
    done = lake.run()
    assert steps(done) == {"2026-01-10": "keep"}
    assert done.notes == [
        "a gap: 4 periods, up to 2026-01-07, were never evaluated; --backfill evaluates all periods"
    ]
    # A day of the gap is due if new data comes for it, and so is an old day that changes.
    lake.put(rows(days=1, seed=5, start=4))
    lake.put(rows(days=1, seed=5, start=2))
    assert steps(lake.run()) == {
        "2026-01-03": "evaluate", "2026-01-05": "evaluate", "2026-01-10": "keep",
    }  # fmt: skip
    filled = steps(lake.run(backfill=True))
    assert [day for day, action in filled.items() if action == "evaluate"] == [
        "2026-01-01", "2026-01-02", "2026-01-04", "2026-01-06", "2026-01-07",
    ]  # fmt: skip
    assert lake.run().notes == []


def test_a_new_set_of_slices_says_so(lake: Lake) -> None:
    done = lake.run(changes={"slices": [[], ["seg"]]})
    assert done.notes == [
        "2026-01-10 has other slices than the job; --backfill evaluates older periods again"
    ]
    assert lake.run(backfill=True).notes == []
