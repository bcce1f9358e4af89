"""Rare classes, tiny and huge weights, large counts: where a formula as printed would cancel."""

from fractions import Fraction
from math import isqrt

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import roc_auc_score

import sqleval


def value(rows: pl.DataFrame, metric: str, **roles: str) -> float | None:
    return sqleval.scan(rows, **roles).evaluate(metric).collect()["value"].item()


@pytest.mark.parametrize("tn", [10**3, 10**9, 10**12, 10**15])
@pytest.mark.parametrize(("tp", "fp", "fn"), [(5, 5, 5), (1, 0, 3), (2, 7, 1)])
def test_rare_classes(tp: int, fp: int, fn: int, tn: int) -> None:
    counts = pl.DataFrame({"tp": [tp], "fp": [fp], "fn": [fn], "tn": [tn]})
    product = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    # The root of a whole number to thirty digits.
    root = Fraction(isqrt(product * 10**60), 10**30)
    assert value(counts, "matthews_corrcoef") == pytest.approx(
        float((tp * tn - fp * fn) / root), rel=1e-14
    )
    n = tp + fp + fn + tn
    chance = Fraction((tp + fp) * (tp + fn) + (tn + fp) * (tn + fn), n * n)
    kappa = (Fraction(tp + tn, n) - chance) / (1 - chance)
    assert value(counts, "cohen_kappa") == pytest.approx(float(kappa), rel=1e-14)


@pytest.mark.parametrize("metric", ["roc_auc", "roc_auc_rank_sum", "roc_auc_pairs"])
@pytest.mark.parametrize("weights", ["tiny", "spread", "one class"])
def test_weights_of_any_size(metric: str, weights: str) -> None:
    rng = np.random.default_rng(4)
    label = rng.integers(0, 2, 60)
    weight = {
        "tiny": np.full(60, 1e-12),
        "spread": 10.0 ** rng.integers(-12, 12, 60),
        "one class": np.where(label == 1, 1e12, 1e-12),
    }[weights]
    rows = pl.DataFrame({"y": label, "p": rng.random(60).round(1), "w": weight})
    want = roc_auc_score(rows["y"], rows["p"], sample_weight=rows["w"])
    found = value(rows, metric, label="y", score="p", weight="w")
    assert found == pytest.approx(want, rel=1e-9)


def test_products_of_large_counts() -> None:
    rows = pl.DataFrame({"y": [1, 0, 1, 0], "p": [0.9, 0.2, 0.3, 0.6], "n": [4_000_000_000] * 4})
    roles = {"label": "y", "score": "p", "counts": "n"}
    assert value(rows, "roc_auc_pairs", **roles) == 0.75


def test_a_precision_that_is_reached_but_for_rounding() -> None:
    # Three of ten rows, of weight 0.7 each: the sums give 0.29999999999999993.
    rows = pl.DataFrame({"y": [1] * 3 + [0] * 7, "p": [0.5] * 10, "w": [0.7] * 10})
    roles = {"label": "y", "score": "p", "weight": "w"}
    assert value(rows, "recall_at_precision(precision=0.3)", **roles) == 1
    assert value(rows, "recall_at_precision_threshold(precision=0.3)", **roles) == 0.5
    assert value(rows, "recall_at_precision(precision=0.31)", **roles) is None


def test_rates_of_real_weights_stay_within_their_range() -> None:
    rng = np.random.default_rng(1)
    rows = pl.concat(
        pl.DataFrame({"y": [1] * 9, "p": [0.9] * 9, "w": rng.random(9).round(1), "set": i})
        for i in range(300)
    )
    metrics = ["accuracy", "precision", "recall", "average_precision", "f1", "jaccard",
               "pr_auc_trapezoid", "fowlkes_mallows"]  # fmt: skip
    bound = sqleval.scan(rows, label="y", score="p", weight="w", by="set")
    values = bound.evaluate(metrics).collect()["value"].drop_nulls()
    assert values.len() > 2000
    assert values.max() == 1
