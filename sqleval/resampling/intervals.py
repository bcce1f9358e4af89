"""Intervals from replicates: percentile, and bias-corrected and accelerated (BCa)."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist

import polars as pl

from sqleval.resampling.replicates import SAMPLE

#: The least share of replicates in which a metric must be defined.
LEAST_DEFINED = 0.9
#: A bias of fewer standard errors can be ignored (Efron and Tibshirani 1993, section 10.3).
LARGE_BIAS = 0.25
#: What may be left of a bias once it is taken off, as a variance in squared biases. Maxima and
#: distances are too high by a share of their noise, and replicates, whose noise is sqrt(2) times as
#: large, show 0.41 of that or more: up to sqrt(2) biases are left.
LEFT_BIAS = 2.0
#: Relative errors of sums of equal numbers.
_ROUNDING = 1e-13
_NORMAL = NormalDist()


def find_intervals(
    values: pl.DataFrame,
    by: Sequence[str],
    ci: float,
    method: str,
    replicates: int | None = None,
) -> pl.DataFrame:
    """Return the interval of each metric, from the values of its replicates.

    Parameters
    ----------
    values : polars.DataFrame
        The columns ``by``, ``replicate`` and ``value``, as `evaluate_replicates` returns them.
    by : sequence of str
        What a row of the result is for: slice keys and metric.
    ci : float
        The level, such as 0.95.
    method : {"bootstrap", "percentile", "bca"}
        ``bootstrap``: normal, around the estimate less its bias and wider by what may be left of
        it, which is what metrics of maxima and distances need. ``percentile``: quantiles of the
        replicates. ``bca``: quantiles corrected for bias and skewness, which needs the replicates
        of the jackknife.
    replicates : int, optional
        The number of replicates; those that drew no row of a slice have no value. The largest
        number among them if left out.

    Returns
    -------
    polars.DataFrame
        ``by``, ``estimate`` (of the sample), ``low``, ``high``, ``stderr``, ``defined`` (the
        share of replicates with a value) and ``bias`` (how far the mean of the replicates is from
        the estimate, in standard errors).

    References
    ----------
    Davison and Hinkley (1997), Bootstrap methods and their application, equations 5.5 and 5.18;
    Efron (1987), Better bootstrap confidence intervals.
    """
    value, number = pl.col("value"), pl.col("replicate")
    if replicates is None:
        replicates = max(int(values["replicate"].max() or 0), 0)  # type: ignore[arg-type]
    is_left = (number < SAMPLE) & value.is_not_null()
    drawn, left = value.filter(number > SAMPLE), value.filter(is_left)
    rows = pl.col("weight").filter(is_left) if "weight" in values.columns else left * 0 + 1
    estimate = value.filter(number == SAMPLE).first()
    deviation = (left * rows).sum() / rows.sum() - left
    spread = (rows * deviation**2).sum() ** 1.5
    summary = values.group_by(by, maintain_order=True).agg(
        estimate=estimate,
        sorted=drawn.drop_nulls().sort(),
        stderr=drawn.std(),
        mean=drawn.mean(),
        defined=drawn.count() / max(replicates, 1),
        below=((drawn < estimate).mean() + (drawn == estimate).mean() / 2),
        acceleration=pl.when(spread > 0)
        .then((rows * deviation**3).sum() / (6 * spread))
        .otherwise(0.0),
    )
    tail = (1 - ci) / 2
    levels = (tail, 1 - tail)
    found = [levels] * summary.height
    if method == "bca":
        pairs = zip(summary["below"], summary["acceleration"], strict=True)
        found = [_correct_levels(below, a, levels) for below, a in pairs]
    ends = {"low": _find_quantile("level_low"), "high": _find_quantile("level_high")}
    if method == "bootstrap":
        bias = pl.col("mean") - pl.col("estimate")
        error = (pl.col("stderr") ** 2 + LEFT_BIAS * bias**2).sqrt()
        half = _NORMAL.inv_cdf(levels[1]) * error
        centre = pl.col("estimate") - bias
        ends = {"low": centre - half, "high": centre + half}
    # Replicates that are all alike, but for rounding, say nothing about the spread.
    least = _ROUNDING * pl.max_horizontal(pl.col("estimate").abs(), pl.col("mean").abs())
    is_usable = (pl.col("defined") >= LEAST_DEFINED) & (pl.col("stderr") > least)
    return summary.with_columns(
        pl.Series("level_low", [low for low, _ in found], pl.Float64),
        pl.Series("level_high", [high for _, high in found], pl.Float64),
    ).select(
        *map(pl.col, by),
        "estimate",
        *(pl.when(is_usable).then(sql).alias(end) for end, sql in ends.items()),
        "stderr",
        "defined",
        bias=pl.when(is_usable).then((pl.col("mean") - pl.col("estimate")) / pl.col("stderr")),
    )


def _correct_levels(
    below: float | None, acceleration: float | None, levels: tuple[float, float]
) -> tuple[float, float]:
    """Return the levels of the quantiles of replicates that are the ends of the BCa interval."""
    if below is None or not 0 < below < 1:
        return levels
    bias, a = _NORMAL.inv_cdf(below), acceleration or 0.0

    def correct(level: float) -> float:
        z = bias + _NORMAL.inv_cdf(level)
        return _NORMAL.cdf(bias + z / (1 - a * z)) if a * z < 1 else level

    return correct(levels[0]), correct(levels[1])


def _find_quantile(level: str) -> pl.Expr:
    """Return the quantile of the sorted values at a level, by linear interpolation."""
    values = pl.col("sorted")
    place = pl.col(level) * (values.list.len().cast(pl.Float64) - 1)
    below = place.floor()
    first = values.list.get(below.cast(pl.Int64), null_on_oob=True)
    second = values.list.get(place.ceil().cast(pl.Int64), null_on_oob=True)
    return first + (place - below) * (second - first)
