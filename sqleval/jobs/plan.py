"""Which periods a run looks at, and what it does with each."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

import polars as pl

from sqleval.common import periods
from sqleval.errors import RequestError
from sqleval.history.store import parse_slice_keys
from sqleval.jobs.file.model import Job
from sqleval.jobs.lake import Lake
from sqleval.jobs.states import fingerprint

#: Periods that may be asked for by two dates.
_MOST = 10_000


@dataclass(frozen=True)
class Asked:
    """Which periods a run is asked for; nothing is the next ones, and those whose data changed.

    Attributes
    ----------
    as_of : datetime
        The time that labels have had to mature until, with a time zone.
    date : tuple of datetime or None
        The period that it lies in: the first and the last instant of a day, or twice a time.
    span : tuple of datetime or None
        All periods between the two.
    backfill : bool
        Every period found.
    force : bool
        Also those whose data and definition have not changed, or that are not over.
    """

    as_of: datetime
    date: tuple[datetime, datetime] | None = None
    span: tuple[datetime, datetime] | None = None
    backfill: bool = False
    force: bool = False


class Step(NamedTuple):
    """What is done with a period, and why."""

    period: str
    action: str
    reason: str


def wanted_by_date(job: Job, asked: Asked) -> list[str] | None:
    """Return the periods that were asked for by date, whether they have rows or not."""
    grain, timezone = job.period.grain, job.period.timezone
    span = asked.date or asked.span
    if span is None:
        return None
    zone = periods.find_zone(timezone)
    first, last = (at if at.tzinfo else at.replace(tzinfo=zone) for at in span)
    if first > last:
        raise RequestError(f"--from {first} is later than --to {last}")
    if last - first > _MOST * periods.LENGTHS[grain]:
        raise RequestError(f"from {first} to {last} are more than {_MOST:,} periods of a {grain}")
    return periods.list_periods(first, last, grain, timezone)


def _due_by_itself(job: Job, lake: Lake, stored: pl.DataFrame, asked: Asked) -> list[str]:
    """Return what a plain run looks at: periods after the last one known, and changed ones."""
    # Rows without a fingerprint say that there was no data, or that it could not be listed.
    looked = stored.filter(pl.col("fingerprint").is_not_null())
    known = dict(stored.select("period", "fingerprint").unique().iter_rows())
    failed = set(stored.filter(pl.col("error").is_not_null())["period"])
    prints = lake.fingerprints()
    if looked.is_empty():
        return [p for p in lake.periods if _ready(job, p) <= asked.as_of][-1:]
    first, last = str(looked["period"].min()), str(looked["period"].max())

    def due(period: str) -> bool:
        new = period not in known or known[period] != prints[period]
        return period >= first and (new or period in failed or period == last)

    return [period for period in lake.periods if due(period)]


def _ready(job: Job, period: str) -> datetime:
    """Return when a period is over and its labels have had their time."""
    over = periods.find_end(period, job.period.grain, job.period.timezone)
    return over + (job.labels.maturity if job.labels else timedelta(0))


def _key_sets(rows: pl.DataFrame) -> set[frozenset[str]]:
    """Return the sets of keys that a period has been cut by; none if it had no rows."""
    return {parse_slice_keys(text) for text in rows.filter(pl.col("n") > 0)["slice"].unique()}


def _pairs(rows: pl.DataFrame) -> set[tuple[str, str]]:
    return set(rows.select("metric", "definition").iter_rows())


def _lacking(
    rows: pl.DataFrame, meanings: Sequence[set[tuple[str, str]]]
) -> set[tuple[str, str]] | None:
    """Return the metrics that a period lacks, or None where one that it has means another thing."""
    had = _pairs(rows)
    lacking = min((each - had for each in meanings), key=len)
    same = {name for name, _ in lacking}.isdisjoint(name for name, _ in had)
    return lacking if same else None


def _with_state(job: Job, period: str, rows: pl.DataFrame) -> bool:
    """Whether the state of a period is kept, of the data that its rows are of."""
    return job.states is not None and fingerprint(job, period) == rows["fingerprint"][0]


def plan(
    job: Job, lake: Lake, stored: pl.DataFrame, defined: Sequence[pl.DataFrame], asked: Asked
) -> list[Step]:
    """Return what a run does with each period that it looks at.

    Parameters
    ----------
    job, lake : Job, Lake
        The job, and what lies in its sources.
    stored : polars.DataFrame
        The job's rows in the history.
    defined : sequence of polars.DataFrame
        What the job's metrics mean now.
    asked : Asked
        Which periods.

    Returns
    -------
    list of Step
        In the order of time; ``action`` is ``evaluate``, ``add`` (metrics from its state, or
        none), ``keep``, ``wait`` or ``missing``.
    """
    wanted = wanted_by_date(job, asked)
    if wanted is None:
        wanted = lake.periods if asked.backfill else _due_by_itself(job, lake, stored, asked)
    found, prints = set(lake.periods), lake.fingerprints()
    before = {
        period: rows for (period,), rows in stored.partition_by("period", as_dict=True).items()
    }
    meanings = [_pairs(each) for each in defined]
    only_data = not asked.backfill and asked.date is None and asked.span is None
    key_sets = {frozenset(keys) for keys in job.key_sets}
    steps: list[Step] = []
    for period in wanted:
        ready = _ready(job, period)
        rows = before.get(period)
        if ready > asked.as_of and (job.labels is not None or not asked.force):
            why = "labels mature until" if job.labels else "not over until"
            steps.append(Step(period, "wait", f"{why} {ready:%Y-%m-%d %H:%M}"))
        elif period not in found:
            kept = rows is not None and rows.select((pl.col("n") > 0).any()).item()
            if rows is None or not kept:
                steps.append(Step(period, "missing", "no rows"))
            elif (
                not only_data
                and all(each - _pairs(rows) for each in meanings)
                and _key_sets(rows) == key_sets
                and _with_state(job, period, rows)
            ):
                steps.append(Step(period, "add", "definition changed, and its data is gone"))
            else:
                steps.append(Step(period, "keep", "its data is gone"))
        elif rows is None:
            steps.append(Step(period, "evaluate", "new"))
        elif asked.force:
            steps.append(Step(period, "evaluate", "forced"))
        elif rows["error"].null_count() < rows.height:
            steps.append(Step(period, "evaluate", "failed before"))
        elif rows["fingerprint"][0] != prints[period]:
            steps.append(Step(period, "evaluate", "data changed"))
        elif _key_sets(rows) not in (set[frozenset[str]](), key_sets):
            kept = Step(period, "keep", "other slices")
            steps.append(kept if only_data else Step(period, "evaluate", "slices changed"))
        elif _pairs(rows) not in meanings:
            lacking = _lacking(rows, meanings)
            if only_data:
                steps.append(Step(period, "keep", "another definition"))
            elif lacking is not None and not lacking:
                steps.append(Step(period, "add", "fewer metrics"))
            elif lacking and _with_state(job, period, rows):
                steps.append(Step(period, "add", "new metrics"))
            else:
                steps.append(Step(period, "evaluate", "definition changed"))
        elif not only_data and job.states is not None and not _with_state(job, period, rows):
            steps.append(Step(period, "evaluate", "no state"))
        else:
            steps.append(Step(period, "keep", "nothing new"))
    return steps
