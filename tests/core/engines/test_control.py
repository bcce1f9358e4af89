"""Memory limits, threads, progress and Ctrl-C, each tried in a process of its own."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from threading import Event, Thread
from typing import Any

import duckdb
import pytest

import sqleval
from sqleval import EngineError, RequestError
from sqleval.engines import process, waiting
from sqleval.engines.duckdb_connection import convert_errors
from sqleval.engines.duckdb_files import database
from tests.support.versions import needs

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


def test_limits_reach_the_engine(tmp_path: Path) -> None:
    assert run(SETTINGS, str(tmp_path)).split() == ["1", "1", "512.0", "MiB"]


SPILLED = """
import sys, pathlib, sqleval
folder = pathlib.Path(sys.argv[1])
sqleval.configure(memory_limit="50MB", threads=2, temp_directory=folder)
seen = set()
sqleval.configure(progress=lambda percent: seen.update(p.name for p in folder.rglob("*")))
query = "SELECT i % 2 AS y, RANDOM() AS p FROM RANGE(3000000) AS t(i)"
found = sqleval.scan(query=query, label="y", score="p").evaluate("roc_auc").collect()
print(len(seen) > 1, 0.49 < found["value"].item() < 0.51)
"""


@needs("DuckDB 1 reports no progress while it sorts", duckdb="2")
def test_what_does_not_fit_is_spilled_and_removed(tmp_path: Path) -> None:
    assert run(SPILLED, str(tmp_path)).split() == ["True", "True"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"threads": 0}, "threads=0 must be a whole number from 1 on"),
        ({"threads": "2"}, "threads='2' must be a whole number from 1 on"),
        ({"threads": 1.5}, "threads=1.5 must be a whole number from 1 on"),
        ({"memory_limit": "much"}, "memory_limit='much'"),
        ({"memory_limit": "-1GB"}, "memory_limit='-1GB' must be a size above 0"),
        ({"memory_limit": "0.0 GB"}, "memory_limit='0.0 GB' must be a size above 0"),
        ({"memory_limit": 4}, "memory_limit=4 must be a size above 0, such as '4GB'"),
        ({"temp_directory": 3}, "temp_directory=3 must be the path of a folder"),
        ({"progress": True}, "progress=True must be a function that takes the percentage"),
        (
            {"temp_directory": "no/such"},
            "temp_directory='no/such' is not a folder that can be writ",
        ),
    ],
)
def test_a_wrong_limit_is_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(RequestError, match=message):
        sqleval.configure(**settings)  # type: ignore[arg-type]


def test_more_threads_than_cores_are_capped() -> None:
    cores = os.cpu_count() or 1
    asked = f"""
import warnings
import sqleval
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    sqleval.configure(threads={cores})
    sqleval.configure(threads={cores + 1})
print(*(each.category.__name__ for each in caught), caught[0].message)
query = "SELECT 1 AS y, 1 AS p, current_setting('threads') AS t"
found = sqleval.scan(query=query, label="y", score="p", by="t")
print(found.evaluate("prevalence").collect()["t"].item())
"""
    warned, used = run(asked).splitlines()
    assert warned == (
        f"FewerThreads threads={cores + 1} (--threads) is more than the cores of this machine: "
        f"{cores} are used"
    )
    assert used == str(cores)


@pytest.mark.parametrize(("options", "name"), [
    ({"version": 0}, "version"), ({"version": ""}, "version"), ({"timestamp": 0}, "timestamp"),
    ({"verify": True}, "verify"), ({"storage": {"region": "x"}}, "storage"),
])  # fmt: skip
def test_options_of_what_duckdb_reads_are_refused_elsewhere(
    options: dict[str, Any], name: str
) -> None:
    # No server listens there, and none is called.
    engine = "postgresql://me@127.0.0.1:1/db"
    with pytest.raises(RequestError, match=f"{name}= is for what DuckDB reads"):
        sqleval.scan("rows", label="y", score="p", engine=engine, **options)
    with pytest.raises(EngineError, match="does not answer"):
        sqleval.scan("rows", label="y", score="p", engine=engine, storage={}, verify=False)


def test_a_source_that_memory_is_too_small_for_is_not_called_unreadable(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("y,p\n1,0.5\n")
    with duckdb.connect() as con:
        con.execute(f"CREATE VIEW rows AS FROM '{tmp_path / 'rows.csv'}'")
        con.execute("SET memory_limit = '1KB'")
        with pytest.raises(EngineError, match=r"ran out of memory over rows: .* raise --mem"):
            sqleval.scan("rows", label="y", score="p", con=con)


def read_one() -> int:
    with closing(process.cursor()) as con:
        return int(con.execute("SELECT 1").fetchall()[0][0])


def test_a_database_that_cannot_be_opened_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError("no room")

    process.restart()
    with monkeypatch.context() as patch:
        patch.setattr(duckdb, "connect", fail)
        for _ in range(2):
            with pytest.raises(EngineError, match="DuckDB cannot open its database: no room"):
                read_one()
    assert read_one() == 1


def test_a_database_may_be_replaced_while_others_use_it() -> None:
    errors: list[Exception] = []
    ended = Event()

    def read() -> None:
        while not ended.is_set():
            try:
                read_one()
            except Exception as error:
                errors.append(error)

    threads = [Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(20):
        process.restart()
        time.sleep(0.005)
    ended.set()
    for thread in threads:
        thread.join()
    assert errors == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks on this system")
def test_a_fork_opens_a_database_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "rows.duckdb"
    with duckdb.connect(path) as con:
        con.execute("CREATE TABLE t AS SELECT 1 AS y")
    assert run(FORKED, str(path)).split() == ["True", "[(1,)]", "0", "0"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks on this system")
def test_a_frame_from_before_a_fork_is_an_error() -> None:
    assert run(FRAMES).split() == ["True"] * 3


FRAMES = """
import os, polars as pl, sqleval, warnings
warnings.simplefilter("ignore")  # of a fork beside threads
rows = pl.DataFrame({"k": [1, 2, 3, 4], "y": [0, 1, 0, 1], "p": [0.1, 0.4, 0.3, 0.8]})
bound = sqleval.scan(rows, label="y", score={"a": "p", "b": "p"})
frames = [bound.evaluate("roc_auc"), bound.compare("roc_auc"), sqleval.split(rows, key="k")]
frames[0].collect()
for frame in frames:
    child = os.fork()
    if child == 0:
        try:
            frame.filter(pl.lit(True)).collect()
        except pl.exceptions.ComputeError as error:
            print("start workers by 'spawn'" in str(error), flush=True)
        os._exit(0)
    os.waitpid(child, 0)
"""


FORKED = """
import os, sqleval, sys, threading, warnings
from sqleval.engines import duckdb_databases, process, waiting
from sqleval.engines.duckdb_databases import open_files
warnings.simplefilter("ignore")  # of a fork beside threads
predictions = sqleval.scan(query="SELECT 1 AS y, 0.5 AS p", label="y", score="p")
predictions.evaluate("roc_auc").collect()
held, ended = threading.Event(), threading.Event()
def hold():
    names = duckdb_databases._names
    with open_files([sys.argv[1]]), names.lock, process._database._lock:
        held.set()
        ended.wait()
holder = threading.Thread(target=hold)
holder.start()
held.wait()
child = os.fork()
if child == 0:
    try:
        predictions.evaluate("roc_auc").collect()
    except process.EngineError as error:
        print("start workers by 'spawn'" in str(error), flush=True)
    with open_files([sys.argv[1]]) as (con, (name,)):
        print(con.execute(f"SELECT y FROM {name}.t").fetchall(), flush=True)
    os._exit(0)
print(os.waitpid(child, 0)[1], flush=True)
ended.set()
holder.join()
child = os.fork()
if child == 0:
    process.cursor()  # does not free the database of the other process
    os._exit(0)
print(os.waitpid(child, 0)[1])
"""


@pytest.mark.skipif(duckdb.__version__.startswith("1."), reason="DuckDB 1 does not read ahead")
def test_text_is_not_read_ahead_until_the_last_statement_over_it_has_ended() -> None:
    def read_depth() -> int:
        with closing(process.cursor()) as con:
            return int(con.execute("SELECT current_setting('read_ahead_depth')").fetchall()[0][0])

    with ExitStack() as first, ExitStack() as second:
        first.enter_context(process.read_no_text_ahead())
        second.enter_context(process.read_no_text_ahead())
        first.close()
        assert read_depth() == 0
        second.close()
        assert read_depth() == process.READ_AHEAD


PROGRESS = f"""
import sqleval
sqleval.configure(threads=1)
reported = []
def hear(percent):
    reported.append(percent)
sqleval.configure(progress=hear)
query = "{LONG.replace("1000000000", "4000000")}"
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
query += " LIMIT 2"
print(sqleval.scan(query=query, label="y", score="p").evaluate("prevalence").collect().height)
"""


@needs("DuckDB 1 reports no progress while it sorts", duckdb="2")
def test_progress_is_reported_and_can_stop_a_statement() -> None:
    assert run(PROGRESS).split() == ["True", "True", "True", "True", "1"]


def test_a_percentage_that_stays_is_reported_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "_REPEAT", 0.2)
    reported: list[float] = []
    waiting.watch(reported.append)
    try:
        waiting.wait_for(lambda: time.sleep(0.7), lambda: None, lambda: 0.0)
    finally:
        waiting.watch(None)
    assert reported[:2] == [0, 0]
    assert len(reported) < 6
    assert reported[-1] == 100


def interrupted(
    command: list[str], folder: Path, started: Callable[[], bool]
) -> tuple[float, int, str]:
    """Interrupt a running command; return the seconds until it ended, its code and its stderr."""
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
        env={**os.environ, "TMPDIR": str(folder)},
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not started():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    output = process.communicate()[1]
    return time.monotonic() - start, process.returncode, output


IN_PYTHON = f"""
import pathlib, sys, sqleval
from sqleval.engines import waiting
waiting.on_pulse.append(pathlib.Path(sys.argv[1]).touch)
try:
    print(sqleval.scan(query="{LONG}", label="y", score="p").evaluate("roc_auc").collect())
except KeyboardInterrupt:
    sys.exit(7)
"""


def test_an_interrupt_stops_at_once_and_leaves_nothing(tmp_path: Path) -> None:
    # Enough to spill for some seconds.
    query = LONG.replace("1000000000", "8000000")
    command = [SQLEVAL, "evaluate", "--query", query, "--label", "y", "--score", "p"]
    command += ["-m", "roc_auc", "--memory-limit", "50MB"]
    took, code, message = interrupted(command, tmp_path, lambda: any(tmp_path.rglob("*.tmp")))
    assert took < 3
    assert (code, message.strip()) == (3, "error: interrupted")
    assert list(tmp_path.iterdir()) == []


@needs("Polars 1 raises a ComputeError for an interrupt", polars="2")
def test_an_interrupt_stops_a_query_at_once(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    command = [sys.executable, "-c", IN_PYTHON, str(runs)]
    took, code, message = interrupted(command, tmp_path, runs.exists)
    assert took < 3
    # A second KeyboardInterrupt would be raised in the handler of the first.
    assert (code, message.strip()) == (7, "")


def test_an_interrupt_of_what_duckdb_runs_in_the_main_thread(tmp_path: Path) -> None:
    for opened in (convert_errors("", []), database(str(tmp_path / "history.duckdb"))):
        with pytest.raises(KeyboardInterrupt), opened:
            raise RuntimeError("Query interrupted")  # as DuckDB does


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


def test_a_second_interrupt_does_not_leave_the_statement_alone() -> None:
    assert run(TWICE).split() == ["interrupted", "2", "True"]


THREADS = """
import os, threading, time
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

def go_on():
    threading.main_thread().join()
    time.sleep(0.05)
    print(ask(lambda: "later"))

threading.Thread(target=go_on).start()
"""


def test_statements_use_the_same_threads_unless_one_waits_for_another() -> None:
    assert run(THREADS).split() == ["True", "False", "False", "fork", "0", "later"]


HANDLERS = """
import signal, sys, threading, time
import sqleval

def handle(number, frame):
    print("handled", flush=True)
    raise KeyboardInterrupt

query = "SELECT CAST(RANDOM() < 0.3 AS INTEGER) AS y, RANDOM() AS p FROM RANGE(100000000)"
late = sqleval.scan(query=query, label="y", score="p").evaluate("roc_auc")
for handler in (signal.default_int_handler, signal.default_int_handler, handle):
    signal.signal(signal.SIGINT, handler)  # as IPython does before each cell
    threading.Timer(1, signal.raise_signal, [signal.SIGINT]).start()
    start = time.monotonic()
    try:
        try:
            late.collect()
        finally:
            time.sleep(0.1)  # the handler may run here, after the statement has ended
    except KeyboardInterrupt:
        print("interrupted", time.monotonic() - start < 4)
print(sqleval.scan(query="SELECT 1 AS y, 1 AS p", label="y", score="p").task)
"""


@needs("Polars 1 raises a ComputeError for an interrupt", polars="2")
def test_an_interrupt_stops_a_statement_whatever_handler_is_set() -> None:
    stopped = ["interrupted", "True"]
    assert run(HANDLERS).split() == [*stopped, *stopped, "handled", *stopped, "binary"]


KEPT = """
import signal, time
import sqleval
from sqleval.engines import waiting

handled, fired = [], []

def handle(number, frame):
    handled.append(number)

def fire():  # while a statement runs
    if not fired:
        fired.append(1)
        signal.raise_signal(signal.SIGINT)

signal.signal(signal.SIGINT, handle)
query = "SELECT i % 2 AS y, RANDOM() AS p FROM RANGE(1000000000) AS t(i)"
bound = sqleval.scan(query=query, label="y", score="p")
waiting.on_pulse.append(fire)
for stopped in (bound.evaluate("roc_auc").collect, lambda: sqleval.drift(bound, bound, "ks")):
    fired.clear()
    try:
        stopped()
    except KeyboardInterrupt:
        time.sleep(0.1)
        print("interrupted", len(handled), signal.getsignal(signal.SIGINT) is handle)
    signal.raise_signal(signal.SIGINT)
    print(len(handled))
"""


@needs("Polars 1 raises a ComputeError for an interrupt", polars="2")
def test_a_handler_runs_when_a_statement_was_stopped_and_again_later() -> None:
    assert run(KEPT).split() == ["interrupted", "1", "True", "2", "interrupted", "3", "True", "4"]


FORK = """
import os, signal, time
from sqleval.engines import waiting

waiting.notice_interrupts()
signal.signal(signal.SIGINT, lambda *_: None)
if not os.fork():
    signal.raise_signal(signal.SIGINT)
    os._exit(0)
os.wait()
print(waiting._read_interrupt())
signal.raise_signal(signal.SIGINT)
print(waiting._read_interrupt(), waiting._read_interrupt())
"""


def test_an_interrupt_of_a_fork_is_not_that_of_its_parent() -> None:
    assert run(FORK).split() == ["False", "True", "False"]
