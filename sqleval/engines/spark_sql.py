"""Statements of DuckDB's in Spark's SQL, and Spark's types by the names of `common.columns`."""

from functools import lru_cache
from typing import Any

import sqlglot
from sqlglot import exp

from sqleval.common.rewrites import adapt

#: Spark's name of a type, and the one of `common.columns`; others are spelled alike.
_TYPES = {
    "byte": "TINYINT",
    "tinyint": "TINYINT",
    "short": "SMALLINT",
    "smallint": "SMALLINT",
    "int": "INTEGER",
    "long": "BIGINT",
    "bigint": "BIGINT",
    "string": "VARCHAR",
    "binary": "BLOB",
    "timestamp": "TIMESTAMP WITH TIME ZONE",
    "timestamp_ntz": "TIMESTAMP",
    "void": '"NULL"',
}


def name_type(kind: Any) -> str:
    """Return the name in `common.columns` of one of Spark's types."""
    name = str(kind.simpleString())
    word = name.partition("(")[0].partition("<")[0]
    if word in ("char", "varchar"):
        return "VARCHAR"
    if word == "decimal":
        return name.upper().replace(",", ", ")
    if word in ("array", "struct", "map"):
        return "STRUCT(...)"
    if word.startswith("interval"):
        return "INTERVAL"
    return _TYPES.get(word, word.upper())


@lru_cache(maxsize=256)
def translate(statement: str, names: tuple[str, ...]) -> str:
    """Return a statement of DuckDB's in Spark's SQL.

    Parameters
    ----------
    statement : str
        The statement; its ``$parameters`` become ``:parameters``.
    names : tuple of str
        The relations that stand for DataFrames; they become ``{name}``, as `SparkSession.sql`
        takes them.
    """
    tree = adapt(sqlglot.parse_one(statement, dialect="duckdb"), "spark")
    order = tree.args.get("order")
    for ordered in order.expressions if isinstance(order, exp.Order) else []:
        ordered.set("nulls_first", False)  # as in every result, whatever the engine's default
    places: dict[str, str] = {}
    for table in tree.find_all(exp.Table):
        if table.name in names:
            place = f"place_of_{len(places)}_"
            while place in statement:
                place += "_"
            places[place] = f"{{{table.name}}}"
            table.set("this", exp.to_identifier(place))
    text = tree.sql(dialect="spark", comments=False, copy=False)
    if not names:
        return text
    text = text.replace("{", "{{").replace("}", "}}")
    for place, name in places.items():
        text = text.replace(place, name)
    return text
