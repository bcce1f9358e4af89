"""One case per metric, and the data sets on which each is compared with its reference.

The cases of a family of metrics lie in `tests.support.families`.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from sklearn.metrics import f1_score, multilabel_confusion_matrix, precision_score, recall_score
from statsmodels.stats.weightstats import DescrStatsW

import sqleval
from sqleval.catalog import builtin

from . import references as ref
from .case import (
    ROLES,
    Case,
    Data,
    Kind,
    Reference,
    Rows,
    decided,
    header_function,
    rows_of,
    scored,
)
from .families import FAMILIES

__all__ = ["ROLES", "Case", "Data", "Kind", "Reference", "Rows", "rows_of"]


@cache
def ranked(name: str) -> Reference:
    """Compare 0/1 labels with the order of the scores; scikit-learn refuses infinite ones."""
    call = header_function(name)

    @cache  # the averages over classes use the same rows
    def reference(rows: Rows) -> float | None:
        if not has_both(rows):
            return None
        return call(rows.label, ref.places(rows)[1], sample_weight=rows.weight)

    return reference


def has_both(rows: Rows) -> bool:
    """Whether there are positives and negatives; otherwise scikit-learn warns or gives 0."""
    return len(np.unique(rows.label)) == 2


@cache
def average_precision(rows: Rows) -> float | None:
    if not (rows.label == 1).any():
        return None
    place = ref.places(rows)[1]
    return header_function("average_precision")(rows.label, place, sample_weight=rows.weight)


@cache
def ks(rows: Rows) -> float | None:
    if not has_both(rows):
        return None
    positive, negative = rows.label == 1, rows.label == 0
    if (rows.weight % 1 == 0).all():
        counts = rows.weight.astype(int)
        one = np.repeat(rows.score[positive], counts[positive])
        other = np.repeat(rows.score[negative], counts[negative])
        return header_function("ks")(one, other, method="asymp").statistic
    # SciPy takes no weights; this is the definition.
    weight, above = rows.weight, rows.score >= np.unique(rows.score)[:, None]
    tpr = (above * weight * positive).sum(axis=1) / weight[positive].sum()
    fpr = (above * weight * negative).sum(axis=1) / weight[negative].sum()
    return np.abs(tpr - fpr).max()


def rank_sum(rows: Rows) -> float | None:
    if not has_both(rows):
        return None
    if (rows.weight % 1 != 0).any():
        return ranked("roc_auc")(rows)  # SciPy takes no weights, and part of a row has no rank
    counts = rows.weight.astype(int)
    positive, negative = rows.label == 1, rows.label == 0
    one = np.repeat(rows.score[positive], counts[positive])
    other = np.repeat(rows.score[negative], counts[negative])
    test = header_function("roc_auc_rank_sum")(one, other, method="asymptotic")
    return test.statistic / (len(one) * len(other))


def false_positive_rate(rows: Rows) -> float | None:
    if not (rows.label == 0).any():
        return None
    call = header_function("false_positive_rate")
    tns, fps, _, _, thresholds = call(rows.label, rows.prediction, sample_weight=rows.weight)
    at = np.flatnonzero(thresholds >= 1)
    # No threshold of 1 means that nothing is predicted positive.
    return fps[at[-1]] / (fps[at[-1]] + tns[at[-1]]) if len(at) else 0.0


def jaccard(rows: Rows) -> float | None:
    # This function of scikit-learn cannot give NaN for 0/0.
    return decided("jaccard")(rows) if (rows.label | rows.prediction).any() else None


def matthews(rows: Rows) -> float | None:
    # scikit-learn gives 0 for 0/0.
    if len(np.unique(rows.label)) < 2 or len(np.unique(rows.prediction)) < 2:
        return None
    return decided("matthews_corrcoef")(rows)


def prevalence(rows: Rows) -> float:
    return header_function("prevalence")(rows.label, weights=rows.weight)


def macro_of_means(rows: Rows) -> float | None:
    # Sokolova and Lapalme (2009), table 3.
    precision = decided(precision_score, average="macro", zero_division=np.nan)(rows) or 0.0
    recall = decided(recall_score, average="macro", zero_division=np.nan)(rows) or 0.0
    return 2 * precision * recall / (precision + recall) if precision + recall > 0 else None


def ndcg(k: int | None = None) -> Reference:
    def one(label: np.ndarray, score: np.ndarray) -> float:
        if not label.any():
            return np.nan  # scikit-learn says 0
        if len(label) == 1:
            return 1.0  # scikit-learn refuses a list of one
        return header_function("ndcg")([label], [score], k=k)

    def reference(rows: Rows) -> float | None:
        lists = [rows.query == query for query in np.unique(rows.query)]
        values = np.array([one(rows.label[at], rows.score[at]) for at in lists])
        return values[~np.isnan(values)].mean() if not np.isnan(values).all() else None

    return reference


#: Rates from the four counts of a class against the others, as (successes, trials).
RATES: Mapping[str, Callable[..., tuple[float, float]]] = {
    "specificity": lambda tn, fp, fn, tp: (tn, tn + fp),
    "false_positive_rate": lambda tn, fp, fn, tp: (fp, tn + fp),
    "negative_predictive_value": lambda tn, fp, fn, tp: (tn, tn + fn),
}


def mean(values: np.ndarray, weights: np.ndarray) -> float | None:
    """Return the mean over the classes where the value is defined."""
    known = ~np.isnan(values)
    return np.average(values[known], weights=weights[known]) if weights[known].sum() else None


@cache
def count_each_class(rows: Rows) -> np.ndarray:
    """Return the four counts of each class against the others."""
    return multilabel_confusion_matrix(
        rows.label, rows.prediction, sample_weight=rows.weight, labels=rows.classes
    ).reshape(-1, 4)


def rate(name: str, average: str) -> Reference:
    """Average a rate that scikit-learn does not average, from its confusion matrices."""

    def reference(rows: Rows) -> float | None:
        counts = count_each_class(rows)
        if average == "micro":
            successes, trials = RATES[name](*counts.sum(axis=0))
            return successes / trials if trials > 1e-9 * rows.weight.sum() else None
        rates = [RATES[name](*four) for four in counts]
        # With real weights an empty count is a difference with rounding errors.
        least = 1e-9 * rows.weight.sum()
        values = np.array([s / t if t > least else np.nan for s, t in rates])
        support = counts[:, 2] + counts[:, 3]
        return mean(values, support if average == "weighted" else np.ones(len(values)))

    return reference


@cache
def split_by_class(rows: Rows) -> list[Rows]:
    """Return the rows of each class against the others."""
    return [
        Rows((rows.label == name).astype(int), rows.score[:, i], *[rows.weight] * 3)
        for i, name in enumerate(rows.classes)
    ]


def one_vs_rest(reference: Reference, average: str) -> Reference:
    """Average the binary reference over classes; scikit-learn's ovr wants every class to occur."""

    def averaged(rows: Rows) -> float | None:
        binary = split_by_class(rows)
        if average == "micro":
            label, score, weight = (
                np.concatenate([getattr(each, part) for each in binary])
                for part in ("label", "score", "weight")
            )
            return reference(Rows(label, score, weight, weight, weight))
        values = [reference(each) for each in binary]
        support = np.array([each.weight[each.label == 1].sum() for each in binary])
        return mean(
            np.array([np.nan if value is None else value for value in values]),
            support if average == "weighted" else np.ones(len(values)),
        )

    return averaged


def averaged(rows: Rows) -> float | None:
    """Return the weighted mean of the values."""
    return np.average(rows.score, weights=rows.weight) if rows.score.size else None


def is_zero_or_one(rows: Rows) -> bool:
    """Whether all values are 0 or 1."""
    return bool(np.isin(rows.score, (0, 1)).all())


def quantile(q: float) -> Reference:
    """Return the reference of a quantile: without weights NumPy's, with weights statsmodels'."""

    def reference(rows: Rows) -> float | None:
        if not rows.score.size:
            return None
        if (rows.weight == 1).all():
            return np.quantile(rows.score, q, method="averaged_inverted_cdf")
        return DescrStatsW(rows.score, weights=rows.weight).quantile([q]).iloc[0]

    return reference


NAN: Mapping[str, Any] = {"zero_division": np.nan}
#: imbalanced-learn is not a dependency; the specificity is the recall of the other class.
SPECIFICITY = decided(recall_score, pos_label=0, **NAN)

#: Costs of predicting one class for another; mistaking c costs nothing.
MATRIX = {
    "a": {"b": 1, "c": 4}, "b": {"a": 2, "c": 0.5}, "c": {"a": 0, "b": 0},
}  # fmt: skip


def weighted_sum_of_squares(rows: Rows) -> float:
    """Return the integral on a grid whose weights are p(x) dx."""
    return np.dot(rows.weight, (rows.prediction - rows.label) ** 2)


CASES: list[Case] = [
    # Binary: decisions at a threshold.
    Case("precision", "binary", decided("precision", **NAN)),
    Case("precision(threshold=0.3)", "binary", decided("precision", **NAN), threshold=0.3),
    Case("recall", "binary", decided("recall", **NAN)),
    Case("recall(threshold=0.7)", "binary", decided("recall", **NAN), threshold=0.7),
    Case("f1", "binary", decided("f1", **NAN)),
    Case("f_beta", "binary", decided("f_beta", beta=1, **NAN)),
    Case("f_beta(beta=2)", "binary", decided("f_beta", beta=2, **NAN)),
    Case("f_beta(beta=0.5, threshold=0.3)", "binary", decided("f_beta", beta=0.5, **NAN), 0.3),
    Case("jaccard", "binary", jaccard),
    Case("specificity", "binary", SPECIFICITY),
    Case("false_positive_rate", "binary", false_positive_rate),
    Case("negative_predictive_value", "binary", decided(precision_score, pos_label=0, **NAN)),
    Case("prevalence", "binary", prevalence),
    # Binary: the order of the scores.
    Case("roc_auc", "binary", ranked("roc_auc")),
    Case("roc_auc_pairs", "binary", ranked("roc_auc_pairs")),
    Case("roc_auc_trapezoid", "binary", ranked("roc_auc_trapezoid")),
    Case("roc_auc_rank_sum", "binary", rank_sum),
    Case("average_precision", "binary", average_precision),
    Case("ks", "binary", ks),
    Case("rank_loss", "binary", ref.rank_loss),
    Case("gini", "binary", ref.gini),
    Case("partial_roc_auc", "binary", ref.partial_roc_auc(0.1)),
    Case("partial_roc_auc(max_fpr=0.35)", "binary", ref.partial_roc_auc(0.35)),
    Case("partial_roc_auc(max_fpr=1.0)", "binary", ref.partial_roc_auc(1.0)),
    Case("pr_auc_trapezoid", "binary", ref.pr_auc_trapezoid),
    # SciPy's quad is the reference; it promises 1e-9 here.
    Case("pr_auc_interpolated", "binary", ref.pr_auc_interpolated, tolerance=1e-9),
    Case("break_even_point", "binary", ref.break_even_point),
    # Precision and recall, and costs.
    Case("fowlkes_mallows", "binary", ref.fowlkes_mallows),
    Case("precision_recall_mean", "binary", ref.precision_recall_mean),
    Case("youden_j", "binary", ref.youden_j),
    Case("youden_j(threshold=0.3)", "binary", ref.youden_j, threshold=0.3),
    Case("roc_distance", "binary", ref.roc_distance),
    Case("equal_error_rate", "binary", ref.equal_error_rate),
    *(
        Case(f"{name}({given})", "binary", getattr(ref, name)(*costs))
        for name in (
            "cost_sensitive_error_rate",
            "cost_sensitive_accuracy",
            "cost_sensitive_precision",
        )
        for given, costs in (
            ("", (1, 1)),
            ("cost_fn=5", (5, 1)),
            ("cost_fn=2, cost_fp=7.5", (2, 7.5)),
        )
    ),
    Case("cost_sensitive_recall(cost_fn=5)", "binary", ref.cost_sensitive_recall(5, 1)),
    *(
        Case(f"{name}({given})", "binary", getattr(ref, name)(*costs))
        for name in (
            "expected_cost",
            "normalized_expected_cost",
            "best_expected_cost",
            "best_expected_cost_threshold",
        )
        for given, costs in (
            ("", (1, 1)),
            ("cost_fn=5", (5, 1)),
            ("cost_fn=5, cost_fp=2, prior=0.25", (5, 2, 0.25)),
        )
    ),
    Case("cost_curve_area", "binary", ref.cost_curve_area),
    Case(
        "misclassification_cost(cost_matrix={1: {0: 5}, 0: {1: 2}})",
        "binary",
        ref.misclassification_cost({1: {0: 5}, 0: {1: 2}}),
    ),
    Case(
        "misclassification_cost(cost_matrix={1: {0: 5}})",
        "binary",
        ref.misclassification_cost({1: {0: 5}}),
    ),
    # Thresholds.
    *(
        Case(f"{name}({given})", "binary", getattr(ref, name)(beta))
        for name in ("best_f_beta", "best_f_beta_threshold")
        for given, beta in (("", 1), ("beta=2", 2), ("beta=0.5", 0.5))
    ),
    *(
        Case(name, "binary", getattr(ref, name))
        for name in (
            "best_accuracy",
            "best_accuracy_threshold",
            "best_youden_j",
            "best_youden_j_threshold",
            "break_even_threshold",
        )
    ),
    *(
        Case(f"{name}({given})", "binary", getattr(ref, name)(least))
        for name, option in (
            ("precision_at_recall", "recall"),
            ("precision_at_recall_threshold", "recall"),
            ("recall_at_precision", "precision"),
            ("recall_at_precision_threshold", "precision"),
        )
        for given, least in (("", 0.8), (f"{option}=0.5", 0.5), (f"{option}=1.0", 1.0))
    ),
    # Probabilities.
    *(
        Case(f"expected_calibration_error({given})", "binary", ref.expected_calibration_error(*how))
        for given, how in (
            ("", (10, "uniform")),
            ("bins=5", (5, "uniform")),
            ("strategy='quantile'", (10, "quantile")),
            ("bins=5, strategy='quantile'", (5, "quantile")),
        )
    ),
    Case("pcoc", "binary", ref.pcoc),
    *(
        Case(f"{name}({given})", "binary", getattr(ref, name)(bins))
        for name in ("brier_reliability", "brier_resolution")
        for given, bins in (("", None), ("bins=10", 10), ("bins=3", 3))
    ),
    Case("brier_uncertainty", "binary", ref.brier_uncertainty),
    Case("normalized_entropy", "binary", ref.normalized_entropy),
    # Classification, two classes.
    Case("accuracy", "binary", decided("accuracy")),
    Case("accuracy(normalize=False)", "binary", decided("accuracy", normalize=False)),
    Case("error_rate(normalize=False)", "binary", decided("error_rate", normalize=False)),
    Case("accuracy(threshold=0.3)", "binary", decided("accuracy"), threshold=0.3),
    Case("error_rate", "binary", decided("error_rate")),
    Case("balanced_accuracy", "binary", decided("balanced_accuracy")),
    Case("cohen_kappa", "binary", decided("cohen_kappa")),
    Case("matthews_corrcoef", "binary", matthews),
    Case("log_loss", "binary", scored("log_loss", labels=[0, 1])),
    Case("brier_score", "binary", scored("brier_score", labels=[0, 1], pos_label=1)),
    Case("no_information_error_rate", "binary", ref.no_information_error_rate),
    Case("no_information_brier_score", "binary", ref.no_information_brier_score),
    # Classification, several classes.
    Case("no_information_error_rate", "multiclass", ref.no_information_error_rate),
    Case("accuracy", "multiclass", decided("accuracy")),
    Case("error_rate", "multiclass", decided("error_rate")),
    Case("balanced_accuracy", "multiclass", decided("balanced_accuracy")),
    Case("cohen_kappa", "multiclass", decided("cohen_kappa")),
    Case("matthews_corrcoef", "multiclass", matthews),
    Case("f1_macro_of_means", "multiclass", macro_of_means),
    Case("f1(average='macro_of_means')", "multiclass", macro_of_means),
    Case("f1", "multiclass", decided("f1", average="macro", **NAN)),
    Case("f1_macro", "multiclass", decided("f1", average="macro", **NAN)),
    *(
        Case(f"{name}(average={average!r})", "multiclass", decided(name, average=average, **NAN))
        for name in ("precision", "recall", "f1")
        for average in ("macro", "micro", "weighted")
    ),
    # Every class that occurs has a Jaccard score.
    *(
        Case(f"jaccard(average={average!r})", "multiclass", decided("jaccard", average=average))
        for average in ("macro", "micro", "weighted")
    ),
    *(
        Case(
            f"f_beta(average={average!r}, beta=2)",
            "multiclass",
            decided("f_beta", average=average, beta=2, **NAN),
        )
        for average in ("macro", "micro", "weighted")
    ),
    *(
        Case(f"{name}(average={average!r})", "multiclass", rate(name, average))
        for name in RATES
        for average in ("macro", "micro", "weighted")
    ),
    *(
        Case(
            f"{name}(average={average!r}, multi_class='ovo')",
            "multiclass",
            ref.one_vs_one(ref.from_counts(function, **NAN), average),
        )
        for name, function in (
            ("precision", precision_score),
            ("recall", recall_score),
            ("f1", f1_score),
        )
        for average in ("macro", "micro", "weighted")
    ),
    Case(
        "f1_macro(zero_division=0)", "multiclass", decided("f1", average="macro", zero_division=0)
    ),
    Case(
        "precision(average='macro', zero_division=1)",
        "multiclass",
        decided("precision", average="macro", zero_division=1),
    ),
    Case(
        f"misclassification_cost(cost_matrix={MATRIX!r})",
        "multiclass",
        ref.misclassification_cost(MATRIX),
    ),
    # One probability per class; the prediction is the class with the largest.
    Case("log_loss", "probabilities", scored("log_loss", labels=["a", "b", "c"])),
    Case("brier_score", "probabilities", scored("brier_score", labels=["a", "b", "c"])),
    Case("accuracy", "probabilities", decided("accuracy")),
    Case("matthews_corrcoef", "probabilities", matthews),
    Case("f1_macro", "probabilities", decided("f1", average="macro", **NAN)),
    *(
        Case(f"{name}(average={average!r})", "probabilities", one_vs_rest(reference, average))
        for name, reference in (
            ("roc_auc", ranked("roc_auc")),
            ("average_precision", average_precision),
            ("ks", ks),
            ("prevalence", prevalence),
        )
        for average in ("macro", "micro", "weighted")
    ),
    *(
        Case(
            f"roc_auc(average={average!r}, multi_class='ovo')",
            "probabilities",
            ref.one_vs_one_scored(ranked("roc_auc"), average),
        )
        for average in ("macro", "micro", "weighted")
    ),
    Case(
        "roc_auc_ovo_weighted",
        "probabilities",
        ref.one_vs_one_scored(ranked("roc_auc"), "weighted"),
    ),
    *(
        Case(name, "probabilities", one_vs_rest(reference, "macro"))
        for name, reference in (
            ("best_f_beta(beta=2)", ref.best_f_beta(2)),
            ("break_even_point", ref.break_even_point),
            ("equal_error_rate", ref.equal_error_rate),
            ("cost_curve_area", ref.cost_curve_area),
            ("expected_calibration_error(bins=5)", ref.expected_calibration_error(5, "uniform")),
            ("normalized_entropy", ref.normalized_entropy),
            ("pr_auc_trapezoid", ref.pr_auc_trapezoid),
            ("best_expected_cost(cost_fn=5)", ref.best_expected_cost(5, 1)),
        )
    ),
    Case("roc_auc_pairs", "probabilities", one_vs_rest(ranked("roc_auc"), "macro")),
    Case("roc_auc_rank_sum", "probabilities", one_vs_rest(rank_sum, "macro")),
    Case("roc_auc_trapezoid", "probabilities", one_vs_rest(ranked("roc_auc"), "macro")),
    # Regression and ranking.
    Case("mae", "regression", decided("mae")),
    Case("mse", "regression", decided("mse")),
    Case("mse(normalize=False)", "regression", weighted_sum_of_squares),
    Case("rmse", "regression", decided("rmse")),
    # A column without a label.
    Case("mean", "value", averaged),
    Case("share", "value", lambda rows: averaged(rows) if is_zero_or_one(rows) else None),
    Case(
        "sum", "value", lambda rows: np.sum(rows.weight * rows.score) if rows.score.size else None
    ),
    Case("count", "value", lambda rows: np.sum(rows.weight) if rows.score.size else None),
    Case("median", "value", quantile(0.5)),
    *(Case(f"quantile(q={q})", "value", quantile(q)) for q in (0, 0.1, 0.25, 0.9, 1)),
    Case("ndcg", "ranking", ndcg()),
    Case("ndcg(k=3)", "ranking", ndcg(3)),
    Case("ndcg(k=1)", "ranking", ndcg(1)),
    *(case for family in FAMILIES for case in family.CASES),
]


def about(case: Case) -> tuple[str, str, bool]:
    """Return a key of cases that differ only in parameters and share their files."""
    return case.kind, case.name, "ovo" in case.metric


def has_twins(case: Case) -> bool:
    """Whether a twin of the metric's file may replace it without ci=.

    The twin for intervals is used only with ci=, and has tests in test_intervals.py.
    """
    files = builtin().files(case.name)
    return any(file.when and "intervals" not in file.when for file in files)


def drawn(kind: Kind, n: int = 120, seed: int = 0) -> pl.DataFrame:
    """Return random rows of a kind with every column that a data set may use."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, n)
    letters = np.array(["a", "b", "c"])
    classes = rng.integers(0, 3, n)
    columns: dict[str, Any] = {}
    if kind == "binary":
        columns = {"y": label, "p": np.clip(rng.normal(0.4 + 0.2 * label, 0.25), 0, 1)}
    elif kind == "multiclass":
        guessed = np.where(rng.random(n) < 0.5, classes, rng.integers(0, 3, n))
        columns = {"y": letters[classes], "c": letters[guessed]}
    elif kind == "probabilities":
        mass = rng.random((n, 3)) + np.eye(3)[classes] * 0.5
        mass /= mass.sum(axis=1, keepdims=True)
        columns = {"y": letters[classes], "p_a": mass[:, 0], "p_b": mass[:, 1], "p_c": mass[:, 2]}
    elif kind == "regression":
        truth = rng.normal(10, 5, n)
        columns = {"y": truth, "v": truth + rng.normal(0, 2, n)}
    elif kind == "many labels":
        truths = rng.random((n, 3)) < [0.5, 0.3, 0.1]
        marks = np.clip(rng.normal(0.4 + 0.2 * truths, 0.25), 0, 1)
        columns = {f"y_{name}": truths[:, i].astype(int) for i, name in enumerate("abc")}
        columns |= {f"p_{name}": marks[:, i] for i, name in enumerate("abc")}
    elif kind == "value":
        columns = {"y": label, "v": rng.normal(3, 1, n).round(1)}
    else:
        relevance = rng.integers(0, 4, n)
        columns = {"y": relevance, "p": rng.normal(relevance, 2), "q": rng.integers(0, 15, n)}
        if kind == "recommendation":  # no item twice in a list
            listed = pl.DataFrame({"q": columns["q"]})
            place = pl.int_range(pl.len()).over("q")
            columns["i"] = listed.select((place * 7 + pl.col("q")) % 31).to_series()
    keys = np.array(["north", "south", None], dtype=object)
    return pl.DataFrame(
        {
            **columns,
            "count": rng.integers(0, 4, n),
            "w": rng.random(n),
            "g": pl.Series(keys[rng.integers(0, 3, n)].tolist(), dtype=pl.String),
            "h": rng.integers(1, 3, n),
        }
    )


def _any_kind(kind: Kind) -> Iterator[Data]:
    rows = drawn(kind)
    yield Data("plain", kind, rows)
    yield Data("one row", kind, rows.head(1))
    yield Data("no rows", kind, rows.clear())
    yield Data("no rows, by one key", kind, rows.clear(), {"by": ["g"]})
    yield Data("by one key", kind, rows, {"by": ["g"]})
    yield Data("by two keys", kind, rows, {"by": ["g", "h"]})
    yield Data("counts as weights", kind, rows, {"weight": "count"})
    yield Data("real weights", kind, rows, {"weight": "w"})
    yield Data("weights and keys", kind, rows, {"weight": "w", "by": ["g", "h"]})
    yield Data("no weight at all", kind, rows.with_columns(count=0), {"weight": "count"})
    half = rows.with_columns(count=pl.when(g="north").then(0).otherwise("count"))
    yield Data("a slice without weight", kind, half, {"weight": "count", "by": ["g"]})
    # In a ranking, a NULL score is an item that was not retrieved.
    named = {"binary": "p", "ranking": "q", "recommendation": "q", "probabilities": "p_a",
             "regression": "v", "value": "v", "many labels": "p_a"}  # fmt: skip
    score = named.get(kind, "c")
    gaps = rows.with_columns(pl.when(g="north").then(None).otherwise(score).alias(score))
    yield Data("a slice without usable rows", kind, gaps, {"by": ["g"], "nulls": "drop"})


def _binary() -> Iterator[Data]:
    rows, p = drawn("binary"), pl.col("p")

    def data(name: str, frame: pl.DataFrame, outside: bool = False, **options: Any) -> Data:
        return Data(name, "binary", frame, options, outside)

    yield data("ties", rows.with_columns(p.round(1)))
    yield data("heavy ties", rows.with_columns((p * 2).round() / 2))
    yield data("heavy ties and weights", rows.with_columns((p * 2).round() / 2), weight="w")
    yield data("heavy ties by key", rows.with_columns((p * 2).round() / 2), by=["g", "h"])
    yield data("constant scores", rows.with_columns(p=pl.lit(0.5)))
    yield data("nothing predicted positive", rows.with_columns(p * 0.4))
    yield data("only positives", rows.with_columns(y=1))
    yield data("only negatives", rows.with_columns(y=0))
    yield data("one negative row", rows.filter(y=0).head(1))
    yield data("one positive row", rows.filter(y=1).head(1))
    yield data("one class a slice", rows.with_columns(y=pl.col("h") - 1), by=["h"])
    yield data("right", rows.with_columns(p=pl.col("y").cast(float)))
    yield data("wrong", rows.with_columns(p=1.0 - pl.col("y")))
    yield data("FLOAT scores", rows.with_columns(p.cast(pl.Float32)))
    # 0.7 as FLOAT is below 0.7, and 0.3 above it: the score's type decides the prediction.
    tenths = rows.with_columns(p.round(1).cast(pl.Float32))
    yield data("FLOAT tenths", tenths)
    yield data("FLOAT tenths, threshold 0.7", tenths, threshold=0.7)
    yield data("integer scores", rows.with_columns((p * 6).cast(int)), outside=True, threshold=3)
    infinite = rows.with_columns(
        p=pl.when(p < 0.1).then(-np.inf).when(p > 0.9).then(np.inf).otherwise(p)
    )
    yield data("infinite scores", infinite, outside=True, threshold=0.5)
    yield data("infinite and weighted", infinite, outside=True, threshold=0.5, weight="w")
    zeros = pl.when(p < 0.3).then(-0.0).when(p < 0.6).then(0.0).otherwise(p)
    yield data("zeros of both signs", rows.with_columns(p=zeros))
    yield data("boolean labels", rows.with_columns(pl.col("y") == 1))
    yield data("labels -1 and 1", rows.with_columns(pl.col("y") * 2 - 1))
    words = pl.col("y").replace_strict({0: "ham", 1: "spam"})
    yield data("labels as words", rows.with_columns(words), positive="spam")
    weightless = pl.when(y=0).then(0).otherwise("count")
    yield data("negatives without weight", rows.with_columns(count=weightless), weight="count")
    weightless = pl.when(y=1).then(0).otherwise("count")
    yield data("positives without weight", rows.with_columns(count=weightless), weight="count")


def _several_classes() -> Iterator[Data]:
    rows = drawn("multiclass")

    def data(name: str, frame: pl.DataFrame, **options: Any) -> Data:
        return Data(name, "multiclass", frame, options)

    codes = {"a": 3, "b": 7, "c": -1}
    yield data("integer classes", rows.with_columns(pl.col("y", "c").replace_strict(codes)))
    yield data("one class", rows.with_columns(y=pl.lit("a"), c=pl.lit("a")))
    yield data("one label", rows.with_columns(y=pl.lit("a")))
    yield data("one prediction", rows.with_columns(c=pl.lit("b")))
    yield data("a class never predicted", rows.with_columns(pl.col("c").replace("c", "a")))
    yield data("a class never true", rows.with_columns(pl.col("y").replace("c", "a")))
    yield data("right", rows.with_columns(c="y"))
    yield data("wrong", rows.with_columns(c=pl.col("y").replace({"a": "b", "b": "c", "c": "a"})))
    # Sums of real weights in another order differ in the last digit, but 0/0 must stay undefined.
    many = drawn("multiclass", 400).with_columns(y=(pl.col("w") * 1e6).cast(int) % 11)
    yield data("11 classes", many.with_columns(c=(pl.col("y") * 5 + pl.col("h")) % 11))
    yield data("one prediction, real weights", many.with_columns(c=3), weight="w")
    yield data("one label, real weights", many.with_columns(c="y", y=3), weight="w")
    yield data("right, real weights", many.with_columns(c="y"), weight="w")
    yield data("one class, real weights", many.with_columns(c=3, y=3), weight="w")
    yield data("wrong, real weights", many.with_columns(c=pl.col("y") + 1), weight="w")


def _probabilities() -> Iterator[Data]:
    rows, scores = drawn("probabilities"), pl.col("p_a", "p_b", "p_c")

    def data(name: str, frame: pl.DataFrame, **options: Any) -> Data:
        return Data(name, "probabilities", frame, options)

    yield data("ties", rows.with_columns(p_a=0.5, p_b=0.25, p_c=0.25))
    yield data("constant", rows.with_columns(scores * 0 + 1 / 3))
    yield data("FLOAT", rows.with_columns(scores.cast(pl.Float32)))
    yield data("one class", rows.with_columns(y=pl.lit("b")))
    yield data("a class never true", rows.with_columns(pl.col("y").replace("c", "a")))


def _other() -> Iterator[Data]:
    rows, p = drawn("ranking"), pl.col("p")
    yield Data("ties", "ranking", rows.with_columns(p.round()))
    yield Data("constant", "ranking", rows.with_columns(p=0.0))
    yield Data("nothing relevant", "ranking", rows.with_columns(y=0))
    yield Data("nothing relevant in some", "ranking", rows.with_columns(y=pl.col("y") // 3))
    yield Data("one query", "ranking", rows.with_columns(q=1))
    yield Data("one item a query", "ranking", rows.with_columns(q=pl.int_range(pl.len())))
    yield Data("queries named", "ranking", rows.with_columns(pl.col("q").cast(pl.String)))
    yield Data("real relevance", "ranking", rows.with_columns(y=pl.col("w") * pl.col("y")))
    rows = drawn("regression")
    yield Data("right", "regression", rows.with_columns(v="y"))
    yield Data("constant", "regression", rows.with_columns(y=3.0, v=4.5))
    yield Data("large", "regression", rows.with_columns(pl.col("y", "v") * 1e9))
    yield Data("FLOAT", "regression", rows.with_columns(pl.col("v").cast(pl.Float32)))
    yield Data("integers", "regression", rows.with_columns(pl.col("y", "v").cast(int)))
    rows = drawn("value")
    yield Data("zeros and ones", "value", rows.with_columns(v="y"))
    yield Data("truth values", "value", rows.with_columns(v=pl.col("y") == 1))
    yield Data("zeros and ones, weights", "value", rows.with_columns(v="y"), {"weight": "w"})
    yield Data("zeros and ones by key", "value", rows.with_columns(v="y"), {"by": ["g", "h"]})
    yield Data("constant", "value", rows.with_columns(v=4.5))
    yield Data("large", "value", rows.with_columns(pl.col("v") * 1e9))
    yield Data("far from 0", "value", rows.with_columns(pl.col("v") + 1e6))
    yield Data("FLOAT", "value", rows.with_columns(pl.col("v").cast(pl.Float32)))
    yield Data("integers", "value", rows.with_columns(pl.col("v").cast(int)))
    yield Data("tens", "value", rows.head(100).with_columns(v=pl.int_range(pl.len())))


DATA: list[Data] = [
    *(data for kind in ROLES for data in _any_kind(kind)),
    *_binary(),
    *_several_classes(),
    *_probabilities(),
    *_other(),
    *(data for family in FAMILIES for data in family.DATA),
]


#: Data that DuckDB's optimizer treats like large inputs.
OPTIMIZED = {"plain", "weights and keys"}


#: Sets that cannot be slices of one set: labels -1 and 1; other classes, which change a mean over
#: pairs of classes; no rows with weight; and data for the optimizer.
ALONE = {
    *OPTIMIZED, "one row", "labels -1 and 1", "one class", "one class, real weights",
    "no weight at all",
}  # fmt: skip


@cache
def stacked() -> dict[Data, list[Data]]:
    """Return all data sets, combined by `stack`.

    The sets with one slice key and with ties by key are left out: other slices equal them.
    """
    return stack([data for data in DATA if data.name not in ("by one key", "heavy ties by key")])


def stack(every: list[Data]) -> dict[Data, list[Data]]:
    """Combine data sets that differ only in values and keys into one set, each as a slice.

    The result maps each set to the list of its slices, which is empty for a set that stays alone.
    A slice gives the values of its rows alone: see `test_grouped_equals_filtered`. Sets with one
    slice key and with none are among those that stay alone.
    """
    alike: dict[tuple[str, str, str], list[Data]] = {}
    for data in every:
        alone = data.name in ALONE or data.outside or data.frame.is_empty()
        options = {name: value for name, value in data.options.items() if name != "by"}
        key = (data.kind, str(options), data.name if alone else str(of_eight_bytes(data).schema))
        alike.setdefault(key, []).append(data)
    sets: dict[Data, list[Data]] = {}
    for first, *others in alike.values():
        if others:
            same = [first, *others]
            keys = sorted({key for data in same for key in data.by})
            rows = pl.concat(
                of_eight_bytes(data).with_columns(
                    pl.lit(data.name).alias("case"),
                    *(pl.lit(None).cast(data.frame.schema[key]).alias(key)
                      for key in keys if key not in data.by),
                )
                for data in same
            )  # fmt: skip
            name = f"{first.name} and {len(others)} more as slices"
            whole = Data(name, first.kind, rows, {**first.options, "by": ["case", *keys]})
            sets[whole] = same
        else:
            sets[first] = []
    return sets


def of_eight_bytes(data: Data) -> pl.DataFrame:
    """Return the rows with integers of eight bytes; Polars makes four-byte ones of literals."""
    return data.frame.cast({pl.Int32: pl.Int64})


def key_in_stack(whole: Data, part: Data, key: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the keys in the combined set of a slice of one of its data sets."""
    named = dict(zip(part.by, key, strict=True))
    return part.name, *(named.get(name) for name in whole.by[1:])


@cache
def predictions(data: Data, source: Path | None = None) -> sqleval.Predictions:
    """Bind the roles of a data set to its rows, or to a file that holds them."""
    return sqleval.scan(
        data.frame if source is None else source, **ROLES[data.kind], **data.options
    )
