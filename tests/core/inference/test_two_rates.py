"""Two rates of different rows: Newcombe's table, SciPy, and rates of maximum likelihood."""

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize_scalar

from sqleval import RequestError
from sqleval.inference.two_rates import (
    apply_two_rates_equivalence_test,
    apply_two_rates_noninferiority_test,
    apply_two_rates_test,
)


@pytest.mark.parametrize(("counts", "low", "high"), [
    ((56, 70, 48, 80), 0.0524, 0.3339), ((9, 10, 3, 10), 0.1705, 0.8090),
    ((6, 7, 2, 7), 0.0582, 0.8062), ((5, 56, 0, 29), -0.0381, 0.1926),
    ((0, 10, 0, 20), -0.1611, 0.2775), ((0, 10, 0, 10), -0.2775, 0.2775),
    ((10, 10, 0, 20), 0.6791, 1.0), ((10, 10, 0, 10), 0.6075, 1.0),
])  # fmt: skip
def test_the_interval_is_that_of_the_table_of_newcombe(
    counts: tuple[int, ...], low: float, high: float
) -> None:
    """Newcombe (1998), table II, method 10."""
    outcome = apply_two_rates_test(*counts)
    assert outcome.low.round(4).tolist() == low
    assert outcome.high.round(4).tolist() == high
    # One side of twice the tail has the same end, and the mirror image the same interval.
    one = apply_two_rates_test(*counts, alternative="greater", ci=0.975)
    assert (float(one.low), float(one.high)) == (pytest.approx(float(outcome.low)), np.inf)
    other = apply_two_rates_test(*counts[2:], *counts[:2], alternative="less", ci=0.975)
    assert float(other.high) == pytest.approx(-float(one.low))


def test_the_score_is_that_of_chi_square_with_the_pooled_rate() -> None:
    for own, n, base, base_n in ((56, 70, 48, 80), (3, 9, 7, 8), (10, 10, 0, 20)):
        outcome = apply_two_rates_test(own, n, base, base_n)
        table = [[own, n - own], [base, base_n - base]]
        expected = stats.chi2_contingency(table, correction=False)
        assert float(outcome.statistic) ** 2 == pytest.approx(expected.statistic)
        assert float(outcome.p_value) == pytest.approx(expected.pvalue)
    equal = apply_two_rates_test([10, 0, 0], [10, 5, 0], [20, 0, 5], [20, 7, 9])
    assert equal.p_value[:2].tolist() == [1, 1]
    assert np.isnan([each[2] for each in equal]).all()


def maximize_score(own: int, n: int, base: int, base_n: int, difference: float) -> float:
    """Return the score with the rates of maximum likelihood, found by search."""

    def lose(rate: float) -> float:
        logs = [np.log(max(p, 1e-300)) for p in
            (rate, 1 - rate, rate - difference, 1 - rate + difference)]  # fmt: skip
        return -np.dot([own, n - own, base, base_n - base], logs)

    bounds = (max(difference, 0), min(1 + difference, 1))
    options = {"xatol": 1e-12}
    rate = minimize_scalar(lose, bounds=bounds, method="bounded", options=options).x
    second = rate - difference
    variance = rate * (1 - rate) / n + second * (1 - second) / base_n
    return (own / n - base / base_n - difference) / np.sqrt(variance)


def test_the_score_of_a_margin_has_the_likeliest_rates() -> None:
    rng = np.random.default_rng(5)
    for _ in range(60):
        n, base_n = rng.integers(5, 80, 2)
        own, base = rng.integers(0, n + 1), rng.integers(0, base_n + 1)
        margin = rng.choice([0.02, 0.1, 0.3])
        outcome = apply_two_rates_noninferiority_test(own, n, base, base_n, margin)
        score = maximize_score(own, n, base, base_n, -margin)
        assert float(outcome.statistic) == pytest.approx(score, rel=1e-5, abs=1e-6)
        assert float(outcome.p_value) == pytest.approx(stats.norm.sf(score), abs=1e-6)
        both = apply_two_rates_equivalence_test(own, n, base, base_n, margin)
        other = maximize_score(base, base_n, own, n, -margin)
        assert float(both.p_value) == pytest.approx(stats.norm.sf(min(score, other)), abs=1e-6)
    none = apply_two_rates_noninferiority_test(56, 70, 48, 80, 0)
    assert none.statistic == apply_two_rates_test(56, 70, 48, 80).statistic
    with pytest.raises(RequestError, match="margin=-1"):
        apply_two_rates_noninferiority_test(1, 2, 1, 2, -1)
