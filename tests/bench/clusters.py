"""Clusters: how often `compare` finds a difference by chance, and intervals contain the truth.

Two models are equally good, and each is better in some clusters by chance. Prints a Markdown table
with the share of data sets, in %, that `compare(metrics, cluster=...)` rejects at 5 %; with
``--coverage`` the share in which the interval of `evaluate(metrics, ci=0.95, cluster=...)` contains
the value of many clusters, in brackets where most intervals have a note.

    python -m tests.bench.clusters                  4,000 data sets a row
    python -m tests.bench.clusters --sets 200 --clusters 4 12 --test bootstrap
    python -m tests.bench.clusters --coverage --sets 1000 --clusters 12 40
"""

import argparse
from collections.abc import Sequence

import numpy as np
import polars as pl

import sqleval

METRICS = ("accuracy", "roc_auc", "log_loss", "f1", "ks")
#: Metrics of one model whose intervals are measured.
COVERED = METRICS[:4]
#: The relative sizes of the clusters, by number from 1.
SIZES = {
    "equal": lambda number: np.ones(len(number)),
    "largest 7 times the smallest": lambda number: np.exp(2 * number / len(number)),
    "1, 1/2, 1/3 ...": lambda number: 1 / number,
}
_ROWS = 30
_AT_ONCE = 100
#: The value over so many clusters counts as the true one.
_MANY = 60_000


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
    """Return the share of rejections by metric, and the share of data sets with a test."""
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


def find_truth() -> pl.DataFrame:
    """Return the metrics of very many clusters: ``metric`` and ``truth``."""
    rows = draw(np.random.default_rng(0), _MANY, "equal", 1)
    found = sqleval.scan(rows, label="y", score="a").evaluate(list(COVERED))
    return found.select("metric", truth="value").collect()


def cover(clusters: int, sizes: str, sets: int, truth: pl.DataFrame) -> pl.DataFrame:
    """Return by metric the share of intervals that contain the truth, and the share with a note."""
    rng = np.random.default_rng(clusters)
    parts = []
    for first in range(0, sets, _AT_ONCE // 4):
        rows = draw(rng, clusters, sizes, min(_AT_ONCE // 4, sets - first))
        scan = sqleval.scan(rows, label="y", score="a", by="set")
        options = {"ci": 0.95, "cluster": "cluster", "replicates": 200, "seed": first}
        parts.append(scan.evaluate(list(COVERED), **options).collect())
    found = pl.concat(parts).join(truth, on="metric")
    inside = pl.col("truth").is_between("low", "high")
    return found.group_by("metric").agg(inside.mean() * 100, pl.col("note").count() / pl.len())


def print_coverage(numbers: Sequence[int], sets: int) -> None:
    """Print the table of intervals."""
    truth = find_truth()
    print("| clusters | rows of a cluster |", *(f" `{name}` |" for name in COVERED), sep="")
    print("| ---: | --- |", *(" ---: |" for _ in COVERED), sep="")
    for sizes in SIZES:
        for clusters in numbers:
            found = cover(clusters, sizes, sets, truth)
            by_name = {name: (share, noted) for name, share, noted in found.iter_rows()}
            texts = {
                name: f"({share:.1f})" if noted > 0.5 else f"{share:.1f}"
                for name, (share, noted) in by_name.items()
            }
            cells = [f" {texts[name]} |" for name in COVERED]
            print(f"| {clusters} | {sizes} |", *cells, sep="", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=4_000)
    parser.add_argument("--clusters", type=int, nargs="+", default=[4, 8, 12, 20, 40])
    parser.add_argument("--test")
    parser.add_argument("--coverage", action="store_true", help="measure intervals")
    options = parser.parse_args()
    if options.coverage:
        print_coverage(options.clusters, options.sets)
        return
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
