"""Writes arithmetic of counts for dialects whose whole numbers are narrower than DuckDB's."""

from collections.abc import Iterator, Mapping

from sqlglot import exp
from sqlglot.optimizer.scope import Scope, traverse_scope

#: Dialects in which sums of whole numbers, and products of two sums, have 38 digits.
_WIDE = frozenset({"duckdb", "snowflake"})
_COUNT_TYPES = (exp.DType.INT, exp.DType.BIGINT, exp.DType.INT128)
_COUNTS = (exp.Count, exp.DenseRank, exp.Rank, exp.RowNumber)
#: Nodes whose value is a count if all of their operands are counts.
_KEEPING = (
    exp.Add, exp.Case, exp.Coalesce, exp.Greatest, exp.If, exp.Lag, exp.Lead, exp.Least, exp.Max,
    exp.Min, exp.Mul, exp.Neg, exp.Nullif, exp.Paren, exp.Sub, exp.Sum, exp.Window,
)  # fmt: skip
#: The operands that make up the value of a node. The condition of a CASE and the order of a window
#: do not.
_OPERANDS = ("this", "expression", "expressions", "ifs", "true", "default")
#: For each query, whether its columns are counts.
_Known = dict[Scope, Mapping[str, bool]]


def widen_counts(tree: exp.Expr, dialect: str) -> None:
    """Cast products of two counts to 38 digits, and powers to DOUBLE, in place, as in DuckDB.

    A sum of BIGINT is HUGEINT in DuckDB. Elsewhere it is BIGINT, and a product of two counts above
    3e9 overflows: some engines raise an error, others return a wrong number. In Polars a power of
    a whole number is a whole number.
    """
    if dialect in _WIDE:
        return
    known: _Known = {}
    for scope in traverse_scope(tree):
        nodes = [*scope.find_all(exp.Mul, exp.Pow)]
        counts = [node for node in nodes if _is_of_counts(node, scope, known)]
        known[scope] = _list_columns(scope, known)
        # In BigQuery NUMERIC has 29 digits before the point, enough for counts of 1e14 rows.
        wide = "DECIMAL" if dialect == "bigquery" else "HUGEINT"
        for node in counts:
            _cast(node, wide if isinstance(node, exp.Mul) else "DOUBLE")


def _cast(node: exp.Expr, kind: str) -> None:
    """Cast the first operand of a node."""
    node.set("this", exp.cast(node.this, kind, dialect="duckdb"))


def _is_literal(node: exp.Expr) -> bool:
    """Return whether a node is a literal whole number."""
    return isinstance(node, exp.Literal) and not node.is_string and node.name.isdigit()


def _is_of_counts(node: exp.Expr, scope: Scope, known: _Known) -> bool:
    """Return whether the factors of a product, or the base of a power, are counts, not literals."""
    sides = [node.this, node.expression] if isinstance(node, exp.Mul) else [node.this]
    return all(not _is_literal(side.unnest()) and _is_count(side, scope, known) for side in sides)


def _list_columns(scope: Scope, known: _Known) -> Mapping[str, bool]:
    """Return the columns of a query, and whether each is a count."""
    query = scope.expression
    if isinstance(query, exp.SetOperation):
        parts = [known[each].values() for each in scope.set_operation_scopes]
        return dict(zip(query.named_selects, map(all, zip(*parts, strict=True)), strict=True))
    items = query.selects if isinstance(query, exp.Select) else []
    return {item.alias_or_name: _is_count(item.unalias(), scope, known) for item in items}


def _is_count(node: exp.Expr, scope: Scope, known: _Known) -> bool:
    """Return whether an expression is a count of rows, or computed from such counts."""
    if isinstance(node, exp.Column):
        sources = [
            source
            for name, (_, source) in scope.selected_sources.items()
            if node.table in ("", name) and isinstance(source, Scope)
        ]
        return any(known[source].get(node.name) for source in sources)
    if isinstance(node, exp.Cast):
        return node.to.this in _COUNT_TYPES
    if isinstance(node, _KEEPING):
        return all(_is_count(each, scope, known) for each in _list_operands(node))
    return _is_literal(node) or isinstance(node, _COUNTS)


def _list_operands(node: exp.Expr) -> Iterator[exp.Expr]:
    for name in _OPERANDS:
        if name == "this" and isinstance(node, exp.If):
            continue  # its condition
        operand = node.args.get(name)
        yield from operand if isinstance(operand, list) else [operand] if operand else []
