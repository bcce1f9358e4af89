"""Reads the history of a job for a run: an overview of all periods, and the rows of a few."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import polars as pl

from sqleval.errors import RequestError
from sqleval.history.definitions import NO_OLD, is_old, match_old_definitions, rename_old
from sqleval.history.store import (
    DIGITS,
    KEYS_DEFINITION,
    NO_RESULTS,
    Selection,
    Store,
    find_metric_kind,
    parse_slice_keys,
    retry_while_busy,
)
from sqleval.jobs.definitions import list_present_definitions
from sqleval.jobs.file.model import Job

#: The columns of the overview, in which slices and values are left out.
OVERVIEW = (
    "period", "grain", "metric", "definition", "fingerprint", "has_rows", "has_any", "has_failed",
)  # fmt: skip
#: The columns of rows that are judged, drawn or exported.
ROWS = (
    "period", "slice", "metric", "value", "low", "high", "n", "n_dropped", "method", "note",
    "error", "matured", "definition",
)  # fmt: skip
#: The newest periods, which are read first: most series have their last value there.
_RECENT = 3


@dataclass(frozen=True)
class Past:
    """The history of a job; its rows are read when they are needed.

    Attributes
    ----------
    job : str
        The name of the job.
    store : Store
        The history.
    overview : polars.DataFrame
        The distinct values of the columns `OVERVIEW`, for all periods and observed metrics.
    expected : polars.DataFrame
        The same table for expected metrics.
    added_keys : frozenset of str
        The keys of its results that are not slice keys: ``model`` and ``class``.
    old : polars.DataFrame
        Definitions of older releases, each with the present definition that it counts as.
    """

    job: str
    store: Store
    overview: pl.DataFrame
    expected: pl.DataFrame
    added_keys: frozenset[str]
    old: pl.DataFrame

    @cached_property
    def both(self) -> pl.DataFrame:
        """The overview of observed and expected metrics."""
        return pl.concat([self.overview, self.expected])

    @cached_property
    def periods(self) -> list[str]:
        """All periods, in order."""
        return self.both["period"].unique().sort().to_list()

    @cached_property
    def metrics(self) -> list[str]:
        """The observed metrics in the history."""
        return self.overview["metric"].unique().sort().to_list()

    def read(self, only: Selection) -> pl.DataFrame:
        """Return rows of the job; the store is not opened for an empty selection."""
        if not all(only.values.values()):
            return pl.DataFrame(schema=only.list_columns("sqleval_history"))
        return rename_old(self._read(only), self.old)

    def read_stored(self, periods: Sequence[str]) -> pl.DataFrame:
        """Return the rows of periods, with ``counts_as``: the present name of a definition."""
        rows = self._read(Selection(periods=periods)) if periods else NO_RESULTS
        return rename_old(rows, self.old, into="counts_as")

    def _read(self, only: Selection) -> pl.DataFrame:
        return retry_while_busy(lambda: self.store.read("sqleval_history", self.job, only))

    def read_until(
        self,
        only: Selection,
        candidates: Sequence[str],
        count: int,
        is_enough: Callable[[pl.DataFrame], bool],
    ) -> pl.DataFrame:
        """Return the rows from the last ``count`` periods on, or from earlier ones.

        More periods are read, up to all of the ``candidates``, until the rows are enough.
        """
        while True:
            rows = self.read(replace(only, first=candidates[-min(count, len(candidates))]))
            if count >= len(candidates) or is_enough(rows):
                return rows
            count *= 2

    def list_slices(self, keys: Collection[str]) -> list[str]:
        """Return the slices of these keys, as the history has them."""
        texts = self.read(Selection(columns=["slice"], distinct=True))["slice"]
        return [text for text in texts if self._parse_keys(text) == frozenset(keys)]

    def read_key_sets(
        self, periods: Collection[str], *, is_expected: bool = False
    ) -> dict[str, set[tuple[frozenset[str], str]]]:
        """Return the sets of slice keys of each period with rows, used or left out.

        Each has the definition of its expressions, as `definitions.define_keys` writes it.
        """
        overview = self.expected if is_expected else self.overview
        filled = {*overview.filter("has_any")["period"]}.intersection(periods)
        if not filled:
            return {}
        columns = ["period", "slice", "has_any", KEYS_DEFINITION]
        metrics = overview["metric"].unique().sort().to_list()
        only = Selection(periods=sorted(filled), metrics=metrics, columns=columns, distinct=True)
        pairs = self.read(only).filter("has_any")
        keys = {text: self._parse_keys(text) for text in pairs["slice"].unique()}
        sets_by_period: dict[str, set[tuple[frozenset[str], str]]] = {}
        for period, text, definition in pairs.select(
            "period", "slice", pl.col(KEYS_DEFINITION).fill_null("")
        ).iter_rows():
            sets_by_period.setdefault(period, set()).add((keys[text], definition))
        return sets_by_period

    def _parse_keys(self, text: str) -> frozenset[str]:
        return parse_slice_keys(text, self.added_keys)

    def read_last_values(self) -> pl.DataFrame:
        """Return the last value of each metric and slice, with its period and ``n``."""
        pairs, at = ["slice", "metric"], Selection(columns=ROWS)
        stored_pairs = self.read(Selection(columns=pairs, distinct=True))
        if stored_pairs.is_empty():
            return self.read(at)
        recent = self.periods[-min(_RECENT, len(self.periods))]
        last = _take_last(self.read(replace(at, first=recent)))
        rest = stored_pairs.join(last, on=pairs, how="anti")
        if not rest.is_empty() and recent != self.periods[0]:
            chosen = {name: rest[name].unique().sort().to_list() for name in pairs}
            older = replace(at, slices=chosen["slice"], metrics=chosen["metric"])
            older = _take_last(self.read(older)).join(last, on=pairs, how="anti")
            last = pl.concat([last, older])
        return last.sort("metric", "slice")


@dataclass(frozen=True)
class Frames:
    """Rows of a history that several readers share: the rows of some metrics from a period on."""

    past: Past
    kept: dict[tuple[str, ...], tuple[str, pl.DataFrame]] = field(
        default_factory=dict[tuple[str, ...], tuple[str, pl.DataFrame]]
    )

    def read(self, metrics: Sequence[str], first: str) -> pl.DataFrame:
        """Return the rows of metrics from a period, or from an earlier one on."""
        key = (*metrics,)
        if key not in self.kept or first < self.kept[key][0]:
            only = Selection(metrics=metrics, first=first, columns=ROWS)
            self.kept[key] = first, self.past.read(only)
        return self.kept[key][1]


def _take_last(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the last row with a value of each slice and metric."""
    valued = rows.filter(pl.col("error").is_null(), pl.col("value").is_not_null())
    return valued.sort("period").unique(["slice", "metric"], keep="last")


def read_past(job: Job, store: Store) -> Past:
    """Return the history of a job, with its overview."""
    only = Selection(columns=OVERVIEW, distinct=True)
    rows = retry_while_busy(lambda: store.read("sqleval_history", job.name, only))
    rows, old = take_metric_definition(rows), NO_OLD
    if rows.select(is_old(pl.col("definition")).any()).item():
        old = match_old_definitions(store, job.name, list_present_definitions(job))
        rows = rename_old(rows, old)
    rows = rows.unique().sort(OVERVIEW)
    is_expected = find_metric_kind(pl.col("metric")) == "expected"
    parts = rows.filter(~is_expected), rows.filter(is_expected)
    return Past(job.name, store, *parts, job.added_keys, old)


def take_metric_definition(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows whose definitions have no suffix for slice keys."""
    return rows.with_columns(pl.col("definition").str.head(DIGITS))


def check_grain(job: Job, past: Past) -> None:
    """Raise if the history has another grain: days and weeks would have the same names."""
    others = [grain for grain in past.both["grain"].unique() if grain != job.period.grain]
    if others:
        raise RequestError(
            f"the history of the job {job.name!r} is by {others[0]}, and the job is by "
            f"{job.period.grain}; give the job another name, or another history"
        )
