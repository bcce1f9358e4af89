"""Evaluates periods of a job: metrics per slice, as rows of the history."""

import json
import platform
import time
import warnings
from collections.abc import Sequence
from functools import cache
from importlib.metadata import version
from typing import Any

import polars as pl

from sqleval.binding.binding import Binding, name_set
from sqleval.common.imports import DISTRIBUTION
from sqleval.errors import (
    ManySlices,
    RequestError,
    SqlevalError,
    UnmatchedRows,
    unwrap_error,
)
from sqleval.frontend.predictions import Predictions
from sqleval.history.store import RESULTS
from sqleval.jobs import states
from sqleval.jobs.binding import bind_periods, find_period_key, prepare_metrics, split_models
from sqleval.jobs.definitions import list_definitions, name_metric
from sqleval.jobs.file.model import Job
from sqleval.jobs.past import take_metric_definition
from sqleval.jobs.periods import changes
from sqleval.jobs.periods.lake import Lake
from sqleval.jobs.running.arrivals import count_arrived_rows
from sqleval.jobs.slices import add_key_definitions, list_slice_conditions, write_slices

#: The largest number of periods per statement; their rows are written together.
BATCH = 31


@cache
def write_versions() -> str:
    """Return the versions of Python and of the libraries, as JSON."""
    names = {"sqleval": DISTRIBUTION, "duckdb": "duckdb", "polars": "polars"}
    versions = {name: version(distribution) for name, distribution in names.items()}
    return json.dumps({"python": platform.python_version()} | versions)


def collect(frame: pl.LazyFrame) -> pl.DataFrame:
    """Return the rows of a lazy result; errors in the data raise an error of sqleval."""
    with warnings.catch_warnings():
        # Labels of other periods match no row here; `matured` shows which labels are missing.
        warnings.simplefilter("ignore", UnmatchedRows)
        # The warning's advice is for a result as a whole, and counts the slices of all periods.
        warnings.simplefilter("ignore", ManySlices)
        try:
            return frame.collect()
        except pl.exceptions.ComputeError as error:
            raise unwrap_error(error) from error


def _evaluate_predictions(
    predictions: Predictions, metrics: Sequence[str] | None, job: Job
) -> pl.DataFrame:
    """Evaluate predictions by period, as rows of the history."""
    if job.arrival is not None:
        frame = count_arrived_rows(job, predictions)
    else:
        frame = collect(prepare_metrics(job, predictions, metrics))
    period = find_period_key(predictions)
    state_definition = predictions.binding.state
    if job.from_state is not None and state_definition is not None:
        # The states of these periods may have another definition than the last state.
        (definitions,) = list_definitions(job.copy_with_state_definition(state_definition))
        frame = frame.join(definitions, on="metric", how="left", maintain_order="left")
    frame = _write_slices_by_set(frame, predictions.binding, period)
    return frame.select(
        pl.col("^definition$"),
        pl.col(period).cast(pl.String).alias("period"),
        "slice",
        pl.format(name_metric(job, "{}"), "metric").alias("metric"),
        "value", "low", "high", "n", "n_dropped", "method", "note",
        pl.lit(None, pl.String).alias("error"),
    )  # fmt: skip


def _write_slices_by_set(frame: pl.DataFrame, binding: Binding, period: str) -> pl.DataFrame:
    """Return a result with the column ``slice``, which has the keys of each row's set."""
    also = ["class"] if "class" in frame.columns else []
    # The number of rows before labels is not by class.
    present = [key for key in binding.key_names if key in frame.columns]
    if not binding.sets:
        names = [key for key in present if key != period]
        return frame.with_columns(slice=write_slices(frame, [*names, *also]))
    keys = {column.name for column in binding.by}
    parts: list[pl.DataFrame] = []
    for set_keys in binding.sets:
        other = [period, "by", *keys.difference(set_keys)]
        names = [key for key in present if key not in other]
        part = frame.filter(pl.col("by") == name_set(set_keys))
        parts.append(part.with_columns(slice=write_slices(part, [*names, *also])))
    return pl.concat(parts)


def _create_error_rows(
    period: str, keys: str, metrics: Sequence[str], error: Exception | str
) -> pl.DataFrame:
    """Return rows with an error instead of values."""
    rows = {"period": period, "slice": keys, "metric": list(metrics), "error": str(error)}
    return pl.DataFrame(rows)


def _create_empty_rows(periods: Sequence[str], metrics: Sequence[str]) -> pl.DataFrame:
    """Return the results of periods without rows."""
    schema = {"period": pl.String, "metric": pl.String}
    pairs = [(period, metric) for period in periods for metric in metrics]
    return pl.DataFrame(pairs, schema=schema, orient="row").with_columns(
        slice=pl.lit("{}"), n=pl.lit(0, pl.Int64), n_dropped=pl.lit(0, pl.Int64),
        note=pl.lit("no rows"),
    )  # fmt: skip


def _copy_empty_rows(stored: pl.DataFrame, metrics: Sequence[str]) -> pl.DataFrame:
    """Return the results of added metrics in slices whose rows were all left out."""
    columns = ["period", "slice", "n", "n_dropped", "note"]
    slices = stored.select(columns).unique(["period", "slice"], maintain_order=True)
    names = pl.DataFrame({"metric": list(metrics)}, schema={"metric": pl.String})
    return slices.join(names, how="cross", maintain_order="left_right")


def _evaluate_each_slice(
    job: Job, lake: Lake, period: str, keys: Sequence[str], metrics: Sequence[str]
) -> list[pl.DataFrame]:
    """Evaluate the slices of a period one by one, because one of them has failed."""
    frames: list[pl.DataFrame] = []
    for name, condition in list_slice_conditions(job, lake, period, keys):
        try:
            predictions = bind_periods(job, lake, [period], [keys], condition)
            frames.append(_evaluate_predictions(predictions, job.metrics, job))
        except SqlevalError as error:
            frames.append(_create_error_rows(period, name, metrics, error))
    return frames


def _evaluate_with_fallback(
    job: Job, lake: Lake, periods: Sequence[str], keys: Sequence[str], metrics: Sequence[str]
) -> list[pl.DataFrame]:
    """Evaluate periods together; where that fails, one by one, and then slice by slice."""
    try:
        predictions = bind_periods(job, lake, periods, [keys])
        return [_evaluate_predictions(predictions, job.metrics, job)]
    except SqlevalError as error:
        if len(periods) > 1:
            return [
                f
                for period in periods
                for f in _evaluate_with_fallback(job, lake, [period], keys, metrics)
            ]
        if isinstance(error, RequestError) and (models := split_models(job)):
            # A missing column may belong to one model only.
            frames: list[pl.DataFrame] = []
            for model, alone in models.items():
                parts = _evaluate_with_fallback(alone, lake, periods, keys, metrics)
                frames += [_name_failed_model(part, model) for part in parts]
            return frames
        # A request that does not fit the job does not fit its slices either.
        if keys and job.from_state is None and not isinstance(error, RequestError):
            try:
                return _evaluate_each_slice(job, lake, periods[0], keys, metrics)
            except SqlevalError as broken:
                return [_create_error_rows(periods[0], "{}", metrics, broken)]
        return [_create_error_rows(periods[0], "{}", metrics, error)]


def _name_failed_model(rows: pl.DataFrame, model: str) -> pl.DataFrame:
    """Return rows in which errors of all slices are assigned to one model."""
    if "error" not in rows.columns:
        return rows
    keys = pl.DataFrame({"model": [model]}).select(pl.struct("model").struct.json_encode()).item()
    is_whole = pl.col("error").is_not_null() & (pl.col("slice") == "{}")
    return rows.with_columns(slice=pl.when(is_whole).then(pl.lit(keys)).otherwise("slice"))


def _evaluate_key_sets(
    job: Job, lake: Lake, periods: Sequence[str], metrics: Sequence[str]
) -> list[pl.DataFrame]:
    """Evaluate periods for all sets of keys in one statement; where that fails, for each set."""
    if len(job.key_sets) > 1:
        try:
            predictions = bind_periods(job, lake, periods, job.key_sets)
            return [_evaluate_predictions(predictions, job.metrics, job)]
        except SqlevalError:
            pass  # each set is evaluated alone, so that only what fails has the error
    return [
        frame
        for keys in job.key_sets
        for frame in _evaluate_with_fallback(job, lake, periods, keys, metrics)
    ]


def evaluate_periods(
    job: Job, lake: Lake, periods: Sequence[str], definitions: pl.DataFrame, run: dict[str, Any]
) -> pl.DataFrame:
    """Evaluate periods and return their rows of the history.

    Parameters
    ----------
    job, lake : Job, Lake
        The job, and the files of its sources.
    periods : sequence of str
        Periods with rows.
    definitions : polars.DataFrame
        The metrics with their definitions.
    run : dict
        Columns with one value for all rows: the run and its time.

    Returns
    -------
    polars.DataFrame
        Rows of the schema `RESULTS`; what failed has one row per metric with ``error``.
    """
    started = time.perf_counter()
    metrics = definitions["metric"].to_list()
    unreadable = {
        period: lake.unreadable[period] for period in periods if period in lake.unreadable
    }
    readable = [period for period in periods if period not in unreadable]
    frames = _evaluate_key_sets(job, lake, readable, metrics) if readable else []
    frames += [_create_error_rows(p, "{}", metrics, error) for p, error in unreadable.items()]
    evaluated = {period for frame in frames for period in frame["period"]}
    # The condition of the job may leave a period without rows.
    empty = [period for period in periods if period not in evaluated]
    frames.append(_create_empty_rows(empty, metrics))
    seconds = (time.perf_counter() - started) / len(periods)
    rows = pl.concat(frames, how="diagonal_relaxed")
    for lost, error in changes.find_uncounted_rows(lake, rows).items():
        rows = rows.filter(pl.col("period") != lost)
        rows = pl.concat([rows, _create_error_rows(lost, "{}", metrics, error)], how="diagonal")
    rows = rows.join(definitions, on="metric", how="left", maintain_order="left", suffix="_now")
    if "definition_now" in rows.columns:
        rows = rows.with_columns(definition=pl.coalesce("definition", "definition_now"))
    period = pl.col("period")
    matured, fingerprints = lake.compute_matured(), lake.fingerprints
    rows = rows.with_columns(
        matured=period.replace_strict(matured, default=None, return_dtype=pl.Float64),
        fingerprint=period.replace_strict(fingerprints, default=None, return_dtype=pl.String),
        duration=pl.lit(seconds),
    )
    return _complete_rows(rows, job, run)


def write_states(job: Job, lake: Lake, periods: Sequence[str], metrics: Sequence[str]) -> list[str]:
    """Write the states of periods; return the periods that failed, and why."""
    if job.states is None or not periods:
        return []
    reason: SqlevalError | None = None
    for with_defaults in (True, False):
        # Add the sums of the default metrics, unless scores are outside the metrics' domain.
        try:
            predictions = bind_periods(job, lake, periods, [states.list_keys(job)])
            state_metrics = (
                states.list_state_metrics(predictions, metrics) if with_defaults else metrics
            )
            state = collect(states.build_state(job, predictions, state_metrics))
            states.write_period_states(job, state, lake.fingerprints, periods)
            return []
        except SqlevalError as error:
            reason = error
    if len(periods) > 1:
        return [e for period in periods for e in write_states(job, lake, [period], metrics)]
    states.remove_state(job, periods[0])
    return [f"{periods[0]}: no state: {reason}"]


def add_metrics(
    job: Job,
    lake: Lake,
    stored: pl.DataFrame,
    periods: Sequence[str],
    definitions: pl.DataFrame,
    run: dict[str, Any],
) -> tuple[pl.DataFrame, dict[str, str]]:
    """Add metrics to the results of periods, evaluated from their states.

    Parameters
    ----------
    job, lake : Job, Lake
        The job, and the files of its sources.
    stored : polars.DataFrame
        The rows of the job in the history, from `Past.read_stored`.
    periods : sequence of str
        Periods whose states come from the same data as their rows in the history.
    definitions : polars.DataFrame
        The metrics with their definitions.
    run : dict
        Columns with one value for all rows.

    Returns
    -------
    polars.DataFrame
        All rows of these periods, the old and the new ones.
    dict of str to str
        The error, for each period whose state lacks something that a metric needs.
    """
    here = stored.filter(pl.col("period").is_in(list(periods)))
    kept, periods_by_metrics = _split_metrics(here, lake, periods, definitions)
    failures: dict[str, str] = {}
    empty = set(here["period"]) - set(here.filter(pl.col("n") > 0)["period"])
    frames = [_create_empty_rows([], [])]
    for metrics, group in periods_by_metrics.items():
        filled = [period for period in group if period not in empty]
        rows = _create_empty_rows([], [])
        if metrics and filled:
            rows = _evaluate_states(job, filled, metrics, failures)
        absent = set(group) - set(rows["period"]) - set(failures) - empty
        frames += [rows, _create_empty_rows(sorted(absent), metrics)]
        left_out = here.filter(pl.col("period").is_in(empty.intersection(group)))
        frames.append(_copy_empty_rows(left_out, metrics))
    data = here.select("period", "fingerprint", "matured").unique("period")
    rows = (
        pl.concat(frames, how="diagonal_relaxed")
        .join(definitions, on="metric", how="left", maintain_order="left")
        .join(data, on="period", how="left", maintain_order="left")
    )
    old = kept.filter(~pl.col("period").is_in(list(failures)))
    return pl.concat([old, _complete_rows(rows, job, run)]), failures


def _split_metrics(
    stored: pl.DataFrame, lake: Lake, periods: Sequence[str], definitions: pl.DataFrame
) -> tuple[pl.DataFrame, dict[tuple[str, ...], list[str]]]:
    """Return the rows that stay, and the periods by the metrics that they lack."""
    pairs = ["metric", "definition"]
    stored = take_metric_definition(stored.with_columns(whole="definition", definition="counts_as"))
    kept: list[pl.DataFrame] = []
    lacking: dict[tuple[str, ...], list[str]] = {}
    for period in periods:
        rows = stored.filter(period=period)
        metrics = definitions.join(rows, on=pairs, how="anti", maintain_order="left")["metric"]
        lacking.setdefault(tuple(metrics), []).append(period)
        rows = rows.filter(~pl.col("metric").is_in(metrics.implode()))
        # If the source has no rows of the period, all metrics stay: none can be evaluated again.
        if period in lake.periods:
            rows = rows.join(definitions, on=pairs, how="semi", maintain_order="left")
        kept.append(rows.with_columns(definition="whole").drop("whole", "counts_as"))
    return pl.concat(kept), lacking


def _evaluate_states(
    job: Job, periods: Sequence[str], metrics: Sequence[str], failures: dict[str, str]
) -> pl.DataFrame:
    """Evaluate metrics from states; periods that fail are added to ``failures``."""
    files = [str(states.find_state_path(job, period)) for period in periods]
    started = time.perf_counter()
    try:
        predictions = states.merge_states(job, files, job.key_sets, periods)
        rows = _evaluate_predictions(predictions, metrics, job)
    except SqlevalError as error:
        if len(periods) == 1:
            failures[periods[0]] = str(error)
            return _create_empty_rows([], [])
        frames = [_evaluate_states(job, [period], metrics, failures) for period in periods]
        return pl.concat(frames, how="diagonal_relaxed")
    seconds = (time.perf_counter() - started) / len(periods)
    return rows.with_columns(duration=pl.lit(seconds))


def create_missing_rows(
    job: Job, periods: Sequence[str], definitions: pl.DataFrame, run: dict[str, Any]
) -> pl.DataFrame:
    """Return the rows of the history for periods without rows in the source."""
    rows = _create_empty_rows(periods, definitions["metric"].to_list())
    rows = rows.join(definitions, on="metric", how="left", maintain_order="left")
    return _complete_rows(rows, job, run)


def _complete_rows(rows: pl.DataFrame, job: Job, run: dict[str, Any]) -> pl.DataFrame:
    """Return rows with all columns of the history."""
    same = {"job": job.name, "grain": job.period.grain, "versions": write_versions(), **run}
    full = add_key_definitions(job, rows)
    full = full.with_columns(**{name: pl.lit(value) for name, value in same.items()})
    return full.select(
        (pl.col(name) if name in full.columns else pl.lit(None)).cast(kind).alias(name)
        for name, kind in RESULTS.items()
    )
