"""A run without dates every night notices that the data stops."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from sqleval.errors import RequestError
from sqleval.jobs.running.plan import RunOptions
from sqleval.jobs.running.run import run_job
from tests.support.commands import run
from tests.support.lake import Lake, evaluated, on, rows, steps


def night(day: int, month: int = 1) -> datetime:
    """Return three in the morning of a day."""
    return datetime(2026, month, day, 3, tzinfo=UTC)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Four evaluated days of predictions."""
    made = Lake(tmp_path)
    made.put(rows())
    made.spec["metrics"] = ["log_loss"]
    made.backfill(as_of=night(5))
    return made


def missing(done: object) -> list[tuple[str, str]]:
    verdicts: pl.DataFrame = done.verdicts  # type: ignore[attr-defined]
    return verdicts.filter(gate="missing").select("period", "since").rows()


def test_a_missing_day_fails_the_next_night(lake: Lake) -> None:
    assert missing(lake.run(as_of=night(5))) == []
    done = lake.run(as_of=night(6))
    assert steps(done) == {"2026-01-04": "keep", "2026-01-05": "missing"}
    assert missing(done) == [("2026-01-05", "2026-01-05")]
    assert done.has_failed_gate
    assert lake.history().filter(period="2026-01-05")["note"].unique().to_list() == ["no rows"]
    # This holds if the next day has rows again, and for nights without a run.
    lake.put(rows(days=1, start=6))
    done = lake.run(as_of=night(8))
    assert missing(done) == [("2026-01-05", "2026-01-05"), ("2026-01-06", "2026-01-05")]
    assert evaluated(done) == ["2026-01-07"]
    assert missing(lake.run(as_of=night(8))) == []
    # Late rows are evaluated.
    lake.put(rows(days=1, start=4))
    assert evaluated(lake.run(as_of=night(8))) == ["2026-01-05"]
    # The missing day keeps its old definition, because nothing can evaluate it again.
    done = lake.run(as_of=night(8), changes={"threshold": 0.4}, backfill=True)
    assert not any("another definition" in note for note in done.notes)


def test_two_months_without_data_fail_every_night(lake: Lake) -> None:
    for day in (1, 2):
        done = lake.run(as_of=night(day, month=3), changes={"gates": ["age <= 1"]})
        assert len(missing(done)) == 31 - 4 + 28 + day - 1
        assert {since for _, since in missing(done)} == {"2026-01-05"}
        assert done.verdicts.filter(gate="age <= 1")["status"].to_list() == ["failed"]
    before = lake.history()
    lake.run(as_of=night(2, month=3))
    assert lake.history().equals(before)


def test_a_missing_period_does_not_wait_for_its_labels(lake: Lake) -> None:
    labels = {"source": "labels.parquet", "on": "key", "maturity": "2d"}
    rows(days=9).select("key", "y").write_parquet(lake.folder / "labels.parquet")
    lake.put(rows().drop("y"))
    lake.run(changes={"labels": labels}, as_of=night(5), backfill=True)
    planned = run_job(lake.job(), RunOptions(as_of=night(6)), dry=True)
    assert steps(planned)["2026-01-05"] == "missing"
    assert missing(lake.run(as_of=night(6))) == [("2026-01-05", "2026-01-05")]
    assert missing(lake.run(as_of=night(6))) == [("2026-01-05", "2026-01-05")]
    # The next day has rows; then the missing ones come, and wait for their labels.
    lake.put(rows(days=1, start=5).drop("y"))
    assert missing(lake.run(as_of=night(7))) == [("2026-01-05", "2026-01-05")]
    assert missing(lake.run(as_of=night(7))) == []
    assert missing(lake.run(as_of=night(7), date=on("2026-01-05"))) == [("2026-01-05",) * 2]
    lake.put(rows(days=1, start=4).drop("y"))
    done = lake.run(as_of=night(7))
    assert (steps(done)["2026-01-05"], missing(done)) == ("check", [])
    assert steps(lake.run(as_of=night(8)))["2026-01-05"] == "evaluate"


def test_the_user_may_ignore_missing_data(lake: Lake) -> None:
    done = lake.run(as_of=night(9), changes={"missing": "ignore"})
    assert steps(done) == {"2026-01-04": "keep"}
    done = lake.run(as_of=night(9), changes={"missing": "warn"})
    assert [period for period, _ in missing(done)] == [f"2026-01-0{n}" for n in range(5, 9)]
    assert not done.has_failed_gate


def test_hours_weeks_years_and_long_gaps(lake: Lake) -> None:
    weekly = {"period": {"column": "day", "grain": "week"}, "history": "weeks.duckdb"}
    lake.run(as_of=night(5), changes=weekly, backfill=True)
    assert missing(lake.run(as_of=night(11))) == []
    assert missing(lake.run(as_of=night(12))) == [("2026-01-05", "2026-01-05")]
    # The start of the longest list of periods, ten thousand years earlier, is not a valid time.
    yearly = {"period": {"column": "day", "grain": "year"}, "history": "years.duckdb"}
    lake.run(as_of=night(2) + timedelta(days=365), changes=yearly)
    done = lake.run(as_of=night(2) + timedelta(days=730))
    assert missing(done) == [("2027-01-01", "2027-01-01")]
    for file in (lake.folder / "preds").iterdir():
        frame = pl.read_parquet(file)
        frame.with_columns(pl.col("day").cast(pl.Datetime)).write_parquet(file)
    hourly = {"period": {"column": "day", "grain": "hour"}, "history": "hours.duckdb"}
    lake.run(as_of=night(4), changes=hourly, date=on("2026-01-04"))
    assert len(missing(lake.run(as_of=night(4)))) == 2
    # Periods are not listed from a very old one up to now.
    done = lake.run(as_of=night(4) + timedelta(days=1000), force=True)
    assert len(missing(done)) == 10_000


def test_init_expects_data_every_day(tmp_path: Path) -> None:
    made = Lake(tmp_path)
    made.put(
        rows(days=2, each=600).with_columns(day=pl.col("day") - date(2026, 1, 2) + date.today())
    )
    job = str(tmp_path / "mine.yml")
    run("init", str(tmp_path / "preds"), "--output", job)
    after = date.today() + timedelta(days=1)
    assert (
        "gates: 2 passed, 4 no reference, 0 failed"
        in run("run", job, "--as-of", f"{after}T03:00").stderr
    )
    later = run("run", job, "--as-of", f"{after + timedelta(days=2)}", code=1)
    assert "age <= 1" in later.stdout
    assert "the period has no rows" in later.stdout


def test_a_time_far_after_the_newest_rows_is_asked_for(lake: Lake) -> None:
    far = night(1) + timedelta(days=3 * 365)
    before = lake.history()
    with pytest.raises(RequestError, match=r"rows are of 2026-01-04, and 1,0\d\d periods after"):
        lake.run(as_of=far)
    assert lake.history().equals(before)
    lake.run(as_of=far, force=True)
    assert lake.history()["period"].n_unique() > 1000
