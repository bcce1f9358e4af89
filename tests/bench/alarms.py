"""Simulate false alarms and detected drops of nightly gates on the AUC.

Rows have normal scores (the positives shifted), so that the true AUC is known; each night and slice
has its AUC with DeLong's interval, and `sqleval.jobs.judging.judge` judges them as in a job. Prints
Markdown tables.

    python -m tests.bench.alarms             three years a table; about eight minutes
    python -m tests.bench.alarms --years 1
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from scipy import stats

from sqleval.history.duckdb import DuckDB
from sqleval.history.store import RESULTS
from sqleval.jobs.file.model import Job
from sqleval.jobs.judging.judge import judge_gates
from sqleval.jobs.past import read_past

Array = np.ndarray[Any, Any]
Rng = np.random.Generator
Z = stats.norm.ppf(0.975)
#: Nights before the counted ones; the first of them are the fixed baseline.
BEFORE, YEAR = 90, 365
FIRST = date(2025, 1, 1)
AUC = 0.8
#: Scores sorted at once.
CHUNK = 4_000_000

GATES: dict[str, dict[str, Any]] = {
    "`drop(roc_auc, previous 7) < 0.05`": {"check": "drop(roc_auc, previous 7) < 0.05"},
    "the same, `in_a_row: 3`": {"check": "drop(roc_auc, previous 7) < 0.05", "in_a_row": 3},
    "the same, `on: high`": {"check": "drop(roc_auc, previous 7) < 0.05", "on": "high"},
    "`worse(roc_auc, previous 28) < 0.01`": {"check": "worse(roc_auc, previous 28) < 0.01"},
    "`worse(roc_auc, previous 56) < 0.01`": {"check": "worse(roc_auc, previous 56) < 0.01"},
    "`worse(roc_auc, baseline) < 0.01`, 90 days": {"check": "worse(roc_auc, baseline) < 0.01"},
}
WORSE = [name for name in GATES if "worse" in name]


class Setting(NamedTuple):
    """The rows of a night, and the variation of the true AUCs between nights.

    Attributes
    ----------
    slices, rows : int
        Slices, and rows of each a night.
    prevalence : float
        The share of positives.
    variation : float
        The standard deviation of the logit of the true AUC between nights.
    correlation : float
        The correlation of neighbouring nights.
    """

    slices: int
    rows: int
    prevalence: float = 0.2
    variation: float = 0.0
    correlation: float = 0.0


def simulate_truth(rng: Rng, setting: Setting, nights: int) -> Array:
    """Return true AUCs by slice and night."""
    noise = rng.standard_normal((setting.slices, nights))
    rho = setting.correlation
    for t in range(1, nights):
        noise[:, t] = rho * noise[:, t - 1] + np.sqrt(1 - rho * rho) * noise[:, t]
    return 1 / (1 + (1 - AUC) / AUC * np.exp(-setting.variation * noise))


def simulate_aucs(rng: Rng, truth: Array, setting: Setting) -> tuple[Array, Array]:
    """Return AUCs of simulated rows, and their standard errors by DeLong's method."""
    positives = round(setting.rows * setting.prevalence)
    negatives = setting.rows - positives
    shifts = np.sqrt(2) * stats.norm.ppf(truth.ravel())
    values, errors = np.empty_like(shifts), np.empty_like(shifts)
    step = max(1, CHUNK // setting.rows)
    for start in range(0, len(shifts), step):
        here = slice(start, start + step)
        scores = rng.standard_normal((len(shifts[here]), setting.rows), dtype=np.float32)
        scores[:, :positives] += shifts[here, None].astype(np.float32)
        is_positive = np.argsort(scores, axis=1) < positives
        below = np.where(is_positive, np.cumsum(~is_positive, axis=1), 0) / negatives
        above = np.where(is_positive, 0, positives - np.cumsum(is_positive, axis=1)) / positives
        auc = below.sum(axis=1) / positives
        first = ((below**2).sum(axis=1) - positives * auc**2) / (positives - 1) / positives
        second = ((above**2).sum(axis=1) - negatives * auc**2) / (negatives - 1) / negatives
        values[here], errors[here] = auc, np.sqrt(first + second)
    return values, errors


def write_history(rng: Rng, truth: Array, setting: Setting) -> pl.DataFrame:
    """Return the history of a job with these true AUCs."""
    values, errors = simulate_aucs(rng, truth, setting)
    nights = [str(FIRST + timedelta(days=t)) for t in range(truth.shape[1])]
    logit, step = np.log(values / (1 - values)), Z * errors / (values * (1 - values))
    rows = pl.DataFrame(
        {
            "slice": [f'{{"s":"{i}"}}' for i in range(setting.slices) for _ in nights],
            "period": nights * setting.slices,
            "value": values,
            "low": 1 / (1 + np.exp(step - logit)),
            "high": 1 / (1 + np.exp(-step - logit)),
        }
    )
    same = {
        "job": "simulated", "metric": "roc_auc", "n": setting.rows, "n_dropped": 0,
        "definition": "same", "method": "delong, logit",
    }  # fmt: skip
    rows = rows.with_columns(**{name: pl.lit(value) for name, value in same.items()})
    return rows.select(
        (pl.col(name) if name in rows.columns else pl.lit(None)).cast(kind).alias(name)
        for name, kind in RESULTS.items()
    )


def find_failures(history: pl.DataFrame, gate: dict[str, Any]) -> pl.DataFrame:
    """Return the verdicts of a gate that failed after the nights before."""
    job = Job.model_validate(
        {
            "name": "simulated", "source": "-", "label": "y", "score": "p", "by": ["s"],
            "period": {"column": "day"}, "history": "h.duckdb", "ci": 0.95, "missing": "ignore",
            "baseline": {"from": str(FIRST), "to": str(FIRST + timedelta(days=BEFORE - 1))},
            "gates": [{"undefined": "ignore", **gate}],
        }
    )  # fmt: skip
    periods = history["period"].unique().sort().to_list()
    with tempfile.TemporaryDirectory() as folder:
        store = DuckDB(f"{folder}/history.duckdb")
        store.replace(job.name, periods, history, None)
        as_of = datetime(2027, 1, 1, tzinfo=UTC)
        judged = judge_gates(job, read_past(job, store), periods, periods, as_of)
    start = str(FIRST + timedelta(days=BEFORE))
    return judged.verdicts.filter(pl.col("period") >= start, status="failed")


def count_false_alarms(
    rng: Rng, setting: Setting, gates: Sequence[str], years: int
) -> Iterator[tuple[float, float]]:
    """Yield for each gate the false alarms a year (slices that begin to fail) and red nights."""
    counts = np.zeros((len(gates), 2))
    for _ in range(years):
        truth = simulate_truth(rng, setting, BEFORE + YEAR)
        history = write_history(rng, truth, setting)
        for i, name in enumerate(gates):
            failed = find_failures(history, GATES[name])
            begins = failed.select("slice", "since").unique().height
            counts[i] += begins, failed["period"].n_unique()
    yield from (counts / years).tolist()


def find_changes(
    rng: Rng, setting: Setting, gates: Sequence[str], changes: Array, runs: int
) -> Iterator[Array]:
    """Yield for each gate after how many nights the changed slices fail; NaN if they do not.

    The AUC of a tenth of the slices falls by ``changes`` on the counted nights. Each of these
    slices counts by itself.
    """
    changed = setting.slices // 10
    nights = np.full((len(gates), runs * changed), np.nan)
    for run in range(runs):
        truth = simulate_truth(rng, setting, BEFORE + len(changes))
        truth[:changed, BEFORE:] -= changes
        history = write_history(rng, truth, setting)
        for i, name in enumerate(gates):
            firsts = (
                find_failures(history, GATES[name]).group_by("slice").agg(pl.col("period").min())
            )
            found = dict(firsts.iter_rows())
            for j in range(changed):
                if (period := found.get(f'{{"s":"{j}"}}')) is not None:
                    day = (date.fromisoformat(period) - FIRST).days
                    nights[i, run * changed + j] = day - BEFORE + 1
    yield from nights


def print_table(
    rng: Rng, setting: Setting, gates: Sequence[str], drops: Sequence[float], years: int
) -> None:
    """Print false alarms, red nights and the share of drops detected within a week."""
    names = [f"a drop of {drop:g} found within a week" for drop in drops]
    print(f"| {' | '.join(['gate', 'false alarms a year', 'red nights a year', *names])} |")
    print(f"|{' --- |' * (3 + len(names))}")
    alarms = list(count_false_alarms(rng, setting, gates, years))
    shares = [
        [
            float((each <= 7).mean())
            for each in find_changes(rng, setting, gates, np.full(7, drop), 3)
        ]
        for drop in drops
    ]
    for i, name in enumerate(gates):
        cells = [f"{alarms[i][0]:,.1f}", f"{alarms[i][1]:,.1f}", *(f"{s[i]:.0%}" for s in shares)]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    print(flush=True)


def print_drift(rng: Rng, setting: Setting, step: float, nights: int) -> None:
    """Print how soon a slow drift is detected."""
    print("| gate | found within the time | nights until half are found | AUC lost by then |")
    print("| --- | --- | --- | --- |")
    drift = step * np.arange(1, nights + 1)
    for name, found in zip(WORSE, find_changes(rng, setting, WORSE, drift, 1), strict=True):
        half = float(np.median(np.nan_to_num(found, nan=np.inf)))
        cells = [f"{np.isfinite(found).mean():.0%}"]
        cells += [f"{half:.0f}", f"{step * half:.3f}"] if np.isfinite(half) else ["-", "-"]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    print(flush=True)


def main(arguments: Sequence[str]) -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.alarms")
    parser.add_argument("--years", type=int, default=3, help="simulated years a table")
    years = parser.parse_args(arguments).years
    rng = np.random.default_rng(2026)
    small, large = Setting(200, 274), Setting(500, 2000)
    print("200 slices of 274 rows a night, 20 % positive, true AUC 0.80:\n")
    print_table(rng, small, list(GATES), [0.08], years)
    print("500 slices of 2,000 rows:\n")
    print_table(rng, large, WORSE, [0.03], years)
    print("200 slices of 274 rows, whose true AUC varies by about 0.016 from night to night:\n")
    print_table(rng, small._replace(variation=0.1), list(GATES), [0.08], years)
    print("The same variation, with a correlation of 0.6 between neighbouring nights:\n")
    varying = small._replace(variation=0.1, correlation=0.6)
    print_table(rng, varying, WORSE, [0.08], years)
    print("500 slices of 2,000 rows; the AUC of a slice falls by 0.0005 a night for 120 nights:\n")
    print_drift(rng, large, 0.0005, 120)


if __name__ == "__main__":
    main(sys.argv[1:])
