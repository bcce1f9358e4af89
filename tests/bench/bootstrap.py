"""The bootstrap and DeLong's paired test beside NumPy, scikit-learn and rapidstats.

`python -m tests.bench.bootstrap [ROWS]` prints processor seconds and wall time of each in one run.
Slow work of the others is timed for a few replicates and multiplied.
"""

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from typing import Any

import numpy as np
import polars as pl

import sqleval

_FEW = 5


def draw(rows: int) -> pl.DataFrame:
    """Return labels, two scores of the same rows and a cluster of about 100 rows each."""
    rng = np.random.default_rng(7)
    user = rng.integers(0, max(rows // 100, 10), rows)
    shift = rng.normal(0, 0.5, user.max() + 1)[user]
    label = (rng.random(rows) < 0.2).astype(np.int8)
    latent = rng.normal(size=rows) + label + shift
    other = latent + rng.normal(0, 0.3, rows)
    scores = {"a": 1 / (1 + np.exp(1 - latent)), "b": 1 / (1 + np.exp(1 - other))}
    return pl.DataFrame({"y": label, **scores, "user": user})


def measure(name: str, work: Callable[[], Any], times: float = 1) -> float:
    """Print the processor and wall seconds of some work, multiplied; return the processor's."""
    before, start = getrusage(RUSAGE_SELF), time.perf_counter()
    found = work()
    wall = time.perf_counter() - start
    after = getrusage(RUSAGE_SELF)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    peak = after.ru_maxrss / 1024
    extrapolated = f" (from {_FEW})" if times > 1 else ""
    print(
        f"{name:<60} {used * times:>10.1f} CPU s {wall * times:>10.1f} s, peak {peak:,.0f} MB"
        f"{extrapolated}   {found}",
        flush=True,
    )
    return used * times


def resample_rows(frame: pl.DataFrame) -> float:
    """Draw rows with replacement and call scikit-learn, a few times."""
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(1)
    label, score = frame["y"].to_numpy(), frame["a"].to_numpy()
    values = []
    for _ in range(_FEW):
        drawn = rng.integers(0, len(label), len(label))
        values.append(roc_auc_score(label[drawn], score[drawn]))
    return float(np.std(values, ddof=1))


def resample_clusters(frame: pl.DataFrame) -> float:
    """Draw whole clusters with replacement and call scikit-learn, a few times."""
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(1)
    label, score = frame["y"].to_numpy(), frame["a"].to_numpy()
    order = np.argsort(frame["user"].to_numpy(), kind="stable")
    ends = np.cumsum(np.bincount(frame["user"].to_numpy()))
    parts = np.split(order, ends[:-1])
    values = []
    for _ in range(_FEW):
        drawn = np.concatenate([parts[i] for i in rng.integers(0, len(parts), len(parts))])
        values.append(roc_auc_score(label[drawn], score[drawn]))
    return float(np.std(values, ddof=1))


def resample_by_rapidstats(frame: pl.DataFrame) -> float:
    """Let rapidstats draw a few replicates; return half of their range."""
    from rapidstats import Bootstrap

    found = Bootstrap(iterations=_FEW, confidence=0.95, seed=1).roc_auc(frame["y"], frame["a"])
    return float(found[2] - found[0]) / 2


def _rank(values: Any) -> Any:
    """Return mean ranks, ties as their mean."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    edges = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1], True])
    means = (edges[:-1] + edges[1:] + 1) / 2
    ranks = np.empty(len(values))
    ranks[order] = np.repeat(means, np.diff(edges))
    return ranks


def test_by_numpy(frame: pl.DataFrame) -> float:
    """Return DeLong's z from mean ranks, as Sun and Xu (2014) compute it."""
    label = frame["y"].to_numpy() == 1
    m, n = label.sum(), (~label).sum()
    shares = []
    for name in ("b", "a"):
        score = frame[name].to_numpy()
        among_all = _rank(score)
        positives = (among_all[label] - _rank(score[label])) / n
        negatives = 1 - (among_all[~label] - _rank(score[~label])) / m
        shares.append((positives, negatives))
    (positives, negatives), (other_positives, other_negatives) = shares
    variance = np.var(positives - other_positives, ddof=1) / m
    variance += np.var(negatives - other_negatives, ddof=1) / n
    return float((positives.mean() - other_positives.mean()) / np.sqrt(variance))


def main(rows: int) -> None:
    """Print the table."""
    frame = draw(rows)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "rows.parquet")
        small = str(Path(folder) / "million.parquet")
        frame.write_parquet(path)
        frame.head(1_000_000).write_parquet(small)
        roles: dict[str, Any] = {"label": "y", "score": "a"}

        def evaluate(**options: Any) -> float:
            row = sqleval.scan(path, **roles).evaluate("roc_auc", **options).collect()
            low, high = row["low"].item(), row["high"].item()
            return float(high - low) / 3.92 if low is not None else float("nan")

        call: dict[str, Any] = {"ci": 0.95, "ci_method": "bootstrap"}
        print(f"{rows:,} rows, standard error of the ROC AUC")
        ours = measure("sqleval, 1,000 replicates", lambda: evaluate(**call, replicates=1000))
        grouped = measure(
            "sqleval, 200 replicates of clusters",
            lambda: evaluate(**call, replicates=200, cluster="user"),
        )
        measure("sqleval, without ci", evaluate)
        both = {"label": "y", "score": {"a": "a", "b": "b"}}

        def compare() -> float:
            found = sqleval.scan(small, **both).compare("roc_auc").collect()  # type: ignore[arg-type]
            return float(found["statistic"].item())

        compare()
        tested = measure("sqleval, DeLong paired, 1,000,000 rows", compare)
        few = pl.read_parquet(small)
        test_by_numpy(few)
        other = measure("NumPy, DeLong paired, 1,000,000 rows", lambda: test_by_numpy(few))
        print(f"  ratio {other / tested:.1f}")
        rival = measure(
            "rapidstats, 1,000 replicates", lambda: resample_by_rapidstats(frame), 1000 / _FEW
        )
        print(f"  ratio {rival / ours:.0f}")
        slow = measure(
            "NumPy and scikit-learn, 1,000 replicates", lambda: resample_rows(frame), 1000 / _FEW
        )
        print(f"  ratio {slow / ours:.0f}")
        slow = measure(
            "NumPy and scikit-learn, 200 of clusters", lambda: resample_clusters(frame), 200 / _FEW
        )
        print(f"  ratio {slow / grouped:.0f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000)
