"""Draws the trends of a report: each metric by period, with intervals and failed gates."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import polars as pl

from sqleval.history.store import Selection, find_metric_kind, format_slice, parse_slice_keys
from sqleval.jobs.past import ROWS
from sqleval.jobs.running.result import Run
from sqleval.plots import charts

#: Periods of a chart: the usual number, and the most if the run has more.
_PERIODS, _MAX_PERIODS = 60, 400
#: The largest number of lines in a chart.
_MAX_LINES = 6


class Trends(NamedTuple):
    """The charts as SVG, and the sentences of their legend."""

    charts: list[str]
    legend: list[str]


def draw_trends(run: Run, periods: Sequence[str]) -> Trends:
    """Draw each metric over the periods of a run and earlier ones, up to 60 together.

    A chart has one line per slice of the smallest set of keys, or one for all rows if the job has
    ``[]``.

    Parameters
    ----------
    run : Run
        The run.
    periods : sequence of str
        The periods of the page.
    """
    count = min(max(_PERIODS, len(periods)), _MAX_PERIODS)
    chosen = [each for each in run.past.periods if each <= max(periods)][-count:]
    if not chosen:
        return Trends([], [])
    rows = run.past.read(Selection(first=chosen[0], last=chosen[-1], columns=ROWS))
    rows = rows.filter(pl.col("period").is_in(chosen))
    failures = run.failures.filter(pl.col("period").is_in(chosen))
    lines, left_out = _choose_lines(run, rows, failures)
    rows = rows.filter(pl.col("slice").is_in(lines))
    gates = zip(run.job.gate_names, run.job.gates, strict=True)
    metrics = {name: gate.parsed.metric for name, gate in gates}
    failures = failures.with_columns(
        metric=pl.col("gate").replace_strict(metrics, default=None, return_dtype=pl.String)
    )
    drawn: list[str] = []
    has_other = False
    names = rows.select(pl.col("metric").unique(maintain_order=True))
    # Expected metrics come last.
    for metric in names.sort(find_metric_kind(pl.col("metric")), maintain_order=True)["metric"]:
        values = rows.filter(metric=metric)
        if values.select(pl.col("value").is_finite().any()).item():
            failed = failures.filter(metric=metric)
            others = failed.filter(~pl.col("slice").is_in(lines))
            has_other = has_other or not others.is_empty()
            drawn.append(_draw_trend(metric, values, failed, others))
    if not drawn:
        return Trends([], [])
    legend = [f"The last {len(chosen)} periods, up to {max(periods)}."]
    if run.job.ci is not None:
        legend.append(f"Band: interval of {100 * run.job.ci:g} %.")
    if not failures.filter(pl.col("metric").is_not_null(), pl.col("slice").is_in(lines)).is_empty():
        legend.append("Red dot: a gate failed or warns.")
    if has_other:
        legend.append("Red mark at the lower edge: a gate failed or warns for another slice.")
    if left_out:
        legend.append(f"{left_out} smaller slices are left out.")
    return Trends(drawn, legend)


def _choose_lines(run: Run, rows: pl.DataFrame, failures: pl.DataFrame) -> tuple[list[str], int]:
    """Return the slices to draw as lines, and the number of slices left out."""
    fewest = frozenset(min(run.job.key_sets, key=len))
    added = run.job.added_keys
    texts = [text for text in rows["slice"].unique() if parse_slice_keys(text, added) == fewest]
    sizes = (
        rows.filter(pl.col("slice").is_in(texts), pl.col("value").is_not_null())
        .group_by("slice")
        .agg(pl.col("n").sum())
        .with_columns(failed=pl.col("slice").is_in(failures["slice"].implode()))
        .sort("failed", "n", "slice", descending=[True, True, False])
    )
    lines = sizes["slice"].head(_MAX_LINES).to_list()
    return sorted(lines), sizes.height - len(lines)


def _draw_trend(
    metric: str, values: pl.DataFrame, failed: pl.DataFrame, others: pl.DataFrame
) -> str:
    """Return the chart of one metric as SVG."""
    times = {each: _find_time(each) for each in {*values["period"], *others["period"]}}
    x = pl.col("period").replace_strict(times, return_dtype=pl.Int64)
    names = {text: format_slice(text) for text in values["slice"].unique()}
    red = failed.select("period", "slice").unique().with_columns(failed=pl.lit(True))
    frame = (
        values.join(red, on=["period", "slice"], how="left")
        .sort("slice", "period")
        .with_columns(gap=pl.col("value").is_null().rle_id().over("slice"))
        .select(
            "low", "high",
            slice=pl.col("slice").replace_strict(names, return_dtype=pl.String),
            x=x,
            y="value",
            # Lines do not join values of different definitions, or across a gap.
            part=pl.format("{} {}", pl.col("definition").fill_null(""), "gap"),
            failed=pl.col("failed").fill_null(False),
        )
    )  # fmt: skip
    finite = frame.filter(pl.col("y").is_finite())
    marks = others.select(x=x).unique().sort("x")
    return charts.write_svg(charts.draw_trend(finite, marks, title=metric))


def _find_time(period: str) -> int:
    """Return the start of a period for the axis, in milliseconds since 1970."""
    start = datetime.fromisoformat(period)
    start = start if start.tzinfo else start.replace(tzinfo=UTC)
    return round(start.timestamp() * 1000)
