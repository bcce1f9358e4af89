"""Judges the check ``worse``: significance tests against a baseline, from stored intervals."""

import polars as pl

from sqleval.alarms.scales import Scale, add_estimates, find_scale
from sqleval.alarms.watch import MIN_BASELINE, Rule, watch_slices
from sqleval.catalog import builtin
from sqleval.common.names import find_nearest
from sqleval.errors import RequestError
from sqleval.inference.libraries import load_library
from sqleval.jobs.file.model import Job
from sqleval.jobs.file.parts import Gate

#: Periods a year.
PERIODS = {"hour": 8766.0, "day": 365.25, "week": 52.18, "month": 12.0, "quarter": 4.0, "year": 1.0}
#: The largest significance level of a test, whatever the length of the periods.
_MAX_LEVEL = 0.05


def find_header(metric: str) -> dict[str, object]:
    """Return the header of the SQL file of a metric with parameters."""
    return dict(builtin().get(metric.partition("(")[0].strip()).header)


def check_worse(gate: Gate, metrics: list[str]) -> None:
    """Raise unless the metric of a check ``worse`` has a better and a worse direction.

    Raises
    ------
    RequestError
        If the job does not have the metric, or the metric has no direction.
    MissingExtra
        If SciPy is not installed.
    """
    metric = gate.parsed.metric
    if metric not in metrics:
        raise RequestError(
            f"gate {gate.check!r}: the job has no metric {metric!r}{find_nearest(metric, metrics)} "
            f"(metrics: {', '.join(metrics)})"
        )
    if find_header(metric)["direction"] == "none":
        raise RequestError(
            f"gate {gate.check!r}: neither higher nor lower values of {metric} are better; "
            f"write limits, such as {metric} <= baseline + 0.01"
        )
    load_library("special")


def create_rule(gate: Gate, job: Job) -> Rule:
    """Return the rule of a check ``worse``."""
    check, baseline = gate.parsed, job.baseline
    is_fixed = check.reference == "baseline" and baseline is not None
    return Rule(
        direction=str(find_header(check.metric)["direction"]),
        by=check.offset,
        windows=tuple(sorted({*gate.windows})),
        level=min(gate.false_alarms / PERIODS[job.period.grain], _MAX_LEVEL),
        previous=check.reference if isinstance(check.reference, int) else 0,
        baseline=(baseline.first, baseline.last) if is_fixed and baseline is not None else None,
    )


def find_metric_scale(metric: str) -> Scale:
    """Return the scale on which a metric is nearly normal."""
    return find_scale(find_header(metric))


def estimate_rows(rows: pl.DataFrame, gate: Gate, job: Job) -> pl.DataFrame:
    """Add estimates and variances to the rows of a gate; a new definition starts a new slice."""
    assert job.ci is not None
    added = add_estimates(rows, find_metric_scale(gate.parsed.metric), job.ci)
    return added.with_columns(keys="slice", slice=pl.format("{}|{}", "definition", "slice"))


def judge_worse(gate: Gate, job: Job, rows: pl.DataFrame) -> pl.DataFrame:
    """Return the verdicts of a check ``worse``.

    Parameters
    ----------
    gate, job : Gate, Job
        The gate and its job.
    rows : polars.DataFrame
        The rows of the history that the gate checks.

    Returns
    -------
    polars.DataFrame
        The rows with ``status``, ``limit``, ``short_by``, ``since`` and ``reason``; ``value`` is
        the mean of the window, or of the last periods of an open alarm.
    """
    rule = create_rule(gate, job)
    rows = estimate_rows(rows, gate, job)
    window_tests = watch_slices(rows, rule, find_metric_scale(gate.parsed.metric))
    judged = rows.join(window_tests, on=["slice", "period"], how="left", maintain_order="left")
    sign = 1 if rule.direction == "higher" else -1
    limit = pl.col("baseline") - sign * rule.by
    is_worse, failed = pl.col("is_worse"), "failed" if gate.severity == "fail" else "warned"
    needed = (
        "no period after the baseline, or a baseline of less than "
        if rule.baseline
        else "fewer earlier periods than "
    )
    return judged.select(
        "period", "n",
        slice="keys",
        status=pl.when(is_worse).then(pl.lit(failed))
        .when(is_worse.not_()).then(pl.lit("passed"))
        .when(pl.col("estimate").is_null()).then(pl.lit("undefined"))
        .otherwise(pl.lit("no reference")),
        value="mean",
        limit=limit,
        short_by=pl.when(is_worse).then((sign * (limit - pl.col("mean"))).clip(lower_bound=0.0))
        .when(is_worse.not_()).then(0.0),
        since="since",
        reason=pl.when(is_worse).then(
            pl.format(
                "{} worse than {}, the mean of the baseline",
                pl.col("worse_by").round_sig_figs(3), pl.col("baseline").round_sig_figs(4),
            )
        )
        .when(is_worse.not_()).then(pl.lit(None, pl.String))
        .when(pl.col("estimate").is_null())
        .then(pl.coalesce("note", pl.lit("no interval, from which a standard error follows")))
        .otherwise(pl.lit(f"{needed}{MIN_BASELINE} with a standard error")),
    )  # fmt: skip
