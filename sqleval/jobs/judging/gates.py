"""Compares the results of a job with the limits of its gates, and checks the age of its data."""

import operator
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl

from sqleval.common.names import find_nearest
from sqleval.common.periods import find_period, find_start, list_periods
from sqleval.errors import RequestError
from sqleval.history.store import find_metric_kind, parse_slice_keys
from sqleval.jobs.definitions import create_expectation
from sqleval.jobs.file.gate_text import Check
from sqleval.jobs.file.model import Job
from sqleval.jobs.file.parts import Gate
from sqleval.jobs.judging.drift import check_drift
from sqleval.jobs.judging.worse import check_worse

VERDICTS = pl.Schema(
    {
        "gate": pl.String,
        "severity": pl.String,
        "status": pl.String,
        "period": pl.String,
        "slice": pl.String,
        "value": pl.Float64,
        "limit": pl.Float64,
        "short_by": pl.Float64,
        "since": pl.String,
        "n": pl.Int64,
        "reason": pl.String,
    }
)
NO_VERDICTS = pl.DataFrame(schema=VERDICTS)
#: The comparisons of checks, for numbers and for columns.
_HOLDS: Mapping[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
#: What a gate can check besides metrics: the value of a period and slice as SQL over the columns of
#: the history; None if the value does not belong to a period.
SUBJECTS: Mapping[str, str | None] = {
    "rows": "n + n_dropped",
    "matured": "matured",  # share of the period's rows that have a label
    "age": None,  # complete periods after the job's last one with rows
}


def check_metrics(job: Job, metrics: Sequence[str]) -> None:
    """Raise `RequestError` if a gate is on a metric that the job does not compute."""
    expecting = create_expectation(job)
    expected = [] if expecting is None else expecting.metrics or []
    for gate in job.gates:
        subjects = [*metrics, *SUBJECTS]
        if gate.parsed.is_worse:
            check_worse(gate, list(metrics))
            continue
        if gate.parsed.is_drift:
            check_drift(gate, job)
            continue
        subjects += [f"expected({name})" for name in expected]
        if gate.parsed.metric not in subjects:
            raise RequestError(
                f"gate {gate.check!r}: the job has no metric {gate.parsed.metric!r}"
                f"{find_nearest(gate.parsed.metric, subjects)} (metrics: {', '.join(metrics)}; "
                f"others: {', '.join(SUBJECTS)})"
            )


def select_values(gate: Gate, history: pl.DataFrame, added: frozenset[str]) -> pl.DataFrame:
    """Return the values that a gate checks: one row per period and slice of the history.

    ``added`` are the keys of results that are not slice keys.
    """
    check = gate.parsed
    if (sql := SUBJECTS.get(check.metric)) is not None:
        rows = history.filter(pl.col("n").is_not_null())
        if check.metric == "rows":
            rows = _prefer_labelled(rows)
        rows = rows.unique(["period", "slice"], keep="first", maintain_order=True)
        rows = rows.with_columns(value=pl.sql_expr(sql).cast(pl.Float64))
        return _select_slices(rows, gate, "value", added)
    rows = history.filter(metric=check.metric)
    if gate.on != "value":
        rows = rows.with_columns(
            note=pl.coalesce("note", pl.lit(f"no {gate.on} bound of an interval"))
        )
    return _select_slices(rows, gate, gate.on, added)


def _prefer_labelled(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of a history, with observed metrics before expected ones.

    The number of rows is counted before and after the labels come. So that both counts can be
    compared, a period and slice with both gets the definition of the first.
    """
    at, is_early = ["period", "slice"], find_metric_kind(pl.col("metric")) == "expected"
    early = rows.filter(is_early).group_by(at).agg(early=pl.col("definition").min())
    rows = rows.join(early, on=at, how="left", maintain_order="left")
    return rows.with_columns(definition=pl.coalesce("early", "definition")).sort(
        is_early, maintain_order=True
    )


def _select_slices(
    rows: pl.DataFrame, gate: Gate, column: str, added: frozenset[str]
) -> pl.DataFrame:
    """Return the rows of the slices that a gate checks, and ``number``, which it compares."""
    rows = rows.filter(pl.col("error").is_null(), pl.col("n") >= gate.min_rows)
    if gate.by is not None:
        keys = frozenset(gate.by)
        chosen = [text for text in rows["slice"].unique() if parse_slice_keys(text, added) == keys]
        rows = rows.filter(pl.col("slice").is_in(chosen))
    return rows.sort("slice", "period").select(
        *("period", "slice", "definition", "value", "low", "high", "method", "n", "note"),
        number=column,
    )


def _add_reference(check: Check, values: pl.DataFrame, base: pl.DataFrame) -> pl.DataFrame:
    """Add the reference: 0, the mean of previous periods, or the mean of the baseline.

    Only values with the same definition are compared.
    """
    groups = ["slice", "definition"]
    if check.reference is None:
        return values.with_columns(reference=pl.lit(0.0))
    if check.reference == "baseline":
        means = base.group_by(groups).agg(reference=pl.col("value").mean())
        return values.join(means, on=groups, how="left", maintain_order="left")
    defined = values.filter(pl.col("value").is_not_null())
    before = pl.col("value").shift(1).rolling_mean(check.reference, min_samples=1)
    means = defined.select("period", *groups, reference=before.over(groups))
    return values.join(means, on=["period", *groups], how="left", maintain_order="left")


def compare_values(gate: Gate, rows: pl.DataFrame, base: pl.DataFrame) -> pl.DataFrame:
    """Return the verdicts of a gate that compares each value with a limit.

    Parameters
    ----------
    gate : Gate
        The gate.
    rows : polars.DataFrame
        The values to compare, from `select_values`.
    base : polars.DataFrame
        The values of the baseline.
    """
    check = gate.parsed
    compared = _add_reference(check, rows, base)
    value, limit = pl.col("number"), pl.col("limit")
    short = limit - value if check.op.startswith(">") else value - limit
    failed = "failed" if gate.severity == "fail" else "warned"
    status = (
        pl.when(value.is_null()).then(pl.lit("undefined"))
        .when(limit.is_null()).then(pl.lit("no reference"))
        .when(_HOLDS[check.op](value, limit)).then(pl.lit("passed"))
        .otherwise(pl.lit(failed))
    )  # fmt: skip
    reason = (
        pl.when(value.is_null()).then(pl.coalesce("note", pl.lit("no value")))
        .when(limit.is_null()).then(pl.lit("no other value with this definition"))
    )  # fmt: skip
    # Number the runs of consecutive periods with the same status.
    series = ["slice", "_series"]
    return (
        compared.with_columns(limit=pl.col("reference") * check.factor + check.offset)
        .with_columns(
            status=status,
            reason=reason,
            short_by=pl.when(status != "passed").then(short).otherwise(0.0),
        )
        .with_columns(_series=pl.col("status").rle_id().over("slice"))
        .with_columns(
            since=pl.when(pl.col("status") == failed).then(pl.col("period").first().over(series)),
            status=pl.when(
                pl.col("status") == failed,
                pl.int_range(1, pl.len() + 1).over(series) < gate.in_a_row,
            )
            .then(pl.lit("pending"))
            .otherwise("status"),
            value="number",
        )
    )


def judge_age(
    gate: Gate, name: str, job: Job, with_rows: Sequence[str], as_of: datetime
) -> pl.DataFrame:
    """Return the verdict on the age of the data."""
    grain, timezone = job.period.grain, job.period.timezone
    complete = find_last_complete(job, as_of)
    last = max((period for period in with_rows if period <= complete), default=None)
    age = None
    if last is not None:
        first, until = find_start(last, timezone), find_start(complete, timezone)
        age = float(max(0, len(list_periods(first, until, grain, timezone)) - 1))
    check = gate.parsed
    holds = age is not None and _HOLDS[check.op](age, check.offset)
    failed = "failed" if gate.severity == "fail" else "warned"
    reason = f"the last period with rows is {last}" if last else "no complete period has rows"
    row = {
        "gate": name, "severity": gate.severity, "status": "passed" if holds else failed,
        "period": complete, "slice": "{}", "value": age, "limit": check.offset,
        "short_by": None if age is None else abs(age - check.offset) * (not holds),
        "since": None if holds else last,
        "reason": None if holds else reason,
    }  # fmt: skip
    return pl.DataFrame([row], schema=VERDICTS)


def find_last_complete(job: Job, as_of: datetime) -> str:
    """Return the last period that is over at this time."""
    grain, timezone = job.period.grain, job.period.timezone
    now = find_start(find_period(as_of, grain, timezone), timezone)
    return find_period(now.astimezone(UTC) - timedelta(seconds=1), grain, timezone)
