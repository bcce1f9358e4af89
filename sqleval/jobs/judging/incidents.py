"""Joins verdicts into incidents: one per gate and run of consecutive failed periods."""

import json
from collections.abc import Sequence

import polars as pl

from sqleval.alarms.contributions import decompose_change
from sqleval.history.store import parse_slice_keys
from sqleval.jobs.file.model import Job
from sqleval.jobs.file.parts import Gate
from sqleval.jobs.judging.worse import find_header
from sqleval.jobs.past import Frames

INCIDENTS = pl.Schema(
    {
        "gate": pl.String,
        "status": pl.String,
        "since": pl.String,
        "last": pl.String,
        "periods": pl.Int64,
        "slices": pl.Int64,
        "open": pl.Boolean,
        "in_run": pl.Boolean,
        "slice": pl.String,
        "value": pl.Float64,
        "limit": pl.Float64,
        "short_by": pl.Float64,
        "contributions": pl.List(
            pl.Struct({"slice": pl.String, "mix": pl.Float64, "quality": pl.Float64})
        ),
    }
)
NO_INCIDENTS = pl.DataFrame(schema=INCIDENTS)
#: Periods before an incident that it is compared with, and the slices that are listed.
_BEFORE, _LISTED = 28, 3


def list_incidents(
    job: Job,
    frames: Frames,
    verdicts: pl.DataFrame,
    judged_periods: Sequence[str],
    periods: Sequence[str],
) -> pl.DataFrame:
    """Return the incidents that touch the periods of a run, and all open incidents.

    Parameters
    ----------
    job, frames : Job, Frames
        The job with its gates, and the rows of its history.
    verdicts : polars.DataFrame
        The verdicts of each gate, at least back to the first period before the incidents.
    judged_periods : sequence of str
        The periods that were judged. Without a verdict on missing or undefined data, they passed.
    periods : sequence of str
        The periods of the run.

    Returns
    -------
    polars.DataFrame
        ``gate``, ``status``, the periods ``since`` and ``last``, how many ``periods`` and
        ``slices``, whether it is ``open`` (the gate failed in the newest period that it judged) and
        ``in_run`` (it touches the periods of the run), the slice that is worst in the last one with
        ``value``, ``limit``, ``short_by``, and ``contributions``: the slices that contribute most
        to the change since the periods before, by their share of the rows (mix) and by their value
        (quality).
    """
    keys = ["gate", "_incident"]
    is_red = pl.col("status").is_in(["failed", "warned"])
    red = verdicts.filter(is_red)
    if red.is_empty():
        return NO_INCIDENTS
    judged = _add_passed(verdicts, judged_periods)
    series = (
        judged.group_by("gate", "period").agg(red=is_red.any()).sort("gate", "period")
        .with_columns(_incident=pl.col("red").rle_id().over("gate"))
        .filter("red").select("gate", "period", "_incident")
    )  # fmt: skip
    red = red.join(series, on=["gate", "period"], maintain_order="left")
    newest = judged.group_by("gate").agg(newest=pl.col("period").max())
    worst = (
        red.sort("period", "short_by", descending=True, nulls_last=True)
        .group_by(keys, maintain_order=True)
        .agg(
            pl.col("status").min(),
            since=pl.coalesce("since", "period").min(),
            last=pl.col("period").max(),
            periods=pl.col("period").n_unique(),
            slices=pl.col("slice").n_unique(),
            in_run=pl.col("period").is_in(list(periods)).any(),
            **{name: pl.col(name).first() for name in ("slice", "value", "limit", "short_by")},
        )
        .join(newest, on="gate", maintain_order="left")
        .with_columns(open=pl.col("last") == pl.col("newest"))
        .filter(pl.col("in_run") | pl.col("open"))
        .sort("since", "status", "gate")
    )
    gates = dict(zip(job.gate_names, job.gates, strict=True))
    contributions = [
        _list_contributions(job, gates.get(gate), frames, first, last, keys_)
        for gate, first, last, keys_ in worst.select("gate", "since", "last", "slice").iter_rows()
    ]
    kind = INCIDENTS["contributions"]
    worst = worst.with_columns(contributions=pl.Series(contributions, dtype=kind))
    return worst.sort("status", "since", "gate", "last").select(
        pl.col(name).cast(dtype) for name, dtype in INCIDENTS.items()
    )


def _add_passed(verdicts: pl.DataFrame, judged_periods: Sequence[str]) -> pl.DataFrame:
    """Return the status of each gate by period; gates on missing data list failures only."""
    passed = [
        pl.DataFrame({"period": list(judged_periods)}, schema={"period": pl.String}).select(
            gate=pl.lit(gate), period="period", status=pl.lit("passed")
        )
        for gate in ("missing", "undefined")
    ]
    return pl.concat([verdicts.select("gate", "period", "status"), *passed])


def find_newest_verdicts(verdicts: pl.DataFrame, judged_periods: Sequence[str]) -> pl.DataFrame:
    """Return the verdicts of each gate on the newest period that it judged."""
    judged = _add_passed(verdicts, judged_periods)
    newest = judged.group_by("gate").agg(pl.col("period").max())
    return verdicts.join(newest, on=["gate", "period"], how="semi", maintain_order="left")


def _list_contributions(
    job: Job, gate: Gate | None, frames: Frames, first: str, last: str, keys: str
) -> list[dict[str, object]]:
    """Return the slices that contribute most to an incident of a gate on a metric."""
    sets = [frozenset(each) for each in job.key_sets if each]
    metric = "" if gate is None else gate.parsed.metric
    periods = frames.past.both.filter(metric=metric)["period"].unique().sort()
    if gate is None or not sets or periods.is_empty():
        return []
    keys_and_model = (
        parse_slice_keys(keys, job.added_keys) or min(sets, key=len),
        _read_added(keys, job.added_keys),
    )
    earlier = int((periods < first).sum())
    count = _BEFORE
    while True:  # until enough of the earlier periods have values to compare with
        start = periods[max(0, earlier - count)] if earlier else first
        rows = _select_slices(frames.read([metric], start), keys_and_model, job.added_keys)
        after = rows.filter(pl.col("period").is_between(pl.lit(first), pl.lit(last)))
        definitions = after["definition"].implode()
        before = rows.filter(pl.col("period") < first, pl.col("definition").is_in(definitions))
        chosen = before["period"].unique().sort().tail(_BEFORE)
        if len(chosen) == _BEFORE or count >= earlier or after.is_empty():
            break
        count *= 2
    before = before.filter(pl.col("period").is_in(chosen.implode()))
    if before.is_empty() or after.is_empty():
        return []
    contributions = decompose_change(_average(before), _average(after))
    # The direction that is worse depends on whether the gate wants values above or below its limit.
    is_low_worse = gate.parsed.op.startswith(">")
    if gate.parsed.is_worse:
        is_low_worse = find_header(gate.parsed.metric)["direction"] == "higher"
    change = (pl.col("mix") + pl.col("quality")) * (-1 if is_low_worse else 1)
    worse = contributions.with_columns(change=change).filter(pl.col("change") > 0)
    return worse.sort("change", descending=True).head(_LISTED).drop("change").to_dicts()


def _select_slices(
    rows: pl.DataFrame,
    keys_and_model: tuple[frozenset[str], dict[str, object]],
    added: frozenset[str],
) -> pl.DataFrame:
    """Return the rows with values of slices with these keys, model and class."""
    texts = [
        text
        for text in rows["slice"].unique()
        if (parse_slice_keys(text, added), _read_added(text, added)) == keys_and_model
    ]
    is_valued = pl.col("error").is_null() & pl.col("value").is_not_null()
    return rows.filter(pl.col("slice").is_in(texts), is_valued)


def _read_added(keys: str, added: frozenset[str]) -> dict[str, object]:
    """Return the model and the class in the JSON of a slice, if it has them."""
    return {name: value for name, value in json.loads(keys).items() if name in added}


def _average(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the mean value, weighted by rows, and the rows of each slice."""
    n = pl.col("n")
    return rows.group_by("slice").agg(value=(pl.col("value") * n).sum() / n.sum(), n=n.sum())
