"""Wilcoxon's signed rank test from rank sums, against SciPy's on rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sqleval.inference.wilcoxon import apply_wilcoxon_test

from . import patient

SIDES = ["two-sided", "greater", "less"]


def sum_ranks(differences: np.ndarray) -> tuple[float, int, float]:
    """Return W+, the number of differences that are not 0, and the ties."""
    rest = differences[differences != 0]
    ranks = stats.rankdata(np.abs(rest))
    _, ties = np.unique(np.abs(rest), return_counts=True)
    return ranks[rest > 0].sum(), len(rest), float((ties.astype(float) ** 3 - ties).sum())


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("correction", [False, True])
@pytest.mark.parametrize("digits", [15, 1, 0])
def test_it_is_that_of_scipy(side: str, correction: bool, digits: int) -> None:
    rng = np.random.default_rng(digits)
    for n in (6, 20, 1000):
        differences = np.round(rng.normal(0.3, 2, n), digits)
        outcome = apply_wilcoxon_test(
            *sum_ranks(differences), alternative=side, correction=correction
        )
        expected = stats.wilcoxon(
            differences, correction=correction, alternative=side, method="asymptotic"
        )
        assert outcome.p_value == pytest.approx(expected.pvalue, rel=1e-12)
        # SciPy's two-sided statistic is that of the smaller sum of ranks, never positive.
        sign = -np.sign(outcome.statistic) if side == "two-sided" else 1
        assert outcome.statistic * sign == pytest.approx(expected.zstatistic, rel=1e-10)


def test_printed_example() -> None:
    # Demsar (2006), section 3.1.3: C4.5 with and without tuning on 14 data sets. The sums of ranks
    # are 93 and 12; at 5 % sums of at most 21 reject.
    outcome = apply_wilcoxon_test([93, 105 - 21, 105 - 22], 14)
    assert (outcome.p_value < 0.05).tolist() == [True, True, False]
    # Equal sums leave nothing to correct.
    equal = apply_wilcoxon_test([52.5], 14, correction=True)
    assert (equal.statistic[0], equal.p_value[0]) == (0, 1)


def test_undefined_slices() -> None:
    outcome = apply_wilcoxon_test([3.0, 0.0, None, 1.0], [2, 0, 3, 1])
    assert np.isnan(outcome.p_value).tolist() == [False, True, True, False]
    assert np.isnan(outcome.low).all()
    assert apply_wilcoxon_test([], []).p_value.shape == (0,)


@patient
@given(st.lists(st.integers(-20, 20), min_size=1, max_size=60))
def test_invariants(values: list[int]) -> None:
    differences = np.array(values, dtype=float)
    two, above, below = (
        apply_wilcoxon_test(*sum_ranks(differences), alternative=side) for side in SIDES
    )
    if not differences.any():
        assert np.isnan(two.p_value)
        return
    assert 0 <= two.p_value <= 1
    assert above.p_value + below.p_value == pytest.approx(1)
    mirror = apply_wilcoxon_test(*sum_ranks(-differences))
    assert mirror.p_value == pytest.approx(two.p_value)
    assert mirror.statistic == pytest.approx(-two.statistic)
