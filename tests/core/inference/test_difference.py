"""Tests of a difference from its standard error, against SciPy and statsmodels."""

import sys
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.weightstats import DescrStatsW, ttost_paired, zconfint, ztest

from sqleval.errors import MissingExtra, RequestError
from sqleval.inference import libraries
from sqleval.inference.difference import (
    apply_equivalence_test,
    apply_noninferiority_test,
    apply_t_test,
    apply_z_test,
)
from sqleval.inference.outcome import Outcome

from . import patient

SIDES = ["two-sided", "greater", "less"]
#: The same alternative in the words of statsmodels.
STATSMODELS = {"two-sided": "two-sided", "greater": "larger", "less": "smaller"}
INF, NAN = float("inf"), float("nan")
RNG = np.random.default_rng(20130701)
ROWS = RNG.normal(0.02, 0.1, size=(200, 5))
MEAN, ERROR = ROWS.mean(axis=0), ROWS.std(axis=0, ddof=1) / np.sqrt(200)

differences = st.floats(-1, 1)
errors = st.floats(1e-6, 1)


@pytest.mark.parametrize("side", SIDES)
def test_z_is_that_of_statsmodels(side: str) -> None:
    outcome = apply_z_test(MEAN, ERROR, alternative=side, ci=0.9)
    for i in range(5):
        statistic, p_value = ztest(ROWS[:, i], alternative=STATSMODELS[side])
        assert outcome.statistic[i] == pytest.approx(statistic, rel=1e-12)
        assert outcome.p_value[i] == pytest.approx(p_value, rel=1e-12)
        low, high = zconfint(ROWS[:, i], alpha=0.1, alternative=STATSMODELS[side])
        assert outcome.low[i] == pytest.approx(low, rel=1e-12)
        assert outcome.high[i] == pytest.approx(high, rel=1e-12)


@pytest.mark.parametrize("side", SIDES)
def test_t_is_that_of_scipy(side: str) -> None:
    outcome = apply_t_test(MEAN, ERROR, 199, alternative=side, ci=0.9)
    expected = stats.ttest_1samp(ROWS, 0, alternative=side)
    ends = expected.confidence_interval(0.9)
    np.testing.assert_allclose(outcome.statistic, expected.statistic, rtol=1e-12)
    np.testing.assert_allclose(outcome.p_value, expected.pvalue, rtol=1e-12)
    np.testing.assert_allclose(outcome.low, ends.low, rtol=1e-11)
    np.testing.assert_allclose(outcome.high, ends.high, rtol=1e-11)


def test_equivalence_is_that_of_statsmodels() -> None:
    for i in range(5):
        outcome = apply_equivalence_test(MEAN, ERROR, 0.03, df=199)
        p_value, *_ = ttost_paired(ROWS[:, i], np.zeros(200), -0.03, 0.03)
        assert outcome.p_value[i] == pytest.approx(p_value, rel=1e-9)
        low, high = DescrStatsW(ROWS[:, i]).tconfint_mean(alpha=0.1)
        assert (outcome.low[i], outcome.high[i]) == pytest.approx((low, high), rel=1e-9)
        outcome = apply_noninferiority_test(MEAN, ERROR, 0.03, df=199)
        expected = stats.ttest_1samp(ROWS[:, i], -0.03, alternative="greater")
        assert outcome.p_value[i] == pytest.approx(expected.pvalue, rel=1e-9)


def test_infinite_degrees_of_freedom_are_the_normal_distribution() -> None:
    for side in SIDES:
        normal = apply_z_test(MEAN * 3, ERROR, alternative=side)
        student = apply_t_test(MEAN * 3, ERROR, INF, alternative=side)
        for one, other in zip(normal, student, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9)


@pytest.mark.parametrize("margin", [0.0, 0.01, 0.05])
def test_intervals_agree_with_the_tests_against_a_margin(margin: float) -> None:
    difference = np.linspace(-0.1, 0.1, 401)
    outcome = apply_noninferiority_test(difference, 0.02, margin)
    np.testing.assert_array_equal(outcome.p_value < 0.05, outcome.low > -margin)
    outcome = apply_equivalence_test(difference, 0.005, margin)
    within = (outcome.low > -margin) & (outcome.high < margin)
    np.testing.assert_array_equal(outcome.p_value < 0.05, within)
    assert within.any() == (margin > 0.0085)


def test_an_undefined_slice_is_nan_beside_the_others() -> None:
    difference = pl.Series([0.1, 0.1, 0.0, None, NAN, 0.1, 0.1])
    stderr = pl.Series([0.05, 0.0, 0.0, 0.1, 0.1, None, INF])
    for side in SIDES:
        outcomes = [
            apply_z_test(difference, stderr, alternative=side),
            apply_t_test(difference, stderr, 9, alternative=side),
        ]
        for outcome in outcomes:
            for values in outcome:
                assert np.isnan(values).tolist() == [False] + [True] * 6
    for test in (apply_noninferiority_test, apply_equivalence_test):
        for values in test(difference, stderr, 0.01):
            assert np.isnan(values).tolist() == [False] + [True] * 6
    freedom = pl.Series([9, 0, -1, None])
    assert np.isnan(apply_t_test(0.1, 0.1, freedom)).tolist() == [[False] + [True] * 3] * 4


def test_no_slices_give_no_rows() -> None:
    for outcome in (apply_z_test([], []), apply_equivalence_test([], [], 0.1)):
        assert [len(values) for values in outcome] == [0, 0, 0, 0]
        assert pl.DataFrame(outcome.to_columns()).height == 0


def test_an_outcome_becomes_columns_of_a_frame() -> None:
    frame = pl.DataFrame({"difference": [0.1, 0.2], "stderr": [0.1, None]})
    outcome = apply_z_test(frame["difference"], frame["stderr"], alternative="less")
    frame = frame.with_columns(**outcome.to_columns())
    assert frame.columns == ["difference", "stderr", *Outcome._fields]
    assert frame.select(Outcome._fields).row(1) == (None,) * 4
    assert frame["low"][0] == -INF


@patient
@given(differences, errors, st.sampled_from([0.8, 0.95, 0.999]))
def test_invariants_of_z(difference: float, stderr: float, ci: float) -> None:
    two, above, below = (
        apply_z_test([difference], [stderr], alternative=side, ci=ci) for side in SIDES
    )
    for outcome in (two, above, below):
        assert 0 <= outcome.p_value[0] <= 1
        assert outcome.low[0] <= difference <= outcome.high[0]
    assert above.p_value[0] + below.p_value[0] == pytest.approx(1)
    assert two.p_value[0] == pytest.approx(2 * min(above.p_value[0], below.p_value[0]), rel=1e-12)
    # Exchanging model and baseline exchanges the sides.
    mirror = apply_z_test([-difference], [stderr], alternative="less", ci=ci)
    assert (mirror.p_value[0], -mirror.high[0]) == (above.p_value[0], above.low[0])
    # The interval leaves 0 out where the test rejects at its level.
    if abs(two.p_value[0] - (1 - ci)) > 1e-9:
        excluded = two.low[0] > 0 or two.high[0] < 0
        assert excluded == (two.p_value[0] < 1 - ci)


@patient
@given(differences, errors, st.integers(1, 1000))
def test_t_has_heavier_tails_than_z(difference: float, stderr: float, df: int) -> None:
    normal, student = apply_z_test(difference, stderr), apply_t_test(difference, stderr, df)
    # SciPy's t distribution is less exact next to 0.
    assert student.p_value >= normal.p_value * (1 - 1e-8)
    assert student.high >= normal.high


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alternative": "greatr"}, r"alternative='greatr'; did you mean 'greater'\?; one of: two"),
        ({"ci": 95}, "ci=95 must be between 0 and 1"),
        ({"ci": NAN}, "ci=nan"),
    ],
)
def test_a_wrong_option_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(RequestError, match=message):
        apply_z_test([0.1], [0.1], **options)
    with pytest.raises(RequestError, match=message):
        apply_t_test([0.1], [0.1], 5, **options)


@pytest.mark.parametrize("margin", [-0.1, NAN, INF])
def test_a_wrong_margin_is_refused(margin: float) -> None:
    with pytest.raises(RequestError, match=r"margin=.*at least 0"):
        apply_noninferiority_test([0.1], [0.1], margin)


def test_the_extra_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    for library, name, module, package in (
        (libraries.special, "special", "scipy.special", "scipy"),
        (libraries.np, "numpy", "numpy", "numpy"),
    ):
        # Without the attributes that earlier tests have asked for.
        monkeypatch.setattr(library, "__dict__", {"name": name})
        monkeypatch.setitem(sys.modules, module, None)
        message = rf"statistical tests: cannot import '{package}'; run pip install 'scipy>="
        with pytest.raises(MissingExtra, match=message):
            apply_z_test([0.1], [0.1])
