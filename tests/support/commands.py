"""Runs the command line, as a process or within this one."""

import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import NamedTuple

from sqleval.cli import main

SQLEVAL = str(Path(sys.executable).with_name("sqleval"))


class Done(NamedTuple):
    """What a command printed, and its exit code."""

    returncode: int
    stdout: str
    stderr: str


def run_process(*arguments: str, code: int = 0, cwd: Path | None = None) -> Done:
    """Run the command as a process."""
    done = subprocess.run(
        [SQLEVAL, *arguments], capture_output=True, text=True, check=False, cwd=cwd
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return Done(done.returncode, done.stdout, done.stderr)


def run(*arguments: str, code: int = 0) -> Done:
    """Run the command in this process, in a fifth of the time."""
    out, err = StringIO(), StringIO()
    hook = sys.unraisablehook
    try:
        with redirect_stdout(out), redirect_stderr(err):
            done = main.run_command(arguments)
    finally:
        sys.unraisablehook = hook
    assert done == code, err.getvalue()
    return Done(done, out.getvalue(), err.getvalue())
