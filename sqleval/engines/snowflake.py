"""Runs statements in Snowflake, through its connector."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

import polars as pl

from sqleval.common.columns import Column
from sqleval.engines.connected import Connected
from sqleval.engines.warehouse import Translated
from sqleval.errors import DataError, EngineError, SourceError, SqlevalError

#: By the connector's number of a type: its name in `common.columns`, and the type of results.
_TYPES: Mapping[int, tuple[str, pl.DataType]] = {
    0: ("BIGINT", pl.Int64()),
    1: ("DOUBLE", pl.Float64()),
    2: ("VARCHAR", pl.String()),
    3: ("DATE", pl.Date()),
    6: ("TIMESTAMP WITH TIME ZONE", pl.Datetime("us", "UTC")),
    7: ("TIMESTAMP WITH TIME ZONE", pl.Datetime("us", "UTC")),
    8: ("TIMESTAMP", pl.Datetime("us")),
    11: ("BLOB", pl.Binary()),
    12: ("TIME", pl.Time()),
    13: ("BOOLEAN", pl.Boolean()),
}
_OTHER = ("STRUCT(...)", pl.String())
#: The SQLSTATE of a missing or unreadable table, and the beginning of the SQLSTATEs of bad values
#: in the rows.
_UNREADABLE, _VALUES = "42S02", "22"


def _find_type(described: Any) -> tuple[str, pl.DataType]:
    """Return the type of a column, by its description."""
    if described.type_code == 0 and described.scale:
        return f"DECIMAL({described.precision}, {described.scale})", pl.Float64()
    return _TYPES.get(described.type_code, _OTHER)


class Snowflake(Connected):
    """Snowflake, through its connector; see `connected.Connected`."""

    name = "Snowflake"
    dialect = "snowflake"
    folds = True

    def _describe(self, text: str) -> Sequence[Column]:
        with self._connection.cursor() as cursor:
            return [Column(each.name, _find_type(each)[0]) for each in cursor.describe(text)]

    def _execute(
        self, translated: Translated, on_start: Callable[[Callable[[], object]], object]
    ) -> pl.DataFrame:
        with self._connection.cursor() as cursor:
            cursor.execute_async(translated.text)
            number = cursor.sfqid
            on_start(lambda: self._connection.cursor().abort_query(number))
            cursor.get_results_from_sfqid(number)
            table = cursor.fetch_arrow_all(force_return_table=True)
            types = [_find_type(each)[1] for each in cursor.description]
        columns = pl.DataFrame(table).get_columns()
        return pl.DataFrame(column.cast(kind) for column, kind in zip(columns, types, strict=True))

    def _list_errors(self) -> tuple[type[Exception], ...]:
        return (import_module("snowflake.connector.errors").Error,)

    def _judge(self, error: Any, text: str) -> tuple[type[SqlevalError], str]:
        state = str(error.sqlstate or "")
        # The first line may be only "SQL compilation error:".
        reason = " ".join(str(error.raw_msg or error).split())
        if state == _UNREADABLE:
            return SourceError, reason
        return DataError if state.startswith(_VALUES) else EngineError, reason
