"""Translates DuckDB's SQL to other dialects, with the user's names of tables and columns."""

import re
from collections.abc import Mapping

import sqlglot
from sqlglot import ErrorLevel, exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError, UnsupportedError

from sqleval.common.names import find_nearest
from sqleval.common.sql_text import join_parentheses
from sqleval.dialects import portable
from sqleval.dialects.rewrites import adapt
from sqleval.errors import RequestError
from sqleval.export.pruning import drop_unused

#: The name of each dialect, in alphabetical order.
DIALECTS: Mapping[str, str] = {
    "bigquery": "BigQuery",
    "clickhouse": "ClickHouse",
    "databricks": "Databricks",
    "duckdb": "DuckDB",
    "postgres": "PostgreSQL",
    "snowflake": "Snowflake",
    "spark": "Spark",
    "sqlite": "SQLite",
    "trino": "Trino",
}
_PLAIN_NAME = re.compile(r"[A-Za-z_]\w*")
#: Words that need quotes as names of columns in Snowflake
#: (docs.snowflake.com/en/sql-reference/reserved-keywords); sqlglot knows them for other dialects.
_RESERVED_IN_SNOWFLAKE = """
    all alter and any as between by case cast check column connect constraint create cross current
    current_date current_time current_timestamp current_user delete distinct drop else exists false
    following for from full grant group gscluster having ilike in increment inner insert intersect
    into is issue join lateral left like localtime localtimestamp minus natural not null of on or
    order organization qualify regexp revoke right rlike row rows sample select set some start table
    tablesample then to trigger true try_cast union unique update using values when whenever where
    with
"""


def check_dialect(dialect: str) -> None:
    """Refuse a dialect that is not one of `DIALECTS`.

    Raises
    ------
    RequestError
        If it is not; the message has the nearest name, and all names.
    """
    if dialect not in DIALECTS:
        near = find_nearest(dialect, DIALECTS)
        raise RequestError(f"no dialect {dialect!r}{near} ({', '.join(DIALECTS)})")


def parse_identifier(text: str, dialect: str) -> exp.Identifier:
    """Return a name in a dialect, quoted if the text is or if the dialect needs quotes."""
    if dialect == "snowflake" and text.lower() in _RESERVED_IN_SNOWFLAKE.split():
        return exp.to_identifier(text.upper(), quoted=True)  # plain names become capitals
    try:
        parsed = sqlglot.parse_one(text, dialect=dialect)
    except SqlglotError:
        parsed = None
    if isinstance(parsed, exp.Column) and len(parsed.parts) == 1:
        name = parsed.this
        if isinstance(name, exp.Identifier) and (name.quoted or _PLAIN_NAME.fullmatch(text)):
            # In SQLite quotes change no name, and reserved words such as ``order`` need them.
            return exp.to_identifier(name.name, quoted=name.quoted or dialect == "sqlite")
    return exp.to_identifier(text, quoted=True)


def parse_table(text: str, dialect: str, option: str = "--table") -> exp.Table:
    """Return the table that an option names.

    Raises
    ------
    RequestError
        If the text is more than the name of a table.
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
    for name in names if dialect == "sqlite" else []:
        name.set("quoted", True)
    return table


def _check_portable(tree: exp.Expr, dialect: str) -> None:
    """Refuse constructs that are not portable, because sqlglot would leave them unchanged."""
    for node in tree.walk():
        if not portable.is_portable(node, dialect):
            raise RequestError(f"{type(node).__name__} is not portable: {node.sql()[:80]}")


def check_labels(dialect: str) -> None:
    """Refuse a table of labels if a join of the dialect does not mark unmatched rows.

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


def translate(
    sql: str, dialect: str, names: Mapping[str, exp.Identifier], tables: Mapping[str, exp.Table]
) -> str:
    """Return a statement of DuckDB in another dialect, with the user's names.

    Parameters
    ----------
    sql : str
        The statement, in which the user's columns, and nothing else, are quoted.
    dialect : str
        One of `DIALECTS`.
    names : mapping of str to sqlglot.exp.Identifier
        Each column as the dialect writes it.
    tables : mapping of str to sqlglot.exp.Table
        The user's table for each placeholder of the statement: ``_input``, ``_late``.

    Raises
    ------
    RequestError
        If the dialect has no such construct; the message names it.
    """
    tree = drop_unused(sqlglot.parse_one(sql, dialect="duckdb"))
    _check_portable(tree, dialect)
    try:
        text = _put_names(adapt(tree, dialect), names, tables).sql(
            dialect=dialect,
            pretty=True,
            copy=False,
            unsupported_level=ErrorLevel.RAISE,
        )
        escapes = Dialect.get_or_raise(dialect).tokenizer_class.STRING_ESCAPES
        return join_parentheses(text, has_escapes="\\" in escapes)
    except UnsupportedError as error:
        raise RequestError(f"{DIALECTS[dialect]} cannot express this: {error}") from error


def _put_names(
    tree: exp.Expr, names: Mapping[str, exp.Identifier], tables: Mapping[str, exp.Table]
) -> exp.Expr:
    """Insert the user's names of tables, of their columns and of the result's slice keys."""
    for item in tree.selects if isinstance(tree, exp.Query) else []:
        if isinstance(item, exp.Alias):
            alias = names.get(item.alias) or parse_identifier(item.alias, "duckdb")
            item.set("alias", alias.copy())
    for node in [each for each in tree.find_all(exp.Table, exp.Column) if not each.is_star]:
        if isinstance(node, exp.Table) and node.name in tables:
            table = tables[node.name].copy()
            table.set("alias", node.args["alias"])
            node.replace(table)
        elif (
            isinstance(node, exp.Column)
            and not node.is_star
            and node.this.quoted
            and node.name in names
        ):
            node.set("this", names[node.name].copy())
    return tree
