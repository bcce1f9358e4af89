"""Exports packages, and runs dbt in an environment of its own, because it pins dependencies."""

import json
import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import polars as pl

from tests.support.commands import run

ROOT = Path(__file__).parents[2]
#: Runs several commands of dbt in one process, also for several projects, because its import takes
#: longer than a build. A project may read the command's number from an environment variable.
_SCRIPT = """
import json, os, sys
from dbt.cli.main import cli
for folder, commands in json.load(sys.stdin).items():
    os.chdir(folder)
    for step, arguments in enumerate(commands):
        os.environ["STEP"] = str(step)
        print("BEGIN", flush=True)
        try:
            cli(["--no-version-check", "--no-use-colors", *arguments])
        except SystemExit as stop:
            print("EXIT", stop.code or 0, flush=True)
"""
#: Variables that switch off files that no test reads: the manifest as JSON, and the log.
_ENVIRONMENT = {"DO_NOT_TRACK": "1", "DBT_WRITE_JSON": "false", "DBT_LOG_LEVEL_FILE": "none"}


class Done(NamedTuple):
    """The output of a command, and its exit code."""

    code: int
    log: str


def run_dbt(projects: Mapping[Path, Sequence[Sequence[str]]]) -> dict[Path, list[Done]]:
    """Run commands of dbt in the folder of each project, one after another."""
    subprocess.run(["bash", str(ROOT / ".ci" / "environment"), "orchestrators"], check=True)
    commands = {str(folder.resolve()): each for folder, each in projects.items()}
    done = subprocess.run(
        [ROOT / ".venv-orchestrators" / "bin" / "python", "-c", _SCRIPT],
        input=json.dumps(commands), capture_output=True, text=True, check=False,
        env={**os.environ, **_ENVIRONMENT},
    )  # fmt: skip
    found = re.findall(r"^BEGIN\n(.*?)^EXIT (\d+)", done.stdout, re.MULTILINE | re.DOTALL)
    assert len(found) == sum(map(len, commands.values())), done.stdout + done.stderr
    each = iter([Done(int(code), log) for log, code in found])
    return {folder: list(islice(each, len(some))) for folder, some in projects.items()}


def export(folder: Path, predictions: str, *more: str, code: int = 0) -> str:
    """Write a package, and return the command's output."""
    return run("export", "dbt", str(folder), predictions, *more, code=code).stderr


def make_rows(step: int) -> pl.DataFrame:
    """Return predictions by day: tied scores, a slice without a key, a day of one class.

    Labels of the second day are missing before the third step, which has a new day. In the fourth
    step a score of the new fifth day is wrong, and one in a late row of the second day; in the
    fifth step both are right again.
    """
    days = {1: 3, 2: 3, 3: 4}.get(step, 5)
    i = pl.col("i")
    is_missing = (i // 60 == 1) & (i % 4 == 0) & pl.lit(step < 3)
    is_late = pl.int_range(pl.len()) >= 60 * days
    is_wrong = ((i == 260) & pl.lit(step == 4)) | is_late
    return pl.DataFrame({"i": [*range(60 * days), *[100] * (step == 4)]}).select(
        day=pl.date(2026, 7, 1) + pl.duration(days=i // 60),
        carrier=pl.when(i % 3 == 1).then(pl.lit("a")).when(i % 3 == 2).then(pl.lit("b")),
        y=pl.when(is_missing)
        .then(None)
        .when(i // 60 == 2)
        .then(1)
        .otherwise(i * i % 7 % 2)
        .cast(pl.Int64),
        p=pl.when(is_wrong).then(1.7).otherwise((i * 37 % 11) / 10).cast(pl.Float64),
    )
