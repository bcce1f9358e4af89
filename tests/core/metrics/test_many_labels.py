"""Rows of many labels: lists, columns, averages, and errors."""

import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn import metrics as sk
from sklearn.preprocessing import MultiLabelBinarizer

import sqleval
from sqleval import DataError, RequestError

AVERAGES = ("macro", "micro", "weighted", "samples")


def evaluate(source: Any, metrics: Any, **roles: Any) -> dict[str, float | None]:
    """Return the value of each metric."""
    result = sqleval.scan(source, **roles).evaluate(metrics).collect()
    return dict(result.select("metric", "value").iter_rows())


def names_of(flags: np.ndarray, names: Any) -> list[list[str]]:
    """Return the list of a row's labels."""
    return [[name for name, flag in zip(names, row, strict=True) if flag] for row in flags]


def draw_sets() -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield labels, tied scores and weights of small sets: rows without labels, and with all."""
    rng = np.random.default_rng(57)
    for _ in range(60):
        n, k = rng.integers(1, 40), rng.integers(2, 9)
        labels = (rng.random((n, k)) < rng.choice([0.05, 0.3, 0.9])).astype(int)
        scores = rng.integers(0, rng.choice([2, 4, 50]), (n, k)) / 50
        yield labels, scores, rng.integers(1, 4, n) / 2


RANKED: Mapping[str, Any] = {
    "label_ranking_average_precision": sk.label_ranking_average_precision_score,
    "coverage_error": sk.coverage_error,
    "label_ranking_loss": sk.label_ranking_loss,
}


def compute_expected(labels: Any, decided: Any, scores: Any, weight: Any) -> dict[str, float]:
    """Return scikit-learn's values, in which an undefined label or row counts 0."""
    options = {"sample_weight": weight, "zero_division": 0}
    values = {
        f"f1(average={average!r}, zero_division=0)": sk.f1_score(
            labels, decided, average=average, **options
        )
        for average in AVERAGES
    }
    values |= {
        name: function(labels, scores, sample_weight=weight) for name, function in RANKED.items()
    }
    return values | {
        "hamming_loss": sk.hamming_loss(labels, decided, sample_weight=weight),
        "subset_accuracy": sk.accuracy_score(labels, decided, sample_weight=weight),
    }


def test_random_lists_equal_scikit_learn() -> None:
    for labels, scores, weight in draw_sets():
        decided = (scores >= 0.5).astype(int)
        frame = pl.DataFrame({"y": labels.tolist(), "p": scores.tolist(), "w": weight})
        for weights, of_rows in (({}, None), ({"weight": "w"}, weight)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                want = compute_expected(labels, decided, scores, of_rows)
            if not labels.any():
                want.pop("f1(average='weighted', zero_division=0)")  # no label has a weight
            roles = {"label": "y", "score": "p", "task": "multilabel"}
            roles |= {"classes": list(range(labels.shape[1]))}
            found = evaluate(frame, [*want], **roles, **weights)
            assert [*found.values()] == pytest.approx([*want.values()], abs=1e-12)


def test_lists_of_names_are_the_same_as_columns() -> None:
    rng = np.random.default_rng(2)
    labels, decided = (rng.random((50, 3)) < share for share in (0.4, 0.5))
    names = ["toxic", "obscene", "insult"]
    lists = pl.DataFrame({"y": names_of(labels, names), "p": names_of(decided, names)})
    metrics = [f"f1_{average}" for average in AVERAGES] + ["hamming_loss", "subset_accuracy"]
    found = evaluate(lists, metrics, label="y", prediction="p")
    flags = pl.DataFrame({f"y_{name}": labels[:, i] for i, name in enumerate(names)}).with_columns(
        **{f"d_{name}": pl.Series(decided[:, i]) for i, name in enumerate(names)}
    )
    by_label = {"label": {n: f"y_{n}" for n in names}, "prediction": {n: f"d_{n}" for n in names}}
    assert evaluate(flags, metrics, **by_label) == pytest.approx(found, abs=1e-15)
    binarizer = MultiLabelBinarizer().fit([names])
    one, other = (binarizer.transform(lists[name].to_list()) for name in ("y", "p"))
    assert found["f1(average='samples')"] == pytest.approx(
        sk.f1_score(one, other, average="samples", zero_division=0), abs=1e-15
    )


def test_a_row_per_label() -> None:
    frame = pl.DataFrame({"y": [["a"], ["a", "b"], []], "p": [["a"], ["b"], ["b"]]})
    result = sqleval.scan(frame, label="y", prediction="p").evaluate("f1(average=None)").collect()
    assert result.select("class", "value", "n").rows() == [("a", 2 / 3, 3), ("b", 2 / 3, 3)]


def test_rows_without_labels_count_0_and_are_noted() -> None:
    frame = pl.DataFrame({"y": [["a"], ["b"], []], "p": [["a"], ["b"], []]})
    (row,) = (
        sqleval.scan(frame, label="y", prediction="p")
        .evaluate("f1_samples")
        .collect()
        .rows(named=True)
    )
    assert row["value"] == pytest.approx(2 / 3)
    assert row["note"] == "undefined for 1 of 3 rows, which count as 0"


def test_a_missing_value_leaves_out_the_whole_row() -> None:
    nan = float("nan")
    frame = pl.DataFrame({"y": [[0, 1], [1, 0], [1, 1]], "p": [[0.1, nan], [0.9, 0.2], [0.8, 0.7]]})
    roles = {"label": "y", "score": "p"}
    with pytest.raises(DataError, match=r"score='p of each label' is NULL or NaN in 1 of 3 rows"):
        evaluate(frame, "coverage_error", **roles)
    result = sqleval.scan(frame, **roles, nulls="drop").evaluate("coverage_error").collect()
    assert result.select("value", "n", "n_dropped").rows() == [(1.5, 2, 1)]


def test_thresholds_of_labels() -> None:
    frame = pl.DataFrame({"y": [[1, 0], [0, 1]], "p": [[0.4, 0.6], [0.2, 0.9]]})
    roles: dict[str, Any] = {"label": "y", "score": "p", "classes": ["a", "b"]}
    found = evaluate(frame, "hamming_loss", **roles, threshold={"a": 0.3, "b": 0.8})
    assert found == {"hamming_loss": 0.0}
    with pytest.raises(RequestError, match="threshold= names 'c', and it is none of the labels"):
        sqleval.scan(frame, **roles, threshold={"a": 0.3, "b": 0.8, "c": 0.1})


def test_models_of_many_labels() -> None:
    frame = pl.DataFrame(
        {"y": [[1, 0], [0, 1]], "m": [[0.9, 0.1], [0.2, 0.9]], "n": [[0.0, 1.0]] * 2}
    )
    scan = sqleval.scan(frame, label="y", score={"good": "m", "bad": "n"})
    result = scan.evaluate("hamming_loss").collect()
    assert result.select("model", "value").rows() == [("bad", 0.5), ("good", 0.0)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"task": "binary", "label": {"a": "y", "b": "y"}}, "label= is a mapping, whose task is"),
        ({"label": "x"}, "label='x' is BIGINT; many labels are a list in each row, or a column"),
        ({"label": "y", "qid": "x"}, "task='multilabel' goes without qid="),
        (
            {"label": "y", "score": "x", "classes": ["a", "b"]},
            "score='x' is BIGINT, and the task is multilabel",
        ),
        ({"label": "y", "classes": ["a"]}, "needs two labels or more, and there is 1"),
        ({"label": "y", "classes": ["a", "a"]}, "names the label 'a' twice"),
        (
            {"label": {"a": "x", "b": "x"}, "score": {"a": "x"}},
            "score= has no column for the label 'b'",
        ),
    ],
)
def test_wrong_arguments(options: dict[str, Any], message: str) -> None:
    frame = pl.DataFrame({"x": [1], "y": [["a"]], "p": [["a"]]})
    with pytest.raises(RequestError, match=message):
        sqleval.scan(frame, **{"task": "multilabel", "prediction": "p"} | options)


def test_unknown_labels_and_other_lengths_are_errors() -> None:
    frame = pl.DataFrame({"y": [["a", "b"], ["c"]], "p": [[0.1, 0.2], [0.3]]})
    with pytest.raises(DataError, match=r"label='y' holds \[c\]; the labels are a, b"):
        evaluate(
            frame, "prevalence(average='macro')", label="y", prediction="y", classes=["a", "b"]
        )
    with pytest.raises(DataError, match=r"score='p' has 1 values in a row, and there are 3 labels"):
        evaluate(frame.tail(1), "coverage_error", label="y", score="p", classes=["a", "b", "c"])


def test_samples_are_of_many_labels_only() -> None:
    frame = pl.DataFrame({"y": [0, 1], "p": [0.2, 0.7]})
    with pytest.raises(
        RequestError, match="average='samples' is the mean over rows of many labels"
    ):
        sqleval.scan(frame, label="y", score="p").evaluate("f1_samples")
