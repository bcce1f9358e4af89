"""Spark itself, classic, by Connect and by the command: values, tasks, Ctrl-C and a bar.

Starting its JVM takes long, so there are few requests; `test_spark.py` evaluates every metric and
option on Sail.
"""

import json
import os
import pty
import re
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.support import spark_executors, spark_process

#: Options of Java: compile quickly, because code runs once, with more than the 48 MB for compiled
#: code, because Java would warn on stdout when they are full; collect garbage in one thread. Spark:
#: small pages of memory, because each of many tasks clears its own; no web pages, and few tasks.
JAVA = (
    "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC "
    "-Dspark.buffer.pageSize=1m -Dspark.ui.enabled=false "
    "-Dspark.sql.shuffle.partitions=2 -Dspark.driver.bindAddress=127.0.0.1 "
    "-Dspark.driver.host=127.0.0.1"
)


def run(folder: Path) -> tuple[dict[str, Any], list[dict[str, Any]], bytes]:
    """Return the sessions' results, the output of the command, and the screen of the terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*spark_process.COMMAND, str(folder)],
        stdout=subprocess.PIPE, stderr=theirs, cwd=Path(__file__).parents[3],
        env={
            # Without the variables that PySpark has set in this process, if it used Connect.
            **{name: v for name, v in os.environ.items() if not name.startswith("SPARK_")},
            "JAVA_TOOL_OPTIONS": JAVA,
            "TERM": "xterm",
        },
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    # Linux raises when the last process has closed its end of a terminal: Java ends too.
    with suppress(OSError):
        while part := os.read(ours, 65536):
            shown += part
    os.close(ours)
    printed = process.communicate()[0].decode()
    assert process.returncode == 0, shown[-2000:].decode(errors="replace")
    found, of_command = printed.split("\n", 1)
    return json.loads(found), json.loads(of_command), shown


def check_values(found: dict[str, Any], requests: Any) -> None:
    rows = spark_process.make_rows()
    for request, values in zip(requests, found["values"], strict=True):
        expected = spark_process.evaluate(rows, *request)
        assert len(values) == len(expected)
        for one, other in zip(values, expected, strict=True):
            assert one == [pytest.approx(x, rel=1e-9) if isinstance(x, float) else x for x in other]


def test_a_classic_session_spark_connect_and_the_command(tmp_path: Path) -> None:
    # A single test, because a second one might run in another process, with another JVM.
    found, of_command, shown = run(tmp_path)
    check_values(found, spark_process.REQUESTS)
    cost, share = found["cost"], spark_process.ROWS / int(spark_process.TASKS)
    assert cost["rows_into_one_partition"] < spark_process.ROWS_INTO_ONE_PARTITION < share
    # A task reads little more than its share of the rows.
    assert cost["largest_task"] < 1.3 * share
    assert found["stopped"]
    # Ctrl-C ended the statement and no other.
    assert (found["end"], found["active"]) == ("interrupted", 0)
    check_values(found["connect"], spark_process.REQUESTS_BY_CONNECT)
    assert (found["connect"]["end"], found["connect"]["active"]) == ("interrupted", 0)
    # The command on a terminal shows its own bar and not Spark's.
    assert [row["n"] for row in of_command] == [spark_process.ROWS_OF_COMMAND]
    assert re.search(rb"\xe2\x94\x81.*\d%", shown), shown[-500:]
    assert b"[Stage" not in shown


def test_an_executor_that_is_killed_changes_no_digit() -> None:
    """Its tasks run again on others, in another order."""
    done = subprocess.run(
        spark_executors.COMMAND, stdout=subprocess.PIPE, check=True, cwd=Path(__file__).parents[3],
        env={
            **{name: v for name, v in os.environ.items() if not name.startswith("SPARK_")},
            "SPARK_LOCAL_IP": "127.0.0.1",
        },
    )  # fmt: skip
    found = json.loads(done.stdout.splitlines()[-1])
    usual, after_a_kill = found["results"]
    assert found["killed"] == 1
    assert [row[4] for row in usual] == [spark_executors.ROWS]
    assert after_a_kill == usual
