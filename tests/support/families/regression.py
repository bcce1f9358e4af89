"""Cases and data sets of regression."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import linregress
from sklearn.linear_model import LinearRegression
from sklearn.metrics import root_mean_squared_error
from statsmodels.stats.weightstats import DescrStatsW

from tests.support.case import Case, Data, Reference, Rows, header_function

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
        value, n = plain(rows), rows.weight.sum()
        if value is None or n - features - 1 <= 0:
            return None
        return 1 - (1 - value) * (n - 1) / (n - features - 1)

    return reference


def pearson(rows: Rows) -> float | None:
    if is_constant(rows.label) or is_constant(rows.prediction):
        return None
    # SciPy takes no weights.
    return describe(rows).corrcoef[0, 1]


def concordance(rows: Rows) -> float | None:
    if is_constant(rows.label) and is_constant(rows.prediction):
        return None
    moments = describe(rows)
    (one, both), (_, other) = moments.cov
    return 2 * both / (one + other + np.subtract(*moments.mean) ** 2)


def regress(part: str) -> Reference:
    """Return the slope or intercept of labels on predictions, from scikit-learn or SciPy."""

    def reference(rows: Rows) -> float | None:
        if is_constant(rows.prediction):
            return None
        if (rows.weight == 1).all():
            return getattr(linregress(rows.prediction, rows.label), part)
        line = LinearRegression().fit(rows.prediction[:, None], rows.label, rows.weight)
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


CASES: list[Case] = [
    Case("r2", "regression", compare_with("r2")),
    *(Case(f"adjusted_r2(features={k})", "regression", adjusted_r2(k)) for k in (1, 7)),
    Case("explained_variance", "regression", compare_with("explained_variance")),
    Case("pearson", "regression", pearson),
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
        data("labels of mean 0", rows.head(30).with_columns(y=pl.int_range(30) % 3 - 1)),
        data("far from 0", rows.with_columns(y + 1e6, v + 1e6)),
        data("far from 0 and weighted", rows.with_columns(y + 1e6, v + 1e6), weight="w"),
    ]


#: Data sets beside those that every kind has.
DATA: list[Data] = _create_data()
