"""Computes slice keys: SQL expressions, and intervals of numbers."""

from collections.abc import Mapping, Sequence
from ctypes import c_float
from itertools import pairwise
from math import isfinite
from typing import NamedTuple

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from sqleval.binding.lookup import Columns
from sqleval.binding.where import check_expression, keep_nan
from sqleval.common.sql_text import quote, write_literal
from sqleval.errors import RequestError
from sqleval.sources.source import Source

#: The functions that make intervals of numbers; they are not SQL.
_INTERVALS = frozenset({"cut", "qcut"})
#: The most intervals of equal size; nobody reads more slices.
_MOST_INTERVALS = 1000


class SliceKey(NamedTuple):
    """A computed slice key.

    Attributes
    ----------
    name : str
        Its name in the result.
    sql : str
        The expression over the source ``s``; for intervals, the number.
    columns : tuple of str
        The columns that it reads.
    edges : tuple of float
        The ends of the intervals.
    intervals : int
        The number of intervals of equal size whose ends must still be computed.
    has_singles : bool
        Whether it reads a FLOAT column: then a number equal to an interval's rounded end counts as
        equal to that end.
    """

    name: str
    sql: str
    columns: tuple[str, ...]
    edges: tuple[float, ...] = ()
    intervals: int = 0
    has_singles: bool = False

    @property
    def shares(self) -> list[float]:
        """The shares of the rows below each end of intervals of equal size."""
        return [i / self.intervals for i in range(1, self.intervals)]

    def describe(self) -> str:
        """Return an expression that gives rows of another source the same slices."""
        return f"cut({self.sql}, {[*self.edges]})" if self.edges else self.sql

    def write(self, dialect: str) -> str:
        """Return the key as SQL over the source ``s``."""
        if not self.edges:
            return self.sql
        ends = [f"{edge:g}" if float(f"{edge:g}") == edge else repr(edge) for edge in self.edges]
        names = [f"({low}, {high}]" for low, high in pairwise(["-inf", *ends, "inf"])]
        number = f"CAST({self.sql} AS DOUBLE)"
        # NaN would be above all ends. Not ISNAN: DuckDB drops that test on a Parquet column.
        cases = [f"WHEN (ISFINITE({number}) OR ISINF({number})) IS NOT TRUE THEN NULL"]
        for edge, name in zip(self.edges, names, strict=False):
            test = f"{number} <= {edge!r}"
            test += f" OR {number} = {c_float(edge).value!r}" if self.has_singles else ""
            cases.append(f"WHEN {test} THEN {write_literal(name)}")
        sql = f"CASE {' '.join(cases)} ELSE {write_literal(names[-1])} END"
        if dialect != "duckdb":
            return sql
        # An ENUM is sorted in the order of its values; a text would be sorted by its letters.
        return f"CAST({sql} AS ENUM({', '.join(map(write_literal, names))}))"


def parse_slice_keys(by: Mapping[str, str], columns: Columns, where: str) -> list[SliceKey]:
    """Return the computed keys of ``by=``: all except columns under their own names.

    Raises
    ------
    RequestError
        If an expression is not valid SQL, or its name is taken.
    """
    keys: list[SliceKey] = []
    for name, text in by.items():
        if text in (name, quote(name)):
            continue
        if name in columns:
            raise RequestError(
                f"by={name!r} is a column of {where}; give the expression {text!r} another name"
            )
        # The name of a column may be no valid SQL.
        sql = quote(text) if text in columns else text
        tree, used = check_expression(sql, columns, where, "by", _INTERVALS)
        key = _parse_intervals(name, text, tree, used) or SliceKey(name, _write(tree), used)
        keys.append(key._replace(has_singles=reads_singles(used, columns)))
    return keys


def reads_singles(used: Sequence[str], columns: Columns) -> bool:
    """Whether one of the columns of an expression holds FLOAT values."""
    read = [columns[column] for column in used if column in columns]
    return any(each.kind == "float32" or each.has_singles for each in read)


def _write(tree: exp.Expr) -> str:
    return tree.sql(dialect="duckdb")


def _parse_intervals(
    name: str, text: str, tree: exp.Expr, used: tuple[str, ...]
) -> SliceKey | None:
    """Return the key of ``cut(number, [ends])`` or ``qcut(number, n)``."""
    if not isinstance(tree, exp.Anonymous) or tree.name.lower() not in _INTERVALS:
        return None
    error = RequestError(
        f"by={text!r}: write cut(column, [18, 30, 65]) for intervals with these ends, or "
        "qcut(column, 4) for intervals with equally many rows"
    )
    if len(tree.expressions) != 2:
        raise error
    number, intervals = tree.expressions
    try:
        if tree.name.lower() == "qcut":
            n = int(intervals.name) if isinstance(intervals, exp.Literal) else 0
            if not 2 <= n <= _MOST_INTERVALS:
                raise error
            return SliceKey(name, _write(number), used, intervals=n)
        edges = [float(_write(edge)) for edge in intervals.expressions]
    except ValueError:
        raise error from None
    is_rising = edges == sorted(set(edges)) and all(map(isfinite, edges))
    if not isinstance(intervals, exp.Array) or not edges or not is_rising:
        raise error
    return SliceKey(name, _write(number), used, tuple(edges))


def has_quantiles(text: str) -> bool:
    """Return whether an expression has intervals with ends that depend on the rows (qcut).

    Examples
    --------
    >>> has_quantiles("qcut(age, 4)"), has_quantiles("cut(age, [18, 65])")
    (True, False)
    """
    try:
        tree = sqlglot.parse_one(text, dialect="duckdb")
    except (SqlglotError, TypeError, ValueError, RecursionError):
        return False  # the check against the columns says what is wrong
    return any(each.name.lower() == "qcut" for each in tree.find_all(exp.Anonymous))


def add_slice_keys(
    source: Source, columns: Columns, keys: Sequence[SliceKey], dialect: str
) -> Source:
    """Add computed keys to a source as further columns."""
    items = "".join(f", {write_key(key, columns, dialect)} AS {quote(key.name)}" for key in keys)
    read = [column for key in keys for column in key.columns]
    relation = f"(SELECT s.*{items} FROM {source.relation} AS s)"
    return source.add_columns(relation, [key.name for key in keys], read)


def write_key(key: SliceKey, columns: Columns, dialect: str) -> str:
    """Return a computed key as SQL over the source ``s``."""
    if dialect == "duckdb":
        key = key._replace(sql=keep_nan(key.sql, columns))
    return key.write(dialect)
