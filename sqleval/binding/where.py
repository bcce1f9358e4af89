"""Checks expressions over the source's columns, such as ``where=``, and filters on slice keys."""

import re
from collections.abc import Sequence

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError, TokenError

from sqleval.binding.allowed_sql import find_forbidden
from sqleval.binding.arguments import check_text
from sqleval.binding.binding import Binding
from sqleval.binding.lookup import Columns, check_fields, find_column
from sqleval.common.columns import is_float
from sqleval.common.names import find_nearest
from sqleval.common.sql_text import quote, write_literal
from sqleval.errors import RequestError, get_first_line


def check_condition(text: str, columns: Columns, where: str) -> tuple[str, tuple[str, ...]]:
    """Check a ``where=`` condition; return it with qualified columns, and the columns.

    Raises
    ------
    RequestError
        If it is not one expression over existing columns without subqueries and aggregates.
    """
    check_text(text)
    tree, used = check_expression(text, columns, where, "where")
    return tree.sql(dialect="duckdb"), used


def check_expression(
    text: str, columns: Columns, where: str, role: str, also: frozenset[str] = frozenset()
) -> tuple[exp.Expr, tuple[str, ...]]:
    """Check an expression; return it with columns qualified by ``s``, and the columns.

    ``also`` names functions that are allowed in addition to `allowed_sql`.

    Raises
    ------
    RequestError
        If it is not one expression over existing columns with allowed functions only.
    """
    if role == "where" and not text.strip():
        raise RequestError(
            f"where={text!r} is empty: leave it out, or give a condition, such as "
            "\"carrier = 'AA'\""
        )
    try:
        return _check(text, columns, where, role, also)
    except RecursionError:
        raise RequestError(
            f"{role}='{text[:40]}...' is nested too deeply: write it with fewer brackets"
        ) from None


def describe_syntax(error: Exception) -> str:
    """Describe a syntax error, without the names of sqlglot's classes."""
    if isinstance(error, TokenError):
        return "a quote or a comment is not closed"
    incomplete = r"Required keyword: '\w+' missing for <class '[\w.]+'>"
    return re.sub(incomplete, "Something is missing", get_first_line(error))


def _check(
    text: str, columns: Columns, where: str, role: str, also: frozenset[str]
) -> tuple[exp.Expr, tuple[str, ...]]:
    try:
        parsed = sqlglot.parse(text, dialect="duckdb")
    except (SqlglotError, TypeError, ValueError) as error:  # the last two are sqlglot's own too
        raise RequestError(f"{role}={text!r} is not SQL: {describe_syntax(error)}") from error
    if len(parsed) != 1 or not isinstance(parsed[0], exp.Condition):
        what = {
            "where": "condition, such as \"carrier = 'AA'\"",
            "by": "expression, such as \"date_trunc('month', day)\"",
        }.get(role, 'expression, such as "1 - p"')
        raise RequestError(f"{role}={text!r} must be one {what}")
    tree = parsed[0]
    if tree.find(exp.Query, exp.AggFunc, exp.Window, exp.Placeholder, exp.Parameter, exp.Table):
        raise RequestError(f"{role}={text!r} may not hold a subquery, an aggregate or a parameter")
    try:
        forbidden = find_forbidden(tree, also)
    except (SqlglotError, TypeError, ValueError, AttributeError, IndexError) as error:
        # An error of sqlglot: a function has arguments that it cannot write.
        raise RequestError(f"{role}={text!r} has a function with wrong arguments") from error
    if forbidden is not None:
        raise RequestError(
            f"{role}={text!r} may not hold {forbidden}: allowed are operators, and functions of "
            "values such as lower() and date_trunc()"
        )
    used: list[str] = []
    for column in list(tree.find_all(exp.Column)):
        name, fields = _split_fields(column, columns)
        try:
            used.append(find_column(columns, name, role, where).name)
        except RequestError as error:
            if column.table or find_nearest(name, columns):
                raise
            raise RequestError(
                f"{error}; a text stands in quotes: {write_literal(name)}"
            ) from error
        check_fields(columns[used[-1]], [field.name for field in fields], f"{role}={text!r}", where)
        qualified = exp.column(exp.to_identifier(name, quoted=True), table="s")
        read = exp.Dot.build([qualified, *fields]) if fields else qualified
        tree = read if column is tree else tree
        column.replace(read)
    return tree, tuple(dict.fromkeys(used))


def _split_fields(column: exp.Column, columns: Columns) -> tuple[str, list[exp.Identifier]]:
    """Return the name of a column, and the fields of a struct that are read from it."""
    folded = {name.casefold(): name for name in columns}

    def find(name: str) -> str | None:
        return name if name in columns else folded.get(name.casefold())

    first, *rest = column.parts
    name = find(first.name)
    if name is not None and rest:
        fields = [exp.to_identifier(part.name, quoted=True) for part in rest]
        return name, fields
    return name or (column.sql() if rest else column.name), []


def keep_nan(sql: str, columns: Columns) -> str:
    """Rewrite an expression over columns of ``s`` so that DuckDB does not lose NaN.

    In DuckDB, NaN is above all numbers. But DuckDB answers ``y >= 5`` and ISNAN from the minimum
    and maximum in the statistics of Parquet files, which leave NaN out. ``TRY(y)`` equals ``y``,
    has no statistics, and costs nothing. GREATEST(y, NULL) keeps them if the extremes are equal.
    """
    tree = exp.paren(sqlglot.parse_one(sql, dialect="duckdb"))
    read = [c for c in tree.find_all(exp.Column) if c.table == "s"]
    for column in read:
        if column.name in columns and is_float(columns[column.name].type):
            column.replace(exp.Try(this=column.copy()))
    return tree.this.sql(dialect="duckdb")


def replace_column(sql: str, name: str, value: str) -> str:
    """Replace a column in a condition on columns of ``s`` by an expression."""
    tree = exp.paren(sqlglot.parse_one(sql, dialect="duckdb"))
    expression = sqlglot.parse_one(value, dialect="duckdb")
    for column in list(tree.find_all(exp.Column)):
        if column.table == "s" and column.name == name:
            column.replace(exp.paren(expression.copy()))
    return tree.this.sql(dialect="duckdb")


def find_quoted(query: str) -> list[str]:
    """Return the texts and quoted names in a query that may be files, as they have a dot."""
    try:
        tokens = sqlglot.tokenize(query, dialect="duckdb")
    except SqlglotError:
        return []  # the engine says what is wrong
    quoted = ("STRING", "IDENTIFIER")
    return [each.text for each in tokens if each.token_type.name in quoted and "." in each.text]


def find_partition_conditions(text: str, keys: Sequence[str]) -> list[str]:
    """Return the parts of a ``where=`` that read only partition keys, still to be checked."""
    return [part.sql(dialect="duckdb") for part in _split(text) if _reads_only(part, keys)]


def _split(text: str) -> list[exp.Expr]:
    """Return the parts of a condition that AND joins; none if it is no SQL."""
    try:
        tree = sqlglot.parse_one(text, dialect="duckdb").unnest()
    except (SqlglotError, TypeError, ValueError, RecursionError):
        return []  # the check of the whole says what is wrong
    return list(tree.flatten()) if isinstance(tree, exp.And) else [tree]


def _reads_only(part: exp.Expr, keys: Sequence[str]) -> bool:
    names = {column.name.casefold() for column in part.find_all(exp.Column)}
    return bool(names) and names <= {key.casefold() for key in keys}


def split_condition(text: str, keys: Sequence[str]) -> tuple[str | None, str | None]:
    """Return the parts of a ``where=`` that read only these columns, and the other parts.

    Examples
    --------
    >>> split_condition("model <> 'c' AND day > 3", ["model"])
    ("model <> 'c'", 'day > 3')
    """
    parts = _split(text)
    ours = [part for part in parts if _reads_only(part, keys)]
    texts = [
        " AND ".join(
            f"({part.sql(dialect='duckdb')})" if len(listed) > 1 else part.sql(dialect="duckdb")
            for part in listed
        )
        for listed in (ours, [part for part in parts if part not in ours])
    ]
    return (texts[0] or None, texts[1] or None) if ours else (None, text)


def write_key_condition(sql: str, binding: Binding) -> str | None:
    """Return the parts of a predicate on slice keys, as a condition on the source.

    Parameters
    ----------
    sql : str
        A predicate over the result's columns, in DuckDB's SQL.
    binding : Binding
        The bound input; its ``by`` columns have the same names in source and result.
    """
    # DuckDB cannot compare TIME with TIME_NS, which is the type of a Polars Time.
    keys = {column.name for column in binding.by if column.kind != "time"}
    whole = sqlglot.parse_one(sql, dialect="duckdb").unnest()
    parts = list(whole.flatten()) if isinstance(whole, exp.And) else [whole]
    pushed: list[str] = []
    for part in parts:
        names = list(part.find_all(exp.Column))
        if names and all(column.name in keys for column in names):
            for column in names:
                column.replace(sqlglot.parse_one(f"s.{quote(column.name)}", dialect="duckdb"))
            pushed.append(part.sql(dialect="duckdb"))
    if pushed and binding.dialect == "duckdb":
        pushed = [keep_nan(" AND ".join(pushed), {column.name: column for column in binding.by})]
    return " AND ".join(pushed) or None
