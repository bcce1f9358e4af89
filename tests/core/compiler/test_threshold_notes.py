"""A note says that no probability can reach a threshold, which is usually a per cent value."""

from typing import Any

import polars as pl
import pytest

import sqleval

ROWS = pl.DataFrame({"y": [0, 1, 1, 0], "p": [0.1, 0.8, 0.7, 0.3], "part": ["train", "test"] * 2})
NOTE = "threshold 50 is outside 0 .. 1, and all scores are inside"


def notes(rows: pl.DataFrame, metrics: Any, **options: Any) -> list[str | None]:
    bound = sqleval.scan(rows, label="y", score="p", **options)
    return bound.evaluate(metrics).collect()["note"].to_list()


def test_the_threshold_of_the_scan_and_of_a_metric() -> None:
    assert notes(ROWS, ["f1", "roc_auc"], threshold=50) == [NOTE, None]
    assert notes(ROWS, ["f1(threshold=50)", "f1"]) == [NOTE, None]
    assert notes(ROWS, "f1", threshold=-0.5) == [NOTE.replace("50", "-0.5")]


def test_a_note_that_says_why_there_is_no_value_comes_first() -> None:
    assert notes(ROWS, "precision", threshold=50) == ["no predicted positives"]
    assert notes(ROWS.clear(), "f1", threshold=50) == ["no rows"]


@pytest.mark.parametrize("threshold", [0, 0.5, 1])
def test_a_threshold_between_has_no_note(threshold: float) -> None:
    assert notes(ROWS, "accuracy", threshold=threshold) == [None]


def test_scores_outside_0_to_1_have_no_note() -> None:
    assert notes(ROWS.with_columns(pl.col("p") * 100), "f1", threshold=50) == [None]


def test_rows_by_role_and_states_have_it_too() -> None:
    assert set(notes(ROWS, "f1", threshold=50, role="part")) == {NOTE}
    state = sqleval.scan(ROWS, label="y", score="p", threshold=50).state("f1").collect()
    evaluated = sqleval.from_state(state, threshold=50).evaluate("f1").collect()
    assert evaluated["note"].to_list() == [NOTE]
