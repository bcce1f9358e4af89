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
#: Columns of text; all others are numbers.
_TEXT_COLUMNS = ("series", "kind")
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
_ROC = LineStyle("fpr", "tpr", _FPR, _TPR, "chance", ideal=True)
# Average precision uses the precision at the right end of each step of recall. Recall increases
# row by row, so the line steps to the new precision before it moves right.
_PR = LineStyle("recall", "precision", "Recall", "Precision", "P = R", interpolate="step-before")
_GAIN = "Share of positives found (gain)"
_LINES = {
    "roc_curve": _ROC,
    "roc_hull": _ROC._replace(points=True),
    "roc_from_pr": _ROC,
    "pr_curve": _PR,
    "pr_from_roc": _PR,
    "gain_curve": LineStyle(
        "share", "gain", "Share of rows targeted", _GAIN, "random", percent=True
    ),
}


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


def _name_series(frame: pl.DataFrame, keys: Sequence[str]) -> tuple[pl.DataFrame, Series]:
    """Add the column ``series``, the keys as one text, and return all series beside the frame."""
    if not keys:
        return frame.with_columns(series=pl.lit("")), Series("", [""])
    names = frame.select(keys).unique(maintain_order=True)
    texts = [pl.col(key).cast(pl.String).fill_null("NULL") for key in keys]
    text = pl.concat_str(texts, separator=", ").replace("", "''")
    # Different keys may have the same text, such as NULL and "NULL"; number them.
    copy = pl.int_range(pl.len()).over("series")
    name = pl.when(copy > 0).then(pl.format("{} ({})", "series", copy + 1)).otherwise("series")
    names = names.with_columns(series=text).with_columns(series=name)
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
        name: "number" if name not in _TEXT_COLUMNS else "string" for name in frame.columns
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


def _draw_line(style: LineStyle, frame: pl.DataFrame, series: Series) -> Picture:
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
    return _layer(layers, _SIDE, _SIDE)


def _draw_calibration(frame: pl.DataFrame, series: Series) -> Picture:
    points = _select_points(frame, "predicted", "observed", "n")
    axes = _encode_axis("x", None) | _encode_axis("y", "Observed share of positives")
    base = _chart_rows(points, axes).encode(color=series.encode_color())
    layers = [_draw_reference(_DIAGONAL, axes), _draw_label(1.0, "perfect", axes), base.mark_line()]
    layers.append(base.mark_point(filled=True, size=45, opacity=1))
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


def _draw_cost_curve(frame: pl.DataFrame, series: Series) -> Picture:
    points = _select_points(frame, "probability_cost", "normalized_cost")
    axes = _encode_axis("x", "Probability cost") | _encode_axis(
        "y", "Normalized expected cost", 0.5
    )
    base = _chart_rows(thin(points, "x", "y", ["series"]), axes).encode(color=series.encode_color())
    area = base.mark_area(opacity=max(0.05, 0.25 / len(series.names)), order=False)
    trivial = _draw_reference([(0.0, 0.0), (0.5, 0.5), (1.0, 0.0)], axes)
    return _layer([area, trivial, base.mark_line()], 440, 300)


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


#: Curves that need a chart of their own: how to draw them, and their columns.
_SPECIAL: dict[str, tuple[Callable[[pl.DataFrame, Series], Picture], tuple[str, ...]]] = {
    "calibration_curve": (_draw_calibration, ("predicted", "observed", "n")),
    "ks_curve": (_draw_ks, ("threshold", "tpr", "fpr", "distance")),
    "cost_curve": (_draw_cost_curve, ("probability_cost", "normalized_cost")),
    "cost_lines": (_draw_cost_lines, ("fpr", "fnr")),
    "gain_table": (_draw_gain_table, ("share", "lift")),
}


def draw_curve(
    curve: str, frame: pl.DataFrame, keys: Sequence[str] = (), *, title: str | None = None
) -> Picture:
    """Draw a curve, such as ``roc_curve``, from its rows in the order of the curve.

    Each combination of ``keys`` (slice and model columns) is one coloured series. Rows with a
    missing or infinite coordinate are left out.

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
    columns = (line.x, line.y) if line else _SPECIAL[curve][1]
    for name in (*keys, *columns):
        if name not in frame.columns:
            raise RequestError(f"{curve} needs the column {name!r}; columns: {frame.columns}")
    finite = pl.all_horizontal(pl.col(name).cast(pl.Float64).is_finite() for name in columns)
    if not frame.select(finite.any()).item():
        raise RequestError(f"{curve}: nothing to draw, no row has finite {', '.join(columns)}")
    named, series = _name_series(frame, keys)
    picture: Any = _draw_line(line, named, series) if line else _SPECIAL[curve][0](named, series)
    return picture.configure(**_STYLE).properties(**({} if title is None else {"title": title}))


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
