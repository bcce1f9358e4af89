"""Rewrites statements for PostgreSQL, and names its types as in `common.columns`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from sqlglot import exp

from sqleval.common.sql_text import quote

#: The name in `common.columns` of PostgreSQL's types; all other types are read as texts.
_TYPES = {
    "bool": "BOOLEAN",
    "int2": "SMALLINT",
    "int4": "INTEGER",
    "int8": "BIGINT",
    "float4": "FLOAT",
    "float8": "DOUBLE",
    "date": "DATE",
    "time": "TIME",
    "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMP WITH TIME ZONE",
    "interval": "INTERVAL",
    "bytea": "BLOB",
}
_KIND = b"POSTGRESQL:type"


class Field(NamedTuple):
    """A column of a table: its name, its type as in `common.columns`, and the SQL to read it."""

    name: str
    type: str
    sql: str


def read_field(field: Any) -> Field:
    """Return a column of an Arrow schema of PostgreSQL's driver.

    A ``numeric`` is read as a double, because Arrow has no such number. Values that are neither
    numbers nor times are read as texts, ordered by their characters as in other engines.
    """
    metadata: Mapping[bytes, bytes] = field.metadata or {}
    kind = metadata.get(_KIND, b"").decode()
    column = f"s.{quote(field.name)}"
    if kind == "numeric":
        return Field(field.name, "DOUBLE", f"CAST({column} AS DOUBLE PRECISION)")
    if kind in _TYPES:
        return Field(field.name, _TYPES[kind], column)
    text = column if kind == "text" else f"CAST({column} AS TEXT)"
    return Field(field.name, "VARCHAR", f'{text} COLLATE "C"')


def write_fields(relation: str, columns: Sequence[Field]) -> str:
    """Return a relation with the columns of `read_field`."""
    items = ", ".join(f"{column.sql} AS {quote(column.name)}" for column in columns)
    return f"(SELECT {items} FROM {relation} AS s)"


def rewrite(tree: exp.Expr) -> None:
    """Rewrite, in place, expressions that only PostgreSQL writes differently."""
    for node in list(tree.walk()):
        rewrite_node = _REWRITES.get(type(node))
        if rewrite_node is not None:
            rewrite_node(node)


def _escape(node: exp.Expr) -> None:
    """Write a text so that its backslashes do not depend on ``standard_conforming_strings``."""
    if node.args["is_string"] and "\\" in node.name:
        node.replace(exp.ByteString(this=node.name))


def _truncate(node: exp.Expr) -> None:
    """Truncate a date as a local time, so that the session's time zone does not matter."""
    none = exp.Interval(this=exp.Literal.string("0"), unit=exp.var("DAY"))
    node.set("this", exp.Add(this=exp.paren(node.this.copy()), expression=none))


_REWRITES: Mapping[type[exp.Expr], Callable[[exp.Expr], None]] = {
    exp.Literal: _escape,
    exp.TimestampTrunc: _truncate,
    exp.DateTrunc: _truncate,
}
