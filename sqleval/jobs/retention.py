"""Removes the periods that a job no longer keeps, except those that its gates need."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from sqleval.history.retention import (
    Removal,
    describe_removals,
    find_old_periods,
    remove_periods,
)
from sqleval.history.store import Store, list_values, retry_while_busy
from sqleval.jobs.file.model import Job
from sqleval.jobs.judging.missing import STEADY_PERIODS

#: A run compacts the store if it removed at least this share of the results.
_SHARE = 0.1


def count_needed(job: Job) -> int:
    """Return how many of the last periods the gates of a job compare."""
    counts = [STEADY_PERIODS + 1]  # for the gate on missing slices
    for gate in job.gates:
        before = gate.parsed.reference if isinstance(gate.parsed.reference, int) else 0
        counts.append(before + (max(gate.windows) if gate.parsed.is_worse else gate.in_a_row))
    return max(counts)


def find_needed(job: Job, periods: Collection[str], old: Collection[str]) -> dict[str, set[str]]:
    """Return the old periods that the gates of a job need, by reason.

    Parameters
    ----------
    job : Job
        The job.
    periods : collection of str
        The periods with results.
    old : collection of str
        The periods that would be removed.
    """
    last = count_needed(job)
    reasons = {f"of the last {last}, which gates compare": {*sorted(periods)[-last:]}}
    if job.baseline is not None:
        first, end = job.baseline.first, job.baseline.last
        reasons[f"of the baseline {first} to {end}"] = {p for p in periods if job.baseline.has(p)}
    needed = {
        reason: needed_periods.intersection(old) for reason, needed_periods in reasons.items()
    }
    return {reason: needed_periods for reason, needed_periods in needed.items() if needed_periods}


def prune_job(
    job: Job, store: Store, cutoff: datetime, *, dry: bool = False
) -> tuple[set[str], list[Removal], list[str]]:
    """Remove the periods that ended before a time, except those that gates need.

    Returns
    -------
    set of str
        The periods that are removed.
    list of Removal
        How many rows of each table are removed.
    list of str
        Which periods are kept, and why.
    """
    periods = list_values(store, job.name, "period")
    old = find_old_periods(periods, job.period.grain, job.period.timezone, cutoff)
    needed = find_needed(job, periods, old)
    removed = old.difference(*needed.values())
    removals = remove_periods(store, job.name, removed, dry=dry)
    return removed, removals, _describe_needed(needed)


def _describe_needed(needed: Mapping[str, Collection[str]]) -> list[str]:
    return [
        f"kept though older: {len(old_periods)} period{'s' * (len(old_periods) != 1)} {reason}"
        for reason, old_periods in needed.items()
    ]


def apply_retention(job: Job, store: Store, as_of: datetime) -> tuple[set[str], list[str]]:
    """Remove the periods that a job no longer keeps; return them, and notes for the user."""
    if job.keep is None:
        return set(), []
    removed, removals, kept = prune_job(job, store, as_of - job.keep)
    if not any(each.removed for each in removals):
        return removed, []
    if _is_worth_compaction(removals):
        retry_while_busy(store.compact)
    return removed, [f"keep: removed {describe_removals(removals)}", *kept]


def _is_worth_compaction(removals: Sequence[Removal]) -> bool:
    """Whether a run removed so many results that compaction pays."""
    removed = sum(each.removed for each in removals)
    return removed >= _SHARE * sum(each.removed + each.kept for each in removals)
