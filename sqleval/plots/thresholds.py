"""Draws precision, recall, F1 and cost by threshold, and the distribution of scores by class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from sqleval.plots.parts import (
    COLORS,
    GREY,
    INK,
    SPACING,
    Series,
    alt,
    chart_rows,
    create_facet,
    encode_axis,
    layer_charts,
    select_points,
)
from sqleval.plots.thinning import thin
from sqleval.plots.tooltips import draw_hover, list_tooltips

if TYPE_CHECKING:
    from sqleval.plots.parts import Picture

_WIDE, _HIGH, _LOW = 480, 260, 110
#: Width and height of one of several small plots.
_SMALL = (270, 170)
#: The shares of a threshold, and their names.
_SHARES = {"precision": "precision", "recall": "recall", "f1": "F1"}
_ALL = {**_SHARES, "cost": "cost per row"}
#: The number of rows predicted positive is shown under the pointer alone.
_SHOWN = {"x": "threshold", **_ALL, "n_predicted": "rows predicted positive"}


def _encode_threshold(title: str | None = "Threshold") -> Any:
    scale = alt.Scale(zero=False, nice=False)
    return {"x": alt.X("x:Q", title=title, scale=scale, axis=alt.Axis(tickCount=7))}


def _encode_cost(title: str) -> Any:
    axis = alt.Axis(tickCount=4)
    return {"y": alt.Y("y:Q", title=title, scale=alt.Scale(zero=True), axis=axis, stack=None)}


def _draw_lines(frame: pl.DataFrame, column: str, axes: Any, series: Series) -> list[alt.Chart]:
    """Draw the line of one measure for each series, with its invisible points."""
    points = select_points(frame, "threshold", column)
    # A value holds from its threshold down to the next lower one, in the next row.
    # A plot of several has half the width.
    columns = _SMALL[0] if series.title else _WIDE
    line = chart_rows(thin(points, "x", "y", ["series"], columns=columns), axes)
    line = line.mark_line(interpolate="step-after").encode(color=series.encode_color())
    band = _draw_band(frame, column, axes, columns, series.encode_color())
    return [*band, line, _draw_numbers(frame, column, axes, series)]


def _draw_band(
    frame: pl.DataFrame, column: str, axes: Any, columns: int, color: Any
) -> list[alt.Chart]:
    """Draw the intervals of one measure, if the curve has them."""
    if f"{column}_low" not in frame.columns:
        return []
    ends = select_points(frame, "threshold", f"{column}_low", f"{column}_high")
    ends = ends.rename({f"{column}_high": "y2"})
    area = chart_rows(thin(ends, "x", "y", ["series"], columns=columns), axes)
    area = area.mark_area(opacity=0.2, order=False, interpolate="step-after", clip=True)
    return [area.encode(y2="y2:Q", color=color)]


def _draw_numbers(frame: pl.DataFrame, column: str, axes: Any, series: Series) -> alt.Chart:
    rows = frame.with_columns(pl.col(column).alias("y"), x="threshold")
    rows = rows.filter(pl.col(name).is_finite() for name in ("x", "y"))
    fields = {name: title for name, title in _SHOWN.items() if name in rows.columns}
    # The interval of the line under the pointer.
    ends = {f"{column}_{end}": f"{_ALL[column]}, {end}" for end in ("low", "high")}
    fields |= {name: title for name, title in ends.items() if name in rows.columns}
    return draw_hover(rows, axes, series, fields)


def _draw_best(frame: pl.DataFrame, column: str, axes: Any, *, lowest: bool) -> list[alt.Chart]:
    """Draw a rule at the best threshold, with a label above the plot."""
    points = frame.filter(pl.col(column).is_finite())
    ends = points["threshold"].filter(points["threshold"].is_finite())
    left, right = (float(each) for each in (ends.min(), ends.max()))  # pyright: ignore[reportArgumentType]
    best = points.sort(column, descending=not lowest, maintain_order=True).head(1)
    at = float(best["threshold"][0])
    text = f"{'lowest' if lowest else 'highest'} {_ALL[column]} {best[column][0]:.3g}"
    # The label stays within the plot.
    share = (at - left) / (right - left) if right > left else 0.5
    align: Any = "left" if share < 0.2 else "right" if share > 0.8 else "center"
    if at == float("inf"):
        rule = chart_rows(pl.DataFrame({"x": [right]}), {"x": axes["x"]})
        label = rule.mark_text(color=INK, fontSize=10, dy=-8, align="right")
        text += " without a positive prediction"
        return [label.encode(y=alt.value(0), text=alt.value(text))]
    rule = chart_rows(best.select(x="threshold"), {"x": axes["x"]})
    label = rule.mark_text(color=INK, fontSize=10, dy=-8, align=align)
    label = label.encode(y=alt.value(0), text=alt.value(f"{text} at {at:.4g}"))
    return [rule.mark_rule(color=GREY, strokeDash=[1, 3]), label]


def draw_thresholds(frame: pl.DataFrame, series: Series) -> Picture:
    """Draw precision, recall, F1 and cost by threshold.

    One series has the three shares in one plot and the cost below. Several series have a plot for
    each measure.
    """
    if series.title:
        return _draw_small_thresholds(frame, series)
    axes = _encode_threshold(None) | encode_axis("y", "Precision, recall, F1")
    parts = [
        select_points(frame, "threshold", column).with_columns(kind=pl.lit(name))
        for column, name in _SHARES.items()
    ]
    names = list(_SHARES.values())
    color = alt.Color(
        "kind:N",
        scale=alt.Scale(domain=names, range=list(COLORS[: len(names)])),
        legend=alt.Legend(title=None, symbolType="stroke", symbolSize=250),
    )
    lines = chart_rows(thin(pl.concat(parts), "x", "y", ["kind"], columns=_WIDE), axes)
    lines = lines.mark_line(interpolate="step-after").encode(color=color)
    bands = [
        band
        for column, shade in zip(_SHARES, COLORS, strict=False)
        for band in _draw_band(frame, column, axes, _WIDE, alt.value(shade))
    ]
    upper = [*bands, lines, *_draw_best(frame, "f1", axes, lowest=False)]
    upper += [_draw_numbers(frame, column, axes, series) for column in _SHARES]
    below = _encode_threshold() | _encode_cost("Cost per row")
    lower = [*_draw_lines(frame, "cost", below, series)]
    lower += _draw_best(frame, "cost", below, lowest=True)
    pictures: Any = [layer_charts(upper, _WIDE, _HIGH), layer_charts(lower, _WIDE, _LOW)]
    return alt.vconcat(*pictures, spacing=26)


def _draw_small_thresholds(frame: pl.DataFrame, series: Series) -> Picture:
    """Draw a plot for each measure, with the lines of all series."""
    plots: list[Any] = []
    for column, name in _ALL.items():
        title = name[0].upper() + name[1:]
        axes = _encode_threshold("Threshold" if len(plots) > 1 else None)
        axes |= _encode_cost(title) if column == "cost" else encode_axis("y", title)
        plots.append(layer_charts(_draw_lines(frame, column, axes, series), *_SMALL))
    rows = (alt.hconcat(*plots[i : i + 2], spacing=24) for i in (0, 2))
    return alt.vconcat(*rows, spacing=18)


def draw_score_histogram(frame: pl.DataFrame, series: Series) -> Picture:
    """Draw the share of each class by score; several series have a plot each."""
    kinds = {"n_negative": "negatives", "n_positive": "positives"}
    totals = {name: float(frame[name].sum()) for name in kinds}
    names = {
        name: kind if series.title else f"{kind}, n = {totals[name]:,.12g}"
        for name, kind in kinds.items()
    }
    parts = [
        frame.with_columns(share=pl.col(name) / pl.col(name).sum().over("series"), n=pl.col(name))
        .pipe(select_points, "lower", "share", "upper", "n")
        .with_columns(kind=pl.lit(names[name]))
        for name in kinds
    ]
    bars = pl.concat(parts).rename({"upper": "x2"}).filter(pl.col("n") > 0)
    axes: dict[str, Any] = {
        "x": alt.X("x:Q", title="Score", scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=6)),
        "y": alt.Y("y:Q", title="Share of the class", stack=None, axis=alt.Axis(format="~%")),
    }
    scale = alt.Scale(domain=list(names.values()), range=list(COLORS[:2]))
    legend = alt.Legend(title=None, symbolType="square", symbolOpacity=0.6)
    fields = {"kind:N": "class", "x": "from", "x2": "to", "n": "rows", "y": "share of the class"}
    drawn = chart_rows(bars, axes).mark_rect(opacity=0.5, stroke="white", strokeWidth=0.5)
    drawn = drawn.encode(
        x2="x2:Q",
        y2=alt.datum(0),
        color=alt.Color("kind:N", scale=scale, legend=legend),
        tooltip=list_tooltips(series, fields),
    )
    if not series.title:
        return layer_charts([drawn, *_draw_infinite(frame, totals)], _WIDE, _HIGH)
    width, height = _SMALL
    small: Any = drawn.properties(width=width, height=height)
    return small.facet(
        facet=create_facet(series, 11), columns=min(len(series.names), 3), spacing=SPACING
    )


def _draw_infinite(frame: pl.DataFrame, totals: dict[str, float]) -> list[alt.Chart]:
    """Write the share of all rows with an infinite score at the edge where they would be."""
    whole, layers = sum(totals.values()), list[alt.Chart]()
    sides: Any = (
        ("lower", "left", 4, "◂ {:.1%} at -inf"),
        ("upper", "right", -4, "{:.1%} at inf ▸"),
    )
    for end, align, offset, text in sides:
        beyond = frame.filter(pl.col(end).is_infinite())
        rows = sum(float(beyond[name].sum()) for name in totals)
        if rows:
            place = {"x": alt.value(offset % _WIDE), "y": alt.value(10)}
            label = chart_rows(pl.DataFrame({"x": [0.0]}), place)
            label = label.mark_text(align=align, color="#6b6b6b", fontSize=10)
            layers.append(label.encode(text=alt.value(text.format(rows / whole))))
    return layers
