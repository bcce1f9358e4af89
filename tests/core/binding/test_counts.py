"""Counts as input: four cells, a table of label and prediction, or a count beside each row."""

import json
from collections.abc import Callable, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import binomtest
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    cohen_kappa_score,
    confusion_matrix,
    f1_score,
    fbeta_score,
    jaccard_score,
    log_loss,
    matthews_corrcoef,
    precision_score,
    recall_score,
    roc_auc_score,
    roc_curve,
)

import sqleval
from sqleval import DataError, RequestError
from sqleval.catalog import builtin, request
from tests.support.cases import CASES, NAN, ROLES, drawn, rows_of
from tests.support.comparison import assert_frame_equal
from tests.support.small_inputs import (
    BINARY,
    CELLS,
    COUNTS,
    close,
    command,
    labels_and_decisions,
    only_row,
    value,
)
from tests.support.versions import needs

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


RENAMED = {"tp": "hits", "fp": "alarms", "fn": "misses", "tn": "rest"}


@pytest.mark.parametrize("how", ["recognised", "named", "whole numbers as DOUBLE", "of any width"])
def test_four_counts_equal_their_rows(how: str) -> None:
    frame, roles = COUNTS, {}
    if how == "named":
        frame, roles = COUNTS.rename(RENAMED), {"counts": RENAMED}
    if how == "whole numbers as DOUBLE":
        frame = COUNTS.with_columns(pl.col(*CELLS).cast(pl.Float64))
    if how == "of any width":
        frame = COUNTS.cast({"tp": pl.UInt8, "fp": pl.Int16, "fn": pl.UInt64, "tn": pl.Float32})
    bound = sqleval.scan(frame, **roles)
    assert bound.task == "binary"
    result = bound.evaluate(list(DECIDED)).collect()
    y, c = labels_and_decisions(COUNTS)
    assert result["n"].to_list() == [len(y)] * len(DECIDED)
    assert set(result["n_dropped"]) == {0}
    for metric, got in zip(DECIDED, result["value"], strict=True):
        assert got == close(DECIDED[metric](y, c)), metric


def test_four_counts_by_slice_and_under_a_condition() -> None:
    bound = sqleval.scan(COUNTS, by="g", where="run < 5")
    result = bound.evaluate(["f1", "accuracy"]).collect()
    assert result["g"].to_list() == ["a", "a", "b", "b", None, None]
    for g, metric, got, n in result.select("g", "metric", "value", "n").iter_rows():
        part = COUNTS.filter(pl.col("g").eq_missing(pl.lit(g)) & (pl.col("run") < 5))
        y, c = labels_and_decisions(part)
        assert got == close(DECIDED[metric](y, c))
        assert n == len(y)


def test_interval_of_counts_is_that_of_the_examples() -> None:
    row = sqleval.scan(COUNTS).evaluate("precision", ci=0.9).collect().row(0, named=True)
    expected = binomtest(52, 67).proportion_ci(0.9, method="wilson")
    assert (row["low"], row["high"]) == close((expected.low, expected.high))


def test_confusion_of_four_counts() -> None:
    got = sqleval.scan(COUNTS).confusion().collect()
    y, c = labels_and_decisions(COUNTS)
    assert got.rows() == [
        (label, prediction, n)
        for (label, prediction), n in np.ndenumerate(confusion_matrix(y, c))
    ]  # fmt: skip


def test_zero_counts_are_no_rows() -> None:
    empty = COUNTS.with_columns(pl.col(*CELLS) * 0)
    row = only_row(empty, "accuracy")
    assert (row["value"], row["n"], row["note"]) == (None, 0, "no rows")
    # A count of 0 changes nothing: the second run has no true positive.
    run = COUNTS.filter(run=2)
    assert only_row(run, "recall")["value"] == 0
    assert only_row(run.with_columns(fp=0), "precision")["note"] == "no predicted positives"


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
    expected = {
        "accuracy": accuracy_score(y, c),
        "cohen_kappa": cohen_kappa_score(y, c),
        "matthews_corrcoef": matthews_corrcoef(y, c),
        "f1(average='macro')": f1_score(y, c, average="macro", **NAN),
        "f1(average='weighted')": f1_score(y, c, average="weighted", **NAN),
        "precision(average='micro')": precision_score(y, c, average="micro"),
    }
    bound = sqleval.scan(frame, **roles)
    assert bound.task == "multiclass"
    result = bound.evaluate(list(expected)).collect()
    assert dict(result.select("metric", "value").rows()) == close(expected)
    assert set(result["n"]) == {68}


def test_a_table_of_pairs_of_two_classes() -> None:
    frame = pl.DataFrame({"label": [1, 1, 0], "prediction": [1, 0, 1], "n": [6, 2, 3]})
    assert value(frame, "precision", task="binary") == close(6 / 9)
    words = frame.with_columns(pl.col("label", "prediction").replace_strict({1: "x", 0: "z"}))
    assert value(words, "recall", task="binary", positive="x") == close(6 / 8)


@pytest.mark.parametrize("by", [[], ["g"]], ids=["whole", "by"])
@needs("DuckDB 1 has no logarithm of 0", duckdb="2")
def test_counts_with_scores_equal_their_rows(by: list[str]) -> None:
    # Every metric of two classes at once, against the references on repeated rows. Without slices
    # a fourth of the metrics is enough, because one place reads the counts.
    frame = drawn("binary", 90, seed=21).with_columns(pl.col("p").round(2))
    roles = {"label": "y", "score": "p", "counts": "count", "by": by}
    cases = list({case.request: case for case in BINARY}.values())[:: 1 if by else 4]
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
            got_one = values[request.format_request(case.request)]
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
    expected = roc_auc_score(y, scores, multi_class="ovr", average="macro")
    assert value(frame, "roc_auc_ovr", **roles) == close(expected)


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
    row = only_row(frame, "accuracy", label="y", score="p", counts="n", nulls="drop")
    assert (row["value"], row["n"], row["n_dropped"]) == (close(3 / 8), 8, 10)
    with pytest.raises(DataError, match="in 4 of 18 rows"):
        only_row(frame, "accuracy", label="y", score="p", counts="n")
    # A row without a count stands for no rows.
    known = frame.filter(pl.col("p").is_not_null())
    row = only_row(known, "accuracy", label="y", score="p", counts="m", nulls="drop")
    assert (row["value"], row["n"]) == (close(3 / 8), 8)


@pytest.mark.parametrize("cell", CELLS)
def test_a_missing_count_is_refused_or_dropped(cell: str) -> None:
    frame = COUNTS.with_columns(pl.when(run=4).then(None).otherwise(cell).alias(cell))
    with pytest.raises(DataError, match=r"must be whole numbers|NULL"):
        only_row(frame, "accuracy")
    four = dict(zip(CELLS, COUNTS.select(CELLS).sum().row(0), strict=True))
    four[cell] -= COUNTS.filter(run=4)[cell].item()
    row = only_row(frame, "accuracy", nulls="drop")
    assert row["n"] == sum(four.values())
    assert row["value"] == close((four["tp"] + four["tn"]) / row["n"])


@pytest.mark.parametrize("bad", [-1.0, 2.5, np.nan, np.inf, None])
@pytest.mark.parametrize("kind", ["cells", "pairs"])
def test_values_that_are_not_counts_are_refused(kind: str, bad: float | None) -> None:
    frame = pl.DataFrame({"tp": [4.0, bad], "fp": [1, 2], "fn": [1, 2], "tn": [0, 1]})
    if kind == "pairs":
        frame = pl.DataFrame({"label": [1, 0], "prediction": [1, 1], "n": [4.0, bad]})
    bound = sqleval.scan(frame, task="binary")
    with pytest.raises(DataError, match=r"must be whole numbers|NULL, NaN or infinite"):
        bound.evaluate("precision").collect()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_rows_with_a_nan_or_infinite_count_can_be_dropped(bad: float) -> None:
    frame = pl.DataFrame({"label": [1, 0, 1], "prediction": [1, 1, 1], "n": [4.0, 1.0, bad]})
    row = only_row(frame, "precision", task="binary", nulls="drop")
    assert (row["value"], row["n"]) == (close(0.8), 5)


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        ({"counts": {"tp": "tp", "fb": "fp"}}, "must name the columns of tp, fp, fn, tn, or of"),
        ({"counts": {}}, "must name the columns of tp, fp, fn, tn, or of"),
        ({"counts": {**RENAMED}}, "counts tp='hits': no such column"),
        ({"counts": {**dict(zip(CELLS, CELLS, strict=True)), "tn": "g"}}, "counts tn='g' must be"),
        ({"counts": dict(zip(CELLS, CELLS, strict=True)), "label": "tp"}, "go without label="),
        ({"counts": dict(zip(CELLS, CELLS, strict=True)), "weight": "tp"}, "go without label="),
        ({"label": "tp", "score": "fp", "counts": "fn", "weight": "tn"}, "cannot both be given"),
        ({"label": "tp", "score": "fp", "counts": "g"}, "must be a number"),
        ({"label": "tp", "score": "fp", "counts": "m"}, "no such column"),
        ({"counts": "tp"}, "give label="),
    ],
)
def test_counts_that_do_not_fit_are_refused(roles: dict[str, Any], message: str) -> None:
    with pytest.raises(RequestError) as refused:
        sqleval.scan(COUNTS, **roles)
    assert message in str(refused.value)


def test_metrics_ask_only_for_the_counts_that_they_read() -> None:
    some = [dict.fromkeys(kept) for n in (1, 2, 3) for kept in combinations(CELLS, n)]
    whole = sqleval.scan(COUNTS, by="run")
    reading: dict[str, set[str]] = {}
    for relation in builtin().relations("metric"):
        if relation.family not in ("binary", "cost", "classification"):
            continue
        for kept in some:
            bound = sqleval.scan(COUNTS, counts={cell: cell for cell in kept}, by="run")
            try:
                found = bound.evaluate(relation.name, ci=0.95)
            except RequestError:
                continue
            same = ["run", "value", "low", "high"]
            expected = whole.evaluate(relation.name, ci=0.95).collect().select(same)
            assert_frame_equal(found.collect().select(same), expected)
            if len(kept) < len(reading.get(relation.name, CELLS)):
                reading[relation.name] = {*kept}
    retrieved = {"tp", "fp", "fn"}
    assert reading == {
        "precision": {"tp", "fp"},
        "recall": {"tp", "fn"},
        "specificity": {"fp", "tn"},
        "false_positive_rate": {"fp", "tn"},
        "negative_predictive_value": {"fn", "tn"},
        **dict.fromkeys(("f1", "f_beta", "jaccard", "fowlkes_mallows"), retrieved),
        "precision_recall_mean": retrieved,
        "cost_sensitive_precision": {"tp", "fp"},
        "cost_sensitive_recall": {"tp", "fn"},
    }
    bound = sqleval.scan(COUNTS, counts=dict(zip(CELLS[:3], CELLS[:3], strict=True)))
    with pytest.raises(RequestError, match=r"accuracy: .* names tp, fp, fn; tn must be there"):
        bound.evaluate(["f1", "accuracy"])
    with pytest.raises(RequestError, match=r"or name metrics \(--metric\) that read no others"):
        bound.evaluate()
    with pytest.raises(RequestError, match="tn must be there as well"):
        bound.confusion()


def test_a_missing_column_of_counts_is_named() -> None:
    with pytest.raises(RequestError, match="tp, fp, fn and tn, or label, prediction and n"):
        sqleval.scan(COUNTS.drop("tn"))


def test_counts_refuse_scores_and_thresholds() -> None:
    bound = sqleval.scan(COUNTS)
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


def test_counts_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cells, pairs = str(tmp_path / "cells.csv"), str(tmp_path / "pairs.csv")
    COUNTS.rename(RENAMED).write_csv(cells)
    LETTERS.rename({"n": "times"}).write_csv(pairs)
    given = [text for cell, name in RENAMED.items() for text in ("--counts", f"{cell}={name}")]
    out = command(capsys, "evaluate", cells, *given, "-m", "f1", "--format", "json")
    y, c = labels_and_decisions(COUNTS)
    assert json.loads(out)[0]["value"] == close(f1_score(y, c))
    named = ("--label", "label", "--prediction", "prediction", "--counts", "times")
    out = command(capsys, "evaluate", pairs, *named, "-m", "accuracy", "--format", "json")
    assert json.loads(out)[0]["value"] == close(56 / 68)
    err = command(capsys, "evaluate", cells, "--counts", "tp=hits", "-m", "f1", code=2)
    assert "counts= (--counts) names tp; fp, fn must be there as well" in err
    some = ("--counts", f"tp={RENAMED['tp']},fp={RENAMED['fp']}", "-m", "precision")
    out = command(capsys, "evaluate", cells, *some, "--format", "json")
    assert json.loads(out)[0]["value"] == close(precision_score(y, c))


def test_every_metric_of_two_classes_takes_counts() -> None:
    # If a metric appears that does not, the test above must refuse it.
    families = ("binary", "threshold", "cost", "calibration", "classification")
    names = {case.name for case in BINARY}
    for relation in builtin().relations("metric"):
        if relation.family in families:
            assert relation.header["weights"] == "frequency"
            assert relation.name in names
