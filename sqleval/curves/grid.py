"""Evaluates curves of slices and replicates at common places, as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from sqleval.catalog.request import Request
from sqleval.errors import RequestError
from sqleval.inference.libraries import np

if TYPE_CHECKING:
    from sqleval.inference.libraries import Array

#: The equally spaced places in 0 .. 1 at which a curve is evaluated.
POINTS = 201
#: A share such as 3 / 20 and a place of the grid differ by rounding.
_ROUNDING = 1e-12


class Axes(NamedTuple):
    """The axes of a curve, from its header.

    Attributes
    ----------
    x, y : str
        The columns.
    joined : str
        The way to join its points: by ``lines``, in ``steps``, or not at all (``points``); or
        ``thresholds``, if each measure has an interval at each threshold.
    limit : str
        ``triangle`` if no true value exceeds min(x, 1 - x), else empty.
    """

    x: str
    y: str
    joined: str
    limit: str = ""

    def find_largest(self, grid: Array) -> Array:
        """Return the largest value that a curve can have at each place."""
        return np.minimum(grid, 1 - grid) if self.limit == "triangle" else np.ones_like(grid)


class Curves(NamedTuple):
    """Curves at common places.

    Attributes
    ----------
    groups : polars.DataFrame
        The keys of each curve, one row per curve.
    values : array
        One row per curve, one column per place; NaN where a curve is undefined.
    """

    groups: pl.DataFrame
    values: Array


def read_axes(request: Request) -> Axes:
    """Return the axes of a curve.

    Raises
    ------
    RequestError
        If the curve's header has no ``band``.
    """
    header = request.relation.header.get("band")
    if header is None:
        curves = request.catalogue.relations("curve")
        having = [each.name for each in curves if "band" in each.header]
        raise RequestError(f"{request.name} has no bands; curves with bands: {', '.join(having)}")
    return Axes(*map(str, header))


def create_grid(frame: pl.DataFrame, axes: Axes) -> Array:
    """Return the places at which curves are evaluated: their points, or a grid over 0 .. 1."""
    if axes.joined == "points":
        return frame[axes.x].drop_nulls().unique().sort().cast(pl.Float64).to_numpy()
    return np.linspace(0, 1, POINTS)


def evaluate_at(frame: pl.DataFrame, axes: Axes, keys: Sequence[str], grid: Array) -> Curves:
    """Return the values of curves at the places of a grid.

    Parameters
    ----------
    frame : polars.DataFrame
        The rows of curves.
    axes : Axes
        The axes of the curves.
    keys : sequence of str
        The columns that identify a curve.
    grid : array
        The places, ascending.

    Examples
    --------
    >>> rows = pl.DataFrame({"fpr": [0.0, 0.0, 0.5, 1.0], "tpr": [0.0, 0.5, 0.5, 1.0]})
    >>> evaluate_at(rows, Axes("fpr", "tpr", "lines"), [], np.array([0.0, 0.75])).values.tolist()
    [[0.5, 0.75]]
    """
    x, y = (pl.col(name).cast(pl.Float64) for name in (axes.x, axes.y))
    # Several points at one x: a line enters at the lowest y, a step has the highest.
    order = -y if axes.joined == "steps" else y
    points = frame.select(*keys, _x=x, _y=y, _order=order).sort(
        *keys, "_x", "_order", nulls_last=True
    )
    groups = points.with_row_index("_row")
    groups = (
        groups.group_by(*keys, maintain_order=True).agg(first=pl.col("_row").first(), n=pl.len())
        if keys
        else groups.select(first=pl.lit(0), n=pl.len()).filter(pl.col("n") > 0)
    )
    all_x, all_y = points["_x"].to_numpy(), points["_y"].to_numpy()
    values = np.full((groups.height, len(grid)), np.nan)
    for row, (first, n) in enumerate(groups.select("first", "n").iter_rows()):
        part = slice(first, first + n)
        values[row] = _evaluate(all_x[part], all_y[part], grid, axes.joined)
    return Curves(groups.select(list(keys)), values)


def _evaluate(x: Array, y: Array, grid: Array, joined: str) -> Array:
    """Return the values of a curve, whose points ascend, at the places of a grid."""
    is_point = ~(np.isnan(x) | np.isnan(y))
    x, y = x[is_point], y[is_point]
    values = np.full(len(grid), np.nan)
    if not len(x):
        return values
    if joined == "points":
        place = np.searchsorted(grid, x)
        values[place[grid[place] == x]] = y[grid[place] == x]
        return values
    if joined == "steps":
        # The value at 0 is the value of the first step.
        x, y = x[x > 0], y[x > 0]
        after = np.searchsorted(x, grid - _ROUNDING)
        is_before_end = after < len(x)
        values[is_before_end] = y[after[is_before_end]]
        return values
    last = np.maximum(np.searchsorted(x, grid + _ROUNDING, side="right") - 1, 0)
    following = np.minimum(last + 1, len(x) - 1)
    width = x[following] - x[last]
    share = np.where(width > 0, (grid - x[last]) / np.where(width > 0, width, 1), 0)
    values[:] = y[last] + share * (y[following] - y[last])
    is_within = (grid >= x[0] - _ROUNDING) & (grid <= x[-1] + _ROUNDING)
    return np.where(is_within, values, np.nan)
