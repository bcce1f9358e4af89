"""Writes a split as one statement in the dialect of another engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqleval.binding.lookup import list_names
from sqleval.common.columns import Column
from sqleval.errors import RequestError
from sqleval.export import dialects
from sqleval.sources.source import Source
from sqleval.splits.statement import build_split


def export_split(table: str, dialect: str, options: Mapping[str, Any]) -> str:
    """Return a split as one statement in a dialect, over a table of that engine.

    Parameters
    ----------
    table : str
        The table's name in the dialect.
    dialect : str
        One of `sqleval.export.dialects.DIALECTS`; it must have the function MD5.
    options : mapping
        The options of `sqleval.split`; ``time`` must be a numeric column.

    Raises
    ------
    RequestError
        For an unknown dialect, or one that has no MD5.
    """
    dialects.check_dialect(dialect)
    if dialect == "sqlite":
        raise RequestError("SQLite has no function MD5, which a split needs")
    if options.get("where") is not None:
        raise RequestError("where= cannot be used with --table; split a view of the table")
    roles = ("key", "stratify", "group", "time")
    columns_read = [name for role in roles for name in list_names(options[role], role)]
    times = list_names(options["time"], "time")
    columns = {n: Column(n, "DOUBLE" if n in times else "VARCHAR") for n in columns_read}
    split = build_split(Source("_input", label=table), options, dialect=dialect, columns=columns)
    names = {name: dialects.parse_identifier(name, dialect) for name in columns_read}
    tables = {"_input": dialects.parse_table(table, dialect)}
    return dialects.translate(split.statement.inline(), dialect, names, tables) + ";\n"
