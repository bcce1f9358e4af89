"""The spread of a metric over groups: the extremes of scikit-learn's values, by group."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import f1_score, mean_absolute_error, recall_score, roc_auc_score

import sqleval
from sqleval import RequestError
from sqleval.catalog.request import format_request, parse

rng = np.random.default_rng(4)
N = 600
ROWS = pl.DataFrame(
    {
        "y": rng.integers(0, 2, N),
        "c": rng.integers(0, 3, N),
        "d": rng.integers(0, 3, N),
        "g": rng.choice(["a", "b", "c"], N),
        "s": rng.choice(["u", "v"], N),
        "w": rng.exponential(size=N),
    }
).with_columns(p=(pl.col("y") * 0.3 + pl.Series(rng.random(N)) * 0.7).round(2))
SPREADS: dict[str, Any] = {
    "smallest": min,
    "largest": max,
    "difference": lambda values: max(values) - min(values),
    "ratio": lambda values: min(values) / max(values),
    "mean": np.mean,
}
ALL = [f"recall(reduce='{name}')" for name in SPREADS]


def scan(rows: pl.DataFrame = ROWS, **roles: Any) -> sqleval.Predictions:
    return sqleval.scan(rows, **{"label": "y", "score": "p", "over": "g"} | roles)


@pytest.mark.parametrize("reduce", SPREADS)
def test_values_are_those_of_the_groups(reduce: str) -> None:
    spread, groups = SPREADS[reduce], ROWS.partition_by("g")
    expected = {
        "roc_auc": [roc_auc_score(e["y"], e["p"]) for e in groups],
        "recall": [recall_score(e["y"], e["p"] >= 0.5) for e in groups],
    }
    texts = [f"{name}(reduce='{reduce}')" for name in expected]
    found = scan().evaluate(texts).collect()
    assert found["metric"].to_list() == texts
    assert found["value"].to_list() == pytest.approx([*map(spread, expected.values())], rel=1e-12)
    weighted = scan(weight="w").evaluate(f"recall(reduce='{reduce}')").collect()
    values = [recall_score(e["y"], e["p"] >= 0.5, sample_weight=e["w"]) for e in groups]
    assert weighted["value"].item() == pytest.approx(spread(values), rel=1e-12)
    real = scan(label="w", score=None, prediction="p", task="regression")
    errors = [mean_absolute_error(e["w"], e["p"]) for e in groups]
    value = real.evaluate(f"mae(reduce='{reduce}')").collect()["value"].item()
    assert value == pytest.approx(spread(errors), rel=1e-12)
    macro = f"f1(average='macro', reduce='{reduce}')"
    classes = scan(label="c", score=None, prediction="d", task="multiclass")
    values = [f1_score(e["c"], e["d"], average="macro") for e in groups]
    value = classes.evaluate(macro).collect()["value"].item()
    assert value == pytest.approx(spread(values), rel=1e-12)


#: Groups with a number: a horizon, a threshold, a dose.
DOSED = ROWS.with_columns(h=pl.Series(rng.choice([9, 1, 3, 4], N)))


def list_recalls(rows: pl.DataFrame = DOSED) -> tuple[dict[int, float], dict[int, int]]:
    """Return recall by scikit-learn, and the number of rows, by horizon."""
    parts = {int(h): part for (h,), part in rows.partition_by("h", as_dict=True).items()}
    recalls = {h: recall_score(parts[h]["y"], parts[h]["p"] >= 0.5) for h in sorted(parts)}
    return recalls, {h: len(parts[h]) for h in recalls}


def test_means_distances_and_areas() -> None:
    """The distance from all rows equals fairlearn's `difference(method="to_overall")`."""
    recalls, sizes = list_recalls()
    values = np.array([*recalls.values()])
    whole = recall_score(DOSED["y"], DOSED["p"] >= 0.5)
    expected = {
        "mean": values.mean(),
        "weighted_mean": np.average(values, weights=[*sizes.values()]),
        "difference_to_all": abs(values - whole).max(),
        "integral": np.trapezoid(values, [*recalls]),
    }
    texts = [f"recall(reduce='{reduce}')" for reduce in expected]
    found = scan(DOSED, over="h").evaluate(texts).collect()
    assert found["value"].to_list() == pytest.approx([*expected.values()], rel=1e-12)
    assert found["note"].null_count() == 4
    for options in ({"ci_method": "percentile"}, {"ci_method": "bootstrap"}):
        drawn = scan(DOSED, over="h").evaluate(texts, ci=0.95, **options).collect()
        assert (drawn["low"] < drawn["high"]).all()
        assert (drawn["low"] <= drawn["value"]).all()
        assert (drawn["value"] <= drawn["high"]).all()
    weighted = scan(DOSED, over="h", weight="w").evaluate(texts[1:3]).collect()
    parts = DOSED.partition_by("h")
    rates = [recall_score(e["y"], e["p"] >= 0.5, sample_weight=e["w"]) for e in parts]
    whole = recall_score(DOSED["y"], DOSED["p"] >= 0.5, sample_weight=DOSED["w"])
    mean = np.average(rates, weights=[e["w"].sum() for e in parts])
    distance = max(abs(rate - whole) for rate in rates)
    assert weighted["value"].to_list() == pytest.approx([mean, distance], rel=1e-12)
    classes = scan(DOSED, over="h", label="c", score=None, prediction="d", task="multiclass")
    macro = "f1(average='macro', reduce='difference_to_all')"
    scores = [f1_score(e["c"], e["d"], average="macro") for e in (DOSED, *parts)]
    distance = max(abs(score - scores[0]) for score in scores[1:])
    assert classes.evaluate(macro).collect()["value"].item() == pytest.approx(distance, rel=1e-12)


def test_intervals_of_the_new_reductions_are_those_of_drawn_rows() -> None:
    draws = np.random.default_rng(2)
    label, hit, h = (DOSED["y"].to_numpy(), DOSED["p"].to_numpy() >= 0.5, DOSED["h"].to_numpy())
    samples: list[list[float]] = []
    for _ in range(2000):
        at = draws.integers(0, N, N)
        y, p, key = label[at] == 1, hit[at], h[at]
        rates = [p[y & (key == each)].mean() for each in (1, 3, 4, 9)]
        overall = p[y].mean()
        distance = max(abs(rate - overall) for rate in rates)
        samples.append([np.mean(rates), distance, np.trapezoid(rates, [1, 3, 4, 9])])
    texts = [f"recall(reduce='{name}')" for name in ("mean", "difference_to_all", "integral")]
    found = scan(DOSED, over="h").evaluate(texts, ci=0.9, ci_method="percentile", replicates=4000)
    low, high = np.quantile(samples, [0.05, 0.95], axis=0)
    for i, (first, last) in enumerate(found.collect().select("low", "high").iter_rows()):
        width = high[i] - low[i]
        assert [first, last] == pytest.approx([low[i], high[i]], abs=width / 10)


def test_groups_without_a_value_or_a_key_are_counted() -> None:
    recalls, _ = list_recalls()
    lacking = DOSED.with_columns(y=pl.when(h=3).then(0).otherwise("y"))
    texts = [f"recall(reduce='{name}')" for name in ("integral", "difference_to_all")]
    found = scan(lacking, over="h").evaluate(texts).collect()
    area = np.trapezoid([recalls[h] for h in (1, 4, 9)], [1, 4, 9])
    assert found["value"][0] == pytest.approx(area, rel=1e-12)
    assert found["note"].to_list() == ["undefined for 1 of 4 groups"] * 2
    unknown = DOSED.with_columns(h=pl.when(pl.col("h") != 3).then("h"))
    found = scan(unknown, over="h").evaluate(texts[0]).collect()
    assert found["value"].item() == pytest.approx(area, rel=1e-12)
    assert found["note"].item() == "undefined for 1 of 4 groups"
    one = scan(DOSED.filter(h=3), over="h").evaluate(texts).collect()
    assert one.select("value", "note").rows() == [(None, "one group"), (0.0, "one group")]
    none = scan(DOSED.with_columns(y=0), over="h").evaluate(texts).collect()
    assert none["note"].to_list() == ["undefined for all groups"] * 2


def test_slices_and_several_keys() -> None:
    found = scan(by="s").evaluate(ALL).collect()
    for group in ("u", "v"):
        alone = scan(ROWS.filter(s=group)).evaluate(ALL).collect()
        assert found.filter(s=group)["value"].to_list() == alone["value"].to_list()
    both = scan(over=["g", "s"]).evaluate(ALL).collect()
    parts = ROWS.partition_by("g", "s")
    values = [recall_score(e["y"], e["p"] >= 0.5) for e in parts]
    assert both["value"].to_list() == pytest.approx([f(values) for f in SPREADS.values()])


def test_undefined_groups_one_group_and_no_rows() -> None:
    lacking = ROWS.with_columns(y=pl.when(g="a").then(0).otherwise("y"))
    found = scan(lacking).evaluate(ALL).collect()
    assert found["note"].to_list() == ["undefined for 1 of 3 groups"] * 5
    rest = scan(lacking.filter(pl.col("g") != "a")).evaluate(ALL).collect()
    assert found["value"].to_list() == rest["value"].to_list()
    none = scan(lacking.with_columns(y=0)).evaluate(ALL).collect()
    assert none["note"].to_list() == ["undefined for all groups"] * 5
    zero = scan(ROWS.with_columns(p=0.1)).evaluate(ALL).collect()
    assert zero["value"].to_list() == [0, 0, 0, None, 0]
    assert zero["note"].to_list() == [None, None, None, "the largest value is 0", None]
    infinite = scan().evaluate("best_youden_j_threshold(reduce='difference')")
    alike = scan(ROWS.with_columns(p=0.1)).evaluate("best_youden_j_threshold(reduce='ratio')")
    assert infinite.collect()["value"].item() is not None
    assert alike.collect()["note"].item() == "the value of a group is infinite"
    one = scan(ROWS.filter(g="a")).evaluate(ALL).collect()
    assert one["value"].to_list()[2:4] == [0, 1]
    assert one["note"].to_list() == [*["one group"] * 4, None]
    empty = scan(ROWS.clear()).evaluate(ALL).collect()
    assert empty["note"].to_list() == ["no rows"] * 5


def test_intervals_by_the_bootstrap_and_comparisons() -> None:
    found = scan().evaluate(ALL, ci=0.95, replicates=200).collect()
    assert (found["low"] <= found["value"]).all()
    assert (found["high"] >= found["value"]).all()
    assert found["low"].min() >= 0
    assert found.filter(pl.col("metric").str.contains("ratio"))["high"].item() <= 1
    two = scan(ROWS.with_columns(q=pl.col("p").reverse()), score={"p": "p", "q": "q"})
    (row,) = two.compare("recall(reduce='difference')", replicates=200).collect().to_dicts()
    alone = scan(ROWS.with_columns(p=pl.col("p").reverse())).evaluate(ALL[2]).collect()
    assert row["value"] == alone["value"].item()
    assert 0 < row["p_value"] <= 1


def test_what_is_refused() -> None:
    with pytest.raises(RequestError, match="is over groups of rows, and over= names"):
        scan(over=()).evaluate("recall(reduce='ratio')")
    with pytest.raises(RequestError, match="use one of 'mean', 'weighted_mean'"):
        scan().evaluate("recall(reduce='spread')")
    for over in ("g", ["h", "w"]):
        with pytest.raises(RequestError, match=r"reduce='integral' is over one column of numbers"):
            scan(DOSED, over=over).evaluate("recall(reduce='integral')")
    ranking = scan(label="c", qid="s")
    with pytest.raises(RequestError, match="leave it out for the mean over all queries"):
        ranking.evaluate("ndcg(reduce='weighted_mean')")
    two = scan(ROWS.with_columns(q=1 - pl.col("p")), score={"p": "p", "q": "q"})
    with pytest.raises(RequestError, match="tests over folds compare values of folds"):
        two.compare("recall(reduce='difference')", test="corrected_t")
    with pytest.raises(RequestError, match="average= and reduce= both fold over="):
        scan().evaluate("recall(average='macro', reduce='ratio')")
    request = parse("f_beta(beta=2, reduce='ratio')", "binary", folds=True)
    assert format_request(request) == "f_beta(reduce='ratio', beta=2)"
    assert parse(format_request(request), "binary", folds=True) == request
    assert request.header["direction"] == "higher"
