"""Bands of a curve from replicates of it: pointwise, and simultaneous for the whole curve."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sqleval.errors import RequestError
from sqleval.inference.libraries import np
from sqleval.inference.outcome import check_share
from sqleval.inference.replicates import find_percentile_interval, find_quantile

if TYPE_CHECKING:
    from sqleval.inference.libraries import Array, ArrayLike, Flags


class Band(NamedTuple):
    """Ends of a band at each point of a curve, and the multiple of the standard error.

    The ends are NaN at a point without replicates (of a simultaneous band: with fewer than two),
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
) -> Band:
    """Return the percentile interval at each point of a curve.

    Each point is covered with probability ``ci``, the whole curve with less.

    Parameters
    ----------
    replicates : array_like
        Replicates of the curve along axis 0, points along the last axis, slices in between.
    ci : float
        Confidence level.
    limits : (float, float)
        What values can be, such as 0 and 1.

    Examples
    --------
    >>> band = find_pointwise_band([[0.0, 0.1], [0.0, 0.2], [0.0, 0.3]], ci=0.5)
    >>> band.low.round(3).tolist(), band.high.round(3).tolist()
    ([0.0, 0.15], [0.0, 0.25])
    """
    values = _read_curves(replicates)
    interval = find_percentile_interval(values, ci=ci)
    low, high = np.clip(interval.low, *limits), np.clip(interval.high, *limits)
    return Band(low, high, np.full(values.shape[1:-1], np.nan))


def find_simultaneous_band(
    replicates: ArrayLike,
    estimate: ArrayLike,
    *,
    ci: float = 0.95,
    limits: tuple[float, float] = (-float("inf"), float("inf")),
) -> Band:
    """Return a band that covers the whole curve with probability ``ci`` (sup-t, or max-|t|).

    The band is the curve -+ c standard errors of each point. The critical value c is the ``ci``
    quantile, over the replicates, of the largest distance of a replicate from the curve in
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
        What values can be, such as 0 and 1: the band is cut there.

    Returns
    -------
    Band
        A point without variance, such as the ends of a ROC curve, is its own band.

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
    is_used = ~np.isnan(values)
    count = is_used.sum(axis=0)
    with np.errstate(all="ignore"):
        mean = np.where(is_used, values, 0).sum(axis=0) / count
        squares = np.where(is_used, (values - mean) ** 2, 0).sum(axis=0)
        error = np.where(count > 1, np.sqrt(squares / (count - 1)), np.nan)
        away = np.abs(values - curve) / error
    # Rounding alone gives equal replicates a tiny error.
    varies = is_used & (error > 1e-12 * np.maximum(np.abs(mean), 1e-300))
    largest = np.where(varies, away, 0).max(axis=-1, initial=0)
    critical = np.asarray(_find_level(largest, varies.any(axis=-1), ci))
    half = np.where(varies.any(axis=0), critical[..., np.newaxis] * error, 0 * error)
    return Band(np.clip(curve - half, *limits), np.clip(curve + half, *limits), critical)


def _find_level(largest: Array, varies: Flags, ci: float) -> Array:
    """Return the ``ci`` quantile of the largest distances, over the replicates with any."""
    ascending = np.sort(np.where(varies, largest, np.nan), axis=0)
    used: Array = varies.sum(axis=0)
    return find_quantile(ascending, used, np.full(used.shape, ci))


def _read_curves(replicates: ArrayLike) -> Array:
    """Return replicates of a curve as doubles, with axes for replicates and points."""
    values = np.asarray(replicates, dtype=np.float64)
    if values.ndim < 2:
        raise RequestError(
            "replicates of a curve: an array with the replicates along axis 0 and the points along "
            "the last axis is needed"
        )
    return values
