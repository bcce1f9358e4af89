"""Binds the rows of periods to the roles of a job."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import polars as pl

from sqleval.binding.binding import Binding
from sqleval.binding.lookup import list_names
from sqleval.binding.model_columns import has_classes_of_models
from sqleval.common.periods import find_end, find_start
from sqleval.common.sql_text import quote, write_literal
from sqleval.compiler.late_labels import write_labels_of_rows
from sqleval.engines.base import Engine
from sqleval.engines.embedded import embedded
from sqleval.engines.opening import open_engine
from sqleval.engines.warehouse import Warehouse
from sqleval.errors import RequestError
from sqleval.frontend.binding import bind_source
from sqleval.frontend.predictions import Predictions
from sqleval.jobs import states
from sqleval.jobs.definitions import define_reading, read_roles
from sqleval.jobs.file.model import Job
from sqleval.jobs.periods.lake import PERIOD, Lake, add_period, open_job_files
from sqleval.sources.files import open_paths
from sqleval.sources.lake.format import Snapshot
from sqleval.sources.source import Source
from sqleval.sources.stores import check_storage
from sqleval.sources.verify import verify_source


def bind_periods(
    job: Job,
    lake: Lake,
    periods: Sequence[str],
    key_sets: Sequence[Sequence[str]],
    condition: str = "TRUE",
) -> Predictions:
    """Bind the rows of periods to the roles of the job, by period and each set of slice keys.

    Raises
    ------
    RequestError
        If a column does not fit its role.
    SourceError
        If a file cannot be read.
    """
    files = lake.list_files("source", periods)
    if job.from_state is not None:
        return states.merge_states(job, files, key_sets, periods)
    engine = open_job_engine(job, lake.find_snapshot("source") or lake.find_snapshot("labels"))
    rows = _select_periods(job, lake, periods, condition, engine)
    by = states.bind_key_sets([[PERIOD, *keys] for keys in key_sets])
    by["by"] = name_keys(job, by["by"])
    if job.labels is None:
        roles = {**read_roles(job), "on": None, **by, **_key_by_period(job)}
        predictions = bind_source(rows, None, roles, engine=engine)
        check_keys(predictions.binding)
        _check_labels(job, predictions.binding)
        binding = replace(predictions.binding, has_probabilities=job.has_probabilities)
        return replace(predictions, binding=binding)
    on = job.labels.on
    labels = _open_labels(job, lake, periods, engine)
    roles = {**read_roles(job), "on": on, **by, **_key_by_period(job)}
    predictions = bind_source(rows, labels, roles, engine=engine)
    check_keys(predictions.binding)
    # Keep only the labels of these rows: errors in other labels do not concern these periods.
    joined = predictions.binding.labels
    assert joined is not None
    relation = write_labels_of_rows(predictions.binding, rows.relation)
    binding = replace(
        predictions.binding,
        labels=joined._replace(relation=relation),
        has_probabilities=job.has_probabilities,
    )
    return replace(predictions, binding=binding)


def _check_labels(job: Job, binding: Binding) -> None:
    """Raise `RequestError` if the labels of rows of many labels follow from the rows."""
    if binding.many is not None and job.classes is None and not isinstance(job.label, dict):
        raise RequestError(
            f"label: {job.label} is a list; a job needs classes: [a, b], so that all periods have "
            "the same labels"
        )


def _key_by_period(job: Job) -> dict[str, list[str]]:
    """Return the key of long rows with the period: other periods may repeat the keys of cases."""
    is_long = job.long is not None and job.arrival is None
    return {"key": [*list_names(job.key, "key"), PERIOD]} if is_long else {}


def open_job_engine(job: Job, snapshot: Snapshot | None) -> Engine | None:
    """Return the engine that evaluates the rows of a job; None for DuckDB.

    Raises
    ------
    RequestError
        If there is no such engine, or it cannot evaluate this job.
    """
    engine = open_engine(job.engine)
    if isinstance(engine, Warehouse):
        raise RequestError(
            "engine: a job does not evaluate in a database; schedule sqleval evaluate instead"
        )
    if engine is not None and (snapshot is not None or job.verify):
        what = f"the table {snapshot.location}" if snapshot else "verify: true"
        raise RequestError(f"engine: {job.engine} evaluates files; it cannot with {what}")
    if engine is not None and define_reading(job):
        raise RequestError(
            f"engine: {job.engine} reads files by their endings; it cannot with csv, rows, or a "
            "prefix such as csv+"
        )
    return engine


def _open_labels(
    job: Job, lake: Lake, periods: Sequence[str], engine: Engine | None = None
) -> Source:
    """Return the source of the labels of periods."""
    files, snapshot = lake.list_label_files(periods), lake.find_snapshot("labels")
    if engine is not None:
        return engine.open_files(files, "_sqleval_labels")
    if snapshot is not None:
        return snapshot.open_files(files, "_sqleval_labels")
    labels = open_paths(
        files, name="_sqleval_labels", storage=check_storage(job.storage),
        reading=job.read_side("labels"),
    )  # fmt: skip
    return verify_source(labels) if job.verify else labels


def _select_periods(
    job: Job, lake: Lake, periods: Sequence[str], condition: str, engine: Engine | None
) -> Source:
    """Return the source of the rows of periods, with the period as a column."""
    files, snapshot = lake.list_files("source", periods), lake.find_snapshot("source")
    if engine is not None:
        opened = engine.open_files(files, "_sqleval_rows")
    elif snapshot is None:
        opened = open_job_files(job, files)
        opened = replace(opened, label=f"{len(files)} files" if len(files) > 1 else files[0])
    else:
        opened = snapshot.open(files, "_sqleval_rows")
    opened = verify_source(opened) if job.verify else opened
    source, period = add_period(job, opened, engine)
    # The time range lets the engine skip files and row groups.
    in_range, is_exact = _write_time_range(job, source, periods, engine or embedded())
    if source.select is not None:
        chosen_rows = source.select(in_range)
        source = replace(source, make=chosen_rows.make, select=chosen_rows.select)
    conditions = [in_range, f"({condition})"]
    if not is_exact:
        chosen = ", ".join(map(write_literal, periods))
        conditions.append(f"CAST({period} AS VARCHAR) IN ({chosen})")
    relation = (
        f"(SELECT s.*, {period} AS {PERIOD} FROM {source.relation} AS s\n"
        f"WHERE {' AND '.join(conditions)})"
    )
    return source.add_columns(relation, [PERIOD], [job.period.column])


def name_keys(job: Job, keys: Sequence[str]) -> list[str] | dict[str, str]:
    """Return slice keys as the argument ``by=``; if one is an expression, names map to SQL."""
    if job.expressions.keys().isdisjoint(keys):
        return [*keys]
    return {key: job.expressions.get(key, quote(key)) for key in keys}


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


def split_models(job: Job) -> dict[str, Job]:
    """Return one job per model; none for a single model, or if all models share their rows."""
    jobs: dict[str, Job] = {}
    if job.common:
        return jobs
    roles: dict[str, Any] = {
        "score": job.score,
        "prediction": job.prediction,
        "value": job.value,
        "threshold": job.threshold,
    }
    by_model = {
        role: {str(name): each for name, each in cast("dict[Any, Any]", named).items()}
        for role, named in roles.items()
        if isinstance(named, dict)
    }
    first = next(iter(by_model.values()), dict[str, Any]())
    has_models = not isinstance(job.label, dict) and (
        not isinstance(job.score, dict) or not job.has_scores_of_classes
    )
    is_nested = has_classes_of_models(job.score) or has_classes_of_models(job.prediction)
    if len(first) > 1 and (has_models or is_nested):
        for name in first:
            alone = {role: {name: named[name]} for role, named in by_model.items() if name in named}
            jobs[name] = job.model_copy(update=alone)
    return jobs


def prepare_metrics(
    job: Job, predictions: Predictions, metrics: Sequence[str] | None = None
) -> pl.LazyFrame:
    """Return the metrics of a job, or some of them, to be evaluated over bound rows.

    Raises
    ------
    RequestError
        If a metric or an interval does not fit the rows.
    """
    metrics = job.metrics if metrics is None else metrics
    return predictions.evaluate(
        metrics, ci=job.ci, ci_method=job.ci_method, replicates=job.replicates
    )


def _write_time_range(
    job: Job, source: Source, periods: Sequence[str], engine: Engine
) -> tuple[str, bool]:
    """Return a condition on the time column that statistics of files can answer.

    The second value tells whether only rows of the periods meet the condition.
    """
    column = engine.describe(source)[1][job.period.column]
    if column.kind == "text":
        return "TRUE", False
    zone = job.period.timezone
    in_zone = column.kind == "instant" or (column.kind == "timestamp" and zone is not None)
    # The engine and Python may have rules of different years for a time zone.
    margin = timedelta(hours=3 if in_zone and zone not in (None, "UTC") else 0)
    ranges: list[tuple[datetime, datetime]] = []
    for period in sorted(periods):
        start = find_start(period, zone)
        end = find_end(period, job.period.grain, zone)
        if margin:  # in UTC: local time may skip a whole day, as in Apia on 2011-12-30
            start, end = start.astimezone(UTC) - margin, end.astimezone(UTC) + margin
        if ranges and ranges[-1][1] >= start:
            start = ranges.pop()[0]
        ranges.append((start, end))
    name = f"s.{quote(column.name)}"
    written = [
        f"{name} >= {_write_time(start, column.kind, in_zone)} "
        f"AND {name} < {_write_time(end, column.kind, in_zone)}"
        for start, end in ranges
    ]
    return f"({' OR '.join(f'({each})' for each in written)})", not margin


def _write_time(at: datetime, kind: str, in_zone: bool) -> str:
    """Return a time as a SQL constant to compare with a column of a kind."""
    if kind == "date":
        return f"DATE '{at.date()}'"
    if kind == "instant":
        return f"TIMESTAMPTZ '{at.astimezone(UTC).isoformat()}'"
    local = at.astimezone(UTC) if in_zone else at
    return f"TIMESTAMP '{local.replace(tzinfo=None).isoformat()}'"
