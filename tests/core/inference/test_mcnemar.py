"""McNemar's test against statsmodels, mlxtend and SciPy, and Tango's interval beside it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats
from statsmodels.stats.contingency_tables import mcnemar

from sqleval.inference.mcnemar import (
    apply_exact_mcnemar_test,
    apply_mcnemar_test,
    apply_paired_rate_equivalence_test,
    apply_paired_rate_noninferiority_test,
    find_paired_rate_interval,
)

from . import patient

INF, NAN = float("inf"), float("nan")
SIDES = ["two-sided", "greater", "less"]
PAIRS = [(25, 15), (121, 59), (1, 9), (0, 7), (86, 150), (3, 2), (100_123, 99_000)]
counts = st.integers(0, 500)


@pytest.mark.parametrize(("wins", "losses"), PAIRS)
@pytest.mark.parametrize("correction", [True, False])
def test_the_chi_square_is_that_of_statsmodels(wins: int, losses: int, correction: bool) -> None:
    outcome = apply_mcnemar_test([wins], [losses], correction=correction)
    expected = mcnemar([[0, wins], [losses, 0]], exact=False, correction=correction)
    assert outcome.statistic[0] == pytest.approx(expected.statistic, rel=1e-12)
    assert outcome.p_value[0] == pytest.approx(expected.pvalue, rel=1e-10)


@pytest.mark.parametrize(("wins", "losses"), [*PAIRS, (5, 5), (0, 0), (0, 1)])
def test_the_exact_test_is_that_of_statsmodels(wins: int, losses: int) -> None:
    outcome = apply_exact_mcnemar_test([wins], [losses])
    expected = mcnemar([[0, wins], [losses, 0]], exact=True)
    assert outcome.statistic[0] == expected.statistic
    assert outcome.p_value[0] == pytest.approx(expected.pvalue, rel=1e-9)
    if wins + losses:
        for side in ("greater", "less"):
            outcome = apply_exact_mcnemar_test([wins], [losses], alternative=side)
            p_value = stats.binomtest(wins, wins + losses, alternative=side).pvalue
            assert outcome.p_value[0] == pytest.approx(p_value, rel=1e-9)


def test_rows_give_the_table_of_mlxtend() -> None:
    from mlxtend.evaluate import mcnemar as mlxtend_mcnemar  # late: it imports Matplotlib
    from mlxtend.evaluate import mcnemar_table

    rng = np.random.default_rng(7)
    label = rng.integers(0, 2, 400)
    model, baseline = (np.where(rng.random(400) < p, label, 1 - label) for p in (0.9, 0.85))
    wins = ((model == label) & (baseline != label)).sum()
    losses = ((model != label) & (baseline == label)).sum()
    table = mcnemar_table(y_target=label, y_model1=model, y_model2=baseline)
    assert {wins, losses} == {table[0, 1], table[1, 0]}
    for exact, test in ((False, apply_mcnemar_test), (True, apply_exact_mcnemar_test)):
        _, p_value = mlxtend_mcnemar(table, exact=exact, corrected=True)
        assert test([wins], [losses]).p_value[0] == pytest.approx(p_value, rel=1e-10)


def test_printed_examples() -> None:
    # mlxtend's user guide, evaluate.mcnemar, example 1 and the exact test of example 3.
    assert apply_mcnemar_test(25, 15).statistic == pytest.approx(2.025)
    assert apply_mcnemar_test(25, 15).p_value == pytest.approx(0.1547, abs=5e-5)
    # Agresti (2013), Categorical Data Analysis, section 11.1: approval of the prime minister,
    # z = -4.17 (the second survey against the first), and z^2 = 17.36.
    outcome = apply_mcnemar_test(86, 150, 1600, correction=False)
    assert outcome.statistic == pytest.approx(17.36, abs=0.005)
    # Fagerland, Lydersen and Laake (2014), airway hyper-responsiveness before and after
    # transplantation: 1, 1, 7, 12.
    outcome = apply_mcnemar_test(1, 7, 21, correction=False)
    assert outcome.statistic == pytest.approx(4.50)
    assert outcome.p_value == pytest.approx(0.034, abs=5e-4)
    assert apply_exact_mcnemar_test(1, 7).p_value == pytest.approx(0.070, abs=5e-4)
    assert (outcome.low, outcome.high) == pytest.approx((-0.517, -0.026), abs=5e-4)


@pytest.mark.parametrize(
    ("wins", "losses", "n"), [(12, 2, 50), (1, 7, 21), (0, 5, 9), (40, 40, 90)]
)
@pytest.mark.parametrize("ci", [0.9, 0.99])
def test_the_interval_inverts_the_score_test(wins: int, losses: int, n: int, ci: float) -> None:
    """The restricted likelihood is maximised by search, and the score test solved by Brent."""
    quantile = stats.norm.ppf((1 + ci) / 2)

    def score(difference: float) -> float:
        # P(losses) = p, P(wins) = p + difference.
        def negative(p: float) -> float:
            terms = [
                (wins, p + difference),
                (losses, p),
                (n - wins - losses, 1 - difference - 2 * p),
            ]
            return -sum(count * np.log(max(share, 1e-300)) for count, share in terms if count)

        ends = max(0.0, -difference), (1 - difference) / 2
        p = optimize.minimize_scalar(negative, bounds=ends, options={"xatol": 1e-13}).x
        return (wins - losses - n * difference) / np.sqrt(n * (2 * p + difference - difference**2))

    middle = (wins - losses) / n
    low, high = find_paired_rate_interval([wins], [losses], [n], ci=ci)
    expected = optimize.brentq(lambda x: score(x) - quantile, -0.9999, middle - 1e-6)
    assert low[0] == pytest.approx(expected, abs=1e-6)
    expected = optimize.brentq(lambda x: score(x) + quantile, middle + 1e-6, 0.9999)
    assert high[0] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("wins", "losses", "n"), [(12, 2, 50), (1, 7, 21), (0, 5, 9), (40, 40, 90), (0, 0, 60)]
)
@pytest.mark.parametrize("margin", [0.02, 0.06, 0.3])
def test_margins_agree_with_the_interval(wins: int, losses: int, n: int, margin: float) -> None:
    """The p-value is the level at which an end of the one-sided interval reaches the margin."""
    above = apply_paired_rate_noninferiority_test([wins], [losses], [n], margin).p_value[0]
    other = apply_paired_rate_noninferiority_test([losses], [wins], [n], margin).p_value[0]
    both = apply_paired_rate_equivalence_test([wins], [losses], [n], margin)
    assert both.p_value[0] == max(above, other)
    if 1e-12 < above < 0.5:  # an interval of a lower level does not contain the estimate
        low, _ = find_paired_rate_interval(
            [wins], [losses], [n], ci=1 - above, alternative="greater"
        )
        assert low[0] == pytest.approx(-margin, abs=1e-9)
    ends = find_paired_rate_interval([wins], [losses], [n], ci=0.9)
    assert (both.low[0], both.high[0]) == (ends[0][0], ends[1][0])


def test_margins_keep_their_level_where_few_rows_are_discordant() -> None:
    """All tables of 100 rows at the margin, each with its probability."""
    n, margin = 100, 0.05
    for lost in (0.05, 0.08, 0.15):
        won = lost - margin
        table = np.array([(w, x) for x in range(60) for w in range(60)])
        share = stats.multinomial.pmf(
            np.column_stack([table, n - table.sum(axis=1)]), n, [won, lost, 1 - won - lost]
        )
        found = apply_paired_rate_noninferiority_test(table[:, 0], table[:, 1], n, margin)
        assert 0.03 < share[found.p_value < 0.05].sum() < 0.06


def test_extreme_counts_have_intervals() -> None:
    # Without discordant rows it is Wilson's interval of 0 of n, on both sides of 0.
    square = stats.norm.ppf(0.975) ** 2
    low, high = find_paired_rate_interval([0, 10, 0], [0, 0, 10], [10, 10, 10])
    assert (low[0], high[0]) == pytest.approx((-square / (10 + square), square / (10 + square)))
    assert high[1] == pytest.approx(1)
    assert 0 < low[1] < 1
    assert (low[2], high[2]) == (-high[1], -low[1])
    for side, ends in (("greater", (False, True)), ("less", (True, False))):
        outcome = apply_mcnemar_test([3], [1], [20], alternative=side)
        assert (outcome.low[0] == -INF, outcome.high[0] == INF) == ends


def test_undefined_slices() -> None:
    outcome = apply_mcnemar_test([3, 0, None, 3, 5], [1, 0, 1, 1, 5], [20, 20, 20, 0, 10])
    assert np.isnan(outcome.p_value).tolist() == [False, True, True, False, False]
    assert np.isnan(outcome.low).tolist() == [False, False, True, True, False]
    assert outcome.p_value[4] == 1
    # Weighted counts have no binomial distribution.
    outcome = apply_exact_mcnemar_test([3, 2.5, None, 0, -1], [1, 1, 1, 0, 2])
    assert np.isnan(outcome.p_value).tolist() == [False, True, True, False, True]
    assert outcome.p_value[3] == 1
    for values in (*apply_mcnemar_test([], []), *apply_exact_mcnemar_test([], [])):
        assert values.shape == (0,)


#: Tables of wins, losses and other rows; one call takes about as long for ten as for one.
tables = st.lists(
    st.tuples(counts, counts, st.integers(0, 1000)).filter(lambda table: table[0] + table[1] > 0),
    min_size=1, max_size=20,
)  # fmt: skip


@settings(patient, max_examples=25)
@given(tables, st.booleans())
def test_invariants(rows: list[tuple[int, int, int]], correction: bool) -> None:
    wins, losses, rest = np.array(rows).T
    n = wins + losses + rest
    two, above, below = (
        apply_mcnemar_test(wins, losses, n, alternative=side, correction=correction)
        for side in SIDES
    )
    exact = apply_exact_mcnemar_test(wins, losses, n)
    for outcome in (two, above, below, exact):
        assert ((outcome.p_value >= 0) & (outcome.p_value <= 1)).all()
    difference = (wins - losses) / n
    assert ((two.low >= -1) & (two.low <= difference)).all()
    assert ((difference <= two.high) & (two.high <= 1)).all()
    one_sided = np.minimum(above.p_value, below.p_value)
    assert two.p_value == pytest.approx(np.minimum(1, 2 * one_sided))
    mirror = apply_mcnemar_test(losses, wins, n, correction=correction)
    np.testing.assert_array_equal(mirror.p_value, two.p_value)
    np.testing.assert_array_equal(mirror.low, -two.high)
    np.testing.assert_array_equal(mirror.high, -two.low)
    other = apply_exact_mcnemar_test(losses, wins, n)
    np.testing.assert_array_equal(other.p_value, exact.p_value)
    # The correction makes the test more cautious.
    plain = apply_mcnemar_test(wins, losses, n, correction=False)
    assert (two.p_value >= plain.p_value).all()
    # The interval and the test without correction say the same.
    is_clear = np.abs(plain.p_value - 0.05) > 1e-9
    is_outside = (plain.low > 0) | (plain.high < 0)
    np.testing.assert_array_equal(is_outside[is_clear], (plain.p_value < 0.05)[is_clear])
