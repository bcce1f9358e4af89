"""Tests several models at once on the same rows: their areas, or their rates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from sqleval.catalog.request import Request, format_request
from sqleval.comparison.pairs import Pairs
from sqleval.comparison.tests import name_test
from sqleval.comparison.weighted import add_note_on_weights, add_weights
from sqleval.inference.libraries import np
from sqleval.inference.omnibus import Omnibus, apply_cochran_test, apply_joint_test

#: The tests of this module.
AT_ONCE = ("delong_joint", "cochran_q")


def compare_at_once(pairs: Pairs, request: Request, test: str) -> pl.DataFrame:
    """Return statistic and p-value of a test of all models, in a row per model except the baseline.

    Parameters
    ----------
    pairs : Pairs
        The models.
    request : Request
        The metric.
    test : str
        One of `AT_ONCE`.
    """
    is_area = test == "delong_joint"
    is_weighted = pairs.joint.is_weighted
    areas = "weighted_delong" if is_weighted else "delong"
    name = areas if is_area else "discordant_rows"
    parts: list[pl.DataFrame] = []
    # Each pair of models once: the first with all later ones, then the second ...
    for place, first in enumerate(pairs.names[:-1]):
        other = pairs._replace(baseline=first)
        items = other.list_scores() if is_area else other.list_decisions(request)
        later = {model: items[model] for model in pairs.names[place + 1 :]}
        parts.append(other.run(name, later).with_columns(_first=pl.lit(first)))
    frame = add_weights(pl.concat(parts, how="diagonal"), pairs)
    if is_area:
        frame = frame.with_columns(pl.col("stderr") * pl.col("_correction"))
    keys = list(pairs.joint.keys)
    rows: list[dict[str, Any]] = []
    for group in frame.partition_by(keys, maintain_order=True) if keys else [frame]:
        if not group.height:
            continue
        outcome = _test(group, pairs.names, is_area=is_area)
        row = group.select(keys).row(0, named=True) if keys else {}
        row |= _describe(outcome, test, weighted=is_weighted)
        row["_weights"] = group["_weights"][0]
        rows += [row | {"model": model} for model in pairs.names if model != pairs.baseline]
    types: dict[str, Any] = {key: frame.schema[key] for key in keys}
    types |= {"model": pl.String, "statistic": pl.Float64, "p_value": pl.Float64}
    types |= dict.fromkeys(("_note", "_method", "_weights"), pl.String)
    result = pl.DataFrame(rows, schema=types).with_columns(
        pl.col("statistic", "p_value").fill_nan(None), metric=pl.lit(format_request(request))
    )
    missing = pl.lit(None, pl.Float64)
    result = add_note_on_weights(result).drop("_weights")
    return result.with_columns(low=missing, high=missing, _stderr=missing)


def _test(group: pl.DataFrame, names: tuple[str, ...], *, is_area: bool) -> Omnibus:
    """Test the models of a slice, from one row per pair of models."""
    at = {name: i for i, name in enumerate(names)}
    values, matrix = np.full(len(names), np.nan), np.zeros((len(names), len(names)))
    for row in group.iter_rows(named=True):
        i, j = at[row["_first"]], at[row["model"]]
        value, baseline_value = _read_values(row, is_area=is_area)
        values[i], values[j] = baseline_value, value
        sizes = (row["stderr"],) if is_area else (row["wins"], row["losses"])
        size = np.nan if None in sizes else float(sum(sizes))
        matrix[i, j] = matrix[j, i] = size**2 if is_area else size
    if is_area:
        return apply_joint_test(values, matrix)
    return apply_cochran_test(values, matrix)


def _read_values(row: Mapping[str, Any], *, is_area: bool) -> tuple[float, float]:
    names = ("model_value", "baseline_value") if is_area else ("hits", "baseline_hits")
    value, baseline_value = (np.nan if row[name] is None else float(row[name]) for name in names)
    return value, baseline_value


def _describe(outcome: Omnibus, test: str, *, weighted: bool) -> dict[str, Any]:
    what = "areas" if test == "delong_joint" else "shares of right rows"
    note = f"one test of all models: they have equal {what}"
    if np.isnan(outcome.p_value):
        note = "no test: all models are right about the same rows"
        if test == "delong_joint":
            note = "no test: the differences of the areas do not vary from row to row"
    return {
        "statistic": outcome.chi_square, "p_value": outcome.p_value, "_note": note,
        "_method": name_test(test, weighted=weighted),
    }  # fmt: skip
