"""Inputs that a comparison takes or refuses, and its notes if there is no test."""

import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_series_equal
from scipy import stats

import sqleval
from sqleval import DataError, MissingExtra, RequestError, UnmatchedRows
from sqleval.comparison.verdict import summarize
from tests.support.comparison import assert_frame_equal

from .data import LONG, MODELS, ROWS, compare, compare_one

METRICS = ["roc_auc", "log_loss", "accuracy", "f1", "average_precision"]
#: Metrics without the bootstrap, which takes longer than all of these.
CLOSED = METRICS[:3]
TWO = {"score": {"a": "a", "b": "b"}}


@pytest.mark.parametrize(("scan", "options", "message"), [
    ({}, {"test": "delog"}, "did you mean 'delong'"),
    ({}, {"test": "mcnemar"}, "does not fit roc_auc; allowed: delong, delong_joint, bootstrap"),
    ({}, {"test": "corrected_t"}, "needs over="),
    ({}, {"test": "mcnemar", "paired": False}, "with paired=False: delong, bootstrap"),
    ({}, {"test": "jackknife"}, "test='jackknife' needs cluster="),
    ({"counts": "w"}, {"test": "delong"}, "no other takes counts or clusters"),
    ({}, {"test": "delong", "cluster": "user"}, "no other takes counts or clusters"),
    ({}, {"baseline": "aa"}, "baseline='aa'; did you mean 'a'?; models: a, b, c"),
    ({}, {"metrics": "roc_aux"}, "did you mean 'roc_auc'"),
    ({}, {"alternative": "more"}, "alternative='more'"),
    ({"over": "fold"}, {"alternative": "less", "test": "friedman"}, "test='friedman' is two-sided"),
    ({}, {"adjust": "hollm"}, "did you mean 'holm'"),
    ({}, {"ci": 95}, "ci=95 must be a number between 0 and 1"),
    ({}, {"ci": 1 - 1e-16}, "ci=0.9999999999999999 must be a number between 0 and 1"),
    ({}, {"ci": None}, "ci=None"),
    ({"over": "fold", "by": "fold"}, {"test": "nemenyi"}, "by='fold' is a column of over=, too"),
    ({}, {"margin": -0.1}, "margin=-0.1"),
    ({}, {"margin": "a"}, "margin='a' must be a number"),
    ({}, {"paired": None}, "paired=None must be True or False"),
    ({}, {"margin": float("nan")}, "margin=nan"),
    ({}, {"margin": 0.1, "alternative": "less"}, "margin= is for"),
    ({}, {"metrics": "log_loss", "margin": 0.1, "test": "wilcoxon"}, "has no margin="),
    ({}, {"metrics": "pcoc", "margin": 0.1, "alternative": "greater"}, "no model is inferior"),
    ({}, {"metrics": "pcoc", "test": "paired_t"}, "does not fit pcoc; allowed: bootstrap"),
    ({"over": "fold"}, {"margin": 0.1, "test": "nemenyi"}, "has no margin="),
    ({}, {"replicates": 50}, "replicates=50"),
    ({}, {"metrics": "f1", "replicates": 0}, "f1: its test is the bootstrap"),
    ({}, {"seed": 1.5}, "seed=1.5"),
    ({}, {"cluster": "usr"}, "did you mean 'user'"),
    ({"score": "a"}, {}, "two models are needed"),
    ({"label": None, "score": None, "value": "a"}, {"metrics": "mean"}, "(--value a=COLUMN"),
    ({"label": None, "score": None, "value": "a"}, {"metrics": "mean"},
     "paired=False (--model COLUMN --unpaired); each group with all other rows: groups='column'"),
    ({}, {"metrics": "f1(average=macro)"}, "texts need quotes: f1(average='macro')"),
    ({}, {"metrics": "ndcg@10"}, "ndcg is a ranking metric and the task is binary"),
    ({}, {"metrics": "acc"}, "did you mean 'accuracy'"),
    ({}, {"metrics": "map"}, "map is a ranking metric and the task is binary"),
    ({"score": {"a": "a"}}, {}, "(--score a=COLUMN --score b=COLUMN)"),
    ({}, {"model": "g"}, "model= and key= go together"),
    ({"score": "a"}, {"model": "g", "key": "nonsense", "paired": False}, "key= matches the rows"),
    ({"score": "a"}, {"model": "g", "key": "concat(k, usr)"}, "did you mean 'user'"),
    ({"score": "a", "prediction": "y"}, {"model": "g", "key": "k"}, "not for both; leave out one"),
    ({"score": "a", "role": "g"}, {"model": "g", "key": "k"}, "role= does not go with key="),
    ({"score": "a", "counts": "w"}, {"model": "g", "key": "k"}, "without labels= or counts="),
    ({}, {"model": "g", "key": "k"}, "model= is for one score"),
    ({}, {"model": "g", "paired": False}, "(or prediction); this one is a mapping"),
    ({"score": {"a": "a"}}, {"model": "g", "paired": False}, "mapping of names: a; leave out one"),
    ({"score": None, "prediction": {"a": "g", "b": "g"}, "label": "g", "task": "multiclass"},
     {"metrics": "f1(average=None)"}, "needs one value per slice"),
])  # fmt: skip
def test_wrong_options_are_refused_at_once(
    scan: dict[str, Any], options: dict[str, Any], message: str
) -> None:
    bound = sqleval.scan(ROWS, **{"label": "y", "score": MODELS} | scan)
    with pytest.raises(RequestError) as caught:
        bound.compare(**{"metrics": "roc_auc"} | options)
    assert message in str(caught.value)


@pytest.mark.parametrize(("rows", "options", "error", "message"), [
    (LONG, {"model": "mm", "key": "k"}, RequestError, "model='mm'"),
    (LONG, {"model": "m", "key": "kk"}, RequestError, "key='kk'"),
    (LONG, {"model": "k", "key": "m"}, RequestError, "up to 50 models"),
    (LONG, {"model": "m", "key": "k", "baseline": "z"}, RequestError, "models: a, b, c"),
    (LONG.vstack(LONG.head(1)), {"model": "m", "key": "k"}, DataError,
     "key='k': '0' is in 2 rows of the model 'a'"),
    (LONG.vstack(LONG.head(1)), {"model": "m", "key": ["k", "user"]}, DataError,
     "key='k', 'user': '0', "),
    (LONG.with_row_index("row"), {"model": "m", "key": "row"}, DataError,
     "no value of key='row' has a row of every model that can be used; if the models have "
     "different rows: paired=False (--unpaired), and no key"),
    (LONG.with_columns(m=pl.when(pl.col("k") > 3).then("m")), {"model": "m", "key": "k"},
     DataError, "model='m' is NULL"),
    (LONG.filter(m="a"), {"model": "m", "key": "k"}, DataError,
     "model='m' has no value but 'a'; two models are compared"),
    (LONG.clear(), {"model": "m", "key": "k"}, DataError, "model='m' has no value; two"),
    (LONG.with_columns(p=pl.when(pl.col("k") > 3).then("p")), {"model": "m", "key": "k"},
     DataError, "nulls='drop'"),
    (LONG.with_columns(y=pl.when(k=5, m="b").then(1 - pl.col("y")).otherwise("y")),
     {"model": "m", "key": "k"}, DataError, "key='k': the rows of '5' differ in y"),
])  # fmt: skip
def test_wrong_long_tables_are_refused(
    rows: pl.DataFrame, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    lazy = sqleval.scan(rows, label="y", score="p").compare("roc_auc", **options)
    with pytest.raises(error) as caught:
        lazy.collect()
    assert message in str(caught.value)


@pytest.mark.parametrize("name", ["p_value", "verdict"])
def test_slice_keys_with_the_name_of_a_column_are_refused(name: str) -> None:
    bound = sqleval.scan(ROWS.rename({"g": name}), label="y", score=MODELS, by=name)
    with pytest.raises(RequestError, match=f"by='{name}'"):
        bound.compare("roc_auc")
    with pytest.raises(RequestError, match="is the column of model="):
        sqleval.scan(LONG, label="y", score="p", by="m").compare(model="m", paired=False)


@pytest.mark.parametrize("kind", ["duration", "list"])
def test_a_model_that_cannot_be_a_text_is_refused(kind: str) -> None:
    key = {"duration": pl.duration(days=pl.col("y")), "list": pl.concat_list("y")}[kind]
    bound = sqleval.scan(LONG.with_columns(m=key), label="y", score="p")
    message = r"model='m' is (INTERVAL|\w+\[\]), and with paired=False"
    with pytest.raises(RequestError, match=message):
        bound.compare(model="m", paired=False).collect()


def test_models_that_are_numbers() -> None:
    numbers = LONG.with_columns(pl.col("m").replace_strict({"a": 1, "b": 2, "c": 3}))
    for options in ({"key": "k"}, {"paired": False, "baseline": "2"}):
        found = compare(numbers, "f1", {"score": "p"}, model="m", **options)
        assert found["p_value"].null_count() == 0


def test_a_stream_is_refused() -> None:
    reader = ROWS.to_arrow().to_reader()
    with pytest.raises(RequestError, match="more than once; collect the stream"):
        sqleval.scan(reader, label="y", score=MODELS).compare("roc_auc")


def test_data_errors_rise_on_collect() -> None:
    gaps = ROWS.with_columns(a=pl.when(pl.col("k") > 3).then("a"))
    lazy = sqleval.scan(gaps, label="y", score=MODELS).compare("roc_auc")
    with pytest.raises(DataError, match="nulls='drop'"):
        lazy.collect()
    users = ROWS.with_columns(user=pl.when(pl.col("k") > 3).then("user"))
    lazy = sqleval.scan(users, label="y", score=MODELS).compare("roc_auc", cluster="user")
    with pytest.raises(DataError, match="cluster='user' is NULL in 4 rows"):
        lazy.collect()


def test_scipy_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.special", None)
    with pytest.raises(MissingExtra, match="pip install 'scipy"):
        sqleval.scan(ROWS, label="y", score=MODELS).compare("roc_auc")


def test_unmatched_rows_are_counted() -> None:
    some = LONG.filter(~((pl.col("m") == "b") & (pl.col("k") < 40)))
    found = compare(some, ["roc_auc", "f1", "accuracy"], {"score": "p"}, model="m", key="k")
    assert found["n"].unique().to_list() == [360]
    assert found["n_dropped"].unique().to_list() == [40]
    rest = compare(ROWS.filter(pl.col("k") >= 40), ["roc_auc", "f1", "accuracy"])
    assert_frame_equal(found.drop("n_dropped"), rest.drop("n_dropped"))


def count_warnings(collect: Callable[[], Any]) -> tuple[pl.DataFrame, int]:
    """Return a result, and the number of warnings about rows without a label."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UnmatchedRows)
        return collect(), len(caught)


def test_rows_and_labels_without_a_partner_are_counted_as_evaluate_counts_them() -> None:
    late = pl.concat(
        [ROWS.select("k", "y").tail(350), pl.DataFrame({"k": [900, 901], "y": [1, 1]})]
    )
    scan = {"label": "y", "labels": late, "on": "k", "by": "g"}
    bound = sqleval.scan(ROWS.drop("y"), score=TWO["score"], over="fold", **scan)
    evaluated, warned = count_warnings(bound.evaluate("roc_auc").collect)
    assert warned == 1
    expected = evaluated.filter(model="b").select("g", "n", "n_dropped")
    assert expected["n_dropped"].sum() == 50
    for call in ({}, {"test": "corrected_t"}):
        found, warned = count_warnings(bound.compare("roc_auc", **call).collect)
        assert_frame_equal(found.select("g", "n", "n_dropped"), expected)
        assert warned == 1
    found, warned = count_warnings(bound.leaderboard("roc_auc").collect)
    assert_frame_equal(found.filter(model="b").select("g", "n", "n_dropped"), expected)
    assert warned == 1
    one = sqleval.scan(ROWS.drop("y"), score="a", **scan)
    for lazy in (
        bound.compare_curves("roc", replicates=100),
        bound.sample_size("roc_auc"),
        one.sample_size("roc_auc", replicates=100),
    ):
        assert count_warnings(lazy.collect)[1] == 1


def test_counts_are_counted_as_evaluate_counts_them() -> None:
    rows = ROWS.with_columns(w=pl.when(pl.col("k") > 3).then("w"))
    scan = {"label": "y", "score": TWO["score"], "counts": "w", "nulls": "drop"}
    bound = sqleval.scan(rows.with_columns(a=pl.when(pl.col("k") > 9).then("a")), **scan)
    n = int(rows.filter(pl.col("k") > 9)["w"].sum())
    dropped = int(rows["w"].sum()) - n
    evaluated = bound.evaluate("roc_auc").collect().filter(model="a")
    assert evaluated.select("n", "n_dropped").row(0) == (n, dropped)
    found = bound.compare("roc_auc", replicates=100).collect()
    assert found.select("n", "n_dropped").row(0) == (n, dropped)


@pytest.mark.parametrize("test", [None, "bootstrap"])
def test_models_are_judged_on_the_same_rows(test: str | None) -> None:
    gaps = ROWS.with_columns(
        a=pl.when(pl.col("k") % 10 > 0).then("a"), b=pl.when(pl.col("k") % 10 != 1).then("b")
    )
    metrics = ["roc_auc", "accuracy", "log_loss"] if test is None else ["roc_auc"]
    found = compare(gaps, metrics, TWO | {"nulls": "drop", "by": "g"}, test=test)
    kept = ROWS.filter(pl.col("k") % 10 > 1)
    expected = compare(kept, metrics, TWO | {"by": "g"}, test=test)
    assert_frame_equal(found.drop("n_dropped"), expected.drop("n_dropped"))
    assert found.filter(metric="roc_auc")["n_dropped"].sum() == 400 - kept.height
    # Rows without a label count for no model.
    late = gaps.with_columns(y=pl.when(pl.col("k") < 200).then("y"))
    row = compare_one(late, "accuracy", scan={"nulls": "drop"}, test=test)
    assert (row["n"], row["n_dropped"]) == (160, 240)


def test_labels_of_any_kind_are_the_same() -> None:
    # Only f1 for the bootstrap, which reads labels alike for scores and for decisions.
    metrics = [*CLOSED, "f1"]
    expected = compare(ROWS, metrics)
    texts = ROWS.with_columns(y=pl.when(y=1).then(pl.lit("it's")).otherwise(pl.lit("no")))
    assert_frame_equal(compare(texts, metrics, {"positive": "it's"}), expected)
    # The bootstrap reads the label as the other tests do.
    closed = expected.filter(pl.col("metric").is_in(CLOSED))
    assert_frame_equal(compare(ROWS.with_columns(y=pl.col("y") == 1), CLOSED), closed)
    assert_frame_equal(compare(ROWS.with_columns(y=pl.col("y") * 2 - 1), CLOSED), closed)
    late = {"labels": ROWS.select("k", "y"), "on": "k"}
    assert_frame_equal(compare(ROWS.drop("y"), metrics, late), expected)


def test_scores_of_any_kind_are_the_same() -> None:
    metrics = ["roc_auc", "f1(threshold=0.3)", "accuracy(threshold=0.3)"]
    expected = compare(ROWS, metrics)
    decimal = ROWS.with_columns(pl.col("a", "b", "c").cast(pl.Decimal(10, 2)))
    closed = expected.filter(pl.col("metric") != "f1(threshold=0.3)")
    assert_frame_equal(compare(decimal, ["roc_auc", "accuracy(threshold=0.3)"]), closed)
    # 0.3 as FLOAT differs from 0.3 as DOUBLE, and 3e-05 is no DECIMAL.
    for factor, threshold in ((1.0, 0.3), (1e-4, 3e-05)):
        small = ROWS.with_columns((pl.col("a", "b", "c") * factor).cast(pl.Float32))
        names = ["roc_auc", f"f1(threshold={threshold})", f"accuracy(threshold={threshold})"]
        found = compare(small, names)
        assert_frame_equal(found.drop("metric"), expected.drop("metric"))
    at_scan = compare(ROWS, ["f1", "accuracy"], {"threshold": 0.3})
    assert_frame_equal(
        at_scan.drop("metric"), expected.filter(pl.col("metric") != "roc_auc").drop("metric")
    )


def test_predictions_of_two_classes() -> None:
    decided = ROWS.with_columns(pl.col("a", "b", "c") >= 0.5)
    scan = {"score": None, "prediction": MODELS}
    expected = compare(ROWS, ["accuracy", "f1"])
    assert_frame_equal(compare(decided, ["accuracy", "f1"], scan), expected)
    numbers = decided.with_columns(pl.col("a", "b", "c").cast(pl.Int64))
    assert_frame_equal(compare(numbers, "accuracy", scan), expected.filter(metric="accuracy"))
    texts = numbers.with_columns(
        pl.when(pl.col(name) == 1).then(pl.lit("yes")).otherwise(pl.lit("no")).alias(name)
        for name in ("y", "a", "b", "c")
    )
    assert_frame_equal(compare(texts, ["accuracy", "f1"], scan | {"positive": "yes"}), expected)
    long = numbers.unpivot(["a", "b", "c"], index=["k", "y"], variable_name="m", value_name="p")
    found = compare(long, "accuracy", {"score": None, "prediction": "p"}, model="m", key="k")
    assert_frame_equal(found, expected.filter(metric="accuracy"))


def test_names_that_need_quotes() -> None:
    names = {"y": 'la\'bel "x"', "a": "model", "b": 'b"', "c": "c'", "g": "slice", "user": "n"}
    rows = ROWS.rename(names)
    scan = {"label": names["y"], "score": {"it's": "model", 'b"': 'b"', "n": "c'"}, "by": "slice"}
    metrics = [*CLOSED, "f1"]
    expected = compare(ROWS, metrics, {"by": "g"})
    for options in ({}, {"cluster": "n"}):
        found = compare(rows, ["roc_auc", "f1"] if options else metrics, scan, **options)
        assert found["model"].unique().sort().to_list() == ['b"', "n"]
        if not options:
            assert_series_equal(found["p_value"], expected["p_value"], rel_tol=1e-12, abs_tol=0)


SLICES: dict[str, tuple[list[int], list[float], list[float]]] = {
    "fine": ([0, 1] * 20, [0.2, 0.4, 0.6, 0.7, 0.4, 0.3, 0.1, 0.8] * 5,
             [0.3, 0.6, 0.2, 0.7, 0.1, 0.8, 0.4, 0.9] * 5),
    "one class": ([1] * 5, [0.5] * 5, [0.6] * 5),
    "one row": ([1], [0.3], [0.6]),
    "one negative": ([1, 1, 0], [0.3, 0.6, 0.2], [0.6, 0.7, 0.1]),
    "constant": ([0, 1] * 6, [0.5] * 12, [0.5] * 12),
    "identical": ([0, 1] * 6, [0.1, 0.9, 0.6, 0.3] * 3, [0.1, 0.9, 0.6, 0.3] * 3),
    "the same loss": ([1] * 6 + [0] * 6, [0.7] * 6 + [0.3] * 6, [0.8] * 6 + [0.2] * 6),
}  # fmt: skip
EDGES = pl.concat(
    pl.DataFrame({"g": name, "y": y, "a": a, "b": b, "f": list(range(len(y)))})
    for name, (y, a, b) in SLICES.items()
)


@pytest.mark.parametrize("options", [
    {}, {"test": "bootstrap"}, {"margin": 0.05}, {"margin": 0.05, "alternative": "greater"},
    {"alternative": "less"}, {"paired": False},
])  # fmt: skip
def test_slices_without_a_test_say_why(options: dict[str, Any]) -> None:
    # The bootstrap does not depend on side or margin: they are tested in closed form. For different
    # rows, f1 alone stands for the bootstrap.
    metrics = METRICS if "test" in options else METRICS[:4]
    if {"margin", "alternative"} & set(options):
        metrics = CLOSED
    found = compare(EDGES, metrics, TWO | {"by": "g"}, **options)
    assert found.height == len(SLICES) * len(metrics)
    none = found.filter(pl.col("p_value").is_null())
    assert (none["verdict"] == "no test").all()
    assert none["p_adjusted"].null_count() == none.height
    for name in ("low", "high", "statistic"):
        assert none[name].null_count() == none.height
    fine = found.filter(g="fine")
    assert fine["p_value"].null_count() == 0
    if options.get("paired", True):
        for name in ("constant", "identical"):
            alike = found.filter(pl.col("g") == name, pl.col("metric") != "accuracy")
            assert alike["p_value"].null_count() == alike.height
            assert (alike["difference"] == 0).all()
        same = found.filter(g="the same loss", metric="log_loss")
        assert same["p_value"].item() is None
    one = found.filter(g="one class", metric="roc_auc").row(0, named=True)
    assert (one["value"], one["note"]) == (None, "no negative labels")


@pytest.mark.parametrize("test", ["wilcoxon", "paired_t"])
def test_losses_without_a_test_say_why(test: str) -> None:
    found = compare(EDGES, "log_loss", TWO | {"by": "g"}, test=test)
    assert found["p_value"].is_null().sum() >= 2
    if test == "wilcoxon":
        notes = dict(found.select("g", "note").iter_rows())
        assert notes["constant"] == "no test: no row differs"
        methods = dict(found.select("g", "method").iter_rows())
        assert (notes["one row"], methods["one row"].rpartition(", ")[2]) == (None, "exact")


@pytest.mark.parametrize("test", ["corrected_t", "friedman", "nemenyi"])
def test_folds_without_a_test_say_why(test: str) -> None:
    scan = TWO | {"over": "g"}
    found = compare(EDGES, "roc_auc", scan, test=test)
    assert "2 of 7 folds have no value" in found["note"].item()
    for rows in (
        EDGES.filter(g="fine"),
        EDGES.filter(pl.col("g").is_in(["constant", "identical"])),
    ):
        found = compare(rows, "roc_auc", scan, test=test)
        if test != "nemenyi" or rows.height == 40:
            assert found["note"].item().startswith("no test")
            assert found["verdict"].item() == "no test"
    assert compare(EDGES.clear(), "roc_auc", scan, test=test)["note"].item() == "no rows"
    assert compare(EDGES.clear(), "roc_auc", scan | {"by": "f"}, test=test).is_empty()


@pytest.mark.parametrize("by", [(), "g"])
def test_empty_inputs(by: Any) -> None:
    metrics = [*CLOSED, "f1"]
    found = compare(EDGES.clear(), metrics, TWO | {"by": by})
    assert found["p_value"].null_count() == found.height
    where = compare(EDGES, metrics, TWO | {"by": by, "where": "a > 2"})
    assert_frame_equal(where, found)
    if by:
        return  # slices without rows are missing, for whatever reason
    gaps = EDGES.with_columns(a=pl.lit(None, pl.Float64))
    left_out = compare(gaps, metrics, TWO | {"by": by, "nulls": "drop"})
    assert left_out["p_value"].null_count() == left_out.height


def test_the_scale_of_weights_changes_no_test() -> None:
    rng = np.random.default_rng(3)
    rows = ROWS.with_columns(w=pl.Series(rng.lognormal(0, 1, ROWS.height)))
    found = compare(rows, ["roc_auc", "f1"], {"weight": "w"})
    assert found["p_value"].null_count() == 0
    assert found["note"].str.contains("weights: effective number of rows").all()
    scaled = compare(rows.with_columns(pl.col("w") * 1e-4 / 3), ["roc_auc", "f1"], {"weight": "w"})
    for name in ("difference", "low", "high", "p_value"):
        assert scaled[name].to_list() == pytest.approx(found[name].to_list(), rel=1e-9)
    clustered = compare(rows, ["roc_auc", "f1"], {"weight": "w"}, cluster="user")
    assert clustered["p_value"].null_count() == 0


def test_verdicts_in_words() -> None:
    rng = np.random.default_rng(1)
    label = rng.integers(0, 2, 500)
    rows = pl.DataFrame({"y": label, "good": np.clip(label + rng.normal(0, 0.5, 500), 0.01, 0.99),
        "bad": rng.random(500), "g": rng.choice(["s", "t"], 500)})  # fmt: skip
    scan = {"score": {"bad": "bad", "good": "good"}}
    found = compare(rows, ["roc_auc", "log_loss", "prevalence"], scan)
    auc, loss, same = found["verdict"].to_list()
    row = found.row(0, named=True)
    assert auc == (
        f"good is better than bad by {row['difference']:.3g} [{row['low']:.3g}, {row['high']:.3g}]"
    )
    # The interval belongs to the size in the sentence.
    row = found.row(1, named=True)
    assert row["difference"] < 0
    assert loss == (
        f"good is better than bad by {-row['difference']:.3g} "
        f"[{-row['high']:.3g}, {-row['low']:.3g}]"
    )
    assert same == "no test"
    other = compare(rows, ["roc_auc", "log_loss"], scan, baseline="good")
    assert other["verdict"].str.starts_with("bad is worse than good by").all()
    small = rows.head(12)
    assert compare(small, "brier_score", scan, ci=0.999999)["verdict"].item().startswith(
        "no evidence of a difference ["
    )  # fmt: skip


@pytest.mark.parametrize(("test", "side", "found", "other"), [
    (None, "greater", ["b is better than a by ", "no evidence that b is worse than a [-",
     "b is higher than a by "],
     ["no evidence that a is better than b [-", "a is worse than b by ",
      "no evidence that a is higher than b [-"]),
    ("bootstrap", "less", ["no evidence that b is worse than a [-inf, ", "b is better than a by ",
     "no evidence that b is lower than a [-inf, "],
     ["a is worse than b by ", "no evidence that a is better than b [-inf, ",
      "a is lower than b by "]),
])  # fmt: skip
def test_one_sided_verdicts(
    test: str | None, side: str, found: list[str], other: list[str]
) -> None:
    """A difference that points the other way than the alternative is not an equality.

    One test per side is enough, because all tests pass their statistic to the same function.
    """
    rng = np.random.default_rng(2)
    label = np.tile([0, 1], 60)
    rows = pl.DataFrame({"y": label, "a": rng.uniform(0.2, 0.6, 120),
        "b": np.clip(label + rng.normal(0, 0.4, 120), 0.1, 0.9)})  # fmt: skip
    # For the third metric, neither higher nor lower is better.
    metrics = ["roc_auc", "log_loss", "pcoc"]
    call: dict[str, Any] = {"alternative": side, "test": test}
    for baseline, expected in (("a", found), ("b", other)):
        rows_of = compare(rows, metrics, TWO, baseline=baseline, **call)
        for verdict, start in zip(rows_of["verdict"], expected, strict=True):
            assert verdict.startswith(start)
        better = sum(" is better than " in start for start in expected if start[:2] != "no")
        sentences = summarize(rows_of.with_columns(g=pl.lit("s")), ["g"])
        assert sum("better for s" in sentence for sentence in sentences) == better
        evidence = sum(start.startswith("no evidence") for start in expected)
        assert sum("no evidence for 1 slice" in sentence for sentence in sentences) == evidence


@pytest.mark.parametrize("side", ["two-sided", "less"])
def test_verdicts_of_ranks_that_contradict_the_mean(side: str) -> None:
    """Losses are lower in nearly all rows, and far higher in a few."""
    rng = np.random.default_rng(3)
    a = rng.uniform(0.5, 0.8, 300)
    b = np.where(np.arange(300) % 25 == 0, 1e-6, a + 0.02)
    rows = pl.DataFrame({"y": 1, "a": a, "b": b, "fold": np.arange(300) % 25})
    verdict = "b is better than a by ranks, though not by value"
    row = compare_one(rows, "log_loss", test="wilcoxon", alternative=side)
    assert row["difference"] > 0
    assert stats.wilcoxon(np.log(a), np.log(b), alternative=side).pvalue < 0.05
    assert row["verdict"] == verdict
    if side == "two-sided":
        over = {"scan": {"over": "fold"}}
        assert compare_one(rows, "log_loss", test="nemenyi", **over)["verdict"] == verdict
        other = compare_one(rows, "log_loss", test="nemenyi", baseline="b", **over)
        assert other["verdict"] == "a is worse than b by ranks, though not by value"
    worse = rows.with_columns(b=pl.col("a") - 0.1)
    row = compare_one(worse, "log_loss", test="wilcoxon")
    assert row["verdict"] == f"b is worse than a by {row['difference']:.3g}"


@pytest.mark.parametrize("test", [None, "bootstrap", "corrected_t"])
def test_a_slice_key_may_have_the_name_of_an_inner_column(test: str | None) -> None:
    keys = ("wins", "stderr", "replicate", "slice_1", "estimate")
    metrics = ["accuracy"] if test == "bootstrap" else ["roc_auc", "accuracy"]
    plain = compare(ROWS, metrics, {"by": "g", "over": "fold"}, test=test)
    rows = ROWS.with_columns(pl.col("g").alias(name) for name in keys).drop("g")
    found = compare(rows, metrics, {"by": keys, "over": "fold"}, test=test)
    for name in keys:
        others = [other for other in keys if other != name]
        assert_frame_equal(found.drop(others).rename({name: "g"}), plain)


def test_states_of_periods_are_compared_within_the_bounds_of_their_bins() -> None:
    metrics = [*CLOSED, "f1"]
    rows = LONG.filter(pl.col("m") != "c")
    exact = compare(rows, metrics, {"score": "p"}, model="m", paired=False)
    widths: list[float] = []
    for bins in (9, 3):
        # Sums over rows are the same in bins of any width.
        asked = metrics if bins == 9 else ["roc_auc"]
        state = sqleval.scan(rows, label="y", score="p", by="m").state(asked, bins=bins)
        bound = sqleval.from_state(state.collect())
        found = bound.compare(asked, model="m", paired=False, replicates=100).collect()
        of_auc = found.row(0, named=True)
        values = sqleval.from_state(state.collect(), by="m").evaluate("roc_auc").collect()
        bounds = float((values["high"] - values["low"]).sum()) / 2
        assert abs(of_auc["difference"] - exact["difference"][0]) <= bounds + 1e-12
        # The interval of the exact difference, widened on both sides by the bounds of the bins.
        plain = exact["high"][0] - exact["low"][0]
        assert of_auc["high"] - of_auc["low"] == pytest.approx(plain + 2 * bounds, rel=0.2)
        assert of_auc["p_value"] >= exact["p_value"][0] * (bins < 9)
        widths.append(bounds)
        for name in asked[1:]:
            ours = found.filter(pl.col("metric") == name)["difference"].item()
            expected = exact.filter(pl.col("metric") == name)["difference"].item()
            assert ours == pytest.approx(expected, abs=1e-9)
    assert widths[1] > 4 * widths[0]


def test_a_baseline_without_rows_in_a_slice_has_a_note() -> None:
    rows = LONG.filter((pl.col("m") != "a") | (pl.col("g") == "s"))
    found = compare(rows, "roc_auc", {"score": "p", "by": "g"}, model="m", paired=False)
    lost = found.filter(pl.col("g") == "t")
    assert lost["note"].to_list() == ["the baseline has no rows"] * 2
    assert lost["n"].null_count() == 0
