"""Runs dbt, which pins what the project does not, in the environment of the orchestrators."""

import json
import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
#: Its command several times in one process, as importing it takes longer than a build. The number
#: of the command is an environment variable, which a project may read.
_SCRIPT = """
import json, os, sys
from dbt.cli.main import cli
for step, arguments in enumerate(json.load(sys.stdin)):
    os.environ["STEP"] = str(step)
    print("BEGIN", flush=True)
    try:
        cli(["--no-version-check", "--no-use-colors", *arguments])
    except SystemExit as stop:
        print("EXIT", stop.code or 0, flush=True)
"""


class Done(NamedTuple):
    """What a command printed, and its exit code."""

    code: int
    log: str


def run_dbt(folder: Path, commands: Sequence[Sequence[str]]) -> list[Done]:
    """Run commands of dbt in a folder, one after another."""
    subprocess.run(["bash", str(ROOT / ".ci" / "environment"), "orchestrators"], check=True)
    done = subprocess.run(
        [ROOT / ".venv-orchestrators" / "bin" / "python", "-c", _SCRIPT],
        input=json.dumps(commands), capture_output=True, text=True, check=False, cwd=folder,
        env={**os.environ, "DO_NOT_TRACK": "1"},
    )  # fmt: skip
    found = re.findall(r"^BEGIN\n(.*?)^EXIT (\d+)", done.stdout, re.MULTILINE | re.DOTALL)
    assert len(found) == len(commands), done.stdout + done.stderr
    return [Done(int(code), log) for log, code in found]
