"""Intervals and p-values from bootstrap replicates of a value, one column per slice."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sqleval.errors import RequestError
from sqleval.inference.libraries import np, special
from sqleval.inference.outcome import check_alternative, check_share, keep_defined

if TYPE_CHECKING:
    from sqleval.inference.libraries import Array, ArrayLike


class Interval(NamedTuple):
    """Ends of intervals, and on how many replicates each is based; NaN where it is undefined."""

    low: Array
    high: Array
    n_used: Array
    n_undefined: Array


def find_percentile_interval(
    replicates: ArrayLike, *, ci: float = 0.95, alternative: str = "two-sided"
) -> Interval:
    """Return the percentile interval of bootstrap replicates.

    Parameters
    ----------
    replicates : array_like
        Replicates along axis 0, slices along the others. NaN is a replicate in which the value is
        undefined: it is counted and left out.
    ci : float
        Confidence level.
    alternative : {"two-sided", "greater", "less"}
        ``greater``: from the lower quantile to infinity; ``less``: the mirror image.

    References
    ----------
    Efron and Tibshirani (1993), An Introduction to the Bootstrap, chapter 13. Equal to
    ``scipy.stats.bootstrap(method="percentile")`` for the same replicates.

    Examples
    --------
    >>> interval = find_percentile_interval([[0.1], [0.2], [0.3], [0.4], [float("nan")]], ci=0.8)
    >>> interval.low.round(3).tolist(), interval.n_undefined.tolist()
    ([0.13], [1])
    """
    values = _read_replicates(replicates)
    low, high = _find_shares(ci, alternative)
    shape = values.shape[1:]
    return _find_interval(values, np.full(shape, low), np.full(shape, high), alternative)


def find_bca_interval(
    replicates: ArrayLike,
    estimate: ArrayLike,
    acceleration: ArrayLike = 0.0,
    *,
    ci: float = 0.95,
    alternative: str = "two-sided",
) -> Interval:
    """Return the bias-corrected and accelerated (BCa) interval of bootstrap replicates.

    Parameters
    ----------
    replicates : array_like
        As in `find_percentile_interval`.
    estimate : array_like
        The value of all rows, per slice.
    acceleration : array_like
        The acceleration per slice, from `compute_acceleration`; with 0 it is the bias-corrected
        interval.
    ci, alternative
        As in `find_percentile_interval`.

    Returns
    -------
    Interval
        NaN where the bias is infinite: all replicates lie on one side of the estimate.

    References
    ----------
    Efron (1987), Better bootstrap confidence intervals, doi:10.1080/01621459.1987.10478410. Equal
    to ``scipy.stats.bootstrap(method="BCa")`` for the same replicates.

    Examples
    --------
    >>> interval = find_bca_interval([[0.1], [0.2], [0.3], [0.4]], [0.25], ci=0.8)
    >>> interval.low.round(3).tolist(), interval.high.round(3).tolist()
    ([0.13], [0.37])
    """
    values = _read_replicates(replicates)
    center = np.broadcast_to(np.asarray(estimate, dtype=np.float64), values.shape[1:])
    skewness = np.asarray(acceleration, dtype=np.float64)
    with np.errstate(all="ignore"):
        # Replicates equal to the estimate count half.
        below = (values < center).sum(axis=0) + (values <= center).sum(axis=0)
        bias = special.ndtri(below / (2 * (~np.isnan(values)).sum(axis=0)))
        shares: list[Array] = []
        for share in _find_shares(ci, alternative):
            z = bias + special.ndtri(share)
            moved = special.ndtr(bias + z / (1 - skewness * z))
            shares.append(np.where(np.isfinite(bias) & ~np.isnan(center), moved, np.nan))
    return _find_interval(values, shares[0], shares[1], alternative)


def compute_acceleration(jackknife: ArrayLike) -> Array:
    """Return the acceleration of a BCa interval from jackknife values.

    Parameters
    ----------
    jackknife : array_like
        Along axis 0 the values of the rows without one row (or without one block of rows); slices
        along the others. NaN is left out.

    Returns
    -------
    array
        The acceleration per slice; 0 where the values are all equal, NaN where there are none.

    References
    ----------
    Efron and Tibshirani (1993), An Introduction to the Bootstrap, equation 14.15.

    Examples
    --------
    >>> compute_acceleration([[1.0], [2.0], [6.0]]).round(4).tolist()
    [-0.0573]
    """
    values = _read_replicates(jackknife)
    is_used = ~np.isnan(values)
    count = is_used.sum(axis=0)
    with np.errstate(all="ignore"):
        mean = np.where(is_used, values, 0).sum(axis=0) / count
        away = np.where(is_used, mean - values, 0)
        squares = (away**2).sum(axis=0)
        skewness = (away**3).sum(axis=0) / (6 * squares**1.5)
    return np.where(count == 0, np.nan, np.where(squares > 0, skewness, 0.0))


def compute_bootstrap_p_value(differences: ArrayLike, *, alternative: str = "two-sided") -> Array:
    """Return the p-value of a difference from its bootstrap replicates.

    The p-value is the level at which the percentile interval just contains 0. With B replicates a
    tail's share is (k + 1) / (B + 1), so that a one-sided p-value is at least 1 / (B + 1).

    Parameters
    ----------
    differences : array_like
        Replicates of the difference along axis 0, slices along the others. NaN is left out.
    alternative : {"two-sided", "greater", "less"}
        ``two-sided``: twice the smaller tail, at most 1; ``greater``: the share of replicates at
        or below 0; ``less``: the share at or above 0.

    Returns
    -------
    array
        NaN where there are no replicates, or all of them are equal.

    References
    ----------
    Davison and Hinkley (1997), Bootstrap Methods and their Application, sections 4.4 and 5.2.

    Examples
    --------
    >>> compute_bootstrap_p_value([[0.1], [0.3], [-0.1], [0.2]]).tolist()
    [0.8]
    """
    side = check_alternative(alternative)
    values = _read_replicates(differences)
    count = (~np.isnan(values)).sum(axis=0)
    at_or_below = ((values <= 0).sum(axis=0) + 1) / (count + 1)
    at_or_above = ((values >= 0).sum(axis=0) + 1) / (count + 1)
    two_sided = np.minimum(2 * np.minimum(at_or_below, at_or_above), 1.0)
    p_value = {"two-sided": two_sided, "greater": at_or_below, "less": at_or_above}[side]
    if not values.shape[0]:
        return np.full_like(p_value, np.nan)
    most = np.where(np.isnan(values), -np.inf, values).max(axis=0)
    least = np.where(np.isnan(values), np.inf, values).min(axis=0)
    return keep_defined(p_value, most > least)


def _read_replicates(replicates: ArrayLike) -> Array:
    """Return replicates as doubles, with axis 0."""
    values = np.asarray(replicates, dtype=np.float64)
    if values.ndim == 0:
        raise RequestError("replicates: an array with the replicates along axis 0 is needed")
    return values


def _find_shares(ci: float, alternative: str) -> tuple[float, float]:
    """Return the shares of replicates below the two ends."""
    check_share("ci", ci)
    tail = (1 - ci) / 2 if check_alternative(alternative) == "two-sided" else 1 - ci
    return tail, 1 - tail


def _find_interval(values: Array, low: Array, high: Array, alternative: str) -> Interval:
    """Return the quantiles of replicates as an interval."""
    is_used = ~np.isnan(values)
    used, undefined = is_used.sum(axis=0), (~is_used).sum(axis=0)
    ascending = np.sort(values, axis=0)  # NaN last
    ends = [find_quantile(ascending, used, share) for share in (low, high)]
    is_defined = ~np.isnan(ends[0]) & ~np.isnan(ends[1])
    if alternative == "greater":
        ends[1] = keep_defined(np.full_like(ends[1], np.inf), is_defined)
    if alternative == "less":
        ends[0] = keep_defined(np.full_like(ends[0], -np.inf), is_defined)
    return Interval(ends[0], ends[1], used, undefined)


def find_quantile(ascending: Array, used: Array, share: Array) -> Array:
    """Return a quantile of the first ``used`` values along axis 0, interpolated linearly.

    Unlike `numpy.nanquantile` it takes another share per slice, and neither warns nor loops.

    Parameters
    ----------
    ascending : array
        Values in ascending order along axis 0.
    used : array of int
        How many of them are not NaN, per slice.
    share : array
        Which quantile, per slice.

    Examples
    --------
    >>> find_quantile(np.array([[1.0], [2.0], [4.0]]), np.array([3]), np.array([0.75])).tolist()
    [3.0]
    """
    is_defined = (used > 0) & ~np.isnan(share)
    if not ascending.shape[0]:
        return np.full_like(share, np.nan)
    place = np.where(is_defined, share * (used - 1), 0.0)
    lower = np.floor(place).astype(np.int64)
    upper = np.minimum(lower + 1, np.maximum(used - 1, 0))
    first, second = (
        np.take_along_axis(ascending, index[np.newaxis], axis=0)[0] for index in (lower, upper)
    )
    return keep_defined(first + (second - first) * (place - lower), is_defined)
