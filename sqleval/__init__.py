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
from sqleval.startup import importing

# The command starts neither DuckDB nor Polars before it needs them. Everyone else gets the
# front door at once, because it registers the namespace `LazyFrame.sqleval`.
if TYPE_CHECKING or PurePath(sys.argv[0] if sys.argv else "").stem not in ("sqleval", "-m"):
    with importing():
        from sqleval.frame import scan

if TYPE_CHECKING:
    from sqleval.listing import metrics
    from sqleval.predictions import Predictions

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
    homes = {"scan": "frame", "Predictions": "predictions", "metrics": "listing"}
    if name in homes:
        return getattr(import_module(f"sqleval.{homes[name]}"), name)
    raise AttributeError(f"module 'sqleval' has no attribute {name!r}")
