"""Builds the statement of a split from its method and columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, NamedTuple

import polars as pl
from sqlglot import exp

from sqleval.binding.lookup import Columns, find_column, list_names
from sqleval.binding.where import check_condition, keep_nan
from sqleval.catalog import graph
from sqleval.catalog.catalogue import builtin
from sqleval.catalog.contract import Relation
from sqleval.catalog.relations import CONTRACT
from sqleval.common.columns import Column, is_number
from sqleval.common.sql_text import Value, quote, write_key_equality, write_literal
from sqleval.compiler import rewrite
from sqleval.compiler.statement import Cte, Statement
from sqleval.dialects import portable
from sqleval.engines.base import Engine
from sqleval.engines.embedded import embedded
from sqleval.engines.types import find_polars_types
from sqleval.errors import RequestError
from sqleval.sources.source import Source
from sqleval.splits.methods import Method, find_method, parse_seconds

#: Types that every engine converts to the same text.
_PORTABLE_TYPES = ("integer", "hugeint", "text", "date", "uuid", "enum")
#: The columns of a split besides the key, and their types.
_RESULT: Mapping[str, Any] = {
    "repeat": pl.Int64, "fold": pl.Int64, "inner_fold": pl.Int64, "role": pl.String,
    "in_bag_count": pl.Int64,
}  # fmt: skip


def _write_key_text(column: Column, role: str) -> str:
    """Return the SQL of a key column's text, which will be hashed, over ``s``."""
    if column.kind not in _PORTABLE_TYPES:
        raise RequestError(
            f"{role}={column.name!r} is {column.type}, whose text is not the same on every engine; "
            "use a whole number, a text or a DATE"
        )
    return f"COALESCE(CAST(s.{quote(column.name)} AS VARCHAR), '')"


def write_stratum_text(columns: Sequence[Column]) -> str:
    """Return the SQL of a text that is unique per combination of values, over ``s``."""
    parts = [f"COALESCE('=' || CAST(s.{quote(c.name)} AS VARCHAR), '-')" for c in columns]
    return " || '|' || ".join(parts) or "''"


def write_time_number(column: Column) -> str:
    """Return the SQL of a time as a number: the seconds of a date or time, or the number itself."""
    name = f"s.{quote(column.name)}"
    if is_number(column.type):
        return f"CAST({name} AS DOUBLE)"
    if column.kind in ("date", "timestamp", "instant"):
        return f"CAST(EPOCH({name}) AS DOUBLE)"
    raise RequestError(
        f"time={column.name!r} is {column.type}; a time is a DATE, a TIMESTAMP or a number"
    )


def name_columns(role: str, columns: Sequence[Column]) -> list[str]:
    """Return the names of the columns of a role in a statement: ``key_1``, ``key_2``."""
    return [f"{role}_{i}" for i, _ in enumerate(columns, start=1)]


class Split(NamedTuple):
    """A split with checked options, ready to run.

    Attributes
    ----------
    statement : Statement
        The statement, with the columns key, ``repeat``, ``fold``, ``role`` and the method's own.
    schema : polars.Schema
        The columns of the result and their types.
    source : Source
        The rows to split.
    columns : list of str
        The columns of the source that the statement reads.
    unit : str
        The units that are assigned to folds: ``rows``, ``groups`` or ``times``.
    min_units : int
        The number of units that the method needs.
    engine : Engine
        The engine that runs the statement.
    groups : list of str
        The columns of ``_rows`` with the group; empty if rows or times are assigned.
    """

    statement: Statement
    schema: pl.Schema
    source: Source
    columns: list[str]
    unit: str
    min_units: int
    engine: Engine
    groups: list[str]


def _select_roles(query: exp.Query, roles: Sequence[str]) -> exp.Query | None:
    """Remove the parts of a UNION whose rows all have another role."""
    if isinstance(query, exp.Union):
        left, right = _select_roles(query.left, roles), _select_roles(query.right, roles)
        return query if left and right else left or right
    (role,) = [item.unalias() for item in query.selects if item.alias_or_name == "role"]
    is_other = isinstance(role, exp.Literal) and role.name not in roles
    return None if is_other else query


def _create_resolver(is_grouped: bool, dialect: str) -> graph.Resolve:
    """Return a function that chooses the most specific file of a step whose conditions hold."""
    conditions = {dialect} | ({"grouped"} if is_grouped else set[str]())

    def resolve(name: str) -> Relation | None:
        if name in CONTRACT:
            return None
        fitting = [file for file in builtin().files(name) if file.when <= conditions]
        return max(fitting, key=lambda file: ("grouped" in file.when, len(file.when)))

    return resolve


def _write_series(last: int, *, is_portable: bool) -> str:
    """Return the relation of the numbers 1 to ``last``."""
    numbers = range(1, last + 1)
    if not is_portable:
        return f"SELECT i FROM (VALUES {', '.join(f'({i})' for i in numbers)}) AS series(i)"
    # Not VALUES, whose columns engines name differently.
    return " UNION ALL ".join(f"SELECT {i} AS i" for i in numbers)


def _write_units(is_grouped: bool, keys: Sequence[str], extra: Sequence[str]) -> str:
    """Return the relation of the units that are assigned to folds, from ``_rows``."""
    if not is_grouped:
        listed = ", ".join([*keys, "text", *extra])
        return f"SELECT {listed}, 1 AS members FROM _rows"
    # The stratum of a group is the most frequent stratum of its rows.
    named = ", ".join([*keys, "text"])
    return (
        f"SELECT {named}, stratum, members FROM (\n"
        f"  SELECT {named}, stratum, SUM(rows_of) OVER (PARTITION BY {named}) AS members,\n"
        f"    ROW_NUMBER() OVER (PARTITION BY {named} ORDER BY rows_of DESC, stratum) AS nth\n"
        f"  FROM (SELECT {named}, stratum, COUNT(*) AS rows_of FROM _rows\n"
        f"    GROUP BY {named}, stratum) AS counted\n"
        ") AS ranked WHERE nth = 1"
    )


class _Columns(NamedTuple):
    """The columns of the source by their role in a split."""

    key: list[Column]
    stratify: list[Column]
    group: list[Column]
    time: list[Column]

    @property
    def ids(self) -> list[str]:
        """The names of the key columns in the statement."""
        return name_columns("key", self.key)

    @property
    def unit(self) -> str:
        """The units that are assigned to folds: ``times``, ``groups`` or ``rows``."""
        return "times" if self.time else "groups" if self.group else "rows"

    @property
    def groups(self) -> list[str]:
        """The names of the group columns in the statement."""
        return name_columns("group", self.group)

    def write_items(self) -> list[str]:
        """Return the items of the SELECT of ``_rows``, over ``s``."""
        pairs = zip([*self.key, *self.group], [*self.ids, *self.groups], strict=True)
        hashed, role = (self.group, "group") if self.group else (self.key, "key")
        text = " || '|' || ".join(_write_key_text(column, role) for column in hashed)
        return [
            *(f"s.{quote(column.name)} AS {name}" for column, name in pairs),
            f"{text} AS text",
            f"{write_stratum_text(self.stratify)} AS stratum",
            *(f"{write_time_number(column)} AS time" for column in self.time),
        ]


def _find_columns(available: Columns, where: str, options: Mapping[str, Any]) -> _Columns:
    names = {role: list_names(options[role], role) for role in _Columns._fields}
    if not names["key"]:
        raise RequestError("key= is needed: the columns that identify a row")
    for role, columns in names.items():
        if len({*columns}) < len(columns):
            raise RequestError(f"{role}= names a column twice: {', '.join(columns)}")
    if {column.lower() for column in names["key"]} & _RESULT.keys():
        raise RequestError(
            f"key={names['key']}: the result of a split has a column of this name; rename the "
            "column of the source"
        )
    selected = _Columns(**{
        role: [find_column(available, each, role, where) for each in columns]
        for role, columns in names.items()
    })  # fmt: skip
    for column in selected.time:
        for span in ("gap", "window"):
            _check_span(span, options[span], column)
    return selected


def _check_span(option: str, value: object, time: Column) -> None:
    """Raise `RequestError` if a gap or window does not fit the type of the time.

    For a date, a number would mean seconds, and a gap of 2 would leave out no day.
    """
    is_span = isinstance(value, (str, timedelta))
    if is_span and is_number(time.type):
        raise RequestError(
            f"{option}={value!r} is a span of time, but time={time.name!r} is a number"
        )
    if not is_span and value and not is_number(time.type):
        raise RequestError(
            f"{option}={value!r} is a number, but time={time.name!r} is {time.type}; write a span "
            "with its unit, as 2d, 12h, 90min or 30s (in Python also a timedelta)"
        )


def _write_combinations(p: int) -> str:
    """Return the relation of all combinations of ``p`` units: ``fold`` and ``place`` per unit."""
    numbers = range(1, p + 1)
    places = ", ".join(f"c{i}.place" for i in numbers)
    named = ", ".join(f"c{i}.place AS place_{i}" for i in numbers)
    joined = " CROSS JOIN ".join(f"numbered AS c{i}" for i in numbers)
    ordered = " AND ".join(f"c{i}.place < c{i + 1}.place" for i in numbers[:-1])
    chosen = f"SELECT ROW_NUMBER() OVER (ORDER BY {places}) AS fold, {named} FROM {joined}"
    if ordered:
        chosen += f" WHERE {ordered}"
    return "\nUNION ALL\n".join(
        f"SELECT fold, place_{i} AS place FROM ({chosen}) AS chosen" for i in numbers
    )


def build_split(
    source: Source,
    options: Mapping[str, Any],
    *,
    dialect: str = "duckdb",
    columns: Any = None,
    engine: Engine | None = None,
) -> Split:
    """Check the options of a split and build its statement.

    Parameters
    ----------
    source : Source
        The rows to split.
    options : mapping
        The options of `sqleval.split`, and ``roles``, the roles in the result.
    dialect : str
        The dialect of the statement, if it is written for an engine that is not at hand.
    columns : mapping of str to Column, optional
        The columns of a table in such an engine; the statement reads the table as ``_input``.
    engine : Engine, optional
        The engine that reads the source and runs the statement; by default DuckDB.

    Raises
    ------
    RequestError
        If a column does not exist or an option does not fit the method.
    """
    values = dict(options)
    name, where = str(values.pop("method")), values.pop("where", None)
    roles = list_names(values.pop("roles", None), "roles")
    is_portable = columns is not None or engine is not None
    running = engine or embedded()
    if columns is None:
        source, columns = running.describe(source)
        relation = source.relation
    else:
        relation = "_input"
    available: Columns = columns
    selected = _find_columns(available, source.label, values)
    key = list_names(values.pop("key"), "key")
    values |= {option: list_names(values[option], option) for option in ("stratify", "group")}
    method = find_method(name, values)
    condition, read = "", ()
    if where is not None:
        if engine is not None:
            portable.check_condition(where, engine.dialect)
        condition, read = check_condition(where, available, source.label)
        condition = condition if is_portable else keep_nan(condition, available)
    resolve = _create_resolver(bool(selected.group), "" if is_portable else dialect)
    declared = graph.collect_parameters(method.file, resolve)
    params = {
        param: kind.check(f"{param}=", _read_option(param, values, method, kind.default))
        for param, kind in declared.items()
    }
    ctes = _write_inputs(source, relation, selected, condition, is_portable=is_portable)
    for param, kind in declared.items():
        if kind.kind == "series":
            series = _write_series(int(str(params[param])), is_portable=is_portable)
            ctes.append(Cte(param, series))
    ctes += _write_steps(method, resolve, selected, roles, [*declared], values["p"])
    result = [column for column in builtin().get(method.file).columns if column != "slice"]
    used = {param: value for param, value in params.items() if _is_used(ctes, param)}
    select = _write_select(method.file, key, selected, result, roles)
    return Split(
        Statement(tuple(ctes), select, used, (*key, *result)),
        pl.Schema({**find_polars_types(selected.key), **{name: _RESULT[name] for name in result}}),
        source,
        [*dict.fromkeys([*(column.name for role in selected for column in role), *read])],
        selected.unit,
        _count_min_units(method, params, values["p"]),
        running,
        selected.groups,
    )


def _write_inputs(
    source: Source, relation: str, selected: _Columns, condition: str, *, is_portable: bool
) -> list[Cte]:
    """Return the relations of the rows and of the units to assign."""
    where = f"\nWHERE {condition}" if condition else ""
    # Read a file twice, which is cheaper than keeping its rows. A stream can be read only once.
    hint = "" if source.stream or is_portable else "NOT MATERIALIZED"
    kept = "MATERIALIZED" if source.once and not is_portable else hint
    is_grouped = bool(selected.group)
    extra = ["stratum", *(["time"] if selected.time else [])]
    units = _write_units(is_grouped, selected.groups or selected.ids, extra)
    items = ", ".join(selected.write_items())
    return [
        Cte("_rows", f"SELECT {items} FROM {relation} AS s{where}", kept),
        Cte("units", units, "" if is_grouped else hint),
    ]


def _write_steps(
    method: Method,
    resolve: graph.Resolve,
    selected: _Columns,
    roles: Sequence[str],
    params: Sequence[str],
    p: int,
) -> list[Cte]:
    """Return the relations of the method's file and of the steps that it reads."""
    ctes: list[Cte] = []
    units = selected.groups or selected.ids
    for step in graph.closure(method.file, resolve).values():
        query = step.query
        if "combinations" in step.reads:
            ctes.append(Cte("combinations", _write_combinations(p)))
        if roles and step.name == method.file:
            query = _select_roles(query, roles) or query
        bound = rewrite.bind_query(query, units, {}, {param: param for param in params})
        ctes.append(Cte(step.name, rewrite.write_sql(bound)))
    return ctes


def _count_min_units(method: Method, params: Mapping[str, Value], p: int) -> int:
    """Return the number of units that a method needs."""
    folds = int(str(params.get("n_splits", 1)))
    return {
        "kfold": folds, "nested_kfold": folds, "leave_one_out": 2, "leave_p_out": p + 1,
        "holdout": 2, "holdout_by_time": 2, "expanding": folds + 1, "sliding": folds + 1,
    }.get(method.file, 0)  # fmt: skip


def _write_select(
    file: str, key: Sequence[str], selected: _Columns, result: Sequence[str], roles: Sequence[str]
) -> str:
    """Return the outermost SELECT: the key and the columns of the split."""
    table = "r" if selected.group else "a"
    items = [f"{table}.{n} AS {quote(k)}" for n, k in zip(selected.ids, key, strict=True)]
    select = f"SELECT {', '.join([*items, *(f'a.{name}' for name in result)])}\n"
    if selected.group:
        on = write_key_equality("r", "a", selected.groups)
        select += f"FROM _rows AS r\nJOIN {file} AS a ON {on}"
    else:
        select += f"FROM {file} AS a"
    return select + (f"\nWHERE a.role IN ({', '.join(map(write_literal, roles))})" if roles else "")


def _is_used(ctes: Sequence[Cte], param: str) -> bool:
    return any(f"${param}" in cte.sql for cte in ctes)


def _read_option(param: str, options: Mapping[str, Any], method: Method, default: Value) -> Any:
    """Return the value of a parameter of the method's SQL file."""
    if param == "repeats":
        return method.repeats if options["repeats"] is None else options["repeats"]
    value = options.get(param, default)
    if param in ("gap", "window") and value is not None:
        return parse_seconds(param, value)
    return value
