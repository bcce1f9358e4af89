"""Measure a metric on Spark: processor time, bytes and records shuffled, the largest task.

``python -m tests.bench.spark MASTER FOLDER [METRIC ...]`` runs metrics over the columns ``y`` and
``p`` of Parquet files: as one window over all rows, as windows within buckets, and in bins. If
they have a column ``s``, it is the slice. MASTER is Spark's (``local[2]``), whose event log
describes its tasks, or ``sail``, which runs in this process and has only its time. The last line
is DuckDB's time for the same metrics. Values are means over the slices.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

import sqleval
from sqleval.compiler.bins import create_bins
from sqleval.compiler.scope import Plan
from sqleval.frontend import evaluations

#: The settings of a session on this machine alone.
SETTINGS = {
    "spark.master": "local[2]",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "4g",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "32",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.rolling.enabled": "false",
    "spark.eventLog.compress": "false",
    # Unless small partitions are merged, the sizes of tasks show how rows are distributed.
    "spark.sql.adaptive.coalescePartitions.enabled": "false",
}


class Cost(NamedTuple):
    """The work of the tasks between two marks of an event log; None is unknown."""

    cpu_seconds: float
    shuffled_bytes: int | None = None
    largest_task: int | None = None
    rows_into_one_partition: int | None = None


def read_cost(logs: Path) -> Cost:
    """Return the work of a session's tasks, from its event log."""
    (log,) = (path for path in logs.iterdir() if path.is_file())
    tasks: list[tuple[int, Any]] = []
    n_tasks: dict[int, int] = {}
    for line in log.read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        if event["Event"] == "SparkListenerJobStart":
            n_tasks |= {s["Stage ID"]: s["Number of Tasks"] for s in event["Stage Infos"]}
        elif event["Event"] == "SparkListenerTaskEnd" and event.get("Task Metrics"):
            tasks.append((event["Stage ID"], event["Task Metrics"]))
    read = [
        (n_tasks[stage] == 1, metrics["Shuffle Read Metrics"]["Total Records Read"])
        for stage, metrics in tasks
    ]
    return Cost(
        sum(metrics["Executor CPU Time"] for _, metrics in tasks) / 1e9,
        sum(metrics["Shuffle Write Metrics"]["Shuffle Bytes Written"] for _, metrics in tasks),
        max(records for _, records in read),
        max((records for alone, records in read if alone), default=0),
    )


def create_session(folder: str, **settings: str) -> Any:
    """Return a session of Spark within this process, which logs its events into a folder."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.config("spark.eventLog.dir", Path(folder).as_uri())
    for name, value in {**SETTINGS, **settings}.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def evaluate(folder: str, metrics: list[str], plan: Plan | None, engine: Any) -> list[float]:
    """Return the values of metrics under a plan, or under the one that is chosen."""
    own = evaluations.choose_rows_or_groups
    keys = pl.scan_parquet(f"{folder}/*.parquet").collect_schema().names()
    by = "s" if "s" in keys else None
    if plan is not None:
        evaluations.choose_rows_or_groups = lambda _: plan
    try:
        scan = sqleval.scan(folder, engine=engine, label="y", score="p", by=by)
        rows = scan.evaluate(metrics).collect().group_by("metric", maintain_order=True)
        return rows.agg(pl.col("value").mean())["value"].to_list()
    finally:
        evaluations.choose_rows_or_groups = own


def measure(
    master: str, folder: str, metrics: list[str], plan: Plan | None
) -> tuple[Cost, list[float]]:
    """Return the cost and the values of metrics under a plan."""
    if master == "sail":
        start = time.process_time()
        values = evaluate(folder, metrics, plan, "sail")
        return Cost(time.process_time() - start), values
    with tempfile.TemporaryDirectory() as logs:
        session = create_session(logs, **{"spark.master": master})
        try:
            values = evaluate(folder, metrics, plan, session)
        finally:
            session.stop()
        return read_cost(Path(logs)), values


def main(master: str, folder: str, metrics: list[str]) -> None:
    """Print the table."""
    print(
        "| plan | s | CPU s | MB shuffled | most records of a task | into one partition | value |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- |")
    plans: dict[str, Plan | None] = {
        "one window": "rows",
        "buckets": None,
        "bins of 11 bits": create_bins(11),
    }
    for name, plan in plans.items():
        start = time.perf_counter()
        cost, values = measure(master, folder, metrics, plan)
        seconds = time.perf_counter() - start
        known = ["" if n is None else f"{n:,}" for n in cost[2:]]
        shuffled = "" if cost.shuffled_bytes is None else f"{cost.shuffled_bytes / 1e6:.0f}"
        cells = [name, f"{seconds:.1f}", f"{cost.cpu_seconds:.1f}", shuffled, *known, str(values)]
        print(f"| {' | '.join(cells)} |", flush=True)
    clock, start = time.perf_counter(), time.process_time()
    values = evaluate(folder, metrics, None, None)
    seconds, cpu = time.perf_counter() - clock, time.process_time() - start
    print(f"| DuckDB | {seconds:.1f} | {cpu:.1f} | | | | {values} |")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:] or ["roc_auc"])
