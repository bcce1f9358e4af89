"""Runs statements in ClickHouse, in this process through chdb."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from sqleval.common.columns import Column
from sqleval.engines.connected import Connected
from sqleval.engines.warehouse import Translated
from sqleval.errors import EngineError, SourceError, SqlevalError

#: The name in `common.columns` of each of ClickHouse's types, without its arguments.
_TYPES = {
    "Bool": "BOOLEAN",
    "Date": "DATE",
    "Date32": "DATE",
    "DateTime": "TIMESTAMP",
    "DateTime64": "TIMESTAMP",
    "Enum8": "VARCHAR",
    "Enum16": "VARCHAR",
    "FixedString": "VARCHAR",
    "Float32": "FLOAT",
    "Float64": "DOUBLE",
    "Int8": "TINYINT",
    "Int16": "SMALLINT",
    "Int32": "INTEGER",
    "Int64": "BIGINT",
    "Int128": "HUGEINT",
    "String": "VARCHAR",
    "UInt8": "UTINYINT",
    "UInt16": "USMALLINT",
    "UInt32": "UINTEGER",
    "UInt64": "UBIGINT",
    "UUID": "VARCHAR",
}
_OTHER = "STRUCT(...)"
#: Types around another type that change neither its values nor its name.
_AROUND = re.compile(r"(?:Nullable|LowCardinality)\((.*)\)")
#: Numbers of errors about a missing or unreadable table, as ClickHouse's ErrorCodes.cpp has them.
_UNREADABLE = {"60", "81", "291", "497"}


def _name_type(text: str) -> str:
    """Return the name in `common.columns` of one of ClickHouse's types."""
    while around := _AROUND.fullmatch(text):
        text = around[1]
    word, _, arguments = text.partition("(")
    if word == "Decimal":
        return f"DECIMAL({arguments}"
    return _TYPES.get(word, _OTHER)


class ClickHouse(Connected):
    """ClickHouse, through a session of chdb; see `connected.Connected`."""

    name = "ClickHouse"
    dialect = "clickhouse"

    def _describe(self, text: str) -> Sequence[Column]:
        rows = self._connection.query(f"DESCRIBE TABLE ({text})", "ArrowTable").to_pylist()
        return [Column(row["name"], _name_type(row["type"])) for row in rows]

    def _execute(
        self, translated: Translated, on_start: Callable[[Callable[[], object]], object]
    ) -> pl.DataFrame:
        # A session has no way to cancel a statement.
        return pl.DataFrame(self._connection.query(translated.text, "ArrowTable"))

    def _list_errors(self) -> tuple[type[Exception], ...]:
        return (RuntimeError,)  # the base of chdb's own class, which is private

    def _judge(self, error: Any, text: str) -> tuple[type[SqlevalError], str]:
        reason = " ".join(str(error).split())
        code = re.search(r"Code: (\d+)\. DB::Exception: ", reason)
        is_unreadable = code is not None and code[1] in _UNREADABLE
        reason = reason.partition("DB::Exception: ")[2] or reason
        return SourceError if is_unreadable else EngineError, reason
