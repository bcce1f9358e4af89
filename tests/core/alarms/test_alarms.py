"""Alarms: scales, variation between periods, and the watch, against other libraries and truth."""

import numpy as np
import polars as pl
import pytest
from scipy import stats
from scipy.special import expit, logit
from statsmodels.stats.meta_analysis import combine_effects
from statsmodels.stats.proportion import proportion_confint

from sqleval.alarms.contributions import decompose_change
from sqleval.alarms.expectation import (
    compute_run_probability,
    expect_of_limit,
    expect_of_watch,
)
from sqleval.alarms.scales import Scale, add_estimates, find_scale
from sqleval.alarms.variation import (
    Sums,
    collect_terms,
    estimate_between_variance,
    estimate_variation,
)
from sqleval.alarms.watch import Rule, compare_means, watch_slices

Z = 1.959963984540054


def add_up(weight: np.ndarray, value: np.ndarray, error: np.ndarray) -> Sums:
    return Sums(*(term.sum(axis=1) for term in collect_terms(weight, value, error)))


def write_series(values: np.ndarray, errors: float | np.ndarray, n: int = 500) -> pl.DataFrame:
    """Return estimates by slice (rows) and day (columns) as the watch takes them."""
    slices, periods = values.shape
    days = [str(np.datetime64("2026-01-01") + t) for t in range(periods)]
    return pl.DataFrame(
        {
            "slice": [f"s{i:03}" for i in range(slices) for _ in days],
            "period": days * slices,
            "n": n,
            "estimate": values.ravel(),
            "variance": np.broadcast_to(np.square(errors), values.shape).ravel(),
        }
    ).with_columns(pl.col("estimate").fill_nan(None))


def simulate(
    seed: int, slices: int, days: int, error: float = 0.03, tau: float = 0.0
) -> np.ndarray:
    rng = np.random.default_rng(seed)
    truth = tau * rng.standard_normal((slices, days))
    return 0.8 + truth + error * rng.standard_normal((slices, days))


# -- scales ------------------------------------------------------------------------------------


def test_a_scale_follows_from_the_range_and_gives_values_back() -> None:
    known = np.array([0.2, 0.5, 0.9])
    values = pl.DataFrame({"value": known})
    cases = (("0 .. 1", logit), ("0 .. inf", np.log), ("-inf .. 1", np.array), ("", np.array))
    for text, expected in cases:
        scale = find_scale({"range": text})
        at = values.select(scale.transform(pl.col("value")))["value"].to_numpy()
        assert at == pytest.approx(expected(known))
        assert scale.restore(at) == pytest.approx(known)
        step = 1e-6
        ends = values.select(
            (scale.transform(pl.col("value") + step) - scale.transform(pl.col("value"))) / step
        )["value"]
        slopes = values.select(scale.find_slope(pl.col("value")) + 0 * pl.col("value"))
        assert slopes.to_series().to_list() == pytest.approx(ends.to_list(), rel=1e-4)


def test_standard_errors_come_back_from_intervals() -> None:
    at, error = logit(0.8), 0.21
    rows = pl.DataFrame(
        [
            {"value": 0.8, "low": expit(at - Z * error), "high": expit(at + Z * error),
             "method": "delong, logit"},
            # A symmetric interval, cut at the end of the range.
            {"value": 0.9, "low": 0.9 - Z * 0.08, "high": 1.0, "method": "normal"},
            {"value": 1.0, "low": 0.9, "high": 1.0, "method": "delong, logit"},
            {"value": 0.7, "low": None, "high": None, "method": None},
            # One end of the interval has no place on the scale.
            {"value": 0.8, "low": 0.0, "high": expit(at + Z * error), "method": "delong, logit"},
        ]
    )  # fmt: skip
    found = add_estimates(rows, Scale(0, 1), 0.95)
    assert found["estimate"][0] == pytest.approx(at)
    assert found["variance"][0] == pytest.approx(error**2)
    assert found["variance"][1] == pytest.approx((0.08 / 0.09) ** 2)
    assert found["estimate"].to_list()[2:4] == [None, None]
    assert found["variance"].to_list()[2:4] == [None, None]
    assert found["variance"][4] == pytest.approx(error**2)


@pytest.mark.parametrize(("hits", "trials"), [(0, 40), (3, 200), (100, 200), (199, 200), (40, 40)])
def test_a_wilson_interval_gives_back_its_counts(hits: int, trials: int) -> None:
    low, high = proportion_confint(hits, trials, method="wilson")
    row = {"value": hits / trials, "low": low, "high": high, "method": "wilson"}
    (found,) = add_estimates(pl.DataFrame([row]), Scale(0, 1), 0.95).to_dicts()
    assert found["estimate"] == pytest.approx(np.log((hits + 0.5) / (trials - hits + 0.5)))
    assert found["variance"] == pytest.approx(1 / (hits + 0.5) + 1 / (trials - hits + 0.5))


# -- variation between periods -----------------------------------------------------------------


def test_the_variance_between_periods_is_that_of_statsmodels() -> None:
    rng = np.random.default_rng(1)
    for tau in (0.0, 0.2, 1.0):
        variance = rng.uniform(0.01, 0.2, 30)
        value = tau * rng.standard_normal(30) + np.sqrt(variance) * rng.standard_normal(30)
        expected = combine_effects(value, variance, method_re="dl").tau2
        assert estimate_between_variance(value, variance) == pytest.approx(max(0, expected))
        # One slice has nothing to be shrunk towards, and any weights are allowed.
        sums = add_up(1 / variance[None], value[None], variance[None])
        assert estimate_variation(sums).tau_squared[0] == pytest.approx(max(0, expected))


def test_slices_share_a_variation_if_they_do_not_differ_in_it() -> None:
    rng = np.random.default_rng(2)
    error = np.full((200, 28), 0.05)
    value = 0.1 * rng.standard_normal((200, 28)) + error * rng.standard_normal((200, 28))
    same = estimate_variation(add_up(error * 0 + 1, value, error**2))
    assert same.tau_squared == pytest.approx(np.full(200, 0.01), rel=0.3)
    assert same.tau_squared.std() < 0.001
    value[:100] *= 4
    other = estimate_variation(add_up(error * 0 + 1, value, error**2)).tau_squared
    assert np.median(other[:100]) > 10 * np.median(other[100:])


def test_the_correlation_between_periods_inflates_the_variance_of_a_mean() -> None:
    rng = np.random.default_rng(3)
    slices, days, rho = 400, 56, 0.6
    truth = np.zeros((slices, days))
    truth[:, 0] = rng.standard_normal(slices)
    for t in range(1, days):
        step = np.sqrt(1 - rho**2) * rng.standard_normal(slices)
        truth[:, t] = rho * truth[:, t - 1] + step
    value = truth + 0.5 * rng.standard_normal((slices, days))
    found = estimate_variation(add_up(value * 0 + 1, value, value * 0 + 0.25))
    assert found.correlation == pytest.approx(rho, abs=0.05)
    weeks = truth.reshape(slices, 8, 7).mean(axis=2)
    assert found.inflate(np.array([1 / 7]))[0] == pytest.approx(weeks.var(), rel=0.15)
    assert found._replace(correlation=0.0).inflate(np.array([1 / 7]))[0] == 1 / 7


def test_two_means_without_variation_are_a_t_test() -> None:
    errors = np.full((1, 40), 0.02)
    # One slice without variation between periods: 27 degrees of freedom for that estimate.
    base = add_up(np.full((1, 28), 500.0), np.full((1, 28), 0.8), errors[:, :28] ** 2)
    recent = add_up(np.full((1, 7), 500.0), np.full((1, 7), 0.78), errors[:, :7] ** 2)
    expected = stats.t.sf(0.02 / np.sqrt(0.02**2 / 7 + 0.02**2 / 28), 27)
    variation = estimate_variation(base)
    for sign, share in ((1, expected), (-1, 1 - expected)):
        found = compare_means(recent, base, variation, sign)
        assert found.p_value[0] == pytest.approx(share, rel=1e-6)


# -- the watch ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("tau", "yearly", "least", "most"), [(0.0, 1, 0, 4), (0.03, 20, 10, 40)])
def test_false_alarms_follow_from_the_level(tau: float, yearly: int, least: int, most: int) -> None:
    frame = write_series(simulate(4, 60, 730, tau=tau), 0.03)
    found = watch_slices(frame, Rule(by=0.005, level=yearly / 365.25), Scale())
    alarms = found.filter("is_worse").select("slice", "since").unique().height
    assert least <= alarms <= most
    assert found.filter(pl.col("is_worse").is_null())["period"].max() == "2026-01-07"


def test_a_drop_is_found_and_not_absorbed_and_ends() -> None:
    values = simulate(5, 20, 200)
    values[3, 100:160] -= 0.05
    found = watch_slices(write_series(values, 0.03), Rule(by=0.01), Scale())
    worse = found.filter("is_worse")
    assert worse["slice"].unique().to_list() == ["s003"]
    first, last = worse["period"].min(), worse["period"].max()
    days = np.array([first, last], dtype="datetime64") - np.datetime64("2026-01-01")
    assert 100 <= days[0].astype(int) <= 107
    # It is still worse after two baselines, and is over soon after its end.
    assert 159 <= days[1].astype(int) <= 170
    assert worse.height == (days[1] - days[0]).astype(int) + 1
    assert worse["since"].n_unique() == 1
    start = np.datetime64(worse["since"][0]) - np.datetime64("2026-01-01")
    assert 94 <= start.astype(int) <= 103
    assert worse["baseline"].to_list() == pytest.approx([0.8] * worse.height, abs=0.02)
    assert worse["worse_by"][30] == pytest.approx(0.05, abs=0.03)


def test_an_open_alarm_shows_the_mean_of_its_last_periods() -> None:
    values = simulate(17, 4, 60)
    values[2, 40:50] -= 0.3
    worse = watch_slices(write_series(values, 0.03), Rule(by=0.01), Scale()).filter("is_worse")
    assert worse["slice"].unique().to_list() == ["s002"]
    # The windows raise the alarm, and another test keeps it open.
    windows = worse.select("window", "p_adjusted")
    assert windows.head(1).null_count().row(0) == (0, 0)
    assert windows.tail(-1).null_count().row(0) == (worse.height - 1, worse.height - 1)
    origin = np.datetime64("2026-01-01")
    for period, since, mean in worse.select("period", "since", "mean").rows()[1:]:
        now, start = ((np.datetime64(day) - origin).astype(int) for day in (period, since))
        assert mean == pytest.approx(values[2, max(start, now - 6) : now + 1].mean())


def test_a_slow_drift_is_found() -> None:
    values = simulate(16, 20, 240)
    values[0, 100:] -= 0.001 * np.arange(140)
    rule = Rule(by=0.01, baseline=("2026-01", "2026-03"))
    found = watch_slices(write_series(values, 0.03), rule, Scale())
    worse = found.filter("is_worse")
    assert set(worse["slice"]) == {"s000"}
    assert str(worse["period"].min()) < "2026-05-31"  # day 150, when it is 0.05


def test_a_fixed_baseline_and_a_metric_that_should_be_low() -> None:
    values = simulate(7, 5, 90)
    values[1, 60:] += 0.08
    frame = write_series(values, 0.03)
    rule = Rule(direction="lower", by=0.01, baseline=("2026-01-11", "2026-01"))
    found = watch_slices(frame, rule, Scale())
    judged = found.filter(pl.col("is_worse").is_not_null())
    assert judged["period"].min() == "2026-02-01"
    assert judged["period"].max() == "2026-03-31"
    assert set(found.filter("is_worse")["slice"]) == {"s001"}
    mean = values[1, 10:31].mean()
    expected = judged.filter(slice="s001")["baseline"].to_list()
    assert expected == pytest.approx([mean] * len(expected))
    # Values in the direction that is better are not an alarm.
    assert not watch_slices(frame, rule._replace(direction="higher"), Scale())["is_worse"].any()


def test_a_difference_below_the_least_effect_raises_no_alarm() -> None:
    values = simulate(8, 3, 80, error=0.001)
    values[0, 40:] -= 0.01
    frame = write_series(values, 0.001)
    assert watch_slices(frame, Rule(by=0.005), Scale())["is_worse"].any()
    # An alarm ends where the difference is below half of the least one, though beyond chance.
    values[0, 60:] += 0.008
    worse = watch_slices(write_series(values, 0.001), Rule(by=0.005), Scale()).filter("is_worse")
    assert "2026-03-01" < str(worse["period"].max()) < "2026-03-09"  # day 60 is March 2
    assert not watch_slices(frame, Rule(by=0.02), Scale())["is_worse"].any()


def test_an_alarm_ends_without_a_value_if_the_last_ones_are_good() -> None:
    values = simulate(14, 3, 80)
    values[0, 50:56] -= 0.3
    values[0, 66:70] = np.nan
    values[1, 60:64] -= 0.3
    values[1, 64:] = np.nan
    found = watch_slices(write_series(values, 0.03), Rule(by=0.01), Scale())
    last = dict(found.filter("is_worse").group_by("slice").agg(pl.col("period").max()).iter_rows())
    assert last["s000"] < str(np.datetime64("2026-01-01") + 66)
    assert last["s001"] == str(np.datetime64("2026-01-01") + 79)  # nothing says that it is over


def test_gaps_and_short_pasts_are_not_judged() -> None:
    values = simulate(9, 3, 60)
    values[0, 30:40] = np.nan
    values[1, :] = np.nan
    values[2, 50:] -= 0.3
    found = watch_slices(write_series(values, 0.03), Rule(by=0.01), Scale())
    unknown = found.filter(pl.col("is_worse").is_null()).group_by("slice").len()
    assert dict(unknown.iter_rows()) == {"s000": 7 + 10, "s001": 60, "s002": 7}
    assert set(found.filter("is_worse")["slice"]) == {"s002"}
    assert watch_slices(write_series(values, 0.03).clear(), Rule(), Scale()).is_empty()


# -- contributions and expectations ------------------------------------------------------------


def test_contributions_add_up_to_the_change_of_the_mean() -> None:
    rng = np.random.default_rng(10)
    slices = ["a", "b", "c", "d"]
    frames = [
        pl.DataFrame({"slice": part, "value": rng.random(3), "n": rng.integers(10, 99, 3)})
        for part in (slices[:3], slices[1:])
    ]
    means = [np.average(frame["value"], weights=frame["n"]) for frame in frames]
    found = decompose_change(*frames)
    total = found.select(pl.sum_horizontal("mix", "quality").sum()).item()
    assert total == pytest.approx(means[1] - means[0])
    new_or_gone = found.filter(pl.col("slice").is_in(["a", "d"]))
    assert new_or_gone["quality"].to_list() == [0.0, 0.0]


def test_runs_are_those_of_a_simulation() -> None:
    rng = np.random.default_rng(11)
    for p, length, trials in ((0.3, 1, 7), (0.5, 3, 7), (0.9, 4, 10)):
        hits = rng.random((100_000, trials)) < p
        windows = np.lib.stride_tricks.sliding_window_view(hits, length, axis=1).all(axis=2)
        expected = windows.any(axis=1).mean()
        found = compute_run_probability(np.array([p]), length, trials)
        assert found[0] == pytest.approx(expected, abs=0.005)


def test_expected_alarms_of_a_limit_are_those_of_a_simulation() -> None:
    rng = np.random.default_rng(12)
    margin, spread = np.array([0.05, 0.1]), np.array([0.04, 0.05])
    values = margin + spread * rng.standard_normal((200_000, 2))
    for in_a_row in (1, 2):
        expected = expect_of_limit(margin, spread, in_a_row=in_a_row, periods=365, reach=7)
        is_bad = values < 0
        runs = is_bad if in_a_row == 1 else is_bad[1:] & is_bad[:-1]
        begins = runs[1:] & ~runs[:-1]
        assert expected.alarms == pytest.approx(365 * begins.mean(axis=0).sum(), rel=0.1)
        assert expected.periods == pytest.approx(365 * runs.any(axis=1).mean(), rel=0.1)
    # One slice: the drop is found within a week in 80 %.
    alone = expect_of_limit(margin[:1], spread[:1], in_a_row=2, periods=365, reach=7)
    weeks = (values[:140_000, 0] - alone.drop).reshape(-1, 7) < 0
    assert (weeks[:, 1:] & weeks[:, :-1]).any(axis=1).mean() == pytest.approx(0.8, abs=0.01)


def test_the_smallest_drop_of_a_watch_is_found_in_about_four_of_five() -> None:
    rule = Rule(by=0.005)
    past = write_series(simulate(13, 30, 60, tau=0.01), 0.03)
    expected = expect_of_watch(past, rule, Scale(), periods=365.25, reach=7)
    assert expected is not None
    assert expected.alarms == pytest.approx(1)
    # Five slices of thirty drop at a time: forty drops in eight calls. Each is compared with its
    # own past, and Holm's method adjusts nearly as it does for one.
    hits = []
    for seed in range(8):
        values = simulate(100 + seed, 30, 67, tau=0.01)
        values[:5, 60:] -= expected.drop
        found = watch_slices(write_series(values, 0.03), rule, Scale())
        worse = {*found.filter("is_worse")["slice"]}
        hits += [f"s{i:03}" in worse for i in range(5)]
    assert 0.65 <= np.mean(hits) <= 0.98
    short = past.filter(pl.col("period") < "2026-01-05")
    assert expect_of_watch(short, rule, Scale(), periods=365.25, reach=7) is None
