"""Estimates each gate's false alarms and its smallest detectable drop from the history."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from sqleval.alarms.expectation import ExpectedAlarms, expect_of_limit, expect_of_watch
from sqleval.history.store import Selection
from sqleval.jobs.file.model import Job
from sqleval.jobs.file.parts import Gate
from sqleval.jobs.judging.gates import SUBJECTS, select_values
from sqleval.jobs.judging.worse import (
    PERIODS,
    create_rule,
    estimate_rows,
    find_metric_scale,
)
from sqleval.jobs.past import ROWS, Past

#: The least and the largest number of last periods with values that are used.
_LEAST, _LAST = 14, 91
#: The interquartile range of a normal distribution, in standard deviations.
_QUARTILES = 1.3489795


def measure_gates(job: Job, past: Past) -> list[dict[str, Any]]:
    """Return the expected alarms of each gate on a metric, if slices vary as they did so far.

    Parameters
    ----------
    job, past : Job, Past
        The job with its gates, and its history.

    Returns
    -------
    list of dict
        ``gate``, ``slices``, ``false_alarms`` and ``red_periods`` (a year), ``drop`` (the smallest
        change for the worse that is detected with a probability of 80 %, in the median slice) and
        ``within`` (periods, those of a week). Gates with too short a history are left out.
    """
    gate_outlooks: list[dict[str, Any]] = []
    reach = max(1, round(7 * PERIODS[job.period.grain] / PERIODS["day"]))
    for gate, name in zip(job.gates, job.gate_names, strict=True):
        check = gate.parsed
        if check.metric in SUBJECTS or check.is_drift:
            continue
        rows = _read_last_values(gate, past)
        if rows.filter(pl.col("value").is_not_null())["period"].n_unique() < _LEAST:
            continue
        outlook = _measure_worse(gate, job, rows, reach) if check.is_worse else None
        outlook = outlook or (None if check.is_worse else _measure_limit(gate, job, rows, reach))
        if outlook is not None:
            gate_outlooks.append(
                {
                    "gate": name,
                    "slices": rows["slice"].n_unique(),
                    "false_alarms": outlook.alarms,
                    "red_periods": outlook.periods,
                    "drop": outlook.drop,
                    "within": reach,
                }
            )
    return gate_outlooks


def _read_last_values(gate: Gate, past: Past) -> pl.DataFrame:
    """Return the values that a gate on a metric checks in the last periods with a value."""
    metric = gate.parsed.metric
    candidates = past.both.filter(metric=metric)["period"].unique().sort().to_list()
    only = Selection(metrics=[metric], columns=ROWS)
    if not candidates:
        return select_values(gate, past.read(only), past.added_keys)

    def select_last(rows: pl.DataFrame) -> pl.DataFrame:
        rows = select_values(gate, rows, past.added_keys)
        last = rows.filter(pl.col("value").is_not_null())["period"].unique().sort().tail(_LAST)
        return rows.filter(pl.col("period").is_in(last.implode()))

    def is_enough(rows: pl.DataFrame) -> bool:
        valued = select_last(rows).filter(pl.col("value").is_not_null())
        return valued["period"].n_unique() == _LAST

    return select_last(past.read_until(only, candidates, _LAST, is_enough))


def _measure_worse(gate: Gate, job: Job, rows: pl.DataFrame, reach: int) -> ExpectedAlarms | None:
    """Return the expected alarms of a gate on means of windows."""
    return expect_of_watch(
        estimate_rows(rows, gate, job),
        create_rule(gate, job),
        find_metric_scale(gate.parsed.metric),
        periods=PERIODS[job.period.grain],
        reach=reach,
    )


def _measure_limit(gate: Gate, job: Job, rows: pl.DataFrame, reach: int) -> ExpectedAlarms | None:
    """Return the expected alarms of a gate on single values, assuming a normal distribution."""
    check = gate.parsed
    # The median and the interquartile range ignore a few bad periods.
    number = pl.col("number")
    slices = (
        rows.filter(pl.col("number").is_not_null())
        .group_by("slice", "definition")
        .agg(
            mean=number.median(),
            spread=(number.quantile(0.75, "linear") - number.quantile(0.25, "linear")) / _QUARTILES,
            level=pl.col("value").median(),
            count=pl.len(),
        )
        .filter(pl.col("count") >= _LEAST, pl.col("spread") > 0)
    )  # fmt: skip
    if slices.is_empty():
        return None
    level = pl.col("level") if check.reference is not None else pl.lit(0.0)
    extra = 1 + 1 / check.reference if isinstance(check.reference, int) else 1.0
    sign = 1 if check.op.startswith(">") else -1
    margins = slices.select(
        margin=sign * (pl.col("mean") - (level * check.factor + check.offset)),
        spread=pl.col("spread") * extra**0.5,
    )
    return expect_of_limit(
        margins["margin"].to_numpy(),
        margins["spread"].to_numpy(),
        in_a_row=gate.in_a_row,
        periods=PERIODS[job.period.grain],
        reach=reach,
    )


def describe_gates(measured: Sequence[dict[str, Any]], grain: str) -> list[str]:
    """Return the expected alarms of each gate in words."""
    return [
        f"{row['gate']}: false alarms a year: {row['false_alarms']:.2g} (periods with one: "
        f"{row['red_periods']:.2g}, slices: {row['slices']}), if nothing changes; finds a "
        f"change of {row['drop']:.2g} within {row['within']} "
        f"{grain}{'s' * (row['within'] != 1)} with a probability of 80 %"
        for row in measured
    ]
