"""Metrics of regression: intervals, states, and what they have none of."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from statsmodels.regression.linear_model import OLS
from statsmodels.tools import add_constant

import sqleval

RNG = np.random.default_rng(5)
N = 240
TRUTH = RNG.gamma(2, 3, N) + 0.5
ROWS = pl.DataFrame(
    {
        "y": TRUTH.round(1),
        "v": (TRUTH * np.exp(RNG.normal(0, 0.3, N))).round(1),
        "g": RNG.integers(0, 4, N),
        "w": RNG.random(N),
    }
)
ROLES: dict[str, Any] = {"label": "y", "prediction": "v", "task": "regression"}
MERGED = [
    "r2", "adjusted_r2(features=3)", "explained_variance", "pearson", "concordance_correlation",
    "calibration_slope", "calibration_intercept", "normalized_rmse", "wape", "percent_bias",
    "rmsle",
]  # fmt: skip
BY_ROW = [
    "r2", "explained_variance", "pearson", "concordance_correlation", "calibration_slope",
    "calibration_intercept", "normalized_rmse", "d2_tweedie(power=1)", "d2_pinball", "spearman",
    "kendall", "regression_gini",
]  # fmt: skip


def evaluate(rows: pl.DataFrame, metrics: Any, **options: Any) -> pl.DataFrame:
    """Return the result of metrics."""
    roles = ROLES | {"weight": options.pop("weight", None)}
    return sqleval.scan(rows, **roles).evaluate(metrics, **options).collect()


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("shift", [0, 1e6])
def test_states_of_slices_merge_into_the_values_of_all_rows(
    weight: str | None, shift: float
) -> None:
    rows = ROWS.with_columns(pl.col("y", "v") + shift)
    state = sqleval.scan(rows, **ROLES, weight=weight, by="g").state(MERGED).collect()
    found = sqleval.from_state(state, by=[]).evaluate(MERGED).collect()["value"].to_list()
    # Sums of weighted squares around a rounded mean lose a few digits of a number far from 0.
    tolerance = 1e-12 if shift == 0 else 1e-9
    expected = evaluate(rows, MERGED, weight=weight)["value"].to_list()
    assert found == pytest.approx(expected, rel=tolerance)


def test_a_state_says_which_intervals_need_the_rows() -> None:
    state = sqleval.scan(ROWS, **ROLES).state(["r2", "wape"], ci=True).collect()
    r2, wape = sqleval.from_state(state).evaluate(["r2", "wape"], ci=0.95).collect().to_dicts()
    assert r2["note"] == ("no interval: it needs the rows, and the state holds sums of them")
    assert wape["note"] is None
    assert wape["low"] < wape["value"] < wape["high"]


def test_a_slope_has_the_robust_standard_error_of_least_squares() -> None:
    fitted = OLS(ROWS["y"].to_numpy(), add_constant(ROWS["v"].to_numpy())).fit(cov_type="HC0")
    found = evaluate(ROWS, ["calibration_intercept", "calibration_slope"], ci=0.95)
    assert found["value"].to_list() == pytest.approx(fitted.params.tolist(), rel=1e-12)
    half = ((found["high"] - found["low"]) / 2).to_numpy()
    # The degrees of freedom follow from the kurtosis of the influences of the rows.
    influences = fitted.model.exog * fitted.resid[:, None] @ fitted.normalized_cov_params
    shares = (influences**4).sum(axis=0) / (influences**2).sum(axis=0) ** 2
    z = 1.959963984540054
    quantile = z * (1 + (z * z + 1) / (4 * 2 / (shares - 1 / N)))
    assert half == pytest.approx(quantile * fitted.bse * np.sqrt(N / (N - 1)), rel=1e-9)


@pytest.mark.parametrize("metric", BY_ROW)
def test_a_standard_error_comes_from_the_derivatives_by_weights(metric: str) -> None:
    """The numeric derivative by the weight of each row gives the same standard error."""
    rows = ROWS.head(40)
    step = 1e-4
    heavier = pl.concat(
        rows.with_columns(set=i, w=1 + step * (pl.int_range(40) == i)) for i in range(40)
    )
    bound = sqleval.scan(heavier, **ROLES, weight="w", by="set")
    moved = bound.evaluate(metric).collect().sort("set")["value"].to_numpy()
    (row,) = evaluate(rows, metric, ci=0.95).to_dicts()
    influences = (moved - row["value"]) / step * 40
    error = np.sqrt(np.sum(influences**2) / (40 * 39))
    degrees = 2 / (np.sum(influences**4) / np.sum(influences**2) ** 2 - 1 / 40)
    if metric.startswith(("d2", "normalized")):
        degrees = np.inf if metric.startswith("d2") else degrees
    z = 1.959963984540054
    half = error * z * (1 + (z * z + 1) / (4 * degrees))
    value, low, high = row["value"], row["low"], row["high"]
    if "logit" in row["method"]:
        scale, ends = 1 / (1 - value**2), np.arctanh([low, high])
    elif "log" in row["method"]:
        way = 1 if metric.startswith("normalized") else -1
        origin = 0 if way == 1 else 1
        scale, ends = 1 / abs(value - origin), way * np.log(np.abs(np.array([low, high]) - origin))
    else:
        scale, ends = 1.0, np.array([low, high])
    assert (ends[1] - ends[0]) / 2 == pytest.approx(half * scale, rel=2e-3)


def test_the_largest_error_has_no_interval() -> None:
    (row,) = evaluate(ROWS, "max_error", ci=0.95).to_dicts()
    assert (row["low"], row["high"]) == (None, None)
    assert row["note"] == "no interval: an end lies beyond the values of the sample"


def test_gini_of_two_labels_is_that_of_the_roc_curve() -> None:
    rows = ROWS.with_columns(y=(pl.col("y") > 5).cast(float))
    (found,) = evaluate(rows, "regression_gini")["value"]
    scan = sqleval.scan(rows.with_columns(pl.col("y").cast(int)), label="y", score="v")
    assert found == pytest.approx(scan.evaluate("gini").collect()["value"].item(), rel=1e-12)
