"""Ends an executor of Spark in the middle of a statement, in a process of its own.

``python -m tests.support.spark_executors`` evaluates rows on a cluster of two executors of this
machine, once as usual, and once while one of them is killed after its first tasks. It prints both
results and the number of killed executors as a line of JSON.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import threading
import time
from pathlib import Path
from signal import SIGKILL
from typing import Any

import sqleval
from sqleval.frontend import plan

#: Rows in 16 tasks. A third of them are positives, whose scores are a little higher.
ROWS = 100_000
QUERY = (
    "SELECT y, 0.9e0 * ((id * 104729) % 1000003) / 1000003 + 0.1e0 * y AS p FROM "
    f"(SELECT id, CAST((id * 7919) % 11 < 4 AS INT) AS y FROM range(0, {ROWS}, 1, 16))"
)
SETTINGS = {
    "spark.master": "local-cluster[2,1,1024]",
    "spark.executor.memory": "1g",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "8",
}


def list_executors() -> list[int]:
    """Return the executors among the processes that this one has started."""
    parents: dict[int, int] = {}
    names: dict[int, str] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            stat, command = (folder / "stat").read_text(), (folder / "cmdline").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended
        parents[int(folder.name)] = int(stat.rpartition(")")[2].split()[1])
        names[int(folder.name)] = command
    family = [os.getpid()]
    for each in family:
        family += [child for child, parent in parents.items() if parent == each]
    return [each for each in family if "CoarseGrainedExecutorBackend" in names[each]]


def kill_one(session: Any, killed: list[int]) -> None:
    """Kill an executor as soon as some tasks of a stage are done, and others are not."""
    tracker = session.sparkContext.statusTracker()
    while not killed:
        time.sleep(0.01)
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        if any(stage and 0 < stage.numCompletedTasks < stage.numTasks for stage in stages):
            killed.append(list_executors()[0])
            os.kill(killed[0], SIGKILL)


def main() -> None:
    """Print both results."""
    import pyspark
    from pyspark.sql import SparkSession

    plan.ROWS_OF_ONE_TASK = ROWS // 10
    session = SparkSession.builder.config(map=SETTINGS).getOrCreate()
    scan = sqleval.scan(query=QUERY, label="y", score="p", engine=session)
    results: list[Any] = []
    killed: list[int] = []
    for kills in (False, True):
        if kills:
            threading.Thread(target=kill_one, args=(session, killed), daemon=True).start()
        results.append(scan.evaluate("roc_auc").collect().rows())
    # Its executors keep their output in the folder of the package.
    kept = Path(pyspark.__file__).parent / "work" / session.sparkContext.applicationId
    session.stop()
    shutil.rmtree(kept, ignore_errors=True)
    print(json.dumps({"results": results, "killed": len(killed)}), flush=True)


#: This module as a program, without the warnings of PySpark.
COMMAND = [sys.executable, "-W", "ignore", "-m", "tests.support.spark_executors"]

if __name__ == "__main__":
    main()
