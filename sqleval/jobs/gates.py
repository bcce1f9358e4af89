"""Judges the results of a job by its gates: which failed, by how much, since when."""

import operator
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import polars as pl

from sqleval.common.names import nearest
from sqleval.common.periods import find_period, find_start, list_periods
from sqleval.errors import RequestError
from sqleval.history.store import parse_slice_keys
from sqleval.jobs.definitions import create_expectation
from sqleval.jobs.drift import check_drift, judge_drift
from sqleval.jobs.file.gate_text import Check
from sqleval.jobs.file.model import Job
from sqleval.jobs.file.parts import Gate
from sqleval.jobs.incidents import list_incidents
from sqleval.jobs.worse import check_worse, judge_worse

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
#: The comparisons of checks, for numbers and for columns.
_HOLDS: Mapping[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
#: What a gate can check besides a metric, per period and slice of the history.
SUBJECTS: dict[str, pl.Expr] = {
    "rows": pl.col("n") + pl.col("n_dropped"),
    "matured": pl.col("matured"),  # share of the period's rows that have a label
}
#: A slice is expected if it had at least 30 rows in each of the 7 previous periods.
_STEADY_PERIODS, _STEADY_ROWS = 7, 30


def check_metrics(job: Job, metrics: Sequence[str]) -> None:
    """Raise `RequestError` if a gate is on a metric that the job does not compute."""
    expecting = create_expectation(job)
    expected = [] if expecting is None else expecting.metrics or []
    for gate in job.gates:
        # The age is that of the whole job: complete periods after the last one with rows.
        others = [*SUBJECTS, "age"]
        subjects = [*metrics, *others]
        if gate.parsed.is_worse:
            check_worse(gate, list(metrics))
            continue
        if gate.parsed.is_drift:
            check_drift(gate)
            continue
        subjects += [f"expected({name})" for name in expected]
        if gate.parsed.metric not in subjects:
            raise RequestError(
                f"gate {gate.check!r}: the job has no metric {gate.parsed.metric!r}"
                f"{nearest(gate.parsed.metric, subjects)} (metrics: {', '.join(metrics)}; "
                f"others: {', '.join(others)})"
            )


def select_values(check: Check, gate: Gate, history: pl.DataFrame) -> pl.DataFrame:
    """Return the values that a gate checks: one row per period and slice of the history."""
    if check.metric in SUBJECTS:
        rows = history.filter(pl.col("n").is_not_null()).unique(
            ["period", "slice"], keep="first", maintain_order=True
        )
        rows = rows.with_columns(value=SUBJECTS[check.metric].cast(pl.Float64))
        return _select_slices(rows, gate, "value")
    rows = history.filter(metric=check.metric)
    if gate.on != "value":
        rows = rows.with_columns(
            note=pl.coalesce("note", pl.lit(f"no {gate.on} bound of an interval"))
        )
    return _select_slices(rows, gate, gate.on)


def _select_slices(rows: pl.DataFrame, gate: Gate, column: str) -> pl.DataFrame:
    """Return the rows of the slices that a gate checks, and ``number``, which it compares."""
    rows = rows.filter(pl.col("error").is_null(), pl.col("n") >= gate.min_rows)
    if gate.by is not None:
        keys = frozenset(gate.by)
        chosen = [text for text in rows["slice"].unique() if parse_slice_keys(text) == keys]
        rows = rows.filter(pl.col("slice").is_in(chosen))
    return rows.sort("slice", "period").select(
        *("period", "slice", "definition", "value", "low", "high", "method", "n", "note"),
        number=column,
    )


def _add_reference(check: Check, job: Job, values: pl.DataFrame) -> pl.DataFrame:
    """Add the reference: 0, the mean of previous periods, or the mean of the baseline.

    Only values with the same definition are compared.
    """
    groups = ["slice", "definition"]
    if check.reference is None:
        return values.with_columns(reference=pl.lit(0.0))
    if check.reference == "baseline":
        assert job.baseline is not None
        period, last = pl.col("period"), job.baseline.last
        inside = (period >= job.baseline.first) & ((period <= last) | period.str.starts_with(last))
        means = values.filter(inside).group_by(groups).agg(reference=pl.col("value").mean())
        return values.join(means, on=groups, how="left", maintain_order="left")
    defined = values.filter(pl.col("value").is_not_null())
    before = pl.col("value").shift(1).rolling_mean(check.reference, min_samples=1)
    means = defined.select("period", *groups, reference=before.over(groups))
    return values.join(means, on=["period", *groups], how="left", maintain_order="left")


def _judge_gate(
    gate: Gate, name: str, job: Job, history: pl.DataFrame, periods: Sequence[str]
) -> pl.DataFrame:
    """Return the verdicts of one gate on all periods of the history; of drift, on ``periods``.

    The history has the rows of metrics, or of expected metrics for a gate on one.
    """
    if gate.parsed.is_drift:
        judged = judge_drift(gate, job, history, periods)
    else:
        rows = select_values(gate.parsed, gate, history)
        judged = judge_worse(gate, job, rows) if gate.parsed.is_worse else _compare(gate, job, rows)
    undefined = {"fail": "failed", "warn": "warned"}.get(gate.undefined or "", "undefined")
    return judged.with_columns(
        pl.col("status").replace("undefined", undefined),
        gate=pl.lit(name),
        severity=pl.lit(gate.severity),
    )


def _compare(gate: Gate, job: Job, rows: pl.DataFrame) -> pl.DataFrame:
    """Return the verdicts of a gate that compares each value with a limit."""
    check = gate.parsed
    compared = _add_reference(check, job, rows)
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
    # Consecutive periods with the same status.
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


def _judge_age(
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
    return find_period(now - timedelta(seconds=1), grain, timezone)


def _find_vanished_slices(job: Job, history: pl.DataFrame) -> pl.DataFrame:
    """Return periods and slices without rows that had enough in each of the previous periods.

    Only periods with the slice keys and definitions of the job are compared. A slice that failed
    is not missing, nor is any of a period that failed as a whole.
    """
    rows = history.select("period", "slice", "n", "metric", "definition").filter(pl.col("n") > 0)
    pairs = pl.struct("metric", "definition").unique()
    definitions = rows.group_by("period").agg(definitions=pairs.hash().sum())
    key_sets = {frozenset(keys) for keys in job.key_sets}
    slices = [text for text in rows["slice"].unique() if parse_slice_keys(text) in key_sets]
    seen = (
        rows.group_by("period", "slice").agg(pl.col("n").max())
        .join(definitions, on="period")
        .with_columns(at=pl.col("period").rank("dense").cast(pl.Int64))
    )  # fmt: skip
    steady = (
        seen.filter(pl.col("n") >= _STEADY_ROWS, pl.col("slice").is_in(slices))
        .sort("at")
        .with_columns(row=pl.int_range(pl.len()).over("slice", "definitions"))
        # In consecutive periods the difference of rank and row number is constant.
        .with_columns(series=pl.col("at") - pl.col("row"))
        .with_columns(length=pl.int_range(1, pl.len() + 1).over("slice", "definitions", "series"))
        .filter(pl.col("length") >= _STEADY_PERIODS)
        .select("slice", "definitions", at=pl.col("at") + 1)
    )
    errors = history.filter(pl.col("error").is_not_null()).select("period", "slice").unique()
    places = seen.select("at", "period", "definitions").unique()
    return (
        steady.join(places, on=["at", "definitions"])
        .join(seen, on=["at", "slice"], how="anti")
        .join(errors, on=["period", "slice"], how="anti")
        .join(errors.filter(slice="{}"), on="period", how="anti")
        .sort("period", "slice")
        .select("period", "slice")
    )


def _judge_missing_data(job: Job, history: pl.DataFrame, periods: Sequence[str]) -> pl.DataFrame:
    """Return the verdicts of the gate on missing data."""
    status = {"fail": "failed", "warn": "warned"}[job.missing]
    same = {
        "gate": "missing", "severity": job.missing, "status": status,
        "value": 0.0, "limit": 1.0, "short_by": 1.0, "n": 0,
    }  # fmt: skip
    reason = (
        f"no rows, after at least {_STEADY_ROWS} in each of the {_STEADY_PERIODS} periods before"
    )
    rows: list[dict[str, object]] = []
    all_rows = (pl.col("n") + pl.col("n_dropped")).max()
    sizes = dict(history.group_by("period").agg(all_rows).iter_rows())
    vanished = dict(_find_vanished_slices(job, history).group_by("period").agg("slice").iter_rows())
    first_empty = _find_first_empty(sizes)
    for period in periods:
        if period in first_empty:
            rows.append({**same, "period": period, "slice": "{}", "since": first_empty[period],
                         "reason": "the period has no rows"})  # fmt: skip
        for keys in vanished.get(period, []):
            rows.append(
                {**same, "period": period, "slice": keys, "since": period, "reason": reason}
            )
    return pl.DataFrame(rows, schema=VERDICTS)


def _find_first_empty(sizes: Mapping[str, int]) -> dict[str, str]:
    """Return the first of the consecutive empty periods up to each empty one."""
    found: dict[str, str] = {}
    first = ""
    for period in sorted(sizes):
        first = (first or period) if sizes[period] == 0 else ""
        if first:
            found[period] = first
    return found


class Judgement(NamedTuple):
    """The verdicts on the periods of a run, and the incidents that touch them.

    ``failures`` are the verdicts on all periods of the history that failed or warn.
    """

    verdicts: pl.DataFrame
    incidents: pl.DataFrame
    failures: pl.DataFrame


def judge_gates(
    job: Job,
    history: pl.DataFrame,
    periods: Sequence[str],
    with_rows: Sequence[str],
    as_of: datetime,
    expected: pl.DataFrame,
) -> Judgement:
    """Return the verdict of each gate on each period and slice, and the incidents.

    Parameters
    ----------
    job : Job
        The job with its gates.
    history : polars.DataFrame
        All rows of the job's metrics in the history.
    periods : sequence of str
        The periods to judge.
    with_rows : sequence of str
        The periods with rows in the source.
    as_of : datetime
        The time of the run; the age of the data refers to it.
    expected : polars.DataFrame
        All rows of its expected metrics.

    Returns
    -------
    Judgement
        Verdicts with ``gate``, ``severity``, ``status`` (``passed``, ``failed``, ``warned``,
        ``pending``, ``undefined``, ``no reference``, ``nothing to judge``), ``period``, ``slice``,
        ``value``, ``limit``, ``short_by`` (the distance to the limit), ``since`` (the first of the
        consecutive periods that failed), ``n`` and ``reason``.
    """
    tables = [pl.DataFrame(schema=VERDICTS)]
    is_chosen = pl.col("period").is_in(list(periods))
    for gate, name in zip(job.gates, job.gate_names, strict=True):
        if gate.parsed.metric == "age":
            tables.append(_judge_age(gate, name, job, with_rows, as_of))
            continue
        values = expected if gate.parsed.is_expected else history
        verdicts = _judge_gate(gate, name, job, values, periods).sort("period", "slice")
        if verdicts.filter(is_chosen).is_empty():
            tables.append(_say_nothing(gate, name, values.filter(is_chosen, pl.col("n") > 0)))
        tables.append(verdicts.select(pl.col(n).cast(kind) for n, kind in VERDICTS.items()))
    tables.append(_judge_undefined(job, pl.concat(tables)))
    every = history["period"].unique().sort().to_list()
    if job.missing != "ignore":
        tables.append(_judge_missing_data(job, history, every))
    verdicts = pl.concat(tables)
    names = zip(job.gates, job.gate_names, strict=True)
    ages = [name for gate, name in names if gate.parsed.metric == "age"]
    incidents = list_incidents(job, pl.concat([history, expected]), verdicts, periods)
    failures = verdicts.filter(pl.col("status").is_in(["failed", "warned"]))
    return Judgement(verdicts.filter(is_chosen | pl.col("gate").is_in(ages)), incidents, failures)


def _say_nothing(gate: Gate, name: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Return the verdict of a gate that judges nothing in the periods of a run with rows."""
    if rows.is_empty():
        return pl.DataFrame(schema=VERDICTS)
    slices = "no slice" if gate.by is None else f"no slice by {', '.join(gate.by)}"
    slices = "not all rows together" if gate.by == [] else slices
    least = f" with at least {gate.min_rows} rows" if gate.min_rows else ""
    row = {
        "gate": name, "severity": gate.severity, "status": "nothing to judge",
        "period": rows["period"].max(), "slice": "{}", "reason": f"{slices} has a result{least}",
    }  # fmt: skip
    return pl.DataFrame([row], schema=VERDICTS)


def _judge_undefined(job: Job, verdicts: pl.DataFrame) -> pl.DataFrame:
    """Return a failure for each period with rows of which no gate could judge anything."""
    if all(gate.undefined is not None for gate in job.gates):
        return pl.DataFrame(schema=VERDICTS)
    is_undefined = pl.col("status") == "undefined"
    periods = (
        verdicts.group_by("period", maintain_order=True)
        .agg(is_undefined.all().alias("undefined"), pl.col("reason", "n").first(), count=pl.len())
        .filter("undefined", pl.col("n") > 0)
    )
    reason = pl.format("no gate could judge anything: {} ({} verdicts)", "reason", "count")
    return periods.select(
        pl.lit(value).cast(VERDICTS[name]).alias(name)
        if name not in ("period", "reason")
        else (reason.alias(name) if name == "reason" else pl.col(name))
        for name, value in {
            **dict.fromkeys(VERDICTS), "gate": "undefined", "severity": "fail",
            "status": "failed", "slice": "{}",
        }.items()
    )  # fmt: skip
