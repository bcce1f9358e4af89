"""Judges a job by its gates; each gate reads as many earlier periods as it needs."""

from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

import polars as pl

from sqleval.history.store import Selection
from sqleval.jobs.file.model import Job
from sqleval.jobs.file.parts import Gate
from sqleval.jobs.judging.drift import judge_drift
from sqleval.jobs.judging.gates import (
    NO_VERDICTS,
    SUBJECTS,
    VERDICTS,
    compare_values,
    judge_age,
    select_values,
)
from sqleval.jobs.judging.incidents import find_newest_verdicts, list_incidents
from sqleval.jobs.judging.missing import judge_missing_data
from sqleval.jobs.judging.worse import judge_worse
from sqleval.jobs.past import ROWS, Frames, Past

#: Least number of earlier periods that a run judges as well: without a report, and with one.
_BACK, _SHOWN = 8, 60
#: Why a gate on a new metric has no value in a period.
_BEFORE = "the period was evaluated without this metric"
#: If an incident is longer than the periods read, this many times as many are read.
_WIDER = 4


class Judgement(NamedTuple):
    """The verdicts on the periods of a run, and the incidents that touch them or are open.

    ``newest`` are the verdicts of each gate on the newest period that it judged: the state of the
    job, whatever periods were run. ``failures`` are the verdicts that failed or warn on these and
    on earlier periods, for incidents and the report. For earlier periods, ``since`` may be the
    first period that was read instead of the first that failed.
    """

    verdicts: pl.DataFrame
    newest: pl.DataFrame
    incidents: pl.DataFrame
    failures: pl.DataFrame


@dataclass(frozen=True)
class _Reach:
    """The periods to judge: all from the run's first one on, and some before them.

    Attributes
    ----------
    job, frames : Job, Frames
        The job, and the rows of its history.
    periods : sequence of str
        The periods of the run.
    back : int
        The least number of earlier periods to judge.
    """

    job: Job
    frames: Frames
    periods: Sequence[str]
    back: int

    @property
    def past(self) -> Past:
        """The history of the job."""
        return self.frames.past

    @property
    def at(self) -> int:
        """The number of periods before those of the run."""
        first = min({*self.periods} & {*self.past.periods}, default="~")
        return bisect_left(self.past.periods, first)

    @property
    def judged_periods(self) -> list[str]:
        """The periods that every gate judges; some gates judge earlier ones as well."""
        return self.past.periods[max(0, self.at - self.back) :]

    def list_metrics(self, gate: Gate) -> list[str]:
        """Return the metrics from whose rows a gate takes its values."""
        metric = gate.parsed.metric
        early = self.past.expected["metric"].unique().sort().to_list() if metric == "rows" else []
        return [*self.past.metrics, *early] if metric in SUBJECTS else [metric]

    @cached_property
    def window(self) -> pl.DataFrame:
        """The rows that most gates need, read in one statement."""
        limits = [gate for gate in self.job.gates if gate.parsed.metric != "age"]
        limits = [gate for gate in limits if not (gate.parsed.is_worse or gate.parsed.is_drift)]
        metrics = {name for gate in limits for name in self.list_metrics(gate)}
        longest = max((_count_before(gate) + gate.in_a_row for gate in limits), default=0)
        first = self.past.periods[max(0, self.at - self.back - longest) :][:1]
        only = Selection(metrics=sorted(metrics), first=next(iter(first), "~"), columns=ROWS)
        return self.past.read(only)

    def read(self, gate: Gate, back: int) -> pl.DataFrame:
        """Return the rows of a gate, beginning ``back`` periods before the run's first one."""
        metrics, first = self.list_metrics(gate), self.past.periods[max(0, self.at - back)]
        if back <= self.back + _count_before(gate) + gate.in_a_row:
            return self.window.filter(pl.col("metric").is_in(metrics), pl.col("period") >= first)
        return self.frames.read(metrics, first).filter(pl.col("period") >= first)


def judge_gates(
    job: Job, past: Past, periods: Sequence[str], with_rows: Sequence[str], as_of: datetime
) -> Judgement:
    """Return the verdict of each gate on each period and slice, and the incidents.

    The verdicts and incidents are the same as if the whole history were read: a gate reads back
    until the references of its values are complete, and until the incidents that touch the periods
    have begun. The check ``worse`` reads all rows of its metric, because its baseline leaves out
    the periods of all earlier alarms.

    Parameters
    ----------
    job : Job
        The job with its gates.
    past : Past
        Its history.
    periods : sequence of str
        The periods to judge.
    with_rows : sequence of str
        The periods with rows in the source.
    as_of : datetime
        The time of the run; the age of the data refers to it.

    Returns
    -------
    Judgement
        Verdicts with ``gate``, ``severity``, ``status`` (``passed``, ``failed``, ``warned``,
        ``pending``, ``undefined``, ``no reference``, ``nothing to judge``), ``period``, ``slice``,
        ``value``, ``limit``, ``short_by`` (the distance to the limit), ``since`` (the first of the
        consecutive periods that failed), ``n`` and ``reason``.
    """
    frames = Frames(past)
    run_and_newest = sorted({*periods, *_list_newest(past)})
    reach = _Reach(job, frames, run_and_newest, _SHOWN if job.report else _BACK)
    while True:  # until the incidents of missing and undefined data have begun as well
        tables, ages = [NO_VERDICTS], [NO_VERDICTS]
        for gate, name in zip(job.gates, job.gate_names, strict=True):
            if gate.parsed.metric == "age":
                ages.append(judge_age(gate, name, job, with_rows, as_of))
            elif past.periods:
                tables += _judge_gate(gate, name, reach)
        judged_periods = reach.judged_periods
        first = judged_periods[0] if judged_periods else "~"
        whole = [_judge_undefined(job, past, pl.concat(tables).filter(pl.col("period") >= first))]
        if job.missing != "ignore":
            whole.append(judge_missing_data(job, past, first))
        # These verdicts list failures only: a period without one has passed.
        touched = [
            _find_touched(judged_periods, {*each["period"]}, reach.periods) for each in whole
        ]
        if reach.at <= reach.back or all(first not in of_incidents for of_incidents in touched):
            break
        reach = replace(reach, back=_WIDER * reach.back)
    of_age = pl.concat(ages)
    verdicts = pl.concat([*tables, of_age, *whole])
    incidents = list_incidents(job, frames, verdicts, judged_periods, periods)
    failures = verdicts.filter(pl.col("status").is_in(["failed", "warned"]))
    is_chosen = pl.col("period").is_in(list(periods)) | pl.col("gate").is_in(
        of_age["gate"].implode()
    )
    newest = find_newest_verdicts(verdicts, judged_periods)
    return Judgement(verdicts.filter(is_chosen), newest, incidents, failures)


def _list_newest(past: Past) -> list[str]:
    """Return the newest period of a job, its newest with rows, and its newest expected one."""
    filled = past.overview.filter("has_rows")
    tables = [past.both, filled, past.expected]
    return [str(each["period"].max()) for each in tables if not each.is_empty()]


def _judge_gate(gate: Gate, name: str, reach: _Reach) -> list[pl.DataFrame]:
    """Return the verdicts of one gate on the periods to judge; drift judges only the run's.

    The gate may judge earlier periods as well, back to the beginning of an incident.
    """
    past, check, periods = reach.past, gate.parsed, list(reach.periods)
    overview = past.expected if check.is_expected else past.overview
    if check.is_drift:
        good = overview.filter("has_rows", ~pl.col("has_failed"))
        good = good["period"].unique().sort().to_list()
        judged = judge_drift(gate, reach.job, good, periods)
    elif check.is_worse:
        judged = judge_worse(gate, reach.job, _read_all_values(gate, past))
    else:
        judged = _judge_limit(gate, reach)
    undefined = {"fail": "failed", "warn": "warned"}.get(gate.undefined or "", "undefined")
    judged = judged.with_columns(
        pl.col("status").replace("undefined", undefined),
        gate=pl.lit(name),
        severity=pl.lit(gate.severity),
    ).sort("period", "slice")
    judged = judged.select(pl.col(name).cast(kind) for name, kind in VERDICTS.items())
    return [_list_idle(gate, name, reach, overview, judged), judged]


def _read_all_values(gate: Gate, past: Past) -> pl.DataFrame:
    """Return all values of the past that a gate on a metric checks."""
    slices = None if gate.by is None else past.list_slices(gate.by)
    only = Selection(metrics=[gate.parsed.metric], slices=slices, columns=ROWS)
    return select_values(gate, past.read(only), past.added_keys)


def _judge_limit(gate: Gate, reach: _Reach) -> pl.DataFrame:
    """Return the verdicts of a gate that compares each value with a limit."""
    check, past, metrics = gate.parsed, reach.past, reach.list_metrics(gate)
    base = pl.DataFrame()
    if check.reference == "baseline" and (baseline := reach.job.baseline) is not None:
        only = Selection(metrics=metrics, first=baseline.first, last=baseline.last, columns=ROWS)
        base = select_values(gate, past.read(only), past.added_keys)
    needed = check.reference if isinstance(check.reference, int) else 0
    before, back = _count_before(gate), reach.back + gate.in_a_row
    while True:
        start = max(0, reach.at - before - back)
        first = past.periods[start]
        rows = reach.read(gate, before + back)
        rows = select_values(gate, rows, past.added_keys)
        trusted = past.periods[start + before] if start else ""
        is_whole: set[str] = set()
        while True:
            judged = compare_values(gate, rows, base).filter(pl.col("period") >= trusted)
            red = judged.filter(pl.col("status").is_in(_find_red(gate)))
            judged_periods = judged["period"].unique().sort().to_list()
            touched = _find_touched(judged_periods, {*red["period"]}, reach.periods)
            if start and touched and touched[0] == judged_periods[0]:
                break  # the incident may have begun before: more periods are needed
            short = _find_short_slices(rows, trusted, needed)
            short |= _find_open_slices(judged, [*touched, *reach.periods], reach.judged_periods)
            if not start or short <= is_whole:
                return judged
            rows = pl.concat([_read_older(gate, past, metrics, first, short - is_whole), rows])
            is_whole |= short
        back *= _WIDER


def _count_before(gate: Gate) -> int:
    """Return how many periods are read before those that are judged, for their references.

    Twice as many periods as a reference has are read, so that few slices lack values for it.
    """
    reference = gate.parsed.reference
    return 2 * reference if isinstance(reference, int) else 0


def _find_red(gate: Gate) -> list[str]:
    """Return the statuses of a gate that belong to incidents."""
    return ["failed", "warned"] + ["undefined"] * (gate.undefined in ("fail", "warn"))


def _read_older(
    gate: Gate, past: Past, metrics: Sequence[str], first: str, slices: Collection[str]
) -> pl.DataFrame:
    """Return all values of slices before a period."""
    only = Selection(metrics=metrics, slices=sorted(slices), last=first, columns=ROWS)
    rows = past.read(only).filter(pl.col("period") < first)
    return select_values(gate, rows, past.added_keys)


def _find_short_slices(rows: pl.DataFrame, trusted: str, needed: int) -> set[str]:
    """Return the slices that have fewer values than the reference needs before they are judged."""
    if not needed:
        return set()
    pairs, is_before = ["slice", "definition"], pl.col("period") < trusted
    before = rows.filter(is_before, pl.col("value").is_not_null()).group_by(pairs).len()
    counts = rows.filter(~is_before).select(pairs).unique()
    counts = counts.join(before, on=pairs, how="left", nulls_equal=True)
    return {*counts.filter(pl.col("len").fill_null(0) < needed)["slice"]}


def _find_open_slices(
    judged: pl.DataFrame, periods: Collection[str], shown: Sequence[str]
) -> set[str]:
    """Return the slices that may have begun to fail before the first period that is judged.

    Only slices whose earlier rows can change the result are returned. These are slices that fail in
    the period before ``periods`` or later, because their incident may be longer, and slices that
    are pending in a ``shown`` period, because they may have failed often enough before.
    """
    judged_periods = judged["period"].unique().sort()
    earlier = int((judged_periods < min(periods, default="~")).sum())
    low = judged_periods[max(0, earlier - 1)] if len(judged_periods) else ""
    begins = judged.with_columns(begin=pl.col("period").min().over("slice"))
    is_shown = (pl.col("status") == "pending") & (pl.col("period") >= min(shown, default="~"))
    is_open = pl.col("since") <= pl.col("begin")
    return {*begins.filter(is_open, is_shown | (pl.col("period") >= low))["slice"]}


def _find_touched(
    judged_periods: Sequence[str], red: Collection[str], periods: Collection[str]
) -> list[str]:
    """Return the periods of the incidents that touch some periods: runs of failed ones."""
    incident_periods: list[str] = []
    for is_red, group in groupby(judged_periods, key={*red}.__contains__):
        consecutive = [*group]
        if is_red and not {*periods}.isdisjoint(consecutive):
            incident_periods += consecutive
    return incident_periods


def _list_idle(
    gate: Gate, name: str, reach: _Reach, overview: pl.DataFrame, judged: pl.DataFrame
) -> pl.DataFrame:
    """Return a verdict for each period with rows in which a gate judges nothing."""
    check, is_here = gate.parsed, pl.col("has_rows")
    if reach.job.labels is None:  # late labels may be missing in all rows
        is_here = pl.col("has_any")
    periods = reach.periods if check.is_drift else reach.judged_periods
    is_idle = pl.col("period").is_in([*periods]) & ~pl.col("period").is_in(
        judged["period"].implode()
    )
    rows = overview.filter(is_here, is_idle)
    with_metric = {*rows["period"]}
    if not check.is_drift:
        with_metric = {*rows.filter(pl.col("metric").is_in(reach.list_metrics(gate)))["period"]}
    slices = "no slice" if gate.by is None else f"no slice by {', '.join(gate.by)}"
    slices = "not all rows together" if gate.by == [] else slices
    least = f" with at least {gate.min_rows} rows" if gate.min_rows else ""
    same = {"gate": name, "severity": gate.severity, "slice": "{}"}
    idle = {"status": "nothing to judge", "reason": f"{slices} has a result{least}"}
    before = {"status": "no reference", "reason": _BEFORE}
    verdicts = [
        {**same, "period": period, **(idle if period in with_metric else before)}
        for period in rows["period"].unique().sort()
    ]
    return pl.DataFrame(verdicts, schema=VERDICTS)


def _judge_undefined(job: Job, past: Past, verdicts: pl.DataFrame) -> pl.DataFrame:
    """Return a failure for each period with rows in which no gate could judge anything.

    ``verdicts`` are the verdicts on results; the age of the data says nothing about a period. A
    gate that lacks earlier periods is no failure, because it will have some; a baseline will not
    come by itself.
    """
    if not any(gate.undefined is None for gate in job.gates):
        return NO_VERDICTS
    pairs = [*zip(job.gate_names, job.gates, strict=True)]
    fixed = [name for name, gate in pairs if gate.parsed.reference == "baseline"]
    last = "~" if job.baseline is None else job.baseline.last
    status, has_baseline = pl.col("status"), pl.col("gate").is_in(fixed)
    is_open = status.is_in(["undefined", "nothing to judge"])
    is_after = has_baseline & (pl.col("period") > last)
    is_open |= (status == "no reference") & is_after & (pl.col("reason") != _BEFORE)
    # All rows may be left out. If labels come late, the gate `matured` judges such periods.
    filled = past.both.filter("has_any").group_by("period").agg(pl.col("has_rows").any())
    filled = filled.filter(pl.col("has_rows") | pl.lit(job.labels is None))
    periods = (
        verdicts.group_by("period", maintain_order=True)
        .agg(pl.col("reason").first(), pl.col("n").max(), count=pl.len(), is_open=is_open.all())
        .filter("is_open")
        .join(filled, on="period", maintain_order="left")
    )
    why = pl.when("has_rows").then("reason").otherwise(pl.lit("all rows are left out"))
    reason = pl.format(
        "no gate could judge anything: {} ({} verdict{})",
        why,
        "count",
        pl.when(pl.col("count") > 1).then(pl.lit("s")).otherwise(pl.lit("")),
    )
    return periods.select(
        pl.lit(value).cast(VERDICTS[name]).alias(name)
        if name not in ("period", "reason")
        else (reason.alias(name) if name == "reason" else pl.col(name))
        for name, value in {
            **dict.fromkeys(VERDICTS), "gate": "undefined", "severity": "fail",
            "status": "failed", "slice": "{}",
        }.items()
    )  # fmt: skip
