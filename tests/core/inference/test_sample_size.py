"""Sample sizes against statsmodels and printed tables; what some rows can show is their inverse."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.power import NormalIndPower
from statsmodels.stats.proportion import samplesize_proportions_2indep_onetail

from sqleval.errors import RequestError
from sqleval.inference.auc_sample_size import (
    compute_auc_variance,
    find_rows_for_auc,
)
from sqleval.inference.sample_size import (
    find_detectable_difference,
    find_rows,
    find_rows_for_rates,
)

from . import patient

INF, NAN = float("inf"), float("nan")
SIDES = {"two-sided": "two-sided", "greater": "larger"}
MODELS = ["exponential", "binormal", "rating"]


# -- against statsmodels -----------------------------------------------------------------------


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("power", [0.8, 0.95])
def test_rows_from_a_standard_error_are_those_of_statsmodels(side: str, power: float) -> None:
    for difference in (0.01, 0.1):
        (rows,) = find_rows([difference], 0.05, 400, power=power, alternative=side)
        effect = difference / (0.05 * 20)
        expected = NormalIndPower().solve_power(
            effect, alpha=0.05, power=power, ratio=0, alternative=SIDES[side]
        )
        # The tail on the wrong side counts as power there.
        assert rows == pytest.approx(np.ceil(expected), rel=1e-5)


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("rates", [(0.82, 0.80), (0.1, 0.05), (0.3, 0.6), (1.0, 0.9)])
@pytest.mark.parametrize("ratio", [1, 3])
def test_rows_for_two_rates_are_those_of_statsmodels(
    side: str, rates: tuple[float, float], ratio: float
) -> None:
    rate, base = rates
    (rows,) = find_rows_for_rates([rate], [base], ratio=ratio, power=0.9, alternative=side)
    expected = samplesize_proportions_2indep_onetail(
        rate - base, base, 0.9, ratio=ratio, alpha=0.05,
        alternative="two-sided" if side == "two-sided" else "larger",
    )  # fmt: skip
    assert rows == np.ceil(expected)


# -- printed examples --------------------------------------------------------------------------


def test_the_table_of_hanley_and_mcneil() -> None:
    # (1982), table III: normal and abnormal cases each, one-sided test of 5 %, from an AUC of
    # 0.70; power 80, 90 and 95 %. Their normal quantiles have two decimals.
    printed = {0.75: (652, 897, 1131), 0.775: (286, 392, 493), 0.8: (158, 216, 271)}
    for auc, cases in printed.items():
        for power, number in zip((0.8, 0.9, 0.95), cases, strict=True):
            rows = find_rows_for_auc(auc, 0.7, 0.5, power=power, alternative="greater")
            assert float(rows) / 2 == pytest.approx(number, abs=2)


def test_the_standard_error_of_hanley_and_mcneil() -> None:
    # (1982), table II: 58 normal and 51 abnormal cases, AUC 0.893, standard error 0.0320.
    variance = compute_auc_variance(0.893, 51 / 109)
    assert np.sqrt(variance / 109) == pytest.approx(0.032, abs=5e-4)


def test_the_example_of_proc() -> None:
    # pROC's power.roc.test(ncases=41, ncontrols=72, auc=0.73): power 0.9897 by Obuchowski's
    # variance, that of an AUC of 0.5 being 0.0792 (1 + 1 / kappa).
    variance = compute_auc_variance(0.73, 41 / 113, model="rating") / 113
    null = compute_auc_variance(0.5, 41 / 113, model="rating") / 113
    assert null == pytest.approx(0.0792 * (1 + 41 / 72) / 41, rel=1e-3)
    power = stats.norm.cdf((0.23 - stats.norm.ppf(0.975) * np.sqrt(null)) / np.sqrt(variance))
    assert power == pytest.approx(0.9897453, abs=1e-4)


# -- against simulation ------------------------------------------------------------------------


@pytest.mark.parametrize(("auc", "prevalence"), [(0.7, 0.5), (0.8, 0.1), (0.95, 0.3)])
def test_the_binormal_variance_is_that_of_normal_scores(auc: float, prevalence: float) -> None:
    rng = np.random.default_rng(5)
    n, runs = 1000, 3000
    positives = round(n * prevalence)
    high = rng.normal(np.sqrt(2) * stats.norm.ppf(auc), 1, (runs, positives))
    low = np.sort(rng.normal(size=(runs, n - positives)), axis=1)
    aucs = [np.searchsorted(b, a).mean() / len(b) for a, b in zip(high, low, strict=True)]
    found = compute_auc_variance(auc, prevalence, model="binormal")
    assert np.var(aucs) * n == pytest.approx(found, rel=0.08)


def test_the_rows_give_the_power() -> None:
    rng = np.random.default_rng(6)
    n = int(find_rows([0.05], 0.1, 100)[0])
    rejected = np.abs(rng.normal(0.05, 1 / np.sqrt(n), 20_000)) * np.sqrt(n) > 1.96
    assert rejected.mean() == pytest.approx(0.8, abs=0.02)


# -- inverses, edges ---------------------------------------------------------------------------


#: One call takes about as long for ten as for one.
differences = st.lists(st.floats(0.001, 0.2), min_size=1, max_size=20)


@settings(patient, max_examples=25)
@given(differences, st.sampled_from([0.5, 0.8, 0.99]), st.sampled_from([*SIDES]))
def test_what_rows_show_is_the_inverse(differences: list[float], power: float, side: str) -> None:
    difference = np.array(differences)
    options: dict[str, Any] = {"power": power, "alternative": side}
    n = find_rows(difference, 0.03, 500, **options)
    shown = find_detectable_difference(0.03 * np.sqrt(500 / n), **options)
    assert (difference * 0.9 <= shown).all()
    assert (shown <= difference * (1 + 1e-9)).all()


def test_without_an_error_or_rows_the_sample_size_is_undefined() -> None:
    rows = find_rows([0.01, 0.01, 0.0], [0.0, 0.1, 0.1], [100, 0, 10])
    np.testing.assert_array_equal(rows, [NAN, NAN, INF])


def test_more_is_needed_for_less() -> None:
    differences = np.linspace(0.2, 0.001, 50)
    for rows in (
        find_rows(differences, 0.1, 100),
        find_rows_for_rates(0.5 + differences, 0.5),
        *(find_rows_for_auc(0.7 + differences, 0.7, 0.1, model=model) for model in MODELS),
    ):
        assert (np.diff(rows) >= 0).all()
        assert (rows == np.floor(rows)).all()
    paired = find_rows_for_auc(0.82, 0.8, 0.1, correlation=[0, 0.5, 0.9])
    assert (np.diff(paired) < 0).all()


def test_undefined_and_impossible() -> None:
    assert find_rows([0.0, 0.1, 0.1, None], [0.1, 0.0, NAN, 0.1], 100).tolist() == pytest.approx(
        [INF, NAN, NAN, NAN], nan_ok=True
    )
    assert np.isnan(find_detectable_difference([0.0, None])).all()
    assert find_rows_for_rates([0.5, 1.1, None], 0.5).tolist() == pytest.approx(
        [INF, NAN, NAN], nan_ok=True
    )
    for model in MODELS:
        rows = find_rows_for_auc(
            [0.8, 0.4, 0.9, 0.9, 1.0], 0.8, [0.1, 0.1, 0.0, 1.0, 0.1], model=model
        )
        assert rows[0] == INF
        assert np.isnan(rows).tolist() == [False, True, True, True, False]
        assert compute_auc_variance(1.0, 0.5, model=model) == pytest.approx(0, abs=1e-9)
    assert find_rows([], [], []).shape == (0,)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 5}, "alpha=5 must be between 0 and 1"),
        ({"power": 1}, "power=1 must be between 0 and 1"),
        ({"alternative": "both"}, "alternative='both'; one of: two-sided"),
        ({"model": "binormel"}, r"model='binormel'; did you mean 'binormal'\?; one of: exp"),
    ],
)
def test_a_wrong_option_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(RequestError, match=message):
        find_rows_for_auc(0.8, 0.7, 0.1, **options)
