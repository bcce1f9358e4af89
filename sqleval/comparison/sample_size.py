"""Computes how many rows a difference needs, and the smallest difference that the rows can show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any, NamedTuple, cast

import polars as pl

from sqleval.binding.arguments import check_key_names
from sqleval.catalog.request import PER_CLASS, Request, format_request
from sqleval.common.numbers import is_real_number
from sqleval.comparison.compare import (
    check_comparison,
    measure_differences,
    note_folds,
    refuse_without_test,
)
from sqleval.comparison.options import Options, check_options, find_baseline
from sqleval.comparison.pairs import Pairs
from sqleval.compiler.intervals import FEW_ROWS
from sqleval.compiler.metric_rows import POOLED
from sqleval.compiler.metrics import compile_metrics
from sqleval.compiler.placed import PARTS
from sqleval.engines.audit import remove_audit
from sqleval.errors import RequestError
from sqleval.inference.outcome import check_share
from sqleval.inference.sample_size import find_detectable_difference, find_rows
from sqleval.resampling import completion
from sqleval.resampling.cells import EXACT_ROWS, Input, count_rows
from sqleval.resampling.deferred import defer_frame
from sqleval.resampling.intervals import LEAST_DEFINED

#: The columns of the result after its slice keys, and their types.
COLUMNS: Mapping[str, Any] = {
    "metric": pl.String, "model": pl.String, "baseline": pl.String, "value": pl.Float64,
    "n": pl.Int64, "detectable_difference": pl.Float64, "difference": pl.Float64,
    "rows_needed": pl.Int64, "method": pl.String, "note": pl.String,
}  # fmt: skip
#: A larger number of rows is not reported.
_MOST_ROWS = 1e15


class Aim(NamedTuple):
    """The difference that a test must detect, and the power it must have.

    Attributes
    ----------
    difference : float or None
        The difference that matters.
    power : float
        The probability that the test detects it.
    correlation : float or None
        The correlation of two models' errors, if the input has one model; 0 if None.
    """

    difference: float | None
    power: float
    correlation: float | None


def create_sample_sizes(
    data: Input,
    requests: Sequence[Request],
    options: Options,
    aim: Aim,
    key_types: Mapping[str, Any],
) -> pl.LazyFrame:
    """Return the sample sizes as a lazy frame; see `Predictions.sample_size`.

    Raises
    ------
    RequestError
        If an option does not fit the input or a metric.
    """
    check_options(options)
    check_share("power", aim.power)
    if aim.power <= 1 - options.ci:
        raise RequestError(
            f"power={aim.power:g} must be above {1 - options.ci:g}, the share of tests that show a "
            "difference where there is none"
        )
    difference = cast("object", aim.difference)
    if difference is not None and not (is_real_number(difference) and 0 < difference < inf):
        raise RequestError(f"difference={aim.difference!r} must be a number above 0, such as 0.01")
    if _has_models(data):
        check_comparison(data, requests, options, key_types, COLUMNS)
        if aim.correlation is not None:
            raise RequestError(
                "correlation= is for one model; of several it follows from their rows"
            )
    else:
        _check_single(data, requests, options, aim, key_types)
    keys = {name: kind for name, kind in key_types.items() if name != "model"}
    schema = pl.Schema({**keys, **COLUMNS})
    return defer_frame(lambda: _compute(data, requests, options, aim), schema)


def _has_models(data: Input) -> bool:
    return bool(data.binding.models)


def _check_single(
    data: Input,
    requests: Sequence[Request],
    options: Options,
    aim: Aim,
    key_types: Mapping[str, Any],
) -> None:
    """Raise `RequestError` if the options do not fit an input with one model."""
    if options.baseline is not None or options.test is not None:
        raise RequestError("baseline= and test= are for several models: score={model: column, ...}")
    correlation = cast("object", aim.correlation)
    if correlation is not None and not (is_real_number(correlation) and -1 < correlation < 1):
        raise RequestError(f"correlation={aim.correlation!r} must lie between -1 and 1")
    drawn = [format_request(each) for each in requests if not _has_formula(data, each)]
    if drawn and not options.replicates:
        raise RequestError(f"{drawn[0]}: the standard error of one model needs replicates=")
    if data.source.once or (data.labels is not None and data.labels.once):
        raise RequestError("sample_size() reads the rows more than once; collect the stream first")
    check_key_names(key_types, COLUMNS, "the result")
    for request in requests:
        refuse_without_test(request)
        if request.average == PER_CLASS or data.binding.has_queries:
            name = format_request(request)
            raise RequestError(f"{name}: a sample size needs one value per slice, and no ranking")


def _compute(data: Input, requests: Sequence[Request], options: Options, aim: Aim) -> pl.DataFrame:
    if _has_models(data):
        models = [model for model, _ in data.binding.models]
        pairs = Pairs(data, find_baseline(models, options.baseline), tuple(models))
        frame = note_folds(measure_differences(pairs, requests, options))
        keys, names = pairs.joint.keys, pairs.joint.key_names
    else:
        frame = _measure_single(data, requests, options, aim.correlation or 0.0)
        keys, names = data.binding.keys, data.binding.key_names
    if "_stderr" not in frame.columns:
        frame = frame.with_columns(_stderr=pl.lit(None, pl.Float64))
    stderr, n = frame["_stderr"].to_numpy(), frame["n"].to_numpy()
    call: dict[str, Any] = {"alpha": 1 - options.ci, "power": aim.power}
    call["alternative"] = options.alternative
    detectable = find_detectable_difference(stderr, **call)
    columns = {"detectable_difference": pl.Series(detectable, dtype=pl.Float64).fill_nan(None)}
    needed = pl.Series([None] * frame.height, dtype=pl.Float64)
    if aim.difference is not None:
        needed = pl.Series(find_rows(aim.difference, stderr, n, **call), dtype=pl.Float64)
    columns["rows_needed"] = needed.fill_nan(None)
    is_many = pl.col("rows_needed") > _MOST_ROWS
    none = pl.lit("no sample size: the difference has no standard error")
    many = pl.lit(f"more than {_MOST_ROWS:g} rows are needed")
    frame = frame.with_columns(**columns).with_columns(
        pl.when(~is_many).then("rows_needed").cast(pl.Int64),
        difference=pl.lit(aim.difference, pl.Float64),
        note=pl.when(is_many)
        .then(pl.concat_str("note", many, separator="; ", ignore_nulls=True))
        .otherwise(pl.coalesce("note", pl.when(pl.col("_stderr").is_null()).then(none))),
    )
    named = dict(zip(keys, names, strict=True))
    return frame.select(*keys, *COLUMNS).rename(named)


def _has_formula(data: Input, request: Request) -> bool:
    """Whether a metric has a standard error in closed form, from its counts or its formula."""
    binding = data.binding
    is_plain = not (binding.is_weighted or binding.has_counts or data.cluster or binding.state)
    file = request.catalogue.find_interval(request.name)
    has_formula = file is not None and file.interval in ("wilson", "delong", "normal", "delta")
    return is_plain and has_formula and not request.average


def _measure_single(
    data: Input, requests: Sequence[Request], options: Options, correlation: float
) -> pl.DataFrame:
    """Return one model's values, and the standard error of the difference from a model alike."""
    by_formula = [request for request in requests if _has_formula(data, request)]
    drawn = [request for request in requests if request not in by_formula]
    parts: list[pl.DataFrame] = []
    if by_formula:
        parts.append(_measure_by_formula(data, by_formula, options))
    if drawn:
        parts.append(_measure_by_replicates(data, drawn, options, warn=not by_formula))
    frame = pl.concat(parts, how="diagonal")
    order = [format_request(request) for request in requests]
    place = pl.col("metric").replace_strict(order, range(len(order)), return_dtype=pl.Int64)
    keys = list(data.binding.keys)
    if keys and len(parts) > 1:
        # Order by slice, as the statement does, then by metric.
        frame = frame.with_row_index("_row").with_columns(_slice=pl.col("_row").min().over(keys))
        frame = frame.with_columns(_place=place).sort("_slice", "_place").drop("_row", "_slice")
    elif len(parts) > 1:
        frame = frame.with_columns(_place=place).sort("_place")
    # The variance of a difference of two values: 2 s^2 minus twice their covariance.
    factor = (2 * (1 - correlation)) ** 0.5
    shared = f"{correlation:g} correlated" if correlation else "different rows"
    texts = ["_method", pl.lit(f"two models alike, {shared}"), "_folds"]
    return frame.with_columns(
        pl.lit(None, pl.String).alias("model"),
        pl.lit(None, pl.String).alias("baseline"),
        _stderr=pl.col("stderr") * factor,
        method=pl.concat_str(texts, separator="; ", ignore_nulls=True),
    )


def _measure_by_formula(data: Input, requests: Sequence[Request], options: Options) -> pl.DataFrame:
    """Return the values of metrics, and the standard errors of their closed forms."""
    binding = data.binding
    statement = compile_metrics(binding, tuple(requests), "rows", options.ci, None, "parts")
    frame = remove_audit(data.run(statement.sql, statement.params))
    frame = frame.rename(dict(zip(binding.key_names, binding.keys, strict=True)))
    method, trials = pl.col("method").cast(pl.String), pl.col("_trials")
    rate = pl.col("_successes") / trials
    stderr = pl.coalesce("_stderr", (rate * (1 - rate) / trials).sqrt())
    is_rate = trials.is_not_null()
    # Leave out the scale of the interval: the standard error does not depend on it.
    how = method.str.extract("(delong|delta method|normal)")
    keeps_note = pl.col("value").is_null() | (pl.col("note") == FEW_ROWS)
    return frame.with_columns(
        stderr=pl.when(stderr > 0).then(stderr),
        note=pl.when(keeps_note).then("note"),
        _method=pl.when(is_rate).then(pl.lit("binomial")).otherwise(how),
        _folds=method.str.extract(POOLED),
    ).drop("low", "high", "method", *PARTS)


def _measure_by_replicates(
    data: Input, requests: Sequence[Request], options: Options, *, warn: bool
) -> pl.DataFrame:
    """Return the values of metrics, and their standard errors by the bootstrap."""
    binding = data.binding
    statement = compile_metrics(binding, tuple(requests))
    frame = remove_audit(data.run(statement.sql, statement.params), warn=warn)
    frame = frame.rename(dict(zip(binding.key_names, binding.keys, strict=True)))
    drawing = completion.Options(options.ci, options.replicates, options.seed, everywhere=True)
    is_large = count_rows(data) > EXACT_ROWS
    errors = completion.find_standard_errors(data, requests, drawing, is_large=is_large)
    on = [*binding.keys, "metric"]
    errors = errors.with_columns(pl.col(name).cast(frame.schema[name]) for name in on)
    errors = errors.select(*on, "stderr", "low", "defined", "_method", "_note")
    pooled = pl.col("method").cast(pl.String).str.extract(POOLED)
    frame = frame.with_columns(_folds=pooled).drop("low", "high", "method")
    frame = frame.join(errors, on=on, how="left", nulls_equal=True, maintain_order="left")
    is_usable = (pl.col("defined") >= LEAST_DEFINED) & pl.col("low").is_not_null()
    return frame.with_columns(
        stderr=pl.when(is_usable).then("stderr"), note=pl.coalesce("note", "_note")
    ).drop("low", "defined", "_note")
