"""Errors of the first kind with clusters: how often `compare` finds a difference by chance.

Two models are equally good, and each is better in some clusters by chance. Prints a Markdown table
with the share of data sets, in %, of which `compare(metrics, cluster=...)` rejects at 5 %.

    python -m tests.bench.clusters                  2,000 data sets a row
    python -m tests.bench.clusters --sets 200 --clusters 4 12 --test bootstrap
"""

import argparse

import numpy as np
import polars as pl

import sqleval

METRICS = ("accuracy", "roc_auc", "log_loss", "f1", "ks")
#: How many rows the clusters have, relative to each other, by number from 1.
SIZES = {
    "equal": lambda number: np.ones(len(number)),
    "largest 7 times the smallest": lambda number: np.exp(2 * number / len(number)),
    "1, 1/2, 1/3 ...": lambda number: 1 / number,
}
_ROWS = 30
_AT_ONCE = 100


def draw(rng: np.random.Generator, clusters: int, sizes: str, sets: int) -> pl.DataFrame:
    """Return rows of data sets with `_ROWS` rows per cluster on average, at least 3."""
    share = SIZES[sizes](np.arange(1, clusters + 1))
    counts = np.maximum(np.round(share / share.sum() * clusters * _ROWS), 3).astype(int)
    cluster = np.tile(np.repeat(np.arange(clusters), counts), sets)
    number = np.repeat(np.arange(sets), counts.sum())
    place = number * clusters + cluster
    n = len(cluster)

    def vary() -> np.ndarray:
        """Return an effect of each cluster on its rows."""
        return rng.normal(0, 0.5, sets * clusters)[place]

    label = (rng.random(n) < 1 / (1 + np.exp(0.5 - vary()))).astype(int)
    shared = 0.7 * (label + rng.normal(size=n) + vary())
    columns = {"set": number, "cluster": cluster, "y": label}
    for name in ("a", "b"):
        own = (1 + vary()) * (label - 0.5) + vary() + rng.normal(0, 0.7, n)
        columns[name] = 1 / (1 + np.exp(0.8 - shared - own))
    return pl.DataFrame(columns)


def measure(clusters: int, sizes: str, sets: int, test: str | None) -> pl.DataFrame:
    """Return the share of rejections by metric, and that of data sets with a test."""
    rng = np.random.default_rng(clusters)
    parts = []
    for first in range(0, sets, _AT_ONCE):
        rows = draw(rng, clusters, sizes, min(_AT_ONCE, sets - first))
        scan = sqleval.scan(rows, label="y", score={"a": "a", "b": "b"}, by="set")
        parts.append(
            scan.compare(list(METRICS), cluster="cluster", adjust="none", test=test, seed=first)
            .select("metric", "p_value")
            .collect()
        )
    share = pl.col("p_value") < 0.05
    return pl.concat(parts).group_by("metric").agg(share.mean() * 100, tested=share.count() / sets)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=2_000)
    parser.add_argument("--clusters", type=int, nargs="+", default=[4, 8, 12, 20, 40])
    parser.add_argument("--test")
    options = parser.parse_args()
    print("| clusters | rows of a cluster |", *(f" `{name}` |" for name in METRICS), sep="")
    print("| ---: | --- |", *(" ---: |" for _ in METRICS), sep="")
    for sizes in SIZES:
        for clusters in options.clusters:
            found = measure(clusters, sizes, options.sets, options.test)
            by_name = {name: (share, tested) for name, share, tested in found.iter_rows()}
            cells = [f" {by_name[name][0]:.1f} |" for name in METRICS]
            print(f"| {clusters} | {sizes} |", *cells, sep="", flush=True)
            if (least := found["tested"].min()) < 0.99:
                print(f"  (tests in {least:.0%} of the data sets)")


if __name__ == "__main__":
    main()
