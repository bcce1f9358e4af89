"""Tests the difference of two rates of different rows, from their counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqleval.inference.difference import check_margin, combine_one_sided_tests
from sqleval.inference.libraries import np, special
from sqleval.inference.outcome import (
    Outcome,
    check_alternative,
    check_share,
    compute_normal_p_value,
    keep_defined,
    to_floats,
)

if TYPE_CHECKING:
    from sqleval.inference.libraries import Array, ArrayLike


def apply_two_rates_test(
    successes: ArrayLike,
    trials: ArrayLike,
    baseline_successes: ArrayLike,
    baseline_trials: ArrayLike,
    *,
    alternative: str = "two-sided",
    ci: float = 0.95,
) -> Outcome:
    """Test whether two rates of different rows are equal: the score test, and Newcombe's interval.

    Parameters
    ----------
    successes, trials : array_like
        The counts of the model, such as the rows that it gets right, and all its rows.
    baseline_successes, baseline_trials : array_like
        The counts of the baseline.
    alternative : {"two-sided", "greater", "less"}
        ``greater``: the model's rate is above the baseline's.
    ci : float
        Confidence level of the interval for the difference. It is made of Wilson's intervals of
        both rates, so it stays within -1 .. 1 and is defined for rates of 0 and 1, too.

    Returns
    -------
    Outcome
        ``statistic`` is z with the pooled rate; 0 if both rates are 0 or both 1, NaN without
        trials.

    References
    ----------
    Newcombe (1998), Interval estimation for the difference between independent proportions, method
    10, doi:10.1002/(SICI)1097-0258(19980430)17:8<873::AID-SIM779>3.0.CO;2-I.
    The square of z is the statistic of ``scipy.stats.chi2_contingency`` with ``correction=False``.

    Examples
    --------
    >>> outcome = apply_two_rates_test([56], [70], [48], [80])
    >>> outcome.low.round(4).tolist(), outcome.high.round(4).tolist()
    ([0.0524], [0.3339])
    """
    check_share("ci", ci)
    side = check_alternative(alternative)
    counts = to_floats(successes, trials, baseline_successes, baseline_trials)
    score = _compute_score(*counts, difference=0.0)
    low, high = _find_newcombe_ends(*counts, ci=ci, side=side)
    return Outcome(score, compute_normal_p_value(score, side), low, high)


def apply_two_rates_noninferiority_test(
    successes: ArrayLike,
    trials: ArrayLike,
    baseline_successes: ArrayLike,
    baseline_trials: ArrayLike,
    margin: float,
    *,
    ci: float = 0.95,
) -> Outcome:
    """Test whether a model's rate is at most a margin below a baseline's rate on other rows.

    Parameters
    ----------
    successes, trials, baseline_successes, baseline_trials, ci
        As in `apply_two_rates_test`; the interval is one-sided.
    margin : float
        The largest loss that does not matter, at least 0.

    Returns
    -------
    Outcome
        ``statistic`` is the score of the difference ``-margin``.

    References
    ----------
    Farrington and Manning (1990), Test statistics and sample size formulae for comparative binomial
    trials with null hypothesis of non-zero risk difference or non-unity relative risk,
    doi:10.1002/sim.4780091208.

    Examples
    --------
    >>> apply_two_rates_noninferiority_test([56], [70], [60], [80], 0.1).p_value.round(4).tolist()
    [0.0158]
    """
    check_margin(margin)
    counts = to_floats(successes, trials, baseline_successes, baseline_trials)
    score = _compute_score(*counts, difference=-margin)
    low, high = _find_newcombe_ends(*counts, ci=ci, side="greater")
    return Outcome(score, compute_normal_p_value(score, "greater"), low, high)


def apply_two_rates_equivalence_test(
    successes: ArrayLike,
    trials: ArrayLike,
    baseline_successes: ArrayLike,
    baseline_trials: ArrayLike,
    margin: float,
    *,
    ci: float = 0.95,
) -> Outcome:
    """Test whether two rates of different rows differ by less than a margin.

    It combines two one-sided tests. The null hypothesis is ``abs(difference) >= margin``.

    Parameters
    ----------
    successes, trials, baseline_successes, baseline_trials, margin
        As in `apply_two_rates_noninferiority_test`.
    ci : float
        As in `apply_equivalence_test`.

    Returns
    -------
    Outcome
        As in `apply_equivalence_test`.

    Examples
    --------
    >>> apply_two_rates_equivalence_test([56], [70], [60], [80], 0.2).p_value.round(4).tolist()
    [0.0132]
    """
    model, baseline = (successes, trials), (baseline_successes, baseline_trials)
    above = apply_two_rates_noninferiority_test(*model, *baseline, margin, ci=ci)
    # The other side is the same test with exchanged rates.
    below = apply_two_rates_noninferiority_test(*baseline, *model, margin, ci=ci)
    below = below._replace(statistic=-below.statistic, high=-below.low)
    return combine_one_sided_tests(above, below)


def _find_newcombe_ends(
    successes: Array,
    trials: Array,
    baseline_successes: Array,
    baseline_trials: Array,
    *,
    ci: float,
    side: str,
) -> tuple[Array, Array]:
    """Return the ends of Newcombe's interval; a one-sided interval has one infinite end."""
    quantile = float(special.ndtri((1 + ci) / 2 if side == "two-sided" else ci))
    with np.errstate(all="ignore"):
        rate, low, high = find_wilson_ends(successes, trials, quantile)
        base, base_low, base_high = find_wilson_ends(baseline_successes, baseline_trials, quantile)
        difference = rate - base
        least = difference - np.sqrt((rate - low) ** 2 + (base_high - base) ** 2)
        most = difference + np.sqrt((high - rate) ** 2 + (base - base_low) ** 2)
    is_defined = ~np.isnan(difference)
    least = np.full_like(least, -np.inf) if side == "less" else least
    most = np.full_like(most, np.inf) if side == "greater" else most
    return keep_defined(least, is_defined), keep_defined(most, is_defined)


def find_wilson_ends(
    successes: Array, trials: Array, quantile: float
) -> tuple[Array, Array, Array]:
    """Return rates and the ends of Wilson's intervals; NaN without trials."""
    rate = successes / np.where(trials > 0, trials, np.nan)
    centre = rate + quantile**2 / (2 * trials)
    half = quantile * np.sqrt(rate * (1 - rate) / trials + quantile**2 / (4 * trials**2))
    scale = 1 + quantile**2 / trials
    # For a rate of 0 or 1 an end equals the rate, except for rounding.
    low = np.minimum(np.maximum((centre - half) / scale, 0), rate)
    return rate, low, np.maximum(np.minimum((centre + half) / scale, 1), rate)


def _compute_score(
    successes: Array,
    trials: Array,
    baseline_successes: Array,
    baseline_trials: Array,
    *,
    difference: float,
) -> Array:
    """Return the score of a difference: z with the rates of maximum likelihood under it."""
    has_rows = (trials > 0) & (baseline_trials > 0)
    with np.errstate(all="ignore"):
        rate, base = successes / trials, baseline_successes / baseline_trials
        first, second = _find_likeliest_rates(rate, base, baseline_trials / trials, difference)
        variance = first * (1 - first) / trials + second * (1 - second) / baseline_trials
        away = rate - base - difference
        # Rates of 0 and 1 whose difference equals the tested one have no variance.
        score = np.where(away == 0, 0.0, away / np.sqrt(np.maximum(variance, 0)))
    return keep_defined(score, has_rows)


def _find_likeliest_rates(
    own: Array, base: Array, ratio: Array, difference: float
) -> tuple[Array, Array]:
    """Return the rates of maximum likelihood that differ by ``difference``.

    They are a root of a cubic: Farrington and Manning (1990), appendix. ``ratio`` is the number of
    the baseline's trials divided by the model's.
    """
    if difference == 0:
        pooled = (own + ratio * base) / (1 + ratio)
        return pooled, pooled
    a = 1 + ratio
    b = -(1 + ratio + own + ratio * base + difference * (ratio + 2))
    c = difference**2 + difference * (2 * own + ratio + 1) + own + ratio * base
    d = -own * difference * (1 + difference)
    v = b**3 / (3 * a) ** 3 - b * c / (6 * a**2) + d / (2 * a)
    u = np.where(v >= 0, 1.0, -1.0) * np.sqrt(np.maximum(b**2 / (3 * a) ** 2 - c / (3 * a), 0))
    w = (np.pi + np.arccos(np.clip(v / np.where(u == 0, np.nan, u**3), -1, 1))) / 3
    first = 2 * u * np.cos(w) - b / (3 * a)
    first = np.clip(
        np.where(u == 0, -b / (3 * a), first), max(difference, 0), min(1 + difference, 1)
    )
    return first, first - difference
