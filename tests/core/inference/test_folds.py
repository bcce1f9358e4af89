"""The corrected resampled t-test against its formula by hand, and SciPy without the correction."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sqleval.errors import RequestError
from sqleval.inference.folds import apply_corrected_t_test, summarize_folds

from . import patient

NAN = float("nan")
SIDES = ["two-sided", "greater", "less"]


def test_the_formula_by_hand() -> None:
    # Ten folds of 100 rows each: 1 / 10 + 100 / 900 instead of 1 / 10.
    differences = [0.02, 0.01, 0.03, -0.01, 0.02, 0.00, 0.04, 0.01, 0.02, 0.01]
    mean = sum(differences) / 10
    variance = sum((x - mean) ** 2 for x in differences) / 9
    t = mean / math.sqrt((1 / 10 + 100 / 900) * variance)
    outcome = apply_corrected_t_test([[x] for x in differences], ratio=1 / 9)
    assert outcome.statistic[0] == pytest.approx(t, rel=1e-12)
    assert outcome.p_value[0] == pytest.approx(2 * stats.t.sf(t, 9), rel=1e-12)
    half = stats.t.ppf(0.975, 9) * math.sqrt((1 / 10 + 1 / 9) * variance)
    assert outcome.low[0] == pytest.approx(mean - half, rel=1e-9)


@pytest.mark.parametrize(("folds", "differences", "p_value"), [
    (2, [0.018, -0.001], 0.6964464883043635),
    (3, [0.005, -0.007, 0.076], 0.6081363665712927),
    (5, [0.002, 0.02, 0.005, 0.029, 0.006], 0.18592773999612544),
    (10, [-0.008, 0.004, 0.028, 0.022, 0.012, 0.023, -0.047, 0.03, -0.009, -0.023],
     0.7870914881178526),
])  # fmt: skip
def test_it_is_the_correlated_t_test_of_baycomp(
    folds: int, differences: list[float], p_value: float
) -> None:
    """Twice the smaller probability of `baycomp.two_on_single`, version 1.0.3."""
    outcome = apply_corrected_t_test([[each] for each in differences], 1 / (folds - 1))
    assert outcome.p_value[0] == pytest.approx(p_value, rel=1e-9)


@pytest.mark.parametrize("side", SIDES)
def test_without_training_rows_in_common_it_is_the_paired_t_test(side: str) -> None:
    values = np.random.default_rng(1).normal(0.1, 1, size=(12, 3, 2))
    outcome = apply_corrected_t_test(values, ratio=0, alternative=side)
    expected = stats.ttest_1samp(values, 0, alternative=side)
    np.testing.assert_allclose(outcome.statistic, expected.statistic, rtol=1e-12)
    np.testing.assert_allclose(outcome.p_value, expected.pvalue, rtol=1e-10)


def test_undefined_folds_and_slices() -> None:
    differences = np.array(
        [[0.1, 0.1, 0.1, NAN, NAN], [0.2, NAN, 0.1, NAN, 0.3], [0.4, 0.5, 0.1, NAN, NAN]]
    )
    outcome = apply_corrected_t_test(differences, 0.5)
    assert np.isnan(outcome.p_value).tolist() == [False, False, True, True, True]
    rest = apply_corrected_t_test(differences[[0, 2], 1:2], 0.5)
    assert outcome.p_value[1] == rest.p_value[0]
    assert summarize_folds(differences, 0.5).df.tolist() == [2, 1, 2, 0, 0]
    # The ratio may differ between slices, and be unknown.
    outcome = apply_corrected_t_test(differences[:, [0, 0, 0]], [0.5, NAN, -1])
    assert np.isnan(outcome.p_value).tolist() == [False, True, True]
    assert apply_corrected_t_test(np.empty((0, 2)), 0.5).p_value.shape == (2,)
    with pytest.raises(RequestError, match="folds along axis 0"):
        summarize_folds(0.1, 0.5)


@patient
@given(st.lists(st.floats(-1, 1), min_size=2, max_size=20), st.floats(0, 1), st.floats(0.01, 1))
def test_invariants(values: list[float], ratio: float, more: float) -> None:
    differences = np.array(values)[:, np.newaxis]
    p_value = apply_corrected_t_test(differences, ratio).p_value[0]
    if np.isnan(p_value):
        assert np.ptp(values) < 1e-12
        return
    assert 0 <= p_value <= 1
    assert apply_corrected_t_test(-differences, ratio).p_value[0] == pytest.approx(p_value)
    # A larger overlap makes the test more cautious.
    assert apply_corrected_t_test(differences, ratio + more).p_value[0] >= p_value * (1 - 1e-12)
