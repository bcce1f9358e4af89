"""Writes the columns by which rows are grouped into cells: labels, scores or predictions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from sqleval.binding.binding import Binding, Definition
from sqleval.catalog.request import Request
from sqleval.catalog.roles import ROLES, name_argument
from sqleval.common.sql_text import Value
from sqleval.compiler import rows
from sqleval.compiler.classes import write_class, write_predicted_class
from sqleval.compiler.requirements import collect_values
from sqleval.compiler.singles import write_decision
from sqleval.resampling.rounding import write_number, write_rounded, write_score


class Values(NamedTuple):
    """The columns by which rows are grouped into cells.

    Attributes
    ----------
    items : mapping of str to str
        The SQL of each column.
    roles : mapping
        The roles of the columns; see `cells.Cells`.
    is_rounded : bool
        Whether scores are rounded.
    ctes : mapping of str to str
        For a ranking, the CTEs of its queries; the last is ``_usable_rows``.
    params : mapping
        The parameters of the CTEs.
    binding : Binding or None
        For a ranking, the binding of its queries, each of which counts as a row.
    definition : Definition or None
        For a ranking, the definition of the state that its queries form.
    """

    items: Mapping[str, str]
    roles: Mapping[Any, Any]
    is_rounded: bool = False
    ctes: Mapping[str, str] = {}
    params: Mapping[str, Value] = {}
    binding: Binding | None = None
    definition: Definition | None = None


def group_requests(
    binding: Binding, requests: Sequence[Request]
) -> Iterator[tuple[list[Request], Value, bool]]:
    """Yield groups of metrics that share cells: their threshold, and whether they read scores.

    The threshold is None for metrics without one. Each metric of a ranking is a group by itself.
    """
    if binding.has_queries:
        yield from (([each], None, True) for each in requests)
        return
    groups: dict[tuple[Value, bool], list[Request]] = {}
    for request in requests:
        decided = request.depends_on("decisions")
        scored = not decided and (binding.has_score and not binding.has_values)
        threshold: Value = None
        if decided and binding.has_two_classes:
            threshold = find_threshold(binding, request)
        groups.setdefault((threshold, scored), []).append(request)
    for (threshold, scored), group in groups.items():
        yield group, threshold, scored


def find_threshold(binding: Binding, request: Request) -> Value:
    """Return the threshold of a metric's decisions; None if the rows have a prediction."""
    values = collect_values(binding, request)
    if "prediction" in binding.role and "threshold" not in values:
        return None
    return values.get("threshold", 0.5)


def remove_threshold(request: Request) -> Request:
    """Return a request over cells that hold the decision instead of a score."""
    kept = tuple(pair for pair in request.parameters if pair[0] != "threshold")
    return replace(request, parameters=kept)


def keep_further(binding: Binding, values: Values, bits: int) -> Values:
    """Add the label of many labels, and the values of further roles that cells keep, rounded."""
    items, roles, is_rounded = {**values.items}, {**values.roles}, values.is_rounded
    if binding.many is not None:
        label = binding.many.label._replace(name="label_key")
        items[label.name] = label.name
        roles["many"] = binding.many._replace(label=label, row=None)
    for role in binding.kept:
        items[role] = rows.write_further(binding, role)
        if bits and ROLES[role].values == "number":
            items[role], is_rounded = write_rounded(role, bits), True
        roles[name_argument(role)] = role
    return Values(items, roles, is_rounded)


def create_values(binding: Binding, bits: int, threshold: Value, *, scored: bool) -> Values:
    """Return the values that metrics read from the rows of one model.

    Parameters
    ----------
    binding : Binding
        The bound input.
    bits : int
        The significant bits of the scores; 0 for exact scores.
    threshold : float or None
        The threshold that turns scores into predictions, for metrics of decisions; None if rows
        have a prediction.
    scored : bool
        Whether the metrics read scores; otherwise they read predictions.
    """
    values = _create_task_values(binding, bits, threshold, scored=scored)
    return keep_further(binding, values, bits)


def _create_task_values(binding: Binding, bits: int, threshold: Value, *, scored: bool) -> Values:
    """Return the labels, and the scores or predictions, in the form of the task."""
    if binding.has_several_classes:
        return _create_class_values(binding, bits, scored=scored)
    if not binding.facts.has_labels:
        items = {"value": write_rounded("value", bits)}
        return Values(items, {"value": "value", "task": binding.task}, bits > 0)
    if not binding.has_two_classes:
        items = {
            "label": write_rounded("label", bits),
            "prediction": write_number("prediction", "label", bits),
        }
        roles = {"label": "label", "prediction": "prediction", "task": binding.task}
        return Values(items, roles, bits > 0)
    items = {"label": rows.write_zero_or_one(binding, "label")}
    roles: dict[str, Any] = {"label": "label", "task": binding.task}
    if binding.state is not None:
        items["label"] = "label"
    if scored:
        items["score"] = write_score("score", bits)
        return Values(items, roles | {"score": "score"}, bits > 0)
    if threshold is None:
        items["prediction"] = rows.write_zero_or_one(binding, "prediction")
    else:
        items["prediction"] = write_decision(binding, "score", threshold)
    return Values(items, roles | {"prediction": "prediction"})


def _create_class_values(binding: Binding, bits: int, *, scored: bool) -> Values:
    items = {"label": write_class(binding.role["label"], "label")}
    roles: dict[str, Any] = {"label": "label", "task": binding.task}
    if scored:
        names = [f"score_{i}" for i, _ in enumerate(binding.classes, start=1)]
        items |= {name: write_score(name, bits) for name in names}
        classes = (value for value, _ in binding.classes)
        return Values(items, roles | {"score": dict(zip(classes, names, strict=True))}, bits > 0)
    if "prediction" in binding.role:
        items["prediction"] = write_class(binding.role["prediction"], "prediction")
    else:
        items["prediction"] = write_predicted_class(binding)
    return Values(items, roles | {"prediction": "prediction"})


def replace_models(binding: Binding) -> Binding:
    """Return a binding whose rows hold the columns of all models, instead of a row per model.

    The predictions of models that also have scores are last.
    """
    names = [model for model, each in binding.models for _ in each]
    names += [model for (model, _), _ in zip(binding.models, binding.predictions, strict=False)]
    columns = tuple(zip(names, binding.mapped_columns, strict=True))
    return replace(binding, models=(), predictions=(), thresholds=(), classes=columns)
