"""``normalize=False``: sums of weighted losses as integrals under a density."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import accuracy_score

import sqleval
from sqleval.compiler.metric_rows import NO_SUM
from tests.support.small_inputs import close, value

STEPS = 1000


MIDDLES = (np.arange(STEPS) + 0.5) / STEPS


@pytest.mark.parametrize(
    ("density", "expected", "bound"),
    [
        # A midpoint rule is off by h^2 / 24 times the rise of the slope of the integrand,
        (np.ones(STEPS), 1 / 3, 2 / 24),  # x^2: 2
        (2 * MIDDLES, 1 / 2, 6 / 24),  # 2 x^3: 6
    ],
    ids=["p = 1", "p = 2x"],
)
def test_mse_is_an_integral_over_a_grid(density: np.ndarray, expected: float, bound: float) -> None:
    frame = pl.DataFrame({"y": MIDDLES, "f": np.zeros(STEPS), "dx": density / STEPS})
    roles = {"label": "y", "prediction": "f", "weight": "dx", "task": "regression"}
    got = value(frame, "mse(normalize=False)", **roles)
    assert got is not None
    # The bound is attained up to rounding: both integrands are polynomials of degree 3 or less.
    assert expected - got == pytest.approx(bound / STEPS**2, rel=1e-6)
    # Here the weights sum to 1, so that the mean is the integral.
    assert value(frame, "mse", **roles) == close(got)


def test_the_integral_is_not_divided_by_the_weights() -> None:
    frame = pl.DataFrame({"y": [1.0, 2.0], "f": [0.0, 0.0], "dx": [0.5, 0.25]})
    roles = {"label": "y", "prediction": "f", "weight": "dx", "task": "regression"}
    assert value(frame, "mse(normalize=false)", **roles) == close(0.5 + 0.25 * 4)
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


SUMS: dict[str, dict[str, Any]] = {
    "accuracy(normalize=False)": {"label": "y", "score": "p"},
    "error_rate(normalize=False)": {"label": "y", "score": "p"},
    "mse(normalize=False)": {"label": "y", "prediction": "p", "task": "regression"},
}


def make_rows() -> pl.DataFrame:
    rng = np.random.default_rng(1)
    return pl.DataFrame({"y": rng.integers(0, 2, 90), "p": rng.random(90).round(2)})


def test_bounds_of_a_sum_are_not_those_of_a_share() -> None:
    frame = make_rows()
    right = int(accuracy_score(frame["y"], frame["p"] >= 0.5, normalize=False))
    bound = sqleval.scan(frame, label="y", score="p")
    for ci in (None, 0.95):
        frame = bound.evaluate("accuracy(normalize=False)", bins=9, ci=ci).collect()
        got = frame.row(0, named=True)
        assert got["low"] <= right <= got["high"] <= got["low"] + 90
        assert got["value"] == right


@pytest.mark.parametrize("method", [None, "bootstrap", "percentile", "bca", "clopper_pearson"])
@pytest.mark.parametrize("metric", SUMS)
def test_a_sum_has_no_interval_and_says_so(metric: str, method: str | None) -> None:
    bound = sqleval.scan(make_rows(), **SUMS[metric])
    got = bound.evaluate(metric, ci=0.95, ci_method=method).collect().row(0, named=True)
    assert (got["low"], got["high"], got["method"]) == (None, None, None)
    assert got["note"] == NO_SUM


@pytest.mark.parametrize("metric", SUMS)
def test_sums_are_not_compared(metric: str) -> None:
    roles = SUMS[metric]
    role = "score" if "score" in roles else "prediction"
    one = sqleval.scan(make_rows(), **roles)
    two = sqleval.scan(
        make_rows().with_columns(q=1 - pl.col("p")), **{**roles, role: {"a": "p", "b": "q"}}
    )
    for call in (two.compare, two.leaderboard, two.sample_size, one.sample_size):
        with pytest.raises(sqleval.RequestError, match="depends on the number of rows"):
            call(metric)
