"""Writes a condition for a lazy frame, whose own plan can then skip files and row groups."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from typing import Any

import polars as pl
import sqlglot
from sqlglot import exp

#: A comparison, and the same one with its sides exchanged.
_COMPARISONS: dict[type[exp.Binary], tuple[Callable[..., Any], Callable[..., Any]]] = {
    exp.EQ: (operator.eq, operator.eq),
    exp.LT: (operator.lt, operator.gt),
    exp.LTE: (operator.le, operator.ge),
    exp.GT: (operator.gt, operator.lt),
    exp.GTE: (operator.ge, operator.le),
}


def write_filter(condition: str, schema: Mapping[str, pl.DataType]) -> pl.Expr | None:
    """Return a Polars condition that holds for every row for which a SQL condition holds.

    It may hold for more rows: only comparisons of texts, whole numbers, dates and times with
    constants are written, which SQL and Polars judge alike.

    Parameters
    ----------
    condition : str
        A checked condition in DuckDB's SQL.
    schema : mapping of str to polars.DataType
        The columns of the frame.
    """
    parts = _flatten(sqlglot.parse_one(condition, dialect="duckdb"))
    written = [each for part in parts if (each := _write(part, schema)) is not None]
    return pl.all_horizontal(written) if written else None


def _flatten(node: exp.Expr) -> list[exp.Expr]:
    """Return the parts of a conjunction."""
    node = node.unnest()
    if isinstance(node, exp.And):
        return [*_flatten(node.left), *_flatten(node.right)]
    return [node]


def _write(node: exp.Expr, schema: Mapping[str, pl.DataType]) -> pl.Expr | None:
    """Return an expression as a condition of Polars; None where that is not certain."""
    node = node.unnest()
    if isinstance(node, exp.And):
        both = [each for part in _flatten(node) if (each := _write(part, schema)) is not None]
        return pl.all_horizontal(both) if both else None
    if isinstance(node, exp.Or):
        left, right = _write(node.left, schema), _write(node.right, schema)
        return None if left is None or right is None else left | right
    if isinstance(node, exp.Binary) and type(node) in _COMPARISONS:
        compare, exchanged = _COMPARISONS[type(node)]
        if isinstance(node.left.unnest(), exp.Column):
            return _compare(compare, node.left, node.right, schema)
        return _compare(exchanged, node.right, node.left, schema)
    if isinstance(node, exp.Between):
        low = _compare(operator.ge, node.this, node.args["low"], schema)
        high = _compare(operator.le, node.this, node.args["high"], schema)
        return None if low is None or high is None else low & high
    if isinstance(node, exp.In) and node.expressions and not node.args.get("query"):
        each = [_compare(operator.eq, node.this, item, schema) for item in node.expressions]
        known = [one for one in each if one is not None]
        return pl.any_horizontal(known) if len(known) == len(each) else None
    return None


def _compare(
    compare: Callable[..., Any], column: exp.Expr, value: exp.Expr, schema: Mapping[str, Any]
) -> pl.Expr | None:
    column = column.unnest()
    if not isinstance(column, exp.Column) or column.name not in schema:
        return None
    constant = _read_constant(value.unnest(), schema[column.name])
    return None if constant is None else compare(pl.col(column.name), constant)


def _read_constant(node: exp.Expr, kind: pl.DataType) -> object:
    """Return a constant as a value of a column's type; None if it is another one."""
    negative = isinstance(node, exp.Neg)
    node = node.this.unnest() if negative else node
    cast = node.to if isinstance(node, exp.Cast) else None
    if cast is not None and cast.is_type("date", "timestamp", "timestamptz"):
        node = node.this
    if not isinstance(node, exp.Literal):
        return None
    text = str(node.this)
    if not node.is_string:
        if not kind.is_integer() or not text.isdecimal():
            return None
        return -int(text) if negative else int(text)
    if kind == pl.String:
        return None if node.parent and isinstance(node.parent, exp.Cast) else text
    try:
        if kind == pl.Date:
            return date.fromisoformat(text)
        if isinstance(kind, pl.Datetime):
            moment = datetime.fromisoformat(text)
            # A cast that drops hours or an offset makes another moment of it.
            if cast is not None and (
                (cast.is_type("date") and len(text) > len("2026-01-31"))
                or (cast.is_type("timestamp") and moment.tzinfo is not None)
            ):
                return None
            if kind.time_zone is None or moment.tzinfo is None:
                return moment if kind.time_zone is moment.tzinfo else None
            return pl.lit(moment.astimezone(UTC)).dt.convert_time_zone(kind.time_zone)
    except ValueError:
        return None
    return None
