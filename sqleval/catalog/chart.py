"""Reads the header key ``chart``: how the picture of a curve is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

#: The kinds of charts: a line in the unit square, or a special drawing.
KINDS = (
    "line", "calibration", "ks", "cost_curve", "cost_lines", "gain_table", "matrix", "errors",
    "error_shares", "histogram", "predicted_vs_actual", "residuals", "score_histogram",
    "thresholds",
)  # fmt: skip


class Chart(NamedTuple):
    """The header key ``chart`` of a curve.

    Attributes
    ----------
    curve : str
        The name of the curve.
    title : str
        The title.
    x, y : tuple of str
        For a line in the unit square: a column and the title of its axis.
    diagonal : str
        The meaning of the diagonal, such as chance.
    steps : bool
        Whether the line steps to a new y before it moves right, instead of a straight line.
    points : bool
        Whether points are marked, too.
    ideal : bool
        Whether the corner of perfect predictions is marked.
    percent : bool
        Whether the axes are in percent.
    draw : str
        The kind of chart: one of `KINDS`.
    columns : tuple of str
        The columns that this chart needs.
    metric : tuple of str
        The label and the name of the metric shown beside a series; empty without one.
    facts : mapping of str to str
        Further metrics in the picture, by their role there.
    undefined : str
        Why the curve may have no point, unless the metric beside it says why.
    """

    curve: str
    title: str
    x: tuple[str, str] = ("", "")
    y: tuple[str, str] = ("", "")
    diagonal: str = ""
    steps: bool = False
    points: bool = False
    ideal: bool = False
    percent: bool = False
    draw: str = "line"
    columns: tuple[str, ...] = ()
    metric: tuple[str, ...] = ()
    facts: Mapping[str, str] = {}
    undefined: str = ""

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns whose values must be finite."""
        return self.columns or (self.x[0], self.y[0])


#: The keys of ``chart`` in a header, which leaves out the curve's name.
CHART_KEYS = Chart._fields[1:]


def read_chart(curve: str, written: Mapping[str, Any]) -> Chart:
    """Return the chart of a curve from its header key ``chart``.

    Examples
    --------
    >>> written = {"title": "Lift", "draw": "gain_table", "columns": ["share", "lift"]}
    >>> read_chart("gain_table", written).needed
    ('share', 'lift')
    """
    values: dict[str, Any] = dict(written)
    for name in ("x", "y", "columns", "metric"):
        if name in values:
            values[name] = tuple(values[name])
    return Chart(curve, **values)
