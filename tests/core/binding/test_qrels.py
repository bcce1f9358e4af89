"""Judgements (qrels) that are joined to the rows of a ranking by query and document."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import sqleval
from sqleval.errors import DataError, RequestError, UnmatchedRows
from tests.support.commands import run
from tests.support.rankings import list_values

ON = ["q", "doc"]
ROLES: dict[str, Any] = {"label": "y", "qid": "q", "on": ON}


def draw_run(queries: int = 40, documents: int = 12, seed: int = 0) -> pl.DataFrame:
    """Return the lists of two models on two days; each lacks some documents, and some queries."""
    rng = np.random.default_rng(seed)
    every = (
        pl.DataFrame({"day": [1, 2]})
        .join(pl.DataFrame({"q": range(queries)}), how="cross")
        .join(pl.DataFrame({"doc": [f"d{i}" for i in range(documents)]}), how="cross")
    )
    rows = every.filter(pl.Series(rng.random(every.height) < 0.6), pl.col("q") % 10 > 0)
    rows = rows.with_columns(
        a=pl.Series(rng.normal(size=rows.height).round(1)),
        b=pl.Series(rng.normal(size=rows.height).round(1)),
        lang=pl.when(pl.col("q") % 3 == 0).then(pl.lit("de")).otherwise(pl.lit("en")),
    )
    return rows.filter((pl.col("day") == 1) | (pl.col("q") < 30))


def draw_qrels(queries: int = 40, documents: int = 12, seed: int = 1) -> pl.DataFrame:
    """Return judgements of half of all documents, with a relevant one in most queries."""
    rng = np.random.default_rng(seed)
    pairs = pl.DataFrame({"q": range(queries)}).join(
        pl.DataFrame({"doc": [f"d{i}" for i in range(documents)]}), how="cross"
    )
    judged = pairs.filter(pl.Series(rng.random(pairs.height) < 0.5))
    return judged.with_columns(y=pl.Series(rng.integers(0, 4, judged.height)))


RUN, QRELS = draw_run(), draw_qrels()
ONE_DAY = RUN.filter(day=1)


def join(rows: pl.DataFrame, qrels: pl.DataFrame = QRELS) -> pl.DataFrame:
    """Return one list per query, with the judged documents that it lacks."""
    return rows.join(qrels, on=ON, how="full", coalesce=True)


def mean(rows: pl.DataFrame, score: str = "a", k: int | None = None) -> float:
    return float(np.mean([*list_values(rows, score, k).values()]))


def scan(rows: Any = ONE_DAY, qrels: Any = QRELS, score: Any = "a", **roles: Any) -> Any:
    return sqleval.scan(rows, labels=qrels, score=score, **(ROLES | roles))


def test_values_of_trec_eval() -> None:
    """Query 1 lacks a relevant document, query 3 lacks all; made with trec_eval -c 9.0.8."""
    rows = pl.DataFrame(
        {"q": ["1", "1", "1", "2", "2"], "doc": [*"abcad"], "a": [3.0, 2.0, 1.0, 1.0, 0.5]}
    )
    qrels = pl.DataFrame({"q": ["1", "1", "1", "2", "3"], "doc": [*"aczqa"], "y": [1, 1, 2, 1, 1]})
    found = scan(rows, qrels).evaluate(["ndcg", "ndcg(k=2)"]).collect()
    assert found["value"].to_list() == pytest.approx([0.1596969716198995, 0.12669792223864476])
    note = "not retrieved: 3 of 8 items, 3 of them only in the labels; not judged: 3 of 8 items"
    assert set(found.select("n", "n_dropped", "note").rows()) == {(8, 0, note)}


@pytest.mark.parametrize("k", [None, 3])
@pytest.mark.parametrize("kind", ["frames", "files", "streams", "drop", "state"])
def test_items_without_a_row_are_not_retrieved(kind: str, k: int | None, tmp_path: Path) -> None:
    metric = "ndcg" if k is None else f"ndcg(k={k})"
    joined = join(ONE_DAY)
    rows: Any = ONE_DAY
    qrels: Any = QRELS
    if kind == "files":
        rows, qrels = tmp_path / "run.csv", tmp_path / "qrels.parquet"
        ONE_DAY.write_csv(rows)
        QRELS.write_parquet(qrels)
    if kind == "streams":
        rows, qrels = ONE_DAY.to_arrow().to_reader(), QRELS.to_arrow().to_reader()
    bound = scan(rows, qrels, nulls="drop" if kind == "drop" else "error")
    if kind == "state":
        bound = sqleval.from_state(bound.state(metric).collect())
    (row,) = bound.evaluate(metric).collect().iter_rows(named=True)
    assert row["value"] == pytest.approx(mean(joined, "a", k), rel=1e-12)
    assert (row["n"], row["n_dropped"]) == (joined.height, 0)
    added = joined["a"].null_count()
    if kind != "state":
        assert row["note"].endswith(
            f"not retrieved: {added} of {joined.height} items, {added} of them only in the labels; "
            f"not judged: {joined['y'].null_count()} of {joined.height} items"
        )


@pytest.mark.parametrize("plan", ["by", "over", "sets"])
def test_each_query_of_a_slice_is_a_list(plan: str) -> None:
    """A query without rows has no slice: its key is NULL."""
    lists = {day: join(part, QRELS.filter(pl.col("q").is_in(part["q"].implode())))
             for (day,), part in RUN.partition_by("day", as_dict=True).items()}  # fmt: skip
    lacking = QRELS.filter(~pl.col("q").is_in(RUN["q"].implode())).with_columns(
        a=pl.lit(None, pl.Float64)
    )
    expected = {day: mean(rows) for day, rows in lists.items()} | {None: mean(lacking)}
    assert expected[None] == 0
    if plan == "over":
        found = scan(RUN, over="day").evaluate("ndcg(reduce='difference')").collect()
        days = list(expected.values())
        assert found["value"].item() == pytest.approx(max(days) - min(days), rel=1e-12)
        return
    sets = {"sets": [["day"]]} if plan == "sets" else {}
    found = scan(RUN, by="day", **sets).evaluate("ndcg").collect()
    assert dict(found.select("day", "value").iter_rows()) == pytest.approx(expected)
    sizes = {day: rows.height for day, rows in lists.items()} | {None: lacking.height}
    assert dict(found.select("day", "n").iter_rows()) == sizes


def test_a_slice_key_that_labels_have_is_a_key_of_the_join() -> None:
    qrels = pl.concat([QRELS.with_columns(day=pl.lit(1)), QRELS[:100].with_columns(day=pl.lit(2))])
    found = scan(RUN, qrels, by="day", on=["q", "doc", "day"]).evaluate("ndcg").collect()
    expected = {
        day: mean(join(RUN.filter(day=day), qrels.filter(day=day).drop("day"))) for day in (1, 2)
    }
    assert dict(found.select("day", "value").iter_rows()) == pytest.approx(expected)


def test_a_condition_chooses_rows_before_items_are_added() -> None:
    for where, rows, queries in (
        ("lang = 'de'", ONE_DAY.filter(lang="de"), None),
        ("doc <> 'd1'", ONE_DAY.filter(pl.col("doc") != "d1"), None),
        ("q < 25", ONE_DAY.filter(pl.col("q") < 25), range(25)),
    ):
        kept = rows["q"].unique().to_list() if queries is None else list(queries)
        if where.startswith("doc"):  # the key decides on the queries without rows as well
            lacking = QRELS.filter(~pl.col("q").is_in(kept), pl.col("doc") != "d1")
            qrels = pl.concat([QRELS.filter(pl.col("q").is_in(kept)), lacking])
        else:
            qrels = QRELS.filter(pl.col("q").is_in(kept))
        found = scan(where=where).evaluate("ndcg").collect()
        joined = join(rows, qrels)
        assert found["n"].item() == joined.height, where
        assert found["value"].item() == pytest.approx(mean(joined), rel=1e-12), where


def test_models_and_intervals() -> None:
    joined = join(ONE_DAY)
    two = scan(score={"a": "a", "b": "b"})
    differences = np.array([*list_values(joined, "b").values()]) - np.array(
        [*list_values(joined, "a").values()]
    )
    expected = stats.ttest_1samp(differences, 0)
    row = two.compare("ndcg").collect().row(0, named=True)
    assert row["difference"] == pytest.approx(differences.mean(), rel=1e-10)
    assert row["p_value"] == pytest.approx(expected.pvalue, rel=1e-8)
    assert row["n"] == joined.height
    board = two.leaderboard("ndcg").collect()
    means = {name: mean(joined, name) for name in "ab"}
    assert dict(board.select("model", "value").iter_rows()) == pytest.approx(means)
    values = np.array([*list_values(joined, "a").values()])
    ends = stats.t.interval(0.95, len(values) - 1, values.mean(), stats.sem(values))
    found = scan().evaluate("ndcg", ci=0.95).collect()
    assert found.select("low", "high").row(0) == pytest.approx(ends, rel=1e-3)
    drawn = scan().evaluate("ndcg", ci=0.95, ci_method="bootstrap").collect()
    assert drawn.select("low", "high").row(0) == pytest.approx(ends, abs=np.ptp(ends) / 10)
    clusters = scan(ONE_DAY.with_columns(u=pl.col("q") // 2), QRELS.filter(pl.col("q") % 10 > 0))
    assert clusters.evaluate("ndcg", ci=0.95, cluster="u").collect()["low"].item() > 0


def test_keys_of_other_types_are_compared_as_they_are_written() -> None:
    texts = QRELS.with_columns(pl.col("q").cast(pl.String))
    found = scan(qrels=texts).evaluate("ndcg").collect()
    assert found["value"].item() == pytest.approx(mean(join(ONE_DAY)), rel=1e-12)
    small = QRELS.with_columns(pl.col("q").cast(pl.Int16))
    found = scan(qrels=small, by="q").evaluate("ndcg").collect()
    assert found.height == 40
    with pytest.raises(RequestError, match=r"on='q' is BIGINT in the source and VARCHAR in labels"):
        scan(qrels=texts, by="q")


def test_repeats_are_named_by_all_keys() -> None:
    again = pl.concat([QRELS, QRELS[:3]])
    with pytest.raises(DataError, match=r"labels= repeats keys: on=\['q', 'doc'\] has 3 repeats"):
        scan(qrels=again).evaluate("ndcg").collect()
    # Documents of different queries are no repeats.
    assert QRELS["doc"].n_unique() < QRELS.height


def test_other_tasks_join_by_several_keys() -> None:
    rows = RUN.with_columns(y=(pl.col("a") + pl.col("b") > 0).cast(int))
    labels = rows.select("day", "q", "doc", "y")[5:]
    bound = sqleval.scan(rows.drop("y"), labels=labels, label="y", score="a", on=["day", *ON])
    with pytest.warns(UnmatchedRows, match=rf"5 of {rows.height} rows have no label yet"):
        found = bound.evaluate("roc_auc").collect()
    expected = sqleval.scan(rows[5:], label="y", score="a").evaluate("roc_auc").collect()
    assert found["value"].item() == pytest.approx(expected["value"].item(), rel=1e-12)
    assert found["n_dropped"].item() == 5


def test_wrong_keys() -> None:
    for on, message in (
        ([], "labels= and on= go together"),
        (["q", "q"], "on= names 'q' twice"),
        (["q", "dok"], "on='dok': no such column in the DataFrame; did you mean 'doc'"),
        (5, "on=5 must be the name of a column, or a list of names"),
    ):
        with pytest.raises(RequestError, match=message):
            scan(on=on)


def test_the_command_joins_by_several_keys(tmp_path: Path) -> None:
    rows, qrels = str(tmp_path / "run.csv"), str(tmp_path / "qrels.csv")
    ONE_DAY.write_csv(rows)
    QRELS.write_csv(qrels)
    roles = ["--label", "y", "--score", "a", "--qid", "q", "--labels", qrels, "-m", "ndcg"]
    for on in (["--on", "q,doc"], ["--on", "q", "--on", "doc"]):
        done = run("evaluate", rows, *roles, *on, "--format", "csv")
        assert f"{mean(join(ONE_DAY)):.6f}"[:7] in done.stdout
        assert "of them only in the labels" in done.stdout
        assert done.stderr == ""
