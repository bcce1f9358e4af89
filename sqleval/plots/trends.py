"""Draws a metric by period: lines with their intervals, and marks where gates failed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from sqleval.plots.parts import alt, chart_rows, layer_charts
from sqleval.plots.tooltips import list_tooltips, write_numbers

if TYPE_CHECKING:
    from sqleval.plots.parts import Picture, Series

_WIDTH, _HEIGHT = 330, 130
_RED = "#b3261e"


def draw_trend_lines(frame: pl.DataFrame, series: Series, others: pl.DataFrame) -> Picture:
    """Draw values over time.

    Parameters
    ----------
    frame : polars.DataFrame
        ``series``, ``x`` (milliseconds since 1970), ``y``, ``low``, ``high``, ``part`` (a line
        breaks where ``part`` changes) and ``failed``.
    series : Series
        The lines.
    others : polars.DataFrame
        ``x`` of the marks at the lower edge.
    """
    axis = alt.Axis(title=None, tickCount=4, labelOverlap=True, labelBound=True)
    x = alt.X("x:T", scale=alt.Scale(type="utc"), axis=axis)
    y: Any = alt.Y(
        "y:Q", title=None, stack=None, scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=4)
    )
    axes: Any = {"x": x, "y": y}
    color = series.encode_color()
    lines = chart_rows(frame.select("series", "part", "x", "y"), axes)
    lines = lines.encode(color=color, detail="part:N")
    layers: list[Any] = []
    bands = frame.filter(pl.col("low").is_finite(), pl.col("high").is_finite())
    if not bands.is_empty():
        ends = bands.select("series", "part", "x", y="low", y2="high")
        band = chart_rows(ends, axes).mark_area(opacity=0.2, order=False)
        layers.append(band.encode(y2="y2:Q", color=color, detail="part:N"))
    layers.append(lines.mark_line(strokeWidth=1.5))
    texts = {f"text_{name}": write_numbers(name) for name in ("y", "low", "high")}
    dots = chart_rows(frame.select("series", "part", "x", "y", **texts), axes)
    shown = list_tooltips(series, {"text_y:N": "value", "text_low:N": "low", "text_high:N": "high"})
    shown.append(alt.Tooltip("x:T", title="time", format="%Y-%m-%d %H:%M"))
    dots = dots.encode(color=color, detail="part:N", tooltip=shown)
    layers.append(dots.mark_point(size=14, filled=True, opacity=1).encode(fill=color))
    failed = frame.filter("failed", pl.col("y").is_finite())
    if not failed.is_empty():
        dots = chart_rows(failed.select("x", "y"), axes)
        layers.append(dots.mark_point(size=55, filled=True, opacity=1, color=_RED))
    if not others.is_empty():
        marks = chart_rows(others, {"x": x, "y": alt.value(_HEIGHT)})
        layers.append(
            marks.mark_tick(orient="vertical", size=12, thickness=2, color=_RED, yOffset=-6)
        )
    return layer_charts(layers, _WIDTH, _HEIGHT)
