"""Reads roles that are SQL expressions over the source's columns."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from sqleval.binding.lookup import Columns
from sqleval.binding.slice_keys import SliceKey, reads_singles
from sqleval.binding.where import check_expression

#: Text that can only be the name of a column, even if SQL reads it as an expression.
_NAME = re.compile(r"\w*")
#: Characters that show an expression, although a name may hold them.
_OPERATORS = re.compile(r"[()\[\]'+*/<>=|]")


def map_texts(value: Any, change: Callable[[str], Any]) -> Any:
    """Return a role's text, or its nested mapping or list of texts, with each text changed.

    Examples
    --------
    >>> map_texts({"a": "x", "b": {0: "y"}}, str.upper)
    {'a': 'X', 'b': {0: 'Y'}}
    """
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        named = cast("Mapping[object, object]", value)
        return {key: map_texts(each, change) for key, each in named.items()}
    if isinstance(value, (list, tuple)):
        return [map_texts(each, change) for each in cast("Sequence[object]", value)]
    return value


def list_texts(value: Any) -> list[str]:
    """Return all texts of a role's value.

    Examples
    --------
    >>> list_texts({"a": "x", "b": {0: "y"}})
    ['x', 'y']
    """
    texts: list[str] = []
    map_texts(value, texts.append)
    return texts


def find_expression(text: str, columns: Columns) -> exp.Expr | None:
    """Return the parsed expression of a role; None for the name of a column.

    A text that is a column's name is that column. So is a word, even if no column has the name.
    """
    if text in columns or _NAME.fullmatch(text):
        return None
    try:
        parsed = sqlglot.parse(text, dialect="duckdb")
    except (SqlglotError, TypeError, ValueError, RecursionError):
        parsed = []
    tree = parsed[0] if len(parsed) == 1 else None
    if isinstance(tree, exp.Condition) and tree.find(exp.Column):
        is_word = isinstance(tree, exp.Column) and not (tree.table or tree.this.args["quoted"])
        return None if is_word else tree
    return None


def is_expression(text: str) -> bool:
    """Whether a text is an expression over columns that are not known.

    Names may hold spaces, hyphens and dots, so only other operators show an expression.

    Examples
    --------
    >>> is_expression("1 - p_no"), is_expression("user-id"), is_expression("p[2]")
    (True, False, True)
    """
    has_operator = bool(_OPERATORS.search(text)) or " - " in text
    return has_operator and find_expression(text, {}) is not None


def list_names_read(tree: exp.Expr) -> set[str]:
    """Return the names of the columns that an expression reads, in lower case."""
    return {column.parts[0].name.casefold() for column in tree.find_all(exp.Column)}


def parse_role(text: str, columns: Columns, where: str, role: str) -> SliceKey:
    """Return the computed column of a role's expression, whose name is the text.

    Raises
    ------
    RequestError
        If it is not one expression over existing columns with allowed functions only.
    """
    tree, used = check_expression(text, columns, where, role)
    return SliceKey(
        text, tree.sql(dialect="duckdb"), used, has_singles=reads_singles(used, columns)
    )
