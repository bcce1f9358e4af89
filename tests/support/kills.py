"""Kills the next run of a job of three days at a point, and compares the results."""

import json
import shutil
import signal
import subprocess
from collections.abc import Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from datetime import date
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import yaml
from polars import selectors

from sqleval.cli import main
from sqleval.history.view import read_rows
from sqleval.jobs.file.reading import read_job
from sqleval.jobs.running.run import open_job_store
from tests.support.commands import start_programs
from tests.support.lake import Lake, rows

#: Run by its path, because it could not be a fork in a changed environment.
PROGRAM = Path(__file__).with_name("killed.py")
#: Values that differ between two runs.
TIMES = ("run", "evaluated_at", "duration", "new_run", "restated_at")
RUN = ("run", "job.yml", "--as-of", "2026-01-06")
PRUNE = ("history", "prune", "job.yml", "--before", "2026-01-03")


def run_killed(folder: Path, point: int, command: Sequence[str]) -> tuple[int, str]:
    """Run a command, and kill it at a point; return the exit code and the output."""
    command = [str(start_programs() / "python"), str(PROGRAM), str(point), *command]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr + done.stdout


def list_rows(frame: pl.DataFrame) -> list[str]:
    """Return the rows in order, without the last digits of sums."""
    digits = selectors.float().map_elements(lambda value: f"{value:.10g}", pl.String)
    return sorted(map(repr, frame.with_columns(digits).rows()))


def describe(folder: Path) -> dict[str, Any]:
    """Return the tables and files that runs have written, without names and times of runs."""
    store = open_job_store(read_job(folder / "job.yml"))
    found: dict[str, Any] = {}
    for name, frame in (
        ("history", store.read("sqleval_history")),
        ("restated", read_rows(store, restated=True)),
        ("files", store.read("sqleval_files").drop("modified")),
    ):
        kept = frame.drop([column for column in TIMES if column in frame.columns])
        found[name] = list_rows(kept)
    for path in sorted((folder / "states").iterdir()):
        metadata = pl.read_parquet_metadata(path)
        found[path.name] = sorted(metadata.items()), list_rows(pl.read_parquet(path))
    document = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    found["verdicts"] = document["verdicts"], document["errors"], document["exit_code"]
    found["names"] = sorted(path.name for path in folder.iterdir() if path.suffix != ".wal")
    return found


class Night(NamedTuple):
    """A job before a command, the results of the whole command, and its number of points.

    A run is complete after the first ``complete`` points; then it tidies up its history.
    """

    command: Sequence[str]
    before: Path
    expected: dict[str, Any]
    complete: int
    points: int


def prepare_night(folder: Path, store: str) -> Night:
    """Make a job whose next run has something of each kind to do."""
    before = folder / "before"
    before.mkdir()
    made = Lake(before)
    made.put(rows(days=3))
    made.run(backfill=True, changes={
        "states": "states", "history": f"history.{store}", "outputs": {"json": "run.json"},
        "gates": ["roc_auc >= 0.6"],
    })  # fmt: skip
    # A day is corrected, one loses its rows to another, one is missing, and one is new.
    made.put(rows(days=1, start=2, seed=5))
    made.put(rows(days=1, start=4))
    gone = rows(days=1, start=1).with_columns(day=pl.lit(date(2026, 1, 1)))
    gone.write_parquet(before / "preds" / "2026-01-02.parquet")
    # Copies keep the times of files, so that only these days have changed.
    whole = folder / "whole"
    shutil.copytree(before, whole, copy_function=shutil.copy2)
    code, output = run_killed(whole, -1, RUN)
    assert code == 1, output  # a day is missing
    expected = describe(whole)
    assert len(expected["restated"]) > 0
    return Night(RUN, before, expected, *map(int, output.splitlines()[-1].split()))


def prepare_removal(night: Night) -> Night:
    """Return the job after its run, with ten more days, two of which are to be removed."""
    folder = night.before.parent
    whole = folder / "whole"
    made = object.__new__(Lake)
    made.folder, made.spec = whole, yaml.safe_load((whole / "job.yml").read_text(encoding="utf-8"))
    made.put(rows(days=10, start=5))
    made.run(backfill=True)
    before = folder / "removal"
    whole.rename(before)
    shutil.copytree(before, whole, copy_function=shutil.copy2)
    first = describe(whole)
    code, output = run_killed(whole, -1, PRUNE)
    assert code == 0, output
    expected = describe(whole)
    for name in ("history", "restated", "files"):
        assert expected[name] != first[name]
    return Night(PRUNE, before, expected, *map(int, output.splitlines()[-1].split()))


def check_point(night: Night, point: int) -> None:
    """Kill the command at a point, repeat it, and compare with the results of a whole one."""
    folder = night.before.parent / "killed"
    shutil.copytree(night.before, folder, copy_function=shutil.copy2)
    code, output = run_killed(folder, point, night.command)
    assert code == -signal.SIGKILL, (point, output)
    with chdir(folder), redirect_stdout(StringIO()), redirect_stderr(StringIO()) as stderr:
        code = main.run_command(night.command)
    assert code in (0, 1), (point, stderr.getvalue())
    found = describe(folder)
    assert found.keys() == night.expected.keys(), point
    for name, value in night.expected.items():
        # A run that is killed after its last write to the history has nothing left to do.
        is_over = name == "verdicts" and point >= night.complete - 1
        assert found[name] == value or is_over, (point, name)
    shutil.rmtree(folder)
