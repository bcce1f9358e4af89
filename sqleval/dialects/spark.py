"""Translates statements to Spark's SQL, and Spark's types and errors to this package's."""

from functools import lru_cache

import sqlglot
from sqlglot import exp

from sqleval.common.columns import find_type_kind
from sqleval.dialects.rewrites import adapt, put_nulls_last
from sqleval.errors import DataError, EngineError, SourceError, SqlevalError

#: The name in `common.columns` of each type that Spark names differently.
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
#: Beginnings of the conditions of errors about a bad value in the rows, and about a missing table.
_VALUES = (
    "CAST_",
    "ARITHMETIC_",
    "NUMERIC_",
    "INVALID_ARRAY",
    "DIVIDE_",
    "DATETIME_",
    "USER_RAISED_",
)
_UNREADABLE = ("PATH_", "FAILED_READ", "TABLE_OR_VIEW")


def find_error_class(condition: str) -> type[SqlevalError]:
    """Return the class of error to raise for a condition of Spark."""
    if condition.startswith(_UNREADABLE):
        return SourceError
    return DataError if condition.startswith(_VALUES) else EngineError


def shorten(message: str) -> str:
    """Return the first line of an error, without its condition and query context."""
    text = next((line for line in message.splitlines() if line.strip()), "")
    return text.partition("] ")[2] if text.startswith("[") else text


def name_type(name: str) -> str:
    """Return the name in `common.columns` of one of Spark's types."""
    word = name.partition("(")[0].partition("<")[0]
    if word in ("char", "varchar"):
        return "VARCHAR"
    if word == "decimal":
        return name.upper().replace(",", ", ")
    if word in ("array", "struct", "map"):
        text = exp.DataType.build(name, dialect="spark").sql(dialect="duckdb")
        # The name of a field may be one that sqlglot does not read.
        return text if find_type_kind(text) == "nested" else "STRUCT(...)"
    if word.startswith("interval"):
        return "INTERVAL"
    return _TYPES.get(word, word.upper())


@lru_cache(maxsize=256)
def translate(statement: str, names: tuple[str, ...], *, pretty: bool = False) -> str:
    """Translate a DuckDB statement to Spark's SQL.

    Parameters
    ----------
    statement : str
        The statement; its ``$parameters`` become ``:parameters``.
    names : tuple of str
        The relations that are DataFrames; they become ``{name}``, as `SparkSession.sql` takes
        them.
    pretty : bool
        Whether the text is indented, for a reader.
    """
    tree = adapt(sqlglot.parse_one(statement, dialect="duckdb"), "spark")
    put_nulls_last(tree)
    places: dict[str, str] = {}
    for table in tree.find_all(exp.Table):
        if table.name in names:
            place = f"place_of_{len(places)}_"
            while place in statement:
                place += "_"
            places[place] = f"{{{table.name}}}"
            table.set("this", exp.to_identifier(place))
    text = tree.sql(dialect="spark", comments=False, pretty=pretty, copy=False)
    if not names:
        return text
    text = text.replace("{", "{{").replace("}", "}}")
    for place, name in places.items():
        text = text.replace(place, name)
    return text
