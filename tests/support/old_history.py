"""Writes a history of an old release, whose definitions were hashes of SQL text, with its jobs.

``python -m tests.support.old_history FOLDER`` wrote the archive: FOLDER is a checkout of the last
commit with such definitions, whose command ran the jobs.
"""

import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import polars as pl

ARCHIVE = Path(__file__).resolve().parents[1] / "core" / "history" / "old_history.tar.xz"

_SAME = """\
name: {name}
source: preds
label: y
score: p
slices: [[], [seg], {{is_high: "p > 0.5"}}]
period: {{column: day}}
nulls: drop
history: history.duckdb
"""
_METRICS = """\
metrics: [roc_auc, log_loss, f_beta(beta=2)]
ci: 0.95
gates: ["drop(roc_auc, previous 3) < 0.5", "drop(f_beta(beta=2), previous 3) < 0.5"]
"""
_LATE = "labels: {source: labels, on: key, maturity: 2d}\nmetrics: [roc_auc, brier_score]\n"
_OWN = "sql: [ours]\nmetrics: [mean_error, accuracy]\n"
JOBS = {
    "nightly": _METRICS,
    "changed": _METRICS + "threshold: 0.4\n",
    "late": _LATE + "expected: true\n",
    "arrived": _LATE,
    "own": _OWN,
}
OWN = """\
/*
summary: mean of the errors of the scores
formula: sum (p - y) / n
direction: none
range: -1 .. 1
reference: numpy.mean
task: two classes
weights: none
since: 0.1.0
*/
SELECT
    slice,
    AVG(score - label) AS value
FROM predictions
GROUP BY slice
"""
NIGHT = ("--as-of", "2026-01-09T03:00")
RUNS = (
    ("nightly", "--backfill"),
    ("changed", "--from", "2026-01-01", "--to", "2026-01-03"),
    # The threshold changes in the later days, so that each metric has two definitions.
    ("changed", "--from", "2026-01-04", "--to", "2026-01-08"),
    ("late", "--backfill"),
    ("arrived", "--backfill"),
    ("own", "--backfill"),
)


def unpack(folder: Path) -> Path:
    """Unpack the history, its jobs and rows; files keep their times, a part of their versions."""
    return unpack_archive(ARCHIVE, folder)


def unpack_archive(archive: Path, folder: Path) -> Path:
    """Unpack an archive into a folder, and return the folder."""
    with tarfile.open(archive) as file:
        # Python has filters from 3.11.4 on; Debian 12 has 3.11.2.
        file.extraction_filter = getattr(tarfile, "data_filter", None)
        file.extractall(folder)
    return folder


def write_archive(archive: Path, fill: Callable[[Path], None]) -> None:
    """Write an archive of what a function writes into a folder."""
    with tempfile.TemporaryDirectory() as name, tarfile.open(archive, "w:xz", preset=9) as file:
        fill(Path(name))
        for path in sorted(Path(name).iterdir()):
            file.add(path, path.name, filter=_forget_owner)


def run_jobs(folder: Path, checkout: str, *arguments: str) -> None:
    """Run ``sqleval run`` of a checkout in a folder."""
    command = [sys.executable, "-m", "sqleval", "run", *arguments]
    environment = os.environ | {"PYTHONPATH": checkout}
    subprocess.run(command, cwd=folder, env=environment, check=True)


def write_rows(folder: Path) -> None:
    """Write predictions and labels of eight days."""
    random = np.random.default_rng(55)
    for side in ("preds", "labels"):
        (folder / side).mkdir()
    for at in range(8):
        label = random.integers(0, 2, 60)
        frame = pl.DataFrame(
            {
                "key": np.arange(60) + 60 * at,
                "day": pl.repeat(date(2026, 1, 1) + timedelta(days=at), 60, eager=True),
                "seg": random.choice(["a", "b"], 60),
                "p": np.round(np.clip(random.normal(0.35 + 0.3 * label, 0.2), 0.01, 0.99), 2),
                "y": label,
            }
        )
        for side in ("preds", "labels"):
            path = folder / side / f"2026-01-{at + 1:02}.parquet"
            frame.select("key", "y").write_parquet(path) if side == "labels" else (
                frame.write_parquet(path)
            )
            os.utime(path, (1_768_000_000 + at,) * 2)


def main(checkout: str) -> None:
    """Write the archive."""

    def fill(folder: Path) -> None:
        write_rows(folder)
        (folder / "ours" / "team").mkdir(parents=True)
        (folder / "ours" / "team" / "mean_error.sql").write_text(OWN, encoding="utf-8")
        for job, text in JOBS.items():
            (folder / f"{job}.yml").write_text(_SAME.format(name=job) + text, encoding="utf-8")
        for job, *options in RUNS:
            run_jobs(folder, checkout, f"{job}.yml", *options, *NIGHT)
            path = folder / f"{job}.yml"
            if job == "changed":
                text = path.read_text(encoding="utf-8").replace("threshold: 0.4", "threshold: 0.6")
                path.write_text(text, encoding="utf-8")

    write_archive(ARCHIVE, fill)


def _forget_owner(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


if __name__ == "__main__":
    main(sys.argv[1])
