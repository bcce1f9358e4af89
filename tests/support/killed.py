"""Runs the command and ends the process without warning at one of its writes.

``python killed.py N ARGUMENT...``: there is a point before and after each write, and before and
after the end of each transaction. At point number N the process kills itself; with a negative N it
does not. At the end two numbers are printed: the points before the history is tidied up, when a
run is complete, and all points.
"""

import os
import signal
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import deltalake
import pyarrow.parquet

from sqleval.cli.main import run_command
from sqleval.history import delta, duckdb
from sqleval.jobs.running import evaluation

#: The number of points, and of those before the history was tidied up.
counts = {"all": 0, "complete": 0}


def pass_point() -> None:
    """Count a point, and kill the process at the chosen one."""
    if counts["all"] == int(sys.argv[1]):
        os.kill(os.getpid(), signal.SIGKILL)
    counts["all"] += 1


def surround(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function with a point before and after it."""

    @wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        if options.get("dry_run"):
            return function(*arguments, **options)
        pass_point()
        result = function(*arguments, **options)
        pass_point()
        return result

    return call


def watch_end(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that records the number of points before its call."""

    @wraps(function)
    def call(*arguments: Any) -> None:
        counts["complete"] = counts["all"]
        function(*arguments)

    return call


def watch_transactions(database: Callable[..., Any]) -> Callable[..., Any]:
    @contextmanager
    def watched(path: str, *, read_only: bool = False) -> Generator[Any]:
        with database(path, read_only=read_only) as connection:
            yield connection
            if not read_only:
                pass_point()
        if not read_only:
            pass_point()

    return watched


if __name__ == "__main__":
    evaluation.BATCH = 2
    duckdb.database = watch_transactions(duckdb.database)
    for owner, name in (
        (Path, "replace"), (Path, "unlink"), (pyarrow.parquet, "write_table"),
        (deltalake, "write_deltalake"), (deltalake.DeltaTable, "delete"),
        (deltalake.DeltaTable, "vacuum"), (deltalake.table.TableOptimizer, "compact"),
    ):  # fmt: skip
        setattr(owner, name, surround(getattr(owner, name)))
    for store in (delta.Delta, duckdb.DuckDB):
        store.tidy = watch_end(store.tidy)  # type: ignore[method-assign]
    # As if many nights had passed.
    delta._MANY_FILES, delta._KEPT_HOURS = 1, 0
    code = run_command(sys.argv[2:])
    # A removal does not tidy up.
    print(counts["complete"] or counts["all"], counts["all"])
    sys.exit(code)
