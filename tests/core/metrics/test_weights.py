"""Sampling weights: linearised standard errors, against R and by the derivatives of each metric."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm

import sqleval
from sqleval.catalog.catalogue import builtin

Z = norm.ppf(0.975)


def create_rows() -> pl.DataFrame:
    """Return 400 rows of whole-number arithmetic, which R reads alike from a CSV file."""
    rows: list[tuple[int, float, float]] = []
    for i in range(400):
        y = int((i * 7 + 3) % 5 < 2 or i % 11 == 0)
        p = ((i * 37) % 97 + 1) / 99 * 0.7 + (0.25 if y else 0)
        rows.append((y, round(p, 3), ((i * 53) % 89 + 5) / 20))
    return pl.DataFrame(rows, schema=["y", "p", "w"], orient="row")


def evaluate(rows: pl.DataFrame, metrics: Any, **options: Any) -> dict[str, dict[str, Any]]:
    data = sqleval.scan(rows, label="y", score="p", weight="w")
    found = data.evaluate(metrics, ci=0.95, **options).collect()
    return {row["metric"]: row for row in found.iter_rows(named=True)}


def find_correction(weight: pl.Series) -> float:
    """Return the factor of a linearised standard error for unequal weights."""
    n, share = len(weight), (weight**2).sum() / weight.sum() ** 2
    return ((1 - 1 / n) / (1 - 2 * n * share**2 + share)) ** 0.5


#: Made by R's package survey (4.1-1) from `create_rows` in a CSV file:
#:     s <- svydesign(ids = ~1, weights = ~w, data = read.csv("rows.csv"))
#:     s <- update(s, loss = -log(ifelse(y == 1, p, 1 - p)), squared = (p - y)^2,
#:                 hat = as.numeric(p >= 0.5))
#:     s <- update(s, right = as.numeric(hat == y), tp = y * hat, half = (y + hat) / 2)
#:     svymean(~loss + squared + right, s); svyratio(~tp, ~hat, s); svyratio(~tp, ~y, s)
#:     svyratio(~tp, ~half, s); svyratio(~p, ~y, s)
OF_R = {
    "log_loss": (0.52734003039485711, 0.018369991195337304),
    "brier_score": (0.18020833270292372, 0.008152335004990803),
    "accuracy": (0.68160907789818026, 0.026366670476643737),
    "precision": (0.63667975322490189, 0.041088691614944189),
    "recall": (0.65497345949688435, 0.039923667505327366),
    "f1": (0.64569705932540822, 0.033430807277879414),
    "pcoc": (1.0466156242787907, 0.056893539208750989),
}


def test_means_rates_and_ratios_are_those_of_r() -> None:
    rows = create_rows()
    found = evaluate(rows, list(OF_R))
    # svyratio has the factor n / (n - 1), which the delta method leaves out. R lacks the correction
    # for the influence of large weights.
    factor = (399 / 400) ** 0.5
    correction = find_correction(rows["w"])
    assert correction == pytest.approx(1, abs=0.01)
    for metric, (value, error) in OF_R.items():
        low, high = (found[metric][end] for end in ("low", "high"))
        assert found[metric]["value"] == pytest.approx(value, rel=1e-12), metric
        if metric in ("log_loss", "brier_score"):
            assert (high - low) / (2 * Z) / correction == pytest.approx(error, rel=1e-10), metric
        elif metric == "pcoc":
            scaled = np.log(high / low) * value / (2 * Z) / correction
            assert scaled == pytest.approx(error * factor, rel=1e-10)
        elif metric == "f1":
            width = np.log(high / (1 - high)) - np.log(low / (1 - low))
            scaled = width * value * (1 - value) / (2 * Z) / correction
            assert scaled == pytest.approx(error * factor, rel=1e-10)
        else:
            trials = value * (1 - value) / (error * factor) ** 2
            centre, scale = value + Z**2 / (2 * trials), 1 + Z**2 / trials
            half = Z * np.sqrt(value * (1 - value) / trials + Z**2 / (4 * trials**2))
            ends = (centre - half) / scale, (centre + half) / scale
            assert (low, high) == pytest.approx(ends, rel=1e-10), metric


#: Metrics of two classes, except a slow one and the one with a cost matrix.
BINARY = [
    each.name
    for each in builtin().relations("metric")
    if "binary" in each.tasks and each.name not in ("misclassification_cost", "roc_auc_pairs")
]
#: Metrics with an interval in closed form.
CLOSED = [
    row["name"]
    for row in sqleval.metrics()
    if row["interval"] not in (None, "bootstrap", "none")
    if row["weights"] == "frequency" and row["name"] in BINARY
]


def find_scale(metric: str) -> tuple[float, float]:
    least, _, most = str(builtin().get(metric).header["range"]).partition("..")
    return float(least), float(most)


def find_error(row: dict[str, Any]) -> float:
    """Return the standard error behind an interval."""
    value, low, high = row["value"], row["low"], row["high"]
    least, most = find_scale(row["metric"])
    if "normal" in row["method"]:
        return (high - low) / (2 * Z)
    if "log," in row["method"]:
        return np.log(high / low) * value / (2 * Z)
    value, low, high = ((x - least) / (most - least) for x in (value, low, high))
    quantile = np.log(high / (1 - high)) - np.log(low / (1 - low))
    return quantile * value * (1 - value) / (2 * Z) * (most - least)


def differentiate(rows: pl.DataFrame, metrics: list[str]) -> dict[str, float]:
    """Return linearised standard errors: the root of the sum of (w dV/dw)^2 over the rows."""
    change = 1e-4
    parts = [
        rows.with_columns(
            w=pl.when(pl.int_range(pl.len()) == i).then(pl.col("w") * (1 + sign)).otherwise("w"),
            g=pl.lit(2 * i + (sign > 0)),
        )
        for i in range(rows.height)
        for sign in (-change, change)
    ]
    data = sqleval.scan(pl.concat(parts), label="y", score="p", weight="w", by="g")
    found = data.evaluate(metrics).collect().sort("g")
    errors: dict[str, float] = {}
    for metric in metrics:
        values = found.filter(metric=metric)["value"].to_numpy().reshape(-1, 2)
        errors[metric] = float(np.sqrt((((values[:, 1] - values[:, 0]) / (2 * change)) ** 2).sum()))
    return errors


@pytest.mark.parametrize("digits", [17, 1])
def test_standard_errors_are_linearised(digits: int) -> None:
    rows = create_rows().head(120).with_columns(pl.col("p").round(digits))
    # Student's quantile and Wilson's interval have tests of their own.
    metrics = [
        row["name"]
        for row in sqleval.metrics()
        if row["name"] in CLOSED and row["interval"].startswith(("delta", "normal", "delong"))
        if row["name"] not in ("average_precision", "pr_auc_trapezoid", "pr_auc_interpolated")
        # A score of 1, which rounding makes, has no logit.
        if digits > 1 or not row["name"].startswith("logistic_calibration")
    ]
    found, expected = evaluate(rows, metrics), differentiate(rows, metrics)
    weight = {name: rows.filter(y=name)["w"].to_numpy() for name in (0, 1)}
    for metric in metrics:
        error = expected[metric] * find_correction(rows["w"])
        # A mean has the factor n / (n - 1), a fit has not, as in statsmodels.
        if found[metric]["method"].startswith("normal"):
            error *= (120 / 119) ** 0.5
        if "delong" in found[metric]["method"]:
            # The factor of a class is 1 / (1 - 1 / n), n its effective number of rows.
            sizes = [each.sum() ** 2 / (each**2).sum() for each in weight.values()]
            assert error <= find_error(found[metric]) <= error * (1 - 1 / min(sizes)) ** -0.5
            continue
        assert find_error(found[metric]) == pytest.approx(error, rel=1e-5), metric


@pytest.mark.parametrize("metric", ["average_precision", "pr_auc_trapezoid", "pr_auc_interpolated"])
@pytest.mark.parametrize("digits", [17, 1])
def test_areas_under_precision_and_recall_are_linearised(metric: str, digits: int) -> None:
    rows = create_rows().head(120).with_columns(pl.col("p").round(digits))
    row = evaluate(rows, metric)[metric]
    unweighted = rows.with_columns(w=pl.lit(1.0))
    plain = evaluate(unweighted, metric)[metric]
    # The quantiles of the t distribution differ by the effective numbers alone, which are close.
    ratio = find_error(row) / differentiate(rows, [metric])[metric]
    assert ratio == pytest.approx(
        find_error(plain) / differentiate(unweighted, [metric])[metric], rel=0.02
    )


def needs_every_score(metric: str) -> bool:
    """Whether bins of scores never give a metric, with any of its parameters."""
    steps = builtin().closure(metric).values()
    return any(step.header.get("unbinned") == "always" for step in steps)


@pytest.mark.parametrize("way", ["rows", "bins", "state"])
@pytest.mark.parametrize("factor", [1e-3 / 7, 1e20])
def test_a_constant_times_all_weights_changes_nothing(way: str, factor: float) -> None:
    names = [name for name in BINARY if builtin().get(name).header["weights"] == "frequency"]
    # Its bins are quantiles of rows, and the last of n rows, which weights of 1 are, is n - 1 rows
    # after the first one.
    names.remove("hosmer_lemeshow")
    if way != "rows":
        names = [name for name in names if not needs_every_score(name)]
    rows = create_rows().with_columns(pl.col("p").round(2), g=pl.int_range(400) % 3)
    results: list[pl.DataFrame] = []
    for scale in (1, factor):
        data = sqleval.scan(
            rows.with_columns(pl.col("w") * scale), label="y", score="p", weight="w", by="g"
        )
        if way == "state":
            data = sqleval.from_state(data.state(names, ci=True).collect(), by="g")
        options = {"bins": 11} if way == "bins" else {}
        results.append(data.evaluate(names, ci=0.95, replicates=100, **options).collect())
    before, after = results
    for column in ("g", "metric", "n", "method", "note"):
        assert before[column].to_list() == after[column].to_list()
    for column in ("value", "low", "high"):
        known, other = (each[column].to_list() for each in results)
        assert other == pytest.approx(known, rel=1e-9, abs=1e-12), column


def test_equal_weights_are_no_weights() -> None:
    rows = create_rows()
    without = sqleval.scan(rows, label="y", score="p").evaluate(CLOSED, ci=0.95).collect()
    for weight in (1.0, 2.5):
        found = evaluate(rows.with_columns(w=pl.lit(weight)), CLOSED)
        for row in without.iter_rows(named=True):
            same = found[row["metric"]]
            for column in ("value", "low", "high"):
                assert same[column] == pytest.approx(row[column], rel=1e-9), row["metric"]
            assert same["note"] == row["note"]


def test_counts_count_rows_and_weights_do_not() -> None:
    rows = create_rows().with_columns(w=(pl.int_range(400) % 4 + 1).cast(pl.Int64))
    repeated = rows.drop("w")[np.repeat(np.arange(rows.height), rows["w"].cast(pl.Int64))]
    one = sqleval.scan(repeated, label="y", score="p").evaluate(CLOSED, ci=0.95).collect()
    counted = sqleval.scan(rows, label="y", score="p", counts="w")
    other = counted.evaluate(CLOSED, ci=0.95).collect()
    for column in ("value", "low", "high"):
        assert other[column].to_list() == pytest.approx(one[column].to_list(), rel=1e-12)
    weighted = evaluate(rows, CLOSED)
    for row in one.iter_rows(named=True):
        same = weighted[row["metric"]]
        assert same["value"] == pytest.approx(row["value"], rel=1e-12)
        assert same["high"] - same["low"] > 1.2 * (row["high"] - row["low"])
        assert "counts= takes counts of rows" in same["note"]


def test_the_note_has_the_effective_number_of_rows() -> None:
    weight = np.where(np.arange(400) % 4 == 0, 1.0, 0.1)
    rows = create_rows().with_columns(w=weight)
    size = round(weight.sum() ** 2 / (weight**2).sum())
    assert size < 200
    found = evaluate(rows, ["accuracy", "ks", "f1"])
    for row in found.values():
        assert row["note"].startswith(f"weights: effective number of rows {size} of 400")
    assert evaluate(create_rows(), "accuracy")["accuracy"]["note"] is None


def test_a_rate_of_weights_that_go_with_the_outcome() -> None:
    # Negatives were sampled at a hundredth: precision depends on few of them, at weight 100.
    rows = pl.DataFrame({"y": [1] * 900 + [0] * 30, "p": 0.9, "w": [1.0] * 900 + [100.0] * 30})
    row = evaluate(rows, "precision")["precision"]
    share = 900 / 3900
    variance = (900 * (1 - share) ** 2 + 30 * 100**2 * share**2) / 3900**2
    trials = share * (1 - share) / variance
    centre, scale = share + Z**2 / (2 * trials), 1 + Z**2 / trials
    half = Z * np.sqrt(variance + Z**2 / (4 * trials**2))
    assert (row["low"], row["high"]) == pytest.approx(
        ((centre - half) / scale, (centre + half) / scale), rel=1e-12
    )
    # With fewer than 20 of them, the smaller of both effective numbers is used.
    few = rows.head(910)
    row = evaluate(few, "precision")["precision"]
    trials = few["w"].sum() ** 2 / (few["w"] ** 2).sum()
    share = 900 / 1900
    centre, scale = share + Z**2 / (2 * trials), 1 + Z**2 / trials
    half = Z * np.sqrt(share * (1 - share) / trials + Z**2 / (4 * trials**2))
    assert (row["low"], row["high"]) == pytest.approx(
        ((centre - half) / scale, (centre + half) / scale), rel=1e-12
    )
