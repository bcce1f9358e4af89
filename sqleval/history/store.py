"""Where results are kept: one small interface, and a store for each place."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

import polars as pl
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_random_exponential

from sqleval.common.sql_text import quote
from sqleval.errors import StoreBusy

if TYPE_CHECKING:
    pass


T = TypeVar("T")

#: One row a job, period, slice and metric. A period's rows are replaced together.
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
#: What is known of the files: one row a file and period. It spares reading them again.
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

#: How columns are called where they are made by SQL.
SQL_TYPES = {"String": "TEXT", "Float64": "DOUBLE PRECISION", "Int64": "BIGINT"}


def columns_sql(table: str) -> str:
    """Return a table's columns and their types, for CREATE TABLE."""
    return ", ".join(f"{quote(n)} {SQL_TYPES[str(kind)]}" for n, kind in TABLES[table].items())


#: How long a store may be held by others, in seconds.
_PATIENCE = 180


class Store(Protocol):
    """A place for the two tables. Each call is one transaction, or raises `StoreBusy`."""

    def read(self, table: str, job: str | None = None) -> pl.DataFrame:
        """Return a table's rows, or those of one job; none where there is no table yet."""
        ...

    def replace(
        self,
        job: str,
        periods: Sequence[str],
        results: pl.DataFrame,
        files: pl.DataFrame | None,
    ) -> None:
        """Put ``results`` in the place of all rows of these periods, and ``files`` of all files."""
        ...

    def rename(self, job: str, definitions: Mapping[str, str]) -> None:
        """Write each definition of a job's rows under its new name."""
        ...


def shown(keys: str) -> str:
    """Return a slice as people write it: ``carrier=AA, origin=JFK``."""
    given = json.loads(keys)
    parts = [f"{k} is null" if v is None else f"{k}={v}" for k, v in given.items()]
    return ", ".join(parts) or "all rows"


def own_keys(keys: str) -> frozenset[str]:
    """Return the columns that a slice was made by; a model or a class is none."""
    return frozenset(json.loads(keys)) - {"model", "class"}


def patiently(do: Callable[[], T]) -> T:
    """Call again while the store is busy, after a random and growing pause.

    Raises
    ------
    StoreBusy
        If it was busy for three minutes.
    """
    retrying = Retrying(
        retry=retry_if_exception_type(StoreBusy),
        wait=wait_random_exponential(multiplier=0.05, max=2),
        stop=stop_after_delay(_PATIENCE),
        reraise=True,
    )
    return retrying(do)
