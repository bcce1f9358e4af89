"""Wilcoxon's signed rank test of paired losses, from the sum of ranks."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from sqleval.inference.libraries import np
from sqleval.inference.outcome import (
    Outcome,
    check_alternative,
    compute_normal_p_value,
    to_floats,
)

if TYPE_CHECKING:
    from sqleval.inference.libraries import Array, ArrayLike

#: Up to this number of differences the exact distribution of ranks is used, as in SciPy.
MOST_EXACT = 50


def apply_wilcoxon_test(
    positive_ranks: ArrayLike,
    n: ArrayLike,
    ties: ArrayLike = 0.0,
    *,
    alternative: str = "two-sided",
    correction: bool = False,
) -> Outcome:
    """Test whether paired differences are symmetric about 0, by the normal approximation.

    Parameters
    ----------
    positive_ranks : array_like
        W+, the sum of the ranks of positive differences. All nonzero differences are ranked by
        their absolute value, and ties share their mean rank.
    n : array_like
        The number of nonzero differences. The test is undefined without any.
    ties : array_like
        Sum of ``t ** 3 - t`` over the groups of t equal absolute differences.
    alternative : {"two-sided", "greater", "less"}
        ``greater``: the differences tend to be above 0.
    correction : bool
        Whether to correct for continuity, by half a rank.

    Returns
    -------
    Outcome
        ``statistic`` is z. The ends of the interval are NaN, because W+ does not depend on the size
        of the differences.

    References
    ----------
    Wilcoxon (1945), doi:10.2307/3001968. Equal to ``scipy.stats.wilcoxon`` with
    ``zero_method="wilcox"`` and ``method="asymptotic"``.

    Examples
    --------
    >>> outcome = apply_wilcoxon_test([48], [10])
    >>> outcome.statistic.round(4).tolist(), outcome.p_value.round(4).tolist()
    ([2.0896], [0.0367])
    """
    side = check_alternative(alternative)
    ranks, count, equal = to_floats(positive_ranks, n, ties)
    with np.errstate(all="ignore"):
        expected = count * (count + 1) / 4
        variance = (count * (count + 1) * (2 * count + 1) - equal / 2) / 24
        away = ranks - expected
        if correction:
            sign = {"two-sided": np.sign(away), "greater": 1.0, "less": -1.0}[side]
            away = away - 0.5 * sign
        z = away / np.sqrt(np.where(variance > 0, variance, np.nan))
        p_value = compute_normal_p_value(z, side)
    missing = np.full_like(z, np.nan)
    return Outcome(z, p_value, missing, missing.copy())


def apply_exact_wilcoxon_test(
    positive_ranks: ArrayLike, n: ArrayLike, *, alternative: str = "two-sided"
) -> Outcome:
    """Test whether paired differences are symmetric about 0, by the distribution of their ranks.

    Parameters
    ----------
    positive_ranks : array_like
        W+, a whole number, because the differences have no ties and no zeros.
    n : array_like
        The number of differences, at most `MOST_EXACT`; the test is undefined for more.
    alternative : {"two-sided", "greater", "less"}
        As in `apply_wilcoxon_test`.

    Returns
    -------
    Outcome
        As in `apply_wilcoxon_test`. The two-sided p-value is twice the smaller tail's.

    References
    ----------
    Wilcoxon (1945), doi:10.2307/3001968. Equal to ``scipy.stats.wilcoxon`` with
    ``method="exact"``.

    Examples
    --------
    >>> outcome = apply_exact_wilcoxon_test([48], [10])
    >>> outcome.p_value.round(4).tolist()
    [0.0371]
    """
    side = check_alternative(alternative)
    ranks, count = to_floats(positive_ranks, n)
    outcome = apply_wilcoxon_test(ranks, count, alternative=side)
    pairs = zip(ranks.flat, count.flat, strict=True)
    p_values = [_compute_p_value(float(w), float(size), side) for w, size in pairs]
    return outcome._replace(p_value=np.reshape(p_values, ranks.shape))


def _compute_p_value(rank_sum: float, n: float, side: str) -> float:
    if not 0 < n <= MOST_EXACT or not np.isfinite(rank_sum):
        return float("nan")
    counts = _count_signs(int(n))
    w = int(rank_sum)
    at_most, at_least = counts[: w + 1].sum() / 2.0**n, counts[w:].sum() / 2.0**n
    if side == "two-sided":
        return min(2 * min(at_most, at_least), 1.0)
    return float(at_least if side == "greater" else at_most)


@cache
def _count_signs(n: int) -> Array:
    """Return the number of the 2^n choices of signs that give each sum of positive ranks."""
    # Whole numbers up to 2^50 are exact in a double.
    counts = np.ones(1)
    for rank in range(1, n + 1):
        longer = np.concatenate([counts, np.zeros(rank)])
        longer[rank:] += counts
        counts = longer
    return counts
