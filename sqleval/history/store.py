"""Defines the interface and the tables of a history store."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import polars as pl
from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception_type,
    stop_after_delay,
    wait_random_exponential,
)

from sqleval.common.sql_text import quote
from sqleval.common.visible import show_controls
from sqleval.errors import StoreBusy

T = TypeVar("T")
logger = logging.getLogger("sqleval.history")

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
#: One row per stored result that was replaced by another one, or removed. Rows are only added.
RESTATED = pl.Schema(
    {
        "job": pl.String,
        "period": pl.String,
        "slice": pl.String,
        "metric": pl.String,
        "value": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "n": pl.Int64,
        "n_dropped": pl.Int64,
        "definition": pl.String,
        "run": pl.String,
        "evaluated_at": pl.String,
        "new_value": pl.Float64,
        "new_n": pl.Int64,
        "new_definition": pl.String,
        "new_run": pl.String,
        "restated_at": pl.String,
        "reason": pl.String,
    }
)
#: Facts about its rows that each job has settled (`jobs.running.settling`); the last row counts.
SETTLED = pl.Schema(
    {
        "job": pl.String,
        "input": pl.String,
        "task": pl.String,
        "threshold": pl.Float64,
        "period": pl.String,
        "run": pl.String,
    }
)
TABLES: Mapping[str, pl.Schema] = {
    "sqleval_history": RESULTS, "sqleval_files": FILES, "sqleval_restated": RESTATED,
    "sqleval_settled": SETTLED,
}  # fmt: skip

#: The number of digits in the definition of a metric; the definition of slice keys may follow.
DIGITS = 12
#: Computed columns of the results, as SQL by name; they are NULL if ``n`` is NULL.
FLAGS: Mapping[str, str] = {
    "has_rows": "n > 0", "has_any": "n + n_dropped > 0", "has_failed": "error IS NOT NULL",
}  # fmt: skip
#: The computed column with the definition of slice keys, which follows the metric's.
KEYS_DEFINITION = "keys_definition"
_COMPUTED = {**FLAGS, KEYS_DEFINITION: f"SUBSTR(definition, {DIGITS + 1})"}

#: SQL type by Polars type.
SQL_TYPES = {"String": "TEXT", "Float64": "DOUBLE PRECISION", "Int64": "BIGINT"}

#: No results: a frame of this many columns takes longer to make than to filter.
NO_RESULTS = pl.DataFrame(schema=RESULTS)

#: Seconds after which a busy store is an error.
_TIMEOUT = 180
#: Seconds after which a warning says that a store is busy.
_PATIENCE = 1


@dataclass(frozen=True)
class Selection:
    """The rows and columns of a table to read.

    Attributes
    ----------
    metrics, slices, periods : sequence of str, optional
        Only rows with one of these values.
    first, last : str, optional
        First and last period, both included; ``2013-07`` is all of July.
    columns : sequence of str, optional
        Only these columns, which may include `FLAGS` and `KEYS_DEFINITION`.
    distinct : bool
        Whether each combination of values is read only once, in any order.
    """

    metrics: Sequence[str] | None = None
    slices: Sequence[str] | None = None
    periods: Sequence[str] | None = None
    first: str | None = None
    last: str | None = None
    columns: Sequence[str] | None = None
    distinct: bool = False

    @property
    def values(self) -> dict[str, Sequence[str]]:
        """The values that are selected, by column."""
        chosen = {"metric": self.metrics, "slice": self.slices, "period": self.periods}
        return {column: values for column, values in chosen.items() if values is not None}

    @property
    def end(self) -> str | None:
        """A text that sorts after all selected periods, and before all later ones."""
        # No name of a period has a character after ~.
        return None if self.last is None else f"{self.last}~"

    def list_columns(self, table: str) -> pl.Schema:
        """Return the columns that are read, with their types."""
        names = self.columns or TABLES[table]
        kinds = {**TABLES[table], KEYS_DEFINITION: pl.String()}
        return pl.Schema({name: kinds.get(name, pl.Boolean()) for name in names})

    def write_columns(self, table: str) -> str:
        """Return the SQL of the columns that are read."""
        names = self.list_columns(table)
        return ", ".join(f"{_COMPUTED[n]} AS {n}" if n in _COMPUTED else quote(n) for n in names)


ALL = Selection()


def write_conditions(
    job: str | None, only: Selection, place: Callable[[str], str], collate: str = ""
) -> str:
    """Return the WHERE clause of a selection.

    ``place`` returns the SQL of a value. ``collate`` follows periods in comparisons by order.
    """
    conditions: list[str] = []
    if job is not None:
        conditions.append(f"job = {place(job)}")
    for column, chosen in only.values.items():
        places = ", ".join(map(place, chosen))
        conditions.append(f"{column} IN ({places})" if chosen else "FALSE")
    if only.first is not None:
        conditions.append(f"period{collate} >= {place(only.first)}")
    if only.end is not None:
        conditions.append(f"period{collate} < {place(only.end)}")
    return f" WHERE {' AND '.join(conditions)}" if conditions else ""


class Parameters:
    """The values of a statement with numbered parameters."""

    def __init__(self) -> None:
        self.values: list[str] = []

    def place(self, value: str) -> str:
        """Add a value, and return its parameter."""
        self.values.append(value)
        return f"${len(self.values)}"


class Store(Protocol):
    """A store of the tables. A locked store raises `StoreBusy`.

    A call is one transaction, except in Delta, where each table is one.
    """

    def check_rights(self) -> None:
        """Raise `EngineError`, which names the right, if the user lacks a right for runs."""
        ...

    def read(self, table: str, job: str | None = None, only: Selection = ALL) -> pl.DataFrame:
        """Return the rows of a table, optionally of one job; a missing table is empty."""
        ...

    def replace(
        self,
        job: str,
        periods: Sequence[str],
        results: pl.DataFrame,
        files: pl.DataFrame | None,
        restated: pl.DataFrame | None = None,
    ) -> None:
        """Replace the results of these periods and, if ``files`` is not None, all file rows.

        The rows of ``restated`` are appended.
        """
        ...

    def append(self, table: str, rows: pl.DataFrame) -> None:
        """Add rows to a table."""
        ...

    def remove(self, job: str, periods: Sequence[str]) -> None:
        """Remove the results of these periods, and the results that they had replaced."""
        ...

    def compact(self) -> None:
        """Free the space of removed rows, unless the store does that by itself."""
        ...

    def tidy(self, job: str) -> None:
        """Keep the space of a job small, after a run that has written."""
        ...


def find_metric_kind(metric: pl.Expr) -> pl.Expr:
    """Return the kind of a history row: ``expected``, or empty for a metric of labels.

    Rows that arrived before their labels are ``expected``.
    """
    is_early = metric.str.starts_with("expected(") | metric.str.starts_with("arrived(")
    return pl.when(is_early).then(pl.lit("expected")).otherwise(pl.lit(""))


def format_slice(keys: str) -> str:
    """Return the JSON of a slice as ``carrier=AA, origin=JFK``; ``all rows`` without keys.

    It is for display, so control characters are made visible.
    """
    values = json.loads(keys)
    parts = [f"{k} is null" if v is None else f"{k}={v}" for k, v in values.items()]
    return show_controls(", ".join(parts)) or "all rows"


def parse_slice_keys(keys: str, added: frozenset[str]) -> frozenset[str]:
    """Return the slice keys in the JSON of a slice, without ``added`` ones (model, class).

    Examples
    --------
    >>> sorted(parse_slice_keys('{"carrier":"AA","model":"a"}', frozenset({"model", "class"})))
    ['carrier']
    """
    return frozenset(json.loads(keys)) - added


def retry_while_busy(call: Callable[[], T]) -> T:
    """Repeat a call while the store is busy, with random exponential back-off.

    After a second a warning says what the call is waiting for.

    Raises
    ------
    StoreBusy
        If the store is still busy after three minutes.
    """
    has_warned = False

    def warn(state: RetryCallState) -> None:
        nonlocal has_warned
        if not has_warned and (state.seconds_since_start or 0) >= _PATIENCE and state.outcome:
            has_warned = True
            logger.warning("waiting up to %s s for %s", _TIMEOUT, state.outcome.exception())

    retrying = Retrying(
        retry=retry_if_exception_type(StoreBusy),
        wait=wait_random_exponential(multiplier=0.05, max=2),
        stop=stop_after_delay(_TIMEOUT),
        before_sleep=warn,
        reraise=True,
    )
    return retrying(call)


def list_values(
    store: Store, job: str | None, column: str, tables: Sequence[str] = ("sqleval_history",)
) -> list[str]:
    """Return the different values of a column in some tables, in order."""
    only = Selection(columns=[column], distinct=True)
    values: set[str] = set()
    for table in tables:
        frame = retry_while_busy(lambda table=table: store.read(table, job, only))
        values.update(frame[column])
    return sorted(values)
