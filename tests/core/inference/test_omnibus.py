"""Tests of several models at once, against statsmodels and the formula of the paper."""

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import cochrans_q

from sqleval.inference.omnibus import apply_cochran_test, apply_joint_test


@pytest.mark.parametrize("k", [2, 3, 5])
def test_cochran_is_that_of_statsmodels(k: int) -> None:
    rng = np.random.default_rng(k)
    right = (rng.random((60, k)) < np.linspace(0.5, 0.7, k)).astype(int)
    discordant = np.array([[(a != b).sum() for b in right.T] for a in right.T])
    outcome = apply_cochran_test(right.sum(axis=0), discordant)
    expected = cochrans_q(right)
    assert outcome.chi_square == pytest.approx(expected.statistic)
    assert outcome.p_value == pytest.approx(expected.pvalue)
    assert outcome.df == k - 1
    assert np.isnan(apply_cochran_test([4] * k, np.zeros((k, k))).p_value)


def test_the_joint_test_is_that_of_all_contrasts() -> None:
    rng = np.random.default_rng(1)
    root = rng.normal(size=(4, 4))
    covariance = root @ root.T / 100
    areas = rng.uniform(0.6, 0.8, 4)
    spread = np.diag(covariance)[:, None] + np.diag(covariance) - 2 * covariance
    contrasts = np.eye(4)[:3] - np.eye(4)[3]
    away = contrasts @ areas
    chi_square = away @ np.linalg.solve(contrasts @ covariance @ contrasts.T, away)
    outcome = apply_joint_test(areas, spread)
    assert outcome.chi_square == pytest.approx(chi_square)
    assert (outcome.df, outcome.p_value) == (3, pytest.approx(stats.chi2.sf(chi_square, 3)))
    # The order of models does not matter, and a copy of one adds nothing.
    order = [2, 0, 3, 1, 1]
    copied = apply_joint_test(areas[order], spread[np.ix_(order, order)])
    assert (copied.chi_square, copied.df) == (pytest.approx(chi_square), 3)


def test_differences_that_do_not_vary_have_no_test() -> None:
    zeros = np.zeros((3, 3))
    for areas in ([0.7, 0.7, 0.7], [0.7, 0.7, 0.8]):
        assert np.isnan(apply_joint_test(areas, zeros).p_value)
    certain = [[0, 0, 0.1], [0, 0, 0.1], [0.1, 0.1, 0]]
    assert np.isnan(apply_joint_test([0.7, 0.8, 0.9], certain).p_value)
    assert np.isnan(apply_joint_test([0.7, np.nan], [[0, 0.1], [0.1, 0]]).p_value)
