"""Settings for the tests of all lanes: threads, processes, errors under Polars 1."""

import gc
import os
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

# More workers than cores run already: a second thread of OpenMP or BLAS only busy-waits, so that
# the models of the flights took three times as long. It must be set before anything loads NumPy.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.update({"POLARS_MAX_THREADS": "1"} if "PYTEST_XDIST_WORKER" in os.environ else {})

import duckdb
import polars as pl
import pytest

import sqleval
from sqleval import errors
from sqleval.engines.embedded import embedded

#: Threads of DuckDB. Those of engines wait in the same way, for a sixth of the processor time that
#: small inputs take. Commands and jobs in processes of their own have as many as the machine has
#: cores, and `core/metrics/test_threads.py` asks for more.
THREADS = os.cpu_count() or 1
if "PYTEST_XDIST_WORKER" in os.environ:
    THREADS = pl.thread_pool_size()  # read once from the variable, which no process is to inherit
    del os.environ["POLARS_MAX_THREADS"]
    sqleval.configure(threads=THREADS)
    duckdb.execute(f"SET threads = {THREADS}")

# What is imported and collected lives to the end: to look for garbage in it would take a quarter of
# the time. `pytest_collection_finish` turns garbage collection on again.
gc.disable()

# The tests start hundreds of processes; without compiled files each would compile every module.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

if int(pl.__version__.split(".")[0]) < 2:
    # Polars 1 wraps what a Python source raises in a ComputeError, as text; Polars 2 raises it.
    # The tests ask for the error itself, so here it is taken out again.
    _collect = pl.LazyFrame.collect

    def collect(self: pl.LazyFrame, *args: Any, **kwargs: Any) -> Any:
        try:
            return _collect(self, *args, **kwargs)
        except pl.exceptions.ComputeError as error:
            match = re.search(r"exception: (\w+Error): (.*)", str(error), re.DOTALL)
            if match and hasattr(errors, match[1]):
                raise getattr(errors, match[1])(match[2]) from error
            raise

    pl.LazyFrame.collect = collect  # type: ignore[method-assign]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Run all tests of a file in one worker, where they share fixtures and caches."""
    from xdist.scheduler import LoadFileScheduling

    return LoadFileScheduling(config, log)


@pytest.fixture
def set_threads() -> Iterator[Callable[[int], None]]:
    """Return a function that sets the threads of DuckDB until the test has ended."""
    # Of the engine itself, which may have more of them than `sqleval.configure` gives it.
    yield lambda threads: embedded().configure({"threads": threads})
    sqleval.configure(threads=THREADS)


def pytest_collection_finish() -> None:
    """Leave what was imported and collected out of garbage collection: it lives to the end."""
    gc.freeze()
    gc.enable()
