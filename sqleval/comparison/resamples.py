"""Compares models by replicates in which both are evaluated on the same drawn rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from sqleval.catalog.request import Request, format_request
from sqleval.common.sql_text import Value
from sqleval.comparison.options import Options, apply_test
from sqleval.comparison.pairs import Pairs, replace_input, write_decision, write_label
from sqleval.comparison.verdict import find_signs
from sqleval.compiler.metric_rows import NO_COUNTS
from sqleval.compiler.requirements import collect_values
from sqleval.resampling.cells import (
    EXACT_ROWS,
    Cells,
    Values,
    count_cells,
    create_values,
    write_score,
)
from sqleval.resampling.intervals import LEAST_DEFINED, find_intervals
from sqleval.resampling.replicates import evaluate_replicates

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
    for threshold, group in _group(pairs, requests):
        asked = [remove_threshold(each) for each in group]
        joint = pairs.joint
        if options.paired:
            cells = _count_paired(pairs, group[0], threshold, is_large=is_large)
            keys, names = joint.keys, joint.key_names
        else:
            cells = _count_unpaired(pairs, group[0], threshold, is_large=is_large)
            binding = pairs.given.binding
            keys, names = binding.keys, (*joint.key_names, "model")
        drawn = evaluate_replicates(
            cells, asked, keys, replicates=options.replicates, seed=options.seed
        )
        original = zip(map(format_request, asked), map(format_request, group), strict=True)
        drawn = drawn.rename(dict(zip(keys, names, strict=True))).with_columns(
            pl.col("metric").replace_strict(dict(original), return_dtype=pl.String),
        )
        parts.append(_test(drawn, values, pairs, cells, group, options))
    return pl.concat(parts)


def remove_threshold(request: Request) -> Request:
    """Return a request over cells that hold the decision instead of a score."""
    kept = tuple(pair for pair in request.parameters if pair[0] != "threshold")
    return replace(request, parameters=kept)


def _group(pairs: Pairs, requests: Sequence[Request]) -> Iterator[tuple[Value, list[Request]]]:
    """Yield the metrics that share their cells: those of scores, and those of each threshold."""
    binding = pairs.given.binding
    groups: dict[Value, list[Request]] = {}
    for request in requests:
        threshold: Value = None
        if request.depends_on("decisions") and "prediction" not in binding.role:
            threshold = collect_values(binding, request).get("threshold", 0.5)
        groups.setdefault(threshold, []).append(request)
    yield from groups.items()


def _count_paired(pairs: Pairs, request: Request, threshold: Value, *, is_large: bool) -> Cells:
    """Count the rows with equal scores of all models."""
    binding = pairs.given.binding
    is_decided = threshold is not None
    if binding.model_role == "prediction" and binding.task != "regression":
        is_decided = True
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
    return count_cells(given, create, None, is_large=is_large)


def _count_unpaired(pairs: Pairs, request: Request, threshold: Value, *, is_large: bool) -> Cells:
    """Count the rows with equal scores per model, so that each model's are drawn by themselves."""
    binding = pairs.given.binding
    scored = not request.depends_on("decisions") and binding.task != "regression"

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
    keys = list(pairs.joint.key_names)
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
    found = _join_keys(found, _describe(cells, pairs), keys).with_columns(
        # The middle of the interval is the estimate of the cells less its bias.
        shift=(pl.col("low") + pl.col("high")) / 2 - pl.col("estimate"),
    )
    exact = values.select(*by, "difference")
    found = found.join(exact, on=by, how="left", nulls_equal=True, maintain_order="left")
    catalogue = requests[0].catalogue
    sign = pl.col("metric").replace_strict(
        find_signs(found["metric"], catalogue), return_dtype=pl.Float64
    )
    sign = found.select(sign).to_series().to_numpy()
    centre = (found["difference"] + found["shift"]).to_numpy()
    outcome = apply_test(centre, found["stderr"].to_numpy(), options, sign)
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
        pl.when("_is_usable").then(name).alias(name) for name in ends
    )
    named = named.with_columns(_method=how)
    return named.select(*by, "statistic", "p_value", "low", "high", "_method", "_note")


def _describe(cells: Cells, pairs: Pairs) -> pl.DataFrame:
    """Return what is drawn per slice, under the names of the slice keys."""
    joint = pairs.joint
    found = cells.describe(joint.keys)
    return found.rename(dict(zip(joint.keys, joint.key_names, strict=True)))


def _join_keys(frame: pl.DataFrame, other: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    if not keys:
        return frame.join(other, how="cross", maintain_order="left")
    other = other.with_columns(pl.col(key).cast(frame.schema[key]) for key in keys)
    return frame.join(other, on=keys, how="left", nulls_equal=True, maintain_order="left")
