"""Cases and data sets of regression."""

from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import linregress
from sklearn.linear_model import LinearRegression
from sklearn.metrics import (
    mean_absolute_error,
    root_mean_squared_error,
    root_mean_squared_log_error,
)
from statsmodels.stats.weightstats import DescrStatsW

from tests.support.case import Case, Data, Reference, Rows, decided, header_function
from tests.support.families.row_losses import allow_power, exact_deviance, where

#: A share of the largest value that is rounding: values that differ by less are equal.
ROUNDING = 1e-14


def is_constant(values: np.ndarray) -> bool:
    """Whether all values are equal; a column of one row is."""
    return not values.size or bool(np.ptp(values) <= ROUNDING * np.abs(values).max())


def compare_with(name: str, *, varies: str = "label", **fixed: Any) -> Reference:
    """Call the function that the header names; undefined if these columns are constant."""
    call = header_function(name)

    def reference(rows: Rows) -> float | None:
        if any(is_constant(getattr(rows, column)) for column in varies.split()):
            return None
        return call(rows.label, rows.prediction, sample_weight=rows.weight, **fixed)

    return reference


def describe(rows: Rows) -> DescrStatsW:
    """Return statsmodels' weighted moments of labels and predictions."""
    return DescrStatsW(np.column_stack([rows.label, rows.prediction]), weights=rows.weight)


def adjusted_r2(features: int) -> Reference:
    plain = compare_with("r2")

    def reference(rows: Rows) -> float | None:
        value, n = plain(rows), len(rows.weight)
        if value is None or n - features - 1 <= 0:
            return None
        return 1 - (1 - value) * (n - 1) / (n - features - 1)

    return reference


def index_of_ideality(rows: Rows) -> float | None:
    """yardstick::iic, by its definition."""
    correlation, is_above = pearson(rows), rows.prediction > rows.label
    if correlation is None or is_above.all() or not is_above.any():
        return None
    means = [
        np.average(np.abs(rows.prediction - rows.label)[side], weights=rows.weight[side])
        for side in (is_above, ~is_above)
    ]
    return correlation * min(means) / max(means)


def pearson(rows: Rows) -> float | None:
    if is_constant(rows.label) or is_constant(rows.prediction):
        return None
    # SciPy takes no weights.
    return describe(rows).corrcoef[0, 1]


def concordance(rows: Rows) -> float | None:
    if is_constant(rows.label) and is_constant(rows.prediction):
        return None
    (one, both), (_, other) = describe(rows).cov
    # Means that are far from 0 would lose digits in their difference.
    bias = np.average(rows.prediction - rows.label, weights=rows.weight)
    return 2 * both / (one + other + bias**2)


def regress(part: str) -> Reference:
    """Return the slope or intercept of labels on predictions, from scikit-learn or SciPy."""

    def reference(rows: Rows) -> float | None:
        if is_constant(rows.prediction):
            return None
        # Older versions of SciPy compute in the precision of the predictions.
        prediction = rows.prediction.astype(float)
        if (rows.weight == 1).all():
            return getattr(linregress(prediction, rows.label), part)
        line = LinearRegression().fit(prediction[:, None], rows.label, rows.weight)
        return line.coef_[0] if part == "slope" else line.intercept_

    return reference


def normalized_rmse(scale: Callable[[Rows], float]) -> Reference:
    def reference(rows: Rows) -> float | None:
        divisor = scale(rows) if rows.label.size else 0
        error = partial(root_mean_squared_error, sample_weight=rows.weight)
        return error(rows.label, rows.prediction) / divisor if divisor else None

    return reference


def mean(rows: Rows) -> float:
    return abs(np.average(rows.label, weights=rows.weight))


def std(rows: Rows) -> float:
    return 0 if is_constant(rows.label) else DescrStatsW(rows.label, weights=rows.weight).std


def wape(rows: Rows) -> float | None:
    if not rows.label.any():
        return None
    error = mean_absolute_error(rows.label, rows.prediction, sample_weight=rows.weight)
    return error / np.average(np.abs(rows.label), weights=rows.weight)


def percent_bias(rows: Rows) -> float | None:
    if not rows.label.size or is_zero(total := np.average(rows.label, weights=rows.weight)):
        return None
    return 100 * np.average(rows.prediction - rows.label, weights=rows.weight) / total


def is_zero(mean_label: float) -> bool:
    """Whether the mean of the labels of mean 0 is 0 but for rounding; other means are large."""
    return abs(mean_label) < 1e-12


def d2_of_near_labels(rows: Rows, power: float) -> float:
    """Return D2 where scikit-learn's terms cancel."""

    def lose(means: np.ndarray) -> float:
        losses = [
            exact_deviance(Decimal(float(y)), Decimal(float(m)), Decimal(power))
            for y, m in zip(rows.label, means, strict=True)
        ]
        return np.average(np.array(losses, dtype=float), weights=rows.weight)

    constant = np.full(rows.label.shape, np.average(rows.label, weights=rows.weight))
    return 1 - lose(rows.prediction) / lose(constant)


def d2_tweedie(power: float) -> Reference:
    usual = where(allow_power(power), header_function("d2_tweedie"), power=power)

    def reference(rows: Rows) -> float | None:
        if len(rows.label) < 2 or is_constant(rows.label):
            return None
        if power and np.average(rows.label, weights=rows.weight) <= 0:
            return None
        value = usual(rows)
        if value is None or not power or rows.label.min() < 1e5:
            return value
        return d2_of_near_labels(rows, power)

    return reference


def quantile_of_errors(q: float) -> Reference:
    """Return the reference of a quantile: without weights NumPy's, with weights statsmodels'."""

    def reference(rows: Rows) -> float | None:
        if not rows.label.size:
            return None
        errors = np.abs(rows.prediction - rows.label)
        if (rows.weight == 1).all():
            return np.quantile(errors, q, method="averaged_inverted_cdf")
        return DescrStatsW(errors, weights=rows.weight).quantile([q]).iloc[0]

    return reference


def median_absolute_error(rows: Rows) -> float | None:
    return decided("median_absolute_error")(rows) if rows.label.size else None


def max_error(rows: Rows) -> float | None:
    # scikit-learn takes no weights; rows of weight 0 are gone.
    return header_function("max_error")(rows.label, rows.prediction) if rows.label.size else None


def repeat(rows: Rows) -> tuple[np.ndarray, np.ndarray] | None:
    """Return labels and predictions, each as often as its weight; None for real weights."""
    if (rows.weight % 1 != 0).any():
        return None
    counts = rows.weight.astype(int)
    return np.repeat(rows.label, counts), np.repeat(rows.prediction, counts)


def rank(values: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the weight of the smaller values and half of that of equal ones."""
    signs = np.sign(values[:, None].astype(float) - values)
    return ((signs + 1) / 2 * weight).sum(axis=1)


def spearman(rows: Rows) -> float | None:
    if not differ(rows):
        return None
    if (pair := repeat(rows)) is not None:
        return header_function("spearman")(*pair).statistic
    # SciPy takes no weights; this is the definition.
    ranks = [rank(values, rows.weight) for values in (rows.label, rows.prediction)]
    return DescrStatsW(np.column_stack(ranks), weights=rows.weight).corrcoef[0, 1]


def kendall(rows: Rows) -> float | None:
    if not differ(rows):
        return None
    if (pair := repeat(rows)) is not None:
        return header_function("kendall")(*pair).statistic
    # SciPy takes no weights; this is the definition.
    weight = np.outer(rows.weight, rows.weight)
    one, other = (
        np.sign(values[:, None].astype(float) - values) for values in (rows.label, rows.prediction)
    )
    pairs = (weight * one**2).sum() * (weight * other**2).sum()
    return (weight * one * other).sum() / np.sqrt(pairs)


def differ(rows: Rows) -> bool:
    return len(np.unique(rows.label)) > 1 and len(np.unique(rows.prediction)) > 1


def gini(rows: Rows) -> float | None:
    """Return the area between the Lorenz curve and the diagonal, divided by the best one.

    The expectation over all orders of tied rows is the mean of one order and its reverse.
    """
    if not differ(rows):
        return None
    label = rows.label - np.average(rows.label, weights=rows.weight)
    # A mean that is far from 0 is rounded.
    label -= np.average(label, weights=rows.weight)

    def measure(by: np.ndarray) -> float:
        orders = [np.lexsort((place, by)) for place in (np.arange(len(by)), -np.arange(len(by)))]
        areas = []
        for order in orders:
            share, mass = rows.weight[order], np.cumsum(rows.weight[order] * label[order])
            areas.append(np.sum(share * (mass - share * label[order] / 2)))
        return -np.mean(areas)

    return measure(rows.prediction) / measure(rows.label)


CASES: list[Case] = [
    Case("r2", "regression", compare_with("r2")),
    *(Case(f"adjusted_r2(features={k})", "regression", adjusted_r2(k)) for k in (1, 7)),
    Case("explained_variance", "regression", compare_with("explained_variance")),
    Case("pearson", "regression", pearson),
    Case("index_of_ideality_of_correlation", "regression", index_of_ideality),
    Case("concordance_correlation", "regression", concordance),
    Case("calibration_slope", "regression", regress("slope")),
    Case("calibration_intercept", "regression", regress("intercept")),
    Case("normalized_rmse", "regression", normalized_rmse(mean)),
    Case("normalized_rmse(normalization='std')", "regression", normalized_rmse(std)),
    Case(
        "normalized_rmse(normalization='range')",
        "regression",
        normalized_rmse(lambda rows: np.ptp(rows.label)),
    ),
    Case("wape", "regression", wape),
    Case("percent_bias", "regression", percent_bias),
    Case(
        "rmsle",
        "regression",
        where(lambda rows: (rows.label > -1) & (rows.prediction > -1), root_mean_squared_log_error),
    ),
    *(
        Case(f"d2_tweedie(power={power})", "regression", d2_tweedie(power))
        for power in (0.0, 1.0, 1.5, 2.0, 3.0, -1.0)
    ),
    Case("d2_tweedie(power=0.5)", "regression", lambda rows: None),
    *(
        Case(f"d2_pinball(alpha={alpha})", "regression", compare_with("d2_pinball", alpha=alpha))
        for alpha in (0.5, 0.1, 0.9)
    ),
    Case("median_absolute_error", "regression", median_absolute_error),
    *(
        Case(f"absolute_error_quantile(q={q})", "regression", quantile_of_errors(q))
        for q in (0.0, 0.25, 0.9, 1.0)
    ),
    Case("max_error", "regression", max_error),
    Case("spearman", "regression", spearman),
    Case("kendall", "regression", kendall),
    Case("regression_gini", "regression", gini),
]


def _draw() -> pl.DataFrame:
    rng = np.random.default_rng(7)
    truth = rng.gamma(2, 3, 90)
    rows = {"y": truth, "v": truth * rng.uniform(0.6, 1.5, 90)}
    return pl.DataFrame({**rows, "w": rng.random(90), "count": rng.integers(0, 4, 90)})


def _create_data() -> list[Data]:
    rows, y, v = _draw(), pl.col("y"), pl.col("v")

    def data(name: str, frame: pl.DataFrame, **options: Any) -> Data:
        return Data(name, "regression", frame, options)

    return [
        data("positive", rows),
        data("positive and weighted", rows, weight="w"),
        data("positive and counted", rows, weight="count"),
        data("ties", rows.with_columns(y.round(), v.round())),
        data("ties and weights", rows.with_columns(y.round(), v.round()), weight="w"),
        data("constant labels", rows.with_columns(y=0.1)),
        data("constant labels and weights", rows.with_columns(y=0.1), weight="w"),
        data("constant predictions", rows.with_columns(v=0.7), weight="w"),
        data("two rows", rows.head(2)),
        data("labels of 0", rows.head(9).with_columns(y=0.0)),
        data("labels of mean 0", rows.head(30).with_columns(y=pl.int_range(30) % 3 - 1)),
        data("far from 0", rows.with_columns(y + 1e6, v + 1e6)),
        data("far from 0 and weighted", rows.with_columns(y + 1e6, v + 1e6), weight="w"),
    ]


#: Data sets beside those that every kind has.
DATA: list[Data] = _create_data()
