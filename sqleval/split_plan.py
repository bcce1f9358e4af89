"""Splits as statements: a method and columns to SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import polars as pl
from sqlglot import exp

from sqleval import bind, catalog, dialects, graph, rewrite
from sqleval.binding import Column, is_integer, is_number
from sqleval.build import Cte, Statement
from sqleval.catalog import Relation
from sqleval.engine import duckdb as engine
from sqleval.errors import DataError, RequestError
from sqleval.names import literal, nearest, quote
from sqleval.parameters import Value
from sqleval.source import Source


class Method(NamedTuple):
    """A way to split.

    Attributes
    ----------
    file : str
        The file under ``sql/split``.
    takes : frozenset of str
        The options that it has, besides ``key`` and ``where``.
    repeats : int
        How often it is repeated if that is not said.
    """

    file: str
    takes: frozenset[str]
    repeats: int = 1


def _method(file: str, takes: str, repeats: int = 1) -> Method:
    return Method(file, frozenset(takes.split()), repeats)


_DRAWN = "stratify group repeats seed"
METHODS: Mapping[str, Method] = {
    "holdout": _method("holdout", f"{_DRAWN} test_size time gap"),
    "repeated_holdout": _method("holdout", f"{_DRAWN} test_size", 100),
    "kfold": _method("kfold", f"{_DRAWN} n_splits"),
    "repeated_kfold": _method("kfold", f"{_DRAWN} n_splits", 10),
    "nested_kfold": _method("nested_kfold", f"{_DRAWN} n_splits"),
    "leave_one_out": _method("leave_one_out", "seed"),
    "leave_p_groups_out": _method("leave_one_out", "group p seed"),
    "bootstrap": _method("bootstrap", _DRAWN),
    "expanding": _method("expanding", "time n_splits gap"),
    "sliding": _method("sliding", "time n_splits gap window"),
    "hash_holdout": _method("hash_holdout", "group repeats seed test_size"),
    "hash_kfold": _method("hash_kfold", "group repeats seed n_splits"),
}
#: Types whose text is the same on every engine.
_TEXTS = ("VARCHAR", "DATE", "UUID")
_NO_MD5 = ("sqlite", "tsql")
_SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86400, "w": 604800}


def names_of(given: str | Sequence[str] | None) -> list[str]:
    """Return the names that an option holds: none, one or several."""
    return [] if given is None else [given] if isinstance(given, str) else list(given)


def seconds(where: str, given: float | str) -> float:
    """Return a span of time as a number: as it is, or ``7d``, ``36h``, ``90min`` in seconds.

    Examples
    --------
    >>> seconds("gap", "7d")
    604800.0
    """
    if not isinstance(given, str):
        return float(given)
    number = given.strip().rstrip("smindhw")
    unit = given.strip()[len(number) :]
    try:
        return float(number) * _SECONDS[unit]
    except (ValueError, KeyError):
        raise RequestError(f"{where}={given!r} is no span; write 7d, 36h, 90min or 30s") from None


def _text(column: Column, role: str) -> str:
    """Return a key column as the text that is hashed, over the source ``s``."""
    if not (is_integer(column.type) or column.type in _TEXTS or column.type.startswith("ENUM")):
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
    if column.type == "DATE" or column.type.startswith("TIMESTAMP"):
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
    least : int
        As many rows, groups or times it needs.
    """

    statement: Statement
    schema: pl.Schema
    source: Source
    columns: list[str]
    least: int


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
        if name in catalog.CONTRACT:
            return None
        fitting = [file for file in catalog.files(name) if file.when <= true]
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


def _check(name: str, given: Mapping[str, Any]) -> Method:
    """Return the method that is meant, or raise if an option is none of its own."""
    if name not in METHODS:
        raise RequestError(
            f"no method {name!r}{nearest(name, METHODS)} (methods: {', '.join(METHODS)})"
        )
    method = METHODS[name]
    if given.get("time") and name == "holdout":
        method = Method("holdout_by_time", frozenset({"test_size", "time", "gap"}))
    elif name == "holdout":
        method = method._replace(takes=method.takes - {"gap"} | {"time"})
    defaults = {"test_size": 0.3, "n_splits": 10, "seed": 0, "gap": 0, "p": 1}
    for option, value in given.items():
        empty = value is None or value == () or value == [] or value == defaults.get(option)
        if not empty and option not in method.takes:
            takes = ", ".join(sorted(method.takes))
            raise RequestError(f"{option}= does not go with method={name!r}, which takes {takes}")
    for option, needed in (("time", name in ("expanding", "sliding")),
                           ("window", name == "sliding"),
                           ("group", name == "leave_p_groups_out")):  # fmt: skip
        if needed and not given.get(option):
            raise RequestError(f"method={name!r} needs {option}=")
    if given.get("p", 1) not in (1, 2):
        raise RequestError(f"p={given['p']!r} must be 1 or 2")
    if given.get("p") == 2:
        return method._replace(file="leave_two_out")
    return method


def plan(
    source: Source, options: Mapping[str, Any], *, dialect: str = "duckdb", columns: Any = None
) -> Split:
    """Check what was asked for and return the split; ``columns`` are those of a table elsewhere."""
    given = dict(options)
    name, where = str(given.pop("method")), given.pop("where", None)
    key, roles = names_of(given.pop("key")), names_of(given.pop("roles", None))
    stratify, group = names_of(given["stratify"]), names_of(given["group"])
    given |= {"stratify": stratify, "group": group}
    if given["repeats"] is None:
        given.pop("repeats")
    method = _check(name, given)
    known: bind.Columns = engine.describe(source) if columns is None else columns
    if not key:
        raise RequestError("key= is needed: the columns that tell rows apart")
    for each, of in (("key", key), ("stratify", stratify), ("group", group)):
        if len({*of}) < len(of):
            raise RequestError(f"{each}= names a column twice: {', '.join(of)}")
    if {column.lower() for column in key} & _OWN.keys():
        raise RequestError(
            f"key={key}: a split has columns of its own that are called so; rename it"
        )
    found = {
        role: [bind.find(known, each, role, source.label) for each in of]
        for role, of in (("key", key), ("stratify", stratify), ("group", group))
    }
    condition, read = ("", ()) if where is None else bind.condition(where, known, source.label)
    ids = [f"key_{i}" for i in range(1, len(key) + 1)]
    groups = [f"group_{i}" for i in range(1, len(group) + 1)]
    hashed, role = (found["group"], "group") if group else (found["key"], "key")
    listed = [f"s.{quote(c.name)} AS {n}" for c, n in zip(found["key"], ids, strict=True)]
    listed += [f"s.{quote(c.name)} AS {n}" for c, n in zip(found["group"], groups, strict=True)]
    listed.append(" || '|' || ".join(_text(column, role) for column in hashed) + " AS text")
    listed.append(f"{stratum_text(found['stratify'])} AS stratum")
    extra = ["stratum"]
    times: list[Column] = []
    if given["time"]:
        times = [bind.find(known, given["time"], "time", source.label)]
        for span in ("gap", "window"):
            if isinstance(given[span], str) and is_number(times[0].type):
                raise RequestError(
                    f"{span}={given[span]!r} is a span of time, and {times[0].name!r} is a number"
                )
        listed.append(f"{time_number(times[0])} AS time")
        extra.append("time")
    filtered = f"\nWHERE {condition}" if condition else ""
    elsewhere = columns is not None
    relation = "_input" if elsewhere else source.relation
    # A file is read again sooner than its rows are kept; a stream is read once.
    hint = "" if source.stream or elsewhere else "NOT MATERIALIZED"
    units = groups or ids
    ctes = [
        Cte("_rows", f"SELECT {', '.join(listed)} FROM {relation} AS s{filtered}", hint),
        Cte("units", _units(bool(groups), units, extra), "" if groups else hint),
    ]
    resolve = _resolve(bool(groups), "" if elsewhere else dialect)
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
        if roles and each.name == method.file:
            query = _of_roles(query, roles) or query
        bound = rewrite.bind(query, units, {}, same)
        ctes.append(Cte(each.name, rewrite.text(bound)))
    main = resolve(method.file)
    assert main is not None
    own = [column for column in main.columns if column != "slice"]
    names = [f"a.{n} AS {quote(k)}" for n, k in zip(ids, key, strict=True)]
    select = f"SELECT {', '.join([*names, *(f'a.{n}' for n in own)])}\nFROM {method.file} AS a"
    if groups:
        names = [f"r.{n} AS {quote(k)}" for n, k in zip(ids, key, strict=True)]
        on = rewrite.null_safe("r", "a", groups)
        select = (
            f"SELECT {', '.join([*names, *(f'a.{n}' for n in own)])}\n"
            f"FROM _rows AS r\nJOIN {method.file} AS a ON {on}"
        )
    if roles:
        select += f"\nWHERE a.role IN ({', '.join(map(literal, roles))})"
    used = {param: value for param, value in values.items() if _uses(ctes, param)}
    statement = Statement(tuple(ctes), select, used, (*key, *own))
    schema = pl.Schema({**_types(found["key"]), **{name: _OWN[name] for name in own}})
    every = [*found["key"], *found["stratify"], *found["group"], *times]
    columns_read = list(dict.fromkeys([*(c.name for c in every), *read]))
    folds = int(str(values.get("n_splits", 1)))
    least = {
        "kfold": folds, "nested_kfold": folds, "leave_one_out": 2, "leave_two_out": 3,
        "holdout": 2, "holdout_by_time": 2, "expanding": folds + 1, "sliding": folds + 1,
    }  # fmt: skip
    return Split(statement, schema, source, columns_read, least.get(method.file, 0))


def judge(split: Split) -> None:
    """Raise `DataError` if there are too few rows, groups or times, or a time is missing.

    A source that can be read only once is not looked at before.
    """
    if split.least == 0 or split.source.once:
        return
    rows = split.statement.ctes[0]
    timed = " AS time" in rows.sql
    # NaN is larger than any number there.
    known = "CASE WHEN time <= 1.7976931348623157e308 THEN time END"
    grouped = " AS group_1" in rows.sql
    of = "COUNT(DISTINCT text), 0" if grouped else "COUNT(*), 0"
    if timed:
        of = f"COUNT(DISTINCT {known}), COUNT(*) - COUNT({known})"
    statement = replace(split.statement, ctes=(rows,), select=f"SELECT {of} FROM _rows")
    objects = split.source.objects(split.columns)
    ((found, missing),) = engine.few(statement.inlined(), {}, [split.source], objects)
    if missing:
        raise DataError(f"the time of {missing:,} rows of {split.source.label} is NULL or NaN; "
                        "where= can leave them out")  # fmt: skip
    if found < split.least:
        what = "times" if timed else "groups" if grouped else "rows"
        raise DataError(f"{split.source.label} has {found:,} {what}, and this split needs at least "
                        f"{split.least:,}")  # fmt: skip


_OWN: Mapping[str, Any] = {
    "repeat": pl.Int64, "fold": pl.Int64, "inner_fold": pl.Int64, "role": pl.String,
    "in_bag_count": pl.Int64,
}  # fmt: skip


def _uses(ctes: Sequence[Cte], param: str) -> bool:
    return any(f"${param}" in cte.sql for cte in ctes)


def _value(param: str, given: Mapping[str, Any], method: Method, default: Value) -> Any:
    if param == "repeats":
        return given.get("repeats", method.repeats)
    value = given.get(param, default)
    return seconds(param, value) if param in ("gap", "window") and value is not None else value


def _types(key: Sequence[Column]) -> dict[str, Any]:
    nulls = ", ".join(f"CAST(NULL AS {c.type}) AS {quote(c.name)}" for c in key)
    with engine.many(f"SELECT {nulls} LIMIT 0", {}, [], {}) as relation:
        return dict(pl.DataFrame(relation).schema)


def text(table: str, dialect: str, options: Mapping[str, Any]) -> str:
    """Return a split as one statement in a dialect, over a table there.

    Parameters
    ----------
    table : str
        The table's name as the dialect has it.
    dialect : str
        One of `sqleval.dialects.DIALECTS`; it must have the function MD5.
    options : mapping
        The options of `sqleval.split`; ``time`` must be a number there.

    Raises
    ------
    RequestError
        For an unknown dialect, or one that has no MD5.
    """
    known = dialects.DIALECTS
    if dialect not in known:
        raise RequestError(f"no dialect {dialect!r}{nearest(dialect, known)} ({', '.join(known)})")
    if dialect in _NO_MD5:
        raise RequestError(f"{known[dialect]} has no MD5 of a text as hexadecimals, which decides")
    if options.get("where"):
        raise RequestError("where= cannot be used with a table elsewhere; split a view of it")
    roles = ("key", "stratify", "group", "time")
    named = [name for role in roles for name in names_of(options[role])]
    times = names_of(options["time"])
    columns = {n: Column(n, "DOUBLE" if n in times else "VARCHAR") for n in named}
    split = plan(Source("_input", label=table), options, dialect=dialect, columns=columns)
    names = {name: dialects.identifier(name, dialect) for name in named}
    own = dialects.table_name(table, dialect)
    return dialects.written(split.statement.inlined(), dialect, names, own) + ";\n"
