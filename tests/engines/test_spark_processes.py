"""Spark itself, classic and by Connect: values, the largest tasks, and an interrupted statement.

Its JVM is a process of its own, and so they answer few requests; `test_spark.py` asks Sail for
every metric and option.
"""

import json
import os
import pty
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.support import spark_process

pytestmark = [pytest.mark.slow, pytest.mark.long]
#: Compiles quickly what runs once, and collects garbage in one thread.
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


def run() -> dict[str, Any]:
    done = subprocess.run(
        spark_process.COMMAND,
        capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2],
        env={
            "JAVA_TOOL_OPTIONS": JAVA,
            # Without what PySpark has set in this process, if it has spoken Connect.
            **{name: v for name, v in os.environ.items() if not name.startswith("SPARK_")},
        },
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def check_values(found: dict[str, Any], requests: Any) -> None:
    rows = spark_process.make_rows()
    last = ("even", None, ("log_loss",))
    for request, values in zip((*requests, last), [*found["values"], found["after"]], strict=True):
        wanted = spark_process.evaluate(rows, *request)
        assert len(values) == len(wanted)
        for one, other in zip(values, wanted, strict=True):
            assert one == [pytest.approx(x, rel=1e-9) if isinstance(x, float) else x for x in other]


def test_a_classic_session_and_spark_connect() -> None:
    # One test, as a second one might run in another process of the tests, with another JVM.
    found = run()
    check_values(found, spark_process.REQUESTS)
    cost, share = found["cost"], spark_process.ROWS / int(spark_process.TASKS)
    # What comes into one partition are ranges of the score or strips of the hull, at most 4,096 and
    # their ends, once or twice; a task reads little more than its share of the rows.
    assert cost["rows_into_one_partition"] < 8_400 < share
    assert cost["largest_task"] < 1.3 * share
    assert found["stopped"]
    # Ctrl-C ended the statement and no other.
    assert (found["end"], found["active"]) == ("interrupted", 0)
    check_values(found["connect"], spark_process.REQUESTS[:1])
    assert (found["connect"]["end"], found["connect"]["active"]) == ("interrupted", 0)


def test_a_terminal_shows_a_bar(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    path = tmp_path / "rows.parquet"
    rows = {"y": random.integers(0, 2, 2_000_000), "p": random.random(2_000_000)}
    pl.DataFrame(rows).write_parquet(path)
    command = [sys.executable, "-m", "sqleval", "evaluate", str(path), "--engine", "spark"]
    command += ["--label", "y", "--score", "p", "--metric", "roc_auc", "--format", "json"]
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=theirs, env={**os.environ, "TERM": "xterm"}
    )
    os.close(theirs)
    shown = b""
    # Linux raises when the last process has closed its end of a terminal.
    with suppress(OSError):
        while part := os.read(ours, 65536):
            shown += part
    os.close(ours)
    found = json.loads(process.communicate()[0])
    assert (process.returncode, found[0]["n"]) == (0, 2_000_000)
    assert re.search(rb"\xe2\x94\x81.*\d%", shown), shown[-500:]
