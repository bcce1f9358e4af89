"""A column of the input: its name and its type, and what a type can hold."""

from typing import NamedTuple

_FLOATS = {"FLOAT", "DOUBLE"}
_INTEGERS = {
    "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT",
    "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT",
}  # fmt: skip


def is_float(kind: str) -> bool:
    """Whether a column of this type can hold NaN and infinities."""
    return kind in _FLOATS


def is_integer(kind: str) -> bool:
    """Whether this is one of DuckDB's integer types."""
    return kind in _INTEGERS


def is_number(kind: str) -> bool:
    """Whether a column of this type can be a score."""
    return is_float(kind) or is_integer(kind) or kind.startswith("DECIMAL")


class Column(NamedTuple):
    """A column of the user's: its own name and its DuckDB type.

    ``differs`` says how files disagree about it, where it cannot be used for that. Nobody has
    looked at a column whose type ``is_assumed``: it is cast to the type where it is read, and left
    as it is where the type is empty.
    """

    name: str
    type: str
    differs: str = ""
    is_assumed: bool = False
