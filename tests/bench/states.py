"""A window of 30 days from daily states of 20 slices beside the same from rows; and their size.

Each side evaluates the same metrics by slice, in turn and equally often; medians are compared, and
every exact value must agree before a ratio is printed.

    python -m tests.bench.states                 10 million rows
    python -m tests.bench.states --rows 100000000
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

import sqleval

METRICS = ["roc_auc", "average_precision", "ks", "log_loss", "brier_score", "f1", "prevalence"]
DAYS, SLICES = 30, 20


def make(folder: Path, rows: int) -> None:
    """Write a file a day."""
    rng = np.random.default_rng(20130701)
    for day in range(DAYS):
        n = rows // DAYS
        label = (rng.random(n) < 0.1).astype(np.int8)
        score = 1 / (1 + np.exp(-(rng.standard_normal(n) + 1.5 * label - 2)))
        segment = rng.integers(0, SLICES, n).astype(np.int16)
        frame = pl.DataFrame({"label": label, "score": score, "segment": segment})
        days = pl.date(2026, 7, 1) + pl.duration(days=day)
        frame.with_columns(day=days).write_parquet(folder / f"{day:02}.parquet")


def seconds(call: Callable[[], pl.DataFrame], repeats: int) -> tuple[float, pl.DataFrame]:
    """Return the median time of a call, and what it returned."""
    times: list[float] = []
    found = pl.DataFrame()
    for _ in range(repeats):
        start = time.perf_counter()
        found = call()
        times.append(time.perf_counter() - start)
    return statistics.median(times), found


def main() -> None:
    """Make the rows and the states of each resolution, and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--bins", type=int, nargs="*", default=[5, 7, 9, 11, 13])
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "rows").mkdir()
        make(folder / "rows", given.rows)
        roles = {"label": "label", "score": "score", "by": "segment"}
        rows = sqleval.scan(folder / "rows", **roles)
        slow, exact = seconds(lambda: rows.evaluate(METRICS).collect(), given.repeats)
        print(f"{given.rows:,} rows, {DAYS} days, {SLICES} slices: from the rows {slow:.2f} s")
        print("| bins | bytes a slice and day | widest AUC | from states | times faster | built |")
        for bins in given.bins:
            states = folder / f"states{bins}"
            states.mkdir()
            start = time.perf_counter()
            for day in sorted((folder / "rows").iterdir()):
                bound = sqleval.scan(day, **roles)
                made = bound.state(METRICS, grain="day", time="day", bins=bins).collect()
                made.write_parquet(states / day.name)
            built = time.perf_counter() - start
            size = sum(file.stat().st_size for file in states.iterdir()) / DAYS / SLICES

            def from_states(states: Path = states) -> pl.DataFrame:
                return sqleval.from_state(states, by="segment").evaluate(METRICS).collect()

            fast, found = seconds(from_states, given.repeats)
            both = found.join(exact, on=["segment", "metric"], suffix="_exact")
            wrong = both.filter(~pl.col("value_exact").is_between(
                pl.col("low") - 1e-12, pl.col("high") + 1e-12))  # fmt: skip
            if both.height != exact.height or wrong.height:
                raise SystemExit(f"the states are wrong: {wrong}")
            auc = found.filter(metric="roc_auc")
            width = float((auc["high"] - auc["low"]).max())  # type: ignore[arg-type]
            print(f"| {bins} | {size:,.0f} | {width:.1e} | {fast:.3f} s | {slow / fast:.0f} "
                  f"| {built:.1f} s |")  # fmt: skip


if __name__ == "__main__":
    main()
