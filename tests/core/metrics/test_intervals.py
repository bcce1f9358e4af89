"""Confidence intervals in closed form: rates, means, the area under ROC, functions of counts."""

import sys
from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import binomtest, norm, t
from sklearn import config_context
from sklearn import metrics as sk
from sklearn.metrics import confusion_matrix
from statsmodels.stats.inter_rater import cohens_kappa
from statsmodels.stats.proportion import proportion_confint

import sqleval
from sqleval.catalog import builtin
from tests.support.cases import CASES, ROLES, Case, Kind, about, drawn, rows_of
from tests.support.comparison import assert_frame_equal
from tests.support.versions import needs

RATES = [
    row["name"]
    for row in sqleval.metrics()
    if row["interval"] == "wilson" and "binary" in builtin().get(row["name"]).tasks
]


@pytest.mark.parametrize("level", [0.95, 0.8])
@pytest.mark.parametrize("weight", [None, "count"])
def test_wilson_interval_of_a_rate(weight: str | None, level: float) -> None:
    frame = drawn("binary", 200)
    bound = sqleval.scan(frame, label="y", score="p", counts=weight)
    found = bound.evaluate(RATES, ci=level).collect()
    rows = rows_of(frame, "binary", weight=weight)
    (tn, fp), (fn, tp) = confusion_matrix(rows.label, rows.prediction, sample_weight=rows.weight)
    counts = {
        "precision": (tp, tp + fp),
        "recall": (tp, tp + fn),
        "cost_sensitive_recall": (tp, tp + fn),
        "specificity": (tn, tn + fp),
        "false_positive_rate": (fp, tn + fp),
        "negative_predictive_value": (tn, tn + fn),
        "jaccard": (tp, tp + fp + fn),
        "prevalence": (tp + fn, rows.weight.sum()),
        "accuracy": (tp + tn, rows.weight.sum()),
        "error_rate": (fp + fn, rows.weight.sum()),
    }
    for name, row in zip(RATES, found.iter_rows(named=True), strict=True):
        hits, trials = (int(n) for n in counts[name])
        expected = binomtest(hits, trials).proportion_ci(level, method="wilson")
        ends = pytest.approx((expected.low, expected.high), rel=1e-12)
        assert (row["low"], row["high"]) == ends, name
        assert "wilson" in row["method"], name


@pytest.mark.parametrize("weight", [None, "count"])
@pytest.mark.parametrize("by", [None, "g"])
def test_exact_interval_of_a_rate(by: str | None, weight: str | None) -> None:
    frame = drawn("binary", 200)
    bound = sqleval.scan(frame, label="y", score="p", by=by or (), counts=weight)
    lazy = bound.evaluate(["recall", "roc_auc"], ci=0.9, ci_method="clopper_pearson")
    assert lazy.collect_schema() == bound.evaluate("recall").collect_schema()
    parts = frame.partition_by("g", as_dict=True) if by else {(): frame}
    found = lazy.collect()
    for key, part in parts.items():
        rows = rows_of(part, "binary", weight=weight)
        trials = (rows.label * rows.weight).sum()
        successes = (rows.label * rows.prediction * rows.weight).sum()
        expected = proportion_confint(successes, trials, 0.1, method="beta")
        own = found.filter(pl.col("g").eq_missing(pl.lit(key[0]))) if by else found
        row = own.row(0, named=True)
        assert (row["low"], row["high"]) == pytest.approx(expected, rel=1e-9)
        assert row["method"].startswith("clopper-pearson")
        assert "delong" in own["method"][1]
    # Also if only some columns are selected or filtered by.
    for column in ("low", "high", "value"):
        assert_frame_equal(lazy.select(column).collect(), found.select(column))
    above = pl.col("low") > 0.6
    assert_frame_equal(lazy.filter(above).collect(), found.filter(above))


@pytest.mark.parametrize("prediction", [0.0, 1.0])
def test_exact_interval_without_a_miss_or_a_hit(prediction: float) -> None:
    frame = pl.DataFrame({"y": [1, 1, 1, 0], "p": [prediction] * 4})
    row = sqleval.scan(frame, label="y", score="p").evaluate(
        ["recall", "precision"], ci=0.95, ci_method="clopper_pearson"
    )
    recall, precision = row.collect().iter_rows(named=True)
    expected = proportion_confint(3 * prediction, 3, 0.05, method="beta")
    assert (recall["low"], recall["high"]) == pytest.approx(expected, rel=1e-9)
    if prediction == 0:
        assert (precision["low"], precision["note"]) == (None, "no predicted positives")


def test_exact_interval_is_widened_by_bins() -> None:
    frame = drawn("binary", 200)
    bound = sqleval.scan(frame, label="y", score="p", threshold=0.45)
    counts = {"ci": 0.95, "bins": 2}
    bounds = bound.evaluate("recall", bins=2).collect().row(0, named=True)
    wilson, exact = (
        bound.evaluate("recall", **counts, ci_method=method).collect().row(0, named=True)
        for method in ("wilson", "clopper_pearson")
    )
    assert bounds["low"] < exact["value"] < bounds["high"]
    rows = rows_of(frame, "binary")
    trials = int(rows.label.sum())
    low, high = proportion_confint(round(exact["value"] * trials), trials, 0.05, method="beta")
    wider = (low - (exact["value"] - bounds["low"]), high + bounds["high"] - exact["value"])
    assert (exact["low"], exact["high"]) == pytest.approx(wider, rel=1e-9)
    assert exact["low"] < wilson["low"]


def test_exact_intervals_of_no_rows_and_of_gaps() -> None:
    frame = drawn("binary", 200)
    options: dict[str, Any] = {"ci": 0.95, "ci_method": "clopper_pearson"}
    empty = sqleval.scan(frame.clear(), label="y", score="p").evaluate("recall", **options)
    assert empty.collect().select("low", "high", "note").row(0) == (None, None, "no rows")
    roles = frame.with_columns(role=pl.Series(["train", "test"] * 100))
    gaps = sqleval.scan(roles, label="y", score="p", role="role").evaluate("recall", **options)
    assert gaps.collect().filter(role="gap")["low"].to_list() == [None]
    assert gaps.collect().filter(role="test")["low"].null_count() == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ci": 0.95, "ci_method": "clopper"}, "must be one of 'wilson', 'clopper_pearson'"),
        ({"ci_method": "wilson"}, "needs ci="),
        ({"cluster": "u"}, "cluster='u' needs ci="),
    ],
)
def test_an_unknown_method_of_intervals_is_refused(options: dict[str, Any], message: str) -> None:
    bound = sqleval.scan(drawn("binary"), label="y", score="p")
    with pytest.raises(sqleval.RequestError, match=message):
        bound.evaluate("recall", **options)


def test_without_scipy_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    bound = sqleval.scan(drawn("binary"), label="y", score="p")
    monkeypatch.setitem(sys.modules, "scipy.special", None)
    bound.evaluate("recall", ci=0.95)
    with pytest.raises(ImportError, match="run pip install 'scipy>="):
        bound.evaluate("recall", ci=0.95, ci_method="clopper_pearson")


@pytest.mark.parametrize("prediction", [0.0, 1.0])
def test_wilson_interval_stays_in_0_to_1(prediction: float) -> None:
    frame = pl.DataFrame({"y": [1, 1, 1], "p": [prediction] * 3})
    row = sqleval.scan(frame, label="y", score="p").evaluate("recall", ci=0.95).collect()
    expected = binomtest(int(3 * prediction), 3).proportion_ci(0.95, method="wilson")
    assert row["low"].item() == pytest.approx(expected.low, abs=1e-12)
    assert row["high"].item() == pytest.approx(expected.high, abs=1e-12)
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
    bound = sqleval.scan(frame, **ROLES[kind], counts=weight)
    row = bound.evaluate(name, ci=0.95).collect().row(0, named=True)
    losses = row_losses(name, frame)
    if weight:
        losses = np.repeat(losses, frame[weight].to_numpy())
    half = norm.ppf(0.975) * losses.std(ddof=1) / np.sqrt(len(losses))
    expected = (losses.mean() - half, losses.mean() + half)
    assert (row["low"], row["high"]) == pytest.approx(expected, rel=1e-10)
    assert row["method"] == "normal"


def test_normal_interval_over_queries() -> None:
    frame = drawn("ranking", 200)
    bound = sqleval.scan(frame, **ROLES["ranking"])
    row = bound.evaluate("ndcg", ci=0.95).collect().row(0, named=True)
    single = sqleval.scan(frame, **ROLES["ranking"], by="q").evaluate("ndcg").collect()["value"]
    z, degrees = norm.ppf(0.975), len(single) - 1
    quantile = z + (z**3 + z) / (4 * degrees)
    assert quantile == pytest.approx(t.ppf(0.975, degrees), rel=0.02)
    half = quantile * single.std() / np.sqrt(len(single))
    assert row["low"] == pytest.approx(single.mean() - half, rel=1e-12)
    assert row["high"] == pytest.approx(single.mean() + half, rel=1e-12)
    few = "few queries: interval may be too narrow"
    assert (row["method"], row["note"]) == ("student", few)
    label = ROLES["ranking"]["label"]
    lost = frame.with_columns(
        pl.when(pl.col("q") == frame["q"].max()).then(0).otherwise(label).alias(label)
    )
    row = (
        sqleval.scan(lost, **ROLES["ranking"])
        .evaluate("ndcg", ci=0.95)
        .collect()
        .row(0, named=True)
    )
    undefined = single.null_count()
    assert row["note"] == f"undefined for {undefined + 1} of {len(single)} queries; {few}"


def delong(label: np.ndarray, score: np.ndarray) -> tuple[float, float]:
    """Return the area and its standard error from all pairs of a positive and a negative."""
    one, other = score[label == 1][:, None], score[label == 0][None, :]
    beats = (one > other) + 0.5 * (one == other)
    of_positives, of_negatives = beats.mean(axis=1), beats.mean(axis=0)
    variance = of_positives.var(ddof=1) / len(of_positives)
    variance += of_negatives.var(ddof=1) / len(of_negatives)
    return beats.mean(), np.sqrt(variance)


def logit_interval(value: float, error: float, level: float) -> tuple[float, float]:
    step = norm.ppf((1 + level) / 2) * error / (value * (1 - value))
    odds = np.log(value / (1 - value)) + np.array([-step, step])
    low, high = 1 / (1 + np.exp(-odds))
    return low, high


#: Each metric is a linear function of the area under ROC: slope and intercept.
AREAS = {
    "roc_auc": (1, 0), "gini": (2, -1), "rank_loss": (-1, 1), "roc_auc_rank_sum": (1, 0),
    "roc_auc_trapezoid": (1, 0),
}  # fmt: skip


@pytest.mark.parametrize("metric", AREAS)
@pytest.mark.parametrize("weight", [None, "count"])
@pytest.mark.parametrize("digits", [17, 1, 0])
def test_delong_interval(metric: str, digits: int, weight: str | None) -> None:
    frame = drawn("binary", 300, seed=7).with_columns(pl.col("p").round(digits))
    bound = sqleval.scan(frame, label="y", score="p", counts=weight)
    row = bound.evaluate(metric, ci=0.9).collect().row(0, named=True)
    times = frame[weight].to_numpy() if weight else 1
    area, error = delong(np.repeat(frame["y"], times), np.repeat(frame["p"], times))
    slope, intercept = AREAS[metric]
    ends = sorted(slope * end + intercept for end in logit_interval(area, error, 0.9))
    assert row["value"] == pytest.approx(slope * area + intercept, rel=1e-12)
    assert (row["low"], row["high"]) == pytest.approx(tuple(ends), rel=1e-10)
    assert "delong, logit" in row["method"]
    assert row["note"] is None


@pytest.mark.parametrize(
    ("metric", "rows"),
    [("log_loss", 1), ("brier_score", 1), ("average_precision", 2), ("roc_auc", 3)],
)
def test_one_row_of_a_kind_has_no_interval(metric: str, rows: int) -> None:
    frame = pl.DataFrame({"y": [1, 0, 0], "p": [0.3, 0.4, 0.2]}).head(rows)
    found = sqleval.scan(frame, label="y", score="p").evaluate(metric, ci=0.9).collect()
    assert found.select("low", "high", "note").row(0) == (None, None, "no interval: too few rows")


@needs("DuckDB 1 has no logarithm of 0", duckdb="2")
@pytest.mark.parametrize("method", [None, "bootstrap"])
def test_an_infinite_value_has_no_interval(method: str | None) -> None:
    frame = pl.DataFrame({"y": [1, 0, 1, 0], "p": [0.0, 0.5, 0.2, 0.3]})
    bound = sqleval.scan(frame, label="y", score="p")
    metrics = ["log_loss(eps=0)", "normalized_entropy(eps=0)"]
    found = bound.evaluate(metrics, ci=0.9, ci_method=method, replicates=100).collect()
    why = "no interval: the value or its standard error is infinite"
    assert found.select("low", "high", "note").rows() == [(None, None, why)] * 2
    if method is None:
        found = bound.evaluate(metrics, bins=5).collect()
        assert found.select("value", "low", "high").rows() == [(inf, inf, inf)] * 2


def test_delong_interval_by_slice_stays_below_1() -> None:
    frame = drawn("binary", 60).with_columns(p=pl.col("y") * 0.5 + pl.col("w") * 0.65)
    bound = sqleval.scan(frame, label="y", score="p", by=["g"])
    for row in bound.evaluate("roc_auc", ci=0.99).collect().iter_rows(named=True):
        part = frame.filter(pl.col("g").eq_missing(pl.lit(row["g"])))
        area, error = delong(part["y"].to_numpy(), part["p"].to_numpy())
        if area < 1:
            expected = logit_interval(area, error, 0.99)
            assert row["note"] == "few rows: interval may be too narrow"
        else:
            expected = (0.01 ** (1 / min(part["y"].sum(), (1 - part["y"]).sum())), 1.0)
            assert row["note"] == "one-sided bound: all pairs are in order"
        assert (row["low"], row["high"]) == pytest.approx(expected, rel=1e-10)
        assert row["high"] <= 1


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("positives", "negatives"), [(30, 200), (1, 7), (5, 2)])
def test_all_pairs_in_order_give_a_one_sided_bound(
    positives: int, negatives: int, sign: int, weight: str | None
) -> None:
    label = np.repeat([1, 0], [positives, negatives])
    frame = pl.DataFrame({"y": label, "p": sign * (label + 0.5), "w": [2] * len(label)})
    bound = sqleval.scan(frame, label="y", score="p", counts=weight)
    # The area under ROC alone takes a file of its own.
    parts = [bound.evaluate(names, ci=0.95) for names in ("roc_auc", [*AREAS][1:])]
    found = pl.concat(part.collect() for part in parts)
    pairs = min(positives, negatives) * (2 if weight else 1)
    # One-sided, by Clopper and Pearson, for as many successes as trials.
    least = binomtest(pairs, pairs, alternative="greater").proportion_ci(0.95, "exact").low
    area = (least, 1.0) if sign > 0 else (0.0, 1 - least)
    order = "in order" if sign > 0 else "in the wrong order"
    for metric, row in zip(AREAS, found.iter_rows(named=True), strict=True):
        slope, intercept = AREAS[metric]
        ends = sorted(slope * end + intercept for end in area)
        expected = pytest.approx(tuple(ends), rel=1e-9, abs=1e-12)
        assert (row["low"], row["high"]) == expected, metric
        assert row["note"] == f"one-sided bound: all pairs are {order}", metric


def test_equal_scores_have_no_interval() -> None:
    frame = pl.DataFrame({"y": [0, 1] * 50, "p": [0.5] * 100})
    bound = sqleval.scan(frame, label="y", score="p")
    # The area under ROC alone takes a file of its own.
    for metrics in (["roc_auc"], [*AREAS][1:]):
        rows = bound.evaluate(metrics, ci=0.95).collect().select("low", "high", "note").rows()
        assert rows == [(None, None, "no interval: no variation in the sample")] * len(metrics)


Score = Callable[[np.ndarray, np.ndarray], float]


def jackknife(
    label: np.ndarray, other: np.ndarray, score: Score, change: float = 1e-4
) -> tuple[float, float]:
    """Return a score and its standard error by the infinitesimal jackknife (Efron 1982)."""
    rows = np.array([label.tolist(), other.tolist()])
    pairs, counts = np.unique(rows, axis=1, return_counts=True)
    n = len(label)

    def weigh(weight: np.ndarray) -> float:
        with config_context(assume_finite=True, skip_parameter_validation=True):
            return score(*pairs, weight)  # type: ignore[call-arg]

    share = counts / n
    slopes = []
    for i in range(len(counts)):
        towards = np.eye(len(counts))[i] - share
        ahead, back = (weigh(share + sign * change * towards) for sign in (1, -1))
        slopes.append((ahead - back) / (2 * change))
    return weigh(share), float(np.sqrt((share * np.square(slopes)).sum() / n))


def of_counts(function: Callable[..., float], **options: Any) -> Any:
    return lambda label, guess, weight: function(label, guess, sample_weight=weight, **options)


def costs(label: np.ndarray, guess: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
    """Return the cost of errors, 5 for a missed positive, and the cost if every row is wrong."""
    cost = np.where(label == 1, 5.0, 1.0) * weight
    return float(cost[label != guess].sum()), float(cost.sum())


def precision_recall_mean(label: np.ndarray, guess: np.ndarray, weight: np.ndarray) -> float:
    parts = (sk.precision_score, sk.recall_score)
    return sum(each(label, guess, sample_weight=weight) for each in parts) / 2


def fowlkes_mallows(label: np.ndarray, guess: np.ndarray, weight: np.ndarray) -> float:
    parts = (sk.precision_score, sk.recall_score)
    return float(np.sqrt(np.prod([each(label, guess, sample_weight=weight) for each in parts])))


def prior_cost(label: np.ndarray, guess: np.ndarray, weight: np.ndarray) -> float:
    recall = sk.recall_score(label, guess, sample_weight=weight)
    specificity = sk.recall_score(label, guess, pos_label=0, sample_weight=weight)
    return 0.2 * 5 * (1 - recall) + 0.8 * (1 - specificity)


def costly_precision(label: np.ndarray, guess: np.ndarray, weight: np.ndarray) -> float:
    precision = sk.precision_score(label, guess, sample_weight=weight)
    return 5 * precision / (5 * precision + 1 - precision)


#: Metrics of decisions with a standard error by the delta method, and their references.
OF_COUNTS: dict[str, Score] = {
    "f1": of_counts(sk.f1_score),
    "f_beta(beta=2)": of_counts(sk.fbeta_score, beta=2),
    "fowlkes_mallows": fowlkes_mallows,
    "precision_recall_mean": precision_recall_mean,
    "youden_j": of_counts(sk.balanced_accuracy_score, adjusted=True),
    "balanced_accuracy": of_counts(sk.balanced_accuracy_score),
    "matthews_corrcoef": of_counts(sk.matthews_corrcoef),
    "cohen_kappa": of_counts(sk.cohen_kappa_score),
    "cost_sensitive_accuracy(cost_fn=5)": lambda *rows: 1 - np.divide(*costs(*rows)),
    "normalized_expected_cost(cost_fn=5)": lambda *rows: np.divide(*costs(*rows)),
    "cost_sensitive_error_rate(cost_fn=5)": lambda *rows: costs(*rows)[0],
    "expected_cost(cost_fn=5)": lambda *rows: costs(*rows)[0],
    "misclassification_cost(cost_matrix={0: {1: 1}, 1: {0: 5}})": lambda *rows: costs(*rows)[0],
    "expected_cost(cost_fn=5, prior=0.2)": prior_cost,
    "normalized_expected_cost(cost_fn=5, prior=0.2)": lambda *rows: prior_cost(*rows) / 1.8,
    "cost_sensitive_precision(cost_fn=5)": costly_precision,
}


def find_error(row: dict[str, Any], least: float | None, most: float | None) -> float:
    """Return the standard error behind an interval of 95 %."""
    low, value, high = row["low"], row["value"], row["high"]
    z = 2 * norm.ppf(0.975)
    if most is None:
        return np.log(high / low) * value / z
    assert least is not None
    low, value, high = ((x - least) / (most - least) for x in (low, value, high))
    width = np.log(high / (1 - high)) - np.log(low / (1 - low))
    return width * value * (1 - value) / z * (most - least)


def range_of(metric: str) -> tuple[float | None, float | None]:
    text = builtin().get(metric.partition("(")[0]).header["range"]
    least, _, most = text.partition("..")
    return float(least), None if "inf" in most else float(most)


@pytest.mark.parametrize("weight", [None, "count"])
def test_delta_method_over_counts(weight: str | None) -> None:
    frame = drawn("binary", 300, seed=3)
    bound = sqleval.scan(frame, label="y", score="p", counts=weight)
    found = bound.evaluate(list(OF_COUNTS), ci=0.95).collect()
    rows = rows_of(frame, "binary")
    times = frame[weight].to_numpy() if weight else np.ones(300, int)
    label, guess = (np.repeat(x, times) for x in (rows.label, rows.prediction))
    for metric, row in zip(OF_COUNTS, found.iter_rows(named=True), strict=True):
        value, error = jackknife(label, guess, OF_COUNTS[metric])
        assert row["value"] == pytest.approx(value, rel=1e-12), metric
        assert find_error(row, *range_of(metric)) == pytest.approx(error, rel=1e-6), metric
        assert row["method"].startswith("delta method, log"), metric
        assert row["note"] is None, metric


def find_points(label: np.ndarray, score: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return false and true positives, from (0, 0) on; scikit-learn has them as shares."""
    _, place = np.unique(-score, return_inverse=True)
    counts = [np.bincount(place, weight * (label == of)) for of in (0, 1)]
    return np.array([np.append(0.0, each.cumsum()) for each in counts])


def trapezoid(label: np.ndarray, score: np.ndarray, weight: np.ndarray) -> float:
    precision, recall, _ = sk.precision_recall_curve(label, score, sample_weight=weight)
    return sk.auc(recall, precision)


#: Points between -1 and 1, and their weights, for numerical integration.
NODES, SHARES = np.polynomial.legendre.leggauss(40)


def find_curved_precisions(fp: np.ndarray, tp: np.ndarray) -> np.ndarray:
    """Return the mean precision between points; false positives grow with true ones."""
    (fp, fp_after), (tp, tp_after) = ((x[:-1, None], x[1:, None]) for x in (fp, tp))
    along = (NODES + 1) / 2
    tp, fp = (x + along * (after - x) for x, after in ((tp, tp_after), (fp, fp_after)))
    return (tp / (tp + fp)) @ SHARES / 2


def interpolated(label: np.ndarray, score: np.ndarray, weight: np.ndarray) -> float:
    fp, tp, _ = sk.roc_curve(label, score, sample_weight=weight, drop_intermediate=False)
    fp, tp = fp * weight[label == 0].sum(), tp * weight[label == 1].sum()
    return float(np.diff(tp) @ find_curved_precisions(fp, tp) / tp[-1])


def sum_steps(precisions: Callable[..., np.ndarray]) -> Score:
    """Return the area of steps whose precisions follow from their points.

    It equals scikit-learn's, in a twentieth of the time: the jackknife computes it for each row.
    """

    def area(label: np.ndarray, score: np.ndarray, weight: np.ndarray) -> float:
        fp, tp = find_points(label, score, weight)
        with np.errstate(invalid="ignore"):
            return float(np.diff(tp) @ precisions(fp, tp) / tp[-1])

    return area  # type: ignore[return-value]


#: Areas under precision and recall: the reference, and the precision of a step from its points.
PR_AREAS: dict[str, tuple[Score, Callable[..., np.ndarray]]] = {
    "average_precision": (
        of_counts(sk.average_precision_score), lambda fp, tp: (tp / (tp + fp))[1:]
    ),
    "pr_auc_trapezoid": (
        trapezoid,
        lambda fp, tp: np.convolve(np.append(1.0, tp[1:] / (tp + fp)[1:]), [0.5, 0.5], "valid"),
    ),
    "pr_auc_interpolated": (interpolated, find_curved_precisions),
}  # fmt: skip


def find_effective_size(label: np.ndarray, score: np.ndarray, precisions: Any) -> float:
    """Return the effective number of positives: Kish's formula over precisions; at most N."""
    fp, tp = find_points(label, score, np.ones(len(label)))
    with np.errstate(invalid="ignore"):
        own = np.repeat(precisions(fp, tp), np.rint(np.diff(tp)).astype(int))
    return min(own.sum() ** 2 / (own**2).sum(), (label == 0).sum())


@pytest.mark.parametrize(
    ("shift", "digits", "weight"),
    # Ties, few positives, and nearly all in order, each with weights or without.
    [(0, 17, "count"), (0, 1, None), (0, 1, "count"), (0.3, 2, None), (-0.1, 17, None)],
)
def test_intervals_of_areas_under_precision_and_recall(
    shift: float, digits: int, weight: str | None
) -> None:
    # With a shift, nearly all positives are above the negatives; if negative, positives are few.
    frame = drawn("binary", 60 if shift >= 0 else 300, seed=3)
    kept = pl.lit(value=True) if shift >= 0 else (pl.col("y") == 0) | (pl.col("count") == 1)
    score = pl.col("p") + shift * pl.col("y")
    frame = frame.with_columns(p=score.round(digits), s=pl.lit("a")).filter(kept)
    # A second slice, and a step that all three areas share with others.
    other = frame.filter(pl.int_range(pl.len()) % 3 > 0).with_columns(s=pl.lit("b"))
    bound = sqleval.scan(pl.concat([frame, other]), label="y", score="p", counts=weight, by="s")
    found = bound.evaluate(list(PR_AREAS), ci=0.9).collect()
    alone = pl.concat(bound.evaluate(name, ci=0.9).collect() for name in PR_AREAS)
    assert_frame_equal(found, alone, check_row_order=False)
    for row in found.iter_rows(named=True):
        part = frame if row["s"] == "a" else other
        times = part[weight].to_numpy() if weight else 1
        label, own = (np.repeat(part[name].to_numpy(), times) for name in ("y", "p"))
        area, precisions = PR_AREAS[row["metric"]]
        value, error = jackknife(label, own, sum_steps(precisions), 1e-6)
        expected = area(label, own, np.ones(len(label)))  # type: ignore[call-arg]
        assert (row["value"], value) == pytest.approx((expected, expected), rel=1e-12)
        # Cornish and Fisher (1938) for the t distribution; SciPy's quantile is within 2 %.
        z, degrees = norm.ppf(0.95), find_effective_size(label, own, precisions) - 1
        quantile = z * (1 + (z**2 + 1) / (4 * degrees))
        assert quantile == pytest.approx(t.ppf(0.95, degrees), rel=0.02)
        expected = logit_interval(value, error, 2 * norm.cdf(quantile) - 1)
        assert (row["low"], row["high"]) == pytest.approx(expected, rel=1e-6)
        assert "delta method, logit" in row["method"]
        assert row["note"] is None


def test_areas_under_precision_and_recall_warn_of_few_rows_and_need_variation() -> None:
    score = {"few": [0.9, 0.1, 0.5, 0.4, 0.3, 0.2], "apart": [0.9, 0.8, 0.1, 0.1, 0.1, 0.1]}
    frame = pl.concat(
        pl.DataFrame({"g": [name] * 6, "y": [1, 1, 0, 0, 0, 0], "p": scores})
        for name, scores in (*score.items(), ("none", [0.5] * 6))
    ).with_columns(y=pl.when(g="none").then(0).otherwise("y"))
    # The root of 500 rows is 22.4.
    rare = [
        pl.DataFrame({"g": name, "y": np.arange(500) < n, "p": np.arange(500) * 7 % 101 / 101})
        for name, n in (("rare", 22), ("rare too", 23))
    ]
    frame = pl.concat([frame, *(each.with_columns(pl.col("y").cast(pl.Int64)) for each in rare)])
    rows = sqleval.scan(frame, label="y", score="p", by="g").evaluate(list(PR_AREAS), ci=0.95)
    found = rows.sort("metric", "g").collect().with_columns(pl.col("low").is_null())
    # The last segment is from a precision of 1 / 5 to 2 / 6; between, it is u / (u + 4).
    areas = (1 + 2 / 6) / 2, 1 - 2 * np.log(6 / 5), (1 + (1 / 5 + 2 / 6) / 2) / 2
    for metric, area in zip(sorted(PR_AREAS), areas, strict=True):
        of_metric = found.filter(metric=metric)
        assert of_metric.filter(pl.col("note").is_null())["g"].to_list() == ["rare too"]
        assert of_metric.filter(g="rare")["note"].item() == "few rows: interval may be too narrow"
        small = of_metric.filter(~pl.col("g").str.starts_with("rare"))
        assert small.select("g", "value", "low", "note").rows() == [
            ("apart", 1.0, True, "no interval: no variation in the sample"),
            ("few", pytest.approx(area), False, "few rows: interval may be too narrow"),
            ("none", None, True, "no positive labels"),
        ]  # fmt: skip


@pytest.mark.parametrize("metric", ["balanced_accuracy", "matthews_corrcoef", "cohen_kappa"])
def test_delta_method_over_several_classes(metric: str) -> None:
    frame = drawn("multiclass", 400)
    bound = sqleval.scan(frame, label="y", prediction="c", by="g")
    for row in bound.evaluate(metric, ci=0.95).collect().iter_rows(named=True):
        part = frame.filter(pl.col("g").eq_missing(pl.lit(row["g"])))
        value, error = jackknife(part["y"].to_numpy(), part["c"].to_numpy(), OF_COUNTS[metric])
        assert row["value"] == pytest.approx(value, rel=1e-12)
        assert find_error(row, *range_of(metric)) == pytest.approx(error, rel=1e-6)


def test_standard_error_of_kappa_as_statsmodels_has_it() -> None:
    frame = drawn("multiclass", 400)
    row = sqleval.scan(frame, label="y", prediction="c").evaluate("cohen_kappa", ci=0.95).collect()
    table = frame.group_by("y", "c").len().sort("y", "c")["len"].to_numpy().reshape(3, 3)
    expected = cohens_kappa(table)
    assert row["value"].item() == pytest.approx(expected.kappa, rel=1e-12)
    found = find_error(row.row(0, named=True), -1, 1)
    assert found == pytest.approx(expected.std_kappa, rel=1e-10)


def ratio_error(top: np.ndarray, bottom: np.ndarray) -> float:
    """Return the standard error of a ratio of means (Cochran 1977)."""
    ratio = top.mean() / bottom.mean()
    return float(np.sqrt(np.square(top - ratio * bottom).mean() / len(top)) / bottom.mean())


@pytest.mark.parametrize("way", ["rows", "counts", "state", "bins"])
def test_delta_method_over_moments(way: str) -> None:
    frame = drawn("binary", 300, seed=3)
    times = frame["count"].to_numpy() if way == "counts" else np.ones(300, int)
    data = sqleval.scan(frame, label="y", score="p", counts="count" if way == "counts" else None)
    metrics = ["pcoc", "normalized_entropy"]
    if way == "state":
        data = sqleval.from_state(data.state(metrics, ci=True).collect())
    found = data.evaluate(metrics, ci=0.95, **({"bins": 20} if way == "bins" else {})).collect()
    label, score = (np.repeat(frame[name].to_numpy(), times) for name in ("y", "p"))
    eps = np.finfo(float).eps
    loss = -np.log(np.clip(np.where(label == 1, score, 1 - score), eps, 1 - eps))
    assert loss.mean() == pytest.approx(sk.log_loss(label, score), rel=1e-12)
    mean = label.mean()
    entropy = -mean * np.log(mean) - (1 - mean) * np.log(1 - mean)
    adjusted = loss - label * np.log((1 - mean) / mean) * loss.mean() / entropy
    expected = [ratio_error(score, label), adjusted.std() / np.sqrt(len(label)) / entropy]
    for row, error in zip(found.iter_rows(named=True), expected, strict=True):
        assert find_error(row, 0, None) == pytest.approx(error, rel=1e-9)
        assert row["method"].startswith("delta method, log")


def test_entropy_of_constant_probabilities_has_no_variation() -> None:
    frame = pl.DataFrame({"y": [0, 0, 0, 1] * 25, "p": [0.25] * 100})
    row = (
        sqleval.scan(frame, label="y", score="p").evaluate("normalized_entropy", ci=0.95).collect()
    )
    assert row["low"].item() is None
    assert row["note"].item() == "no interval: no variation in the sample"
    # A slice without negatives has no entropy; DuckDB 1 has no logarithm of 0.
    bound = sqleval.scan(frame.with_columns(g="y"), label="y", score="p", by="g")
    notes = bound.evaluate("normalized_entropy", ci=0.95).collect()["note"].to_list()
    assert notes == ["no positive labels", "no negative labels"]


def test_one_predicted_class_has_no_variation() -> None:
    frame = drawn("binary", 120).with_columns(p=pl.lit(0.1))
    rows = sqleval.scan(frame, label="y", score="p").evaluate(["cohen_kappa", "recall"], ci=0.95)
    kappa, recall = rows.collect().iter_rows(named=True)
    assert (kappa["value"], kappa["low"], kappa["high"]) == (0, None, None)
    assert kappa["note"] == "no interval: no variation in the sample"
    assert recall["low"] == recall["value"] == 0


@pytest.mark.parametrize("weight", [None, "count"])
def test_interval_of_rmse(weight: str | None) -> None:
    frame = drawn("regression", 300)
    bound = sqleval.scan(frame, **ROLES["regression"], counts=weight)
    row = bound.evaluate("rmse", ci=0.95).collect().row(0, named=True)
    times = frame[weight].to_numpy() if weight else 1
    squares = np.repeat(row_losses("mse", frame), times)
    error = squares.std(ddof=1) / np.sqrt(len(squares)) / 2 / np.sqrt(squares.mean())
    assert find_error(row, 0, None) == pytest.approx(error, rel=1e-10)


@pytest.mark.parametrize("positives", [1, 20, 50, 70])
def test_interval_of_the_uncertainty_is_that_of_the_prevalence(positives: int) -> None:
    frame = pl.DataFrame({"y": [1] * positives + [0] * (100 - positives), "p": [0.5] * 100})
    rows = sqleval.scan(frame, label="y", score="p").evaluate(
        ["prevalence", "brier_uncertainty"], ci=0.95
    )
    share, found = rows.collect().iter_rows(named=True)
    grid = np.linspace(share["low"], share["high"], 100_001)
    spread = grid * (1 - grid)
    assert (found["low"], found["high"]) == pytest.approx((spread.min(), spread.max()), rel=1e-9)
    assert found["method"] == "wilson of the prevalence"


@pytest.mark.parametrize(
    ("metrics", "roles"),
    [
        ([*OF_COUNTS, "log_loss", "pcoc"], {"label": "y", "score": "p"}),
        (["mae", "rmse"], {"label": "y", "prediction": "p", "task": "regression"}),
    ],
    ids=["binary", "regression"],
)
def test_no_variation_is_noted(metrics: list[str], roles: dict[str, str]) -> None:
    label = [0, 1] * 30
    right = [float(y) for y in label]
    frame = pl.DataFrame({"y": label, "p": right}).cast(
        {"y": pl.Float64} if "score" not in roles else {}
    )
    found = sqleval.scan(frame, **roles).evaluate(metrics, ci=0.95).collect()
    for metric, row in zip(metrics, found.iter_rows(named=True), strict=True):
        assert row["value"] is not None, metric
        assert (row["low"], row["high"]) == (None, None), metric
        assert row["note"] == "no interval: no variation in the sample", metric


def test_few_rows_are_noted_only_with_an_interval() -> None:
    frame = drawn("binary", 14, seed=2)
    bound = sqleval.scan(frame, label="y", score="p")
    metrics = [*OF_COUNTS, "log_loss", "pcoc", "roc_auc", "normalized_entropy"]
    plain, found = (bound.evaluate(metrics, **with_ci).collect() for with_ci in ({}, {"ci": 0.9}))
    few = ["few rows: interval may be too narrow"] * len(metrics)
    assert plain["note"].null_count() == len(metrics)
    assert plain["value"].to_list() == pytest.approx(found["value"].to_list(), rel=1e-14)
    assert dict(zip(metrics, found["note"], strict=True)) == dict(zip(metrics, few, strict=True))
    assert found["low"].null_count() == 0


def test_rows_that_count_once_a_class_have_no_closed_form() -> None:
    metrics = [
        "f1(average='micro')", "roc_auc(average='micro')", "jaccard(average='micro')",
        "specificity(average='micro')", "precision(average='micro', multi_class='ovo')",
    ]  # fmt: skip
    bound = sqleval.scan(drawn("probabilities", 200), **ROLES["probabilities"])
    closed = bound.evaluate(metrics, ci=0.95, replicates=0).collect()
    assert closed["low"].null_count() == closed.height
    rows = bound.evaluate(metrics, ci=0.95, replicates=100).collect()
    assert rows.filter(
        (pl.col("low") < pl.col("value")) & (pl.col("value") < pl.col("high"))
    ).equals(rows)
    assert rows["method"].str.contains("bootstrap").all()
    # Beside metrics per class, some with a closed form and some without.
    several = [metrics[0], "recall(average=None)", "average_precision(average=None)"]
    beside = bound.evaluate(several, ci=0.95, replicates=100).collect()
    assert beside.row(0, named=True) == {"class": None} | rows.row(0, named=True)
    assert beside["low"].null_count() == 0


def evaluate_with_intervals(kind: Kind) -> dict[str, dict[str, Any]]:
    """Return the row of each metric of a kind of data, from one statement.

    Intervals do not depend on averages and parameters, so each metric has one of them, in turn.
    """
    alike: dict[object, dict[object, Case]] = {}
    for case in CASES:
        if case.kind == kind:
            alike.setdefault(about(case), {})[case.request] = case
    bound = sqleval.scan(drawn(kind), **ROLES[kind])
    sets = [[*same.values()] for same in alike.values()]
    metrics = [same[i % len(same)].metric for i, same in enumerate(sets)]
    # No replicates for one class against the others: they equal the replicates of two classes.
    few = kind == "probabilities"
    result = bound.evaluate(metrics, ci=0.95, replicates=0 if few else 100).collect()
    # SQL files for intervals give the values of the plain files. For binary metrics, `test_metrics`
    # compares both with the references.
    if kind != "binary":
        assert_frame_equal(
            result.select("metric", "value"),
            bound.evaluate(metrics).select("metric", "value").collect(),
        )
    if few:
        more = bound.evaluate(metrics[::3], ci=0.95, replicates=100).collect()
        assert more["method"].str.contains("bootstrap").sum() > 4
        result = pl.concat([result.filter(~pl.col("metric").is_in(more["metric"])), more])
    return {row["metric"]: row for row in result.iter_rows(named=True)}


NARROW = ("few rows: interval may be too narrow", "few queries: interval may be too narrow")


@pytest.mark.parametrize("kind", ROLES)
def test_interval_is_there_or_its_absence_has_a_note(kind: Kind) -> None:
    for metric, row in evaluate_with_intervals(kind).items():
        if row["low"] is None:
            assert row["high"] is None, metric
            assert row["value"] is None or "no interval" in row["note"], metric
        else:
            assert row["low"] <= row["value"] <= row["high"], metric
            assert row["method"], metric
            biased = "bootstrap" in row["method"] and str(row["note"]).startswith(
                "replicates are biased"
            )
            parts = str(row["note"] or "").split("; ")
            known = all(p in ("", *NARROW) or p.startswith("undefined for ") for p in parts)
            assert biased or known, metric


@pytest.mark.parametrize(
    ("metric", "frame"),
    [
        ("roc_auc", pl.DataFrame({"y": [1, 0, 0], "p": [0.9, 0.1, 0.95]})),
        ("gini", pl.DataFrame({"y": [1, 0, 0], "p": [0.9, 0.1, 0.95]})),
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
