"""Confidence intervals: Wilson for rates, normal for means, DeLong for the area under ROC."""

import numpy as np
import polars as pl
import pytest
from scipy.stats import binomtest, norm
from sklearn.metrics import confusion_matrix

import sqleval
from tests.support.cases import CASES, ROLES, Case, Kind, drawn, rows_of

RATES = [row["name"] for row in sqleval.metrics() if row["interval"] == "wilson"]


@pytest.mark.parametrize("level", [0.95, 0.8])
@pytest.mark.parametrize("weight", [None, "count"])
@pytest.mark.parametrize("name", RATES)
def test_wilson_interval_of_a_rate(name: str, weight: str | None, level: float) -> None:
    frame = drawn("binary", 200)
    bound = sqleval.scan(frame, label="y", score="p", weight=weight)
    row = bound.evaluate(name, ci=level).collect().row(0, named=True)
    rows = rows_of(frame, "binary", weight=weight)
    (tn, fp), (fn, tp) = confusion_matrix(rows.label, rows.prediction, sample_weight=rows.weight)
    successes, trials = {
        "precision": (tp, tp + fp),
        "recall": (tp, tp + fn),
        "specificity": (tn, tn + fp),
        "false_positive_rate": (fp, tn + fp),
        "negative_predictive_value": (tn, tn + fn),
        "jaccard": (tp, tp + fp + fn),
        "prevalence": (tp + fn, rows.weight.sum()),
        "accuracy": (tp + tn, rows.weight.sum()),
        "error_rate": (fp + fn, rows.weight.sum()),
    }[name]
    wanted = binomtest(int(successes), int(trials)).proportion_ci(level, method="wilson")
    assert (row["low"], row["high"]) == pytest.approx((wanted.low, wanted.high), rel=1e-12)
    assert "wilson" in row["method"]


@pytest.mark.parametrize("prediction", [0.0, 1.0])
def test_wilson_interval_stays_in_0_to_1(prediction: float) -> None:
    frame = pl.DataFrame({"y": [1, 1, 1], "p": [prediction] * 3})
    row = sqleval.scan(frame, label="y", score="p").evaluate("recall", ci=0.95).collect()
    wanted = binomtest(int(3 * prediction), 3).proportion_ci(0.95, method="wilson")
    assert row["low"].item() == pytest.approx(wanted.low, abs=1e-12)
    assert row["high"].item() == pytest.approx(wanted.high, abs=1e-12)
    assert 0 <= row["low"].item() <= row["high"].item() <= 1


def row_losses(name: str, frame: pl.DataFrame) -> np.ndarray:
    label = frame["y"].to_numpy().astype(float)
    if name in ("mae", "mse"):
        error = frame["v"].to_numpy() - label
        return np.abs(error) if name == "mae" else error**2
    score = frame["p"].to_numpy()
    eps = np.finfo(float).eps
    own = np.clip(np.where(label == 1, score, 1 - score), eps, 1 - eps)
    return (score - label) ** 2 if name == "brier_score" else -np.log(own)


@pytest.mark.parametrize("weight", [None, "count"])
@pytest.mark.parametrize("name", ["mae", "mse", "log_loss", "brier_score"])
def test_normal_interval_of_a_mean(name: str, weight: str | None) -> None:
    kind: Kind = "regression" if name in ("mae", "mse") else "binary"
    frame = drawn(kind, 200)
    bound = sqleval.scan(frame, **ROLES[kind], weight=weight)
    row = bound.evaluate(name, ci=0.95).collect().row(0, named=True)
    losses = row_losses(name, frame)
    if weight:
        losses = np.repeat(losses, frame[weight].to_numpy())
    half = norm.ppf(0.975) * losses.std(ddof=1) / np.sqrt(len(losses))
    wanted = (losses.mean() - half, losses.mean() + half)
    assert (row["low"], row["high"]) == pytest.approx(wanted, rel=1e-10)
    assert row["method"] == ("normal, weights as counts" if weight else "normal")


def test_normal_interval_over_queries() -> None:
    frame = drawn("ranking", 200)
    bound = sqleval.scan(frame, **ROLES["ranking"])
    row = bound.evaluate("ndcg", ci=0.95).collect().row(0, named=True)
    single = sqleval.scan(frame, **ROLES["ranking"], by="q").evaluate("ndcg").collect()["value"]
    half = norm.ppf(0.975) * single.std() / np.sqrt(len(single))
    assert row["low"] == pytest.approx(single.mean() - half, rel=1e-12)
    assert row["high"] == pytest.approx(single.mean() + half, rel=1e-12)
    assert row["method"] == "normal"


def delong(label: np.ndarray, score: np.ndarray) -> tuple[float, float]:
    """Return the area and its standard error from all pairs of a positive and a negative."""
    one, other = score[label == 1][:, None], score[label == 0][None, :]
    beats = (one > other) + 0.5 * (one == other)
    of_positives, of_negatives = beats.mean(axis=1), beats.mean(axis=0)
    variance = of_positives.var(ddof=1) / len(of_positives)
    variance += of_negatives.var(ddof=1) / len(of_negatives)
    return beats.mean(), np.sqrt(variance)


@pytest.mark.parametrize("weight", [None, "count"])
@pytest.mark.parametrize("digits", [17, 1, 0])
def test_delong_interval_of_roc_auc(digits: int, weight: str | None) -> None:
    frame = drawn("binary", 300, seed=7).with_columns(pl.col("p").round(digits))
    bound = sqleval.scan(frame, label="y", score="p", weight=weight)
    row = bound.evaluate("roc_auc", ci=0.9).collect().row(0, named=True)
    times = frame[weight].to_numpy() if weight else 1
    area, error = delong(np.repeat(frame["y"], times), np.repeat(frame["p"], times))
    half = norm.ppf(0.95) * error
    assert row["value"] == pytest.approx(area, rel=1e-12)
    assert (row["low"], row["high"]) == pytest.approx((area - half, area + half), rel=1e-10)
    assert "delong" in row["method"]


def test_delong_interval_by_slice_is_cut_at_1() -> None:
    frame = drawn("binary", 60).with_columns(p=pl.col("y") * 0.5 + pl.col("w") * 0.52)
    bound = sqleval.scan(frame, label="y", score="p", by=["g"])
    for row in bound.evaluate("roc_auc", ci=0.99).collect().iter_rows(named=True):
        part = frame.filter(pl.col("g").eq_missing(pl.lit(row["g"])))
        area, error = delong(part["y"].to_numpy(), part["p"].to_numpy())
        half = norm.ppf(0.995) * error
        assert row["low"] == pytest.approx(area - half, rel=1e-10)
        assert row["high"] == pytest.approx(min(area + half, 1.0), rel=1e-10)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_interval_is_there_or_its_absence_has_a_note(case: Case) -> None:
    frame = drawn(case.kind)
    bound = sqleval.scan(frame, **ROLES[case.kind])
    row = bound.evaluate(case.metric, ci=0.95).collect().row(0, named=True)
    if row["low"] is None:
        assert row["high"] is None
        assert row["value"] is None or "no interval" in row["note"]
    else:
        assert row["low"] <= row["value"] <= row["high"]
        assert row["method"]
        assert row["note"] is None


@pytest.mark.parametrize(
    ("metric", "frame"),
    [
        ("roc_auc", pl.DataFrame({"y": [1, 0, 0], "p": [0.9, 0.1, 0.95]})),
        ("log_loss", pl.DataFrame({"y": [1], "p": [0.9]})),
        ("brier_score", pl.DataFrame({"y": [1], "p": [0.9]})),
    ],
)
def test_too_few_rows_for_an_interval_is_noted(metric: str, frame: pl.DataFrame) -> None:
    row = sqleval.scan(frame, label="y", score="p").evaluate(metric, ci=0.95).collect()
    assert row["value"].item() is not None
    assert row["low"].item() is None
    assert row["high"].item() is None
    assert row["note"].item()
