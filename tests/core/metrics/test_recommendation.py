"""Metrics of recommended items: values of other libraries, ties, and every way to ask for them."""

import math
from itertools import permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import sqleval
from sqleval.errors import RequestError
from tests.support.commands import run

METRICS = ["catalogue_coverage", "item_popularity", "novelty", "exposure_gini"]
#: The items of each user in order; those in capitals were bought.
LISTS = (
    "lJocnakb", "nhOkcLjd", "eCanhLmO", "kEbGfdin", "mjanLocK", "NlMkajcE",
    "FOgBihnm", "LmFejIka", "CHAOEgiK", "kogHEmaN", "miaHfedk", "LefjmBoh",
)  # fmt: skip
#: What RecTools 0.19.0 (``AvgRecPopularity`` divided by the users, ``MeanInvUserFreq``,
#: ``CatalogCoverage``) and RecBole 1.2.1 (``GiniIndex``) say of them.
VALUES = {
    "item_popularity@3": 0.20138888888888887,
    "item_popularity@5": 0.19861111111111115,
    "novelty@3": 2.572250351249162,
    "novelty@5": 2.559388284420446,
    "catalogue_coverage@3": 14 / 15,
    "catalogue_coverage(items=40)@3": 0.35,
    "exposure_gini@3": 0.274074074074074,
    "exposure_gini@5": 0.19777777777777777,
    "exposure_gini(items=40)@3": 0.7277777777777777,
    "exposure_gini(items=40)@5": 0.6991666666666666,
}


def read_lists(lists: tuple[str, ...] = LISTS) -> pl.DataFrame:
    """Return the rows of lists that are written as texts."""
    rows = [
        (user, item.lower(), int(item.isupper()), -float(place))
        for user, items in enumerate(lists)
        for place, item in enumerate(items)
    ]
    return pl.DataFrame(rows, ["u", "i", "y", "p"], orient="row").with_columns(
        day=pl.lit("2026-01-01"),
        g=pl.when(pl.col("u") < 5).then(pl.lit("a")).otherwise(pl.lit("b")),
    )


def scan(rows: pl.DataFrame, **options: Any) -> sqleval.Predictions:
    """Return the rows as lists of recommended items."""
    return sqleval.scan(rows, **{"label": "y", "score": "p", "qid": "u", "item": "i"} | options)


def test_values_of_rectools_and_recbole() -> None:
    frame = scan(read_lists()).evaluate([*VALUES]).collect()
    assert frame["value"].to_list() == pytest.approx([*VALUES.values()], rel=1e-12)
    assert frame["note"].null_count() == frame.height


@pytest.mark.parametrize("seed", range(6))
def test_ties_are_the_mean_over_all_their_orders(seed: int) -> None:
    """The Gini coefficient is that of the mean numbers of exposures."""
    rng = np.random.default_rng(seed)
    rows = pl.DataFrame(
        [(u, i, int(y)) for u in range(4) for i, y in enumerate(rng.random(4) < 0.4)],
        ["u", "i", "y"], orient="row",
    ).with_columns(p=pl.Series(rng.integers(0, 2, 16)).cast(float))  # fmt: skip
    rows = rows.with_columns(y=pl.when(u=0, i=0).then(1).otherwise("y"))
    names = [f"{name}@2" for name in METRICS]
    value = dict(zip(names, scan(rows).evaluate(names).collect()["value"], strict=True))
    orders: list[list[tuple[int, ...]]] = []
    for items in rows.partition_by("u", maintain_order=True):
        best = [
            each.sort("p", descending=True, maintain_order=True)["i"].to_list()[:2]
            for each in (items[list(order)] for order in _permute(len(items)))
        ]
        orders.append([tuple(each) for each in best])
    users = rows.filter(y=1).group_by("i").len()
    n = rows.filter(y=1)["u"].n_unique()
    share = {i: count / n for i, count in users.rows()}
    chosen = [dict.fromkeys(range(4), 0.0) for _ in orders]
    for one, lists in zip(chosen, orders, strict=True):
        for each in lists:
            for item in each:
                one[item] += 1 / len(lists)
    popular = np.mean([sum(one[i] * share.get(i, 0) for i in one) / 2 for one in chosen])
    novel = np.mean(
        [sum(-one[i] * math.log2(share.get(i, 1 / n)) for i in one) / 2 for one in chosen]
    )
    distinct = [sorted({frozenset(each) for each in lists}, key=sorted) for lists in orders]
    covered = 0.0
    for together in product(*distinct):
        chance = math.prod(
            sum(frozenset(each) == one for each in lists) / len(lists)
            for one, lists in zip(together, orders, strict=True)
        )
        covered += chance * len(frozenset().union(*together)) / 4
    exposed = np.array([sum(one[i] for one in chosen) for i in range(4)])
    gini = np.abs(np.subtract.outer(exposed, exposed)).mean() / 2 / exposed.mean()
    assert [*value.values()] == pytest.approx([covered, popular, novel, gini], abs=1e-12)


def _permute(n: int) -> list[tuple[int, ...]]:
    return list(permutations(range(n)))


def test_slices_and_models_are_evaluated_by_themselves() -> None:
    rows = read_lists().with_columns(other=-pl.col("p"))
    names = [f"{name}@3" for name in METRICS]
    frame = scan(rows, score={"a": "p", "b": "other"}, by="g").evaluate(names).collect()
    assert frame.height == 16
    for (model, group), part in frame.partition_by("model", "g", as_dict=True).items():
        score = {"a": "p", "b": "other"}[str(model)]
        alone = scan(rows.filter(g=group), score=score).evaluate(names).collect()
        assert part["value"].to_list() == pytest.approx(alone["value"].to_list(), rel=1e-12)


def test_undefined_values_say_why() -> None:
    def explain(rows: pl.DataFrame, *names: str) -> list[str | None]:
        frame = scan(rows).evaluate(list(names)).collect()
        assert frame["value"].null_count() == frame.height
        return [note.split(";")[0] for note in frame["note"]]

    rows = read_lists()
    assert (
        explain(rows.with_columns(y=0), "item_popularity", "novelty") == ["no relevant items"] * 2
    )
    lost = rows.with_columns(p=pl.lit(None, pl.Float64))
    assert explain(lost, *METRICS[1:]) == ["no retrieved items"] * 3
    assert scan(lost).evaluate("catalogue_coverage").collect()["value"].item() == 0.0
    twice = pl.concat([rows, rows.head(1)])
    assert explain(twice, *METRICS) == ["an item occurs twice in a list"] * 4
    few = "the lists have more different items than items="
    assert explain(rows, "catalogue_coverage(items=14)", "exposure_gini(items=14)") == [few] * 2


def test_no_interval_and_no_test() -> None:
    bound = scan(read_lists().with_columns(b=pl.col("p") * 2), score={"a": "p", "b": "b"})
    why = "no interval: it is one value of all lists, not a mean over them"
    for options in ({}, {"ci_method": "bootstrap"}):
        frame = bound.evaluate(METRICS, ci=0.95, **options).collect()
        assert frame["note"].to_list() == [why] * 8
        assert frame["low"].null_count() == 8
    with pytest.raises(RequestError, match="catalogue_coverage is one value of all lists"):
        bound.compare("catalogue_coverage", baseline="a")
    with pytest.raises(RequestError, match="a state holds values of each list"):
        scan(read_lists()).state(["ndcg", "novelty"])
    with pytest.raises(RequestError, match="has no parameter 'empty'"):
        bound.evaluate("novelty(empty=0)")


def test_the_item_is_needed_and_checked() -> None:
    rows = read_lists()
    with pytest.raises(RequestError, match="item= is needed and not given"):
        sqleval.scan(rows, label="y", score="p", qid="u").evaluate("novelty")
    with pytest.raises(RequestError, match="item='it': no such column in the DataFrame"):
        scan(rows, item="it")
    gaps = rows.with_columns(i=pl.when(pl.col("i") != "a").then("i"))
    with pytest.raises(sqleval.DataError, match="item='i' is NULL or NaN in 8 of 96 rows"):
        scan(gaps).evaluate("novelty").collect()


def test_a_ranking_keeps_its_metrics_beside_the_item() -> None:
    rows = read_lists()
    names = ["ndcg", "map@3", "mrr(empty=0)"]
    plain = sqleval.scan(rows, label="y", score="p", qid="u")
    expected = plain.evaluate(names, ci=0.9).collect()
    assert_frame_equal(scan(rows).evaluate(names, ci=0.9).collect(), expected, rel_tol=1e-12)
    state = scan(rows).state("ndcg").collect()
    value = sqleval.from_state(state).evaluate("ndcg").collect()["value"][0]
    assert value == pytest.approx(expected["value"][0], rel=1e-12)


def test_the_catalogue_holds_judged_items_of_another_table() -> None:
    rows = read_lists().select("u", "i", "p")
    bought = pl.DataFrame({"u": [0, 0, 99], "i": ["a", "z", "y"], "y": [1, 1, 1]})
    frame = (
        sqleval.scan(rows, score="p", qid="u", item="i", labels=bought, label="y", on=["u", "i"])
        .evaluate(["catalogue_coverage@3", "item_popularity@3"])
        .collect()
    )
    # 15 items of the lists, z and y; a is in none of the first three places of two lists.
    first = read_lists().filter(pl.col("p") > -3)
    assert frame["value"][0] == pytest.approx(first["i"].n_unique() / 17, rel=1e-12)
    share = (first["i"] == "a").sum() / 3 / 2  # a was bought in one of two lists with a purchase
    assert frame["value"][1] == pytest.approx(share / 12, rel=1e-12)


def test_a_job_and_the_command(tmp_path: Path) -> None:
    read_lists().write_parquet(tmp_path / "lists.parquet")
    job = tmp_path / "job.yml"
    job.write_text(
        f"name: shop\nsource: {tmp_path / 'lists.parquet'}\nlabel: y\nscore: p\nqid: u\nitem: i\n"
        f"period: {{column: day, grain: day}}\nhistory: {tmp_path / 'history.duckdb'}\n"
        "metrics: [ndcg@3, catalogue_coverage@3, exposure_gini@3]\n"
        "gates: [catalogue_coverage@3 >= 0.9, exposure_gini@3 <= 0.2]\n"
    )
    result = run("run", str(job), code=1)
    assert "exposure_gini" in result.stdout
    options = ["--label", "y", "--score", "p", "--qid", "u", "--item", "i", "--format", "csv"]
    printed = run(
        "evaluate", str(tmp_path / "lists.parquet"), *options, "-m", "catalogue_coverage@3"
    )
    assert "catalogue_coverage(k=3),0.9333333333333333" in printed.stdout


def test_inspect_names_the_item() -> None:
    rows = read_lists().rename({"u": "qid", "i": "item_id", "y": "clicked", "p": "score"})
    for frame, named in ((rows, True), (rows.drop("qid"), False)):
        commands = [each.value for each in sqleval.inspect(frame) if each.check == "command"]
        assert ("item='item_id'" in commands[0]) == named
