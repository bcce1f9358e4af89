"""Runs the command and ends the process without warning at one of its writes.

``python killed.py N ARGUMENT...``: a write has a point before it and one after it,
and a transaction one before its end and one after it. At the point of number N the process kills
itself; N is negative if it is not to. The number of points is printed at the end.
"""

import os
import signal
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import wraps
from itertools import count
from pathlib import Path
from typing import Any

import deltalake
import pyarrow.parquet

from sqleval.cli.main import run_command
from sqleval.history import duckdb
from sqleval.jobs import evaluation

points = count()


def pass_point() -> None:
    """Count a point, and kill the process at the chosen one."""
    if next(points) == int(sys.argv[1]):
        os.kill(os.getpid(), signal.SIGKILL)


def surround(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function with a point before and after it."""

    @wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        pass_point()
        result = function(*arguments, **options)
        pass_point()
        return result

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
        (deltalake.DeltaTable, "vacuum"),
    ):  # fmt: skip
        setattr(owner, name, surround(getattr(owner, name)))
    code = run_command(sys.argv[2:])
    print(next(points))
    sys.exit(code)
