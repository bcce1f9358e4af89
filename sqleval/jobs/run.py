"""Runs a job: decides, evaluates, writes the history, judges the gates."""

import logging
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import polars as pl

from sqleval.errors import RequestError, SourceError, SqlevalError
from sqleval.history.opening import open_store
from sqleval.history.store import Store, format_slice, retry_while_busy
from sqleval.jobs import evaluation, gates, states
from sqleval.jobs.binding import bind_periods
from sqleval.jobs.definitions import find_renamed_definitions, list_definitions
from sqleval.jobs.file.model import Job
from sqleval.jobs.lake import Lake, read_lake
from sqleval.jobs.plan import Decision, RunOptions, decide_periods, list_requested_periods

logger = logging.getLogger("sqleval.jobs")


@dataclass(frozen=True)
class Run:
    """The result of a run.

    Attributes
    ----------
    job : Job
        The job.
    id : str
        The name of the run in the history.
    decisions : list of Decision
        The periods of the run, and what was done with each.
    rows : polars.DataFrame
        The rows that were written.
    history : polars.DataFrame
        All rows of the job, including these.
    verdicts : polars.DataFrame
        The verdicts of the gates.
    errors : list of str
        Files, periods and slices that failed, and why.
    notes : list of str
        Remarks for the user.
    lake : Lake or None
        The files of the sources; None if they could not be listed.
    """

    job: Job
    id: str
    decisions: list[Decision]
    rows: pl.DataFrame
    history: pl.DataFrame
    verdicts: pl.DataFrame
    errors: list[str]
    notes: list[str]
    lake: Lake | None = field(repr=False)

    @property
    def has_failed_gate(self) -> bool:
        """Whether a gate failed."""
        return not self.verdicts.filter(status="failed").is_empty()

    def list_periods(self, *actions: str) -> list[str]:
        """Return the periods with one of these actions."""
        return _list_periods(self.decisions, *actions)


def open_job_store(job: Job) -> Store:
    """Return the store of a job's history."""
    history = job.history
    options = {k: v if isinstance(v, str) else v.read() for k, v in history.options.items()}
    password = history.password.read() if history.password else None
    return open_store(job.resolve_path(history.url), password=password, options=options)


def run_job(job: Job, options: RunOptions, *, dry: bool = False) -> Run:
    """Evaluate the periods that are due, write the results and judge the gates.

    Parameters
    ----------
    job : Job
        From `sqleval.jobs.file.reading.read_job`.
    options : RunOptions
        Which periods.
    dry : bool
        Only decide what would be done: new files are read, nothing is written.

    Returns
    -------
    Run

    Raises
    ------
    RequestError
        If a column, metric or gate does not fit the job.
    EngineError
        If the history cannot be read or written.
    """
    started = datetime.now(UTC)
    run_id = f"{started:%Y%m%dT%H%M%SZ}-{uuid.uuid4().hex[:6]}"
    columns = {"run": run_id, "evaluated_at": started.isoformat(timespec="seconds")}
    store = open_job_store(job)
    job = states.add_state_definition(job)
    # One table of definitions for each task that the job may have.
    candidates = list_definitions(job)
    metrics = pl.concat(candidates)["metric"].unique(maintain_order=True).to_list()
    gates.check_metrics(job, metrics)
    stored = _read_history(job, store, dry=dry)
    files = retry_while_busy(lambda: store.read("sqleval_files", job.name))
    try:
        lake = read_lake(job, files)
    except SourceError as error:
        writer = _Writer(job, store, stored, _choose_definitions(candidates, stored), columns)
        return writer.record_outage(error, options, dry=dry)
    decisions = decide_periods(job, lake, stored, candidates, options)
    logger.info(
        "planned",
        extra={
            "job": job.name,
            "run": run_id,
            "steps": len(decisions),
            "files": lake.files["file"].n_unique(),
        },
    )
    notes = _note_rows_without_period(job, lake)
    if dry:
        verdicts = pl.DataFrame(schema=gates.VERDICTS)
        return Run(
            job, run_id, decisions, stored.clear(), stored, verdicts, lake.errors, notes, lake
        )
    for period in lake.list_emptied_periods(files):
        states.remove_state(job, period)
    job, candidates = _choose_task(job, lake, candidates, stored, decisions)
    definitions = _choose_definitions(candidates, stored)
    writer = _Writer(job, store, stored, definitions, columns)
    decisions = writer.add_metrics(lake, decisions)
    writer.evaluate(lake, _list_periods(decisions, "evaluate"))
    writer.record_missing(_list_periods(decisions, "missing"))
    if not options.has_periods:
        writer.remove_outages(_list_periods(decisions, "evaluate"))
    if lake.is_changed:
        # At the end: if this is lost, the next run only reads the files again.
        writer.write([], stored.clear(), lake.files)
    errors = [*lake.errors, *writer.errors]
    done = Run(job, run_id, decisions, stored, writer.stored, stored, errors, notes, lake)
    return _finish_run(done, writer.frames, definitions, options)


@dataclass
class _Writer:
    """Evaluates periods and writes their rows to the history, batch by batch.

    Attributes
    ----------
    job, store : Job, Store
        The job and its history.
    stored : polars.DataFrame
        The rows of the job that the history had before the run.
    definitions : polars.DataFrame
        The definitions of the metrics.
    columns : dict
        The columns with one value for all rows of the run.
    frames : list of polars.DataFrame
        The rows that were written.
    errors : list of str
        What failed.
    """

    job: Job
    store: Store
    stored: pl.DataFrame
    definitions: pl.DataFrame
    columns: dict[str, Any]
    frames: list[pl.DataFrame] = field(default_factory=list[pl.DataFrame])
    errors: list[str] = field(default_factory=list[str])

    def write(
        self, periods: list[str], rows: pl.DataFrame, files: pl.DataFrame | None = None
    ) -> None:
        """Replace the rows of periods and, if given, the rows of files."""
        retry_while_busy(lambda: self.store.replace(self.job.name, periods, rows, files))

    def add_metrics(self, lake: Lake, decisions: Sequence[Decision]) -> list[Decision]:
        """Add metrics from states; return the decisions, changed where a state lacks a sum."""
        decisions = list(decisions)
        for batch in _split_batches(_list_periods(decisions, "add")):
            rows, failures = evaluation.add_metrics(
                self.job, lake, self.stored, batch, self.definitions, self.columns
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
        good = self.stored.filter(pl.col("error").is_null(), pl.col("n") > 0)
        for batch in _split_batches(periods):
            rows = evaluation.evaluate_periods(
                self.job, lake, batch, self.definitions, self.columns
            )
            # A period that now fails as a whole keeps the results that it has.
            evaluated = rows.filter(pl.col("error").is_null())["period"].unique()
            lost = (set(batch) - set(evaluated)) & set(good["period"].unique())
            is_lost = pl.col("period").is_in(list(lost))
            self.errors += _list_errors(rows.filter(is_lost))
            rows = rows.filter(~is_lost)
            self.frames.append(rows)
            failed = set(rows.filter(pl.col("error").is_not_null())["period"])
            sound = [period for period in batch if period not in failed | lost]
            metrics = self.definitions["metric"].to_list()
            self.errors += evaluation.write_states(self.job, lake, sound, metrics)
            for period in failed - lost:
                states.remove_state(self.job, period)
            self.write([period for period in batch if period not in lost], rows)
            for period in batch:
                extra = {"job": self.job.name, "run": self.columns["run"], "period": period}
                logger.info("evaluated", extra=extra)

    def record_missing(self, periods: Sequence[str]) -> None:
        """Record periods without rows, except those that are already recorded."""
        if not periods:
            return
        rows = evaluation.create_missing_rows(self.job, periods, self.definitions, self.columns)
        recorded = self.stored.filter(pl.col("period").is_in(list(periods)), pl.col("n") == 0)
        rows = rows.filter(~pl.col("period").is_in(recorded["period"].implode()))
        self.frames.append(rows)
        self.write(rows["period"].unique().to_list(), rows)

    def remove_outages(self, evaluated: Sequence[str]) -> None:
        """Remove the rows that recorded an outage of the source: it is readable again."""
        is_outage = pl.col("error").is_not_null() & pl.col("fingerprint").is_null()
        outages = self.stored.filter(is_outage)["period"].unique()
        over = [period for period in outages if period not in evaluated]
        self.stored = self.stored.filter(~pl.col("period").is_in(over))
        if over:
            self.write(over, self.stored.clear())

    def record_outage(self, error: SqlevalError, options: RunOptions, *, dry: bool) -> Run:
        """Record that the source could not be listed, for the periods of the run."""
        wanted = list_requested_periods(self.job, options)
        wanted = wanted or [gates.find_last_complete(self.job, options.as_of)]
        # Results from when the source was readable stay.
        kept = self.stored.filter(pl.col("n") > 0)["period"].unique().to_list()
        lost = [period for period in wanted if period not in kept]
        null = pl.lit(None, pl.Int64)
        rows = evaluation.create_missing_rows(self.job, lost, self.definitions, self.columns)
        rows = rows.with_columns(
            error=pl.lit(str(error)), n=null, n_dropped=null, note=pl.lit(None, pl.String)
        )
        if lost and not dry:
            self.write(lost, rows)
        decisions = [Decision(period, "missing", "the source cannot be read") for period in lost]
        verdicts = pl.DataFrame(schema=gates.VERDICTS)
        run_id = str(self.columns["run"])
        return Run(self.job, run_id, decisions, rows, self.stored, verdicts, [str(error)], [], None)


def _list_periods(decisions: Sequence[Decision], *actions: str) -> list[str]:
    return [decision.period for decision in decisions if decision.action in actions]


def _split_batches(periods: Sequence[str]) -> Iterator[list[str]]:
    for start in range(0, len(periods), evaluation.BATCH):
        yield [*periods[start : start + evaluation.BATCH]]


def _read_history(job: Job, store: Store, *, dry: bool) -> pl.DataFrame:
    """Return the rows of the job in the history, with definitions of release 0.1 renamed."""
    stored = retry_while_busy(lambda: store.read("sqleval_history", job.name))
    _check_grain(job, stored)
    names = find_renamed_definitions(job, stored)
    if not names:
        return stored
    if not dry:
        retry_while_busy(lambda: store.replace_definitions(job.name, names))
    return stored.with_columns(pl.col("definition").replace(names))


def _check_grain(job: Job, stored: pl.DataFrame) -> None:
    """Raise if the history has another grain: days and weeks would have the same names."""
    others = [grain for grain in stored["grain"].unique() if grain != job.period.grain]
    if others:
        raise RequestError(
            f"the history of the job {job.name!r} is by {others[0]}, and the job is by "
            f"{job.period.grain}; give the job another name, or another history"
        )


def _note_rows_without_period(job: Job, lake: Lake) -> list[str]:
    count = lake.without_period
    if not count:
        return []
    column = job.period.column
    return [
        f"{count:,} rows have no period: {column} is missing or outside of the years 1000 to 9998"
    ]


def _choose_definitions(candidates: Sequence[pl.DataFrame], stored: pl.DataFrame) -> pl.DataFrame:
    """Return the definitions for the task of most rows in the history."""
    pairs = ["metric", "definition"]
    return max(candidates, key=lambda each: stored.join(each, on=pairs, how="semi").height)


def _choose_task(
    job: Job,
    lake: Lake,
    candidates: list[pl.DataFrame],
    stored: pl.DataFrame,
    decisions: Sequence[Decision],
) -> tuple[Job, list[pl.DataFrame]]:
    """Return the job with its task, and the definitions for it.

    Raises
    ------
    RequestError
        If the job fits none of the periods to evaluate.
    """
    due = _list_periods(decisions, "evaluate")
    good = stored.filter(pl.col("error").is_null(), pl.col("n") > 0)
    is_open = len(candidates) > 1
    task = _find_task(job, lake, due) if due and (is_open or good.is_empty()) else None
    if not is_open or task is None:
        return job, candidates
    job = job.model_copy(update={"task": task})
    return job, list_definitions(job)


def _find_task(job: Job, lake: Lake, due: Sequence[str]) -> str | None:
    """Return the task of the first period that fits the job.

    Raises
    ------
    RequestError
        If no period fits: then the job is wrong, and not the data.
    """
    last_error: RequestError | None = None
    for period in due:
        try:
            bound = [bind_periods(job, lake, [period], keys) for keys in job.key_sets]
            return bound[0].task
        except RequestError as error:
            last_error = error
        except SqlevalError:
            # Errors in the data of a period are recorded when it is evaluated.
            continue
    if last_error is not None:
        raise last_error
    return None


def _list_errors(rows: pl.DataFrame) -> list[str]:
    """Return the errors in rows of the history, with period and slice."""
    failures = rows.filter(pl.col("error").is_not_null())
    return [
        f"{period} {format_slice(keys)}: {error}"
        for period, keys, error in failures.select("period", "slice", "error")
        .unique(maintain_order=True)
        .iter_rows()
    ]


def _finish_run(
    done: Run, frames: Sequence[pl.DataFrame], definitions: pl.DataFrame, options: RunOptions
) -> Run:
    """Return a run with its rows, its new history, its errors and the verdicts of its gates."""
    stored, lake = done.history, done.lake
    assert lake is not None
    rows = pl.concat([stored.clear(), *frames])
    written = rows["period"].unique().implode()
    history = pl.concat([stored.filter(~pl.col("period").is_in(written)), rows])
    periods = [each.period for each in done.decisions if each.action != "wait"]
    errors = [*done.errors, *_list_errors(history.filter(pl.col("period").is_in(periods)))]
    notes = [*done.notes, *_note_other_definitions(history, definitions)]
    verdicts = gates.judge_gates(done.job, history, periods, lake.periods, options.as_of)
    return replace(done, rows=rows, history=history, verdicts=verdicts, errors=errors, notes=notes)


def _note_other_definitions(history: pl.DataFrame, definitions: pl.DataFrame) -> list[str]:
    """Return a note if periods were evaluated with another definition of a metric."""
    stored = history.select("period", "metric", "definition").unique()
    current = stored.join(definitions, on=["metric", "definition"], how="semi")
    counts = current.group_by("period").len()
    complete = counts.filter(pl.col("len") == definitions.height)["period"].implode()
    others = stored.filter(~pl.col("period").is_in(complete))["period"].unique().sort()
    if others.is_empty():
        return []
    if len(others) == 1:
        return [f"{others[0]} has another definition; --backfill evaluates it again"]
    return [
        f"{len(others)} periods, up to {others[-1]}, have another definition; "
        "--backfill evaluates them again"
    ]
