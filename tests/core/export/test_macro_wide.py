"""The macros with one row per slice give the library's values, and scikit-learn's counts."""

from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from sklearn.metrics import confusion_matrix

import sqleval
from tests.support.macros import create_table, fetch_rows


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    """Return rows with tied scores and weights, some 0; the last slice has one class."""
    rng = np.random.default_rng(11)
    slices = rng.integers(0, 4, 400)
    label = (rng.random(400) < 0.4).astype(int)
    label[slices == 3] = 1
    score = np.round(rng.random(400), 1)
    weight = rng.choice([0.0, 0.5, 2.25], 400)
    words = np.where(label == 1, "yes", "no")
    return pl.DataFrame({"y": label, "p": score, "w": weight, "g": slices, "word": words})


@pytest.mark.parametrize("weight", [None, "w"])
def test_metrics_of_a_slice_in_one_row(
    frame: pl.DataFrame, weight: str | None, console: duckdb.DuckDBPyConnection
) -> None:
    create_table(console, frame, "wide")
    names = ["roc_auc", "log_loss", "f1", "ks"]
    roles = "label := y, score := p, slice := g" + (", weight := w" if weight else "")
    call = f"sqleval.evaluate_wide('wide', {roles}, metrics := {names})"
    rows = fetch_rows(console, f"FROM {call}")
    assert [row["slice"] for row in rows] == [0, 1, 2, 3]
    bound = sqleval.scan(frame, label="y", score="p", weight=weight, by="g")
    known = {(row["g"], row["metric"]): row for row in bound.evaluate(names).collect().to_dicts()}
    for row in rows:
        assert {*row["metrics"]} == {*names}
        for name, value in row["metrics"].items():
            expected = known[row["slice"], name]
            assert value == pytest.approx(expected["value"], abs=1e-12)
            assert (row["n"], row["n_dropped"]) == (expected["n"], 0)
            if value is None:
                assert row["notes"][name] == expected["note"]
    assert rows[-1]["notes"] == {"ks": "no negative labels", "roc_auc": "no negative labels"}
    assert rows[0]["notes"] is None
    areas = console.execute(f"SELECT metrics['roc_auc'] FROM {call} ORDER BY slice").fetchall()
    assert areas == [(row["metrics"]["roc_auc"],) for row in rows]


def test_metrics_of_classes_and_of_no_rows(
    frame: pl.DataFrame, console: duckdb.DuckDBPyConnection
) -> None:
    create_table(console, frame, "wide")
    (row,) = fetch_rows(
        console,
        "FROM sqleval.evaluate_wide('wide', label := word, "
        "prediction := CASE WHEN p < 0.5 THEN 'no' ELSE 'yes' END, metrics := ['accuracy'])",
    )
    assert row["metrics"]["accuracy"] == pytest.approx((frame["y"] == (frame["p"] >= 0.5)).mean())
    create_table(console, frame.head(0), "wide")
    call = "FROM sqleval.evaluate_wide('wide', label := y, score := p, metrics := 'ks')"
    (row,) = fetch_rows(console, call)
    assert (row["metrics"], row["notes"], row["n"]) == ({"ks": None}, {"ks": "no rows"}, 0)
    with pytest.raises(duckdb.Error, match="called 'kz', did you mean 'ks'"):
        console.execute(call.replace("'ks'", "'kz'"))


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("form", ["score", "boolean", "number"])
def test_counts_of_a_slice_in_one_row(
    frame: pl.DataFrame, weight: str | None, form: str, console: duckdb.DuckDBPyConnection
) -> None:
    create_table(console, frame, "wide")
    roles = {
        "score": "label := y, score := p, threshold := 0.3",
        "boolean": "label := (word = 'yes'), prediction := (p >= 0.3)",
        "number": "label := y, prediction := CASE WHEN p >= 0.3 THEN 1 ELSE 0 END",
    }[form] + (", weight := w" if weight else "")
    rows = fetch_rows(console, f"FROM sqleval.confusion_counts('wide', {roles}, slice := g)")
    assert [row["slice"] for row in rows] == [0, 1, 2, 3]
    for row in rows:
        part = frame.filter(g=row["slice"])
        weights = part["w"].to_numpy() if weight else None
        table = confusion_matrix(part["y"], part["p"] >= 0.3, sample_weight=weights, labels=[0, 1])
        cells = [row[name] for name in ("tn", "fp", "fn", "tp")]
        assert cells == pytest.approx(table.ravel().tolist())
        assert row["n"] == pytest.approx(table.sum())
        assert type(row["n"]) is (float if weight else int)


def test_counts_that_are_refused(frame: pl.DataFrame, console: duckdb.DuckDBPyConnection) -> None:
    create_table(console, frame.with_columns(p=pl.when(pl.col("g") < 3).then("p")), "wide")
    calls: list[tuple[str, Any]] = [
        ("label := word, prediction := word", "two classes, 0 and 1 or booleans, not (yes|no)"),
        ("label := y, score := p", "score is NULL"),
    ]
    for roles, message in calls:
        with pytest.raises(duckdb.Error, match=message):
            console.execute(f"FROM sqleval.confusion_counts('wide', {roles})").fetchall()
    call = "FROM sqleval.confusion_counts('wide', label := y, score := p, nulls := 'drop')"
    (row,) = fetch_rows(console, call)
    assert row["n"] == frame.filter(pl.col("g") < 3).height
    create_table(console, frame.head(0), "wide")
    assert fetch_rows(console, call) == []
