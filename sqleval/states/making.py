"""Writes the statement that builds a state: counts and sums per slice, period and score bin."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple
from zoneinfo import available_timezones

import polars as pl

from sqleval.binding.binding import (
    KEY_PREFIX,
    MODEL_PREFIX,
    ROLE_PREFIX,
    SQUARES,
    Binding,
    Definition,
    Period,
)
from sqleval.binding.lookup import find_column, list_unique_names
from sqleval.catalog import request
from sqleval.catalog.catalogue import Catalogue
from sqleval.catalog.roles import ROLES, find_unsupported
from sqleval.common.columns import Column, is_float, is_integer
from sqleval.common.periods import parse_grain, write_period_sql
from sqleval.common.sql_text import write_literal
from sqleval.compiler.bins import Bins, create_bins
from sqleval.compiler.builder import Builder
from sqleval.compiler.classes import CLASS_RELATIONS
from sqleval.compiler.input_rows import RowRelations
from sqleval.compiler.metrics import write_metrics
from sqleval.compiler.queries import NAME, write_query_values
from sqleval.compiler.rows import write_further, write_usable, write_zero_or_one
from sqleval.compiler.singles import has_singles
from sqleval.compiler.state_rows import CLASS
from sqleval.compiler.statement import Statement
from sqleval.engines.base import Engine
from sqleval.engines.types import find_key_types, find_polars_types
from sqleval.errors import RequestError
from sqleval.sources.source import Source
from sqleval.states import many_labels

VERSION = 2
#: Columns of a state besides its slice keys and sums.
RESERVED_COLUMNS = (
    "label", "prediction", "score", "score_low", "score_high", "n", "weight", "squares", "used",
    "definition",
)  # fmt: skip


class State(NamedTuple):
    """The statement that returns a state's rows, its binding, and the types of its columns."""

    binding: Binding
    statement: Statement
    schema: pl.Schema


def _list_kept(binding: Binding) -> tuple[str, ...]:
    """Return the roles beside label, score, prediction and weight that a state has as columns.

    A state of a ranking holds computed metrics of each query, so it needs none of these roles.
    """
    return ("query",) if binding.has_queries else binding.kept


def _describe_roles(
    binding: Binding, label: str, timezone: str | None
) -> tuple[tuple[str, str], ...]:
    """Return the columns and options in which states must agree to be merged."""
    kept = _list_kept(binding)
    described = {
        f"{ROLE_PREFIX}{role}" if role in kept else role: column.name
        for role, column in binding.roles
    }
    if binding.has_queries and "weight" in described:
        described["weight of rows"] = described.pop("weight")
    described |= {f"{MODEL_PREFIX}{name}": column.name for name, (column,) in binding.models}
    decided = [*(column.name for column in binding.predictions), *map(repr, binding.thresholds)]
    what = "prediction" if binding.predictions else "threshold"
    of_models = zip(binding.models, decided, strict=False)
    described |= {f"{what} of model {name}": text for (name, _), text in of_models}
    if "score" in binding.role:
        is_single = all(column.kind == "float32" for column in binding.score_columns)
        kind = "FLOAT" if is_single else "FLOAT, DOUBLE" if has_singles(binding) else "DOUBLE"
        described["score type"] = kind
    for name in ("positive", "where"):
        value = getattr(binding, name)
        described |= {} if value is None else {name: str(value)}
    described |= {"label type": label} if binding.facts.has_labels else {}
    keys = dict(binding.expressions)
    described |= {f"{KEY_PREFIX}{key}": keys[key] for key in binding.key_names if key in keys}
    if binding.period is not None:
        described |= {"time": binding.period.column.name, "timezone": timezone or ""}
    return tuple(sorted(described.items()))


def _add_period(
    binding: Binding,
    source: Source,
    engine: Engine,
    grain: str | None,
    time: str | None,
    timezone: str | None,
) -> Binding:
    """Return the binding with the key ``period``, if ``grain=`` is given."""
    if (grain is None) != (time is None):
        raise RequestError("grain= and time= go together: the length of a period, and its column")
    if grain is None or time is None:
        return binding
    if timezone is not None and timezone not in available_timezones():
        raise RequestError(f"timezone={timezone!r} is not a time zone, such as Europe/Berlin")
    if "period" in binding.key_names:
        raise RequestError("by= names 'period', which is the key that grain= adds")
    column = find_column(engine.describe(source)[1], time, "time", source.label)
    period = Period(write_period_sql(column, parse_grain(grain), timezone), column)
    return replace(binding, period=period)


def _check_input(binding: Binding) -> None:
    """Raise `RequestError` if rows of this kind have no state."""
    if binding.classes or binding.has_counts or binding.over:
        what = "counts= or over="
        if binding.classes:
            what = "a score per class; prediction= takes the predicted class, of several models too"
        raise RequestError(f"a state holds a score or a decision, not {what}")
    if not binding.has_queries and (lost := find_unsupported(binding.further)) is not None:
        raise RequestError(f"a state does not keep the values of {lost}=: leave it out")
    if binding.is_expected:
        raise RequestError("a state holds labels, but expected= has none")
    if binding.sets:
        raise RequestError("a state has all slice keys; use sets= when you evaluate it")
    if binding.state is not None:
        raise RequestError("these rows are a state already; build states from predictions")


def build_state(
    binding: Binding,
    source: Source,
    engine: Engine,
    metrics: str | Sequence[str] | None,
    *,
    by: str | Sequence[str] | None,
    grain: str | None,
    time: str | None,
    timezone: str | None,
    bins: int,
    ci: bool,
    catalogue: Catalogue,
) -> State:
    """Return the statement of a state; see `Predictions.state`."""
    bits = create_bins(bins).bits
    _check_input(binding)
    if by is not None:
        _, columns = engine.describe(source)
        keys = tuple(
            find_column(columns, name, "by", source.label) for name in list_unique_names(by, "by")
        )
        binding = replace(binding, by=keys)
    binding = _add_period(binding, source, engine, grain, time, timezone)
    requests = request.parse_all(metrics, binding.task, binding.has_score, catalogue=catalogue)
    if binding.has_queries:
        return _build_query_state(binding, engine, requests, grain, timezone)
    if binding.many is not None:
        kept = many_labels.check_requests(requests, is_default=metrics is None)
        return _build_label_state(binding, engine, kept, grain, timezone)
    has_score = "score" in binding.role
    rows = RowRelations(binding, Bins(bits if has_score else 0), dialect=binding.dialect)
    builder = Builder(rows, catalogue, ci=ci)
    rows.place(builder, None)
    for each in requests:
        if any(each.depends_on(name) for name in CLASS_RELATIONS):
            raise RequestError(f"{each.name} needs a score per class, which a state does not hold")
    # Placing the metrics collects the sums they need in rows.columns_by_description.
    _, _, checks = write_metrics(builder, requests, 0.95 if ci else None)
    rows.place_audit(builder, checks)
    label_type = _find_label_type(binding)
    definition = Definition(
        VERSION, binding.task, bits if has_score else 0,
        _describe_roles(binding, str(label_type), timezone), grain or "", binding.key_names,
        tuple(sorted([*rows.columns_by_description, *([SQUARES] if binding.is_weighted else [])])),
    )  # fmt: skip
    _check_keys(binding, definition)
    return _write_statement(builder, rows, definition, label_type, engine)


def _check_keys(binding: Binding, definition: Definition) -> None:
    """Raise `RequestError` if a slice key has the name of a column of the state."""
    names = (*RESERVED_COLUMNS, *_list_kept(binding), *definition.columns)
    names = (*names, CLASS) if binding.many is not None else names
    taken = {name.casefold() for name in names}
    for name in binding.key_names:
        if name.casefold() in taken:
            raise RequestError(f"by={name!r}: a state has a column of that name; rename the key")


def _build_query_state(
    binding: Binding,
    engine: Engine,
    requests: Sequence[request.Request],
    grain: str | None,
    timezone: str | None,
) -> State:
    """Return the statement of a ranking's state: one row per query, with each metric's value."""
    values = write_query_values(binding, requests)
    builder = values.builder
    builder.relations.place_audit(builder, values.checks)
    roles = _describe_roles(binding, str(_find_label_type(binding)), timezone)
    sums = tuple(sorted(values.columns))
    definition = Definition(VERSION, binding.task, 0, roles, grain or "", binding.key_names, sums)
    _check_keys(binding, definition)
    keys = dict(zip(binding.key_names, binding.keys, strict=True))
    items = {name: f"r.{key}" for name, key in keys.items()}
    types: dict[str, Any] = dict(find_key_types(binding, engine))
    items |= {"query": "r.query", "n": "CAST(r._rows AS BIGINT)", "used": "r._usable"}
    types |= _find_further_type(binding, "query", engine)
    types |= {"n": pl.Int64(), "used": pl.Boolean()}
    items |= {text: f"r.{values.columns[text]}" for text in definition.columns}
    types |= dict.fromkeys(definition.columns, pl.Float64())
    items["definition"] = write_literal(json.dumps(definition._asdict()))
    types["definition"] = pl.String()
    order = [f"r.{keys[name]} NULLS LAST" for name in order_keys(binding.key_names)]
    statement = builder.build_statement(items, NAME, [*order, "r.query NULLS LAST"])
    return State(binding, statement, pl.Schema(types))


def _build_label_state(
    binding: Binding,
    engine: Engine,
    requests: Sequence[request.Request],
    grain: str | None,
    timezone: str | None,
) -> State:
    """Return the statement of a state of many labels: rows by label and decision, with sums."""
    builder, columns = many_labels.write_cells(binding, requests)
    roles = dict(_describe_roles(binding, str(_find_label_type(binding)), timezone))
    roles |= many_labels.list_options(binding)
    squares = [SQUARES] if binding.is_weighted else []
    sums = tuple(sorted([*columns, *squares]))
    definition = Definition(
        VERSION, binding.task, 0, tuple(sorted(roles.items())), grain or "", binding.key_names, sums
    )
    _check_keys(binding, definition)
    keys = dict(zip(binding.key_names, binding.keys, strict=True))
    order = [f"r.{keys[name]} NULLS LAST" for name in order_keys(binding.key_names)]
    types: dict[str, Any] = dict(find_key_types(binding, engine))
    made = many_labels.write_statement(builder, columns, definition, types, engine, order)
    return State(binding, *made)


def _find_label_type(binding: Binding) -> Any:
    if binding.has_two_classes:
        return pl.Int8()
    if not binding.facts.has_labels:
        return None
    kind = binding.role["label"].type
    return pl.Float64() if is_float(kind) else pl.Int64() if is_integer(kind) else pl.String()


def _find_further_type(binding: Binding, role: str, engine: Engine) -> dict[str, Any]:
    kind = ROLES[role].value_facts.type or binding.role[role].type
    return dict(find_polars_types([Column(role, kind)], engine))


def order_keys(keys: Sequence[str]) -> list[str]:
    """Return the keys by which a state's rows are sorted, the period first."""
    return sorted(keys, key=lambda key: key != "period")


def _find_exact_type(binding: Binding) -> str | None:
    """Return the type of the scores if DOUBLE may round them, else None."""
    kinds = {column.type for column in binding.score_columns}
    if all(map(is_integer, kinds)):
        return "HUGEINT"
    return kinds.pop() if len(kinds) == 1 and not any(map(is_float, kinds)) else None


def _write_statement(
    builder: Builder, rows: RowRelations, definition: Definition, label_type: Any, engine: Engine
) -> State:
    """Return the statement of the state's columns over the relation ``_grouped``."""
    binding = builder.binding
    items = {name: f"r.{key}" for name, key in zip(binding.key_names, binding.keys, strict=True)}
    types: dict[str, Any] = dict(find_key_types(binding, engine))
    if not binding.has_values:
        for role in ("label", "prediction"):
            if role in binding.role:
                items[role] = write_zero_or_one(binding, role) if binding.has_two_classes else role
                types[role] = label_type
    for role in _list_kept(binding):
        items[role] = write_further(binding, role)
        types |= _find_further_type(binding, role, engine)
    if definition.bits:
        for end in ("score", "score_low", "score_high"):
            items[end] = f"CAST(r.{end} AS DOUBLE)"
            types[end] = pl.Float64()
        # Different scores that round to the same DOUBLE must not look like one score.
        low, high = items["score_low"], items["score_high"]
        is_rounded = f"(r.score_low < r.score_high AND {low} = {high})"
        kind = _find_exact_type(binding)
        for end in ("score_low", "score_high") if kind else ():
            # Another row or state may hold another score that rounds to the same DOUBLE.
            is_rounded += f" OR TRY_CAST({items[end]} AS {kind}) IS DISTINCT FROM r.{end}"
        items["score_high"] = (
            f"{high} + CASE WHEN {is_rounded} THEN ABS({high}) * 2.3e-16 ELSE 0e0 END"
        )
    items["n"], types["n"] = "CAST(r._rows AS BIGINT)", pl.Int64()
    if binding.is_weighted:
        for name in ("weight", SQUARES):
            items[name], types[name] = f"r.{name}", pl.Float64()
    used = "r._used" if binding.has_values else write_usable(binding)
    items["used"], types["used"] = f"COALESCE({used}, FALSE)", pl.Boolean()
    for description in definition.columns:
        if description == SQUARES:
            continue
        column = rows.columns_by_description[description]
        items[description] = (
            f"r.{column}" if column in rows.shared else f"CAST(r.{column} AS DOUBLE)"
        )
        types[description] = pl.Int64() if column in rows.shared else pl.Float64()
    items["definition"] = write_literal(json.dumps(definition._asdict()))
    types["definition"] = pl.String()
    ctes = ("_labels", "_source", "_grouped", "_audit", "_problems")
    builder.ctes = {name: cte for name, cte in builder.ctes.items() if name in ctes}
    keys = dict(zip(binding.key_names, binding.keys, strict=True))
    order = [f"r.{keys[name]} NULLS LAST" for name in order_keys(binding.key_names)]
    statement = builder.build_statement(items, "_grouped", order)
    return State(binding, statement, pl.Schema(types))
