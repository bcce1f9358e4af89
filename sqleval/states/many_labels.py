"""Writes the statement that builds a state of many labels: decisions, and sums over rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import polars as pl

from sqleval.binding.binding import SQUARES, Binding, Definition
from sqleval.catalog.request import Request, format_request
from sqleval.common.columns import Column
from sqleval.common.sql_text import select, write_key_equality, write_literal
from sqleval.compiler.builder import Builder
from sqleval.compiler.metrics import write_metrics
from sqleval.compiler.placed import PlacedMetric
from sqleval.compiler.requirements import collect_values
from sqleval.compiler.rows import write_usable
from sqleval.compiler.scope import Scope
from sqleval.compiler.state_rows import CLASS, create_relations, name_values
from sqleval.compiler.statement import Statement
from sqleval.compiler.substitution import LABELS, create_labels
from sqleval.engines.base import Engine
from sqleval.engines.types import find_polars_types
from sqleval.errors import RequestError

#: The relation of the cells: slice, label, whether rows have it, and whether it is predicted.
_NAME = "_cells"


def list_options(binding: Binding) -> dict[str, str]:
    """Return what states of many labels must share to be merged: labels and threshold."""
    assert binding.many is not None
    options = {"labels": json.dumps(binding.many.names)}
    if "prediction" in binding.role:
        return options
    return options | {"threshold": repr(0.5 if binding.threshold is None else binding.threshold)}


def check_requests(requests: Sequence[Request], *, is_default: bool) -> tuple[Request, ...]:
    """Return the metrics that a state of many labels can hold.

    Raises
    ------
    RequestError
        For one that needs the scores of all rows, unless it is of the default set.
    """
    if decided := next((each for each in requests if "threshold" in dict(each.parameters)), None):
        raise RequestError(
            f"{format_request(decided)}: a state of many labels holds one decision; give "
            "threshold= (--threshold) of the rows instead"
        )
    kept = tuple(each for each in requests if each.is_per_row or not _reads_scores(each))
    if len(kept) < len(requests) and not is_default:
        lost = next(each for each in requests if each not in kept)
        raise RequestError(
            f"{format_request(lost)} needs the scores of all rows, and a state of many labels "
            "holds decisions and means over rows; build a state of each label as two classes"
        )
    return kept


def _reads_scores(request: Request) -> bool:
    """Whether a metric reads scores, other than by the decisions that a state holds."""
    names, seen = [request.name], {"decisions"}
    while names:
        name = names.pop()
        relation = None if name in seen else request.catalogue.portable(name)
        seen.add(name)
        if relation is not None:
            if "score" in relation.needs.get("predictions", ()):
                return True
            names += relation.reads
    return False


def write_cells(binding: Binding, requests: Sequence[Request]) -> tuple[Builder, dict[str, str]]:
    """Return the statement of the cells, and the column of each mean over rows by its name."""
    builder = Builder(create_relations(binding, "rows"), requests[0].catalogue)
    builder.relations.place(builder, None)
    placed, _, checks = write_metrics(builder, requests)
    of_rows = [each for each in placed if each.request.is_per_row]
    rows = create_labels(of_rows[0].request, binding) if of_rows else ()
    values = collect_values(binding, requests[0])
    decided = builder.place("decisions", Scope((LABELS, *rows), values))
    keys = [*binding.keys, "label_key"]
    named = {name: name for name in keys}
    items = {name: f"d.{name}" for name in (*keys, "label", "prediction")}
    groups = ", ".join(items.values())
    items |= {"_usable": "TRUE", "_rows": "COUNT(*)", "weight": "SUM(d.weight)"}
    items |= {SQUARES: "SUM(d.squares)"}
    lost = named | {"label": "NULL", "prediction": "NULL", "_usable": "FALSE"}
    lost |= {"_rows": "COUNT(*)", "weight": "SUM(weight)" if binding.is_weighted else "COUNT(*)"}
    lost |= {SQUARES: "SUM(weight * weight)" if binding.is_weighted else "COUNT(*)"}
    columns: dict[str, str] = {}
    joins: dict[str, str] = {}
    for i, each in enumerate(of_rows, start=1):
        on = f"{write_key_equality('d', each.cte, binding.keys)} AND d.query = {each.cte}.query"
        on = on.removeprefix(" AND ")
        joins[each.cte] = f"\nJOIN {each.cte} ON {on}"
        column = columns.setdefault(name_values(each.request), f"value_{i}")
        # Each label of a row has the row's value, so the mean over these is that over rows.
        items[column] = f"SUM(d.weight * {_write_value(each)})"
        lost[column] = "0e0"
    used = select(items, f"FROM {decided} AS d{''.join(joins.values())}\nGROUP BY {groups}")
    condition = f"FROM _source\nWHERE ({write_usable(binding)}) IS NOT TRUE"
    unused = select(lost, f"{condition}\nGROUP BY {', '.join(keys)}")
    builder.add_cte(_NAME, f"{used}\nUNION ALL\n{unused}")
    builder.relations.place_audit(builder, checks)
    return builder, columns


def _write_value(placed: PlacedMetric) -> str:
    """Return the value of a row; an undefined one counts as in the mean over rows."""
    value = f"CAST({placed.cte}.{placed.columns['value']} AS DOUBLE)"
    undefined = placed.substitutions[0].undefined_value
    return value if undefined is None else f"COALESCE({value}, {undefined!r})"


def write_statement(
    builder: Builder,
    columns: dict[str, str],
    definition: Definition,
    types: dict[str, Any],
    engine: Engine,
    order: Sequence[str],
) -> tuple[Statement, pl.Schema]:
    """Return the statement of the state's rows, and their types."""
    binding = builder.binding
    assert binding.many is not None
    items = {name: f"r.{key}" for name, key in zip(binding.key_names, binding.keys, strict=True)}
    items |= {CLASS: "r.label_key"}
    types |= dict(find_polars_types([Column(CLASS, binding.many.label.type)], engine))
    for role in ("label", "prediction"):
        items[role], types[role] = f"CAST(r.{role} AS TINYINT)", pl.Int8()
    items["n"], types["n"] = "CAST(r._rows AS BIGINT)", pl.Int64()
    for name in ("weight", SQUARES) if binding.is_weighted else ():
        items[name], types[name] = f"CAST(r.{name} AS DOUBLE)", pl.Float64()
    items["used"], types["used"] = "r._usable", pl.Boolean()
    for name, column in columns.items():
        items[name], types[name] = f"CAST(r.{column} AS DOUBLE)", pl.Float64()
    items["definition"] = write_literal(json.dumps(definition._asdict()))
    types["definition"] = pl.String()
    ordered = [*order, "r.label_key", "r.label NULLS LAST", "r.prediction NULLS LAST"]
    return builder.build_statement(items, _NAME, ordered), pl.Schema(types)
