"""Pivots long rows: the rows of a case become one row, with a column for each model or class."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import prod
from typing import Any, NamedTuple

from sqleval.binding.long_rows import PLAIN_KINDS, LongRows
from sqleval.binding.lookup import Columns
from sqleval.common.columns import Column, is_integer
from sqleval.common.sql_text import Scalar, quote, write_literal
from sqleval.errors import RequestError
from sqleval.sources.source import Source

#: The most columns that rows are pivoted to.
_MOST_COLUMNS = 1000
#: Begins the message of a case that cannot be pivoted; the engine raises it as `DataError`.
WRONG_CASE = "long rows: "


def write_values(column: Column, relation: str) -> str:
    """Return the SELECT of the values of a column of ``long=``, as texts in their order."""
    name = f"s.{quote(column.name)}"
    return (
        f"SELECT CAST({name} AS VARCHAR) AS value FROM {relation} AS s "
        f"GROUP BY {name} ORDER BY {name}"
    )


def write_label_check(rows: LongRows, relation: str) -> str:
    """Return the SELECT that tells labels of cases from truths of rows: one row of two booleans.

    The first is whether the rows of some case differ in their label, the second whether the rows of
    some case have a label other than 0 that they share.
    """
    assert rows.label is not None
    label = f"s.{quote(rows.label.name)}"
    cases = ", ".join(f"s.{quote(column.name)}" for column in rows.cases)
    same = f"SELECT MIN({label}) AS low, MAX({label}) AS high FROM {relation} AS s GROUP BY {cases}"
    return (
        "SELECT COALESCE(BOOL_OR(r.low <> r.high), FALSE), "
        "COALESCE(BOOL_OR(r.low = r.high AND CAST(r.low AS DOUBLE) <> 0), FALSE) "
        f"FROM ({same}) AS r"
    )


def write_test(columns: Mapping[str, Column], chosen: Mapping[str, str]) -> str:
    """Return the SQL test of a row of a model, a class, or a class of a model."""
    return " AND ".join(
        f"CAST(s.{quote(columns[name].name)} AS VARCHAR) = {write_literal(text)}"
        for name, text in chosen.items()
    )


def write_chosen(value: Column, test: str) -> str:
    """Return the SQL of the value in the row of a case that meets a test; NULL without one."""
    return f"MAX(CASE WHEN {test} THEN s.{quote(value.name)} END)"


def write_cases(
    relation: str, items: Mapping[str, str], groups: Sequence[str], condition: str | None
) -> str:
    """Return the relation of one row per case, with these columns, from the rows of a relation."""
    listed = ", ".join(f"{sql} AS {quote(name)}" for name, sql in items.items())
    where = f"\nWHERE {condition}" if condition else ""
    return f"(SELECT {listed} FROM {relation} AS s{where}\nGROUP BY {', '.join(groups)})"


class Pivot(NamedTuple):
    """The pivoted rows, and the roles that bind them.

    Attributes
    ----------
    source : Source
        The source, with a row per case.
    roles : dict
        The roles that change: ``score``, ``prediction`` and ``value``.
    stands_for : dict of str to Column
        The column of the long rows by the name of each column that the pivot makes of it.
    """

    source: Source
    roles: dict[str, Any]
    stands_for: dict[str, Column]


def pivot_rows(
    source: Source,
    columns: Columns,
    rows: LongRows,
    found: Mapping[str, Sequence[str]],
    *,
    used: Collection[str],
    nulls: str,
    has_truths: bool,
) -> Pivot:
    """Return the source with one row per case.

    Parameters
    ----------
    source : Source
        The long rows.
    columns : mapping of str to Column
        Their columns.
    rows : LongRows
        How they are pivoted.
    found : mapping of str to sequence of str
        The models, the classes, or both, as texts.
    used : collection of str
        The columns that roles use, in which the rows of a case must agree.
    nulls : {"error", "drop"}
        Whether a case without a row of a model or class is an error, or has missing values.
    has_truths : bool
        Whether the label is 1 in the row of the true class.
    """
    count = prod(len(texts) for texts in found.values())
    if count > _MOST_COLUMNS:
        raise RequestError(
            f"long= makes {count:,} columns, one per {' and '.join(found)}; up to "
            f"{_MOST_COLUMNS:,} are possible"
        )
    kept = [column for column in _list_kept(rows, columns) if column.kind in PLAIN_KINDS]
    items = {column.name: f"s.{quote(column.name)}" for column in rows.cases}
    # An unused column must raise no error. Clusters, which are bound later, are then missing.
    items |= {c.name: _write_shared(rows, c, raises=c.name in used) for c in kept}
    if rows.label is not None:
        label = _write_truth(rows, found) if has_truths else _write_shared(rows, rows.label)
        items[rows.label.name] = label
    made: dict[str, dict[tuple[str, ...], str]] = {}
    stands_for: dict[str, Column] = {}
    for role, keys in rows.keys.items():
        value, made[role] = rows.values[role], {}
        for chosen in product(*(found[key] for key in keys)):
            name = _name_column(value, chosen, {*items, *columns})
            test = _write_test(rows, dict(zip(keys, chosen, strict=True)))
            if len(keys) < len(found):
                items[name] = _write_shared(rows, value, test)
            else:
                items[name] = _write_value(rows, value, dict(zip(keys, chosen, strict=True)), nulls)
            made[role][chosen] = name
            stands_for[name] = value
    groups = [f"s.{quote(column.name)}" for column in rows.cases]
    relation = write_cases(source.relation, items, groups, _write_listed(rows, found))
    read = [*items.keys() - stands_for.keys(), *(c.name for c in rows.divided.values())]
    read += [column.name for column in rows.values.values()]
    pivoted = source.add_columns(relation, list(stands_for), read)
    pivoted = replace(pivoted, select=None, text_reader="", look=None)
    roles = {role: _nest(rows, rows.keys[role], names) for role, names in made.items()}
    return Pivot(pivoted, roles, stands_for)


def _list_kept(rows: LongRows, columns: Columns) -> Iterable[Column]:
    """Return the other columns, in which the rows of a case must agree."""
    own = {column.name for column in (*rows.cases, *rows.divided.values())}
    own |= {rows.values[role].name for role in rows.keys}
    own |= {rows.label.name} if rows.label is not None else set[str]()
    return [column for name, column in columns.items() if name not in own and not column.unusable]


def _nest(
    rows: LongRows, keys: Sequence[str], names: Mapping[tuple[str, ...], str]
) -> dict[Any, Any]:
    """Return columns by model, by class, or by model and class, as `scan` takes them."""
    of_class = next((key for key in ("class", "label") if key in keys), None)
    if of_class is None:
        return {model: name for (model,), name in names.items()}
    is_whole = is_integer(rows.divided[of_class].type)
    nested: dict[Any, dict[Scalar, str]] = {}
    for (*model, text), name in names.items():
        nested.setdefault(tuple(model), {})[int(text) if is_whole else text] = name
    if "model" not in keys:
        return nested[()]
    return {model: classes for (model,), classes in nested.items()}


def _name_column(value: Column, chosen: Sequence[str], taken: set[str]) -> str:
    name = f"{value.name}[{', '.join(chosen)}]"
    while name.casefold() in {each.casefold() for each in taken}:
        name += "_"
    return name


def _raise(rows: LongRows, *parts: str) -> str:
    """Return the SQL that raises an error about a case; ``parts`` are SQL texts."""
    named = [column for column in rows.cases if not column.name.startswith("_sqleval_")]
    begin = WRONG_CASE + "key=" + ", ".join(repr(column.name) for column in named) + ": "
    case = f" || {write_literal(', ')} || ".join(
        f"COALESCE(CAST(s.{quote(column.name)} AS VARCHAR), 'NULL')" for column in named
    )
    whole = " || ".join([write_literal(begin), case, *parts])
    return f"ERROR({whole})"


def _write_shared(
    rows: LongRows, column: Column, test: str = "TRUE", *, raises: bool = True
) -> str:
    """Return the SQL of a value that the rows of a case share, or those that meet a test."""
    name = f"s.{quote(column.name)}"
    name = name if test == "TRUE" else f"CASE WHEN {test} THEN {name} END"
    what = "two labels: " if column == rows.label else f"several values of {column.name!r}: "
    low, high = (
        f"COALESCE(CAST({each}({name}) AS VARCHAR), 'NULL')" for each in ("MIN", "MAX")
    )  # fmt: skip
    wrong = _raise(
        rows, write_literal(f" has {what}"), low, write_literal(" and "),
        f"CASE WHEN MIN({name}) = MAX({name}) THEN 'NULL' ELSE {high} END",
    )  # fmt: skip
    size = "COUNT(*)" if test == "TRUE" else f"COUNT(*) FILTER (WHERE {test})"
    differ = f"MIN({name}) <> MAX({name}) OR COUNT({name}) NOT IN (0, {size})"
    return f"CASE WHEN {differ} THEN {wrong if raises else 'NULL'} ELSE MIN({name}) END"


def _write_truth(rows: LongRows, found: Mapping[str, Sequence[str]]) -> str:
    """Return the SQL of the class whose row is true."""
    assert rows.label is not None
    label, name = f"s.{quote(rows.label.name)}", f"s.{quote(rows.divided['class'].name)}"
    is_boolean = rows.label.kind == "boolean"
    truth = label if is_boolean else f"{label} = 1"
    of_truth = f"FILTER (WHERE {truth})"
    cases = [f"WHEN COUNT({label}) = 0 THEN NULL"]
    if not is_boolean:
        other = f"{label} NOT IN (0, 1)"
        text = f"MAX(CAST({label} AS VARCHAR)) FILTER (WHERE {other})"
        wrong = _raise(
            rows, write_literal(" has the value "), text,
            write_literal(f" in {rows.label.name!r}, which must be 1 in the row of the true class "
            "and 0 in the others"),
        )  # fmt: skip
        cases.append(f"WHEN COUNT(*) FILTER (WHERE {other}) > 0 THEN {wrong}")
    none = _raise(rows, write_literal(f" has no row with 1 in {rows.label.name!r}, the true class"))
    low, high = (f"CAST({each}({name}) {of_truth} AS VARCHAR)" for each in ("MIN", "MAX"))
    two = _raise(rows, write_literal(" has two labels: "), low, write_literal(" and "), high)
    cases.append(f"WHEN COUNT(*) {of_truth} = 0 THEN {none}")
    cases.append(f"WHEN MIN({name}) {of_truth} <> MAX({name}) {of_truth} THEN {two}")
    if "model" in found:
        rows_of_case = len(found["model"]) * len(found["class"])
        differ = _raise(rows, write_literal(" has another label for some of its models"))
        cases.append(
            f"WHEN COUNT(*) = {rows_of_case} AND COUNT(*) {of_truth} <> {len(found['model'])} "
            f"THEN {differ}"
        )
    return f"CASE {' '.join(cases)} ELSE MIN({name}) {of_truth} END"


def _write_test(rows: LongRows, chosen: Mapping[str, str]) -> str:
    return write_test({name: rows.divided[name] for name in chosen}, chosen)


def _write_value(rows: LongRows, value: Column, chosen: Mapping[str, str], nulls: str) -> str:
    """Return the SQL of the value of a model, a class, or a class of a model."""
    of_it = f"FILTER (WHERE {_write_test(rows, chosen)})"
    what = " of ".join(f"the {name} {text!r}" for name, text in reversed([*chosen.items()]))
    twice = _raise(rows, write_literal(" has "), f"COUNT(*) {of_it}", write_literal(
        f" rows of {what}; key= names the case, of which each has one row"
    ))  # fmt: skip
    cases = [f"WHEN COUNT(*) {of_it} > 1 THEN {twice}"]
    if nulls == "error":
        none = _raise(rows, write_literal(
            f" has no row of {what}; nulls='drop' (--nulls drop) leaves it out and counts it"
        ))  # fmt: skip
        cases.append(f"WHEN COUNT(*) {of_it} = 0 THEN {none}")
    return f"CASE {' '.join(cases)} ELSE {write_chosen(value, _write_test(rows, chosen))} END"


def _write_listed(rows: LongRows, found: Mapping[str, Sequence[str]]) -> str:
    """Return the condition of a row that has a case and a known model and class, or is wrong."""
    cases: list[str] = []
    for column in rows.cases:
        none = write_literal(f"{WRONG_CASE}key={column.name!r} is NULL in some rows")
        # A constant would be computed before any row is read.
        name = f"s.{quote(column.name)}"
        cases.append(
            f"WHEN {name} IS NULL THEN ERROR({none} || COALESCE(CAST({name} AS VARCHAR), ''))"
        )
    for key, texts in found.items():
        column = rows.divided[key]
        name = f"CAST(s.{quote(column.name)} AS VARCHAR)"
        listed = ", ".join(map(write_literal, texts))
        other = _raise(
            rows, write_literal(f" has a row of the {key} "), f"COALESCE({name}, 'NULL')",
            write_literal(f" in {column.name!r}; known are {', '.join(texts)}"),
        )  # fmt: skip
        cases.append(f"WHEN {name} IS NULL OR {name} NOT IN ({listed}) THEN {other}")
    return f"CASE {' '.join(cases)} ELSE TRUE END"
