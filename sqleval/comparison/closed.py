"""Tests of a difference whose sums are one statement: DeLong, McNemar, t and Wilcoxon."""

from __future__ import annotations

from typing import Any

import polars as pl

from sqleval.catalog.request import Request, format_request
from sqleval.comparison.options import Options, apply_test
from sqleval.comparison.pairs import Pairs
from sqleval.comparison.tests import TESTS
from sqleval.inference.libraries import np
from sqleval.inference.mcnemar import (
    apply_exact_mcnemar_test,
    apply_mcnemar_test,
    apply_paired_rate_equivalence_test,
    apply_paired_rate_noninferiority_test,
)
from sqleval.inference.outcome import Outcome
from sqleval.inference.wilcoxon import (
    MOST_EXACT,
    apply_exact_wilcoxon_test,
    apply_wilcoxon_test,
)

#: With fewer discordant rows than this, McNemar's test is exact unless asked for otherwise.
_FEW_DISCORDANT = 25
#: With fewer differing rows than this, rank sums are far from normal.
_FEW_RANKS = 10
#: Relative errors of sums of equal numbers.
_ROUNDING = 1e-13


def _select(
    frame: pl.DataFrame,
    pairs: Pairs,
    outcome: Outcome,
    stderr: Any,
    method: str | pl.Series,
    note: pl.Expr,
) -> pl.DataFrame:
    columns: dict[str, Any] = dict(outcome.to_columns())
    columns["_stderr"] = pl.Series(stderr, dtype=pl.Float64).fill_nan(None)
    columns["_method"] = method if isinstance(method, pl.Series) else pl.lit(method)
    named = frame.with_columns(**columns, _note=note)
    keys = [*pairs.joint.keys, "model"]
    return named.select(*keys, "statistic", "p_value", "low", "high", "_stderr", "_method", "_note")


def _compare_delong(pairs: Pairs, request: Request, options: Options) -> pl.DataFrame:
    areas = pairs.run("delong", pairs.list_scores())
    scale = 2.0 if request.name == "gini" else 1.0
    difference = (areas["model_value"] - areas["baseline_value"]) * scale
    stderr = (areas["stderr"] * scale).to_numpy()
    outcome = apply_test(difference.to_numpy(), stderr, options)
    low, high = (np.where(np.isfinite(e), np.clip(e, -scale, scale), e) for e in outcome[2:])
    outcome = outcome._replace(low=low, high=high)
    # Of 1.0 and 0.5 the error may be 0, too: every row of a class is beaten by equally many.
    is_apart = (pl.col("model_value") - pl.col("baseline_value")).abs() > _ROUNDING
    is_constant = (pl.col("stderr") == 0) & is_apart
    why = pl.lit("no test: the difference does not vary from row to row")
    note = pl.when(is_constant).then(why).otherwise("note")
    selected = _select(areas, pairs, outcome, stderr, TESTS["delong"], note)
    shift = 1.0 if request.name == "gini" else 0.0
    return selected.with_columns(
        _value=areas["model_value"] * scale - shift,
        _baseline_value=areas["baseline_value"] * scale - shift,
    )


def _compare_mcnemar(pairs: Pairs, request: Request, options: Options) -> pl.DataFrame:
    pair_counts = pairs.run("discordant", pairs.list_decisions(request))
    counts = ("wins", "losses", "n")
    pair_counts = pair_counts.with_columns(pl.col(name).cast(pl.Float64) for name in counts)
    names = ("wins", "losses") if request.name != "error_rate" else ("losses", "wins")
    wins, losses, n = (pair_counts[name].to_numpy() for name in (*names, "n"))
    note = (
        pl.when(pl.col("wins") + pl.col("losses") == 0)
        .then(pl.lit("both models are right about the same rows"))
        .otherwise(pl.lit(None, pl.String))
    )
    share = (wins - losses) / n
    stderr = ((wins + losses) / n - share**2) ** 0.5 / n**0.5
    if options.margin is not None:
        within = apply_paired_rate_noninferiority_test
        if options.alternative == "two-sided":
            within = apply_paired_rate_equivalence_test
        wins, losses = (pair_counts[name].to_numpy() for name in ("wins", "losses"))
        outcome = within(wins, losses, n, options.margin, ci=options.ci)
        if request.name == "error_rate":
            outcome = outcome._replace(low=-outcome.high, high=-outcome.low)
        method = "Tango's score test of paired rates"
        return _select(pair_counts, pairs, outcome, stderr, method, note)
    call: dict[str, Any] = {"alternative": options.alternative, "ci": options.ci}
    corrected = apply_mcnemar_test(wins, losses, n, **call)
    exactly = apply_exact_mcnemar_test(wins, losses, n, **call)
    is_exact = wins + losses < _FEW_DISCORDANT
    if options.test in ("mcnemar", "mcnemar_exact"):
        is_exact = np.full(is_exact.shape, options.test == "mcnemar_exact")
    statistic = np.where(is_exact, exactly.statistic, corrected.statistic)
    p_value = np.where(is_exact, exactly.p_value, corrected.p_value)
    # Both have the interval of paired rates.
    outcome = Outcome(statistic, p_value, corrected.low, corrected.high)
    methods = [TESTS["mcnemar_exact" if each else "mcnemar"] for each in is_exact]
    return _select(pair_counts, pairs, outcome, stderr, pl.Series(methods, dtype=pl.String), note)


def _compare_losses(pairs: Pairs, request: Request, options: Options) -> pl.DataFrame:
    moments = pairs.run("loss_differences", pairs.list_losses(request))
    n = moments["n"].cast(pl.Float64)
    stderr = (moments["variance"] / (n - 1)).sqrt()
    difference = moments["model_value"] - moments["baseline_value"]
    # Rounding gives equal differences a tiny variance.
    is_alike = moments["variance"].sqrt() <= _ROUNDING * moments["baseline_value"].abs()
    stderr = stderr.to_frame("a").select(pl.when(~is_alike).then("a")).to_series()
    # A metric of another catalogue may be a mean of gains.
    sign = 1.0 if request.header["direction"] == "higher" else -1.0
    outcome = apply_test(
        difference.to_numpy(), stderr.to_numpy(), options, sign=sign, df=(n - 1).to_numpy()
    )
    note = (
        pl.when(pl.col("n") < 2)
        .then(pl.lit("no test: one row"))
        .when(is_alike)
        .then(pl.lit("no test: the losses differ by the same amount in every row"))
        .otherwise(pl.lit(None, pl.String))
    )
    return _select(moments, pairs, outcome, stderr.to_numpy(), TESTS["paired_t"], note)


def _compare_ranks(pairs: Pairs, request: Request, options: Options) -> pl.DataFrame:
    rank_sums = pairs.run("signed_ranks", pairs.list_losses(request))
    names = ("positive_ranks", "differing", "ties", "equal")
    ranks, n, ties, equal = (rank_sums[name].cast(pl.Float64).to_numpy() for name in names)
    outcome = apply_wilcoxon_test(ranks, n, ties, alternative=options.alternative)
    exact = apply_exact_wilcoxon_test(ranks, n, alternative=options.alternative)
    is_exact = (n <= MOST_EXACT) & (ties == 0) & (equal == 0)
    outcome = outcome._replace(p_value=np.where(is_exact, exact.p_value, outcome.p_value))
    few = pl.lit("few rows differ: the normal approximation is poor")
    note = (
        pl.when(pl.col("differing") == 0)
        .then(pl.lit("no test: no row differs"))
        .when(~pl.Series(is_exact) & (pl.col("differing") < _FEW_RANKS))
        .then(few)
    )
    unknown = np.full(rank_sums.height, np.nan)
    methods = [f"{TESTS['wilcoxon']}, {'exact' if e else 'normal'}" for e in is_exact]
    return _select(rank_sums, pairs, outcome, unknown, pl.Series(methods, dtype=pl.String), note)


#: The function of each test, by the test's name.
_TESTS = {
    "delong": _compare_delong,
    "mcnemar": _compare_mcnemar,
    "mcnemar_exact": _compare_mcnemar,
    "paired_t": _compare_losses,
    "wilcoxon": _compare_ranks,
}


def compare_closed(pairs: Pairs, request: Request, test: str, options: Options) -> pl.DataFrame:
    """Return statistic, p-value, interval and standard error of the differences of models.

    Parameters
    ----------
    pairs : Pairs
        The models.
    request : Request
        The metric.
    test : str
        One of `CLOSED`.
    options : Options
        Level, alternative and margin.
    """
    outcomes = _TESTS[test](pairs, request, options)
    return outcomes.with_columns(metric=pl.lit(format_request(request)))


#: The tests whose sums are one statement.
CLOSED = tuple(_TESTS)
