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
    from sqleval.control import configure
    from sqleval.listing import metrics
    from sqleval.predictions import Predictions
    from sqleval.resampling import bootstrap_632, resample
    from sqleval.selection import select
    from sqleval.split_check import check_split
    from sqleval.splitting import split
    from sqleval.state import from_state

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
    "bootstrap_632",
    "check_split",
    "configure",
    "from_state",
    "metrics",
    "resample",
    "scan",
    "select",
    "split",
]


def __getattr__(name: str) -> Any:
    homes = {
        "scan": "frame",
        "configure": "control",
        "Predictions": "predictions",
        "metrics": "listing",
        "from_state": "state",
        "split": "splitting",
        "check_split": "split_check",
        "resample": "resampling",
        "bootstrap_632": "resampling",
        "select": "selection",
    }
    if name in homes:
        return getattr(import_module(f"sqleval.{homes[name]}"), name)
    raise AttributeError(f"module 'sqleval' has no attribute {name!r}")
