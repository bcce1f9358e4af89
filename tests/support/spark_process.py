"""Tests Spark in separate processes, because one process cannot use it both classic and by Connect.

``python -m tests.support.spark_process FOLDER`` evaluates a table of many rows with ``engine=`` in
a classic session, interrupts a long statement, and prints the results as a line of JSON. Its JVM
also serves Spark Connect, to ``python -m tests.support.spark_process ADDRESS PATH``, which does the
same. It ends as the command ``sqleval evaluate --engine spark``, with a new session in that JVM.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from signal import SIGINT, raise_signal
from typing import Any, NoReturn

import numpy as np
import polars as pl

import sqleval
from sqleval.cli.main import main
from sqleval.engines.opening import open_engine
from sqleval.frontend import plan
from tests.bench.spark import SETTINGS, read_cost

#: Rows of the table, rows that one task may rank here, and tasks of a shuffle.
ROWS, ROWS_OF_ONE_TASK, TASKS = 20_000, 500, "2"
#: The largest number of rows in one partition: ranges of the score or strips of a hull, at most
#: 4,096, with their ends, once or twice.
ROWS_INTO_ONE_PARTITION = 8_400
#: Requests that read each of the steps with a window, by the column of scores and the slices. One
#: metric of each step is enough: planning takes seconds for each, and what windows see is checked
#: for all by `tests/core/compiler/test_window_sizes.py`.
REQUESTS = (
    ("tied", "slice", ("roc_auc", "expected_calibration_error(strategy='quantile')")),
    ("even", None, ("cost_curve_area",)),
)
REQUESTS_BY_CONNECT = (("even", None, ("log_loss",)),)
#: Rows for the command, each in a task of its own, which waits a quarter of a second longer than
#: the one before. So some tasks end after the first second, from which on the end of a task shows
#: the bar, whatever the number of cores.
ROWS_OF_COMMAND = 8
QUERY_OF_COMMAND = (
    "SELECT CAST(id % 2 AS INT) AS y, 0.25e0 + 0.5e0 * (id % 2) AS p "
    f"FROM range(0, {ROWS_OF_COMMAND}, 1, {ROWS_OF_COMMAND}) "
    "WHERE REFLECT('java.lang.Thread', 'sleep', 250L * (id + 1)) IS NOT NULL"
)
#: Settings for the server of Spark Connect, which chooses a port.
SERVER = {
    "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
    "spark.connect.grpc.binding.port": "0",
}


def make_rows() -> pl.DataFrame:
    """Return rows; 40 % have the same score, and 60 % are in one slice."""
    rng = np.random.default_rng(11)
    even = rng.random(ROWS)
    return pl.DataFrame(
        {
            "y": (rng.random(ROWS) < 0.1 + 0.8 * even).astype(np.int32),
            "even": even,
            "tied": np.where(rng.random(ROWS) < 0.4, 0.25, even),
            "slice": np.where(rng.random(ROWS) < 0.6, 0, rng.integers(1, 20, ROWS)),
            "noise": rng.random(ROWS) + even,
        }
    )


def evaluate(
    source: Any, score: str, by: str | None, metrics: tuple[str, ...], **options: Any
) -> list[Any]:
    """Return slice, metric, value, n and note of metrics."""
    scan = sqleval.scan(source, label="y", score=score, by=by, **options)
    drop = ["method"] if by is None else ["method", "slice_"]
    return scan.evaluate(list(metrics)).collect().drop(drop, strict=False).rows()


def interrupt(session: Any, is_running: Callable[[], bool]) -> str:
    """Interrupt a statement that would run for hours; return its error."""
    query = "SELECT CAST(id % 2 AS INT) AS y, CAST(hash(id) AS DOUBLE) AS even FROM range(1e12)"
    scan = sqleval.scan(
        query=query, label="y", prediction="even", task="regression", engine=session
    )

    def wait() -> None:
        while not is_running():
            time.sleep(0.1)
        raise_signal(SIGINT)

    threading.Thread(target=wait).start()
    try:
        scan.evaluate("mae").collect()
    except KeyboardInterrupt:
        return "interrupted"
    return "ended by itself"


def list_active(session: Any) -> list[int]:
    """Return the numbers of the running jobs."""
    return list(session.sparkContext.statusTracker().getActiveJobsIds())


def count_active(session: Any) -> int:
    """Return the number of jobs that still run after ten seconds; 0 as soon as none does."""
    for _ in range(100):
        active = list_active(session)
        if not active:
            return 0
        time.sleep(0.1)
    return len(active)


def run_requests(
    session: Any, path: str, requests: Sequence[Any], is_running: Callable[[], bool]
) -> dict[str, Any]:
    """Return how a statement ends that is interrupted, and the values of requests after it."""
    end = interrupt(session, is_running)
    values = [evaluate(path, *request, engine=session) for request in requests]
    return {"values": values, "end": end}


def run_classic(folder: Path) -> None:
    """Print what a classic session does, the largest tasks, and what another process does."""
    from pyspark.sql import SparkSession

    logs, path = folder / "logs", str(folder / "rows.parquet")
    logs.mkdir()
    make_rows().write_parquet(path)
    settings = {
        **SETTINGS, **SERVER,
        "spark.sql.shuffle.partitions": TASKS,
        "spark.eventLog.dir": logs.as_uri(),
    }  # fmt: skip
    session = SparkSession.builder.config(map=settings).getOrCreate()
    found = run_requests(session, path, REQUESTS, lambda: bool(list_active(session)))
    found["active"] = count_active(session)
    jvm: Any = session._jvm
    services = jvm.org.apache.spark.sql.connect.service
    port = getattr(getattr(services, "SparkConnectService$"), "MODULE$").localPort()
    client = subprocess.Popen(
        [*COMMAND, f"sc://127.0.0.1:{port}", path], text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        env={name: v for name, v in os.environ.items() if not name.startswith("SPARK_")},
    )  # fmt: skip
    assert client.stdin is not None
    assert client.stdout is not None
    # It asks when to interrupt, because a client of Spark Connect cannot see running jobs.
    if client.stdout.readline():
        while not list_active(session):
            time.sleep(0.1)
        client.stdin.write("runs\n")
        client.stdin.flush()
    printed, _ = client.communicate()
    found["connect"] = {**json.loads(printed), "active": count_active(session)}
    session.stop()
    found["stopped"] = open_engine(session).is_stopped  # type: ignore[union-attr]
    found["cost"] = read_cost(logs)._asdict()
    print(json.dumps(found), flush=True)


def run_command() -> NoReturn:
    """Become the command, which prints the log loss of rows that wait."""
    sys.argv = ["sqleval", "evaluate", "--query", QUERY_OF_COMMAND, "--engine", "spark"]
    sys.argv += ["--label", "y", "--score", "p", "--metric", "log_loss", "--format", "json"]
    main()


def run_connect(address: str, path: str) -> None:
    """Print what a client of Spark Connect does."""

    def is_running() -> bool:
        print("does it run?", flush=True)
        return bool(sys.stdin.readline())

    sys.stdout.write(json.dumps(run_requests(address, path, REQUESTS_BY_CONNECT, is_running)))


#: This module as a program, without the warnings of PySpark.
COMMAND = [sys.executable, "-W", "ignore", "-m", "tests.support.spark_process"]


if __name__ == "__main__":
    default, plan.ROWS_OF_ONE_TASK = plan.ROWS_OF_ONE_TASK, ROWS_OF_ONE_TASK
    if sys.argv[2:]:
        run_connect(*sys.argv[1:])
    else:
        run_classic(Path(sys.argv[1]))
        plan.ROWS_OF_ONE_TASK = default
        run_command()
