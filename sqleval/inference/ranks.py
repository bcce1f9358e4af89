"""Compares models over data sets, folds or slices by ranks: Friedman's test and post-hoc tests."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from sqleval.errors import RequestError
from sqleval.inference.libraries import load_library, np, special
from sqleval.inference.outcome import (
    Outcome,
    check_share,
    compute_normal_p_value,
)

if TYPE_CHECKING:
    from sqleval.inference.libraries import Array, ArrayLike


class Ranks(NamedTuple):
    """Mean ranks of models; rank 1 is the best.

    ``average`` has the models along its last axis; ``n`` is the number of blocks (data sets, folds
    or slices), ``ties`` the sum of ``t ** 3 - t`` over the groups of t equal values of a block.
    """

    average: Array
    n: Array
    ties: Array


class Friedman(NamedTuple):
    """Friedman's chi-square, and its p-value."""

    chi_square: Array
    p_value: Array


class Nemenyi(NamedTuple):
    """P-values of all pairs of models, along the last two axes, and the critical difference."""

    p_value: Array
    critical_difference: Array


def rank_models(values: ArrayLike, *, higher_is_better: bool = True) -> Ranks:
    """Rank models within blocks, and average the ranks; ties share their mean rank.

    Parameters
    ----------
    values : array_like
        Values of a metric, blocks along axis 0, models along the last axis. A block with a missing
        value is left out.
    higher_is_better : bool
        Whether the highest value has rank 1.

    Examples
    --------
    >>> ranks = rank_models([[0.9, 0.8, 0.8], [0.7, 0.8, 0.6]])
    >>> ranks.average.tolist(), int(ranks.n), int(ranks.ties)
    ([1.5, 1.75, 2.75], 2, 6)
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim < 2:
        raise RequestError(
            "values must be an array with blocks along axis 0 and models along the last axis"
        )
    ordered = array if higher_is_better else -array
    mine, other = ordered[..., :, np.newaxis], ordered[..., np.newaxis, :]
    equal = (other == mine).sum(axis=-1)
    ranks = (other > mine).sum(axis=-1) + (equal + 1) / 2
    is_used = np.asarray(~np.isnan(array).any(axis=-1))
    n = is_used.sum(axis=0)
    with np.errstate(all="ignore"):
        average = np.where(is_used[..., np.newaxis], ranks, 0).sum(axis=0) / n[..., np.newaxis]
    # Each of t equal values adds t^2 - 1, so all t add t^3 - t.
    ties = np.where(is_used, (equal**2 - 1).sum(axis=-1), 0).sum(axis=0)
    return Ranks(average, n * 1.0, ties * 1.0)


def apply_friedman_test(ranks: Ranks) -> Friedman:
    """Test whether all models have the same distribution of ranks.

    Parameters
    ----------
    ranks : Ranks
        From `rank_models`, or from a statement. With ``ties=0`` the statistic follows Demsar's
        formula, without correction for ties.

    Returns
    -------
    Friedman
        ``chi_square`` has k - 1 degrees of freedom; NaN if all values are tied.

    References
    ----------
    Friedman (1937), doi:10.1080/01621459.1937.10503522; Demsar (2006), Statistical comparisons of
    classifiers over multiple data sets, section 3.2.2. Equal to
    ``scipy.stats.friedmanchisquare``.

    Examples
    --------
    >>> friedman = apply_friedman_test(Ranks([3.143, 2.000, 2.893, 1.964], 14, 0))
    >>> round(float(friedman.chi_square), 2)
    9.28
    """
    average, n, ties = (np.asarray(each, dtype=np.float64) for each in ranks)
    k = average.shape[-1]
    with np.errstate(all="ignore"):
        squares = ((average - (k + 1) / 2) ** 2).sum(axis=-1)
        # 1 without ties, 0 if all values are tied.
        untied = 1 - ties / (n * (k**3 - k))
        chi_square = 12 * n / (k * (k + 1)) * squares / untied
        chi_square = np.where((n > 0) & (untied > 0), chi_square, np.nan)
    return Friedman(chi_square, special.chdtrc(k - 1, chi_square))


def apply_nemenyi_test(ranks: Ranks, *, ci: float = 0.95) -> Nemenyi:
    """Compare all pairs of models by their mean ranks, after Friedman's test.

    Parameters
    ----------
    ranks : Ranks
        From `rank_models`.
    ci : float
        One minus the probability that any pair of equal models is reported as different.

    Returns
    -------
    Nemenyi
        Two models differ if their mean ranks differ by at least the critical difference; their
        p-value is then at most ``1 - ci``. The p-values are adjusted for the number of pairs.

    References
    ----------
    Nemenyi (1963), Distribution-free multiple comparisons; Demsar (2006), section 3.2.2.

    Examples
    --------
    >>> nemenyi = apply_nemenyi_test(Ranks([3.143, 2.000, 2.893, 1.964], 14, 0), ci=0.9)
    >>> round(float(nemenyi.critical_difference), 2), nemenyi.p_value.round(2)[0].tolist()
    (1.12, [1.0, 0.09, 0.96, 0.07])
    """
    average, n, _ = (np.asarray(each, dtype=np.float64) for each in ranks)
    k = average.shape[-1]
    stderr = _compute_rank_stderr(k, n)
    away = np.abs(average[..., :, np.newaxis] - average[..., np.newaxis, :])
    statistic = away / stderr[..., np.newaxis, np.newaxis] * np.sqrt(2)
    # Compute each distinct p-value once, because it is an integral.
    different, place = np.unique(statistic, return_inverse=True)
    p_value = load_library("stats").studentized_range.sf(different, k, np.inf)
    # By rounding, the survival function of 0 may exceed 1.
    p_value = np.clip(p_value, 0, 1)[place].reshape(statistic.shape)
    return Nemenyi(p_value, find_range_quantile(k, ci) / np.sqrt(2) * stderr)


def apply_baseline_rank_test(ranks: Ranks, baseline: int, *, ci: float = 0.95) -> Outcome:
    """Compare each model with the baseline by their mean ranks.

    Parameters
    ----------
    ranks : Ranks
        From `rank_models`.
    baseline : int
        Position of the baseline among the models.
    ci : float
        Confidence level of the interval for the baseline's mean rank minus the model's.

    Returns
    -------
    Outcome
        One element per model, NaN for the baseline. The p-values are not adjusted. Adjusting them
        by Holm's method is more powerful than the tests of Bonferroni and Dunn.

    References
    ----------
    Demsar (2006), section 3.2.2, "compared with a control classifier".

    Examples
    --------
    >>> outcome = apply_baseline_rank_test(Ranks([3.143, 2.000, 2.893, 1.964], 14, 0), 0)
    >>> outcome.p_value.round(3).tolist()
    [nan, 0.019, 0.608, 0.016]
    """
    check_share("ci", ci)
    average, n, _ = (np.asarray(each, dtype=np.float64) for each in ranks)
    k = average.shape[-1]
    difference = average[..., baseline, np.newaxis] - average
    difference[..., baseline] = np.nan
    stderr = np.broadcast_to(_compute_rank_stderr(k, n)[..., np.newaxis], difference.shape)
    z = difference / stderr
    half = special.ndtri((1 + ci) / 2) * stderr
    p_value = compute_normal_p_value(z, "two-sided")
    return Outcome(z, p_value, difference - half, difference + half)


def _compute_rank_stderr(k: int, n: Array) -> Array:
    """Return the standard error of a difference of two mean ranks if all models are equal."""
    return np.sqrt(k * (k + 1) / (6 * np.where(n > 0, n, np.nan)))


@lru_cache
def find_range_quantile(k: int, ci: float) -> float:
    """Return a quantile of the range of k standard normal variables.

    Examples
    --------
    >>> round(find_range_quantile(4, 0.95) / 2**0.5, 3)  # Demsar (2006), table 5a
    2.569
    """
    check_share("ci", ci)
    if k < 2:
        return float("nan")
    return float(load_library("stats").studentized_range.ppf(ci, k, np.inf))
