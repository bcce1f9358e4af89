"""Sampling weights: how often intervals contain the true value, and tests find a difference.

    python -m tests.bench.weights                      1,000 sets of each kind
    python -m tests.bench.weights --sets 200 --tests   the tests of `compare` alone

Weights are exponential or lognormal and independent of the rows; or a negative counts as much as
20 positives, as after sampling of negatives (the truth is the weighted population's value). Each
share has its Monte Carlo error, in brackets.
"""

import argparse
from collections.abc import Callable

import numpy as np
import polars as pl
from scipy.stats import norm

import sqleval

from .coverage import POINTS, draw_binary

METRICS = [
    "roc_auc", "accuracy", "precision", "log_loss", "f1", "brier_score", "average_precision",
    "matthews_corrcoef", "normalized_entropy", "pcoc",
]  # fmt: skip
SIZES = (200, 2_000)
Weigh = Callable[[np.random.Generator, np.ndarray], np.ndarray]
WEIGHTS: dict[str, Weigh] = {
    "exponential": lambda rng, label: rng.exponential(size=label.size),
    "lognormal(1)": lambda rng, label: rng.lognormal(size=label.size),
    "by class": lambda rng, label: np.where(label == 1, 0.05, 1.0),
}
COMPARED = ["roc_auc", "accuracy", "log_loss", "f1", "brier_score"]
#: The number of sets that share their draws of replicates.
AT_ONCE = 20


def describe(share: float, sets: int) -> str:
    """Return a share in percent with its Monte Carlo error."""
    error = (share * (1 - share) / max(sets, 1)) ** 0.5
    return f"{100 * share:.1f} ({100 * error:.1f})"


def measure_coverage(weigh: Weigh, n: int, sets: int, seed: int) -> dict[str, str]:
    """Return the share of sets whose interval of 95 % contains the true value, by metric."""
    rng = np.random.default_rng(seed)
    population = draw_binary(POINTS["continuous"], 0.5)._replace(metrics=METRICS)
    mass = population.share * weigh(rng, population.rows["y"].to_numpy())
    by_class = len(np.unique(mass)) == 2
    truth = population._replace(share=mass if by_class else population.share).truth()
    row = rng.choice(len(population.share), sets * n, p=population.share / population.share.sum())
    frame = population.rows[row]
    frame = frame.with_columns(
        w=weigh(rng, frame["y"].to_numpy()), set=np.repeat(np.arange(sets), n)
    )
    data = sqleval.scan(frame, **population.roles, weight="w", by="set")
    found = data.evaluate(METRICS, ci=0.95).collect()
    cells: dict[str, str] = {}
    for name in METRICS:
        known = found.filter(pl.col("low").is_not_null(), metric=name)
        inside = (known["low"] <= truth[name]) & (known["high"] >= truth[name])
        cells[name] = describe(inside.sum() / known.height, known.height)
        warned = known["note"].str.contains("few rows").fill_null(value=False).mean()
        cells[name] = f"[{cells[name]}]" if warned > 0.5 else cells[name]
    return cells


def measure_tests(weigh: Weigh, n: int, sets: int, seed: int) -> dict[str, str]:
    """Return the share of sets in which two equally good models differ at 5 %, by metric."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, sets * n)
    signal = norm.ppf(0.85) * 2**0.5 * label + 0.8 * rng.standard_normal(sets * n)
    models = {
        name: 1 / (1 + np.exp(-(signal + 0.6 * rng.standard_normal(sets * n) - 0.7) * 1.2))
        for name in ("a", "b")
    }
    frame = pl.DataFrame({"y": label, **models, "w": weigh(rng, label)})
    frame = frame.with_columns(set=np.repeat(np.arange(sets), n))
    parts: list[pl.DataFrame] = []
    for first in range(0, sets, AT_ONCE):
        part = frame.filter(pl.col("set").is_between(first, first + AT_ONCE - 1))
        score = {name: name for name in models}
        data = sqleval.scan(part, label="y", score=score, weight="w", by="set")
        parts.append(data.compare(COMPARED, replicates=200, seed=first, adjust="none").collect())
    found = pl.concat(parts)
    return {
        name: describe((found.filter(metric=name)["p_value"] <= 0.05).sum() / sets, sets)
        for name in COMPARED
    }


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tests", action="store_true", help="measure tests, not intervals")
    parser.add_argument("--rows", type=int, nargs="+", default=SIZES)
    parser.add_argument("--weights", choices=list(WEIGHTS), nargs="+", default=list(WEIGHTS))
    options = parser.parse_args()
    measure = measure_tests if options.tests else measure_coverage
    names = COMPARED if options.tests else METRICS
    print(f"| weights, rows | {' | '.join(names)} |\n| --- |{' ---: |' * len(names)}")
    for kind in options.weights:
        for n in options.rows:
            cells = measure(WEIGHTS[kind], n, options.sets, options.seed)
            print(f"| {kind}, {n:,} | {' | '.join(cells.values())} |", flush=True)


if __name__ == "__main__":
    main()
