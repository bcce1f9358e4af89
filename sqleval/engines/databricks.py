"""Runs statements in Databricks SQL, through its connector."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import polars as pl

from sqleval.common.columns import Column
from sqleval.dialects.spark import find_error_class, name_type, shorten
from sqleval.engines.connected import Connected, write_empty
from sqleval.engines.warehouse import Translated
from sqleval.errors import SqlevalError


class Databricks(Connected):
    """A warehouse or cluster of Databricks, through its connector; see `Connected`."""

    name = "Databricks"
    dialect = "databricks"

    def _describe(self, text: str) -> Sequence[Column]:
        with self._connection.cursor() as cursor:
            rows = cursor.execute(write_empty(text)).fetchall_arrow()
            kinds = map(_write_type, cursor.description, rows.schema)
            names = [name for name, *_ in cursor.description]
            return [Column(name, name_type(kind)) for name, kind in zip(names, kinds, strict=True)]

    def _execute(
        self, translated: Translated, on_start: Callable[[Callable[[], object]], object]
    ) -> pl.DataFrame:
        with self._connection.cursor() as cursor:
            on_start(lambda: cursor.active_command_id and cursor.cancel())
            return pl.DataFrame(cursor.execute(translated.text).fetchall_arrow())

    def _list_errors(self) -> tuple[type[Exception], ...]:
        return (import_module("databricks.sql.exc").Error,)

    def _judge(self, error: Any, text: str) -> tuple[type[SqlevalError], str]:
        message = str(error)
        return find_error_class(message.partition("]")[0].removeprefix("[")), shorten(message)


def _write_type(described: Any, field: Any) -> str:
    """Return the type of a column as Spark writes it."""
    _, word, _, _, precision, scale, _ = described
    if word == "decimal":
        return f"decimal({precision},{scale})"
    # The description calls both types of times "timestamp"; the Arrow type tells them apart.
    return "timestamp_ntz" if word == "timestamp" and field.type.tz is None else word
