"""Bootstrap intervals against SciPy's for the same replicates, and p-values beside them."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sqleval.errors import RequestError
from sqleval.inference.replicates import (
    compute_acceleration,
    compute_bootstrap_p_value,
    find_bca_interval,
    find_percentile_interval,
)

from . import patient

INF, NAN = float("inf"), float("nan")
SIDES = ["two-sided", "greater", "less"]
#: The mean and two skewed statistics, of which BCa corrects the bias.
STATISTICS: dict[str, Any] = {"mean": np.mean, "variance": np.var, "largest": np.max}
ROWS = np.random.default_rng(11).exponential(size=40)


def jackknife(statistic: Any) -> np.ndarray:
    return np.array([statistic(np.delete(ROWS, i)) for i in range(len(ROWS))])


@pytest.mark.parametrize("name", ["mean", "variance"])
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("method", ["percentile", "BCa"])
def test_the_interval_is_that_of_scipy(name: str, side: str, method: Any) -> None:
    statistic = STATISTICS[name]
    expected = stats.bootstrap(
        (ROWS,), statistic, method=method, n_resamples=999, alternative=side, rng=5,
        confidence_level=0.9,
    )  # fmt: skip
    replicates = expected.bootstrap_distribution[:, np.newaxis]
    if method == "BCa":
        acceleration = compute_acceleration(jackknife(statistic)[:, np.newaxis])
        estimate = [statistic(ROWS)]
        found = find_bca_interval(replicates, estimate, acceleration, ci=0.9, alternative=side)
    else:
        found = find_percentile_interval(replicates, ci=0.9, alternative=side)
    interval = expected.confidence_interval
    assert found.low[0] == pytest.approx(interval.low, rel=1e-9)
    assert found.high[0] == pytest.approx(interval.high, rel=1e-9)


def test_printed_example() -> None:
    # Efron and Tibshirani (1993), table 14.1: variance of the spatial test, 26 children; the
    # acceleration is 0.061, and with 2,000 replicates z0 = 0.146: BCa 115.8 .. 259.6.
    test_a = [
        48, 36, 20, 29, 42, 42, 20, 42, 22, 41, 45, 14, 6, 0, 33, 28, 34, 4, 32, 24, 47, 41, 24,
        26, 30, 41,
    ]  # fmt: skip
    rows = np.array(test_a, dtype=float)
    values = np.array([np.var(np.delete(rows, i)) for i in range(26)])[:, np.newaxis]
    acceleration = compute_acceleration(values)
    assert acceleration[0] == pytest.approx(0.061, abs=5e-4)
    rng = np.random.default_rng(0)
    replicates = rng.choice(rows, size=(20_000, 26)).var(axis=1)[:, np.newaxis]
    interval = find_bca_interval(replicates, [rows.var()], acceleration, ci=0.9)
    assert (interval.low[0], interval.high[0]) == pytest.approx((115.8, 259.6), rel=0.02)


def test_replicates_without_a_value_are_counted_and_left_out() -> None:
    rng = np.random.default_rng(2)
    replicates = rng.normal(size=(200, 2, 3))
    replicates[:50, 0, 1] = NAN
    replicates[:, 1, 2] = NAN
    estimate = np.zeros((2, 3))
    for found in (
        find_percentile_interval(replicates),
        find_bca_interval(replicates, estimate, 0.01),
    ):
        assert found.low.shape == (2, 3)
        assert found.n_undefined.tolist() == [[0, 50, 0], [0, 0, 200]]
        assert (found.n_used + found.n_undefined == 200).all()
        assert np.isnan(found.low).tolist() == [[False] * 3, [False, False, True]]
        assert np.isnan(found.high).tolist() == np.isnan(found.low).tolist()
    rest = find_bca_interval(replicates[50:, 0, 1:2], [0.0], 0.01)
    assert found.low[0, 1] == rest.low[0]
    p_value = compute_bootstrap_p_value(replicates)
    assert np.isnan(p_value).tolist() == [[False] * 3, [False, False, True]]


def test_degenerate_replicates() -> None:
    same = np.ones((100, 1))
    # A metric at the end of its range, such as an AUC of 1, in every replicate.
    assert find_bca_interval(same, [1.0], compute_acceleration(same)).low.tolist() == [1.0]
    # All on one side of the estimate: the bias is infinite.
    assert np.isnan(find_bca_interval(same, [2.0]).low).all()
    assert np.isnan(find_bca_interval(same, [NAN]).high).all()
    assert np.isnan(compute_bootstrap_p_value(same)).all()
    assert compute_acceleration(same).tolist() == [0.0]
    assert np.isnan(compute_acceleration([[NAN], [NAN]])).all()
    for shape in ((0, 3), (0,), (5, 0)):
        nothing = np.empty(shape)
        for found in (find_percentile_interval(nothing), find_bca_interval(nothing, 0.0)):
            assert np.isnan(found.low).all()
            assert found.low.shape == shape[1:]
        assert np.isnan(compute_bootstrap_p_value(nothing)).all()
    assert find_percentile_interval([[0.5]]).high.tolist() == [0.5]
    with pytest.raises(RequestError, match="replicates: an array with the replicates along axis 0"):
        find_percentile_interval(0.5)


def test_the_p_value_has_a_floor() -> None:
    positive = np.linspace(0.1, 1, 999)[:, np.newaxis]
    p_values = [compute_bootstrap_p_value(positive, alternative=s)[0] for s in SIDES]
    assert p_values == [2 / 1000, 1 / 1000, 1.0]


def test_the_p_value_agrees_with_the_normal_one() -> None:
    replicates = stats.norm.ppf((np.arange(9999) + 0.5) / 9999)[:, np.newaxis] * 0.1 + 0.2
    for side in SIDES:
        expected = {"two-sided": 2 * stats.norm.sf(2), "greater": stats.norm.sf(2)}
        p_value = compute_bootstrap_p_value(replicates, alternative=side)[0]
        assert p_value == pytest.approx(expected.get(side, stats.norm.cdf(2)), rel=0.02)


@pytest.mark.medium
@patient
@given(
    st.lists(st.one_of(st.floats(-1, 1), st.just(NAN)), min_size=2, max_size=50),
    st.floats(-1, 1),
    st.floats(-0.1, 0.1),
    st.sampled_from(SIDES),
)
def test_invariants(values: list[float], center: float, acceleration: float, side: str) -> None:
    replicates = np.array(values)[:, np.newaxis]
    bca = find_bca_interval(replicates, [center], acceleration, alternative=side)
    percentile = find_percentile_interval(replicates, alternative=side)
    for found in (bca, percentile):
        if np.isnan(found.low[0]):
            assert np.isnan(found.high[0])
            continue
        assert found.low[0] <= found.high[0]
        assert found.low[0] >= np.nanmin(replicates) or side == "less"
        assert found.high[0] <= np.nanmax(replicates) or side == "greater"
    p_value = compute_bootstrap_p_value(replicates, alternative=side)[0]
    if not np.isnan(p_value):
        assert 1 / (len(values) + 1) <= p_value <= 1
        mirrored = {"greater": "less", "less": "greater"}.get(side, side)
        assert compute_bootstrap_p_value(-replicates, alternative=mirrored)[0] == p_value
