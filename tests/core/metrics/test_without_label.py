"""A column by itself, without a label: mean, share, quantiles, and their intervals and tests."""

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats
from statsmodels.regression.linear_model import OLS, WLS
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.proportion import proportion_confint

import sqleval
from sqleval import DataError, RequestError, SqlevalError
from sqleval.errors import UnmatchedRows
from sqleval.states.merging import merge_states

RANDOM = np.random.default_rng(3)
N = 120
ROWS = pl.DataFrame(
    {
        "id": range(N),
        "passed": RANDOM.random(N) < 0.7,
        "points": RANDOM.normal(3, 1, N).round(2),
        "other": RANDOM.normal(3.2, 1, N).round(2),
        "agreed": RANDOM.random(N) < 0.6,
        "w": RANDOM.uniform(0.5, 2, N),
        "topic": ["law", "math", "art"] * (N // 3),
        "question": np.repeat(range(N // 3), 3),
        "verdict": ["pass", "fail"] * (N // 2),
    }
)
ALL = ["mean", "share", "median", "quantile(q=0.9)", "sum", "count"]
SUMS = ["mean", "share", "sum", "count"]


def evaluate(
    value: Any = "points", metrics: Any = None, ci: float | None = 0.95, **roles: Any
) -> Any:
    """Return the rows of a result, by metric."""
    rows = roles.pop("rows", ROWS)
    options = {name: roles.pop(name) for name in ("cluster", "replicates") if name in roles}
    bound = sqleval.scan(rows, value=value, **roles)
    found = bound.evaluate(metrics, ci=ci, **options).collect().to_dicts()
    return {row["metric"]: row for row in found}


def quantile_of_t(df: float, level: float = 0.95) -> float:
    """Return Student's quantile as statements have it: the first term of Fisher's expansion."""
    z = float(stats.norm.ppf(0.5 + level / 2))
    return z * (1 + (z * z + 1) / (4 * df))


# -- intervals ---------------------------------------------------------------------------------


def test_the_default_metrics_are_the_mean_and_the_share() -> None:
    found = evaluate("passed")
    assert [*found] == ["mean", "share"]
    assert found["mean"]["value"] == found["share"]["value"] == ROWS["passed"].mean()
    assert evaluate("points")["share"]["note"] == "values other than 0 and 1"


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_a_mean_has_students_interval(level: float) -> None:
    row = evaluate(metrics="mean", ci=level)["mean"]
    x = ROWS["points"].to_numpy()
    half = quantile_of_t(N - 1, level) * stats.sem(x)
    assert (row["low"], row["high"]) == pytest.approx((x.mean() - half, x.mean() + half), rel=1e-12)
    interval = stats.ttest_1samp(x, 0).confidence_interval(level)
    assert (row["low"], row["high"]) == pytest.approx((interval.low, interval.high), rel=1e-4)
    assert (row["method"], row["note"]) == ("student", None)


def test_a_mean_of_weighted_rows_is_that_of_a_weighted_regression() -> None:
    row = evaluate(metrics="mean", weight="w")["mean"]
    x, w = ROWS["points"].to_numpy(), ROWS["w"].to_numpy()
    fit = WLS(x, np.ones(N), weights=w).fit(cov_type="HC1")
    share = (w**2).sum() / w.sum() ** 2
    # A row of large weight pulls the mean towards itself; see `compiler.weights`.
    pull = np.sqrt((1 - 1 / N) / (1 - 2 * N * share**2 + share))
    half = quantile_of_t(1 / share - 1) * fit.bse[0] * pull
    assert row["value"] == pytest.approx(fit.params[0], rel=1e-12)
    assert row["high"] - row["value"] == pytest.approx(half, rel=1e-9)
    assert pull == pytest.approx(1, abs=0.01)


def test_a_mean_far_from_0_keeps_its_standard_error() -> None:
    shifted = ROWS.with_columns(pl.col("points") + 1e8)
    near, far = (evaluate(metrics="mean", rows=rows)["mean"] for rows in (ROWS, shifted))
    assert far["high"] - far["value"] == pytest.approx(near["high"] - near["value"], rel=1e-6)


def test_a_share_has_wilsons_interval() -> None:
    row = evaluate("passed", "share")["share"]
    expected = proportion_confint(ROWS["passed"].sum(), N, method="wilson")
    assert (row["low"], row["high"]) == pytest.approx(expected, rel=1e-12)
    exact = sqleval.scan(ROWS, value="passed").evaluate(
        "share", ci=0.95, ci_method="clopper_pearson"
    )
    low, high = exact.collect().select("low", "high").row(0)
    interval = stats.binomtest(int(ROWS["passed"].sum()), N).proportion_ci(0.95, "exact")
    assert (low, high) == pytest.approx((interval.low, interval.high), rel=1e-9)


@pytest.mark.parametrize("q", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("n", [6, 20, 57, 120])
def test_a_quantile_lies_between_order_statistics(n: int, q: float) -> None:
    metric = "median" if q == 0.5 else f"quantile(q={q})"
    (row,) = evaluate(metrics=metric, rows=ROWS[:n]).values()
    x = np.sort(ROWS["points"][:n].to_numpy())
    # The ranks at which the binomial distribution with a correction for continuity has its tails.
    spread = stats.norm.ppf(0.975) * np.sqrt(n * q * (1 - q))
    first, last = int(np.floor(n * q - spread + 0.5)), int(np.ceil(n * q + spread + 0.5))
    if first < 1 or last > n:
        assert (row["low"], row["high"]) == (None, None)
        assert row["note"] == "no interval: an end lies beyond the values of the sample"
        return
    assert (row["low"], row["high"]) == (x[first - 1], x[last - 1])
    covered = stats.binom.cdf(last - 1, n, q) - stats.binom.cdf(first - 1, n, q)
    assert covered >= 0.95


def test_the_median_and_the_quantile_of_one_half_are_the_same() -> None:
    median, half = (evaluate(metrics=name) for name in ("median", "quantile"))
    for name in ("value", "low", "high"):
        assert median["median"][name] == half["quantile"][name]
    assert median["median"]["value"] == np.median(ROWS["points"])


def test_sums_have_no_interval() -> None:
    found = evaluate(metrics=["sum", "count"])
    assert found["sum"]["value"] == pytest.approx(ROWS["points"].sum())
    assert found["count"]["value"] == N
    for row in found.values():
        assert row["low"] is None
        assert row["note"].startswith("no interval: a sum depends on the number of rows")


def test_clusters_give_the_standard_error_of_a_clustered_regression() -> None:
    x = ROWS["points"] + pl.Series(RANDOM.normal(0, 1, N // 3))[ROWS["question"]]
    rows = ROWS.with_columns(points=x)
    row = evaluate(metrics="mean", rows=rows, cluster="question", replicates=4000)["mean"]
    fit = OLS(x.to_numpy(), np.ones(N)).fit(
        cov_type="cluster", cov_kwds={"groups": rows["question"].to_numpy()}
    )
    width = (row["high"] - row["low"]) / 2 / stats.t.ppf(0.975, N // 3 - 1)
    assert width == pytest.approx(fit.bse[0], rel=0.05)
    alone = evaluate(metrics="mean", rows=rows)["mean"]
    assert row["high"] - row["low"] > 1.2 * (alone["high"] - alone["low"])


def test_counts_are_rows() -> None:
    counted = pl.DataFrame({"v": [1.0, 2.0, 4.0], "n": [30, 20, 70]})
    repeated = pl.DataFrame({"v": [1.0] * 30 + [2.0] * 20 + [4.0] * 70})
    assert evaluate("v", ALL, rows=counted, counts="n") == evaluate("v", ALL, rows=repeated)


def test_few_rows() -> None:
    one = evaluate("v", ALL, rows=pl.DataFrame({"v": [1]}))
    assert [row["value"] for row in one.values()] == [1, 1, 1, 1, 1, 1]
    assert one["mean"]["note"] == "no interval: too few rows"
    none = evaluate("v", ALL, rows=pl.DataFrame({"v": []}, schema={"v": pl.Float64}))
    assert {(row["value"], row["n"], row["note"]) for row in none.values()} == {
        (None, 0, "no rows")
    }
    same = evaluate("v", ALL, rows=pl.DataFrame({"v": [3] * 30}))
    assert same["mean"]["note"] == "no interval: no variation in the sample"
    assert (same["median"]["low"], same["median"]["high"]) == (3, 3)


def test_a_mean_of_few_zeros_or_ones_says_so() -> None:
    """The interval of a mean is too narrow there; that of a share is not."""
    for ones, note in ((3, "few rows: interval may be too narrow"), (12, None)):
        for values in ([1] * ones + [0] * (100 - ones), [0] * ones + [1] * (100 - ones)):
            found = evaluate("v", rows=pl.DataFrame({"v": values}))
            assert (found["mean"]["note"], found["share"]["note"]) == (note, None)


def test_missing_values() -> None:
    rows = pl.DataFrame({"v": [1.0, 0.0, None, float("nan"), float("inf")]})
    with pytest.raises(DataError, match="value='v' is NULL, NaN or infinite in 3 of 5 rows"):
        evaluate("v", rows=rows)
    found = evaluate("v", ["mean", "median"], rows=rows, nulls="drop", ci=None)
    assert {(row["value"], row["n"], row["n_dropped"]) for row in found.values()} == {(0.5, 2, 3)}


# -- slices, models, folds ---------------------------------------------------------------------


def test_slices_and_sets_are_the_rows_alone() -> None:
    bound = sqleval.scan(ROWS, value="points", by="topic", sets="overall")
    for row in bound.evaluate(ALL, ci=0.95).collect().to_dicts():
        rows = ROWS if row["topic"] is None else ROWS.filter(topic=row["topic"])
        alone = evaluate(metrics=row["metric"], rows=rows)[row["metric"]]
        assert {name: row[name] for name in alone} == alone


def test_folds() -> None:
    means = ROWS.group_by("topic").agg(pl.col("points").mean())["points"]
    found = evaluate(
        metrics=["mean(average='macro')", "mean(reduce='smallest')"], over="topic", ci=None
    )
    assert [row["value"] for row in found.values()] == pytest.approx([means.mean(), means.min()])


def compare(value: Any, metric: str, rows: pl.DataFrame = ROWS, **options: Any) -> dict[str, Any]:
    roles = {name: options.pop(name) for name in ("weight", "by") if name in options}
    found = sqleval.scan(rows, value=value, **roles).compare(metric, **options)
    return found.collect().row(0, named=True)


TWO = {"a": "points", "b": "other"}
LONG = pl.concat(
    ROWS.select("id", "topic", v=column, p=passed).with_columns(model=pl.lit(name))
    for name, column, passed in (("a", "points", "passed"), ("b", "other", "agreed"))
)


def test_means_are_compared_by_students_test() -> None:
    expected = stats.ttest_rel(ROWS["other"], ROWS["points"])
    interval = expected.confidence_interval(0.95)
    for row in (compare(TWO, "mean"), compare("v", "mean", LONG, model="model", key="id")):
        numbers = (row["statistic"], row["p_value"], row["low"], row["high"])
        wanted = (expected.statistic, expected.pvalue, interval.low, interval.high)
        assert numbers == pytest.approx(wanted, rel=1e-9)
        assert row["method"] == "paired t-test of rows"
    ranks = compare(TWO, "mean", test="wilcoxon")
    # Equal differences are ties, also where rounding makes them unequal.
    differences = (ROWS["other"] - ROWS["points"]).round(9)
    wanted = stats.wilcoxon(differences, method="asymptotic").pvalue
    assert ranks["p_value"] == pytest.approx(wanted, rel=1e-9)
    assert ranks["method"] == "Wilcoxon signed-rank test of rows, normal"


def test_means_of_different_rows_are_compared_by_welchs_test() -> None:
    expected = stats.ttest_ind(ROWS["other"], ROWS["points"], equal_var=False)
    row = compare("v", "mean", LONG, model="model", paired=False)
    assert (row["statistic"], row["p_value"]) == pytest.approx(
        (expected.statistic, expected.pvalue), rel=1e-9
    )
    assert row["method"] == "Welch's t-test of rows"
    grouped = compare("points", "mean", ROWS.filter(pl.col("topic") != "art"), groups="topic")
    law, math = (ROWS.filter(topic=name)["points"] for name in ("law", "math"))
    expected = stats.ttest_ind(law, math, equal_var=False)
    assert grouped["p_value"] == pytest.approx(expected.pvalue, rel=1e-9)


def test_shares_are_compared_by_mcnemars_test() -> None:
    two = {"a": "passed", "b": "agreed"}
    table = [[ROWS.filter(passed=a, agreed=b).height for b in (True, False)] for a in (True, False)]
    expected = mcnemar(table, exact=False, correction=True)
    for row in (compare(two, "share"), compare("p", "share", LONG, model="model", key="id")):
        assert row["p_value"] == pytest.approx(expected.pvalue, rel=1e-9)
        assert row["difference"] == pytest.approx(
            ROWS["agreed"].mean() - ROWS["passed"].mean(), rel=1e-12
        )
    same = compare({"a": "passed", "b": "passed"}, "share")
    assert same["note"] == "both models have the same value in every row"


def test_a_share_of_other_values_has_no_test() -> None:
    row = compare(TWO, "share")
    assert {row[name] for name in ("value", "difference", "low", "high", "p_value")} == {None}
    assert (row["note"].split(";")[0], row["verdict"]) == ("values other than 0 and 1", "no test")


def test_medians_are_compared_by_the_bootstrap() -> None:
    for options in ({}, {"cluster": "question"}):
        row = compare(TWO, "median", **options)
        assert row["method"].startswith("paired bootstrap")
        medians = (np.median(ROWS["other"]), np.median(ROWS["points"]))
        assert (row["value"], row["baseline_value"]) == medians
        assert row["low"] < row["difference"] < row["high"]
    # A jackknife of medians does not measure their error.
    with pytest.raises(RequestError, match="test='jackknife' does not fit median"):
        compare(TWO, "median", cluster="question", test="jackknife")
    clustered = compare(TWO, "mean", cluster="question")
    assert clustered["method"].startswith("paired jackknife")


def test_models_are_ranked() -> None:
    board = sqleval.scan(ROWS, value=TWO).leaderboard("mean").collect()
    assert board["model"].to_list() == ["b", "a"]
    with pytest.raises(RequestError, match="sum depends on the number of rows, so it has no test"):
        compare(TWO, "sum")


# -- states ------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["points", "passed"])
@pytest.mark.parametrize("weight", [None, "w"])
def test_states_hold_sums(value: str, weight: str | None) -> None:
    parts = [
        sqleval.scan(rows, value=value, weight=weight, by="topic").state(SUMS, ci=True).collect()
        for rows in (ROWS[:30], ROWS[30:])
    ]
    merged = merge_states(pl.concat(parts)).collect()
    found = sqleval.from_state(merged, by="topic").evaluate(SUMS, ci=0.95).collect()
    exact = sqleval.scan(ROWS, value=value, weight=weight, by="topic").evaluate(SUMS, ci=0.95)
    for row, expected in zip(found.to_dicts(), exact.collect().to_dicts(), strict=True):
        assert (row["topic"], row["metric"]) == (expected["topic"], expected["metric"])
        ends = ("value", "low", "high") if row["metric"] in ("mean", "share") else ("value",)
        for name in ends:
            same = expected[name] is None or pytest.approx(expected[name], rel=1e-12)
            assert row[name] == (None if same is True else same)


def test_a_state_has_no_median() -> None:
    with pytest.raises(RequestError, match="median needs every value, and a state holds sums"):
        sqleval.scan(ROWS, value="points").state("median").collect()


# -- wrong input -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"value": "verdict"}, "name what counts as 1, such as value=\"verdict = 'pass'\""),
        ({"value": "points", "label": "passed"}, "value= is summarised by itself, and label= is"),
        ({"value": "points", "score": "w"}, "and score= is given: leave out score="),
        ({"value": "points", "prediction": {"a": "w"}}, "and prediction= is given"),
        ({"value": "points", "positive": 0}, "and positive= is given"),
        ({"value": "points", "threshold": 0.0}, "and threshold= is given"),
        ({"value": "points", "qid": "question"}, "and qid= is given"),
        ({"value": "points", "task": "binary"}, "task='binary' and value= do not go together"),
        ({"label": "passed", "score": "w", "task": "value"}, "task='value' needs value="),
        ({"value": "nowhere"}, "value='nowhere': no such column"),
        ({"value": {}}, "value= is an empty mapping"),
        ({"value": {"a": {"b": "points"}}}, "value= is one column per model"),
        ({"value": ["points", "other"]}, "value=.* must be the name of a column, or a mapping"),
        ({}, "value= names a column without a label"),
    ],
)  # fmt: skip
def test_wrong_roles_are_refused(call: dict[str, Any], message: str) -> None:
    with pytest.raises(RequestError, match=message):
        sqleval.scan(ROWS, **call)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: evaluate(metrics="roc_auc"), "roc_auc is a binary metric and the task is value"),
        (lambda: evaluate(metrics="quantile(q=2)"), r"quantile\(q=\) must be in \[0, 1\]"),
        (lambda: sqleval.scan(ROWS, value="points").curve("roc").collect(), "the task is 'value'"),
        (lambda: sqleval.scan(ROWS, label="passed", score="w").evaluate("mean"),
         r"mean is a value metric and the task is binary; name .*, or value=COLUMN \(--value"),
        (lambda: sqleval.scan(ROWS, value="points").evaluate("mean", bins=8), "bins= is for"),
    ],
)  # fmt: skip
def test_wrong_requests_are_refused(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(SqlevalError, match=message):
        call()


def test_late_values_are_joined() -> None:
    late = ROWS.select("id", "passed")[:100]
    bound = sqleval.scan(ROWS.select("id", "topic"), value="passed", labels=late, on="id")
    with pytest.warns(UnmatchedRows, match="20 of 120 rows have no label yet"):
        row = bound.evaluate("share").collect().row(0, named=True)
    assert (row["value"], row["n"], row["n_dropped"]) == (late["passed"].mean(), 100, 20)
