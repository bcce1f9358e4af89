"""Tests models with different rows in closed form: two rates, two means, two areas."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import polars as pl

from sqleval.catalog.contract import Relation
from sqleval.catalog.request import Request, format_request
from sqleval.comparison.options import Options, apply_test
from sqleval.comparison.pairs import Pairs
from sqleval.comparison.tests import FEW_ROWS_OF_A_CLASS, name_test
from sqleval.comparison.values import evaluate_parts
from sqleval.comparison.weighted import add_note_on_weights
from sqleval.compiler.intervals import FEW_ROWS
from sqleval.compiler.weights import WHOLE
from sqleval.inference.libraries import np
from sqleval.inference.outcome import Outcome
from sqleval.inference.two_rates import (
    apply_two_rates_equivalence_test,
    apply_two_rates_noninferiority_test,
    apply_two_rates_test,
)

#: Relative rounding error: smaller differences count as 0.
_ROUNDING = 1e-13
_CERTAIN = "an area of 0 or 1 has no standard error: the test may find a difference too often"


def compare_unpaired(pairs: Pairs, tests: Mapping[Request, str], options: Options) -> pl.DataFrame:
    """Test differences of independent values: statistic, p-value, interval and standard error.

    Parameters
    ----------
    pairs : Pairs
        The models.
    tests : mapping of Request to str
        The metrics, and the test of each: one of `UNPAIRED`.
    options : Options
        Level, alternative and margin.
    """
    evaluated = evaluate_parts(pairs, list(tests), options.ci)
    is_weighted = pairs.data.binding.is_weighted
    weights = _describe_weights() if is_weighted else pl.lit(None, pl.String)
    parts: list[pl.DataFrame] = []
    for request, test in tests.items():
        rows = evaluated.filter(pl.col("metric") == format_request(request))
        compare = partial(_compare_values, relation=request.relation)
        compare = _compare_rates if test == "newcombe" else compare
        sign = {"higher": 1.0, "lower": -1.0}.get(str(request.header["direction"]), 0.0)
        outcome, stderr, note = compare(rows, test, options, sign)
        columns: dict[str, Any] = dict(outcome.to_columns())
        columns["_stderr"] = pl.Series(stderr, dtype=pl.Float64).fill_nan(None)
        method = name_test(test, paired=False, weighted=is_weighted, request=request)
        columns |= {"_method": pl.lit(method), "_note": note, "_weights": weights}
        named = add_note_on_weights(rows.with_columns(**columns))
        # Ranking the rows takes longest, so the result takes its values from this test.
        values = ["_value", "_baseline_value"] if test == "delong" else []
        named = named.rename({"baseline_value": "_baseline_value"})
        keys = [*pairs.joint.keys, "metric", "model"]
        parts.append(named.select(*keys, *columns, *values).drop("_weights"))
    return pl.concat(parts, how="diagonal")


def _compare_rates(
    rows: pl.DataFrame, _: str, options: Options, sign: float
) -> tuple[Outcome, Any, pl.Expr]:
    names = ("_successes", "_trials", "baseline_successes", "baseline_trials")
    hits, trials, base_hits, base_trials = (rows[e].to_numpy().astype(float) for e in names)
    if options.margin is None:
        outcome = apply_two_rates_test(
            hits, trials, base_hits, base_trials, alternative=options.alternative, ci=options.ci
        )
    else:
        within = apply_two_rates_noninferiority_test
        if options.alternative == "two-sided":
            within = apply_two_rates_equivalence_test
        # Where lower is better, test the complements, whose difference has the opposite sign.
        model_hits = trials - hits if sign < 0 else hits
        baseline_hits = base_trials - base_hits if sign < 0 else base_hits
        outcome = within(
            model_hits, trials, baseline_hits, base_trials, options.margin, ci=options.ci
        )
        if sign < 0:
            outcome = outcome._replace(low=-outcome.high, high=-outcome.low)
    with np.errstate(all="ignore"):
        rate, base_rate = hits / trials, base_hits / base_trials
        variance = rate * (1 - rate) / trials + base_rate * (1 - base_rate) / base_trials
    stderr = np.sqrt(variance)
    return outcome, np.where(stderr > 0, stderr, np.nan), pl.lit(None, pl.String)


def _compare_values(
    rows: pl.DataFrame, test: str, options: Options, sign: float, *, relation: Relation
) -> tuple[Outcome, Any, pl.Expr]:
    """Test a difference by the standard errors of both values, and Welch's degrees of freedom."""
    names = ("_value", "_stderr", "_effective")
    value, error, n = (rows[name].to_numpy().astype(float) for name in names)
    base, base_error, base_n = (rows[f"baseline{e}"].to_numpy().astype(float) for e in names)
    error = np.where(error <= _ROUNDING * np.abs(value), 0.0, error)
    base_error = np.where(base_error <= _ROUNDING * np.abs(base), 0.0, base_error)
    squares, base_squares = error**2, base_error**2
    with np.errstate(all="ignore"):
        # Welch (1947), doi:10.1093/biomet/34.1-2.28. For areas, pROC does the same.
        sums = squares**2 / (n - 1) + base_squares**2 / (base_n - 1)
        df = (squares + base_squares) ** 2 / sums
    stderr = np.sqrt(squares + base_squares)
    stderr = np.where(stderr > 0, stderr, np.nan)
    outcome = apply_test(value - base, stderr, options, sign=sign, df=df)
    has_values = pl.col("_value").is_not_null() & pl.col("baseline_value").is_not_null()
    undefined = pl.coalesce("_note", "baseline_note")
    has_errors = pl.col("_stderr").is_not_null() & pl.col("baseline_stderr").is_not_null()
    one, alike, warning = _explain(test, relation)
    is_constant = pl.Series(np.isnan(stderr))
    note = (
        pl.when(~has_values)
        .then(undefined)
        .when(~has_errors)
        .then(pl.lit(one))
        .when(is_constant)
        .then(pl.lit(alike))
        .otherwise(warning)
    )
    return outcome, stderr, note


def _describe_weights() -> pl.Expr:
    """Join the notes of both models on their weights; equal notes appear once."""
    model_note, baseline_note = (
        pl.col(name).str.extract(f"({WHOLE}|weights: effective number of rows .*)")
        for name in ("_note", "baseline_note")
    )
    other = pl.when(baseline_note.ne_missing(model_note)).then(baseline_note)
    return pl.concat_str(model_note, other, separator="; ", ignore_nulls=True).replace("", None)


def _explain(test: str, relation: Relation) -> tuple[str, str, pl.Expr]:
    """Return three notes: no standard error, a standard error of 0, and a warning."""
    if test == "welch_t":
        row = "query" if relation.has_queries else "row"
        losses = "losses" if relation.has_labels and not relation.has_queries else "values"
        alike = f"no test: all {losses} of a model are equal"
        return f"no test: one {row} of a model", alike, pl.lit(None, pl.String)
    notes = pl.concat_str("_note", "baseline_note", separator="; ", ignore_nulls=True)
    few = pl.when(notes.str.contains(FEW_ROWS, literal=True)).then(pl.lit(FEW_ROWS_OF_A_CLASS))
    is_certain = (pl.col("_stderr") == 0) | (pl.col("baseline_stderr") == 0)
    warning = pl.when(is_certain).then(pl.lit(_CERTAIN)).otherwise(few)
    one = "no test: one row of a class of a model"
    return one, "no test: the areas of both models have no standard error", warning
