"""``misclassification_cost``: a cost for each pair of label and prediction."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import (
    confusion_matrix,
)

import sqleval
from sqleval import RequestError
from tests.support.cases import ROLES
from tests.support.small_inputs import (
    CODES,
    SCORED,
    THREE,
    class_decisions,
    close,
    command,
    only_row,
    value,
)

COSTS = {"a": {"b": 1, "c": 4.5, "a": -1}, "b": {"a": 2, "c": 0.5}, "c": {"a": 0, "b": 3}}


LOSSES = np.array([[-1, 1, 4.5], [2, 0, 0.5], [0, 3, 0]])


@pytest.mark.parametrize("weight", [None, "count", "w"])
def test_cost_of_three_classes(weight: str | None) -> None:
    frame = class_decisions(codes=False)
    times = frame[weight].to_numpy() if weight else np.ones(frame.height)
    n = confusion_matrix(frame["y"], frame["c"], sample_weight=times)
    expected = (n * LOSSES).sum() / n.sum()
    text = f"misclassification_cost(cost_matrix={COSTS})"
    assert value(frame, text, label="y", prediction="c", weight=weight) == close(expected)


def test_cost_of_integer_classes_and_of_probabilities() -> None:
    frame = class_decisions(codes=True)
    costs = {CODES[a]: {CODES[b]: cost for b, cost in row.items()} for a, row in COSTS.items()}
    labels = [CODES[c] for c in "abc"]
    n = confusion_matrix(frame["y"], frame["c"], labels=labels)
    text = f"misclassification_cost(cost_matrix={costs})"
    assert value(frame, text, label="y", prediction="c") == close((n * LOSSES).sum() / n.sum())
    largest = np.array(list("abc"))[THREE.select("p_a", "p_b", "p_c").to_numpy().argmax(axis=1)]
    n = confusion_matrix(THREE["y"], largest)
    text = f"misclassification_cost(cost_matrix={COSTS})"
    assert value(THREE, text, **ROLES["probabilities"]) == close((n * LOSSES).sum() / n.sum())


def test_cost_by_slice_where_a_slice_has_no_such_pair() -> None:
    frame = pl.DataFrame({"y": list("aabb"), "c": list("abbb"), "g": [1, 1, 2, 2]})
    text = "misclassification_cost(cost_matrix={'a': {'b': 5}})"
    result = sqleval.scan(frame, label="y", prediction="c", by="g").evaluate(text).collect()
    assert result["value"].to_list() == [2.5, 0]


def test_a_pair_without_a_cost_has_a_note() -> None:
    frame = pl.DataFrame({"y": list("aab"), "c": list("aba")})
    text = "misclassification_cost(cost_matrix={'a': {'b': 5}})"
    row = only_row(frame, text, label="y", prediction="c")
    assert row["value"] is None
    assert row["note"] == "a pair of label and prediction has no cost"


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ("{'a': 5}", "must be {label: {prediction: cost}}; 'a' has 5"),
        ("{}", "must be {label: {prediction: cost}}, not {}"),
        ("[[0, 1], [5, 0]]", "must be {label: {prediction: cost}}, not [[0, 1], [5, 0]]"),
        ("None", "must be {label: {prediction: cost}}, not None"),
        ("(1, 2)", "must be {label: {prediction: cost}}, not (1, 2)"),
        ("('a', 'b', 5)", "must be {label: {prediction: cost}}, not ('a', 'b', 5)"),
        ("(('a', 'b', 'x'),)", "must be {label: {prediction: cost}}, not (('a', 'b', 'x'),)"),
        ("{'a': {'b': 'much'}}", "the cost of 'a' as 'b' is 'much'; it must be a finite number"),
        ("{'a': {'b': None}}", "the cost of 'a' as 'b' is None"),
        ("{'a': {'b': True}}", "the cost of 'a' as 'b' is True"),
        ("{'a': {'b': 1e999}}", "the cost of 'a' as 'b' is inf"),
    ],
)
def test_wrong_cost_matrices_are_refused(matrix: str, message: str) -> None:
    text = f"misclassification_cost(cost_matrix={matrix})"
    with pytest.raises(RequestError) as refused:
        only_row(class_decisions(codes=False), text, label="y", prediction="c")
    assert message in str(refused.value)


def test_a_matrix_of_costs_must_be_given_and_fit_the_classes() -> None:
    with pytest.raises(RequestError, match="misclassification_cost needs cost_matrix="):
        only_row(class_decisions(codes=False), "misclassification_cost", label="y", prediction="c")
    text = "misclassification_cost(cost_matrix={'a': {'b': 5}})"
    with pytest.raises(RequestError, match="the class 'a' is not known; classes are whole"):
        only_row(class_decisions(codes=True), text, label="y", prediction="c")
    with pytest.raises(RequestError, match="the class 'a' is not known; classes are 0 and 1"):
        only_row(SCORED, text, label="y", score="p")


def test_costs_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "rows.csv")
    pl.DataFrame({"y": list("aaab"), "c": list("aabb")}).write_csv(path)
    text = 'misclassification_cost(cost_matrix={"a": {"b": 5}})'
    roles = ("--label", "y", "--prediction", "c", "--task", "multiclass", "--format", "json")
    (row,) = json.loads(command(capsys, "evaluate", path, *roles, "-m", text))
    assert row["value"] == close(5 / 4)
    assert row["metric"] == "misclassification_cost(cost_matrix={'a': {'b': 5.0}})"
