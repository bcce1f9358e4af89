"""Equal classes compare equal in columns of any types."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import accuracy_score, cohen_kappa_score, f1_score, matthews_corrcoef

import sqleval
from sqleval import DataError, RequestError

LABEL = np.arange(300) % 3
PREDICTED = np.where(np.arange(300) % 5 == 0, (LABEL + 1) % 3, LABEL)
FRAME = pl.DataFrame({"y": LABEL, "c": PREDICTED})
METRICS = ["accuracy", "f1_macro", "matthews_corrcoef", "cohen_kappa"]
EXPECTED = [
    accuracy_score(LABEL, PREDICTED),
    f1_score(LABEL, PREDICTED, average="macro"),
    matthews_corrcoef(LABEL, PREDICTED),
    cohen_kappa_score(LABEL, PREDICTED),
]
TYPES: list[tuple[Any, Any]] = [
    (pl.Float64, pl.Int32),
    (pl.Int64, pl.Float64),
    (pl.Decimal(5, 1), pl.Decimal(5, 2)),
    (pl.Float32, pl.Decimal(5, 2)),
    (pl.Int8, pl.UInt64),
    (pl.String, pl.Int64),
    (pl.String, pl.Float64),
]


@pytest.mark.parametrize(("label", "prediction"), TYPES)
def test_labels_and_predictions_of_different_types(label: Any, prediction: Any) -> None:
    frame = FRAME.cast({"y": label, "c": prediction})
    bound = sqleval.scan(frame, label="y", prediction="c", task="multiclass")
    assert bound.evaluate(METRICS).collect()["value"].to_list() == pytest.approx(EXPECTED)
    table = bound.confusion().collect()
    assert table.filter(pl.col("label") == pl.col("prediction"))["n"].sum() == 240


def test_models_of_different_types() -> None:
    frame = FRAME.with_columns(real=pl.col("c").cast(pl.Float64))
    for models in ({"a": "c", "b": "real"}, {"b": "real", "a": "c"}):
        bound = sqleval.scan(frame, label="y", prediction=models, task="multiclass")
        for metric, expected in zip(METRICS, EXPECTED, strict=True):
            values = bound.evaluate(metric).collect()["value"].to_list()
            assert values == pytest.approx([expected] * 2)
        found = bound.compare("accuracy").collect()
        assert found.select("value", "baseline_value").row(0) == (EXPECTED[0], EXPECTED[0])


@pytest.mark.parametrize("kind", [pl.Float64, pl.Decimal(5, 1), pl.String])
def test_scores_of_classes_whose_label_is_not_whole(kind: Any) -> None:
    scores = np.random.default_rng(0).dirichlet([1, 1, 1], 300)
    frame = FRAME.with_columns(**{f"p{i}": scores[:, i] for i in range(3)})
    options: dict[str, Any] = {"score": {0: "p0", 1: "p1", 2: "p2"}, "task": "multiclass"}
    metrics = ["accuracy", "log_loss", "misclassification_cost(cost_matrix={0: {1: 1}, 2: {0: 5}})"]
    expected, values = (
        sqleval.scan(rows, label="y", **options).evaluate(metrics).collect()["value"].to_list()
        for rows in (frame, frame.cast({"y": kind}))
    )
    assert values == pytest.approx(expected)
    assert values[0] == accuracy_score(LABEL, scores.argmax(axis=1))


def test_truth_values_predict_labels_of_0_and_1() -> None:
    rows = pl.DataFrame({"y": [0, 1, 1, 0], "c": [False, True, False, True]})
    found = sqleval.scan(rows, label="y", prediction="c").evaluate(["accuracy", "recall"])
    assert found.collect()["value"].to_list() == [0.5, 0.5]


def test_truth_values_beside_numbers_of_another_model() -> None:
    rows = pl.DataFrame({"y": [0, 1, 1, 0], "a": [False, True, False, True], "b": [0, 1, 2, 0]})
    for models in ({"a": "a", "b": "b"}, {"b": "b", "a": "a"}):
        bound = sqleval.scan(rows, label="y", prediction=models)
        with pytest.raises(DataError, match="such as 2, is in 1 of 8 predictions"):
            bound.evaluate("accuracy").collect()


def test_texts_beside_numbers_of_another_model_are_refused() -> None:
    rows = FRAME.with_columns(text=pl.col("c").cast(pl.String))
    with pytest.raises(
        RequestError, match=r"types that can be compared, and 'c' is BIGINT, 'text'"
    ):
        sqleval.scan(rows, label="y", prediction={"a": "c", "b": "text"}, task="multiclass")


def test_a_confusion_of_real_values_is_refused() -> None:
    rows = pl.DataFrame({"y": [0.1, 0.2], "c": [0.1, 0.3]})
    with pytest.raises(RequestError, match=r"confusion\(\) needs classes.*'regression'"):
        sqleval.scan(rows, label="y", prediction="c").confusion()
