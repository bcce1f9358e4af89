"""Cases and data sets of many labels."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import polars as pl
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    brier_score_loss,
    f1_score,
    fbeta_score,
    jaccard_score,
    log_loss,
    matthews_corrcoef,
    precision_score,
    recall_score,
    roc_auc_score,
)

from tests.support.case import Case, Data, Reference, Rows, header_function

AVERAGES = ("macro", "micro", "weighted", "samples")


def counted(function: Callable[..., Any], average: str, **fixed: Any) -> Reference:
    """Average a metric of decisions; an undefined row counts 0, an undefined label not at all."""
    undefined = 0 if average == "samples" else np.nan
    fixed = {"average": average, "zero_division": undefined, **fixed}

    def reference(rows: Rows) -> float | None:
        if average == "weighted" and not rows.label.any():
            return None  # scikit-learn gives 0
        return function(rows.label, rows.prediction, sample_weight=rows.weight, **fixed)

    return reference


def jaccard(average: str) -> Reference:
    """Average the Jaccard index; scikit-learn cannot leave out an undefined one."""

    def reference(rows: Rows) -> float | None:
        has_any = (rows.label | rows.prediction).any(axis=0)
        label, decided = rows.label, rows.prediction
        if average in ("macro", "weighted"):
            label, decided = label[:, has_any], decided[:, has_any]
        if not has_any.any() and average != "samples":
            return None
        if label.shape[1] == 1:
            return jaccard_score(label[:, 0], decided[:, 0], sample_weight=rows.weight)
        if average == "weighted" and not label.any():
            return None
        return jaccard_score(
            label, decided, average=average, sample_weight=rows.weight, zero_division=0
        )

    return reference


def by_label(reference: Callable[..., float | None], average: str = "macro") -> Reference:
    """Average a metric of two classes over the labels in which it is defined, or over the rows.

    ``reference`` is called with labels, predictions, scores and weights.
    """

    def averaged(rows: Rows) -> float | None:
        columns = (rows.label, rows.prediction, rows.score)
        if average == "micro":
            weight = np.repeat(rows.weight, rows.label.shape[1])
            return reference(*(each.ravel() for each in columns), weight)
        if average == "samples":
            columns, weights = tuple(each.T for each in columns), rows.weight
            values = [
                reference(*(each[:, i] for each in columns), None) for i in range(len(weights))
            ]
        else:
            count = rows.label.shape[1]
            values = [
                reference(*(each[:, i] for each in columns), rows.weight) for i in range(count)
            ]
            support = (rows.weight[:, None] * rows.label).sum(axis=0)
            weights = support if average == "weighted" else np.ones(count)
        known = np.array([np.nan if value is None else value for value in values])
        defined = ~np.isnan(known)
        total = weights[defined].sum()
        return np.average(known[defined], weights=weights[defined]) if total else None

    return averaged


def roc_auc(label: Any, _: Any, score: Any, weight: Any) -> float | None:
    both = len(np.unique(label)) == 2
    return roc_auc_score(label, score, sample_weight=weight) if both else None


def average_precision(label: Any, _: Any, score: Any, weight: Any) -> float | None:
    return average_precision_score(label, score, sample_weight=weight) if label.any() else None


def matthews(label: Any, decided: Any, _: Any, weight: Any) -> float | None:
    if len(np.unique(label)) < 2 or len(np.unique(decided)) < 2:
        return None
    return matthews_corrcoef(label, decided, sample_weight=weight)


def ranked(name: str) -> Reference:
    """Compare the labels of each row with the order of their scores."""
    call = header_function(name)
    return lambda rows: call(rows.label, rows.score, sample_weight=rows.weight)


CASES: list[Case] = [
    *(
        Case(f"{name}(average={average!r})", "many labels", counted(function, average))
        for name, function in (
            ("f1", f1_score), ("precision", precision_score), ("recall", recall_score),
        )
        for average in AVERAGES
    ),
    Case("f_beta(average='samples', beta=2)", "many labels",
         counted(fbeta_score, "samples", beta=2)),
    Case("f1_samples", "many labels", counted(f1_score, "samples")),
    *(Case(f"jaccard(average={each!r})", "many labels", jaccard(each)) for each in AVERAGES),
    *(
        Case(f"{name}(average={average!r})", "many labels", by_label(reference, average))
        for name, reference in (("roc_auc", roc_auc), ("average_precision", average_precision))
        for average in AVERAGES
    ),
    Case("roc_auc", "many labels", by_label(roc_auc)),
    *(
        Case(f"{name}(average='macro')", "many labels", by_label(reference))
        for name, reference in (
            ("accuracy", lambda y, d, _, w: accuracy_score(y, d, sample_weight=w)),
            ("brier_score", lambda y, _, p, w: brier_score_loss(y, p, sample_weight=w)),
            ("log_loss", lambda y, _, p, w: log_loss(y, p, sample_weight=w, labels=[0, 1])),
            ("matthews_corrcoef", matthews),
        )
    ),
    Case("hamming_loss", "many labels",
         lambda rows: header_function("hamming_loss")(
             rows.label, rows.prediction, sample_weight=rows.weight)),
    Case("subset_accuracy", "many labels",
         lambda rows: accuracy_score(rows.label, rows.prediction, sample_weight=rows.weight)),
    *(
        Case(name, "many labels", ranked(name))
        for name in ("label_ranking_average_precision", "coverage_error", "label_ranking_loss")
    ),
]  # fmt: skip


def _draw(n: int = 120) -> pl.DataFrame:
    rng = np.random.default_rng(57)
    labels = rng.random((n, 3)) < [0.5, 0.3, 0.1]
    scores = np.clip(rng.normal(0.4 + 0.2 * labels, 0.25), 0, 1)
    columns: dict[str, Any] = {f"y_{c}": labels[:, i].astype(int) for i, c in enumerate("abc")}
    columns |= {f"p_{c}": scores[:, i] for i, c in enumerate("abc")}
    keys = np.array(["north", "south", None], dtype=object)[rng.integers(0, 3, n)]
    columns |= {"count": rng.integers(0, 4, n), "w": rng.random(n), "h": rng.integers(1, 3, n)}
    return pl.DataFrame(columns | {"g": pl.Series(keys.tolist(), dtype=pl.String)})


def _make() -> Iterator[Data]:
    rows, labels, scores = _draw(), pl.col("^y_.$"), pl.col("^p_.$")

    def data(name: str, frame: pl.DataFrame, **options: Any) -> Data:
        return Data(name, "many labels", frame, options)

    yield data("ties", rows.with_columns(scores.round(1)))
    yield data("heavy ties", rows.with_columns((scores * 2).round() / 2))
    yield data("heavy ties and weights", rows.with_columns((scores * 2).round() / 2), weight="w")
    yield data("constant", rows.with_columns(scores * 0 + 0.5))
    yield data("no labels", rows.with_columns(labels * 0))
    yield data("all labels", rows.with_columns(labels * 0 + 1))
    yield data("no labels in a slice", rows.with_columns(labels * (pl.col("h") - 1)), by=["h"])
    yield data("a label never true", rows.with_columns(y_b=0))
    yield data("nothing predicted", rows.with_columns(scores * 0.4))
    yield data("right", rows.with_columns(p_a=pl.col("y_a") * 1.0, p_b=pl.col("y_b") * 1.0,
                                          p_c=pl.col("y_c") * 1.0))  # fmt: skip
    yield data("FLOAT tenths, threshold 0.7", rows.with_columns(scores.round(1).cast(pl.Float32)),
               threshold=0.7)  # fmt: skip
    yield data("boolean labels", rows.with_columns(labels == 1))


#: Data sets beside those that every kind has.
DATA: list[Data] = [*_make()]
