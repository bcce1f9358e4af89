"""Tests differences over folds with overlapping training rows: the corrected resampled t-test."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sqleval.errors import RequestError
from sqleval.inference.difference import apply_t_test
from sqleval.inference.libraries import np
from sqleval.inference.outcome import Outcome

if TYPE_CHECKING:
    from sqleval.inference.libraries import Array, ArrayLike


class FoldSummary(NamedTuple):
    """Mean difference over folds, its corrected standard error, and degrees of freedom."""

    difference: Array
    stderr: Array
    df: Array


def summarize_folds(differences: ArrayLike, ratio: ArrayLike) -> FoldSummary:
    """Return the mean of differences over folds with its corrected standard error.

    With J folds the variance is ``(1 / J + n_test / n_train) s^2``. The usual ``s^2 / J`` is too
    small, because folds share training rows.

    Parameters
    ----------
    differences : array_like
        Folds (of all repeats) along axis 0, slices along the others. NaN is left out.
    ratio : array_like
        Number of test rows divided by training rows: 1/9 for ten folds. Undefined below 0.

    Returns
    -------
    FoldSummary
        The standard error is NaN with fewer than two folds.

    Raises
    ------
    RequestError
        If there is no axis of folds.

    References
    ----------
    Nadeau and Bengio (2003), Inference for the generalization error,
    doi:10.1023/A:1024068626366.

    Examples
    --------
    >>> summary = summarize_folds([[0.01], [0.03], [0.02]], ratio=0.5)
    >>> summary.difference.round(4).tolist(), summary.stderr.round(4).tolist()
    ([0.02], [0.0091])
    """
    values = np.asarray(differences, dtype=np.float64)
    if values.ndim == 0:
        raise RequestError("differences must be an array with the folds along axis 0")
    is_used = ~np.isnan(values)
    count = is_used.sum(axis=0)
    with np.errstate(all="ignore"):
        mean = np.where(is_used, values, 0).sum(axis=0) / count
        squares = np.where(is_used, (values - mean) ** 2, 0).sum(axis=0)
        variance = np.where(count > 1, squares / (count - 1), np.nan)
        share = np.asarray(ratio, dtype=np.float64)
        stderr = np.sqrt((1 / count + np.where(share >= 0, share, np.nan)) * variance)
    return FoldSummary(mean, stderr, np.maximum(count - 1.0, 0))


def apply_corrected_t_test(
    differences: ArrayLike,
    ratio: ArrayLike,
    *,
    alternative: str = "two-sided",
    ci: float = 0.95,
) -> Outcome:
    """Test whether the mean difference over folds is 0: the corrected resampled t-test.

    Parameters
    ----------
    differences, ratio
        As in `summarize_folds`.
    alternative, ci
        As in `sqleval.inference.difference.apply_z_test`.

    Returns
    -------
    Outcome
        ``statistic`` is t with J - 1 degrees of freedom. The test is undefined if all folds have
        the same difference.

    References
    ----------
    Nadeau and Bengio (2003), Inference for the generalization error,
    doi:10.1023/A:1024068626366, equation 5.

    Examples
    --------
    >>> outcome = apply_corrected_t_test([[0.01], [0.03], [0.02]], ratio=0.5)
    >>> outcome.statistic.round(3).tolist(), outcome.p_value.round(3).tolist()
    ([2.191], [0.16])
    """
    summary = summarize_folds(differences, ratio)
    # Rounding gives equal differences a tiny variance.
    varies = summary.stderr > 1e-14 * np.abs(summary.difference)
    stderr = np.where(varies, summary.stderr, 0.0)
    return apply_t_test(summary.difference, stderr, summary.df, alternative=alternative, ci=ci)
