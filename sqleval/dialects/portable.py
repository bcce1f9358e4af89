"""The portable SQL that files under ``sql/`` and conditions may use: the same on every engine.

sqlglot passes unknown syntax through unchanged, so a list of forbidden syntax would never be
complete. This is a list of allowed syntax.
"""

from collections import Counter
from collections.abc import Iterator
from functools import cache

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

#: Of these, which most nodes are, every use is portable.
_ALWAYS: frozenset[type[exp.Expr]] = frozenset(
    {
        exp.Identifier, exp.Column, exp.Alias, exp.Add, exp.Sub, exp.Mul, exp.Paren, exp.Case,
        exp.If, exp.Cast, exp.DataType, exp.Nullif, exp.From, exp.Table, exp.EQ, exp.Ordered,
        exp.Window, exp.TableAlias, exp.GT,
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
#: Expressions that only the compiler writes; every engine reads them, or they are rewritten.
_COMPILED = (
    exp.NullSafeEQ, exp.IsInf, exp.Concat, exp.Distinct, exp.Sign, exp.StddevSamp,
)  # fmt: skip
_DOUBLE_FUNCTIONS = (exp.Sqrt, exp.Ln, exp.Exp, exp.Pow, exp.CovarPop)
_SAME_TYPE = (
    exp.Paren, exp.Neg, exp.Sum, exp.Abs, exp.Max, exp.Min, exp.Avg, exp.Floor, exp.Ceil,
)  # fmt: skip


def _is_double(node: exp.Expr) -> bool:
    """Whether ``node`` is DOUBLE on every engine, whatever the types of its columns."""
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


def _check_select(select: exp.Select) -> Iterator[tuple[exp.Expr, str]]:
    for name in ("distinct", "limit", "windows", "sample"):
        if select.args.get(name):
            yield select, f"{name.upper()} is not portable"
    if select.args.get("order"):
        yield select, "ORDER BY outside a window has no meaning in a relation"
    columns = [[*item.find_all(exp.Column)] for item in select.expressions]
    # How many output columns use a name without its table.
    uses = Counter(
        name for each in columns for name in {c.name.lower() for c in each if not c.table}
    )
    for item, own in zip(select.expressions, columns, strict=True):
        if isinstance(item, exp.Alias):
            alias = item.alias.lower()
            used_here = any(c.name.lower() == alias and not c.table for c in own)
            if uses[alias] > used_here:
                yield item, f"the alias {item.alias!r} is used by another output column"
            is_inside = any(c.name.lower() == alias for c in own)
            if is_inside and not isinstance(item.this, exp.Column):
                yield (
                    item,
                    f"the alias {item.alias!r} is also a column inside its own expression; "
                    "ClickHouse would substitute the alias",
                )
        if isinstance(item, exp.Star) or (
            isinstance(item, exp.Column) and isinstance(item.this, exp.Star)
        ):
            yield item, "SELECT * hides what a file returns; list the columns"
        elif not item.alias_or_name:
            yield item, "every output column needs a name"
    if not select.args.get("from_"):
        yield select, "a SELECT needs a FROM"


def _check_source(node: exp.Expr) -> Iterator[tuple[exp.Expr, str]]:
    if isinstance(node, exp.Join):
        if node.args.get("method") or node.side or not (node.args.get("using") or node.kind):
            yield node, "only JOIN ... USING (...) and CROSS JOIN are portable here"
        if node.args.get("on"):
            yield node, "join with USING, so that slices stay null-safe"
    elif isinstance(node, exp.Values):
        numbers = all(each.is_number for row in node.expressions for each in row.expressions)
        if not numbers or not isinstance(node.parent, exp.Join):
            yield node, "VALUES may only list numbers for a CROSS JOIN"
    elif isinstance(node, exp.Tuple):
        if not isinstance(node.parent, exp.Values):
            yield node, "compare one value at a time, as not every engine compares rows"
    elif not isinstance(node.parent, (exp.From, exp.Join)):
        yield node, "a subquery may stand only in FROM"


def _check_node(node: exp.Expr) -> Iterator[tuple[exp.Expr, str]]:
    kind = type(node)
    if kind not in ALLOWED:
        hint = _HINTS.get(kind.__name__)
        if hint is None and isinstance(node, exp.Func):
            hint = f"no such function in the portable list: {', '.join(_FUNCTIONS)}"
        what = node.name.upper() if isinstance(node, exp.Anonymous) else kind.__name__
        yield node, f"{what} is not portable" + (f": {hint}" if hint else "")
    elif isinstance(node, exp.Literal):
        if not node.is_string and "." in node.name and "e" not in node.name.lower():
            yield (
                node,
                f"the decimal literal {node.name} is rounded by some engines; "
                f"write {float(node.name)!r} as a power of ten, such as 5e-1",
            )
    elif isinstance(node, exp.Div):
        divisor = node.right.unnest()
        if not _is_double(node.left):
            yield node, "integer division differs; write CAST(a AS DOUBLE) / b"
        is_wrong = not isinstance(divisor, (exp.Nullif, exp.Literal, *_DOUBLE_FUNCTIONS))
        if isinstance(divisor, exp.Literal):
            is_wrong = divisor.is_string or not float(divisor.name)
        if is_wrong:
            yield node, "division by zero is an error on some engines; divide by NULLIF(b, 0)"
    elif isinstance(node, exp.CTE):
        if node.args.get("materialized") is not None:
            yield node, "MATERIALIZED is not portable"
    elif isinstance(node, exp.With):
        if node.args.get("recursive"):
            yield node, "RECURSIVE is not portable"
    elif isinstance(node, exp.Placeholder):
        if not node.name.isidentifier():
            yield node, "a parameter needs a name: $name"
    elif isinstance(node, exp.WindowSpec):
        if node.args.get("kind") != "ROWS" or node.args.get("exclude"):
            yield node, "a RANGE, GROUPS or EXCLUDE frame is not portable; use ROWS"
    elif isinstance(node, exp.Order):
        if not isinstance(node.parent, exp.Window):
            yield node, "ORDER BY in an aggregate is not portable"
    elif isinstance(node, (exp.Sum, exp.Min, exp.Max)):
        if node.args.get("expressions") or node.args.get("count"):
            yield node, "an aggregate of two arguments is not portable"
        if isinstance(node.this, exp.Predicate):
            yield (
                node,
                "a condition is not a number; use SUM(CASE WHEN ... THEN 1 ELSE 0 END)",
            )
    elif isinstance(node, exp.Group):
        if node.args.get("all") or not node.expressions:
            yield node, "GROUP BY ALL is not portable; list the columns"
        elif any(isinstance(item, exp.Literal) for item in node.expressions):
            yield node, "GROUP BY takes names, not places; list the columns"
    elif isinstance(node, (exp.Join, exp.Subquery, exp.Values, exp.Tuple)):
        yield from _check_source(node)
    elif isinstance(node, exp.Select):
        yield from _check_select(node)
    elif isinstance(node, exp.Union) and node.args.get("distinct"):
        yield node, "write UNION ALL"


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
        if type(node) not in _ALWAYS and not (duckdb and _is_allowed_in_duckdb(node)):
            yield from _check_node(node)
        if isinstance(node, exp.Column) and node.name.lower() == "slice":
            yield from _check_slice(node)


@cache
def _list_portable(dialect: str) -> frozenset[type]:
    nodes = (*ALLOWED, *_COMPILED)
    return frozenset((*nodes, *DUCKDB_NODES) if dialect == "duckdb" else nodes)


def is_portable(node: exp.Expr, dialect: str) -> bool:
    """Whether a node of a statement or condition means the same in a dialect as in DuckDB's."""
    if isinstance(node, exp.Anonymous):
        return node.name.upper() in FUNCTIONS
    return type(node) in _list_portable(dialect)


def _parse_condition(text: str) -> exp.Condition | None:
    """Return the syntax tree of a condition; None if it is not one, as `binding.where` says."""
    try:
        tree = sqlglot.parse_one(text, dialect="duckdb")
    except (SqlglotError, TypeError, ValueError):  # the last two are sqlglot's own too
        return None
    return tree if isinstance(tree, exp.Condition) else None


def find_unportable(condition: str, dialect: str) -> str | None:
    """Return what a condition in DuckDB's SQL holds that a dialect may read otherwise."""
    tree = _parse_condition(condition)
    for node in tree.walk() if tree is not None else ():
        if not is_portable(node, dialect):
            is_function = isinstance(node, exp.Anonymous)
            return node.name.upper() if is_function else type(node).__name__
    return None


def check_condition(where: str, dialect: str) -> None:
    """Refuse a condition that engines do not read alike.

    Raises
    ------
    RequestError
        If it holds a construct beyond the list of portable SQL, which the message names.
    """
    unportable = find_unportable(where, dialect)
    if unportable is not None:
        raise RequestError(
            f"where={where!r}: {unportable} is not read alike by all engines; use a view of the "
            "table"
        )
    tree = _parse_condition(where) if dialect == "sqlite" else None
    for node in tree.find_all(exp.DataType) if tree is not None else ():
        if node.this in exp.DataType.TEMPORAL_TYPES:
            raise RequestError(f"where={where!r}: SQLite has no {node.sql()}; compare texts")
