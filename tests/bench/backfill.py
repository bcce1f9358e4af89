"""Processor time and memory of a year's backfill, with and without intervals.

Prints a Markdown row for each job, over a file of random scores a day, in total and by slice.

    python -m tests.bench.backfill                       20 million rows, 200 slices
    python -m tests.bench.backfill 5000000 --slices 20
"""

import argparse
import os
import subprocess
import sys
import tempfile
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import yaml

DAYS, FIRST = 365, date(2025, 1, 1)
METRICS = ["roc_auc", "average_precision", "log_loss", "brier_score", "accuracy", "f1"]


def write_rows(folder: Path, rows: int, slices: int) -> None:
    """Write the predictions, a file a day."""
    rng = np.random.default_rng(0)
    n = rows // DAYS
    for i in range(DAYS):
        label = rng.integers(0, 2, n, np.int8)
        score = 1 / (1 + np.exp(-(rng.normal(size=n) + 1.2 * (label - 0.5))))
        frame = pl.DataFrame({"y": label, "p": score, "segment": rng.integers(0, slices, n)})
        day = FIRST + timedelta(days=i)
        frame.with_columns(day=pl.lit(day)).write_parquet(folder / f"{day}.parquet")


def measure(folder: Path, ci: float | None, threads: int) -> tuple[float, float]:
    """Return processor time, in seconds, and the largest memory, in MB, of a backfill."""
    spec = {
        "name": "year", "source": "preds", "label": "y", "score": "p", "metrics": METRICS,
        "slices": [[], ["segment"]], "period": {"column": "day"}, "history": "history.duckdb",
        **({} if ci is None else {"ci": ci}),
    }  # fmt: skip
    (folder / "history.duckdb").unlink(missing_ok=True)
    (folder / "job.yml").write_text(yaml.safe_dump(spec), encoding="utf-8")
    command = "from sqleval.cli.main import main; main()"
    options = ["run", str(folder / "job.yml"), "--backfill", "--threads", str(threads)]
    process = subprocess.Popen([sys.executable, "-c", command, *options], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0, status
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main(rows: int, slices: int, threads: int) -> None:
    """Print the rows of the table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "preds").mkdir()
        write_rows(folder / "preds", rows, slices)
        print("| rows | slices | `ci` | CPU s | peak MB |\n| --- | --- | --- | ---: | ---: |")
        for ci in (None, 0.95):
            seconds, peak = measure(folder, ci, threads)
            print(f"| {rows:,} | {slices} | {ci} | {seconds:.1f} | {peak:.0f} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("rows", type=int, nargs="?", default=20_000_000)
    parser.add_argument("--slices", type=int, default=200)
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    main(given.rows, given.slices, given.threads)
