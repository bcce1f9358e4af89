"""Binds the rows of periods to the roles of a job."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date, timedelta

from sqleval.common.sql_text import literal, quote
from sqleval.engines.embedded import embedded
from sqleval.errors import RequestError
from sqleval.frontend.binding import bind_source
from sqleval.frontend.predictions import Predictions
from sqleval.inputs.binding import Binding
from sqleval.inputs.opening import open_source
from sqleval.inputs.source import Source
from sqleval.inputs.verify import verify_source
from sqleval.jobs import states
from sqleval.jobs.definitions import read_roles
from sqleval.jobs.file.model import Job
from sqleval.jobs.lake import PERIOD, Lake, open_with_period


def bind_periods(
    job: Job, lake: Lake, periods: Sequence[str], keys: Sequence[str], condition: str = "TRUE"
) -> Predictions:
    """Bind the rows of periods to the roles of the job, by period and slice keys.

    Raises
    ------
    RequestError
        If a column does not fit its role.
    SourceError
        If a file cannot be read.
    """
    files = lake.list_files("source", periods)
    if job.from_state is not None:
        return states.merge_states(job, files, keys, periods)
    rows = _select_periods(job, files, periods, condition)
    by = [PERIOD, *keys]
    if job.labels is None:
        predictions = bind_source(rows, None, {**read_roles(job), "on": None, "by": by})
        check_keys(predictions.binding)
        return predictions
    on = job.labels.on
    labels = open_source(
        lake.list_label_files(periods), name="_sqleval_labels", storage=job.storage,
        verify=job.verify,
    )  # fmt: skip
    predictions = bind_source(rows, labels, {**read_roles(job), "on": on, "by": by})
    check_keys(predictions.binding)
    # Only labels of these rows: errors among the others do not concern these periods.
    joined = predictions.binding.labels
    assert joined is not None
    relation = (
        f"(SELECT l.* FROM {joined.relation} AS l\n"
        f"WHERE l.{quote(on)} IN (SELECT s.{quote(on)} FROM {rows.relation} AS s))"
    )
    binding = replace(predictions.binding, labels=joined._replace(relation=relation))
    return replace(predictions, binding=binding)


def _select_periods(
    job: Job, files: Sequence[str], periods: Sequence[str], condition: str
) -> Source:
    """Return the source of the rows of periods, with the period as a column."""
    source, period = open_with_period(job, files)
    chosen = ", ".join(map(literal, periods))
    in_range = _write_time_range(job, source, periods)
    # The period decides; the time range lets the engine skip files and row groups.
    return replace(
        source,
        relation=f"(SELECT s.*, {period} AS {PERIOD} FROM {source.relation} AS s\n"
        f"WHERE {in_range} AND {period} IN ({chosen}) AND ({condition}))",
        check=_check_files(job, source) if job.verify else None,
        label=f"{len(files)} files" if len(files) > 1 else files[0],
    )


def _check_files(job: Job, source: Source) -> Callable[[Sequence[str]], None]:
    """Return what checks the files of periods, whose rows have the period as a computed column."""
    check = verify_source(source).check
    assert check is not None
    return lambda columns: check([*columns, job.period.column])


def find_period_key(predictions: Predictions) -> str:
    """Return the name of the key that holds the period."""
    return PERIOD if predictions.binding.state is None else "period"


def check_keys(binding: Binding) -> None:
    """Raise `RequestError` if a slice key has a type that the history cannot hold."""
    for column in binding.by:
        if column.kind in ("binary", "nested"):
            raise RequestError(
                f"slice key {column.name!r} is {column.type}, which a history cannot hold; "
                "use a number, a text, a date or a boolean"
            )


def _write_time_range(job: Job, source: Source, periods: Sequence[str]) -> str:
    """Return a condition on the time column that Parquet statistics can answer."""
    column = embedded().describe(source)[1][job.period.column]
    if column.kind == "text":
        return "TRUE"
    # Wide enough for the longest period and any time zone. The year of a period is at most 9998.
    first = date.fromisoformat(min(periods)[:10]) - timedelta(days=2)
    last = date.fromisoformat(max(periods)[:10]) + timedelta(days=368)
    return f"s.{quote(column.name)} BETWEEN DATE '{first}' AND DATE '{last}'"
