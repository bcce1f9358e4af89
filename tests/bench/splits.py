"""Benchmark of ten stratified folds, written as Parquet, against scikit-learn's StratifiedKFold.

Each side is a process of its own, reads the same file and writes for each row: key, repeat, fold
and role. They take turns, equally often; the medians are compared, and the folds' sizes by class
must agree before a ratio is printed. Absolute times depend on the machine.

    python -m tests.bench.splits            10 million rows
    python -m tests.bench.splits --rows 100000000 --ours    ours alone, with its memory
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

_SKLEARN = """
import sys
import numpy as np, pyarrow as pa, pyarrow.parquet as pq
from sklearn.model_selection import StratifiedKFold
table = pq.read_table(sys.argv[1])
label = table["y"].to_numpy()
fold = np.empty(len(label), np.int64)
folds = StratifiedKFold(10, shuffle=True, random_state=0)
for i, (_, test) in enumerate(folds.split(np.zeros(len(label)), label), start=1):
    fold[test] = i
role = pa.DictionaryArray.from_arrays(pa.array(np.zeros(len(label), np.int8)), ["test"])
ones = np.ones(len(label), np.int64)
split = pa.table({"id": table["id"], "repeat": ones, "fold": fold, "role": role})
pq.write_table(split, sys.argv[2])
"""
_OPTIONS = ["--key", "id", "--method", "kfold", "--stratify", "y", "--role", "test"]


def make(path: Path, rows: int) -> Path:
    """Write keys and a label with 10 % positives."""
    rng = np.random.default_rng(20130701)
    with pq.ParquetWriter(path, pa.schema({"id": pa.int64(), "y": pa.int8()})) as writer:
        for start in range(0, rows, 10_000_000):
            n = min(10_000_000, rows - start)
            label = (rng.random(n) < 0.1).astype(np.int8)
            writer.write_table(pa.table({"id": np.arange(start, start + n), "y": label}))
    return path


def seconds(command: list[str]) -> float:
    """Return how long a process takes."""
    started = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - started


def sizes(source: Path, split: Path) -> dict[int, list[int]]:
    """Return each class's sizes of the folds, in order of size."""
    rows = pl.scan_parquet(split).join(pl.scan_parquet(source), on="id")
    counts = rows.group_by("y", "fold").len().collect(engine="streaming")
    return {y: sorted(part["len"]) for (y,), part in counts.partition_by("y", as_dict=True).items()}


def main() -> None:
    """Measure and print the ratio as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--ours", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        source = make(Path(name) / "rows.parquet", given.rows)
        ours, theirs = Path(name) / "ours.parquet", Path(name) / "theirs.parquet"
        command = [sys.executable, "-m", "sqleval", "split", str(source), *_OPTIONS]
        command += ["--output", str(ours)]
        if given.ours:
            took = seconds(command)
            peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
            print(
                json.dumps({"rows": given.rows, "seconds": round(took, 1), "peak_mb": round(peak)})
            )
            return
        peer = [sys.executable, "-c", _SKLEARN, str(source), str(theirs)]
        taken: dict[str, list[float]] = {"sqleval": [], "scikit-learn": []}
        for _ in range(given.repeats):
            taken["scikit-learn"].append(seconds(peer))
            taken["sqleval"].append(seconds(command))
        assert sizes(source, ours) == sizes(source, theirs)
        median = {side: statistics.median(times) for side, times in taken.items()}
        ratio = median["scikit-learn"] / median["sqleval"]
        print(json.dumps({"rows": given.rows, **median, "times_faster": round(ratio, 2)}))


if __name__ == "__main__":
    main()
