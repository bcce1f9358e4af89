"""Writes a condition for a lazy frame, whose own plan can then skip files and row groups."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Any

import polars as pl
import sqlglot
from polars.selectors import by_name
from sqlglot import exp

#: Days, and times without a part of a second: engines round such a part to different units.
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_SECOND = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?")

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
    # By name: Polars takes a name such as ^.*$ as a pattern.
    return None if constant is None else compare(by_name(column.name).as_expr(), constant)


def _read_constant(node: exp.Expr, kind: pl.DataType) -> object:
    """Return a constant as a value of a column's type; None if it is another one."""
    negative = isinstance(node, exp.Neg)
    node = node.this.unnest() if negative else node
    to_date = False
    if isinstance(node, exp.Cast) and node.to.is_type("date", "timestamp"):
        to_date = node.to.is_type("date")
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
    is_day = _DAY.fullmatch(text) is not None
    try:
        if kind == pl.Date and is_day:
            return date.fromisoformat(text)
        is_time = is_day or (_SECOND.fullmatch(text) and not to_date)
        if isinstance(kind, pl.Datetime) and kind.time_zone is None and is_time:
            moment = datetime.fromisoformat(text)
            # In the column's unit: Polars would compare in the coarser one of two. Nanoseconds
            # are counted in 64 bits.
            is_far = kind.time_unit == "ns" and not 1700 < moment.year < 2200
            return None if is_far else pl.lit(moment, kind)
    except ValueError:
        return None
    return None
