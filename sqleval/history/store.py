"""The interface of a history store: two tables, one transaction per call."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

import polars as pl
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_random_exponential

from sqleval.common.sql_text import quote
from sqleval.errors import StoreBusy

T = TypeVar("T")

#: One row per job, period, slice and metric. The rows of a period are replaced together.
RESULTS = pl.Schema(
    {
        "job": pl.String,
        "run": pl.String,
        "evaluated_at": pl.String,
        "period": pl.String,
        "grain": pl.String,
        "slice": pl.String,
        "metric": pl.String,
        "parameters": pl.String,
        "value": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "method": pl.String,
        "n": pl.Int64,
        "n_dropped": pl.Int64,
        "note": pl.String,
        "error": pl.String,
        "matured": pl.Float64,
        "fingerprint": pl.String,
        "definition": pl.String,
        "versions": pl.String,
        "duration": pl.Float64,
    }
)
#: The contents of source files: one row per file and period. Unchanged files are not read again.
FILES = pl.Schema(
    {
        "job": pl.String,
        "side": pl.String,
        "file": pl.String,
        "size": pl.Int64,
        "modified": pl.Int64,
        "version": pl.String,
        "period": pl.String,
        "rows": pl.Int64,
        "labelled": pl.Int64,
        "error": pl.String,
    }
)
TABLES: Mapping[str, pl.Schema] = {"sqleval_history": RESULTS, "sqleval_files": FILES}

#: SQL type by Polars type.
_SQL_TYPES = {"String": "TEXT", "Float64": "DOUBLE PRECISION", "Int64": "BIGINT"}


def define_columns(table: str) -> str:
    """Return the column definitions of a table, for CREATE TABLE."""
    return ", ".join(f"{quote(n)} {_SQL_TYPES[str(kind)]}" for n, kind in TABLES[table].items())


#: Seconds after which a busy store is an error.
_TIMEOUT = 180


class Store(Protocol):
    """A store of the two tables. A call is one transaction; a locked store raises `StoreBusy`."""

    def read(self, table: str, job: str | None = None) -> pl.DataFrame:
        """Return the rows of a table, optionally of one job; a missing table is empty."""
        ...

    def replace(
        self,
        job: str,
        periods: Sequence[str],
        results: pl.DataFrame,
        files: pl.DataFrame | None,
    ) -> None:
        """Replace the results of these periods and, if ``files`` is not None, all file rows."""
        ...

    def replace_definitions(self, job: str, definitions: Mapping[str, str]) -> None:
        """Replace definition hashes in the results of a job: old hash to new hash."""
        ...


def format_slice(keys: str) -> str:
    """Return the JSON of a slice as ``carrier=AA, origin=JFK``; ``all rows`` without keys."""
    values = json.loads(keys)
    parts = [f"{k} is null" if v is None else f"{k}={v}" for k, v in values.items()]
    return ", ".join(parts) or "all rows"


def parse_slice_keys(keys: str) -> frozenset[str]:
    """Return the key columns in the JSON of a slice, without ``model`` and ``class``."""
    return frozenset(json.loads(keys)) - {"model", "class"}


def retry_while_busy(call: Callable[[], T]) -> T:
    """Repeat a call while the store is busy, with random exponential back-off.

    Raises
    ------
    StoreBusy
        If the store is still busy after three minutes.
    """
    retrying = Retrying(
        retry=retry_if_exception_type(StoreBusy),
        wait=wait_random_exponential(multiplier=0.05, max=2),
        stop=stop_after_delay(_TIMEOUT),
        reraise=True,
    )
    return retrying(call)
