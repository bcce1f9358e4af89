"""How many rows show a difference, and how small a difference some rows can show.

All functions are for a test of level ``alpha`` that rejects with probability ``power``, by the
normal approximation. The tail on the wrong side of a two-sided test is not counted as power.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sqleval.inference.libraries import np, special
from sqleval.inference.outcome import check_alternative, check_share, keep_defined, to_floats

if TYPE_CHECKING:
    from sqleval.inference.libraries import Array, ArrayLike

#: Steps of a bisection between 0 and 1.
_STEPS = 60


def find_rows(
    difference: ArrayLike,
    stderr: ArrayLike,
    n: ArrayLike,
    *,
    alpha: float = 0.05,
    power: float = 0.8,
    alternative: str = "two-sided",
) -> Array:
    """Return the rows needed to see a difference, from the standard error in rows at hand.

    Works for every metric whose standard error falls with the square root of the rows: paired
    AUCs (DeLong), rates, means. More rows must be like those at hand.

    Parameters
    ----------
    difference : array_like
        The difference to be seen; its sign is ignored.
    stderr : array_like
        Standard error of the difference in the rows at hand.
    n : array_like
        The number of rows at hand.
    alpha : float
        Level of the test.
    power : float
        Probability that the test rejects if the difference is the true one.
    alternative : {"two-sided", "greater", "less"}
        A one-sided test needs fewer rows.

    Returns
    -------
    array
        Whole numbers; infinite for a difference of 0, NaN where the standard error is undefined.

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
    """Return the smallest difference that rows at hand show with the given power.

    Parameters
    ----------
    stderr : array_like
        Standard error of the difference in the rows at hand; with ``k`` times as many rows it is
        smaller by the square root of ``k``.
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
    """Return the rows needed to see that two rates of different rows differ.

    Parameters
    ----------
    rate, baseline_rate : array_like
        The two rates if they differ, such as accuracies or recalls (of recalls the rows are
        positives).
    ratio : float
        Rows of the baseline divided by rows of the model.
    alpha, power, alternative
        As in `find_rows`.

    Returns
    -------
    array
        Rows of the model; whole numbers, infinite for equal rates, NaN for rates outside 0 .. 1.

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
    return round_up(_compute_rows_for_rates(first, second, ratio, alpha, power, alternative))


def find_detectable_rate(
    n: ArrayLike,
    baseline_rate: ArrayLike,
    *,
    ratio: float = 1.0,
    alpha: float = 0.05,
    power: float = 0.8,
    alternative: str = "two-sided",
) -> Array:
    """Return the nearest rate above the baseline's that rows of different sets show.

    For a rate below, pass ``1 - baseline_rate`` and take the result from 1.

    Parameters
    ----------
    n : array_like
        Rows of the model.
    baseline_rate : array_like
        Rate of the baseline.
    ratio, alpha, power, alternative
        As in `find_rows_for_rates`.

    Returns
    -------
    array
        NaN where even a rate of 1 is not shown.

    Examples
    --------
    >>> find_detectable_rate([6039], [0.80]).round(4).tolist()
    [0.82]
    """
    rows, base = to_floats(n, baseline_rate)

    def compute_rows(difference: Array) -> Array:
        return _compute_rows_for_rates(base + difference, base, ratio, alpha, power, alternative)

    return base + solve_decreasing(compute_rows, rows, 1 - base)


def _compute_rows_for_rates(
    rate: Array, baseline: Array, ratio: float, alpha: float, power: float, alternative: str
) -> Array:
    at_level, at_power = find_quantiles(alpha, power, alternative)
    with np.errstate(all="ignore"):
        pooled = (rate + ratio * baseline) / (1 + ratio)
        null = pooled * (1 - pooled) * (1 + 1 / ratio)
        variance = rate * (1 - rate) + baseline * (1 - baseline) / ratio
        is_rate = (rate >= 0) & (rate <= 1) & (baseline >= 0) & (baseline <= 1)
        scale = at_level * np.sqrt(keep_defined(null, is_rate)) + at_power * np.sqrt(variance)
        return _divide_squared(scale, rate - baseline)


def find_rows_for_paired_rates(
    difference: ArrayLike,
    discordant_share: ArrayLike,
    *,
    alpha: float = 0.05,
    power: float = 0.8,
    alternative: str = "two-sided",
) -> Array:
    """Return the rows needed to see a difference of two rates of the same rows by McNemar's test.

    The test is that without correction for continuity; the corrected one needs some rows more.

    Parameters
    ----------
    difference : array_like
        Difference of the rates, such as accuracies; its sign is ignored.
    discordant_share : array_like
        Share of the rows where exactly one of the two models is right. It is at least as large as
        the difference.
    alpha, power, alternative
        As in `find_rows`.

    Returns
    -------
    array
        Whole numbers; infinite for a difference of 0, NaN for an impossible share.

    References
    ----------
    Connor (1987), Sample size for testing differences in proportions for the paired-sample design,
    doi:10.2307/2531961.

    Examples
    --------
    >>> find_rows_for_paired_rates([0.02], [0.10]).tolist()
    [1960.0]
    """
    away, share = to_floats(difference, discordant_share)
    return round_up(_compute_rows_for_paired_rates(away, share, alpha, power, alternative))


def find_detectable_paired_difference(
    n: ArrayLike,
    discordant_share: ArrayLike,
    *,
    alpha: float = 0.05,
    power: float = 0.8,
    alternative: str = "two-sided",
) -> Array:
    """Return the smallest difference of two rates of the same rows that McNemar's test shows.

    Parameters
    ----------
    n : array_like
        Rows.
    discordant_share, alpha, power, alternative
        As in `find_rows_for_paired_rates`.

    Returns
    -------
    array
        NaN where no difference is shown that the share allows.

    Examples
    --------
    >>> find_detectable_paired_difference([1960], [0.10]).round(4).tolist()
    [0.02]
    """
    rows, share = to_floats(n, discordant_share)

    def compute_rows(difference: Array) -> Array:
        return _compute_rows_for_paired_rates(difference, share, alpha, power, alternative)

    return solve_decreasing(compute_rows, rows, share)


def _compute_rows_for_paired_rates(
    difference: Array, share: Array, alpha: float, power: float, alternative: str
) -> Array:
    at_level, at_power = find_quantiles(alpha, power, alternative)
    with np.errstate(all="ignore"):
        is_possible = (np.abs(difference) <= share) & (share <= 1)
        variance = np.maximum(share - difference**2, 0)
        scale = at_level * np.sqrt(keep_defined(share, is_possible)) + at_power * np.sqrt(variance)
        return _divide_squared(scale, difference)


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
    """Return whole rows; rounding errors of computation do not add one."""
    return np.ceil(rows * (1 - 1e-12))


def solve_decreasing(compute_rows: Callable[[Array], Array], rows: Array, most: Array) -> Array:
    """Return the difference in 0 .. most for which as many rows are needed, by bisection.

    Parameters
    ----------
    compute_rows : callable
        Rows needed by difference, which fall as it grows.
    rows : array
        The rows that there are.
    most : array
        The largest possible difference; where it needs more rows the result is NaN.
    """
    low, high = np.zeros_like(most), most * 1.0
    is_shown = compute_rows(most) <= rows
    for _ in range(_STEPS):
        middle = (low + high) / 2
        is_enough = compute_rows(middle) <= rows
        low, high = np.where(is_enough, low, middle), np.where(is_enough, middle, high)
    return keep_defined(high, is_shown)


def _divide_squared(scale: Array, difference: Array) -> Array:
    """Return (scale / difference)^2; infinite for no difference, NaN where the scale is."""
    rows = (scale / difference) ** 2
    return np.where((difference == 0) & ~np.isnan(scale), np.inf, rows)
