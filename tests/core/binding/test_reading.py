"""The same values mean the same whatever their types are: one reading of the input."""

import itertools
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from sklearn.metrics import accuracy_score, f1_score

import sqleval
from sqleval import DataError, UnmatchedRows

TYPES = (
    "BOOLEAN", "TINYINT", "BIGINT", "HUGEINT", "DECIMAL(4, 1)", "FLOAT", "DOUBLE", "VARCHAR",
    "ENUM('0', '1', '2')",
)  # fmt: skip
PAIRS = list(itertools.product(TYPES, TYPES))
Y, C = [1, 0, 1, 0, 1], [1, 1, 1, 0, 0]
LABELS, PREDICTIONS = [0, 1, 2, 2, 1, 0], [0, 1, 1, 2, 2, 0]


def scan_as(
    labels: list[int], predictions: list[int], label: str, prediction: str, **options: Any
) -> sqleval.Predictions:
    """Bind a query that casts whole numbers to types."""
    rows = ", ".join(f"({y}, {c})" for y, c in zip(labels, predictions, strict=True))
    columns = (("y", label), ("c", prediction))
    y, c = (f"CAST({write_text(name, kind)} AS {kind})" for name, kind in columns)
    query = f"SELECT {y} AS y, {c} AS c FROM (VALUES {rows}) AS t(y, c)"
    return sqleval.scan(query=query, label="y", prediction="c", **options)


def write_text(name: str, kind: str) -> str:
    """Return a whole number as its text for a type of texts."""
    return f"CAST({name} AS VARCHAR)" if kind.startswith(("VARCHAR", "ENUM")) else name


def is_text(kind: str) -> bool:
    return kind.startswith(("VARCHAR", "ENUM"))


@pytest.mark.parametrize(("label", "prediction"), PAIRS)
def test_0_and_1_of_any_types(label: str, prediction: str) -> None:
    bound = scan_as(Y, C, label, prediction)
    texts = is_text(label) and is_text(prediction)
    assert bound.task == ("multiclass" if texts else "binary")
    found = bound.evaluate(["accuracy", "f1_macro" if texts else "f1"]).collect()["value"].to_list()
    average = "macro" if texts else "binary"
    assert found == pytest.approx([accuracy_score(Y, C), f1_score(Y, C, average=average)])


@pytest.mark.parametrize(("label", "prediction"), [pair for pair in PAIRS if "BOOLEAN" not in pair])
def test_whole_numbers_of_any_types(label: str, prediction: str) -> None:
    bound = scan_as(LABELS, PREDICTIONS, label, prediction)
    fractions = ("DECIMAL(4, 1)", "FLOAT", "DOUBLE")
    if label in fractions and prediction in fractions:
        assert bound.task == "regression"
        with pytest.warns(UnmatchedRows, match="task='multiclass'"):
            assert bound.evaluate("mae").collect()["value"].item() == pytest.approx(2 / 6)
        bound = scan_as(LABELS, PREDICTIONS, label, prediction, task="multiclass")
    assert bound.task == "multiclass"
    found = bound.evaluate(["accuracy", "f1_macro"]).collect()["value"].to_list()
    assert found == pytest.approx(
        [accuracy_score(LABELS, PREDICTIONS), f1_score(LABELS, PREDICTIONS, average="macro")]
    )


@pytest.mark.parametrize("texts", [["True", "False", "True", "False", "False"], list("tf1nf")])
def test_texts_beside_truth_values(texts: list[str]) -> None:
    frame = pl.DataFrame({"y": [True, False, True, False, True], "c": texts})
    for kind in (pl.String, pl.Enum(sorted({*texts}))):
        rows = frame.cast({"c": kind})
        for task in (None, "binary", "multiclass"):
            bound = sqleval.scan(rows, label="y", prediction="c", task=task)
            assert bound.task == (task or "binary")
            assert bound.evaluate("accuracy").collect()["value"].item() == 0.8
            swapped = sqleval.scan(rows, label="c", prediction="y", task=task)
            assert swapped.evaluate("accuracy").collect()["value"].item() == 0.8


def test_texts_beside_numbers_are_not_rounded() -> None:
    rows = pl.DataFrame({"y": ["1.5", "2", "3.4", "4"], "c": [2, 2, 3, 5]})
    with pytest.warns(UnmatchedRows, match=r"2 of 4 predictions are no class of the label"):
        found = sqleval.scan(rows, label="y", prediction="c").evaluate("accuracy").collect()
    assert found["value"].item() == 0.25
    rows = pl.DataFrame({"y": [0, 1, 1, 0], "c": ["0.4", "0.6", "1", "0"]})
    with pytest.warns(UnmatchedRows, match=r"2 of 4 .* no class of the label, such as 0\.4"):
        found = sqleval.scan(rows, label="y", prediction="c").evaluate("accuracy").collect()
    assert found["value"].item() == 0.5


def test_texts_that_match_no_class() -> None:
    rows = pl.DataFrame({"y": [0, 1, 1, 0], "c": ["no", "yes", "yes", "no"]})
    bound = sqleval.scan(rows, label="y", prediction="c")
    with pytest.raises(DataError, match="no prediction is a class of the label, such as no"):
        bound.evaluate("accuracy").collect()


def test_classes_of_pandas_with_a_missing_value() -> None:
    rows = pl.DataFrame({"y": [0, 1, 2, 2], "c": [0.0, 1.0, float("nan"), 2.0]})
    bound = sqleval.scan(rows, label="y", prediction="c", nulls="drop")
    assert bound.task == "multiclass"
    row = bound.evaluate("accuracy").collect().row(0, named=True)
    assert (row["value"], row["n"], row["n_dropped"]) == (1.0, 3, 1)


def test_a_class_keeps_its_text_where_a_null_makes_it_a_float() -> None:
    whole = pl.DataFrame({"y": [0, 1, 2, 2], "c": [0, 1, 1, 2]})
    for rows in (whole, whole.cast({"c": pl.Float64}), whole.cast({"y": pl.Float64})):
        bound = sqleval.scan(rows, label="y", prediction="c", task="multiclass")
        found = bound.evaluate("f1(average=None)").collect()
        assert found["class"].cast(pl.String).to_list() == ["0", "1", "2"]


def test_a_row_that_contradicts_the_first_ones() -> None:
    late = pl.DataFrame({"y": [0, 1] * 600, "c": [0.0, 1.0] * 599 + [0.5, 2.0]})
    bound = sqleval.scan(late, label="y", prediction="c")
    with pytest.raises(DataError, match=r"another value, such as 2.0, is in 2 of 1200 rows.*task="):
        bound.evaluate("accuracy").collect()
    late = pl.DataFrame({"y": [0, 1, 2] * 400, "c": [0.0, 1.0, 2.0] * 399 + [0.5, 2.0, 2.0]})
    bound = sqleval.scan(late, label="y", prediction="c")
    with pytest.raises(DataError, match=r"not whole, such as 0.5, is in 1 of 1200 rows.*task="):
        bound.evaluate("accuracy").collect()
    given = sqleval.scan(late, label="y", prediction="c", task="multiclass")
    assert given.evaluate("accuracy").collect()["value"].item() == 1198 / 1200


def test_extremes_in_the_footer_are_seen(tmp_path: Any) -> None:
    late = pl.DataFrame({"y": [0, 1] * 600 + [7], "c": [0, 1] * 600 + [1]})
    late.write_parquet(tmp_path / "late.parquet")
    bound = sqleval.scan(tmp_path / "late.parquet", label="y", prediction="c")
    assert bound.task == "multiclass"


def test_a_stream_is_read_as_a_table_is() -> None:
    rows = pa.table({"y": Y * 500, "c": C * 500})
    reader = pa.RecordBatchReader.from_batches(rows.schema, rows.to_batches(max_chunksize=300))
    for source in (rows, reader):
        bound = sqleval.scan(source, label="y", prediction="c")
        assert bound.task == "binary"
        row = bound.evaluate("f1").collect().row(0, named=True)
        assert (row["value"], row["n"]) == (pytest.approx(2 / 3), 2500)


def test_the_condition_is_applied_to_the_first_rows() -> None:
    rows = pl.DataFrame({"y": [0, 1, 2, 1], "c": [0, 1, 1, 1]})
    assert sqleval.scan(rows, label="y", prediction="c", where="y < 2").task == "binary"
    assert sqleval.scan(rows, label="y", prediction="c").task == "multiclass"


def test_keys_of_labels_match_by_their_text() -> None:
    rows = pl.DataFrame({"id": [1, 2, 3], "p": [0.9, 0.2, 0.7]})
    late = pl.DataFrame({"id": ["1", "01", "1.5", "2", "2.4", "3"], "y": [1, 0, 0, 0, 1, 1]})
    bound = sqleval.scan(rows, label="y", score="p", labels=late, on="id")
    with pytest.warns(UnmatchedRows, match="0 of 3 rows have no label yet .*; 3 labels match no"):
        row = bound.evaluate("roc_auc").collect().row(0, named=True)
    assert (row["value"], row["n"]) == (1.0, 3)
    for ours, theirs in itertools.product(
        (pl.Int64, pl.Float64, pl.String, pl.Decimal(9, 2)), repeat=2
    ):
        keys = pl.Series("id", [1, 2, 3])
        ours_key = keys.cast(ours) if ours != pl.String else keys.cast(pl.String)
        found = sqleval.scan(
            rows.with_columns(ours_key), label="y", score="p", on="id",
            labels=pl.DataFrame({"id": keys.cast(theirs), "y": [1, 0, 1]}),
        ).evaluate("roc_auc").collect()  # fmt: skip
        assert found["n"].item() == 3


def test_dates_match_texts() -> None:
    days = pl.Series("id", ["2024-01-01", "2024-01-02", "2024-01-03"])
    rows = pl.DataFrame({"id": days.str.to_date(), "p": [0.9, 0.2, 0.7]})
    late = pl.DataFrame({"id": days, "y": [1, 0, 1]})
    found = sqleval.scan(rows, label="y", score="p", labels=late, on="id").evaluate("roc_auc")
    assert found.collect()["n"].item() == 3


def test_whole_numbers_that_may_be_amounts_say_how_they_are_read() -> None:
    prices = pl.DataFrame(
        {"y": range(100_000, 160_000, 1_000), "p": range(101_000, 161_000, 1_000)}
    )
    bound = sqleval.scan(prices, label="y", prediction="p")
    with pytest.warns(UnmatchedRows, match=r"if they are amounts, task='regression' \(--task"):
        assert bound.evaluate("accuracy").collect()["value"].item() == 0
    # Classes are few, and a task that is named needs no remark.
    sqleval.scan(prices.head(20), label="y", prediction="p").evaluate("accuracy").collect()
    for task, metric, value in (("multiclass", "accuracy", 0), ("regression", "mae", 1_000)):
        named = sqleval.scan(prices, label="y", prediction="p", task=task)
        assert named.evaluate(metric).collect()["value"].item() == value


def test_counts_with_predicted_means_are_a_regression() -> None:
    claims = pl.DataFrame({"y": [0, 1, 2, 5] * 20, "p": [0.4, 0.9, 1.6, 2.8] * 20})
    assert sqleval.scan(claims, label="y", prediction="p").task == "regression"
    whole = claims.with_columns(pl.col("p").round())
    # Whole numbers of integers and floats are classes, such as those of pandas with NaN.
    assert sqleval.scan(whole, label="y", prediction="p").task == "multiclass"


def test_a_metric_of_a_regression_names_the_option() -> None:
    rows = pl.DataFrame({"y": [1.5, 2.5], "p": [1.0, 3.0]})
    with pytest.raises(
        sqleval.RequestError,
        match=r"task='regression' \(--task regression\), with prediction= \(--prediction\) instead",
    ):
        sqleval.scan(rows, label="y", score="p").evaluate("mae")
