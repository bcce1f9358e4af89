"""Draws mean ranks of models on a line: the critical-difference diagram of Demsar (2006)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from sqleval.plots.parts import COLORS, GREY, INK, alt, chart_rows, layer_charts

if TYPE_CHECKING:
    from sqleval.plots.parts import Picture

_WIDTH = 440
#: Pixels from the line to the first name, between names, and between bars.
_GAP, _STEP, _BAR = 16, 22, 9
#: The position of the ruler of the critical difference, in pixels from the line.
_RULER = -36


def find_groups(ranks: list[float], critical_difference: float) -> list[tuple[float, float]]:
    """Return the ends of the largest groups of models that do not differ.

    Parameters
    ----------
    ranks : list of float
        Mean ranks in ascending order.
    critical_difference : float
        Two models differ if their mean ranks do by this much.

    Examples
    --------
    >>> find_groups([1.964, 2.0, 2.893, 3.143], 1.12)
    [(1.964, 2.893), (2.893, 3.143)]
    """
    groups: list[tuple[float, float]] = []
    reached = 0
    for i, low in enumerate(ranks):
        last = max(j for j, high in enumerate(ranks) if high - low < critical_difference or j == i)
        # A group within the one before says nothing new.
        if last > i and last > reached:
            groups.append((low, ranks[last]))
            reached = last
    return groups


def draw_ranks(ranks: pl.DataFrame, critical_difference: float | None) -> Picture:
    """Draw models at their mean ranks, the best at the right; bars join those that do not differ.

    Parameters
    ----------
    ranks : polars.DataFrame
        ``name`` and ``rank`` of at least two models, in ascending order of ranks.
    critical_difference : float, optional
        The length of the ruler; without it there are neither ruler nor bars.
    """
    places = ranks["rank"].to_list()
    groups = find_groups(places, critical_difference) if critical_difference is not None else []
    count = len(places)
    top = _GAP + _BAR * len(groups) + _STEP / 2
    side = -(-count // 2)
    height = top + _STEP * (side - 1) + _STEP / 2
    pad = 0.03 * (count - 1)
    axes: dict[str, Any] = {
        "x": alt.X("x:Q", axis=None, scale=alt.Scale(domain=[count + pad, 1 - pad], nice=False)),
        "y": alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[height, 0], nice=False)),
    }
    layers = [*_draw_scale(count, axes), *_draw_names(ranks, top, (count + pad, 1 - pad), axes)]
    if groups:
        bars = pl.DataFrame(groups, schema=["x", "x2"], orient="row")
        bars = bars.with_columns(y=_GAP + _BAR * pl.int_range(pl.len()).cast(pl.Float64))
        bar = chart_rows(bars, axes).mark_rule(strokeWidth=4, color=COLORS[1])
        layers.append(bar.encode(x2="x2:Q"))
    if critical_difference is not None:
        layers += _draw_ruler(critical_difference, count, axes)
    return layer_charts(layers, _WIDTH, round(height))


def _draw_scale(count: int, axes: Any) -> list[alt.Chart]:
    """Draw the line with a tick at every rank, or at about ten of many."""
    step = 1 if count <= 12 else -(-count // 10)
    ticks = [1, *(i for i in range(step, count, step) if i > 1)]
    # The last tick, unless its number would touch the one before.
    ticks = [i for i in ticks if i + step / 2 <= count] + [count]
    marks = pl.DataFrame({"x": [float(i) for i in ticks], "y": 0.0, "y2": -5.0})
    line = chart_rows(pl.DataFrame({"x": [1.0], "x2": [float(count)], "y": [0.0]}), axes)
    tick, number = chart_rows(marks, axes), chart_rows(marks, axes)
    return [
        line.mark_rule(color=INK, strokeWidth=1.2).encode(x2="x2:Q"),
        tick.mark_rule(color=INK, strokeWidth=1.2).encode(y2="y2:Q"),
        number.mark_text(color=INK, fontSize=11, dy=-13).encode(text=alt.Text("x:Q", format="d")),
    ]


def _draw_names(
    ranks: pl.DataFrame, top: float, edges: tuple[float, float], axes: Any
) -> list[alt.Chart]:
    """Draw the better half of the names at the right, the others at the left.

    On either side the outermost model is on top, so that no two lines cross.
    """
    count = ranks.height
    better = (count + 1) // 2
    layers: list[alt.Chart] = []
    halves = (ranks.head(better), ranks.tail(count - better).reverse())
    for half, edge, align in zip(halves, (edges[1], edges[0]), ("left", "right"), strict=True):
        rounded = pl.col("rank").map_elements(lambda rank: f"{rank:.2f}", return_dtype=pl.String)
        half = half.select(
            pl.format("{} ({})", "name", rounded).alias("text"),
            x="rank",
            y=top + _STEP * pl.int_range(pl.len()).cast(pl.Float64),
            x2=pl.lit(edge),
            y2=pl.lit(0.0),
        )
        rule: dict[str, Any] = {"color": GREY, "strokeWidth": 1}
        down = chart_rows(half.drop("text", "x2"), axes).mark_rule(**rule)
        across = chart_rows(half.drop("text", "y2"), axes).mark_rule(**rule)
        names = chart_rows(half.select("text", x="x2", y="y"), axes)
        place: dict[str, Any] = {"align": align, "dx": 5 if align == "left" else -5}
        layers += [
            down.encode(y2="y2:Q"),
            across.encode(x2="x2:Q"),
            names.mark_text(color=INK, fontSize=12, **place).encode(text="text:N"),
        ]
    dots = chart_rows(ranks.select(x="rank", y=pl.lit(0.0)), axes)
    return [*layers, dots.mark_point(filled=True, size=36, opacity=1, color=COLORS[0])]


def _draw_ruler(length: float, count: int, axes: Any) -> list[alt.Chart]:
    """Draw the critical difference above the line, from the worst rank on."""
    # A difference that is longer than the line is cut, and only its number tells.
    ends = {"x": [float(count)], "x2": [count - min(length, count - 1.0)], "y": [_RULER]}
    frame = pl.DataFrame(ends, schema_overrides={"y": pl.Float64})
    line = chart_rows(frame, axes).mark_rule(color=INK, strokeWidth=1.6)
    stops = pl.DataFrame({"x": [*ends["x"], *ends["x2"]], "y": _RULER - 4.0, "y2": _RULER + 4.0})
    if length > count - 1:
        stops = stops.head(1)
    stop = chart_rows(stops, axes).mark_rule(color=INK, strokeWidth=1.6)
    label = chart_rows(frame, axes).mark_text(color=INK, fontSize=11, align="left", dy=-11)
    text = f"critical difference {length:.2f}"
    return [
        line.encode(x2="x2:Q"),
        stop.encode(y2="y2:Q"),
        label.encode(text=alt.value(text)),
    ]
