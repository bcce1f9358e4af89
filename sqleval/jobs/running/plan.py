"""Decides what a run does with each period."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import polars as pl

from sqleval.common import periods
from sqleval.errors import RequestError
from sqleval.jobs.definitions import list_slice_sets
from sqleval.jobs.file.model import Job
from sqleval.jobs.past import Past
from sqleval.jobs.periods.lake import Lake
from sqleval.jobs.running.due import (
    MAX_PERIODS,
    find_period_end,
    find_ready_time,
    is_too_old,
    list_due_periods,
    list_waiting_periods,
)
from sqleval.jobs.running.expected import Expectation
from sqleval.jobs.states import read_fingerprint

#: Actions before a period's labels come: evaluate expected metrics, or check and count its rows.
EARLY = ("expect", "check")
#: If more periods are missing at once, the time of the run is probably wrong.
_MOST_MISSING = 1000


@dataclass(frozen=True)
class RunOptions:
    """The user's choice of periods; by default the next ones, and those whose data changed.

    Attributes
    ----------
    as_of : datetime
        The time of the run, with a time zone.
    date : tuple of datetime or None
        Take the period of this date: first and last instant of a day, or the same time twice.
    span : tuple of datetime or None
        Take all periods from the first to the second time.
    backfill : bool
        Take all periods with rows.
    force : bool
        Also evaluate periods that are unchanged or not complete.
    """

    as_of: datetime
    date: tuple[datetime, datetime] | None = None
    span: tuple[datetime, datetime] | None = None
    backfill: bool = False
    force: bool = False

    @property
    def has_periods(self) -> bool:
        """Whether the user chose the periods."""
        return self.backfill or self.date is not None or self.span is not None


class Decision(NamedTuple):
    """What a run does with a period, and why."""

    period: str
    action: str
    reason: str


def forget_removed(job: Job, files: pl.DataFrame, past: Past, options: RunOptions) -> pl.DataFrame:
    """Return the records of files in the history, or none if all files must be read again.

    They must be if the user's dates ask for a period that was removed together with its records.
    """
    requested_periods = list_requested_periods(job, options)
    stored = past.overview["period"].unique()
    oldest = min((p for p in stored if not (job.baseline and job.baseline.has(p))), default=None)
    recorded_periods = {*files["period"]}
    unrecorded_periods = [
        p
        for p in requested_periods or []
        if p not in recorded_periods and not is_too_old(job, p, options.as_of)
    ]
    return (
        files.clear()
        if oldest is not None and min(unrecorded_periods, default=oldest) < oldest
        else files
    )


def list_requested_periods(job: Job, options: RunOptions) -> list[str] | None:
    """Return the periods of the user's dates, with or without rows; None without dates."""
    grain, timezone = job.period.grain, job.period.timezone
    span = options.date or options.span
    if span is None:
        return None
    zone = periods.find_zone(timezone)
    first, last = (at if at.tzinfo else at.replace(tzinfo=zone) for at in span)
    if first > last:
        raise RequestError(f"--from {first} is later than --to {last}")
    if last - first > MAX_PERIODS * periods.LENGTHS[grain]:
        raise RequestError(
            f"from {first} to {last} are more than {MAX_PERIODS:,} periods of one {grain}"
        )
    return periods.list_periods(first, last, grain, timezone)


def decide_periods(
    job: Job,
    lake: Lake,
    files: pl.DataFrame,
    past: Past,
    definitions: Sequence[pl.DataFrame],
    options: RunOptions,
    expectation: Expectation | None = None,
) -> list[Decision]:
    """Return what a run does with each of its periods.

    Parameters
    ----------
    job, lake : Job, Lake
        The job, and the files of its sources.
    files : polars.DataFrame
        The rows of its files in the history, written by the last completed run.
    past : Past
        The history of the job.
    definitions : sequence of polars.DataFrame
        The current definitions of the metrics, for each possible task.
    options : RunOptions
        The user's choice of periods.
    expectation : Expectation or None
        From `prepare_expectation`.

    Returns
    -------
    list of Decision
        In order of time; ``action`` is ``evaluate``, ``add`` (add or remove metrics, from the
        state), ``expect`` (evaluate expected metrics), ``check`` (check rows before their labels),
        ``keep``, ``wait`` or ``missing``.
    """
    waiting = list_waiting_periods(
        job, lake, files, options.as_of, expectation,
        is_forced=options.force, has_periods=options.has_periods,
    )  # fmt: skip
    run_periods = list_requested_periods(job, options)
    if run_periods is None:
        run_periods = lake.periods
        if not options.backfill:
            run_periods = list_due_periods(job, lake, files, past, options.as_of)
            run_periods = sorted(
                {*run_periods, *(p for p, action in waiting.items() if action != "wait")}
            )
    with_rows = set(lake.periods)
    # Keep only this run's periods: each becomes a frame.
    here = past.overview.filter(pl.col("period").is_in(run_periods))
    rows_by_period = {
        period: rows for (period,), rows in here.partition_by("period", as_dict=True).items()
    }
    current = _Current(
        job,
        lake.fingerprints,
        list_slice_sets(job),
        past.read_key_sets(run_periods),
        [_read_definitions(each) for each in definitions],
        options,
    )
    decisions: list[Decision] = []
    for period in run_periods:
        ready = find_ready_time(job, period)
        rows = rows_by_period.get(period)
        if rows is None and is_too_old(job, period, options.as_of):
            if options.has_periods:
                decisions.append(Decision(period, "keep", "older than keep"))
            continue
        if ready > options.as_of and (job.labels is not None or not options.force):
            action, reason = waiting.get(period, "wait"), _describe_wait(job, ready)
            if period not in with_rows and find_period_end(job, period) <= options.as_of:
                action, reason = "missing", "no rows"
        elif period not in with_rows:
            action, reason = _decide_without_rows(period, rows, current)
        elif rows is None:
            action, reason = "evaluate", "new"
        else:
            action, reason = _decide_evaluated(period, rows, current)
        decisions.append(Decision(period, action, reason))
    return decisions


def _describe_wait(job: Job, ready: datetime) -> str:
    """Return in words until when a period waits."""
    cause = "labels mature until" if job.labels else "not over until"
    return f"{cause} {ready.astimezone(periods.find_zone(job.period.timezone)):%Y-%m-%d %H:%M}"


def list_early_dates(job: Job, decisions: Sequence[Decision], options: RunOptions) -> list[str]:
    """Return an error for each period of ``--date`` that is not due, with the time when it is."""
    if options.date is None or job.expected:
        return []
    return [
        f"{period} is not due: {reason}"
        for period, action, reason in decisions
        if action in ("wait", "check", "keep") and find_ready_time(job, period) > options.as_of
    ]


def check_distance(
    decisions: Sequence[Decision], past: Past, lake: Lake, options: RunOptions
) -> None:
    """Raise `RequestError` if a run would record very many missing periods, at a wrong time."""
    missing = {each.period for each in decisions if each.action == "missing"}
    new = missing.difference(past.overview["period"])
    if len(new) > _MOST_MISSING and not (options.force or options.has_periods):
        newest = max((each for each in lake.periods if each < max(new)), default="nothing")
        raise RequestError(
            f"--as-of {options.as_of:%Y-%m-%dT%H:%M}: the newest rows are of {newest}, and "
            f"{len(new):,} periods after them have none; is that time right? --force records them "
            "as missing"
        )


def add_gaps(decisions: Sequence[Decision], gaps: Sequence[str]) -> list[Decision]:
    """Return decisions together with the periods that a run leaves out, for its explanation."""
    periods = {each.period for each in decisions}
    left_out = [
        Decision(period, "gap", "left out before; --backfill evaluates it")
        for period in gaps
        if period not in periods
    ]
    return sorted([*decisions, *left_out])


class _Current(NamedTuple):
    """The present state of a job, with which stored rows are compared.

    ``stored`` has the sets of slice keys of the stored rows, by period. A set has its keys and the
    definition of their expressions.
    """

    job: Job
    fingerprints: dict[str, str]
    key_sets: set[tuple[frozenset[str], str]]
    stored: dict[str, set[tuple[frozenset[str], str]]]
    definitions: list[set[tuple[str, str]]]
    options: RunOptions

    def has_state(self, period: str, rows: pl.DataFrame) -> bool:
        """Whether the period has a state of the same data as these rows."""
        if self.job.states is None:
            return False
        return read_fingerprint(self.job, period) == rows["fingerprint"][0]


def _decide_without_rows(
    period: str, rows: pl.DataFrame | None, current: _Current
) -> tuple[str, str]:
    """Return action and reason for a period without rows in the source."""
    if rows is None or not rows["has_rows"].any():
        return "missing", "no rows"
    if (
        current.options.has_periods
        and all(each - _read_definitions(rows) for each in current.definitions)
        and current.stored[period] == current.key_sets
        and current.has_state(period, rows)
    ):
        return "add", "definition changed, and its data is gone"
    return "keep", "its data is gone"


def _decide_evaluated(period: str, rows: pl.DataFrame, current: _Current) -> tuple[str, str]:
    """Return action and reason for a period with rows in the source and in the history."""
    can_change = current.options.has_periods
    if current.options.force:
        return "evaluate", "forced"
    if rows["has_failed"].any():
        return "evaluate", "failed before"
    if rows["fingerprint"][0] != current.fingerprints[period]:
        return "evaluate", "data changed"
    if current.stored.get(period, current.key_sets) != current.key_sets:
        return ("evaluate", "slices changed") if can_change else ("keep", "other slices")
    if _read_definitions(rows) not in current.definitions:
        if not can_change:
            return "keep", "another definition"
        missing = _find_missing_metrics(rows, current.definitions)
        if missing is not None and not missing:
            return "add", "fewer metrics"
        if missing and current.has_state(period, rows):
            return "add", "new metrics"
        return "evaluate", "definition changed"
    if can_change and current.job.states is not None and not current.has_state(period, rows):
        return "evaluate", "no state"
    return "keep", "nothing new"


def _read_definitions(rows: pl.DataFrame) -> set[tuple[str, str]]:
    """Return the metrics of rows with their definitions."""
    return set(rows.select("metric", "definition").iter_rows())


def _find_missing_metrics(
    rows: pl.DataFrame, definitions: Sequence[set[tuple[str, str]]]
) -> set[tuple[str, str]] | None:
    """Return the metrics that rows lack, or None if one of them has another definition."""
    stored = _read_definitions(rows)
    missing = min((each - stored for each in definitions), key=len)
    is_same = {name for name, _ in missing}.isdisjoint(name for name, _ in stored)
    return missing if is_same else None
