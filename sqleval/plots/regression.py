"""Draws curves of a regression: predicted and actual values, residuals, and errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from sqleval.plots.parts import (
    COLORS,
    GREY,
    SIDE,
    Series,
    alt,
    chart_rows,
    draw_reference,
    encode_axis,
    layer_charts,
    select_points,
)
from sqleval.plots.tooltips import draw_hover, list_tooltips

if TYPE_CHECKING:
    from sqleval.plots.parts import Picture

#: Width and height of pictures whose axes have different units.
_WIDE, _HIGH = 480, 300
#: The axis of absolute errors ends where this share of the rows is reached.
_SHOWN = 0.99


def _encode_values(name: str, title: str, domain: tuple[float, float] | None = None) -> Any:
    """Return the channel ``name`` (x or y) of values in any unit."""
    scale: Any = alt.Scale(zero=False, nice=domain is None, padding=8)
    if domain is not None:
        scale = alt.Scale(domain=list(domain), nice=False)
    kind: Any = {"x": alt.X, "y": alt.Y}[name]
    axis = alt.Axis(tickCount=6)
    return {name: kind(f"{name}:Q", title=title, scale=scale, axis=axis, stack=None)}


def _find_range(*columns: pl.Series) -> tuple[float, float]:
    """Return a range around values, a little wider than they are."""
    values = pl.concat([column.cast(pl.Float64) for column in columns]).drop_nulls()
    low, high = (float(each) for each in (values.min(), values.max()))  # pyright: ignore[reportArgumentType]
    margin = (high - low) * 0.04 or max(abs(high), 1.0) * 0.04
    return low - margin, high + margin


def draw_predicted(frame: pl.DataFrame, series: Series) -> Picture:
    """Draw the mean label against the mean prediction of each bin."""
    points = select_points(frame, "predicted", "actual", "n")
    has_bands = "low" in frame.columns
    shown = [points["x"], points["y"], *([frame["low"], frame["high"]] if has_bands else [])]
    low, high = _find_range(*shown)
    axes = _encode_values("x", "Mean prediction", (low, high))
    axes |= _encode_values("y", "Mean label", (low, high))
    base = chart_rows(points, axes).encode(color=series.encode_color())
    layers = [draw_reference([(low, low), (high, high)], axes), base.mark_line()]
    if has_bands:
        for prefix, stroke in (("simultaneous_", 1.0), ("", 3.0)):
            ends = select_points(frame, "predicted", f"{prefix}low", f"{prefix}high")
            bars = chart_rows(ends.rename({f"{prefix}high": "y2"}), axes).encode(y2="y2:Q")
            bars = bars.mark_rule(strokeWidth=stroke, opacity=0.6)
            layers.append(bars.encode(color=series.encode_color(symbol=None)))
    corner = chart_rows(pl.DataFrame({"x": [high], "y": [high]}), axes)
    corner = corner.mark_text(color="#6b6b6b", fontSize=10, dy=-9, dx=4, align="right")
    rows = frame.with_columns(x="predicted", y="actual")
    rows = rows.filter(pl.col(name).is_finite() for name in ("x", "y"))
    fields = {"x": "mean prediction", "y": "mean label", "n": "rows"}
    fields |= {name: name for name in ("low", "high") if has_bands}
    layers += [
        base.mark_point(filled=True, opacity=1, size=40),
        draw_hover(rows, axes, series, fields),
        corner.encode(text=alt.value("perfect")),
    ]
    return layer_charts(layers, SIDE, SIDE)


def draw_residuals(frame: pl.DataFrame, series: Series) -> Picture:
    """Draw the quantiles of the residuals by prediction: median, middle half and middle 90 %."""
    axes = _encode_values("x", "Mean prediction")
    axes |= _encode_values("y", "Residual (prediction - label)")
    layers: list[alt.Chart] = []
    for low, high, opacity in (("q05", "q95", 0.12), ("q25", "q75", 0.25)):
        ends = select_points(frame, "predicted", low, high).rename({high: "y2"})
        area = chart_rows(ends, axes).mark_area(opacity=opacity, order=False)
        layers.append(area.encode(y2="y2:Q", color=series.encode_color()))
    medians = select_points(frame, "predicted", "median")
    base = chart_rows(medians, axes).encode(color=series.encode_color())
    ends = medians.select(low=pl.col("x").min(), high=pl.col("x").max()).row(0)
    layers += [
        draw_reference([(x, 0.0) for x in ends], axes),
        base.mark_line(),
        base.mark_point(filled=True, size=28, opacity=1),
        _draw_numbers(
            frame, "predicted", "median", axes, series, ("q05", "q25", "q75", "q95", "n")
        ),
    ]
    return layer_charts(layers, _WIDE, _HIGH)


def _draw_numbers(
    frame: pl.DataFrame, x: str, y: str, axes: Any, series: Series, beside: Sequence[str]
) -> alt.Chart:
    """Draw the invisible points of a line, with these columns beside x and y."""
    rows = frame.with_columns(pl.col(y).alias("y"), x=pl.col(x))
    rows = rows.filter(pl.col(name).cast(pl.Float64).is_finite() for name in ("x", "y"))
    fields = {name: name for name in (x, y, *beside) if name in frame.columns}
    return draw_hover(rows, axes, series, fields)


def draw_errors(frame: pl.DataFrame, series: Series) -> Picture:
    """Draw the root mean squared error, the mean absolute error and the bias by prediction."""
    names = {"rmse": "RMSE", "mae": "MAE", "bias": "bias"}
    parts = [
        select_points(frame, "predicted", column).with_columns(kind=pl.lit(name))
        for column, name in names.items()
    ]
    points = pl.concat(parts)
    axes = _encode_values("x", "Mean prediction")
    axes |= _encode_values("y", "Error")
    kinds = list(names.values())
    legend: Any = alt.Legend(title=None, symbolType="stroke", symbolSize=250)
    lines = chart_rows(points, axes)
    if series.title:
        scale = alt.Scale(domain=kinds, range=[[1, 0], [6, 3], [2, 3]])
        dash = alt.StrokeDash("kind:N", scale=scale, legend=legend)
        drawn = [lines.mark_line().encode(color=series.encode_color(), strokeDash=dash)]
    else:
        color = alt.Color(
            "kind:N", legend=legend, scale=alt.Scale(domain=kinds, range=list(COLORS[:3]))
        )
        lines = lines.encode(color=color)
        drawn = [lines.mark_line(), lines.mark_point(filled=True, size=28, opacity=1)]
    ends = points.select(low=pl.col("x").min(), high=pl.col("x").max()).row(0)
    drawn.insert(0, draw_reference([(x, 0.0) for x in ends], axes))
    for column in names:
        beside = [*(name for name in names if name != column), "n"]
        drawn.append(_draw_numbers(frame, "predicted", column, axes, series, beside))
    return layer_charts(drawn, _WIDE, _HIGH)


def draw_histogram(frame: pl.DataFrame, series: Series) -> Picture:
    """Draw the share of the rows by residual; a text says how many lie beyond the bins."""
    total = pl.col("n").sum().over("series")
    rows = frame.with_columns(share=pl.col("n") / total)
    bars = select_points(rows, "lower", "share", "upper", "n").rename({"upper": "x2"})
    fields = {"x": "from", "x2": "to", "y": "share of rows", "n": "rows"}
    beyond = rows.filter(~pl.col("lower").is_finite() | ~pl.col("upper").is_finite())
    axes = _encode_values("x", "Residual (prediction - label)")
    axes["y"] = alt.Y("y:Q", title="Share of rows", axis=alt.Axis(format="~%", tickCount=5))
    if series.title:
        # The outline of each series: bars would cover each other.
        outline = bars.sort("series", "x", maintain_order=True)
        ends = outline.group_by("series", maintain_order=True).agg(
            x=pl.col("x2").last(), y=pl.lit(0.0)
        )
        starts = outline.group_by("series", maintain_order=True).agg(
            x=pl.col("x").first(), y=pl.lit(0.0)
        )
        path = pl.concat([starts, outline.select("series", "x", "y"), ends])
        lines = chart_rows(path, axes).mark_line(interpolate="step-after")
        middle = bars.with_columns(lower="x", upper="x2", x=(pl.col("x") + pl.col("x2")) / 2)
        fields = {"lower": "from", "upper": "to", "y": "share of rows", "n": "rows"}
        drawn = [
            lines.encode(color=series.encode_color()), draw_hover(middle, axes, series, fields)
        ]  # fmt: skip
    else:
        drawn = chart_rows(bars, axes).mark_rect(stroke="white", strokeWidth=0.5)
        drawn = drawn.encode(x2="x2:Q", y2=alt.datum(0), color=series.encode_color())
        drawn = [drawn.encode(tooltip=list_tooltips(series, fields))]
    zero = chart_rows(pl.DataFrame({"x": [0.0]}), {"x": axes["x"]})
    layers = [*drawn, zero.mark_rule(color=GREY, strokeDash=[5, 4])]
    sides: Any = (
        ("lower", "left", 4, "◂ {:.1%} beyond"),
        ("upper", "right", -4, "{:.1%} beyond ▸"),
    )
    for end, align, offset, text in sides if not series.title else ():
        for share in beyond.filter(~pl.col(end).is_finite())["share"]:
            place = {"x": alt.value(offset % _WIDE), "y": alt.value(10)}
            label = chart_rows(pl.DataFrame({"x": [0.0]}), place)
            label = label.mark_text(align=align, color="#6b6b6b", fontSize=10)
            layers.append(label.encode(text=alt.value(text.format(share))))
    return layer_charts(layers, _WIDE, _HIGH)


def draw_error_shares(frame: pl.DataFrame, series: Series) -> Picture:
    """Draw the share of the rows with an absolute error up to each value."""
    points = select_points(frame, "error", "share")
    reached = points.filter(pl.col("y") >= _SHOWN).group_by("series").agg(pl.col("x").min())
    last, largest = (float(each["x"].max() or 0.0) for each in (reached, points))  # pyright: ignore[reportArgumentType]
    title = "Absolute error" + (f", up to that of {_SHOWN:.0%} of the rows" * (last < largest))
    origin = points.select("series").unique(maintain_order=True).with_columns(x=0.0, y=0.0)
    path = pl.concat([origin.select(points.columns), points]).sort("series", maintain_order=True)
    axes: dict[str, Any] = _encode_values("x", title, (0.0, last or 1.0))
    axes |= encode_axis("y", "Share of rows with at most this error", percent=True)
    lines = chart_rows(path, axes).mark_line(interpolate="step-after", clip=True)
    beside = points.filter(pl.col("x") <= (last or 1.0))
    hover = draw_hover(beside, axes, series, {"x": "absolute error", "y": "share of rows"})
    return layer_charts([lines.encode(color=series.encode_color()), hover], _WIDE, _HIGH)
