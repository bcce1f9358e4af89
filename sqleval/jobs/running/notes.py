"""Writes the notes of a run: facts that its user should know and that are not errors."""

from collections.abc import Sequence

import polars as pl

from sqleval.common.counts import format_row_count
from sqleval.history.store import find_metric_kind
from sqleval.jobs.file.model import Job
from sqleval.jobs.periods.lake import Lake
from sqleval.jobs.running.plan import Decision


def note_rows_without_period(job: Job, lake: Lake) -> list[str]:
    """Return a note if rows of the source are in no period."""
    count = lake.without_period
    if not count:
        return []
    column = job.period.column
    return [
        f"{format_row_count(count)} without a period: {column} is missing or outside the years "
        "1000 to 9998"
    ]


def note_other_slices(decisions: Sequence[Decision]) -> list[str]:
    """Return a note if a period keeps results of other sets of slices than the job has now."""
    others = [each.period for each in decisions if each.reason == "other slices"]
    if not others:
        return []
    return [f"{others[-1]} has other slices than the job; --backfill evaluates older periods again"]


def note_gaps(gaps: Sequence[str]) -> list[str]:
    """Return a note if periods with rows between evaluated ones were never evaluated."""
    if not gaps:
        return []
    which = f"{gaps[0]} was" if len(gaps) == 1 else f"{len(gaps)} periods, up to {gaps[-1]}, were"
    return [f"a gap: {which} never evaluated; --backfill evaluates all periods"]


def note_periods_without_labels(job: Job, rows: pl.DataFrame) -> list[str]:
    """Return a note for periods that have rows but no labels yet."""
    if job.labels is None:
        return []
    observed = rows.filter(find_metric_kind(pl.col("metric")) == "", pl.col("n_dropped") > 0)
    shares = observed.group_by("period").agg(pl.col("matured").max())
    bare = shares.filter(matured=0)["period"].sort().to_list()
    if not bare:
        return []
    which = bare[0] if len(bare) == 1 else f"{len(bare)} periods, up to {bare[-1]}"
    return [f"no row has a label: {which}; only the gate matured can judge this"]


def note_restated(count: int) -> list[str]:
    """Return a note with the number of stored numbers that were replaced, if any."""
    if not count:
        return []
    what = "stored number was" if count == 1 else "stored numbers were"
    return [f"{count} {what} replaced; sqleval history --restated shows them"]


def note_other_definitions(
    overview: pl.DataFrame, definitions: pl.DataFrame, with_rows: Sequence[str]
) -> list[str]:
    """Return a note if periods with rows were evaluated with another definition of a metric."""
    here = overview.filter(pl.col("period").is_in(with_rows))
    stored = here.select("period", "metric", "definition").unique()
    current = stored.join(definitions, on=["metric", "definition"], how="semi")
    counts = current.group_by("period").len()
    complete = counts.filter(pl.col("len") == definitions.height)["period"].implode()
    others = stored.filter(~pl.col("period").is_in(complete))["period"].unique().sort()
    if others.is_empty():
        return []
    if len(others) == 1:
        return [f"{others[0]} has another definition; --backfill evaluates it again"]
    return [
        f"{len(others)} periods, up to {others[-1]}, have another definition; "
        "--backfill evaluates them again"
    ]
