"""Cases and data sets of calibration."""

from functools import cache

import numpy as np
import statsmodels.api as sm
from scipy.special import logit

from tests.support import references as ref
from tests.support.case import Case, Data, Reference, Rows


def maximum_calibration_error(bins: int, strategy: str) -> Reference:
    """Return the reference of the largest distance over the bins of scikit-learn."""

    def reference(rows: Rows) -> float | None:
        _, predicted, observed, _ = ref.calibration_curve(rows, bins, strategy).T
        return float(np.abs(predicted - observed).max())

    return reference


def debiased_calibration_error(bins: int, strategy: str) -> Reference:
    """Return the reference by Kumar, Liang and Ma (2019), definition 5.3."""

    def reference(rows: Rows) -> float | None:
        _, predicted, observed, weight = ref.calibration_curve(rows, bins, strategy).T
        # As in the authors' package, a bin of one row counts as 0.
        size = ref.calibration_sizes(rows, bins, strategy)
        several = size > 1
        if not several.any():
            return None
        bias = observed * (1 - observed) / np.where(several, size - 1, 1)
        squares = np.where(several, (predicted - observed) ** 2 - bias, 0)
        square = np.average(squares, weights=weight)
        return float(np.sqrt(max(square, 0)))

    return reference


def hosmer_lemeshow(bins: int) -> Reference:
    """Return the reference of the chi-squared statistic of observed and expected counts."""

    def reference(rows: Rows) -> float | None:
        _, predicted, observed, _ = ref.calibration_curve(rows, bins, "quantile").T
        # Without weights, the number of rows.
        size = ref.calibration_sizes(rows, bins, "quantile")
        if ((predicted <= 0) | (predicted >= 1)).any():
            return None
        # Both columns of the table, as in R's hoslem.test.
        return float(
            sum(
                (size * (seen - expected) ** 2 / expected).sum()
                for seen, expected in ((observed, predicted), (1 - observed, 1 - predicted))
            )
        )

    return reference


def spiegelhalter_z(rows: Rows) -> float | None:
    """Spiegelhalter (1986), equation (11)."""
    p, y, weight = rows.score, rows.label, rows.weight
    variance = weight**2 @ ((1 - 2 * p) ** 2 * p * (1 - p))
    return float(weight @ ((y - p) * (1 - 2 * p)) / np.sqrt(variance)) if variance > 0 else None


def has_fit(rows: Rows) -> bool:
    """Whether there are both classes, and every score has a logit."""
    return ref.both(rows) and bool(((rows.score > 0) & (rows.score < 1)).all())


@cache
def logistic_calibration_slope(rows: Rows) -> float | None:
    if not has_fit(rows):
        return None
    positive, negative = rows.score[rows.label == 1], rows.score[rows.label == 0]
    if negative.max() <= positive.min() or positive.max() <= negative.min():
        return None
    model = sm.GLM(
        rows.label,
        sm.add_constant(logit(rows.score), has_constant="add"),
        family=sm.families.Binomial(),
        freq_weights=rows.weight,
    )
    return float(model.fit(tol=1e-14).params[1])


@cache
def logistic_calibration_intercept(rows: Rows) -> float | None:
    if not has_fit(rows):
        return None
    model = sm.GLM(
        rows.label,
        np.ones(len(rows.label)),
        family=sm.families.Binomial(),
        freq_weights=rows.weight,
        offset=logit(rows.score),
    )
    return float(model.fit(tol=1e-14).params[0])


#: The arguments of bins, as a request has them, and for a reference.
BINS = (
    ("", (10, "uniform")),
    ("bins=5, strategy='quantile'", (5, "quantile")),
)
CASES: list[Case] = [
    *(
        Case(f"{reference.__name__}({given})", "binary", reference(*how))
        for reference in (maximum_calibration_error, debiased_calibration_error)
        for given, how in BINS
    ),
    Case("hosmer_lemeshow", "binary", hosmer_lemeshow(10), tolerance=1e-9),
    Case("hosmer_lemeshow(bins=4)", "binary", hosmer_lemeshow(4), tolerance=1e-9),
    Case("spiegelhalter_z", "binary", spiegelhalter_z),
    # Both are iterated, and statsmodels stops at another step.
    Case("logistic_calibration_slope", "binary", logistic_calibration_slope, tolerance=1e-8),
    Case(
        "logistic_calibration_intercept",
        "binary",
        logistic_calibration_intercept,
        tolerance=1e-8,
    ),
]
#: Data sets beside those that every kind has.
DATA: list[Data] = []
