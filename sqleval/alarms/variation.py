"""Estimates the variance between periods beyond sampling error, by moments, pooled over slices."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sqleval.inference.libraries import np

if TYPE_CHECKING:
    from sqleval.inference.libraries import Array

#: A higher correlation between neighbouring periods cannot be distinguished from a trend.
_MAX_CORRELATION = 0.9


class Sums(NamedTuple):
    """Weighted sums over periods, each an array with one number per slice.

    Attributes
    ----------
    periods : Array
        Number of periods.
    weight, square : Array
        Sums of the weights a, and of their squares.
    value, value_square : Array
        Sums of a x and a x^2, where x is the estimate.
    error, error_square : Array
        Sums of a v and a^2 v, where v is the variance of x.
    pairs, later, earlier, product : Array
        Number of pairs of neighbouring periods, and the sums over these pairs of the later x, of
        the earlier x, and of their product.
    """

    periods: Array
    weight: Array
    square: Array
    value: Array
    value_square: Array
    error: Array
    error_square: Array
    pairs: Array
    later: Array
    earlier: Array
    product: Array

    @property
    def mean(self) -> Array:
        """The weighted mean."""
        with np.errstate(all="ignore"):
            return self.value / self.weight

    @property
    def sampling_variance(self) -> Array:
        """The variance of the mean by sampling error alone."""
        with np.errstate(all="ignore"):
            return self.error_square / self.weight**2

    @property
    def share(self) -> Array:
        """The factor of the variance between periods in the variance of the mean: 1 / periods."""
        with np.errstate(all="ignore"):
            return self.square / self.weight**2


class Variation(NamedTuple):
    """Variation between periods beyond sampling error.

    Attributes
    ----------
    tau_squared : Array
        The variance between periods of each slice.
    variance : Array
        The variance of the estimate ``tau_squared``.
    correlation : float
        The correlation between neighbouring periods, pooled over all slices.
    """

    tau_squared: Array
    variance: Array
    correlation: float

    def inflate(self, share: Array) -> Array:
        """Return the factor of ``tau_squared`` in the variance of a mean over periods.

        For independent periods it is ``share``, or 1 / periods. Here periods are modelled as an
        autoregressive process of first order.
        """
        rho, count = self.correlation, 1 / share
        sums = rho / (1 - rho) - rho * (1 - rho**count) / (count * (1 - rho) ** 2)
        return share * (1 + 2 * sums)


def collect_terms(weight: Array, value: Array, error: Array) -> Sums:
    """Return the terms that `Sums` adds up over periods.

    Parameters
    ----------
    weight, value, error : Array
        Weights, estimates and their variances, by slice (rows) and period (columns); NaN if a
        slice has no estimate.
    """
    is_present = np.isfinite(value) & np.isfinite(error) & (weight > 0)
    a, x, v = (np.where(is_present, each, 0.0) for each in (weight, value, error))
    before = np.zeros_like(is_present)
    before[:, 1:] = is_present[:, :-1]
    pair = (is_present & before).astype(float)
    earlier = np.zeros_like(x)
    earlier[:, 1:] = x[:, :-1]
    pairs = pair, pair * x, pair * earlier, pair * x * earlier
    return Sums(is_present.astype(float), a, a * a, a * x, a * x * x, a * v, a * a * v, *pairs)


def estimate_between_variance(value: Array, variance: Array) -> float:
    """Estimate the variance between true values from estimates with known variances.

    Parameters
    ----------
    value, variance : Array
        Estimates and their variances; NaN are left out.

    Returns
    -------
    float
        The moment estimate, at least 0; 0 for a single estimate.

    References
    ----------
    DerSimonian and Laird (1986), Meta-analysis in clinical trials,
    doi:10.1016/0197-2456(86)90046-2; statsmodels.stats.meta_analysis.combine_effects.

    Examples
    --------
    >>> from sqleval.inference.libraries import load_library
    >>> array = load_library("numpy").array
    >>> round(estimate_between_variance(array([0.1, 0.5, 0.9]), array([0.01, 0.01, 0.01])), 4)
    0.15
    """
    is_present = np.isfinite(value) & np.isfinite(variance) & (variance > 0)
    x, w = value[is_present], 1 / variance[is_present]
    total = w.sum()
    scale = total - (w * w).sum() / total if len(x) > 1 else 0.0
    if scale <= 0:
        return 0.0
    q = (w * (x - (w * x).sum() / total) ** 2).sum()
    return max(0.0, float((q - (len(x) - 1)) / scale))


def estimate_variation(sums: Sums) -> Variation:
    """Estimate the variance between periods of each slice, shrunk towards the pooled variance.

    Parameters
    ----------
    sums : Sums
        The sums over the periods of the baseline.

    Returns
    -------
    Variation
        A slice's own estimate counts the more, the more the slices' variances differ beyond chance.
        NaN if no slice has two periods.

    References
    ----------
    DerSimonian and Kacker (2007), Random-effects model for meta-analysis of clinical trials: an
    update, doi:10.1016/j.cct.2006.04.004: moments for any weights. Efron and Morris (1973),
    doi:10.1080/01621459.1973.10481350: shrinkage.

    Examples
    --------
    >>> from sqleval.inference.libraries import load_library
    >>> numpy = load_library("numpy")
    >>> value = numpy.array([[0.0, 0.2, 0.4, 0.6]])
    >>> terms = collect_terms(value * 0 + 1, value, value * 0 + 0.01)
    >>> sums = Sums(*(term.sum(axis=1) for term in terms))
    >>> estimate_variation(sums).tau_squared.round(4).tolist()
    [0.0567]
    """
    with np.errstate(all="ignore"):
        deviations = sums.value_square - sums.value**2 / sums.weight
        expected = sums.error - sums.error_square / sums.weight
        estimates = (deviations - expected) / (sums.weight - sums.square / sums.weight)
        freedom = np.where(sums.periods > 1, sums.periods - 1, np.nan)
        sampling = sums.error / sums.weight
        pooled, total, nowhere = 0.0, 0.0, np.full_like(estimates, np.nan)
        uncertainty, weight = nowhere, nowhere
        # Iterate: the uncertainty of an estimate depends on the pooled variance, and vice versa.
        for _ in range(3):
            uncertainty = 2 * (sampling + pooled) ** 2 / freedom
            weight = np.where(np.isfinite(estimates) & (uncertainty > 0), 1 / uncertainty, 0.0)
            total = weight.sum()
            if not total > 0:
                return Variation(nowhere, nowhere, 0.0)
            pooled = max(0.0, float((weight * np.where(weight > 0, estimates, 0.0)).sum() / total))
        between = estimate_between_variance(estimates, uncertainty)
        is_present = weight > 0
        trust = np.where(is_present, between / (between + uncertainty), 0.0)
        shrunk = pooled + trust * (np.where(is_present, estimates, pooled) - pooled)
        variance = trust * np.where(is_present, uncertainty, 0.0) + (1 - trust) ** 2 / total
    correlation = _estimate_correlation(sums, pooled, weight)
    # A slice without a past has the pooled variance, with the variance between slices added to
    # its uncertainty.
    variance = np.where(is_present, variance, between + 1 / total)
    return Variation(np.maximum(shrunk, 0.0), variance, correlation)


def _estimate_correlation(sums: Sums, tau_squared: float, weight: Array) -> float:
    """Return the correlation between neighbouring periods, pooled over all slices.

    It is 0 unless the variance between periods is more than two standard errors above 0, because
    the ratio of two small numbers would be noise.
    """
    if tau_squared <= 2 / weight.sum() ** 0.5:
        return 0.0
    with np.errstate(all="ignore"):
        mean = sums.mean
        products = sums.product - mean * (sums.later + sums.earlier) + sums.pairs * mean**2
        # Correct for a bias: deviations from the mean of the same periods correlate negatively.
        covariances = products / sums.pairs + sums.sampling_variance + sums.share * tau_squared
    is_known = np.isfinite(covariances) & (weight > 0)
    if not is_known.any():
        return 0.0
    covariance = float((weight[is_known] * covariances[is_known]).sum() / weight[is_known].sum())
    return min(max(covariance / tau_squared, 0.0), _MAX_CORRELATION)
