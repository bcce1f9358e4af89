"""Provides small tables for several test modules, and short ways to evaluate one metric."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import sqleval
from sqleval.cli.main import run_command
from tests.support.cases import CASES, drawn

CELLS = ("tp", "fp", "fn", "tn")


def only_row(frame: object, metric: str, **roles: Any) -> dict[str, Any]:
    """Return the only row of a result."""
    result = sqleval.scan(frame, **roles).evaluate(metric).collect()
    assert result.height == 1
    return result.row(0, named=True)


def value(frame: object, metric: str, **roles: Any) -> float | None:
    """Return the value of the only row of a result."""
    return only_row(frame, metric, **roles)["value"]


def close(value: float) -> Any:
    """Return an object that equals a number except for rounding."""
    return pytest.approx(value, rel=1e-12, abs=1e-12)


#: Five runs, each with its four counts; a key that is sometimes missing.
COUNTS = pl.DataFrame(
    {
        "run": [1, 2, 3, 4, 5],
        "g": ["a", "a", None, "b", None],
        "tp": [8, 0, 3, 40, 1],
        "fp": [2, 5, 0, 7, 1],
        "fn": [1, 4, 0, 12, 0],
        "tn": [9, 11, 6, 80, 0],
    }
)


def labels_and_decisions(counts: pl.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return the labels and predictions that the four columns count, one row each."""
    totals = counts.select(CELLS).sum().row(0)
    return np.repeat([1, 0, 1, 0], totals), np.repeat([1, 1, 0, 0], totals)


#: Every metric of two classes, with its reference.
BINARY = [case for case in CASES if case.kind == "binary"]


def command(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    """Run the command and return what it printed, or its error."""
    done = run_command(arguments)
    out, err = capsys.readouterr()
    assert done == code, err
    return err if code else out


#: Labels and scores of two classes.
SCORED = drawn("binary", 240, seed=5)

#: The integer that stands for each class.
CODES = {"a": 30, "b": -2, "c": 500}


def class_decisions(codes: bool, n: int = 120) -> pl.DataFrame:
    """Return labels and predictions of three classes, as text or as integers."""
    frame = drawn("multiclass", n)
    return frame.with_columns(pl.col("y", "c").replace_strict(CODES)) if codes else frame


#: Labels of three classes, with a probability per class.
THREE = drawn("probabilities", 200, seed=3)
