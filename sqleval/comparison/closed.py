"""Tests models on the same rows in closed form: DeLong, McNemar, t and Wilcoxon."""

from __future__ import annotations

from typing import Any

import polars as pl

from sqleval.catalog.request import Request, format_request
from sqleval.comparison.options import Options, apply_test
from sqleval.comparison.pairs import Pairs
from sqleval.comparison.tests import LINEARISED, TESTS, name_test
from sqleval.comparison.weighted import add_note_on_weights, add_weights
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

#: With fewer discordant rows than this, McNemar's test is exact unless ``test=`` names another.
_FEW_DISCORDANT = 25
#: With fewer rows that differ, the rank sums are far from normally distributed.
_FEW_RANKS = 10
#: Note on losses of rows, or values of queries, whose difference is constant.
_ALIKE = "no test: the {} differ by the same amount in every {}"
#: Relative rounding error: smaller differences count as 0.
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
    named = add_note_on_weights(frame.with_columns(**columns, _note=note))
    keys = [*pairs.joint.keys, "model"]
    return named.select(*keys, "statistic", "p_value", "low", "high", "_stderr", "_method", "_note")


def _compare_delong(pairs: Pairs, request: Request, options: Options) -> pl.DataFrame:
    is_weighted = pairs.joint.is_weighted
    name = "weighted_delong" if is_weighted else "delong"
    areas = add_weights(pairs.run(name, pairs.list_scores()), pairs)
    areas = areas.with_columns(pl.col("stderr") * pl.col("_correction"))
    scale = float(request.header.get("scale", 1))
    difference = (areas["model_value"] - areas["baseline_value"]) * scale
    stderr = (areas["stderr"] * scale).to_numpy()
    outcome = apply_test(difference.to_numpy(), stderr, options)
    low, high = (np.where(np.isfinite(e), np.clip(e, -scale, scale), e) for e in outcome[2:])
    outcome = outcome._replace(low=low, high=high)
    # The standard error can be 0 for areas of 1.0 and 0.5: then all rows of a class have the same
    # placement.
    is_apart = (pl.col("model_value") - pl.col("baseline_value")).abs() > _ROUNDING
    is_constant = (pl.col("stderr") == 0) & is_apart
    why = pl.lit("no test: the difference does not vary from row to row")
    note = pl.when(is_constant).then(why).otherwise("note")
    method = name_test("delong", weighted=is_weighted)
    selected = _select(areas, pairs, outcome, stderr, method, note)
    shift = scale - 1
    return selected.with_columns(
        _value=areas["model_value"] * scale - shift,
        _baseline_value=areas["baseline_value"] * scale - shift,
    )


def _compare_mcnemar(pairs: Pairs, request: Request, options: Options) -> pl.DataFrame:
    is_weighted = pairs.joint.is_weighted
    pair_counts = add_weights(pairs.run("discordant_rows", pairs.list_decisions(request)), pairs)
    pair_counts = _count_effective(pair_counts)
    is_error = request.header["direction"] == "lower"
    names = ("losses", "wins") if is_error else ("wins", "losses")
    wins, losses, n = (pair_counts[name].to_numpy() for name in (*names, "total"))
    same = "both models are right about the same rows"
    same = same if request.relation.has_labels else "both models have the same value in every row"
    note = (
        pl.when(pl.col("wins") + pl.col("losses") == 0)
        .then(pl.lit(same))
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
        if is_error:
            outcome = outcome._replace(low=-outcome.high, high=-outcome.low)
        method = "Tango's score test of paired rates" + (LINEARISED if is_weighted else "")
        return _select(pair_counts, pairs, outcome, stderr, method, note)
    call: dict[str, Any] = {"alternative": options.alternative, "ci": options.ci}
    if is_weighted:
        # Weights have no steps of 1 that a continuity correction would bridge.
        outcome = apply_mcnemar_test(wins, losses, n, correction=False, **call)
        method = name_test("mcnemar", weighted=True)
        return _select(pair_counts, pairs, outcome, stderr, method, note)
    corrected = apply_mcnemar_test(wins, losses, n, **call)
    exactly = apply_exact_mcnemar_test(wins, losses, n, **call)
    is_exact = wins + losses < _FEW_DISCORDANT
    if options.test in ("mcnemar", "mcnemar_exact"):
        is_exact = np.full(is_exact.shape, options.test == "mcnemar_exact")
    statistic = np.where(is_exact, exactly.statistic, corrected.statistic)
    p_value = np.where(is_exact, exactly.p_value, corrected.p_value)
    # The interval of paired rates belongs to both tests.
    outcome = Outcome(statistic, p_value, corrected.low, corrected.high)
    methods = [TESTS["mcnemar_exact" if each else "mcnemar"] for each in is_exact]
    return _select(pair_counts, pairs, outcome, stderr, pl.Series(methods, dtype=pl.String), note)


def _count_effective(frame: pl.DataFrame) -> pl.DataFrame:
    """Scale sums of weights to effective numbers of rows; without weights nothing changes.

    The discordant rows count as (sum w)^2 / sum w^2 rows, which is right for the variance of the
    difference if the models are equally good. All other rows are scaled by the same factor.
    """
    counts = ("wins", "losses", "total")
    frame = frame.with_columns(pl.col(name).cast(pl.Float64) for name in counts)
    differing = pl.col("wins") + pl.col("losses")
    scale = differing / pl.col("differing_squares")
    alike = pl.col("total") / pl.col("total_squares")
    scale = pl.when(differing > 0).then(scale).otherwise(alike)
    return frame.with_columns(pl.col(name) * scale for name in counts)


def _run_on_losses(pairs: Pairs, request: Request, name: str) -> pl.DataFrame:
    """Run a file of `sql/base` on the losses of rows, or the values of queries."""
    if not request.relation.has_queries:
        return add_weights(pairs.run(name, pairs.list_losses(request)), pairs)
    queries = pairs.write_queries(request)
    return add_weights(pairs.run(name, pairs.list_query_losses(queries), queries), pairs)


def _compare_losses(pairs: Pairs, request: Request, options: Options) -> pl.DataFrame:
    is_weighted, is_ranking = pairs.joint.is_weighted, request.relation.has_queries
    name = "weighted_loss_differences" if is_weighted else "loss_differences"
    moments = _run_on_losses(pairs, request, name)
    n = moments["n"].cast(pl.Float64)
    effective = moments["effective"] if is_weighted else n
    stderr = (moments["variance"] / effective * n / (n - 1)).sqrt() * moments["_correction"]
    difference = moments["model_value"] - moments["baseline_value"]
    # Rounding gives equal differences a tiny variance.
    is_alike = moments["variance"].sqrt() <= _ROUNDING * moments["baseline_value"].abs()
    stderr = stderr.to_frame("a").select(pl.when(~is_alike).then("a")).to_series()
    # A metric of your own may be a mean of gains, of which higher ones are better.
    sign = 1.0 if request.header["direction"] == "higher" else -1.0
    df = (effective - 1).to_numpy()
    outcome = apply_test(difference.to_numpy(), stderr.to_numpy(), options, sign=sign, df=df)
    alike = _ALIKE.format("losses" if request.relation.has_labels else "values", "row")
    alike = _ALIKE.format("values", "query") if is_ranking else alike
    note = (
        pl.when(pl.col("n") < 2)
        .then(pl.lit("no test: one query" if is_ranking else "no test: one row"))
        .when(is_alike)
        .then(pl.lit(alike))
        .otherwise(pl.lit(None, pl.String))
    )
    method = name_test("paired_t", weighted=is_weighted, request=request)
    return _select(moments, pairs, outcome, stderr.to_numpy(), method, note)


def _compare_ranks(pairs: Pairs, request: Request, options: Options) -> pl.DataFrame:
    rank_sums = _run_on_losses(pairs, request, "signed_ranks")
    what = "query" if request.relation.has_queries else "row"
    names = ("positive_ranks", "differing", "ties", "equal")
    ranks, n, ties, equal = (rank_sums[name].cast(pl.Float64).to_numpy() for name in names)
    outcome = apply_wilcoxon_test(ranks, n, ties, alternative=options.alternative)
    exact = apply_exact_wilcoxon_test(ranks, n, alternative=options.alternative)
    is_exact = (n <= MOST_EXACT) & (ties == 0) & (equal == 0)
    outcome = outcome._replace(p_value=np.where(is_exact, exact.p_value, outcome.p_value))
    some = "queries" if request.relation.has_queries else "rows"
    few = pl.lit(f"few {some} differ: the normal approximation is poor")
    note = (
        pl.when(pl.col("differing") == 0)
        .then(pl.lit(f"no test: no {what} differs"))
        .when(~pl.Series(is_exact) & (pl.col("differing") < _FEW_RANKS))
        .then(few)
    )
    unknown = np.full(rank_sums.height, np.nan)
    test = name_test("wilcoxon", request=request)
    methods = [f"{test}, {'exact' if e else 'normal'}" for e in is_exact]
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


#: The tests of this module.
CLOSED = tuple(_TESTS)
