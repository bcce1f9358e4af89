"""Settles the task, the kind of scores and the metrics of a job once, for all later periods.

The job file decides, or else the first period with at least two different values; the history
keeps the decision. A later period of another kind is then an error, and never another metric. A
job without ``metrics`` keeps those of its history, also if a release has other default metrics.
"""

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from sqleval.binding.binding import Task
from sqleval.catalog.tasks import DefaultSet
from sqleval.errors import RequestError, SqlevalError
from sqleval.frontend.first_values import FirstValues
from sqleval.frontend.predictions import Predictions
from sqleval.history.store import (
    SETTLED,
    Selection,
    Store,
    find_metric_kind,
    retry_while_busy,
)
from sqleval.jobs.binding import bind_periods, prepare_metrics
from sqleval.jobs.definitions import list_definitions, write_input_text
from sqleval.jobs.file.model import Job
from sqleval.jobs.periods.lake import Lake


class Settled(NamedTuple):
    """The settled facts about the rows of a job, and the period that decided them.

    Attributes
    ----------
    task : str
        The task.
    has_probabilities : bool
        Whether the scores lie in 0 .. 1, so that the default threshold applies to them.
    period : str
        The period whose rows decided.
    """

    task: Task
    has_probabilities: bool
    period: str


def is_task_open(job: Job) -> bool:
    """Whether neither the job file nor its roles determine the task."""
    deciding = (job.task, job.qid, job.score, job.value, job.positive, job.from_state)
    return all(each is None for each in deciding)


def must_settle(job: Job) -> bool:
    """Whether the rows decide about the task, or about the default threshold."""
    is_scored = job.score is not None and job.qid is None and job.threshold is None
    return not job.is_settled and job.from_state is None and (is_scored or is_task_open(job))


def recall_settled(job: Job, store: Store) -> Job:
    """Return the job with the facts in its history; unchanged if they are about other roles."""
    rows = retry_while_busy(lambda: store.read("sqleval_settled", job.name))
    rows = rows.filter(input=write_input_text(job, task=False))
    if rows.is_empty():
        return job
    last = rows.row(-1, named=True)
    return job.settle(last["task"], has_probabilities=last["threshold"] is not None)


def recall_metrics(job: Job, store: Store) -> Job:
    """Return a job without ``metrics`` with those of the last period in its history.

    It is unchanged without a history, or if another task has its metrics, as after a change of
    roles.
    """
    if job.metrics is not None:
        return job
    only = Selection(columns=["period", "metric"], distinct=True)
    rows = retry_while_busy(lambda: store.read("sqleval_history", job.name, only))
    rows = rows.filter(find_metric_kind(pl.col("metric")) == "")
    stored = rows.filter(pl.col("period") == pl.col("period").max())["metric"].sort().to_list()
    if not stored or any({*each["metric"]} == {*stored} for each in list_definitions(job)):
        return job
    kept = job.model_copy(update={"metrics": DefaultSet(stored)})
    try:
        list_definitions(kept)
    except RequestError:
        return job
    return kept


def keep_settled(job: Job, store: Store, settled: Settled, run: str) -> None:
    """Store the facts that a run has settled."""
    row = {
        "job": job.name,
        "input": write_input_text(job, task=False),
        "task": settled.task,
        "threshold": 0.5 if settled.has_probabilities else None,
        "period": settled.period,
        "run": run,
    }
    frame = pl.DataFrame([row], schema=SETTLED)
    retry_while_busy(lambda: store.append("sqleval_settled", frame))


def find_settled(job: Job, lake: Lake, periods: Sequence[str]) -> Settled | None:
    """Return the facts settled by the first period with at least two values; None without any.

    Raises
    ------
    RequestError
        If the job fits no period, so that the job is wrong and not the data.
    """
    last_error: RequestError | None = None
    has_fitted = False
    for period in periods:
        try:
            bound = [bind_periods(job, lake, [period], [keys]) for keys in job.key_sets]
            for each in bound:
                prepare_metrics(job, each)
            has_fitted = True
            first, scores = bound[0].binding, read_scores(bound[0])
            if first.is_settled and (scores or not first.score_columns):
                return Settled(first.task, are_probabilities(scores), period)
        except RequestError as error:
            last_error = error
        except SqlevalError:
            # Errors in the data of a period are recorded at its evaluation.
            continue
    if last_error is not None and not has_fitted:
        raise last_error
    return None


def read_scores(predictions: Predictions) -> list[float]:
    """Return the scores of the first rows, of all models or classes."""
    binding = predictions.binding
    first = FirstValues(predictions.source, predictions.labels, predictions.engine)
    columns = [("score", column) for column in binding.score_columns]
    values = first.read(binding.labels, binding.where, binding.where_columns, columns)
    return [float(str(value)) for each in values for value in each]


def are_probabilities(scores: Sequence[float]) -> bool:
    """Whether at least half of the scores lie in 0 .. 1; the others count as errors."""
    return sum(0 <= score <= 1 for score in scores) >= len(scores) / 2
