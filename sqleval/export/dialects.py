"""DuckDB's SQL as other engines write it, and the user's own names in it."""

import re
from collections.abc import Mapping

import sqlglot
from sqlglot import ErrorLevel, exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError, UnsupportedError

from sqleval.catalog import portable
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
#: Where IS NOT DISTINCT FROM exists and joins by hashing.
_NULL_SAFE = frozenset({"clickhouse", "databricks", "duckdb", "snowflake", "spark", "sqlite"})
#: Where GREATEST and LEAST of NULL and a number are NULL.
_STRICT_GREATEST = frozenset({"bigquery", "trino"})
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


def table_name(text: str, dialect: str) -> exp.Table:
    """Return the table's name, checked to be no more than a name.

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
        raise RequestError(f"--table {text!r} must be the name of a table, such as db.schema.preds")
    return table


def _marked(side: exp.Expr, dialect: str) -> exp.Expr:
    """Return a key as text that no other key has: NULL is the empty one."""
    kind = exp.DataType.build("NVARCHAR(MAX)" if dialect == "tsql" else "TEXT", dialect=dialect)
    text = exp.cast(side.copy(), kind)
    marked = exp.DPipe(this=text, expression=exp.Literal.string("="))
    return exp.func("COALESCE", marked, exp.Literal.string(""))


def _adapted(tree: exp.Expr, dialect: str) -> exp.Expr:
    """Rewrite what the dialect says differently and sqlglot passes on as it is."""
    default = str(Dialect.get_or_raise(dialect).NULL_ORDERING)
    for node in list(tree.walk()):
        if isinstance(node, exp.Ordered):
            # NULLs have been left out, so that where they would stand need not be said.
            small = default == "nulls_are_small"
            first = default != "nulls_are_last" and small != bool(node.args.get("desc"))
            node.set("nulls_first", first)
        elif isinstance(node, exp.NullSafeEQ) and dialect not in _NULL_SAFE:
            # An equality, which every engine joins by hashing.
            node.replace(
                exp.EQ(this=_marked(node.left, dialect), expression=_marked(node.right, dialect))
            )
        elif isinstance(node, (exp.Greatest, exp.Least)) and dialect in _STRICT_GREATEST:
            if len(node.expressions) == 1 and isinstance(node.expressions[0], exp.Literal):
                limit = node.expressions[0].copy()
                node.replace(exp.func("COALESCE", node.copy(), limit))
        elif isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal):
            if node.this.name.lower().endswith("infinity"):
                node.replace(_infinity(node, dialect))
        elif isinstance(node, exp.DataType) and node.this == exp.DataType.Type.TINYINT:
            node.set("this", exp.DataType.Type.INT)
        elif isinstance(node, exp.CTE) and dialect != "duckdb":
            node.set("materialized", None)
        elif isinstance(node, exp.Alias) and not node.find_ancestor(exp.Table):
            same = isinstance(node.this, exp.Column) and not node.this.table
            if same and node.this.name == node.alias:
                node.replace(node.this)
    return tree


def _infinity(node: exp.Cast, dialect: str) -> exp.Expr:
    if dialect == "tsql":
        raise RequestError(
            "T-SQL cannot say CAST('Infinity' AS DOUBLE): it has no infinite number, and a "
            "threshold above all scores is infinite"
        )
    if dialect == "sqlite":
        return exp.Literal.number("9e999")
    if dialect == "snowflake":
        return exp.cast(
            exp.Literal.string(node.this.name.lower().replace("infinity", "inf")), "DOUBLE"
        )
    return node


def _check(tree: exp.Expr, dialect: str) -> None:
    """Refuse what the list of portable SQL does not hold: sqlglot would pass it on unchanged."""
    known = (*portable.ALLOWED, exp.NullSafeEQ)
    known += portable.DUCKDB_NODES if dialect == "duckdb" else ()
    for node in tree.walk():
        if type(node) not in known:
            raise RequestError(f"{type(node).__name__} is not portable: {node.sql()[:80]}")


def written(sql: str, dialect: str, names: Mapping[str, exp.Identifier], table: exp.Table) -> str:
    """Return a statement of DuckDB's in a dialect, with the user's own names.

    Parameters
    ----------
    sql : str
        The statement. It reads ``_input AS s``, whose columns are those of ``names``.
    dialect : str
        One of `DIALECTS`.
    names : mapping of str to sqlglot.exp.Identifier
        Each column as the dialect writes it.
    table : sqlglot.exp.Table
        What stands for ``_input``.

    Raises
    ------
    RequestError
        If the dialect cannot say it; the message names the construct.
    """
    tree = sqlglot.parse_one(sql, dialect="duckdb")
    _check(tree, dialect)
    try:
        text = _named_as(_adapted(tree, dialect), names, table).sql(
            dialect=dialect, pretty=True, comments=False, unsupported_level=ErrorLevel.RAISE
        )
    except UnsupportedError as error:
        raise RequestError(f"{DIALECTS[dialect]} cannot say this: {error}") from error
    # A quote within a text: doubled, as everywhere, and not escaped, which is a setting there.
    return text.replace("\\'", "''") if dialect == "redshift" else text


def _named_as(tree: exp.Expr, names: Mapping[str, exp.Identifier], table: exp.Table) -> exp.Expr:
    """Put the user's own names where they stand: the table, its columns, the result's keys."""
    for node in [node for node in tree.find_all(exp.Table) if node.name == "_input"]:
        select = node.parent_select
        own = table.copy()
        own.set("alias", node.args["alias"])
        node.replace(own)
        for column in select.find_all(exp.Column) if select else ():
            column.set("this", names[column.name].copy())
    for item in tree.selects if isinstance(tree, exp.Query) else []:
        if isinstance(item, exp.Alias):
            own_name = names.get(item.alias) or identifier(item.alias, "duckdb")
            item.set("alias", own_name.copy())
    return tree
