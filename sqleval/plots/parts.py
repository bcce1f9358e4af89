"""Makes the parts of charts: colours, series, axes, reference lines.

Only this module imports Altair. It does so late, so that everything else works without this extra.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl
import polars.selectors as cs

from sqleval.common.imports import import_optional
from sqleval.common.visible import show_controls

if TYPE_CHECKING:
    import altair as alt

    Picture = alt.LayerChart | alt.VConcatChart | alt.ConcatChart
else:

    class _LazyAltair:
        """Altair, which is imported when one of its names is first used."""

        def __getattr__(self, name: str) -> Any:
            return getattr(import_optional("altair", "plot", "plots"), name)

    alt = _LazyAltair()
#: Width and height of a square plot, in pixels.
SIDE = 360
# Okabe and Ito (2008) without yellow, which is invisible on white; neighbours differ clearly.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
INK, GREY, PALE = "#333333", "#8a8a8a", "#ebebeb"
#: Letters in a line of the name above a small plot.
_IN_HEADER = 28
#: Pixels between small plots, so that numbers of neighbouring axes do not overlap.
SPACING: Any = {"row": 20, "column": 30}
DIAGONAL = ((0.0, 0.0), (1.0, 1.0))


class Series(NamedTuple):
    """The lines of one chart.

    Attributes
    ----------
    title : str
        The title of the legend.
    names : list of str
        The names in the legend, in row order, with value and number of rows if known.
    keys : list of str
        The names without value and number of rows.
    """

    title: str
    names: list[str]
    keys: list[str]

    def encode_color(self, symbol: Any = "stroke") -> Any:
        """Return the colour channel; without keys, one colour and no legend."""
        if not self.title:
            return alt.value(COLORS[0])
        count = len(self.names)
        colors: Any = {"range": list(COLORS[:count])}
        if count > len(COLORS):
            turbo = alt.SchemeParams(name="turbo", count=count, extent=[0.05, 0.95])
            scheme = "tableau10" if count <= 10 else "tableau20"
            colors = {"scheme": turbo if count > 20 else scheme}
        legend: Any = {"title": self.title, "columns": -(-count // 20), "symbolType": symbol}
        scale = alt.Scale(domain=self.names, **colors)
        return alt.Color("series:N", scale=scale, legend=alt.Legend(**legend) if symbol else None)


def write_summary(name: str) -> pl.Expr:
    """Return the text after a series' name: its metric and its number of rows."""
    value = pl.col("value").map_elements(lambda v: f"{v:.3f}", return_dtype=pl.String)
    rows = pl.col("n").map_elements(lambda n: f"{n:,}", return_dtype=pl.String)
    return pl.format(f"{name} {{}}, n = {{}}", value.fill_null("undefined"), rows)


def join_by_keys(left: pl.DataFrame, right: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Return the rows of a table with the columns of another table that has a row per key."""
    # Rename the keys: a join takes the key * for all columns, and the oldest Polars takes no
    # selectors in a join.
    names = {key: f"_key_{i}" for i, key in enumerate(keys)}
    joined = left.rename(names).join(
        right.rename(names),
        on=list(names.values()),
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )
    return joined.rename({name: key for key, name in names.items()})


def name_series(
    frame: pl.DataFrame, keys: Sequence[str], facts: pl.DataFrame | None = None, summary: str = ""
) -> tuple[pl.DataFrame, Series]:
    """Add the column ``series``, the keys as one text; return the frame and all series.

    With ``facts``, value and number of rows follow the name of each series.
    """
    if not keys:
        return frame.with_columns(series=pl.lit("")), Series("", [""], [""])
    # By name, because as a text the key * would mean all columns.
    by_keys = cs.by_name(*keys)
    names = frame.select(by_keys).unique(maintain_order=True)
    texts = by_keys.cast(pl.String).fill_null("NULL")
    text = pl.concat_str(texts, separator=", ").replace("", "''")
    shown = list(map(show_controls, names.select(text).to_series()))
    # Different keys may have the same text, such as NULL and "NULL"; number them.
    copy = pl.int_range(pl.len()).over("series")
    name = pl.when(copy > 0).then(pl.format("{} ({})", "series", copy + 1)).otherwise("series")
    names = names.with_columns(series=pl.Series(shown, dtype=pl.String)).with_columns(series=name)
    plain = names["series"].to_list()
    if facts is not None:
        names = join_by_keys(names, facts, keys)
        names = names.with_columns(series=pl.format("{}: {}", "series", write_summary(summary)))
        names = names.select(by_keys, "series")
    frame = join_by_keys(frame, names, keys)
    return frame, Series(show_controls(", ".join(keys)), names["series"].to_list(), plain)


def select_points(frame: pl.DataFrame, x: str, y: str, *more: str) -> pl.DataFrame:
    """Return ``series``, ``x``, ``y`` and further columns, for rows where all are finite."""
    names = (x, y, *more)
    frame = frame.select("series", *(pl.col(name).cast(pl.Float64) for name in names))
    # A NULL makes the condition NULL, which leaves out the row as well.
    return frame.filter(pl.col(name).is_finite() for name in names).rename({x: "x", y: "y"})


def chart_rows(frame: pl.DataFrame, axes: Any) -> alt.Chart:
    """Return a chart of rows, without marks."""
    # Pass CSV text, because Altair validates other rows one by one, and limits their number.
    parse: Any = {
        name: "number" if kind.is_numeric() else "string" for name, kind in frame.schema.items()
    }
    form = alt.CsvDataFormat(type="csv", parse=parse)
    return alt.Chart(alt.InlineData(values=frame.write_csv(), format=form)).encode(**axes)


def encode_axis(name: str, title: str | None, high: float = 1.0, percent: bool = False) -> Any:
    """Return the channel ``name`` (x or y) from 0 to ``high``."""
    step = 0.2 if high > 0.6 else 0.1
    ticks = [round(i * step, 1) for i in range(round(high / step) + 1)]
    axis = alt.Axis(values=ticks, format=".0%" if percent else ".1f")
    kind: Any = {"x": alt.X, "y": alt.Y}[name]
    # Let series overlap instead of stacking them.
    scale = alt.Scale(domain=[0, high], nice=False)
    return {name: kind(f"{name}:Q", title=title, scale=scale, axis=axis, stack=None)}


def draw_reference(path: Sequence[tuple[float, float]], axes: Any) -> alt.Chart:
    """Draw a dashed grey reference line."""
    line = chart_rows(pl.DataFrame(path, schema=["x", "y"], orient="row"), axes)
    return line.mark_line(color=GREY, strokeDash=[5, 4], strokeWidth=1)


def draw_label(x: float, label: str, axes: Any) -> alt.Chart:
    """Draw a label above the left (x = 0) or right (x = 1) end of the plot."""
    place: dict[str, Any] = {"align": "right", "dx": 4} if x else {"align": "left", "dx": 7}
    mark = chart_rows(pl.DataFrame({"x": [x], "y": [1.0]}), axes).encode(text=alt.value(label))
    return mark.mark_text(color="#6b6b6b", fontSize=10, dy=-9, **place)


def draw_bands(frame: pl.DataFrame, x: str, series: Series, axes: Any) -> list[alt.Chart]:
    """Draw the bands of curves: the narrow pointwise band and the wide simultaneous band."""
    layers: list[alt.Chart] = []
    for prefix, opacity in (("simultaneous_", 0.12), ("", 0.25)):
        if f"{prefix}low" in frame.columns:
            ends = select_points(frame, x, f"{prefix}low", f"{prefix}high")
            ends = ends.rename({f"{prefix}high": "y2"})
            area = chart_rows(ends, axes).mark_area(opacity=opacity, order=False, clip=True)
            layers.append(area.encode(y2="y2:Q", color=series.encode_color()))
    return layers


def place_bars(
    points: pl.DataFrame, series: Series, middle: pl.Expr, width: pl.Expr, *more: str
) -> pl.DataFrame:
    """Return the left and right ends of bars at ``middle``; bars of series stand side by side.

    ``more`` are further columns to keep.
    """
    count = len(series.names)
    number = pl.col("series").replace_strict(series.names, range(count), return_dtype=pl.Float64)
    left = middle + width * (number / count - 0.5)
    return points.select("series", "y", *more, x=left, x2=left + width / count)


def layer_charts(layers: Sequence[alt.Chart], width: int, height: int) -> Picture:
    """Return charts of this size, layered over each other."""
    picture: Any = alt.layer(*layers)
    return picture.properties(width=width, height=height)


def break_lines(length: int) -> str:
    """Return a Vega expression that breaks a long label into several lines."""
    lines = f"regexp('(.{{1,{length}}}(?: |$)|.{{{length}}})', 'g')"
    return f"split(trim(replace(datum.label, {lines}, '$1\\n')), '\\n')"


def create_facet(series: Series, font_size: int) -> alt.Facet:
    """Return the channel for one plot per series, with long names in several lines.

    On one line long names would push the plots apart, and the first plot away from its axis.
    """
    header = alt.Header(
        labelExpr=break_lines(_IN_HEADER), labelFontSize=font_size, labelLimit=0,
        labelColor=INK, title=None,
    )  # fmt: skip
    return alt.Facet("series:N", title=None, sort=series.names, header=header)
