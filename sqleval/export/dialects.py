"""DuckDB's SQL as other engines write it, and the user's own names in it."""

import re
from collections.abc import Mapping

import sqlglot
from sqlglot import ErrorLevel, exp
from sqlglot.errors import SqlglotError, UnsupportedError

from sqleval.catalog import portable
from sqleval.common.rewrites import adapt
from sqleval.errors import RequestError

#: What each dialect is called, in alphabetical order.
DIALECTS: Mapping[str, str] = {
    "bigquery": "BigQuery",
    "clickhouse": "ClickHouse",
    "databricks": "Databricks",
    "duckdb": "DuckDB",
    "postgres": "PostgreSQL",
    "redshift": "Redshift",
    "snowflake": "Snowflake",
    "spark": "Spark",
    "sqlite": "SQLite",
    "trino": "Trino",
    "tsql": "T-SQL",
}
#: A quote after an odd number of backslashes.
_ESCAPED_QUOTE = re.compile(r"(?<!\\)((?:\\\\)*)\\'")
_PLAIN_NAME = re.compile(r"[A-Za-z_]\w*")


def identifier(text: str, dialect: str) -> exp.Identifier:
    """Return a name as the dialect has it: quoted where it was, or where it must be."""
    try:
        parsed = sqlglot.parse_one(text, dialect=dialect)
    except SqlglotError:
        parsed = None
    if isinstance(parsed, exp.Column) and len(parsed.parts) == 1:
        name = parsed.this
        if isinstance(name, exp.Identifier) and (name.quoted or _PLAIN_NAME.fullmatch(text)):
            return name
    return exp.to_identifier(text, quoted=True)


def table_name(text: str, dialect: str, option: str = "--table") -> exp.Table:
    """Return the name of the table that an option gives, checked to be no more than a name.

    Raises
    ------
    RequestError
        If it is something else.
    """
    try:
        table = exp.to_table(text, dialect=dialect)
    except (SqlglotError, ValueError):
        table = None
    names = table.parts if table is not None and not table.alias else []
    plain = (isinstance(n, exp.Identifier) and re.fullmatch(r"[\w$ -]+", n.name) for n in names)
    if table is None or not names or not all(plain):
        raise RequestError(
            f"{option} {text!r} must be the name of a table, such as db.schema.preds"
        )
    return table


def _check(tree: exp.Expr, dialect: str) -> None:
    """Refuse what the list of portable SQL does not hold: sqlglot would pass it on unchanged."""
    for node in tree.walk():
        if not portable.is_portable(node, dialect):
            raise RequestError(f"{type(node).__name__} is not portable: {node.sql()[:80]}")


def check_labels(dialect: str) -> None:
    """Refuse a second table where a join cannot tell which rows have no partner.

    Raises
    ------
    RequestError
        For ClickHouse.
    """
    if dialect == "clickhouse":
        raise RequestError(
            "labels= (--labels) cannot be used with ClickHouse, whose FULL JOIN gives 0 and '', "
            "not NULL, where a row has no partner; join the labels in a view"
        )


def written(
    sql: str, dialect: str, names: Mapping[str, exp.Identifier], tables: Mapping[str, exp.Table]
) -> str:
    """Return a statement of DuckDB's in a dialect, with the user's own names.

    Parameters
    ----------
    sql : str
        The statement, in which the user's columns, and nothing else, are quoted.
    dialect : str
        One of `DIALECTS`.
    names : mapping of str to sqlglot.exp.Identifier
        Each column as the dialect writes it.
    tables : mapping of str to sqlglot.exp.Table
        What stands for a relation of the statement: ``_input``, ``_late``.

    Raises
    ------
    RequestError
        If the dialect cannot say it; the message names the construct.
    """
    tree = sqlglot.parse_one(sql, dialect="duckdb")
    _check(tree, dialect)
    try:
        text = _named_as(adapt(tree, dialect), names, tables).sql(
            dialect=dialect,
            pretty=True,
            comments=False,
            copy=False,
            unsupported_level=ErrorLevel.RAISE,
        )
    except UnsupportedError as error:
        raise RequestError(f"{DIALECTS[dialect]} cannot say this: {error}") from error
    # A quote within a text: doubled, as everywhere, and not escaped, which is a setting there.
    return _ESCAPED_QUOTE.sub(r"\1''", text) if dialect == "redshift" else text


def _named_as(
    tree: exp.Expr, names: Mapping[str, exp.Identifier], tables: Mapping[str, exp.Table]
) -> exp.Expr:
    """Put the user's own names where they stand: the tables, their columns, the result's keys."""
    for item in tree.selects if isinstance(tree, exp.Query) else []:
        if isinstance(item, exp.Alias):
            own_name = names.get(item.alias) or identifier(item.alias, "duckdb")
            item.set("alias", own_name.copy())
    for node in list(tree.find_all(exp.Table, exp.Column)):
        if isinstance(node, exp.Table) and node.name in tables:
            own = tables[node.name].copy()
            own.set("alias", node.args["alias"])
            node.replace(own)
        elif isinstance(node, exp.Column) and node.this.quoted and node.name in names:
            node.set("this", names[node.name].copy())
    return tree
