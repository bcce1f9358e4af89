"""Watches slices over time: finds those worse than their baseline, since when and by how much."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from sqleval.alarms.scales import Scale
from sqleval.alarms.variation import Sums, Variation, collect_terms, estimate_variation
from sqleval.inference.adjust import adjust_by_holm
from sqleval.inference.libraries import np, special

if TYPE_CHECKING:
    from sqleval.inference.libraries import Array, Flags

    Indices = np.ndarray[tuple[int, ...], np.dtype[np.int64]]

#: The least number of periods of a baseline.
MIN_BASELINE = 7
#: An alarm stays open while the mean of its last periods (at most this number) is worse by half the
#: least effect, in a test of this level without adjustment.
_RECENT, _RECENT_LEVEL = 7, 0.2

#: Columns of the result that are NULL for an open alarm.
_OF_WINDOWS = ("window", "p_adjusted")

RESULT = pl.Schema(
    {
        "slice": pl.String,
        "period": pl.String,
        "baseline": pl.Float64,
        "mean": pl.Float64,
        "worse_by": pl.Float64,
        "window": pl.Int64,
        "p_adjusted": pl.Float64,
        "since": pl.String,
        "is_worse": pl.Boolean,
    }
)


class Rule(NamedTuple):
    """The rule by which a slice is worse than its baseline.

    Attributes
    ----------
    direction : {"higher", "lower"}
        Whether higher or lower values are better.
    by : float
        The least effect: the mean must be worse by at least this difference of values.
    windows : tuple of int
        Lengths of the windows, in periods, whose means are compared with the baseline.
    level : float
        The probability of an alarm in a period, over all slices and windows, if no slice got worse.
    previous : int
        The number of periods before the windows that make up the baseline.
    baseline : tuple of str or None
        The first and the last period of the baseline, instead of ``previous``.
    """

    direction: str = "higher"
    by: float = 0.0
    windows: tuple[int, ...] = (1, 3, 7, 28)
    level: float = 1 / 365.25
    previous: int = 28
    baseline: tuple[str, str] | None = None


class _Grid:
    """Estimates by slice (rows) and period (columns), with sums over any range of periods."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self.slices = frame["slice"].unique().sort()
        self.periods = frame["period"].unique().sort()
        at = (
            self.slices.search_sorted(frame["slice"]).to_numpy(),
            self.periods.search_sorted(frame["period"]).to_numpy(),
        )
        shape = len(self.slices), len(self.periods)
        columns = {name: np.full(shape, np.nan) for name in ("n", "estimate", "variance")}
        for name, column in columns.items():
            column[at] = frame[name].cast(pl.Float64).to_numpy()
        estimate = columns["estimate"]
        with np.errstate(all="ignore"):
            count = np.maximum(np.isfinite(estimate).sum(axis=1, keepdims=True), 1)
            # Centre the estimates, so that sums of squares lose no digits.
            self.centre = np.nansum(estimate, axis=1, keepdims=True) / count
        self.terms = collect_terms(columns["n"], estimate - self.centre, columns["variance"])
        #: Whether a slice has an estimate in a period.
        self.is_present: Flags = self.terms.periods > 0
        #: The sums over the periods before each, by term, slice and period.
        self.cumulated = np.zeros((len(self.terms), shape[0], shape[1] + 1))
        for total, term in zip(self.cumulated, self.terms, strict=True):
            np.cumsum(term, axis=1, out=total[:, 1:])

    def add_up(self, first: Indices, after: int) -> Sums:
        """Return the sums by slice, from period ``first`` to the one before ``after``.

        If ``first`` has a row per window, the sums have a row per window, too.
        """
        rows = np.arange(len(self.slices))
        end = np.full_like(first, after)
        return Sums(*(self.cumulated[:, rows, end] - self.cumulated[:, rows, first]))


class _Baseline:
    """The sums over the periods of the baseline, which leaves out periods with alarms."""

    def __init__(self, grid: _Grid, rule: Rule) -> None:
        self.grid, self.rule = grid, rule
        self.is_good = grid.is_present.copy()
        self.first, self.last = 0, len(grid.periods)
        if rule.baseline is not None:
            self.first, self.last = find_range(grid.periods, *rule.baseline)
            self.is_good[:, : self.first] = self.is_good[:, self.last :] = False
        shape = len(grid.slices), len(grid.periods) + 1
        #: The number of good periods before each period, and sums over the first good periods.
        self.counts = np.zeros(shape, dtype=np.int64)
        self.sums = np.zeros((len(grid.terms), *shape))
        self.rebuild(np.arange(shape[0]))

    def rebuild(self, rows: Indices) -> None:
        """Compute the sums of some slices anew, after their good periods have changed."""
        good = self.is_good[rows]
        self.counts[rows, 1:] = np.cumsum(good, axis=1)
        order = np.argsort(~good, axis=1, kind="stable")
        for total, term in zip(self.sums, self.grid.terms, strict=True):
            chosen = np.where(good, term[rows], 0.0)
            total[rows, 1:] = np.cumsum(np.take_along_axis(chosen, order, axis=1), axis=1)

    def add_up(self, before: int) -> Sums:
        """Return the sums over the baseline for windows that start at a period."""
        rows = np.arange(len(self.grid.slices))
        last = self.counts[:, before]
        first = np.zeros_like(last)
        if self.rule.baseline is None:
            first = np.maximum(last - self.rule.previous, 0)
        return Sums(*(self.sums[:, rows, last] - self.sums[:, rows, first]))


def find_range(periods: pl.Series, first: str, last: str) -> tuple[int, int]:
    """Return the index of the first period of a range, and the index after its last period."""
    inside = (periods >= first) & ((periods <= last) | periods.str.starts_with(last))
    chosen = inside.arg_true()
    return (0, 0) if chosen.is_empty() else (int(chosen[0]), int(chosen[-1]) + 1)


class Comparison(NamedTuple):
    """Recent means and baselines by slice, on the scale, with p-values.

    With several windows, ``mean`` and ``p_value`` have a row per window.
    """

    baseline: Array
    mean: Array
    p_value: Array

    def restore(self, scale: Scale, centre: Array, sign: int) -> tuple[Array, Array, Array]:
        """Return baseline and mean as values, and the difference by which the mean is worse."""
        baseline, mean = scale.restore(self.baseline + centre), scale.restore(self.mean + centre)
        return baseline, mean, sign * (baseline - mean)


def compare_means(recent: Sums, base: Sums, variation: Variation, sign: int) -> Comparison:
    """Test whether recent means are worse than their baselines.

    The test uses Student's t distribution with Satterthwaite's degrees of freedom (1946,
    doi:10.2307/3002019): sampling variances count as known, the variance between periods as
    estimated.
    """
    with np.errstate(all="ignore"):
        share = variation.inflate(recent.share) + variation.inflate(base.share)
        # The standard error of a single period is uncertain, and often small if the value is low.
        # Use at least the standard error of a baseline period with as many rows.
        usual = base.error / base.periods / recent.weight
        sampling = np.where(
            recent.periods == 1,
            np.maximum(recent.sampling_variance, usual),
            recent.sampling_variance,
        )
        variance = sampling + base.sampling_variance + share * variation.tau_squared
        freedom = 2 * variance**2 / (share**2 * variation.variance)
        t = sign * (base.mean - recent.mean) / np.sqrt(variance)
        p_value = special.stdtr(np.minimum(freedom, 1e9), -t)
    is_enough = (base.periods >= MIN_BASELINE) & (recent.periods > 0)
    return Comparison(base.mean, recent.mean, np.where(is_enough, p_value, np.nan))


def list_windows(rule: Rule, past: int, start: int = 0) -> list[int]:
    """Return the windows for which a past of this length is long enough.

    At least as many periods must precede a window as it has itself, and at least `MIN_BASELINE`. If
    the baseline is fixed, windows start after it.
    """
    if rule.baseline is not None:
        return [w for w in rule.windows if past - w >= start]
    return [w for w in rule.windows if past - w >= max(MIN_BASELINE, w)]


def watch_slices(frame: pl.DataFrame, rule: Rule, scale: Scale) -> pl.DataFrame:
    """Return, for each period and slice, whether the slice is worse than its baseline.

    In each period, the means over several windows of last periods are compared with the baseline,
    by one-sided tests whose variance includes the variation between periods. Holm's method adjusts
    the p-values for the slices and windows. Windows of several lengths find sudden drops and slow
    drifts (a window-limited generalised likelihood ratio). Once a slice is worse, it stays so until
    its last periods are no longer worse. These periods belong to no baseline.

    Parameters
    ----------
    frame : polars.DataFrame
        One row per slice and period: ``slice``, ``period``, ``n``, ``estimate`` and ``variance``
        (from `sqleval.alarms.scales.add_estimates`).
    rule : Rule
        The rule by which a slice is worse.
    scale : Scale
        The scale of the estimates.

    Returns
    -------
    polars.DataFrame
        The slices and periods in the order of time, with ``baseline``, ``mean``, ``worse_by``,
        ``window``, ``p_adjusted``, ``is_worse`` (NULL if nothing can be compared) and ``since``.
        The values belong to the window with the smallest p-value. While an alarm stays open, they
        belong to its last periods, at most 7, and ``window`` and ``p_adjusted`` are NULL, because
        another test keeps it open.

    References
    ----------
    Holm (1979). Lai (1995), Sequential changepoint detection in quality control and dynamical
    systems, doi:10.1111/j.2517-6161.1995.tb02052.x.

    Examples
    --------
    >>> rows = [
    ...     {"slice": "a", "period": f"2026-01-{day:02}", "n": 500, "variance": 0.0001,
    ...      "estimate": 0.8 + 0.01 * (day % 3) - 0.1 * (day > 25)}
    ...     for day in range(1, 31)
    ... ]
    >>> results = watch_slices(pl.DataFrame(rows), Rule(by=0.02), Scale())
    >>> results.filter("is_worse").select("period", "since").row(0)
    ('2026-01-26', '2026-01-26')
    """
    if frame.is_empty():
        return pl.DataFrame(schema=RESULT)
    grid = _Grid(frame)
    results = _write_results(grid, *_watch_periods(grid, rule, scale))
    keys = frame.select("slice", "period")
    return results.join(keys, on=["slice", "period"], how="semi").sort("period", "slice")


class _Reference(NamedTuple):
    """The baseline of a period; the sign is -1 if lower values are better."""

    base: Sums
    variation: Variation
    sign: int


class _PeriodResults(NamedTuple):
    """The results of one period, by slice; NaN if nothing can be compared."""

    baseline: Array
    mean: Array
    worse_by: Array
    window: Array
    p_adjusted: Array
    is_alarm: Flags


def _watch_periods(grid: _Grid, rule: Rule, scale: Scale) -> tuple[list[_PeriodResults], Indices]:
    """Return the results by period, and the index at which each slice's open alarm began, or -1."""
    baseline = _Baseline(grid, rule)
    start = np.full(len(grid.slices), -1)
    # After an alarm has ended, no window may reach back to it and start it again.
    over = np.zeros_like(start)
    results: list[_PeriodResults] = []
    starts: list[Indices] = []
    for now in range(len(grid.periods)):
        windows = list_windows(rule, now + 1, baseline.last)
        base = baseline.add_up(now + 1 - max(windows, default=0))
        reference = _Reference(base, estimate_variation(base), _find_sign(rule))
        result = _judge_period(grid, rule, scale, now, windows, reference, over)
        if (start >= 0).any():
            result, stays = _check_open_alarms(grid, rule, scale, now, reference, result, start)
            over = np.where((start >= 0) & ~stays, now + 1, over)
            start = np.where(stays, start, -1)
        begins = result.is_alarm & (start < 0) & (over <= now)
        start[begins] = now + 1 - result.window[begins].astype(int)
        is_open = start >= 0
        for row in np.flatnonzero(is_open):
            baseline.is_good[row, start[row] : now + 1] = False
        if is_open.any():
            baseline.rebuild(np.flatnonzero(is_open))
        results.append(result)
        starts.append(start.copy())
    return results, np.stack(starts)


def _write_results(grid: _Grid, results: Sequence[_PeriodResults], starts: Indices) -> pl.DataFrame:
    """Return one row per period and slice."""
    names = ("baseline", "mean", "worse_by", "window", "p_adjusted")
    columns = {name: np.concatenate([getattr(each, name) for each in results]) for name in names}
    start = pl.Series(starts.ravel())
    is_open = start >= 0
    frame = pl.DataFrame(columns).fill_nan(None).with_columns(
        slice=pl.concat([grid.slices] * len(results)),
        period=grid.periods.gather(np.repeat(np.arange(len(results)), len(grid.slices))),
        since=pl.when(is_open).then(grid.periods.gather(start.clip(lower_bound=0))),
        is_worse=pl.when(is_open).then(pl.lit(True))
        .when(pl.col("p_adjusted").is_not_null()).then(pl.lit(False)),
    )  # fmt: skip
    return frame.select(pl.col(name).cast(kind) for name, kind in RESULT.items())


def _find_sign(rule: Rule) -> int:
    return 1 if rule.direction == "higher" else -1


def _judge_period(
    grid: _Grid,
    rule: Rule,
    scale: Scale,
    now: int,
    windows: Sequence[int],
    reference: _Reference,
    over: Indices,
) -> _PeriodResults:
    """Return for each slice the results of the window with the smallest p-value, or of an alarm."""
    nothing = np.full(len(grid.slices), np.nan)
    if not windows:
        return _PeriodResults(nothing, nothing, nothing, nothing, nothing, np.isfinite(nothing))
    lengths = np.array(windows)[:, None]
    compared = compare_means(_add_up_windows(grid, now, lengths, over), *reference)
    baseline, mean, worse_by = compared.restore(scale, grid.centre[:, 0], reference.sign)
    p_values = compared.p_value
    p_adjusted = adjust_by_holm(p_values)
    is_alarm = (p_adjusted <= rule.level) & (worse_by >= rule.by)
    order = np.where(np.isnan(p_values), 2.0, np.where(is_alarm, p_values - 1, p_values))
    best = order.argmin(axis=0), np.arange(len(grid.slices))
    is_known = np.isfinite(p_adjusted[best])
    columns = np.broadcast_arrays(baseline, mean, worse_by, lengths, p_adjusted)
    shown = [np.where(is_known, each[best], np.nan) for each in columns]
    return _PeriodResults(*shown, is_alarm=is_alarm[best])


def _add_up_windows(grid: _Grid, now: int, lengths: Indices, over: Indices) -> Sums:
    """Return the sums over windows that end now; 0 if half of a window has no estimates."""
    sums = grid.add_up(np.clip(over, now + 1 - lengths, now + 1), now + 1)
    is_used = grid.is_present[:, now] & (2 * sums.periods > lengths)
    return Sums(*np.where(is_used, sums, 0.0))


def _check_open_alarms(
    grid: _Grid,
    rule: Rule,
    scale: Scale,
    now: int,
    reference: _Reference,
    result: _PeriodResults,
    start: Indices,
) -> tuple[_PeriodResults, Flags]:
    """Return the results with the means of open alarms' last periods, and flags of these alarms."""
    is_open = start >= 0
    recent = grid.add_up(np.where(is_open, np.maximum(start, now + 1 - _RECENT), now), now + 1)
    compared = compare_means(recent, *reference)
    values = compared.restore(scale, grid.centre[:, 0], reference.sign)
    is_worse = (compared.p_value <= _RECENT_LEVEL) & (values[2] >= rule.by / 2)
    stays = is_open & (is_worse | (recent.periods == 0))
    names = ("baseline", "mean", "worse_by")
    shown = {
        name: np.where(stays, value, getattr(result, name))
        for name, value in zip(names, values, strict=True)
    }
    # The windows decide only when an alarm begins, not whether it stays open.
    unused = {name: np.where(stays, np.nan, getattr(result, name)) for name in _OF_WINDOWS}
    return result._replace(**shown, **unused), stays
