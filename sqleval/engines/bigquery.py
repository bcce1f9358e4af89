"""Runs statements in BigQuery, through Google's client."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, cast

import polars as pl

from sqleval.common.columns import Column
from sqleval.engines.connected import Connected, write_empty
from sqleval.engines.warehouse import Translated
from sqleval.errors import DataError, EngineError, SourceError, SqlevalError, get_first_line

#: The name in `common.columns` of each type that BigQuery names differently.
_TYPES = {
    "BOOL": "BOOLEAN",
    "INTEGER": "BIGINT",
    "INT64": "BIGINT",
    "FLOAT": "DOUBLE",
    "FLOAT64": "DOUBLE",
    "STRING": "VARCHAR",
    "TIMESTAMP": "TIMESTAMP WITH TIME ZONE",
    "DATETIME": "TIMESTAMP",
    "NUMERIC": "DECIMAL(38, 9)",
    "BIGNUMERIC": "DOUBLE",
    "BYTES": "BLOB",
}
_NESTED = "STRUCT(...)"
#: Reasons in errors about a missing or unreadable table.
_UNREADABLE = {"notFound", "accessDenied"}
#: Beginnings of messages about a bad value in the rows. BigQuery has no reason for these errors.
_VALUES = (
    "bad ", "division by zero", "double overflow", "floating point error", "int64 overflow",
    "invalid date", "invalid time", "numeric overflow",
)  # fmt: skip


def _name_type(field: Any) -> str:
    """Return the type of a column, by its name in `common.columns`."""
    if field.mode == "REPEATED" or field.fields:
        return _NESTED
    kind: str = field.field_type
    return _TYPES.get(kind, kind)


class BigQuery(Connected):
    """BigQuery, through Google's client; see `connected.Connected`."""

    name = "BigQuery"
    dialect = "bigquery"

    def _describe(self, text: str) -> Sequence[Column]:
        rows = self._connection.query(write_empty(text)).result()
        return [Column(field.name, _name_type(field)) for field in rows.schema]

    def _execute(
        self, translated: Translated, on_start: Callable[[Callable[[], object]], object]
    ) -> pl.DataFrame:
        job = self._connection.query(translated.text)
        on_start(lambda: self._connection.cancel_job(job.job_id, location=job.location))
        # Without Google's storage library, the client downloads JSON and converts it to Arrow.
        has_storage = find_spec("google.cloud.bigquery_storage") is not None
        return pl.DataFrame(job.result().to_arrow(create_bqstorage_client=has_storage))

    def _list_errors(self) -> tuple[type[Exception], ...]:
        return (
            import_module("google.api_core.exceptions").GoogleAPIError,
            import_module("google.auth.exceptions").GoogleAuthError,
        )

    def _judge(self, error: Any, text: str) -> tuple[type[SqlevalError], str]:
        every: list[Any] = list(getattr(error, "errors", ()))
        listed = [cast("dict[str, str]", each) for each in every if isinstance(each, dict)]
        # The later lines of the error hold the location and the job.
        reason = next(
            (each["message"].splitlines()[0] for each in listed if each.get("message")),
            get_first_line(error),
        )
        if any(each.get("reason") in _UNREADABLE for each in listed):
            return SourceError, reason
        return DataError if reason.lower().startswith(_VALUES) else EngineError, reason
