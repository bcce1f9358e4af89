"""Cases and data sets of several classes."""

from itertools import permutations
from typing import Any

import numpy as np
import polars as pl
from sklearn.metrics import d2_brier_score, d2_log_loss_score, top_k_accuracy_score

from tests.support import references as ref
from tests.support.case import Case, Data, Reference, Rows, decided


def top_k_accuracy(k: int) -> Reference:
    """Return the mean of scikit-learn's value over all orders of the classes.

    scikit-learn takes tied classes in their order, so this is the expectation over tied scores.
    """

    def reference(rows: Rows) -> float | None:
        if not rows.label.size:
            return None
        names, values = rows.classes, []
        for order in map(list, permutations(range(len(names)))):
            place = np.array([order.index(np.flatnonzero(names == y)[0]) for y in rows.label])
            value = top_k_accuracy_score(
                place, rows.score[:, order], k=k, sample_weight=rows.weight,
                labels=np.arange(len(names)),
            )  # fmt: skip
            values.append(value)
        return float(np.mean(values))

    return reference


def ranked_probability_score(rows: Rows) -> float | None:
    """Epstein (1969), divided by the number of classes less 1 as in R's orf::rps."""
    if not rows.label.size:
        return None
    reached = np.cumsum(rows.score, axis=1)[:, :-1]
    passed = np.cumsum(rows.label[:, None] == rows.classes, axis=1)[:, :-1]
    losses = ((reached - passed) ** 2).sum(axis=1) / (len(rows.classes) - 1)
    return float(np.average(losses, weights=rows.weight))


def d2(function: Any) -> Reference:
    """Return a skill score of scikit-learn, which is undefined for one class of labels."""

    def reference(rows: Rows) -> float | None:
        if len(np.unique(rows.label)) < 2:
            return None
        is_binary = rows.score.ndim == 1
        labels = [0, 1] if is_binary else rows.classes
        return float(function(rows.label, rows.score, sample_weight=rows.weight, labels=labels))

    return reference


def top_label_calibration_error(bins: int, norm: str) -> Reference:
    """Guo, Pleiss, Sun and Weinberger (2017), over the bins of scikit-learn."""

    def reference(rows: Rows) -> float | None:
        if not rows.label.size:
            return None
        right = (rows.prediction == rows.label).astype(int)
        top = Rows(right, rows.score.max(axis=1), right, rows.weight, rows.weight)
        _, predicted, observed, weight = ref.calibration_curve(top, bins, "uniform").T
        gaps = np.abs(predicted - observed)
        if norm == "max":
            return float(gaps.max())
        if norm == "l2":
            return float(np.sqrt(np.average(gaps**2, weights=weight)))
        return float(np.average(gaps, weights=weight))

    return reference


def kappa(weights: str) -> Reference:
    def reference(rows: Rows) -> float | None:
        if len(rows.classes) < 2:
            return None  # scikit-learn warns of 0/0
        return decided("cohen_kappa", weights=weights)(rows)

    return reference


CASES: list[Case] = [
    *(
        Case(f"cohen_kappa(weights={weights!r})", kind, kappa(weights))
        for weights in ("linear", "quadratic")
        for kind in ("binary", "multiclass", "probabilities")
    ),
    *(Case(f"top_k_accuracy(k={k})", "probabilities", top_k_accuracy(k)) for k in (1, 2, 3)),
    Case("ranked_probability_score", "probabilities", ranked_probability_score),
    *(
        Case(name, kind, d2(function))
        for name, function in (
            ("d2_log_loss", d2_log_loss_score),
            ("brier_skill_score", d2_brier_score),
        )
        for kind in ("binary", "probabilities")
    ),
    *(
        Case(
            f"top_label_calibration_error(bins={bins}, norm={norm!r})",
            "probabilities",
            top_label_calibration_error(bins, norm),
        )
        for bins in (10, 3)
        for norm in ("l1", "l2", "max")
    ),
]
_ROWS = pl.DataFrame(
    {
        "y": ["a", "b", "c", "a", "b", "c"] * 4,
        # The true class is highest, in the middle and last; scores tie in all ways.
        "p_a": [0.5, 0.25, 0.5, 0.25, 0.4, 1 / 3] * 4,
        "p_b": [0.5, 0.5, 0.25, 0.375, 0.4, 1 / 3] * 4,
        "p_c": [0.0, 0.25, 0.25, 0.375, 0.2, 1 / 3] * 4,
        "count": [0, 1, 2, 3] * 6,
        "w": [0.5, 0.25, 1.5] * 8,
        "g": ["north", "south"] * 12,
        "h": [1, 1, 1, 2, 2, 2] * 4,
    }
)
#: Data sets beside those that every kind has.
DATA: list[Data] = [
    Data("ties of the label", "probabilities", _ROWS),
    Data("ties and weights", "probabilities", _ROWS, {"weight": "w", "by": ["g"]}),
]
