"""Processor time of metrics of many labels beside scikit-learn.

``python -m tests.bench.many_labels`` prints it.

The input of sqleval is a table of Arrow with lists; scikit-learn gets arrays, whose conversion is
timed by itself.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn import metrics as sk

import sqleval

METRICS = [
    "label_ranking_average_precision", "coverage_error", "label_ranking_loss", "f1_micro",
    "f1_macro", "f1_samples", "hamming_loss",
]  # fmt: skip


def make_table(rows: int, labels: int) -> pa.Table:
    """Return lists of labels, of which a tenth is true, and of scores with three decimals."""
    rng = np.random.default_rng(0)
    truth = (rng.random(rows * labels) < 0.1).astype(np.int8)
    scores = np.round(rng.random(rows * labels), 3)
    ends = pa.array(np.arange(0, rows * labels + 1, labels, dtype=np.int32))
    lists = {"y": truth, "p": scores}
    return pa.table(
        {name: pa.ListArray.from_arrays(ends, pa.array(each)) for name, each in lists.items()}
    )


def measure(function: Callable[[], Any]) -> tuple[float, Any]:
    """Return the processor time of a call, and its result."""
    start = time.process_time()
    result = function()
    return time.process_time() - start, result


def evaluate(table: pa.Table) -> list[float]:
    """Return the metrics by sqleval."""
    classes = list(range(len(table["y"][0])))
    scan = sqleval.scan(table, label="y", score="p", classes=classes, task="multilabel")
    return scan.evaluate(METRICS).collect()["value"].to_list()


def convert(table: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    """Return labels and scores as arrays."""
    labels = len(table["y"][0])
    arrays = [table[name].combine_chunks().flatten().to_numpy() for name in ("y", "p")]
    return arrays[0].reshape(-1, labels).astype(int), arrays[1].reshape(-1, labels)


def evaluate_by_scikit_learn(labels: np.ndarray, scores: np.ndarray) -> list[float]:
    """Return the metrics by scikit-learn."""
    decided = (scores >= 0.5).astype(int)
    return [
        sk.label_ranking_average_precision_score(labels, scores),
        sk.coverage_error(labels, scores),
        sk.label_ranking_loss(labels, scores),
        *(
            sk.f1_score(labels, decided, average=average, zero_division=0)
            for average in ("micro", "macro", "samples")
        ),
        sk.hamming_loss(labels, decided),
    ]


def main() -> None:
    """Print the processor time of both, and their largest difference."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--labels", type=int, default=20)
    options = parser.parse_args()
    table = make_table(options.rows, options.labels)
    evaluate(table.slice(0, 10))  # the first call starts the engine
    ours, values = measure(lambda: evaluate(table))
    conversion, arrays = measure(lambda: convert(table))
    theirs, wanted = measure(lambda: evaluate_by_scikit_learn(*arrays))
    difference = max(abs(one - other) for one, other in zip(values, wanted, strict=True))
    print(
        f"sqleval {ours:.2f} s, scikit-learn {theirs:.2f} s (arrays {conversion:.2f} s): ", end=""
    )
    print(f"ratio {theirs / ours:.1f}, largest difference {difference:.1e}")


if __name__ == "__main__":
    main()
