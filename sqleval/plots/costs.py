"""Draws cost curves and cost lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from sqleval.plots.parts import (
    GREY,
    INK,
    SIDE,
    Series,
    alt,
    chart_rows,
    draw_bands,
    draw_reference,
    encode_axis,
    layer_charts,
    select_points,
)
from sqleval.plots.thinning import thin
from sqleval.plots.tooltips import draw_hover, list_tooltips, write_numbers

if TYPE_CHECKING:
    from sqleval.plots.parts import Picture

#: The largest number of cost lines in a chart; more merge into a grey area.
_MAX_LINES = 300


def _find_operating_points(frame: pl.DataFrame, costs: tuple[float, float]) -> pl.DataFrame:
    """Return the point of each series at these costs and at its share of positives.

    ``x`` and ``y`` are the point, and ``threshold`` is its threshold. Its cost line runs from
    ``left`` at probability cost 0 to ``right`` at 1.
    """
    cost_fn, cost_fp = costs
    ends = ("probability_cost", "normalized_cost", "threshold")
    positive = pl.col("prevalence") * cost_fn
    after = {f"{name}_after": pl.col(name).shift(-1).over("series") for name in ends[:2]}
    points = (
        frame.select("series", "prevalence", *ends)
        .with_columns(x=positive / (positive + (1 - pl.col("prevalence")) * cost_fp), **after)
        .filter(pl.col("probability_cost") <= pl.col("x"))
        .filter(pl.col("x") <= pl.col("probability_cost_after"))
        .unique("series", keep="first", maintain_order=True)
    )
    rise = pl.col("normalized_cost_after") - pl.col("normalized_cost")
    slope = rise / (pl.col("probability_cost_after") - pl.col("probability_cost"))
    left = pl.col("normalized_cost") - slope * pl.col("probability_cost")
    points = points.with_columns(left=left, right=left + slope)
    return points.select("series", "x", "threshold", "left", "right", y=left + slope * pl.col("x"))


def _draw_operating_points(
    frame: pl.DataFrame, series: Series, axes: Any, costs: tuple[float, float]
) -> list[alt.Chart]:
    """Draw the best threshold of each series at the costs, with its cost line."""
    points = _find_operating_points(frame, costs)
    plain = dict(zip(series.names, series.keys, strict=True))
    texts = [
        f"{plain[name]} {threshold:.4g}".strip()
        for name, threshold in points.select("series", "threshold").iter_rows()
    ]
    lines = points.select("series", x=pl.lit(0.0), y="left", x2=pl.lit(1.0), y2="right")
    color = series.encode_color(symbol=None)
    line = chart_rows(lines, axes).mark_rule(strokeWidth=1, clip=True, strokeDash=[2, 2])
    dots = chart_rows(points.select("series", "x", "y"), axes)
    rule = chart_rows(points.head(1).select("x", "y"), {"x": axes["x"]})
    fields = {"x": "probability cost", "y": "normalized expected cost"}
    shown = list_tooltips(series, fields)
    ratio = f"costs {costs[0]:g} : {costs[1]:g}, best threshold {', '.join(texts)}"
    label = rule.mark_text(color=INK, fontSize=10, dy=-9).encode(y=alt.value(0))
    return [
        rule.mark_rule(color=GREY, strokeDash=[1, 3]),
        line.encode(x2="x2:Q", y2="y2:Q", color=color),
        dots.mark_point(filled=True, size=60, opacity=1).encode(color=color, tooltip=shown),
        label.encode(text=alt.value(ratio)),
    ]


def draw_cost_curve(
    frame: pl.DataFrame, series: Series, costs: tuple[float, float] | None = None
) -> Picture:
    """Draw the lower envelope of the cost lines, with the cost without a model."""
    points = select_points(frame, "probability_cost", "normalized_cost")
    axes = encode_axis("x", "Probability cost") | encode_axis("y", "Normalized expected cost", 0.5)
    base = chart_rows(thin(points, "x", "y", ["series"]), axes).encode(color=series.encode_color())
    areas = draw_bands(frame, "probability_cost", series, axes)
    if not areas:
        areas = [base.mark_area(opacity=max(0.05, 0.25 / len(series.names)), order=False)]
    trivial = draw_reference([(0.0, 0.0), (0.5, 0.5), (1.0, 0.0)], axes)
    fields = {"x": "probability cost", "y": "normalized expected cost"}
    fields |= {
        name: name for name in ("prior", "threshold", "low", "high") if name in frame.columns
    }
    rows = frame.with_columns(x="probability_cost", y="normalized_cost")
    rows = rows.filter(pl.col("x").is_finite(), pl.col("y").is_finite())
    layers = [*areas, trivial, base.mark_line(), draw_hover(rows, axes, series, fields)]
    if costs is not None and "prevalence" in frame.columns:
        layers += _draw_operating_points(frame, series, axes, costs)
    return layer_charts(layers, 440, 300)


def draw_cost_lines(frame: pl.DataFrame, series: Series) -> Picture:
    """Draw the cost line of each threshold, or an even selection of many lines."""
    at = write_numbers("threshold") if "threshold" in frame.columns else pl.lit("")
    is_drawn = (pl.col(name).is_finite() for name in ("fpr", "fnr"))
    ends = frame.filter(is_drawn).select("series", x="fpr", y="fnr", at=at)
    # Select lines evenly, with the first and last of each series. In the sorted order the series
    # alternate, so no series covers the others.
    most = max(2, _MAX_LINES // len(series.names))
    steps = (pl.len() - 1).clip(lower_bound=most - 1)
    place = (pl.int_range(pl.len()) * (most - 1) // steps).over("series")
    once = pl.struct("series", place=place).is_first_distinct()
    ends = ends.with_columns(place=place).filter(once).sort("place", maintain_order=True)
    ends = ends.select("series", "at", x=pl.lit(0.0), y="x", x2=pl.lit(1.0), y2="y")
    axes = encode_axis("x", "Probability cost") | encode_axis("y", "Normalized expected cost")
    color = series.encode_color() if series.title else alt.value("#555555")
    # strokeOpacity, because opacity makes each mark a layer and takes ten times as long.
    lines = chart_rows(ends, axes).mark_rule(strokeWidth=0.7, strokeOpacity=0.35, opacity=1)
    fields = {"at:N": "threshold", "y": "false positive rate", "y2": "false negative rate"}
    lines = lines.encode(tooltip=list_tooltips(series, fields))
    return layer_charts([lines.encode(x2="x2:Q", y2="y2:Q", color=color)], 440, SIDE)
