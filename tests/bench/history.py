"""Processor time and memory of a nightly run over a long history: nothing new, and one new day.

The numbers of the past are made up; the files of the days and the new day are real. Prints Markdown
rows.

    python -m tests.bench.history                1 and 5 million kept rows
    python -m tests.bench.history --days 400
"""

import argparse
import os
import subprocess
import sys
import tempfile
from datetime import date, timedelta
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import polars as pl
import yaml

from sqleval.jobs.file.reading import read_job
from sqleval.jobs.periods.counting import read_lake
from sqleval.jobs.running.run import open_job_store

FIRST, SLICES, EACH = date(2020, 1, 1), 1000, 8
METRICS = ["roc_auc", "log_loss", "brier_score", "accuracy", "prevalence"]
LIMITS = [
    {"check": "roc_auc >= 0.7", "by": []},
    {"check": "drop(roc_auc, previous 7) < 0.3", "by": ["seg"], "in_a_row": 3},
    "age <= 3",
]
GATES = {
    "limits": LIMITS,
    "and `worse`, all rows": [*LIMITS, {"check": "worse(roc_auc, previous 28) < 0.01", "by": []}],
    "and `worse`, by slice": [
        *LIMITS, {"check": "worse(roc_auc, previous 28) < 0.01", "by": ["seg"]}
    ],
    "a limit that fails in all of the past": [{"check": "roc_auc >= 0.99", "by": ["seg"]}],
}  # fmt: skip


def write_day(folder: Path, day: date, n: int = SLICES * EACH) -> None:
    """Write the predictions of a day."""
    rng = np.random.default_rng(day.toordinal())
    label = np.arange(n) % 2
    frame = pl.DataFrame({"y": label, "p": (rng.random(n) * 0.6 + 0.4 * label).round(2)})
    seg = pl.Series(np.arange(n) // EACH).cast(pl.String)
    frame = frame.with_columns(seg=seg, day=pl.lit(day))
    frame.write_parquet(folder / "preds" / f"{day}.parquet")


def make(folder: Path, days: int) -> None:
    """Write a job whose history has so many days; the first run sees only the last one."""
    (folder / "preds").mkdir(parents=True)
    spec = {
        "name": "nightly", "source": "preds", "label": "y", "score": "p", "slices": [[], ["seg"]],
        "period": {"column": "day"}, "metrics": METRICS, "ci": 0.95, "history": "history.duckdb",
        "gates": LIMITS,
    }  # fmt: skip
    (folder / "job.yml").write_text(yaml.safe_dump(spec), encoding="utf-8")
    for i in range(days):
        write_day(folder, FIRST + timedelta(days=i))
    run(folder, days)
    job = read_job(folder / "job.yml")
    store = open_job_store(job)
    prints = read_lake(job, store.read("sqleval_files", job.name)).fingerprints
    rows = store.read("sqleval_history", job.name)
    rng = np.random.default_rng(1)
    periods = [str(FIRST + timedelta(days=i)) for i in range(days - 1)]
    for start in range(0, len(periods), 100):
        chosen = periods[start : start + 100]
        frames = [
            rows.with_columns(
                period=pl.lit(each),
                fingerprint=pl.lit(prints[each]),
                value=0.9 + pl.Series(rng.normal(0, 0.02, rows.height)),
            )
            for each in chosen
        ]
        store.replace(job.name, chosen, pl.concat(frames), None)


def run(folder: Path, days: int) -> tuple[float, float]:
    """Run the job in the night after the last day; return CPU seconds and gigabytes."""
    night = FIRST + timedelta(days=days)
    command = [sys.executable, "-m", "sqleval", "run", "job.yml", "--as-of", f"{night}T03:00"]
    done = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.stdout is not None
    output = done.stdout.read().decode()
    _, status, usage = os.wait4(done.pid, 0)
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        raise SystemExit(output)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 2**20


def main() -> None:
    """Make the histories, and run the job over each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--days", type=int, nargs="*", default=[200, 1000])
    print("| kept rows | gates | nothing new | one new day |\n| --- | --- | --- | --- |")
    for days in parser.parse_args().days:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            # A process inherits the peak of memory from the process that starts it.
            maker = get_context("spawn").Process(target=make, args=(folder, days))
            maker.start()
            maker.join()
            kept = days * len(METRICS) * (SLICES + 1)
            now = days
            for title, gates in GATES.items():
                spec = yaml.safe_load((folder / "job.yml").read_text()) | {"gates": gates}
                (folder / "job.yml").write_text(yaml.safe_dump(spec), encoding="utf-8")
                idle = run(folder, now)
                write_day(folder, FIRST + timedelta(days=now))
                now += 1
                new = run(folder, now)
                cells = (f"{seconds:.1f} s, {size:.2f} GB" for seconds, size in (idle, new))
                print(f"| {kept:,} | {title} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
