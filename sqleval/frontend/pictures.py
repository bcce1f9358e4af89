"""Draws the chart of a curve or confusion matrix, with its metrics beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import polars as pl
import polars.selectors as cs

from sqleval.catalog import request
from sqleval.catalog.catalogue import Catalogue, builtin
from sqleval.catalog.chart import Chart, read_chart
from sqleval.catalog.contract import Relation
from sqleval.compiler.bins import Bins, find_obstacle
from sqleval.curves.bands import ENDS
from sqleval.curves.thresholds import ENDS_OF_MEASURES
from sqleval.errors import RequestError
from sqleval.frontend.bound import Bound
from sqleval.frontend.curves import confusion, evaluate_curve
from sqleval.frontend.curves import curve as list_points
from sqleval.frontend.evaluations import evaluate
from sqleval.frontend.plan import BITS_OF_CURVES
from sqleval.plots import charts
from sqleval.plots.parts import join_by_keys
from sqleval.plots.thinning import COLUMNS


def draw(bound: Bound, curve: str, params: Mapping[str, Any], bands: Mapping[str, Any]) -> Any:
    """Return the chart of a curve with its bands, or of the confusion matrix."""
    parameters, bins = dict(params), None
    if curve == "confusion":
        if bands.get("ci") is not None:
            raise RequestError("a confusion matrix has no bands; leave out ci=")
        relation, relation_columns = builtin().get(curve), ("label", "prediction", "n", "share")
        frame = confusion(bound, **parameters).collect()
    else:
        curve_request = request.parse_curve(
            curve, {key: value for key, value in parameters.items() if key != "bins"},
            bound.binding.task, bound.catalogue,
        )  # fmt: skip
        parameters = dict(curve_request.parameters)
        relation, relation_columns = curve_request.relation, curve_request.relation.columns
        if not request.has_parameter(curve, "bins", bound.catalogue):
            bins = cast("int | None", params.get("bins"))
        if bands.get("ci") is None:
            frame = collect_points(bound, curve, params)
        else:
            frame = list_points(bound, curve, **bands, **params).collect()
    curve_columns = (*relation_columns, *ENDS, *ENDS_OF_MEASURES)
    keys = [column for column in frame.columns if column not in curve_columns]
    costs = (parameters.get("cost_fn", 1.0), parameters.get("cost_fp", 1.0))
    # A curve with bands has no column of thresholds.
    chart = find_chart(relation, bound.catalogue)
    has_costs = chart.draw == "cost_curve" and bool(parameters) and bands.get("ci") is None
    label = bound.binding.role.get("label")
    return charts.draw_curve(
        chart,
        frame,
        keys,
        title=f"{chart.title}: {label.name}" if label else None,
        facts=_collect_facts(bound, chart, keys, bins),
        costs=cast("tuple[float, float]", costs) if has_costs else None,
        ci=bands.get("ci"),
    )


def find_chart(relation: Relation, catalogue: Catalogue) -> Chart:
    """Return the chart of a curve; raise `RequestError` if it has none."""
    if "chart" not in relation.header:
        drawn = [each.name for each in catalogue.relations("curve") if "chart" in each.header]
        names = ", ".join(sorted(["confusion", *drawn]))
        raise RequestError(f"cannot draw {relation.name!r}; curves with a chart: {names}")
    chart = relation.header["chart"]
    if isinstance(chart, str):
        # The curve borrows another curve's axes, but not its metric, which has other points.
        axes = read_chart(relation.name, catalogue.get(chart).header["chart"])
        return axes._replace(metric=(), facts={})
    return read_chart(relation.name, chart)


def collect_points(bound: Bound, curve: str, params: Mapping[str, Any]) -> pl.DataFrame:
    """Return the points of a curve for its picture.

    If there may be more scores than a picture can show, return only the exact points at the lowest
    score of each bin. Neighbouring points are at most one column of the picture apart, unless rows
    have equal scores. All points would need a sort of all scores, and the memory for it.

    Parameters
    ----------
    bound : Bound
        The rows and their roles.
    curve : str
        The name of a curve.
    params : mapping
        Its parameters.
    """
    source, binding = bound.source, bound.binding
    is_readable_twice = binding.state is None and not source.once
    may_be_dense = source.is_large and not bound.engine.is_distributed
    if is_readable_twice and may_be_dense and "bins" not in params and not find_obstacle(binding):
        chosen = request.parse_curve(curve, params, binding.task, bound.catalogue)
        chart = find_chart(chosen.relation, bound.catalogue)
        is_line = chart.draw == "line" and not chart.points
        if is_line and chosen.depends_on("score_counts"):
            bins = Bins(BITS_OF_CURVES, tolerance=1 / COLUMNS, bounds=("share",))
            return evaluate_curve(bound, chosen, bins).collect()
    return list_points(bound, curve, **params).collect()


def _collect_facts(
    bound: Bound, chart: Chart, keys: Sequence[str], bins: int | None
) -> pl.DataFrame | None:
    """Return the metrics beside a chart, by series; None if the curve has none."""
    if not chart.metric:
        return None
    names = {"value": chart.metric[1], **chart.facts}
    ending = "(average=None)" if "class" in keys else ""
    requests = [name + ending for name in names.values()]
    evaluated = evaluate(bound, requests, bins=bins).collect()
    if evaluated.is_empty():
        return None  # there are no rows, so there is no slice
    first, *parts = evaluated.partition_by("metric", maintain_order=True)
    by_keys = cs.by_name(*keys)  # as a text, the key * would mean all columns
    facts = first.select(by_keys, "n", "value", "note")
    for column, part in zip(list(names)[1:], parts, strict=True):
        values = part.select(by_keys, pl.col("value").alias(column))
        facts = join_by_keys(facts, values, keys) if keys else facts.with_columns(values[column])
    return facts
