"""Predicts the false alarms of gates in a year, and the smallest drop that they find in time."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from sqleval.alarms.scales import Scale
from sqleval.alarms.variation import Sums, collect_terms, estimate_variation
from sqleval.alarms.watch import MIN_BASELINE, Rule, watch_slices
from sqleval.inference.libraries import np, special

if TYPE_CHECKING:
    from sqleval.inference.libraries import Array

#: The probability with which the smallest drop is found.
POWER = 0.8


class ExpectedAlarms(NamedTuple):
    """The false alarms of a gate in a year without changes, and the smallest drop that it finds.

    Attributes
    ----------
    alarms, periods : float
        Expected false alarms a year (slices that begin to fail), and periods with one or more.
    drop : float
        The smallest change for the worse, in the median slice, that the gate finds in time with a
        probability of 80 %.
    """

    alarms: float
    periods: float
    drop: float


def compute_run_probability(p: Array, length: int, trials: int) -> Array:
    """Return the probability of a run of successes in independent trials.

    Parameters
    ----------
    p : Array
        Probabilities of a success.
    length, trials : int
        The least length of the run, and the number of trials.

    References
    ----------
    Feller (1968), An Introduction to Probability Theory and Its Applications, volume 1, XIII.7.

    Examples
    --------
    >>> from sqleval.inference.libraries import load_library
    >>> half = load_library("numpy").array([0.5])
    >>> compute_run_probability(half, 2, 3).tolist()
    [0.375]
    """
    # by_run[k] is the probability of no run yet and exactly k successes at the end.
    by_run = [np.ones_like(p), *(np.zeros_like(p) for _ in range(length - 1))]
    for _ in range(trials):
        none: Array = sum(by_run[1:], by_run[0])
        by_run = [none * (1 - p), *(each * p for each in by_run[:-1])]
    return 1 - sum(by_run[1:], by_run[0])


def expect_of_limit(
    margin: Array, spread: Array, *, in_a_row: int, periods: float, reach: int
) -> ExpectedAlarms:
    """Predict the alarms of a gate that compares single values with a limit.

    Parameters
    ----------
    margin : Array
        The difference by which the mean of each slice is better than its limit.
    spread : Array
        The standard deviation of the difference between value and limit, by slice.
    in_a_row : int
        The gate fails after this many periods in a row.
    periods : float
        Periods a year.
    reach : int
        The number of periods within which a drop should be found.

    Examples
    --------
    >>> from sqleval.inference.libraries import load_library
    >>> array = load_library("numpy").array
    >>> found = expect_of_limit(
    ...     array([0.05]), array([0.04]), in_a_row=1, periods=365.25, reach=7
    ... )
    >>> round(found.alarms), round(found.drop, 3)
    (35, 0.017)
    """
    with np.errstate(all="ignore"):
        p: Array = special.ndtr(-margin / spread)
        alarms = float((periods * p**in_a_row * (1 - p)).sum())
        red = float(periods * (1 - np.prod(1 - p**in_a_row)))
    grid = np.linspace(0.0, 1.0, 2001)
    needed = float(grid[compute_run_probability(grid, in_a_row, reach) >= POWER].min())
    drop: Array = np.maximum(margin + spread * special.ndtri(needed), 0.0)
    return ExpectedAlarms(alarms, red, float(np.median(drop)))


def expect_of_watch(
    frame: pl.DataFrame, rule: Rule, scale: Scale, *, periods: float, reach: int
) -> ExpectedAlarms | None:
    """Predict the alarms of a watch; return None if the past is too short.

    Parameters
    ----------
    frame : polars.DataFrame
        As in `sqleval.alarms.watch.watch_slices`. The last periods without an alarm are used.
    rule, scale : Rule, Scale
        As in `watch_slices`.
    periods, reach
        As in `expect_of_limit`.
    """
    worse_periods = watch_slices(frame, rule, scale).filter("is_worse")
    alarms = worse_periods.group_by("slice", "since").agg(last=pl.col("period").max())
    inside = frame.join(alarms, on="slice").filter(
        pl.col("period").is_between(pl.col("since"), pl.col("last"))
    )
    frame = frame.join(inside, on=["slice", "period"], how="anti")
    if frame.is_empty():
        return None
    count = rule.previous if rule.baseline is None else frame["period"].n_unique()
    wide = [
        frame.pivot(on="period", index="slice", values=name, sort_columns=True)
        .drop("slice")
        .cast(pl.Float64)
        .to_numpy()[:, -count:]
        for name in ("n", "estimate", "variance")
    ]
    sums = Sums(*(term.sum(axis=1) for term in collect_terms(*wide)))
    is_enough = sums.periods >= MIN_BASELINE
    windows = [window for window in rule.windows if window <= reach]
    if not is_enough.any() or not windows:
        return None
    variation = estimate_variation(sums)
    with np.errstate(all="ignore"):
        single = sums.error / sums.weight
        base = sums.sampling_variance + variation.inflate(sums.share) * variation.tau_squared
        share = variation.inflate(np.full_like(single, 1 / max(windows)))
        variance = single / max(windows) + share * variation.tau_squared + base
        total = share + variation.inflate(sums.share)
        freedom = np.minimum(2 * variance**2 / (total**2 * variation.variance), 1e9)
        level = rule.level / (int(is_enough.sum()) * len(rule.windows))
        step = (-special.stdtrit(freedom, level) + special.ndtri(POWER)) * np.sqrt(variance)
        sign = 1 if rule.direction == "higher" else -1
        drop = sign * (scale.restore(sums.mean) - scale.restore(sums.mean - sign * step))
    smallest = float(np.median(np.maximum(drop[is_enough], rule.by)))
    return ExpectedAlarms(rule.level * periods, rule.level * periods, smallest)
