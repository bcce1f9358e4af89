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
from sqleval.catalog.tasks import TASKS
from sqleval.common.columns import Column
from sqleval.engines.base import Engine
from sqleval.errors import DataError, RequestError
from sqleval.frontend.computing import Described, compute_roles, find_home
from sqleval.sources.source import Source

#: The arguments whose columns a case has one of for each model or class, and the label.
_OF_ROWS = ("label", "score", "prediction", "value")


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
    own = {name: roles.get(name) for name in _OF_ROWS}
    own |= {"key": key, "model": list_texts(long)}
    described = compute_roles(described, own, engine)
    is_late = described.labels is not None and roles.get("label") not in described.columns
    rows = parse_long(long, key, roles, described.columns, source.label, has_late_label=is_late)
    source, columns = _read_exactly(described, rows, roles, engine)
    source, roles["where"] = _filter_rows(source, columns, rows, roles.get("where"), engine)
    of_class = next((key for key in ("class", "label") if key in rows.divided), None)
    classes = roles.pop("classes", None) if of_class else None
    found = {
        name: [*map(str, classes)]
        if name == of_class and classes
        else _read_values(source, name, column, engine)
        for name, column in rows.divided.items()
    }
    has_truths = rows.may_be_truths and _has_truths(source, rows, found["class"], engine)
    used = _list_used(roles, described._replace(columns=columns), source.label)
    _check_cases(rows, used, has_truths=has_truths)
    nulls = "drop" if _may_lack_scores(roles) else str(roles.get("nulls", "error"))
    pivot = pivot_rows(
        source, columns, rows, found, used=used.keys(), nulls=nulls, has_truths=has_truths
    )
    pivoted, pivoted_columns = engine.describe(pivot.source)
    # A column of FLOAT and DOUBLE files has the type DOUBLE in a subquery.
    singles = {
        name: pivoted_columns[name]._replace(has_singles=True)
        for name, column in pivot.stands_for.items()
        if columns[column.name].has_singles
    }
    if of_class and roles.get("task") is None:
        roles["task"] = "multiclass" if of_class == "class" else "multilabel"
    pivoted = described._replace(source=pivoted, columns={**pivoted_columns, **singles})
    late = {name: read for name, read in described.computed.items() if name in (pivoted.late or ())}
    return pivoted._replace(computed=late), roles | pivot.roles


def _list_used(roles: Mapping[str, Any], described: Described, about: str) -> dict[str, str]:
    """Return the columns of cases that roles, slice keys and conditions read.

    Each has the argument that reads it. The score, the prediction and the label are left out.
    """
    columns, used = described.columns, dict[str, str]()
    for name, value in roles.items():
        read: list[str] = []
        if name == "where" and value is not None:
            read += check_condition(value, columns, about)[1]
        elif name == "by" and isinstance(value, Mapping):
            named = cast("Mapping[str, str]", value)
            read += [
                each for key in parse_slice_keys(named, columns, about) for each in key.columns
            ]
            read += named
        elif name in (*list_arguments(), "by", "over", "on") and name not in _OF_ROWS:
            for text in list_texts(value):
                if find_home(name, text, described):  # an expression over the late labels
                    continue
                tree = find_expression(text, columns)
                read += check_expression(text, columns, about, name)[1] if tree else [text]
        used |= {column: used.get(column, name) for column in read}
    return used


def _check_cases(rows: LongRows, used: Mapping[str, str], *, has_truths: bool) -> None:
    """Raise `RequestError` if a role or condition reads a column that differs within a case."""
    several = {column.name for column in rows.divided.values()}
    several |= {rows.values[role].name for role in rows.keys}
    several |= {rows.label.name} if has_truths and rows.label is not None else set[str]()
    for name, argument in used.items():
        if name in several:
            advice = (
                "; AND joins a condition on models or classes alone" if argument == "where" else ""
            )
            raise RequestError(
                f"{argument}= reads {name!r}, which differs between the rows of a case, and long= "
                f"makes one row of them{advice}"
            )


def _may_lack_scores(roles: Mapping[str, Any]) -> bool:
    """Whether a case may lack the row of a model, as an item of a ranking may not be retrieved."""
    task = TASKS.get(roles.get("task") or ("ranking" if roles.get("qid") else ""))
    return task is not None and "score" in task.may_be_null


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
    if key in ("class", "label") and len(found) < 2:
        raise DataError(
            f"long=: {column.name!r} has one {key}, {found[0]!r}; two or more are needed"
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
