"""Draws curves of rates, calibration and lift, and confusion matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from sqleval.catalog.chart import Chart
from sqleval.common.visible import show_controls
from sqleval.plots.parts import (
    COLORS,
    DIAGONAL,
    GREY,
    INK,
    SIDE,
    SPACING,
    Series,
    alt,
    break_lines,
    chart_rows,
    create_facet,
    draw_bands,
    draw_label,
    draw_reference,
    encode_axis,
    layer_charts,
    place_bars,
    select_points,
)
from sqleval.plots.thinning import thin
from sqleval.plots.tooltips import draw_hover, list_tooltips, write_numbers

if TYPE_CHECKING:
    from sqleval.plots.parts import Picture

#: With more series than this, colours are too alike to identify a line.
_MOST_COLORED = 8
#: Letters in a line of a class name below a matrix.
_IN_CELL = 14
#: With more classes than this, a confusion matrix has cells of this size in pixels, without shares.
_LARGE, _SMALL_CELL = 12, 28
#: Further columns of a curve whose numbers stand beside x and y under the pointer.
_BESIDE = ("threshold", "prediction", "lift", "low", "high")


def _draw_shares(facts: pl.DataFrame, axes: Any) -> list[alt.Chart]:
    """Draw the shares of positives, and the points at which precision equals recall."""
    shares = facts["prevalence"].drop_nulls().unique().sort()
    layers = [draw_reference([(0.0, share), (1.0, share)], axes) for share in shares]
    if len(shares) == 1:
        text = f"prevalence {shares[0]:.3f}"
        label = chart_rows(pl.DataFrame({"x": [1.0], "y": [shares[0]]}), axes)
        label = label.mark_text(color="#6b6b6b", fontSize=10, dy=8, align="right")
        layers.append(label.encode(text=alt.value(text)))
    even = facts.select(x="break_even", y="break_even").drop_nulls()
    points = chart_rows(even, axes).mark_point(shape="diamond", color=INK, size=45, opacity=1)
    points = points.encode(tooltip=alt.Tooltip("x:Q", title="precision = recall", format=",.6~g"))
    return [*layers, points] if even.height else layers


def draw_line(
    frame: pl.DataFrame, series: Series, chart: Chart, facts: pl.DataFrame | None = None
) -> Picture:
    """Draw a curve in the unit square, with the line of a random model."""
    (x, x_title), (y, y_title) = chart.x, chart.y
    axes = encode_axis("x", x_title, percent=chart.percent)
    axes |= encode_axis("y", y_title, percent=chart.percent)
    layers = [draw_reference(DIAGONAL, axes), draw_label(1.0, chart.diagonal, axes)]
    if chart.ideal:
        ideal = chart_rows(pl.DataFrame({"x": [0.0], "y": [1.0]}), axes)
        ideal = ideal.mark_point(shape="diamond", color=INK, size=60, filled=True, opacity=1)
        layers += [ideal, draw_label(0.0, "ideal", axes)]
    points = select_points(frame, x, y)
    if chart.steps:
        # Leave out the line along the axis, before the first true positive, where precision is 0.
        start = pl.int_range(pl.len()).over("series") == 0
        points = points.filter(start | (pl.col("x") > 0))
    layers += draw_bands(frame, x, series, axes)
    base = chart_rows(thin(points, "x", "y", ["series"]), axes).encode(color=series.encode_color())
    layers.append(base.mark_line(interpolate="step-before" if chart.steps else "linear"))
    if chart.points:
        layers.append(base.mark_point(filled=True, size=28, opacity=1))
    if facts is not None and "break_even" in facts.columns:
        layers += _draw_shares(facts, axes)
    shown = {name: name for name in _BESIDE if name in frame.columns}
    beside = frame.select("series", *shown, x=pl.col(x), y=pl.col(y))
    beside = beside.filter(pl.col(name).cast(pl.Float64).is_finite() for name in "xy")
    layers.append(draw_hover(beside, axes, series, {"x": x_title, "y": y_title, **shown}))
    return layer_charts(layers, SIDE, SIDE)


def _draw_calibrations(points: pl.DataFrame, series: Series) -> Picture:
    """Draw a small plot for each of many series."""
    side, largest = 150, max(points["n"].to_list())
    axes = encode_axis("x", "Predicted") | encode_axis("y", "Observed")
    for axis in axes.values():
        axis["axis"] = alt.Axis(values=[0, 0.5, 1], format=".1f")
    base = chart_rows(points, axes)
    size = alt.Size("n:Q", scale=alt.Scale(domain=[0, largest], range=[4, 60]), legend=None)
    ends = points.select("series").unique(maintain_order=True).join(
        pl.DataFrame(DIAGONAL, schema=["x", "y"], orient="row"), how="cross"
    )  # fmt: skip
    diagonal = chart_rows(ends, axes).mark_line(color=GREY, strokeDash=[5, 4], strokeWidth=1)
    line = base.mark_line(color=COLORS[0], strokeWidth=1.2)
    dots = base.mark_point(filled=True, opacity=1, color=COLORS[0]).encode(size=size)
    fields = {"x": "mean predicted probability", "y": "observed share", "n": "rows"}
    dots = dots.encode(tooltip=list_tooltips(series, fields))
    rows = pl.concat(
        [
            ends.with_columns(n=pl.lit(None, pl.Float64), part=pl.lit("diagonal")),
            points.select("series", "x", "y", "n", part=pl.lit("curve")),
        ]
    )
    whole = chart_rows(rows, {})
    parts = [
        each.properties(data=alt.Undefined).transform_filter(alt.datum.part == part)
        for each, part in ((diagonal, "diagonal"), (line, "curve"), (dots, "curve"))
    ]
    layered: Any = alt.layer(*parts, data=whole.data).properties(width=side, height=side)
    return layered.facet(facet=create_facet(series, 10), columns=4, spacing=SPACING)


def draw_calibration(frame: pl.DataFrame, series: Series) -> Picture:
    """Draw the observed against the predicted share, with the rows of each bin below."""
    points = select_points(frame, "predicted", "observed", "n")
    if len(series.names) > _MOST_COLORED:
        return _draw_calibrations(points, series)
    axes = encode_axis("x", None) | encode_axis("y", "Observed share of positives")
    base = chart_rows(points, axes).encode(color=series.encode_color())
    layers = [draw_reference(DIAGONAL, axes), draw_label(1.0, "perfect", axes), base.mark_line()]
    if "low" in frame.columns:
        for prefix, stroke in (("simultaneous_", 1.0), ("", 3.0)):
            ends = select_points(frame, "predicted", f"{prefix}low", f"{prefix}high")
            bars = chart_rows(ends.rename({f"{prefix}high": "y2"}), axes).encode(y2="y2:Q")
            bars = bars.mark_rule(strokeWidth=stroke, opacity=0.6)
            layers.append(bars.encode(color=series.encode_color(symbol=None)))
    size = alt.Size("n:Q", scale=alt.Scale(domainMin=0, range=[8, 110]), legend=None)
    fields = {"x": "mean predicted probability", "y": "observed share", "n": "rows"}
    dots = points
    if "low" in frame.columns:
        fields |= {f"{name}:N": name for name in ("low", "high")}
        is_drawn = (pl.col(name).is_finite() for name in ("predicted", "observed", "n"))
        ends = frame.with_columns(pl.col("n").cast(pl.Float64)).filter(is_drawn)
        dots = points.with_columns(ends.select(map(write_numbers, ("low", "high"))))
    base = chart_rows(dots, axes).encode(color=series.encode_color(), size=size)
    layers.append(
        base.mark_point(filled=True, opacity=1).encode(tooltip=list_tooltips(series, fields))
    )
    width = (0.5 / pl.len().over("series")).clip(0.005, 0.05)
    points = points.with_columns(y="n", predicted="x", n_rows="n", observed="y")
    bars = place_bars(points, series, pl.col("x"), width, "predicted", "observed", "n_rows")
    axes = encode_axis("x", "Mean predicted probability")
    axes["y"] = alt.Y("y:Q", title="Rows", axis=alt.Axis(format="~s", tickCount=3))
    # Rectangles, because bar marks pad the axis and shift bars against the points above.
    lower = chart_rows(bars, axes).mark_rect(clip=True)
    lower = lower.encode(x2="x2:Q", y2=alt.datum(0), color=series.encode_color(symbol=None))
    fields = {"predicted": fields["x"], "observed": fields["y"], "n_rows": fields["n"]}
    lower = lower.encode(tooltip=list_tooltips(series, fields))
    upper = layer_charts(layers, SIDE, SIDE)
    return alt.vconcat(upper, lower.properties(width=SIDE, height=70), spacing=14)


def draw_ks(frame: pl.DataFrame, series: Series) -> Picture:
    """Draw the shares of both classes above each threshold, and their largest distance."""
    kinds = {"tpr": "positives", "fpr": "negatives"}
    shares = (
        select_points(frame, "threshold", y).with_columns(kind=pl.lit(kinds[y])) for y in kinds
    )
    axes = encode_axis("y", "Share with a score at or above the threshold")
    scale = alt.Scale(zero=False, nice=False)
    axes["x"] = alt.X("x:Q", title="Threshold", scale=scale, axis=alt.Axis(tickCount=7))
    names = list(kinds.values())
    legend = alt.Legend(title="share of", symbolType="stroke", symbolSize=250)
    # A share holds from its threshold down to the next lower one, in the next row.
    lines = chart_rows(thin(pl.concat(shares), "x", "y", ["series", "kind"]), axes)
    lines = lines.mark_line(interpolate="step-after")
    largest = select_points(frame, "threshold", "tpr", "fpr", "distance")
    largest = largest.sort("distance", descending=True, maintain_order=True)
    largest = largest.unique("series", keep="first", maintain_order=True)
    gap = chart_rows(largest, axes).encode(y2="fpr:Q")
    if series.title:
        scale = alt.Scale(domain=names, range=[[1, 0], [4, 3]])
        dash = alt.StrokeDash("kind:N", scale=scale, legend=legend)
        lines = lines.encode(color=series.encode_color(), strokeDash=dash)
        layers = [lines, gap.mark_rule(strokeWidth=2).encode(color=series.encode_color())]
    else:
        scale = alt.Scale(domain=names, range=list(COLORS[:2]))
        lines = lines.encode(color=alt.Color("kind:N", scale=scale, legend=legend))
        at_largest = chart_rows(largest, {"x": axes["x"]})
        text = f"KS = {largest['distance'][0]:.3f} at {largest['x'][0]:.4g}"
        # Put the label above the plot, so that it covers no curve.
        label = at_largest.mark_text(color=INK, fontSize=11, dy=-9).encode(y=alt.value(0))
        layers = [
            at_largest.mark_rule(color=GREY, strokeDash=[1, 3]),
            lines,
            gap.mark_rule(strokeWidth=2, color=INK),
            label.encode(text=alt.value(text)),
        ]
    fields = {"x": "threshold", "tpr": "share of positives", "fpr": "share of negatives"}
    fields["distance"] = "distance"
    at = select_points(frame, "threshold", "tpr", "fpr", "distance").rename({"y": "tpr"})
    for y in kinds:
        layers.append(draw_hover(at.with_columns(y=y), axes, series, fields))
    return layer_charts(layers, 480, 300)


def draw_gain_table(frame: pl.DataFrame, series: Series) -> Picture:
    """Draw the lift of each part of the rows as a bar."""
    # A bar is as wide as the share that it adds. Shares cannot be categories, because ties make
    # them differ between series.
    points = select_points(frame, "share", "lift")
    added = pl.col("x") - pl.col("x").shift(1).over("series").fill_null(0.0)
    axes = encode_axis("x", "Share of rows targeted", percent=True)
    axes["y"] = alt.Y("y:Q", title="Lift (gain / share)")
    points = points.with_columns(share="x")
    bars = place_bars(points, series, pl.col("x") - added / 2, added * 0.84, "share")
    fields = {"share": "share of rows targeted", "y": "lift"}
    bars = chart_rows(bars, axes).encode(tooltip=list_tooltips(series, fields)).mark_rect()
    bars = bars.encode(x2="x2:Q", y2=alt.datum(0), color=series.encode_color(symbol="square"))
    return layer_charts([bars, draw_reference([(0.0, 1.0), (1.0, 1.0)], axes)], 480, 280)


def _show_classes(column: pl.Series) -> pl.Series:
    texts = column.cast(pl.String)
    return pl.Series(column.name, [text and show_controls(text) for text in texts], pl.String)


def _count_cells(frame: pl.DataFrame, series: Series) -> tuple[pl.DataFrame, list[str]]:
    """Return a row per cell of each matrix, with its count and share, and the classes."""
    shares = [name for name in ("share",) if name in frame.columns]
    cells = frame.select(
        "series", "n", *shares, *(_show_classes(frame[name]) for name in ("label", "prediction"))
    )
    names = sorted({*cells["label"].drop_nulls(), *cells["prediction"].drop_nulls()})
    if frame["label"].dtype.is_numeric() and frame["prediction"].dtype.is_numeric():
        names.sort(key=float)
    if {*names} <= {"0", "1"}:
        names = ["0", "1"]
    square = (
        pl.DataFrame({"series": series.names})
        .join(pl.DataFrame({"label": names}), how="cross")
        .join(pl.DataFrame({"prediction": names}), how="cross")
        .join(cells, on=["series", "label", "prediction"], how="left")
        .with_columns(pl.col("n").fill_null(0))
    )
    of_label = pl.col("n") / pl.col("n").sum().over("series", "label")
    share = pl.col("share").fill_null(0) if shares else of_label
    # A label without rows has no shares.
    square = square.with_columns(share=share.fill_nan(None))
    percent = (pl.col("share") * 100).round(1).cast(pl.String) + "%"
    square = square.with_columns(percent=percent.fill_null(""), share=pl.col("share").fill_null(0))
    return square, names


def draw_confusion(frame: pl.DataFrame, series: Series) -> Picture:
    """Draw each matrix with its counts; the colour is the share, by default of the label's rows."""
    square, names = _count_cells(frame, series)
    called = {("1", "1"): "TP", ("0", "1"): "FP", ("1", "0"): "FN", ("0", "0"): "TN"}
    is_binary, is_large = names == ["0", "1"], len(names) > _LARGE
    texts = [
        f"{called[label, prediction]} {n:,.6g}" if is_binary else f"{n:,.6g}"
        for label, prediction, n in square.select("label", "prediction", "n").iter_rows()
    ]
    square = square.with_columns(text=pl.Series(texts))
    # The positive class comes first, as in most tables of two classes.
    order = names[::-1] if is_binary else names
    below = alt.Axis(labelAngle=0, labelExpr=break_lines(_IN_CELL))
    below = alt.Axis(labelAngle=-90) if is_large else below
    axes: dict[str, Any] = {
        "x": alt.X("prediction:N", title="Predicted", sort=order, axis=below),
        "y": alt.Y("label:N", title="Label", sort=order),
    }
    fields = {"label:N": "label", "prediction:N": "prediction", "n": "rows", "percent:N": "share"}
    base = chart_rows(square, axes).encode(tooltip=list_tooltips(series, fields))
    scale = alt.Scale(domain=[0, 1], range=["#ffffff", COLORS[0]], interpolate="rgb")
    shade = base.mark_rect(stroke="white").encode(
        color=alt.Color("share:Q", scale=scale, title="share", legend=None)
    )
    ink = alt.condition("datum.share > 0.6", alt.value("white"), alt.value(INK))
    count = base.mark_text(dy=-7, fontSize=12).encode(text="text:N", color=ink)
    share = base.mark_text(dy=9, fontSize=10).encode(text="percent:N", color=ink)
    if is_large:
        # Small cells have room for about five characters, such as 12.3k.
        short = "format(datum.n, datum.n < 1 ? '.2~f' : '.3~s')"
        some = base.transform_filter("datum.n > 0").transform_calculate(short=short)
        count = some.mark_text(fontSize=9).encode(text="short:N", color=ink)
    side = max((_SMALL_CELL if is_large else 90) * len(names), 150)
    layered: Any = alt.layer(shade, count, *([] if is_large else [share]), data=base.data)
    layered = layered.properties(width=side, height=side)
    if not series.title:
        return layered
    for layer in layered.layer:
        layer.data = alt.Undefined
    return layered.facet(facet=create_facet(series, 11), columns=3, spacing=SPACING)
