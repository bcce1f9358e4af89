"""Writes an HTML page about a job: gates, trends, metrics, ROC and PR curves.

The page shows the periods of a run and the newest ones.
"""

import warnings
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from sqleval.common.pages import load_page
from sqleval.common.whole_file import remove_drafts, write_text
from sqleval.errors import SqlevalError, UnmatchedRows
from sqleval.frontend.pictures import collect_points, find_chart
from sqleval.history.store import Selection, format_slice
from sqleval.jobs.binding import bind_periods, find_period_key
from sqleval.jobs.outputs.results import describe_counts, describe_incidents, list_problems
from sqleval.jobs.outputs.trends import draw_trends
from sqleval.jobs.past import ROWS
from sqleval.jobs.running.plan import EARLY
from sqleval.jobs.running.result import Run
from sqleval.plots import charts

_CURVES = ("roc", "pr")
#: The largest number of verdicts on the page; the files under ``outputs`` have all.
_MAX_VERDICTS = 200


def _format_number(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


def _format_count(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def _draw_curves(run: Run, period: str) -> list[str]:
    """Draw the curves of all rows of a period as SVG."""
    assert run.lake is not None
    predictions = bind_periods(run.job, run.lake, [period], [[]])
    if not predictions.binding.has_score or not predictions.binding.has_two_classes:
        return []
    drawn: list[str] = []
    key = find_period_key(predictions)
    for name in _CURVES:
        with warnings.catch_warnings():
            # Labels of other periods match no row of this one.
            warnings.simplefilter("ignore", UnmatchedRows)
            frame = collect_points(predictions, name, {"drop_intermediate": True}).drop(key)
        keys = ["model"] if "model" in frame.columns else []
        chart = find_chart(predictions.catalogue.get(f"{name}_curve"), predictions.catalogue)
        drawn.append(charts.write_svg(charts.draw_curve(chart, frame, keys)))
    return drawn


def write_report(run: Run) -> list[str]:
    """Write the page and return its path; write nothing if a run without dates has no news.

    Raises
    ------
    MissingExtra
        If Altair is not installed.
    SourceError
        If the page cannot be written.
    """
    assert run.job.report is not None
    path = run.job.resolve_path(run.job.report)
    is_new = run.list_periods("evaluate", "add", "missing", *EARLY) or run.errors
    if not is_new and not run.has_requested_periods and Path(path).exists():
        return []
    periods = _find_periods(run)
    if not periods:
        return []
    text = _load_template().render(**_describe_page(run, periods))
    remove_drafts(Path(path).parent)
    write_text(path, text, lock=True)
    return [path]


@cache
def _load_template() -> Any:
    """Return the template of a report, compiled once."""
    filters = {"number": _format_number, "thousands": _format_count}
    return load_page("sqleval.jobs.outputs", "report.html", filters)


def _find_periods(run: Run) -> list[str]:
    """Return the periods of the run, and the newest one with rows."""
    chosen = {each.period for each in run.decisions if each.action != "wait"}
    stored = run.past.overview.filter("has_rows")["period"]
    if len(stored):
        chosen.add(str(stored.max()))
    return sorted(chosen)


def _describe_page(run: Run, periods: Sequence[str]) -> dict[str, Any]:
    """Return the template's variables; numbers and curves are of the newest period with rows."""
    with_rows = set(run.past.overview.filter("has_rows")["period"])
    period = max((each for each in periods if each in with_rows), default=periods[-1])
    errors, curves = run.errors, list[str]()
    try:
        is_labelled = period not in run.list_periods(*EARLY)
        if run.lake and period in run.lake.periods and is_labelled:
            curves = _draw_curves(run, period)
    except SqlevalError as error:
        if isinstance(error, ImportError):
            raise
        # With one class or unusable rows, the page shows the error instead of curves.
        errors = [*errors, f"curves: {error}"]
    only = Selection(periods=[period], metrics=run.past.metrics, columns=ROWS)
    here = run.past.read(only)
    names = {text: format_slice(text) for text in here["slice"].unique()}
    metrics = here.with_columns(pl.col("slice").replace_strict(names, return_dtype=pl.String))
    trends = draw_trends(run, periods)
    problems = list_problems(run.all_verdicts)
    return {
        "job": run.job.name,
        "period": period,
        "span": f"{periods[0]} to {periods[-1]}" if len(periods) > 1 else periods[0],
        "count": len(periods),
        "grain": run.job.period.grain,
        "run": run.id,
        "rows": f"{run.lake.count_rows(period):,}" if run.lake else "no",
        "matured": None if here.is_empty() else here["matured"][0],
        "errors": errors,
        "problems": problems.height,
        "verdicts": problems.head(_MAX_VERDICTS).to_dicts(),
        "counts": describe_counts(run.all_verdicts),
        "incidents": describe_incidents(run.incidents),
        "curves": curves,
        "trends": trends,
        "bounds": here["low"].null_count() < here.height,
        "metrics": metrics.to_dicts(),
    }
