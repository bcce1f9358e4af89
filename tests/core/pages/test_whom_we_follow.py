"""The page "Whom we follow": our values are generated, those of other libraries are tested here."""

import warnings
from importlib import import_module
from typing import Any

import pytest

from docs import generate as docs

#: Where libraries differ: the group, the matter, the columns by role, the request, the values of
#: other libraries by the expression that gives each, and whom we follow. Expressions of
#: scikit-learn and SciPy are evaluated here. The others were run once, with the versions
#: that the page names. None is NaN.
DISAGREEMENTS = (
    (
        "Regression",
        "R2 of constant labels",
        {"label": [2, 2, 2], "prediction": [1, 2, 3]},
        "r2",
        {
            "sklearn.metrics.r2_score(label, prediction)": 0.0,
            "sklearn.metrics.r2_score(label, label)": 1.0,
            "torchmetrics r2_score": 0.0,
            "Spark RegressionEvaluator": -1e999,
        },
        "R: nothing varies, so that no share of it is explained",
    ),
    (
        "Regression",
        "adjusted R2, as many features as rows less 1",
        {"label": [1, 2, 4, 4], "prediction": [1, 2, 3, 5]},
        "adjusted_r2(features=3)",
        {"torchmetrics r2_score(adjusted=3)": 0.7037},
        "the formula divides by 0; torchmetrics returns R2 without the adjustment",
    ),
    (
        "Regression",
        "percentage error of a label 0",
        {"label": [0, 2], "prediction": [1, 2]},
        "mape",
        {
            "sklearn.metrics.mean_absolute_percentage_error(label, prediction)": 2251799813685248.0,
            "torchmetrics mean_absolute_percentage_error": 427350.4,
        },
        "the definition; the others divide by a small number of their own choice",
    ),
    (
        "Regression",
        "symmetric percentage error: 0 .. 2 or 0 .. 1, and 0 / 0",
        {"label": [0, 1, 2], "prediction": [0, 3, 2]},
        "smape",
        {
            "torchmetrics symmetric_mean_absolute_percentage_error": 0.3333,
            "utilsforecast smape": 0.1667,
        },
        "torchmetrics: twice the error over the sum of both, and 0 / 0 is 0",
    ),
    (
        "Regression",
        "explained variance",
        {"label": [3, -0.5, 2, 7], "prediction": [2.5, 0, 2, 8]},
        "explained_variance",
        {
            "sklearn.metrics.explained_variance_score(label, prediction)": 0.9571734475374732,
            "Spark RegressionEvaluator(metricName='var')": 8.859375,
        },
        "scikit-learn; Spark's is the variance of the predictions around the mean label",
    ),
    (
        "Regression",
        "concordance correlation: moments divided by n or n - 1",
        {"label": [3, -0.5, 2, 7], "prediction": [2.5, 0, 2, 8]},
        "concordance_correlation",
        {"torchmetrics concordance_corrcoef": 0.9777},
        "Lin (1989): n",
    ),
    (
        "Regression",
        "correlation with constant predictions",
        {"label": [1, 2, 3], "prediction": [2, 2, 2]},
        "spearman",
        {
            "scipy.stats.spearmanr(label, prediction).statistic": None,
            "torchmetrics spearman_corrcoef": 0.0,
        },
        "SciPy: it is undefined, and not 0",
    ),
    (
        "Ranking",
        "average precision with tied scores",
        {"query": [1, 1, 1, 1], "label": [0, 1, 0, 1], "score": [1, 1, 1, 0]},
        "map",
        {
            "sklearn.metrics.average_precision_score(label, score)": 0.41666666666666663,
            "trec_eval (by name, descending)": 0.5,
            "ranx (this order of rows)": 0.5,
            "ranx (the second row first)": 0.75,
            "torchmetrics retrieval_average_precision (this order)": 0.75,
        },
        "McSherry and Najork (2008): the mean over all orders of the tied rows",
    ),
    (
        "Ranking",
        "reciprocal rank with tied scores",
        {"query": [1, 1, 1, 1], "label": [0, 1, 0, 1], "score": [1, 1, 1, 0]},
        "mrr",
        {
            "trec_eval (by name, descending)": 0.5,
            "ranx (this order of rows)": 0.5,
            "ranx (the second row first)": 1.0,
        },
        "McSherry and Najork (2008)",
    ),
    (
        "Ranking",
        "NDCG with tied scores",
        {"query": [1, 1], "label": [1, 0], "score": [1, 1]},
        "ndcg",
        {
            "sklearn.metrics.ndcg_score([label], [score])": 0.8154648767857287,
            "torchmetrics retrieval_normalized_dcg": 0.8155,
            "ranx (this order of rows)": 1.0,
            "trec_eval (by name, descending)": 0.6309,
        },
        "scikit-learn: the mean over all orders",
    ),
    (
        "Ranking",
        "NDCG of graded relevance: the gain",
        {"query": [1, 1, 1], "label": [0, 2, 3], "score": [3, 2, 1]},
        "ndcg",
        {
            "sklearn.metrics.ndcg_score([label], [score])": 0.6480409554829326,
            "trec_eval, torchmetrics, ranx ndcg": 0.6480,
            "ranx ndcg_burges": 0.6064,
        },
        "scikit-learn, trec_eval: the relevance itself; `gain='exponential'` gives the other one",
    ),
    (
        "Ranking",
        "average precision at 3: the divisor",
        {
            "query": [1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
            "label": [1, 0, 1, 0, 0, 1, 0, 0, 1, 1],
            "score": [10, 9, 8, 7, 6, 5, 4, 3, 2, 1],
        },
        "map(k=3)",
        {
            "trec_eval, ranx: all relevant items": 0.3333,
            "Spark: the smaller of k and the relevant items": 0.5556,
            "torchmetrics: the relevant items among the first k": 0.8333,
        },
        "trec_eval; `normalize='k'` gives Spark's",
    ),
    (
        "Ranking",
        "precision at 5 of a list of 3 items",
        {"query": [1, 1, 1], "label": [1, 0, 1], "score": [3, 2, 1]},
        "precision_at_k(k=5)",
        {
            "trec_eval, ranx, Spark, torchmetrics": 0.4,
            "torchmetrics (adaptive_k=True)": 0.6667,
        },
        "trec_eval: divided by k",
    ),
    (
        "Ranking",
        "a query without relevant items",
        {"query": [1, 1, 2, 2], "label": [0, 1, 0, 0], "score": [2, 1, 2, 1]},
        "map",
        {"ranx, Spark, torchmetrics: it counts 0": 0.25},
        "it says nothing about the order, and is left out with a note; `empty=0` counts it",
    ),
    (
        "Ranking",
        "scores below 0",
        {"query": [1, 1, 1], "label": [1, 0, 1], "score": [-1, -2, -3]},
        "map",
        {"trec_eval, ranx": 0.8333, "torchmetrics retrieval_average_precision": 0.0},
        "trec_eval: a score is a score",
    ),
    (
        "Two classes",
        "area under the precision-recall curve",
        {"label": [0, 0, 1, 1], "score": [0.1, 0.4, 0.35, 0.8]},
        "average_precision",
        {
            "sklearn.metrics.average_precision_score(label, score)": 0.8333333333333333,
            "Spark areaUnderPR": 0.7917,
        },
        "scikit-learn: a step function; straight lines have the name `pr_auc_trapezoid`",
    ),
    (
        "Two classes",
        "ROC AUC of one class",
        {"label": [1, 1], "score": [0.2, 0.8]},
        "roc_auc",
        {
            "sklearn.metrics.roc_auc_score(label, score)": None,
            "torchmetrics auroc": 0.0,
            "Spark areaUnderROC": 1.0,
        },
        "scikit-learn: it is undefined",
    ),
    (
        "Two classes",
        "precision without predicted positives",
        {"label": [1, 0], "score": [0.2, 0.3]},
        "precision",
        {
            "sklearn.metrics.precision_score(label, [0, 0])": 0.0,
            "torchmetrics precision": 0.0,
        },
        "0 / 0 is undefined; `zero_division=0` counts it as 0",
    ),
    (
        "Two classes",
        "equal error rate",
        {"label": [1, 0, 1, 1], "score": [0.35, 0.05, 0.75, 0.05]},
        "equal_error_rate",
        {"torchmetrics binary_eer": 0.1667},
        "where the lines between points cross; torchmetrics takes the closest point",
    ),
    (
        "Several classes",
        "top-1 accuracy with tied scores",
        {"label": ["a"], "score": {"a": [0.4], "b": [0.4], "c": [0.2]}},
        "top_k_accuracy(k=1)",
        {
            "sklearn.metrics.top_k_accuracy_score([0], [[0.4, 0.4, 0.2]], k=1, labels=[0, 1, 2])": (
                0.0
            ),
            "torchmetrics accuracy(top_k=1)": 1.0,
        },
        "the mean over all orders of the tied classes",
    ),
    (
        "Several classes",
        "ranked probability score: a sum, or divided by the classes less 1",
        {"label": [3], "score": {1: [0.1], 2: [0.2], 3: [0.3], 4: [0.4]}},
        "ranked_probability_score",
        {"scoringrules rps_score": 0.26},
        "divided, so that its range is 0 .. 1; `normalize=False` gives the sum",
    ),
)


@pytest.mark.parametrize("matter", DISAGREEMENTS, ids=lambda each: each[1])
def test_other_libraries_give_these_values(matter: tuple[Any, ...]) -> None:
    columns, theirs = matter[2], matter[4]
    modules = {name: import_module(name) for name in ("sklearn.metrics", "scipy.stats")}
    names = {name.partition(".")[0]: import_module(name.partition(".")[0]) for name in modules}
    for expression, value in theirs.items():
        if not expression.startswith((*modules,)):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # some warn that their value is undefined
            found = eval(expression, names, dict(columns))
        number = float("nan") if value is None else value
        assert found == pytest.approx(number, rel=1e-12, nan_ok=True), expression


@pytest.mark.parametrize("matter", DISAGREEMENTS, ids=lambda each: each[1])
def test_a_library_has_another_value(matter: tuple[Any, ...]) -> None:
    ours = docs.compute_ours(matter[2], matter[3])[0]
    differing = [value for value in matter[4].values() if value != pytest.approx(ours, abs=5e-4)]
    assert differing
