"""Metrics of rankings: ties, items without score or label, and the values of other libraries."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import sqleval
from sqleval.errors import RequestError
from tests.support import rankings
from tests.support.commands import run
from tests.support.families import ranking_references as ref

_TYPES = {"q": pl.Int64, "y": pl.Int64, "p": pl.Float64}
#: trec_eval's measure, or its definition, beside each metric.
MEASURES: dict[str, ref.Measure] = {
    "precision_at_k": ref.from_trec("set_P"),
    "precision@3": ref.from_trec("P_3"),
    "recall@3": ref.from_trec("recall_3"),
    "f1@3": ref.f1(3),
    "hit_rate@1": ref.from_trec("success_1"),
    "hit_rate@3": ref.from_trec("success_3"),
    "map": ref.from_trec("map"),
    "map@3": ref.from_trec("map_cut_3"),
    "map(normalize='k')@3": ref.map_of_k(3),
    "mrr": ref.from_trec("recip_rank"),
    "mrr@3": ref.first_at(3),
    "r_precision": ref.from_trec("Rprec"),
    "bpref": ref.from_trec("bpref"),
    "rbp(p=0.5)": ref.rbp(0.5),
    "err": ref.err(),
    "err(largest=2)@3": ref.err(3, largest=2),
    "judged@3": lambda order, found: float(
        np.mean([label is not None for label in order.retrieved[:3]] or [np.nan])
    ),
}
#: Lists without ties: the labels in the order of the scores (- was not judged), then those of
#: items that were not retrieved.
LISTS = (
    "-2-1003|133", "200000002|2", "111003--3|3", "003100222-|", "3-300000|31", "301032-010|",
    "-23011--20|", "-3031-1000|", "-0-0-0-1-0|", "--03-03122|", "0-100-02--|", "0-0010120|3",
)  # fmt: skip
#: What ranx 0.3.21 and trec_eval (by ir-measures 0.4.3) say of them.
RANX = {
    "precision@5": 0.3666666666666667,
    "recall@5": 0.4138888888888889,
    "f1@5": 0.381511544011544,
    "f1_at_k": 0.5008047508047508,
    "hit_rate@1": 0.3333333333333333,
    "map@5": 0.25472222222222224,
    "mrr": 0.5618055555555556,
    "r_precision": 0.3444444444444445,
    "bpref": 0.3659722222222222,
    "rbp(p=0.95)": 0.14167410726480315,  # of labels 0 and 1
    "ndcg@5": 0.35113784860635394,
    "ndcg(gain='exponential')@5": 0.3358458301886376,  # ndcg_burges
}
#: The same with ``-l2``, where relevance begins at 2. It has no mean over some queries: a query
#: without relevant items counts 0.
RANX_FROM_2 = {
    "precision@5": 0.19999999999999998,
    "map": 0.3155616181657848,
    "mrr": 0.4583333333333333,
    "ndcg@5": 0.3054380732489276,
}
IR_MEASURES = {
    "map": 0.42255456349206355,
    "judged@5": 0.7833333333333335,
    "judged@20": 0.7796626984126985,
}
#: gdeval.pl, as ir-measures 0.4.3 has it, with 15 digits instead of 5.
GDEVAL = {
    "err@3": 0.16314697265625,
    "err@5": 0.184871419270833,
    "err": 0.210877446144346,
}


def read_lists(lists: tuple[str, ...]) -> pl.DataFrame:
    """Return the rows of lists that are written as texts."""
    rows: list[tuple[int, int | None, float | None]] = []
    for query, text in enumerate(lists):
        retrieved, _, lost = text.partition("|")
        for place, label in enumerate(retrieved):
            rows.append((query, None if label == "-" else int(label), -float(place)))
        rows += [(query, int(label), None) for label in lost]
    return pl.DataFrame(rows, _TYPES, orient="row")


def evaluate(rows: pl.DataFrame, metrics: list[str], **options: Any) -> list[float | None]:
    """Return the values of metrics of a ranking."""
    found = sqleval.scan(rows, label="y", score="p", qid="q", **options).evaluate(metrics)
    return found.collect()["value"].to_list()


def draw_small(seed: int) -> pl.DataFrame:
    """Return a list of up to seven items with ties, some of them not retrieved or not judged."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 8))
    label = [int(v) if v >= 0 else None for v in rng.integers(-1, 3, n)]
    label[int(rng.integers(n))] = 1
    score = [float(v) if v >= 0 else None for v in rng.integers(-1, 3, n)]
    return pl.DataFrame({"q": [seed] * n, "y": label, "p": score}, _TYPES)


@pytest.fixture(scope="module")
def small() -> pl.DataFrame:
    return pl.concat(map(draw_small, range(120)))


def test_ties_are_the_mean_over_all_their_orders(small: pl.DataFrame) -> None:
    """Each list is a slice of its own, so that no errors cancel."""
    bound = sqleval.scan(small, label="y", score="p", qid="q", by="q")
    frame = bound.evaluate([*MEASURES]).collect()
    values = dict(zip(MEASURES, frame.partition_by("metric", maintain_order=True), strict=True))
    for name, measure in MEASURES.items():
        for row in values[name].rows(named=True):
            items = small.filter(q=row["q"])
            expected = ref.expect(measure, items["y"].to_list(), items["p"].to_list())
            assert expected is not None
            if math.isnan(expected):
                assert row["value"] is None
            else:
                assert row["value"] == pytest.approx(expected, abs=1e-12), (name, items)


def test_values_of_ranx_trec_eval_and_gdeval() -> None:
    rows = read_lists(LISTS)
    for expected in (RANX, IR_MEASURES, GDEVAL):
        assert evaluate(rows, [*expected]) == pytest.approx([*expected.values()], rel=1e-12)


def test_the_least_relevance_is_a_parameter() -> None:
    names = [
        f"{name.partition('@')[0]}(min_relevance=2, empty=0)@{name.partition('@')[2]}".rstrip("@")
        for name in RANX_FROM_2
    ]
    values = evaluate(read_lists(LISTS), names)
    assert values == pytest.approx([*RANX_FROM_2.values()], rel=1e-12)


def test_a_query_without_relevant_items_is_left_out_or_counts() -> None:
    rows = read_lists(("101|", "00|", "01|"))
    for metric, values in {"mrr": [1.0, 0.5], "hit_rate@1": [1.0, 0.0]}.items():
        name, at, k = metric.partition("@")
        texts = [f"{name}(empty={each}){at}{k}" for each in ("'skip'", 0, 1)]
        assert evaluate(rows, [metric, *texts]) == pytest.approx(
            [
                sum(values) / 2,
                sum(values) / 3,
                (sum(values) + 1) / 3,
            ]  # one request for the first two
        )
    bound = sqleval.scan(rows, label="y", score="p", qid="q")
    frame = bound.evaluate(["mrr", "mrr(empty=0)", "mrr(zero_division=0)"], ci=0.95).collect()
    assert frame["metric"].to_list() == ["mrr", "mrr(empty=0)"]  # one request
    assert frame["note"].to_list() == [
        "undefined for 1 of 3 queries; few queries: interval may be too narrow",
        "few queries: interval may be too narrow",
    ]
    spread = np.std([1.0, 0.0, 0.5], ddof=1) / math.sqrt(3)
    assert frame["high"][1] == pytest.approx(min(1.0, 0.5 + 4.302652729911275 * spread))


def test_a_gain_too_large_for_a_number_is_undefined() -> None:
    rows = pl.DataFrame({"q": [0, 0, 1], "y": [2000, 1, 3], "p": [0.1, 0.2, 0.3]})
    bound = sqleval.scan(rows, label="y", score="p", qid="q")
    frame = bound.evaluate(["ndcg@2(gain='exponential')", "dcg(gain='exponential')"]).collect()
    assert frame["value"].to_list() == [1.0, 7.0]
    assert set(frame["note"]) == {"undefined for 1 of 2 queries"}


def test_err_of_many_tied_items_of_several_grades() -> None:
    """Without the sum of logarithms, numbers of orders would exceed the largest double."""
    rng = np.random.default_rng(0)
    for n in (100, 1000):
        label = rng.choice(5, n, p=[0.8, 0.1, 0.05, 0.03, 0.02])
        rows = pl.DataFrame({"q": [0] * n, "y": label, "p": [0.0] * n})
        # The next item is chosen by its grade, and the rest of the list is the same problem.
        rest = [1 - (2 ** int(grade) - 1) / 16 for grade in label]
        stays = [1.0]
        for t, one in enumerate(rest):  # the mean product of t + 1 of these items, from t of them
            stays = [
                (stays[j] * (t + 1 - j) if j <= t else 0.0) / (t + 1)
                + (stays[j - 1] * one * j / (t + 1) if j else 0.0)
                for j in range(t + 2)
            ]
        for k in (10, n):
            expected = sum((stays[j] - stays[j + 1]) / (j + 1) for j in range(k))
            assert evaluate(rows, [f"err@{k}"]) == pytest.approx([expected], rel=1e-11)


def test_err_has_no_value_beyond_its_limits() -> None:
    rows = pl.DataFrame({"q": [0] * 9, "y": [*range(9)], "p": [0.0] * 9})
    bound = sqleval.scan(rows, label="y", score="p", qid="q", by="q")
    frame = bound.evaluate(["err", "err(largest=8)", "err(largest=8, min_relevance=2)"]).collect()
    limit = "a tie has more than 8 grades, or more than 1000 items of several"
    assert frame["value"].is_null().to_list() == [True, True, False]
    assert frame["note"].to_list() == ["undefined for all queries"] * 2 + [None]
    sql = bound.sql("err")
    assert limit in sql
    assert "a relevance is above largest" in sql
    bare = rows.filter(pl.col("y") < 8)
    expected = ref.expect(ref.err(largest=8), bare["y"].to_list(), bare["p"].to_list())
    assert evaluate(bare, ["err(largest=8)"]) == pytest.approx([expected], rel=1e-12)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("precision@10", "precision_at_k(k=10)"),
        ("precision(k=10)", "precision_at_k(k=10)"),
        ("precision", "precision_at_k"),
        ("hit_rate@5", "hit_rate_at_k(k=5)"),
        ("success@5", "hit_rate_at_k(k=5)"),
        ("mean_average_precision@100", "map(k=100)"),
        ("map(normalize='k')@3", "map(k=3, normalize='k')"),
        ("map@3(normalize='k')", "map(k=3, normalize='k')"),
        ("ndcg@10", "ndcg(k=10)"),
    ],
)
def test_the_cutoff_follows_the_name(text: str, name: str) -> None:
    rows = read_lists(LISTS)
    frame = sqleval.scan(rows, label="y", score="p", qid="q").evaluate(text).collect()
    assert frame["metric"].to_list() == [name]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ndcg@x", "cannot read the metric 'ndcg@x'; a number of places follows @, as in ndcg@10"),
        ("ndcg@2.5", "cannot read the metric 'ndcg@2.5'; a number of places follows @"),
        ("ndcg(k=3)@3", "cannot read the metric"),
        ("ndcg@3(k=3)", "cannot read the metric"),
        ("ndcg@3(3)", "cannot read the metric"),
        ("ndcg@1@2", "cannot read the metric"),
        ("ndcg@0", r"ndcg\(k=\) must be in \[1, inf\), not 0"),
        ("precison@3", "no metric called 'precison'; did you mean 'precision'"),
        ("bpref@3", "bpref has no parameter 'k'"),
        ("mrr(empty=2)", "empty=2 is not known; use one of 'skip', 0, 1"),
    ],
)
def test_wrong_cutoffs_are_errors(text: str, message: str) -> None:
    with pytest.raises(RequestError, match=message):
        evaluate(read_lists(LISTS), [text])


def test_a_cutoff_of_two_classes_names_the_task() -> None:
    rows = pl.DataFrame({"y": [0, 1], "p": [0.1, 0.9]})
    with pytest.raises(RequestError, match=r"recall_at_k is a ranking metric .* task='ranking'"):
        sqleval.scan(rows, label="y", score="p").evaluate("recall@10")


#: Every metric, on the rows of two models with items that were not retrieved or not judged.
EVERY = [
    *("precision@3", "recall@3", "f1@3", "hit_rate@3", "map", "map@3", "mrr", "r_precision"),
    *("rbp", "bpref", "err@3", "judged@3", "dcg", "ndcg(gain='exponential')@3", "grouped_auc"),
    "mrr(empty=0)",
]


@pytest.mark.parametrize("test", ["paired_t", "wilcoxon"])
def test_models_are_compared_by_query(test: str) -> None:
    single = rankings.scan(rankings.GAPS, {"a": "a", "b": "b"}, by="q").evaluate(EVERY).collect()
    frame = (
        rankings.scan(rankings.GAPS, {"a": "a", "b": "b"})
        .compare(EVERY, baseline="a", test=test)
        .collect()
    )
    assert frame.height == len(EVERY)
    for row in frame.rows(named=True):
        both = single.filter(metric=row["metric"]).pivot("model", index="q", values="value")
        both = both.drop_nulls()
        assert row["difference"] == pytest.approx((both["b"] - both["a"]).mean(), abs=1e-12)
        if test == "paired_t":
            expected = stats.ttest_rel(both["b"], both["a"]).pvalue
            assert row["p_value"] == pytest.approx(expected, rel=1e-9)
        else:
            # Without rounding, SciPy breaks ties of ranks by the last digits: p is 0.009 instead of
            # 0.019 for precision@3.
            gap = (both["b"] - both["a"]).round(12)
            expected = stats.wilcoxon(gap, method="asymptotic").pvalue
            assert row["p_value"] == pytest.approx(expected, rel=1e-9)


def test_states_of_days_merge_into_the_values_of_all_rows() -> None:
    metrics = [each for each in EVERY if "empty" not in each]
    state = rankings.scan(rankings.GAPS, by="day").state(metrics).collect()
    merged = sqleval.from_state(state, by=[]).evaluate(EVERY).collect()
    whole = rankings.scan(rankings.GAPS).evaluate(EVERY).collect()
    assert merged["metric"].to_list() == whole["metric"].to_list()
    assert merged["value"].to_list() == pytest.approx(whole["value"].to_list(), rel=1e-12)


def test_a_job_judges_cutoffs(tmp_path: Path) -> None:
    rankings.GAPS.write_parquet(tmp_path / "run.parquet")
    job = tmp_path / "job.yml"
    text = (
        f"name: search\nsource: {tmp_path / 'run.parquet'}\nlabel: y\nscore: a\nqid: q\n"
        f"period: {{column: day, grain: day}}\nhistory: {tmp_path / 'history.duckdb'}\n"
        "metrics: [precision@3, \"map(normalize='k')@10\"]\n"
        "gates:\n  - precision@3 >= {least}\n  - map(normalize='k')@10 >= 0.1\n"
        "  - drop(precision@3, previous 1) < 1\n"
    )
    for least, code in (("0.2", 0), ("0.9", 1)):
        job.write_text(text.replace("{least}", least))
        run("run", str(job), code=code)
    job.write_text(text.replace("- precision@3 >= {least}", "- precison@3 >= 0.2"))
    result = run("run", str(job), code=2)
    assert "no metric called 'precison'; did you mean 'precision'" in result.stderr
