"""Draws curves as Altair charts from tables; it runs no query.

This is the only module that imports Altair, which is an optional extra. The import is late, so
that everything else works without it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from sqleval.common.imports import import_optional
from sqleval.common.names import nearest
from sqleval.errors import RequestError, SourceError
from sqleval.plots.thinning import thin

if TYPE_CHECKING:
    import altair as alt

    Picture = alt.LayerChart | alt.VConcatChart
else:

    class _LazyAltair:
        """Altair, imported at the first use of a name."""

        def __getattr__(self, name: str) -> Any:
            return getattr(import_optional("altair", "plot", "plots"), name)

    alt = _LazyAltair()

#: File format by suffix.
_FORMATS: dict[str, Any] = {".svg": "svg", ".png": "png", ".html": "html"}
#: Width and height of a square plot, in pixels.
_SIDE = 360
#: Cost lines per chart; more of them merge into a grey area.
_MAX_LINES = 300
# Okabe and Ito (2008) without yellow, which is invisible on white; neighbours differ clearly.
_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_INK, _GREY, _PALE = "#333333", "#8a8a8a", "#ebebeb"
_DIAGONAL = ((0.0, 0.0), (1.0, 1.0))
_TEXT = {"labelFontSize": 11, "titleFontSize": 12, "labelColor": _INK, "titleColor": _INK}
_STYLE: dict[str, Any] = {
    "font": "Helvetica, Arial, 'DejaVu Sans', sans-serif",
    "background": "white",
    "padding": 12,
    "view": {"stroke": None},
    "axis": {**_TEXT, "titleFontWeight": "normal", "titlePadding": 10, "labelFlush": False}
    | {"gridColor": _PALE, "domainColor": _GREY, "tickColor": _GREY, "tickSize": 4},
    "legend": {**_TEXT, "titleFontWeight": "normal", "symbolStrokeWidth": 2.5}
    | {"padding": 5, "offset": 12, "symbolLimit": 0, "labelLimit": 0, "symbolOpacity": 1},
    "title": {"anchor": "start", "frame": "group", "color": _INK, "fontSize": 14, "offset": 12},
    "line": {"strokeWidth": 1.8, "strokeJoin": "round", "order": False},
}


class LineStyle(NamedTuple):
    """Columns, titles and marks of a line chart in the unit square."""

    title: str
    x: str
    y: str
    x_title: str
    y_title: str
    diagonal: str
    interpolate: Any = "linear"
    points: bool = False
    ideal: bool = False
    percent: bool = False


_FPR, _TPR = "False positive rate (1 - specificity)", "True positive rate (sensitivity)"
_ROC = LineStyle("ROC curve", "fpr", "tpr", _FPR, _TPR, "chance", ideal=True)
# Average precision uses the precision at the right end of each step of recall. Recall increases
# row by row, so the line steps to the new precision before it moves right.
_PR = LineStyle(
    "Precision-recall curve", "recall", "precision", "Recall", "Precision", "P = R",
    interpolate="step-before",
)  # fmt: skip
_GAIN = "Share of positives found (gain)"
_LINES = {
    "roc_curve": _ROC,
    "roc_hull": _ROC._replace(title="Convex hull of the ROC curve", points=True),
    "roc_from_pr": _ROC,
    "pr_curve": _PR,
    "pr_from_roc": _PR,
    "gain_curve": LineStyle(
        "Gain curve", "share", "gain", "Share of rows targeted", _GAIN, "random", percent=True
    ),
}
#: The metric that stands beside the name of a series: its short name, and its name.
SUMMARIES = {
    "roc_curve": ("AUC", "roc_auc"),
    "roc_hull": ("AUC of the curve", "roc_auc"),
    "pr_curve": ("AP", "average_precision"),
    "calibration_curve": ("ECE", "expected_calibration_error"),
    "ks_curve": ("KS", "ks"),
    "cost_curve": ("AUC", "roc_auc"),
}
#: Above so many series, lines cannot be told apart by colour.
_MOST_COLORED = 8


class Series(NamedTuple):
    """The lines of one chart: the title of the legend, and the names in row order."""

    title: str
    names: list[str]

    def encode_color(self, symbol: Any = "stroke") -> Any:
        """Return the colour channel; one blue and no legend if there are no keys."""
        if not self.title:
            return alt.value(_COLORS[0])
        count = len(self.names)
        colors: Any = {"range": list(_COLORS[:count])}
        if count > len(_COLORS):
            turbo = alt.SchemeParams(name="turbo", count=count, extent=[0.05, 0.95])
            scheme = "tableau10" if count <= 10 else "tableau20"
            colors = {"scheme": turbo if count > 20 else scheme}
        legend: Any = {"title": self.title, "columns": -(-count // 20), "symbolType": symbol}
        scale = alt.Scale(domain=self.names, **colors)
        return alt.Color("series:N", scale=scale, legend=alt.Legend(**legend) if symbol else None)


def _write_summary(name: str) -> pl.Expr:
    """Return what stands beside a series: its metric and its number of rows."""
    value = pl.col("value").map_elements(lambda v: f"{v:.3f}", return_dtype=pl.String)
    rows = pl.col("n").map_elements(lambda n: f"{n:,}", return_dtype=pl.String)
    return pl.format(f"{name} {{}}, n = {{}}", value.fill_null("undefined"), rows)


def _name_series(
    frame: pl.DataFrame, keys: Sequence[str], facts: pl.DataFrame | None = None, summary: str = ""
) -> tuple[pl.DataFrame, Series]:
    """Add the column ``series``, the keys as one text, and return all series beside the frame.

    With ``facts``, the value and rows of each series stand beside its name.
    """
    if not keys:
        return frame.with_columns(series=pl.lit("")), Series("", [""])
    names = frame.select(keys).unique(maintain_order=True)
    texts = [pl.col(key).cast(pl.String).fill_null("NULL") for key in keys]
    text = pl.concat_str(texts, separator=", ").replace("", "''")
    # Different keys may have the same text, such as NULL and "NULL"; number them.
    copy = pl.int_range(pl.len()).over("series")
    name = pl.when(copy > 0).then(pl.format("{} ({})", "series", copy + 1)).otherwise("series")
    names = names.with_columns(series=text).with_columns(series=name)
    if facts is not None:
        names = names.join(
            facts, on=list(keys), how="left", nulls_equal=True, maintain_order="left"
        )
        names = names.with_columns(series=pl.format("{}: {}", "series", _write_summary(summary)))
        names = names.select(*keys, "series")
    frame = frame.join(names, on=list(keys), how="left", nulls_equal=True, maintain_order="left")
    return frame, Series(", ".join(keys), names["series"].to_list())


def _select_points(frame: pl.DataFrame, x: str, y: str, *more: str) -> pl.DataFrame:
    """Return ``series``, ``x``, ``y`` and further columns of the rows where all are finite."""
    names = (x, y, *more)
    frame = frame.select("series", *(pl.col(name).cast(pl.Float64) for name in names))
    # A NULL makes the condition NULL, so that its row is left out as well.
    return frame.filter(pl.col(name).is_finite() for name in names).rename({x: "x", y: "y"})


def _chart_rows(frame: pl.DataFrame, axes: Any) -> alt.Chart:
    """Return a chart of rows, without marks."""
    # As CSV text: Altair validates other rows one by one, and limits their number.
    parse: Any = {
        name: "number" if kind.is_numeric() else "string" for name, kind in frame.schema.items()
    }
    form = alt.CsvDataFormat(type="csv", parse=parse)
    return alt.Chart(alt.InlineData(values=frame.write_csv(), format=form)).encode(**axes)


def _encode_axis(name: str, title: str | None, high: float = 1.0, percent: bool = False) -> Any:
    """Return the channel ``name`` (x or y) from 0 to ``high``."""
    step = 0.2 if high > 0.6 else 0.1
    ticks = [round(i * step, 1) for i in range(round(high / step) + 1)]
    axis = alt.Axis(values=ticks, format=".0%" if percent else ".1f")
    kind: Any = {"x": alt.X, "y": alt.Y}[name]
    # Series overlap; they are not stacked.
    scale = alt.Scale(domain=[0, high], nice=False)
    return {name: kind(f"{name}:Q", title=title, scale=scale, axis=axis, stack=None)}


def _draw_reference(path: Sequence[tuple[float, float]], axes: Any) -> alt.Chart:
    """Draw a dashed grey reference line."""
    line = _chart_rows(pl.DataFrame(path, schema=["x", "y"], orient="row"), axes)
    return line.mark_line(color=_GREY, strokeDash=[5, 4], strokeWidth=1)


def _draw_label(x: float, label: str, axes: Any) -> alt.Chart:
    """Draw a label above the left (x = 0) or right (x = 1) end of the plot."""
    place: dict[str, Any] = {"align": "right", "dx": 4} if x else {"align": "left", "dx": 7}
    mark = _chart_rows(pl.DataFrame({"x": [x], "y": [1.0]}), axes).encode(text=alt.value(label))
    return mark.mark_text(color="#6b6b6b", fontSize=10, dy=-9, **place)


def _place_bars(
    points: pl.DataFrame, series: Series, middle: pl.Expr, width: pl.Expr
) -> pl.DataFrame:
    """Return the left and right end of bars at ``middle``; several series stand side by side."""
    count = len(series.names)
    number = pl.col("series").replace_strict(series.names, range(count), return_dtype=pl.Float64)
    left = middle + width * (number / count - 0.5)
    return points.select("series", "y", x=left, x2=left + width / count)


def _layer(layers: Sequence[alt.Chart], width: int, height: int) -> Picture:
    picture: Any = alt.layer(*layers)
    return picture.properties(width=width, height=height)


def _draw_shares(facts: pl.DataFrame, axes: Any) -> list[alt.Chart]:
    """Draw the shares of positives, the precision of chance, and where precision is recall."""
    shares = facts["prevalence"].drop_nulls().unique().sort()
    layers = [_draw_reference([(0.0, share), (1.0, share)], axes) for share in shares]
    if len(shares) == 1:
        text = f"prevalence {shares[0]:.3f}"
        label = _chart_rows(pl.DataFrame({"x": [1.0], "y": [shares[0]]}), axes)
        label = label.mark_text(color="#6b6b6b", fontSize=10, dy=8, align="right")
        layers.append(label.encode(text=alt.value(text)))
    even = facts.select(x="break_even", y="break_even").drop_nulls()
    points = _chart_rows(even, axes).mark_point(shape="diamond", color=_INK, size=45, opacity=1)
    return [*layers, points] if even.height else layers


def _draw_line(
    style: LineStyle, frame: pl.DataFrame, series: Series, facts: pl.DataFrame | None = None
) -> Picture:
    axes = _encode_axis("x", style.x_title, percent=style.percent)
    axes |= _encode_axis("y", style.y_title, percent=style.percent)
    layers = [_draw_reference(_DIAGONAL, axes), _draw_label(1.0, style.diagonal, axes)]
    if style.ideal:
        ideal = _chart_rows(pl.DataFrame({"x": [0.0], "y": [1.0]}), axes)
        ideal = ideal.mark_point(shape="diamond", color=_INK, size=60, filled=True, opacity=1)
        layers += [ideal, _draw_label(0.0, "ideal", axes)]
    points = _select_points(frame, style.x, style.y)
    if style is _PR:
        # Before the first true positive precision is 0: leave out that line along the axis.
        start = pl.int_range(pl.len()).over("series") == 0
        points = points.filter(start | (pl.col("x") > 0))
    base = _chart_rows(thin(points, "x", "y", ["series"]), axes).encode(color=series.encode_color())
    layers.append(base.mark_line(interpolate=style.interpolate))
    if style.points:
        layers.append(base.mark_point(filled=True, size=28, opacity=1))
    if facts is not None and "break_even" in facts.columns:
        layers += _draw_shares(facts, axes)
    return _layer(layers, _SIDE, _SIDE)


def _draw_calibrations(points: pl.DataFrame, series: Series) -> Picture:
    """Draw a small plot for each of many series."""
    side, largest = 150, max(points["n"].to_list())
    axes = _encode_axis("x", "Predicted") | _encode_axis("y", "Observed")
    for axis in axes.values():
        axis["axis"] = alt.Axis(values=[0, 0.5, 1], format=".1f")
    base = _chart_rows(points, axes)
    size = alt.Size("n:Q", scale=alt.Scale(domain=[0, largest], range=[4, 60]), legend=None)
    ends = points.select("series").unique(maintain_order=True).join(
        pl.DataFrame(_DIAGONAL, schema=["x", "y"], orient="row"), how="cross"
    )  # fmt: skip
    diagonal = _chart_rows(ends, axes).mark_line(color=_GREY, strokeDash=[5, 4], strokeWidth=1)
    line = base.mark_line(color=_COLORS[0], strokeWidth=1.2)
    dots = base.mark_point(filled=True, opacity=1, color=_COLORS[0]).encode(size=size)
    rows = pl.concat(
        [
            ends.with_columns(n=pl.lit(None, pl.Float64), part=pl.lit("diagonal")),
            points.select("series", "x", "y", "n", part=pl.lit("curve")),
        ]
    )
    whole = _chart_rows(rows, {})
    parts = [
        each.properties(data=alt.Undefined).transform_filter(alt.datum.part == part)
        for each, part in ((diagonal, "diagonal"), (line, "curve"), (dots, "curve"))
    ]
    layered: Any = alt.layer(*parts, data=whole.data).properties(width=side, height=side)
    header = alt.Header(labelFontSize=9, labelLimit=0, title=None)
    facet = alt.Facet("series:N", title=None, sort=series.names, header=header)
    return layered.facet(facet=facet, columns=4)


def _draw_calibration(frame: pl.DataFrame, series: Series) -> Picture:
    points = _select_points(frame, "predicted", "observed", "n")
    if len(series.names) > _MOST_COLORED:
        return _draw_calibrations(points, series)
    axes = _encode_axis("x", None) | _encode_axis("y", "Observed share of positives")
    base = _chart_rows(points, axes).encode(color=series.encode_color())
    layers = [_draw_reference(_DIAGONAL, axes), _draw_label(1.0, "perfect", axes), base.mark_line()]
    size = alt.Size("n:Q", scale=alt.Scale(domainMin=0, range=[8, 110]), legend=None)
    layers.append(base.mark_point(filled=True, opacity=1).encode(size=size))
    width = (0.5 / pl.len().over("series")).clip(0.005, 0.05)
    bars = _place_bars(points.with_columns(y="n"), series, pl.col("x"), width)
    axes = _encode_axis("x", "Mean predicted probability")
    axes["y"] = alt.Y("y:Q", title="Rows", axis=alt.Axis(format="~s", tickCount=3))
    # A bar mark pads the axis and shifts the bars against the points above; a rectangle does not.
    lower = _chart_rows(bars, axes).mark_rect(clip=True)
    lower = lower.encode(x2="x2:Q", y2=alt.datum(0), color=series.encode_color(symbol=None))
    upper = _layer(layers, _SIDE, _SIDE)
    return alt.vconcat(upper, lower.properties(width=_SIDE, height=70), spacing=14)


def _draw_ks(frame: pl.DataFrame, series: Series) -> Picture:
    kinds = {"tpr": "positives", "fpr": "negatives"}
    shares = (
        _select_points(frame, "threshold", y).with_columns(kind=pl.lit(kinds[y])) for y in kinds
    )
    axes = _encode_axis("y", "Share with a score at or above the threshold")
    scale = alt.Scale(zero=False, nice=False)
    axes["x"] = alt.X("x:Q", title="Threshold", scale=scale, axis=alt.Axis(tickCount=7))
    names = list(kinds.values())
    legend = alt.Legend(title="share of", symbolType="stroke", symbolSize=250)
    # A share holds from its threshold down to the next lower one, which is the next row.
    lines = _chart_rows(thin(pl.concat(shares), "x", "y", ["series", "kind"]), axes)
    lines = lines.mark_line(interpolate="step-after")
    largest = _select_points(frame, "threshold", "tpr", "fpr", "distance")
    largest = largest.sort("distance", descending=True, maintain_order=True)
    largest = largest.unique("series", keep="first", maintain_order=True)
    gap = _chart_rows(largest, axes).encode(y2="fpr:Q")
    if series.title:
        scale = alt.Scale(domain=names, range=[[1, 0], [4, 3]])
        dash = alt.StrokeDash("kind:N", scale=scale, legend=legend)
        lines = lines.encode(color=series.encode_color(), strokeDash=dash)
        layers = [lines, gap.mark_rule(strokeWidth=2).encode(color=series.encode_color())]
    else:
        scale = alt.Scale(domain=names, range=list(_COLORS[:2]))
        lines = lines.encode(color=alt.Color("kind:N", scale=scale, legend=legend))
        at_largest = _chart_rows(largest, {"x": axes["x"]})
        text = f"KS = {largest['distance'][0]:.3f} at {largest['x'][0]:.4g}"
        # Above the plot, so that it covers no curve.
        label = at_largest.mark_text(color=_INK, fontSize=11, dy=-9).encode(y=alt.value(0))
        layers = [
            at_largest.mark_rule(color=_GREY, strokeDash=[1, 3]),
            lines,
            gap.mark_rule(strokeWidth=2, color=_INK),
            label.encode(text=alt.value(text)),
        ]
    return _layer(layers, 480, 300)


def _find_operating_points(frame: pl.DataFrame, costs: tuple[float, float]) -> pl.DataFrame:
    """Return, by series, where the curve is at the costs and the share of positives.

    ``x`` and ``y`` are the point, ``threshold`` attains it, and its cost line runs from ``left``
    at probability cost 0 to ``right`` at 1.
    """
    cost_fn, cost_fp = costs
    ends = ("probability_cost", "normalized_cost", "threshold")
    positive = pl.col("prevalence") * cost_fn
    after = {f"{name}_after": pl.col(name).shift(-1).over("series") for name in ends[:2]}
    found = (
        frame.select("series", "prevalence", *ends)
        .with_columns(x=positive / (positive + (1 - pl.col("prevalence")) * cost_fp), **after)
        .filter(pl.col("probability_cost") <= pl.col("x"))
        .filter(pl.col("x") <= pl.col("probability_cost_after"))
        .unique("series", keep="first", maintain_order=True)
    )
    rise = pl.col("normalized_cost_after") - pl.col("normalized_cost")
    slope = rise / (pl.col("probability_cost_after") - pl.col("probability_cost"))
    left = pl.col("normalized_cost") - slope * pl.col("probability_cost")
    found = found.with_columns(left=left, right=left + slope)
    return found.select("series", "x", "threshold", "left", "right", y=left + slope * pl.col("x"))


def _draw_operating_points(
    frame: pl.DataFrame, series: Series, axes: Any, costs: tuple[float, float]
) -> list[alt.Chart]:
    """Draw the best threshold of each series at the costs, with its cost line."""
    points = _find_operating_points(frame, costs)
    texts = [
        f"{name.partition(':')[0]} {threshold:.4g}".strip()
        for name, threshold in points.select("series", "threshold").iter_rows()
    ]
    lines = points.select("series", x=pl.lit(0.0), y="left", x2=pl.lit(1.0), y2="right")
    color = series.encode_color(symbol=None)
    line = _chart_rows(lines, axes).mark_rule(strokeWidth=1, clip=True, strokeDash=[2, 2])
    dots = _chart_rows(points.select("series", "x", "y"), axes)
    rule = _chart_rows(points.head(1).select("x", "y"), {"x": axes["x"]})
    ratio = f"costs {costs[0]:g} : {costs[1]:g}, best threshold {', '.join(texts)}"
    label = rule.mark_text(color=_INK, fontSize=10, dy=-9).encode(y=alt.value(0))
    return [
        rule.mark_rule(color=_GREY, strokeDash=[1, 3]),
        line.encode(x2="x2:Q", y2="y2:Q", color=color),
        dots.mark_point(filled=True, size=60, opacity=1).encode(color=color),
        label.encode(text=alt.value(ratio)),
    ]


def _draw_cost_curve(
    frame: pl.DataFrame, series: Series, costs: tuple[float, float] | None = None
) -> Picture:
    points = _select_points(frame, "probability_cost", "normalized_cost")
    axes = _encode_axis("x", "Probability cost") | _encode_axis(
        "y", "Normalized expected cost", 0.5
    )
    base = _chart_rows(thin(points, "x", "y", ["series"]), axes).encode(color=series.encode_color())
    area = base.mark_area(opacity=max(0.05, 0.25 / len(series.names)), order=False)
    trivial = _draw_reference([(0.0, 0.0), (0.5, 0.5), (1.0, 0.0)], axes)
    layers = [area, trivial, base.mark_line()]
    if costs is not None and "prevalence" in frame.columns:
        layers += _draw_operating_points(frame, series, axes, costs)
    return _layer(layers, 440, 300)


def _draw_cost_lines(frame: pl.DataFrame, series: Series) -> Picture:
    ends = _select_points(frame, "fpr", "fnr")
    # Select lines evenly, with the first and last of each series. In the sorted order the series
    # alternate, so that none covers the others.
    most = max(2, _MAX_LINES // len(series.names))
    steps = (pl.len() - 1).clip(lower_bound=most - 1)
    place = (pl.int_range(pl.len()) * (most - 1) // steps).over("series")
    once = pl.struct("series", place=place).is_first_distinct()
    ends = ends.with_columns(place=place).filter(once).sort("place", maintain_order=True)
    ends = ends.select("series", x=pl.lit(0.0), y="x", x2=pl.lit(1.0), y2="y")
    axes = _encode_axis("x", "Probability cost") | _encode_axis("y", "Normalized expected cost")
    color = series.encode_color() if series.title else alt.value("#555555")
    # strokeOpacity and not opacity, which makes each mark a layer and takes ten times as long.
    lines = _chart_rows(ends, axes).mark_rule(strokeWidth=0.7, strokeOpacity=0.35, opacity=1)
    return _layer([lines.encode(x2="x2:Q", y2="y2:Q", color=color)], 440, _SIDE)


def _draw_gain_table(frame: pl.DataFrame, series: Series) -> Picture:
    # A bar is as wide as the share that it adds. Ties make the shares differ between the series,
    # so that they cannot be categories.
    points = _select_points(frame, "share", "lift")
    added = pl.col("x") - pl.col("x").shift(1).over("series").fill_null(0.0)
    axes = _encode_axis("x", "Share of rows targeted", percent=True)
    axes["y"] = alt.Y("y:Q", title="Lift (gain / share)")
    bars = _chart_rows(
        _place_bars(points, series, pl.col("x") - added / 2, added * 0.84), axes
    ).mark_rect()
    bars = bars.encode(x2="x2:Q", y2=alt.datum(0), color=series.encode_color(symbol="square"))
    return _layer([bars, _draw_reference([(0.0, 1.0), (1.0, 1.0)], axes)], 480, 280)


def _draw_confusion(frame: pl.DataFrame, series: Series) -> Picture:
    """Draw each matrix with its counts; the colour is the share of the label's rows."""
    cells = frame.select(
        "series", "n", label=pl.col("label").cast(pl.String),
        prediction=pl.col("prediction").cast(pl.String),
    )  # fmt: skip
    names = sorted({*cells["label"].drop_nulls(), *cells["prediction"].drop_nulls()})
    if {*names} <= {"0", "1"}:
        names = ["0", "1"]
    square = (
        pl.DataFrame({"series": series.names})
        .join(pl.DataFrame({"label": names}), how="cross")
        .join(pl.DataFrame({"prediction": names}), how="cross")
        .join(cells, on=["series", "label", "prediction"], how="left")
        .with_columns(pl.col("n").fill_null(0))
        .with_columns(share=pl.col("n") / pl.col("n").sum().over("series", "label"))
    )
    called = {("1", "1"): "TP", ("0", "1"): "FP", ("1", "0"): "FN", ("0", "0"): "TN"}
    is_binary = names == ["0", "1"]
    texts = [
        f"{called[label, prediction]} {n:,.6g}" if is_binary else f"{n:,.6g}"
        for label, prediction, n in square.select("label", "prediction", "n").iter_rows()
    ]
    square = square.with_columns(
        text=pl.Series(texts), percent=(pl.col("share") * 100).round(1).cast(pl.String) + "%"
    )
    # The positive class first, as in most tables of two classes.
    order = names[::-1] if is_binary else names
    axes: dict[str, Any] = {
        "x": alt.X("prediction:N", title="Predicted", sort=order, axis=alt.Axis(labelAngle=0)),
        "y": alt.Y("label:N", title="Label", sort=order),
    }
    base = _chart_rows(square, axes)
    scale = alt.Scale(domain=[0, 1], range=["#ffffff", _COLORS[0]], interpolate="rgb")
    shade = base.mark_rect(stroke="white").encode(
        color=alt.Color("share:Q", scale=scale, title="share of label", legend=None)
    )
    ink = alt.condition("datum.share > 0.6", alt.value("white"), alt.value(_INK))
    count = base.mark_text(dy=-7, fontSize=12).encode(text="text:N", color=ink)
    share = base.mark_text(dy=9, fontSize=10).encode(text="percent:N", color=ink)
    side = max(90 * len(names), 150)
    layered: Any = alt.layer(shade, count, share, data=base.data)
    layered = layered.properties(width=side, height=side)
    if not series.title:
        return layered
    header = alt.Header(labelFontSize=11, title=None)
    facet = alt.Facet("series:N", title=None, sort=series.names, header=header)
    for layer in layered.layer:
        layer.data = alt.Undefined
    return layered.facet(facet=facet, columns=3)


class Special(NamedTuple):
    """A curve that needs a chart of its own: its title, how to draw it, and its columns."""

    title: str
    draw: Callable[..., Picture]
    columns: tuple[str, ...]


_SPECIAL = {
    "calibration_curve": Special(
        "Calibration curve", _draw_calibration, ("predicted", "observed", "n")
    ),
    "ks_curve": Special(
        "Kolmogorov-Smirnov curves", _draw_ks, ("threshold", "tpr", "fpr", "distance")
    ),
    "cost_curve": Special("Cost curve", _draw_cost_curve, ("probability_cost", "normalized_cost")),
    "cost_lines": Special("Cost lines, one a threshold", _draw_cost_lines, ("fpr", "fnr")),
    "gain_table": Special("Lift", _draw_gain_table, ("share", "lift")),
    "confusion": Special("Confusion matrix", _draw_confusion, ("n",)),
}


def write_title(curve: str, label: str | None) -> str | None:
    """Return the title of a curve of a label; None where there is no such chart."""
    line, special = _LINES.get(curve), _SPECIAL.get(curve)
    title = line.title if line else special.title if special else None
    return f"{title}: {label}" if title and label else title


def draw_curve(
    curve: str,
    frame: pl.DataFrame,
    keys: Sequence[str] = (),
    *,
    title: str | None = None,
    facts: pl.DataFrame | None = None,
    costs: tuple[float, float] | None = None,
) -> Picture:
    """Draw a curve, such as ``roc_curve``, from its rows in the order of the curve.

    Each combination of ``keys`` (slice and model columns) is one coloured series. Rows with a
    missing or infinite coordinate are left out.

    Parameters
    ----------
    curve : str
        The full name of a curve, or ``confusion``.
    frame : polars.DataFrame
        Its rows.
    keys : sequence of str
        The columns that tell series apart.
    title : str, optional
        The title, instead of the curve's own.
    facts : polars.DataFrame, optional
        By ``keys``: ``value`` (the metric of `SUMMARIES`) and ``n``, shown in the legend, and
        where they are known ``prevalence`` and ``break_even``.
    costs : (float, float), optional
        The cost of a missed positive and of a false alarm, marked on a cost curve.

    Raises
    ------
    RequestError
        If there is no chart for this curve, a column is missing, or no row is finite.
    MissingExtra
        If Altair is not installed.
    """
    drawable = [*_LINES, *_SPECIAL]
    if curve not in drawable:
        names = ", ".join(sorted(drawable))
        raise RequestError(
            f"cannot draw {curve!r}{nearest(curve, drawable)}; curves with a chart: {names}"
        )
    line = _LINES.get(curve)
    columns = (line.x, line.y) if line else _SPECIAL[curve].columns
    for name in (*keys, *columns):
        if name not in frame.columns:
            raise RequestError(f"{curve} needs the column {name!r}; columns: {frame.columns}")
    finite = pl.all_horizontal(pl.col(name).cast(pl.Float64).is_finite() for name in columns)
    if not frame.select(finite.any()).item():
        raise RequestError(f"{curve}: nothing to draw, no row has finite {', '.join(columns)}")
    summary = SUMMARIES[curve][0] if curve in SUMMARIES else ""
    shown = facts if facts is not None and "value" in facts.columns and summary else None
    named, series = _name_series(frame, keys, shown, summary)
    if facts is not None and "prevalence" in facts.columns:
        shares = facts.select(*keys, "prevalence")
        named = (
            named.join(shares, on=list(keys), how="left", nulls_equal=True, maintain_order="left")
            if keys
            else named.with_columns(shares["prevalence"].first())
        )
    picture: Any
    if line:
        picture = _draw_line(line, named, series, facts)
    elif curve == "cost_curve":
        picture = _draw_cost_curve(named, series, costs)
    else:
        picture = _SPECIAL[curve].draw(named, series)
    own_title = line.title if line else _SPECIAL[curve].title
    heading: dict[str, Any] = {"text": title or own_title}
    if shown is not None and not keys:
        heading["subtitle"] = shown.select(_write_summary(summary)).item()
    return picture.configure(**_STYLE).properties(title=heading)


class _HtmlEncoder(json.JSONEncoder):
    """JSON for a ``<script>`` element: ``<`` is escaped, as a key may contain ``</script>``."""

    def encode(self, o: Any) -> str:
        return super().encode(o).replace("<", "\\u003c")


def save_chart(chart: Picture, path: str) -> None:
    """Write a chart to a file; the suffix ``.svg``, ``.png`` or ``.html`` is the format.

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
    form = _FORMATS.get(Path(path).suffix.lower())
    if form is None:
        raise RequestError(f"{path!r}: the suffix must be one of {', '.join(_FORMATS)}")
    import_optional("vl_convert", "plot", "plots")
    options: dict[str, Any] = {"scale_factor": 2} if form == "png" else {}
    if form == "html":
        options = {"inline": True, "json_kwds": {"cls": _HtmlEncoder}}
    try:
        chart.save(path, format=form, **options)
    except OSError as error:
        raise SourceError(f"cannot write {path!r}: {error.strerror or error}") from error
