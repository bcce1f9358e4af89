"""Pictures of curves: takes the tables that an engine computed, and queries nothing.

This is the only module that imports the plotting library, and it does so late: it is an optional
extra, and everything else works without it.
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

    class _Late:
        """Stands for Altair, which is imported when the first picture is drawn."""

        def __getattr__(self, name: str) -> Any:
            return getattr(import_optional("altair", "plot", "plots"), name)

    alt = _Late()

_ENDINGS: dict[str, Any] = {".svg": "svg", ".png": "png", ".html": "html"}
_SIDE = 360
#: More crossing lines than this are a grey area.
_MOST_LINES = 300
# Okabe and Ito (2008) without yellow, which is lost on white; the order keeps neighbours apart.
_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_INK, _GREY, _PALE = "#333333", "#8a8a8a", "#ebebeb"
_WORDS = ("series", "kind")
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


class Line(NamedTuple):
    """How a curve in the unit square is drawn."""

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
_ROC = Line("fpr", "tpr", _FPR, _TPR, "chance", ideal=True)
# Average precision takes the precision at the right end of each step of recall. Rows come with
# growing recall, so the height changes before the way to the right.
_PR = Line("recall", "precision", "Recall", "Precision", "P = R", interpolate="step-before")
_GAINED = "Share of positives found (gain)"
_LINES = {
    "roc_curve": _ROC,
    "roc_hull": _ROC._replace(points=True),
    "roc_from_pr": _ROC,
    "pr_curve": _PR,
    "pr_from_roc": _PR,
    "gain_curve": Line("share", "gain", "Share of rows targeted", _GAINED, "random", percent=True),
}


class Series(NamedTuple):
    """The lines of one picture: what the legend says, in the order of the rows."""

    title: str
    names: list[str]

    def color(self, symbol: Any = "stroke") -> Any:
        """Return the colour channel; without keys a plain blue, and no legend."""
        if not self.title:
            return alt.value(_COLORS[0])
        many = len(self.names)
        shades: Any = {"range": list(_COLORS[:many])}
        if many > len(_COLORS):
            turbo = alt.SchemeParams(name="turbo", count=many, extent=[0.05, 0.95])
            shades = {"scheme": turbo if many > 20 else "tableau10" if many <= 10 else "tableau20"}
        key: Any = {"title": self.title, "columns": -(-many // 20), "symbolType": symbol}
        scale = alt.Scale(domain=self.names, **shades)
        return alt.Color("series:N", scale=scale, legend=alt.Legend(**key) if symbol else None)


def _named(frame: pl.DataFrame, keys: Sequence[str]) -> tuple[pl.DataFrame, Series]:
    """Return the frame with its keys as one text, ``series``, and all series there are."""
    if not keys:
        return frame.with_columns(series=pl.lit("")), Series("", [""])
    names = frame.select(keys).unique(maintain_order=True)
    texts = [pl.col(key).cast(pl.String).fill_null("NULL") for key in keys]
    text = pl.concat_str(texts, separator=", ").replace("", "''")
    # Two keys may read the same, such as NULL and the text "NULL"; they stay two lines.
    again = pl.int_range(pl.len()).over("series")
    name = pl.when(again > 0).then(pl.format("{} ({})", "series", again + 1)).otherwise("series")
    names = names.with_columns(series=text).with_columns(series=name)
    frame = frame.join(names, on=list(keys), how="left", nulls_equal=True, maintain_order="left")
    return frame, Series(", ".join(keys), names["series"].to_list())


def _xy(frame: pl.DataFrame, x: str, y: str, *more: str) -> pl.DataFrame:
    """Return the series and the coordinates, of the rows that have all of them."""
    names = (x, y, *more)
    frame = frame.select("series", *(pl.col(name).cast(pl.Float64) for name in names))
    # A NULL is no finite number either: the condition is then NULL, and the row goes.
    return frame.filter(pl.col(name).is_finite() for name in names).rename({x: "x", y: "y"})


def _chart(frame: pl.DataFrame, axes: Any) -> alt.Chart:
    # As one text: a million rows are not validated one by one, and no global limit is lifted.
    parse: Any = {name: "number" if name not in _WORDS else "string" for name in frame.columns}
    form = alt.CsvDataFormat(type="csv", parse=parse)
    return alt.Chart(alt.InlineData(values=frame.write_csv(), format=form)).encode(**axes)


def _axis(name: str, title: str | None, high: float = 1.0, percent: bool = False) -> Any:
    """Return the channel ``name`` from 0 to ``high``."""
    step = 0.2 if high > 0.6 else 0.1
    ticks = [round(i * step, 1) for i in range(round(high / step) + 1)]
    axis = alt.Axis(values=ticks, format=".0%" if percent else ".1f")
    kind: Any = {"x": alt.X, "y": alt.Y}[name]
    # Not stacked: series lie over each other.
    scale = alt.Scale(domain=[0, high], nice=False)
    return {name: kind(f"{name}:Q", title=title, scale=scale, axis=axis, stack=None)}


def _reference(path: Sequence[tuple[float, float]], axes: Any) -> alt.Chart:
    """Return a dashed grey line to compare with."""
    line = _chart(pl.DataFrame(path, schema=["x", "y"], orient="row"), axes)
    return line.mark_line(color=_GREY, strokeDash=[5, 4], strokeWidth=1)


def _corner(x: float, label: str, axes: Any) -> alt.Chart:
    """Return a word above the left or the right end of the plot, where no curve can be."""
    place: dict[str, Any] = {"align": "right", "dx": 4} if x else {"align": "left", "dx": 7}
    mark = _chart(pl.DataFrame({"x": [x], "y": [1.0]}), axes).encode(text=alt.value(label))
    return mark.mark_text(color="#6b6b6b", fontSize=10, dy=-9, **place)


def _bars(points: pl.DataFrame, series: Series, middle: pl.Expr, width: pl.Expr) -> pl.DataFrame:
    """Return bars ``width`` wide over x; those of several series stand side by side."""
    many = len(series.names)
    number = pl.col("series").replace_strict(series.names, range(many), return_dtype=pl.Float64)
    left = middle + width * (number / many - 0.5)
    return points.select("series", "y", x=left, x2=left + width / many)


def _layered(layers: Sequence[alt.Chart], width: int, height: int) -> Picture:
    picture: Any = alt.layer(*layers)
    return picture.properties(width=width, height=height)


def _line(spec: Line, frame: pl.DataFrame, series: Series) -> Picture:
    axes = _axis("x", spec.x_title, percent=spec.percent)
    axes |= _axis("y", spec.y_title, percent=spec.percent)
    layers = [_reference(_DIAGONAL, axes), _corner(1.0, spec.diagonal, axes)]
    if spec.ideal:
        ideal = _chart(pl.DataFrame({"x": [0.0], "y": [1.0]}), axes)
        ideal = ideal.mark_point(shape="diamond", color=_INK, size=60, filled=True, opacity=1)
        layers += [ideal, _corner(0.0, "ideal", axes)]
    points = _xy(frame, spec.x, spec.y)
    if spec is _PR:
        # Until a positive is found precision is 0: a stroke down the axis that tells nothing.
        start = pl.int_range(pl.len()).over("series") == 0
        points = points.filter(start | (pl.col("x") > 0))
    base = _chart(thin(points, "x", "y", ["series"]), axes).encode(color=series.color())
    layers.append(base.mark_line(interpolate=spec.interpolate))
    if spec.points:
        layers.append(base.mark_point(filled=True, size=28, opacity=1))
    return _layered(layers, _SIDE, _SIDE)


def _calibration(frame: pl.DataFrame, series: Series) -> Picture:
    points = _xy(frame, "predicted", "observed", "n")
    axes = _axis("x", None) | _axis("y", "Observed share of positives")
    base = _chart(points, axes).encode(color=series.color())
    layers = [_reference(_DIAGONAL, axes), _corner(1.0, "perfect", axes), base.mark_line()]
    layers.append(base.mark_point(filled=True, size=45, opacity=1))
    width = (0.5 / pl.len().over("series")).clip(0.005, 0.05)
    bars = _bars(points.with_columns(y="n"), series, pl.col("x"), width)
    axes = _axis("x", "Mean predicted probability")
    axes["y"] = alt.Y("y:Q", title="Rows", axis=alt.Axis(format="~s", tickCount=3))
    # A bar mark would pad the axis, and stand beside the points above it; a rectangle does not.
    lower = _chart(bars, axes).mark_rect(clip=True)
    lower = lower.encode(x2="x2:Q", y2=alt.datum(0), color=series.color(symbol=None))
    upper = _layered(layers, _SIDE, _SIDE)
    return alt.vconcat(upper, lower.properties(width=_SIDE, height=70), spacing=14)


def _ks(frame: pl.DataFrame, series: Series) -> Picture:
    kinds = {"tpr": "positives", "fpr": "negatives"}
    shares = (_xy(frame, "threshold", y).with_columns(kind=pl.lit(kinds[y])) for y in kinds)
    axes = _axis("y", "Share with a score at or above the threshold")
    scale = alt.Scale(zero=False, nice=False)
    axes["x"] = alt.X("x:Q", title="Threshold", scale=scale, axis=alt.Axis(tickCount=7))
    names = list(kinds.values())
    legend = alt.Legend(title="share of", symbolType="stroke", symbolSize=250)
    # A share holds down to the next lower threshold, which is the next row.
    lines = _chart(thin(pl.concat(shares), "x", "y", ["series", "kind"]), axes)
    lines = lines.mark_line(interpolate="step-after")
    largest = _xy(frame, "threshold", "tpr", "fpr", "distance")
    largest = largest.sort("distance", descending=True, maintain_order=True)
    largest = largest.unique("series", keep="first", maintain_order=True)
    gap = _chart(largest, axes).encode(y2="fpr:Q")
    if series.title:
        scale = alt.Scale(domain=names, range=[[1, 0], [4, 3]])
        dash = alt.StrokeDash("kind:N", scale=scale, legend=legend)
        lines = lines.encode(color=series.color(), strokeDash=dash)
        layers = [lines, gap.mark_rule(strokeWidth=2).encode(color=series.color())]
    else:
        scale = alt.Scale(domain=names, range=list(_COLORS[:2]))
        lines = lines.encode(color=alt.Color("kind:N", scale=scale, legend=legend))
        thread = _chart(largest, {"x": axes["x"]})
        found = f"KS = {largest['distance'][0]:.3f} at {largest['x'][0]:.4g}"
        # Above the plot, where no curve can be.
        label = thread.mark_text(color=_INK, fontSize=11, dy=-9).encode(y=alt.value(0))
        layers = [
            thread.mark_rule(color=_GREY, strokeDash=[1, 3]),
            lines,
            gap.mark_rule(strokeWidth=2, color=_INK),
            label.encode(text=alt.value(found)),
        ]
    return _layered(layers, 480, 300)


def _cost_curve(frame: pl.DataFrame, series: Series) -> Picture:
    points = _xy(frame, "probability_cost", "normalized_cost")
    axes = _axis("x", "Probability cost") | _axis("y", "Normalized expected cost", 0.5)
    base = _chart(thin(points, "x", "y", ["series"]), axes).encode(color=series.color())
    area = base.mark_area(opacity=max(0.05, 0.25 / len(series.names)), order=False)
    trivial = _reference([(0.0, 0.0), (0.5, 0.5), (1.0, 0.0)], axes)
    return _layered([area, trivial, base.mark_line()], 440, 300)


def _cost_lines(frame: pl.DataFrame, series: Series) -> Picture:
    ends = _xy(frame, "fpr", "fnr")
    # An even selection, with the first and the last line of each series, which take turns.
    most = max(2, _MOST_LINES // len(series.names))
    steps = (pl.len() - 1).clip(lower_bound=most - 1)
    place = (pl.int_range(pl.len()) * (most - 1) // steps).over("series")
    once = pl.struct("series", place=place).is_first_distinct()
    ends = ends.with_columns(place=place).filter(once).sort("place", maintain_order=True)
    ends = ends.select("series", x=pl.lit(0.0), y="x", x2=pl.lit(1.0), y2="y")
    axes = _axis("x", "Probability cost") | _axis("y", "Normalized expected cost")
    color = series.color() if series.title else alt.value("#555555")
    # The stroke's own opacity: drawing each mark as a translucent layer takes ten times as long.
    lines = _chart(ends, axes).mark_rule(strokeWidth=0.7, strokeOpacity=0.35, opacity=1)
    return _layered([lines.encode(x2="x2:Q", y2="y2:Q", color=color)], 440, _SIDE)


def _gain_table(frame: pl.DataFrame, series: Series) -> Picture:
    # A bar is as wide as the share it adds: ties move the shares of each series, so that they
    # are no common categories.
    points = _xy(frame, "share", "lift")
    added = pl.col("x") - pl.col("x").shift(1).over("series").fill_null(0.0)
    axes = _axis("x", "Share of rows targeted", percent=True)
    axes["y"] = alt.Y("y:Q", title="Lift (gain / share)")
    bars = _chart(_bars(points, series, pl.col("x") - added / 2, added * 0.84), axes).mark_rect()
    bars = bars.encode(x2="x2:Q", y2=alt.datum(0), color=series.color(symbol="square"))
    return _layered([bars, _reference([(0.0, 1.0), (1.0, 1.0)], axes)], 480, 280)


_OTHERS: dict[str, tuple[Callable[[pl.DataFrame, Series], Picture], tuple[str, ...]]] = {
    "calibration_curve": (_calibration, ("predicted", "observed", "n")),
    "ks_curve": (_ks, ("threshold", "tpr", "fpr", "distance")),
    "cost_curve": (_cost_curve, ("probability_cost", "normalized_cost")),
    "cost_lines": (_cost_lines, ("fpr", "fnr")),
    "gain_table": (_gain_table, ("share", "lift")),
}


def chart(
    curve: str, frame: pl.DataFrame, keys: Sequence[str] = (), *, title: str | None = None
) -> Picture:
    """Draw a curve, such as ``roc_curve``, from its rows in the curve's order.

    Each combination of ``keys``, the slice and model columns, is one coloured series. Rows with
    a coordinate that is missing or infinite are left out.

    Raises
    ------
    RequestError
        If the curve is not one that is drawn, a column is missing, or there is nothing to draw.
    MissingExtra
        If the plotting library is not installed.
    """
    known = [*_LINES, *_OTHERS]
    if curve not in known:
        drawn = ", ".join(sorted(known))
        raise RequestError(f"no picture of {curve!r}{nearest(curve, known)}; there are {drawn}")
    line = _LINES.get(curve)
    columns = (line.x, line.y) if line else _OTHERS[curve][1]
    for name in (*keys, *columns):
        if name not in frame.columns:
            raise RequestError(f"{curve} needs the column {name!r}; there are {frame.columns}")
    finite = pl.all_horizontal(pl.col(name).cast(pl.Float64).is_finite() for name in columns)
    if not frame.select(finite.any()).item():
        raise RequestError(f"{curve}: nothing to draw, no row has finite {', '.join(columns)}")
    named, series = _named(frame, keys)
    picture: Any = _line(line, named, series) if line else _OTHERS[curve][0](named, series)
    return picture.configure(**_STYLE).properties(**({} if title is None else {"title": title}))


class _Html(json.JSONEncoder):
    """JSON that may stand in a ``<script>``: a key from the data may hold ``</script>``."""

    def encode(self, o: Any) -> str:
        return super().encode(o).replace("<", "\\u003c")


def save(chart: Picture, path: str) -> None:
    """Write a picture to a file, as its ending says: ``.svg``, ``.png`` or ``.html``.

    A page holds its scripts, so that it opens without a network.

    Raises
    ------
    RequestError
        If the ending is another.
    SourceError
        If the file cannot be written.
    MissingExtra
        If the plotting library is not installed.
    """
    form = _ENDINGS.get(Path(path).suffix.lower())
    if form is None:
        raise RequestError(f"{path!r}: end it in {', '.join(_ENDINGS)}")
    import_optional("vl_convert", "plot", "plots")
    how: dict[str, Any] = {"scale_factor": 2} if form == "png" else {}
    if form == "html":
        how = {"inline": True, "json_kwds": {"cls": _Html}}
    try:
        chart.save(path, format=form, **how)
    except OSError as error:
        raise SourceError(f"cannot write {path!r}: {error.strerror or error}") from error
