"""Roles: several models, several classes, missing values, and slices without a usable row."""

import re
from pathlib import Path
from typing import Any, cast

import duckdb
import numpy as np
import polars as pl
import pytest
from sklearn.metrics import (
    accuracy_score,
    log_loss,
    mean_absolute_error,
    precision_score,
    roc_auc_score,
)

import sqleval
from sqleval import DataError, RequestError
from tests.support.comparison import assert_frame_equal
from tests.support.flights import FLIGHTS, METRICS, ROWS


def test_a_mapping_of_scores_compares_models(one_file: Path) -> None:
    models = {"boosted": "p", "logistic": "q"}  # inferred as dict[str, str], as in user code
    bound = sqleval.scan(one_file, label="delayed", score=models, by="carrier")
    got = bound.evaluate(METRICS).collect()
    assert got.columns[:2] == ["carrier", "model"]
    for model, column in (("boosted", "p"), ("logistic", "q")):
        alone = sqleval.scan(one_file, label="delayed", score=column, by="carrier")
        mine = got.filter(pl.col("model") == model).drop("model")
        assert_frame_equal(mine, alone.evaluate(METRICS).collect())


@pytest.mark.parametrize("name", [3, b"p", ["p"], {"p"}], ids=repr)
def test_what_is_no_text_names_no_column(name: Any) -> None:
    roles: Any = {"label": "delayed", "score": {"a": "p", "b": "q"}}
    bound = sqleval.scan(ROWS, **roles)
    calls: dict[str, Any] = {
        "counts": lambda: sqleval.scan(ROWS, **roles, counts=name),
        "cluster": lambda: bound.evaluate("roc_auc", ci=0.9, cluster=name),
        "where": lambda: sqleval.inspect(ROWS, where=name),
        "drift": lambda: sqleval.drift(ROWS, ROWS, score="p", where=name),
        "sets": lambda: sqleval.scan(ROWS, **roles, by="carrier", sets=[3, name]),
        "query": lambda: sqleval.scan(query=name, **roles),
        "weight": lambda: sqleval.inspect(ROWS, weight=name),
        "curve": lambda: bound.curve(name),
        "test": lambda: bound.compare("roc_auc", test=name),
        "model": lambda: bound.compare("roc_auc", model=name, key=name),
    }
    for call in calls.values():
        with pytest.raises(RequestError, match=r"must be|one of|leave out"):
            call()
    with pytest.raises(RequestError, match=r"such as {'a': 'a', 'b': 'b'}"):
        sqleval.scan(ROWS, label="delayed", score=cast("Any", []))
    with pytest.raises(RequestError, match=r"sets=3 must be 'overall'"):
        sqleval.scan(ROWS, **roles, by="carrier", sets=cast("Any", 3))
    with pytest.raises(RequestError, match=r"baseline=3; models: a, b"):
        bound.compare("roc_auc", baseline=cast("Any", 3))
    with pytest.raises(RequestError, match=r"role='delayed' must be a text .*test\) and is"):
        sqleval.scan(ROWS, label="delayed", score="p", role="delayed")


def test_numbers_of_numpy_are_numbers() -> None:
    bound = sqleval.scan(ROWS, label="delayed", score="p", threshold=cast("float", np.float32(0.5)))
    plain = sqleval.scan(ROWS, label="delayed", score="p", threshold=0.5)
    options: Any = {"bins": np.int64(9), "ci": np.float64(0.9)}
    few = ["roc_auc", "precision"]  # with bins, and at the threshold
    for ours, theirs in (
        (bound.evaluate(few, **options), plain.evaluate(few, bins=9, ci=0.9)),
        (bound.confusion(threshold=np.float64(0.3)), plain.confusion(threshold=0.3)),
        (bound.curve("cost", cost_fn=np.float64(2)), plain.curve("cost", cost_fn=2)),
        (
            bound.curve("calibration", bins=cast("int", np.int64(3))),
            plain.curve("calibration", bins=3),
        ),
    ):
        assert_frame_equal(ours.collect(), theirs.collect())
    assert bound.sql("precision", ci=np.float64(0.9)) == plain.sql("precision", ci=0.9)
    positive = sqleval.scan(ROWS, label="delayed", score="p", positive=cast("int", np.int64(0)))
    assert positive.binding.positive == 0


def test_a_mapping_of_predictions_compares_models() -> None:
    frame = ROWS.with_columns(
        a=(pl.col("p") > 0.4).cast(pl.Int8), b=(pl.col("q") > 0.3).cast(pl.Int8)
    )
    got = (
        sqleval.scan(frame, label="delayed", prediction={"a": "a", "b": "b"}, task="binary")
        .evaluate(["accuracy", "precision"])
        .collect()
    )
    for model in ("a", "b"):
        alone = sqleval.scan(frame, label="delayed", prediction=model, task="binary")
        mine = got.filter(pl.col("model") == model).drop("model")
        assert_frame_equal(mine, alone.evaluate(["accuracy", "precision"]).collect())


def test_a_mapping_of_predicted_values_compares_regressions() -> None:
    frame = pl.DataFrame({"y": [1.0, 2.0, 3.0], "a": [1.0, 2.0, 4.0], "b": [0.0, 2.0, 3.0]})
    bound = sqleval.scan(frame, label="y", prediction={"a": "a", "b": "b"}, task="regression")
    got = bound.evaluate("mse").collect()
    assert got.select("model", "value").rows() == [
        ("a", pytest.approx(1 / 3)),
        ("b", pytest.approx(1 / 3)),
    ]


@pytest.mark.parametrize("kind_of_source", ["file", "stream", "relation"])
def test_a_mapping_of_classes(kind_of_source: str, tmp_path: Path) -> None:
    classes = ["on time", "minor", "major"]
    columns = [f"{name.replace(' ', '_')}_boosted" for name in classes]
    frame = (
        pl.scan_parquet(FLIGHTS / "predictions")
        .filter(pl.col("delay_class").is_not_null())
        .select("delay_class", *columns)
        .gather_every(50)
        .collect()
    )
    frame.write_parquet(tmp_path / "rows.parquet")
    source: Any = {
        "file": tmp_path / "rows.parquet",
        "stream": frame.lazy(),
        "relation": duckdb.connect().from_arrow(frame.to_arrow()),
    }
    bound = sqleval.scan(
        source[kind_of_source],
        label="delay_class",
        score=dict(zip(classes, columns, strict=True)),
        task="multiclass",
    )
    got = dict(
        bound.evaluate(["accuracy", "log_loss", "roc_auc_ovr"])
        .collect()
        .select("metric", "value")
        .rows()
    )
    scores = frame.select(columns).to_numpy()
    order = np.argsort(classes)
    chosen = np.array(classes)[scores.argmax(axis=1)]
    assert got["accuracy"] == pytest.approx(accuracy_score(frame["delay_class"], chosen), rel=1e-12)
    truth, ordered = frame["delay_class"].to_numpy(), scores[:, order]
    assert got["log_loss"] == pytest.approx(log_loss(truth, ordered), rel=1e-12)
    ovr = roc_auc_score(truth, ordered, multi_class="ovr")
    assert got["roc_auc(average='macro')"] == pytest.approx(ovr, rel=1e-12)


@pytest.mark.parametrize("kind_of_source", ["file", "frame", "stream"])
def test_dropped_rows_are_counted_by_slice(kind_of_source: str, tmp_path: Path) -> None:
    frame = ROWS.with_columns(
        delayed=pl.when(pl.col("key") % 7 > 0).then("delayed"),
        p=pl.when(pl.col("key") % 5 == 1).then(float("nan")).otherwise("p"),
    ).with_columns(p=pl.when(pl.col("key") % 5 > 0).then("p"))
    frame.write_parquet(tmp_path / "rows.parquet")
    source: Any = {"frame": frame, "stream": frame.lazy(), "file": tmp_path / "rows.parquet"}
    bound = sqleval.scan(
        source[kind_of_source], label="delayed", score="p", weight="w", by="carrier", nulls="drop"
    )
    got = bound.evaluate(METRICS).collect()
    kept = frame.filter(pl.col("delayed").is_not_null(), pl.col("p").is_not_nan())
    clean = sqleval.scan(kept, label="delayed", score="p", weight="w", by="carrier")
    assert_frame_equal(got.drop("n_dropped"), clean.evaluate(METRICS).collect().drop("n_dropped"))
    totals = dict(frame.group_by("carrier").len().rows())
    for carrier, n, dropped in got.select("carrier", "n", "n_dropped").iter_rows():
        assert n + dropped == totals[carrier]


def test_each_model_drops_its_own_rows() -> None:
    frame = ROWS.with_columns(q=pl.when(pl.col("key") % 2 == 0).then("q"))
    bound = sqleval.scan(frame, label="delayed", score={"p": "p", "q": "q"}, nulls="drop")
    got = bound.evaluate("roc_auc").collect()
    missing = frame["q"].null_count()
    assert got.select("model", "n", "n_dropped").rows() == [
        ("p", 3000, 0),
        ("q", 3000 - missing, missing),
    ]


def test_a_slice_without_a_usable_row_appears() -> None:
    frame = pl.DataFrame({"y": [0, 1, None], "p": [0.1, 0.9, 0.5], "g": ["a", "a", "b"]})
    got = (
        sqleval.scan(frame, label="y", score="p", by="g", nulls="drop")
        .evaluate("roc_auc")
        .collect()
    )
    assert got.select("g", "value", "n", "n_dropped", "note").rows() == [
        ("a", 1.0, 2, 0, None),
        ("b", None, 0, 1, "no rows"),
    ]


def test_an_empty_source_is_one_row_without_a_number() -> None:
    got = sqleval.scan(ROWS[:0], label="delayed", score="p").evaluate().collect()
    assert got.height == 12
    assert got["n"].to_list() == [0] * 12
    assert got["value"].null_count() == 12
    assert set(got["note"]) == {"no rows"}


@pytest.mark.parametrize("kind", ["DataFrame", "LazyFrame", "Arrow", "Parquet"])
@pytest.mark.parametrize("decision", [pl.Int64, pl.Boolean])
def test_a_label_and_a_prediction_of_0_and_1_are_binary(
    kind: str, decision: type[pl.DataType], tmp_path: Path
) -> None:
    frame = pl.DataFrame({"y": [1, 1, 0, 0, 1, None], "d": [1, 0, 1, 0, 1, 0]})
    frame = frame.with_columns(pl.col("d").cast(decision))
    frame.write_parquet(tmp_path / "rows.parquet")
    source = {
        "DataFrame": frame,
        "LazyFrame": frame.lazy(),
        "Arrow": frame.to_arrow(),
        "Parquet": tmp_path / "rows.parquet",
    }[kind]
    bound = sqleval.scan(source, label="y", prediction="d", nulls="drop")
    assert bound.task == "binary"
    assert "(binary)" in repr(bound)
    rows = frame.drop_nulls()
    expected = precision_score(rows["y"], rows["d"].cast(pl.Int64))
    assert bound.evaluate("precision").collect()["value"].item() == expected


def test_a_role_is_named_by_its_argument() -> None:
    frame = pl.DataFrame({"y": [1.0, 0.0], "s": [0.1, 0.2], "q": [1.0, float("nan")]})
    bound = sqleval.scan(frame, label="y", score="s", qid="q")
    assert "qid='q'" in repr(bound)
    with pytest.raises(DataError, match=r"^qid='q' is NULL or NaN in 1 of 2 rows"):
        bound.evaluate("ndcg").collect()


def test_further_classes_are_seen_in_the_first_rows_or_by_the_audit() -> None:
    few = pl.DataFrame({"y": [1, 0, 2], "d": [1, 0, 1]})
    assert sqleval.scan(few, label="y", prediction="d").task == "multiclass"
    assert sqleval.scan(few.clear(), label="y", prediction="d").task == "multiclass"
    late = pl.DataFrame({"y": [0] * 1000 + [2], "d": [1] * 1001})
    bound = sqleval.scan(late, label="y", prediction="d")
    assert bound.task == "binary"
    with pytest.raises(DataError, match=r"such as 2, is in 1 of 1001 rows; .* task='multiclass'"):
        bound.evaluate("precision").collect()


def test_models_that_predict_numbers_are_regression() -> None:
    frame = pl.DataFrame({"y": [1.5, 2.0, 4.0], "a": [1.0, 2.0, 3.0], "b": [2.0, 2.0, 2.0]})
    bound = sqleval.scan(frame, label="y", prediction={"a": "a", "b": "b"})
    assert bound.task == "regression"
    assert bound.evaluate("mae").collect()["value"].to_list() == [
        mean_absolute_error(frame["y"], frame[model]) for model in ("a", "b")
    ]


def test_notebooks_show_predictions_as_a_table() -> None:
    rows = pl.DataFrame({"y": [0, 1], "a": [0.1, 0.9], "b": [0.2, 0.7], "g": ["x", "z"]})
    bound = sqleval.scan(rows, label="y", score={"<new>": "a", "old": "b"}, by="g")
    cells = re.findall(r">([^<>]+)</t[hd]>", bound._repr_html_())
    assert dict(zip(cells[::2], cells[1::2], strict=True)) == {
        "task": "binary", "source": "the DataFrame", "label": "y",
        "score": "&lt;new&gt; = a, old = b", "by": "g",
    }  # fmt: skip
