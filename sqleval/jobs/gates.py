"""Judges the history by a job's gates: what failed, by how much, since when."""

import operator
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import polars as pl

from sqleval.common.names import nearest
from sqleval.common.periods import find_period, find_start, list_periods
from sqleval.errors import RequestError
from sqleval.history.store import parse_slice_keys
from sqleval.jobs.file.gate_text import SUBJECTS, Check
from sqleval.jobs.file.model import Gate, Job

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
#: When a check holds, of numbers and of columns.
_HOLDS: Mapping[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
#: A slice is expected where it had so many rows in each of so many periods before.
_STEADY, _ENOUGH = 7, 30


def check_metrics(job: Job, metrics: Sequence[str]) -> None:
    """Raise `RequestError` if a gate is on a metric that the job does not compute."""
    for gate in job.gates:
        known = [*metrics, *SUBJECTS]
        if gate.parsed.metric not in known:
            raise RequestError(
                f"gate {gate.check!r}: the job has no metric {gate.parsed.metric!r}"
                f"{nearest(gate.parsed.metric, known)} (metrics: {', '.join(metrics)}; "
                f"besides: {', '.join(SUBJECTS)})"
            )


def _select_values(check: Check, gate: Gate, history: pl.DataFrame) -> pl.DataFrame:
    """Return what a gate looks at: one row a period and slice, of all periods known."""
    if check.metric in ("rows", "matured"):
        value = (
            pl.col("matured") if check.metric == "matured" else pl.col("n") + pl.col("n_dropped")
        )
        of = history.filter(pl.col("n").is_not_null()).unique(
            ["period", "slice"], keep="first", maintain_order=True
        )
        found = of.with_columns(value=value.cast(pl.Float64))
        return _select_slices(found, gate, "value")
    found = history.filter(metric=check.metric)
    if gate.on != "value":
        found = found.with_columns(
            note=pl.coalesce("note", pl.lit(f"no {gate.on} bound of an interval"))
        )
    return _select_slices(found, gate, gate.on)


def _select_slices(found: pl.DataFrame, gate: Gate, judged: str) -> pl.DataFrame:
    """Return the rows that a gate judges, with the number that it judges."""
    found = found.filter(pl.col("error").is_null(), pl.col("n") >= gate.min_rows)
    if gate.by is not None:
        keys = frozenset(gate.by)
        chosen = [text for text in found["slice"].unique() if parse_slice_keys(text) == keys]
        found = found.filter(pl.col("slice").is_in(chosen))
    return found.sort("slice", "period").select(
        "period", "slice", "definition", "value", "n", "note", judged=judged
    )


def _add_reference(check: Check, job: Job, observed: pl.DataFrame) -> pl.DataFrame:
    """Add the reference: nothing, the mean of the periods before, or the baseline's.

    Only numbers of one definition are compared.
    """
    alike = ["slice", "definition"]
    if check.reference is None:
        return observed.with_columns(reference=pl.lit(0.0))
    if check.reference == "baseline":
        assert job.baseline is not None
        period, last = pl.col("period"), job.baseline.last
        inside = (period >= job.baseline.first) & ((period <= last) | period.str.starts_with(last))
        means = observed.filter(inside).group_by(alike).agg(reference=pl.col("value").mean())
        return observed.join(means, on=alike, how="left", maintain_order="left")
    known = observed.filter(pl.col("value").is_not_null())
    before = pl.col("value").shift(1).rolling_mean(check.reference, min_samples=1)
    means = known.select("period", *alike, reference=before.over(alike))
    return observed.join(means, on=["period", *alike], how="left", maintain_order="left")


def _judge_gate(gate: Gate, job: Job, history: pl.DataFrame) -> pl.DataFrame:
    """Return the verdict of one gate on every period that is known."""
    check = gate.parsed
    compared = _add_reference(check, job, _select_values(check, gate, history))
    value, limit = pl.col("judged"), pl.col("limit")
    short = limit - value if check.op.startswith(">") else value - limit
    bad = "failed" if gate.severity == "fail" else "warned"
    status = (
        pl.when(value.is_null()).then(pl.lit("undefined"))
        .when(limit.is_null()).then(pl.lit("no reference"))
        .when(_HOLDS[check.op](value, limit)).then(pl.lit("passed"))
        .otherwise(pl.lit(bad))
    )  # fmt: skip
    reason = (
        pl.when(value.is_null()).then(pl.coalesce("note", pl.lit("no value")))
        .when(limit.is_null()).then(pl.lit("nothing of this definition to compare with"))
    )  # fmt: skip
    stretch = ["slice", "_stretch"]
    return (
        compared.with_columns(limit=pl.col("reference") + check.offset)
        .with_columns(
            status=status,
            reason=reason,
            short_by=pl.when(status != "passed").then(short).otherwise(0.0),
        )
        .with_columns(_stretch=pl.col("status").rle_id().over("slice"))
        .with_columns(
            since=pl.when(pl.col("status") == bad).then(pl.col("period").first().over(stretch)),
            status=pl.when(
                pl.col("status") == bad, pl.int_range(1, pl.len() + 1).over(stretch) < gate.in_a_row
            )
            .then(pl.lit("pending"))
            .otherwise("status"),
            gate=pl.lit(gate.check),
            severity=pl.lit(gate.severity),
            value="judged",
        )
    )


def _judge_age(gate: Gate, job: Job, found: Sequence[str], as_of: datetime) -> pl.DataFrame:
    """Return the verdict on how old the newest period is."""
    grain, timezone = job.period.grain, job.period.timezone
    over = find_last_complete(job, as_of)
    last = max((period for period in found if period <= over), default=None)
    late = None
    if last is not None:
        first, until = find_start(last, timezone), find_start(over, timezone)
        late = float(max(0, len(list_periods(first, until, grain, timezone)) - 1))
    check = gate.parsed
    fine = late is not None and _HOLDS[check.op](late, check.offset)
    bad = "failed" if gate.severity == "fail" else "warned"
    why = f"the last period with rows is {last}" if last else "no period that is over has rows"
    row = {
        "gate": gate.check, "severity": gate.severity, "status": "passed" if fine else bad,
        "period": over, "slice": "{}", "value": late, "limit": check.offset,
        "short_by": None if late is None else abs(late - check.offset) * (not fine),
        "since": None if fine else last,
        "reason": None if fine else why,
    }  # fmt: skip
    return pl.DataFrame([row], schema=VERDICTS)


def find_last_complete(job: Job, as_of: datetime) -> str:
    """Return the last period that is over."""
    grain, timezone = job.period.grain, job.period.timezone
    now = find_start(find_period(as_of, grain, timezone), timezone)
    return find_period(now - timedelta(seconds=1), grain, timezone)


def _find_vanished_slices(job: Job, history: pl.DataFrame) -> pl.DataFrame:
    """Return each period and slice that has no rows, where it had many in each period before.

    Only periods that were cut and defined alike, and as the job is now, are compared.
    """
    kinds = history.filter(pl.col("n") > 0).select("period", "slice", "n", "metric", "definition")
    pairs = pl.struct("metric", "definition").unique()
    meaning = kinds.group_by("period").agg(meaning=pairs.hash().sum())
    key_sets = {frozenset(keys) for keys in job.key_sets}
    ours = [text for text in kinds["slice"].unique() if parse_slice_keys(text) in key_sets]
    seen = (
        kinds.group_by("period", "slice").agg(pl.col("n").max())
        .join(meaning, on="period")
        .with_columns(at=pl.col("period").rank("dense").cast(pl.Int64))
    )  # fmt: skip
    steady = (
        seen.filter(pl.col("n") >= _ENOUGH, pl.col("slice").is_in(ours))
        .sort("at")
        .with_columns(row=pl.int_range(pl.len()).over("slice", "meaning"))
        # Periods on end have one difference of place and row.
        .with_columns(stretch=pl.col("at") - pl.col("row"))
        .with_columns(long=pl.int_range(1, pl.len() + 1).over("slice", "meaning", "stretch"))
        .filter(pl.col("long") >= _STEADY)
        .select("slice", "meaning", at=pl.col("at") + 1)
    )
    places = seen.select("at", "period", "meaning").unique()
    return (
        steady.join(places, on=["at", "meaning"])
        .join(seen, on=["at", "slice"], how="anti")
        .sort("period", "slice")
        .select("period", "slice")
    )


def _judge_missing_data(job: Job, history: pl.DataFrame, periods: Sequence[str]) -> pl.DataFrame:
    """Return the verdicts of the gate of missing data."""
    status = {"fail": "failed", "warn": "warned"}[job.missing]
    same = {
        "gate": "missing", "severity": job.missing, "status": status,
        "value": 0.0, "limit": 1.0, "short_by": 1.0, "n": 0,
    }  # fmt: skip
    rows: list[dict[str, object]] = []
    all_rows = (pl.col("n") + pl.col("n_dropped")).max()
    sizes = dict(history.group_by("period").agg(all_rows).iter_rows())
    vanished = dict(_find_vanished_slices(job, history).group_by("period").agg("slice").iter_rows())
    for period in periods:
        if sizes.get(period) == 0:
            empty = [p for p in sorted(sizes) if p <= period]
            since = period
            for before in reversed(empty):
                if sizes[before] != 0:
                    break
                since = before
            rows.append({**same, "period": period, "slice": "{}", "since": since,
                         "reason": "the period has no rows"})  # fmt: skip
        for gone in vanished.get(period, []):
            reason = f"it had at least {_ENOUGH} rows in each of the {_STEADY} periods before"
            rows.append(
                {**same, "period": period, "slice": gone, "since": period, "reason": reason}
            )
    return pl.DataFrame(rows, schema=VERDICTS)


def judge_gates(
    job: Job, history: pl.DataFrame, periods: Sequence[str], found: Sequence[str], as_of: datetime
) -> pl.DataFrame:
    """Return the verdict of each gate on each period and slice.

    Parameters
    ----------
    job : Job
        The job with its gates.
    history : polars.DataFrame
        All rows of the job's history.
    periods : sequence of str
        The periods to judge.
    found : sequence of str
        The periods that have rows in the source.
    as_of : datetime
        The time of the run, which the age of the data is counted to.

    Returns
    -------
    polars.DataFrame
        ``gate``, ``severity``, ``status`` (``passed``, ``failed``, ``warned``, ``pending``,
        ``undefined``, ``no reference``), ``period``, ``slice``, ``value``, ``limit``, ``short_by``
        (how much there lacks), ``since`` (the first of the periods without a break that failed),
        ``n`` and ``reason``.
    """
    tables = [pl.DataFrame(schema=VERDICTS)]
    for gate in job.gates:
        if gate.parsed.metric == "age":
            tables.append(_judge_age(gate, job, found, as_of))
            continue
        judged = _judge_gate(gate, job, history).filter(pl.col("period").is_in(list(periods)))
        tables.append(
            judged.sort("period", "slice").select(
                pl.col(name).cast(kind) for name, kind in VERDICTS.items()
            )
        )
    if job.missing != "ignore":
        tables.append(_judge_missing_data(job, history, periods))
    return pl.concat(tables)
