"""Rankings whose items were not retrieved (no score) or not judged (no label), on every path."""

import math
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from scipy import stats

import sqleval
from sqleval.errors import DataError
from tests.support.commands import run
from tests.support.rankings import GAPS, draw_means, list_values, scan

#: 1 0 1 1, of which the last two are not retrieved: 1 / (1 + 1 / log2 3 + 1 / 2).
FOUR = pl.DataFrame({"q": [1] * 4, "y": [1, 0, 1, 1], "a": [0.9, 0.8, None, None]})
BEST = 1 + 1 / math.log2(3) + 1 / 2
TWO = {"a": "a", "b": "b"}


@pytest.mark.parametrize("nulls", ["error", "drop"])
def test_items_without_a_score_count_among_the_relevant(nulls: str) -> None:
    found = scan(FOUR, nulls=nulls).evaluate(["ndcg", "ndcg(k=1)", "ndcg(k=2)"]).collect()
    expected = [1 / BEST, 1.0, 1 / (1 + 1 / math.log2(3))]
    assert found["value"].to_list() == pytest.approx(expected, rel=1e-12)
    assert set(found.select("n", "n_dropped", "note").rows()) == {
        (4, 0, "not retrieved: 2 of 4 items")
    }


def test_an_item_without_a_label_keeps_its_place() -> None:
    rows = pl.DataFrame({"q": [1] * 3, "y": [None, 1, 0], "a": [0.9, 0.8, 0.7]})
    (row,) = scan(rows).evaluate("ndcg").collect().iter_rows(named=True)
    assert row["value"] == pytest.approx(1 / math.log2(3), rel=1e-12)
    assert row["note"] == "not judged: 1 of 3 items"
    none = pl.DataFrame({"q": [1], "y": [None], "a": [None]}, {"q": int, "y": int, "a": float})
    (row,) = scan(none).evaluate("ndcg").collect().iter_rows(named=True)
    assert row["value"] is None
    assert row["note"] == (
        "undefined for all queries; not retrieved: 1 of 1 items; not judged: 1 of 1 items"
    )


def test_infinite_scores_have_places_before_items_without_a_score() -> None:
    rows = pl.DataFrame({"q": [1] * 3, "y": [0, 1, 1], "a": [0.5, -math.inf, None]})
    value = scan(rows).evaluate("ndcg").collect()["value"].item()
    assert value == pytest.approx(1 / math.log2(3) / (1 + 1 / math.log2(3)), rel=1e-12)


def test_nan_is_missing_all_the_same() -> None:
    rows = FOUR.with_columns(a=pl.Series([0.9, 0.8, None, math.nan]))
    with pytest.raises(DataError, match=r"score='a' is NaN in 1 of 4 rows"):
        scan(rows).evaluate("ndcg").collect()
    (row,) = scan(rows, nulls="drop").evaluate("ndcg").collect().iter_rows(named=True)
    assert (row["n"], row["n_dropped"]) == (3, 1)
    assert row["value"] == pytest.approx(1 / (1 + 1 / math.log2(3)), rel=1e-12)
    unnamed = FOUR.with_columns(q=pl.Series([1, 1, 1, None]))
    with pytest.raises(DataError, match=r"qid='q' is NULL or NaN in 1 of 4 rows"):
        scan(unnamed).evaluate("ndcg").collect()


@pytest.mark.parametrize("k", [None, 3])
def test_rows_slices_states_and_streams_agree(k: int | None) -> None:
    metric = "ndcg" if k is None else f"ndcg(k={k})"
    expected = np.mean([*list_values(GAPS, "a", k).values()])
    state = scan(GAPS, by="g").state(metric).collect()
    merged = sqleval.from_state(state, by=[])
    parts = [scan(each).state(metric).collect() for each in (GAPS[:240], GAPS[240:])]
    reader = GAPS.to_arrow().to_reader()
    for each in (
        scan(GAPS),
        scan(GAPS, nulls="drop"),
        scan(GAPS.lazy()),
        scan(reader),
        merged,
        sqleval.from_state(pl.concat(parts)),
    ):
        (row,) = each.evaluate(metric).collect().iter_rows(named=True)
        assert row["value"] == pytest.approx(expected, rel=1e-12)
        assert (row["n"], row["n_dropped"]) == (480, 0)
    sliced = scan(GAPS, by="g").evaluate(metric).collect()
    for group, value, n, note in sliced.select("g", "value", "n", "note").iter_rows():
        rows = GAPS.filter(g=group)
        assert value == pytest.approx(np.mean([*list_values(rows, "a", k).values()]), rel=1e-12)
        counts = rows.null_count().row(0, named=True)
        assert n == rows.height
        assert note.endswith(
            f"not retrieved: {counts['a']} of {n} items; not judged: {counts['y']} of {n} items"
        )


def test_replicates_draw_queries_with_items_not_retrieved() -> None:
    values = [np.array([each]) for each in list_values(GAPS, "a").values()]
    found = scan(GAPS).evaluate("ndcg", ci=0.95, ci_method="percentile", replicates=4_000).collect()
    low, high = np.quantile(draw_means(values), [0.025, 0.975])
    assert found["low"].item() == pytest.approx(low, abs=(high - low) / 20)
    assert found["high"].item() == pytest.approx(high, abs=(high - low) / 20)


@pytest.mark.parametrize("nulls", ["error", "drop"])
def test_models_that_retrieved_different_items_share_the_relevant_ones(nulls: str) -> None:
    a, b = (list_values(GAPS, name) for name in "ab")
    assert a.keys() == b.keys()
    differences = np.array([b[query] - a[query] for query in a])
    expected = stats.ttest_1samp(differences, 0)
    wide = scan(GAPS, TWO, nulls=nulls).compare("ndcg").collect().row(0, named=True)
    index = ["k", "q", "u", "g", "y"]
    long = GAPS.unpivot(["a", "b"], index=index, variable_name="m", value_name="p")
    keyed = scan(long, "p").compare("ndcg", model="m", key="k").collect().row(0, named=True)
    # A list has only the items that its model retrieved.
    short = scan(long.drop_nulls("p"), "p").compare("ndcg", model="m", key="k").collect()
    for row in (wide, keyed):
        assert row["difference"] == pytest.approx(differences.mean(), rel=1e-10)
        assert row["p_value"] == pytest.approx(expected.pvalue, rel=1e-8)
        assert (row["n"], row["n_dropped"]) == (480, 0)
    seen = GAPS.filter(pl.col("a").is_not_null() | pl.col("b").is_not_null())
    a, b = (list_values(seen, name) for name in "ab")
    differences = np.array([b[query] - a[query] for query in a])
    assert short["difference"].item() == pytest.approx(differences.mean(), rel=1e-10)
    board = scan(GAPS, TWO, nulls=nulls).leaderboard("ndcg").collect()
    means = {name: np.mean([*list_values(GAPS, name).values()]) for name in "ab"}
    assert dict(board.select("model", "value").iter_rows()) == pytest.approx(means)


def test_the_command_and_the_macro_agree(tmp_path: Any) -> None:
    path = tmp_path / "rows.csv"
    FOUR.write_csv(path)
    done = run("evaluate", str(path), "--label", "y", "--score", "a", "--qid", "q", "-m", "ndcg")
    assert "0.4692" in done.stdout
    assert "not retrieved: 2 of 4 items" in done.stdout
    con = duckdb.connect()
    con.execute(run("macros").stdout)
    con.register("four", FOUR.to_arrow())
    con.register("gaps", GAPS.to_arrow())
    for table, rows in (("four", FOUR), ("gaps", GAPS)):
        found = con.execute(f"SELECT value, n, n_dropped FROM sqleval.ndcg('{table}', y, a, q)")
        ((value, n, n_dropped),) = found.fetchall()
        assert value == pytest.approx(np.mean([*list_values(rows, "a").values()]), rel=1e-12)
        assert (n, n_dropped) == (rows.height, 0)
