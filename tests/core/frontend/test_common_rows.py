"""Models with different rows: the note that says so, and the rows that all of them have."""

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

import sqleval
from sqleval import RequestError
from tests.support.commands import run
from tests.support.comparison import assert_frame_equal

RNG = np.random.default_rng(2)
N = 200
Y = RNG.integers(0, 2, N)
ROWS = pl.DataFrame(
    {
        "k": np.arange(N),
        "y": Y,
        "a": np.clip(RNG.normal(0.4 + 0.2 * Y, 0.2), 0, 1),
        "b": np.clip(RNG.normal(0.4 + 0.1 * Y, 0.2), 0, 1),
        "g": RNG.choice(["s", "t"], N),
        "w": RNG.integers(1, 4, N),
    }
).with_columns(
    # Each model has as many rows, but not the same ones.
    a=pl.when(pl.col("k") % 10 != 0).then("a"),
    b=pl.when(pl.col("k") % 10 != 1).then("b"),
)
BOTH = ROWS.drop_nulls(["a", "b"])
ROLES: dict[str, Any] = {"label": "y", "score": {"a": "a", "b": "b"}, "nulls": "drop"}
METRICS = ["roc_auc", "f1", "ks"]


@pytest.mark.parametrize("options", [{}, {"ci": 0.95, "replicates": 100}])
def test_models_of_different_rows_say_so(options: dict[str, Any]) -> None:
    found = sqleval.scan(ROWS, **ROLES).evaluate(METRICS, **options).collect()
    assert found["n"].to_list() == [180] * 6
    text = "20 rows lack the value of another model; common=True (--common) leaves them out"
    assert found["note"].str.ends_with(text).all()
    alone = sqleval.scan(ROWS, label="y", score={"a": "a"}, nulls="drop").evaluate().collect()
    assert alone["note"].null_count() == alone.height
    same = sqleval.scan(BOTH, **ROLES).evaluate(METRICS).collect()
    assert same["note"].null_count() == 6


def test_each_slice_counts_its_rows() -> None:
    found = sqleval.scan(ROWS, **ROLES, by="g", sets="overall").evaluate("roc_auc").collect()
    for row in found.iter_rows(named=True):
        rows = ROWS if row["by"] == "overall" else ROWS.filter(g=row["g"])
        own = rows.drop_nulls(row["model"]).height
        lacking = own - rows.drop_nulls(["a", "b"]).height
        assert row["n"] == own
        assert str(row["note"]).startswith(f"{lacking} rows lack ")
    counted = sqleval.scan(ROWS, **ROLES, counts="w").evaluate("roc_auc").collect()
    lacking = ROWS.filter(pl.col("k") % 10 == 1)["w"].sum()
    assert counted.filter(model="a")["note"].item().startswith(f"{lacking} rows lack ")
    # A stream cannot be read again: only unequal numbers of rows show.
    reader = ROWS.filter(pl.col("k") % 20 != 0).to_arrow().to_reader()
    stream = sqleval.scan(reader, **ROLES).evaluate("roc_auc").collect()
    assert stream["n"].to_list() == [180, 170]
    assert stream["note"].is_null().to_list() == [False, True]


@pytest.mark.parametrize("more", [{}, {"by": "g", "sets": "overall"}, {"weight": "w"},
    {"where": "k < 150"}])  # fmt: skip
def test_common_rows_are_those_of_all_models(more: dict[str, Any]) -> None:
    metrics = METRICS if "weight" not in more else ["roc_auc"]
    found = sqleval.scan(ROWS, **ROLES, common=True, **more).evaluate(metrics).collect()
    expected = sqleval.scan(BOTH, **ROLES, **more).evaluate(metrics).collect()
    assert_frame_equal(found.drop("n_dropped"), expected.drop("n_dropped"))
    if not more:
        assert found["n_dropped"].to_list() == [40] * 6
        bound = sqleval.scan(ROWS, **ROLES, common=True)
        compared = bound.compare("roc_auc").collect()
        values = found.filter(metric="roc_auc")["value"].to_list()
        assert compared.select("baseline_value", "value").row(0) == pytest.approx(tuple(values))
        curve = bound.curve("roc").collect()
        assert_frame_equal(curve, sqleval.scan(BOTH, **ROLES).curve("roc").collect())


def test_late_labels_and_regressions() -> None:
    late: dict[str, Any] = {"labels": ROWS.select("k", "y"), "on": "k"}
    found = sqleval.scan(ROWS.drop("y"), **ROLES, **late, common=True).evaluate(METRICS).collect()
    expected = sqleval.scan(BOTH, **ROLES).evaluate(METRICS).collect()
    assert_frame_equal(found.drop("n_dropped"), expected.drop("n_dropped"))
    roles: dict[str, Any] = {"label": "w", "prediction": {"a": "a", "b": "b"}, "nulls": "drop",
        "task": "regression"}  # fmt: skip
    infinite = ROWS.with_columns(a=pl.when(k=5).then(float("inf")).otherwise("a"))
    found = sqleval.scan(infinite, **roles, common=True).evaluate().collect()
    assert set(found["n"]) == {159}


def test_common_rows_need_several_models() -> None:
    with pytest.raises(RequestError, match="name several models"):
        sqleval.scan(ROWS, label="y", score="a", nulls="drop", common=True)
    with pytest.raises(RequestError, match="goes with nulls='drop'"):
        sqleval.scan(ROWS, label="y", score={"a": "a", "b": "b"}, common=True)


def test_the_commands(tmp_path: Path) -> None:
    path, page = tmp_path / "rows.parquet", tmp_path / "page.html"
    ROWS.write_parquet(path)
    call = [str(path), "--label", "y", "--score", "a=a", "--score", "b=b", "--nulls", "drop"]
    different = run("evaluate", *call, "-m", "roc_auc").stdout
    assert "20 rows lack the value of another model" in different
    assert "another model" not in run("evaluate", *call, "-m", "roc_auc", "--common").stdout
    run("report", *call, "-m", "roc_auc", "-o", str(page))
    assert "20 rows lack the value of another model" in page.read_text()
    run("report", *call, "-m", "roc_auc", "-o", str(page), "--common")
    assert "another model" not in page.read_text()
    text = run("sql", "accuracy", "--table", "preds", "--dialect", "duckdb", *call[1:], "--common")
    con = duckdb.connect()
    con.execute(f"CREATE VIEW preds AS FROM read_parquet('{path}')")
    rows = con.execute(text.stdout.strip().rstrip(";")).fetchall()
    bound = sqleval.scan(BOTH, **ROLES).evaluate("accuracy").collect()
    assert [row[2] for row in rows] == bound["value"].to_list()
