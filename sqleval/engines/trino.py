"""Runs statements in Trino, through its client."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import polars as pl

from sqleval.common.columns import Column
from sqleval.engines.connected import Connected, write_empty
from sqleval.engines.types import find_polars_types
from sqleval.engines.warehouse import Translated
from sqleval.errors import DataError, EngineError, SourceError, SqlevalError

#: The name in `common.columns` of each type that Trino names differently; both without arguments.
_TYPES = {
    "array": "STRUCT(...)",
    "char": "VARCHAR",
    "json": "VARCHAR",
    "map": "STRUCT(...)",
    "real": "FLOAT",
    "row": "STRUCT(...)",
    "unknown": "INTEGER",
    "varbinary": "BLOB",
}
#: Names of errors about a bad value in the rows, and about a missing or unreadable table.
_VALUES = {
    "DIVISION_BY_ZERO", "INVALID_CAST_ARGUMENT", "INVALID_FUNCTION_ARGUMENT",
    "NUMERIC_VALUE_OUT_OF_RANGE",
}  # fmt: skip
_UNREADABLE = {
    "CATALOG_NOT_FOUND", "MISSING_CATALOG_NAME", "MISSING_SCHEMA_NAME", "PERMISSION_DENIED",
    "SCHEMA_NOT_FOUND", "TABLE_NOT_FOUND",
}  # fmt: skip


def _name_type(text: str) -> str:
    """Return the name in `common.columns` of one of Trino's types."""
    word, _, arguments = text.partition("(")
    if word == "decimal":
        return f"DECIMAL({arguments}".replace(",", ", ")
    if text.endswith("with time zone"):
        return f"{word.partition(' ')[0].upper()} WITH TIME ZONE"
    return _TYPES.get(word, word.upper())


class Trino(Connected):
    """Trino, through its client; see `connected.Connected`."""

    name = "Trino"
    dialect = "trino"

    def _describe(self, text: str) -> Sequence[Column]:
        with self._connection.cursor() as cursor:
            cursor.execute(write_empty(text))
            return _read_columns(cursor)

    def _execute(
        self, translated: Translated, on_start: Callable[[Callable[[], object]], object]
    ) -> pl.DataFrame:
        with self._connection.cursor() as cursor:
            on_start(cursor.cancel)  # It does nothing before the statement has begun.
            rows = cursor.execute(translated.text).fetchall()
            columns = _read_columns(cursor)
        # The client returns rows as Python objects.
        return pl.DataFrame(rows, find_polars_types(columns), orient="row")

    def _list_errors(self) -> tuple[type[Exception], ...]:
        return (import_module("trino.exceptions").Error,)

    def _judge(self, error: Any, text: str) -> tuple[type[SqlevalError], str]:
        name, reason = getattr(error, "error_name", ""), getattr(error, "message", str(error))
        if name in _UNREADABLE:
            return SourceError, reason
        return DataError if name in _VALUES else EngineError, reason


def _read_columns(cursor: Any) -> list[Column]:
    """Return the columns of an executed statement."""
    return [Column(each.name, _name_type(each.type_code)) for each in cursor.description]
