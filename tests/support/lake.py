"""Makes a lake for jobs: a folder with predictions per day and a job file; runs the job."""

import shutil
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import yaml

from sqleval.history.store import ALL
from sqleval.jobs.file.model import Job
from sqleval.jobs.file.reading import read_job
from sqleval.jobs.running.plan import RunOptions
from sqleval.jobs.running.run import Run, open_job_store, run_job

#: The smallest job file that is complete.
SMALLEST = """\
name: nightly
source: preds.parquet
label: y
score: p
by: [seg]
period: {column: day, grain: day}
nulls: drop
metrics: [roc_auc, log_loss]
history: history.duckdb
gates: ["roc_auc >= 0.6"]
"""

FIRST = date(2026, 1, 1)
LATER = datetime(2027, 1, 1, tzinfo=UTC)


def rows(days: int = 4, each: int = 120, seed: int = 0, start: int = 0) -> pl.DataFrame:
    """Return predictions of some days, each with three segments."""
    n = days * each
    index = pl.int_range(n, eager=True)
    noise = pl.Series(index.hash(seed) % 1000) / 1000
    label = (pl.Series(index.hash(seed + 1)) % 3 == 0).cast(pl.Int8)
    return pl.DataFrame(
        {
            "key": index + start * each,
            "y": label,
            "p": (0.4 * label + 0.55 * noise).round(3),
            "seg": ["abc"[i % 3] for i in index],
            "day": [FIRST + timedelta(days=start + i // each) for i in index],
        }
    )


#: The folders after a run, by job and files before it.
_backfilled: dict[tuple[object, ...], TemporaryDirectory[str]] = {}


class Lake:
    """A folder with a job file, and predictions in one file per day."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "preds").mkdir()
        self.spec: dict[str, Any] = {
            "name": "nightly",
            "source": "preds",
            "label": "y",
            "score": "p",
            "by": ["seg"],
            "period": {"column": "day"},
            "nulls": "drop",
            "metrics": ["roc_auc", "log_loss"],
            "history": "history.duckdb",
        }

    def put(self, frame: pl.DataFrame, column: str = "day") -> None:
        for (day,), part in frame.partition_by(column, as_dict=True, maintain_order=True).items():
            part.write_parquet(self.folder / "preds" / f"{day}.parquet")

    def job(self, **changes: Any) -> Job:
        self.spec = {k: v for k, v in {**self.spec, **changes}.items() if v is not None}
        path = self.folder / "job.yml"
        path.write_text(yaml.dump(self.spec, Dumper=yaml.CSafeDumper), encoding="utf-8")
        return read_job(path)

    def find_night(self) -> datetime:
        """Return the night after the newest day of predictions, when no later one is expected."""
        days = sorted(path.stem for path in (self.folder / "preds").glob("????-??-??.parquet"))
        if not days:
            return LATER
        return datetime.fromisoformat(days[-1]).replace(tzinfo=UTC) + timedelta(hours=27)

    def run(self, *, as_of: datetime | None = None, changes: Mapping[str, Any] | None = None,
            **asked: Any) -> Run:  # fmt: skip
        as_of = as_of or (LATER if asked else self.find_night())
        return run_job(self.job(**(changes or {})), RunOptions(as_of=as_of, **asked))

    def backfill(self, *, as_of: datetime | None = None, **changes: Any) -> None:
        """Run the job over all days, or copy the folder from an equal run.

        Half of the tests begin with such a run, which takes a hundred times as long as a copy.
        The copied files keep their times, so that the next run finds them unchanged.
        """
        self.job(**changes)
        content = {
            str(path.relative_to(self.folder)): path.read_bytes()
            for path in sorted(self.folder.rglob("*"))
            if path.is_file()
        }
        key = (*content.items(), as_of)
        if key in _backfilled:
            shutil.copytree(_backfilled[key].name, self.folder, dirs_exist_ok=True)
            return
        self.run(as_of=as_of, backfill=True)
        _backfilled[key] = TemporaryDirectory()
        shutil.copytree(self.folder, _backfilled[key].name, dirs_exist_ok=True)

    def history(self) -> pl.DataFrame:
        return open_job_store(self.job()).read("sqleval_history")


def on(text: str) -> tuple[datetime, datetime]:
    """Return the range of one day, as ``date=`` takes it."""
    at = datetime.fromisoformat(text)
    return at, at


def read_results(done: Run) -> pl.DataFrame:
    """Return all results of the job of a run."""
    return done.past.read(ALL)


def steps(done: Run) -> dict[str, str]:
    """Return what a run did with each period."""
    return {step.period: step.action for step in done.decisions}


def evaluated(done: Run) -> list[str]:
    """Return the periods that a run evaluated."""
    return [step.period for step in done.decisions if step.action == "evaluate"]


#: The keys in which a job over those states differs from the daily job.
WEEKLY = {
    "name": "weekly", "source": None, "label": None, "score": None, "by": None, "nulls": None,
    "from_state": "states", "slices": [[], ["seg"]], "states": None,
    "period": {"column": "period", "grain": "week"},
}  # fmt: skip


def lake_with_states(folder: Path) -> Lake:
    """Return six days from Thursday, 1 January 2026, and a job that keeps their states."""
    made = Lake(folder)
    made.spec |= {"states": {"folder": "states", "bins": 12}}
    made.put(rows(days=6))
    return made


def weekly(lake: Lake, **changes: Any) -> Lake:
    """Return the job over the states of the daily job."""
    other = object.__new__(Lake)
    other.folder, other.spec = lake.folder, {**lake.spec, **WEEKLY, **changes}
    return other


def week(first: int, last: int) -> pl.DataFrame:
    """Return the rows from one day of January to another."""
    return rows(days=6).filter(pl.col("day").dt.day().is_between(first, last))


def state_files(lake: Lake) -> dict[str, int]:
    """Return the time at which each file of the states was written."""
    return {file.name: file.stat().st_mtime_ns for file in (lake.folder / "states").iterdir()}
