"""Judges whether data is missing: periods without rows, and slices that had rows until then."""

import json
from collections.abc import Mapping

import polars as pl

from sqleval.history.store import KEYS_DEFINITION, Selection, parse_slice_keys
from sqleval.jobs.file.model import Job
from sqleval.jobs.judging.gates import VERDICTS
from sqleval.jobs.past import Past

#: A slice is expected if it had at least 30 rows in each of the 7 previous periods.
STEADY_PERIODS, _STEADY_ROWS = 7, 30

_VANISHED = pl.Schema({"period": pl.String, "slice": pl.String, "is_left_out": pl.Boolean})


def judge_missing_data(job: Job, past: Past, first: str) -> pl.DataFrame:
    """Return the verdicts of the gate on missing data, from the period ``first`` on."""
    status = {"fail": "failed", "warn": "warned"}[job.missing]
    same = {
        "gate": "missing", "severity": job.missing, "status": status,
        "value": 0.0, "limit": 1.0, "short_by": 1.0, "n": 0,
    }  # fmt: skip
    after = f"after at least {_STEADY_ROWS} in each of the {STEADY_PERIODS} periods before"
    rows: list[dict[str, object]] = []
    # If the source could not be listed, it is unknown whether a period has rows.
    sizes = dict(past.both.group_by("period").agg(pl.col("has_any").max()).iter_rows())
    vanished = dict(
        _find_vanished_slices(job, past, first)
        .group_by("period").agg(pl.struct("slice", "is_left_out")).iter_rows()
    )  # fmt: skip
    first_empty = _find_first_empty(sizes)
    for period in sorted(period for period in sizes if period >= first):
        if period in first_empty:
            rows.append({**same, "period": period, "slice": "{}", "since": first_empty[period],
                         "reason": "the period has no rows"})  # fmt: skip
        for each in vanished.get(period, []):
            what = "all rows are left out" if each["is_left_out"] else "no rows"
            rows.append({**same, "period": period, "slice": each["slice"], "since": period,
                         "reason": f"{what}, {after}"})  # fmt: skip
    return pl.DataFrame(rows, schema=VERDICTS)


def _find_vanished_slices(job: Job, past: Past, first: str) -> pl.DataFrame:
    """Return periods and slices without rows that had enough in each of the previous periods.

    Only periods with the slice keys and definitions of the job are compared. A slice that failed
    is not missing, nor is any slice of a period that failed as a whole. ``is_left_out`` says that
    the slice has rows, but all were left out, for example because they have no label.
    """
    filled = past.overview.filter("has_rows")
    order = filled["period"].unique().sort()
    if len(order) <= STEADY_PERIODS:
        return pl.DataFrame(schema=_VANISHED)
    start = order[max(0, int((order < first).sum()) - STEADY_PERIODS)]
    columns = ["period", "slice", "n", "has_any", "has_failed", KEYS_DEFINITION]
    recent = past.read(Selection(metrics=past.metrics, first=start, columns=columns, distinct=True))
    rows = recent.filter(pl.col("n") > 0)
    pairs = pl.struct("metric", "definition").unique()
    definitions = filled.group_by("period").agg(definitions=pairs.hash().sum())
    key_sets = {frozenset(keys) for keys in job.key_sets}
    keys = {text: parse_slice_keys(text, job.added_keys) for text in rows["slice"].unique()}
    slices = [text for text, names in keys.items() if names in key_sets]
    names = {text: json.dumps(sorted(names)) for text, names in keys.items()}
    slices_by_period = (
        rows.group_by("period", "slice", KEYS_DEFINITION).agg(pl.col("n").max())
        .join(definitions, on="period")
        .with_columns(
            at=pl.col("period").rank("dense").cast(pl.Int64),
            # A slice is identified by its keys, their expressions and the metrics of the period.
            definitions=pl.struct(
                "definitions", pl.col(KEYS_DEFINITION).fill_null(""),
                keys=pl.col("slice").replace_strict(names, return_dtype=pl.String),
            ).hash(),
        )
    )  # fmt: skip
    steady = (
        slices_by_period.filter(pl.col("n") >= _STEADY_ROWS, pl.col("slice").is_in(slices))
        .sort("at")
        .with_columns(row=pl.int_range(pl.len()).over("slice", "definitions"))
        # In consecutive periods the difference of rank and row number is constant.
        .with_columns(series=pl.col("at") - pl.col("row"))
        .with_columns(length=pl.int_range(1, pl.len() + 1).over("slice", "definitions", "series"))
        .filter(pl.col("length") >= STEADY_PERIODS)
        .select("slice", "definitions", at=pl.col("at") + 1)
    )
    errors = recent.filter("has_failed").select("period", "slice").unique()
    left_out = recent.filter("has_any").select("period", "slice", is_left_out=True).unique()
    places = slices_by_period.select("at", "period", "definitions").unique()
    return (
        steady.join(places, on=["at", "definitions"])
        .join(slices_by_period, on=["at", "slice"], how="anti")
        .join(errors, on=["period", "slice"], how="anti")
        .join(errors.filter(slice="{}"), on="period", how="anti")
        .join(left_out, on=["period", "slice"], how="left")
        .sort("period", "slice")
        .select("period", "slice", pl.col("is_left_out").fill_null(False))
    )


def _find_first_empty(sizes: Mapping[str, bool | None]) -> dict[str, str]:
    """Return for each empty period the first of the consecutive empty ones up to it."""
    first_by_period: dict[str, str] = {}
    first = ""
    for period in sorted(sizes):
        first = (first or period) if sizes[period] is False else ""
        if first:
            first_by_period[period] = first
    return first_by_period
