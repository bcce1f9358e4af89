"""Computes metrics of many draws of the same rows by NumPy, checked with scikit-learn."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score


def score_draws(label: np.ndarray, score: np.ndarray, picks: np.ndarray) -> dict[str, np.ndarray]:
    """Return average precision, ROC AUC and the KS distance of each row of indices.

    scikit-learn takes some milliseconds for each draw; it is asked for the first one.
    """
    distinct, place = np.unique(-score, return_inverse=True)
    draw = np.arange(len(picks))[:, None]

    def share_above(value: int) -> tuple[np.ndarray, np.ndarray]:
        count = np.zeros((len(picks), len(distinct)))
        np.add.at(count, (draw, place[picks]), label[picks] == value)
        count = count.cumsum(axis=1)
        return count, count / count[:, -1:]

    (tp, tpr), (fp, fpr) = share_above(1), share_above(0)
    precision = tp / np.maximum(tp + fp, 1)
    step, width = (np.diff(rate, axis=1, prepend=0) for rate in (tpr, fpr))
    found = {
        "average_precision": (step * precision).sum(axis=1),
        "roc_auc": (width * (tpr - step / 2)).sum(axis=1),
        "ks": np.abs(tpr - fpr).max(axis=1),
    }
    one = picks[0]
    for name, function in (
        ("average_precision", average_precision_score), ("roc_auc", roc_auc_score),
    ):  # fmt: skip
        assert found[name][0] == pytest.approx(function(label[one], score[one]))
    return found
