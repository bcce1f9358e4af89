"""Forks of `tests/support/fork_server.py` behave like new processes."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.commands import ENVIRONMENT, start_programs
from tests.support.versions import needs

#: Prints the facts of a process: its module, arguments, folder, streams, variables and end.
CODE = """
import atexit, os, signal, sys
atexit.register(print, "at exit")
print(__name__, sys.argv, sys.path[0], os.getcwd(), sys.stdin.read(), os.environ.get("COLUMNS"))
print(sorted(name for name in sys.modules if name.split(".")[0] in ("sqleval", "tests")))
print(signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM))
print("error", file=sys.stderr)
sys.exit(5)
"""


def run(program: Path | str, *arguments: str, **more: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [program, *arguments], input="given", capture_output=True, text=True, check=False,
        # Libraries that other tests import add variables, with which a fork is refused.
        env={**ENVIRONMENT, "COLUMNS": "99", **more},
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("kind", ["code", "file"])
def test_a_fork_is_as_a_process(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "script.py").write_text(CODE, encoding="utf-8")
    arguments = ["script.py", "x"] if kind == "file" else ["-c", CODE, "x"]
    found = run(start_programs() / "python", *arguments)
    assert found == run(sys.executable, *arguments)
    assert found[0] == 5
    assert "at exit" in found[1]


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="no forks on this system")
@needs("Polars 1 starts threads on import, which forks lack", polars="2")
def test_what_libraries_read_is_for_a_process_of_its_own() -> None:
    code = "import sys; print('polars' in sys.modules)"
    python = start_programs() / "python"
    assert run(python, "-c", code)[1] == "True\n"
    assert run(python, "-c", code, POLARS_MAX_THREADS="1")[1] == "False\n"
    assert run(python, "-W", "error", "-c", code)[1] == "False\n"


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_killed_fork_is_reported() -> None:
    code = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    assert run(start_programs() / "python", "-c", code)[0] == -signal.SIGKILL
