"""Lists the periods that are due: new ones, changed ones, and those that wait for labels."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import polars as pl

from sqleval.common import periods
from sqleval.jobs.file.model import Job
from sqleval.jobs.past import Past
from sqleval.jobs.periods.lake import Lake
from sqleval.jobs.running.expected import Expectation

#: The largest number of periods that are expected after the last one.
MAX_PERIODS = 10_000


def find_period_end(job: Job, period: str) -> datetime:
    """Return when a period is over, in UTC, because differences of local times may be wrong."""
    return periods.find_end(period, job.period.grain, job.period.timezone).astimezone(UTC)


def find_ready_time(job: Job, period: str) -> datetime:
    """Return when a period is over and its labels are mature."""
    return find_period_end(job, period) + (job.labels.maturity if job.labels else timedelta(0))


def is_too_old(job: Job, period: str, as_of: datetime) -> bool:
    """Whether a run would remove a period again at its end."""
    if job.keep is None or (job.baseline is not None and job.baseline.has(period)):
        return False
    return find_period_end(job, period) <= as_of - job.keep


def list_mature_periods(job: Job, lake: Lake, as_of: datetime) -> list[str]:
    """Return the periods with rows that are over and have mature labels."""
    return [period for period in lake.periods if find_ready_time(job, period) <= as_of]


def _find_last(job: Job, overview: pl.DataFrame, as_of: datetime) -> tuple[str, str] | None:
    """Return the first and the last evaluated period; None without any.

    A period that was forced before it was over does not count as the last one.
    """
    # Rows without a fingerprint record that a period had no data or could not be listed.
    evaluated = overview.filter(pl.col("fingerprint").is_not_null())["period"].unique().sort()
    if evaluated.is_empty():
        return None
    over = [period for period in evaluated if find_ready_time(job, period) <= as_of]
    return str(evaluated[0]), (over or [str(evaluated[0])])[-1]


def list_gaps(job: Job, lake: Lake, overview: pl.DataFrame, as_of: datetime) -> list[str]:
    """Return the periods with rows between evaluated ones that were never evaluated.

    Runs of single dates leave such gaps, and later runs without dates skip them. Only
    ``--backfill``, or a run of their own dates, fills them.
    """
    ends = _find_last(job, overview, as_of)
    if ends is None:
        return []
    stored = {*overview["period"]}
    first, last = ends
    between = [each for each in lake.periods if first < each < last and each not in stored]
    return [each for each in between if not is_too_old(job, each, as_of)]


def list_due_periods(
    job: Job, lake: Lake, files: pl.DataFrame, past: Past, as_of: datetime
) -> list[str]:
    """Return the periods of a run without dates: the next ones, failed ones and changed ones.

    The next ones are expected whether they have rows or not: otherwise nobody would notice that
    the data stops. The periods of a killed run are due again, because their gates were not judged.
    On a first run, the newest period with mature labels is due, and those that were evaluated or
    checked before their labels came.
    """
    before = dict(past.overview.select("period", "fingerprint").unique().iter_rows())
    failed = set(past.overview.filter("has_failed")["period"])
    now, completed = lake.fingerprints, lake.compute_fingerprints_before(files)
    ends = _find_last(job, past.overview, as_of)
    over = [each for each in completed if find_period_end(job, each) <= as_of]
    if ends is None:
        return _list_first_periods(job, lake, past, over, as_of)
    first, last = ends

    def is_due(period: str) -> bool:
        is_new = completed.get(period) != now[period]
        if period not in before:  # a gap, unless its data has come since the last run
            return period > last or (is_new and period > first)
        is_changed = is_new or before[period] != now[period]
        return period >= first and (is_changed or period in failed or period == last)

    due = [period for period in lake.periods if is_due(period)]
    judged = [each for each in completed if before.get(each) is not None and each <= last]
    start = max(judged, default=last) if lake.is_changed else last
    if job.labels is not None:  # rows that had arrived by the last run may wait for labels
        start = max(start, *over) if over else start
    expected = [] if job.missing == "ignore" else _list_next_periods(job, start, as_of)
    return sorted({*due, *expected})


def _list_first_periods(
    job: Job, lake: Lake, past: Past, over: list[str], as_of: datetime
) -> list[str]:
    """Return the periods of a first run without dates; ``over`` had rows in the last listing."""
    early = {*past.expected["period"]}
    mature = list_mature_periods(job, lake, as_of)
    newest = {*mature[-1:], *early.intersection(mature)}
    is_early = job.labels is not None and over and job.missing != "ignore"
    return sorted(newest.union(_list_next_periods(job, max(over), as_of) if is_early else []))


def list_waiting_periods(
    job: Job,
    lake: Lake,
    files: pl.DataFrame,
    as_of: datetime,
    expectation: Expectation | None,
    *,
    is_forced: bool,
    has_periods: bool,
) -> dict[str, str]:
    """Return what to do with each period that is over while its labels mature.

    Some of the periods that were evaluated before their labels are judged again: the last one, and
    those whose data changed since the last completed run.
    """
    if expectation is None:
        return {}
    now, completed = lake.fingerprints, lake.compute_fingerprints_before(files)
    waiting = [
        period
        for period in lake.periods
        if find_period_end(job, period) <= as_of < find_ready_time(job, period)
    ]
    stored = set[str]() if is_forced else expectation.list_stored(waiting)

    def choose(period: str) -> str:
        if period not in stored:
            return "expect" if job.expected else "check"
        is_new = completed.get(period) != now[period] or period == waiting[-1]
        return "keep" if is_new or has_periods else "wait"

    return {period: choose(period) for period in waiting}


def _list_next_periods(job: Job, last: str, as_of: datetime) -> list[str]:
    """Return the periods after the last one that are over; their labels may come later."""
    grain, timezone = job.period.grain, job.period.timezone
    first, most = find_period_end(job, last), MAX_PERIODS * periods.LENGTHS[grain]
    if as_of - first > most:  # otherwise the difference may lie before the year 1
        first = as_of - most
    listed = periods.list_periods(first, as_of, grain, timezone)
    return [period for period in listed if find_period_end(job, period) <= as_of]
