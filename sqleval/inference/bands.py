"""Computes bands of a curve from its replicates: pointwise, and simultaneous for the curve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from sqleval.errors import RequestError
from sqleval.inference.libraries import np, special
from sqleval.inference.outcome import check_share, keep_defined

if TYPE_CHECKING:
    from sqleval.inference.libraries import Array, ArrayLike, Flags


#: Replicates that differ by less are equal except for rounding.
_ROUNDING = 1e-13


class Band(NamedTuple):
    """Ends of a band at each point of a curve, and the multiple of the standard error.

    The ends are NaN at a point without replicates, or, in a simultaneous band, with fewer than two.
    ``critical`` is NaN for a pointwise band.
    """

    low: Array
    high: Array
    critical: Array


def find_pointwise_band(
    replicates: ArrayLike,
    *,
    ci: float = 0.95,
    limits: tuple[float, float] = (-float("inf"), float("inf")),
    least_error: ArrayLike = 0.0,
) -> Band:
    """Return the percentile interval at each point of a curve.

    Each point is covered with probability ``ci``, the whole curve with less.

    Parameters
    ----------
    replicates : array_like
        Replicates of the curve along axis 0, points along the last axis, slices in between. NaN is
        left out.
    ci : float
        Confidence level.
    limits : (float, float)
        The least and largest possible values, such as 0 and 1.
    least_error : array_like
        A standard error per point and slice. The interval is at least as wide as it gives, on
        either side of the median.

    References
    ----------
    Efron and Tibshirani (1993), An Introduction to the Bootstrap, chapter 13. Equal to
    ``scipy.stats.bootstrap(method="percentile")`` for the same replicates.

    Examples
    --------
    >>> band = find_pointwise_band([[0.0, 0.1], [0.0, 0.2], [0.0, 0.3]], ci=0.5)
    >>> band.low.round(3).tolist(), band.high.round(3).tolist()
    ([0.0, 0.15], [0.0, 0.25])
    """
    check_share("ci", ci)
    values = _read_curves(replicates)
    tail = (1 - ci) / 2
    low, median, high = _find_quantiles(values, (tail, 0.5, 1 - tail))
    half = special.ndtri((1 + ci) / 2) * np.asarray(least_error)
    low = np.clip(np.minimum(low, median - half), *limits)
    high = np.clip(np.maximum(high, median + half), *limits)
    return Band(low, high, np.full(values.shape[1:-1], np.nan))


def find_simultaneous_band(
    replicates: ArrayLike,
    estimate: ArrayLike,
    *,
    ci: float = 0.95,
    limits: tuple[float, float] = (-float("inf"), float("inf")),
    least_error: ArrayLike = 0.0,
) -> Band:
    """Return a band that covers the whole curve with probability ``ci`` (sup-t, or max-|t|).

    The band is the curve plus and minus c standard errors at each point. The critical value c is
    the ``ci`` quantile, over the replicates, of a replicate's largest distance from the curve in
    standard errors.

    Parameters
    ----------
    replicates : array_like
        Replicates of the curve along axis 0, points along the last axis, slices in between. NaN is
        left out.
    estimate : array_like
        The curve of all rows, points along the last axis.
    ci : float
        Confidence level.
    limits : (float, float)
        The least and largest possible values, such as 0 and 1, at which the band is clipped.
    least_error : array_like
        The least standard error, per point and slice. A share that is 0 or 1 in the sample is so in
        all replicates, although the true share may differ.

    Returns
    -------
    Band
        At a point without variance, such as the ends of a ROC curve, both ends are the curve.

    References
    ----------
    Montiel Olea and Plagborg-Moller (2019), Simultaneous confidence bands: theory,
    implementation, and an application to SVARs, doi:10.1002/jae.2656, algorithm 2.

    Examples
    --------
    >>> curves = [[0.0, 0.1], [0.0, 0.2], [0.0, 0.3]]
    >>> band = find_simultaneous_band(curves, [0.0, 0.2])
    >>> band.low.round(3).tolist(), band.critical.round(3).tolist()
    ([0.0, 0.1], 1.0)
    """
    check_share("ci", ci)
    values = _read_curves(replicates)
    curve = np.broadcast_to(np.asarray(estimate, dtype=np.float64), values.shape[1:])
    error, largest, varies = _standardize(values, curve, least_error)
    (critical,) = _find_quantiles(np.where(varies.any(axis=-1), largest, np.nan), (ci,))
    half = np.where(varies.any(axis=0), critical[..., np.newaxis] * error, 0 * error)
    return Band(np.clip(curve - half, *limits), np.clip(curve + half, *limits), critical)


def compute_curve_p_value(
    replicates: ArrayLike, estimate: ArrayLike, *, least_error: ArrayLike = 0.0
) -> Array:
    """Return the p-value of the hypothesis that a curve of differences is 0 everywhere.

    The statistic is the largest distance from 0 in standard errors. The p-value is the share of
    replicates that are as far from the estimate, so it is below ``1 - ci`` if the simultaneous band
    excludes 0 somewhere.

    Parameters
    ----------
    replicates, estimate, least_error
        As in `find_simultaneous_band`.

    Returns
    -------
    array
        One p-value per slice; NaN if no point varies.

    Examples
    --------
    >>> differences = [[0.0, 0.1], [0.0, 0.2], [0.0, 0.3]]
    >>> compute_curve_p_value(differences, [0.0, 0.2]).tolist()
    0.25
    """
    values = _read_curves(replicates)
    curve = np.broadcast_to(np.asarray(estimate, dtype=np.float64), values.shape[1:])
    error, largest, varies = _standardize(values, curve, least_error)
    with np.errstate(all="ignore"):
        distance = np.where(varies.any(axis=0), np.abs(curve) / error, 0).max(axis=-1, initial=0)
    used = varies.any(axis=-1)
    as_far = (used & (largest >= distance)).sum(axis=0)
    return np.where(used.any(axis=0), (as_far + 1) / (used.sum(axis=0) + 1), np.nan)


def raise_bias(bias: ArrayLike, spread: ArrayLike, error: ArrayLike) -> Array:
    """Return the bias at each point of a curve, raised to at least the mean bias of all points.

    If one threshold of a sample is far better than all others, replicates hardly show that it is
    best partly by chance. At other points of the curve they do. So the mean bias, in standard
    errors, is the least size of the bias at every point.

    Parameters
    ----------
    bias : array_like
        The mean of the replicates minus the curve, points along the last axis.
    spread : array_like
        The standard deviation of the replicates. A point where it is 0 keeps its bias.
    error : array_like
        The standard error, at least ``spread``.

    Examples
    --------
    >>> raise_bias([0.0, -0.2, -0.01, -0.1], [0.0, 0.2, 0.1, 0.1], [0.1, 0.2, 0.1, 0.1]).round(2)
    array([ 0.  , -0.2 , -0.07, -0.1 ])
    """
    shown, errors = np.asarray(bias), np.asarray(error)
    with np.errstate(all="ignore"):
        relative = np.where(np.asarray(spread) > _ROUNDING, shown / errors, np.nan)
    varies = ~np.isnan(relative)
    total = np.where(varies, relative, 0).sum(axis=-1, keepdims=True)
    mean = total / np.maximum(varies.sum(axis=-1, keepdims=True), 1)
    return np.where(np.abs(mean) > np.abs(relative), mean * errors, shown)


def _standardize(values: Array, curve: Array, least_error: ArrayLike) -> tuple[Array, Array, Flags]:
    """Return standard errors, each replicate's largest distance in them, and flags of variation."""
    is_used = ~np.isnan(values)
    count = is_used.sum(axis=0)
    with np.errstate(all="ignore"):
        mean = np.where(is_used, values, 0).sum(axis=0) / count
        squares = np.where(is_used, (values - mean) ** 2, 0).sum(axis=0)
        error = np.where(count > 1, np.sqrt(squares / (count - 1)), np.nan)
        error = np.maximum(error, least_error)
        away = np.abs(values - curve) / error
    # Rounding gives equal replicates a tiny standard error.
    varies = is_used & (error > 1e-12 * np.maximum(np.abs(mean), 1e-300))
    return error, np.where(varies, away, 0).max(axis=-1, initial=0), varies


def _find_quantiles(values: Array, shares: Sequence[float]) -> list[Array]:
    """Return quantiles along axis 0, interpolated linearly, ignoring NaN.

    Unlike `numpy.nanquantile` it neither warns nor loops.
    """
    used = (~np.isnan(values)).sum(axis=0)
    if not values.shape[0]:
        return [np.full(used.shape, np.nan) for _ in shares]
    ascending = np.sort(values, axis=0)  # NaN last
    quantiles: list[Array] = []
    for share in shares:
        place = np.where(used > 0, share * (used - 1), 0.0)
        lower = np.floor(place).astype(np.int64)
        upper = np.minimum(lower + 1, np.maximum(used - 1, 0))
        first, second = (
            np.take_along_axis(ascending, index[np.newaxis], axis=0)[0] for index in (lower, upper)
        )
        quantiles.append(keep_defined(first + (second - first) * (place - lower), used > 0))
    return quantiles


def _read_curves(replicates: ArrayLike) -> Array:
    """Return replicates of a curve as doubles, with axes for replicates and points."""
    values = np.asarray(replicates, dtype=np.float64)
    if values.ndim < 2:
        raise RequestError(
            "replicates of a curve must be an array with replicates along axis 0 and points along "
            "the last axis"
        )
    return values
