"""Each test of a difference against its reference: NumPy, SciPy, statsmodels, or its paper."""

import re
from functools import cache
from math import inf
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_series_equal
from scipy import stats
from sklearn.metrics import f1_score, roc_auc_score
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import ttost_paired

import sqleval
from sqleval import DataError
from sqleval.comparison.compare import COLUMNS
from tests.support.comparison import assert_frame_equal
from tests.support.draws import score_draws
from tests.support.references import compute_delong
from tests.support.versions import needs

from .data import LONG, MODELS, ROWS, compare, compare_one, draw_models


def arrays(frame: pl.DataFrame, *names: str) -> list[np.ndarray]:
    return [frame[name].to_numpy() for name in names]


def losses(frame: pl.DataFrame, name: str) -> tuple[np.ndarray, np.ndarray]:
    label, a, b = arrays(frame, "y", "a", "b")
    if name == "log_loss":
        return tuple(-np.log(np.where(label == 1, p, 1 - p)) for p in (b, a))  # type: ignore[return-value]
    return (b - label) ** 2, (a - label) ** 2


@pytest.mark.parametrize("name", ["roc_auc", "gini"])
def test_delong_is_that_of_the_paper(name: str) -> None:
    found = compare(ROWS, name, {"by": "g", "sets": "overall"}, adjust=None)
    assert found.height == 8
    scale = 1 if name == "roc_auc" else 2
    parts = {(key,): part for (key,), part in ROWS.group_by("g")}
    for row in found.iter_rows(named=True):
        part = ROWS if row["by"] == "overall" else parts[row["g"],]
        label, *scores = arrays(part, "y", "a", "b", "c")
        areas, covariance = compute_delong(label, np.array(scores))
        i = "abc".index(row["model"])
        stderr = scale * np.sqrt(covariance[0, 0] + covariance[i, i] - 2 * covariance[0, i])
        difference = scale * (areas[i] - areas[0])
        assert row["difference"] == pytest.approx(difference, abs=1e-12)
        assert row["statistic"] == pytest.approx(difference / stderr, rel=1e-9)
        assert row["p_value"] == pytest.approx(2 * stats.norm.sf(abs(difference / stderr)))
        half = stats.norm.ppf(0.975) * stderr
        assert (row["low"], row["high"]) == pytest.approx((difference - half, difference + half))
        assert (row["n"], row["method"]) == (part.height, "DeLong, paired")


def test_delong_of_heavy_ties_and_few_rows() -> None:
    rows = pl.DataFrame(
        {"y": [0, 0, 0, 1, 1, 1, 1], "a": [1, 2, 2, 2, 2, 3, 3], "b": [1, 1, 1, 1, 2, 2, 1]}
    )
    row = compare_one(rows, ci=0.8)
    areas, covariance = compute_delong(*(np.array(x) for x in (
        rows["y"].to_list(), [rows["b"].to_list(), rows["a"].to_list()])))  # fmt: skip
    stderr = np.sqrt(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1])
    assert row["statistic"] == pytest.approx((areas[0] - areas[1]) / stderr)
    assert (row["value"], row["baseline_value"]) == pytest.approx(tuple(areas))


def test_areas_whose_difference_does_not_vary_are_not_said_to_be_alike() -> None:
    label = [0, 1] * 30
    rows = pl.DataFrame({"y": label, "a": [0.2 + 0.6 * y for y in label], "b": 0.5})
    for second, note in (
        ("b", "no test: the difference does not vary from row to row"),
        ("a", "no test: both models rank the rows alike"),
    ):
        found = compare(rows, ["roc_auc", "gini"], {"score": {"a": "a", "b": second}})
        assert found["note"].to_list() == [note] * 2
        assert found["difference"].to_list() == ([-0.5, -1.0] if second == "b" else [0.0, 0.0])


def test_mcnemar_is_that_of_statsmodels() -> None:
    label, a, b = arrays(ROWS, "y", "a", "b")
    cases = [
        (name, sign, threshold)
        for threshold in (0.5, 0.3, 0.07)
        for name, sign in (("accuracy", 1), ("error_rate", -1))
    ]
    metrics = [f"{name}(threshold={threshold})" for name, _, threshold in cases]
    two = {"score": {"a": "a", "b": "b"}}
    of_tests = [
        compare(ROWS, metrics, two, test=test).to_dicts()
        for test in ("mcnemar", "mcnemar_exact", None)
    ]
    for (name, sign, threshold), approximate, exact, chosen in zip(cases, *of_tests, strict=True):
        right_b, right_a = ((p >= threshold) == label for p in (b, a))
        table = [[0, (right_b & ~right_a).sum()], [(~right_b & right_a).sum(), 0]]
        for row, is_exact in ((approximate, False), (exact, True)):
            assert row["metric"].startswith(name)
            expected = mcnemar(table, exact=is_exact, correction=True)
            assert row["p_value"] == pytest.approx(expected.pvalue, rel=1e-9)
            assert row["difference"] == pytest.approx(sign * (right_b.mean() - right_a.mean()))
            assert row["low"] < row["difference"] < row["high"]
        few = sum(sum(line) for line in table) < 25
        assert ("exact" in chosen["method"]) == few


@pytest.mark.parametrize("side", ["two-sided", "greater", "less"])
@pytest.mark.parametrize("name", ["log_loss", "brier_score"])
def test_tests_of_row_losses_are_those_of_scipy(name: str, side: str) -> None:
    own, baseline = losses(ROWS, name)
    row = compare_one(ROWS, name, alternative=side)
    expected = stats.ttest_rel(own, baseline, alternative=side)
    assert row["statistic"] == pytest.approx(expected.statistic, rel=1e-9)
    assert row["p_value"] == pytest.approx(expected.pvalue, rel=1e-8)
    ends = expected.confidence_interval(0.95)
    assert (row["low"], row["high"]) == pytest.approx((ends.low, ends.high))
    row = compare_one(ROWS, name, test="wilcoxon", alternative=side)
    # Differences that are equal except for rounding are ties.
    expected = stats.wilcoxon(own, baseline, method="asymptotic", alternative=side)
    assert row["p_value"] == pytest.approx(expected.pvalue, rel=0.05)
    assert (row["low"], row["high"]) == (None, None)


def test_regression_models() -> None:
    rng = np.random.default_rng(6)
    truth = rng.normal(size=200)
    rows = pl.DataFrame({"y": truth, "a": truth + rng.normal(size=200),
        "b": truth + 1.3 * rng.normal(size=200)})  # fmt: skip
    scan = {"score": None, "prediction": {"a": "a", "b": "b"}, "task": "regression"}
    errors = [np.abs(rows[name].to_numpy() - truth) for name in ("b", "a")]
    row = compare(rows, "mae", scan).row(0, named=True)
    expected = stats.ttest_rel(*errors)
    assert row["statistic"] == pytest.approx(expected.statistic)
    row = compare(rows, "mae", scan, test="wilcoxon").row(0, named=True)
    assert row["p_value"] == pytest.approx(stats.wilcoxon(*errors, method="asymptotic").pvalue)
    row = compare(rows, "rmse", scan, replicates=300).row(0, named=True)
    picks = rng.integers(0, 200, (2_000, 200))
    drawn = [np.sqrt((each[picks] ** 2).mean(axis=1)) for each in errors]
    half = stats.norm.ppf(0.975) * np.std(drawn[0] - drawn[1])
    assert (row["high"] - row["low"]) / 2 == pytest.approx(half, rel=0.16)
    # With so many rows numbers are rounded, but not their much smaller errors.
    large = pl.concat([rows.with_columns(pl.all() * 0.1 + 900)] * 11)
    drawn = compare(large, "mse", scan, test="bootstrap", replicates=100).row(0, named=True)
    assert "scores of 9 bits" in drawn["method"]
    expected = compare(large, "mse", scan).row(0, named=True)
    assert expected["method"] == "paired t-test of row losses"
    assert drawn["high"] - drawn["low"] == pytest.approx(
        expected["high"] - expected["low"], rel=0.3
    )


def compute_f1(label: np.ndarray, score: np.ndarray) -> float:
    """Return scikit-learn's F1 without its checks of the input, which take most of the time."""
    decided = score >= 0.5
    return 2 * (label * decided).sum() / (label.sum() + decided.sum())


@cache
def draw_statistics(name: str) -> list[np.ndarray]:
    """Return a metric of 200 samples of rows: for b, for a, and for a on other rows."""
    rng = np.random.default_rng(2)
    label, a, b = arrays(ROWS, "y", "a", "b")
    rows, others = rng.integers(0, 400, (2, 200, 400))
    drawn = [(b, rows), (a, rows), (a, others)]
    if name == "f1":
        return [np.array([compute_f1(label[i], p[i]) for i in picks]) for p, picks in drawn]
    return [score_draws(label, p, picks)[name] for p, picks in drawn]


@pytest.mark.parametrize(
    ("name", "paired"), [("f1", True), ("f1", False), ("average_precision", True)]
)
def test_the_bootstrap_is_that_of_drawn_rows(name: str, paired: bool) -> None:
    """For scores of different rows, see `test_different_rows_per_model`."""
    row = compare_one(ROWS, name, replicates=400, paired=paired)
    label, b = arrays(ROWS, "y", "b")
    assert compute_f1(label, b) == pytest.approx(f1_score(label, b >= 0.5))
    of_b, of_a, of_others = draw_statistics(name)
    drawn = of_b - (of_a if paired else of_others)
    half = stats.norm.ppf(0.975) * np.std(drawn)
    assert (row["high"] - row["low"]) / 2 == pytest.approx(half, rel=0.17)
    assert abs((row["high"] + row["low"]) / 2 - row["difference"]) < half / 5
    df = min(label.sum(), 400 - label.sum()) - 1
    assert row["p_value"] == pytest.approx(2 * stats.t.sf(abs(row["statistic"]), df))
    assert row["n"] == (400 if paired else 800)


def test_biases_of_two_models_are_in_the_interval() -> None:
    """Replicates of a maximum are too high, but perhaps not equally for both models."""
    few = ROWS.filter((pl.col("y") == 0) | (pl.col("k") % 12 == 0))
    row = compare_one(few, "ks", replicates=300)
    assert row["note"] == "few rows of a class: the test may find a difference too often"
    df = few["y"].sum() - 1
    # The p-value belongs to an end of the bias interval, from which 0 is as far in standard errors.
    assert row["p_value"] == pytest.approx(2 * stats.t.sf(abs(row["statistic"]), df))
    half = (row["high"] - row["low"]) / 2
    middle = (row["high"] + row["low"]) / 2
    centres = (row["difference"], 2 * middle - row["difference"])
    stderr = (half - abs(middle - row["difference"])) / stats.t.ppf(0.975, df)
    assert abs(row["statistic"]) == pytest.approx(min(map(abs, centres)) / stderr)
    assert centres[0] != pytest.approx(centres[1], abs=0.02)


def test_few_rows_of_a_class_are_noted() -> None:
    row = compare_one(ROWS.head(12), "roc_auc", ci=0.999999999)
    assert row["note"] == "few rows of a class: the test may find a difference too often"
    assert row["method"] == "DeLong, paired"
    assert (row["low"], row["high"]) == (-1, 1)
    row = compare_one(ROWS.head(12), "recall", ci=0.999999, replicates=100)
    assert (row["low"], row["high"]) == (-1, 1)  # two shares cannot differ by more


def test_slices_without_a_row_of_every_model_say_so() -> None:
    rows = ROWS.with_columns(b=pl.when(pl.col("g") == "s").then(None).otherwise("b"))
    scan = {"score": {"a": "a", "b": "b"}, "by": "g", "nulls": "drop"}
    for call in ({"metrics": ["roc_auc", "f1"]}, {"metrics": ["roc_auc", "f1"], "cluster": "user"}):
        lost = compare(rows, scan=scan, **call).filter(g="s")
        assert lost["n_dropped"].to_list() == [rows.filter(g="s").height] * 2
        assert lost["note"].to_list() == ["no row has a value of every model"] * 2
        assert lost["verdict"].to_list() == ["no test"] * 2


def test_clusters_of_equal_size_have_the_t_test_of_their_means() -> None:
    rng = np.random.default_rng(8)
    rate = np.repeat(rng.normal(0.3, 0.3, 60), 8)
    label = rng.integers(0, 2, 480)
    win = rng.random(480) < rate
    rows = pl.DataFrame({"y": label, "u": np.repeat(np.arange(60), 8),
        "a": np.full(480, 0.4), "b": np.where(win, label, 0.4)})  # fmt: skip
    right = ((rows["b"].to_numpy() >= 0.5) == label).astype(float) - (label == 0)
    for clusters in (60, 6):
        grouped = rows.with_columns(u=pl.col("u") * clusters // 60)
        row = compare_one(grouped, "accuracy", cluster="u", replicates=0)
        expected = stats.ttest_1samp(right.reshape(clusters, -1).mean(axis=1), 0)
        assert row["statistic"] == pytest.approx(expected.statistic)
        assert row["p_value"] == pytest.approx(expected.pvalue)
        ends = expected.confidence_interval()
        assert (row["low"], row["high"]) == pytest.approx((ends.low, ends.high))
        assert row["method"] == f"paired jackknife, {clusters} blocks of clusters"
        assert str(row["note"]).startswith("few clusters: they count as 6.0 ") == (clusters == 6)
        # Draws of whole clusters vary as much, except for the bootstrap's (G - 1) / G.
        drawn = compare_one(grouped, "accuracy", cluster="u", test="bootstrap", replicates=400)
        half = np.sqrt((clusters - 1) / clusters) * (row["high"] - row["low"])
        assert drawn["high"] - drawn["low"] == pytest.approx(half, rel=0.15)
    one = compare_one(rows.with_columns(u=1), "accuracy", cluster="u")
    assert (one["low"], one["note"]) == (None, "no test: one cluster")


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize(("name", "statistic"), [
    ("roc_auc", roc_auc_score), ("f1", lambda y, p: f1_score(y, p >= 0.5)),
])  # fmt: skip
def test_clusters_are_left_out_in_turn(name: str, statistic: Any, paired: bool) -> None:
    """Compare with scikit-learn without each cluster; degrees of freedom come from matrices."""
    rng = np.random.default_rng(8)
    unequal = pl.Series(rng.integers(0, 8, 300) // rng.integers(1, 9, 300))
    own = base = draw_models(300).with_columns(u=unequal)
    options: dict[str, Any] = {"cluster": "u"}
    if paired:
        row = compare_one(own, name, **options)
    else:
        # Rows of another time: some clusters have no rows there, and others are new.
        base = draw_models(200, 3).with_columns(u=pl.Series(rng.integers(4, 10, 200)))
        parts = (("a", base), ("b", own))
        long = pl.concat(f.select("y", "u", p=model, model=pl.lit(model)) for model, f in parts)
        scan = sqleval.scan(long, label="y", score="p")
        row = scan.compare(name, model="model", paired=False, **options).collect().to_dicts()[0]

    def subtract(without: int | None) -> float:
        first, second = (frame.filter(pl.col("u").ne_missing(without)) for frame in (own, base))
        return statistic(first["y"], first["b"]) - statistic(second["y"], second["a"])

    clusters = {*own["u"], *base["u"]}
    changes = np.array([subtract(each) for each in clusters]) - subtract(None)
    stderr = np.sqrt((len(clusters) - 1) / len(clusters) * (changes**2).sum())
    assert row["statistic"] == pytest.approx(subtract(None) / stderr)
    groups = ["y"] if name == "roc_auc" else []
    sizes = [
        part["u"].value_counts()["count"].to_numpy()
        for frame in (own, base)
        for part in (frame.partition_by(groups) if groups else [frame])
    ]
    df = min(map(count_degrees, sizes))
    assert row["p_value"] == pytest.approx(2 * stats.t.sf(abs(row["statistic"]), df))


def count_degrees(sizes: np.ndarray) -> float:
    """Return Satterthwaite's degrees of freedom of CV3, for independent rows of equal variance."""
    share = sizes / sizes.sum()
    residuals = np.eye(len(share)) - np.outer(share, np.ones(len(share)))
    covariance = residuals @ np.diag(share) @ residuals.T
    weighed = np.diag(1 / (1 - share) ** 2) @ covariance
    return float(np.trace(weighed) ** 2 / np.trace(weighed @ weighed))


def test_many_clusters_are_left_out_in_blocks() -> None:
    rows = draw_models(3_000).with_columns(u=pl.int_range(3_000) // 3, v=pl.int_range(3_000) // 20)
    names = [compare_one(rows, "accuracy", cluster=name) for name in ("u", "v")]
    assert [row["method"] for row in names] == [
        "paired jackknife, 200 blocks of clusters", "paired jackknife, 150 blocks of clusters",
    ]  # fmt: skip
    widths = [row["high"] - row["low"] for row in names]
    assert widths[0] == pytest.approx(widths[1], rel=0.15)


def test_what_clusters_leave_undefined() -> None:
    rows = draw_models(90).with_columns(
        y=pl.when(pl.int_range(90) < 40).then("y").otherwise(0), u=pl.int_range(90) // 45
    )
    assert compare_one(rows, "accuracy", cluster="u")["p_value"] is not None
    lost = compare_one(rows, "roc_auc", cluster="u")
    assert lost["note"] == "no test: a metric is undefined without one of the clusters"
    alike = compare_one(rows.with_columns(b="a"), "accuracy", cluster="u")
    assert alike["note"] == "no test: the difference is the same without each of the clusters"


@needs("DuckDB 1 has no logarithm of 0", duckdb="2")
@pytest.mark.parametrize("options", [{"cluster": "u"}, {"test": "bootstrap", "replicates": 100}])
def test_an_infinite_difference_has_no_test(options: dict[str, Any]) -> None:
    rows = draw_models(90).with_columns(b=0.0, u=pl.int_range(90) // 45)
    row = compare_one(rows, "log_loss(eps=0)", **options)
    assert (row["difference"], row["verdict"]) == (inf, "no test")
    assert row["note"].startswith("no test: a metric is infinite")


def test_counts_are_copies() -> None:
    copies = ROWS[np.repeat(np.arange(ROWS.height), ROWS["w"].to_numpy())]
    metrics, two = ["roc_auc", "accuracy"], {"score": {"a": "a", "b": "b"}}
    counted = compare(ROWS, metrics, two | {"counts": "w"})
    plain = compare(copies, metrics, two, test="bootstrap")
    assert counted["metric"].to_list() == plain["metric"].to_list() == metrics
    for name in ("value", "difference", "low", "high", "p_value"):
        assert_series_equal(counted[name], plain[name], rel_tol=1e-9, abs_tol=1e-12)


def fold_values(statistic: Any = roc_auc_score) -> np.ndarray:
    return np.array([
        [statistic(part["y"], part[name]) for name in "abc"]
        for _, part in sorted(ROWS.group_by("fold"))
    ])  # fmt: skip


def test_the_corrected_t_test_of_folds() -> None:
    values = fold_values()
    found = compare(ROWS, "roc_auc", {"over": "fold"}, test="corrected_t", ci=0.9)
    sizes = ROWS["fold"].value_counts().sort("fold")["count"].to_numpy()
    share = np.mean(sizes / (400 - sizes))
    for row, i in zip(found.iter_rows(named=True), (1, 2), strict=True):
        differences = values[:, i] - values[:, 0]
        stderr = np.sqrt((1 / 6 + share) * differences.var(ddof=1))
        assert row["statistic"] == pytest.approx(differences.mean() / stderr)
        assert row["p_value"] == pytest.approx(2 * stats.t.sf(abs(row["statistic"]), 5))
        half = stats.t.ppf(0.95, 5) * stderr
        assert row["high"] - row["low"] == pytest.approx(2 * half)
        # Value, difference and interval belong to the mean over folds, not to all rows pooled.
        assert (row["low"] + row["high"]) / 2 == pytest.approx(row["difference"])
        assert row["value"] == pytest.approx(values[:, i].mean())
        assert row["baseline_value"] == pytest.approx(values[:, 0].mean())


def test_a_metric_and_its_mean_over_folds_have_one_test() -> None:
    metrics = ["roc_auc", "roc_auc(average='macro')"]
    found = compare(ROWS, metrics, {"over": "fold"}, test="corrected_t")
    plain, mean = (found.filter(metric=name).drop("metric") for name in metrics)
    assert plain["note"].to_list() == ["mean over 6 folds"] * 2
    assert mean["note"].null_count() == 2
    assert_frame_equal(mean.drop("note"), plain.drop("note"))


@pytest.mark.parametrize("test", ["corrected_t", "friedman", "nemenyi"])
def test_rows_without_a_fold_or_a_score_are_dropped(test: str) -> None:
    """Dropped rows are counted, and change no value; also in a table with a row per model."""
    rows = ROWS.with_columns(
        fold=pl.when(pl.col("k") % 10 != 0).then("fold"),
        # All models are evaluated on the same rows of a fold.
        b=pl.when(pl.col("k") % 7 != 0).then("b"),
    )
    whole = rows.drop_nulls(["fold", "b"])
    # The mean over the folds of all slices leaves them out, too.
    scan: dict[str, Any] = {"over": "fold", "by": "g", "sets": "overall"}
    # The tests read the same values of folds, whatever the metric.
    metrics = ["roc_auc", "log_loss", "f1"] if test == "corrected_t" else ["roc_auc"]
    expected = compare(whole, metrics, scan, test=test)
    found = compare(rows, metrics, scan | {"nulls": "drop"}, test=test)
    overall = found.filter(by="overall")
    assert overall["n_dropped"].unique().to_list() == [rows.height - whole.height]
    assert_frame_equal(found.drop("n_dropped"), expected.drop("n_dropped"))
    if test != "corrected_t":
        return  # the rest is the same for all tests
    long = rows.unpivot(["a", "b", "c"], index=["k", "y", "fold", "g"], variable_name="m",
        value_name="p")  # fmt: skip
    keyed = {"score": "p", "nulls": "drop"} | scan
    of_long = compare(long, metrics, keyed, model="m", key="k", test=test)
    assert_frame_equal(of_long, found)
    none = rows.with_columns(fold=pl.when(pl.col("g") == "s").then("fold"))
    scan = {"over": "fold", "by": "g", "nulls": "drop"}
    lost = compare(none, "roc_auc", scan, test=test).filter(g="t")
    assert lost["note"].to_list() == ["no row has a value of every model and a fold"] * 2


def test_a_row_without_a_fold_is_an_error() -> None:
    test, scan = "corrected_t", {"over": "fold"}
    message = "over='fold' is NULL or NaN in {} rows; each row needs a fold, or nulls='drop'"
    with pytest.raises(DataError, match=re.escape(message.format(40))):
        compare(
            ROWS.with_columns(fold=pl.when(pl.col("k") % 10 != 0).then("fold")),
            ["roc_auc", "log_loss", "f1"], scan, test=test,
        )  # fmt: skip
    floats = ROWS.with_columns(fold=pl.when(pl.col("k") > 3).then("fold").otherwise(float("nan")))
    with pytest.raises(DataError, match=re.escape(message.format(4))):
        compare(floats, "roc_auc", scan | {"by": "g", "sets": "overall"}, test=test)
    with pytest.raises(DataError, match=re.escape(message.format(12))):
        compare(
            LONG.with_columns(fold=pl.when(pl.col("k") > 3).then("fold")), "roc_auc",
            scan | {"score": "p"}, model="m", key="k", test=test,
        )  # fmt: skip


@pytest.mark.parametrize("test", ["corrected_t", "friedman", "nemenyi"])
def test_each_set_of_slices_has_its_folds(test: str) -> None:
    scan, metrics = {"over": "fold", "by": "g"}, ["roc_auc", "f1"][: 1 + (test == "corrected_t")]
    found = compare(ROWS, metrics, scan | {"sets": "overall"}, test=test, adjust=None)
    slices = compare(ROWS, metrics, scan, test=test, adjust=None)
    overall = compare(ROWS, metrics, {"over": "fold"}, test=test, adjust=None)
    assert found["p_value"].null_count() == 0
    assert_frame_equal(found.filter(by="g").drop("by"), slices)
    assert_frame_equal(found.filter(by="overall").drop("by", "g"), overall)


def test_folds_without_a_test_say_why() -> None:
    def explain(rows: pl.DataFrame, over: Any = "fold", test: str = "corrected_t") -> str:
        row = compare_one(rows, "log_loss", scan={"over": over}, test=test)
        assert (row["p_value"], row["low"], row["verdict"]) == (None, None, "no test")
        return str(row["note"])

    alike = "no test: the difference is the same in all folds"
    whole = "no test: a fold has all rows (of its repeat), so that no others train"
    few = ROWS.head(12).with_columns(fold=pl.int_range(12) % 3)
    assert explain(ROWS.with_columns(b="a")) == f"{alike}; mean over 6 folds"
    # Differences of equal losses have rounding errors that depend on the rows of the fold.
    equal = few.with_columns(a=0.3, b=0.6, y=pl.int_range(12) // 3 % 2)
    assert explain(equal) == f"{alike}; mean over 3 folds"
    assert explain(ROWS.with_columns(fold=1)) == "no test: 1 fold with a value"
    named = ROWS.with_columns(pl.col("g").fill_null("u"), fold=1)
    assert explain(named, ["g", "fold"]) == f"{whole}; mean over 3 folds"
    ranked = "no test: the models have equal ranks in all folds; values pooled over 6 folds"
    assert explain(ROWS.with_columns(b="a"), test="friedman") == ranked


def test_friedman_and_nemenyi_over_data_sets() -> None:
    values = fold_values()
    expected = stats.friedmanchisquare(*values.T)
    found = compare(ROWS, "roc_auc", {"over": "fold"}, test="friedman")
    assert found["statistic"].to_list() == pytest.approx([expected.statistic] * 2)
    assert found["p_value"].to_list() == pytest.approx([expected.pvalue] * 2)
    found = compare(ROWS, "roc_auc", {"over": "fold"}, test="nemenyi")
    ranks = stats.rankdata(-values, axis=1).mean(axis=0)
    distance = np.abs(ranks - ranks[0])[1:] / np.sqrt(3 * 4 / (6 * 6))
    p_values = stats.studentized_range.sf(distance * np.sqrt(2), 3, np.inf)
    assert found["p_value"].to_list() == pytest.approx(p_values.tolist(), rel=1e-3)
    critical = stats.studentized_range.ppf(0.95, 3, np.inf) / np.sqrt(2) * np.sqrt(12 / 36)
    assert f"differ if by {critical:.3g} or more" in found["note"][0]
    # Losses only reverse the ranks, so the p-values are the same.
    lower = compare(ROWS, "log_loss", {"over": "fold"}, test="nemenyi")
    assert (np.sign(lower["statistic"]) == -np.sign(lower["difference"])).all()


def test_equivalence_and_non_inferiority() -> None:
    own, baseline = losses(ROWS, "brier_score")
    for margin in (0.02, 0.2):
        row = compare_one(ROWS, "brier_score", margin=margin)
        p_value, *_ = ttost_paired(own, baseline, -margin, margin)
        assert row["p_value"] == pytest.approx(p_value, rel=1e-8)
        shown = "is equivalent to" if p_value < 0.05 else "is not shown equivalent to"
        assert f"b {shown} a within {margin:g}" in row["verdict"]
        assert (-margin < row["low"] and row["high"] < margin) == (p_value < 0.05)
        # Lower is better, so non-inferiority means a difference below the margin.
        row = compare_one(ROWS, "brier_score", margin=margin, alternative="greater")
        one = stats.ttest_rel(own, baseline + margin, alternative="less")
        assert row["p_value"] == pytest.approx(one.pvalue, rel=0.05, abs=1e-12)
        assert (row["low"], row["high"] < margin) == (-np.inf, row["p_value"] < 0.05)
    # The default metric prevalence is left out, because no direction of it is better.
    sqleval.scan(ROWS, label="y", score=MODELS).compare(margin=0.1, alternative="greater")
    metrics, two = ["roc_auc", "accuracy", "f1", "error_rate"], {"score": {"a": "a", "b": "b"}}
    for options, verdict in (
        ({"margin": 0.5, "alternative": "greater"}, "b is not inferior to a within 0.5"),
        ({"margin": 0.5}, "b is equivalent to a within 0.5"),
        ({"margin": 1e-3, "alternative": "greater"},
         "b is not shown non-inferior to a within 0.001"),
        ({"margin": 1e-3}, "b is not shown equivalent to a within 0.001"),
    ):  # fmt: skip
        found = compare(ROWS, metrics, two, **options)
        assert found["metric"].to_list() == metrics
        assert found["verdict"].str.contains(verdict, literal=True).all()


def test_p_values_are_adjusted_over_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gc.collect", lambda: 0)  # statsmodels collects garbage at each call
    rows = draw_models(700, 3).with_columns(g=pl.col("user") % 7)
    scan = {"by": "g", "sets": "overall"}
    none = compare(rows, ["roc_auc", "log_loss"], scan, adjust="none")
    assert none["p_adjusted"].to_list() == none["p_value"].to_list()
    for adjust in ("holm", "benjamini_hochberg", "bonferroni"):
        found = compare(rows, ["roc_auc", "log_loss"], scan, adjust=adjust)
        name = {"benjamini_hochberg": "fdr_bh"}.get(adjust, adjust)
        for key, part in found.group_by("metric", "model", "by"):
            expected = multipletests(part["p_value"].to_numpy(), method=name)[1]
            assert part["p_adjusted"].to_list() == pytest.approx(expected.tolist()), (adjust, key)


#: One metric per test; gini and error_rate are compared with references above.
ALL = ["roc_auc", "log_loss", "accuracy", "f1"]


@pytest.mark.parametrize(("test", "metrics", "over"), [
    (None, ALL, False), ("bootstrap", "log_loss", False),
    ("wilcoxon", "log_loss", False), ("mcnemar_exact", "accuracy", False),
    ("corrected_t", ["roc_auc", "f1"], True), ("nemenyi", "roc_auc", True),
])  # fmt: skip
def test_models_that_change_places(test: str | None, metrics: Any, over: bool) -> None:
    scan = {"score": {"a": "a", "b": "b"}, "by": "g", "over": "fold" if over else ()}
    one = compare(ROWS, metrics, scan, test=test, adjust=None)
    other = compare(ROWS, metrics, scan, test=test, baseline="b", adjust=None)
    assert other["baseline"].unique().to_list() == ["b"]
    assert other["value"].to_list() == one["baseline_value"].to_list()
    assert other["p_value"].to_list() == pytest.approx(one["p_value"].to_list(), rel=1e-9)
    turned = other.with_columns(low=-pl.col("high"), high=-pl.col("low"))
    for name, sign in (("difference", -1), ("low", 1), ("high", 1)):
        assert_series_equal(turned[name] * sign, one[name], rel_tol=1e-9, abs_tol=1e-12)
    signed = ~one["method"].str.contains("McNemar")
    found = -other["statistic"].filter(signed)
    assert_series_equal(found, one["statistic"].filter(signed), rel_tol=1e-9, abs_tol=1e-12)


def test_long_and_wide_tables_are_equal() -> None:
    metrics = ["roc_auc", "log_loss", "accuracy", "f1"]
    scan = {"by": "g", "sets": "overall"}
    wide = compare(ROWS, metrics, scan)
    shuffled = LONG.sample(fraction=1, shuffle=True, seed=2)
    long = compare(shuffled, metrics, scan | {"score": "p"}, model="m", key="k")
    assert_frame_equal(long, wide)
    several = shuffled.with_columns(k=pl.col("k") // 7, part=pl.col("k") % 7)
    for keyed, key in (
        (several, ["k", "part"]), (shuffled, "concat('row ', k)"), (several, ["part", "k + 1"]),
    ):  # fmt: skip
        found = compare(keyed, metrics, scan | {"score": "p"}, model="upper(m)", key=key)
        upper = [pl.col(name).str.to_uppercase() for name in ("model", "baseline")]
        assert_frame_equal(found.drop("verdict"), wide.drop("verdict").with_columns(upper))
    for metric, options in (
        ("f1", {"cluster": "user"}), ("accuracy", {"paired": True, "ci": 0.8, "baseline": "c"}),
    ):  # fmt: skip
        wide = compare(ROWS, metric, **options)
        long = compare(LONG, metric, {"score": "p"}, model="m", key="k", **options)
        assert_frame_equal(long, wide)
    weighted = {"weight": "w", "where": "user < 60"}
    assert_frame_equal(
        compare(LONG, ["f1"], weighted | {"score": "p"}, model="m", key="k"),
        compare(ROWS, ["f1"], weighted),
    )
    over = {"over": "fold"}
    assert_frame_equal(
        compare(LONG, ["f1"], over | {"score": "p"}, model="m", key="k", test="corrected_t"),
        compare(ROWS, ["f1"], over, test="corrected_t"),
    )


def test_different_rows_per_model() -> None:
    first, second = draw_models(300, 5), draw_models(200, 6)
    rows = pl.concat(
        [first.select("y", p="a", m=pl.lit("before")), second.select("y", p="c", m=pl.lit("after"))]
    )
    scan = {"score": "p"}
    row = compare(rows, "roc_auc", scan, model="m", paired=False, replicates=300).row(0, named=True)
    # The baseline is the first model in alphabetical order.
    assert (row["baseline"], row["model"], row["n"]) == ("after", "before", 500)
    variance = 0.0
    for part, name in ((first, "a"), (second, "c")):
        variance += compute_delong(part["y"].to_numpy(), part[name].to_numpy()[None])[1].item()
    half = stats.norm.ppf(0.975) * np.sqrt(variance)
    assert (row["high"] - row["low"]) / 2 == pytest.approx(half, rel=0.15)
    other = compare(
        rows, "roc_auc", scan, model="m", paired=False, baseline="before", replicates=300
    ).row(0, named=True)
    assert (other["low"], other["high"]) == pytest.approx((-row["high"], -row["low"]), rel=1e-9)


def test_multiclass_models() -> None:
    rng = np.random.default_rng(4)
    truth = rng.choice(["x", "y", "z"], 300)
    right = [rng.random(300) < share for share in (0.7, 0.5)]
    guess = [np.where(hit, truth, rng.choice(["x", "y", "z"], 300)) for hit in right]
    rows = pl.DataFrame({"y": truth, "a": guess[0], "b": guess[1]})
    scan = {"score": None, "prediction": {"a": "a", "b": "b"}, "task": "multiclass"}
    found = compare(rows, ["accuracy", "f1(average='macro')"], scan, replicates=300)
    wins = ((guess[1] == truth) & (guess[0] != truth)).sum()
    losses = ((guess[0] == truth) & (guess[1] != truth)).sum()
    expected = mcnemar([[0, wins], [losses, 0]], exact=False, correction=True)
    assert found["p_value"][0] == pytest.approx(expected.pvalue)
    picks = rng.integers(0, 300, (300, 300))

    def average_f1(guess: np.ndarray) -> np.ndarray:
        # Like scikit-learn's, but without its checks of the input, which take most of the time.
        pairs = [(truth[picks] == name, guess[picks] == name) for name in "xyz"]
        hits = [2 * (t & g).sum(axis=1) / (t.sum(axis=1) + g.sum(axis=1)) for t, g in pairs]
        return np.mean(hits, axis=0)

    drawn = average_f1(guess[1]) - average_f1(guess[0])
    first = picks[0]
    assert average_f1(guess[0])[0] == pytest.approx(
        f1_score(truth[first], guess[0][first], average="macro")
    )
    half = stats.norm.ppf(0.975) * np.std(drawn)
    assert (found["high"] - found["low"])[1] / 2 == pytest.approx(half, rel=0.17)


def test_filters_and_columns_of_a_lazy_comparison() -> None:
    bound = sqleval.scan(ROWS, label="y", score=MODELS, by="g")
    lazy = bound.compare(["roc_auc", "f1"], replicates=100)
    found = lazy.collect()
    assert list(found.columns) == ["g", *COLUMNS]
    # As in other results, rows are sorted by slice, then by model.
    slices = [("s", "b"), ("s", "c"), ("t", "b"), ("t", "c"), (None, "b"), (None, "c")]
    assert found.select("g", "model").unique(maintain_order=True).rows() == slices
    assert found["metric"].to_list() == ["roc_auc", "f1"] * 6
    assert_frame_equal(lazy.filter(g="s").collect(), found.filter(g="s"))
    # Polars applies conditions that are not on slice keys; without the metric of the bootstrap.
    lazy = bound.compare(["roc_auc", "accuracy"], replicates=100)
    other = lazy.collect()
    is_worse = pl.col("p_adjusted") < 0.05
    assert_frame_equal(lazy.filter(is_worse).collect(), other.filter(is_worse))
    assert_frame_equal(
        lazy.select("verdict", "p_value").collect(), other.select("verdict", "p_value")
    )
    assert_frame_equal(lazy.head(3).collect(), other.head(3))
    # The rows of a slice by themselves give the values of the slice.
    alone = compare(ROWS.filter(g="s"), ["roc_auc", "f1"], adjust=None)
    kept = ["metric", "model", "difference", "low", "high", "p_value"]
    assert_frame_equal(alone.select(kept), found.filter(g="s").select(kept), rel_tol=1e-9)
