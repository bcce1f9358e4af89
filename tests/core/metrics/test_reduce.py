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
    assert found["note"].to_list() == ["undefined for 1 of 3 groups"] * 4
    rest = scan(lacking.filter(pl.col("g") != "a")).evaluate(ALL).collect()
    assert found["value"].to_list() == rest["value"].to_list()
    none = scan(lacking.with_columns(y=0)).evaluate(ALL).collect()
    assert none["note"].to_list() == ["undefined for all groups"] * 4
    zero = scan(ROWS.with_columns(p=0.1)).evaluate(ALL).collect()
    assert zero["value"].to_list() == [0, 0, 0, None]
    assert zero["note"].to_list() == [None, None, None, "the largest value is 0"]
    infinite = scan().evaluate("best_youden_j_threshold(reduce='difference')")
    alike = scan(ROWS.with_columns(p=0.1)).evaluate("best_youden_j_threshold(reduce='ratio')")
    assert infinite.collect()["value"].item() is not None
    assert alike.collect()["note"].item() == "the value of a group is infinite"
    one = scan(ROWS.filter(g="a")).evaluate(ALL).collect()
    assert one["value"].to_list()[2:] == [0, 1]
    assert one["note"].to_list() == ["one group"] * 4
    empty = scan(ROWS.clear()).evaluate(ALL).collect()
    assert empty["note"].to_list() == ["no rows"] * 4


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
    with pytest.raises(RequestError, match="compares groups of rows, and over= names"):
        scan(over=()).evaluate("recall(reduce='ratio')")
    with pytest.raises(RequestError, match="use one of 'smallest', 'largest'"):
        scan().evaluate("recall(reduce='spread')")
    with pytest.raises(RequestError, match="average= and reduce= both fold over="):
        scan().evaluate("recall(average='macro', reduce='ratio')")
    request = parse("f_beta(beta=2, reduce='ratio')", "binary", folds=True)
    assert format_request(request) == "f_beta(reduce='ratio', beta=2)"
    assert parse(format_request(request), "binary", folds=True) == request
    assert request.header["direction"] == "higher"
