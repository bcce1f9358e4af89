"""Values that others have published, with their sources, for each family of metrics.

``tests/support/breadth.json`` has the cases. Its names of metrics and parameters describe them; the
table here says which request each of them is.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sqleval

CASES: Mapping[str, Mapping[str, Any]] = {
    case["name"]: case
    for case in json.loads(
        (Path(__file__).parents[2] / "support" / "breadth.json").read_text(encoding="utf-8")
    )["cases"]
}
#: The request of each case.
REQUESTS: Mapping[str, str] = {
    "spark rmse": "rmse",
    "spark r2": "r2",
    "concordance correlation, population moments": "concordance_correlation",
    "log cosh": "log_cosh",
    "normalized rmse by mean": "normalized_rmse(normalization='mean')",
    "normalized rmse by range": "normalized_rmse(normalization='range')",
    "msle with zeros": "msle",
    "kendall, no ties": "kendall",
    "index of ideality of correlation, weights": "index_of_ideality_of_correlation",
    "percent bias": "percent_bias",
    "additive bias, weights": "mean_bias",
    "pinball 0.5": "pinball_loss(alpha=0.5)",
    "Nash-Sutcliffe efficiency 0": "nash_sutcliffe",
    # The sum over the classes; by default it is divided by their number less 1.
    "ranked probability score": "ranked_probability_score(normalize=False)",
    "top-label calibration error l1": "top_label_calibration_error(bins=3, norm='l1')",
    "top-label calibration error max": "top_label_calibration_error(bins=3, norm='max')",
    "average precision, macro over three classes": "average_precision(average='macro')",
    "spark multi-label subset_accuracy {}": "subset_accuracy",
    "spark multi-label precision {'average': 'samples'}": "precision(average='samples')",
    "spark multi-label f1 {'average': 'samples'}": "f1(average='samples')",
    "spark multi-label precision {'average': 'micro'}": "precision(average='micro')",
    "spark multi-label recall {'average': 'micro'}": "recall(average='micro')",
    "spark multi-label f1 {'average': None, 'class': 0}": "f1(average=None)",
    "coverage error, guide": "coverage_error",
    "label_ranking_average_precision, ties, a row without and one with all labels": (
        "label_ranking_average_precision"
    ),
    "label_ranking_loss, ties, a row without and one with all labels": "label_ranking_loss",
    "equal error rate of label 0": "equal_error_rate(average=None)",
    "equal error rate of label 2": "equal_error_rate(average=None)",
    "spark mean_average_precision {}": "map(empty=0)",
    # Spark divides by the smaller of k and the relevant items.
    "spark mean_average_precision {'k': 3}": "map(k=3, normalize='k', empty=0)",
    "spark precision_at {'k': 4}": "precision_at_k(k=4, empty=0)",
    "spark recall_at {'k': 3}": "recall_at_k(k=3, empty=0)",
    "spark ndcg {'k': 5}": "ndcg(k=5, empty=0)",
    "spark, items that were not retrieved, ndcg": "ndcg(k=2)",
    "spark, items that were not retrieved, recall_at": "recall@2",
    "rank-biased precision 0.5": "rbp(p=0.5)",
    "rank-biased precision 0.95": "rbp(p=0.95)",
    "bpref q1": "bpref",
    "bpref q3": "bpref",
    "trec map q1": "map",
    "trec ndcg q2": "ndcg",
    "mean average precision with ties": "map",
    "mean reciprocal rank with ties": "mrr",
    "distance to the ideal point of the ROC curve": "roc_distance",
}
#: Cases that others define in another way (docs/guide/whom-we-follow.md), and our value.
DIFFERING: Mapping[str, float] = {
    # The mean of both rates at the point where they are closest; ours is where lines cross.
    "equal error rate of label 2": 0.25,
}


def scan_case(case: Mapping[str, Any]) -> sqleval.Predictions:
    """Bind the columns of a case."""
    rows = pl.DataFrame(case["columns"], strict=False)
    roles: dict[str, Any] = {"label": "y"}
    roles |= {"prediction": "p"} if "p" in rows.columns else {}
    roles |= {"score": "s"} if "s" in rows.columns else {}
    roles |= {"weight": "w"} if "w" in rows.columns else {}
    match case["family"]:
        case "binary":
            return sqleval.scan(rows, counts={name: name for name in rows.columns})
        case "ranking":
            roles["qid"] = "q"
        case "multiclass":
            scores = [name for name in rows.columns if name != "y"]
            roles |= {"score": {int(name[1:]): name for name in scores}, "task": "multiclass"}
        case "multilabel":
            # A column for each label.
            values = [name for name in ("y", "p", "s") if name in rows.columns]
            labels = rows["label_name"].unique().sort().to_list()
            rows = rows.pivot("label_name", index="row", values=values)
            roles = {
                role: {str(label): f"{column}_{label}" for label in labels}
                for role, column in roles.items()
            }
            roles["task"] = "multilabel"
        case _:
            roles["task"] = case["family"]
    return sqleval.scan(rows, **roles)


@pytest.mark.parametrize("name", CASES)
def test_published_value(name: str) -> None:
    case = CASES[name]
    frame = scan_case(case).evaluate(REQUESTS[name]).collect()
    if "class" in frame.columns:
        frame = frame.filter(pl.col("class").cast(pl.String) == str(case["params"]["class"]))
    expected = DIFFERING.get(name, case["expect"])
    # Pages cut digits off instead of rounding.
    assert frame["value"].item() == pytest.approx(expected, rel=0, abs=10 ** -case["digits"])


def test_every_case_has_a_request() -> None:
    assert REQUESTS.keys() == CASES.keys()
    assert DIFFERING.keys() <= CASES.keys()
