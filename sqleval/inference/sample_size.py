"""Computes the rows needed to detect a difference, and the smallest difference that rows detect.

All functions assume a test of level ``alpha`` that rejects with probability ``power``, by the
normal approximation. The tail on the wrong side of a two-sided test does not count as power.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqleval.inference.libraries import np, special
from sqleval.inference.outcome import check_alternative, check_share, keep_defined, to_floats

if TYPE_CHECKING:
    from sqleval.inference.libraries import Array, ArrayLike


def find_rows(
    difference: ArrayLike,
    stderr: ArrayLike,
    n: ArrayLike,
    *,
    alpha: float = 0.05,
    power: float = 0.8,
    alternative: str = "two-sided",
) -> Array:
    """Return the number of rows needed to detect a difference, from its present standard error.

    It holds for every metric whose standard error falls with the square root of the rows: paired
    AUCs (DeLong), rates, means. Further rows must be like the present ones.

    Parameters
    ----------
    difference : array_like
        The difference to detect; its sign is ignored.
    stderr : array_like
        Standard error of the difference in the present rows.
    n : array_like
        The number of present rows.
    alpha : float
        Level of the test.
    power : float
        Probability that the test rejects if the true difference is this one.
    alternative : {"two-sided", "greater", "less"}
        A one-sided test needs fewer rows.

    Returns
    -------
    array
        Whole numbers; infinite for a difference of 0, NaN if the standard error is undefined.

    References
    ----------
    Equal to ``statsmodels.stats.power.NormalIndPower(ratio=0)`` rounded up.

    Examples
    --------
    >>> find_rows([0.01, 0.005], stderr=0.004, n=10_000).tolist()
    [12559.0, 50233.0]
    """
    away, error, rows = to_floats(difference, stderr, n)
    quantile = sum(find_quantiles(alpha, power, alternative))
    with np.errstate(all="ignore"):
        variance = keep_defined(error**2 * rows, (error > 0) & (rows > 0))
        return round_up(variance * (quantile / away) ** 2)


def find_detectable_difference(
    stderr: ArrayLike,
    *,
    alpha: float = 0.05,
    power: float = 0.8,
    alternative: str = "two-sided",
) -> Array:
    """Return the smallest difference that the present rows detect with a power.

    Parameters
    ----------
    stderr : array_like
        Standard error of the difference in the present rows. For ``k`` times as many rows divide
        it by the square root of ``k``.
    alpha, power, alternative
        As in `find_rows`.

    Examples
    --------
    >>> find_detectable_difference([0.004]).round(4).tolist()
    [0.0112]
    """
    (error,) = to_floats(stderr)
    return keep_defined(error, error > 0) * sum(find_quantiles(alpha, power, alternative))


def find_rows_for_rates(
    rate: ArrayLike,
    baseline_rate: ArrayLike,
    *,
    ratio: float = 1.0,
    alpha: float = 0.05,
    power: float = 0.8,
    alternative: str = "two-sided",
) -> Array:
    """Return the number of rows needed to detect that two rates of different rows differ.

    Parameters
    ----------
    rate, baseline_rate : array_like
        The two rates under the alternative, such as accuracies, or recalls (then rows are
        positives).
    ratio : float
        Rows of the baseline divided by rows of the model.
    alpha, power, alternative
        As in `find_rows`.

    Returns
    -------
    array
        The number of rows of the model. Whole numbers, infinite for equal rates, NaN for rates
        outside 0 .. 1.

    References
    ----------
    Fleiss, Levin and Paik (2003), Statistical Methods for Rates and Proportions, equation 4.14,
    without continuity correction. Equal to
    ``statsmodels.stats.proportion.samplesize_proportions_2indep_onetail`` rounded up.

    Examples
    --------
    >>> find_rows_for_rates([0.82], [0.80]).tolist()
    [6039.0]
    """
    first, second = to_floats(rate, baseline_rate)
    at_level, at_power = find_quantiles(alpha, power, alternative)
    with np.errstate(all="ignore"):
        pooled = (first + ratio * second) / (1 + ratio)
        null = pooled * (1 - pooled) * (1 + 1 / ratio)
        variance = first * (1 - first) + second * (1 - second) / ratio
        is_rate = (first >= 0) & (first <= 1) & (second >= 0) & (second <= 1)
        scale = at_level * np.sqrt(keep_defined(null, is_rate)) + at_power * np.sqrt(variance)
        return round_up(divide_squared(scale, first - second))


def find_quantiles(alpha: float, power: float, alternative: str) -> tuple[float, float]:
    """Return the normal quantiles of a test's level and of its power.

    Examples
    --------
    >>> [round(quantile, 3) for quantile in find_quantiles(0.05, 0.8, "two-sided")]
    [1.96, 0.842]
    """
    check_share("alpha", alpha)
    check_share("power", power)
    tail = alpha / 2 if check_alternative(alternative) == "two-sided" else alpha
    return float(special.ndtri(1 - tail)), float(special.ndtri(power))


def round_up(rows: Array) -> Array:
    """Round up to whole rows, except that a rounding error does not add a row."""
    return np.ceil(rows * (1 - 1e-12))


def divide_squared(scale: Array, difference: Array) -> Array:
    """Return (scale / difference)^2; infinite for a difference of 0, NaN if the scale is NaN."""
    rows = (scale / difference) ** 2
    return np.where((difference == 0) & ~np.isnan(scale), np.inf, rows)
