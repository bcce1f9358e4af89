"""Gates over a long history read a part of it, and judge as if they had read all of it."""

from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest

from sqleval.history.duckdb import DuckDB
from sqleval.history.store import ALL, RESULTS, Selection
from sqleval.jobs.file.model import Job
from sqleval.jobs.judging.incidents import list_incidents
from sqleval.jobs.judging.judge import Judgement, judge_gates
from sqleval.jobs.judging.sensitivity import measure_gates
from sqleval.jobs.past import Frames, read_past
from tests.support.comparison import assert_frame_equal
from tests.support.lake import Lake, rows

DAYS = [str(date(2026, 1, 1) + timedelta(days=i)) for i in range(150)]
WORSE = {"check": "worse(roc_auc, previous 28) < 0.02", "by": ["seg"]}
#: Gates that every job has.
BESIDE = ["missing", "undefined"]
GATES: list[Any] = [
    "roc_auc >= 0.74",
    {"check": "roc_auc >= 0.74", "by": ["seg"], "in_a_row": 3},
    {"check": "drop(roc_auc, previous 7) < 0.05", "by": ["seg"], "in_a_row": 2},
    {"check": "roc_auc >= previous 3 * 0.95", "severity": "warn"},
    {"check": "drop(log_loss, baseline) < 0.2", "by": ["seg"], "undefined": "warn"},
    WORSE,
    {"check": "expected(roc_auc) >= 0.76", "by": []},
    "rows >= 350",
]
#: Runs of the last day, of days with incidents and of the first days.
RUNS = [
    DAYS[-1:],
    DAYS[100:101],
    DAYS[61:64],
    DAYS[4:5],
    [DAYS[30], DAYS[120]],
]


@dataclass(frozen=True)
class Counting(DuckDB):
    """A store that counts the rows that are read."""

    counts: list[int] = field(default_factory=list[int])

    def read(self, table: str, job: str | None = None, only: Selection = ALL) -> pl.DataFrame:
        rows = super().read(table, job, only)
        self.counts.append(rows.height)
        return rows


def make_job(**changes: Any) -> Job:
    spec = {
        "name": "nightly", "source": "-", "label": "y", "score": "p", "slices": [[], ["seg"]],
        "period": {"column": "day"}, "history": "h.db", "ci": 0.95, "gates": GATES,
        "expected": True,
        "metrics": ["roc_auc", "log_loss"], "baseline": {"from": DAYS[20], "to": DAYS[40]},
        "labels": {"source": "-", "on": "key", "maturity": "1d"},
    }  # fmt: skip
    return Job.model_validate({**spec, **changes})


def make_history() -> pl.DataFrame:
    """Return results that make gates read far back: slices that come, go or always fail."""
    segs, metrics = [None, *"abcdefgh"], ["roc_auc", "log_loss", "expected(roc_auc)"]
    grid = [(day, seg, metric) for day in DAYS for seg in segs for metric in metrics]
    rng = np.random.default_rng(5)
    frame = pl.DataFrame(grid, schema=["period", "seg", "metric"], orient="row").with_columns(
        at=pl.col("period").rank("dense").cast(pl.Int64) - 1,
        value=0.8 + pl.Series(rng.normal(0, 0.02, len(grid))),
        luck=pl.Series(rng.random(len(grid))),
    )
    at, seg = pl.col("at"), pl.col("seg")
    is_auc = pl.col("metric") == "roc_auc"
    bad = (
        ((seg == "a") & (at >= 90) & (at < 130))  # a long incident that is over
        | ((seg == "b") & at.is_between(60, 62))
        | (seg == "c")  # always
        | ((seg == "d") & (at >= 20) & (at % 10 < 8))  # always, and often without rows
    )
    gone = (
        ((seg == "d") & (at % 3 != 0))
        | ((seg == "e") & (at % 30 != 0))  # once a month
        | ((seg == "f") & (at < 145))  # new
        | ((seg == "g") & at.is_between(60, 147))  # back again
        | ((seg == "h") & (at >= 149))  # vanished
        | at.is_in([50, 51, 110])  # nights without data
    )
    frame = frame.filter(~gone | (seg.is_null() & at.is_in([51])))
    frame = frame.with_columns(
        value=pl.when(is_auc & bad).then(pl.col("value") - 0.1).otherwise("value"),
        slice=pl.when(seg.is_null()).then(pl.lit("{}"))
        .otherwise(pl.lit('{"seg":"') + seg + pl.lit('"}')),
        n=pl.when(at == 51).then(0).when(seg.is_null()).then(3000).otherwise(400 - at),
        definition=pl.when((pl.col("metric") == "log_loss") & (at < 115)).then(pl.lit("v1-old"))
        .otherwise(pl.lit("v1-new")),
        error=pl.when((seg == "b") & (at == 149)).then(pl.lit("two classes are needed")),
    )  # fmt: skip
    is_null = (pl.col("luck") < 0.03) | (at == 51) | pl.col("error").is_not_null()
    frame = frame.with_columns(value=pl.when(~is_null).then("value"))
    same = {
        "job": "nightly", "grain": "day", "n_dropped": 0, "method": "delong, logit", "matured": 1.0,
        "fingerprint": "same", "run": "r",
    }  # fmt: skip
    frame = frame.with_columns(
        low=pl.col("value") - 0.04,
        high=(pl.col("value") + 0.04).clip(upper_bound=0.999),
        **{name: pl.lit(value) for name, value in same.items()},
    )
    return frame.select(
        (pl.col(name) if name in frame.columns else pl.lit(None)).cast(kind).alias(name)
        for name, kind in RESULTS.items()
    )


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Counting:
    made = Counting(str(tmp_path_factory.mktemp("judging") / "history.duckdb"))
    made.replace("nightly", DAYS, make_history(), None)
    return made


def judge(job: Job, store: Counting, periods: list[str]) -> Judgement:
    return judge_gates(job, read_past(job, store), periods, DAYS, datetime(2026, 6, 1, tzinfo=UTC))


def test_a_part_of_the_past_gives_what_the_whole_gives(store: Counting) -> None:
    job = make_job()
    past = read_past(job, store)
    # From the first period on, nothing before is left out.
    whole = judge(job, store, past.periods)
    assert {*whole.verdicts["status"]} == {
        "passed", "failed", "warned", "pending", "no reference", "undefined", "nothing to judge",
    }  # fmt: skip
    # The check worse reads and judges the whole past, whatever the periods; two runs test it.
    others = make_job(gates=[gate for gate in GATES if gate is not WORSE])
    touched: set[str] = set()
    for nth, periods in enumerate(RUNS):
        asked = job if nth < 2 else others
        found = judge(asked, store, periods)
        verdicts = whole.verdicts.filter(pl.col("gate").is_in([*asked.gate_names, *BESIDE]))
        expected = verdicts.filter(pl.col("period").is_in(periods))
        assert_frame_equal(found.verdicts, expected)
        incidents = list_incidents(asked, Frames(past), verdicts, past.periods, periods)
        assert_frame_equal(found.incidents, incidents)
        touched |= {*incidents["gate"]}
    assert touched == {*job.gate_names, "missing"} - {"expected(roc_auc) >= 0.76 (all rows)"}
    # A report shows failures of sixty periods.
    found = judge(make_job(report="report.html", gates=others.gates), store, RUNS[0])
    verdicts = whole.failures.filter(pl.col("gate").is_in([*others.gate_names, *BESIDE]))
    both = [
        each.filter(pl.col("period") >= past.periods[-60]).drop("since")
        for each in (found.failures, verdicts)
    ]
    assert_frame_equal(*both, check_row_order=False)


def test_a_night_reads_a_part_of_the_past(store: Counting) -> None:
    job = make_job(gates=["roc_auc >= 0.5", "drop(roc_auc, previous 7) < 0.5", "rows >= 10"])
    store.counts.clear()
    judged = judge(job, store, DAYS[-1:])
    assert judged.verdicts.filter(status="passed").height == 12
    assert sum(store.counts[1:]) < 0.25 * make_history().height  # after the overview


def test_a_selection_of_no_values_opens_no_store(store: Counting) -> None:
    past = read_past(make_job(), store)
    store.counts.clear()
    found = past.read(Selection(periods=[], columns=["period", "n", "has_failed"]))
    assert found.rows() == []
    assert found.schema == {"period": pl.String, "n": pl.Int64, "has_failed": pl.Boolean}
    assert not store.counts


def test_incidents_of_missing_data_end_where_data_comes(store: Counting) -> None:
    judged = judge(make_job(gates=["age <= 1000"]), store, DAYS)
    found = judged.incidents.filter(gate="missing").select("since", "last", "periods").rows()
    assert found == [(DAYS[51], DAYS[51], 1), (DAYS[60], DAYS[60], 1), (DAYS[149], DAYS[149], 1)]


def test_gates_are_measured_over_the_last_periods_with_values(store: Counting) -> None:
    job = make_job()
    past = read_past(job, store)
    last = [day for day in past.periods if day >= DAYS[50]]
    rows = store.read("sqleval_history", "nightly", Selection(periods=last[-91:]))
    assert rows.height > 0
    short = replace(store, path=store.path.replace("history", "short"))
    short.replace("nightly", last[-91:], rows, None)
    measured = measure_gates(job, past)
    assert len(measured) == 6
    again = measure_gates(job, read_past(job, short))
    assert_frame_equal(pl.DataFrame(measured), pl.DataFrame(again))


def test_the_last_value_of_each_slice_and_metric(store: Counting) -> None:
    found = read_past(make_job(), store).read_last_values()
    rows = make_history().filter(pl.col("value").is_not_null(), pl.col("error").is_null())
    at = ["metric", "slice"]
    expected = rows.sort("period").group_by(at).agg(pl.col("period", "value", "n").last())
    columns = [*at, "period", "value", "n"]
    assert found.select(columns).equals(expected.sort(at).select(columns))
    assert found["period"].n_unique() > 3


def test_a_baseline_of_another_definition_is_not_green(lake: Lake) -> None:
    base = {"from": "2026-01-01", "to": "2026-01-02"}
    gates = ["log_loss <= baseline + 0.1"]
    lake.backfill(gates=gates, baseline=base)
    assert not lake.run().has_failed_gate
    lake.put(rows(days=1, start=4))
    done = lake.run(changes={"where": "p < 0.99"})
    assert done.verdicts.filter(status="failed").select("gate", "period", "reason").rows() == [
        (
            "undefined",
            "2026-01-05",
            "no gate could judge anything: no other value with this definition (3 verdicts)",
        )
    ]


def test_a_gate_on_a_new_metric_leaves_earlier_periods_alone(lake: Lake) -> None:
    lake.backfill()
    lake.put(rows(days=1, start=4))
    done = lake.run(changes={"metrics": ["roc_auc", "brier_score"], "gates": ["brier_score < 0.9"]})
    found = done.verdicts.select("status", "period").unique(maintain_order=True).rows()
    assert found == [("no reference", "2026-01-04"), ("passed", "2026-01-05")]
