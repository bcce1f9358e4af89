"""Evaluates periods of a job: the metrics of each slice, as rows of the history."""

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

from sqleval.common.sql_text import literal, quote
from sqleval.engines.embedded import embedded
from sqleval.errors import RequestError, SqlevalError, UnmatchedRows, original
from sqleval.frontend.binding import bound
from sqleval.frontend.predictions import Predictions
from sqleval.history.store import RESULTS
from sqleval.inputs.binding import Binding
from sqleval.inputs.opening import open_source
from sqleval.inputs.source import Source
from sqleval.jobs import states
from sqleval.jobs.definitions import definitions, roles
from sqleval.jobs.file.model import Job
from sqleval.jobs.lake import PERIOD, Lake, dated

#: Periods that are evaluated by one statement, and written together.
BATCH = 31


def versions() -> str:
    """Return the versions that a number was made by, as JSON."""
    names = ("sqleval", "duckdb", "polars")
    return json.dumps({"python": platform.python_version()} | {n: version(n) for n in names})


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
    if job.from_state is not None:
        return states.added_up(job, files, keys, periods)
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
    joined = found.binding.labels
    assert joined is not None
    own = (
        f"(SELECT l.* FROM {joined.relation} AS l\n"
        f"WHERE l.{quote(on)} IN (SELECT s.{quote(on)} FROM {rows.relation} AS s))"
    )
    return replace(found, binding=replace(found.binding, labels=joined._replace(relation=own)))


def period_of(found: Predictions) -> str:
    """Return the key that tells periods apart."""
    return PERIOD if found.binding.state is None else "period"


def check_keys(binding: Binding) -> None:
    """Raise `RequestError` if a slice key's values cannot be written into a history."""
    for column in binding.by:
        if column.kind in ("binary", "nested"):
            raise RequestError(
                f"slice key {column.name!r} is {column.type}, which a history cannot name; "
                "use a number, a text, a date or a boolean"
            )


def _span(job: Job, source: Source, periods: Sequence[str]) -> str:
    """Return a condition on the column itself, which a Parquet file's statistics can answer."""
    column = embedded().describe(source)[1][job.period.column]
    if column.kind == "text":
        return "TRUE"
    # Wide enough for the longest period and any time zone; a name's year ends before 9999.
    first = date.fromisoformat(min(periods)[:10]) - timedelta(days=2)
    last = date.fromisoformat(max(periods)[:10]) + timedelta(days=368)
    return f"s.{quote(column.name)} BETWEEN DATE '{first}' AND DATE '{last}'"


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
    return _told(predictions(job, lake, periods, keys, condition), job.metrics, job)


def _collected(frame: pl.LazyFrame) -> pl.DataFrame:
    with warnings.catch_warnings():
        # The labels of other periods find no row here; the matured share says what is missing.
        warnings.simplefilter("ignore", UnmatchedRows)
        try:
            return frame.collect()
        except pl.exceptions.ComputeError as error:
            raise original(error) from error


def _told(found: Predictions, metrics: Sequence[str] | None, job: Job) -> pl.DataFrame:
    """Evaluate predictions by period, as rows of the history."""
    frame = _collected(found.evaluate(metrics, ci=job.ci))
    period = period_of(found)
    names = [key for key in found.binding.key_names if key != period]
    names += ["class"] if "class" in frame.columns else []
    made_of = found.binding.state
    if job.from_state is not None and made_of is not None:
        # States of other periods may have been made in another way.
        (own,) = definitions(job.of_states(made_of))
        frame = frame.join(own, on="metric", how="left", maintain_order="left")
    return frame.select(
        pl.col("^definition$"),
        pl.col(period).alias("period"),
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
    values = embedded().rows(
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
        if keys and job.from_state is None and not isinstance(error, RequestError):
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
        defined, on="metric", how="left", maintain_order="left", suffix="_now"
    )
    if "definition_now" in rows.columns:
        rows = rows.with_columns(definition=pl.coalesce("definition", "definition_now"))
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


def keep(job: Job, lake: Lake, periods: Sequence[str], metrics: Sequence[str]) -> list[str]:
    """Keep the state of periods, and return what could not be kept, and why."""
    if job.states is None or not periods:
        return []
    why: SqlevalError | None = None
    for usual in (True, False):
        # Scores may lie outside of what a metric of the default set takes.
        try:
            found = predictions(job, lake, periods, states.keys_of(job))
            made = states.made(job, found, states.sums(found, metrics) if usual else metrics)
            states.write(job, _collected(made), lake.fingerprints(), periods)
            return []
        except SqlevalError as error:
            why = error
    if len(periods) > 1:
        return [said for period in periods for said in keep(job, lake, [period], metrics)]
    states.forget(job, periods[0])
    return [f"{periods[0]}: no state: {why}"]


def add(
    job: Job, lake: Lake, stored: pl.DataFrame, periods: Sequence[str], defined: pl.DataFrame,
    run: dict[str, Any],
) -> tuple[pl.DataFrame, dict[str, str]]:  # fmt: skip
    """Evaluate from their states the metrics that periods lack.

    Parameters
    ----------
    job, lake : Job, Lake
        The job, and what lies in its sources.
    stored : polars.DataFrame
        Its rows in the history.
    periods : sequence of str
        Periods whose states are of the data that their rows are of.
    defined : polars.DataFrame
        What the metrics mean.
    run : dict
        Columns that are the same in all rows.

    Returns
    -------
    polars.DataFrame
        All rows of these periods, those that the history had among them.
    dict of str to str
        The periods whose states do not hold what the metrics need, and what that is.
    """
    alike = ["metric", "definition"]
    here = stored.filter(pl.col("period").is_in(list(periods)))
    groups: dict[tuple[str, ...], list[str]] = {}
    kept: list[pl.DataFrame] = []
    for period in periods:
        had = here.filter(period=period)
        lacking = defined.join(had, on=alike, how="anti", maintain_order="left")["metric"]
        groups.setdefault(tuple(lacking), []).append(period)
        # What can no longer be evaluated stays, even if nobody asks for it.
        stays = had.filter(~pl.col("metric").is_in(lacking.implode()))
        known = stays.join(defined, on=alike, how="semi", maintain_order="left")
        kept.append(known if period in lake.periods else stays)
    refused: dict[str, str] = {}
    empty = set(here["period"]) - set(here.filter(pl.col("n") > 0)["period"])
    frames: list[pl.DataFrame] = []
    for metrics, of in groups.items():
        some = [period for period in of if period not in empty]
        found = _added(job, some, metrics, refused) if metrics and some else _nothing([], [])
        absent = set(of) - set(found["period"]) - set(refused)
        frames += [found, _nothing(sorted(absent), metrics)]
    data = here.select("period", "fingerprint", "matured").unique("period")
    rows = (
        pl.concat([_nothing([], []), *frames], how="diagonal_relaxed")
        .join(defined, on="metric", how="left", maintain_order="left")
        .join(data, on="period", how="left", maintain_order="left")
    )
    done = pl.concat(kept).filter(~pl.col("period").is_in(list(refused)))
    return pl.concat([done, _complete(rows, job, run)]), refused


def _added(
    job: Job, periods: Sequence[str], metrics: Sequence[str], refused: dict[str, str]
) -> pl.DataFrame:
    """Evaluate metrics from the states of periods; ``refused`` takes those that cannot be."""
    files = [str(states.path(job, period)) for period in periods]
    started = time.perf_counter()
    frames: list[pl.DataFrame] = []
    try:
        for keys in job.key_sets:
            frames.append(_told(states.added_up(job, files, keys, periods), metrics, job))
    except SqlevalError as error:
        if len(periods) == 1:
            refused[periods[0]] = str(error)
            return _nothing([], [])
        frames = [_added(job, [period], metrics, refused) for period in periods]
        return pl.concat(frames, how="diagonal_relaxed")
    seconds = (time.perf_counter() - started) / len(periods)
    return pl.concat(frames, how="diagonal_relaxed").with_columns(duration=pl.lit(seconds))


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
