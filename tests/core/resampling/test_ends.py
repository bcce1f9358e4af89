"""Ends of bootstrap intervals: bias, the scale of a share, degrees of freedom, few rows."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import sqleval
from sqleval.resampling.intervals import find_intervals


def find_ends(estimate: float, drawn: np.ndarray, **options: Any) -> tuple[float, float]:
    values = pl.DataFrame(
        {"metric": "m", "replicate": range(len(drawn) + 1), "value": [estimate, *drawn]}
    )
    return (
        find_intervals(values, ["metric"], 0.9, "bootstrap", **options).select("low", "high").row(0)
    )


def write_ends(estimate: float, drawn: np.ndarray, quantile: float) -> tuple[float, float]:
    """Return the ends on one scale: up to sqrt(2) biases are left, all on one side."""
    bias, error = drawn.mean() - estimate, drawn.std(ddof=1)
    whole = quantile * error + np.sqrt(2) * abs(bias)
    part = quantile * np.hypot(error, np.sqrt(2) * bias)
    below, above = (whole, part) if bias > 0 else (part, whole)
    return estimate - bias - below, estimate - bias + above


@pytest.mark.parametrize("estimate", [30.0, 50.0, 70.0])
def test_what_may_be_left_of_a_bias_lies_on_one_side(estimate: float) -> None:
    drawn = np.arange(101.0)
    low, high = find_ends(estimate, drawn)
    assert (low, high) == pytest.approx(write_ends(estimate, drawn, stats.norm.ppf(0.95)))
    centre = 2 * estimate - drawn.mean()
    further_down = (centre - low) - (high - centre)
    assert np.sign(np.round(further_down, 9)) == np.sign(drawn.mean() - estimate)


@pytest.mark.parametrize("limits", [(0.0, 1.0), (-1.0, 1.0), (0.0, 0.5)])
@pytest.mark.parametrize("share", [0.97, 0.5, 0.02])
def test_of_two_scales_the_wider_end_is_taken(share: float, limits: tuple[float, float]) -> None:
    least, most = limits
    rng = np.random.default_rng(1)
    shares = rng.binomial(60, share, 200) / 60
    value, drawn = (least + (most - least) * x for x in (share, shares))
    z = float(stats.norm.ppf(0.95))
    plain = write_ends(value, drawn, z)
    angles = write_ends(np.arcsin(np.sqrt(share)), np.arcsin(np.sqrt(shares)), z)
    low, high = least + (most - least) * np.sin(np.clip(angles, 0, np.pi / 2)) ** 2
    expected = (min(plain[0], low), max(plain[1], high))
    assert find_ends(value, drawn, limits={"m": limits}) == pytest.approx(expected, rel=1e-9)
    # Limits of another metric do not apply.
    assert find_ends(value, drawn, limits={"other": limits}) == pytest.approx(plain, rel=1e-9)


@pytest.mark.parametrize(
    ("degrees", "within"), [(2.0, 0.01), (4.0, 3e-4), (19.0, 1e-6), (1e6, 1e-9)]
)
def test_the_quantile_is_that_of_student(degrees: float, within: float) -> None:
    table = pl.DataFrame({"metric": ["m"], "degrees": [degrees]})
    low, high = find_ends(50.0, np.arange(101.0), degrees=table)
    expected = stats.t.ppf(0.95, degrees) * np.arange(101.0).std(ddof=1)
    assert (high - low) / 2 == pytest.approx(expected, rel=within)


def test_few_rows_of_a_class_are_noted_where_classes_count_alike() -> None:
    rng = np.random.default_rng(2)
    label = np.repeat([1, 0], [15, 285])
    rows = pl.DataFrame({"y": label, "p": np.round(rng.random(300) / 2 + 0.3 * label, 2)})
    call: dict[str, Any] = {"ci": 0.9, "replicates": 100, "ci_method": "bootstrap"}
    scan = sqleval.scan(rows, label="y", score="p")
    found = scan.evaluate(["roc_auc", "recall", "accuracy"], **call)
    few = "few rows: interval may be too narrow"
    assert found.collect()["note"].to_list() == [few, few, None]
    # Clusters: the blocks that hold a positive.
    rows = rows.with_columns(user=pl.int_range(300) % 60)
    blocks = sqleval.scan(rows, label="y", score="p").evaluate(
        ["roc_auc", "accuracy"], **call, cluster="user"
    )
    assert blocks.collect()["note"].to_list() == [few, None]


def test_areas_under_precision_and_recall_need_more_positives() -> None:
    rng = np.random.default_rng(2)
    label = np.repeat([1, 0, 1, 0], [90, 90, 110, 110])
    rows = pl.DataFrame({"y": label, "g": np.repeat(["a", "b"], [180, 220])})
    rows = rows.with_columns(p=np.round(rng.random(400) / 2 + 0.3 * label, 2))
    found = sqleval.scan(rows, label="y", score="p", by="g").evaluate(
        ["pr_auc_trapezoid", "ks"], ci=0.9, replicates=100, ci_method="bootstrap"
    )
    noted = found.collect().filter(pl.col("note").is_not_null())
    assert noted.select("g", "metric", "note").rows() == [
        ("a", "pr_auc_trapezoid", "few rows: interval may be too narrow")
    ]


def test_quantiles_beyond_the_replicates_are_noted() -> None:
    rows = pl.DataFrame({"y": [0, 1] * 50, "p": np.arange(100) * 37 % 100 / 100})
    scan = sqleval.scan(rows, label="y", score="p")
    notes = {
        (method, ci): scan.evaluate("accuracy", ci=ci, replicates=100, ci_method=method)
        .collect()["note"]
        .item()
        for method, ci in (("percentile", 0.98), ("percentile", 0.999), ("bootstrap", 0.999))
    }
    assert notes == {
        ("percentile", 0.98): None,
        ("percentile", 0.999): "ci=0.999 needs 2,000 replicates: the interval may be too narrow",
        ("bootstrap", 0.999): None,
    }


def test_each_class_has_degrees_of_freedom_of_its_own() -> None:
    rng = np.random.default_rng(3)
    rows = pl.DataFrame({"y": ["a"] * 12 + ["b"] * 100 + ["c"] * 80})
    rows = rows.with_columns(
        (pl.Series(rng.random(192)) + 0.5 * (pl.col("y") == name)).alias(name) for name in "abc"
    )
    scan = sqleval.scan(rows, label="y", score={name: name for name in "abc"}, task="multiclass")
    call: dict[str, Any] = {"ci": 0.9, "replicates": 100, "ci_method": "bootstrap"}
    metrics = ["roc_auc(average=None)", "roc_auc", "accuracy", "f1_macro", "f1_weighted"]
    metrics += ["balanced_accuracy"]
    found = scan.evaluate(metrics, **call).collect()
    few = "few rows: interval may be too narrow"
    notes = dict(
        found.select(
            pl.concat_str("metric", "class", separator=" ", ignore_nulls=True), "note"
        ).iter_rows()
    )
    assert notes == {
        "roc_auc(average=None) a": few, "roc_auc(average=None) b": None,
        "roc_auc(average=None) c": None, "roc_auc(average='macro')": few, "accuracy": None,
        "f1(average='macro')": few, "f1(average='weighted')": None, "balanced_accuracy": few,
    }  # fmt: skip


def test_more_rows_than_can_be_drawn_are_refused() -> None:
    rows = pl.DataFrame(
        {"y": [0, 1] * 30, "p": [i % 10 / 10 for i in range(60)], "w": [10**16] * 60}
    )
    bound = sqleval.scan(rows, label="y", score="p", counts="w")
    with pytest.raises(sqleval.DataError, match=r"the counts add up to 6e\+17"):
        bound.evaluate("ks", ci=0.95).collect()
    # The interval in closed form takes any counts.
    assert bound.evaluate("accuracy", ci=0.95).collect()["low"].item() == pytest.approx(0.6)
