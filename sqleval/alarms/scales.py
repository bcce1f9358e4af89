"""Transforms values to scales on which estimates are nearly normal, with standard errors."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from sqleval.inference.libraries import np, special

if TYPE_CHECKING:
    from sqleval.inference.libraries import Array


class Scale(NamedTuple):
    """A logit within a range, the logarithm of a positive value, or the value itself.

    Attributes
    ----------
    least, most : float or None
        The ends of the range of the values; None for an end that does not exist.
    """

    least: float | None = None
    most: float | None = None

    def transform(self, value: pl.Expr) -> pl.Expr:
        """Return values on the scale; values at an end of the range become infinite.

        Examples
        --------
        >>> pl.select(Scale(0, 1).transform(pl.lit(0.8)).round(4)).item()
        1.3863
        """
        if self.least is None:
            return value
        if self.most is None:
            return (value - self.least).log()
        return ((value - self.least) / (self.most - value)).log()

    def restore(self, at: Array) -> Array:
        """Return the values at positions on the scale.

        Examples
        --------
        >>> from sqleval.inference.libraries import load_library
        >>> Scale(0, 1).restore(load_library("numpy").array([0.0])).tolist()
        [0.5]
        """
        if self.least is None:
            return at
        if self.most is None:
            return self.least + np.exp(at)
        return self.least + (self.most - self.least) * special.expit(at)

    def find_slope(self, value: pl.Expr) -> pl.Expr:
        """Return the derivative of the scale, which converts a value's standard error.

        Examples
        --------
        >>> pl.select(Scale(0, 1).find_slope(pl.lit(0.8)).round(4)).item()
        6.25
        """
        if self.least is None:
            return pl.lit(1.0)
        if self.most is None:
            return 1 / (value - self.least)
        return (self.most - self.least) / ((value - self.least) * (self.most - value))


def find_scale(header: Mapping[str, object]) -> Scale:
    """Return the scale of a metric from the range in its header.

    Examples
    --------
    >>> find_scale({"range": "0 .. inf"})
    Scale(least=0.0, most=None)
    """
    low, _, high = str(header.get("range", "")).partition("..")
    least, most = (float(end) if end.strip() and "inf" not in end else None for end in (low, high))
    return Scale() if least is None else Scale(least, most)


def add_estimates(frame: pl.DataFrame, scale: Scale, ci: float) -> pl.DataFrame:
    """Add estimates on a scale, and their variances computed from intervals.

    Parameters
    ----------
    frame : polars.DataFrame
        Rows of the history, with ``value``, ``low``, ``high`` and ``method``.
    scale : Scale
        The scale of the metric.
    ci : float
        The confidence level of the intervals.

    Returns
    -------
    polars.DataFrame
        The rows with ``estimate`` and ``variance``. Both are NULL without an interval, or if the
        value is an end of its range and thus infinite on the scale.

    Notes
    -----
    The counts of a rate are recovered from Wilson's interval. The estimate is then the logit of
    Haldane (1956) and Anscombe (1956), with a half added to both counts, which is finite for rates
    of 0 and 1, too.

    Examples
    --------
    >>> row = {"value": 0.8, "low": 0.72, "high": 0.86, "method": "delong, logit"}
    >>> added = add_estimates(pl.DataFrame([row]), Scale(0, 1), 0.95)
    >>> added.select(pl.col("estimate", "variance").round(4)).row(0)
    (1.3863, 0.0494)
    """
    z = NormalDist().inv_cdf((1 + ci) / 2)
    value, low, high = pl.col("value"), pl.col("low"), pl.col("high")
    ends = [scale.transform(each) for each in (low, value, high)]
    ends = [pl.when(each.is_finite()).then(each) for each in ends]
    sides = pl.max_horizontal(ends[2] - ends[1], ends[1] - ends[0])
    sides = pl.coalesce((ends[2] - ends[0]) / 2, sides)
    # A symmetric interval may be clipped at the end of the range, so take the longer side.
    longer = pl.max_horizontal(high - value, value - low) * scale.find_slope(value)
    method = pl.col("method").str
    is_symmetric = method.contains("normal") | (
        method.contains("delta method") & ~method.contains("log")
    )
    error = pl.when(is_symmetric).then(longer).otherwise(sides) / z
    estimate, variance = ends[1], error.pow(2)
    if scale.least == 0 and scale.most == 1:
        # low * high = p^2 / (1 + z^2 / n), and likewise for the complements.
        is_small = value <= 0.5
        product = (1 - low) * (1 - high)
        ratio = (
            pl.when(is_small).then((1 - value).pow(2) / product)
            .otherwise(value.pow(2) / (low * high))
        )  # fmt: skip
        trials = z * z / (ratio - 1)
        hits, misses = value * trials + 0.5, (1 - value) * trials + 0.5
        is_rate = method.contains("wilson") & ~method.contains("wilson of")
        estimate = pl.when(is_rate).then((hits / misses).log()).otherwise(estimate)
        variance = pl.when(is_rate).then(1 / hits + 1 / misses).otherwise(variance)
    is_usable = estimate.is_finite() & variance.is_finite() & (variance > 0)
    return frame.with_columns(
        estimate=pl.when(is_usable).then(estimate), variance=pl.when(is_usable).then(variance)
    )
