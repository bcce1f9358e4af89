"""Tests whether the mean loss of slices is larger than that of the other rows.

Two tests, of which the larger p-value counts: Welch's t-test, which allows other variances, and the
permutation test, which allows skewed losses. The distribution of a slice's sum over all
permutations has the mean, variance and skewness of samples without replacement; a Pearson
distribution of type III has the same three (Mielke and Berry 2007, Permutation Methods, chapter 2).
A negative skewness, of slices of more than half of the rows, counts as 0: the upper tail of that
distribution ends where sums can still be. Losses of 0 and 1 without weights have a hypergeometric
distribution, and an exact test.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sqleval.inference.libraries import load_library, np

if TYPE_CHECKING:
    from sqleval.inference.libraries import Array


class Sums(NamedTuple):
    """The sums of one slice or of several; see `sqleval.compiler.slice_sums.SUMS`."""

    n: Array
    weight: Array
    squares: Array
    deviation: Array
    squares_deviation: Array
    squared: Array
    cubed: Array

    def subtract(self, other: Sums) -> Sums:
        """Return the sums of the rows that are not in another slice, which is part of these."""
        return Sums(*(ours - theirs for ours, theirs in zip(self, other, strict=True)))


class Welch(NamedTuple):
    """The difference of two means, its standard error, and Welch's degrees of freedom."""

    difference: Array
    error: Array
    freedom: Array

    @property
    def p_value(self) -> Array:
        """The p-value of a difference that is not above 0."""
        stats = load_library("stats")
        t = _divide(self.difference, self.error, np.inf)
        t = np.where((self.error == 0) & (self.difference <= 0), -np.inf, t)
        return stats.t.sf(t, self.freedom)

    def compute_ends(self, level: float) -> tuple[Array, Array]:
        """Return the two-sided interval of the difference."""
        half = load_library("stats").t.ppf((1 + level) / 2, self.freedom) * self.error
        return self.difference - half, self.difference + half


def compute_mean(sums: Sums) -> Array:
    """Return the mean deviation of slices; NaN without weight."""
    weight = np.where(sums.weight > 0, sums.weight, np.nan)
    return sums.deviation / weight


def _compute_variance(sums: Sums) -> tuple[Array, Array]:
    """Return the variance of the mean of slices, and its degrees of freedom."""
    mean, effective = compute_mean(sums), sums.weight**2 / sums.squares
    total = sums.squared - 2 * mean * sums.squares_deviation + mean**2 * sums.squares
    freedom = np.maximum(effective - 1, 1e-9)
    # The factor makes it the sample variance, if all weights are 1.
    variance = np.maximum(total, 0) / sums.weight**2 * effective / freedom
    return variance, freedom


def compare_means(ours: Sums, theirs: Sums) -> Welch:
    """Return the difference of the means of slices and of other rows.

    Source: Welch (1947), Biometrika 34, 28-35; with weights, the linearised variance.

    Examples
    --------
    >>> import numpy as np
    >>> def add(x): return Sums(*([np.array([float(s)]) for s in
    ...     (len(x), len(x), len(x), x.sum(), x.sum(), (x**2).sum(), (x**3).sum())]))
    >>> a, b = np.array([1.0, 2, 3, 6]), np.array([0.0, 1, 1])
    >>> compare_means(add(a), add(b)).p_value.round(6).tolist()
    [0.058374]
    """
    (mine, d1), (other, d2) = _compute_variance(ours), _compute_variance(theirs)
    total = mine + other
    divisor = mine**2 / d1 + other**2 / d2
    freedom = np.divide(total**2, divisor, out=np.ones_like(total), where=divisor > 0)
    return Welch(compute_mean(ours) - compute_mean(theirs), np.sqrt(total), freedom)


def compute_permutation_p(slices: Sums, everything: Sums, *, is_binary: bool, mean: float) -> Array:
    """Return the p-values of a mean loss that is not larger than that of other rows.

    Parameters
    ----------
    slices, everything : Sums
        The sums of the slices, and of all rows; with weights, weighted losses are permuted.
    is_binary : bool
        Whether each loss is 0 or 1.
    mean : float
        The mean loss of all rows.
    """
    stats = load_library("stats")
    total, n = everything.n[0], slices.n
    if is_binary:
        wrong = np.rint(slices.deviation + mean * n)
        return stats.hypergeom.sf(wrong - 1, total, np.rint(mean * total), n)
    average = everything.deviation[0] / total
    second = everything.squared[0] / total - average**2
    third = everything.cubed[0] / total - 3 * average * everything.squared[0] / total
    third += 2 * average**3
    variance = n * second * (total - n) / max(total - 1, 1)
    cube = n * third * (total - n) * (total - 2 * n) / max((total - 1) * (total - 2), 1)
    # Of equal losses no sum is larger than another.
    z = _divide(slices.deviation - n * average, np.sqrt(np.maximum(variance, 0)), -np.inf)
    skewness = np.maximum(_divide(cube, np.maximum(variance, 0) ** 1.5, 0.0), 0)
    return stats.pearson3.sf(z, skewness)


def _divide(above: Array, below: Array, otherwise: float) -> Array:
    """Return ratios, with another value where the divisor is not above 0."""
    return np.divide(above, below, out=np.full_like(below, otherwise), where=below > 0)
