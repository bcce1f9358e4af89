"""Runs a job: its plan, the evaluation of each period, the history, the gates."""

import logging
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import polars as pl

from sqleval.errors import RequestError, SourceError, SqlevalError
from sqleval.history.opening import open_store
from sqleval.history.store import Store, format_slice, retry_while_busy
from sqleval.jobs import evaluation, gates, states
from sqleval.jobs.definitions import definitions, renamed
from sqleval.jobs.file.model import Job
from sqleval.jobs.lake import Lake, look
from sqleval.jobs.plan import Asked, Step, plan, wanted_by_date

logger = logging.getLogger("sqleval.jobs")


@dataclass(frozen=True)
class Run:
    """What a run did.

    Attributes
    ----------
    steps : list of Step
        Each period that was asked for, and what was done.
    rows : polars.DataFrame
        The rows that were written.
    history : polars.DataFrame
        All rows of the job, with these.
    verdicts : polars.DataFrame
        What the gates said.
    errors : list of str
        What failed: files, periods and slices.
    """

    job: Job
    id: str
    steps: list[Step]
    rows: pl.DataFrame
    history: pl.DataFrame
    verdicts: pl.DataFrame
    errors: list[str]
    notes: list[str]
    lake: Lake | None = field(repr=False)

    @property
    def failed(self) -> bool:
        """Whether a gate failed."""
        return not self.verdicts.filter(status="failed").is_empty()


def store_of(job: Job) -> Store:
    """Return the store of a job's history."""
    given = job.history
    local = job.resolve_path(given.url)
    options = {k: v if isinstance(v, str) else v.read() for k, v in given.options.items()}
    password = given.password.read() if given.password else None
    return open_store(local, password=password, options=options)


def run(job: Job, asked: Asked, *, dry: bool = False) -> Run:
    """Evaluate the periods that are due, keep the results and judge them.

    Parameters
    ----------
    job : Job
        From `sqleval.jobs.file.reading.read_job`.
    asked : Asked
        Which periods.
    dry : bool
        Only say what would be done; files that are new are read, nothing is written.

    Returns
    -------
    Run

    Raises
    ------
    RequestError
        If a column, metric or gate is none of the job's.
    EngineError
        If the history cannot be read or written.
    """
    started = datetime.now(UTC)
    identity = f"{started:%Y%m%dT%H%M%SZ}-{uuid.uuid4().hex[:6]}"
    same = {"run": identity, "evaluated_at": started.isoformat(timespec="seconds")}
    say = {"job": job.name, "run": identity}
    store = store_of(job)
    job = states.described(job)
    defined = definitions(job)
    gates.check_metrics(job, pl.concat(defined)["metric"].unique(maintain_order=True).to_list())
    stored = retry_while_busy(lambda: store.read("sqleval_history", job.name))
    known = retry_while_busy(lambda: store.read("sqleval_files", job.name))
    _same_grain(job, stored)
    if names := renamed(job, stored):
        stored = stored.with_columns(pl.col("definition").replace(names))
        if not dry:
            retry_while_busy(lambda: store.replace_definitions(job.name, names))
    try:
        lake = look(job, known)
    except SourceError as error:
        return _broken(job, store, stored, _likely(defined, stored), asked, same, error, dry=dry)
    steps = plan(job, lake, stored, defined, asked)
    logger.info(
        "planned", extra={**say, "steps": len(steps), "files": lake.files["file"].n_unique()}
    )
    notes: list[str] = []
    if lake.without_period:
        notes.append(
            f"{lake.without_period:,} rows are of no period: {job.period.column} is missing, or "
            "outside of the years 1000 to 9998"
        )
    if dry:
        verdicts = pl.DataFrame(schema=gates.VERDICTS)
        return Run(job, identity, steps, stored.clear(), stored, verdicts, lake.errors, notes, lake)
    for period in lake.emptied(known):
        states.forget(job, period)
    due = [step.period for step in steps if step.action == "evaluate"]
    missing = [step.period for step in steps if step.action == "missing"]
    good = stored.filter(pl.col("error").is_null(), pl.col("n") > 0)
    task = _task(job, lake, due) if due and (len(defined) > 1 or good.is_empty()) else None
    if len(defined) > 1 and task is not None:
        job = job.model_copy(update={"task": task})
        defined = definitions(job)
    meaning = _likely(defined, stored)
    frames: list[pl.DataFrame] = []
    errors = list(lake.errors)
    adding = [step.period for step in steps if step.action == "add"]
    for at in range(0, len(adding), evaluation.BATCH):
        batch = adding[at : at + evaluation.BATCH]
        rows, refused = evaluation.add(job, lake, stored, batch, meaning, same)
        frames.append(rows)
        _keep(store, job, [period for period in batch if period not in refused], rows)
        steps = [_instead(step, refused, lake) for step in steps]
    due = [step.period for step in steps if step.action == "evaluate"]
    for at in range(0, len(due), evaluation.BATCH):
        batch = due[at : at + evaluation.BATCH]
        rows = evaluation.evaluate(job, lake, batch, meaning, same)
        # Where nothing of a period can be evaluated any more, the numbers that it had stay.
        whole = rows.filter(pl.col("error").is_null())["period"].unique()
        lost = (set(batch) - set(whole)) & set(good["period"].unique())
        errors += _said(rows.filter(pl.col("period").is_in(list(lost))))
        rows = rows.filter(~pl.col("period").is_in(list(lost)))
        frames.append(rows)
        failed = set(rows.filter(pl.col("error").is_not_null())["period"])
        sound = [period for period in batch if period not in failed | lost]
        errors += evaluation.keep(job, lake, sound, meaning["metric"].to_list())
        for period in failed - lost:
            states.forget(job, period)
        _keep(store, job, [period for period in batch if period not in lost], rows)
        for period in batch:
            logger.info("evaluated", extra={**say, "period": period})
    if missing:
        rows = evaluation.absent(job, missing, meaning, same)
        again = stored.filter(pl.col("period").is_in(missing), pl.col("n") == 0)
        # What has been recorded as missing stays as it was recorded.
        rows = rows.filter(~pl.col("period").is_in(again["period"].implode()))
        frames.append(rows)
        _keep(store, job, rows["period"].unique().to_list(), rows)
    if not (asked.backfill or asked.date or asked.span):
        # The source can be listed again, so what was recorded while it could not is over.
        outage = pl.col("error").is_not_null() & pl.col("fingerprint").is_null()
        over = [p for p in stored.filter(outage)["period"].unique() if p not in due]
        stored = stored.filter(~pl.col("period").is_in(over))
        if over:
            _keep(store, job, over, stored.clear())
    if lake.fresh:
        # Last: if they are lost, the files are only read again.
        _keep(store, job, [], stored.clear(), lake.files)
    return _finished(
        Run(job, identity, steps, stored, stored, stored, errors, notes, lake),
        frames,
        meaning,
        asked,
    )


def _instead(step: Step, refused: Mapping[str, str], lake: Lake) -> Step:
    """Return what is done where a state does not hold what a metric needs."""
    if step.period not in refused:
        return step
    action = "evaluate" if step.period in lake.periods else "keep"
    return Step(step.period, action, refused[step.period])


def _same_grain(job: Job, stored: pl.DataFrame) -> None:
    """Raise if the history is by another grain: days and weeks would be called the same."""
    other = [grain for grain in stored["grain"].unique() if grain != job.period.grain]
    if other:
        raise RequestError(
            f"the history of the job {job.name!r} is by {other[0]}, and the job is by "
            f"{job.period.grain}; give the job another name, or another history"
        )


def _likely(defined: Sequence[pl.DataFrame], stored: pl.DataFrame) -> pl.DataFrame:
    """Return what the metrics mean, of several tasks that of most of the history."""
    pairs = ["metric", "definition"]
    return max(defined, key=lambda each: stored.join(each, on=pairs, how="semi").height)


def _task(job: Job, lake: Lake, due: Sequence[str]) -> str | None:
    """Return the task of the first period that the job fits.

    Raises
    ------
    RequestError
        If it fits none: then it is the job that is wrong.
    """
    refused: RequestError | None = None
    for period in due:
        try:
            bounds = [evaluation.predictions(job, lake, [period], keys) for keys in job.key_sets]
            return bounds[0].task
        except RequestError as error:
            refused = error
        except SqlevalError:
            # What is wrong with a period's data is recorded when it is evaluated.
            continue
    if refused is not None:
        raise refused
    return None


def _said(rows: pl.DataFrame) -> list[str]:
    """Return the errors that rows of the history hold, in words."""
    failures = rows.filter(pl.col("error").is_not_null())
    return [
        f"{period} {format_slice(keys)}: {error}"
        for period, keys, error in failures.select("period", "slice", "error")
        .unique(maintain_order=True)
        .iter_rows()
    ]


def _keep(
    store: Store,
    job: Job,
    of: list[str],
    rows: pl.DataFrame,
    files: pl.DataFrame | None = None,
) -> None:
    retry_while_busy(lambda: store.replace(job.name, of, rows, files))


def _finished(
    done: Run, frames: Sequence[pl.DataFrame], defined: pl.DataFrame, asked: Asked
) -> Run:
    """Return a run with its history, its errors and what its gates say."""
    stored, notes, lake = done.history, done.notes, done.lake
    assert lake is not None
    rows = pl.concat([stored.clear(), *frames])
    written = rows["period"].unique().implode()
    history = pl.concat([stored.filter(~pl.col("period").is_in(written)), rows])
    looked = [step.period for step in done.steps if step.action != "wait"]
    errors = [*done.errors, *_said(history.filter(pl.col("period").is_in(looked)))]
    sets = history.select("period", "metric", "definition").unique()
    alike = sets.join(defined, on=["metric", "definition"], how="semi").group_by("period").len()
    full = alike.filter(pl.col("len") == defined.height)["period"].implode()
    others = sets.filter(~pl.col("period").is_in(full))["period"].unique().sort()
    if len(others):
        which, again = f"{len(others)} periods, up to {others[-1]}, are", "them"
        if len(others) == 1:
            which, again = f"{others[0]} is", "it"
        notes = [*notes, f"{which} of another definition; --backfill evaluates {again} again"]
    verdicts = gates.judge(done.job, history, looked, lake.periods, asked.as_of)
    return replace(done, rows=rows, history=history, verdicts=verdicts, errors=errors, notes=notes)


def _broken(
    job: Job,
    store: Store,
    stored: pl.DataFrame,
    defined: pl.DataFrame,
    asked: Asked,
    same: dict[str, Any],
    error: SqlevalError,
    *,
    dry: bool,
) -> Run:
    """Record that the source could not be listed, in the periods that were asked for."""
    wanted = wanted_by_date(job, asked) or [gates.last_over(job, asked.as_of)]
    # What is known of a period from when its data could be read stays.
    known = stored.filter(pl.col("n") > 0)["period"].unique().to_list()
    lost = [period for period in wanted if period not in known]
    none = pl.lit(None, pl.Int64)
    rows = evaluation.absent(job, lost, defined, same).with_columns(
        error=pl.lit(str(error)), n=none, n_dropped=none, note=pl.lit(None, pl.String)
    )
    if lost and not dry:
        _keep(store, job, lost, rows)
    steps = [Step(period, "missing", "the source cannot be read") for period in lost]
    verdicts = pl.DataFrame(schema=gates.VERDICTS)
    return Run(job, str(same["run"]), steps, rows, stored, verdicts, [str(error)], [], None)
