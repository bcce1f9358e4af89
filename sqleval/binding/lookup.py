"""Looks up the columns that a user names."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence

from sqleval.common.columns import Column
from sqleval.common.names import find_nearest
from sqleval.common.structs import find_lists, list_fields
from sqleval.errors import RequestError, SourceError

#: Characters that are rare in names and frequent in expressions.
_OPERATORS = re.compile(r"[()\[\]'+*/<>=]")

Columns = Mapping[str, Column]

#: Arguments that take no expression.
_NAMES_ONLY = ("on", "key", "long", "model", "groups", "time")


def find_column(columns: Columns, name: str, role: str, where: str) -> Column:
    """Return the column called ``name``.

    Raises
    ------
    RequestError
        If there is no such column; the message suggests a similar name and lists all.
    SourceError
        If the column cannot be used, for example because the files of the source have it in
        different types.
    """
    _check_name(name, role)
    if name in columns:
        if columns[name].unusable:
            raise SourceError(f"{role}={name!r} {columns[name].unusable} (in {where})")
        return columns[name]
    names = [column for column in columns if not column.startswith("_sqleval_")]
    shown = ", ".join(names[:30]) + (", ..." if len(names) > 30 else "")
    advice = _advise_separator(name, names)
    if role == "by" and "(" in name:
        advice = f"; an expression needs a name: by={{'key': {name!r}}} (--by NAME=SQL)"
    elif role in _NAMES_ONLY and _OPERATORS.search(name):
        advice = f"; {role}= takes the name of a column, no expression"
    elif _OPERATORS.search(name):
        advice = "; nor is it an expression in SQL"
    elif names and all(re.fullmatch(r"column\d+", each) for each in names):
        advice = (
            "; no header was found: if the first line is one, give csv={'header': True} "
            "(--csv header=true)"
        )
    if lists := find_lists({each: columns[each].type for each in names}):
        advice = (
            f"; {lists[0]!r} holds a list of objects: rows={lists[0]!r} (--rows {lists[0]}) makes "
            "them the rows of JSON files"
        )
    raise RequestError(
        f"{role}={name!r}: no such column in {where}{find_nearest(name, columns)} "
        f"(columns: {shown}){advice}"
    )


def check_fields(column: Column, fields: Sequence[str], role: str, where: str) -> None:
    """Raise `RequestError` if a struct lacks a field, of several levels.

    ``role`` is the role with its text, for the message.
    """
    kind, path = column.type, column.name
    for field in fields:
        known = list_fields(kind)
        kind = next((of for name, of in known.items() if name.casefold() == field.casefold()), "")
        if known and not kind:
            raise RequestError(
                f"{role}: {path!r} has no field {field!r} in {where}{find_nearest(field, known)} "
                f"(fields: {', '.join(known)})"
            )
        path += f".{field}"


def _advise_separator(name: str, names: Iterable[str]) -> str:
    """Return advice if the header of a CSV file was read as one name; '' otherwise."""
    for header in names:
        for sign in ",;\t|":
            if sign in header and name in [part.strip(" \"'") for part in header.split(sign)]:
                shown = "tab" if sign == "\t" else sign
                return (
                    f"; {header!r} was read as one name: its separator is {shown!r}. csv= (--csv) "
                    "holds for the rows and the labels alike: leave out separator, and it is "
                    f"found for each file, or write both with one: csv={{'separator': {shown!r}}} "
                    f"(--csv separator={shlex.quote(shown)})"
                )
    return ""


def _check_name(name: object, option: str) -> None:
    if not isinstance(name, str):
        raise RequestError(f"{option}={name!r} must be the name of a column, as a text")


def list_unique_names(value: str | Sequence[str], option: str) -> list[str]:
    """Return the names in the value of an option; raise if one of them is repeated."""
    names = list_names(value, option)
    for name in names:
        if names.count(name) > 1:
            raise RequestError(f"{option}= names {name!r} twice")
        if "\0" in name:  # where Arrow ends a name
            raise RequestError(f"{option}={name!r}: the name of a column may not hold a NUL")
    return names


def list_names(value: str | Iterable[str] | None, option: str) -> list[str]:
    """Return the names in the value of an option: none, one or several.

    Raises
    ------
    RequestError
        If one of them is not a text.
    """
    if value is None:
        return []
    names = [value] if isinstance(value, str) or not isinstance(value, Iterable) else list(value)  # pyright: ignore[reportUnnecessaryIsInstance]
    for name in names:
        _check_name(name, option)
    return names
