"""Friedman's and Nemenyi's tests against SciPy, and the example that Demsar (2006) prints."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from sqleval.errors import RequestError
from sqleval.inference.ranks import (
    apply_baseline_rank_test,
    apply_friedman_test,
    apply_nemenyi_test,
    find_range_quantile,
    rank_models,
)

from . import patient

NAN = float("nan")
#: Demsar (2006), table 6: AUC on 14 data sets of C4.5, C4.5+m, C4.5+cf and C4.5+m+cf.
#: The two values of 0.975 have the ranks 2 and 3 there, from further digits.
C45 = np.array(
    [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.9751, 0.975],
        [0.957, 0.978, 0.946, 0.970],
    ]
)
DEMSAR = rank_models(C45)


def test_the_example_of_demsar() -> None:
    assert DEMSAR.average.tolist() == pytest.approx([3.143, 2.000, 2.893, 1.964], abs=5e-4)
    # His formulas are without correction for ties.
    friedman = apply_friedman_test(DEMSAR._replace(ties=np.zeros(())))
    assert friedman.chi_square == pytest.approx(9.28, abs=0.005)
    nemenyi = apply_nemenyi_test(DEMSAR)
    assert nemenyi.critical_difference == pytest.approx(1.25, abs=0.005)
    assert apply_nemenyi_test(DEMSAR, ci=0.9).critical_difference == pytest.approx(1.12, abs=5e-3)
    # At 10 % C4.5 is worse than C4.5+m and C4.5+m+cf, and that is all the data allow to say.
    rejected = np.argwhere(np.triu(nemenyi.p_value < 0.1, k=1)).tolist()
    assert rejected == [[0, 1], [0, 3]]
    baseline = apply_baseline_rank_test(DEMSAR, 0)
    assert baseline.p_value[1:].tolist() == pytest.approx([0.019, 0.607, 0.016], abs=1.5e-3)
    assert baseline.statistic[1:].tolist() == pytest.approx([2.342, 0.512, 2.416], abs=2e-3)


def test_quantiles_of_the_range_are_the_printed_ones() -> None:
    # Demsar (2006), table 5a, for 2 to 10 classifiers.
    at_5 = [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164]
    at_10 = [1.645, 2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920]
    for ci, printed in ((0.95, at_5), (0.9, at_10)):
        found = [find_range_quantile(k, ci) / 2**0.5 for k in range(2, 11)]
        assert found == pytest.approx(printed, abs=1.1e-3)


@pytest.mark.parametrize("digits", [15, 1])
def test_it_is_that_of_scipy(digits: int) -> None:
    rng = np.random.default_rng(digits)
    for shape in ((10, 3), (30, 5), (4, 8)):
        values = np.round(rng.random(shape), digits)
        expected = stats.friedmanchisquare(*values.T)
        for array, higher in ((values, True), (-values, False)):
            friedman = apply_friedman_test(rank_models(array, higher_is_better=higher))
            assert friedman.chi_square == pytest.approx(expected.statistic, rel=1e-10)
            assert friedman.p_value == pytest.approx(expected.pvalue, rel=1e-9)


def test_slices_are_apart_and_incomplete_blocks_left_out() -> None:
    values = np.random.default_rng(4).random((12, 3, 4))
    values[:4, 1, 2] = NAN
    values[:, 2, 0] = NAN
    ranks = rank_models(values)
    assert ranks.n.tolist() == [12, 8, 0]
    friedman, nemenyi = apply_friedman_test(ranks), apply_nemenyi_test(ranks)
    rest = rank_models(values[4:, 1])
    assert friedman.chi_square[1] == apply_friedman_test(rest).chi_square
    np.testing.assert_array_equal(nemenyi.p_value[1], apply_nemenyi_test(rest).p_value)
    assert np.isnan(friedman.p_value).tolist() == [False, False, True]
    assert np.isnan(nemenyi.critical_difference).tolist() == [False, False, True]
    assert np.isnan(apply_baseline_rank_test(ranks, 1).p_value[2]).all()


def test_degenerate_blocks() -> None:
    tied = rank_models(np.ones((5, 3)))
    assert np.isnan(apply_friedman_test(tied).p_value)
    assert (apply_nemenyi_test(tied).p_value == 1).all()
    # The same order in every block: the largest chi-square.
    same = apply_friedman_test(rank_models(np.tile([0.3, 0.2, 0.1], (6, 1))))
    assert same.chi_square == pytest.approx(12)
    for shape in ((0, 3), (5, 0, 3), (3, 1)):
        ranks = rank_models(np.empty(shape) * 0)
        assert np.isnan(apply_friedman_test(ranks).p_value).all()
        assert np.isnan(apply_nemenyi_test(ranks).critical_difference).all()
    with pytest.raises(RequestError, match="blocks along axis 0"):
        rank_models([0.1, 0.2])


@patient
@given(
    hnp.arrays(float, st.tuples(st.integers(1, 12), st.integers(2, 6)), elements=st.floats(0, 1))
)
def test_invariants(values: np.ndarray) -> None:
    ranks = rank_models(values)
    k = values.shape[1]
    assert ranks.average.sum() == pytest.approx(k * (k + 1) / 2)
    friedman, nemenyi = apply_friedman_test(ranks), apply_nemenyi_test(ranks)
    for p_value in (*friedman, *nemenyi.p_value.ravel()):
        assert np.isnan(p_value) or p_value >= 0
    assert (nemenyi.p_value <= 1).all()
    np.testing.assert_array_equal(nemenyi.p_value, nemenyi.p_value.T)
    away = np.abs(ranks.average[:, np.newaxis] - ranks.average)
    far = np.abs(away - nemenyi.critical_difference) > 1e-6
    differs = away > nemenyi.critical_difference
    np.testing.assert_array_equal((nemenyi.p_value < 0.05)[far], differs[far])
    # The other direction reverses the ranks and changes nothing else.
    reverse = rank_models(values, higher_is_better=False)
    np.testing.assert_allclose(ranks.average + reverse.average, k + 1)
    assert apply_friedman_test(reverse).chi_square == pytest.approx(
        friedman.chi_square, nan_ok=True
    )
    # All pairs at once are judged more cautiously than one of them.
    baseline = apply_baseline_rank_test(ranks, 0).p_value[1:]
    assert (nemenyi.p_value[0, 1:] >= baseline - 1e-9).all()
