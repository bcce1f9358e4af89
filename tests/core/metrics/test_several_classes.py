"""Several classes: published values, ties, order of classes, many classes, models, refusals."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import cohen_kappa_score, confusion_matrix, top_k_accuracy_score

import sqleval
from sqleval import RequestError

RNG = np.random.default_rng(5)
N = 300
TRUE = RNG.integers(0, 4, N)
MASS = RNG.random((N, 4)) + 0.6 * np.eye(4)[TRUE]
MASS /= MASS.sum(axis=1, keepdims=True)
CLASSES = ["bad", "fair", "good", "very good"]
SCORES = {name: f"p{i}" for i, name in enumerate(CLASSES)}
ROWS = pl.DataFrame(
    {
        "y": [CLASSES[i] for i in TRUE],
        **{f"p{i}": MASS[:, i] for i in range(4)},
        **{f"q{i}": np.roll(MASS, 1, axis=0)[:, i] for i in range(4)},
        "grade": TRUE + 1,
        "guess": np.clip(TRUE + RNG.integers(-1, 2, N), 0, 4) + 1,
        "g": RNG.integers(0, 2, N),
    }
)


def bind(rows: pl.DataFrame = ROWS, **roles: Any) -> sqleval.Predictions:
    return sqleval.scan(rows, **{"label": "y", "score": SCORES, "task": "multiclass", **roles})


def value_of(scan: sqleval.Predictions, metric: str) -> float:
    return scan.evaluate(metric).collect()["value"].item()


@pytest.mark.parametrize(
    ("metric", "value", "digits"),
    [
        # scoringrules 0.10, docstring of rps_score: the sum over the classes.
        ("ranked_probability_score(normalize=False)", 0.26, 12),
        ("rps", 0.26 / 3, 12),
    ],
)
def test_published_ranked_probability_score(metric: str, value: float, digits: int) -> None:
    row = pl.DataFrame({"y": [3], "s1": [0.1], "s2": [0.2], "s3": [0.3], "s4": [0.4]})
    scan = bind(row, score={i: f"s{i}" for i in range(1, 5)})
    assert value_of(scan, metric) == pytest.approx(value, abs=10**-digits)


def test_published_calibration_error_of_the_top_label() -> None:
    """torchmetrics 1.9, docstring of multiclass_calibration_error."""
    rows = pl.DataFrame(
        {
            "y": [0, 1, 2, 0],
            "s0": [0.25, 0.55, 0.1, 0.9],
            "s1": [0.2, 0.05, 0.3, 0.05],
            "s2": [0.55, 0.4, 0.6, 0.05],
        }
    )
    scan = bind(rows, score={i: f"s{i}" for i in range(3)})
    for norm, value in (("l1", 0.2), ("max", 0.2333), ("l2", 0.2082)):
        metric = f"top_label_calibration_error(bins=3, norm='{norm}')"
        assert value_of(scan, metric) == pytest.approx(value, abs=1e-4)


def test_one_bin_compares_the_mean_highest_score_with_accuracy() -> None:
    scan = bind()
    error = value_of(scan, "top_label_calibration_error(bins=1)")
    gap = MASS.max(axis=1).mean() - value_of(scan, "accuracy")
    assert error == pytest.approx(abs(gap), rel=1e-12)


@pytest.mark.parametrize("k", [1, 2, 3, 4, 9])
def test_top_k_without_ties_is_that_of_scikit_learn(k: int) -> None:
    expected = top_k_accuracy_score(TRUE, MASS, k=k) if k < 4 else 1.0
    assert value_of(bind(), f"top_k_accuracy(k={k})") == pytest.approx(expected, rel=1e-12)


def test_tied_classes_are_among_the_top_k_by_expectation() -> None:
    rows = pl.DataFrame({"y": ["a", "b", "c"], "p": 0.4, "q": 0.4, "r": 0.2})
    scan = bind(rows, score={"a": "p", "b": "q", "c": "r"})
    # Half for each of the two tied classes; scikit-learn's first class of equal ones counts 1.
    assert value_of(scan, "top_k_accuracy(k=1)") == pytest.approx((0.5 + 0.5 + 0) / 3)
    assert value_of(scan, "top_k_accuracy(k=2)") == pytest.approx(2 / 3)
    assert value_of(scan, "accuracy") == pytest.approx(1 / 3)


def test_classes_have_the_order_of_the_scores() -> None:
    turned = {name: SCORES[name] for name in ("good", "bad", "very good", "fair")}
    order = [CLASSES.index(name) for name in turned]
    reached = MASS[:, order].cumsum(axis=1)[:, :-1]
    passed = np.eye(4)[[order.index(i) for i in TRUE]].cumsum(axis=1)[:, :-1]
    expected = ((reached - passed) ** 2).sum(axis=1).mean() / 3
    assert value_of(bind(score=turned), "rps") == pytest.approx(expected, rel=1e-12)
    assert value_of(bind(), "rps") != pytest.approx(expected, rel=1e-3)


def test_many_classes_are_read_from_a_list() -> None:
    """More than 16 classes have another statement."""
    names = [f"c{i:02}" for i in range(20)]
    true = RNG.integers(0, 20, 200)
    mass = RNG.random((200, 20))
    mass /= mass.sum(axis=1, keepdims=True)
    rows = pl.DataFrame({"y": [names[i] for i in true], **dict(zip(names, mass.T, strict=True))})
    scan = bind(rows, score={name: name for name in names})
    reached = (mass.cumsum(axis=1) - np.eye(20)[true].cumsum(axis=1))[:, :-1]
    expected = (reached**2).sum(axis=1).mean() / 19
    assert value_of(scan, "rps") == pytest.approx(expected, rel=1e-12)
    top = top_k_accuracy_score(true, mass, k=5)
    assert value_of(scan, "top_k_accuracy(k=5)") == pytest.approx(top, rel=1e-12)


@pytest.mark.parametrize("weights", ["linear", "quadratic"])
def test_kappa_of_grades_has_a_confidence_interval(weights: str) -> None:
    """The places of the classes that occur count, as in scikit-learn: 9 is next to 5."""
    rows = ROWS.with_columns(guess=pl.col("guess").replace(5, 9))
    scan = sqleval.scan(rows, label="grade", prediction="guess", task="multiclass")
    metric = f"cohen_kappa(weights='{weights}')"
    (row,) = scan.evaluate(metric, ci=0.95).collect().to_dicts()
    arrays = rows["grade"].to_numpy(), rows["guess"].to_numpy()
    expected = cohen_kappa_score(*arrays, weights=weights)
    assert row["value"] == pytest.approx(expected, rel=1e-12)
    # The interval is about as wide as the bootstrap's.
    resampled = scan.evaluate(metric, ci=0.95, ci_method="percentile", replicates=500).collect()
    width = (resampled["high"] - resampled["low"]).item()
    assert row["high"] - row["low"] == pytest.approx(width, rel=0.15)


def test_shares_of_the_confusion_matrix_are_those_of_scikit_learn() -> None:
    scan = sqleval.scan(ROWS, label="grade", prediction="guess", task="multiclass")
    counts = scan.confusion().collect()
    for normalize in ("true", "pred", "all"):
        found = scan.confusion(normalize=normalize).collect()
        assert found.drop("share").equals(counts)
        matrix = confusion_matrix(ROWS["grade"], ROWS["guess"], normalize=normalize)
        expected = [matrix[y - 1, c - 1] for y, c in found.select("label", "prediction").rows()]
        assert found["share"].to_list() == pytest.approx(expected, rel=1e-12)
    by = sqleval.scan(ROWS, label="grade", prediction="guess", task="multiclass", by="g")
    shares = by.confusion(normalize="all").collect().group_by("g").agg(pl.col("share").sum())
    assert shares["share"].to_list() == pytest.approx([1.0, 1.0])
    with pytest.raises(RequestError, match=r"must be in \{all, true, pred\}"):
        scan.confusion(normalize="rows")


METRICS = [
    "top_k_accuracy", "ranked_probability_score", "top_label_calibration_error", "d2_log_loss",
    "brier_skill_score", "classwise_calibration_error", "cohen_kappa(weights='quadratic')",
    "roc_auc(average='macro', multi_class='ovo')",
]  # fmt: skip


def test_models_are_compared_and_each_metric_has_an_interval() -> None:
    scores = {
        "p": {name: f"p{i}" for i, name in enumerate(CLASSES)},
        "q": {name: f"q{i}" for i, name in enumerate(CLASSES)},
    }
    scan = bind(score=scores)
    found = scan.compare(METRICS, replicates=100).collect()
    assert found["difference"].null_count() == found["p_value"].null_count() == 0
    # The second model guesses: the others are better, and its error of calibration is not known.
    better = found.filter(~pl.col("metric").str.contains("calibration"))
    is_loss = pl.col("metric") == "ranked_probability_score"
    assert better.select(((pl.col("difference") > 0) == is_loss).all()).item()
    assert (better["p_value"] < 0.05).all()
    intervals = bind().evaluate(METRICS, ci=0.95, replicates=100).collect()
    assert (intervals["low"] < intervals["value"]).all()
    assert (intervals["value"] < intervals["high"]).all()


@pytest.mark.parametrize("metric", ["top_k_accuracy", "rps", "top_label_calibration_error"])
def test_scores_of_classes_are_needed(metric: str) -> None:
    scan = sqleval.scan(ROWS, label="grade", prediction="guess", task="multiclass")
    with pytest.raises(RequestError, match="a probability per class is needed"):
        scan.evaluate(metric)
    with pytest.raises(RequestError, match="needs a score per class"):
        scan.state(metric)
