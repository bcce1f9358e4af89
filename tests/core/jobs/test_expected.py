"""Expected metrics of periods without mature labels, and the metrics observed later."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sqleval
from sqleval.errors import RequestError
from sqleval.jobs.outputs.results import write_prometheus
from sqleval.jobs.running.run import Run
from tests.support.commands import run
from tests.support.comparison import assert_frame_equal
from tests.support.lake import FIRST, Lake, evaluated, rows, steps

ROOT = Path(__file__).parents[3]
DATA = ROOT / "data" / "flights"
PAGE = (ROOT / "docs" / "guide" / "expected.md").read_text(encoding="utf-8")
#: The job of the page, with a metric that cannot be expected.
FLIGHTS = PAGE.split("```yaml\n", 1)[1].split("```", 1)[0].replace("accuracy]", "accuracy, pcoc]")


def read(folder: Path, *options: str) -> pl.DataFrame:
    """Return the output of `sqleval history`."""
    out = folder / "out.parquet"
    run("history", str(folder / "job.yml"), *options, "--output", str(out))
    return pl.read_parquet(out)


def test_flights_before_and_after_their_labels(tmp_path: Path) -> None:
    (tmp_path / "job.yml").write_text(FLIGHTS, encoding="utf-8")
    (tmp_path / "data").symlink_to(ROOT / "data")
    job = str(tmp_path / "job.yml")
    run("validate", job)
    done = run("run", job, "--as-of", "2013-08-15", code=1)
    assert "late: 1 evaluated, 7 expected before their labels" in done.stderr
    assert "expected(roc_auc) >= 0.7 (all rows) failed since 2013-08-10" in done.stderr
    # The 7th of August is over, the 14th is the last whose day is over.
    first = read(tmp_path)
    week = [f"2013-08-{day:02}" for day in range(8, 15)]
    foreseen = first.filter(pl.col("metric").str.starts_with("expected("))
    assert foreseen["period"].unique().sort().to_list() == week
    assert first.filter(metric="roc_auc")["period"].unique().to_list() == ["2013-08-07"]
    # The calibration itself cannot be expected.
    assert {*foreseen["metric"]} == {"expected(roc_auc)", "expected(accuracy)"}
    # The library gives the same text for the last seven labelled days.
    roles: dict[str, Any] = {"source": DATA / "predictions", "score": "p_boosted", "nulls": "drop"}
    late = {"label": "delayed", "labels": DATA / "labels", "on": "key"}
    span = "flight_date BETWEEN '2013-08-01' AND '2013-08-07'"
    labelled = sqleval.scan(**roles, **late, by="carrier", where=span)
    night = "flight_date = '2013-08-10'"
    expected = sqleval.scan(**roles, by="carrier", where=night, expected=labelled)
    columns = ["carrier", "metric", "value", "n", "note", "method"]
    there = foreseen.filter(pl.col("carrier").is_not_null(), period="2013-08-10")
    there = there.with_columns(pl.col("metric").str.extract(r"\((.*)\)"))
    assert_frame_equal(
        there.select(columns).sort(columns[:2]),
        expected.evaluate(["roc_auc", "accuracy"]).collect().select(columns).sort(columns[:2]),
    )
    # A second run evaluates nothing, and judges only the last waiting day again.
    again = run("run", job, "--as-of", "2013-08-15", code=1)
    assert "late: 2 left alone" in again.stderr
    assert_frame_equal(read(tmp_path), first)
    # Two days later the labels of the 8th and 9th have come.
    done = run("run", job, "--as-of", "2013-08-17", code=1)
    assert "late: 2 evaluated, 2 expected before their labels, 1 left alone" in done.stderr
    both = read(tmp_path, "--expected", "--metric", "roc_auc", "--to", "2013-08-10")
    both = both.filter(pl.col("carrier").is_null())
    days = sqleval.scan(**roles, **late, by="flight_date", where="flight_date <= '2013-08-09'")
    observed = days.evaluate("roc_auc").collect()["value"].tail(2)
    assert both["period"].to_list() == week[:3]
    assert both["value"].to_list() == [*map(pytest.approx, observed), None]
    stored = foreseen.filter(pl.col("carrier").is_null(), metric="expected(roc_auc)")
    assert both["expected"].to_list() == stored["value"].to_list()[:3]
    assert both["difference"].to_list()[:2] == (both["value"] - both["expected"]).to_list()[:2]
    # The stored expected metrics stay as they were.
    kept = read(tmp_path).join(foreseen, on=foreseen.columns, how="semi", nulls_equal=True)
    assert kept.height == foreseen.height


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Six days; labels come in one file a day and are mature after two days."""
    made = Lake(tmp_path)
    made.put(rows(days=6).drop("y"))
    (tmp_path / "labels").mkdir()
    made.spec |= {
        "labels": {"source": "labels", "on": "key", "maturity": "2d"}, "expected": True,
        "missing": "ignore", "gates": ["expected(roc_auc) >= 0.5", "rows >= 1", "matured >= 0.5"],
    }  # fmt: skip
    return made


def night(lake: Lake, day: int, **asked: Any) -> Run:
    """Run the job at three o'clock after a day of January, with the labels up to two days ago."""
    for each in range(max(day - 2, 0)):
        truth = rows(days=6).filter(day=FIRST + timedelta(days=each)).select("key", "y")
        path = lake.folder / "labels" / f"{each}.parquet"
        if not path.exists():
            truth.write_parquet(path)
    return lake.run(as_of=datetime(2026, 1, day, 3, tzinfo=UTC) + timedelta(days=1), **asked)


def summarize(lake: Lake) -> dict[str, set[str]]:
    found = lake.history().group_by("period").agg(pl.col("metric").unique())
    return {period: set(metrics) for period, metrics in found.iter_rows()}


BOTH, FORESEEN = {"roc_auc", "log_loss"}, {"expected(roc_auc)", "expected(log_loss)"}


def test_programs_have_the_last_values_while_the_source_is_away(lake: Lake) -> None:
    before = [line for line in write_prometheus(night(lake, 4)).splitlines() if "_value{" in line]
    done = night(lake, 5, changes={"source": "nowhere"})
    assert done.errors
    after = [line for line in write_prometheus(done).splitlines() if "_value{" in line]
    assert after == before
    assert len(after) == 4 * 3


def test_corrected_predictions_are_expected_again(lake: Lake) -> None:
    done = night(lake, 4)
    assert evaluated(done) == ["2026-01-02"]
    assert [p for p, action in steps(done).items() if action == "expect"] == [
        "2026-01-03", "2026-01-04",
    ]  # fmt: skip
    # The number of rows does not depend on labels.
    assert set(done.verdicts.filter(gate="rows >= 1")["period"]) == {
        "2026-01-02", "2026-01-03", "2026-01-04",
    }  # fmt: skip
    assert 'sqleval_value{job_name="nightly",metric="expected(roc_auc)"' in write_prometheus(done)
    before = lake.history()
    third = pl.col("day") == date(2026, 1, 3)
    lake.put(rows(days=6).drop("y").filter(third).with_columns(p=pl.col("p") / 2))
    done = night(lake, 4)
    assert [p for p, action in steps(done).items() if action == "expect"] == ["2026-01-03"]
    assert done.notes == [
        "6 stored numbers were replaced; sqleval history --restated shows them"
    ]  # fmt: skip
    changed = lake.history().join(before, on=["period", "metric", "value"], how="anti")
    assert set(changed["period"]) == {"2026-01-03"}
    assert set(changed["metric"]) == FORESEEN
    # A night later both kinds exist, whatever evaluates the metrics again.
    night(lake, 5)
    assert summarize(lake)["2026-01-03"] == BOTH | FORESEEN
    night(lake, 5, backfill=True, force=True)
    assert summarize(lake) == {
        "2026-01-01": BOTH, "2026-01-02": BOTH, "2026-01-03": BOTH | FORESEEN,
        "2026-01-04": FORESEEN, "2026-01-05": FORESEEN,
    }  # fmt: skip
    # The same holds for other slices.
    lake.spec |= {"by": None}
    done = night(lake, 5)
    assert [p for p, action in steps(done).items() if action == "expect"] == [
        "2026-01-04", "2026-01-05",
    ]  # fmt: skip
    assert "expect" not in steps(night(lake, 5)).values()


def test_metrics_from_states_leave_what_was_expected(lake: Lake) -> None:
    lake.spec |= {"states": "states"}
    night(lake, 4)
    night(lake, 6)
    lake.spec["metrics"] = ["roc_auc", "brier_score"]
    done = night(lake, 6, backfill=True)
    assert steps(done)["2026-01-03"] == "add"
    assert summarize(lake)["2026-01-03"] == {"roc_auc", "brier_score"} | FORESEEN
    assert summarize(lake)["2026-01-05"] == {"expected(roc_auc)", "expected(brier_score)"}


def test_a_failed_day_is_tried_again(lake: Lake) -> None:
    bad = rows(days=1, start=3).drop("y").with_columns(p=pl.lit(1.5))
    lake.put(bad)
    done = night(lake, 4)
    assert [error.partition(":")[0] for error in done.errors] == ["2026-01-04 in 3 slices"]
    assert "need scores in 0 .. 1; score='p' is outside in 40 of 40 rows" in done.errors[0]
    lake.put(rows(days=1, start=3).drop("y"))
    done = night(lake, 4)
    assert not done.errors
    assert steps(done)["2026-01-04"] == "expect"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"labels": None, "label": "y"}, "write labels: {source: labels/"),
        ({"labels": {"source": "labels", "on": "key"}}, "maturity: 7d"),
        ({"score": None, "prediction": "seg"}, "needs two classes and a score"),
        ({"task": "multiclass"}, "needs two classes and a score"),
        ({"expected": None}, "write expected: true"),
        ({"gates": ["worse(expected(roc_auc), previous 7)"], "ci": 0.9}, "have no interval"),
        ({"gates": [{"check": "expected(roc_auc) > 0", "on": "low"}], "ci": 0.9}, "no interval"),
        ({"gates": ["expected(roc_aug) > 0"]}, "did you mean 'expected(roc_auc)'"),
        ({"metrics": ["pcoc"], "gates": []}, "expected: true: pcoc measures calibration"),
    ],
)
def test_wrong_jobs(lake: Lake, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(RequestError) as error:
        lake.run(changes=changes)
    assert message in str(error.value)


def test_nothing_was_expected(lake: Lake) -> None:
    changes = {"labels": None, "label": "y", "expected": None, "gates": None}
    lake.put(rows())
    lake.run(changes=changes, as_of=datetime(2026, 1, 3, tzinfo=UTC))
    done = run("history", str(lake.folder / "job.yml"), "--expected", code=2)
    assert "nothing was expected here; write expected: true" in done.stderr
    done = run("history", str(lake.folder / "job.yml"), "--expected", "--chart", code=2)
    assert "leave out --chart" in done.stderr
