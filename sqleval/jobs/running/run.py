"""Runs a job: decides, evaluates, writes the history, judges the gates."""

import logging
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import polars as pl

from sqleval.common.telemetry import add_count, start_span
from sqleval.errors import EngineError, SourceError, SqlevalError, StoreBusy
from sqleval.history.opening import open_store
from sqleval.history.retention import leave_out
from sqleval.history.store import NO_RESULTS, Selection, Store, find_metric_kind, retry_while_busy
from sqleval.jobs import states
from sqleval.jobs.binding import bind_periods, open_job_engine, prepare_metrics
from sqleval.jobs.definitions import list_definitions, list_slice_sets
from sqleval.jobs.file.model import Job
from sqleval.jobs.judging import gates
from sqleval.jobs.judging import judge as judging
from sqleval.jobs.past import Past, check_grain, read_past
from sqleval.jobs.periods import changes
from sqleval.jobs.periods.counting import read_lake
from sqleval.jobs.periods.lake import Lake
from sqleval.jobs.places import check_places, check_secrets, check_sources
from sqleval.jobs.retention import apply_retention
from sqleval.jobs.running import evaluation
from sqleval.jobs.running.due import list_gaps, list_mature_periods
from sqleval.jobs.running.expected import Expectation, prepare_expectation
from sqleval.jobs.running.explanation import explain_run
from sqleval.jobs.running.notes import (
    note_gaps,
    note_other_definitions,
    note_other_slices,
    note_periods_without_labels,
    note_restated,
    note_rows_without_period,
)
from sqleval.jobs.running.plan import (
    EARLY,
    Decision,
    RunOptions,
    add_gaps,
    check_distance,
    decide_periods,
    forget_removed,
    list_early_dates,
    list_requested_periods,
)
from sqleval.jobs.running.result import Run
from sqleval.jobs.running.settling import (
    Settled,
    find_settled,
    is_task_open,
    keep_settled,
    must_settle,
    recall_metrics,
    recall_settled,
)
from sqleval.jobs.running.writing import Writer, create_expected_writer, list_errors, list_periods

logger = logging.getLogger("sqleval.jobs")
#: A changed job is tried on this many last periods if none is due: the newest may be faulty.
_NEWEST = 7


def open_job_store(job: Job) -> Store:
    """Return the store of a job's history."""
    history = job.history
    options = {k: v if isinstance(v, str) else v.read() for k, v in history.options.items()}
    password = history.password.read() if history.password else None
    return open_store(job.resolve_path(history.url), password=password, options=options)


def run_job(job: Job, options: RunOptions, *, dry: bool = False, complete: bool = True) -> Run:
    """Evaluate the periods that are due, write the results and judge the gates.

    Parameters
    ----------
    job : Job
        From `sqleval.jobs.file.reading.read_job`.
    options : RunOptions
        The user's choice of periods.
    dry : bool
        Only decide what would be done: new files are read, nothing is written.
    complete : bool
        Record the files as read. If false, `complete_run` does, once the outputs are written.

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
    with start_span("sqleval run", {"sqleval.job": job.name}) as describe:
        done = _run_job(job, options, dry=dry)
        if complete:
            complete_run(done)
        periods = list_periods(done.decisions, "evaluate", "add", "missing", *EARLY)
        describe("sqleval.run", done.id)
        describe("sqleval.periods", len(periods))
        describe("sqleval.errors", len(done.errors))
        describe("sqleval.failed_gates", done.verdicts.filter(status="failed").height)
    for gate, status, count in done.verdicts.group_by("gate", "status").len().iter_rows():
        attributes = {"sqleval.job": job.name, "sqleval.gate": gate, "sqleval.status": status}
        add_count("sqleval.gates", count, attributes)
    return done


def complete_run(run: Run) -> None:
    """Record the files that a run has read, so that the next run does not judge them again."""
    if run.files is None:
        return
    files, store = run.files, open_job_store(run.job)
    retry_while_busy(lambda: store.replace(run.job.name, [], NO_RESULTS, files))
    try:
        store.tidy(run.job.name)
    except StoreBusy as error:
        # Another run has written in between. The rows of both are kept; the next run tidies up.
        logger.info("the history is left as it is: %s", error)
    except EngineError as error:
        # For example, the user may not delete rows: that costs space, but no results.
        logger.warning("%s; the results are written, but the history grows", error)


def _run_job(job: Job, options: RunOptions, *, dry: bool) -> Run:
    """Run a job, as `run_job` does."""
    started = datetime.now(UTC)
    run_id = f"{started:%Y%m%dT%H%M%SZ}-{uuid.uuid4().hex[:6]}"
    columns = {"run": run_id, "evaluated_at": started.isoformat(timespec="seconds")}
    check_places(job)
    check_secrets(job)
    store = open_job_store(job)
    job = states.add_state_definition(job)
    job = recall_settled(job, store) if is_task_open(job) else job
    job = recall_metrics(job, store)
    # One table of definitions for each task that the job may have.
    candidates = list_definitions(job)
    metrics = pl.concat(candidates)["metric"].unique(maintain_order=True).to_list()
    gates.check_metrics(job, metrics)
    past = _open_past(job, store, is_written=not dry)
    beside = frozenset(past.expected["period"])
    files = retry_while_busy(lambda: store.read("sqleval_files", job.name))
    files = forget_removed(job, files, past, options)
    try:
        lake = read_lake(job, files)
    except SourceError as error:
        definitions = _choose_definitions(candidates, past.overview)
        writer = Writer(job, past, past.overview, definitions, columns, beside=beside)
        return _record_outage(writer, past, error, options, dry=dry)
    _check_inputs(job, lake)
    expectation = prepare_expectation(job, lake, past)
    decisions = decide_periods(job, lake, files, past, candidates, options, expectation)
    extra = {"job": job.name, "run": run_id, "steps": len(decisions)}
    logger.info("planned", extra={**extra, "files": lake.files["file"].n_unique()})
    notes = [*note_rows_without_period(job, lake), *changes.list_lost_files(lake, files)]
    job, settled = _settle_job(job, lake, candidates, past, decisions)
    _check_states(job, lake)
    candidates = list_definitions(job) if settled else candidates
    definitions = _choose_definitions(candidates, past.overview)
    gates.check_metrics(job, definitions["metric"].to_list())
    check_distance(decisions, past, lake, options)
    gaps = [] if options.has_periods else list_gaps(job, lake, past.overview, options.as_of)
    if dry:
        decisions = add_gaps(decisions, gaps)
        planned = Run(job, run_id, decisions, past, lake.errors, notes, lake)
        explanation = explain_run(lake, files, past.overview, definitions, decisions, options)
        return replace(planned, explanation=explanation)
    notes += [*note_gaps(gaps), *note_other_slices(decisions)]
    if settled is not None:
        keep_settled(job, store, settled, run_id)
    states.clean_folder(job)
    for period in lake.list_emptied_periods(files):
        states.remove_state(job, period)
    reasons = _list_reasons(decisions, changes.describe_changes(lake, files))
    writer = Writer(job, past, past.overview, definitions, columns, reasons, options.force, beside)
    due = list_periods(decisions, "evaluate", "add", "missing", *EARLY)
    has_forgotten = not options.has_periods and writer.forget_unchanged_files(lake, files, due)
    decisions, writers = _evaluate_periods(writer, lake, decisions, expectation, options)
    if any(each.has_written for each in writers):
        past = read_past(job, store)
    done = Run(job, run_id, decisions, past, lake.errors, notes, lake)
    done = _judge_run(done, writers, definitions, options)
    removed, removal_notes = apply_retention(job, store, options.as_of)
    kept = leave_out(lake.files, removed) if lake.is_changed or has_forgotten else None
    return replace(done, files=kept, notes=[*done.notes, *removal_notes])


def _evaluate_periods(
    writer: Writer,
    lake: Lake,
    decisions: list[Decision],
    expectation: Expectation | None,
    options: RunOptions,
) -> tuple[list[Decision], list[Writer]]:
    """Evaluate the periods of a run and write them; return what was done, and the writers."""
    decisions = writer.add_metrics(lake, decisions)
    # Missing periods are recorded first: a run after a killed one starts after the last evaluated.
    writer.record_missing(list_periods(decisions, "missing"))
    writer.evaluate(lake, list_periods(decisions, "evaluate"))
    if not options.has_periods:
        writer.remove_outages(list_periods(decisions, "evaluate", "missing"))
    if expectation is None or not (due := list_periods(decisions, *EARLY)):
        return decisions, [writer]
    mature = list_mature_periods(writer.job, lake, options.as_of)
    expected_writer = create_expected_writer(writer, lake, expectation, mature)
    expected_writer.evaluate(expectation.lake, due)
    return decisions, [writer, expected_writer]


def _open_past(job: Job, store: Store, *, is_written: bool) -> Past:
    """Return the history of a job; check first whether a run may write to it."""
    if is_written:
        # Check this before the rows are read, which may take hours.
        retry_while_busy(store.check_rights)
    past = read_past(job, store)
    check_grain(job, past)
    return past


def _list_reasons(decisions: Sequence[Decision], gone: Mapping[str, str]) -> dict[str, str]:
    """Return why each period is evaluated, with the files that are gone."""
    return {
        period: f"{reason}: {gone[period]}" if period in gone else reason
        for period, _, reason in decisions
    }


def _record_outage(
    writer: Writer, past: Past, error: SqlevalError, options: RunOptions, *, dry: bool
) -> Run:
    """Record that the source could not be listed, for the periods of the run."""
    job = writer.job
    run_periods = list_requested_periods(job, options)
    run_periods = run_periods or [gates.find_last_complete(job, options.as_of)]
    # Results from when the source was readable stay.
    kept = past.overview.filter("has_rows")["period"].unique().to_list()
    lost = [period for period in run_periods if period not in kept]
    null = pl.lit(None, pl.Int64)
    rows = evaluation.create_missing_rows(job, lost, writer.definitions, writer.columns)
    rows = rows.with_columns(
        error=pl.lit(str(error)), n=null, n_dropped=null, note=pl.lit(None, pl.String)
    )
    if lost and not dry:
        writer.write(lost, rows)
    decisions = [Decision(period, "missing", "the source cannot be read") for period in lost]
    return Run(job, writer.columns["run"], decisions, past, [str(error)], [], None, rows=rows)


def _choose_definitions(candidates: Sequence[pl.DataFrame], overview: pl.DataFrame) -> pl.DataFrame:
    """Return the definitions for the task of most periods and metrics in the history."""
    if len(candidates) == 1:
        return candidates[0]
    pairs = ["metric", "definition"]
    counts = overview.select("period", *pairs).unique().group_by(pairs).len()
    return max(candidates, key=lambda each: counts.join(each, on=pairs, how="semi")["len"].sum())


def _check_inputs(job: Job, lake: Lake) -> None:
    """Raise an error if the files or the engine of a job cannot be used."""
    check_sources(job, lake.listings)
    open_job_engine(job, lake.find_snapshot("source") or lake.find_snapshot("labels"))


def _settle_job(
    job: Job,
    lake: Lake,
    candidates: Sequence[pl.DataFrame],
    past: Past,
    decisions: Sequence[Decision],
) -> tuple[Job, Settled | None]:
    """Return the job with its settled task; and the settled facts, if this run settled them.

    Raises
    ------
    RequestError
        If the job fits none of the periods to evaluate. Without any such period: if the job was
        changed since the last run and does not fit the newest periods.
    """
    due = list_periods(decisions, "evaluate")
    is_proven = _is_proven(job, past, candidates)
    if must_settle(job) and list_periods(decisions, "evaluate", "add"):
        job = recall_settled(job, past.store)
    is_open = must_settle(job)
    if is_proven and not (due and is_open):
        return job, None
    due = due or lake.periods[: -_NEWEST - 1 : -1]
    if not is_open and _fits(job, lake, due):
        return job, None
    settled = find_settled(job, lake, due)
    if settled is None or not is_open:
        return job, None
    return job.settle(settled.task, has_probabilities=settled.has_probabilities), settled


def _check_states(job: Job, lake: Lake) -> None:
    """Raise `RequestError` if the rows of a job cannot have states; skip if it has written one."""
    newest = lake.periods[: -_NEWEST - 1 : -1]
    if job.states is None or any(states.read_fingerprint(job, period) for period in newest):
        return
    for period in newest:
        try:
            predictions = bind_periods(job, lake, [period], [states.list_keys(job)])
        except SqlevalError:
            continue  # this error is recorded when the period is evaluated
        states.build_state(job, predictions, job.metrics)
        return


def _is_proven(job: Job, past: Past, candidates: Sequence[pl.DataFrame]) -> bool:
    """Whether a period was evaluated with the metrics, roles and slices that the job has now."""
    good = past.overview.filter(~pl.col("has_failed"), "has_rows")
    pairs = ["metric", "definition"]
    good = good.join(pl.concat(candidates), on=pairs, how="semi")
    last = good["period"].max()
    stored = past.read_key_sets([str(last)]) if last is not None else {}
    return list_slice_sets(job) in stored.values()


def _fits(job: Job, lake: Lake, due: Sequence[str]) -> bool:
    """Whether the job fits the first batch of periods, bound as for evaluation."""
    try:
        for keys in job.key_sets:
            prepare_metrics(job, bind_periods(job, lake, due[: evaluation.BATCH], [keys]))
    except SqlevalError:
        return False
    return True


def _judge_run(
    done: Run, writers: Sequence[Writer], definitions: pl.DataFrame, options: RunOptions
) -> Run:
    """Return a run with its rows, its errors and the verdicts of its gates."""
    lake, past = done.lake, done.past
    assert lake is not None
    rows = pl.concat([NO_RESULTS, *(f for each in writers for f in each.frames)])
    periods = [each.period for each in done.decisions if each.action != "wait"]
    errors = [error for each in writers for error in each.errors]
    errors = [*done.errors, *errors, *list_errors(_read_failed_rows(past, periods))]
    errors += list_early_dates(done.job, done.decisions, options)
    judged = judging.judge_gates(done.job, past, periods, lake.periods, options.as_of)
    notes = [
        *done.notes,
        *note_restated(sum(each.n_restated for each in writers)),
        *note_periods_without_labels(done.job, rows),
        *note_other_definitions(past.overview, definitions, lake.periods),
    ]
    return replace(
        done,
        rows=rows,
        errors=errors,
        notes=notes,
        has_requested_periods=options.has_periods,
        **judged._asdict(),
    )


def _read_failed_rows(past: Past, periods: Sequence[str]) -> pl.DataFrame:
    """Return the rows of periods with an error, expected metrics last."""
    failed = past.both.filter("has_failed", pl.col("period").is_in(list(periods)))
    names = failed["period"].unique().sort().to_list()
    rows = past.read(Selection(periods=names, columns=["period", "slice", "metric", "error"]))
    if rows.is_empty():
        return rows
    return rows.sort(find_metric_kind(pl.col("metric")) == "expected", maintain_order=True)
