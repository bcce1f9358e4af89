"""What Spark does in a process of its own, as one cannot speak to it classic and by Connect.

``python -m tests.support.spark_process classic|connect`` evaluates a table of many rows with
``engine=``, interrupts a long statement, and prints the results as JSON.
"""

from __future__ import annotations

import json
import sys
import tempfile
import threading
import time
from pathlib import Path
from signal import SIGINT, raise_signal
from typing import Any

import numpy as np
import polars as pl

import sqleval
from sqleval.engines.opening import open_engine
from sqleval.frontend import plan
from tests.bench.spark import SETTINGS, read_cost

#: Rows of the table, those that one task may rank here, and the tasks of a shuffle.
ROWS, ROWS_OF_ONE_TASK, TASKS = 80_000, 1_000, "8"
#: Requests that read each of the steps with a window, by the column of scores and the slices.
REQUESTS = (
    ("even", None, ("roc_auc", "ks", "expected_calibration_error(strategy='quantile')")),
    ("even", None, ("cost_curve_area",)),
    ("tied", "slice", ("roc_auc", "best_f_beta_threshold", "average_precision")),
)


def make_rows() -> pl.DataFrame:
    """Return scores of which one has 40 % of the rows, and slices of which one has 60 %."""
    rng = np.random.default_rng(11)
    even = rng.random(ROWS)
    return pl.DataFrame(
        {
            "y": (rng.random(ROWS) < 0.1 + 0.8 * even).astype(np.int32),
            "even": even,
            "tied": np.where(rng.random(ROWS) < 0.4, 0.25, even),
            "slice": np.where(rng.random(ROWS) < 0.6, 0, rng.integers(1, 20, ROWS)),
        }
    )


def evaluate(
    source: Any, score: str, by: str | None, metrics: tuple[str, ...], **options: Any
) -> list[Any]:
    """Return slice, metric, value, n and note of metrics."""
    scan = sqleval.scan(source, label="y", score=score, by=by, **options)
    drop = ["method"] if by is None else ["method", "slice_"]
    return scan.evaluate(list(metrics)).collect().drop(drop, strict=False).rows()


def interrupt(session: Any) -> str:
    """Interrupt a statement that would run for hours; return how it ended."""
    query = "SELECT CAST(id % 2 AS INT) AS y, CAST(hash(id) AS DOUBLE) AS even FROM range(1e12)"
    scan = sqleval.scan(
        query=query, label="y", prediction="even", task="regression", engine=session
    )
    threading.Timer(5, raise_signal, [SIGINT]).start()
    try:
        scan.evaluate("mae").collect()
    except KeyboardInterrupt:
        return "interrupted"
    return "ended by itself"


def count_active(session: Any) -> int:
    """Return how many jobs run ten seconds later, or as soon as none does."""
    for _ in range(100):
        active = session.sparkContext.statusTracker().getActiveJobsIds()
        if not active:
            return 0
        time.sleep(0.1)
    return len(active)


def main(mode: str) -> None:
    """Print values, the largest tasks, and how a statement ends that is interrupted."""
    from pyspark.sql import SparkSession

    plan.ROWS_OF_ONE_TASK = ROWS_OF_ONE_TASK
    with tempfile.TemporaryDirectory() as folder:
        settings = {
            **SETTINGS,
            "spark.sql.shuffle.partitions": TASKS,
            "spark.eventLog.dir": Path(folder).as_uri(),
        }
        if mode == "connect":
            settings = {"spark.ui.enabled": "false"}
        builder = SparkSession.builder.config(map=settings)
        session = (builder.remote("local[2]") if mode == "connect" else builder).getOrCreate()
        path = str(Path(folder) / "lake" / "rows.parquet")
        Path(path).parent.mkdir()
        make_rows().write_parquet(path)
        requests = REQUESTS if mode == "classic" else REQUESTS[:1]
        values = [evaluate(path, *request, engine=session) for request in requests]
        found: dict[str, Any] = {"values": values, "end": interrupt(session)}
        if mode == "classic":
            found["active"] = count_active(session)
        found["after"] = evaluate(path, "even", None, ("log_loss",), engine=session)
        session.stop()
        found["stopped"] = open_engine(session).is_stopped  # type: ignore[union-attr]
        if mode == "classic":
            found["cost"] = read_cost(Path(folder))._asdict()
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
