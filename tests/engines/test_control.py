"""Memory limits, threads, progress and Ctrl-C, each tried in a process of its own."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import sqleval
from sqleval import RequestError

SQLEVAL = str(Path(sys.executable).parent / "sqleval")
#: Longer than anyone waits: a sort of a thousand million rows.
LONG = "SELECT i % 2 AS y, RANDOM() AS p FROM RANGE(1000000000) AS t(i)"


def run(script: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


SETTINGS = """
import sys, duckdb, sqleval
def shown():
    asked = ", ".join(f"current_setting('{n}') AS {n}" for n in ("threads", "memory_limit"))
    found = sqleval.scan(query=f"SELECT 1 AS y, 0.5 AS p, {asked}", label="y", score="p",
                         by=["threads", "memory_limit"]).evaluate("prevalence").collect()
    return found["threads"][0], found["memory_limit"][0]
sqleval.configure(threads=1)
first = shown()
sqleval.configure(memory_limit="512MiB", temp_directory=sys.argv[1])
print(first[0], *shown())
"""


@pytest.mark.medium
def test_limits_reach_the_engine(tmp_path: Path) -> None:
    assert run(SETTINGS, str(tmp_path)).split() == ["1", "1", "512.0", "MiB"]


SPILLED = """
import sys, pathlib, sqleval
folder = pathlib.Path(sys.argv[1])
sqleval.configure(memory_limit="150MB", threads=2, temp_directory=folder)
seen = set()
sqleval.configure(progress=lambda percent: seen.update(p.name for p in folder.rglob("*")))
query = "SELECT i % 2 AS y, RANDOM() AS p FROM RANGE(12000000) AS t(i)"
found = sqleval.scan(query=query, label="y", score="p").evaluate("roc_auc").collect()
print(len(seen) > 1, 0.49 < found["value"].item() < 0.51)
"""


@pytest.mark.long
@pytest.mark.slow
def test_what_does_not_fit_is_spilled_and_removed(tmp_path: Path) -> None:
    assert run(SPILLED, str(tmp_path)).split() == ["True", "True"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"threads": 0}, "threads=0 must be a whole number from 1 on"),
        ({"memory_limit": "much"}, "memory_limit='much'"),
        (
            {"temp_directory": "no/such"},
            "temp_directory='no/such' is not a folder that can be writ",
        ),
    ],
)
def test_a_wrong_limit_is_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(RequestError, match=message):
        sqleval.configure(**settings)  # type: ignore[arg-type]


PROGRESS = f"""
import sqleval
sqleval.configure(threads=2)
reported = []
def hear(percent):
    reported.append(percent)
sqleval.configure(progress=hear)
query = "{LONG.replace("1000000000", "16000000")}"
sqleval.scan(query=query, label="y", score="p").evaluate("roc_auc").collect()
print(reported == sorted(reported), reported[-1] == 100, len(reported) > 2)
def enough(percent):
    raise ValueError("enough")
sqleval.configure(progress=enough)
try:
    sqleval.scan(query=query, label="y", score="p").evaluate("roc_auc").collect()
except Exception as error:
    print("enough" in str(error))
sqleval.configure(progress=False)
print(sqleval.scan(query=query, label="y", score="p").evaluate("prevalence").collect().height)
"""


@pytest.mark.long
@pytest.mark.slow
def test_progress_is_reported_and_can_stop_a_statement() -> None:
    assert run(PROGRESS).split() == ["True", "True", "True", "True", "1"]


def interrupted(command: list[str], folder: Path) -> tuple[float, int, str]:
    """Interrupt a command after two seconds; return how long it went on, its code, its stderr."""
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "TMPDIR": str(folder)},
    )  # fmt: skip
    time.sleep(2)
    assert process.poll() is None
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    output = process.communicate()[1]
    return time.monotonic() - start, process.returncode, output


IN_PYTHON = f"""
import sys, sqleval
try:
    print(sqleval.scan(query="{LONG}", label="y", score="p").evaluate("roc_auc").collect())
except KeyboardInterrupt:
    sys.exit(7)
"""


@pytest.mark.long
@pytest.mark.parametrize("how", ["command", "query"])
def test_an_interrupt_stops_at_once_and_leaves_nothing(how: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", IN_PYTHON]
    if how == "command":
        command = [SQLEVAL, "evaluate", "--query", LONG, "--label", "y", "--score", "p"]
        command += ["-m", "roc_auc", "--memory-limit", "200MB"]
    took, code, message = interrupted(command, tmp_path)
    assert took < 3
    # A second KeyboardInterrupt would come in the handler of the first.
    assert (code, message.strip()) == ((3, "error: interrupted") if how == "command" else (7, ""))
    assert list(tmp_path.iterdir()) == []


TWICE = """
import threading
from signal import SIGINT, raise_signal
from sqleval.engines.waiting import wait_for

ended, cancelled = threading.Event(), []

def cancel():
    cancelled.append(1)
    if len(cancelled) == 1:
        raise_signal(SIGINT)  # again, while the statement is cancelled
    ended.set()

threading.Timer(0.2, raise_signal, [SIGINT]).start()
try:
    wait_for(ended.wait, cancel, lambda: -1.0)
except KeyboardInterrupt:
    print("interrupted", len(cancelled), ended.is_set())
"""


@pytest.mark.medium
def test_a_second_interrupt_does_not_leave_the_statement_alone() -> None:
    assert run(TWICE).split() == ["interrupted", "2", "True"]


THREADS = """
import os, threading
from sqleval.engines.waiting import wait_for

def ask(work):
    return wait_for(work, print, lambda: -1.0)

used = {ask(threading.get_ident) for _ in range(100)}
outer, inner = ask(lambda: (threading.get_ident(), ask(threading.get_ident)))
print(len(used) < 10, threading.get_ident() in used, outer == inner, flush=True)
if not os.fork():
    print(ask(lambda: "fork"), flush=True)
    os._exit(0)
print(os.waitstatus_to_exitcode(os.wait()[1]))
"""


@pytest.mark.medium
def test_statements_use_the_same_threads_unless_one_waits_for_another() -> None:
    assert run(THREADS).split() == ["True", "False", "False", "fork", "0"]
