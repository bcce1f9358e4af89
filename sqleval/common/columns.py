"""Defines a column of the input: its name, its type, and the kind of the type's values.

Every engine reports types by the SQL names below. The rest of the package uses their `Kind`.
"""

import re
from collections.abc import Mapping
from typing import Literal, NamedTuple

Kind = Literal[
    "boolean", "integer", "hugeint", "decimal", "float32", "float64", "text", "enum", "uuid",
    "date", "time", "timestamp", "instant", "interval", "binary", "nested", "other",
]  # fmt: skip
#: The kind of each type by name, without the type's arguments, as in DECIMAL(9, 2).
_KINDS: Mapping[str, Kind] = {
    "BOOLEAN": "boolean",
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT"), "integer"),
    **dict.fromkeys(("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"), "integer"),
    **dict.fromkeys(("HUGEINT", "UHUGEINT"), "hugeint"),
    "FLOAT": "float32",
    "DOUBLE": "float64",
    "VARCHAR": "text",
    "UUID": "uuid",
    "DATE": "date",
    **dict.fromkeys(("TIME", "TIME_NS", "TIME WITH TIME ZONE"), "time"),
    "INTERVAL": "interval",
    "BLOB": "binary",
}  # pyright: ignore[reportAssignmentType]
#: The kind of value that a canonical text represents; see `sqleval.binding.canonical`.
Form = Literal["number", "truth value", "text"]
#: The type of a column without any value, as made by Arrow and pandas; it fits any role.
NO_TYPE = '"NULL"'
TEXTS: frozenset[Kind] = frozenset({"text", "enum"})
WHOLE: frozenset[Kind] = frozenset({"integer", "hugeint"})
FRACTIONS: frozenset[Kind] = frozenset({"decimal", "float32", "float64"})
NUMBERS = WHOLE | FRACTIONS


def find_type_kind(name: str) -> Kind:
    """Return the kind of a type.

    Examples
    --------
    >>> find_type_kind("DECIMAL(9, 2)"), find_type_kind("INTEGER[]")
    ('decimal', 'nested')
    >>> find_type_kind("TIMESTAMP WITH TIME ZONE")
    'instant'
    """
    if name in _KINDS:
        return _KINDS[name]
    if name.endswith("]") or name.startswith(("MAP(", "STRUCT(", "UNION(")):
        return "nested"
    if name.startswith("DECIMAL"):
        return "decimal"
    if name.startswith("ENUM"):
        return "enum"
    if name.startswith("TIMESTAMP"):
        return "instant" if "TIME ZONE" in name or name.startswith("TIMESTAMPTZ") else "timestamp"
    return "other"


def fits_frame(name: str) -> bool:
    """Whether values of this type have a type in Polars; INTERVAL and UNION have none.

    Examples
    --------
    >>> fits_frame("DATE[]"), fits_frame("STRUCT(a INTERVAL)")
    (True, False)
    """
    return re.search(r"\bINTERVAL\b|\bUNION\(", name) is None or name.startswith("ENUM")


def is_float(name: str) -> bool:
    """Whether a column of this type can hold NaN and infinities."""
    return find_type_kind(name) in ("float32", "float64")


def is_integer(name: str) -> bool:
    """Whether a column of this type holds whole numbers."""
    return find_type_kind(name) in WHOLE


def is_number(name: str) -> bool:
    """Whether a column of this type can be a score."""
    return find_type_kind(name) in NUMBERS


class Column(NamedTuple):
    """A column of the user's source: its name and its type.

    ``unusable`` says why it cannot be used: files disagree about its type, or about its dates. A
    type that ``is_assumed`` was not read from the source: statements cast the column to it, unless
    the type is empty. A column with a ``form`` is read as the canonical text of its values, which
    have the type ``stored``; see `sqleval.binding.canonical`. ``has_singles`` says that some files
    hold FLOAT and others DOUBLE.
    """

    name: str
    type: str
    unusable: str = ""
    is_assumed: bool = False
    form: Form | None = None
    stored: str = ""
    has_singles: bool = False

    @property
    def kind(self) -> Kind:
        """The kind of its type."""
        return find_type_kind(self.type)

    @property
    def kind_stored(self) -> Kind:
        """The kind of the values in the source, even if they are read as canonical texts."""
        return find_type_kind(self.stored or self.type)
