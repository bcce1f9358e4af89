"""Writes conditions with which a lazy frame or a database can skip rows."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from typing import Any, Generic, NamedTuple, TypeVar
from zoneinfo import ZoneInfo

import polars as pl
import sqlglot
from polars.selectors import by_name
from sqlglot import exp

from sqleval.common.sql_text import quote, write_literal

T = TypeVar("T")
Constant = str | int | date | datetime
#: Days, and times without a fraction of a second, because engines round fractions differently.
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_SECOND = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?(Z|[+-]\d\d(:\d\d)?)?")
#: The symbol of a comparison, and the symbol with both sides exchanged.
_COMPARISONS: dict[type[exp.Binary], tuple[str, str]] = {
    exp.EQ: ("=", "="),
    exp.LT: ("<", ">"),
    exp.LTE: ("<=", ">="),
    exp.GT: (">", "<"),
    exp.GTE: (">=", "<="),
}
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


class _Writer(NamedTuple, Generic[T]):
    """Writes a condition in one language.

    Attributes
    ----------
    compare : callable
        Compares a column with a constant; None if the result may differ in the language.
    all_of, any_of : callable
        Combine conditions by AND and by OR.
    """

    compare: Callable[[str, str, Constant, pl.DataType], T | None]
    all_of: Callable[[Sequence[T]], T]
    any_of: Callable[[Sequence[T]], T]


def _compare_polars(symbol: str, column: str, constant: Constant, kind: pl.DataType) -> pl.Expr:
    # In the column's unit of time, because Polars would compare in the coarser unit.
    value = pl.lit(constant, kind) if isinstance(constant, datetime) else constant
    # By name, because Polars takes a text such as ^.*$ as a pattern.
    return _OPERATORS[symbol](by_name(column).as_expr(), value)


_POLARS: _Writer[pl.Expr] = _Writer(_compare_polars, pl.all_horizontal, pl.any_horizontal)


def write_filter(condition: str, schema: Mapping[str, pl.DataType]) -> pl.Expr | None:
    """Return a Polars condition that holds for every row for which a SQL condition holds.

    It may hold for more rows, because it contains only comparisons whose result is the same in SQL
    and Polars: texts, whole numbers, dates and times with constants.

    Parameters
    ----------
    condition : str
        A checked condition in DuckDB's SQL.
    schema : mapping of str to polars.DataType
        The columns of the frame.
    """
    return _write(sqlglot.parse_one(condition, dialect="duckdb"), schema, _POLARS)


def write_condition(condition: str, schema: Mapping[str, pl.DataType]) -> str | None:
    """Return a condition in standard SQL that holds for every row for which another one holds.

    Like `write_filter`, but for a database. Texts are only compared for equality, because their
    order depends on the database's collation.
    """

    def compare(symbol: str, column: str, constant: Constant, _: pl.DataType) -> str | None:
        if isinstance(constant, str):
            return f"{quote(column)} = {write_literal(constant)}" if symbol == "=" else None
        if isinstance(constant, int):
            return f"{quote(column)} {symbol} {constant}"
        if isinstance(constant, datetime) and constant.tzinfo is not None:
            return None
        kind = "TIMESTAMP" if isinstance(constant, datetime) else "DATE"
        return f"{quote(column)} {symbol} {kind} {write_literal(str(constant))}"

    def join(word: str) -> Callable[[Sequence[str]], str]:
        return lambda parts: f"({f' {word} '.join(parts)})"

    writer: _Writer[str] = _Writer(compare, join("AND"), join("OR"))
    return _write(sqlglot.parse_one(condition, dialect="duckdb"), schema, writer)


def _flatten(node: exp.Expr) -> list[exp.Expr]:
    """Return the parts of a conjunction."""
    node = node.unnest()
    if isinstance(node, exp.And):
        return [*_flatten(node.left), *_flatten(node.right)]
    return [node]


def _write(node: exp.Expr, schema: Mapping[str, pl.DataType], writer: _Writer[T]) -> T | None:
    """Return an expression as a condition of a language; None if the results may differ."""
    node = node.unnest()
    if isinstance(node, exp.And):
        parts = (_write(part, schema, writer) for part in _flatten(node))
        written = [each for each in parts if each is not None]
        return writer.all_of(written) if written else None
    if isinstance(node, exp.Or):
        both = [_write(side, schema, writer) for side in (node.left, node.right)]
        return _join_certain(both, writer.any_of)
    if isinstance(node, exp.Binary) and type(node) in _COMPARISONS:
        symbol, exchanged = _COMPARISONS[type(node)]
        if isinstance(node.left.unnest(), exp.Column):
            return _compare(symbol, node.left, node.right, schema, writer)
        return _compare(exchanged, node.right, node.left, schema, writer)
    if isinstance(node, exp.Between):
        ends = [(">=", node.args["low"]), ("<=", node.args["high"])]
        each = [_compare(symbol, node.this, end, schema, writer) for symbol, end in ends]
        return _join_certain(each, writer.all_of)
    if isinstance(node, exp.In) and node.expressions and not node.args.get("query"):
        each = [_compare("=", node.this, item, schema, writer) for item in node.expressions]
        return _join_certain(each, writer.any_of)
    return None


def _join_certain(parts: Sequence[T | None], join: Callable[[Sequence[T]], T]) -> T | None:
    """Return parts joined; None if one of them is None."""
    certain = [part for part in parts if part is not None]
    return join(certain) if len(certain) == len(parts) else None


def _compare(
    symbol: str,
    column: exp.Expr,
    value: exp.Expr,
    schema: Mapping[str, pl.DataType],
    writer: _Writer[T],
) -> T | None:
    column = column.unnest()
    if not isinstance(column, exp.Column) or column.name not in schema:
        return None
    constant = _read_constant(value.unnest(), schema[column.name])
    if constant is None:
        return None
    return writer.compare(symbol, column.name, constant, schema[column.name])


def _read_moment(moment: datetime, kind: pl.Datetime, cast: exp.DataType | None) -> datetime | None:
    """Return a time as a value of a column; None if only one of them has a zone."""
    # A cast to TIMESTAMP drops an offset, which changes the moment.
    if cast is not None and cast.is_type("timestamp") and moment.tzinfo is not None:
        return None
    # Nanoseconds in 64 bits cover only these years.
    if kind.time_unit == "ns" and not 1700 < moment.year < 2200:
        return None
    if kind.time_zone is None or moment.tzinfo is None:
        return moment if kind.time_zone is moment.tzinfo else None
    return moment.astimezone(ZoneInfo(kind.time_zone))


def _read_constant(node: exp.Expr, kind: pl.DataType) -> Constant | None:
    """Return a constant as a value of a column's type; None if it has another type."""
    negative = isinstance(node, exp.Neg)
    node = node.this.unnest() if negative else node
    cast = node.to if isinstance(node, exp.Cast) else None
    if cast is not None and cast.is_type("date", "timestamp", "timestamptz"):
        node = node.this
    if not isinstance(node, exp.Literal):
        return None
    text = str(node.this)
    if not node.is_string:
        number = int(text) if kind.is_integer() and text.isdecimal() else None
        return -number if negative and number is not None else number
    if kind == pl.String:
        return text if cast is None else None
    try:
        return _read_time(text, kind, cast)
    except ValueError:
        return None


def _read_time(text: str, kind: pl.DataType, cast: exp.DataType | None) -> date | None:
    """Return a text as a date or time of a column's type; None if it has another type."""
    is_day = _DAY.fullmatch(text) is not None
    if kind == pl.Date and is_day:
        return date.fromisoformat(text)
    is_time = is_day or (_SECOND.fullmatch(text) and not (cast and cast.is_type("date")))
    if isinstance(kind, pl.Datetime) and is_time:
        return _read_moment(datetime.fromisoformat(text), kind, cast)
    return None
