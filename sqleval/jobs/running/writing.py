"""Evaluates periods of a job and writes their rows to the history, batch by batch."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace

import polars as pl

from sqleval.common.telemetry import start_span
from sqleval.frontend.calibration import note_calibration
from sqleval.history.store import (
    NO_RESULTS,
    find_metric_kind,
    format_slice,
    retry_while_busy,
)
from sqleval.jobs import states
from sqleval.jobs.file.model import Job
from sqleval.jobs.past import Past
from sqleval.jobs.periods import changes
from sqleval.jobs.periods.lake import Lake
from sqleval.jobs.running import evaluation
from sqleval.jobs.running.expected import CHECKED, Expectation, check_calibration
from sqleval.jobs.running.plan import Decision

logger = logging.getLogger("sqleval.jobs")


@dataclass
class Writer:
    """Evaluates periods and writes their rows to the history, batch by batch.

    Attributes
    ----------
    job, past : Job, Past
        The job and its history.
    overview : polars.DataFrame
        The history's rows of this kind before the run, with the columns of `past.OVERVIEW`.
    definitions : polars.DataFrame
        The definitions of the metrics.
    columns : dict
        The columns with one value for all rows of the run.
    reasons : mapping of str to str
        The reasons for which periods are evaluated.
    is_forced : bool
        Whether results without rows may replace stored ones.
    beside : frozenset of str
        The periods that also have rows of the other kind, which stay: observed metrics beside
        expected ones, or the other way round.
    calibration : polars.DataFrame or None
        The text for the notes of expected metrics, from `check_calibration`.
    frames : list of polars.DataFrame
        The rows that were written.
    errors : list of str
        The descriptions of what failed.
    has_written : bool
        Whether results were written or removed.
    """

    job: Job
    past: Past
    overview: pl.DataFrame
    definitions: pl.DataFrame
    columns: dict[str, str]
    reasons: Mapping[str, str] = field(default_factory=dict[str, str])
    is_forced: bool = False
    beside: frozenset[str] = frozenset()
    calibration: pl.DataFrame | None = None
    frames: list[pl.DataFrame] = field(default_factory=list[pl.DataFrame])
    errors: list[str] = field(default_factory=list[str])
    has_written: bool = False
    _restated: list[pl.DataFrame] = field(default_factory=list[pl.DataFrame])

    @property
    def n_restated(self) -> int:
        """The number of stored results that were replaced or removed."""
        return sum(frame.height for frame in self._restated)

    def write(
        self,
        periods: list[str],
        rows: pl.DataFrame,
        files: pl.DataFrame | None = None,
        before: tuple[pl.DataFrame, pl.DataFrame] | None = None,
    ) -> None:
        """Replace the rows of periods and, if given, of files; keep the replaced results.

        ``before`` is the result of `_read_before` for these periods, if it was called.
        """
        old, others = before or self._read_before(periods)
        restated = changes.compare_results(old, rows, self.reasons, self.columns)
        self._restated.append(restated)
        self.has_written = self.has_written or bool(periods)
        whole = pl.concat([others.select(rows.columns), rows])
        retry_while_busy(
            lambda: self.past.store.replace(
                self.job.name, periods, whole, files, None if restated.is_empty() else restated
            )
        )

    def _read_before(self, periods: Sequence[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return the stored rows of periods: the rows of this kind, and the rows of other kinds."""
        here = self.overview.filter(pl.col("period").is_in(list(periods)), "has_rows")
        rows = self.past.read_stored([*{*here["period"]} | self.beside.intersection(periods)])
        if rows.is_empty():
            return rows, rows
        is_same_kind = find_metric_kind(pl.col("metric")) == ("expected" * self.job.is_expectation)
        return rows.filter(is_same_kind), rows.filter(~is_same_kind)

    def forget_unchanged_files(
        self, lake: Lake, files: pl.DataFrame, periods: Sequence[str]
    ) -> bool:
        """Remove the records of unchanged files of periods that a run evaluates; return if any.

        The periods were not over, or not mature, when the files were read. If the run is killed,
        the next one reads these files again and therefore judges the periods. The last period is
        judged in any case.
        """
        if [*periods] == [max([*self.overview["period"], *periods], default="")]:
            return False
        now = lake.fingerprints
        before = lake.compute_fingerprints_before(files)
        unchanged = [each for each in periods if each in now and before.get(each) == now[each]]
        forgotten = files.filter(pl.col("period").is_in(unchanged))
        if not forgotten.is_empty():
            kept = files.join(forgotten, on=["side", "file"], how="anti", maintain_order="left")
            self.write([], NO_RESULTS, kept)
        return not forgotten.is_empty()

    def add_metrics(self, lake: Lake, decisions: Sequence[Decision]) -> list[Decision]:
        """Add metrics from states; return the decisions, changed if a state lacks a sum."""
        decisions = list(decisions)
        for batch in _split_batches(list_periods(decisions, "add")):
            with self._start_span("add metrics to periods", batch):
                before = self.past.read_stored(batch)
                before = before.filter(find_metric_kind(pl.col("metric")) == "")
                rows, failures = evaluation.add_metrics(
                    self.job, lake, before, batch, self.definitions, self.columns
                )
                self.frames.append(rows)
                self.write([period for period in batch if period not in failures], rows)
            for i, (period, _, _) in enumerate(decisions):
                if period in failures:
                    action = "evaluate" if period in lake.periods else "keep"
                    decisions[i] = Decision(period, action, failures[period])
        return decisions

    def evaluate(self, lake: Lake, periods: Sequence[str]) -> None:
        """Evaluate periods from their rows, and write their results and states."""
        for batch in _split_batches(periods):
            with self._start_span("evaluate periods", batch):
                self._evaluate_batch(lake, batch)

    def _start_span(self, name: str, periods: Sequence[str]) -> AbstractContextManager[object]:
        """Record one span of OpenTelemetry for periods that are evaluated together."""
        return start_span(name, {"sqleval.job": self.job.name, "sqleval.periods": [*periods]})

    def _evaluate_batch(self, lake: Lake, batch: list[str]) -> None:
        """Evaluate periods by one statement and write them."""
        rows = evaluation.evaluate_periods(self.job, lake, batch, self.definitions, self.columns)
        if self.calibration is not None:
            rows = note_calibration(rows, self.calibration, ["slice"])
        # A period keeps its stored results if any of them would be lost.
        before = self._read_before(batch)
        lost = changes.find_lost_results(before[0], rows, self.definitions, force=self.is_forced)
        is_lost = pl.col("period").is_in(list(lost))
        self.errors += self._describe_lost(lost, rows.filter(is_lost))
        rows = rows.filter(~is_lost)
        self.frames.append(rows)
        failed = set(rows.filter(pl.col("error").is_not_null())["period"])
        sound = [period for period in batch if period not in failed and period not in lost]
        metrics = self.definitions["metric"].to_list()
        self.errors += evaluation.write_states(self.job, lake, sound, metrics)
        for period in failed:
            states.remove_state(self.job, period)
        written = [period for period in batch if period not in lost]
        # While states are written, another run may write results of these periods.
        is_same = written == batch and self.job.states is None
        self.write(written, rows, before=before if is_same else None)
        for period in batch:
            extra = {"job": self.job.name, "run": self.columns["run"], "period": period}
            logger.info("evaluated", extra=extra)

    def _describe_lost(self, lost: Mapping[str, list[str]], rows: pl.DataFrame) -> list[str]:
        """Return why periods keep their stored results."""
        texts = list_errors(rows)
        empty = set(lost) - set(rows.filter(pl.col("error").is_not_null())["period"])
        for period in sorted(empty):
            names = [format_slice(text) for text in sorted(lost[period], key=len)]
            slices = ", ".join(names[:3]) + f" and {len(names) - 3} more" * (len(names) > 3)
            texts.append(
                f"{period} {slices}: no rows are left ({self.reasons.get(period, 'changed')}); the "
                "period keeps its stored numbers, and --date with --force replaces them"
            )
        return texts

    def record_missing(self, periods: Sequence[str]) -> None:
        """Record periods without rows, except those that are already recorded."""
        if not periods:
            return
        rows = evaluation.create_missing_rows(self.job, periods, self.definitions, self.columns)
        recorded = self.overview.filter(pl.col("period").is_in(list(periods)), ~pl.col("has_rows"))
        rows = rows.filter(~pl.col("period").is_in(recorded["period"].implode()))
        self.frames.append(rows)
        self.write(rows["period"].unique().to_list(), rows)

    def remove_outages(self, written: Sequence[str]) -> None:
        """Remove the rows that recorded an outage of the source: it is readable again.

        New results have already replaced such rows of the ``written`` periods.
        """
        is_outage = pl.col("has_failed") & pl.col("fingerprint").is_null()
        outages = self.overview.filter(is_outage)["period"].unique()
        over = [period for period in outages if period not in written]
        if over:
            self.write(over, NO_RESULTS)


def create_expected_writer(
    writer: Writer, lake: Lake, expectation: Expectation, mature: Sequence[str]
) -> Writer:
    """Return the writer of a run's expected metrics, which runs after the writer of its metrics.

    The calibration is checked on the last ``mature`` periods.
    """
    beside = {*writer.overview["period"]}.union(*(frame["period"] for frame in writer.frames))
    return replace(
        writer,
        job=expectation.job,
        overview=expectation.past.expected,
        definitions=expectation.definitions,
        beside=frozenset(beside),
        calibration=check_calibration(writer.job, lake, mature[-CHECKED:])
        if writer.job.expected
        else None,
        frames=[],
        errors=[],
        has_written=False,
        _restated=[],
    )


def list_periods(decisions: Sequence[Decision], *actions: str) -> list[str]:
    """Return the periods with one of these actions."""
    return [decision.period for decision in decisions if decision.action in actions]


def _split_batches(periods: Sequence[str]) -> Iterator[list[str]]:
    for start in range(0, len(periods), evaluation.BATCH):
        yield [*periods[start : start + evaluation.BATCH]]


def list_errors(rows: pl.DataFrame) -> list[str]:
    """Return the errors in rows of the history, with period and slice; equal errors count once."""
    failures = rows.filter(pl.col("error").is_not_null())
    places = failures.select("period", "slice", "error").unique(maintain_order=True)
    texts: list[str] = []
    for (period, error), group in places.group_by("period", "error", maintain_order=True):
        slices = group["slice"]
        where = format_slice(slices[0]) if len(slices) == 1 else f"in {len(slices)} slices"
        texts.append(f"{period} {where}: {error}")
    return texts
