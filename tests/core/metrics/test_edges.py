"""Rare classes, tiny and huge weights, large counts: where a formula as printed would cancel."""

from fractions import Fraction
from math import isqrt

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import cohen_kappa_score, matthews_corrcoef, roc_auc_score

import sqleval
from sqleval.states.merging import merge_states
from tests.support.cases import rows_of
from tests.support.comparison import assert_frame_equal
from tests.support.references import expected_calibration_error


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


def test_pairs_of_many_rows_are_compared_only_if_asked() -> None:
    rng = np.random.default_rng(58)
    sizes = {"few": 80, "many": 120}
    rows = pl.DataFrame({"g": [name for name, size in sizes.items() for _ in range(size)]})
    rows = rows.with_columns(y=rng.integers(0, 2, 200), p=rng.random(200).round(1))
    bound = sqleval.scan(rows, label="y", score="p", by="g")
    few, many = bound.evaluate("roc_auc_pairs(max_rows=100)").collect().iter_rows(named=True)
    want = bound.evaluate("roc_auc").collect()["value"].to_list()
    assert few["value"] == pytest.approx(want[0], rel=1e-14)
    assert many["value"] is None
    assert many["note"] == "more rows than max_rows= (roc_auc has the same value)"
    asked = bound.evaluate("roc_auc_pairs(max_rows=120)").collect()["value"].to_list()
    assert asked == pytest.approx(want, rel=1e-14)
    large = sqleval.scan(pl.concat([rows] * 501), label="y", score="p")
    assert large.evaluate("roc_auc_pairs").collect()["value"].to_list() == [None]


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


def sum_of_squares(weights: list[Fraction], values: list[Fraction]) -> Fraction:
    mean = sum(w * x for w, x in zip(weights, values, strict=True)) / sum(weights)
    return sum((w * (x - mean) ** 2 for w, x in zip(weights, values, strict=True)), Fraction(0))


def half_width(frame: pl.DataFrame) -> float:
    """Return the standard error, from the longer side of an interval."""
    row = frame.row(0, named=True)
    return max(row["high"] - row["value"], row["value"] - row["low"]) / 1.959963984540054


WAYS = ("rows", "counts", "state", "merged")


@pytest.mark.parametrize(
    ("offset", "way", "weighted"),
    # Each offset in each way, half of them weighted, so that each occurs with and without weights.
    [
        (offset, way, bool((i + j) % 2))
        for i, offset in enumerate((0.0, 1e7, 1e8))
        for j, way in enumerate(WAYS)
    ],
)
def test_deviations_beside_a_large_mean(offset: float, weighted: bool, way: str) -> None:
    rng = np.random.default_rng(int(weighted))
    errors = offset + rng.integers(0, 50, 400) / 8
    weight = rng.integers(1, 9, 400) if weighted else np.ones(400, int)
    rows = pl.DataFrame(
        {"y": np.zeros(400), "p": errors, "w": weight * 1.0, "g": [*range(4)] * 100}
    )
    roles = {"label": "y", "prediction": "p"} | ({"weight": "w"} if weighted else {})
    data = sqleval.scan(rows, **roles)
    if way == "counts":
        counts = rows.group_by("y", "p").agg(
            n=pl.col("w").sum().cast(pl.Int64) if weighted else pl.len()
        )
        data = sqleval.scan(counts, label="y", prediction="p", counts="n")
    elif way == "state":
        data = sqleval.from_state(data.state("mae", by="g", ci=True).collect())
    elif way == "merged":
        parts = [
            sqleval.scan(rows.filter(pl.col("g") == g), **roles).state("mae", ci=True).collect()
            for g in range(4)
        ]
        merged = merge_states(pl.concat(parts)).collect()
        assert merged.height == 1
        data = sqleval.from_state(merged)
    found = data.evaluate("mae", ci=0.95).collect()
    exact = [Fraction(int(w)) for w in weight], [Fraction(float(x)) for x in errors]
    n = total = sum(exact[0])
    variance = sum_of_squares(*exact) / (n - 1) / n
    if way != "counts":
        # Sampling weights: linearised, with the number of rows.
        mean = sum(w * x for w, x in zip(*exact, strict=True)) / total
        squares = sum((w * (x - mean)) ** 2 for w, x in zip(*exact, strict=True))
        # The factor for large weights takes the place of n / (n - 1).
        share = Fraction(int((weight**2).sum()), int(total) ** 2)
        variance = squares / total**2 / (1 - 2 * 400 * share**2 + share)
    want = float(variance) ** 0.5
    # The difference of two values near 1e8 loses eight digits.
    assert half_width(found) == pytest.approx(want, rel=1e-13 + offset * 1e-15)


@pytest.mark.parametrize("metric", ["log_loss", "brier_score"])
@pytest.mark.parametrize("way", ["rows", "bins", "state"])
def test_losses_that_hardly_differ(metric: str, way: str) -> None:
    rng = np.random.default_rng(2)
    label = rng.integers(0, 2, 1000)
    score = 0.5 + rng.integers(-50, 50, 1000) * 1e-10
    data = sqleval.scan(pl.DataFrame({"y": label, "p": score}), label="y", score="p")
    if way == "state":
        data = sqleval.from_state(data.state(metric, ci=True).collect())
    found = data.evaluate(metric, ci=0.95, **({"bins": 11} if way == "bins" else {})).collect()
    p = np.where(label == 1, score, 1 - score)
    loss = -np.log(p) if metric == "log_loss" else (1 - p) ** 2
    exact = [Fraction(float(x)) for x in loss]
    want = float(sum_of_squares([Fraction(1)] * 1000, exact) / 999 / 1000) ** 0.5
    # Losses have sixteen digits, and differ in the last seven.
    assert half_width(found) == pytest.approx(want, rel=1e-6)


@pytest.mark.parametrize("way", ["rows", "weights"])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("swaps", [1, 3])
def test_delong_near_one_and_near_zero(swaps: int, sign: int, way: str) -> None:
    rng = np.random.default_rng(swaps)
    n, negatives = 2_000, np.arange(2_000)
    # Positives above all negatives, except a few negatives that tie with a positive.
    positive = np.sort(rng.uniform(0.6, 1, n))
    negative = np.where(negatives < swaps, positive[n // 2], rng.uniform(0, 0.4, n))
    score = sign * np.concatenate([positive, negative])
    label = np.repeat([1, 0], n)
    rows = pl.DataFrame({"y": label, "p": score, "w": np.ones(2 * n)})
    data = sqleval.scan(rows, label="y", score="p", weight="w" if way == "weights" else None)
    found = data.evaluate("roc_auc", ci=0.95)
    # Per row, twice the number of rows of the other class on the wrong side.
    of_positives = np.array([2 * swaps] * (n // 2) + [swaps] + [0] * (n - n // 2 - 1))
    of_negatives = np.where(negatives < swaps, n + 1, 0)
    ones = [Fraction(1)] * n
    variance = sum(
        sum_of_squares(ones, [Fraction(int(x), 2) for x in wrong]) / (n - 1) / Fraction(n) ** 3
        for wrong in (of_positives, of_negatives)
    )
    row = found.collect().row(0, named=True)
    low, value, high = (row[name] for name in ("low", "value", "high"))
    assert 0 < low < value < high < 1
    # The interval is symmetric on the scale of the logit.
    width = np.log(high / (1 - high)) - np.log(low / (1 - low))
    error = width / 2 / 1.959963984540054 * value * (1 - value)
    assert error == pytest.approx(float(variance) ** 0.5, rel=1e-9)


@pytest.mark.parametrize("weights", ["real", "with zeros", "spread"])
def test_curves_of_real_weights_end_at_one(weights: str) -> None:
    rng = np.random.default_rng(0)
    n = 1_200
    weight = {
        "real": rng.random(n),
        "with zeros": np.where(rng.random(n) < 0.5, 0, rng.random(n)),
        "spread": 10.0 ** rng.uniform(-10, 10, n),
    }[weights]
    rows = pl.DataFrame({"y": rng.integers(0, 2, n), "p": rng.random(n), "w": weight})
    rows = rows.with_columns(part=pl.int_range(n) % 3)
    data = sqleval.scan(rows, label="y", score="p", weight="w", by="part")
    for name, columns in {
        "roc_curve": ["fpr", "tpr"],
        "pr_curve": ["recall"],
        "gain_curve": ["share", "gain"],
        "ks_curve": ["fpr", "tpr"],
        "gain_table": ["gain"],
        "roc_hull": ["fpr", "tpr"],
        "pr_from_roc": ["recall"],
    }.items():
        curve = data.curve(name).collect()
        last = curve.group_by("part", maintain_order=True).last()
        assert last["part"].to_list() == [0, 1, 2]
        for column in columns:
            assert curve[column].is_between(0, 1).all(), (name, column)
            assert (last[column] == 1).all(), (name, column)


@pytest.mark.parametrize("scale", [1.0, 0.5, 1e-3, 1e-9])
def test_quantile_bins_of_weights_of_any_size(scale: float) -> None:
    rng = np.random.default_rng(3)
    rows = pl.DataFrame({"y": rng.integers(0, 2, 500), "p": rng.random(500)})
    rows = rows.with_columns(w=pl.lit(scale))
    curves = [
        sqleval.scan(rows, label="y", score="p", weight=weight)
        .curve("calibration_curve(bins=10, strategy='quantile')")
        .collect()
        for weight in (None, "w")
    ]
    assert curves[0].height == 10
    found, known = (curve.drop("n") for curve in curves)
    assert_frame_equal(found, known, rel_tol=1e-9)


@pytest.mark.parametrize("mean", [0.02, 0.3, 0.9])
def test_calibration_error_of_weights_with_a_mean_below_1(mean: float) -> None:
    rng = np.random.default_rng(8)
    score = rng.random(400).round(2)
    weight = rng.random(400) * 2 * mean
    rows = pl.DataFrame({"y": rng.random(400) < score**2, "p": score, "w": weight})
    rows = rows.with_columns(pl.col("y").cast(pl.Int8))
    expected = expected_calibration_error(7, "quantile")(rows_of(rows, "binary", weight="w"))
    name = "expected_calibration_error(bins=7, strategy='quantile')"
    found = value(rows, name, label="y", score="p", weight="w")
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("metric", ["mae", "mse"])
@pytest.mark.parametrize("far", [1e6, 1e9, 1e12])
def test_rows_of_weight_zero_change_no_interval(metric: str, far: float) -> None:
    rows = pl.DataFrame({"y": [1.0] * 4, "p": [2.0, 3.0, 4.5, far], "w": [2.0, 4.0, 2.0, 0.0]})
    roles = {"label": "y", "prediction": "p", "weight": "w"}
    known, found = (
        sqleval.scan(some, **roles).evaluate(metric, ci=0.95).collect().drop("n")
        for some in (rows.head(3), rows)
    )
    assert_frame_equal(found, known)


@pytest.mark.parametrize("scale", [1e-100, 1e-30, 1e30, 2.0**332])
@pytest.mark.parametrize("metric", ["matthews_corrcoef", "cohen_kappa", "roc_auc"])
def test_weights_of_any_allowed_size_give_the_same(metric: str, scale: float) -> None:
    rng = np.random.default_rng(2)
    rows = pl.DataFrame({"y": rng.integers(0, 2, 60), "p": rng.random(60).round(1)})
    weight = rng.random(60)
    weight[0] = 1
    judge = {
        "matthews_corrcoef": lambda y, p, w: matthews_corrcoef(y, p >= 0.5, sample_weight=w),
        "cohen_kappa": lambda y, p, w: cohen_kappa_score(y, p >= 0.5, sample_weight=w),
        "roc_auc": lambda y, p, w: roc_auc_score(y, p, sample_weight=w),
    }[metric]
    right = judge(rows["y"].to_numpy(), rows["p"].to_numpy(), weight)
    data = sqleval.scan(rows.with_columns(w=weight * scale), label="y", score="p", weight="w")
    assert data.evaluate(metric).collect()["value"].item() == pytest.approx(right, rel=1e-12)


def test_small_weights_beside_large_ones_are_no_error() -> None:
    # A density on a grid: its tails are as good as 0.
    rows = pl.DataFrame({"y": [1.0, 2.0, 3.0], "p": [1.0, 1.0, 1.0], "w": [1.0, 1.0, 1e-300]})
    data = sqleval.scan(rows, label="y", prediction="p", weight="w", task="regression")
    assert data.evaluate("mse").collect()["value"].item() == 0.5
