"""Rankings of two models, compared by query."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from sqleval.errors import RequestError
from tests.support.commands import run
from tests.support.rankings import (
    RANKED,
    draw_means,
    draw_rankings,
    list_differences,
    list_values,
    scan,
)

TWO = {"a": "a", "b": "b"}


def compare(rows: pl.DataFrame = RANKED, metric: str = "ndcg", **options: Any) -> dict[str, Any]:
    roles = options.pop("roles", {"score": TWO})
    return scan(rows, **roles).compare(metric, **options).collect().row(0, named=True)


@pytest.mark.parametrize("k", [None, 3])
def test_the_paired_t_test_is_over_queries(k: int | None) -> None:
    differences = list_differences(k=k)
    expected = stats.ttest_1samp(differences, 0)
    row = compare(metric="ndcg" if k is None else f"ndcg(k={k})")
    assert row["method"] == "paired t-test over queries"
    assert row["difference"] == pytest.approx(differences.mean(), rel=1e-10)
    assert row["statistic"] == pytest.approx(expected.statistic, rel=1e-10)
    assert row["p_value"] == pytest.approx(expected.pvalue, rel=1e-8)
    ends = expected.confidence_interval(0.95)
    assert [row["low"], row["high"]] == pytest.approx([*ends], rel=1e-10)
    assert row["note"] == "undefined for 2 of 60 queries"
    greater = compare(alternative="greater", metric="ndcg(k=3)" if k else "ndcg")
    one_sided = stats.ttest_1samp(differences, 0, alternative="greater")
    assert greater["p_value"] == pytest.approx(one_sided.pvalue, rel=1e-8)


def test_the_rank_test_is_over_queries() -> None:
    row = compare(test="wilcoxon")
    expected = stats.wilcoxon(list_differences(), method="approx", correction=False)
    assert row["method"].startswith("Wilcoxon signed-rank test over queries")
    assert row["p_value"] == pytest.approx(expected.pvalue, rel=1e-6)


def test_slices_have_their_own_queries_and_adjusted_p_values() -> None:
    found = scan(score=TWO, by="g").compare("ndcg").collect()
    parts = [list_differences(RANKED.filter(g=name)) for name in "st"]
    p_values = [stats.ttest_1samp(each, 0).pvalue for each in parts]
    assert found["p_value"].to_list() == pytest.approx(p_values, rel=1e-8)
    holm = np.maximum.accumulate(np.sort(p_values) * [2, 1])[np.argsort(np.argsort(p_values))]
    assert found["p_adjusted"].to_list() == pytest.approx(holm, rel=1e-8)
    assert found["n"].to_list() == [160, 320]


def test_replicates_draw_queries_with_both_values() -> None:
    differences = list_differences()
    drawn = draw_means([np.array([each]) for each in differences])
    row = compare(test="bootstrap", replicates=4000)
    width = drawn.std() * stats.t.ppf(0.975, len(differences) - 1)
    assert row["method"] == "paired bootstrap, 4,000 replicates"
    assert row["high"] - row["low"] == pytest.approx(2 * width, rel=0.05)
    assert (row["low"] + row["high"]) / 2 == pytest.approx(differences.mean(), abs=width / 20)


def test_clusters_are_left_out_or_drawn() -> None:
    values = dict(zip(list_values(RANKED, "a"), list_differences(), strict=True))
    users = [
        np.array([values[q] for q in range(3 * u, 3 * u + 3) if q in values]) for u in range(20)
    ]
    whole = np.concatenate(users).mean()
    without = [np.concatenate(users[:u] + users[u + 1 :]).mean() for u in range(20)]
    error = np.sqrt(19 / 20 * ((np.array(without) - whole) ** 2).sum())
    row = compare(cluster="u")
    assert row["method"] == "paired jackknife, 20 blocks of clusters"
    assert row["statistic"] == pytest.approx(whole / error, rel=1e-8)
    row = compare(cluster="u", test="bootstrap", replicates=4000)
    assert "undefined for 2 of 60 queries; 20 blocks of clusters count as" in row["note"]
    width = draw_means(users).std() * stats.t.ppf(0.975, 19)
    assert row["high"] - row["low"] == pytest.approx(2 * width, rel=0.08)


def test_models_in_rows_are_matched_by_key_or_are_different_rows() -> None:
    index = ["k", "q", "u", "g", "y"]
    long = RANKED.unpivot(["a", "b"], index=index, variable_name="m", value_name="p")
    matched = compare(long, model="m", key="k", roles={"score": "p"})
    wide = compare()
    assert matched["p_value"] == pytest.approx(wide["p_value"], rel=1e-9)
    assert matched["low"] == pytest.approx(wide["low"], rel=1e-9)
    apart = compare(long, model="m", paired=False, roles={"score": "p"})
    a, b = ([*list_values(RANKED, name).values()] for name in "ab")
    expected = stats.ttest_ind(b, a, equal_var=False)
    assert apart["method"] == "Welch's t-test over queries"
    assert apart["statistic"] == pytest.approx(expected.statistic, rel=1e-10)
    assert apart["p_value"] == pytest.approx(expected.pvalue, rel=1e-8)
    drawn = compare(long, model="m", paired=False, test="bootstrap", roles={"score": "p"})
    assert drawn["low"] == pytest.approx(apart["low"], abs=(apart["high"] - apart["low"]) / 8)


def test_values_that_are_missing_for_a_model_leave_the_query_to_both() -> None:
    """Rows with NaN of one model are left out, and with them perhaps a query."""
    rows = RANKED.with_columns(b=pl.when(pl.col("q") != 7).then("b").otherwise(math.nan))
    row = compare(rows, roles={"score": TWO, "nulls": "drop"})
    rest = list_differences(RANKED.filter(pl.col("q") != 7))
    assert row["p_value"] == pytest.approx(stats.ttest_1samp(rest, 0).pvalue, rel=1e-8)
    assert row["n_dropped"] == 8


def test_groups_of_queries_are_compared_over_a_key() -> None:
    row = compare(metric="ndcg(reduce='smallest')", roles={"score": TWO, "over": "g"})
    values = [
        min(np.mean([*list_values(RANKED.filter(g=g), model).values()]) for g in "st")
        for model in "ba"
    ]
    assert [row["value"], row["baseline_value"]] == pytest.approx(values)
    assert row["method"].startswith("paired bootstrap")
    assert row["p_value"] < 0.05


def test_three_models_have_ranks() -> None:
    rows = RANKED.with_columns(c=pl.col("a") * 0.5 + pl.col("b"))
    found = scan(rows, {"a": "a", "b": "b", "c": "c"}).leaderboard("ndcg").collect()
    means = {m: np.mean([*list_values(rows, m).values()]) for m in "abc"}
    assert found["model"].to_list() == sorted(means, key=means.__getitem__, reverse=True)
    assert found["value"].to_list() == pytest.approx(sorted(means.values(), reverse=True))


@pytest.mark.parametrize(
    ("rows", "note"),
    [
        (RANKED.filter(pl.col("q") == 5), "no test: one query"),
        (
            RANKED.with_columns(b="a"),
            "no test: the values differ by the same amount in every query",
        ),
        (RANKED[:0], "no rows"),
        (RANKED[:8], "undefined for all queries"),
    ],
)
def test_without_a_test_the_note_says_why(rows: pl.DataFrame, note: str) -> None:
    row = compare(rows)
    assert (row["p_value"], row["note"]) == (None, note)


def test_tests_of_rows_are_refused() -> None:
    allowed = "allowed: paired_t, wilcoxon, bootstrap"
    for test in ("delong", "mcnemar"):
        with pytest.raises(RequestError, match=f"test='{test}' does not fit ndcg; {allowed}"):
            compare(test=test)


def test_the_command_compares_rankings(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    draw_rankings().write_parquet(path)
    roles = ["--label", "y", "--score", "a=a", "--score", "b=b", "--qid", "q", "-m", "ndcg"]
    done = json.loads(run("compare", str(path), *roles, "--format", "json").stdout)
    assert done[0]["p_value"] == pytest.approx(compare()["p_value"])
    done = run("compare", str(path), *roles, "--by", "g")
    assert "b is better than a by" in done.stdout
