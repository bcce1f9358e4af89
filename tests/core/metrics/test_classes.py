"""Metrics and curves of several classes: one row or one curve per class, and zero_division."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.calibration import calibration_curve
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    classification_report,
    f1_score,
    precision_recall_curve,
    precision_score,
    recall_score,
    roc_auc_score,
    roc_curve,
)

import sqleval
from sqleval import RequestError
from tests.support.cases import ROLES, drawn
from tests.support.small_inputs import THREE, class_decisions, close, only_row, value

PER_CLASS = {"precision": precision_score, "recall": recall_score, "f1": f1_score}


@pytest.mark.parametrize("codes", [False, True], ids=["text", "integers"])
@pytest.mark.parametrize("metric", PER_CLASS)
def test_a_row_a_class_equals_scikit_learn(metric: str, codes: bool) -> None:
    frame = class_decisions(codes)
    bound = sqleval.scan(frame, label="y", prediction="c")
    lazy = bound.evaluate(f"{metric}(average=None)")
    result = lazy.collect()
    classes = sorted(frame["y"].unique())
    assert result.columns[:2] == ["class", "metric"]
    assert result.schema == lazy.collect_schema()
    assert result["class"].dtype == (pl.Int64 if codes else pl.String)
    assert result["class"].to_list() == classes
    expected = PER_CLASS[metric](frame["y"], frame["c"], labels=classes, average=None)
    np.testing.assert_allclose(result["value"], expected, rtol=1e-12)
    assert set(result["n"]) == {120}
    assert set(result["metric"]) == {f"{metric}(average=None)"}


def test_rows_of_classes_beside_other_metrics_by_slice() -> None:
    frame = class_decisions(codes=False)
    bound = sqleval.scan(frame, label="y", prediction="c", by="g")
    metrics = ["accuracy", "recall(average=None)", "precision(average=None)", "f1_macro"]
    result = bound.evaluate(metrics).collect()
    assert result.columns[:3] == ["g", "class", "metric"]
    assert result.height == 3 * (3 + 3 + 2)
    for (g,), part in result.partition_by("g", as_dict=True).items():
        y, c = frame.filter(pl.col("g").eq_missing(pl.lit(g))).select("y", "c")
        assert part["class"].to_list() == [None, *"abc", *"abc", None]
        expected = [
            accuracy_score(y, c),
            *recall_score(y, c, average=None, labels=["a", "b", "c"]),
            *precision_score(y, c, average=None, labels=["a", "b", "c"]),
            f1_score(y, c, average="macro"),
        ]
        np.testing.assert_allclose(part["value"], expected, rtol=1e-12)


def test_rows_of_classes_by_their_scores() -> None:
    frame = drawn("probabilities", 150)
    bound = sqleval.scan(frame, **ROLES["probabilities"])
    metrics = ["roc_auc(average=None)", "average_precision(average=None)"]
    result = bound.evaluate(metrics).collect()
    assert result["class"].to_list() == [*"abc", *"abc"]
    y = frame["y"].to_numpy()
    expected = [roc_auc_score(y == c, frame[f"p_{c}"]) for c in "abc"]
    expected += [average_precision_score(y == c, frame[f"p_{c}"]) for c in "abc"]
    np.testing.assert_allclose(result["value"], expected, rtol=1e-12)


def test_rows_of_classes_filter_like_any_column() -> None:
    frame = class_decisions(codes=False)
    lazy = sqleval.scan(frame, label="y", prediction="c").evaluate("recall(average=None)")
    got = lazy.filter(pl.col("class") == "b").select("value").collect()
    assert got.item() == close(recall_score(frame["y"], frame["c"], labels=["b"], average=None)[0])


NEVER = pl.DataFrame({"y": ["a", "a", "b", "c"], "c": ["a", "b", "b", "d"]})


@pytest.mark.parametrize("instead", [0, 1])
@pytest.mark.parametrize("metric", PER_CLASS)
def test_zero_division_stands_for_undefined(metric: str, instead: int) -> None:
    def expected(average: str | None) -> Any:
        return PER_CLASS[metric](NEVER["y"], NEVER["c"], average=average, zero_division=instead)

    roles = {"label": "y", "prediction": "c"}
    bound = sqleval.scan(NEVER, **roles)
    text = f"{metric}(average=None, zero_division={instead})"
    result = bound.evaluate(text).collect()
    assert result["metric"][0] == text
    np.testing.assert_allclose(result["value"], expected(None), rtol=1e-12)
    for average in ("macro", "weighted", "micro"):
        text = f"{metric}(average='{average}', zero_division={instead})"
        assert value(NEVER, text, **roles) == close(expected(average))


def test_undefined_classes_have_a_note_without_zero_division() -> None:
    bound = sqleval.scan(NEVER, label="y", prediction="c")
    result = bound.evaluate(["precision(average=None)", "recall(average=None)"]).collect()
    notes = dict(zip(result.select("metric", "class").rows(), result["note"], strict=True))
    assert notes.pop(("precision(average=None)", "c")) == "no predicted positives"
    assert notes.pop(("recall(average=None)", "d")) == "no positive labels"
    assert set(notes.values()) == {None}
    # Without rows there is no class, and the note says so, with and without slices.
    for by in ((), "y"):
        empty = sqleval.scan(NEVER.head(1), label="y", prediction="c", by=by, where="y = 'z'")
        notes = empty.evaluate(["accuracy", "recall(average=None)"]).collect()["note"].to_list()
        assert notes == ([] if by else ["no rows", "no rows"])


def test_an_infinite_threshold_of_a_class_without_weight_leaves_the_mean() -> None:
    frame = pl.DataFrame({"y": list("abc"), "a": [0.6, 0.2, 0.9], "w": [1, 2, 0]})
    frame = frame.with_columns(b=0.9 - pl.col("a"), c=0.1)
    roles: dict[str, Any] = {"label": "y", "score": {c: c for c in "abc"}, "weight": "w"}
    roles["task"] = "multiclass"
    mean = value(frame, "best_accuracy_threshold(average='weighted')", **roles)
    assert mean == close((1 * 0.6 + 2 * 0.7) / 3)


@pytest.mark.parametrize("instead", [0, 1])
def test_zero_division_of_two_classes(instead: int) -> None:
    frame = pl.DataFrame({"y": [1, 0], "p": [0.1, 0.2]})
    text = f"precision(zero_division={instead})"
    expected = precision_score([1, 0], [0, 0], zero_division=instead)
    assert value(frame, text, label="y", score="p") == expected
    # Without rows, zero_division does not apply and the value is missing.
    assert value(frame.clear(), text, label="y", score="p") is None


@pytest.mark.parametrize("given", ["2", "'nan'", "True", "0.5"])
def test_zero_division_is_0_or_1(given: str) -> None:
    with pytest.raises(RequestError, match="zero_division"):
        only_row(NEVER, f"precision(zero_division={given})", label="y", prediction="c")


def of_class(name: str, **params: Any) -> dict[str, pl.DataFrame]:
    curve = sqleval.scan(THREE, **ROLES["probabilities"]).curve(name, **params)
    parts = curve.collect().partition_by("class", as_dict=True)
    return {str(key): part for (key,), part in parts.items()}


def test_roc_curve_of_each_class() -> None:
    parts = of_class("roc")
    assert list(parts) == ["a", "b", "c"]
    for c, part in parts.items():
        fpr, tpr, threshold = roc_curve(THREE["y"] == c, THREE[f"p_{c}"], drop_intermediate=False)
        expected = np.column_stack([threshold, fpr, tpr])
        got = part.select("threshold", "fpr", "tpr")
        np.testing.assert_allclose(got, expected, rtol=1e-12)


def test_pr_curve_of_each_class() -> None:
    parts = of_class("pr")
    assert list(parts) == ["a", "b", "c"]
    for c, part in parts.items():
        precision, recall, _ = precision_recall_curve(THREE["y"] == c, THREE[f"p_{c}"])
        expected = np.column_stack([precision[::-1], recall[::-1]])
        np.testing.assert_allclose(part.select("precision", "recall"), expected, rtol=1e-12)


def test_calibration_curve_of_each_class() -> None:
    parts = of_class("calibration", bins=5)
    assert list(parts) == ["a", "b", "c"]
    for c, part in parts.items():
        observed, predicted = calibration_curve(THREE["y"] == c, THREE[f"p_{c}"], n_bins=5)
        expected = np.column_stack([predicted, observed])
        np.testing.assert_allclose(part.select("predicted", "observed"), expected, rtol=1e-12)


def test_cost_curve_of_each_class() -> None:
    parts = of_class("cost")
    assert list(parts) == ["a", "b", "c"]
    x = np.linspace(0, 1, 101)
    for c, part in parts.items():
        fpr, tpr, _ = roc_curve(THREE["y"] == c, THREE[f"p_{c}"], drop_intermediate=False)
        expected = (fpr[:, None] * (1 - x) + (1 - tpr[:, None]) * x).min(axis=0)
        got = np.interp(x, part["probability_cost"], part["normalized_cost"])
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("codes", [False, True], ids=["text", "integers"])
def test_classification_report_equals_scikit_learn(codes: bool) -> None:
    frame = class_decisions(codes)
    bound = sqleval.scan(frame, label="y", prediction="c", by="h")
    for (h,), part in (
        bound.curve("classification_report").collect().partition_by("h", as_dict=True).items()
    ):
        rows = frame.filter(h=h)
        table = classification_report(rows["y"], rows["c"], output_dict=True)
        assert part["class"].to_list() == sorted(rows["y"].unique())
        for row in part.iter_rows(named=True):
            expected = table[str(row["class"])]
            got = [row[name] for name in ("precision", "recall", "f1", "support")]
            assert got == close(
                [expected[k] for k in ("precision", "recall", "f1-score", "support")]
            )
            assert row["predictions"] == (rows["c"] == row["class"]).sum()


@pytest.mark.parametrize("by", [[], ["g"]])
def test_prevalence_of_classes_asks_for_no_scores(by: list[str]) -> None:
    frame = drawn("multiclass", 120)
    roles = {"label": "y", "prediction": "c", "task": "multiclass"}
    bound = sqleval.scan(frame, **roles, by=by, weight="w")
    found = bound.evaluate("prevalence(average=None)").collect()
    for key, rows in frame.group_by(by) if by else [((), frame)]:
        total = rows["w"].sum()
        shares = {label: part["w"].sum() / total for (label,), part in rows.group_by("y")}
        own = found
        for name, kept in zip(by, key, strict=True):
            own = own.filter(pl.col(name).eq_missing(pl.lit(kept)))
        assert dict(own.select("class", "value").iter_rows()) == pytest.approx(shares, abs=1e-12)
