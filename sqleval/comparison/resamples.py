"""Compares models by replicates in which both are evaluated on the same drawn rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from sqleval.catalog.request import Request, format_request
from sqleval.common.sql_text import Value
from sqleval.comparison.options import Options, apply_test
from sqleval.comparison.pairs import Pairs, replace_input, write_decision, write_label
from sqleval.comparison.verdict import find_signs
from sqleval.compiler.metric_rows import NO_COUNTS
from sqleval.inference.libraries import np
from sqleval.inference.outcome import Outcome
from sqleval.resampling.cells import (
    EXACT_ROWS,
    Cells,
    Values,
    count_cells,
    create_values,
    group_requests,
    remove_threshold,
    write_score,
)
from sqleval.resampling.intervals import LEAST_DEFINED, find_intervals
from sqleval.resampling.replicates import evaluate_replicates

if TYPE_CHECKING:
    from sqleval.inference.libraries import Array

#: More units than cells or blocks can have.
_UNITS_PER_MODEL = 2**29
#: Relative errors of sums of equal numbers.
_ROUNDING = 1e-13


def compare_resampled(
    pairs: Pairs, values: pl.DataFrame, requests: Sequence[Request], options: Options
) -> pl.DataFrame:
    """Return statistic, p-value and interval of differences by the bootstrap.

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
    """
    most = values["n"].max()
    is_large = isinstance(most, int) and most > EXACT_ROWS
    parts: list[pl.DataFrame] = []
    for group, threshold, scored in group_requests(pairs.given.binding, requests):
        asked = [remove_threshold(each) for each in group]
        joint = pairs.joint
        if options.paired:
            cells = count_paired(pairs, group[0], scored=scored, is_large=is_large)
            keys, named = joint.keys, {}
        else:
            cells = _count_unpaired(pairs, threshold, scored=scored, is_large=is_large)
            keys = pairs.given.binding.keys
            named = {keys[-1]: "model"}
        drawn = evaluate_replicates(
            cells, asked, keys, replicates=options.replicates, seed=options.seed
        )
        original = zip(map(format_request, asked), map(format_request, group), strict=True)
        drawn = drawn.rename(named).with_columns(
            pl.col("metric").replace_strict(dict(original), return_dtype=pl.String),
        )
        parts.append(_test(drawn, values, pairs, cells, group, options))
    return pl.concat(parts)


def count_paired(
    pairs: Pairs, request: Request, *, scored: bool, is_large: bool, **limits: Any
) -> Cells:
    """Count the rows with equal scores (or decisions) of all models.

    ``limits`` are those of `count_cells` on the number of cells.
    """
    binding = pairs.given.binding
    is_decided = not scored and binding.task != "regression"
    names = {model: f"of_{name}" for model, (name, _) in pairs.models.items()}
    role = "prediction" if is_decided else binding.model_role
    roles: dict[str, Any] = {"label": "label", role: names, "task": binding.task}

    def create(bits: int) -> Values:
        items = {"label": write_label(binding)}
        for model, (name, column) in pairs.models.items():
            items[names[model]] = (
                write_decision(binding, request, name, column)
                if is_decided
                else write_score(name, bits)
            )
        return Values(items, roles, bits > 0 and not is_decided)

    given = replace_input(pairs.given, pairs.joint)
    return count_cells(given, create, None, is_large=is_large, **limits)


def _count_unpaired(pairs: Pairs, threshold: Value, *, scored: bool, is_large: bool) -> Cells:
    """Count the rows with equal scores per model, so that each model's are drawn by themselves."""
    binding = pairs.given.binding

    def create(bits: int) -> Values:
        return create_values(binding, bits, threshold, scored=scored)

    cells = count_cells(pairs.given, create, None, is_large=is_large)
    # Equal numbers would get equal draws.
    place = pl.col(binding.keys[-1]).cast(pl.String).rank("dense").cast(pl.Int64)
    unit = pl.col("unit").cast(pl.Int64) + place * _UNITS_PER_MODEL
    return cells._replace(frame=cells.frame.with_columns(unit=unit))


def _test(
    drawn: pl.DataFrame,
    values: pl.DataFrame,
    pairs: Pairs,
    cells: Cells,
    requests: Sequence[Request],
    options: Options,
) -> pl.DataFrame:
    """Test the differences by the standard deviation over replicates, corrected for bias."""
    keys = list(pairs.joint.keys)
    on = [*keys, "metric", "replicate"]
    drawn = drawn.with_columns(pl.col("model").cast(pl.String))
    is_baseline = pl.col("model") == pairs.baseline
    own = drawn.filter(is_baseline).select(*on, own="value")
    differences = drawn.filter(~is_baseline).join(own, on=on, how="left", nulls_equal=True)
    difference, size = pl.col("value") - pl.col("own"), pl.col("own").abs()
    # Equal values of two models differ by the order in which the engine adds them up.
    is_zero = difference.abs() <= _ROUNDING * size
    differences = differences.with_columns(value=pl.when(is_zero).then(0.0).otherwise(difference))
    by = [*keys, "metric", "model"]
    found = find_intervals(differences, by, options.ci, "bootstrap", options.replicates)
    found = found.with_columns(pl.col(name).cast(values.schema[name]) for name in by)
    found = _join_keys(found, cells.describe(keys), keys).with_columns(
        shift=-pl.col("bias") * pl.col("stderr"),
    )
    exact = values.select(*by, "difference", "_bound")
    found = found.join(exact, on=by, how="left", nulls_equal=True, maintain_order="left")
    catalogue = requests[0].catalogue
    sign = pl.col("metric").replace_strict(
        find_signs(found["metric"].unique(), catalogue), return_dtype=pl.Float64
    )
    sign = found.select(sign).to_series().to_numpy()
    centre = (found["difference"] + found["shift"]).to_numpy()
    stderr, bound = found["stderr"].to_numpy(), found["_bound"].fill_null(0.0).to_numpy()
    df = None
    if cells.is_clustered:
        df = _join_keys(found, _count_degrees(cells, keys), keys)["df"].to_numpy()
    apply = partial(apply_test, stderr=stderr, options=options, sign=sign, df=df)
    outcome = _widen(apply(centre), centre, bound, apply)
    kind = "paired bootstrap" if options.paired else "bootstrap of different rows"
    how = pl.format(f"{kind}{{}}, {options.replicates:,} replicates", pl.col("_how"))
    none = (
        pl.when(~pl.col("_are_counts"))
        .then(pl.lit(NO_COUNTS.replace("no interval", "no test")))
        .when(pl.col("defined") < LEAST_DEFINED)
        .then(pl.lit("no test: a metric is undefined in too many replicates"))
        .when(pl.col("low").is_null())
        .then(pl.lit("no test: the difference is the same in all replicates"))
        .otherwise(pl.col("_few"))
    )
    is_usable = pl.col("low").is_not_null() & pl.col("_are_counts")
    ends = outcome.to_columns()
    named = found.with_columns(_note=none, _is_usable=is_usable).drop("low", "high")
    named = named.with_columns(**ends).with_columns(
        pl.when("_is_usable").then(name).alias(name) for name in (*ends, "stderr")
    )
    named = named.with_columns(_method=how, _stderr="stderr")
    return named.select(*by, "statistic", "p_value", "low", "high", "_stderr", "_method", "_note")


def _count_degrees(cells: Cells, keys: Sequence[str]) -> pl.DataFrame:
    """Return the degrees of freedom of standard errors per slice: ``keys`` and ``df``.

    One less than the clusters; of models with different rows, of the one with the fewest.
    """
    sizes = cells.count_units(cells.keys)
    least = pl.col("size").min() - 1
    return sizes.group_by(keys).agg(df=least) if keys else sizes.select(df=least)


def _widen(
    outcome: Outcome, centre: Array, bound: Array, apply: Callable[[Array], Outcome]
) -> Outcome:
    """Return the outcome for differences that bins leave open by a bound.

    The interval contains those of all differences within the bound, and the p-value is the largest
    of theirs: that of an end, or of 0.
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
