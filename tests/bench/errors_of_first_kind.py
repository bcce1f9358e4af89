"""Errors of the first kind: how often each test rejects, and each interval misses, at 5 %.

NumPy simulates rows for which the null hypothesis is true; the functions of `sqleval.inference`
judge them. Prints a Markdown table. A test whose two-sided share is not within 4 .. 6 % must be a
known exception: conservative by design, or used outside of its assumptions.

    python -m tests.bench.errors_of_first_kind             20,000 data sets a row
    python -m tests.bench.errors_of_first_kind --runs 2000
"""

import argparse
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from scipy import stats

from sqleval.inference.adjust import adjust_p_values
from sqleval.inference.bands import find_pointwise_band, find_simultaneous_band
from sqleval.inference.difference import (
    apply_equivalence_test,
    apply_noninferiority_test,
    apply_t_test,
    apply_z_test,
)
from sqleval.inference.folds import apply_corrected_t_test
from sqleval.inference.mcnemar import apply_exact_mcnemar_test, apply_mcnemar_test
from sqleval.inference.outcome import Outcome
from sqleval.inference.ranks import (
    apply_baseline_rank_test,
    apply_friedman_test,
    apply_nemenyi_test,
    rank_models,
)
from sqleval.inference.wilcoxon import apply_wilcoxon_test

LEVEL = 0.05
SIDES = ("two-sided", "greater", "less")
#: How a share deviates from 4 .. 6 %.
CAUTIOUS, EAGER = "conservative", "too often"
Rng = np.random.Generator
Array = np.ndarray[Any, Any]


class Shares(NamedTuple):
    """Shares of data sets: rejected by the test and its one-sided forms, missed by the interval."""

    two_sided: float
    greater: float | None = None
    less: float | None = None
    interval: float | None = None


class Case(NamedTuple):
    """A test on simulated data, and its known deviation from the level."""

    test: str
    data: str
    measure: Callable[[Rng, int], Shares]
    known: str = ""


def reject(p_values: Array) -> Array:
    """Return where tests reject; an undefined one does not."""
    return p_values <= LEVEL + 1e-12


def measure(test: Callable[[str], Outcome], truth: float = 0.0) -> Shares:
    """Return the shares of a test whose alternative is its argument."""
    outcomes = [test(side) for side in SIDES]
    shares = [float(reject(outcome.p_value).mean()) for outcome in outcomes]
    low, high = outcomes[0].low, outcomes[0].high
    if np.isnan(low).all():
        return Shares(*shares)
    return Shares(*shares, float(((low > truth) | (high < truth)).mean()))


# -- paired rows -------------------------------------------------------------------------------


def compute_delong(high: Array, low: Array) -> tuple[float, Array, Array]:
    """Return the AUC of scores of positives and negatives, and its components."""
    ascending, other = np.sort(low), np.sort(high)
    above = (np.searchsorted(ascending, high) + np.searchsorted(ascending, high, "right")) / 2
    below = (np.searchsorted(other, low) + np.searchsorted(other, low, "right")) / 2
    return above.mean() / len(low), above / len(low), 1 - below / len(high)


def simulate_delong(
    rng: Rng, runs: int, positives: int, negatives: int, digits: int = 15
) -> tuple[Array, Array]:
    """Return paired differences of the AUCs of two equally good models, and standard errors."""
    differences, errors = np.empty(runs), np.empty(runs)
    for i in range(runs):
        shared = rng.normal(size=positives + negatives)
        shared[:positives] += 1
        models = [np.round(shared + rng.normal(size=len(shared)), digits) for _ in range(2)]
        first, second = (compute_delong(m[:positives], m[positives:]) for m in models)
        differences[i] = first[0] - second[0]
        variances = (
            (a - b).var(ddof=1) / len(a) for a, b in zip(first[1:], second[1:], strict=True)
        )
        errors[i] = np.sqrt(sum(variances))
    return differences, errors


def measure_delong(rng: Rng, runs: int, *sizes: int) -> Shares:
    """Paired AUCs: the z test."""
    data = simulate_delong(rng, max(runs // 4, 500), *sizes)
    return measure(lambda side: apply_z_test(*data, alternative=side))


def measure_t(rng: Rng, runs: int, n: int) -> Shares:
    """Differences of row losses: the paired t-test."""
    rows = rng.exponential(size=(runs, n)) - rng.exponential(size=(runs, n))
    error = rows.std(axis=1, ddof=1) / np.sqrt(n)
    return measure(lambda side: apply_t_test(rows.mean(axis=1), error, n - 1, alternative=side))


def measure_wilcoxon(rng: Rng, runs: int, n: int, digits: int) -> Shares:
    """Differences of row losses, rounded so that some are 0 or tied: the signed rank test."""
    rows = np.round(rng.exponential(size=(runs, n)) - rng.exponential(size=(runs, n)), digits)
    sums, counts, ties = np.empty(runs), np.empty(runs), np.empty(runs)
    for i, row in enumerate(rows):
        rest = row[row != 0]
        ranks = stats.rankdata(np.abs(rest))
        equal = np.unique(np.abs(rest), return_counts=True)[1].astype(float)
        sums[i], counts[i], ties[i] = ranks[rest > 0].sum(), len(rest), (equal**3 - equal).sum()
    return measure(lambda side: apply_wilcoxon_test(sums, counts, ties, alternative=side))


def measure_mcnemar(rng: Rng, runs: int, n: int, share: float, kind: str) -> Shares:
    """Two classifiers that err equally often: McNemar's test in a form, and Tango's interval."""
    wins, losses, _ = rng.multinomial(n, [share / 2, share / 2, 1 - share], runs).T
    if kind == "exact":
        return measure(lambda side: apply_exact_mcnemar_test(wins, losses, n, alternative=side))
    options = {"correction": kind == "corrected"}
    return measure(lambda side: apply_mcnemar_test(wins, losses, n, alternative=side, **options))


def measure_margin(rng: Rng, runs: int, kind: str, stderr: float) -> Shares:
    """A difference at the margin: the tests of non-inferiority and of equivalence."""
    difference = rng.normal(-0.02, stderr, runs)
    test = apply_noninferiority_test if kind == "noninferiority" else apply_equivalence_test
    return Shares(float(reject(test(difference, stderr, 0.02).p_value).mean()))


# -- replicates --------------------------------------------------------------------------------


def measure_bootstrap(rng: Rng, runs: int, n: int, is_skewed: bool = False) -> Shares:
    """Mean of differences of losses: how often the percentile interval of 999 replicates misses it.

    The rows of 100 data sets at a time are resampled by the same counts.
    """
    missed: list[Array] = []
    for _ in range(min(runs, 10_000) // 100):
        rows = rng.exponential(size=(100, n))
        rows -= 1 if is_skewed else rng.exponential(size=(100, n))
        interval = find_pointwise_band(rng.multinomial(n, np.full(n, 1 / n), 999) / n @ rows.T)
        missed.append((interval.low > 0) | (interval.high < 0))
    share = float(np.mean(missed))
    return Shares(share, interval=share)


def measure_band(rng: Rng, runs: int, n: int) -> Shares:
    """A curve of 20 correlated means: how often the simultaneous band misses a point of it."""
    runs = min(runs, 4000)
    missed = 0
    for _ in range(runs):
        rows = rng.normal(size=(n, 20))
        for i in range(1, 20):
            rows[:, i] = 0.8 * rows[:, i - 1] + 0.6 * rows[:, i]
        replicates = rng.multinomial(n, np.full(n, 1 / n), 499) / n @ rows
        band = find_simultaneous_band(replicates, rows.mean(axis=0))
        missed += bool(((band.low > 0) | (band.high < 0)).any())
    return Shares(missed / runs, interval=missed / runs)


# -- several data sets, folds, tests -----------------------------------------------------------


def measure_folds(rng: Rng, runs: int, splits: int, folds: int = 0) -> Shares:
    """Two learners of equally useful features, tested on random tenths of 100 rows, or on folds.

    Either learner predicts the label by a regression on its own feature.
    """
    runs = min(runs, 5000)
    label = rng.normal(size=(runs, 100))
    first, second = (label + rng.normal(size=(runs, 100)) for _ in range(2))
    differences = np.empty((splits, runs))
    for i in range(splits):
        if not folds:
            test = rng.permutation(100) < 10
        elif i % folds == 0:
            fold = rng.permutation(100) % folds
        if folds:
            test = fold == i % folds
        losses = []
        for feature in (first, second):
            x, y = feature[:, ~test], label[:, ~test]
            slope = (x * y).sum(axis=1) / (x * x).sum(axis=1)
            losses.append((label[:, test] - slope[:, np.newaxis] * feature[:, test]) ** 2)
        differences[i] = (losses[0] - losses[1]).mean(axis=1)
    ratio = 1 / (folds - 1) if folds else 1 / 9
    return measure(lambda side: apply_corrected_t_test(differences, ratio, alternative=side))


def measure_ranks(rng: Rng, runs: int, blocks: int, models: int, kind: str) -> Shares:
    """Equal models over data sets of different difficulty."""
    values = rng.normal(size=(blocks, runs, models)) + rng.normal(size=(blocks, runs, 1))
    ranks = rank_models(values)
    if kind == "nemenyi":
        p_value = apply_nemenyi_test(ranks).p_value
        above = np.triu_indices(models, k=1)
        return Shares(float(reject(p_value[:, *above]).any(axis=-1).mean()))
    if kind == "baseline":
        p_value = apply_baseline_rank_test(ranks, 0).p_value[:, 1]
    else:
        p_value = apply_friedman_test(ranks).p_value
    return Shares(float(reject(p_value).mean()))


def measure_adjusted(rng: Rng, runs: int, tests: int, method: str) -> Shares:
    """Independent tests without an effect: how often any rejects after adjustment."""
    frame = pl.DataFrame({"run": np.repeat(np.arange(runs), tests), "p": rng.random(runs * tests)})
    adjusted = frame.select("run", p=adjust_p_values(pl.col("p"), method).over("run"))
    return Shares(float(reject(adjusted.group_by("run").min()["p"].to_numpy()).mean()))


CASES = (
    Case("DeLong, paired", "200 rows, 30 %", lambda r, n: measure_delong(r, n, 60, 140)),
    Case("DeLong, paired", "200 rows, 10 %", lambda r, n: measure_delong(r, n, 20, 180)),
    Case("DeLong, paired", "20 + 20 rows", lambda r, n: measure_delong(r, n, 20, 20)),
    Case("DeLong, paired", "200 rows, ties", lambda r, n: measure_delong(r, n, 60, 140, 0)),
    Case("paired t", "losses of 30 rows", lambda r, n: measure_t(r, n, 30)),
    Case("paired t", "losses of 300 rows", lambda r, n: measure_t(r, n, 300)),
    Case("Wilcoxon", "losses of 20 rows", lambda r, n: measure_wilcoxon(r, n, 20, 15)),
    Case("Wilcoxon", "losses of 100 rows, ties", lambda r, n: measure_wilcoxon(r, n, 100, 1)),
    Case("McNemar, plain", "1,000 rows, 10 % discordant",
         lambda r, n: measure_mcnemar(r, n, 1000, 0.1, "plain")),
    Case("McNemar, corrected", "1,000 rows, 10 % discordant",
         lambda r, n: measure_mcnemar(r, n, 1000, 0.1, "corrected"), CAUTIOUS),
    Case("McNemar, exact", "1,000 rows, 10 % discordant",
         lambda r, n: measure_mcnemar(r, n, 1000, 0.1, "exact"), CAUTIOUS),
    Case("McNemar, plain", "100 rows, 15 % discordant",
         lambda r, n: measure_mcnemar(r, n, 100, 0.15, "plain")),
    Case("McNemar, exact", "100 rows, 15 % discordant",
         lambda r, n: measure_mcnemar(r, n, 100, 0.15, "exact"), CAUTIOUS),
    Case("non-inferiority", "difference at the margin",
         lambda r, n: measure_margin(r, n, "noninferiority", 0.01)),
    Case("equivalence", "margin of 4 standard errors",
         lambda r, n: measure_margin(r, n, "equivalence", 0.005)),
    Case("equivalence", "margin of 1.5 standard errors",
         lambda r, n: measure_margin(r, n, "equivalence", 0.02 / 1.5), CAUTIOUS),
    Case("bootstrap, percentile", "losses of 100 rows", lambda r, n: measure_bootstrap(r, n, 100)),
    Case("bootstrap, percentile", "100 very skewed rows",
         lambda r, n: measure_bootstrap(r, n, 100, True), EAGER),
    Case("bootstrap, percentile", "1,000 very skewed rows",
         lambda r, n: measure_bootstrap(r, n, 1000, True)),
    Case("simultaneous band", "20 points, 200 rows", lambda r, n: measure_band(r, n, 200)),
    Case("corrected t", "15 random splits, 9 : 1", lambda r, n: measure_folds(r, n, 15)),
    Case("corrected t", "100 random splits, 9 : 1", lambda r, n: measure_folds(r, n, 100)),
    *(Case("corrected t", f"{folds} folds", lambda r, n, folds=folds: measure_folds(
        r, n, folds, folds), CAUTIOUS) for folds in (2, 3, 5, 10)),
    Case("corrected t", "3 repeats of 5 folds", lambda r, n: measure_folds(r, n, 15, 5), CAUTIOUS),
    Case("Friedman, chi-square", "20 data sets, 4 models",
         lambda r, n: measure_ranks(r, n, 20, 4, "chi-square")),
    Case("Nemenyi, any pair", "20 data sets, 4 models",
         lambda r, n: measure_ranks(r, n, 20, 4, "nemenyi"), CAUTIOUS),
    Case("ranks against a baseline", "20 data sets, 4 models",
         lambda r, n: measure_ranks(r, n, 20, 4, "baseline")),
    *(Case(f"{method}, any of 20 tests", "independent tests",
           lambda r, n, method=method: measure_adjusted(r, n, 20, method))
      for method in ("holm", "benjamini_hochberg", "bonferroni")),
)  # fmt: skip


def main() -> int:
    """Print the table; return 1 if a test deviates unexpectedly."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20_000)
    runs = parser.parse_args().runs
    print("| test | data | two-sided | greater | less | interval misses | |")
    print("| --- | --- | ---: | ---: | ---: | ---: | --- |")
    deviations = 0
    for number, case in enumerate(CASES):
        shares = case.measure(np.random.default_rng(number), runs)
        share = shares.two_sided
        remark = CAUTIOUS if share < 0.04 else EAGER if share > 0.06 else ""
        deviations += remark not in ("", case.known)
        cells = ["" if share is None else f"{share:.1%}".replace("%", " %") for share in shares]
        print(f"| {case.test} | {case.data} | {' | '.join(cells)} | {remark} |", flush=True)
    return int(deviations > 0)


if __name__ == "__main__":
    sys.exit(main())
