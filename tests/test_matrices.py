"""Several matrices: counts as input, data sets and folds, classes, roles; costs and densities."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import binomtest
from sklearn.calibration import calibration_curve
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    balanced_accuracy_score,
    classification_report,
    cohen_kappa_score,
    confusion_matrix,
    f1_score,
    fbeta_score,
    jaccard_score,
    log_loss,
    matthews_corrcoef,
    mean_squared_error,
    precision_recall_curve,
    precision_score,
    recall_score,
    roc_auc_score,
    roc_curve,
)

import sqleval
from sqleval import DataError, RequestError, catalog
from sqleval.catalog import request
from sqleval.cli.main import run_command

from . import references as ref
from .cases import CASES, ROLES, drawn, rows_of

pytestmark = pytest.mark.slow  # tests/test_metrics.py runs on both

NAN: Mapping[str, Any] = {"zero_division": np.nan}
CELLS = ("tp", "fp", "fn", "tn")


def of(frame: object, metric: str, **roles: Any) -> dict[str, Any]:
    """Return the only row of a result."""
    result = sqleval.scan(frame, **roles).evaluate(metric).collect()
    assert result.height == 1
    return result.row(0, named=True)


def value(frame: object, metric: str, **roles: Any) -> float | None:
    return of(frame, metric, **roles)["value"]


def close(value: float) -> Any:
    return pytest.approx(value, rel=1e-12, abs=1e-12)


# -- counts as input ---------------------------------------------------------------------------

TABLE = pl.DataFrame(
    {
        "run": [1, 2, 3, 4, 5],
        "g": ["a", "a", None, "b", None],
        "tp": [8, 0, 3, 40, 1],
        "fp": [2, 5, 0, 7, 1],
        "fn": [1, 4, 0, 12, 0],
        "tn": [9, 11, 6, 80, 0],
    }
)
#: scikit-learn's functions of labels and decisions.
DECIDED: Mapping[str, Callable[..., float]] = {
    "accuracy": accuracy_score,
    "balanced_accuracy": balanced_accuracy_score,
    "cohen_kappa": cohen_kappa_score,
    "f1": f1_score,
    "f_beta(beta=2)": lambda y, c: fbeta_score(y, c, beta=2),
    "jaccard": jaccard_score,
    "matthews_corrcoef": matthews_corrcoef,
    "precision": precision_score,
    "prevalence": lambda y, c: np.mean(y),
    "recall": recall_score,
    "specificity": lambda y, c: recall_score(y, c, pos_label=0),
}


def labels_and_decisions(counts: pl.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return a row for each that the four columns of counts count."""
    totals = counts.select(CELLS).sum().row(0)
    return np.repeat([1, 0, 1, 0], totals), np.repeat([1, 1, 0, 0], totals)


RENAMED = {"tp": "hits", "fp": "alarms", "fn": "misses", "tn": "rest"}


@pytest.mark.parametrize("how", ["recognised", "named", "whole numbers as DOUBLE", "of any width"])
def test_four_counts_equal_their_rows(how: str) -> None:
    frame, roles = TABLE, {}
    if how == "named":
        frame, roles = TABLE.rename(RENAMED), {"counts": RENAMED}
    if how == "whole numbers as DOUBLE":
        frame = TABLE.with_columns(pl.col(*CELLS).cast(pl.Float64))
    if how == "of any width":
        frame = TABLE.cast({"tp": pl.UInt8, "fp": pl.Int16, "fn": pl.UInt64, "tn": pl.Float32})
    bound = sqleval.scan(frame, **roles)
    assert bound.task == "binary"
    result = bound.evaluate(list(DECIDED)).collect()
    y, c = labels_and_decisions(TABLE)
    assert result["n"].to_list() == [len(y)] * len(DECIDED)
    assert set(result["n_dropped"]) == {0}
    for metric, got in zip(DECIDED, result["value"], strict=True):
        assert got == close(DECIDED[metric](y, c)), metric


def test_four_counts_by_slice_and_under_a_condition() -> None:
    bound = sqleval.scan(TABLE, by="g", where="run < 5")
    result = bound.evaluate(["f1", "accuracy"]).collect()
    assert result["g"].to_list() == ["a", "a", "b", "b", None, None]
    for g, metric, got, n in result.select("g", "metric", "value", "n").iter_rows():
        part = TABLE.filter(pl.col("g").eq_missing(pl.lit(g)) & (pl.col("run") < 5))
        y, c = labels_and_decisions(part)
        assert got == close(DECIDED[metric](y, c))
        assert n == len(y)


def test_interval_of_counts_is_that_of_the_examples() -> None:
    row = sqleval.scan(TABLE).evaluate("precision", ci=0.9).collect().row(0, named=True)
    wanted = binomtest(52, 67).proportion_ci(0.9, method="wilson")
    assert (row["low"], row["high"]) == close((wanted.low, wanted.high))


def test_confusion_of_four_counts() -> None:
    got = sqleval.scan(TABLE).confusion().collect()
    y, c = labels_and_decisions(TABLE)
    assert got.rows() == [
        (label, prediction, n)
        for (label, prediction), n in np.ndenumerate(confusion_matrix(y, c))
    ]  # fmt: skip


def test_counts_of_nothing_are_no_rows() -> None:
    empty = TABLE.with_columns(pl.col(*CELLS) * 0)
    row = of(empty, "accuracy")
    assert (row["value"], row["n"], row["note"]) == (None, 0, "no rows")
    # A cell of nothing changes nothing: of the second run no positive is found.
    run = TABLE.filter(run=2)
    assert of(run, "recall")["value"] == 0
    assert of(run.with_columns(fp=0), "precision")["note"] == "no predicted positives"


LETTERS = pl.DataFrame(
    {
        "label": ["a", "a", "b", "b", "c", "c", "c", "d"],
        "prediction": ["a", "b", "b", "c", "c", "a", "b", "a"],
        "n": [30, 4, 17, 0, 9, 2, 5, 1],
        "site": [1, 2, 1, 2, 1, 2, 1, 2],
    }
)


@pytest.mark.parametrize("how", ["recognised", "named"])
def test_a_table_of_pairs_equals_its_rows(how: str) -> None:
    frame, roles = LETTERS, {}
    if how == "named":
        frame = LETTERS.rename({"label": "y", "prediction": "c", "n": "times"})
        roles = {"label": "y", "prediction": "c", "counts": "times"}
    y, c = (np.repeat(LETTERS[name], LETTERS["n"]) for name in ("label", "prediction"))
    wanted = {
        "accuracy": accuracy_score(y, c),
        "cohen_kappa": cohen_kappa_score(y, c),
        "matthews_corrcoef": matthews_corrcoef(y, c),
        "f1(average='macro')": f1_score(y, c, average="macro", **NAN),
        "f1(average='weighted')": f1_score(y, c, average="weighted", **NAN),
        "precision(average='micro')": precision_score(y, c, average="micro"),
    }
    bound = sqleval.scan(frame, **roles)
    assert bound.task == "multiclass"
    result = bound.evaluate(list(wanted)).collect()
    assert dict(result.select("metric", "value").rows()) == close(wanted)
    assert set(result["n"]) == {68}


def test_a_table_of_pairs_of_two_classes() -> None:
    frame = pl.DataFrame({"label": [1, 1, 0], "prediction": [1, 0, 1], "n": [6, 2, 3]})
    assert value(frame, "precision", task="binary") == close(6 / 9)
    words = frame.with_columns(pl.col("label", "prediction").replace_strict({1: "x", 0: "z"}))
    assert value(words, "recall", task="binary", positive="x") == close(6 / 8)


BINARY = [case for case in CASES if case.kind == "binary"]


@pytest.mark.parametrize("by", [[], ["g"]], ids=["whole", "by"])
def test_counts_with_scores_equal_their_rows(by: list[str]) -> None:
    # Every metric of two classes at once, against the references on the repeated rows.
    frame = drawn("binary", 90, seed=21).with_columns(pl.col("p").round(2))
    roles = {"label": "y", "score": "p", "counts": "count", "by": by}
    cases = {case.request: case for case in BINARY}.values()
    result = sqleval.scan(frame, **roles).evaluate([case.metric for case in cases]).collect()
    keys = frame["g"].unique().to_list() if by else [None]
    wrong = []
    for key in keys:
        part = frame.filter(pl.col("g").eq_missing(pl.lit(key))) if by else frame
        repeated = part[np.repeat(np.arange(part.height), part["count"].to_numpy())]
        got = result.filter(pl.col("g").eq_missing(pl.lit(key))) if by else result
        assert set(got["n"]) == {repeated.height}
        values = dict(got.select("metric", "value").rows())
        assert len(values) == len(cases)
        for case in cases:
            rows = rows_of(repeated, "binary", threshold=case.threshold or 0.5)
            want = case.reference(rows)
            want = None if want is None or np.isnan(want) else want
            got_one = values[request.label(case.request)]
            tolerance = {"rel": case.tolerance, "abs": case.tolerance}
            if got_one != (None if want is None else pytest.approx(want, **tolerance)):
                wrong.append((key, case.metric, got_one, want))
    assert not wrong


def test_counts_of_probabilities_of_several_classes() -> None:
    frame = drawn("probabilities", 80)
    times = frame["count"].to_numpy()
    y = np.repeat(frame["y"].to_numpy(), times)
    scores = np.repeat(frame.select("p_a", "p_b", "p_c").to_numpy(), times, axis=0)
    roles = {**ROLES["probabilities"], "counts": "count"}
    assert value(frame, "log_loss", **roles) == close(log_loss(y, scores))
    wanted = roc_auc_score(y, scores, multi_class="ovr", average="macro")
    assert value(frame, "roc_auc_ovr", **roles) == close(wanted)


def test_curve_of_counts_has_whole_numbers() -> None:
    frame = drawn("binary", 100)
    bound = sqleval.scan(frame, label="y", score="p", counts="count")
    repeated = frame[np.repeat(np.arange(100), frame["count"].to_numpy())]
    fpr, tpr, _ = roc_curve(repeated["y"], repeated["p"], drop_intermediate=False)
    got = bound.curve("roc").collect()
    np.testing.assert_allclose(got.select("fpr", "tpr"), np.column_stack([fpr, tpr]), rtol=1e-12)
    table = bound.confusion().collect()
    assert table["n"].dtype == pl.Int64
    assert table["n"].sum() == repeated.height


def test_dropped_rows_are_counted_by_their_counts() -> None:
    frame = pl.DataFrame(
        {"y": [1, None, 0, 1], "p": [0.9, 0.8, 0.7, None], "n": [3, 4, 5, 6], "m": [3, None, 5, 6]}
    )
    row = of(frame, "accuracy", label="y", score="p", counts="n", nulls="drop")
    assert (row["value"], row["n"], row["n_dropped"]) == (close(3 / 8), 8, 10)
    with pytest.raises(DataError, match="in 4 of 18 rows"):
        of(frame, "accuracy", label="y", score="p", counts="n")
    # A row without a count stands for none.
    known = frame.filter(pl.col("p").is_not_null())
    row = of(known, "accuracy", label="y", score="p", counts="m", nulls="drop")
    assert (row["value"], row["n"]) == (close(3 / 8), 8)


@pytest.mark.parametrize("cell", CELLS)
def test_a_missing_count_is_refused_or_dropped(cell: str) -> None:
    frame = TABLE.with_columns(pl.when(run=4).then(None).otherwise(cell).alias(cell))
    with pytest.raises(DataError, match=r"counts are whole numbers|NULL"):
        of(frame, "accuracy")
    four = dict(zip(CELLS, TABLE.select(CELLS).sum().row(0), strict=True))
    four[cell] -= TABLE.filter(run=4)[cell].item()
    row = of(frame, "accuracy", nulls="drop")
    assert row["n"] == sum(four.values())
    assert row["value"] == close((four["tp"] + four["tn"]) / row["n"])


@pytest.mark.parametrize("bad", [-1.0, 2.5, np.nan, np.inf, None])
@pytest.mark.parametrize("kind", ["cells", "pairs"])
def test_what_is_no_count_is_refused(kind: str, bad: float | None) -> None:
    frame = pl.DataFrame({"tp": [4.0, bad], "fp": [1, 2], "fn": [1, 2], "tn": [0, 1]})
    if kind == "pairs":
        frame = pl.DataFrame({"label": [1, 0], "prediction": [1, 1], "n": [4.0, bad]})
    bound = sqleval.scan(frame, task="binary")
    with pytest.raises(DataError, match=r"counts are whole numbers|NULL, NaN or infinite"):
        bound.evaluate("precision").collect()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_count_that_is_no_number_can_be_dropped(bad: float) -> None:
    frame = pl.DataFrame({"label": [1, 0, 1], "prediction": [1, 1, 1], "n": [4.0, 1.0, bad]})
    row = of(frame, "precision", task="binary", nulls="drop")
    assert (row["value"], row["n"]) == (close(0.8), 5)


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        ({"counts": {"tp": "tp", "fp": "fp", "fn": "fn"}}, "must name the columns of tp, fp, fn"),
        ({"counts": {**RENAMED}}, "counts tp='hits': no such column"),
        ({"counts": {**dict(zip(CELLS, CELLS, strict=True)), "tn": "g"}}, "counts tn='g' must be"),
        ({"counts": dict(zip(CELLS, CELLS, strict=True)), "label": "tp"}, "stand alone"),
        ({"counts": dict(zip(CELLS, CELLS, strict=True)), "weight": "tp"}, "stand alone"),
        ({"label": "tp", "score": "fp", "counts": "fn", "weight": "tn"}, "cannot both be given"),
        ({"label": "tp", "score": "fp", "counts": "g"}, "must be a number"),
        ({"label": "tp", "score": "fp", "counts": "m"}, "no such column"),
        ({"counts": "tp"}, "give label="),
    ],
)
def test_counts_that_do_not_fit_are_refused(roles: dict[str, Any], message: str) -> None:
    with pytest.raises(RequestError) as refused:
        sqleval.scan(TABLE, **roles)
    assert message in str(refused.value)


def test_a_table_that_lacks_a_cell_says_what_a_table_of_counts_has() -> None:
    with pytest.raises(RequestError, match="tp, fp, fn and tn, or label, prediction and n"):
        sqleval.scan(TABLE.drop("tn"))


def test_counts_have_no_scores_and_no_other_threshold() -> None:
    bound = sqleval.scan(TABLE)
    with pytest.raises(RequestError, match="score= is needed"):
        bound.evaluate("roc_auc")
    with pytest.raises(RequestError, match="score= is needed"):
        bound.curve("roc").collect()
    with pytest.raises(RequestError, match="threshold"):
        bound.evaluate("precision(threshold=0.3)")


@pytest.mark.parametrize(
    "case",
    [case for case in CASES if not case.weighted and case.kind != "probabilities"],
    ids=str,
)
def test_metrics_without_weights_refuse_counts(case: Any) -> None:
    bound = sqleval.scan(drawn(case.kind), **ROLES[case.kind], counts="count")
    with pytest.raises(RequestError, match="counts= is given and this metric cannot use weights"):
        bound.evaluate(case.metric)


def command(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    """Run the command and return what it printed, or its error."""
    done = run_command(arguments)
    out, err = capsys.readouterr()
    assert done == code, err
    return err if code else out


def test_counts_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cells, pairs = str(tmp_path / "cells.csv"), str(tmp_path / "pairs.csv")
    TABLE.rename(RENAMED).write_csv(cells)
    LETTERS.rename({"n": "times"}).write_csv(pairs)
    given = [text for cell, name in RENAMED.items() for text in ("--counts", f"{cell}={name}")]
    out = command(capsys, "evaluate", cells, *given, "-m", "f1", "--format", "json")
    y, c = labels_and_decisions(TABLE)
    assert json.loads(out)[0]["value"] == close(f1_score(y, c))
    named = ("--label", "label", "--prediction", "prediction", "--counts", "times")
    out = command(capsys, "evaluate", pairs, *named, "-m", "accuracy", "--format", "json")
    assert json.loads(out)[0]["value"] == close(56 / 68)
    err = command(capsys, "evaluate", cells, "--counts", "tp=hits", "-m", "f1", code=2)
    assert "must name the columns of tp, fp, fn, tn" in err


# -- data sets, folds and runs -----------------------------------------------------------------


def folds(frame: pl.DataFrame, *keys: str) -> list[pl.DataFrame]:
    return frame.partition_by(*keys)


SCORED = drawn("binary", 240, seed=5)
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
@pytest.mark.parametrize("metric", AVERAGED)
def test_macro_over_folds_is_the_mean_of_folds(metric: str, over: list[str]) -> None:
    # A key that is NULL is a fold of its own.
    parts = folds(SCORED, *over)
    assert len(parts) == {"g": 3, "h": 2, "gh": 6}["".join(over)]
    one = [AVERAGED[metric](part) for part in parts]
    roles = {"label": "y", "score": "p", "over": over}
    row = of(SCORED, f"{metric}(average='macro')", **roles)
    assert row["value"] == close(np.mean(one))
    assert (row["n"], row["note"]) == (240, None)
    sizes = [part.height for part in parts]
    wanted = np.average(one, weights=sizes)
    assert value(SCORED, f"{metric}(average='weighted')", **roles) == close(wanted)
    # All rows as one: what micro means, and what no average means.
    for text in (metric, f"{metric}(average='micro')"):
        assert value(SCORED, text, **roles) == close(AVERAGED[metric](SCORED))


def test_all_averages_together() -> None:
    metrics = [f"{m}(average='{a}')" for m in AVERAGED for a in ("macro", "micro", "weighted")]
    bound = sqleval.scan(SCORED, label="y", score="p", over="g")
    result = bound.evaluate([*AVERAGED, *metrics]).collect()
    got = dict(result.select("metric", "value").rows())
    parts = folds(SCORED, "g")
    sizes = [part.height for part in parts]
    for name, reference in AVERAGED.items():
        one = [reference(part) for part in parts]
        assert got[name] == close(reference(SCORED))
        assert got[f"{name}(average='macro')"] == close(np.mean(one))
        assert got[f"{name}(average='micro')"] == close(reference(SCORED))
        assert got[f"{name}(average='weighted')"] == close(np.average(one, weights=sizes))


def test_micro_is_the_rate_of_mean_counts() -> None:
    tp, fp, fn, _ = TABLE.select(CELLS).mean().row(0)
    roles = {"over": "run"}
    assert value(TABLE, "precision(average='micro')", **roles) == close(tp / (tp + fp))
    assert value(TABLE, "recall(average='micro')", **roles) == close(tp / (tp + fn))
    assert value(TABLE, "f1(average='micro')", **roles) == close(2 * tp / (2 * tp + fp + fn))


def rates(metric: str) -> np.ndarray:
    """Return precision or recall of each run, NaN where it is undefined."""
    n = TABLE.select(CELLS).to_numpy().astype(float)
    others = n[:, 1] if metric == "precision" else n[:, 2]
    return n[:, 0] / np.where(n[:, 0] + others > 0, n[:, 0] + others, np.nan)


def test_macro_and_weighted_over_tables_of_counts() -> None:
    one, size = rates("precision"), TABLE.select(CELLS).to_numpy().sum(axis=1)
    assert value(TABLE, "precision_macro", over="run") == close(one.mean())
    got = value(TABLE, "precision(average='weighted')", over="run")
    assert got == close(np.average(one, weights=size))


@pytest.mark.parametrize("text", ["f1(average='macro_of_means')", "f1_macro_of_means"])
def test_macro_of_means_over_folds(text: str) -> None:
    precision, recall = np.nanmean(rates("precision")), np.nanmean(rates("recall"))
    wanted = 2 * precision * recall / (precision + recall)
    assert value(TABLE, text, over="run") == close(wanted)
    # It is not the mean of the folds' F1.
    macro = np.mean([f1_score(*labels_and_decisions(part)) for part in folds(TABLE, "run")])
    assert wanted != close(macro)
    assert value(TABLE, "f1_macro", over="run") == close(macro)


def test_folds_where_a_metric_is_undefined_leave_the_mean() -> None:
    frame = TABLE.with_columns(fp=pl.when(run=2).then(0).otherwise("fp"))
    row = of(frame, "precision(average='macro')", over="run")
    one = np.delete(rates("precision"), 1)
    assert row["value"] == close(one.mean())
    assert row["note"] == "undefined for 1 of 5 folds"
    # Unless they are told to stand for a number.
    row = of(frame, "precision(average='macro', zero_division=1)", over="run")
    assert (row["value"], row["note"]) == (close((one.sum() + 1) / 5), None)
    row = of(frame, "precision(average='weighted')", over="run")
    sizes = np.delete(frame.select(CELLS).to_numpy().sum(axis=1), 1)
    assert row["value"] == close(np.average(one, weights=sizes))


def test_no_fold_has_a_value() -> None:
    frame = SCORED.with_columns(y=pl.col("h") - 1)
    row = of(frame, "roc_auc(average='macro')", label="y", score="p", over="h")
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
    wanted = np.average(one, weights=sizes)
    assert value(SCORED, "roc_auc(average='weighted')", **roles) == close(wanted)


def test_folds_by_slice_and_model() -> None:
    frame = SCORED.with_columns(q=1 - pl.col("p") ** 2)
    bound = sqleval.scan(frame, label="y", score={"one": "p", "two": "q"}, by="h", over="g")
    result = bound.evaluate(["roc_auc(average='macro')", "roc_auc"]).collect()
    assert result.height == 8
    for h, model, metric, got in result.select("h", "model", "metric", "value").iter_rows():
        part, column = frame.filter(h=h), {"one": "p", "two": "q"}[model]
        parts = folds(part, "g") if "macro" in metric else [part]
        wanted = np.mean([roc_auc_score(each["y"], each[column]) for each in parts])
        assert got == close(wanted)


def test_folds_of_a_regression() -> None:
    frame = drawn("regression", 90)
    roles = {**ROLES["regression"], "over": "g"}
    one = [mean_squared_error(part["y"], part["v"]) for part in folds(frame, "g")]
    assert value(frame, "mse(average='macro')", **roles) == close(np.mean(one))
    assert value(frame, "mse", **roles) == close(mean_squared_error(frame["y"], frame["v"]))
    with pytest.raises(RequestError, match=r"average= is for metrics of two classes .* or over"):
        of(frame, "mse(average='macro')", **ROLES["regression"])


def test_folds_of_a_ranking_are_refused() -> None:
    frame = pl.DataFrame({"y": [1, 0], "p": [2, 1], "q": [1, 1], "f": [1, 1]})
    with pytest.raises(RequestError, match="it is the mean over the queries"):
        value(frame, "ndcg(average='macro')", **ROLES["ranking"], over="f")


@pytest.mark.parametrize("kind", ["multiclass", "probabilities"])
def test_folds_of_several_classes_are_refused(kind: Any) -> None:
    with pytest.raises(RequestError, match="over= is for one score or decision"):
        sqleval.scan(drawn(kind), **ROLES[kind], over="g")


@pytest.mark.parametrize("text", ["f1(average='macro')", "f1_macro", "roc_auc_ovr"])
def test_an_average_needs_something_to_average_over(text: str) -> None:
    with pytest.raises(RequestError, match=r"over="):
        of(SCORED, text, label="y", score="p")


@pytest.mark.parametrize("text", ["f1(average=None)", "f1(average='mean')"])
def test_folds_have_no_other_average(text: str) -> None:
    with pytest.raises(RequestError, match="average="):
        of(SCORED, text, label="y", score="p", over="g")


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


# -- a row a class -----------------------------------------------------------------------------

PER_CLASS = {"precision": precision_score, "recall": recall_score, "f1": f1_score}
CODES = {"a": 30, "b": -2, "c": 500}


def several(codes: bool, n: int = 120) -> pl.DataFrame:
    frame = drawn("multiclass", n)
    return frame.with_columns(pl.col("y", "c").replace_strict(CODES)) if codes else frame


@pytest.mark.parametrize("codes", [False, True], ids=["text", "integers"])
@pytest.mark.parametrize("metric", PER_CLASS)
def test_a_row_a_class_equals_scikit_learn(metric: str, codes: bool) -> None:
    frame = several(codes)
    bound = sqleval.scan(frame, label="y", prediction="c")
    lazy = bound.evaluate(f"{metric}(average=None)")
    result = lazy.collect()
    classes = sorted(frame["y"].unique())
    assert result.columns[:2] == ["class", "metric"]
    assert result.schema == lazy.collect_schema()
    assert result["class"].dtype == (pl.Int64 if codes else pl.String)
    assert result["class"].to_list() == classes
    wanted = PER_CLASS[metric](frame["y"], frame["c"], labels=classes, average=None)
    np.testing.assert_allclose(result["value"], wanted, rtol=1e-12)
    assert set(result["n"]) == {120}
    assert set(result["metric"]) == {f"{metric}(average=None)"}


def test_rows_of_classes_beside_other_metrics_by_slice() -> None:
    frame = several(codes=False)
    bound = sqleval.scan(frame, label="y", prediction="c", by="g")
    metrics = ["accuracy", "recall(average=None)", "precision(average=None)", "f1_macro"]
    result = bound.evaluate(metrics).collect()
    assert result.columns[:3] == ["g", "class", "metric"]
    assert result.height == 3 * (3 + 3 + 2)
    for (g,), part in result.partition_by("g", as_dict=True).items():
        y, c = frame.filter(pl.col("g").eq_missing(pl.lit(g))).select("y", "c")
        assert part["class"].to_list() == [None, *"abc", *"abc", None]
        wanted = [
            accuracy_score(y, c),
            *recall_score(y, c, average=None, labels=["a", "b", "c"]),
            *precision_score(y, c, average=None, labels=["a", "b", "c"]),
            f1_score(y, c, average="macro"),
        ]
        np.testing.assert_allclose(part["value"], wanted, rtol=1e-12)


def test_rows_of_classes_by_their_scores() -> None:
    frame = drawn("probabilities", 150)
    bound = sqleval.scan(frame, **ROLES["probabilities"])
    metrics = ["roc_auc(average=None)", "average_precision(average=None)"]
    result = bound.evaluate(metrics).collect()
    assert result["class"].to_list() == [*"abc", *"abc"]
    y = frame["y"].to_numpy()
    wanted = [roc_auc_score(y == c, frame[f"p_{c}"]) for c in "abc"]
    wanted += [average_precision_score(y == c, frame[f"p_{c}"]) for c in "abc"]
    np.testing.assert_allclose(result["value"], wanted, rtol=1e-12)


def test_rows_of_classes_filter_like_any_column() -> None:
    frame = several(codes=False)
    lazy = sqleval.scan(frame, label="y", prediction="c").evaluate("recall(average=None)")
    got = lazy.filter(pl.col("class") == "b").select("value").collect()
    assert got.item() == close(recall_score(frame["y"], frame["c"], labels=["b"], average=None)[0])


NEVER = pl.DataFrame({"y": ["a", "a", "b", "c"], "c": ["a", "b", "b", "d"]})


@pytest.mark.parametrize("instead", [0, 1])
@pytest.mark.parametrize("metric", PER_CLASS)
def test_zero_division_stands_for_undefined(metric: str, instead: int) -> None:
    def wanted(average: str | None) -> Any:
        return PER_CLASS[metric](NEVER["y"], NEVER["c"], average=average, zero_division=instead)

    roles = {"label": "y", "prediction": "c"}
    bound = sqleval.scan(NEVER, **roles)
    text = f"{metric}(average=None, zero_division={instead})"
    result = bound.evaluate(text).collect()
    assert result["metric"][0] == text
    np.testing.assert_allclose(result["value"], wanted(None), rtol=1e-12)
    for average in ("macro", "weighted", "micro"):
        text = f"{metric}(average='{average}', zero_division={instead})"
        assert value(NEVER, text, **roles) == close(wanted(average))


def test_undefined_classes_have_a_note_without_zero_division() -> None:
    bound = sqleval.scan(NEVER, label="y", prediction="c")
    result = bound.evaluate(["precision(average=None)", "recall(average=None)"]).collect()
    notes = dict(zip(result.select("metric", "class").rows(), result["note"], strict=True))
    assert notes.pop(("precision(average=None)", "c")) == "no predicted positives"
    assert notes.pop(("recall(average=None)", "d")) == "no positive labels"
    assert set(notes.values()) == {None}


@pytest.mark.parametrize("instead", [0, 1])
def test_zero_division_of_two_classes(instead: int) -> None:
    frame = pl.DataFrame({"y": [1, 0], "p": [0.1, 0.2]})
    text = f"precision(zero_division={instead})"
    wanted = precision_score([1, 0], [0, 0], zero_division=instead)
    assert value(frame, text, label="y", score="p") == wanted
    # Of no rows there is no value all the same.
    assert value(frame.clear(), text, label="y", score="p") is None


@pytest.mark.parametrize("given", ["2", "'nan'", "True", "0.5"])
def test_zero_division_is_0_or_1(given: str) -> None:
    with pytest.raises(RequestError, match="zero_division"):
        of(NEVER, f"precision(zero_division={given})", label="y", prediction="c")


# -- every pair of classes ---------------------------------------------------------------------


def guessed(k: int, n: int = 150) -> pl.DataFrame:
    """Return rows of k classes, with a decision and a probability a class."""
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
    bound = sqleval.scan(frame, label="y", prediction="c", weight=weight)
    wanted = {
        f"{name}(average='{average}', multi_class='ovo')": ref.one_vs_one(metric, average)(rows)
        for name, metric in COUNTED.items()
        for average in ("macro", "micro", "weighted")
    }
    result = bound.evaluate(list(wanted)).collect()
    assert dict(result.select("metric", "value").rows()) == close(wanted)


@pytest.mark.parametrize("k", [3, 4, 5, 6])
def test_hand_and_till_equals_scikit_learn(k: int) -> None:
    frame = guessed(k)
    score = {i: f"p_{i}" for i in range(k)}
    roles = {"label": "y", "score": score, "task": "multiclass"}
    probabilities = frame.select(score.values()).to_numpy()
    for average in ("macro", "weighted"):
        wanted = roc_auc_score(frame["y"], probabilities, multi_class="ovo", average=average)
        text = f"roc_auc(average='{average}', multi_class='ovo')"
        assert value(frame, text, **roles) == close(wanted)
    wanted = roc_auc_score(frame["y"], probabilities, multi_class="ovo")
    assert value(frame, "roc_auc_ovo", **roles) == close(wanted)


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


@pytest.mark.parametrize("average", ["macro", "micro", "weighted"])
def test_pairs_of_classes_by_scores_with_weights(average: str) -> None:
    frame = drawn("probabilities", 90)
    case = next(case for case in BINARY if case.metric == "average_precision")
    text = f"average_precision(average='{average}', multi_class='ovo')"
    rows = rows_of(frame, "probabilities", weight="w")
    wanted = ref.one_vs_one_scored(case.reference, average)(rows)
    assert wanted is not None
    assert value(frame, text, **ROLES["probabilities"], weight="w") == close(wanted)


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
def test_pairs_that_make_no_sense_are_refused(
    text: str, roles: dict[str, Any], message: str
) -> None:
    with pytest.raises(RequestError) as refused:
        of(several(codes=False), text, label="y", prediction="c", **roles)
    assert message in str(refused.value)


def test_one_class_has_no_pair() -> None:
    frame = pl.DataFrame({"y": ["a", "a"], "c": ["a", "a"]})
    for average in ("macro", "micro", "weighted"):
        text = f"f1(average='{average}', multi_class='ovo')"
        row = of(frame, text, label="y", prediction="c", task="multiclass")
        assert row["value"] is None
        assert row["note"]


# -- curves of several classes -----------------------------------------------------------------

THREE = drawn("probabilities", 200, seed=3)


def of_class(name: str, **params: Any) -> dict[str, pl.DataFrame]:
    curve = sqleval.scan(THREE, **ROLES["probabilities"]).curve(name, **params)
    parts = curve.collect().partition_by("class", as_dict=True)
    return {str(key): part for (key,), part in parts.items()}


def test_roc_curve_of_each_class() -> None:
    parts = of_class("roc")
    assert list(parts) == ["a", "b", "c"]
    for c, part in parts.items():
        fpr, tpr, threshold = roc_curve(THREE["y"] == c, THREE[f"p_{c}"], drop_intermediate=False)
        wanted = np.column_stack([threshold, fpr, tpr])
        got = part.select("threshold", "fpr", "tpr")
        np.testing.assert_allclose(got, wanted, rtol=1e-12)


def test_pr_curve_of_each_class() -> None:
    parts = of_class("pr")
    assert list(parts) == ["a", "b", "c"]
    for c, part in parts.items():
        precision, recall, _ = precision_recall_curve(THREE["y"] == c, THREE[f"p_{c}"])
        wanted = np.column_stack([precision[::-1], recall[::-1]])
        np.testing.assert_allclose(part.select("precision", "recall"), wanted, rtol=1e-12)


def test_calibration_curve_of_each_class() -> None:
    parts = of_class("calibration", bins=5)
    assert list(parts) == ["a", "b", "c"]
    for c, part in parts.items():
        observed, predicted = calibration_curve(THREE["y"] == c, THREE[f"p_{c}"], n_bins=5)
        wanted = np.column_stack([predicted, observed])
        np.testing.assert_allclose(part.select("predicted", "observed"), wanted, rtol=1e-12)


def test_cost_curve_of_each_class() -> None:
    parts = of_class("cost")
    assert list(parts) == ["a", "b", "c"]
    x = np.linspace(0, 1, 101)
    for c, part in parts.items():
        fpr, tpr, _ = roc_curve(THREE["y"] == c, THREE[f"p_{c}"], drop_intermediate=False)
        wanted = (fpr[:, None] * (1 - x) + (1 - tpr[:, None]) * x).min(axis=0)
        got = np.interp(x, part["probability_cost"], part["normalized_cost"])
        np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("codes", [False, True], ids=["text", "integers"])
def test_classification_report_equals_scikit_learn(codes: bool) -> None:
    frame = several(codes)
    bound = sqleval.scan(frame, label="y", prediction="c", by="h")
    for (h,), part in (
        bound.curve("classification_report").collect().partition_by("h", as_dict=True).items()
    ):
        rows = frame.filter(h=h)
        table = classification_report(rows["y"], rows["c"], output_dict=True)
        assert part["class"].to_list() == sorted(rows["y"].unique())
        for row in part.iter_rows(named=True):
            wanted = table[str(row["class"])]
            got = [row[name] for name in ("precision", "recall", "f1", "support")]
            assert got == close([wanted[k] for k in ("precision", "recall", "f1-score", "support")])
            assert row["predictions"] == (rows["c"] == row["class"]).sum()


# -- train, validation, test -------------------------------------------------------------------


def split(n: int = 300, *names: str) -> pl.DataFrame:
    names = names or ("test", "train", "validation")
    frame = drawn("binary", n, seed=6).with_columns(q=1 - pl.col("w"))
    place = pl.int_range(pl.len()) * 7 % len(names)
    return frame.with_columns(part=place.replace_strict(dict(enumerate(names)), return_dtype=str))


MEASURED: Mapping[str, Callable[[pl.DataFrame, str], float]] = {
    "roc_auc": lambda part, p: roc_auc_score(part["y"], part[p]),
    "log_loss": lambda part, p: log_loss(part["y"], part[p]),
    "accuracy": lambda part, p: accuracy_score(part["y"], part[p] >= 0.5),
    "error_rate": lambda part, p: 1 - accuracy_score(part["y"], part[p] >= 0.5),
}
LOWER = ("log_loss", "error_rate")
ORDER = ("train", "validation", "test", "gap", "validation_gap")


def measured(frame: pl.DataFrame, column: str = "p") -> list[tuple[str, str, float, int]]:
    """Return role, metric, value and n, in the order of the result."""
    value = {
        (role, metric): reference(frame.filter(part=role), column)
        for role in ORDER[:3]
        for metric, reference in MEASURED.items()
    }
    size = {role: frame.filter(part=role).height for role in ORDER[:3]}
    for gap, role in (("gap", "test"), ("validation_gap", "validation")):
        size[gap] = size["train"] + size[role]
        for metric in MEASURED:
            worse = value[role, metric] - value["train", metric]
            value[gap, metric] = worse if metric in LOWER else -worse
    rows = [(role, metric) for role in ORDER for metric in MEASURED]
    return [(role, metric, value[role, metric], size[role]) for role, metric in rows]


def assert_measured(got: pl.DataFrame, wanted: list[tuple[str, str, float, int]]) -> None:
    rows = got.select("role", "metric", "value", "n").rows()
    assert [row[:2] for row in rows] == [row[:2] for row in wanted]
    assert [row[3] for row in rows] == [row[3] for row in wanted]
    np.testing.assert_allclose([r[2] for r in rows], [r[2] for r in wanted], rtol=0, atol=1e-12)


def test_roles_have_their_values_and_gaps() -> None:
    frame = split()
    bound = sqleval.scan(frame, label="y", score="p", role="part")
    lazy = bound.evaluate(list(MEASURED))
    result = lazy.collect()
    assert result.columns[:2] == ["role", "metric"]
    assert result.schema == lazy.collect_schema()
    assert_measured(result, measured(frame))
    methods = dict(result.filter(role="gap").select("metric", "method").rows())
    assert methods["log_loss"] == "test - train"
    assert methods["roc_auc"] == "train - test"


def test_roles_by_slice_and_model() -> None:
    frame = split(400)
    roles = {"label": "y", "score": {"one": "p", "two": "q"}, "role": "part", "by": "h"}
    result = sqleval.scan(frame, **roles).evaluate(list(MEASURED)).collect()
    assert result.columns[:4] == ["h", "model", "role", "metric"]
    parts = result.partition_by("h", "model", as_dict=True)
    assert list(parts) == [(1, "one"), (1, "two"), (2, "one"), (2, "two")]
    for (h, model), part in parts.items():
        column = {"one": "p", "two": "q"}[model]
        assert_measured(part, measured(frame.filter(h=h), column))


def test_a_role_column_of_another_name_and_order_of_rows() -> None:
    frame = split().rename({"part": "role"}).sort("role", descending=True)
    result = sqleval.scan(frame, label="y", score="p", role="role").evaluate("accuracy").collect()
    assert result["role"].to_list() == list(ORDER)
    test, train = (frame.filter(role=name) for name in ("test", "train"))
    wanted = MEASURED["accuracy"](train, "p") - MEASURED["accuracy"](test, "p")
    assert result["value"][3] == close(wanted)


@pytest.mark.parametrize(
    ("names", "roles"),
    [
        (["train"], ["train"]),
        (["test"], ["test"]),
        (["validation", "test"], ["validation", "test"]),
        (["train", "test"], ["train", "test", "gap"]),
        (["train", "validation"], ["train", "validation", "validation_gap"]),
    ],
    ids=str,
)
def test_only_what_occurs_has_rows(names: list[str], roles: list[str]) -> None:
    bound = sqleval.scan(split(60, *names), label="y", score="p", role="part")
    assert bound.evaluate("accuracy").collect()["role"].to_list() == roles


def test_a_slice_without_training_rows_has_no_gap() -> None:
    frame = split(200).filter((pl.col("h") == 1) | (pl.col("part") != "train"))
    bound = sqleval.scan(frame, label="y", score="p", role="part", by="h")
    result = bound.evaluate("roc_auc").collect()
    assert result.select("h", "role").rows() == [
        *((1, role) for role in ORDER), (2, "validation"), (2, "test"),
    ]  # fmt: skip


def test_an_undefined_value_leaves_the_gap_undefined() -> None:
    frame = split(90).with_columns(y=pl.when(part="test").then(1).otherwise("y"))
    bound = sqleval.scan(frame, label="y", score="p", role="part")
    row = bound.evaluate("roc_auc").filter(role="gap").collect().row(0, named=True)
    assert (row["value"], row["note"]) == (None, "no negative labels")
    row = bound.evaluate("roc_auc").filter(role="validation_gap").collect().row(0, named=True)
    parts = [frame.filter(part=name) for name in ("train", "validation")]
    one, other = (MEASURED["roc_auc"](part, "p") for part in parts)
    assert row["value"] == close(one - other)


def test_gaps_of_classes() -> None:
    frame = several(codes=False, n=240)
    frame = frame.with_columns(part=pl.Series(["train", "test"] * 120))
    bound = sqleval.scan(frame, label="y", prediction="c", role="part")
    got = bound.evaluate(["recall(average=None)", "accuracy"]).filter(role="gap").collect()
    train, test = (frame.filter(part=name) for name in ("train", "test"))
    one, other = (recall_score(part["y"], part["c"], average=None) for part in (train, test))
    whole = accuracy_score(train["y"], train["c"]) - accuracy_score(test["y"], test["c"])
    assert got["class"].to_list() == ["a", "b", "c", None]
    np.testing.assert_allclose(got["value"], [*(one - other), whole], rtol=0, atol=1e-12)


def test_gap_of_a_regression_and_of_counts() -> None:
    frame = drawn("regression", 80).with_columns(
        part=pl.when(pl.col("h") == 1).then(pl.lit("train")).otherwise(pl.lit("test"))
    )
    result = sqleval.scan(frame, **ROLES["regression"], role="part").evaluate("mse").collect()
    train, test = (frame.filter(part=name) for name in ("train", "test"))
    one, other = (mean_squared_error(part["y"], part["v"]) for part in (train, test))
    np.testing.assert_allclose(result["value"], [one, other, other - one], rtol=1e-12)
    counts = TABLE.head(2).with_columns(part=pl.Series(["train", "test"]))
    result = sqleval.scan(counts, role="part").evaluate("accuracy").collect()
    np.testing.assert_allclose(result["value"], [17 / 20, 11 / 20, 6 / 20], rtol=1e-12)
    assert result["n"].to_list() == [20, 20, 40]


def test_an_unknown_role_is_named_with_the_known_ones() -> None:
    frame = split(30, "train", "tets")
    bound = sqleval.scan(frame, label="y", score="p", role="part")
    known = "'tets'; its values must be among train, validation, test"
    with pytest.raises(DataError, match=known):
        bound.evaluate("accuracy").collect()


def test_rows_without_a_role() -> None:
    frame = split(90).with_columns(part=pl.when(h=2, part="test").then(None).otherwise("part"))
    roles = {"label": "y", "score": "p", "role": "part"}
    with pytest.raises(DataError, match="role='part' is NULL"):
        sqleval.scan(frame, **roles).evaluate("accuracy").collect()
    result = sqleval.scan(frame, **roles, nulls="drop").evaluate("accuracy").collect()
    known = frame.drop_nulls("part")
    got = result.filter(role="test").row(0, named=True)
    assert got["value"] == close(MEASURED["accuracy"](known.filter(part="test"), "p"))
    # What has no role is counted as dropped.
    assert result.filter(pl.col("role").is_null())["n_dropped"].item() == 90 - known.height


@pytest.mark.parametrize("role", ORDER)
def test_roles_filter_like_any_column(role: str) -> None:
    frame = split()
    lazy = sqleval.scan(frame, label="y", score="p", role="part").evaluate("roc_auc")
    wanted = next(row[2] for row in measured(frame) if row[:2] == (role, "roc_auc"))
    got = lazy.filter(pl.col("role") == role).select("value").collect()
    assert got.item() == pytest.approx(wanted, abs=1e-12)


def test_a_slice_key_may_be_called_role() -> None:
    frame = pl.DataFrame({"role": ["pilot", "crew", "crew"], "y": [1, 0, 1], "p": [0.9, 0.8, 0.7]})
    result = sqleval.scan(frame, label="y", score="p", by="role").evaluate("accuracy").collect()
    assert result.select("role", "value").rows() == [("crew", 0.5), ("pilot", 1.0)]


def test_a_slice_key_called_role_beside_roles_is_refused() -> None:
    frame = split(30).with_columns(role=pl.lit("pilot"))
    with pytest.raises(RequestError, match="by= names 'role'"):
        sqleval.scan(frame, label="y", score="p", by="role", role="part")


def test_roles_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, frame = str(tmp_path / "rows.parquet"), split()
    frame.write_parquet(path)
    metrics = [text for metric in MEASURED for text in ("-m", metric)]
    roles = ("--label", "y", "--score", "p", "--role", "part", "--format", "json")
    out = command(capsys, "evaluate", path, *roles, *metrics)
    got = [(row["role"], row["metric"], row["value"], row["n"]) for row in json.loads(out)]
    assert [row[:2] for row in got] == [row[:2] for row in measured(frame)]
    wanted = [row[2] for row in measured(frame)]
    np.testing.assert_allclose([row[2] for row in got], wanted, rtol=0, atol=1e-12)


def test_roc_curve_of_each_role() -> None:
    frame = split(90)
    curve = sqleval.scan(frame, label="y", score="p", role="part").curve("roc").collect()
    parts = curve.partition_by("role", as_dict=True)
    assert {role for (role,) in parts} == set(ORDER[:3])
    for (role,), part in parts.items():
        rows = frame.filter(part=role)
        fpr, tpr, _ = roc_curve(rows["y"], rows["p"], drop_intermediate=False)
        np.testing.assert_allclose(part.select("fpr", "tpr"), np.column_stack([fpr, tpr]))


# -- the mean under a density ------------------------------------------------------------------

STEPS = 1000
MIDDLES = (np.arange(STEPS) + 0.5) / STEPS


@pytest.mark.parametrize(
    ("density", "wanted", "bound"),
    [
        # A midpoint rule is off by h^2 / 24 times the rise of the slope of the integrand,
        (np.ones(STEPS), 1 / 3, 2 / 24),  # x^2: 2
        (2 * MIDDLES, 1 / 2, 6 / 24),  # 2 x^3: 6
    ],
    ids=["p = 1", "p = 2x"],
)
def test_mse_is_an_integral_over_a_grid(density: np.ndarray, wanted: float, bound: float) -> None:
    frame = pl.DataFrame({"y": MIDDLES, "f": np.zeros(STEPS), "dx": density / STEPS})
    roles = {"label": "y", "prediction": "f", "weight": "dx", "task": "regression"}
    got = value(frame, "mse(normalize=False)", **roles)
    assert got is not None
    # The bound is attained, but for rounding: both integrands are polynomials of degree 3 or less.
    assert wanted - got == pytest.approx(bound / STEPS**2, rel=1e-6)
    # Here the weights sum to 1, so that the mean is the integral.
    assert value(frame, "mse", **roles) == close(got)


def test_the_integral_is_not_divided_by_the_weights() -> None:
    frame = pl.DataFrame({"y": [1.0, 2.0], "f": [0.0, 0.0], "dx": [0.5, 0.25]})
    roles = {"label": "y", "prediction": "f", "weight": "dx", "task": "regression"}
    assert value(frame, "mse(normalize=False)", **roles) == close(0.5 + 0.25 * 4)
    assert value(frame, "mse(normalize=True)", **roles) == close(1.5 / 0.75)
    assert value(frame, "mse(normalize=False)", **{**roles, "weight": None}) == close(5)


def test_error_and_accuracy_under_a_density_sum_to_1() -> None:
    # p(x) = 2x; y = [x > 0.3], decided at 0.5: wrong on (0.3, 0.5], whose mass is 0.16.
    frame = pl.DataFrame(
        {"y": (MIDDLES > 0.3).astype(int), "x": MIDDLES, "dx": 2 * MIDDLES / STEPS}
    )
    roles = {"label": "y", "score": "x", "weight": "dx"}
    error = value(frame, "error_rate(normalize=False)", **roles)
    accuracy = value(frame, "accuracy(normalize=False)", **roles)
    # Both edges are edges of cells, and the midpoint rule is exact for a straight line.
    assert (error, accuracy) == close((0.16, 0.84))
    assert value(frame, "error_rate", **roles) == close(0.16)


def test_importance_weights_converge_to_the_same() -> None:
    # From q = 1, weighted by p / q = 2x; the normalised mean has a standard error of 0.0007.
    x = np.random.default_rng(0).random(200_000)
    frame = pl.DataFrame({"y": x, "f": np.zeros(len(x)), "ratio": 2 * x})
    roles = {"label": "y", "prediction": "f", "weight": "ratio", "task": "regression"}
    assert value(frame, "mse", **roles) == pytest.approx(1 / 2, abs=0.003)
    # Without the weights it is the mean under q.
    assert value(frame, "mse", **{**roles, "weight": None}) == pytest.approx(1 / 3, abs=0.003)


# -- costs of each pair ------------------------------------------------------------------------

COSTS = {"a": {"b": 1, "c": 4.5, "a": -1}, "b": {"a": 2, "c": 0.5}, "c": {"a": 0, "b": 3}}
LOSSES = np.array([[-1, 1, 4.5], [2, 0, 0.5], [0, 3, 0]])


@pytest.mark.parametrize("weight", [None, "count", "w"])
def test_cost_of_three_classes(weight: str | None) -> None:
    frame = several(codes=False)
    times = frame[weight].to_numpy() if weight else np.ones(frame.height)
    n = confusion_matrix(frame["y"], frame["c"], sample_weight=times)
    wanted = (n * LOSSES).sum() / n.sum()
    text = f"misclassification_cost(cost_matrix={COSTS})"
    assert value(frame, text, label="y", prediction="c", weight=weight) == close(wanted)


def test_cost_of_integer_classes_and_of_probabilities() -> None:
    frame = several(codes=True)
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
    row = of(frame, text, label="y", prediction="c")
    assert row["value"] is None
    assert row["note"] == "a pair of label and prediction has no cost"


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ("{'a': 5}", "must be {label: {prediction: cost}}; 'a' has 5"),
        ("{}", "must be {label: {prediction: cost}}, not {}"),
        ("[[0, 1], [5, 0]]", "must be {label: {prediction: cost}}, not [[0, 1], [5, 0]]"),
        ("None", "must be {label: {prediction: cost}}, not None"),
        ("{'a': {'b': 'much'}}", "the cost of 'a' as 'b' is 'much'"),
        ("{'a': {'b': None}}", "the cost of 'a' as 'b' is None"),
        ("{'a': {'b': True}}", "the cost of 'a' as 'b' is True"),
        ("{'a': {'b': 1e999}}", "the cost of 'a' as 'b' is inf"),
    ],
)
def test_what_is_no_matrix_of_costs_is_refused(matrix: str, message: str) -> None:
    text = f"misclassification_cost(cost_matrix={matrix})"
    with pytest.raises(RequestError) as refused:
        of(several(codes=False), text, label="y", prediction="c")
    assert message in str(refused.value)


def test_a_matrix_of_costs_must_be_given_and_fit_the_classes() -> None:
    with pytest.raises(RequestError, match="misclassification_cost needs cost_matrix="):
        of(several(codes=False), "misclassification_cost", label="y", prediction="c")
    text = "misclassification_cost(cost_matrix={'a': {'b': 5}})"
    with pytest.raises(RequestError, match="the class 'a' is not known; classes are whole"):
        of(several(codes=True), text, label="y", prediction="c")
    with pytest.raises(RequestError, match="the class 'a' is not known; classes are 0 and 1"):
        of(SCORED, text, label="y", score="p")


def test_costs_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "rows.csv")
    pl.DataFrame({"y": list("aaab"), "c": list("aabb")}).write_csv(path)
    text = 'misclassification_cost(cost_matrix={"a": {"b": 5}})'
    roles = ("--label", "y", "--prediction", "c", "--task", "multiclass", "--format", "json")
    (row,) = json.loads(command(capsys, "evaluate", path, *roles, "-m", text))
    assert row["value"] == close(5 / 4)
    assert row["metric"] == "misclassification_cost(cost_matrix={'a': {'b': 5.0}})"


def test_every_metric_of_two_classes_takes_counts() -> None:
    # Should one appear that does not, the test above must refuse it.
    families = ("binary", "threshold", "cost", "calibration", "classification")
    names = {case.name for case in BINARY}
    for relation in catalog.relations("metric"):
        if relation.family in families:
            assert relation.header["weights"] == "frequency"
            assert relation.name in names
