"""Draws results: metrics by slice, comparisons of models, and curves that were computed before."""

from __future__ import annotations

from os import PathLike, fspath
from typing import Any, cast

import polars as pl

from sqleval.catalog.catalogue import builtin
from sqleval.curves.bands import ENDS
from sqleval.curves.thresholds import ENDS_OF_MEASURES
from sqleval.errors import RequestError

_CONFUSION = ("label", "prediction", "n", "share")


def plot(
    result: pl.DataFrame | pl.LazyFrame,
    kind: str | None = None,
    output: str | PathLike[str] | None = None,
    *,
    title: str | None = None,
) -> Any:
    """Draw a result of `evaluate`, `compare` or `curve`; needs the extra ``plot``.

    Metrics become a forest plot: a plot per metric with a row per slice, in the order of the
    result, with intervals if ``ci=`` was given, and a dashed line at the value of all rows
    (``sets="overall"``). A comparison shows the differences of two models, with a line at 0.

    Parameters
    ----------
    result : polars.DataFrame or polars.LazyFrame
        The result.
    kind : str, optional
        The curve that the result has the points of, such as ``"roc"``, or ``"confusion"``; needed
        if several curves have its columns.
    output : path, optional
        A file to write as well, ending in ``.svg``, ``.png`` or ``.html``.
    title : str, optional
        The title of the picture.

    Returns
    -------
    altair.ConcatChart, altair.LayerChart or altair.VConcatChart
        The chart: notebooks show it, and ``.save`` writes it to a file. The numbers of a mark are
        shown under the pointer; an undefined value has its note there.

    Raises
    ------
    MissingExtra
        If Altair is not installed.
    RequestError
        If the result cannot be drawn.

    Examples
    --------
    >>> import polars as pl, sqleval
    >>> df = pl.DataFrame({"y": [0, 1, 0, 1], "p": [0.1, 0.8, 0.4, 0.9], "g": ["a", "a", "b", "b"]})
    >>> scan = sqleval.scan(df, label="y", score="p", by="g")
    >>> sqleval.plot(scan.evaluate("roc_auc", ci=0.95)).to_dict()["title"]["text"]
    'Metrics by g'
    >>> sqleval.plot(scan.curve("roc"), "roc").to_dict()["title"]["text"]
    'ROC curve'
    """
    from sqleval.plots.charts import check_suffix, save_chart  # late: it loads Altair

    if output is not None:
        check_suffix(output)
    if not isinstance(cast("object", result), (pl.DataFrame, pl.LazyFrame)):
        raise RequestError(
            f"a result is a Polars frame, and not {type(result).__name__}: sqleval.plot(result) "
            "takes what evaluate, compare or curve returns"
        )
    frame = result.lazy().collect()
    is_tall = kind is None and {"metric", "low", "high"} <= {*frame.columns}
    if is_tall and ("value" in frame.columns or "difference" in frame.columns):
        chart = _draw_forest(frame, title)
    else:
        chart = _draw_curve(frame, kind, title)
    if output is not None:
        save_chart(chart, fspath(output))
    return chart


def _draw_forest(frame: pl.DataFrame, title: str | None) -> Any:
    """Draw metrics by slice, or the differences of a comparison."""
    from sqleval.plots.charts import draw_forest

    keys = frame.columns[: frame.columns.index("metric")]
    if "difference" not in frame.columns:
        named = ", ".join(key for key in keys if key != "by")
        heading = title or ("Metrics" + (f" by {named}" if named else ""))
        return draw_forest(frame, keys, value="value", title=heading)
    pair = pl.format("{} - {}", "model", "baseline")
    frame = frame.with_columns(model=pair)
    keys = [*keys, "model"]
    return draw_forest(
        frame, keys, value="difference", title=title or "Differences of models", zero=True
    )


def _draw_curve(frame: pl.DataFrame, kind: str | None, title: str | None) -> Any:
    """Draw the points of a curve, or a confusion matrix."""
    from sqleval.catalog.curve_names import find_curve
    from sqleval.frontend.pictures import find_chart
    from sqleval.plots.charts import draw_curve

    catalogue = builtin()
    if kind is None:
        kind = _recognise_curve(frame)
    if kind == "confusion":
        relation, columns = catalogue.get(kind), _CONFUSION
    else:
        relation = catalogue.get(find_curve(kind, catalogue))
        columns = (*relation.columns, *ENDS, *ENDS_OF_MEASURES)
    keys = [name for name in frame.columns if name not in columns]
    return draw_curve(find_chart(relation, catalogue), frame, keys, title=title)


def _recognise_curve(frame: pl.DataFrame) -> str:
    """Return the only curve whose columns the frame ends with."""
    fitting: list[str] = []
    for relation in builtin().relations("curve"):
        columns = [name for name in relation.columns if name != "slice"]
        if "chart" in relation.header and frame.columns[-len(columns) :] == columns:
            fitting.append(relation.name)
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise RequestError(
            f"{', '.join(fitting)} have these columns; name the curve, as in "
            f"sqleval.plot(result, {fitting[0]!r})"
        )
    raise RequestError(
        f"no result of evaluate or compare, and no curve with a chart has the columns "
        f"{', '.join(frame.columns)}; name the curve, as in sqleval.plot(result, 'roc')"
    )
