"""Tables with a row per model and key, and a score per class."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import sqleval
from sqleval import DataError, RequestError
from tests.support.comparison import assert_frame_equal

CLASSES = ["u", "v", "w"]
RNG = np.random.default_rng(3)
N = 80
LABEL = RNG.choice(CLASSES, N)


def draw(model: str, strength: float) -> pl.DataFrame:
    """Return the scores of a model, one per class."""
    logits = RNG.normal(size=(N, 3)) + strength * (LABEL[:, None] == np.array(CLASSES))
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    columns = {name: shares[:, i] for i, name in enumerate(CLASSES)}
    group = np.where(np.arange(N) % 3 == 0, "s", "t")
    return pl.DataFrame({"k": np.arange(N), "y": LABEL, "g": group, "m": model, **columns})


MODELS = {"a": draw("a", 1.0), "b": draw("b", 0.3)}
LONG = pl.concat(MODELS.values()).sample(fraction=1, shuffle=True, seed=1)


def compare(rows: pl.DataFrame, metrics: Any, scan: Any = None, **options: Any) -> pl.DataFrame:
    roles = {"label": "y", "score": {name: name for name in CLASSES}, "task": "multiclass"}
    lazy = sqleval.scan(rows, **roles | (scan or {})).compare(
        metrics, model="m", key="k", **options
    )
    found = lazy.collect()
    assert found.schema == lazy.collect_schema()
    return found


def test_a_key_is_one_column_or_expression() -> None:
    roles = {"label": "y", "score": {name: name for name in CLASSES}, "task": "multiclass"}
    bound = sqleval.scan(LONG.with_columns(k=pl.col("k") // 9, part=pl.col("k") % 9), **roles)
    with pytest.raises(RequestError, match=r"joins them: key=\"concat\(k, '/', part\)\"") as wrong:
        bound.compare("log_loss", model="m", key=["k", "part"])
    key = str(wrong.value).split('"')[1]
    found = bound.compare("log_loss", model="m", key=key).collect()
    assert found["p_value"].item() == pytest.approx(compare(LONG, "log_loss")["p_value"].item())


def find_losses(rows: pl.DataFrame) -> np.ndarray:
    return np.array([-np.log(row[row["y"]]) for row in rows.sort("k").iter_rows(named=True)])


def test_rows_of_a_key_are_compared_as_pairs() -> None:
    found = compare(LONG, ["log_loss", "accuracy"])
    own, base = find_losses(MODELS["b"]), find_losses(MODELS["a"])
    expected = stats.ttest_rel(own, base)
    row = found.row(0, named=True)
    assert (row["model"], row["baseline"], row["n"], row["n_dropped"]) == ("b", "a", N, 0)
    assert (row["value"], row["baseline_value"]) == pytest.approx((own.mean(), base.mean()))
    assert row["statistic"] == pytest.approx(expected.statistic)
    assert row["p_value"] == pytest.approx(expected.pvalue)
    ends = expected.confidence_interval()
    assert (row["low"], row["high"]) == pytest.approx((ends.low, ends.high))
    assert row["method"].startswith("paired jackknife")
    right = [
        np.array([max(CLASSES, key=row.get) == row["y"] for row in each.sort("k").to_dicts()])
        for each in MODELS.values()
    ]
    pairs = stats.ttest_rel(right[1].astype(float), right[0].astype(float))
    assert found["p_value"][1] == pytest.approx(pairs.pvalue)
    # Replicates draw the rows of a key together.
    drawn = compare(LONG, "log_loss", test="bootstrap").row(0, named=True)
    assert drawn["high"] - drawn["low"] == pytest.approx(ends.high - ends.low, rel=0.15)
    assert drawn["method"].startswith("paired bootstrap")


def test_slices_and_models_in_any_order() -> None:
    found = compare(LONG, "log_loss", {"by": "g"}, baseline="b", adjust=None)
    for row in found.iter_rows(named=True):
        parts = [find_losses(each.filter(g=row["g"])) for each in MODELS.values()]
        assert row["p_value"] == pytest.approx(stats.ttest_rel(*parts).pvalue)
        assert row["n"] == len(parts[0])
    roles = {"label": "y", "score": {name: name for name in CLASSES}, "task": "multiclass"}
    board = sqleval.scan(LONG, **roles).leaderboard("log_loss", model="m", key="k").collect()
    assert board["model"].to_list() == ["a", "b"]


def test_keys_without_a_row_or_score_of_every_model_are_dropped() -> None:
    lacking = LONG.filter(~((pl.col("m") == "b") & (pl.col("k") < 5)))
    missing = (pl.col("m") == "a") & pl.col("k").is_between(5, 9)
    lacking = lacking.with_columns(v=pl.when(~missing).then("v"))
    found = compare(lacking, ["log_loss", "accuracy"], {"nulls": "drop"})
    expected = compare(LONG.filter(pl.col("k") > 9), ["log_loss", "accuracy"])
    assert found["n_dropped"].to_list() == [10, 10]
    assert_frame_equal(found.drop("n_dropped"), expected.drop("n_dropped"))
    with pytest.raises(DataError, match="nulls='drop'"):
        compare(lacking, "log_loss")


def test_wrong_tables_and_options_are_refused() -> None:
    with pytest.raises(DataError, match="is in 2 rows of the model"):
        compare(pl.concat([LONG, LONG.head(1)]), "log_loss")
    other = LONG.with_columns(y=pl.when(k=3, m="a").then(pl.lit("u")).otherwise("y"))
    other = other.with_columns(y=pl.when(k=3, m="b").then(pl.lit("v")).otherwise("y"))
    with pytest.raises(DataError, match="the rows of '3' differ in y"):
        compare(other, "log_loss")
    with pytest.raises(RequestError, match="cluster= does not go with key="):
        compare(LONG, "log_loss", cluster="g")
    roles = {"label": "y", "score": {name: name for name in CLASSES}, "task": "multiclass"}
    bound = sqleval.scan(LONG, **roles)
    with pytest.raises(RequestError, match="key='kk'"):
        bound.compare("log_loss", model="m", key="kk")
