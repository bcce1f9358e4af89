"""Tests a difference by its standard error: normal, Student's t, and against a margin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqleval.errors import RequestError
from sqleval.inference.libraries import np, special
from sqleval.inference.outcome import (
    Outcome,
    check_alternative,
    check_share,
    compute_normal_p_value,
    find_ends,
    keep_defined,
    to_floats,
)

if TYPE_CHECKING:
    from sqleval.inference.libraries import Array, ArrayLike


def apply_z_test(
    difference: ArrayLike,
    stderr: ArrayLike,
    *,
    alternative: str = "two-sided",
    ci: float = 0.95,
) -> Outcome:
    """Test whether a difference is 0, from its standard error (Wald's z test).

    Parameters
    ----------
    difference : array_like
        Estimated differences, the model's value minus the baseline's.
    stderr : array_like
        Their standard errors. The test is undefined for a standard error of 0, NaN or infinity.
    alternative : {"two-sided", "greater", "less"}
        ``greater``: the difference is above 0; ``less``: it is below 0.
    ci : float
        Confidence level of the interval, which is ``difference -+ z stderr``. With a one-sided
        alternative it reaches from ``difference - z stderr`` to infinity (``greater``), or from
        minus infinity to ``difference + z stderr`` (``less``).

    Returns
    -------
    Outcome
        ``statistic`` is z = difference / stderr.

    References
    ----------
    Wald (1943), Tests of statistical hypotheses concerning several parameters,
    doi:10.1090/S0002-9947-1943-0012401-3. The paired test of two AUCs: DeLong, DeLong and
    Clarke-Pearson (1988), doi:10.2307/2531595.

    Examples
    --------
    >>> outcome = apply_z_test([0.012], [0.004])
    >>> outcome.p_value.round(4).tolist(), outcome.low.round(4).tolist()
    ([0.0027], [0.0042])
    """
    check_share("ci", ci)
    estimate, error = to_floats(difference, stderr)
    error = _keep_positive(error)
    with np.errstate(all="ignore"):
        z = estimate / error
        p_value = compute_normal_p_value(z, alternative)
        quantiles = special.ndtri(ci), special.ndtri((1 + ci) / 2)
        low, high = find_ends(estimate, error, quantiles, alternative)
    return Outcome(z, p_value, low, high)


def apply_t_test(
    difference: ArrayLike,
    stderr: ArrayLike,
    df: ArrayLike,
    *,
    alternative: str = "two-sided",
    ci: float = 0.95,
) -> Outcome:
    """Test whether a difference is 0, by Student's t distribution.

    For a paired t-test pass the mean of the row differences, its standard error and n - 1.

    Parameters
    ----------
    difference, stderr : array_like
        As in `apply_z_test`.
    df : array_like
        Degrees of freedom. The test is undefined unless they are positive. Infinity gives the
        normal distribution.
    alternative, ci
        As in `apply_z_test`.

    Returns
    -------
    Outcome
        ``statistic`` is t = difference / stderr.

    References
    ----------
    Student (1908), The probable error of a mean, doi:10.1093/biomet/6.1.1;
    scipy.stats.ttest_rel.

    Examples
    --------
    >>> outcome = apply_t_test([0.02], [0.01], [9])
    >>> outcome.p_value.round(4).tolist(), outcome.high.round(4).tolist()
    ([0.0766], [0.0426])
    """
    check_share("ci", ci)
    side = check_alternative(alternative)
    estimate, error, freedom = to_floats(difference, stderr, df)
    error, freedom = _keep_positive(error), keep_defined(freedom, freedom > 0)
    with np.errstate(all="ignore"):
        t = estimate / error
        below = t if side == "less" else -t if side == "greater" else -np.abs(t)
        p_value = special.stdtr(freedom, below) * (2 if side == "two-sided" else 1)
        quantiles = special.stdtrit(freedom, ci), special.stdtrit(freedom, (1 + ci) / 2)
        low, high = find_ends(estimate, error, quantiles, side)
    return Outcome(keep_defined(t, ~np.isnan(freedom)), p_value, low, high)


def apply_noninferiority_test(
    difference: ArrayLike,
    stderr: ArrayLike,
    margin: float,
    *,
    df: ArrayLike = float("inf"),
    ci: float = 0.95,
) -> Outcome:
    """Test whether a model is at most a margin worse than the baseline.

    The null hypothesis is ``difference <= -margin``. A small p-value shows that the model is worse
    by less than the margin, if at all. If lower values are better, pass the baseline's value minus
    the model's.

    Parameters
    ----------
    difference, stderr : array_like
        As in `apply_z_test`.
    margin : float
        The largest loss that does not matter, at least 0.
    df : array_like
        Degrees of freedom of Student's t; infinity gives the normal distribution.
    ci : float
        Level of the one-sided interval. Its lower end is above ``-margin`` exactly if the p-value
        is below ``1 - ci``.

    Returns
    -------
    Outcome
        ``statistic`` is (difference + margin) / stderr.

    References
    ----------
    Wellek (2010), Testing Statistical Hypotheses of Equivalence and Noninferiority, chapter 2.

    Examples
    --------
    >>> apply_noninferiority_test([-0.001], [0.004], margin=0.01).p_value.round(4).tolist()
    [0.0122]
    """
    check_margin(margin)
    (estimate,) = to_floats(difference)
    shifted = apply_t_test(estimate + margin, stderr, df, alternative="greater", ci=ci)
    return shifted._replace(low=shifted.low - margin, high=shifted.high)


def apply_equivalence_test(
    difference: ArrayLike,
    stderr: ArrayLike,
    margin: float,
    *,
    df: ArrayLike = float("inf"),
    ci: float = 0.95,
) -> Outcome:
    """Test whether two models differ by less than a margin: two one-sided tests (TOST).

    The null hypothesis is ``abs(difference) >= margin``.

    Parameters
    ----------
    difference, stderr : array_like
        As in `apply_z_test`.
    margin : float
        The smallest difference that matters, above 0.
    df : array_like
        As in `apply_noninferiority_test`.
    ci : float
        One minus the level of the test. The interval has the level ``2 ci - 1``, such as 90 %
        for ``ci=0.95``. It lies within the margins exactly if the p-value is below ``1 - ci``.

    Returns
    -------
    Outcome
        ``p_value`` and ``statistic`` come from the one-sided test with the larger p-value.

    References
    ----------
    Schuirmann (1987), A comparison of the two one-sided tests procedure and the power approach,
    doi:10.1007/BF01068419; statsmodels.stats.weightstats.ttost_paired.

    Examples
    --------
    >>> outcome = apply_equivalence_test([-0.001], [0.004], margin=0.01)
    >>> outcome.p_value.round(4).tolist(), outcome.low.round(4).tolist()
    ([0.0122], [-0.0076])
    """
    check_margin(margin)
    (estimate,) = to_floats(difference)
    above = apply_t_test(estimate + margin, stderr, df, alternative="greater", ci=ci)
    below = apply_t_test(estimate - margin, stderr, df, alternative="less", ci=ci)
    return combine_one_sided_tests(above, below)._replace(
        low=above.low - margin, high=below.high + margin
    )


def combine_one_sided_tests(above: Outcome, below: Outcome) -> Outcome:
    """Combine two one-sided tests, both of which must reject.

    Parameters
    ----------
    above, below : Outcome
        The tests with the alternatives ``greater`` and ``less``.

    Returns
    -------
    Outcome
        ``statistic`` and ``p_value`` of the test with the larger p-value, and the finite ends.

    Examples
    --------
    >>> above = apply_z_test([0.1], [0.05], alternative="greater")
    >>> below = apply_z_test([0.1], [0.05], alternative="less")
    >>> combine_one_sided_tests(above, below).p_value.round(4).tolist()
    [0.9772]
    """
    is_above = above.p_value >= below.p_value
    return Outcome(
        np.where(is_above, above.statistic, below.statistic),
        np.where(is_above, above.p_value, below.p_value),
        above.low,
        below.high,
    )


def check_margin(margin: float) -> float:
    """Check a margin and return it.

    Raises
    ------
    RequestError
        If the margin is negative or not finite.
    """
    if not 0 <= margin < float("inf"):
        raise RequestError(f"margin={margin!r} must be a number of at least 0, such as 0.01")
    return margin


def _keep_positive(stderr: Array) -> Array:
    """Return standard errors that are positive and finite, and NaN for others."""
    return keep_defined(stderr, (stderr > 0) & np.isfinite(stderr))
