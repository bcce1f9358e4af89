"""McNemar's test of two classifiers on the same rows, from the rows that only one gets right."""

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

#: Bisection steps for the ends of an interval: 2 / 2^60 is below a double's precision.
_STEPS = 60


def apply_mcnemar_test(
    wins: ArrayLike,
    losses: ArrayLike,
    n: ArrayLike = float("nan"),
    *,
    alternative: str = "two-sided",
    ci: float = 0.95,
    correction: bool = True,
) -> Outcome:
    """Test whether two classifiers have the same accuracy on the same rows.

    Parameters
    ----------
    wins, losses : array_like
        Discordant counts: rows that only the model gets right, and rows that only the baseline
        gets right.
    n : array_like
        The number of all rows, for the interval of the difference of accuracies
        (`find_paired_rate_interval`). Without it the interval is NaN.
    alternative : {"two-sided", "greater", "less"}
        ``greater``: the model is right more often.
    ci : float
        Confidence level of the interval.
    correction : bool
        Whether to correct for continuity. The interval matches the test without correction.

    Returns
    -------
    Outcome
        ``statistic`` is the chi-square with 1 degree of freedom. The test is undefined without
        discordant rows.

    References
    ----------
    McNemar (1947), doi:10.1007/BF02295996; the correction: Edwards (1948),
    doi:10.1007/BF02289261. Equal to ``statsmodels.stats.contingency_tables.mcnemar`` with
    ``exact=False``, except for equal counts, where statsmodels corrects a difference of 0 to -1.

    Examples
    --------
    >>> outcome = apply_mcnemar_test([25], [15])
    >>> outcome.statistic.tolist(), outcome.p_value.round(4).tolist()
    ([2.025], [0.1547])
    """
    side = check_alternative(alternative)
    won, lost, rows = to_floats(wins, losses, n)
    with np.errstate(all="ignore"):
        root = np.sqrt(won + lost)
        off = 1.0 if correction else 0.0
        # Correct each tail towards the null hypothesis.
        above, below = (won - lost - off) / root, (won - lost + off) / root
        away = np.maximum(np.abs(won - lost) - off, 0)
        chi_square = away**2 / (won + lost)
        z = {"two-sided": away / root, "greater": above, "less": below}[side]
        p_value = compute_normal_p_value(z, side)
    low, high = find_paired_rate_interval(won, lost, rows, ci=ci, alternative=side)
    return Outcome(chi_square, p_value, low, high)


def apply_exact_mcnemar_test(
    wins: ArrayLike,
    losses: ArrayLike,
    n: ArrayLike = float("nan"),
    *,
    alternative: str = "two-sided",
    ci: float = 0.95,
) -> Outcome:
    """Test whether two classifiers have the same accuracy, by the binomial distribution.

    Parameters
    ----------
    wins, losses, n, alternative, ci
        As in `apply_mcnemar_test`. The test is undefined for counts that are not whole.

    Returns
    -------
    Outcome
        ``statistic`` is the smaller count. The two-sided p-value is twice the smaller tail's, at
        most 1. Without discordant rows it is 1.

    References
    ----------
    McNemar (1947), doi:10.1007/BF02295996. Equal to
    ``statsmodels.stats.contingency_tables.mcnemar(exact=True)``.

    Examples
    --------
    >>> apply_exact_mcnemar_test([11], [1]).p_value.round(6).tolist()
    [0.006348]
    """
    side = check_alternative(alternative)
    won, lost, rows = to_floats(wins, losses, n)
    is_whole = (won >= 0) & (lost >= 0) & (won == np.floor(won)) & (lost == np.floor(lost))
    trials = won + lost
    if side == "two-sided":
        p_value = np.minimum(2 * _compute_binomial_cdf(np.minimum(won, lost), trials), 1)
    else:
        p_value = _compute_binomial_cdf(lost if side == "greater" else won, trials)
    low, high = find_paired_rate_interval(won, lost, rows, ci=ci, alternative=side)
    statistic = np.minimum(won, lost)
    return Outcome(keep_defined(statistic, is_whole), keep_defined(p_value, is_whole), low, high)


def _compute_binomial_cdf(successes: Array, trials: Array) -> Array:
    """Return P(X <= successes) for trials with probability one half."""
    with np.errstate(all="ignore"):
        # The incomplete beta function needs positive arguments.
        share = special.betainc(np.maximum(trials - successes, 1), successes + 1, 0.5)
    return np.where(successes >= trials, 1.0, share)


def find_paired_rate_interval(
    wins: ArrayLike,
    losses: ArrayLike,
    n: ArrayLike,
    *,
    ci: float = 0.95,
    alternative: str = "two-sided",
) -> tuple[Array, Array]:
    """Return Tango's score interval for the difference of two rates on the same rows.

    It contains 0 exactly if McNemar's test without correction does not reject. It keeps its level
    for small counts, and stays within -1 .. 1.

    Parameters
    ----------
    wins, losses : array_like
        Discordant counts, as in `apply_mcnemar_test`.
    n : array_like
        The number of all rows.
    ci : float
        Confidence level.
    alternative : {"two-sided", "greater", "less"}
        The upper end is infinite for ``greater``, the lower end for ``less``.

    Returns
    -------
    (array, array)
        The ends; NaN without rows.

    References
    ----------
    Tango (1998), Equivalence test and confidence interval for the difference in proportions for
    the paired-sample design, doi:10.1002/(SICI)1097-0258(19980430)17:8<891::AID-SIM780>3.0.CO;2-B.

    Examples
    --------
    >>> low, high = find_paired_rate_interval([1], [7], [21])
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([-0.517], [-0.026])
    """
    check_share("ci", ci)
    side = check_alternative(alternative)
    won, lost, rows = to_floats(wins, losses, n)
    is_defined = (rows > 0) & (won >= 0) & (lost >= 0) & (won + lost <= rows)
    quantile = float(special.ndtri((1 + ci) / 2 if side == "two-sided" else ci))
    # The lower end is minus the upper end for exchanged counts.
    high = _find_upper_end(won, lost, rows, quantile)
    low = -_find_upper_end(lost, won, rows, quantile)
    if side == "less":
        low = np.full_like(low, -np.inf)
    if side == "greater":
        high = np.full_like(high, np.inf)
    return keep_defined(low, is_defined), keep_defined(high, is_defined)


def apply_paired_rate_noninferiority_test(
    wins: ArrayLike, losses: ArrayLike, n: ArrayLike, margin: float, *, ci: float = 0.95
) -> Outcome:
    """Test whether a model's accuracy is at most a margin below the baseline's.

    The null hypothesis is ``difference <= -margin``. Unlike a test by the standard error of the
    difference, it keeps its level if few rows or none are discordant.

    Parameters
    ----------
    wins, losses, n : array_like
        As in `find_paired_rate_interval`.
    margin : float
        The largest loss that does not matter, at least 0.
    ci : float
        Level of the one-sided interval. Its lower end is above ``-margin`` exactly if the p-value
        is below ``1 - ci``.

    Returns
    -------
    Outcome
        ``statistic`` is Tango's score, standard normal under the null hypothesis.

    References
    ----------
    Tango (1998), equation 22; see `find_paired_rate_interval`.

    Examples
    --------
    >>> apply_paired_rate_noninferiority_test([3], [2], [200], 0.05).p_value.round(5).tolist()
    [0.00099]
    """
    check_margin(margin)
    won, lost, rows = to_floats(wins, losses, n)
    low, high = find_paired_rate_interval(won, lost, rows, ci=ci, alternative="greater")
    score = keep_defined(_compute_score(won, lost, rows, np.full_like(rows, -margin)), rows > 0)
    return Outcome(score, compute_normal_p_value(score, "greater"), low, high)


def apply_paired_rate_equivalence_test(
    wins: ArrayLike, losses: ArrayLike, n: ArrayLike, margin: float, *, ci: float = 0.95
) -> Outcome:
    """Test whether the accuracies of two models differ by less than a margin.

    It combines two one-sided tests. The null hypothesis is ``abs(difference) >= margin``.

    Parameters
    ----------
    wins, losses, n : array_like
        As in `find_paired_rate_interval`.
    margin : float
        The smallest difference that matters, at least 0.
    ci : float
        As in `apply_equivalence_test`.

    Returns
    -------
    Outcome
        As in `apply_equivalence_test`.

    References
    ----------
    Tango (1998), equation 22; see `find_paired_rate_interval`.

    Examples
    --------
    >>> apply_paired_rate_equivalence_test([3], [2], [200], 0.05).p_value.round(5).tolist()
    [0.00427]
    """
    won, lost, rows = to_floats(wins, losses, n)
    above = apply_paired_rate_noninferiority_test(won, lost, rows, margin, ci=ci)
    # The other side is the same test with exchanged counts.
    below = apply_paired_rate_noninferiority_test(lost, won, rows, margin, ci=ci)
    below = below._replace(statistic=-below.statistic, high=-below.low)
    return combine_one_sided_tests(above, below)


def _find_upper_end(won: Array, lost: Array, n: Array, quantile: float) -> Array:
    """Return the largest difference that Tango's score test does not reject, by bisection."""
    with np.errstate(all="ignore"):
        inside, outside = (won - lost) / n, np.ones_like(n)
        for _ in range(_STEPS):
            middle = (inside + outside) / 2
            is_inside = _compute_score(won, lost, n, middle) >= -quantile
            inside = np.where(is_inside, middle, inside)
            outside = np.where(is_inside, outside, middle)
    return inside


def _compute_score(won: Array, lost: Array, n: Array, difference: Array) -> Array:
    """Return Tango's score statistic for a difference: equation 22, where c is ``lost``."""
    linear = -won - lost + (2 * n - won + lost) * difference
    constant = -lost * difference * (1 - difference)
    # The maximum likelihood estimate of P(lost) under the difference.
    share = (np.sqrt(linear**2 - 8 * n * constant) - linear) / (4 * n)
    variance = n * (2 * share + difference * (1 - difference))
    with np.errstate(all="ignore"):
        return (won - lost - n * difference) / np.sqrt(variance)
