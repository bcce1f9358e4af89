"""Tests of models with sampling weights, against statsmodels, scikit-learn and equal weights."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from scipy import stats
from sklearn.metrics import roc_auc_score
from statsmodels.regression.linear_model import WLS
from statsmodels.stats.contingency_tables import mcnemar

import sqleval
from sqleval import RequestError

from .data import ROWS, compare

CLOSED = ["roc_auc", "gini", "accuracy", "error_rate", "log_loss", "brier_score"]
NUMBERS = ("difference", "low", "high", "p_value")
rng = np.random.default_rng(5)
WEIGHTED = ROWS.with_columns(
    v=pl.Series(rng.lognormal(size=ROWS.height)), group=pl.col("k") % 2, one=pl.lit(2.5)
)
TWO = {"score": {"a": "a", "b": "b"}, "weight": "v"}


def correct(weight: NDArray[Any]) -> float:
    """Return the factor of a linearised standard error for few effective rows."""
    share = (weight**2).sum() / weight.sum() ** 2
    bias = 1 - 2 * weight.size * share**2 + share
    return float(np.sqrt((1 - 1 / weight.size) / bias))


def find_stderr(row: dict[str, Any]) -> float:
    return float(abs(row["difference"] / row["statistic"]))


def test_means_have_the_robust_error_of_a_weighted_regression() -> None:
    y, w = WEIGHTED["y"].to_numpy(), WEIGHTED["v"].to_numpy()
    a, b = WEIGHTED["a"].to_numpy(), WEIGHTED["b"].to_numpy()
    expected = {
        "brier_score": (b - y) ** 2 - (a - y) ** 2,
        "log_loss": np.log(np.where(y == 1, a / b, (1 - a) / (1 - b))),
    }
    found = compare(WEIGHTED, list(expected), TWO)
    for row, difference in zip(found.to_dicts(), expected.values(), strict=True):
        fit = WLS(difference, np.ones_like(difference), weights=w).fit(cov_type="HC1")
        assert row["difference"] == pytest.approx(fit.params[0], rel=1e-10)
        assert find_stderr(row) == pytest.approx(fit.bse[0] * correct(w), rel=1e-10)
        effective = w.sum() ** 2 / (w**2).sum()
        p_value = 2 * stats.t.sf(abs(row["statistic"]), effective - 1)
        assert row["p_value"] == pytest.approx(p_value, rel=1e-10)
        assert row["method"] == "paired t-test of row losses, linearised"
        assert row["note"] == f"weights: effective number of rows {effective:.0f} of 400"


def test_areas_have_the_error_of_their_derivatives() -> None:
    """The linearised variance sums the squared contributions of the rows to the difference."""
    rows = WEIGHTED.head(120)
    y, w = rows["y"].to_numpy(), rows["v"].to_numpy()

    def subtract(weight: NDArray[Any]) -> float:
        own, base = (roc_auc_score(y, rows[name], sample_weight=weight) for name in ("b", "a"))
        return float(own - base)

    steps = np.diag(1e-5 * w)
    added = [(subtract(w + step) - subtract(w - step)) / 2e-5 for step in steps]
    classes = [np.array(added)[y == k] for k in (0, 1)]
    counts = [w[y == k].sum() ** 2 / (w[y == k] ** 2).sum() for k in (0, 1)]
    variance = sum((x**2).sum() / (1 - 1 / n) for x, n in zip(classes, counts, strict=True))
    found = compare(rows, ["roc_auc", "gini"], TWO)
    area, gini = found.to_dicts()
    assert area["difference"] == pytest.approx(subtract(w), rel=1e-12)
    assert area["value"] == pytest.approx(roc_auc_score(y, rows["b"], sample_weight=w), rel=1e-12)
    assert find_stderr(area) == pytest.approx(np.sqrt(variance) * correct(w), rel=1e-6)
    assert gini["p_value"] == pytest.approx(area["p_value"])
    assert area["method"] == "DeLong, paired, linearised"


def test_rates_have_a_score_test() -> None:
    y, w = WEIGHTED["y"].to_numpy(), WEIGHTED["v"].to_numpy()
    right = {name: (WEIGHTED[name].to_numpy() >= 0.5) == y for name in ("a", "b")}
    apart = right["b"].astype(float) - right["a"]
    expected = (w * apart).sum() ** 2 / (w * apart**2 * w).sum()
    found = compare(WEIGHTED, ["accuracy", "error_rate"], TWO)
    assert found["statistic"].to_list() == pytest.approx([expected] * 2, rel=1e-10)
    assert found["p_value"].to_list() == pytest.approx([stats.chi2.sf(expected, 1)] * 2, rel=1e-8)
    assert found["difference"][0] == pytest.approx((w * apart).sum() / w.sum())
    assert found["low"][0] == pytest.approx(-found["high"][1])
    # With equal weights it equals McNemar's test without the continuity correction.
    equal = compare(WEIGHTED, "accuracy", TWO | {"weight": "one"}).row(0, named=True)
    table = [[0, (apart < 0).sum()], [(apart > 0).sum(), 0]]
    reference = mcnemar(table, exact=False, correction=False)
    assert equal["statistic"] == pytest.approx(reference.statistic)
    assert equal["p_value"] == pytest.approx(reference.pvalue)
    assert equal["method"] == "McNemar, linearised"


@pytest.mark.parametrize("options", [
    {}, {"margin": 0.05}, {"margin": 0.05, "alternative": "greater"}, {"alternative": "less"},
    {"test": "delong_joint"},
])  # fmt: skip
def test_equal_weights_are_no_weights(options: dict[str, Any]) -> None:
    metrics = ["roc_auc"] if "test" in options else ["roc_auc", "log_loss", "brier_score"]
    both = [
        compare(WEIGHTED, metrics, {"score": TWO["score"], "by": "g"} | weight, **options)
        for weight in ({"weight": "one"}, {})
    ]
    names = ["statistic", "p_value"] if "test" in options else NUMBERS
    for name in names:
        found, expected = (frame[name].to_list() for frame in both)
        assert found == pytest.approx(expected, rel=1e-9), name
    assert both[0]["note"].to_list() == both[1]["note"].to_list()


def test_equal_weights_are_no_weights_of_different_rows() -> None:
    call: dict[str, Any] = {"model": "group", "paired": False, "baseline": "0"}
    for options in ({}, {"margin": 0.1}, {"alternative": "less"}):
        both = [
            compare(WEIGHTED, CLOSED, {"score": "a"} | weight, **call, **options)
            for weight in ({"weight": "one"}, {})
        ]
        for name in NUMBERS:
            found, expected = (frame[name].to_list() for frame in both)
            assert found == pytest.approx(expected, rel=1e-9), name


def test_different_rows_have_the_errors_of_both_intervals() -> None:
    roles = {"label": "y", "score": "a", "weight": "v"}
    call: dict[str, Any] = {"model": "group", "paired": False, "baseline": "0"}
    found = compare(WEIGHTED, ["log_loss", "accuracy"], roles, **call)
    losses, rates = found.to_dicts()
    y, p = WEIGHTED["y"].to_numpy(), WEIGHTED["a"].to_numpy()
    loss, variance, degrees = -np.log(np.where(y == 1, p, 1 - p)), 0.0, 0.0
    for group in (0, 1):
        kept = WEIGHTED["group"].to_numpy() == group
        w = WEIGHTED["v"].to_numpy()[kept]
        fit = WLS(loss[kept], np.ones(kept.sum()), weights=w).fit(cov_type="HC1")
        square = (fit.bse[0] * correct(w)) ** 2
        variance += square
        degrees += square**2 / (w.sum() ** 2 / (w**2).sum() - 1)
    assert find_stderr(losses) == pytest.approx(np.sqrt(variance), rel=1e-9)
    p_value = 2 * stats.t.sf(abs(losses["statistic"]), variance**2 / degrees)
    assert losses["p_value"] == pytest.approx(p_value, rel=1e-8)
    # Newcombe's interval combines the intervals of both rates.
    apart = sqleval.scan(WEIGHTED, **roles, by="group").evaluate("accuracy", ci=0.95).collect()
    base, own = apart.sort("group").to_dicts()
    low = own["value"] - base["value"]
    low -= np.hypot(own["value"] - own["low"], base["high"] - base["value"])
    assert rates["low"] == pytest.approx(low)
    assert rates["method"] == "score test of two rates, Newcombe's interval, linearised"
    assert rates["note"].count("weights: effective number of rows") == 2


def test_several_classes_and_regression() -> None:
    classes = {"a": "c", "b": "d"}
    rows = WEIGHTED.with_columns(
        label=pl.col("k") % 3, c=pl.col("user") % 3, d=pl.col("fold") % 3, x=pl.col("a") * 3
    )
    scan = {"label": "label", "score": None, "prediction": classes, "weight": "v"}
    found = compare(rows, "accuracy", scan | {"task": "multiclass"}).row(0, named=True)
    right = [rows[name] == rows["label"] for name in ("d", "c")]
    apart = (right[0].cast(pl.Float64) - right[1].cast(pl.Float64)).to_numpy()
    w = rows["v"].to_numpy()
    expected = (w * apart).sum() ** 2 / (w**2 * apart**2).sum()
    assert found["statistic"] == pytest.approx(expected, rel=1e-10)
    scan = {"label": "x", "score": None, "prediction": {"a": "a", "b": "b"}, "weight": "v"}
    row = compare(rows, "mse", scan | {"task": "regression"}).row(0, named=True)
    x, a, b = (rows[name].to_numpy() for name in ("x", "a", "b"))
    fit = WLS((x - b) ** 2 - (x - a) ** 2, np.ones(400), weights=w).fit(cov_type="HC1")
    assert find_stderr(row) == pytest.approx(fit.bse[0] * correct(w), rel=1e-9)


@pytest.mark.parametrize("kind", [pl.Float32, pl.Int16, pl.Decimal(18, 2)])
def test_types_of_weights_and_weights_of_zero(kind: Any) -> None:
    rows = WEIGHTED.with_columns(v=(pl.col("v") * 3).floor().cast(kind))
    assert (rows["v"] == 0).any()
    found = compare(rows, CLOSED, TWO | {"by": "g"})
    for group in ("s", "t", None):
        part = rows.filter(pl.col("g").eq_missing(group), pl.col("v") > 0)
        alone = compare(part.with_columns(pl.col("v").cast(pl.Float64)), CLOSED, TWO)
        slice_rows = found.filter(pl.col("g").eq_missing(group))
        for name in NUMBERS:
            expected = alone[name].to_list()
            assert slice_rows[name].to_list() == pytest.approx(expected, rel=1e-6), (name, group)


def test_one_class_no_weight_and_no_difference() -> None:
    one = compare(WEIGHTED.with_columns(y=1), "roc_auc", TWO | {"positive": 1}).row(0, named=True)
    assert (one["p_value"], one["note"]) == (None, "no negative labels")
    nothing = compare(WEIGHTED.with_columns(v=0.0), CLOSED, TWO)
    assert nothing["p_value"].null_count() == len(CLOSED)
    alike = compare(WEIGHTED, CLOSED, TWO | {"score": {"a": "a", "b": "a"}})
    assert alike["p_value"].null_count() == len(CLOSED)
    assert alike["note"][0] == "no test: both models rank the rows alike"
    single = compare(WEIGHTED.head(1), ["log_loss"], TWO)
    assert single["note"].item().startswith("no test: one row")
    # One row has nearly all weight: the effective number is below 20 in each class.
    heavy = WEIGHTED.with_columns(v=pl.when(pl.col("k") < 4).then(1e4).otherwise("v"))
    assert "few rows of a class" in compare(heavy, "roc_auc", TWO)["note"].item()


def test_tests_of_ranks_and_counts_take_no_weights() -> None:
    bound = sqleval.scan(WEIGHTED, label="y", **TWO)
    for metric, test in (("log_loss", "wilcoxon"), ("accuracy", "mcnemar_exact"),
        ("accuracy", "cochran_q")):  # fmt: skip
        with pytest.raises(RequestError, match="tests of ranks and counts take no weights"):
            bound.compare(metric, test=test)
