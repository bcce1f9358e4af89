"""Splits as statements: a method and columns to SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import polars as pl
from sqlglot import exp

from sqleval.catalog import graph
from sqleval.catalog.catalogue import builtin
from sqleval.catalog.contract import CONTRACT, Relation
from sqleval.common.columns import Column, is_number
from sqleval.common.sql_text import Value, literal, null_safe, quote
from sqleval.compiler import rewrite
from sqleval.compiler.statement import Cte, Statement
from sqleval.engines.embedded import embedded
from sqleval.engines.types import polars_types
from sqleval.errors import DataError, RequestError
from sqleval.inputs.lookup import Columns, find, names_of
from sqleval.inputs.source import Source
from sqleval.inputs.where import condition as checked_condition
from sqleval.splits.methods import Method, method_of, seconds

#: Types whose text is the same on every engine.
_TEXTS = ("integer", "hugeint", "text", "date", "uuid", "enum")
#: The types of a split's own columns.
_OWN: Mapping[str, Any] = {
    "repeat": pl.Int64, "fold": pl.Int64, "inner_fold": pl.Int64, "role": pl.String,
    "in_bag_count": pl.Int64,
}  # fmt: skip


def _text(column: Column, role: str) -> str:
    """Return a key column as the text that is hashed, over the source ``s``."""
    if column.kind not in _TEXTS:
        raise RequestError(
            f"{role}={column.name!r} is {column.type}, whose text is not the same on every engine; "
            "use a whole number, a text or a DATE"
        )
    return f"COALESCE(CAST(s.{quote(column.name)} AS VARCHAR), '')"


def stratum_text(columns: Sequence[Column]) -> str:
    """Return columns as one text that no other values have, over the source ``s``."""
    marked = [f"COALESCE('=' || CAST(s.{quote(c.name)} AS VARCHAR), '-')" for c in columns]
    return " || '|' || ".join(marked) or "''"


def time_number(column: Column) -> str:
    """Return a time as a number: seconds for a date or a time, and as it is otherwise."""
    name = f"s.{quote(column.name)}"
    if is_number(column.type):
        return f"CAST({name} AS DOUBLE)"
    if column.kind in ("date", "timestamp", "instant"):
        return f"CAST(EPOCH({name}) AS DOUBLE)"
    raise RequestError(
        f"time={column.name!r} is {column.type}; a time is a DATE, a TIMESTAMP or a number"
    )


class Split(NamedTuple):
    """A split, checked and ready to be written.

    Attributes
    ----------
    statement : Statement
        Keys, ``repeat``, ``fold``, ``role`` and what else the method gives.
    schema : polars.Schema
        Its columns and their types.
    source : Source
        Where the rows come from.
    columns : list of str
        The columns of the source that it reads.
    least, unit : int, str
        As many rows, groups or times it needs, and which of them.
    """

    statement: Statement
    schema: pl.Schema
    source: Source
    columns: list[str]
    least: int
    unit: str


def _of_roles(query: exp.Query, roles: Sequence[str]) -> exp.Query | None:
    """Leave out the parts of a UNION whose rows all have another role."""
    if isinstance(query, exp.Union):
        left, right = _of_roles(query.left, roles), _of_roles(query.right, roles)
        return query if left and right else left or right
    (role,) = [item.unalias() for item in query.selects if item.alias_or_name == "role"]
    other = isinstance(role, exp.Literal) and role.name not in roles
    return None if other else query


def _resolve(grouped: bool, dialect: str) -> graph.Resolve:
    true = {dialect} | ({"grouped"} if grouped else set[str]())

    def resolve(name: str) -> Relation | None:
        if name in CONTRACT:
            return None
        fitting = [file for file in builtin().files(name) if file.when <= true]
        return max(fitting, key=lambda file: ("grouped" in file.when, len(file.when)))

    return resolve


def _series(most: int, *, elsewhere: bool) -> str:
    numbers = range(1, most + 1)
    if not elsewhere:
        return f"SELECT i FROM (VALUES {', '.join(f'({i})' for i in numbers)}) AS given(i)"
    # How VALUES gets its name differs.
    return " UNION ALL ".join(f"SELECT {i} AS i" for i in numbers)


def _units(grouped: bool, keys: Sequence[str], extra: Sequence[str]) -> str:
    """Return the relation of what is assigned, from ``_rows``."""
    if not grouped:
        listed = ", ".join([*keys, "text", *extra])
        return f"SELECT {listed}, 1 AS members FROM _rows"
    # The stratum of a group is that of most of its rows.
    named = ", ".join([*keys, "text"])
    return (
        f"SELECT {named}, stratum, members FROM (\n"
        f"  SELECT {named}, stratum, SUM(rows_of) OVER (PARTITION BY {named}) AS members,\n"
        f"    ROW_NUMBER() OVER (PARTITION BY {named} ORDER BY rows_of DESC, stratum) AS nth\n"
        f"  FROM (SELECT {named}, stratum, COUNT(*) AS rows_of FROM _rows\n"
        f"    GROUP BY {named}, stratum) AS counted\n"
        ") AS ranked WHERE nth = 1"
    )


class _Asked(NamedTuple):
    """The columns that a split is of, found in the source."""

    key: list[Column]
    stratify: list[Column]
    group: list[Column]
    time: list[Column]

    @property
    def ids(self) -> list[str]:
        """What the key's columns are called in the statement."""
        return [f"key_{i}" for i, _ in enumerate(self.key, start=1)]

    @property
    def unit(self) -> str:
        """What is told apart: times, groups or rows."""
        return "times" if self.time else "groups" if self.group else "rows"

    @property
    def groups(self) -> list[str]:
        """What the group's columns are called in the statement."""
        return [f"group_{i}" for i, _ in enumerate(self.group, start=1)]

    def rows(self) -> list[str]:
        """Return the items of ``_rows``, over the source ``s``."""
        pairs = zip([*self.key, *self.group], [*self.ids, *self.groups], strict=True)
        hashed, role = (self.group, "group") if self.group else (self.key, "key")
        text = " || '|' || ".join(_text(column, role) for column in hashed)
        return [
            *(f"s.{quote(column.name)} AS {name}" for column, name in pairs),
            f"{text} AS text",
            f"{stratum_text(self.stratify)} AS stratum",
            *(f"{time_number(column)} AS time" for column in self.time),
        ]


def _asked(known: Columns, where: str, given: Mapping[str, Any]) -> _Asked:
    names = {role: names_of(given[role]) for role in _Asked._fields}
    if not names["key"]:
        raise RequestError("key= is needed: the columns that tell rows apart")
    for role, of in names.items():
        if len({*of}) < len(of):
            raise RequestError(f"{role}= names a column twice: {', '.join(of)}")
    if {column.lower() for column in names["key"]} & _OWN.keys():
        raise RequestError(
            f"key={names['key']}: a split has columns of its own that are called so; rename it"
        )
    asked = _Asked(**{
        role: [find(known, each, role, where) for each in of] for role, of in names.items()
    })  # fmt: skip
    for span in ("gap", "window"):
        if isinstance(given[span], str) and any(is_number(column.type) for column in asked.time):
            raise RequestError(
                f"{span}={given[span]!r} is a span of time, and {given['time']!r} is a number"
            )
    return asked


def _combinations(p: int) -> str:
    """Return the relation of all choices of ``p`` units: ``fold`` and ``place``, a row a unit."""
    several = range(1, p + 1)
    places = ", ".join(f"c{i}.place" for i in several)
    named = ", ".join(f"c{i}.place AS place_{i}" for i in several)
    joined = " CROSS JOIN ".join(f"numbered AS c{i}" for i in several)
    ordered = " AND ".join(f"c{i}.place < c{i + 1}.place" for i in several[:-1])
    chosen = f"SELECT ROW_NUMBER() OVER (ORDER BY {places}) AS fold, {named} FROM {joined}"
    if ordered:
        chosen += f" WHERE {ordered}"
    return "\nUNION ALL\n".join(
        f"SELECT fold, place_{i} AS place FROM ({chosen}) AS chosen" for i in several
    )


def plan(
    source: Source, options: Mapping[str, Any], *, dialect: str = "duckdb", columns: Any = None
) -> Split:
    """Check what was asked for and return the split; ``columns`` are those of a table elsewhere."""
    given = dict(options)
    name, where = str(given.pop("method")), given.pop("where", None)
    roles = names_of(given.pop("roles", None))
    elsewhere = columns is not None
    known: Columns = columns
    if not elsewhere:
        source, known = embedded().describe(source)
    asked = _asked(known, source.label, given)
    key = names_of(given.pop("key"))
    given |= {option: names_of(given[option]) for option in ("stratify", "group")}
    method = method_of(name, given)
    condition, read = ("", ()) if where is None else checked_condition(where, known, source.label)
    filtered = f"\nWHERE {condition}" if condition else ""
    relation = "_input" if elsewhere else source.relation
    # A file is read again sooner than its rows are kept; a stream is read once.
    hint = "" if source.stream or elsewhere else "NOT MATERIALIZED"
    units = asked.groups or asked.ids
    extra = ["stratum", *(["time"] if asked.time else [])]
    rows = Cte("_rows", f"SELECT {', '.join(asked.rows())} FROM {relation} AS s{filtered}", hint)
    grouped = bool(asked.group)
    ctes = [rows, Cte("units", _units(grouped, units, extra), "" if grouped else hint)]
    resolve = _resolve(grouped, "" if elsewhere else dialect)
    declared = graph.inherited(method.file, resolve)
    values = {
        param: kind.check(f"{param}=", _value(param, given, method, kind.default))
        for param, kind in declared.items()
    }
    for param, kind in declared.items():
        if kind.kind == "series":
            ctes.append(Cte(param, _series(int(str(values[param])), elsewhere=elsewhere)))
    same = {param: param for param in declared}
    for each in graph.closure(method.file, resolve).values():
        query = each.query
        if "combinations" in each.reads:
            ctes.append(Cte("combinations", _combinations(given["p"])))
        if roles and each.name == method.file:
            query = _of_roles(query, roles) or query
        ctes.append(Cte(each.name, rewrite.text(rewrite.bind(query, units, {}, same))))
    own = [column for column in builtin().get(method.file).columns if column != "slice"]
    used = {param: value for param, value in values.items() if _uses(ctes, param)}
    select = _select(method.file, key, asked, own, roles)
    statement = Statement(tuple(ctes), select, used, (*key, *own))
    schema = pl.Schema({**polars_types(asked.key), **{name: _OWN[name] for name in own}})
    every = [column.name for of in asked for column in of]
    folds = int(str(values.get("n_splits", 1)))
    least = {
        "kfold": folds, "nested_kfold": folds, "leave_one_out": 2, "leave_p_out": given["p"] + 1,
        "holdout": 2, "holdout_by_time": 2, "expanding": folds + 1, "sliding": folds + 1,
    }.get(method.file, 0)  # fmt: skip
    return Split(statement, schema, source, [*dict.fromkeys([*every, *read])], least, asked.unit)


def _select(
    file: str, key: Sequence[str], asked: _Asked, own: Sequence[str], roles: Sequence[str]
) -> str:
    """Return the outermost SELECT: the key, and the split's own columns."""
    home = "r" if asked.group else "a"
    items = [f"{home}.{n} AS {quote(k)}" for n, k in zip(asked.ids, key, strict=True)]
    select = f"SELECT {', '.join([*items, *(f'a.{name}' for name in own)])}\n"
    if asked.group:
        on = null_safe("r", "a", asked.groups)
        select += f"FROM _rows AS r\nJOIN {file} AS a ON {on}"
    else:
        select += f"FROM {file} AS a"
    return select + (f"\nWHERE a.role IN ({', '.join(map(literal, roles))})" if roles else "")


def judge(split: Split) -> None:
    """Raise `DataError` if there are too few rows, groups or times, or a time is missing.

    A source that can be read only once is not looked at before.
    """
    if split.least == 0 or split.source.once:
        return
    # NaN is larger than any number there.
    known = "CASE WHEN time <= 1.7976931348623157e308 THEN time END"
    counts = {
        "rows": "COUNT(*), 0",
        "groups": "COUNT(DISTINCT text), 0",
        "times": f"COUNT(DISTINCT {known}), COUNT(*) - COUNT({known})",
    }[split.unit]
    rows = split.statement.ctes[:1]
    statement = replace(split.statement, ctes=rows, select=f"SELECT {counts} FROM _rows")
    objects = split.source.objects(split.columns)
    ((found, missing),) = embedded().rows(statement.inlined(), {}, [split.source], objects)
    where = split.source.label
    if missing:
        raise DataError(
            f"the time of {missing:,} rows of {where} is NULL or NaN; where= can leave them out"
        )
    if found < split.least:
        raise DataError(
            f"{where} has {found:,} {split.unit}, and this split needs at least {split.least:,}"
        )


def _uses(ctes: Sequence[Cte], param: str) -> bool:
    return any(f"${param}" in cte.sql for cte in ctes)


def _value(param: str, given: Mapping[str, Any], method: Method, default: Value) -> Any:
    if param == "repeats":
        return method.repeats if given["repeats"] is None else given["repeats"]
    value = given.get(param, default)
    return seconds(param, value) if param in ("gap", "window") and value is not None else value
