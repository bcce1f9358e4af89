"""Compares the files of a job's sources, and its results, with those in the history."""

import json
from collections.abc import Mapping, Sequence

import polars as pl

from sqleval.history.store import RESTATED, parse_slice_keys
from sqleval.jobs.past import take_metric_definition
from sqleval.jobs.periods.databases import is_database
from sqleval.jobs.periods.lake import Lake

#: The largest number of file names in a message.
_MAX_NAMES = 3
#: Results that differ by less are the same: sums of doubles depend on the order of the rows.
_TOLERANCE = 1e-12
_SIDES = {"source": "predictions", "labels": "labels"}


def join_names(names: Sequence[str]) -> str:
    """Return the first names, and how many more there are.

    Examples
    --------
    >>> join_names(["a", "b", "c", "d", "e"])
    'a, b, c and 2 more'
    """
    rest = len(names) - _MAX_NAMES
    return ", ".join(names[:_MAX_NAMES]) + (f" and {rest} more" if rest > 0 else "")


def _find_lost_files(lake: Lake, before: pl.DataFrame) -> pl.DataFrame:
    """Return the history's rows of files that are gone, except those of tables."""
    if not lake.is_changed or before.is_empty():
        return before.clear()
    tables = [side for side in lake.listings if lake.find_snapshot(side) is not None]
    rows = before.filter(pl.col("period").is_not_null(), ~pl.col("side").is_in(tables))
    return rows.join(lake.files, on=["side", "file"], how="anti")


def list_lost_files(lake: Lake, before: pl.DataFrame) -> list[str]:
    """Return a note on the files that are gone, per side, and one on the emptied periods.

    Parameters
    ----------
    lake : Lake
        The files of the sources.
    before : polars.DataFrame
        The rows of files in the history.
    """
    lost = _find_lost_files(lake, before)
    notes: list[str] = []
    for side, what in _SIDES.items():
        rows = lost.filter(side=side)
        if rows.is_empty():
            continue
        names = rows["file"].unique().sort().to_list()
        periods = rows["period"].unique().sort().to_list()
        count = f"{len(names)} file{'s' * (len(names) != 1)} of {what}"
        notes.append(
            f"gone: {count} ({join_names(names)}), with rows of {join_names(periods)}; "
            "stored numbers stay where no rows are left"
        )
    emptied = sorted(lake.list_emptied_periods(before))
    if emptied:
        notes.append(f"no rows are left of {join_names(emptied)}; the stored numbers stay")
    return notes


def describe_changes(lake: Lake, before: pl.DataFrame) -> dict[str, str]:
    """Return which files of a period are gone, by period, such as ``labels/1.parquet is gone``."""
    lost = _find_lost_files(lake, before)
    if lost.is_empty():
        return {}
    names_by_period = lost.group_by("period").agg(pl.col("file").unique().sort())
    return {
        period: f"{join_names(names)} {'is' if len(names) == 1 else 'are'} gone"
        for period, names in names_by_period.iter_rows()
    }


def find_lost_results(
    before: pl.DataFrame, rows: pl.DataFrame, definitions: pl.DataFrame, *, force: bool
) -> dict[str, list[str]]:
    """Return the slices whose results would be lost, by period.

    A result is lost if its slice now has an error or, with the same definition, no rows. With
    ``force`` the user accepts results without rows.

    Parameters
    ----------
    before : polars.DataFrame
        The rows of the job in the history, from `Past.read_stored`.
    rows : polars.DataFrame
        New rows of some periods.
    definitions : polars.DataFrame
        The metrics with their definitions.
    """
    good = (pl.col("error").is_null()) & (pl.col("n") > 0)
    same = take_metric_definition(before.with_columns(definition="counts_as"))
    same = same.join(definitions, on=["metric", "definition"], how="semi")
    comparable = set(same["period"])
    lost: dict[str, list[str]] = {}
    for period, slices in _list_slices(before.filter(good)).items():
        now = rows.filter(period=period)
        if now.is_empty():
            continue
        kept = set(now.filter(good)["slice"])
        failed = set(now.filter(pl.col("error").is_not_null())["slice"])
        empty = set(now.filter(pl.col("error").is_null(), pl.col("n") == 0)["slice"])
        if force or period not in comparable:
            empty.clear()
        # An error of the whole period, or one without any row, has no slice.
        has_no_slice = "{}" in failed or ("{}" in empty and not kept)
        gone = [text for text in slices if text not in kept]
        lost[period] = [text for text in gone if has_no_slice or text in failed | empty]
    return {period: slices for period, slices in lost.items() if slices}


def find_uncounted_rows(lake: Lake, rows: pl.DataFrame) -> dict[str, str]:
    """Return an error for each period whose results are of fewer rows than its files have.

    Every row is used or left out, so that a smaller number means that rows got lost on the way.

    Parameters
    ----------
    lake : Lake
        The files of the sources, with the rows that were counted in them.
    rows : polars.DataFrame
        New results of some periods.
    """
    job = lake.job
    # Rows that a condition leaves out are not counted, and a database may have changed meanwhile.
    has_other_rows = job.where is not None or job.counts is not None or job.from_state is not None
    has_other_rows |= job.long is not None  # several rows are a case
    if has_other_rows or is_database(lake.find_snapshot("source")):
        return {}
    added, texts = job.added_keys, rows["slice"].unique()
    keys = {text: ",".join(sorted(parse_slice_keys(text, added))) for text in texts}
    has_models = "model" in added
    models = {text: str(json.loads(text).get("model")) if has_models else "" for text in keys}
    groups = {
        "set": pl.col("slice").replace_strict(keys, return_dtype=pl.String),
        "model": pl.col("slice").replace_strict(models, return_dtype=pl.String),
    }
    failed = rows.filter(pl.col("error").is_not_null())["period"]
    sums = (
        rows.filter(~pl.col("period").is_in(failed.implode()))
        .with_columns(**groups)
        .group_by("period", "metric", *groups)
        .agg(n=(pl.col("n") + pl.col("n_dropped")).sum())
        .group_by("period", maintain_order=True)
        .agg(pl.col("n").max())
    )
    return {
        period: f"the results are of {n:,} rows, and the files have {counted:,} of this period"
        for period, n in sums.iter_rows()
        if n < (counted := lake.count_rows(period))
    }


def _list_slices(rows: pl.DataFrame) -> dict[str, list[str]]:
    grouped = rows.group_by("period").agg(pl.col("slice").unique().sort())
    return dict(grouped.sort("period").iter_rows())


def compare_results(
    before: pl.DataFrame, rows: pl.DataFrame, reasons: Mapping[str, str], run: Mapping[str, str]
) -> pl.DataFrame:
    """Return the stored results that new ones replace, as rows of the schema `RESTATED`.

    Parameters
    ----------
    before : polars.DataFrame
        The stored rows of some periods.
    rows : polars.DataFrame
        The rows that replace them.
    reasons : mapping of str to str
        The reason of the change, by period.
    run : mapping of str to str
        The run and its time.
    """
    at = ["period", "slice", "metric"]
    # A changed definition of an older release counts as well: this may be its last record.
    exact, close = ("n", "n_dropped", "definition"), ("value", "low", "high")
    old = before.filter(pl.col("error").is_null(), pl.col("n") > 0)
    if old.is_empty():
        return pl.DataFrame(schema=RESTATED)
    both = old.join(rows.unique(at), on=at, how="left", suffix="_now", maintain_order="left")
    changed = both.filter(
        pl.any_horizontal(
            pl.col("job_now").is_null(),
            *(pl.col(name).ne_missing(pl.col(f"{name}_now")) for name in exact),
            *(_differs_by_more(name) for name in close),
        )
    )
    new = {"new_value": "value_now", "new_n": "n_now", "new_definition": "definition_now"}
    error = pl.col("error_now")
    reason = pl.col("period").replace_strict(reasons, default="replaced", return_dtype=pl.String)
    changed = changed.with_columns(
        **{name: pl.col(column) for name, column in new.items()},
        new_run=pl.lit(run["run"]),
        restated_at=pl.lit(run["evaluated_at"]),
        reason=pl.when(error.is_null()).then(reason).otherwise(reason + ": " + error),
    )
    return changed.select(pl.col(name).cast(kind) for name, kind in RESTATED.items())


def _differs_by_more(name: str) -> pl.Expr:
    """Return whether a number differs by more than rounding."""
    old, new = pl.col(name), pl.col(f"{name}_now")
    bound = _TOLERANCE * pl.max_horizontal(pl.lit(1.0), old.abs())
    apart = ~(old == new) & ((old - new).abs() > bound)
    return apart.fill_null(old.is_null() != new.is_null())
