"""Models of different rows in closed form, against SciPy, Newcombe's table and R's pROC."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import sqleval
from sqleval import RequestError
from tests.support.comparison import assert_frame_equal

from .data import draw_models


def compare(rows: pl.DataFrame, metrics: Any, scan: Any = None, **options: Any) -> pl.DataFrame:
    """Compare the model b with a, whose rows the column m names."""
    roles = {"label": "y", "score": "p"} | (scan or {})
    lazy = sqleval.scan(rows, **roles).compare(metrics, model="m", paired=False, **options)
    found = lazy.collect()
    assert found.schema == lazy.collect_schema()
    assert found.filter(pl.col("p_value").is_null())["note"].null_count() == 0
    return found


def decide(**right: tuple[int, int]) -> pl.DataFrame:
    """Return rows with a number of right predictions, and of rows, per model."""
    return pl.concat(
        pl.DataFrame({"y": [1] * n, "p": [1] * hits + [0] * (n - hits), "m": [name] * n})
        for name, (hits, n) in right.items()
    )


DECIDED = {"score": None, "prediction": "p", "task": "binary"}


def test_rates_have_the_interval_of_newcombe() -> None:
    (row,) = compare(decide(b=(10, 10), a=(0, 20)), "accuracy", DECIDED).to_dicts()
    assert (round(row["low"], 4), row["high"]) == (0.6791, 1)
    assert row["verdict"] == "b is better than a by 1.0 [0.679, 1.0]"
    assert row["method"] == "score test of two rates, Newcombe's interval"
    rows = decide(b=(56, 70), a=(48, 80))
    found = compare(rows, ["accuracy", "error_rate", "recall"], DECIDED)
    assert found["low"].round(4).to_list() == [0.0524, -0.3339, 0.0524]
    assert found["high"].round(4).to_list() == [0.3339, -0.0524, 0.3339]
    chi_square = stats.chi2_contingency([[56, 14], [48, 32]], correction=False)
    assert found["p_value"].to_list() == pytest.approx([chi_square.pvalue] * 3)
    assert found["n"].to_list() == [150] * 3
    # Also with several classes.
    classes = rows.with_columns(pl.col("y", "p").replace_strict({0: "u", 1: "v"}))
    several = compare(classes, "accuracy", DECIDED | {"task": "multiclass"})
    assert several["low"].to_list() == [found["low"][0]]


def test_margins_of_rates() -> None:
    rows = decide(b=(176, 200), a=(180, 200))
    for metric in ("accuracy", "error_rate"):
        for margin, shown in ((0.02, False), (0.1, True)):
            for side in ("greater", "two-sided"):
                (row,) = compare(rows, metric, DECIDED, margin=margin, alternative=side).to_dicts()
                assert (row["p_value"] < 0.05) == shown
                within = (
                    row["low"] > -margin if metric == "accuracy" or side == "two-sided" else True
                ) and (row["high"] < margin if metric == "error_rate" else True)
                assert within == shown


@pytest.mark.parametrize("side", ["two-sided", "greater", "less"])
def test_means_are_those_of_welch(side: str) -> None:
    rng = np.random.default_rng(3)
    parts = {"a": rng.gamma(2, 1, 40), "b": rng.gamma(2, 2, 25)}
    rows = pl.concat(
        pl.DataFrame({"y": np.zeros(len(e)), "p": e, "m": [name] * len(e)})
        for name, e in parts.items()
    )
    scan = {"score": None, "prediction": "p", "task": "regression"}
    (row,) = compare(rows, "mae", scan, alternative=side).to_dicts()
    expected = stats.ttest_ind(parts["b"], parts["a"], equal_var=False, alternative=side)
    assert row["statistic"] == pytest.approx(expected.statistic)
    assert row["p_value"] == pytest.approx(expected.pvalue)
    ends = expected.confidence_interval(0.95)
    assert (row["low"], row["high"]) == pytest.approx((ends.low, ends.high))
    assert row["method"] == "Welch's t-test of row losses"


def test_means_without_a_standard_error_say_why() -> None:
    scan = {"score": None, "prediction": "p", "task": "regression"}
    rows = pl.DataFrame({"y": [0.0] * 5, "p": [0.1, 0.3, 0.1, 0.1, 0.1], "m": list("aabbb")})
    (row,) = compare(rows, "mae", scan).to_dicts()
    assert row["p_value"] is not None
    (row,) = compare(rows.tail(4), "mae", scan).to_dicts()
    assert row["note"] == "no test: one row of a model"
    constant = rows.with_columns(p=0.1)
    (row,) = compare(constant, "mae", scan).to_dicts()
    assert row["note"] == "no test: all losses of a model are equal"


#: y1 <- c(0,0,0,0,0,0,1,1,1,1,1,0,1,1); p1 <- c(.1,.3,.2,.6,.4,.4,.5,.7,.9,.4,.8,.7,.3,.6)
#: y2 <- c(0,0,1,1,0,1,0,1,1,0,0,1); p2 <- c(.2,.5,.4,.6,.6,.3,.7,.9,.5,.1,.8,.8)
#: r1 <- roc(y1, p1, direction="<", levels=c(0, 1)); r2 <- roc(y2, p2, ...)
#: roc.test(r1, r2, method="delong", paired=FALSE); pROC 1.18.0
AREAS = pl.concat([
    pl.DataFrame({"y": [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 1, 1],
        "p": [0.1, 0.3, 0.2, 0.6, 0.4, 0.4, 0.5, 0.7, 0.9, 0.4, 0.8, 0.7, 0.3, 0.6], "m": "b"}),
    pl.DataFrame({"y": [0, 0, 1, 1, 0, 1, 0, 1, 1, 0, 0, 1],
        "p": [0.2, 0.5, 0.4, 0.6, 0.6, 0.3, 0.7, 0.9, 0.5, 0.1, 0.8, 0.8], "m": "a"}),
])  # fmt: skip


def test_areas_are_compared_as_by_proc() -> None:
    found = compare(AREAS, ["roc_auc", "gini", "log_loss"])
    row = found.row(0, named=True)
    assert (row["value"], row["baseline_value"]) == pytest.approx((0.76530612244897955,
        0.59722222222222221))  # fmt: skip
    assert row["statistic"] == pytest.approx(0.75241569641397543)
    assert row["p_value"] == pytest.approx(0.46027063752338826)
    half = stats.t.ppf(0.975, 20.704354340292053) * row["difference"] / row["statistic"]
    assert row["low"] == pytest.approx(row["difference"] - half)
    assert row["method"] == "DeLong, different rows"
    assert row["note"] == "few rows of a class: the test may find a difference too often"
    assert found["p_value"][1] == pytest.approx(row["p_value"])
    assert found["low"][1] == pytest.approx(2 * row["low"])
    greater = compare(AREAS, "roc_auc", alternative="greater")
    assert greater["p_value"].item() == pytest.approx(0.23013531876169413)


def test_areas_without_a_standard_error_say_so() -> None:
    perfect = AREAS.with_columns(p=pl.when(m="b").then(pl.col("y") + 0.0).otherwise("p"))
    (row,) = compare(perfect, "roc_auc").to_dicts()
    assert row["p_value"] is not None
    assert row["note"].startswith("an area of 0 or 1 has no standard error")
    (row,) = compare(perfect.with_columns(p=pl.col("y") + 0.0), "roc_auc").to_dicts()
    assert row["note"] == "no test: the areas of both models have no standard error"
    (row,) = compare(AREAS.filter((pl.col("m") == "a") | (pl.col("y") == 1)), "roc_auc").to_dicts()
    assert (row["value"], row["note"]) == (None, "no negative labels")


def test_slices_and_models_as_columns() -> None:
    rows = draw_models()
    metrics = ["roc_auc", "accuracy", "log_loss", "f1"]
    models = {"a": "a", "b": "b"}
    wide = sqleval.scan(rows, label="y", score=models, by="g")
    found = wide.compare(metrics, paired=False, replicates=100).collect()
    long = pl.concat(rows.select("y", "g", p=name, m=pl.lit(name)) for name in models)
    other = compare(long, metrics, {"by": "g"}, replicates=100)
    names = ["g", "value", "statistic", "p_value", "low", "high", "method", "note"]
    assert_frame_equal(found.select(names), other.select(names))
    assert found["method"].to_list()[:4] == [
        "DeLong, different rows", "score test of two rates, Newcombe's interval",
        "Welch's t-test of row losses", "bootstrap of different rows, 100 replicates",
    ]  # fmt: skip
    paired = wide.compare(metrics, replicates=100).collect()
    assert found["value"].to_list() == pytest.approx(paired["value"].to_list())
    # A model has no rows in a slice.
    some = compare(
        long.filter((pl.col("m") == "a") | (pl.col("g") == "s")), metrics[:3], {"by": "g"}
    )
    assert some.filter(g="s")["p_value"].null_count() == 0
    missing = compare(long.filter((pl.col("m") == "b") | (pl.col("g") == "s")), metrics[:3],
        {"by": "g"}).filter(g="t")  # fmt: skip
    assert missing["note"].to_list() == ["the baseline has no rows"] * 3


def test_counts_and_clusters_have_replicates() -> None:
    rows = AREAS.with_columns(w=2, u=pl.int_range(26) // 2)
    for scan, options in (({"counts": "w"}, {}), ({}, {"cluster": "u"})):
        found = compare(rows, ["roc_auc", "accuracy"], scan, replicates=100, **options)
        assert found["method"].str.contains("of different rows").all()
    with pytest.raises(RequestError, match="test='paired_t' does not fit log_loss of different"):
        compare(rows, "log_loss", test="paired_t")
    drawn = compare(rows, "accuracy", test="bootstrap", replicates=100)
    assert drawn["method"].item() == "bootstrap of different rows, 100 replicates"
    pooled = compare(rows, "roc_auc", {"over": "u"}, replicates=100)
    assert pooled["note"].item().endswith("pooled over 7 folds")
