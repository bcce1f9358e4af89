"""Shows the numbers of a chart under the pointer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import polars as pl

from sqleval.plots.parts import Series, alt, chart_rows
from sqleval.plots.thinning import thin

#: The style of the invisible points that only show numbers.
_HOVER = "hover"
#: Invisible points per series: at most four in each of so many columns of the picture.
_COLUMNS = 75


def list_tooltips(series: Series, fields: Mapping[str, str]) -> list[Any]:
    """Return the channel of the numbers of a mark, by column and title.

    A column may end in the type of its values, such as ``kind:N``; otherwise it holds numbers, of
    which none is missing.
    """
    shown = [alt.Tooltip("series:N", title=series.title)] if series.title else []
    for name, title in fields.items():
        if ":" in name:
            shown.append(alt.Tooltip(name, title=title))
        else:
            form = ",.12~g" if name.startswith("n") else ",.6~g"
            shown.append(alt.Tooltip(f"{name}:Q", title=title, format=form))
    return shown


def write_numbers(name: str) -> pl.Expr:
    """Return a column as texts; a number that is missing is undefined."""
    number = pl.col(name).cast(pl.Float64).fill_nan(None)
    text = number.map_elements(lambda value: f"{value:,.6g}", return_dtype=pl.String)
    return text.fill_null("undefined")


def write_counts(name: str) -> pl.Expr:
    """Return a column of counts, or of sums of weights, as texts."""
    number = pl.col(name).cast(pl.Float64)
    text = number.map_elements(lambda value: f"{value:,.12g}", return_dtype=pl.String)
    return text.fill_null("")


def draw_hover(
    points: pl.DataFrame, axes: Any, series: Series, fields: Mapping[str, str]
) -> alt.Chart:
    """Draw invisible points on a line, which has no numbers under the pointer itself.

    Parameters
    ----------
    points : polars.DataFrame
        ``series``, ``x``, ``y`` and the columns of ``fields``.
    axes : dict
        The channels of x and y.
    series : Series
        The lines.
    fields : mapping of str to str
        The titles of the columns whose numbers are shown.
    """
    kept = thin(points, "x", "y", ["series"], columns=_COLUMNS)
    texts = {
        f"text_{name}": write_counts(name) if name.startswith("n") else write_numbers(name)
        for name in fields
    }
    rows = chart_rows(kept.select("series", "x", "y", **texts), axes)
    rows = rows.mark_point(style=_HOVER, size=120, filled=True, opacity=0)
    titles = {f"text_{name}:N": title for name, title in fields.items()}
    return rows.encode(tooltip=list_tooltips(series, titles))


def remove_hover(content: dict[str, Any]) -> dict[str, Any]:
    """Return a chart without its invisible points, which a picture does not need."""
    kept = dict(content)
    for name in ("layer", "hconcat", "vconcat", "concat"):
        if name in kept:
            kept[name] = [remove_hover(part) for part in kept[name] if not _is_hover(part)]
    if "spec" in kept:
        kept["spec"] = remove_hover(kept["spec"])
    return kept


def _is_hover(part: dict[str, Any]) -> bool:
    mark: Any = part.get("mark")
    return isinstance(mark, dict) and cast("dict[str, Any]", mark).get("style") == _HOVER
