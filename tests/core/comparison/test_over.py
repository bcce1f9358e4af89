"""Comparisons over folds: each test compares the named metric, or notes what it compares."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import roc_auc_score

import sqleval
from sqleval import RequestError
from tests.support.commands import run

from .data import ROWS, compare, compare_one

#: Both folds have areas of 0.75; over all rows, the area of a is 0.625.
FOLDS = pl.DataFrame(
    {
        "fold": [1] * 4 + [2] * 4,
        "y": [1, 0, 0, 1] * 2,
        "a": [0.9, 0.8, 0.7, 0.6, 0.3, 0.2, 0.1, 0.4],
        "b": [0.8, 0.9, 0.1, 0.95, 0.2, 0.3, 0.1, 0.5],
    }
)
OVER = {"over": "fold"}
MACRO = "roc_auc(average='macro')"


@pytest.mark.parametrize("test", [None, "bootstrap", "corrected_t", "friedman", "nemenyi"])
def test_a_mean_over_folds_is_compared_by_every_test(test: str | None) -> None:
    areas = {
        name: np.mean([roc_auc_score(each["y"], each[name]) for _, each in FOLDS.group_by("fold")])
        for name in "ab"
    }
    row = compare_one(FOLDS, MACRO, scan=OVER, test=test)
    assert (row["value"], row["baseline_value"]) == (areas["b"], areas["a"]) == (0.75, 0.75)
    assert row["difference"] == 0
    assert "pooled" not in (row["note"] or "")


def test_a_pooled_metric_says_so() -> None:
    row = compare_one(FOLDS, scan=OVER)
    assert (row["value"], row["baseline_value"]) == (0.75, 0.625)
    assert row["method"] == "DeLong, paired"
    assert row["note"].endswith("; pooled over 2 folds")
    both = sqleval.scan(FOLDS, label="y", score={"a": "a", "b": "b"}, **OVER)
    metrics = ["roc_auc", MACRO, "accuracy"]
    for ci in (None, 0.95):
        result = both.evaluate(metrics, ci=ci).collect().filter(model="a")
        methods = dict(result.select("metric", "method").rows())
        assert "pooled" not in methods[MACRO]
        for name in ("roc_auc", "accuracy"):
            assert methods[name].endswith("pooled over 2 folds")
    # A single fold is not pooled; each slice counts its own folds.
    one = sqleval.scan(FOLDS.filter(fold=1), label="y", score="a", **OVER)
    assert one.evaluate("roc_auc").collect()["method"].to_list() == ["rows"]
    sliced = FOLDS.with_columns(g=pl.Series([1, 1, 1, 1, 2, 2, 1, 1]))
    parts = sqleval.scan(sliced, label="y", score="a", by="g", **OVER).evaluate("accuracy")
    assert parts.collect()["method"].to_list() == ["pooled over 2 folds", None]


@pytest.mark.parametrize("metric", ["roc_auc", "accuracy", "log_loss"])
def test_tests_in_closed_form_are_of_all_rows(metric: str) -> None:
    mean = f"{metric}(average='macro')"
    test = {"roc_auc": "delong", "accuracy": "mcnemar", "log_loss": "paired_t"}[metric]
    with pytest.raises(RequestError, match="compares values that are pooled over the folds"):
        compare(ROWS, mean, OVER, test=test)
    row = compare_one(ROWS, mean, scan=OVER)
    assert row["method"] == "paired bootstrap, 100 replicates"
    both = sqleval.scan(ROWS, label="y", score={"a": "a", "b": "b"}, **OVER)
    values = both.evaluate(mean).collect()["value"].to_list()
    assert [row["baseline_value"], row["value"]] == values


def test_weights_of_folds_are_not_those_of_the_corrected_t_test() -> None:
    with pytest.raises(RequestError, match="all folds count alike"):
        compare(ROWS, "roc_auc(average='weighted')", OVER, test="corrected_t")
    several = ROWS.with_columns(y=pl.col("k") % 3, a=pl.col("k") // 2 % 3, b=pl.col("k") // 5 % 3)
    scan: dict[str, Any] = {"score": None, "prediction": {"a": "a", "b": "b"}, **OVER}
    found = compare(
        several, "f1(average='weighted')", scan | {"task": "multiclass"}, test="corrected_t"
    )
    assert found["note"].to_list() == ["mean over folds, which count alike"]


def test_models_of_different_rows_have_folds() -> None:
    long = pl.concat(
        ROWS.select("y", "fold", p=name, m=pl.lit(name)).filter(pl.col("fold") > first)
        for name, first in (("a", 0), ("b", 1))
    )
    lazy = sqleval.scan(long, label="y", score="p", **OVER).compare(
        MACRO, model="m", paired=False, replicates=100
    )
    row = lazy.collect().row(0, named=True)
    for name, value in (("a", row["baseline_value"]), ("b", row["value"])):
        parts = long.filter(m=name).group_by("fold")
        mean = np.mean([roc_auc_score(each["y"], each["p"]) for _, each in parts])
        assert value == pytest.approx(mean)
    assert row["p_value"] is not None
    # Rows are drawn separately for each model, so that equal models differ by chance.
    same = pl.concat(ROWS.select("y", "fold", p="a", m=pl.lit(name)) for name in "ab")
    lazy = sqleval.scan(same, label="y", score="p", **OVER).compare(
        MACRO, model="m", paired=False, replicates=100
    )
    row = lazy.collect().row(0, named=True)
    assert (row["difference"], row["note"]) == (0, None)
    assert row["low"] < 0 < row["high"]


def test_a_report_over_folds(tmp_path: Any) -> None:
    rows, page = tmp_path / "folds.csv", tmp_path / "page.html"
    FOLDS.write_csv(rows)
    run("report", str(rows), "--label", "y", "--score", "a", "--over", "fold", "-m", MACRO,
        "-m", "accuracy", "--output", str(page))  # fmt: skip
    text = page.read_text()
    assert ">0.7500<" in text
    assert "wilson; pooled over 2 folds" in text
