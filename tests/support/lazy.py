"""Provides eight rows and the committed flights as lazy inputs, with a count of their reads."""

import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
from polars.io.plugins import register_io_source

import sqleval
from sqleval import Predictions

FLIGHTS = Path(__file__).resolve().parents[2] / "data" / "flights" / "predictions"
METRICS = ["roc_auc", "average_precision", "log_loss", "precision", "f_beta(beta=2)"]
TALL = ["metric", "value", "low", "high", "n", "n_dropped", "method", "note"]
SMALL = pl.DataFrame(
    {
        "y": [0, 0, 1, 1, 0, 1, 1, 0],
        "p": [0.1, 0.4, 0.35, 0.8, 0.5, 0.6, 0.2, 0.3],
        "g": ["a", "a", "a", "a", "b", "b", None, None],
        "d": [datetime.date(2013, 7, 1 + i % 2) for i in range(8)],
        "i": [1, 1, 2, 2, 3, 3, None, None],
        "f": [0.5, 0.5, float("nan"), float("nan"), 1.5, 1.5, None, None],
        "b": [True, True, True, True, False, False, False, False],
    }
)


def flights(**roles: Any) -> Predictions:
    return sqleval.scan(FLIGHTS, label="delayed", score="p_boosted", nulls="drop", **roles)


def small(**roles: Any) -> Predictions:
    return sqleval.scan(SMALL, label="y", score="p", **roles)


def counted() -> tuple[pl.LazyFrame, list[int]]:
    """Return the small rows as a LazyFrame, and a list that grows with each read."""
    reads: list[int] = []

    def read(
        columns: list[str] | None, predicate: pl.Expr | None, limit: int | None, size: int | None
    ) -> Iterator[pl.DataFrame]:
        reads.append(1)
        frame = SMALL if predicate is None else SMALL.filter(predicate)
        yield frame.select(columns) if columns is not None else frame

    return register_io_source(read, schema=SMALL.schema), reads
