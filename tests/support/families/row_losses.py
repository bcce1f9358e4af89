"""Cases and data sets of metrics of regression that are means of a loss by row."""

from collections.abc import Callable, Iterator
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import polars as pl
from scipy.special import huber
from sklearn.metrics import (
    mean_absolute_percentage_error,
    mean_pinball_loss,
    mean_squared_log_error,
    mean_tweedie_deviance,
)

from tests.support.case import Case, Data, Reference, Rows

Call = Callable[..., Any]


def where(allows: Callable[[Rows], np.ndarray], call: Call, **fixed: Any) -> Reference:
    """Compare labels with predictions; undefined if a row is not allowed."""

    def reference(rows: Rows) -> float | None:
        if not rows.label.size or not np.all(allows(rows)):
            return None
        label, prediction = rows.label.astype(float), rows.prediction.astype(float)
        return call(label, prediction, sample_weight=rows.weight, **fixed)

    return reference


def averaged(loss: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Reference:
    """Average a loss of rows."""

    def reference(rows: Rows) -> float | None:
        if not rows.label.size:
            return None
        label, prediction = rows.label.astype(float), rows.prediction.astype(float)
        return np.average(loss(label, prediction), weights=rows.weight)

    return reference


def symmetric(label: np.ndarray, prediction: np.ndarray) -> np.ndarray:
    total = np.abs(label) + np.abs(prediction)
    return np.divide(
        2 * np.abs(prediction - label), total, out=np.zeros_like(total), where=total > 0
    )


def log_cosh(label: np.ndarray, prediction: np.ndarray) -> np.ndarray:
    error = prediction - label
    return np.logaddexp(error, -error) - np.log(2)


def allow_power(power: float) -> Callable[[Rows], np.ndarray]:
    """Return the test of rows that a Tweedie deviance of a power allows."""

    def allows(rows: Rows) -> np.ndarray:
        label, prediction = rows.label, rows.prediction
        if power == 0:
            return np.full(label.shape, True)
        least = (
            label > 0 if power >= 2 else label >= 0 if power >= 1 else np.full(label.shape, True)
        )
        return (prediction > 0) & least

    return allows


def deviance(power: float) -> Reference:
    """Return the mean Tweedie deviance; where label and prediction are nearly equal, exactly.

    scikit-learn's terms cancel there: its Poisson deviance of numbers near 1e6 is wrong in the
    sixth digit.
    """
    allows = allow_power(power)
    usual = where(allows, mean_tweedie_deviance, power=power)

    def reference(rows: Rows) -> float | None:
        if power == 0 or not rows.label.size or not np.all(allows(rows)) or rows.label.min() < 1e5:
            return usual(rows)
        losses = [
            exact_deviance(Decimal(float(y)), Decimal(float(p)), Decimal(power))
            for y, p in zip(rows.label, rows.prediction, strict=True)
        ]
        return np.average(np.array(losses, dtype=float), weights=rows.weight)

    return reference


def exact_deviance(y: Decimal, p: Decimal, power: Decimal) -> Decimal:
    """Return the Tweedie deviance of a row to 60 digits."""
    with localcontext(prec=60):
        if power == 1:
            return 2 * (y * (y / p).ln() - y + p)
        if power == 2:
            return 2 * ((p / y).ln() + y / p - 1)
        one, two = 1 - power, 2 - power
        return 2 * (y**two / (one * two) - y * p**one / one + p**two / two)


def all_rows(rows: Rows) -> np.ndarray:
    return np.full(rows.label.shape, True)


CASES: list[Case] = [
    Case("mean_bias", "regression", averaged(lambda label, prediction: prediction - label)),
    Case(
        "mape",
        "regression",
        where(lambda rows: rows.label != 0, mean_absolute_percentage_error),
        tolerance=1e-11,
    ),
    Case("smape", "regression", averaged(symmetric)),
    Case(
        "msle",
        "regression",
        where(lambda rows: (rows.label > -1) & (rows.prediction > -1), mean_squared_log_error),
    ),
    *(
        Case(
            f"pinball_loss(alpha={alpha})",
            "regression",
            where(all_rows, mean_pinball_loss, alpha=alpha),
        )
        for alpha in (0.5, 0.1, 1)
    ),
    *(
        Case(
            f"huber(delta={delta})",
            "regression",
            averaged(lambda y, p, delta=delta: huber(delta, p - y)),
        )
        for delta in (1, 0.3)
    ),
    Case("log_cosh", "regression", averaged(log_cosh)),
    Case("poisson_deviance", "regression", deviance(1)),
    Case("gamma_deviance", "regression", deviance(2)),
    *(
        Case(
            f"tweedie_deviance(power={power})",
            "regression",
            deviance(power),
        )
        for power in (0, -1, 1, 1.5, 2, 3)
    ),
]


def _create_data() -> Iterator[Data]:
    """Yield amounts above 0, counts, and rows with zeros."""
    rng = np.random.default_rng(4)
    n = 90
    truth = rng.gamma(2, 3, n) + 0.01
    rows = pl.DataFrame(
        {
            "y": truth,
            "v": truth * np.exp(rng.normal(0, 0.3, n)),
            "count": rng.integers(0, 4, n),
            "w": rng.random(n),
            "g": rng.choice(["north", "south"], n),
            "h": rng.integers(1, 3, n),
        }
    )
    yield Data("above 0", "regression", rows)
    yield Data("above 0, by key, weights", "regression", rows, {"by": ["g"], "weight": "w"})
    counts = rows.with_columns(pl.col("y").floor())
    yield Data("counts with zeros", "regression", counts)
    yield Data("counts with zeros, weights", "regression", counts, {"weight": "count", "by": ["h"]})
    yield Data("zeros", "regression", rows.with_columns(pl.col("y", "v").floor()))


#: Data sets beside those that every kind has.
DATA: list[Data] = list(_create_data())
