"""Benchmark against scikit-learn: the same values from the same Parquet file, in one run.

Both sides read the file and are repeated equally often, in turn; the best of each is compared,
and every value must agree before a ratio is printed. Absolute times depend on the machine.

    python -m tests.bench.peers            everything, 10 million rows
    python -m tests.bench.peers --rows 1000000
    python -m tests.bench.peers --cpu      processor time of all threads; warm calls alone

`python -m tests.bench` measures the other libraries, each in a process of its own.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn import metrics as sk

import sqleval
from sqleval.catalog import request

Values = dict[str, float]

_COLD_SKLEARN = """
import pandas as pd
from sklearn.metrics import roc_auc_score
rows = pd.read_parquet({path!r})
print(roc_auc_score(rows["label"], rows["score"]), flush=True)
"""
_COLD_SQLEVAL = """
import sqleval
auc = sqleval.scan({path!r}, label="label", score="score").evaluate("roc_auc")
print(auc.collect()["value"][0], flush=True)
"""


def make(path: Path, rows: int, digits: int | None = None) -> Path:
    """Write rows with 10 % positives; scores rounded to ``digits`` repeat."""
    rng = np.random.default_rng(20130701)
    label = (rng.random(rows) < 0.1).astype(np.int8)
    score = 1 / (1 + np.exp(-(2 * rng.standard_normal(rows) + 1.2 * label - 2)))
    if digits is not None:
        score = score.round(digits)
    pq.write_table(pa.table({"label": label, "score": score}), path)
    return path


def by_sklearn(path: Path, names: list[str]) -> Values:
    """Read with PyArrow, the fastest way into scikit-learn, and call its functions."""
    table = pq.read_table(path)
    label, score = table["label"].to_numpy(), table["score"].to_numpy()
    decided = score >= 0.5

    def ks() -> float:
        fpr, tpr, _ = sk.roc_curve(label, score)
        return float(np.max(np.abs(tpr - fpr)))

    calls: dict[str, Callable[[], float]] = {
        "roc_auc": lambda: sk.roc_auc_score(label, score),
        "average_precision": lambda: sk.average_precision_score(label, score),
        "ks": ks,
        "log_loss": lambda: sk.log_loss(label, score),
        "brier_score": lambda: sk.brier_score_loss(label, score),
        "accuracy": lambda: sk.accuracy_score(label, decided),
        "balanced_accuracy": lambda: sk.balanced_accuracy_score(label, decided),
        "precision": lambda: sk.precision_score(label, decided),
        "recall": lambda: sk.recall_score(label, decided),
        "f1": lambda: sk.f1_score(label, decided),
        "matthews_corrcoef": lambda: sk.matthews_corrcoef(label, decided),
        "prevalence": lambda: label.mean(),
    }
    return {name: float(calls[name]()) for name in names}


def by_sqleval(path: Path, names: list[str]) -> Values:
    """Scan, evaluate, collect."""
    result = sqleval.scan(path, label="label", score="score").evaluate(names).collect()
    return dict(result.select("metric", "value").iter_rows())


#: The clock of warm calls: wall time, or the processor time of this process.
_clock: list[Callable[[], float]] = [time.perf_counter]


def seconds(call: Callable[[], object]) -> float:
    """Time one call."""
    start = _clock[0]()
    call()
    return _clock[0]() - start


def report(what: str, times: list[tuple[float, float]]) -> None:
    """Print the best of both sides, and the ratios of the best and of the medians."""
    theirs, ours = (sorted(side) for side in zip(*times, strict=True))
    middle = theirs[len(times) // 2] / ours[len(times) // 2]
    print(
        f"{what:72} scikit-learn {theirs[0]:8.4f} s  sqleval {ours[0]:8.4f} s"
        f"  ratio of best {theirs[0] / ours[0]:5.2f}, of medians {middle:5.2f}"
    )


def compare(
    what: str, ours: Callable[[], object], theirs: Callable[[], object], repeats: int
) -> None:
    """Time both sides in turn."""
    report(what, [(seconds(theirs), seconds(ours)) for _ in range(repeats)])


def agreeing(path: Path, names: list[str]) -> tuple[Callable[[], Values], Callable[[], Values]]:
    """Return both sides, once they have given the same values."""
    ours, theirs = by_sqleval(path, names), by_sklearn(path, names)
    for name in names:
        if abs(ours[name] - theirs[name]) > 1e-12:
            raise SystemExit(f"{name} differs on {path.name}: {ours[name]!r}, {theirs[name]!r}")
    return lambda: by_sqleval(path, names), lambda: by_sklearn(path, names)


def first_value(code: str, path: Path) -> float:
    """Time a fresh process from its start until it has printed its first value."""
    command = [sys.executable, "-c", code.format(path=str(path))]
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        elapsed = time.perf_counter() - start
    if process.returncode or not line:
        raise SystemExit(f"the process failed: {code}")
    return elapsed


def compare_starts(path: Path, size: int, repeats: int) -> None:
    """Compare fresh processes, by what each prints first."""
    times = [
        (first_value(_COLD_SKLEARN, path), first_value(_COLD_SQLEVAL, path)) for _ in range(repeats)
    ]
    report(f"{size:,} rows, from process start: roc_auc", times)


def main() -> None:
    """Run every comparison."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--cpu", action="store_true")
    given = parser.parse_args()
    what = "processor time" if given.cpu else "wall time"
    print(f"{what}, polars {pl.__version__}; best of {given.repeats} each, in turn")
    if given.cpu:
        _clock[0] = time.process_time
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        distinct = make(base / "distinct.parquet", given.rows)
        few = make(base / "few.parquet", given.rows, digits=4)
        ranked = ["roc_auc", "average_precision", "ks"]
        default = [expected.name for expected in request.parse_all(None, "binary", True)]
        rows = f"{given.rows:,} rows"
        for path, names, what in (
            (distinct, ["roc_auc"], f"{rows}, distinct scores: roc_auc"),
            (distinct, ranked, f"{rows}, distinct scores: {', '.join(ranked)}"),
            (distinct, default, f"{rows}, distinct scores: the {len(default)} default metrics"),
            (few, ["roc_auc"], f"{rows}, 10,000 distinct scores: roc_auc"),
            (few, ranked, f"{rows}, 10,000 distinct scores: {', '.join(ranked)}"),
        ):
            compare(what, *agreeing(path, names), given.repeats)
        for size in (1_000, 100_000):
            path = make(base / f"{size}.parquet", size)
            compare(f"{size:,} rows, warm: roc_auc", *agreeing(path, ["roc_auc"]), 30)
            if not given.cpu:
                compare_starts(path, size, max(given.repeats, 9))


if __name__ == "__main__":
    main()
