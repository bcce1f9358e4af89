"""Bands of curves: pointwise percentiles, and simultaneous ones that cover whole curves."""

import numpy as np
import pytest
from scipy import stats

from sqleval.errors import RequestError
from sqleval.inference.bands import (
    compute_curve_p_value,
    find_pointwise_band,
    find_simultaneous_band,
)

NAN = float("nan")


def test_a_simultaneous_band_covers_the_whole_curve() -> None:
    """Curves of 20 correlated points, 200 replicates each; the pointwise band covers far fewer."""
    rng = np.random.default_rng(1)
    runs, replicates, points = 1000, 200, 20

    def draw(count: int) -> np.ndarray:
        steps = rng.normal(size=(count, runs, points))
        for i in range(1, points):
            steps[..., i] = 0.7 * steps[..., i - 1] + 0.714 * steps[..., i]
        return steps

    # The truth is 0, the estimate has the errors of the replicates around it.
    estimate = draw(1)[0]
    curves = estimate + draw(replicates)
    shares = []
    for band in (
        find_simultaneous_band(curves, estimate, ci=0.9),
        find_pointwise_band(curves, ci=0.9),
    ):
        shares.append(((band.low <= 0) & (band.high >= 0)).all(axis=-1).mean())
    assert shares[0] == pytest.approx(0.9, abs=0.025)
    assert shares[1] < 0.4


def test_the_pointwise_band_is_the_percentile_interval_of_scipy() -> None:
    rows = np.random.default_rng(11).exponential(size=40)
    for statistic in (np.mean, np.var):
        expected = stats.bootstrap(
            (rows,), statistic, method="percentile", n_resamples=999, rng=5, confidence_level=0.9
        )
        replicates = expected.bootstrap_distribution[:, np.newaxis]
        band = find_pointwise_band(np.vstack([replicates, [[NAN]]]), ci=0.9)
        assert (band.low[0], band.high[0]) == pytest.approx(expected.confidence_interval, rel=1e-9)


def test_one_point_is_a_normal_interval() -> None:
    rng = np.random.default_rng(2)
    curves = rng.normal(size=(100_000, 1))
    band = find_simultaneous_band(curves, [0.0])
    assert band.critical == pytest.approx(1.96, abs=0.02)
    assert band.high[0] == pytest.approx(1.96, abs=0.02)


def test_the_band_contains_the_pointwise_one_of_normal_replicates() -> None:
    rng = np.random.default_rng(3)
    curves = rng.normal(0.5, 0.1, size=(2000, 3, 20))
    wide = find_simultaneous_band(curves, np.full((3, 20), 0.5), limits=(0, 1))
    narrow = find_pointwise_band(curves, limits=(0, 1))
    assert wide.critical.shape == (3,)
    assert (wide.low < narrow.low).all()
    assert (wide.high > narrow.high).all()
    assert np.isnan(narrow.critical).all()
    assert (wide.low >= 0).all()
    assert (wide.high <= 1).all()


def test_a_replicate_as_far_as_the_estimate_counts() -> None:
    # Two of three are exactly one standard error from the estimate, which is as far from 0.
    assert compute_curve_p_value([[0.0], [0.25], [0.5]], [0.25]) == 3 / 4


def test_fixed_and_undefined_points() -> None:
    rng = np.random.default_rng(4)
    curves = np.column_stack([np.full(300, 0.1), rng.random((300, 2)), np.full(300, NAN)])
    curves[:100, 2] = NAN
    estimate = [0.1, 0.5, 0.5, NAN]
    band = find_simultaneous_band(curves, estimate)
    assert (band.low[0], band.high[0]) == (0.1, 0.1)
    assert np.isnan(band.low).tolist() == [False, False, False, True]
    assert np.isfinite(band.critical)
    assert np.isnan(find_pointwise_band(curves).low).tolist() == [False, False, False, True]
    # Half of the replicates are nearer than one standard error, whatever does not vary.
    band = find_simultaneous_band(curves[:, :2], estimate[:2], ci=0.5)
    assert band.critical == pytest.approx(0.87, abs=0.1)
    constant = find_simultaneous_band(np.full((10, 2), 0.3), [0.3, 0.3])
    assert constant.low.tolist() == constant.high.tolist() == [0.3, 0.3]
    for empty in (np.empty((0, 3)), np.empty((4, 0))):
        estimate = np.zeros(empty.shape[1:])
        assert np.isnan(find_simultaneous_band(empty, estimate).low).all()
        assert np.isnan(find_pointwise_band(empty).low).all()
    with pytest.raises(RequestError, match="points along the last axis"):
        find_pointwise_band([1.0, 2.0])
