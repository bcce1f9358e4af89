"""Draws curves and trends as Altair charts from tables, without running a query."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import polars as pl
import polars.selectors as cs

from sqleval.catalog.chart import Chart
from sqleval.common.imports import import_optional
from sqleval.common.visible import show_controls
from sqleval.common.whole_file import replace_file
from sqleval.errors import RequestError
from sqleval.plots.costs import draw_cost_curve, draw_cost_lines
from sqleval.plots.curves import (
    draw_calibration,
    draw_confusion,
    draw_gain_table,
    draw_ks,
    draw_line,
)
from sqleval.plots.forest import draw_slices
from sqleval.plots.parts import GREY, INK, PALE, join_by_keys, name_series, write_summary
from sqleval.plots.regression import (
    draw_error_shares,
    draw_errors,
    draw_histogram,
    draw_predicted,
    draw_residuals,
)
from sqleval.plots.thresholds import draw_score_histogram, draw_thresholds
from sqleval.plots.tooltips import remove_hover
from sqleval.plots.trends import draw_trend_lines

if TYPE_CHECKING:
    from sqleval.plots.parts import Picture

#: File format by suffix.
_FORMATS: dict[str, Any] = {".svg": "svg", ".png": "png", ".html": "html"}
_TEXT = {"labelFontSize": 11, "titleFontSize": 12, "labelColor": INK, "titleColor": INK}
_STYLE: dict[str, Any] = {
    "font": "Helvetica, Arial, 'DejaVu Sans', sans-serif",
    "background": "white",
    "padding": 12,
    "view": {"stroke": None},
    "axis": {**_TEXT, "titleFontWeight": "normal", "titlePadding": 10, "labelFlush": False}
    | {"gridColor": PALE, "domainColor": GREY, "tickColor": GREY, "tickSize": 4},
    "legend": {**_TEXT, "titleFontWeight": "normal", "symbolStrokeWidth": 2.5}
    | {"padding": 5, "offset": 12, "symbolLimit": 0, "labelLimit": 0, "symbolOpacity": 1},
    "title": {"anchor": "start", "frame": "group", "color": INK, "fontSize": 14, "offset": 12},
    "line": {"strokeWidth": 1.8, "strokeJoin": "round", "order": False},
}
_DRAW: dict[str, Callable[..., Picture]] = {
    "line": draw_line, "cost_curve": draw_cost_curve, "calibration": draw_calibration,
    "ks": draw_ks, "cost_lines": draw_cost_lines, "gain_table": draw_gain_table,
    "matrix": draw_confusion, "errors": draw_errors, "error_shares": draw_error_shares,
    "histogram": draw_histogram, "predicted_vs_actual": draw_predicted,
    "residuals": draw_residuals, "score_histogram": draw_score_histogram,
    "thresholds": draw_thresholds,
}  # fmt: skip


def draw_curve(
    chart: Chart,
    frame: pl.DataFrame,
    keys: Sequence[str] = (),
    *,
    title: str | None = None,
    facts: pl.DataFrame | None = None,
    costs: tuple[float, float] | None = None,
    ci: float | None = None,
) -> Picture:
    """Draw a curve from its rows, which are in the order of the curve.

    Each combination of ``keys`` (slice and model columns) is one coloured series. Rows with a
    missing or infinite coordinate are left out.

    Parameters
    ----------
    chart : Chart
        The description of the picture, from the header of the curve.
    frame : polars.DataFrame
        The rows of the curve.
    keys : sequence of str
        The columns that identify a series.
    title : str, optional
        The title; by default, the title of the chart.
    facts : polars.DataFrame, optional
        By ``keys``: ``value`` (the metric of the chart) and ``n``, shown in the legend, ``note``
        (why it is undefined), and ``prevalence`` and ``break_even`` if known.
    costs : (float, float), optional
        The cost of a missed positive and of a false alarm, marked on a cost curve.
    ci : float, optional
        The level of the bands in ``low`` .. ``high`` and ``simultaneous_low`` ..
        ``simultaneous_high``.

    Raises
    ------
    RequestError
        If a column is missing, or no row is finite.
    MissingExtra
        If Altair is not installed.
    """
    _check_columns(chart, frame, keys, facts)
    summary = chart.metric[0] if chart.metric else ""
    shown = facts if facts is not None and "value" in facts.columns and summary else None
    named, series = name_series(frame, keys, shown, summary)
    if facts is not None and "prevalence" in facts.columns:
        named = _add_prevalence(named, facts, keys)
    further = {"line": (chart, facts), "cost_curve": (costs,)}.get(chart.draw, ())
    picture: Any = _DRAW[chart.draw](named, series, *further)
    lines = [shown.select(write_summary(summary)).item()] if shown is not None and not keys else []
    if ci is not None:
        kinds = "narrow for each point, wide for the whole curve"
        kinds = "for each threshold by itself" if chart.draw == "thresholds" else kinds
        lines.append(f"{ci * 100:.4g} % bands: {kinds}")
    heading: dict[str, Any] = {"text": show_controls(title or chart.title)}
    if lines:
        heading["subtitle"] = lines if len(lines) > 1 else lines[0]
    return picture.configure(**_STYLE).properties(title=heading)


def _check_columns(
    chart: Chart, frame: pl.DataFrame, keys: Sequence[str], facts: pl.DataFrame | None
) -> None:
    """Raise `RequestError` if a column of the chart is missing, or no row is finite."""
    columns = chart.needed
    for name in (*keys, *columns):
        if name not in frame.columns:
            raise RequestError(f"{chart.curve} needs the column {name!r}; columns: {frame.columns}")
    finite = pl.all_horizontal(pl.col(name).cast(pl.Float64).is_finite() for name in columns)
    if not frame.select(finite.any()).item():
        why = "there are no rows" if frame.is_empty() else chart.undefined
        if facts is not None and "note" in facts.columns:
            notes = facts.filter(pl.col("value").is_null())["note"].drop_nulls()
            why = "; ".join(notes.unique(maintain_order=True)) or why
        raise RequestError(
            f"{chart.curve}: nothing to draw, no row has finite {', '.join(columns)}"
            + (f" ({why})" if why else "")
        )


def _add_prevalence(named: pl.DataFrame, facts: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    # As a text, the key * would mean all columns.
    shares = facts.select(cs.by_name(*keys), "prevalence")
    if keys:
        return join_by_keys(named, shares, keys)
    return named.with_columns(shares["prevalence"].first())


def draw_forest(
    frame: pl.DataFrame,
    keys: Sequence[str],
    *,
    value: str,
    title: str,
    zero: bool = False,
) -> Picture:
    """Draw values with their intervals: a plot per metric, and a row per slice.

    Parameters
    ----------
    frame : polars.DataFrame
        The rows of a result, with the column ``metric``.
    keys : sequence of str
        The columns that identify a slice. ``model`` is the colour if there are other keys.
    value : str
        The column of the values; ``low`` .. ``high`` are their intervals.
    title : str
        The title.
    zero : bool
        Whether a line marks 0; otherwise it marks the value of all rows (``by`` is ``overall``).

    Raises
    ------
    RequestError
        If there are no rows, or too many.
    MissingExtra
        If Altair is not installed.
    """
    picture: Any = draw_slices(frame, keys, value, zero=zero)
    return picture.configure(**_STYLE).properties(title={"text": show_controls(title)})


def draw_trend(frame: pl.DataFrame, others: pl.DataFrame, *, title: str) -> Picture:
    """Draw a metric by period: a small chart with intervals and marks of failed gates.

    Parameters
    ----------
    frame : polars.DataFrame
        One row per period and line: ``slice`` (the line), ``x`` (its time in milliseconds since
        1970), ``y``, ``low`` and ``high`` (which may be missing), ``part`` (the line breaks where
        ``part`` changes) and ``failed`` (whether a gate failed).
    others : polars.DataFrame
        ``x`` of the marks at the lower edge.
    title : str
        The title.

    Raises
    ------
    MissingExtra
        If Altair is not installed.
    """
    named, series = name_series(frame, ["slice"] if frame["slice"].n_unique() > 1 else [])
    picture: Any = draw_trend_lines(named, series, others)
    return picture.configure(**_STYLE).properties(title=show_controls(title))


class _HtmlEncoder(json.JSONEncoder):
    """JSON for a ``<script>`` element, with ``<`` escaped: a key may contain ``</script>``."""

    def encode(self, o: Any) -> str:
        return super().encode(o).replace("<", "\\u003c")


def write_svg(chart: Picture) -> str:
    """Return a chart as the text of an SVG element for a page, with its legend below the plot.

    A legend beside the plot would widen the picture so much that a narrow page shrinks the text.

    Raises
    ------
    MissingExtra
        If vl-convert is not installed.
    """
    converter: Any = import_optional("vl_convert", "plot", "plots")
    # Skip the validation, which would double the time: the parts were validated when made.
    content = remove_hover(chart.to_dict(validate=False))
    content["config"]["legend"]["orient"] = "bottom"
    return converter.vegalite_to_svg(content)


def check_suffix(path: str | PathLike[str]) -> None:
    """Raise `RequestError` if a chart cannot be written to a file of this name."""
    if not isinstance(cast("object", path), (str, PathLike)):
        raise RequestError(f"output={path!r} must be the path of a file, such as 'roc.svg'")
    if Path(path).suffix.lower() not in _FORMATS:
        raise RequestError(f"{fspath(path)!r}: the suffix must be one of {', '.join(_FORMATS)}")


def save_chart(chart: Picture, path: str) -> None:
    """Write a chart to a file; the suffix (``.svg``, ``.png`` or ``.html``) decides the format.

    An HTML page contains its scripts and opens without a network.

    Raises
    ------
    RequestError
        If the file has another suffix.
    SourceError
        If the file cannot be written.
    MissingExtra
        If Altair or vl-convert is not installed.
    """
    check_suffix(path)
    form = _FORMATS[Path(path).suffix.lower()]
    converter: Any = import_optional("vl_convert", "plot", "plots")
    with replace_file(path, folders=False) as draft:
        if form == "html":
            options: Any = {"inline": True, "json_kwds": {"cls": _HtmlEncoder}}
            chart.save(str(draft), format=form, **options)
            return
        content = remove_hover(chart.to_dict(validate=False))
        if form == "svg":
            draft.write_text(converter.vegalite_to_svg(content), encoding="utf-8")
        else:
            draft.write_bytes(converter.vegalite_to_png(content, scale=2))
