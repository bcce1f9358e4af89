"""Differences of estimates from different rows, against statsmodels and printed examples."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import confint_proportions_2indep, proportions_ztest

from sqleval.inference.unpaired import (
    apply_two_proportions_test,
    apply_unpaired_test,
    find_unpaired_rate_interval,
    subtract_estimates,
)

from . import patient

INF, NAN = float("inf"), float("nan")
SIDES = {"two-sided": "two-sided", "greater": "larger", "less": "smaller"}
COUNTS = [
    (56, 70, 48, 80),
    (9, 10, 3, 10),
    (6, 7, 2, 7),
    (5, 56, 0, 29),
    (0, 10, 0, 20),
    (10, 10, 0, 20),
]


@pytest.mark.parametrize("counts", COUNTS)
@pytest.mark.parametrize("ci", [0.9, 0.95])
def test_two_proportions_are_those_of_statsmodels(counts: tuple[int, ...], ci: float) -> None:
    hits, n, other, m = counts
    low, high = confint_proportions_2indep(hits, n, other, m, method="newcomb", alpha=1 - ci)
    for side, theirs in SIDES.items():
        outcome = apply_two_proportions_test([hits], [n], [other], [m], alternative=side, ci=ci)
        if hits + other:
            z, p_value = proportions_ztest([hits, other], [n, m], alternative=theirs)
            assert outcome.statistic[0] == pytest.approx(z, rel=1e-12)
            assert outcome.p_value[0] == pytest.approx(p_value, rel=1e-10)
        else:
            assert np.isnan(outcome.p_value[0])
        if side == "two-sided":
            assert (outcome.low[0], outcome.high[0]) == pytest.approx((low, high), abs=1e-9)
        assert (outcome.low[0] == -INF) == (side == "less")
        assert (outcome.high[0] == INF) == (side == "greater")


def test_printed_intervals() -> None:
    # Newcombe (1998), table II, method 10, examples (a) to (h).
    printed = {
        (56, 70, 48, 80): (0.0524, 0.3339),
        (9, 10, 3, 10): (0.1705, 0.8090),
        (6, 7, 2, 7): (0.0582, 0.8062),
        (5, 56, 0, 29): (-0.0381, 0.1926),
        (0, 10, 0, 20): (-0.1611, 0.2775),
        (0, 10, 0, 10): (-0.2775, 0.2775),
        (10, 10, 0, 20): (0.6791, 1.0000),
        (10, 10, 0, 10): (0.6075, 1.0000),
    }
    low, high = find_unpaired_rate_interval(*np.array(list(printed), dtype=float).T)
    assert low.tolist() == pytest.approx([ends[0] for ends in printed.values()], abs=5.1e-5)
    assert high.tolist() == pytest.approx([ends[1] for ends in printed.values()], abs=5.1e-5)


def test_standard_errors_add_as_squares() -> None:
    difference, stderr = subtract_estimates([0.9, 0.9], [0.03, None], [0.8, 0.8], [0.04, 0.04])
    assert difference.tolist() == pytest.approx([0.1, 0.1])
    assert stderr.tolist() == pytest.approx([0.05, NAN], nan_ok=True)
    outcome = apply_unpaired_test([0.9, 0.9], [0.03, None], [0.8, 0.8], [0.04, 0.04])
    assert outcome.statistic.tolist() == pytest.approx([2, NAN], nan_ok=True)


def test_undefined_counts() -> None:
    outcome = apply_two_proportions_test([1, 1, 0, 5, None], [0, 3, 2, 4, 2], 1, [4, 0, 4, 4, 4])
    for values in (outcome.low, outcome.high):
        assert np.isnan(values).tolist() == [True, True, False, True, True]
    assert apply_two_proportions_test([], [], [], []).p_value.shape == (0,)


@pytest.mark.medium
@patient
@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50), st.integers(0, 50))
def test_invariants(hits: int, misses: int, other: int, others: int) -> None:
    n, m = hits + misses, other + others
    two, above, below = (
        apply_two_proportions_test([hits], [n], [other], [m], alternative=side) for side in SIDES
    )
    if not n or not m:
        assert np.isnan(two.p_value[0])
        return
    assert -1 <= two.low[0] <= hits / n - other / m <= two.high[0] <= 1
    mirror = apply_two_proportions_test([other], [m], [hits], [n])
    assert (mirror.low[0], mirror.high[0]) == pytest.approx((-two.high[0], -two.low[0]))
    if 0 < hits + other < n + m:
        assert 0 <= two.p_value[0] <= 1
        assert above.p_value[0] + below.p_value[0] == pytest.approx(1)
        assert mirror.p_value[0] == pytest.approx(two.p_value[0])
