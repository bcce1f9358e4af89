"""Removes old periods from a history."""

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple, cast

import polars as pl

from sqleval.common.periods import Grain, find_end
from sqleval.history.store import NO_RESULTS, Selection, Store, list_values, retry_while_busy

#: The tables of results, by their names in messages.
_TABLES = {"results": "sqleval_history", "restated": "sqleval_restated"}


class Removal(NamedTuple):
    """The numbers of a job's rows that are removed from a table, and that are kept."""

    job: str
    table: str
    removed: int
    kept: int


def find_old_periods(
    periods: Collection[str], grain: str, timezone: str | None, cutoff: datetime
) -> set[str]:
    """Return the periods that end at or before a time."""
    length = cast(Grain, grain)
    return {each for each in periods if find_end(each, length, timezone) <= cutoff}


def remove_periods(
    store: Store, job: str, old: Collection[str], *, dry: bool = False
) -> list[Removal]:
    """Remove the results, the replaced results and the records of files of periods.

    Parameters
    ----------
    store : Store
        The history.
    job : str
        The name of the job.
    old : collection of str
        The periods.
    dry : bool
        Only count the rows.

    Returns
    -------
    list of Removal
        One per table.
    """
    files = retry_while_busy(lambda: store.read("sqleval_files", job))
    kept = leave_out(files, old)
    removals = [*_count(store, job, old)]
    removals.append(Removal(job, "files", files.height - kept.height, kept.height))
    if not dry and any(each.removed for each in removals):
        # Remove records of files first: with a record but without results, a period would be
        # evaluated again.
        if not kept.equals(files):
            retry_while_busy(lambda: store.replace(job, [], NO_RESULTS, kept))
        retry_while_busy(lambda: store.remove(job, sorted(old)))
    return removals


def prune_store(store: Store, job: str, cutoff: datetime, *, dry: bool = False) -> list[Removal]:
    """Remove the periods of a job that ended before a time, except its last one.

    The next run continues after the last one. Days begin in UTC here.
    """
    periods = list_values(store, job, "period")
    grain = next(iter(list_values(store, job, "grain")), "day")
    old = find_old_periods(periods, grain, None, cutoff) - {max(periods, default="")}
    return remove_periods(store, job, old, dry=dry)


def _count(store: Store, job: str, old: Collection[str]) -> Iterator[Removal]:
    """Yield the number of results and of replaced results, of old periods and of all others."""
    only = Selection(columns=["period"])
    for name, table in _TABLES.items():
        rows = retry_while_busy(lambda table=table: store.read(table, job, only))
        removed = int(rows["period"].is_in(list(old)).sum())
        yield Removal(job, name, removed, rows.height - removed)


def leave_out(files: pl.DataFrame, old: Collection[str]) -> pl.DataFrame:
    """Return the records of files, except records of old periods.

    A file of a source that has only rows of old periods keeps one record, so that it is not read
    again.
    """
    is_old = pl.col("period").is_in(list(old)).fill_null(False) & pl.col("error").is_null()
    rest, gone = files.filter(~is_old), files.filter(is_old)
    at = ["side", "file"]
    idle = gone.unique(at, maintain_order=True).join(rest, on=at, how="anti", maintain_order="left")
    idle = idle.with_columns(
        period=pl.lit(None, pl.String), rows=pl.lit(0, pl.Int64), labelled=pl.lit(None, pl.Int64)
    )
    return pl.concat([rest, idle])


def describe_removals(removals: Sequence[Removal]) -> str:
    """Return a text with the number of rows that are removed from each table.

    Examples
    --------
    >>> describe_removals([Removal("a", "results", 1200, 8), Removal("a", "files", 1, 1)])
    '1,200 results and 1 record of files'
    """
    words = {
        "results": ("result", "results"),
        "restated": ("replaced result", "replaced results"),
        "files": ("record of files", "records of files"),
    }
    parts = [
        f"{each.removed:,} {words[each.table][each.removed != 1]}"
        for each in removals
        if each.removed
    ]
    return " and ".join(", ".join(parts).rsplit(", ", 1)) if parts else "nothing"
