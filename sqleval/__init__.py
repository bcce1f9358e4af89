"""Evaluate predictions where they lie: metrics as SQL files, on DuckDB, Polars and PyArrow."""

# ruff: noqa: E402
import os
import sys

# pathlib is one of the imports that come later.
_program = os.path.basename(sys.argv[0] if sys.argv else "")  # noqa: PTH119
_is_command = os.path.splitext(_program)[0] == "sqleval"  # noqa: PTH122
if _program == "-m":
    # Python is still looking for the module of its option -m, which may be another module that
    # imports this package. A program that embeds Python may have set the arguments itself.
    _module = next(iter(sys.orig_argv[-len(sys.argv) :]), "")
    # The option may include the module, as in -msqleval or -Imsqleval.
    _module = _module.partition("m")[2] if _module.startswith("-") else _module
    _is_command = _module.partition(".")[0] == "sqleval"
if _is_command:
    # Do this before all other imports, which take a tenth of a second, as Ctrl-C may arrive.
    from sqleval.common.interrupts import exit_on_interrupt

    exit_on_interrupt()

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sqleval.common.imports import pause_garbage_collector
from sqleval.errors import (
    DataError,
    EngineError,
    FewerPoints,
    FewerThreads,
    LoadError,
    ManySlices,
    MissingExtra,
    RequestError,
    SourceError,
    SqlevalError,
    UnmatchedRows,
)

# The command starts neither DuckDB nor Polars before it needs them. All other programs import
# them at once, to register the namespaces `LazyFrame.sqleval` and `DataFrame.sqleval`.
if TYPE_CHECKING or not _is_command:
    with pause_garbage_collector("sqleval.frontend.namespaces"):
        import_module("sqleval.frontend.namespaces")

if TYPE_CHECKING:
    from sqleval.catalog.listing import metrics
    from sqleval.drifts.drift import drift
    from sqleval.engines.settings import configure
    from sqleval.frontend.arrays import compare, evaluate
    from sqleval.frontend.from_state import from_state
    from sqleval.frontend.predictions import Predictions
    from sqleval.frontend.result_plots import plot
    from sqleval.frontend.scan import scan
    from sqleval.frontend.scorers import make_scorer
    from sqleval.inspection.inspect import inspect
    from sqleval.selection.bootstrap import bootstrap_632
    from sqleval.selection.choose import select
    from sqleval.selection.resample import resample
    from sqleval.splits.check import check_split
    from sqleval.splits.split import split

    __version__: str

__all__ = [
    "DataError",
    "EngineError",
    "FewerPoints",
    "FewerThreads",
    "LoadError",
    "ManySlices",
    "MissingExtra",
    "Predictions",
    "RequestError",
    "SourceError",
    "SqlevalError",
    "UnmatchedRows",
    "bootstrap_632",
    "check_split",
    "compare",
    "configure",
    "drift",
    "evaluate",
    "from_state",
    "inspect",
    "make_scorer",
    "metrics",
    "plot",
    "resample",
    "scan",
    "select",
    "split",
]


#: The module from which each name is imported when it is first used.
_HOMES = {
    "scan": "frontend.scan",
    "evaluate": "frontend.arrays",
    "compare": "frontend.arrays",
    "make_scorer": "frontend.scorers",
    "configure": "engines.settings",
    "Predictions": "frontend.predictions",
    "plot": "frontend.result_plots",
    "drift": "drifts.drift",
    "metrics": "catalog.listing",
    "from_state": "frontend.from_state",
    "inspect": "inspection.inspect",
    "split": "splits.split",
    "check_split": "splits.check",
    "resample": "selection.resample",
    "bootstrap_632": "selection.bootstrap",
    "select": "selection.choose",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        distribution = import_module("sqleval.common.imports").DISTRIBUTION
        return import_module("importlib.metadata").version(distribution)
    if name in _HOMES:
        home = f"sqleval.{_HOMES[name]}"
        with pause_garbage_collector(home):
            return getattr(import_module(home), name)
    raise AttributeError(f"module 'sqleval' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names for completion, including names that are not imported yet."""
    return [*__all__, "__version__", "__doc__"]
