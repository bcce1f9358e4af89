"""Checks that SQL files and conditions use only portable SQL, which all engines read alike.

sqlglot passes unknown syntax through unchanged, so a list of forbidden syntax would never be
complete. So this module lists the allowed syntax.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from sqleval.common.sql_text import LARGEST
from sqleval.dialects.rewrites import FUNCTIONS
from sqleval.errors import RequestError

ALLOWED: frozenset[type[exp.Expr]] = frozenset(
    {
        # structure
        exp.Select, exp.From, exp.Join, exp.Table, exp.TableAlias, exp.Alias, exp.Column,
        exp.Identifier, exp.Where, exp.Group, exp.Having, exp.With, exp.CTE, exp.Subquery,
        exp.Union, exp.Paren, exp.Placeholder, exp.Values, exp.Tuple,
        # values
        exp.Literal, exp.Boolean, exp.Null, exp.Cast, exp.DataType, exp.Star,
        # arithmetic, comparison, logic
        exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Neg, exp.EQ, exp.NEQ, exp.GT, exp.GTE,
        exp.LT, exp.LTE, exp.Is, exp.In, exp.Between, exp.And, exp.Or, exp.Not, exp.Case,
        exp.If, exp.DPipe,
        # functions
        exp.Sum, exp.Count, exp.Min, exp.Max, exp.Avg, exp.CovarPop, exp.Nullif, exp.Coalesce,
        exp.Abs, exp.Sqrt, exp.Ln, exp.Exp, exp.Pow, exp.Greatest, exp.Least, exp.Floor, exp.Ceil,
        exp.MD5, exp.Substring, exp.StrPosition,
        # windows
        exp.Window, exp.WindowSpec, exp.Order, exp.Ordered, exp.RowNumber, exp.Rank, exp.Lag,
        exp.Lead,
    }
)  # fmt: skip

_HINTS: dict[str, str] = {
    "IsNan": f"use ABS(x) <= {LARGEST}, the one finite test that all engines share",
    "Qualify": "filter in an outer SELECT",
    "Filter": "use SUM(CASE WHEN ... THEN ... END)",
    "CountIf": "use SUM(CASE WHEN ... THEN 1 ELSE 0 END)",
    "TryCast": "use CAST",
    "ArrayAgg": "a list of rows does not spill to disk",
    "PercentileCont": "quantile syntax differs between engines",
    "Log": "the order of LOG's arguments differs; use LN(x) / LN(b)",
    "NullSafeEQ": "use JOIN ... USING (slice)",
    "IntDiv": "use CAST(... AS DOUBLE) / ...",
}
#: The functions that a file may call.
_FUNCTIONS = sorted(
    {each.sql_names()[0] for each in ALLOWED if issubclass(each, exp.Func)}
    - {"AND", "OR", "CASE", "IF", "STR_POSITION"}
    | {"STRPOS"}
)
#: Syntax and functions that only twins for DuckDB may use.
_DUCKDB_FUNCTIONS = frozenset({"md5_number"})
DUCKDB_NODES = (
    exp.BitwiseRightShift,
    exp.BitwiseAnd,
    exp.Typeof,
    exp.TryCast,
)
#: Expressions that only the compiler writes; every engine reads them or gets a rewritten form.
_COMPILED = (
    exp.NullSafeEQ, exp.IsInf, exp.Concat, exp.Distinct, exp.Sign, exp.StddevSamp,
)  # fmt: skip
#: Places of lists and fields of structs, and the dialects whose own form sqlglot writes for them.
_NESTED = (exp.Bracket, exp.Dot)
_DIALECTS_WITH_LISTS = frozenset({"spark", "databricks", "trino"})
_DOUBLE_FUNCTIONS = (exp.Sqrt, exp.Ln, exp.Exp, exp.Pow, exp.CovarPop)
_SAME_TYPE = (
    exp.Paren, exp.Neg, exp.Sum, exp.Abs, exp.Max, exp.Min, exp.Avg, exp.Floor, exp.Ceil,
)  # fmt: skip


def _is_double(node: exp.Expr) -> bool:
    """Return whether ``node`` is DOUBLE on every engine, whatever the types of its columns."""
    if isinstance(node, exp.Cast):
        return bool(node.to.this == exp.DType.DOUBLE)
    if isinstance(node, exp.Literal):
        return not node.is_string and "e" in node.name.lower()
    if isinstance(node, _DOUBLE_FUNCTIONS):
        return True
    if isinstance(node, (exp.Add, exp.Sub, exp.Mul)):
        return _is_double(node.left) or _is_double(node.right)
    if isinstance(node, exp.Div):
        return _is_double(node.left)
    if isinstance(node, (exp.Greatest, exp.Least)):
        return any(_is_double(part) for part in (node.this, *node.expressions))
    if isinstance(node, _SAME_TYPE):
        return _is_double(node.this)
    return False


def _may_be_zero(divisor: exp.Expr) -> bool:
    if isinstance(divisor, exp.Literal):
        return divisor.is_string or not float(divisor.name)
    return not isinstance(divisor, (exp.Nullif, *_DOUBLE_FUNCTIONS))


def _is_inside(node: exp.Expr, *parents: type[exp.Expr]) -> bool:
    return isinstance(node.parent, parents)


def _is_frame_of_ties(spec: exp.WindowSpec) -> bool:
    """Whether a frame has the rows of a tie, which all engines find without comparing offsets."""
    ends = (spec.args.get("start"), spec.args.get("end"))
    return spec.args.get("kind") == "RANGE" and ends == ("CURRENT ROW", "CURRENT ROW")


#: A node type, a test for uses that are not portable, and the reason; {0} is the node's name.
_Use = tuple[type[exp.Expr], Callable[[Any], object], str]
_WRONG: Sequence[_Use] = (
    (exp.Literal, lambda n: not n.is_string and "." in n.name and "e" not in n.name.lower(),
        "the decimal literal {0} is rounded by some engines; write {0} as a power of ten, such as "
        "5e-1"),
    (exp.Div, lambda n: not _is_double(n.left),
        "integer division differs; write CAST(a AS DOUBLE) / b"),
    (exp.Div, lambda n: _may_be_zero(n.right.unnest()),
        "division by zero is an error on some engines; divide by NULLIF(b, 0)"),
    *((each, lambda n: n.args.get("expressions") or n.args.get("count"),
        "an aggregate of two arguments is not portable") for each in (exp.Sum, exp.Min, exp.Max)),
    *((each, lambda n: isinstance(n.this, exp.Predicate),
        "a condition is not a number; use SUM(CASE WHEN ... THEN 1 ELSE 0 END)")
        for each in (exp.Sum, exp.Min, exp.Max)),
    (exp.CTE, lambda n: n.args.get("materialized") is not None, "MATERIALIZED is not portable"),
    (exp.With, lambda n: n.args.get("recursive"), "RECURSIVE is not portable"),
    (exp.Placeholder, lambda n: not n.name.isidentifier(), "a parameter needs a name: $name"),
    (exp.WindowSpec, lambda n: n.args.get("kind") != "ROWS" and not _is_frame_of_ties(n),
        "a RANGE or GROUPS frame is not portable, except RANGE BETWEEN CURRENT ROW AND CURRENT ROW "
        "(the rows of a tie); use ROWS"),
    (exp.WindowSpec, lambda n: n.args.get("exclude"), "an EXCLUDE frame is not portable; use ROWS"),
    (exp.Order, lambda n: not _is_inside(n, exp.Window),
        "ORDER BY in an aggregate is not portable"),
    (exp.Group, lambda n: n.args.get("all") or not n.expressions,
        "GROUP BY ALL is not portable; list the columns"),
    (exp.Group, lambda n: any(isinstance(item, exp.Literal) for item in n.expressions),
        "GROUP BY takes names, not positions; list the columns"),
    (exp.Join, lambda n: n.args.get("method") or n.side or not (n.args.get("using") or n.kind),
        "only JOIN ... USING (...) and CROSS JOIN are portable here"),
    (exp.Join, lambda n: n.args.get("on"), "join with USING, so that slices stay null-safe"),
    (exp.Values, lambda n: not (_is_inside(n, exp.Join) and
        all(each.is_number for row in n.expressions for each in row.expressions)),
        "VALUES may only list numbers for a CROSS JOIN"),
    (exp.Tuple, lambda n: not _is_inside(n, exp.Values),
        "compare one value at a time, because not every engine compares rows"),
    (exp.Subquery, lambda n: not _is_inside(n, exp.From, exp.Join),
        "a subquery may stand only in FROM"),
    (exp.Union, lambda n: n.args.get("distinct"), "write UNION ALL"),
    (exp.Select, lambda n: n.args.get("distinct"), "DISTINCT is not portable"),
    (exp.Select, lambda n: n.args.get("limit"), "LIMIT is not portable"),
    (exp.Select, lambda n: n.args.get("windows"), "WINDOWS is not portable"),
    (exp.Select, lambda n: n.args.get("sample"), "SAMPLE is not portable"),
    (exp.Select, lambda n: n.args.get("order"),
        "ORDER BY outside a window has no meaning in a relation"),
    (exp.Select, lambda n: not n.args.get("from_"), "a SELECT needs a FROM"),
)  # fmt: skip
_WRONG_BY_TYPE: Mapping[type[exp.Expr], Sequence[_Use]] = {
    kind: [use for use in _WRONG if use[0] is kind] for kind, _, _ in _WRONG
}


def _describe_unknown(node: exp.Expr) -> str:
    kind = type(node).__name__
    hint = _HINTS.get(kind)
    if hint is None and isinstance(node, exp.Func):
        hint = f"no such function in the portable list: {', '.join(_FUNCTIONS)}"
    what = node.name.upper() if isinstance(node, exp.Anonymous) else kind
    return f"{what} is not portable" + (f": {hint}" if hint else "")


def _check_outputs(select: exp.Select) -> Iterator[tuple[exp.Expr, str]]:
    """Yield the output columns without a name, or with one that engines read differently."""
    columns = [[*item.find_all(exp.Column)] for item in select.expressions]
    # How many output columns use a name without its table.
    uses = Counter(
        name for each in columns for name in {c.name.lower() for c in each if not c.table}
    )
    for item, inside in zip(select.expressions, columns, strict=True):
        if isinstance(item, exp.Alias):
            yield from _check_alias(item, inside, uses)
        if item.is_star and not isinstance(item, exp.Alias):
            yield item, "SELECT * hides what a file returns; list the columns"
        elif not item.alias_or_name:
            yield item, "every output column needs a name"


def _check_alias(
    item: exp.Alias, columns: Sequence[exp.Column], uses: Mapping[str, int]
) -> Iterator[tuple[exp.Expr, str]]:
    alias = item.alias.lower()
    same = [c for c in columns if c.name.lower() == alias]
    if uses[alias] > any(not c.table for c in same):
        yield item, f"the alias {item.alias!r} is used by another output column"
    if same and not isinstance(item.this, exp.Column):
        yield (
            item,
            f"the alias {item.alias!r} is also a column inside its own expression; "
            "ClickHouse would substitute the alias",
        )


def _check_slice(node: exp.Column) -> Iterator[tuple[exp.Expr, str]]:
    parent = node.parent
    if isinstance(parent, exp.Select) and node in parent.expressions:
        return
    if isinstance(parent, exp.Group):
        return
    if isinstance(parent, exp.Window) and node in parent.args.get("partition_by", []):
        return
    yield (
        node,
        "slice may stand only as a bare column in SELECT, GROUP BY, PARTITION BY or USING",
    )


def _is_allowed_in_duckdb(node: exp.Expr) -> bool:
    if isinstance(node, exp.Anonymous):
        return node.name.lower() in _DUCKDB_FUNCTIONS
    if isinstance(node, exp.Join):
        # ClickHouse fills rows without a match with zeros instead of NULL.
        return node.side == "LEFT" and bool(node.args.get("using"))
    return isinstance(node, DUCKDB_NODES)


def find_problems(query: exp.Expr, *, duckdb: bool = False) -> Iterator[tuple[exp.Expr, str]]:
    """Yield each node of ``query`` that is not portable, with the reason.

    With ``duckdb``, the syntax that only twins for DuckDB may use is allowed too.
    """
    for node in query.walk():
        kind = type(node)
        if duckdb and _is_allowed_in_duckdb(node):
            continue
        if kind not in ALLOWED:
            yield node, _describe_unknown(node)
        for _, is_wrong, why in _WRONG_BY_TYPE.get(kind, ()):
            if is_wrong(node):
                yield node, why.format(node.name)
        if isinstance(node, exp.Select):
            yield from _check_outputs(node)
        if isinstance(node, exp.Column) and node.name.lower() == "slice":
            yield from _check_slice(node)


@cache
def _list_portable(dialect: str) -> frozenset[type]:
    nodes = (*ALLOWED, *_COMPILED, *(_NESTED if dialect in _DIALECTS_WITH_LISTS else ()))
    return frozenset((*nodes, *DUCKDB_NODES) if dialect == "duckdb" else nodes)


def is_portable(node: exp.Expr, dialect: str) -> bool:
    """Return whether a node means the same in a dialect as in DuckDB's SQL."""
    if isinstance(node, exp.Anonymous):
        return node.name.upper() in FUNCTIONS
    return type(node) in _list_portable(dialect)


def _parse_condition(text: str) -> exp.Condition | None:
    """Return the syntax tree of a condition, or None if `binding.where` refuses the text."""
    try:
        tree = sqlglot.parse_one(text, dialect="duckdb")
    except (SqlglotError, TypeError, ValueError):  # sqlglot raises the last two, too
        return None
    return tree if isinstance(tree, exp.Condition) else None


def find_unportable(condition: str, dialect: str) -> str | None:
    """Return the first construct of a condition that a dialect may read unlike DuckDB."""
    tree = _parse_condition(condition)
    for node in tree.walk() if tree is not None else ():
        if not is_portable(node, dialect):
            is_function = isinstance(node, exp.Anonymous)
            return node.name.upper() if is_function else type(node).__name__
    return None


def check_condition(where: str, dialect: str, role: str = "where") -> None:
    """Refuse a condition, or the expression of a role, that engines do not read alike.

    Raises
    ------
    RequestError
        If it holds a construct outside the list of portable SQL; the message names it.
    """
    unportable = find_unportable(where, dialect)
    if unportable is not None:
        raise RequestError(
            f"{role}={where!r}: {unportable} is not read alike by all engines; use a view of the "
            "table"
        )
    tree = _parse_condition(where) if dialect == "sqlite" else None
    for node in tree.find_all(exp.DataType) if tree is not None else ():
        if node.this in exp.DataType.TEMPORAL_TYPES:
            raise RequestError(f"{role}={where!r}: SQLite has no {node.sql()}; compare texts")
