"""Runs the command line in a process of its own or in this one."""

import atexit
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from importlib.metadata import version
from io import StringIO
from pathlib import Path
from typing import NamedTuple

from sqleval.cli import main

#: The installed command; its start, signals and limits are tested with it.
SQLEVAL = str(Path(sys.executable).with_name("sqleval"))
#: The environment before a test changes it.
ENVIRONMENT = dict(os.environ)


@cache
def start_programs() -> Path:
    """Return a folder with `python` and `sqleval`, which start faster.

    Their processes are forks of one that has imported the libraries; see `fork_server.py`. Where
    there are no such forks, they are the programs themselves.
    """
    installed = Path(sys.executable).parent
    # Importing Polars 1 starts threads. A fork lacks them and would wait for them.
    if not hasattr(os, "pidfd_open") or version("polars").startswith("1."):
        return installed
    folder = Path(tempfile.mkdtemp())
    path = folder / "socket"
    here = Path(__file__).parent
    server = subprocess.Popen(
        [sys.executable, str(here / "fork_server.py"), str(path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ENVIRONMENT,
    )  # fmt: skip

    def stop() -> None:
        server.communicate()
        shutil.rmtree(folder)

    atexit.register(stop)
    for name, program in (("python", sys.executable), ("sqleval", SQLEVAL)):
        client = [sys.executable, "-IS", str(here / "fork_client.py"), str(path), program]
        script = folder / name
        script.write_text(f'#!/bin/sh\nexec {shlex.join(client)} "$@"\n', encoding="utf-8")
        script.chmod(0o700)
    assert server.stdout is not None
    assert server.stdout.readline(), "the server of forks has ended"
    return folder


class Done(NamedTuple):
    """The output of a command, and its exit code."""

    returncode: int
    stdout: str
    stderr: str


def run_process(*arguments: str, code: int = 0, cwd: Path | None = None) -> Done:
    """Run the command as a process."""
    done = subprocess.run(
        [start_programs() / "sqleval", *arguments],
        capture_output=True, text=True, check=False, cwd=cwd,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return Done(done.returncode, done.stdout, done.stderr)


def run(*arguments: str, code: int = 0) -> Done:
    """Run the command in this process, in a fifth of a new process's time."""
    out, err = StringIO(), StringIO()
    hook = sys.unraisablehook
    try:
        with redirect_stdout(out), redirect_stderr(err):
            done = main.run_command(arguments)
    finally:
        sys.unraisablehook = hook
    assert done == code, err.getvalue()
    return Done(done, out.getvalue(), err.getvalue())
