"""Runs a job: which periods are due, their evaluation, the history, the gates."""

import logging
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import polars as pl

from sqleval.errors import SourceError, SqlevalError
from sqleval.history import Store, open_store, own_keys, patiently, shown
from sqleval.jobs import evaluation, gates, periods
from sqleval.jobs.lake import Lake, look
from sqleval.jobs.model import Job

logger = logging.getLogger("sqleval.jobs")


@dataclass(frozen=True)
class Asked:
    """Which periods a run is asked for; nothing is the next ones, and those whose data changed.

    Attributes
    ----------
    date : datetime or None
        The period it lies in.
    first, last : datetime or None
        All periods between the two.
    backfill : bool
        Every period found.
    force : bool
        Also those whose data and definition have not changed.
    as_of : datetime
        The time that labels have had to mature until, with a time zone.
    """

    as_of: datetime
    date: tuple[datetime, datetime] | None = None
    span: tuple[datetime, datetime] | None = None
    backfill: bool = False
    force: bool = False


class Step(NamedTuple):
    """What is done with a period, and why."""

    period: str
    action: str
    reason: str


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
    local = job.path(given.url)
    options = {k: v if isinstance(v, str) else v.value() for k, v in given.options.items()}
    password = given.password.value() if given.password else None
    return open_store(local, password=password, options=options)


def _wanted(job: Job, asked: Asked) -> list[str] | None:
    """Return the periods that were asked for by date, whether they have rows or not."""
    grain, timezone = job.period.grain, job.period.timezone
    span = asked.date or asked.span
    if span is None:
        return None
    zone = periods.zone(timezone)
    first, last = (at if at.tzinfo else at.replace(tzinfo=zone) for at in span)
    return periods.between(first, last, grain, timezone)


def _due_by_itself(job: Job, lake: Lake, stored: pl.DataFrame, asked: Asked) -> list[str]:
    """Return what a plain run looks at: periods after the last one known, and changed ones."""
    good = stored.filter(pl.col("n") > 0)
    known = dict(stored.select("period", "fingerprint").unique().iter_rows())
    failed = set(stored.filter(pl.col("error").is_not_null())["period"])
    prints = lake.fingerprints()
    ready = [p for p in lake.periods if _mature_from(job, p) <= asked.as_of]
    if good.is_empty():
        return ready[-1:]
    first, last = str(good["period"].min()), str(good["period"].max())

    def due(period: str) -> bool:
        new = period not in known or known[period] != prints[period]
        return period >= first and (new or period in failed or period == last)

    return [period for period in lake.periods if due(period)]


def _mature_from(job: Job, period: str) -> datetime:
    over = periods.end(period, job.period.grain, job.period.timezone)
    return over + (job.labels.maturity if job.labels else timedelta(0))


def plan(
    job: Job, lake: Lake, stored: pl.DataFrame, defined: Sequence[pl.DataFrame], asked: Asked
) -> list[Step]:
    """Return what a run does with each period that it looks at.

    Parameters
    ----------
    job, lake : Job, Lake
        The job, and what lies in its sources.
    stored : polars.DataFrame
        The job's rows in the history.
    defined : sequence of polars.DataFrame
        What the job's metrics mean now.
    asked : Asked
        Which periods.

    Returns
    -------
    list of Step
        In the order of time; ``action`` is ``evaluate``, ``keep``, ``wait`` or ``missing``.
    """
    wanted = _wanted(job, asked)
    if wanted is None:
        wanted = lake.periods if asked.backfill else _due_by_itself(job, lake, stored, asked)
    found, prints = set(lake.periods), lake.fingerprints()
    before = {
        period: rows for (period,), rows in stored.partition_by("period", as_dict=True).items()
    }
    meanings = [set(each.select("metric", "definition").iter_rows()) for each in defined]
    only_data = not asked.backfill and asked.date is None and asked.span is None
    key_sets = {frozenset(keys) for keys in job.key_sets}
    steps: list[Step] = []
    for period in wanted:
        ready = _mature_from(job, period)
        rows = before.get(period)
        if job.labels is not None and ready > asked.as_of:
            steps.append(Step(period, "wait", f"labels mature until {ready:%Y-%m-%d %H:%M}"))
        elif period not in found:
            kept = rows is not None and rows.select((pl.col("n") > 0).any()).item()
            steps.append(Step(period, "keep", "its data is gone") if kept
                         else Step(period, "missing", "no rows"))  # fmt: skip
        elif rows is None:
            steps.append(Step(period, "evaluate", "new"))
        elif asked.force:
            steps.append(Step(period, "evaluate", "forced"))
        elif rows["error"].null_count() < rows.height:
            steps.append(Step(period, "evaluate", "failed before"))
        elif rows["fingerprint"][0] != prints[period]:
            steps.append(Step(period, "evaluate", "data changed"))
        elif set(rows.select("metric", "definition").iter_rows()) not in meanings:
            kept = Step(period, "keep", "another definition")
            steps.append(kept if only_data else Step(period, "evaluate", "definition changed"))
        elif {own_keys(text) for text in rows["slice"].unique()} != key_sets:
            kept = Step(period, "keep", "other slices")
            steps.append(kept if only_data else Step(period, "evaluate", "slices changed"))
        else:
            steps.append(Step(period, "keep", "nothing new"))
    return steps


def run(job: Job, asked: Asked, *, dry: bool = False) -> Run:
    """Evaluate the periods that are due, keep the results and judge them.

    Parameters
    ----------
    job : Job
        From `sqleval.jobs.model.load`.
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
    defined = evaluation.definitions(job)
    gates.check_metrics(job, pl.concat(defined)["metric"].unique(maintain_order=True).to_list())
    stored = patiently(lambda: store.read("sqleval_history", job.name))
    known = patiently(lambda: store.read("sqleval_files", job.name))
    try:
        lake = look(job, known)
    except SourceError as error:
        return _broken(job, store, stored, defined[0], asked, same, error, dry=dry)
    steps = plan(job, lake, stored, defined, asked)
    logger.info(
        "planned", extra={**say, "steps": len(steps), "files": lake.files["file"].n_unique()}
    )
    notes: list[str] = []
    if lake.without_period:
        notes.append(f"{lake.without_period:,} rows have no {job.period.column}")
    if dry:
        verdicts = pl.DataFrame(schema=gates.VERDICTS)
        return Run(job, identity, steps, stored.clear(), stored, verdicts, lake.errors, notes, lake)
    due = [step.period for step in steps if step.action == "evaluate"]
    missing = [step.period for step in steps if step.action == "missing"]
    if len(defined) > 1 and due:
        task = evaluation.predictions(job, lake, due[:1], job.key_sets[0]).task
        job = job.model_copy(update={"task": task})
        (defined,) = [evaluation.definitions(job)]
    files = lake.files if lake.fresh else None
    frames: list[pl.DataFrame] = []
    for at in range(0, len(due), evaluation.BATCH):
        batch = due[at : at + evaluation.BATCH]
        rows = evaluation.evaluate(job, lake, batch, defined[0], same)
        frames.append(rows)
        _keep(store, job, batch, rows, files)
        files = None
        for period in batch:
            logger.info("evaluated", extra={**say, "period": period})
    if missing:
        rows = evaluation.absent(job, missing, defined[0], same)
        again = stored.filter(pl.col("period").is_in(missing), pl.col("n") == 0)
        # What has been recorded as missing stays as it was recorded.
        rows = rows.filter(~pl.col("period").is_in(again["period"].implode()))
        frames.append(rows)
        _keep(store, job, rows["period"].unique().to_list(), rows, files)
        files = None
    if files is not None:
        _keep(store, job, [], stored.clear(), files)
    return _finished(job, identity, steps, frames, stored, lake, defined[0], notes, asked)


def _keep(
    store: Store, job: Job, of: list[str], rows: pl.DataFrame, files: pl.DataFrame | None
) -> None:
    patiently(lambda: store.replace(job.name, of, rows, files))


def _finished(
    job: Job,
    identity: str,
    steps: list[Step],
    frames: list[pl.DataFrame],
    stored: pl.DataFrame,
    lake: Lake,
    defined: pl.DataFrame,
    notes: list[str],
    asked: Asked,
) -> Run:
    rows = pl.concat([stored.clear(), *frames])
    written = rows["period"].unique().implode()
    history = pl.concat([stored.filter(~pl.col("period").is_in(written)), rows])
    looked = [step.period for step in steps if step.action != "wait"]
    failures = history.filter(pl.col("period").is_in(looked), pl.col("error").is_not_null())
    errors = lake.errors + [
        f"{period} {shown(keys)}: {error}"
        for period, keys, error in failures.select("period", "slice", "error")
        .unique(maintain_order=True)
        .iter_rows()
    ]
    sets = history.select("period", "metric", "definition").unique()
    alike = sets.join(defined, on=["metric", "definition"], how="semi").group_by("period").len()
    full = alike.filter(pl.col("len") == defined.height)["period"].implode()
    others = sets.filter(~pl.col("period").is_in(full))["period"].unique().sort()
    if len(others):
        notes = [*notes, f"{len(others)} periods, up to {others[-1]}, are of another definition; "
                 "--backfill evaluates them again"]  # fmt: skip
    verdicts = gates.judge(job, history, looked, lake.periods, asked.as_of)
    return Run(job, identity, steps, rows, history, verdicts, errors, notes, lake)


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
    wanted = _wanted(job, asked) or [gates.last_over(job, asked.as_of)]
    # What is known of a period from when its data could be read stays.
    known = stored.filter(pl.col("n") > 0)["period"].unique().to_list()
    lost = [period for period in wanted if period not in known]
    none = pl.lit(None, pl.Int64)
    rows = evaluation.absent(job, lost, defined, same).with_columns(
        error=pl.lit(str(error)), n=none, n_dropped=none, note=pl.lit(None, pl.String)
    )
    if lost and not dry:
        _keep(store, job, lost, rows, None)
    steps = [Step(period, "missing", "the source cannot be read") for period in lost]
    verdicts = pl.DataFrame(schema=gates.VERDICTS)
    return Run(job, str(same["run"]), steps, rows, stored, verdicts, [str(error)], [], None)
