"""One-versus-one averages over all pairs of classes, including Hand and Till's area."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import (
    f1_score,
    precision_score,
    recall_score,
    roc_auc_score,
)

import sqleval
from sqleval import RequestError
from tests.support import references as ref
from tests.support.cases import NAN, ROLES, drawn, rows_of
from tests.support.comparison import assert_frame_equal
from tests.support.small_inputs import BINARY, class_decisions, close, only_row, value


def guessed(k: int, n: int = 150) -> pl.DataFrame:
    """Return rows of k classes, with a decision and a probability for each class."""
    rng = np.random.default_rng(k)
    label = np.append(np.arange(k), rng.integers(0, k, n))
    mass = rng.random((len(label), k)) + np.eye(k)[label] * 0.4
    mass /= mass.sum(axis=1, keepdims=True)
    scores = {f"p_{i}": mass[:, i] for i in range(k)}
    return pl.DataFrame(
        {"y": label, "c": mass.argmax(axis=1), "w": rng.random(len(label)), **scores}
    )


COUNTED = {
    "precision": ref.from_counts(precision_score, **NAN),
    "recall": ref.from_counts(recall_score, **NAN),
    "f1": ref.from_counts(f1_score, **NAN),
    "specificity": ref.from_counts(recall_score, pos_label=0, **NAN),
}


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("k", [2, 3, 4, 6])
def test_pairs_of_classes_by_decisions(k: int, weight: str | None) -> None:
    frame = guessed(k)
    rows = rows_of(frame, "multiclass", weight=weight)
    bound = sqleval.scan(frame, label="y", prediction="c", weight=weight, task="multiclass")
    expected = {
        f"{name}(average='{average}', multi_class='ovo')": ref.one_vs_one(metric, average)(rows)
        for name, metric in COUNTED.items()
        for average in ("macro", "micro", "weighted")
    }
    result = bound.evaluate(list(expected)).collect()
    assert dict(result.select("metric", "value").rows()) == close(expected)


@pytest.mark.parametrize("k", [3, 4, 5, 6])
def test_hand_and_till_equals_scikit_learn(k: int) -> None:
    frame = guessed(k)
    score = {i: f"p_{i}" for i in range(k)}
    roles = {"label": "y", "score": score, "task": "multiclass"}
    probabilities = frame.select(score.values()).to_numpy()
    for average in ("macro", "weighted"):
        expected = roc_auc_score(frame["y"], probabilities, multi_class="ovo", average=average)
        text = f"roc_auc(average='{average}', multi_class='ovo')"
        assert value(frame, text, **roles) == close(expected)
    expected = roc_auc_score(frame["y"], probabilities, multi_class="ovo")
    assert value(frame, "roc_auc_ovo", **roles) == close(expected)


def test_pairs_of_classes_by_slice() -> None:
    frame = drawn("probabilities", 300)
    bound = sqleval.scan(frame, **ROLES["probabilities"], by="g")
    result = bound.evaluate(["roc_auc_ovo", "roc_auc_ovr"]).collect()
    assert result.height == 6
    for g, metric, got in result.select("g", "metric", "value").iter_rows():
        part = frame.filter(pl.col("g").eq_missing(pl.lit(g)))
        how = "ovo" if "ovo" in metric else "ovr"
        scores = part.select("p_a", "p_b", "p_c").to_numpy()
        assert got == close(roc_auc_score(part["y"], scores, multi_class=how))


@pytest.mark.parametrize("is_c_rare", [False, True])
@pytest.mark.parametrize("average", ["macro", "micro", "weighted"])
def test_pairs_of_classes_by_scores_with_weights(average: str, is_c_rare: bool) -> None:
    frame = drawn("probabilities", 90)
    if is_c_rare:  # class c is no label and never has the largest score
        frame = frame.filter(pl.col("y") != "c").with_columns(pl.col("p_c") / 1e4)
        assert (frame["p_c"] < frame.select(pl.max_horizontal("p_a", "p_b"))["p_a"]).all()
    case = next(case for case in BINARY if case.metric == "average_precision")
    text = f"average_precision(average='{average}', multi_class='ovo')"
    rows = rows_of(frame, "probabilities", weight="w")
    expected = ref.one_vs_one_scored(case.reference, average)(rows)
    assert expected is not None
    assert value(frame, text, **ROLES["probabilities"], weight="w") == close(expected)


@pytest.mark.parametrize(
    ("text", "roles", "message"),
    [
        ("f1(average=None, multi_class='ovo')", {}, "pairs of classes need an average"),
        ("f1(multi_class='all')", {}, "multi_class='all' is not known"),
        ("accuracy(multi_class='ovo')", {}, "multi_class='ovo' is for metrics of two classes"),
        ("accuracy(average='macro')", {}, "average= is for metrics of two classes"),
        ("f1(average='mean')", {}, "average='mean' is not known"),
    ],
)
def test_wrong_pairs_are_refused(text: str, roles: dict[str, Any], message: str) -> None:
    with pytest.raises(RequestError) as refused:
        only_row(class_decisions(codes=False), text, label="y", prediction="c", **roles)
    assert message in str(refused.value)


def test_one_class_has_no_pair() -> None:
    frame = pl.DataFrame({"y": ["a", "a"], "c": ["a", "a"]})
    for average in ("macro", "micro", "weighted"):
        text = f"f1(average='{average}', multi_class='ovo')"
        row = only_row(frame, text, label="y", prediction="c", task="multiclass")
        assert row["value"] is None
        assert row["note"]


def test_a_slice_without_pairs_of_classes_has_a_note() -> None:
    rows = pl.DataFrame({"y": list("aaabca"), "p": list("aaabcb"), "g": [1, 1, 1, 2, 2, 2]})
    bound = sqleval.scan(rows, label="y", prediction="p", task="multiclass", by="g")
    metrics = [
        f"{name}(average='{average}', multi_class='ovo')"
        for name in ("precision", "recall", "f1")
        for average in ("macro", "weighted", "micro")
    ]
    metrics.append("f1_macro_of_means(multi_class='ovo')")
    result = bound.evaluate(metrics).collect()
    one = result.filter(pl.col("g") == 1)
    assert one["value"].null_count() == one.height
    assert one["note"].to_list() == ["fewer than two classes"] * one.height
    assert result.filter(pl.col("g") == 2)["value"].null_count() == 0
    alone = sqleval.scan(rows.filter(g=1), label="y", prediction="p", task="multiclass")
    assert_frame_equal(alone.evaluate(metrics).collect(), one.drop("g"))
