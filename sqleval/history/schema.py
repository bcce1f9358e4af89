"""Holds the schema version of a history, and finds the columns that older histories lack."""

import re
from collections.abc import Collection

from sqleval.common.sql_text import quote
from sqleval.errors import EngineError
from sqleval.history.store import SQL_TYPES, TABLES

#: Raised whenever a table gets a column or a history gets a table. Version 1 was not marked, and
#: lacked the table `SETTLED`.
VERSION = 2

#: The description of a table holds the version, because reading it needs no further rights.
_MARK = re.compile(r"schema version (\d+)")


def read_version(description: str | None) -> int:
    """Return the schema version in the description of a table; 1 without any.

    Examples
    --------
    >>> read_version("schema version 2"), read_version("Results of models."), read_version(None)
    (2, 1, 1)
    """
    mark = _MARK.search(description or "")
    return int(mark[1]) if mark else 1


def write_version(description: str | None) -> str:
    """Return the description of a table with the present version; the rest of it stays.

    Examples
    --------
    >>> write_version("Results of models. schema version 1")
    'Results of models. schema version 2'
    """
    text, mark = description or "", f"schema version {VERSION}"
    return _MARK.sub(mark, text) if _MARK.search(text) else f"{text} {mark}".strip()


def check_version(description: str | None, history: str) -> None:
    """Raise `EngineError` if a history has a newer version, whose rows may mean other things."""
    version = read_version(description)
    if version > VERSION:
        raise EngineError(
            f"the history {history} has schema version {version}, and this release of sqleval "
            f"reads versions up to {VERSION}; upgrade sqleval, or name another history"
        )


def list_missing_columns(table: str, stored: Collection[str]) -> dict[str, str]:
    """Return the columns that a table of an older history lacks, with their SQL types."""
    return {n: SQL_TYPES[str(kind)] for n, kind in TABLES[table].items() if n not in stored}


def define_columns(table: str) -> str:
    """Return the column definitions of a table, for CREATE TABLE."""
    return ", ".join(f"{quote(n)} {kind}" for n, kind in list_missing_columns(table, ()).items())


def write_relation(table: str, stored: Collection[str], place: str) -> str:
    """Return the text after FROM: a table, with NULL for the columns that it lacks."""
    lacking = list_missing_columns(table, stored).items()
    if not lacking:
        return place
    # Not SELECT *, because another run may add the columns before this statement runs.
    columns = [quote(name) for name in stored]
    columns += [f"CAST(NULL AS {kind}) AS {quote(name)}" for name, kind in lacking]
    return f"(SELECT {', '.join(columns)} FROM {place}) AS {table}"
