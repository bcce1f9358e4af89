"""Two estimates from different rows, such as two periods: before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqleval.inference.difference import apply_z_test
from sqleval.inference.libraries import np, special
from sqleval.inference.outcome import (
    Outcome,
    check_alternative,
    check_share,
    keep_defined,
    to_floats,
)

if TYPE_CHECKING:
    from sqleval.inference.libraries import Array, ArrayLike


def subtract_estimates(
    value: ArrayLike, stderr: ArrayLike, baseline_value: ArrayLike, baseline_stderr: ArrayLike
) -> tuple[Array, Array]:
    """Return the difference of independent estimates, and its standard error.

    Examples
    --------
    >>> difference, stderr = subtract_estimates(0.8, 0.03, 0.7, 0.04)
    >>> round(float(difference), 3), round(float(stderr), 3)
    (0.1, 0.05)
    """
    first, error, second, second_error = to_floats(value, stderr, baseline_value, baseline_stderr)
    return first - second, np.hypot(error, second_error)


def apply_unpaired_test(
    value: ArrayLike,
    stderr: ArrayLike,
    baseline_value: ArrayLike,
    baseline_stderr: ArrayLike,
    *,
    alternative: str = "two-sided",
    ci: float = 0.95,
) -> Outcome:
    """Test whether two independent estimates have the same expectation.

    The estimates must come from different rows. On the same rows their errors are correlated, and
    the test would miss most differences.

    Parameters
    ----------
    value, stderr : array_like
        The model's estimates and their standard errors.
    baseline_value, baseline_stderr : array_like
        Those of the baseline.
    alternative, ci
        As in `sqleval.inference.difference.apply_z_test`.

    References
    ----------
    Hanley and McNeil (1983), doi:10.1148/radiology.148.3.6878708, with a correlation of 0.

    Examples
    --------
    >>> apply_unpaired_test([0.8], [0.03], [0.7], [0.04]).p_value.round(4).tolist()
    [0.0455]
    """
    difference, error = subtract_estimates(value, stderr, baseline_value, baseline_stderr)
    return apply_z_test(difference, error, alternative=alternative, ci=ci)


def apply_two_proportions_test(
    successes: ArrayLike,
    trials: ArrayLike,
    baseline_successes: ArrayLike,
    baseline_trials: ArrayLike,
    *,
    alternative: str = "two-sided",
    ci: float = 0.95,
) -> Outcome:
    """Test whether two rates of different rows are equal: the pooled z test.

    Parameters
    ----------
    successes, trials : array_like
        Counts of the model.
    baseline_successes, baseline_trials : array_like
        Counts of the baseline.
    alternative : {"two-sided", "greater", "less"}
        ``greater``: the model's rate is higher.
    ci : float
        Level of the interval, see `find_unpaired_rate_interval`.

    Returns
    -------
    Outcome
        ``statistic`` is z, whose square is Pearson's chi-square. The test is undefined where both
        rates are 0, or both 1.

    References
    ----------
    Pearson (1900), doi:10.1080/14786440009463897; Newcombe (1998) for the interval. Equal to
    ``statsmodels.stats.proportion.proportions_ztest``.

    Examples
    --------
    >>> apply_two_proportions_test([56], [70], [48], [80]).p_value.round(4).tolist()
    [0.008]
    """
    side = check_alternative(alternative)
    hits, n, other_hits, other_n = to_floats(successes, trials, baseline_successes, baseline_trials)
    with np.errstate(all="ignore"):
        pooled = (hits + other_hits) / (n + other_n)
        stderr = np.sqrt(np.maximum(pooled * (1 - pooled), 0) * (1 / n + 1 / other_n))
        difference = hits / n - other_hits / other_n
    outcome = apply_z_test(difference, stderr, alternative=side, ci=ci)
    low, high = find_unpaired_rate_interval(hits, n, other_hits, other_n, ci=ci, alternative=side)
    return outcome._replace(low=low, high=high)


def find_unpaired_rate_interval(
    successes: ArrayLike,
    trials: ArrayLike,
    baseline_successes: ArrayLike,
    baseline_trials: ArrayLike,
    *,
    ci: float = 0.95,
    alternative: str = "two-sided",
) -> tuple[Array, Array]:
    """Return Newcombe's interval of the difference of two rates of different rows.

    It combines Wilson's intervals of the two rates and stays within -1 .. 1.

    Parameters
    ----------
    successes, trials, baseline_successes, baseline_trials : array_like
        As in `apply_two_proportions_test`.
    ci : float
        Confidence level.
    alternative : {"two-sided", "greater", "less"}
        Which side the interval is open to; that end is infinite.

    References
    ----------
    Newcombe (1998), Interval estimation for the difference between independent proportions,
    doi:10.1002/(SICI)1097-0258(19980430)17:8<873::AID-SIM779>3.0.CO;2-I, method 10. Equal to
    ``statsmodels.stats.proportion.confint_proportions_2indep(method="newcomb")``.

    Examples
    --------
    >>> low, high = find_unpaired_rate_interval([56], [70], [48], [80])
    >>> low.round(4).tolist(), high.round(4).tolist()  # Newcombe's table II, example (a)
    ([0.0524], [0.3339])
    """
    check_share("ci", ci)
    side = check_alternative(alternative)
    hits, n, other_hits, other_n = to_floats(successes, trials, baseline_successes, baseline_trials)
    quantile = float(special.ndtri((1 + ci) / 2 if side == "two-sided" else ci))
    rate, low, high = _find_wilson_interval(hits, n, quantile)
    other_rate, other_low, other_high = _find_wilson_interval(other_hits, other_n, quantile)
    difference = rate - other_rate
    lower = difference - np.hypot(rate - low, other_high - other_rate)
    upper = difference + np.hypot(high - rate, other_rate - other_low)
    is_defined = ~np.isnan(difference)
    if side == "less":
        lower = keep_defined(np.full_like(lower, -np.inf), is_defined)
    if side == "greater":
        upper = keep_defined(np.full_like(upper, np.inf), is_defined)
    return lower, upper


def _find_wilson_interval(hits: Array, n: Array, z: float) -> tuple[Array, Array, Array]:
    """Return a rate and Wilson's score interval; NaN where counts are impossible."""
    with np.errstate(all="ignore"):
        rate = keep_defined(hits / n, (n > 0) & (hits >= 0) & (hits <= n))
        center = (rate + z * z / (2 * n)) / (1 + z * z / n)
        half = z / (1 + z * z / n) * np.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
    return rate, np.maximum(center - half, 0), np.minimum(center + half, 1)
