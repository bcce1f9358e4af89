"""Writes a history of an old release with other default metrics, and its jobs without ``metrics``.

``python -m tests.support.old_defaults FOLDER`` wrote the archive: FOLDER is a checkout of the last
commit with these default metrics.
"""

import os
import sys
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import polars as pl

from tests.support.old_history import run_jobs, unpack_archive, write_archive

ARCHIVE = Path(__file__).resolve().parents[1] / "core" / "history" / "old_defaults.tar.xz"
#: The default metrics of the old release, by job.
METRICS = {
    "regression": ["mae", "mse", "rmse"],
    "ranking": ["ndcg", "ndcg(k=10)"],
}
_SAME = "source: preds\nperiod: {column: day}\nslices: [[], [seg]]\nhistory: history.duckdb\n"
JOBS = {
    "regression": "label: y\nprediction: p\ngates: ['rise(mae, previous 3) < 1', 'rmse <= 9']\n",
    "ranking": "label: relevance\nscore: p\nqid: query\ngates: ['ndcg(k=10) >= 0.5']\n",
}
DAYS = [date(2026, 1, 1) + timedelta(days=at) for at in range(4)]


def unpack(folder: Path) -> Path:
    """Unpack the history, its jobs and rows."""
    return unpack_archive(ARCHIVE, folder)


def write_day(folder: Path, day: date) -> None:
    """Write the predictions of a day."""
    random = np.random.default_rng(day.toordinal())
    value = random.normal(10, 3, 60)
    path = folder / "preds" / f"{day}.parquet"
    pl.DataFrame(
        {
            "day": pl.repeat(day, 60, eager=True),
            "query": np.arange(60) // 6,
            "seg": random.choice(["a", "b"], 10).repeat(6),
            "y": value,
            "relevance": random.integers(0, 3, 60),
            "p": value + random.normal(0, 1, 60),
        }
    ).write_parquet(path)
    # Archives keep whole seconds of the time, which is a part of the version of a file.
    os.utime(path, (1_768_000_000,) * 2)


def main(checkout: str) -> None:
    """Write the archive."""

    def fill(folder: Path) -> None:
        (folder / "preds").mkdir()
        for day in DAYS:
            write_day(folder, day)
        for name, text in JOBS.items():
            job = f"name: {name}\n{_SAME}{text}"
            (folder / f"{name}.yml").write_text(job, encoding="utf-8")
        for name in JOBS:
            run_jobs(folder, checkout, f"{name}.yml", "--backfill", "--as-of", "2026-01-05T03:00")

    write_archive(ARCHIVE, fill)


if __name__ == "__main__":
    main(sys.argv[1])
