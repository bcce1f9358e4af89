"""``role=``: values on train, validation and test rows, and the gaps between them."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import (
    accuracy_score,
    log_loss,
    mean_squared_error,
    recall_score,
    roc_auc_score,
    roc_curve,
)

import sqleval
from sqleval import DataError, RequestError
from tests.support.cases import ROLES, drawn
from tests.support.small_inputs import COUNTS, class_decisions, close, command


def split(n: int = 300, *names: str) -> pl.DataFrame:
    names = names or ("test", "train", "validation")
    frame = drawn("binary", n, seed=6).with_columns(q=1 - pl.col("w"))
    place = pl.int_range(pl.len()) * 7 % len(names)
    return frame.with_columns(part=place.replace_strict(dict(enumerate(names)), return_dtype=str))


MEASURED: Mapping[str, Callable[[pl.DataFrame, str], float]] = {
    "roc_auc": lambda part, p: roc_auc_score(part["y"], part[p]),
    "log_loss": lambda part, p: log_loss(part["y"], part[p]),
    "accuracy": lambda part, p: accuracy_score(part["y"], part[p] >= 0.5),
    "error_rate": lambda part, p: 1 - accuracy_score(part["y"], part[p] >= 0.5),
}


LOWER = ("log_loss", "error_rate")


ORDER = ("train", "validation", "test", "gap", "validation_gap")


def measured(frame: pl.DataFrame, column: str = "p") -> list[tuple[str, str, float, int]]:
    """Return role, metric, value and n, in the order of the result."""
    value = {
        (role, metric): reference(frame.filter(part=role), column)
        for role in ORDER[:3]
        for metric, reference in MEASURED.items()
    }
    size = {role: frame.filter(part=role).height for role in ORDER[:3]}
    for gap, role in (("gap", "test"), ("validation_gap", "validation")):
        size[gap] = size["train"] + size[role]
        for metric in MEASURED:
            worse = value[role, metric] - value["train", metric]
            value[gap, metric] = worse if metric in LOWER else -worse
    rows = [(role, metric) for role in ORDER for metric in MEASURED]
    return [(role, metric, value[role, metric], size[role]) for role, metric in rows]


def assert_measured(got: pl.DataFrame, expected: list[tuple[str, str, float, int]]) -> None:
    rows = got.select("role", "metric", "value", "n").rows()
    assert [row[:2] for row in rows] == [row[:2] for row in expected]
    assert [row[3] for row in rows] == [row[3] for row in expected]
    np.testing.assert_allclose([r[2] for r in rows], [r[2] for r in expected], rtol=0, atol=1e-12)


def test_roles_have_their_values_and_gaps() -> None:
    frame = split()
    bound = sqleval.scan(frame, label="y", score="p", role="part")
    lazy = bound.evaluate(list(MEASURED))
    result = lazy.collect()
    assert result.columns[:2] == ["role", "metric"]
    assert result.schema == lazy.collect_schema()
    assert_measured(result, measured(frame))
    methods = dict(result.filter(role="gap").select("metric", "method").rows())
    assert methods["log_loss"] == "test - train"
    assert methods["roc_auc"] == "train - test"


def test_roles_by_slice_and_model() -> None:
    frame = split(400)
    roles = {"label": "y", "score": {"one": "p", "two": "q"}, "role": "part", "by": "h"}
    result = sqleval.scan(frame, **roles).evaluate(list(MEASURED)).collect()
    assert result.columns[:4] == ["h", "model", "role", "metric"]
    parts = result.partition_by("h", "model", as_dict=True)
    assert list(parts) == [(1, "one"), (1, "two"), (2, "one"), (2, "two")]
    for (h, model), part in parts.items():
        column = {"one": "p", "two": "q"}[model]
        assert_measured(part, measured(frame.filter(h=h), column))


def test_a_role_column_of_another_name_and_order_of_rows() -> None:
    frame = split().rename({"part": "role"}).sort("role", descending=True)
    result = sqleval.scan(frame, label="y", score="p", role="role").evaluate("accuracy").collect()
    assert result["role"].to_list() == list(ORDER)
    test, train = (frame.filter(role=name) for name in ("test", "train"))
    expected = MEASURED["accuracy"](train, "p") - MEASURED["accuracy"](test, "p")
    assert result["value"][3] == close(expected)


@pytest.mark.parametrize(
    ("names", "roles"),
    [
        (["train"], ["train"]),
        (["test"], ["test"]),
        (["validation", "test"], ["validation", "test"]),
        (["train", "test"], ["train", "test", "gap"]),
        (["train", "validation"], ["train", "validation", "validation_gap"]),
    ],
    ids=str,
)
def test_only_what_occurs_has_rows(names: list[str], roles: list[str]) -> None:
    bound = sqleval.scan(split(60, *names), label="y", score="p", role="part")
    assert bound.evaluate("accuracy").collect()["role"].to_list() == roles


def test_a_slice_without_training_rows_has_no_gap() -> None:
    frame = split(200).filter((pl.col("h") == 1) | (pl.col("part") != "train"))
    bound = sqleval.scan(frame, label="y", score="p", role="part", by="h")
    result = bound.evaluate("roc_auc").collect()
    assert result.select("h", "role").rows() == [
        *((1, role) for role in ORDER), (2, "validation"), (2, "test"),
    ]  # fmt: skip


def test_an_undefined_value_leaves_the_gap_undefined() -> None:
    frame = split(90).with_columns(y=pl.when(part="test").then(1).otherwise("y"))
    bound = sqleval.scan(frame, label="y", score="p", role="part")
    row = bound.evaluate("roc_auc").filter(role="gap").collect().row(0, named=True)
    assert (row["value"], row["note"]) == (None, "no negative labels")
    row = bound.evaluate("roc_auc").filter(role="validation_gap").collect().row(0, named=True)
    parts = [frame.filter(part=name) for name in ("train", "validation")]
    one, other = (MEASURED["roc_auc"](part, "p") for part in parts)
    assert row["value"] == close(one - other)
    never = sqleval.scan(frame.with_columns(y=0), label="y", score="p", role="part", task="binary")
    row = never.evaluate("best_accuracy_threshold").filter(role="gap").collect().row(0, named=True)
    assert (row["value"], row["note"]) == (None, "both values are infinite")
    # A gap would reveal the value that min_rows= hides.
    few = frame.filter(pl.col("part") != "test").extend(frame.filter(part="test").head(3))
    few = few.with_columns(pl.lit("all").alias("^.*$"))
    bound = sqleval.scan(few, label="y", score="p", role="part", by="^.*$")
    found = bound.evaluate("prevalence", min_rows=9).collect()
    assert found.filter(pl.col("value").is_null())["role"].to_list() == ["test", "gap"]
    assert found.filter(role="gap")["note"].item() == "fewer than 9 rows"


def test_the_largest_gaps_come_after_the_worst_values() -> None:
    frame = pl.DataFrame(
        {
            "y": [0, 1, 0, 1] * 4,
            "g": [*["a"] * 8, *["b"] * 8],
            "part": ["train"] * 4 + ["test"] * 4 + ["train"] * 4 + ["test"] * 4,
            # Accuracy of a: 1 and 0.75; of b: 0.75 and 0.25.
            "p": [0, 1, 0, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0],
        }
    )
    bound = sqleval.scan(frame, label="y", prediction="p", task="binary", by="g", role="part")
    found = bound.evaluate("accuracy", worst_first=True).select("g", "role", "value").collect()
    assert found.rows() == [
        ("b", "test", 0.25),
        ("a", "test", 0.75),
        ("b", "train", 0.75),
        ("a", "train", 1.0),
        ("b", "gap", 0.5),
        ("a", "gap", 0.25),
    ]


def test_gaps_of_classes() -> None:
    frame = class_decisions(codes=False, n=240)
    frame = frame.with_columns(part=pl.Series(["train", "test"] * 120))
    bound = sqleval.scan(frame, label="y", prediction="c", role="part")
    got = bound.evaluate(["recall(average=None)", "accuracy"]).filter(role="gap").collect()
    train, test = (frame.filter(part=name) for name in ("train", "test"))
    one, other = (recall_score(part["y"], part["c"], average=None) for part in (train, test))
    whole = accuracy_score(train["y"], train["c"]) - accuracy_score(test["y"], test["c"])
    assert got["class"].to_list() == ["a", "b", "c", None]
    np.testing.assert_allclose(got["value"], [*(one - other), whole], rtol=0, atol=1e-12)


def test_gap_of_a_regression_and_of_counts() -> None:
    frame = drawn("regression", 80).with_columns(
        part=pl.when(pl.col("h") == 1).then(pl.lit("train")).otherwise(pl.lit("test"))
    )
    result = sqleval.scan(frame, **ROLES["regression"], role="part").evaluate("mse").collect()
    train, test = (frame.filter(part=name) for name in ("train", "test"))
    one, other = (mean_squared_error(part["y"], part["v"]) for part in (train, test))
    np.testing.assert_allclose(result["value"], [one, other, other - one], rtol=1e-12)
    counts = COUNTS.head(2).with_columns(part=pl.Series(["train", "test"]))
    result = sqleval.scan(counts, role="part").evaluate("accuracy").collect()
    np.testing.assert_allclose(result["value"], [17 / 20, 11 / 20, 6 / 20], rtol=1e-12)
    assert result["n"].to_list() == [20, 20, 40]


def test_an_unknown_role_is_named_with_the_known_ones() -> None:
    frame = split(30, "train", "tets")
    bound = sqleval.scan(frame, label="y", score="p", role="part")
    known = "'tets'; its values must be among train, validation, test"
    with pytest.raises(DataError, match=known):
        bound.evaluate("accuracy").collect()


def test_rows_without_a_role() -> None:
    frame = split(90).with_columns(part=pl.when(h=2, part="test").then(None).otherwise("part"))
    roles = {"label": "y", "score": "p", "role": "part"}
    with pytest.raises(DataError, match="role='part' is NULL"):
        sqleval.scan(frame, **roles).evaluate("accuracy").collect()
    result = sqleval.scan(frame, **roles, nulls="drop").evaluate("accuracy").collect()
    known = frame.drop_nulls("part")
    got = result.filter(role="test").row(0, named=True)
    assert got["value"] == close(MEASURED["accuracy"](known.filter(part="test"), "p"))
    # A row without a role counts as dropped.
    assert result.filter(pl.col("role").is_null())["n_dropped"].item() == 90 - known.height


@pytest.mark.parametrize("role", ORDER)
def test_roles_filter_like_any_column(role: str) -> None:
    frame = split()
    lazy = sqleval.scan(frame, label="y", score="p", role="part").evaluate("roc_auc")
    expected = next(row[2] for row in measured(frame) if row[:2] == (role, "roc_auc"))
    got = lazy.filter(pl.col("role") == role).select("value").collect()
    assert got.item() == pytest.approx(expected, abs=1e-12)


def test_a_slice_key_may_be_called_role() -> None:
    frame = pl.DataFrame({"role": ["pilot", "crew", "crew"], "y": [1, 0, 1], "p": [0.9, 0.8, 0.7]})
    result = sqleval.scan(frame, label="y", score="p", by="role").evaluate("accuracy").collect()
    assert result.select("role", "value").rows() == [("crew", 0.5), ("pilot", 1.0)]


def test_a_slice_key_called_role_beside_roles_is_refused() -> None:
    frame = split(30).with_columns(role=pl.lit("pilot"))
    with pytest.raises(RequestError, match="by= names 'role'"):
        sqleval.scan(frame, label="y", score="p", by="role", role="part")


def test_roles_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, frame = str(tmp_path / "rows.parquet"), split()
    frame.write_parquet(path)
    metrics = [text for metric in MEASURED for text in ("-m", metric)]
    roles = ("--label", "y", "--score", "p", "--role", "part", "--format", "json")
    out = command(capsys, "evaluate", path, *roles, *metrics)
    got = [(row["role"], row["metric"], row["value"], row["n"]) for row in json.loads(out)]
    assert [row[:2] for row in got] == [row[:2] for row in measured(frame)]
    expected = [row[2] for row in measured(frame)]
    np.testing.assert_allclose([row[2] for row in got], expected, rtol=0, atol=1e-12)


def test_roc_curve_of_each_role() -> None:
    frame = split(90)
    curve = sqleval.scan(frame, label="y", score="p", role="part").curve("roc").collect()
    parts = curve.partition_by("role", as_dict=True)
    assert {role for (role,) in parts} == set(ORDER[:3])
    for (role,), part in parts.items():
        rows = frame.filter(part=role)
        fpr, tpr, _ = roc_curve(rows["y"], rows["p"], drop_intermediate=False)
        np.testing.assert_allclose(part.select("fpr", "tpr"), np.column_stack([fpr, tpr]))
