"""Settings for all tests: threads, errors under Polars 1, and which tests are quick."""

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

#: Threads of DuckDB. Those of engines wait in the same way, for a sixth of the processor time that
#: small inputs take. Commands and jobs in processes of their own have as many as the machine has
#: cores, and `metrics/test_threads.py` asks for more.
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


#: The arguments of a parametrised test that say what it is about; all others only vary the rows.
SUBJECTS = (
    "case", "curve", "relation", "name", "metric", "make", "method", "verb", "database",
)  # fmt: skip


def subject(item: pytest.Item) -> tuple[str, ...]:
    """Return a test's function, and what it is about: a metric, a curve, a source, a command."""
    params = getattr(getattr(item, "callspec", None), "params", {})
    about = [params[name] for name in SUBJECTS if name in params]
    # Of a metric or curve with several sets of parameters, one stands for all.
    return item.nodeid.partition("[")[0], *(str(getattr(each, "name", each)) for each in about)


#: The files that take longest, which workers begin with: at the end none waits for another.
SLOWEST = [
    f"tests/core/{name}.py"
    for name in (
        "engines/test_spark_processes", "pages/test_scripts", "export/test_dialects",
        "metrics/test_metrics", "metrics/test_properties", "pages/test_jobs_page",
        "resampling/test_intervals", "pages/test_dbt_page", "export/test_dialect_options",
        "export/test_macros", "metrics/test_curves", "engines/test_spark", "house/test_data",
        "history/test_history", "compiler/test_bins", "comparison/test_tests",
        "frontend/test_pushdown", "metrics/test_intervals", "comparison/test_inputs",
        "resampling/test_postgres", "jobs/test_half_year", "engines/test_postgres",
        "inputs/test_source_kinds", "report/test_page", "compiler/test_buckets",
        "inputs/test_object_stores", "engines/test_control", "export/test_macro_script",
        "pages/test_console_page", "metrics/test_textbook_properties", "splits/test_splits",
        "jobs/test_states", "jobs/test_table_sources", "frontend/test_lazy",
    )
]  # fmt: skip


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Run all tests of a file in one worker, where they share fixtures and caches."""
    from xdist.scheduler import LoadFileScheduling

    config.option.loadscopereorder = False
    return LoadFileScheduling(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark as quick each test that is neither medium nor long, with the first case of a subject."""
    if hasattr(config, "workerinput"):
        places = {name: place for place, name in enumerate(SLOWEST)}
        items.sort(key=lambda item: places.get(item.nodeid.partition("::")[0], len(places)))
    seen: set[tuple[str, ...]] = set()
    for item in items:
        takes_time = any(item.get_closest_marker(mark) for mark in ("medium", "long"))
        if not takes_time and subject(item) not in seen:
            seen.add(subject(item))
            item.add_marker("quick")


@pytest.fixture
def set_threads() -> Iterator[Callable[[int], None]]:
    """Return a function that sets the threads of DuckDB until the test has ended."""
    yield lambda threads: sqleval.configure(threads=threads)
    sqleval.configure(threads=THREADS)


def pytest_collection_finish() -> None:
    """Leave what was imported and collected out of garbage collection: it lives to the end."""
    gc.freeze()
    gc.enable()
