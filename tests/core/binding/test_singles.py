"""A FLOAT is compared with a threshold as FLOAT on every path, and a DOUBLE as DOUBLE."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import recall_score

import sqleval

Y = [1, 0, 1, 0, 1, 0] * 50
S = [0.7, 0.1, 0.3, 0.7, 0.6, 0.2] * 50
ROWS = pl.DataFrame({"y": Y, "a": pl.Series(S, dtype=pl.Float32), "b": S})
BOTH = {"a": "a", "b": "b"}
METRIC = "recall(threshold=0.7)"
RIGHT = pytest.approx(recall_score(Y, np.array(S) >= 0.7))


def evaluate(predictions: sqleval.Predictions, **options: Any) -> list[float]:
    return predictions.evaluate(METRIC, **options).collect()["value"].to_list()


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """Return a folder with a file of FLOAT and one of DOUBLE."""
    folder = tmp_path / "predictions"
    folder.mkdir()
    ROWS.select("y", p="a").write_parquet(folder / "1.parquet")
    ROWS.select("y", p="b").write_parquet(folder / "2.parquet")
    return folder


@pytest.mark.parametrize("options", [{}, {"bins": 11}, {"ci": 0.95}])
def test_models_of_both_types(options: dict[str, Any]) -> None:
    for score in ("a", "b", BOTH):
        values = evaluate(sqleval.scan(ROWS, label="y", score=score), **options)
        assert all(value == RIGHT for value in values)


def test_a_comparison_of_both_types() -> None:
    bound = sqleval.scan(ROWS, label="y", score=BOTH)
    for metric in (METRIC, "f1(threshold=0.7)", "accuracy(threshold=0.7)"):
        found = bound.compare(metric, replicates=100).collect()
        assert found["difference"].to_list() == [0.0]


def test_a_threshold_of_the_scan() -> None:
    bound = sqleval.scan(ROWS, label="y", score=BOTH, threshold=0.7)
    assert all(value == RIGHT for value in bound.evaluate("recall").collect()["value"])


@pytest.mark.parametrize("options", [{}, {"bins": 11}, {"ci": 0.95}])
def test_files_of_both_types(mixed: Path, options: dict[str, Any]) -> None:
    assert evaluate(sqleval.scan(mixed, label="y", score="p"), **options) == [RIGHT]
    by = {"odd": "y"}
    found = sqleval.scan(mixed, label="y", score="p", by=by).evaluate(METRIC).collect()
    assert found.sort("odd")["value"].to_list() == [None, RIGHT]


def test_a_state_of_both_types(mixed: Path, tmp_path: Path) -> None:
    bound = sqleval.scan(mixed, label="y", score="p")
    for metrics in ("roc_auc", METRIC):
        state = tmp_path / "state.parquet"
        bound.state(metrics, bins=11).collect().write_parquet(state)
        assert evaluate(sqleval.from_state(state)) == [RIGHT]


def test_a_double_is_not_rounded() -> None:
    # Just below 0.7, and nearer to it than the FLOAT below it.
    below = float(np.nextafter(0.7, 0))
    rows = pl.DataFrame({"y": [1, 1], "a": pl.Series([0.7, 0.6], dtype=pl.Float32)})
    rows = rows.with_columns(b=pl.Series([below, 0.7]))
    found = sqleval.scan(rows, label="y", score=BOTH).evaluate(METRIC).collect()
    assert found.sort("model")["value"].to_list() == [0.5, 0.5]


def test_random_numbers_reach_the_thresholds_that_they_reach_as_float() -> None:
    scores = np.random.default_rng(0).integers(0, 1000, 20_000) / 1000
    rows = pl.DataFrame({"y": np.ones(len(scores), int), "a": scores.astype(np.float32)})
    rows = rows.with_columns(b=scores)
    for threshold in (0.001, 0.1, 0.3, 0.45, 0.7, 0.9, 0.999):
        bound = sqleval.scan(rows, label="y", score=BOTH, threshold=threshold)
        found = bound.evaluate("recall").collect()["value"].to_list()
        assert found == pytest.approx([(scores >= threshold).mean()] * 2)


def test_intervals_of_a_slice_key() -> None:
    for column in ("a", "b"):
        by = {"band": f"cut({column}, [0.3, 0.6])"}
        bound = sqleval.scan(ROWS, label="y", score="b", by=by, threshold=0.5)
        found = bound.evaluate("accuracy").collect().sort("band")
        assert found["n"].to_list() == [150, 50, 100]
