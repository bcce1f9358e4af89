"""Evaluate predictions where they lie: metrics as SQL files, on DuckDB, Polars and PyArrow."""

import sys
from importlib import import_module
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from sqleval.errors import (
    DataError,
    EngineError,
    LoadError,
    MissingExtra,
    RequestError,
    SourceError,
    SqlevalError,
    UnmatchedRows,
)

# The command starts neither DuckDB nor Polars before it needs them. Everyone else gets the
# front end at once, because it registers the namespace `LazyFrame.sqleval`.
if TYPE_CHECKING or PurePath(sys.argv[0] if sys.argv else "").stem not in ("sqleval", "-m"):
    from sqleval.frame import Predictions, scan
    from sqleval.listing import metrics

__all__ = [
    "DataError",
    "EngineError",
    "LoadError",
    "MissingExtra",
    "Predictions",
    "RequestError",
    "SourceError",
    "SqlevalError",
    "UnmatchedRows",
    "metrics",
    "scan",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        home = "sqleval.listing" if name == "metrics" else "sqleval.frame"
        return getattr(import_module(home), name)
    raise AttributeError(f"module 'sqleval' has no attribute {name!r}")
