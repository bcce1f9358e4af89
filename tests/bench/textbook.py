"""Benchmark of all metrics of two classes, and of ten classes, against scikit-learn, in one run.

scikit-learn's side calls the function of each metric once, and shares what its users would share:
one ROC curve, one PR curve, one table of counts and one confusion matrix serve every value that
follows from them. Both sides read the file.

    python -m tests.bench.textbook            10 million rows, and 1 million rows of 10 classes
    python -m tests.bench.textbook --rows 1000000
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy.spatial import ConvexHull
from scipy.stats import mannwhitneyu
from sklearn import metrics as sk
from sklearn.calibration import calibration_curve

import sqleval
from sqleval.catalog import builtin

Values = dict[str, float]

FAMILIES = ("binary", "calibration", "classification", "cost", "threshold")
#: Every metric of two classes that is neither quadratic nor in need of a table of costs.
BINARY = [
    relation.name
    for relation in builtin().relations("metric")
    if relation.family in FAMILIES and not relation.header.get("cost") and not relation.tables
]
CLASSES = [
    "accuracy", "matthews_corrcoef", "cohen_kappa", "log_loss", "balanced_accuracy",
    *(
        f"{name}(average={how})"
        for name in ("precision", "recall", "f1")
        for how in ("None", "'macro'")
    ),
    "roc_auc_ovr",
]  # fmt: skip


def make_binary(path: Path, rows: int) -> Path:
    """Write rows with 10 % positives and distinct scores."""
    rng = np.random.default_rng(20130701)
    label = (rng.random(rows) < 0.1).astype(np.int8)
    score = 1 / (1 + np.exp(-(2 * rng.standard_normal(rows) + 1.2 * label - 2)))
    pq.write_table(pa.table({"label": label, "score": score}), path)
    return path


def make_classes(path: Path, rows: int) -> Path:
    """Write rows with a probability for each of ten classes."""
    rng = np.random.default_rng(20130702)
    label = rng.integers(0, 10, rows)
    logits = rng.standard_normal((rows, 10)) + 1.5 * np.eye(10)[label]
    scores = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    columns = {f"p{i}": scores[:, i] for i in range(10)}
    pq.write_table(pa.table({"label": label, **columns}), path)
    return path


def decisions(label: np.ndarray, score: np.ndarray) -> Values:
    """Return the metrics of decisions at 0.5, one call a value."""
    predicted = (score >= 0.5).astype(np.int8)
    precision, recall = sk.precision_score(label, predicted), sk.recall_score(label, predicted)
    (tn, fp), (fn, tp) = sk.confusion_matrix(label, predicted)
    cost = (fn + fp) / (tn + fp + fn + tp)
    ones = np.ones(len(label))
    return {
        "precision": precision,
        "recall": recall,
        "f1": sk.f1_score(label, predicted),
        "f_beta": sk.fbeta_score(label, predicted, beta=1),
        "jaccard": sk.jaccard_score(label, predicted),
        "specificity": sk.recall_score(label, predicted, pos_label=0),
        "negative_predictive_value": sk.precision_score(label, predicted, pos_label=0),
        "false_positive_rate": fp / (fp + tn),
        "youden_j": sk.balanced_accuracy_score(label, predicted, adjusted=True),
        "fowlkes_mallows": np.sqrt(precision * recall),
        "precision_recall_mean": (precision + recall) / 2,
        "accuracy": sk.accuracy_score(label, predicted),
        "error_rate": sk.zero_one_loss(label, predicted),
        "balanced_accuracy": sk.balanced_accuracy_score(label, predicted),
        "cohen_kappa": sk.cohen_kappa_score(label, predicted),
        "matthews_corrcoef": sk.matthews_corrcoef(label, predicted),
        "prevalence": np.average(label),
        "cost_sensitive_error_rate": cost,
        "expected_cost": cost,
        "normalized_expected_cost": cost,
        "cost_sensitive_accuracy": sk.accuracy_score(label, predicted, sample_weight=ones),
        "cost_sensitive_precision": sk.precision_score(label, predicted, sample_weight=ones),
        "cost_sensitive_recall": sk.recall_score(label, predicted, sample_weight=ones),
    }


def probabilities(label: np.ndarray, score: np.ndarray) -> Values:
    """Return the metrics of the probabilities themselves."""
    observed, predicted = calibration_curve(label, score, n_bins=10)
    counts = np.bincount(np.clip(np.ceil(score * 10) - 1, 0, 9).astype(int), minlength=10)
    share = label.mean()
    _, place, rows = np.unique(score, return_inverse=True, return_counts=True)
    own = np.bincount(place, weights=label) / rows
    return {
        "log_loss": sk.log_loss(label, score),
        "normalized_entropy": 1 - sk.d2_log_loss_score(label, score),
        "brier_score": sk.brier_score_loss(label, score),
        "brier_uncertainty": sk.brier_score_loss(label, np.full(len(label), share)),
        "brier_reliability": np.mean((score - own[place]) ** 2),
        "brier_resolution": np.average((own - share) ** 2, weights=rows),
        "expected_calibration_error": np.average(
            np.abs(observed - predicted), weights=counts[counts > 0]
        ),
        "pcoc": np.average(score) / share,
    }


def ranking(label: np.ndarray, score: np.ndarray) -> Values:
    """Return the metrics of the order of the scores."""
    values: Values = {
        "roc_auc": sk.roc_auc_score(label, score),
        "partial_roc_auc": sk.roc_auc_score(label, score, max_fpr=0.1),
        "average_precision": sk.average_precision_score(label, score),
        "roc_auc_rank_sum": mannwhitneyu(
            score[label == 1], score[label == 0], method="asymptotic"
        ).statistic / (label.sum() * (len(label) - label.sum(dtype=int))),
    }  # fmt: skip
    values |= {"gini": 2 * values["roc_auc"] - 1, "rank_loss": 1 - values["roc_auc"]}
    fpr, tpr, at = sk.roc_curve(label, score, drop_intermediate=False)
    gap = tpr - fpr
    values |= {
        "roc_auc_trapezoid": sk.auc(fpr, tpr),
        "ks": np.abs(gap).max(),
        "best_youden_j": gap.max(),
        "best_youden_j_threshold": at[gap.argmax()],
    }
    hull = ConvexHull(np.column_stack([[*fpr, 1], [*tpr, 0]]))
    edge = hull.points[np.sort(hull.vertices)][:-1]
    edge = edge[np.lexsort(edge.T[::-1])]
    step = np.diff(edge, axis=0)
    x = step[:, 0] / step.sum(axis=1)
    y = edge[1:, 0] * (1 - x) + (1 - edge[1:, 1]) * x
    values["cost_curve_area"] = sk.auc([0, *x, 1], [0, *y, 0])
    precision, recall, at = sk.precision_recall_curve(label, score)
    values["pr_auc_trapezoid"] = sk.auc(recall, precision)
    f = 2 * precision * recall / np.maximum(precision + recall, 1e-300)
    reached = recall[:-1] >= 0.8
    best = np.flatnonzero(reached)[precision[:-1][reached].argmax()]
    values |= {
        "best_f_beta": f.max(),
        "best_f_beta_threshold": at[f[:-1].argmax()],
        "precision_at_recall": precision[best],
        "precision_at_recall_threshold": at[best],
    }
    reached = np.flatnonzero(precision[:-1] >= 0.8)
    best = reached[recall[reached].argmax()]
    values |= {"recall_at_precision": recall[best], "recall_at_precision_threshold": at[best]}
    _, fps, fns, tps, at = sk.confusion_matrix_at_thresholds(label, score)
    cost, even = (fns + fps) / len(label), np.flatnonzero(tps + fps >= label.sum())[0]
    values |= {
        "best_accuracy": 1 - cost.min(),
        "best_accuracy_threshold": at[cost.argmin()],
        "best_expected_cost": cost.min(),
        "best_expected_cost_threshold": at[cost.argmin()],
        "break_even_point": tps[even] / label.sum(),
        "break_even_threshold": at[even],
    }
    return values


def binary_by_sklearn(path: Path) -> Values:
    """Read with PyArrow and call scikit-learn for each value."""
    table = pq.read_table(path)
    label, score = table["label"].to_numpy(), table["score"].to_numpy()
    parts = (decisions, probabilities, ranking)
    return {name: value for part in parts for name, value in part(label, score).items()}


def binary_by_sqleval(path: Path) -> Values:
    """Evaluate all in one call."""
    result = sqleval.scan(path, label="label", score="score").evaluate(BINARY).collect()
    return dict(result.select("metric", "value").iter_rows())


def classes_by_sklearn(path: Path) -> Values:
    """Read with PyArrow and call scikit-learn for each value."""
    table = pq.read_table(path)
    label = table["label"].to_numpy()
    scores = np.column_stack([table[f"p{i}"].to_numpy() for i in range(10)])
    predicted = scores.argmax(axis=1)
    values: Values = {
        "accuracy": sk.accuracy_score(label, predicted),
        "matthews_corrcoef": sk.matthews_corrcoef(label, predicted),
        "cohen_kappa": sk.cohen_kappa_score(label, predicted),
        "log_loss": sk.log_loss(label, scores),
        "balanced_accuracy": sk.balanced_accuracy_score(label, predicted),
        "roc_auc(average='macro')": sk.roc_auc_score(label, scores, multi_class="ovr"),
    }
    for name, call in (
        ("precision", sk.precision_score),
        ("recall", sk.recall_score),
        ("f1", sk.f1_score),
    ):
        each = call(label, predicted, average=None)
        values |= {f"{name}(average=None) {i}": rate for i, rate in enumerate(each)}
        values[f"{name}(average='macro')"] = call(label, predicted, average="macro")
    return values


def classes_by_sqleval(path: Path) -> Values:
    """Evaluate all in one call."""
    scores = {i: f"p{i}" for i in range(10)}
    bound = sqleval.scan(path, label="label", score=scores, task="multiclass")
    result = bound.evaluate(CLASSES).collect()
    return {
        name if of is None else f"{name} {of}": value
        for of, name, value in result.select("class", "metric", "value").iter_rows()
    }


def timed(call: Callable[[Path], Values], path: Path) -> tuple[float, Values]:
    """Time one call, in whichever process it runs."""
    start = time.perf_counter()
    values = call(path)
    return time.perf_counter() - start, values


def race(
    what: str,
    path: Path,
    theirs: Callable[[Path], Values],
    ours: Callable[[Path], Values],
    repeats: int,
) -> None:
    """Run both sides in turn, compare every value, print the ratio of the best times.

    Each side has a process of its own, so that neither works in the other's memory.
    """
    times: dict[str, list[float]] = {"scikit-learn": [], "sqleval": []}
    values: dict[str, Values] = {}
    context = get_context("spawn")
    with (
        ProcessPoolExecutor(1, mp_context=context) as one,
        ProcessPoolExecutor(1, mp_context=context) as other,
    ):
        for _ in range(repeats):
            for side, pool, call in (("scikit-learn", one, theirs), ("sqleval", other, ours)):
                seconds, values[side] = pool.submit(timed, call, path).result()
                times[side].append(seconds)
    shared = values["scikit-learn"].keys() & values["sqleval"].keys()
    for name in sorted(shared):
        expected, got = values["scikit-learn"][name], values["sqleval"][name]
        assert abs(expected - got) <= 1e-9 * max(1.0, abs(expected)), (name, expected, got)
    alone = sorted(values["sqleval"].keys() - shared)
    best = {side: min(each) for side, each in times.items()}
    print(
        f"{what}: {len(shared)} values, scikit-learn {best['scikit-learn']:.2f} s, "
        f"sqleval {best['sqleval']:.2f} s, ratio {best['scikit-learn'] / best['sqleval']:.2f}"
        + (f"; sqleval also computes {', '.join(alone)}" if alone else "")
    )


def main() -> None:
    """Make the files and run both sides."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--class-rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=2)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = make_binary(Path(folder) / "binary.parquet", given.rows)
        race(f"{given.rows:,} rows, two classes", path, binary_by_sklearn, binary_by_sqleval,
            given.repeats)  # fmt: skip
        path = make_classes(Path(folder) / "classes.parquet", given.class_rows)
        race(f"{given.class_rows:,} rows, ten classes", path, classes_by_sklearn,
            classes_by_sqleval, given.repeats)  # fmt: skip


if __name__ == "__main__":
    main()
