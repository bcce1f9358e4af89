"""Draws values by slice with their intervals: a plot per metric, and a row per slice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl
import polars.selectors as cs

from sqleval.common.visible import show_controls
from sqleval.errors import RequestError
from sqleval.plots.parts import GREY, Series, alt, chart_rows, name_series
from sqleval.plots.tooltips import write_counts, write_numbers

if TYPE_CHECKING:
    from sqleval.plots.parts import Picture

#: Width of a plot; height of a row, and of a row of each model if there are several.
_WIDTH, _ROW, _ROW_OF_MODEL = 230, 20, 13
#: Plots side by side.
_COLUMNS = 3
_MOST_SLICES = 1000
#: The columns under the pointer after the value, if a result has them.
_NUMBERS = ("low", "high", "noise", "p_value")
_COUNTS = ("n", "n_dropped", "n_reference", "n_current")
_TEXTS = ("method", "verdict", "note")


def draw_slices(
    frame: pl.DataFrame, keys: Sequence[str], value: str, *, zero: bool = False
) -> Picture:
    """Draw the values of a result; see `charts.draw_forest`."""
    if frame.is_empty():
        raise RequestError("nothing to draw: the result has no rows")
    slice_keys = [key for key in keys if key not in ("by", "model")]
    models = ["model"] if "model" in keys else []
    if not slice_keys:
        slice_keys, models = models, []
    named, series = name_series(frame.select(cs.by_name(*models)), models)
    names, is_whole = _name_slices(frame, slice_keys, has_sets="by" in keys)
    shown = _write_texts(frame, value)
    numbers = {"value": value, "low": "low", "high": "high"}
    rows = frame.select(
        "metric",
        **{name: pl.col(column).cast(pl.Float64) for name, column in numbers.items()},
        slice=pl.lit(names),
        is_whole=pl.lit(is_whole),
        series=pl.lit(named["series"] if models else pl.Series([""] * frame.height)),
        **{f"text_{name}": text for name, text in shown.items()},
        size=write_counts("n") if "n" in frame.columns else pl.lit(""),
    )
    slices = names.unique(maintain_order=True).to_list()
    if len(slices) > _MOST_SLICES:
        raise RequestError(
            f"{len(slices):,} slices are too many for a picture, which has at most "
            f"{_MOST_SLICES:,}; leave some out of the result, as with head()"
        )
    title = show_controls(", ".join(slice_keys))
    parts = rows.partition_by("metric", maintain_order=True)
    plots = [
        _draw_metric(part, slices, series, title, is_first=not i % _COLUMNS, zero=zero)
        for i, part in enumerate(parts)
    ]
    return alt.concat(*plots, columns=_COLUMNS, spacing=24)


def _write_texts(frame: pl.DataFrame, value: str) -> dict[str, pl.Expr]:
    """Return the columns under the pointer, as texts by their title."""
    texts = {value: write_numbers(value)}
    texts |= {name: write_numbers(name) for name in _NUMBERS if name in frame.columns}
    texts |= {name: write_counts(name) for name in _COUNTS if name in frame.columns}
    # A key may have the name of such a column.
    return texts | {
        name: pl.col(name).cast(pl.String).fill_null("") for name in _TEXTS if name in frame.columns
    }


def _name_slices(
    frame: pl.DataFrame, keys: Sequence[str], *, has_sets: bool
) -> tuple[pl.Series, pl.Series]:
    """Return the name of each row's slice, and whether the row has the value of all rows.

    With sets of keys, a key by which a row is not grouped reads "all"; otherwise NULL is a key
    like any other.
    """
    if not keys:
        names = pl.Series(["all rows"] * frame.height)
        return names, pl.Series([False] * frame.height)
    texts = frame.select(cs.by_name(*keys))
    is_whole = pl.Series([False] * frame.height)
    if has_sets:
        sets = [set(text.split(", ")) for text in frame["by"]]
        is_whole = pl.Series([grouped.isdisjoint(keys) for grouped in sets])
        for key in keys:
            values = texts[key].cast(pl.String)
            is_whole &= values.is_null()
            whole = [
                "all" if text is None and key not in grouped else text
                for text, grouped in zip(values, sets, strict=True)
            ]
            texts = texts.with_columns(pl.Series(key, whole, pl.String))
    names = name_series(texts, keys)[0]["series"]
    whole = pl.Series(["all rows"] * frame.height)
    return names.zip_with(~is_whole, whole), is_whole


def _draw_metric(
    rows: pl.DataFrame,
    slices: Sequence[str],
    series: Series,
    title: str,
    *,
    is_first: bool,
    zero: bool,
) -> alt.LayerChart:
    """Draw the plot of one metric, whose rows are those of the other plots."""
    count = len(series.names)
    step = _ROW_OF_MODEL * count + 6 if count > 1 else _ROW
    scale = alt.Scale(zero=False, padding=10)
    x = alt.X(
        "x:Q", title=rows["metric"][0], scale=scale, axis=alt.Axis(tickCount=4, labelOverlap=True)
    )
    labels = alt.Axis(
        labels=is_first, ticks=is_first, grid=True, labelLimit=260, labelOverlap=False
    )
    y: dict[str, Any] = {
        "y": alt.Y("slice:N", sort=slices, title=title if is_first else None, axis=labels)
    }
    y["y"].scale = alt.Scale(domain=list(slices))
    if count > 1:
        y["yOffset"] = alt.YOffset("series:N", scale=alt.Scale(domain=series.names))
    layers = _draw_layers(rows, x, y, series, title, zero=zero)
    picture: Any = alt.layer(*layers)
    return picture.properties(width=_WIDTH, height=step * len(slices))


def _draw_layers(
    rows: pl.DataFrame,
    x: Any,
    y: Mapping[str, Any],
    series: Series,
    title: str,
    *,
    zero: bool,
) -> list[alt.Chart]:
    """Draw points and intervals, the texts of values without a point, and lines to compare with."""
    fields = {"slice": title or "slice"}
    fields |= {"series": series.title} if series.title else {}
    texts = [name for name in rows.columns if name.startswith("text_")]
    fields |= {name: name.removeprefix("text_") for name in texts}
    shown = [alt.Tooltip(f"{name}:N", title=text) for name, text in fields.items()]
    color = series.encode_color(symbol="circle")
    is_point = pl.col("value").is_finite() & pl.col("value").is_not_null()
    base = rows.select(
        "series", "slice", *texts, "size", "low", "high", x="value", is_point=is_point
    )
    has_ends = pl.col("low").is_finite() & pl.col("high").is_finite()
    points, others = base.filter("is_point"), base.filter(~pl.col("is_point"))
    ends = points.filter(has_ends).with_columns(x="low", x2="high")
    value = next(iter(texts))
    layers = _draw_lines(rows, x, series, color, zero=zero)
    layers += [
        chart_rows(ends, {"x": x, **y})
        .mark_rule(strokeWidth=1.6)
        .encode(x2="x2:Q", color=color, tooltip=shown),
        chart_rows(points, {"x": x, **y})
        .mark_point(filled=True, size=42, opacity=1)
        .encode(color=color, tooltip=shown),
        chart_rows(others, {"x": alt.value(4), **y})
        .mark_text(align="left", color=GREY, fontSize=10)
        .encode(text=f"{value}:N", tooltip=shown),
        chart_rows(base, {"x": alt.value(_WIDTH + 6), **y})
        .mark_text(align="left", color=GREY, fontSize=9)
        .encode(text="size:N"),
    ]
    if rows["size"].str.len_chars().sum():
        corner = {"x": alt.value(_WIDTH + 6), "y": alt.value(0), "text": alt.value("n")}
        head = chart_rows(pl.DataFrame({"x": [0]}), corner)
        layers.append(head.mark_text(align="left", color=GREY, fontSize=9, dy=-6))
    return layers


def _draw_lines(
    rows: pl.DataFrame, x: Any, series: Series, color: Any, *, zero: bool
) -> list[alt.Chart]:
    """Draw a line at 0, or at the value of all rows."""
    whole = rows.filter("is_whole", pl.col("value").is_finite()).select("series", x="value")
    whole = pl.DataFrame({"series": [""], "x": [0.0]}) if zero else whole
    if whole.is_empty():
        return []
    rule = chart_rows(whole, {"x": x}).mark_rule(strokeDash=[5, 4], strokeWidth=1)
    has_colors = series.title and not zero
    return [rule.encode(color=color if has_colors else alt.value(GREY))]
