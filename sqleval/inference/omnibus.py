"""Tests whether any of several models differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sqleval.inference.libraries import np, special

if TYPE_CHECKING:
    from sqleval.inference.libraries import Array, ArrayLike

#: Eigenvalues of a covariance that are smaller, relative to the largest, are rounding errors.
_ROUNDING = 1e-10


class Omnibus(NamedTuple):
    """The chi-square of a test, its degrees of freedom and p-value; NaN if undefined."""

    chi_square: float
    df: int
    p_value: float


def apply_joint_test(values: ArrayLike, variances: ArrayLike) -> Omnibus:
    """Test whether several correlated values are equal, such as areas under ROC curves.

    Parameters
    ----------
    values : array_like
        The values of k models on the same rows.
    variances : array_like
        The variance of the difference of each pair of values, k x k; 0 on the diagonal.

    Returns
    -------
    Omnibus
        The degrees of freedom are k - 1, or fewer if models rank the rows alike.

    References
    ----------
    DeLong, DeLong and Clarke-Pearson (1988), doi:10.2307/2531595, equation 5.

    Examples
    --------
    >>> outcome = apply_joint_test([0.8, 0.75], [[0, 0.0004], [0.0004, 0]])
    >>> round(outcome.chi_square, 4), outcome.df, round(outcome.p_value, 4)
    (6.25, 1, 0.0124)
    """
    areas, spread = np.asarray(values, dtype=float), np.asarray(variances, dtype=float)
    away = areas[1:] - areas[0]
    # For differences a, b from the first value, cov(a, b) = (var(a) + var(b) - var(a - b)) / 2.
    from_first = spread[1:, :1]
    covariance = (from_first + from_first.T - spread[1:, 1:]) / 2
    if np.isnan(covariance).any() or np.isnan(away).any():
        return Omnibus(float("nan"), 0, float("nan"))
    sizes, directions = np.linalg.eigh(covariance)
    is_real = sizes > _ROUNDING * max(float(sizes.max(initial=0.0)), 1e-300)
    parts = directions.T @ away
    df = int(is_real.sum())
    # A difference without any variance cannot be tested.
    is_certain = (np.abs(parts[~is_real]) > _ROUNDING).any()
    if not df or is_certain:
        return Omnibus(float("nan"), df, float("nan"))
    chi_square = float((parts[is_real] ** 2 / sizes[is_real]).sum())
    return Omnibus(chi_square, df, float(special.chdtrc(df, chi_square)))


def apply_cochran_test(hits: ArrayLike, discordant: ArrayLike) -> Omnibus:
    """Test whether several models are equally often right on the same rows: Cochran's Q.

    Parameters
    ----------
    hits : array_like
        The number of rows that each of k models gets right.
    discordant : array_like
        The number of rows that exactly one of two models gets right, k x k.

    Returns
    -------
    Omnibus
        NaN if all models get the same rows right.

    References
    ----------
    Cochran (1950), The comparison of percentages in matched samples, doi:10.2307/2332378. Equal to
    ``statsmodels.stats.contingency_tables.cochrans_q``.

    Examples
    --------
    >>> outcome = apply_cochran_test([6, 3], [[0, 5], [5, 0]])
    >>> round(outcome.chi_square, 4), outcome.df
    (1.8, 1)
    """
    right = np.asarray(hits, dtype=float)
    k = len(right)
    # A row that r models get right is discordant for r (k - r) pairs, the terms of Cochran's sum.
    total = float(np.asarray(discordant, dtype=float).sum()) / 2
    if not total > 0:
        return Omnibus(float("nan"), k - 1, float("nan"))
    spread: Array = (right - right.mean()) ** 2
    q = float(k * (k - 1) * spread.sum() / total)
    return Omnibus(q, k - 1, float(special.chdtrc(k - 1, q)))
