"""``normalize=False``: sums of weighted losses as integrals under a density."""

import numpy as np
import polars as pl
import pytest

from tests.support.small_inputs import close, value

pytestmark = pytest.mark.slow  # test_metrics.py covers the oldest engines


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
    # The bound is attained, but for rounding: both integrands are polynomials of degree 3 or less.
    assert expected - got == pytest.approx(bound / STEPS**2, rel=1e-6)
    # Here the weights sum to 1, so that the mean is the integral.
    assert value(frame, "mse", **roles) == close(got)


def test_the_integral_is_not_divided_by_the_weights() -> None:
    frame = pl.DataFrame({"y": [1.0, 2.0], "f": [0.0, 0.0], "dx": [0.5, 0.25]})
    roles = {"label": "y", "prediction": "f", "weight": "dx", "task": "regression"}
    assert value(frame, "mse(normalize=False)", **roles) == close(0.5 + 0.25 * 4)
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
