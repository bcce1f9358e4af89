"""Compares models by the bootstrap, or by the jackknife of clusters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from sqleval.catalog.request import Request, format_request
from sqleval.catalog.tasks import TASKS
from sqleval.comparison.clusters import (
    find_jackknife_errors,
    group_clusters,
    leave_out_clusters,
    write_cluster_note,
)
from sqleval.comparison.options import Options, apply_test
from sqleval.comparison.pairs import (
    Pairs,
    find_loss_step,
    replace_input,
    write_label,
)
from sqleval.comparison.tests import FEW_ROWS_OF_A_CLASS
from sqleval.comparison.verdict import find_signs
from sqleval.compiler.intervals import MIN_PAIRS
from sqleval.compiler.substitution import QUERIES
from sqleval.inference.libraries import np
from sqleval.inference.outcome import Outcome
from sqleval.resampling.cells import EXACT_ROWS, Cells, count_cells
from sqleval.resampling.completion import count_slices
from sqleval.resampling.intervals import LEAST_DEFINED, find_intervals
from sqleval.resampling.queries import round_values
from sqleval.resampling.replicates import SAMPLE, evaluate_replicates
from sqleval.resampling.rounding import (
    warn_of_change,
    write_number,
    write_rounded,
    write_score,
)
from sqleval.resampling.values import (
    Values,
    group_requests,
    keep_further,
    remove_threshold,
)

if TYPE_CHECKING:
    from sqleval.inference.libraries import Array

#: An offset of a model's units: more than the cells or blocks of one model.
_UNITS_PER_MODEL = 2**29
#: Relative rounding error: smaller differences count as 0.
_ROUNDING = 1e-13


def compare_resampled(
    pairs: Pairs,
    values: pl.DataFrame,
    requests: Sequence[Request],
    options: Options,
    *,
    jackknife: bool = False,
) -> pl.DataFrame:
    """Test differences by the bootstrap or the jackknife: statistic, p-value and interval.

    Parameters
    ----------
    pairs : Pairs
        The models.
    values : polars.DataFrame
        The exact values and differences.
    requests : sequence of Request
        The metrics.
    options : Options
        Level, alternative, replicates and seed, and whether rows are paired.
    jackknife : bool
        Whether each cluster is left out in turn, instead of the bootstrap.
    """
    most = values["n"].max()
    is_large = isinstance(most, int) and most > EXACT_ROWS
    parts: list[pl.DataFrame] = []
    for group, threshold, scored in group_requests(pairs.data.binding, requests):
        cell_requests = [remove_threshold(each) for each in group]
        if options.paired:
            cells = count_paired(pairs, group[0], scored=scored, is_large=is_large)
            keys, named = pairs.joint.keys, {}
        else:
            cells = count_slices(
                pairs.data, group, threshold, None, scored=scored, is_large=is_large
            )
            # A cluster with rows of both models is drawn with all of them.
            if not (jackknife or cells.is_clustered) and options.key is None:
                cells = _number_by_model(cells, pairs.data.binding.keys[-1])
            keys = pairs.data.binding.keys
            named = {keys[-1]: "model"}
        if jackknife:
            cells = group_clusters(cells, pairs.joint.keys)
            drawn = leave_out_clusters(cells, cell_requests, keys, pairs.joint.keys)
        else:
            drawn = evaluate_replicates(
                cells, cell_requests, keys, replicates=options.replicates, seed=options.seed
            )
        original = dict(
            zip(map(format_request, cell_requests), map(format_request, group), strict=True)
        )
        drawn = drawn.rename(named).with_columns(
            pl.col("metric").replace_strict(original, return_dtype=pl.String),
            pl.col("model").cast(pl.String),
        )
        cells = cells._replace(
            frame=cells.frame.rename(named), keys=tuple(named.get(key, key) for key in cells.keys)
        )
        summarize = _summarize_jackknife if jackknife else _summarize_bootstrap
        summary = summarize(drawn, pairs, cells, group, options)
        summary = _warn_of_change(summary, _subtract(drawn, pairs), values)
        parts.append(_test(summary, values, group, options))
    return pl.concat(parts)


def count_paired(
    pairs: Pairs, request: Request, *, scored: bool, is_large: bool, **limits: Any
) -> Cells:
    """Count the rows with equal scores (or decisions) of all models.

    ``limits`` are the arguments of `count_cells` that limit the number of cells.
    """
    binding, models = pairs.data.binding, pairs.models
    if binding.has_queries:
        return _count_paired_queries(pairs, request, is_large=is_large)
    is_decided = not scored and not binding.has_values
    names = {model: [f"of_{name}" for name in columns] for model, columns in models.items()}
    role = "prediction" if is_decided else binding.model_role
    named: Mapping[str, Any] = {model: first for model, (first, *_) in names.items()}
    if scored and binding.classes:
        classes = [value for value, _ in binding.classes]
        named = {model: dict(zip(classes, each, strict=True)) for model, each in names.items()}
    roles: dict[str, Any] = {role: named, "task": binding.task}
    roles |= {"label": "label"} if binding.facts.has_labels else {}

    def create(bits: int) -> Values:
        if binding.has_values:
            # Without labels, the values of the baseline are what the others are close to.
            (near,) = models[pairs.baseline] if "label" not in roles else ("label",)
            items = {near: write_rounded(near, bits)} if "label" in roles else {}
            items |= {named[e]: write_number(n, near, bits) for e, (n,) in models.items()}
            return keep_further(binding, Values(items, roles, bits > 0), bits)
        items = {"label": write_label(binding)}
        for model, columns in models.items():
            if is_decided:
                items[named[model]] = pairs.write_decision(request, model)
            else:
                scores = [write_score(name, bits) for name in columns]
                items |= zip(names[model], scores, strict=True)
        return keep_further(binding, Values(items, roles, bits > 0 and not is_decided), bits)

    data = replace_input(pairs.data, pairs.joint)
    return count_cells(data, create, None, is_large=is_large, **limits)


def _count_paired_queries(pairs: Pairs, request: Request, *, is_large: bool) -> Cells:
    """Count the queries with equal values of all models."""
    ctes, params, columns = pairs.write_queries(request)
    values = round_values(pairs.joint, request, ctes, params, columns)
    return count_cells(replace_input(pairs.data, pairs.joint), values, None, is_large=is_large)


def _number_by_model(cells: Cells, model: str) -> Cells:
    """Number units differently for each model, because equal numbers get equal draws."""
    place = pl.col(model).cast(pl.String).rank("dense").cast(pl.Int64)
    unit = pl.col("unit").cast(pl.Int64) + place * _UNITS_PER_MODEL
    return cells._replace(frame=cells.frame.with_columns(unit=unit))


def _subtract(drawn: pl.DataFrame, pairs: Pairs) -> pl.DataFrame:
    """Return the differences from the baseline, replicate by replicate."""
    on = [*pairs.joint.keys, "metric", "replicate"]
    is_baseline = pl.col("model") == pairs.baseline
    baseline_values = drawn.filter(is_baseline).select(*on, _baseline="value")
    differences = drawn.filter(~is_baseline).join(
        baseline_values, on=on, how="left", nulls_equal=True
    )
    difference, size = pl.col("value") - pl.col("_baseline"), pl.col("_baseline").abs()
    # Equal values of two models can differ by the order in which the engine adds numbers.
    is_zero = size.is_finite() & (difference.abs() <= _ROUNDING * size)
    return differences.with_columns(value=pl.when(is_zero).then(0.0).otherwise(difference))


def _summarize_bootstrap(
    drawn: pl.DataFrame,
    pairs: Pairs,
    cells: Cells,
    requests: Sequence[Request],
    options: Options,
) -> pl.DataFrame:
    """Summarize the bootstrap's replicates of each difference for `_test`."""
    keys = list(pairs.joint.keys)
    by = [*keys, "metric", "model"]
    differences = _subtract(drawn, pairs)
    intervals = find_intervals(differences, by, options.ci, "bootstrap", options.replicates)
    intervals = _join_keys(intervals, cells.describe(keys), keys)
    task = pairs.data.binding.task
    parts = [
        _count_degrees(cells, keys, by_class=_is_of_classes(each, task)).with_columns(
            metric=pl.lit(format_request(each))
        )
        for each in requests
    ]
    intervals = _join_keys(intervals, pl.concat(parts), [*keys, "metric"])
    is_small = ~pl.lit(cells.is_clustered) & (pl.col("df") < MIN_PAIRS - 1)
    few = FEW_ROWS_OF_A_CLASS
    few = few if cells.definition is None else few.replace("rows of a class", QUERIES.plural)
    kind = "paired bootstrap" if options.paired or options.key else "bootstrap of different rows"
    none = (
        pl.when(pl.col("defined") < LEAST_DEFINED)
        .then(pl.lit("no test: a metric is undefined in too many replicates"))
        .when(pl.col("stderr").is_nan())
        .then(pl.lit("no test: a metric is infinite in some replicates"))
        .when(pl.col("low").is_null())
        .then(pl.lit("no test: the difference is the same in all replicates"))
        .otherwise(
            pl.concat_str(
                pl.coalesce("_few", pl.when(is_small).then(pl.lit(few))),
                "_weights",
                separator="; ",
                ignore_nulls=True,
            ).replace("", None)
        )
    )
    return intervals.select(
        *by,
        "df",
        shift=-pl.col("bias") * pl.col("stderr"),
        stderr=pl.when(pl.col("low").is_not_null()).then("stderr"),
        _method=pl.format(f"{kind}{{}}, {options.replicates:,} replicates", pl.col("_how")),
        _note=none,
        _bits="_bits",
    )


def _is_of_classes(request: Request, task: str) -> bool:
    """Return whether a metric is made of class rates, so that the smallest class is its size."""
    if TASKS[task].has_two_classes:
        return request.header.get("test") != "mcnemar" and find_loss_step(request) is None
    return request.depends_on("score_counts")


def _count_degrees(cells: Cells, keys: Sequence[str], *, by_class: bool) -> pl.DataFrame:
    """Return the degrees of freedom of standard errors per slice: ``keys`` and ``df``.

    They are the number of rows or clusters minus 1. With different rows, the model with the fewest
    decides.
    """
    within = [*keys, *(["model"] if "model" in cells.keys else [])]
    sizes = cells.count_units([*within, *(["label"] if by_class else [])])
    least = (pl.col("size").min() - 1).clip(1, None)
    return sizes.group_by(keys).agg(df=least) if keys else sizes.select(df=least)


def _summarize_jackknife(
    drawn: pl.DataFrame,
    pairs: Pairs,
    cells: Cells,
    requests: Sequence[Request],
    options: Options,
) -> pl.DataFrame:
    """Summarize the values without each cluster of each difference for `_test`."""
    keys = list(pairs.joint.keys)
    by = [*keys, "metric", "model"]
    errors = find_jackknife_errors(_subtract(drawn, pairs), by, cells, requests)
    errors = _join_keys(errors, cells.describe(keys), keys)
    kind = "paired jackknife" if options.paired or options.key else "jackknife of different rows"
    none = (
        pl.when(pl.col("clusters") < 2)
        .then(pl.lit("no test: one cluster"))
        .when(pl.col("defined") < pl.col("clusters"))
        .then(pl.lit("no test: a metric is undefined without one of the clusters"))
        .when(pl.col("stderr").is_nan())
        .then(pl.lit("no test: a metric is infinite"))
        .when(pl.col("stderr").is_null())
        .then(pl.lit("no test: the difference is the same without each of the clusters"))
        .otherwise(write_cluster_note(pl.col("df")))
    )
    return errors.select(
        *by,
        "df",
        shift=pl.lit(0.0),
        stderr="stderr",
        _method=pl.format(f"{kind}{{}}", pl.col("_how")),
        _note=none,
        _bits="_bits",
    )


def _warn_of_change(
    summary: pl.DataFrame, differences: pl.DataFrame, values: pl.DataFrame
) -> pl.DataFrame:
    """Add a note where the rounding of scores changes a model's metric."""
    by = summary.columns[: summary.columns.index("model") + 1]
    sample = differences.filter(pl.col("replicate") == SAMPLE)
    sample = sample.select(
        *by, _rounded=pl.col("value") + pl.col("_baseline"), _baseline_rounded="_baseline"
    )
    joined = summary
    for other in (sample, values.select(*by, "value", "baseline_value")):
        typed = other.with_columns(pl.col(name).cast(joined.schema[name]) for name in by)
        joined = joined.join(typed, on=by, how="left", nulls_equal=True, maintain_order="left")
    bits = pl.col("_bits")
    changed = pl.coalesce(
        warn_of_change(pl.col("value"), pl.col("_rounded"), bits),
        warn_of_change(pl.col("baseline_value"), pl.col("_baseline_rounded"), bits),
    )
    note = pl.concat_str("_note", changed, separator="; ", ignore_nulls=True).replace("", None)
    return joined.with_columns(_note=note).select(summary.columns)


def _test(
    summary: pl.DataFrame,
    values: pl.DataFrame,
    requests: Sequence[Request],
    options: Options,
) -> pl.DataFrame:
    """Test differences by their standard errors.

    Parameters
    ----------
    summary : polars.DataFrame
        Slice keys, ``metric``, ``model``, ``shift`` (the correction of the difference for bias),
        ``stderr`` (NULL if there is no test), ``df``, ``_method``, ``_note`` and ``_bits`` (of
        rounded scores).
    values : polars.DataFrame
        The exact values and differences.
    requests, options
        As for `compare_resampled`.
    """
    by = summary.columns[: summary.columns.index("model") + 1]
    differences = summary.with_columns(pl.col(name).cast(values.schema[name]) for name in by)
    exact = values.select(*by, "difference", "_bound")
    differences = differences.join(
        exact, on=by, how="left", nulls_equal=True, maintain_order="left"
    )
    signs = find_signs(differences["metric"].unique(), requests[0].catalogue)
    sign = differences.select(pl.col("metric").replace_strict(signs, return_dtype=pl.Float64))
    # The biases of two models may cancel or not: the interval covers both differences.
    centre = (differences["difference"] + differences["shift"] / 2).to_numpy()
    apply = partial(
        apply_test, stderr=differences["stderr"].to_numpy(), options=options,
        sign=sign.to_series().to_numpy(), df=differences["df"].to_numpy(),
    )  # fmt: skip
    bound = (differences["_bound"] + differences["shift"].abs() / 2).fill_null(0.0).to_numpy()
    outcome = _widen(apply(centre), centre, bound, apply)
    named = differences.with_columns(**outcome.to_columns(), _stderr="stderr")
    return named.select(*by, "statistic", "p_value", "low", "high", "_stderr", "_method", "_note")


def _widen(
    outcome: Outcome, centre: Array, bound: Array, apply: Callable[[Array], Outcome]
) -> Outcome:
    """Widen the outcome for differences that bins make uncertain by a bound.

    The interval contains the intervals of all differences within the bound. The p-value is the
    largest of all those differences: it belongs to an end of the bound, or to 0.
    """
    if not bound.any():
        return outcome
    statistic, p_value = outcome.statistic, outcome.p_value
    low, high = centre - bound, centre + bound
    for each in (low, high, np.clip(0.0, low, high)):
        other = apply(each)
        is_larger = other.p_value > p_value
        statistic = np.where(is_larger, other.statistic, statistic)
        p_value = np.where(is_larger, other.p_value, p_value)
    return Outcome(statistic, p_value, outcome.low - bound, outcome.high + bound)


def _join_keys(frame: pl.DataFrame, other: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    if not keys:
        return frame.join(other, how="cross", maintain_order="left")
    other = other.with_columns(pl.col(key).cast(frame.schema[key]) for key in keys)
    return frame.join(other, on=keys, how="left", nulls_equal=True, maintain_order="left")
