"""Benchmark of a 30-day window from daily states of 20 slices against the same from rows.

Each side opens what it reads and evaluates the same metrics by slice, in turn and equally often;
medians are compared, and every exact value must agree before a ratio is printed. The states of the
days are in a file each, and also in one file, as ``sqleval state merge`` writes it.

    python -m tests.bench.states                 10 million rows
    python -m tests.bench.states --rows 100000000
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import sqleval
from sqleval.states.files import write_state
from sqleval.states.merging import merge_states

SEVERAL = ["roc_auc", "average_precision", "ks", "log_loss", "brier_score", "f1", "prevalence"]
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


def compared(
    sides: dict[str, Callable[[], sqleval.Predictions]], asked: list[str], repeats: int
) -> tuple[dict[str, float], float]:
    """Return each side's median time, and the widest AUC; each side has one turn before.

    Raises
    ------
    SystemExit
        If the bounds of a state do not contain the value from the rows.
    """
    times: dict[str, list[float]] = {name: [] for name in sides}
    found: dict[str, pl.DataFrame] = {}
    for turn in range(repeats + 1):
        for name, opened in sides.items():
            start = time.perf_counter()
            found[name] = opened().evaluate(asked).collect()
            times[name] += [time.perf_counter() - start] if turn else []
    exact = found.pop("rows")
    for name, bounds in found.items():
        both = bounds.join(exact, on=["segment", "metric"], suffix="_exact")
        inside = pl.col("value_exact").is_between(pl.col("low") - 1e-12, pl.col("high") + 1e-12)
        if both.filter(inside).height != exact.height:
            raise SystemExit(f"{name} are wrong: {both.filter(~inside)}")
    auc = found["days"].filter(metric="roc_auc")
    width = float((auc["high"] - auc["low"]).max())  # type: ignore[arg-type]
    return {name: statistics.median(each) for name, each in times.items()}, width


def main() -> None:
    """Make the rows and the states of each resolution, and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--bins", type=int, nargs="*", default=[5, 7, 9, 11, 13])
    given = parser.parse_args()
    roles: dict[str, Any] = {"label": "label", "score": "score", "by": "segment"}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "rows").mkdir()
        make(folder / "rows", given.rows)
        print(f"{given.rows:,} rows, {DAYS} days, {SLICES} slices; seconds, medians")
        print("| bins | bytes a slice and day | widest AUC | metrics | rows | 30 files | faster "
              "| one file | faster |")  # fmt: skip
        for bins in given.bins:
            days, month = folder / f"states{bins}", folder / f"month{bins}.parquet"
            for day in sorted((folder / "rows").iterdir()):
                bound = sqleval.scan(day, **roles)
                made = bound.state(SEVERAL, grain="day", time="day", bins=bins)
                write_state(made.collect(), str(days / day.name))
            write_state(merge_states(days).collect(), str(month))
            size = sum(file.stat().st_size for file in days.iterdir()) / DAYS / SLICES
            for asked in (["roc_auc"], SEVERAL):
                sides: dict[str, Callable[[], sqleval.Predictions]] = {
                    "rows": lambda: sqleval.scan(folder / "rows", **roles),
                    "days": lambda days=days: sqleval.from_state(days, by="segment"),
                    "month": lambda month=month: sqleval.from_state(month, by="segment"),
                }
                taken, width = compared(sides, asked, given.repeats)
                print(f"| {bins} | {size:,.0f} | {width:.1e} | {len(asked)} | {taken['rows']:.2f} "
                      f"| {taken['days']:.4f} | {taken['rows'] / taken['days']:.0f} "
                      f"| {taken['month']:.4f} | {taken['rows'] / taken['month']:.0f} |",
                      flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
