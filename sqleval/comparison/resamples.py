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
from sqleval.compiler.requirements import collect_values
from sqleval.resampling.cells import EXACT_ROWS, Cells, Values, count_cells, write_score
from sqleval.resampling.intervals import find_intervals
from sqleval.resampling.replicates import evaluate_replicates


def compare_resampled(
    pairs: Pairs, values: pl.DataFrame, requests: Sequence[Request], options: Options
) -> pl.DataFrame:
    """Return statistic, p-value and interval of differences by the paired bootstrap.

    Parameters
    ----------
    pairs : Pairs
        The models.
    values : polars.DataFrame
        The exact values and differences.
    requests : sequence of Request
        The metrics.
    options : Options
        Level, alternative, replicates and seed.
    """
    most = values["n"].max()
    is_large = isinstance(most, int) and most > EXACT_ROWS
    parts = [
        _compare_group(pairs, values, group, threshold, options, is_large=is_large)
        for threshold, group in _group(pairs, requests)
    ]
    return pl.concat(parts)


def _group(pairs: Pairs, requests: Sequence[Request]) -> Iterator[tuple[Value, list[Request]]]:
    """Yield the metrics that share their cells: those of scores, and those of each threshold."""
    binding = pairs.given.binding
    groups: dict[Value, list[Request]] = {}
    for request in requests:
        threshold: Value = None
        if request.depends_on("decisions") and binding.model_role == "score":
            threshold = collect_values(binding, request).get("threshold", 0.5)
        groups.setdefault(threshold, []).append(request)
    yield from groups.items()


def _compare_group(
    pairs: Pairs,
    values: pl.DataFrame,
    requests: Sequence[Request],
    threshold: Value,
    options: Options,
    *,
    is_large: bool,
) -> pl.DataFrame:
    binding, joint = pairs.given.binding, pairs.joint
    asked = [
        replace(each, parameters=tuple(p for p in each.parameters if p[0] != "threshold"))
        for each in requests
    ]
    original = {
        format_request(own): format_request(each) for own, each in zip(asked, requests, strict=True)
    }
    by_threshold = threshold is not None

    def create_values(bits: int) -> Values:
        items = {"label": write_label(binding)}
        names = {model: f"of_{name}" for model, (name, _) in pairs.models.items()}
        for model, (name, column) in pairs.models.items():
            if by_threshold or (
                binding.model_role == "prediction" and binding.task != "regression"
            ):
                sql = write_decision(binding, requests[0], name, column)
            else:
                sql = write_score(name, bits)
            items[names[model]] = sql
        role = "prediction" if by_threshold else binding.model_role
        roles: dict[str, Any] = {"label": "label", role: names, "task": binding.task}
        return Values(items, roles, bits > 0 and not by_threshold)

    cells = count_cells(replace_input(pairs.given, joint), create_values, None, is_large=is_large)
    drawn = evaluate_replicates(
        cells, asked, joint.keys, replicates=options.replicates, seed=options.seed,
        jackknife=False,
    )  # fmt: skip
    named = dict(zip(joint.keys, joint.key_names, strict=True))
    drawn = drawn.rename(named).with_columns(
        pl.col("metric").replace_strict(original, return_dtype=pl.String)
    )
    return _test(drawn, values, pairs, cells, requests, options)


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
    is_baseline = pl.col("model") == pairs.baseline
    own = drawn.filter(is_baseline).select(*on, own="value")
    differences = drawn.filter(~is_baseline).join(own, on=on, how="left", nulls_equal=True)
    differences = differences.with_columns(value=pl.col("value") - pl.col("own"))
    by = [*keys, "metric", "model"]
    found = find_intervals(differences, by, options.ci, "bootstrap").with_columns(
        # The middle of the interval is the estimate of the cells less its bias.
        shift=(pl.col("low") + pl.col("high")) / 2 - pl.col("estimate"),
    )
    found = found.with_columns(pl.col(name).cast(values.schema[name]) for name in by)
    exact = values.select(*by, "difference")
    found = found.join(exact, on=by, how="left", nulls_equal=True, maintain_order="left")
    catalogue = requests[0].catalogue
    sign = pl.col("metric").replace_strict(
        find_signs(found["metric"], catalogue), return_dtype=pl.Float64
    )
    sign = found.select(sign).to_series().to_numpy()
    centre = (found["difference"] + found["shift"]).to_numpy()
    outcome = apply_test(centre, found["stderr"].to_numpy(), options, sign)
    how = f"paired bootstrap, {options.replicates:,} replicates"
    how += f", scores of {cells.bits} bits" if cells.bits else ""
    none = (
        pl.when(pl.col("stderr") == 0)
        .then(pl.lit("no test: the difference is the same in all replicates"))
        .when(pl.col("low").is_null())
        .then(pl.lit("no test: a metric is undefined in too many replicates"))
        .otherwise(pl.lit(None, pl.String))
    )
    named = found.with_columns(_note=none).drop("low", "high")
    named = named.with_columns(**outcome.to_columns(), _method=pl.lit(how))
    return named.select(*by, "statistic", "p_value", "low", "high", "_method", "_note")
