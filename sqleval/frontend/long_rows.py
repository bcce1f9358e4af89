"""Reads the models and classes of long rows, and pivots the rows to one per case."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from sqleval.binding.binding import Binding
from sqleval.binding.canonical import parse_number
from sqleval.binding.expressions import find_expression, list_texts
from sqleval.binding.long_rows import LongRows, parse_long
from sqleval.binding.lookup import Columns
from sqleval.binding.pivot import pivot_rows, write_label_check, write_values
from sqleval.binding.slice_keys import parse_slice_keys
from sqleval.binding.where import check_condition, check_expression, keep_nan, split_condition
from sqleval.binding.whole_numbers import read_numbers_exactly
from sqleval.catalog.roles import list_arguments
from sqleval.common.columns import Column
from sqleval.engines.base import Engine
from sqleval.errors import DataError, RequestError
from sqleval.frontend.computing import Described, compute_roles
from sqleval.sources.source import Source


def pivot_long(
    described: Described, roles: Mapping[str, Any], engine: Engine
) -> tuple[Described, dict[str, Any]]:
    """Return the input with one row per case, and the roles that bind it.

    Parameters
    ----------
    described : Described
        The long rows, and the late labels.
    roles : mapping of str to object
        The arguments of `sqleval.scan`, with ``long`` and ``key``.
    engine : Engine
        The engine that reads the rows.

    Raises
    ------
    RequestError
        If the arguments do not fit together, or the source can be read only once.
    DataError
        If a row has no model or class.
    """
    roles = dict(roles)
    long, key = roles.pop("long"), roles.pop("key")
    if engine.dialect != "duckdb":
        raise RequestError(
            f"long= reads rows with DuckDB, not with {engine.dialect}: pivot them to a row per "
            "case there, as in a view with a column for each model or class"
        )
    source = described.source
    if source.once:
        raise RequestError(
            f"long= reads the rows more than once, and {source.label} can be read only once; "
            "collect it first"
        )
    own = {name: roles.get(name) for name in ("label", "score", "prediction")}
    described = compute_roles(described, own, engine)
    is_late = described.labels is not None and roles.get("label") not in described.columns
    rows = parse_long(long, key, roles, described.columns, source.label, has_late_label=is_late)
    source, columns = _read_exactly(described, rows, roles, engine)
    source, roles["where"] = _filter_rows(source, columns, rows, roles.get("where"), engine)
    classes = roles.pop("classes", None) if "class" in rows.divided else None
    found = {
        name: [*map(str, classes)]
        if name == "class" and classes
        else _read_values(source, name, column, engine)
        for name, column in rows.divided.items()
    }
    has_truths = rows.may_be_truths and _has_truths(source, rows, found["class"], engine)
    nulls = str(roles.get("nulls", "error"))
    used = _list_used(roles, columns, source.label)
    pivot = pivot_rows(source, columns, rows, found, used=used, nulls=nulls, has_truths=has_truths)
    pivoted, pivoted_columns = engine.describe(pivot.source)
    # A column of FLOAT and DOUBLE files has the type DOUBLE in a subquery.
    singles = {
        name: pivoted_columns[name]._replace(has_singles=True)
        for name, column in pivot.stands_for.items()
        if columns[column.name].has_singles
    }
    if "class" in rows.divided and roles.get("task") is None:
        roles["task"] = "multiclass"
    pivoted = described._replace(source=pivoted, columns={**pivoted_columns, **singles})
    return pivoted._replace(computed={}), roles | pivot.roles


def _list_used(roles: Mapping[str, Any], columns: Columns, about: str) -> set[str]:
    """Return the columns that roles, slice keys and conditions of cases read."""
    used: set[str] = set()
    for name, value in roles.items():
        if name == "where" and value is not None:
            used.update(check_condition(value, columns, about)[1])
        elif name == "by" and isinstance(value, Mapping):
            named = cast("Mapping[str, str]", value)
            used.update(*(key.columns for key in parse_slice_keys(named, columns, about)), named)
        elif name in (*list_arguments(), "by", "over", "on"):
            for text in list_texts(value):
                tree = find_expression(text, columns)
                used.update(check_expression(text, columns, about, name)[1] if tree else [text])
    return used


def _read_exactly(
    described: Described, rows: LongRows, roles: Mapping[str, Any], engine: Engine
) -> tuple[Source, Columns]:
    """Return the source that reads the numbers of CSV and JSON files as they are."""
    source, columns = described[:2]
    named: dict[str, Column] = dict(rows.values)
    named |= {"label": rows.label} if rows.label is not None else {}
    weight = str(roles.get("weight"))
    named |= {"weight": columns[weight]} if weight in columns else {}
    used = {column.name for column in named.values()}
    others = tuple(column for name, column in columns.items() if name not in used)
    task = "multiclass" if "class" in rows.divided else "regression"
    binding = Binding(source.relation, task, tuple(named.items()), by=others)
    exact = read_numbers_exactly(source, columns, binding, described.computed)
    return (source, columns) if exact is source else engine.describe(exact)


def _filter_rows(
    source: Source, columns: Columns, rows: LongRows, where: str | None, engine: Engine
) -> tuple[Source, str | None]:
    """Return the source without the models and classes that ``where=`` leaves out, and the rest.

    The rest of the condition is about cases.
    """
    if where is None:
        return source, None
    names = [column.name for column in rows.divided.values()]
    ours, rest = split_condition(where, names)
    if ours is None:
        return source, rest
    condition, used = check_condition(ours, columns, source.label)
    relation = f"(SELECT s.* FROM {source.relation} AS s WHERE {keep_nan(condition, columns)})"
    filtered = source.add_columns(relation, [], used)
    engine.check_condition(source, condition)
    return replace(filtered, select=None, text_reader=""), rest


def _read_values(source: Source, key: str, column: Column, engine: Engine) -> Sequence[str]:
    """Return the models or classes of the rows, in their order."""
    statement = write_values(column, source.relation)
    found = [
        value for (value,) in engine.rows(statement, {}, [source], source.objects([column.name]))
    ]
    if None in found:
        raise DataError(
            f"long=: the {key} {column.name!r} is NULL in some rows, and each row needs one; "
            f"where= (--where) leaves them out: {column.name} IS NOT NULL"
        )
    if not found:
        raise DataError(f"long=: {source.label} has no rows, and so no {key} in {column.name!r}")
    if key == "class" and len(found) < 2:
        raise DataError(
            f"long=: {column.name!r} has one class, {found[0]!r}; two or more are needed"
        )
    return cast("Sequence[str]", found)


def _has_truths(source: Source, rows: LongRows, classes: Sequence[str], engine: Engine) -> bool:
    """Return whether a label is 1 in the row of the true class, instead of the class itself."""
    label = rows.label
    assert label is not None
    if label.kind == "boolean" or all(parse_number(text) is None for text in classes):
        return True
    statement = write_label_check(rows, source.relation)
    names = [label.name, *(column.name for column in rows.cases)]
    ((differs, shares),) = engine.rows(statement, {}, [source], source.objects(names))
    return bool(differs) and not shares
