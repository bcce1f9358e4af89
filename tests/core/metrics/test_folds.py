"""Averages over folds, data sets or runs: ``over=`` with macro, micro and weighted averages."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    f1_score,
    log_loss,
    mean_squared_error,
    precision_score,
    recall_score,
    roc_auc_score,
)

import sqleval
from sqleval import RequestError
from tests.support.cases import ROLES, drawn
from tests.support.small_inputs import (
    CELLS,
    COUNTS,
    SCORED,
    close,
    command,
    labels_and_decisions,
    only_row,
    value,
)


def folds(frame: pl.DataFrame, *keys: str) -> list[pl.DataFrame]:
    return frame.partition_by(*keys)


AVERAGED: Mapping[str, Callable[[pl.DataFrame], float]] = {
    "precision": lambda part: precision_score(part["y"], part["p"] >= 0.5),
    "recall": lambda part: recall_score(part["y"], part["p"] >= 0.5),
    "f1": lambda part: f1_score(part["y"], part["p"] >= 0.5),
    "accuracy": lambda part: accuracy_score(part["y"], part["p"] >= 0.5),
    "roc_auc": lambda part: roc_auc_score(part["y"], part["p"]),
    "average_precision": lambda part: average_precision_score(part["y"], part["p"]),
    "log_loss": lambda part: log_loss(part["y"], part["p"]),
}


@pytest.mark.parametrize("over", [["g"], ["h"], ["g", "h"]], ids=str)
def test_averages_over_folds_are_those_of_folds(over: list[str]) -> None:
    metrics = [f"{m}(average='{a}')" for m in AVERAGED for a in ("macro", "micro", "weighted")]
    bound = sqleval.scan(SCORED, label="y", score="p", over=over)
    result = bound.evaluate([*AVERAGED, *metrics]).collect()
    assert set(result.select("n", "note").rows()) == {(240, None)}
    got = dict(result.select("metric", "value").rows())
    # A key that is NULL is a fold of its own.
    parts = folds(SCORED, *over)
    assert len(parts) == {"g": 3, "h": 2, "gh": 6}["".join(over)]
    sizes = [part.height for part in parts]
    for name, reference in AVERAGED.items():
        one = [reference(part) for part in parts]
        # All rows pooled: the meaning of micro, and of no average.
        assert got[name] == close(reference(SCORED))
        assert got[f"{name}(average='macro')"] == close(np.mean(one))
        assert got[f"{name}(average='micro')"] == close(reference(SCORED))
        assert got[f"{name}(average='weighted')"] == close(np.average(one, weights=sizes))


def test_micro_is_the_rate_of_mean_counts() -> None:
    tp, fp, fn, _ = COUNTS.select(CELLS).mean().row(0)
    roles = {"over": "run"}
    assert value(COUNTS, "precision(average='micro')", **roles) == close(tp / (tp + fp))
    assert value(COUNTS, "recall(average='micro')", **roles) == close(tp / (tp + fn))
    assert value(COUNTS, "f1(average='micro')", **roles) == close(2 * tp / (2 * tp + fp + fn))


def rates(metric: str) -> np.ndarray:
    """Return precision or recall of each run, NaN where it is undefined."""
    n = COUNTS.select(CELLS).to_numpy().astype(float)
    others = n[:, 1] if metric == "precision" else n[:, 2]
    return n[:, 0] / np.where(n[:, 0] + others > 0, n[:, 0] + others, np.nan)


def test_macro_and_weighted_over_tables_of_counts() -> None:
    one, size = rates("precision"), COUNTS.select(CELLS).to_numpy().sum(axis=1)
    assert value(COUNTS, "precision_macro", over="run") == close(one.mean())
    got = value(COUNTS, "precision(average='weighted')", over="run")
    assert got == close(np.average(one, weights=size))


@pytest.mark.parametrize("text", ["f1(average='macro_of_means')", "f1_macro_of_means"])
def test_macro_of_means_over_folds(text: str) -> None:
    precision, recall = np.nanmean(rates("precision")), np.nanmean(rates("recall"))
    expected = 2 * precision * recall / (precision + recall)
    assert value(COUNTS, text, over="run") == close(expected)
    # It is not the mean of the folds' F1.
    macro = np.mean([f1_score(*labels_and_decisions(part)) for part in folds(COUNTS, "run")])
    assert expected != close(macro)
    assert value(COUNTS, "f1_macro", over="run") == close(macro)


def test_folds_where_a_metric_is_undefined_leave_the_mean() -> None:
    frame = COUNTS.with_columns(fp=pl.when(run=2).then(0).otherwise("fp"))
    row = only_row(frame, "precision(average='macro')", over="run")
    one = np.delete(rates("precision"), 1)
    assert row["value"] == close(one.mean())
    assert row["note"] == "undefined for 1 of 5 folds"
    # Unless `zero_division` replaces them by a number.
    row = only_row(frame, "precision(average='macro', zero_division=1)", over="run")
    assert (row["value"], row["note"]) == (close((one.sum() + 1) / 5), None)
    row = only_row(frame, "precision(average='weighted')", over="run")
    sizes = np.delete(frame.select(CELLS).to_numpy().sum(axis=1), 1)
    assert row["value"] == close(np.average(one, weights=sizes))


def test_no_fold_has_a_value() -> None:
    frame = SCORED.with_columns(y=pl.col("h") - 1)
    row = only_row(frame, "roc_auc(average='macro')", label="y", score="p", over="h")
    assert (row["value"], row["note"]) == (None, "undefined for all folds")
    assert value(frame, "roc_auc(average='micro')", label="y", score="p", over="h") == close(
        roc_auc_score(frame["y"], frame["p"])
    )


@pytest.mark.parametrize("weight", ["weight", "counts"])
def test_folds_with_weights(weight: str) -> None:
    column = "w" if weight == "weight" else "count"
    roles = {"label": "y", "score": "p", "over": "g", weight: column}

    def auc(part: pl.DataFrame) -> float:
        return roc_auc_score(part["y"], part["p"], sample_weight=part[column])

    parts = folds(SCORED, "g")
    one, sizes = [auc(part) for part in parts], [part[column].sum() for part in parts]
    assert value(SCORED, "roc_auc(average='macro')", **roles) == close(np.mean(one))
    expected = np.average(one, weights=sizes)
    assert value(SCORED, "roc_auc(average='weighted')", **roles) == close(expected)


def test_folds_by_slice_and_model() -> None:
    frame = SCORED.with_columns(q=1 - pl.col("p") ** 2)
    bound = sqleval.scan(frame, label="y", score={"one": "p", "two": "q"}, by="h", over="g")
    result = bound.evaluate(["roc_auc(average='macro')", "roc_auc"]).collect()
    assert result.height == 8
    for h, model, metric, got in result.select("h", "model", "metric", "value").iter_rows():
        part, column = frame.filter(h=h), {"one": "p", "two": "q"}[model]
        parts = folds(part, "g") if "macro" in metric else [part]
        expected = np.mean([roc_auc_score(each["y"], each[column]) for each in parts])
        assert got == close(expected)


def test_folds_of_a_regression() -> None:
    frame = drawn("regression", 90)
    roles = {**ROLES["regression"], "over": "g"}
    one = [mean_squared_error(part["y"], part["v"]) for part in folds(frame, "g")]
    assert value(frame, "mse(average='macro')", **roles) == close(np.mean(one))
    assert value(frame, "mse", **roles) == close(mean_squared_error(frame["y"], frame["v"]))
    with pytest.raises(RequestError, match=r"average= is for metrics of two classes .* or over"):
        only_row(frame, "mse(average='macro')", **ROLES["regression"])


def test_folds_of_a_ranking_are_refused() -> None:
    frame = pl.DataFrame({"y": [1, 0], "p": [2, 1], "q": [1, 1], "f": [1, 1]})
    with pytest.raises(RequestError, match="it is the mean over the queries"):
        value(frame, "ndcg(average='macro')", **ROLES["ranking"], over="f")


@pytest.mark.parametrize("text", ["f1(average='macro')", "f1_macro", "roc_auc_ovr"])
def test_an_average_needs_something_to_average_over(text: str) -> None:
    with pytest.raises(RequestError, match=r"over="):
        only_row(SCORED, text, label="y", score="p")


@pytest.mark.parametrize("text", ["f1(average=None)", "f1(average='mean')"])
def test_folds_have_no_other_average(text: str) -> None:
    with pytest.raises(RequestError, match="average="):
        only_row(SCORED, text, label="y", score="p", over="g")


def test_keys_of_folds_exist_and_stand_once() -> None:
    with pytest.raises(RequestError, match="over='nothing': no such column"):
        sqleval.scan(SCORED, label="y", score="p", over="nothing")
    with pytest.raises(RequestError, match="over= names 'g' twice"):
        sqleval.scan(SCORED, label="y", score="p", over=["g", "g"])


def test_folds_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "rows.parquet")
    SCORED.write_parquet(path)
    roles = ("--label", "y", "--score", "p", "--over", "g,h", "-m", "roc_auc(average='macro')")
    out = command(capsys, "evaluate", path, *roles, "--format", "json")
    one = [AVERAGED["roc_auc"](part) for part in folds(SCORED, "g", "h")]
    assert json.loads(out)[0]["value"] == close(np.mean(one))
