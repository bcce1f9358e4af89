"""What is suggested is what the reading of the input says of the same columns."""

from typing import Any

import polars as pl
import pytest

import sqleval

WHOLE = [0, 1, 2, 2, 1, 0] * 20
OTHER = [0, 1, 1, 2, 2, 0] * 20
BITS, OTHER_BITS = [1, 0, 1, 0, 1] * 20, [1, 1, 1, 0, 0] * 20


@pytest.mark.parametrize(
    ("label", "prediction", "task"),
    [
        (WHOLE, [float(c) for c in OTHER], "multiclass"),
        ([float(y) for y in WHOLE], OTHER, "multiclass"),
        (WHOLE, [float("nan"), *map(float, OTHER[1:])], "multiclass"),
        (WHOLE, [c + 0.5 for c in OTHER], "regression"),
        ([y + 0.25 for y in WHOLE], [c + 0.5 for c in OTHER], "regression"),
        ([float(y) for y in BITS], OTHER_BITS, "binary"),
        (BITS, [float(c) for c in OTHER_BITS], "binary"),
        (["a", "b", "c"] * 40, ["a", "c", "c"] * 40, "multiclass"),
    ],
)
def test_the_task_follows_from_label_and_prediction(
    label: list[Any], prediction: list[Any], task: str
) -> None:
    rows = pl.DataFrame({"y_true": label, "y_pred": prediction})
    found = {each.check: each for each in sqleval.inspect(rows)}
    assert found["prediction"].column == "y_pred"
    command = found["command"].value
    assert ("task='multiclass'" in command) == (task == "multiclass")
    assert sqleval.scan(rows, label="y_true", prediction="y_pred", nulls="drop").task == task
