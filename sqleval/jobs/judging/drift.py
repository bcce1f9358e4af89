"""Judges the check ``drift``: compares the states of a period and of a reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from sqleval.common.names import find_nearest
from sqleval.drifts.drift import compare_samples
from sqleval.drifts.measures import parse_measures
from sqleval.drifts.samples import open_sample
from sqleval.errors import RequestError, SqlevalError
from sqleval.frontend.predictions import Predictions
from sqleval.jobs import states
from sqleval.jobs.file.model import Job
from sqleval.jobs.file.parts import Gate
from sqleval.jobs.periods.listing import list_source
from sqleval.jobs.slices import write_slices

#: The distributions that a state holds.
DISTRIBUTIONS = ("score", "prediction", "label", "mix")
_COLUMNS = pl.Schema(
    {
        "period": pl.String, "slice": pl.String, "n": pl.Int64, "status": pl.String,
        "value": pl.Float64, "limit": pl.Float64, "short_by": pl.Float64, "since": pl.String,
        "reason": pl.String,
    }
)  # fmt: skip


def check_drift(gate: Gate, job: Job) -> None:
    """Raise `RequestError` unless a check ``drift`` names a measure and one distribution."""
    check = gate.parsed
    try:
        parse_measures([check.metric])
    except RequestError as error:
        raise RequestError(f"gate {gate.check!r}: {error}") from None
    if check.distribution not in DISTRIBUTIONS:
        raise RequestError(
            f"gate {gate.check!r}: no distribution called {check.distribution!r}"
            f"{find_nearest(check.distribution, DISTRIBUTIONS)} ({', '.join(DISTRIBUTIONS)})"
        )
    if check.distribution == "mix" and len(_list_key_sets(gate, job)) != 1:
        offered = " or ".join(f"[{', '.join(keys)}]" for keys in job.key_sets if keys)
        say = f"write by: {offered}" if offered else "the job has no slice keys"
        raise RequestError(f"gate {gate.check!r}: the mix needs one set of slice keys; {say}")


def judge_drift(
    gate: Gate, job: Job, filled: Sequence[str], periods: Sequence[str]
) -> pl.DataFrame:
    """Return the verdicts of a check ``drift`` on periods.

    Parameters
    ----------
    gate, job : Gate, Job
        The gate and its job, which has states.
    filled : sequence of str
        The periods with results, in order.
    periods : sequence of str
        The periods to judge; those without rows have no verdict.

    Returns
    -------
    polars.DataFrame
        ``period``, ``slice``, ``n``, ``status``, ``value``, ``limit``, ``short_by``, ``since`` and
        ``reason``.
    """
    keys = [key for keys in _list_key_sets(gate, job) for key in keys]
    kept = [p for p in filled if job.states is None or states.has_state(job, p, keys)]
    rows: list[dict[str, Any]] = []
    for period in sorted({*periods} & {*filled}):
        reference = _list_reference(gate, job, kept, period)
        if period not in kept:
            why = "the period has no state" + " of these expressions" * bool(job.expressions)
            rows.append(_write_whole(gate, period, "undefined", why))
        elif not reference:
            why = "no state of a period of the reference"
            rows.append(_write_whole(gate, period, "no reference", why))
        else:
            rows += _judge_period(gate, job, period, reference)
    return pl.DataFrame(rows, schema=_COLUMNS)


def _list_reference(gate: Gate, job: Job, kept: Sequence[str], period: str) -> list[str]:
    """Return the periods whose rows together are the reference of a period."""
    to = gate.parsed.reference
    if isinstance(to, int):
        return [each for each in kept if each < period][-to:]
    baseline = job.baseline
    assert baseline is not None
    return [each for each in kept if baseline.has(each)]


def _write_whole(gate: Gate, period: str, status: str, reason: str) -> dict[str, Any]:
    """Return a verdict without a value on a whole period."""
    return {
        **dict.fromkeys(_COLUMNS), "period": period, "slice": "{}", "status": status,
        "limit": gate.parsed.offset, "reason": reason,
    }  # fmt: skip


def _list_key_sets(gate: Gate, job: Job) -> list[list[str]]:
    """Return the sets of slice keys that a gate judges."""
    key_sets = [gate.by] if gate.by is not None else job.key_sets
    if gate.parsed.distribution != "mix":
        return [[*keys] for keys in key_sets]
    return [[*keys] for keys in key_sets if keys]  # all rows alone have no mix


def _judge_period(
    gate: Gate, job: Job, period: str, reference: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the verdicts on a period, one per slice."""
    rows: list[dict[str, Any]] = []
    measures = parse_measures([gate.parsed.metric])
    for keys in _list_key_sets(gate, job):
        try:
            pair = [
                open_sample(_merge(job, keys, of), name, {})
                for name, of in (("reference", reference), ("current", [period]))
            ]
            comparison = compare_samples(pair, measures, only=gate.parsed.distribution)
        except SqlevalError as error:
            # The verdicts for other sets of keys are not affected.
            reason = f"by {', '.join(keys)}: {error}" if keys else str(error)
            rows.append(_write_whole(gate, period, "undefined", reason))
            continue
        comparison = comparison.filter(pl.col("n_current") >= max(gate.min_rows, 1))
        names = [*pair[0].binding.key_names]
        if gate.parsed.distribution == "mix":
            names = [name for name in names if name not in keys]  # the mix covers all rows
        texts = write_slices(comparison, names)
        rows += [
            _judge_value(gate, period, text, row)
            for text, row in zip(texts, comparison.rows(named=True), strict=True)
        ]
    return rows


def _judge_value(gate: Gate, period: str, keys: str, row: dict[str, Any]) -> dict[str, Any]:
    """Return the verdict on the drift of one slice."""
    check, value = gate.parsed, row["value"]
    verdict = {"period": period, "slice": keys, "n": row["n_current"], "value": value}
    verdict |= {"limit": check.offset, "short_by": None, "since": None, "reason": row["note"]}
    if value is None:
        status = "no reference" if not row["n_reference"] else "undefined"
        return verdict | {"status": status}
    if value < check.offset or (value == check.offset and check.op == "<="):
        return verdict | {"status": "passed", "short_by": 0.0}
    if row["noise"] is not None:
        noise = f"without drift it would be about {row['noise']:.2g}"
        verdict["reason"] = "; ".join(filter(None, [row["note"], noise]))
    status = "failed" if gate.severity == "fail" else "warned"
    return verdict | {"status": status, "short_by": value - check.offset, "since": period}


def _merge(job: Job, keys: Sequence[str], periods: Sequence[str]) -> Predictions:
    """Return the merged states of periods, by slice keys and not by period."""
    if job.states is None:
        files = [file.path for file in list_source(job, job.sources).files]
    else:
        files = [str(states.find_state_path(job, period)) for period in periods]
    merged = states.merge_states(job, files, [keys], periods)
    types = pl.Schema({key: kind for key, kind in merged.key_types.items() if key != "period"})
    return replace(merged, binding=replace(merged.binding, period=None), key_types=types)
