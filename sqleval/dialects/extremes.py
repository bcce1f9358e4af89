"""Rewrites logarithms of 0 and extreme products for engines that raise errors about them."""

from sqlglot import exp

from sqleval.common.sql_text import LARGEST

#: The square of a smaller number underflows a normal double, and of a larger number overflows.
_SMALL, _LARGE = "1e-154", "1.34e154"


def write_extremes(tree: exp.Expr, dialect: str) -> None:
    """Rewrite expressions, in place, so that extreme numbers give the same values as in DuckDB."""
    if dialect != "duckdb":
        _replace_log_of_zero(tree)
    # Other engines return infinity or 0 when a product overflows or underflows.
    if dialect == "postgres":
        _guard_products(tree)


def _replace_log_of_zero(tree: exp.Expr) -> None:
    """Replace the logarithm of 0 by minus infinity, if a parameter allows 0 (``eps=0``).

    It is an error in PostgreSQL, and NULL in Spark and SQLite, where sums would ignore it.
    """
    for node in list(tree.find_all(exp.Ln)):
        limits = node.this.expressions if isinstance(node.this, exp.Greatest) else []
        if any(map(_may_be_zero, limits)):
            endless = exp.Neg(this=exp.cast(exp.Literal.string("Infinity"), "DOUBLE"))
            is_zero = exp.EQ(this=node.this.copy(), expression=exp.Literal.number("0e0"))
            node.replace(exp.Case().when(is_zero, endless).else_(node.copy()))


def _may_be_zero(limit: exp.Expr) -> bool:
    value = limit.this if isinstance(limit, exp.Cast) else limit
    is_zero = isinstance(value, exp.Literal) and value.is_number and float(value.name) == 0
    return is_zero or isinstance(value, exp.Placeholder)


def _guard_products(tree: exp.Expr) -> None:
    """Replace products that underflow or overflow by 0 or infinity, in place.

    Only squares, products of two sums of products, and products with an exponential function can do
    so. All other products have a count, a weight or a share as a factor.
    """
    # Rewrite the innermost nodes first, so that the copy of a node contains their rewrites.
    for node in reversed(list(tree.find_all(exp.Mul, exp.Pow))):
        size = _write_size(node)
        if size is None:
            continue
        is_large = exp.and_(
            exp.GT(this=size.copy(), expression=exp.Literal.number(_LARGE)),
            exp.LTE(this=size.copy(), expression=exp.Literal.number(LARGEST)),
        )
        is_small = exp.LT(this=size, expression=exp.Literal.number(_SMALL))
        guarded = exp.Case().when(is_small, exp.Literal.number("0e0"))
        if _is_square(node):
            endless = exp.cast(exp.Literal.string("Infinity"), "DOUBLE")
            guarded = guarded.when(is_large, endless)
        node.replace(guarded.else_(node.copy()))


def _is_square(node: exp.Expr) -> bool:
    is_same = isinstance(node, exp.Mul) and node.left.unnest() == node.right.unnest()
    return is_same or isinstance(node, exp.Pow)


def _write_size(node: exp.Expr) -> exp.Expr | None:
    """Return the square root of the size of a product; None if it needs no guard."""
    left, right = node.this.unnest(), node.expression.unnest()
    if isinstance(node, exp.Pow):
        is_sum = left.find(exp.Sum, exp.CovarPop) and right == exp.Literal.number(2)
        return exp.Abs(this=left.copy()) if is_sum else None
    if left == right:
        return exp.Abs(this=left.copy()) if left.find(exp.Column) else None
    has_power = isinstance(left, exp.Exp) or isinstance(right, exp.Exp)
    if has_power or (_has_sum_of_products(left) and _has_sum_of_products(right)):
        roots = (exp.Sqrt(this=exp.Abs(this=side.copy())) for side in (left, right))
        return exp.Mul(this=next(roots), expression=next(roots))
    return None


def _has_sum_of_products(side: exp.Expr) -> bool:
    return any(each.this.find(exp.Mul) for each in side.find_all(exp.Sum))
