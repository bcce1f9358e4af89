"""Evaluates periods of a job: the metrics of each slice, as rows of the history."""

import hashlib
import json
import platform
import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta
from importlib.metadata import version
from typing import Any

import polars as pl

from sqleval import catalog, graph, request
from sqleval.binding import Binding
from sqleval.engine import duckdb as engine
from sqleval.errors import RequestError, SqlevalError, UnmatchedRows, original
from sqleval.history import RESULTS
from sqleval.jobs.lake import PERIOD, Lake, dated
from sqleval.jobs.model import Job
from sqleval.names import literal, quote
from sqleval.predictions import Predictions, bound
from sqleval.request import Request
from sqleval.source import Source, open_source

#: Periods that are evaluated by one statement, and written together.
BATCH = 31
#: What of a job decides what its numbers mean.
_MEANING = (
    "label", "score", "prediction", "weight", "counts", "qid", "positive", "threshold", "where",
    "nulls", "task", "period", "ci",
)  # fmt: skip


def versions() -> str:
    """Return the versions that a number was made by, as JSON."""
    names = ("sqleval", "duckdb", "polars")
    return json.dumps({"python": platform.python_version()} | {n: version(n) for n in names})


def roles(job: Job) -> dict[str, Any]:
    """Return the roles and options that the predictions are bound by."""
    return job.model_dump(include={*_MEANING} - {"period", "ci"})


def predictions(
    job: Job, lake: Lake, periods: Sequence[str], keys: Sequence[str], condition: str = "TRUE"
) -> Predictions:
    """Return the rows of these periods, bound to the job's roles, by period and slice keys.

    Raises
    ------
    RequestError
        If a column does not fit its role.
    SourceError
        If a file cannot be read.
    """
    files = lake.paths("source", periods)
    source, period = dated(job, files)
    chosen = ", ".join(map(literal, periods))
    # The names of periods decide; the span lets the engine skip what is far from all of them.
    rows = Source(
        f"(SELECT s.*, {period} AS {PERIOD} FROM {source.relation} AS s\n"
        f"WHERE {_span(job, source, periods)} AND {period} IN ({chosen}) AND ({condition}))",
        files=tuple(files),
        differs=source.differs,
        label=f"{len(files)} files" if len(files) > 1 else files[0],
    )
    by = [PERIOD, *keys]
    if job.labels is None:
        found = bound(rows, None, {**roles(job), "on": None, "by": by})
        check_keys(found.binding)
        return found
    on = job.labels.on
    labels = open_source(lake.labels(periods), name="_sqleval_labels")
    found = bound(rows, labels, {**roles(job), "on": on, "by": by})
    check_keys(found.binding)
    # What is wrong among the labels of other periods is no matter of these.
    own = (
        f"(SELECT l.* FROM {labels.relation} AS l\n"
        f"WHERE l.{quote(on)} IN (SELECT s.{quote(on)} FROM {rows.relation} AS s))"
    )
    joined = found.binding.labels
    assert joined is not None
    return replace(found, binding=replace(found.binding, labels=joined._replace(relation=own)))


def check_keys(binding: Binding) -> None:
    """Raise `RequestError` if a slice key's values cannot be written into a history."""
    for column in binding.by:
        if column.type == "BLOB" or column.type.endswith("]") or column.type.startswith("MAP("):
            raise RequestError(
                f"slice key {column.name!r} is {column.type}, which a history cannot name; "
                "use a number, a text, a date or a boolean"
            )


def _span(job: Job, source: Source, periods: Sequence[str]) -> str:
    """Return a condition on the column itself, which a Parquet file's statistics can answer."""
    column = engine.describe(source)[job.period.column]
    if column.type == "VARCHAR":
        return "TRUE"
    # Wide enough for the longest period and any time zone; a name's year ends before 9999.
    first = date.fromisoformat(min(periods)[:10]) - timedelta(days=2)
    last = date.fromisoformat(max(periods)[:10]) + timedelta(days=368)
    return f"s.{quote(column.name)} BETWEEN DATE '{first}' AND DATE '{last}'"


def parameters(wanted: Request) -> str:
    """Return every parameter of a metric with its value, as JSON."""
    declared = graph.inherited(wanted.name, request.widest)
    values = {name: param.default for name, param in declared.items()} | dict(wanted.given)
    for option in ("average", "zero_division"):
        if getattr(wanted, option) is not None:
            values[option] = getattr(wanted, option)
    if wanted.multi_class != "ovr":
        values["multi_class"] = wanted.multi_class
    return json.dumps(values, sort_keys=True, default=str)


def definition(job: Job, wanted: Request) -> str:
    """Return a hash of what a metric's number means: its files, parameters and the job's roles."""
    texts = [
        file.text
        for name in graph.closure(wanted.name, graph.portable)
        for file in catalog.files(name)
    ]
    meaning = job.model_dump_json(include={*_MEANING})
    on = "" if job.labels is None else job.labels.on
    whole = "\0".join([*texts, repr(wanted), parameters(wanted), meaning, on])
    return hashlib.sha256(whole.encode()).hexdigest()[:12]


def definitions(job: Job) -> list[pl.DataFrame]:
    """Return each metric's name, parameters and definition, for each task that it may be.

    What the task is follows from the types of columns where the roles do not say it, and files
    are not read for this.

    Raises
    ------
    RequestError
        If no task has these metrics.
    """
    if job.task is not None:
        tasks = [job.task]
    elif job.qid is not None:
        tasks = ["ranking"]
    elif job.score is not None or job.positive is not None:
        tasks = ["binary"]
    else:
        tasks = ["binary", "multiclass", "regression"]
    found: list[pl.DataFrame] = []
    refused: list[RequestError] = []
    for task in tasks:
        try:
            wanted = request.parse_all(job.metrics, task, job.score is not None)
        except RequestError as error:
            refused.append(error)
            continue
        of = job.model_copy(update={"task": task})
        rows = [(request.label(each), parameters(each), definition(of, each)) for each in wanted]
        names = ["metric", "parameters", "definition"]
        found.append(pl.DataFrame(rows, schema=names, orient="row"))
    if not found:
        if len(set(map(str, refused))) == 1:
            raise refused[0]
        names = ", ".join(job.metrics or [])
        raise RequestError(f"no one task has all of {names}: {refused[0]}") from refused[0]
    return found


def _slice(frame: pl.DataFrame, names: Sequence[str]) -> pl.Series:
    """Return the slice keys as one JSON object."""
    if not names:
        return pl.repeat("{}", frame.height, dtype=pl.String, eager=True)
    # Not by expressions: a name such as ^.*$ would be a pattern there.
    text = {
        name: key if key.dtype.is_integer() or key.dtype == pl.Boolean else key.cast(pl.String)
        for name, key in ((name, frame[name]) for name in names)
    }
    return pl.DataFrame(text).select(pl.struct(pl.all()).struct.json_encode()).to_series()


def _evaluated(
    job: Job, lake: Lake, periods: Sequence[str], keys: Sequence[str], condition: str
) -> pl.DataFrame:
    with warnings.catch_warnings():
        # The labels of other periods find no row here; the matured share says what is missing.
        warnings.simplefilter("ignore", UnmatchedRows)
        found = predictions(job, lake, periods, keys, condition)
        try:
            frame = found.evaluate(job.metrics, ci=job.ci).collect()
        except pl.exceptions.ComputeError as error:
            raise original(error) from error
    names = [key for key in found.binding.key_names if key != PERIOD]
    names += ["class"] if "class" in frame.columns else []
    return frame.select(
        pl.col(PERIOD).alias("period"),
        pl.lit(_slice(frame, names)).alias("slice"),
        "metric", "value", "low", "high", "method", "n", "n_dropped", "note",
        pl.lit(None, pl.String).alias("error"),
    )  # fmt: skip


def _failed(period: str, keys: str, metrics: Sequence[str], error: Exception | str) -> pl.DataFrame:
    """Return the rows that say why there are no numbers."""
    said = {"period": period, "slice": keys, "metric": list(metrics), "error": str(error)}
    return pl.DataFrame(said)


def _nothing(periods: Sequence[str], metrics: Sequence[str]) -> pl.DataFrame:
    """Return the rows of periods that have none to be evaluated."""
    named = {"period": pl.String, "metric": pl.String}
    pairs = [(period, metric) for period in periods for metric in metrics]
    return pl.DataFrame(pairs, schema=named, orient="row").with_columns(
        slice=pl.lit("{}"), n=pl.lit(0, pl.Int64), n_dropped=pl.lit(0, pl.Int64),
        note=pl.lit("no rows"),
    )  # fmt: skip


def _each_slice(
    job: Job, lake: Lake, period: str, keys: Sequence[str], metrics: Sequence[str]
) -> list[pl.DataFrame]:
    """Evaluate the slices of a period one by one, as one of them has failed."""
    source, of = dated(job, lake.paths("source", [period]))
    columns = [f"s.{quote(key)}" for key in keys]
    texts = [f"CAST({column} AS VARCHAR)" for column in columns]
    values = engine.few(
        f"SELECT DISTINCT {', '.join([*columns, *texts])} FROM {source.relation} AS s "
        f"WHERE {of} = {literal(period)} ORDER BY ALL",
        {}, [source], {},
    )  # fmt: skip
    found = pl.DataFrame(
        [row[: len(keys)] for row in values], schema=list(keys), orient="row",
        infer_schema_length=None,
    )  # fmt: skip
    frames: list[pl.DataFrame] = []
    for row, name in zip(values, _slice(found, keys), strict=True):
        condition = " AND ".join(
            f"{text} IS NOT DISTINCT FROM " + ("NULL" if value is None else literal(value))
            for text, value in zip(texts, row[len(keys) :], strict=True)
        )
        try:
            frames.append(_evaluated(job, lake, [period], keys, condition))
        except SqlevalError as error:
            frames.append(_failed(period, name, metrics, error))
    return frames


def _frames(
    job: Job, lake: Lake, periods: Sequence[str], keys: Sequence[str], metrics: Sequence[str]
) -> list[pl.DataFrame]:
    """Evaluate periods together; where that fails, one by one, and then slice by slice."""
    try:
        return [_evaluated(job, lake, periods, keys, "TRUE")]
    except SqlevalError as error:
        if len(periods) > 1:
            return [f for period in periods for f in _frames(job, lake, [period], keys, metrics)]
        # What does not fit the job at all fits it in no slice.
        if keys and not isinstance(error, RequestError):
            try:
                return _each_slice(job, lake, periods[0], keys, metrics)
            except SqlevalError as broken:
                return [_failed(periods[0], "{}", metrics, broken)]
        return [_failed(periods[0], "{}", metrics, error)]


def evaluate(
    job: Job, lake: Lake, periods: Sequence[str], defined: pl.DataFrame, run: dict[str, Any]
) -> pl.DataFrame:
    """Evaluate periods and return their rows of the history.

    Parameters
    ----------
    job, lake : Job, Lake
        The job, and what lies in its sources.
    periods : sequence of str
        Periods that have rows.
    defined : polars.DataFrame
        What `definitions` returns.
    run : dict
        Columns that are the same in all rows: the run and its time.

    Returns
    -------
    polars.DataFrame
        Rows of the schema `RESULTS`; where something failed, one a metric with ``error``.
    """
    started = time.perf_counter()
    metrics = defined["metric"].to_list()
    broken = {period: lake.broken[period] for period in periods if period in lake.broken}
    whole = [period for period in periods if period not in broken]
    key_sets = job.key_sets if whole else []
    frames = [f for keys in key_sets for f in _frames(job, lake, whole, keys, metrics)]
    frames += [_failed(period, "{}", metrics, why) for period, why in broken.items()]
    found = {period for frame in frames for period in frame["period"]}
    # The job's condition may leave no row of a period.
    frames.append(_nothing([period for period in periods if period not in found], metrics))
    seconds = (time.perf_counter() - started) / len(periods)
    prints, matured = lake.fingerprints(), lake.matured()
    rows = pl.concat(frames, how="diagonal_relaxed").join(
        defined, on="metric", how="left", maintain_order="left"
    )
    return _complete(
        rows.with_columns(
            matured=pl.col("period").replace_strict(matured, default=None, return_dtype=pl.Float64),
            fingerprint=pl.col("period").replace_strict(
                prints, default=None, return_dtype=pl.String
            ),
            duration=pl.lit(seconds),
        ),
        job,
        run,
    )


def absent(
    job: Job, periods: Sequence[str], defined: pl.DataFrame, run: dict[str, Any]
) -> pl.DataFrame:
    """Return the rows of periods that were asked for and have no rows."""
    rows = _nothing(periods, defined["metric"].to_list())
    return _complete(rows.join(defined, on="metric", how="left", maintain_order="left"), job, run)


def _complete(rows: pl.DataFrame, job: Job, run: dict[str, Any]) -> pl.DataFrame:
    same = {"job": job.name, "grain": job.period.grain, "versions": versions(), **run}
    full = rows.with_columns(**{name: pl.lit(value) for name, value in same.items()})
    return full.select(
        (pl.col(name) if name in full.columns else pl.lit(None)).cast(kind).alias(name)
        for name, kind in RESULTS.items()
    )
