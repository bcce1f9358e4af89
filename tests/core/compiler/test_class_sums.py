"""A note says that probabilities of a row do not sum to 1, unless they are rounded."""

import warnings

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import log_loss

import sqleval

CLASSES = ["a", "b", "c"]


def notes(rows: pl.DataFrame, by: list[str], metrics: list[str]) -> list[str | None]:
    scan = sqleval.scan(rows, label="y", score={c: c for c in CLASSES}, task="multiclass", by=by)
    return scan.evaluate(metrics).collect()["note"].to_list()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("factor", [1, 1 + 1e-9, 1 + 1e-7, 1 + 1e-5, 1.001, 0.9])
def test_it_is_noted_where_scikit_learn_warns(dtype: type, factor: float) -> None:
    rng = np.random.default_rng(0)
    scores = (rng.dirichlet([1, 1, 1], 50) * 0.9 + 0.03) * factor
    scores = scores.clip(max=1).astype(dtype)
    y = np.array(CLASSES)[rng.integers(0, 3, 50)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        want = log_loss(y, scores, labels=CLASSES)
    rows = pl.DataFrame(dict(zip(CLASSES, scores.T.copy(), strict=True))).with_columns(y=y)
    (note,) = notes(rows, [], ["log_loss"])
    off = abs(scores.astype(float).sum(axis=1) - 1).max()
    is_rounded = off <= len(CLASSES) * 0.5e-4  # as to four decimals
    assert (note is not None) == (bool(caught) and not is_rounded)
    scan = sqleval.scan(rows, label="y", score={c: c for c in CLASSES}, task="multiclass")
    value = scan.evaluate("log_loss").collect()["value"].item()
    assert value == pytest.approx(want, rel=1e-6 if dtype is np.float32 else 1e-12)


def test_rounded_probabilities_sum_to_1() -> None:
    scores = np.random.default_rng(0).dirichlet([1, 1, 1], 900).round(5)
    assert (abs(scores.sum(axis=1) - 1) > 1e-6).sum() > 100
    rows = pl.DataFrame(dict(zip(CLASSES, scores.T.copy(), strict=True)))
    y = np.array(CLASSES)[scores.argmax(axis=1)]
    assert notes(rows.with_columns(y=y), [], ["log_loss"]) == [None]


def test_it_stands_beside_a_note_on_the_interval() -> None:
    rows = pl.DataFrame({"y": CLASSES * 5, "a": [0.8] * 15, "b": [0.3] * 15, "c": [0.1] * 15})
    scan = sqleval.scan(rows, label="y", score={c: c for c in CLASSES}, task="multiclass")
    found = scan.evaluate(["log_loss", "accuracy"], ci=0.95).collect()["note"].to_list()
    few, sums = "few rows: interval may be too narrow", "the scores of a row do not sum to 1 in"
    assert found == [f"{few}; {sums} 15 of 15 rows", None]


def test_it_counts_the_rows_of_a_slice() -> None:
    rows = pl.DataFrame(
        {"y": CLASSES, "a": [0.8, 0.8, 0.1], "b": [0.8, 0.1, 0.1], "c": [0.8, 0.1, 0.8]}
    ).with_columns(g=pl.Series([1, 1, 2]))
    assert notes(rows, [], ["log_loss", "brier_score", "accuracy"]) == [
        "the scores of a row do not sum to 1 in 1 of 3 rows",
        "the scores of a row do not sum to 1 in 1 of 3 rows",
        None,
    ]
    assert notes(rows, ["g"], ["log_loss"]) == [
        "the scores of a row do not sum to 1 in 1 of 2 rows", None,
    ]  # fmt: skip
