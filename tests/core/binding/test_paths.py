"""Predictions of 0 and 1 mean the same on every path, whatever their type is."""

import json
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest
from sklearn.metrics import accuracy_score, auc, f1_score, roc_auc_score

import sqleval
from tests.support.commands import run
from tests.support.lake import FIRST, Lake, read_results

TYPES = (
    "BOOLEAN", "TINYINT", "BIGINT", "HUGEINT", "DECIMAL(4, 1)", "FLOAT", "DOUBLE", "VARCHAR",
    "ENUM('0', '1')",
)  # fmt: skip
Y, C = [1, 0, 1, 0, 1] * 20, [1, 1, 1, 0, 0] * 20
P = [(i * 37 % 100) / 100 + 0.2 * c for i, c in enumerate(C)]
METRICS = ["accuracy", "f1"]
RIGHT = pytest.approx([accuracy_score(Y, C), f1_score(Y, C)])
ROLES = {"label": "y", "prediction": "c"}


@pytest.fixture(params=TYPES)
def rows(request: pytest.FixtureRequest) -> pa.Table:
    """Return labels of whole numbers, and predictions of a type."""
    kind = request.param
    c = "CAST(c AS VARCHAR)" if kind.startswith(("VARCHAR", "ENUM")) else "c"
    listed = ", ".join(f"({y}, {c}, {i % 4})" for i, (y, c) in enumerate(zip(Y, C, strict=True)))
    query = f"SELECT y, CAST({c} AS {kind}) AS c, fold FROM (VALUES {listed}) AS t(y, c, fold)"
    with duckdb.connect() as con:
        return con.sql(query).to_arrow_table()


def evaluate(predictions: sqleval.Predictions, **options: Any) -> list[float]:
    return predictions.evaluate(METRICS, **options).collect()["value"].to_list()


def test_frames_streams_and_files(rows: pa.Table, tmp_path: Path) -> None:
    frame = pl.DataFrame(rows)
    assert evaluate(sqleval.scan(rows, **ROLES)) == RIGHT
    assert evaluate(sqleval.scan(frame, **ROLES)) == RIGHT
    assert evaluate(sqleval.scan(frame.lazy(), **ROLES)) == RIGHT
    assert evaluate(sqleval.scan(rows.to_reader(), **ROLES)) == RIGHT
    path = tmp_path / "rows.parquet"
    frame.write_parquet(path)
    assert evaluate(sqleval.scan(path, **ROLES)) == RIGHT
    done = run(
        "evaluate", str(path), "--label", "y", "--prediction", "c", "--format", "json",
        "--metric", "accuracy", "--metric", "f1",
    )  # fmt: skip
    assert [row["value"] for row in json.loads(done.stdout)] == RIGHT


def test_intervals_tables_and_states(rows: pa.Table, tmp_path: Path) -> None:
    bound = sqleval.scan(rows, **ROLES)
    assert evaluate(bound, ci=0.95) == RIGHT
    table = bound.confusion().collect()
    right = table.filter(pl.col("label") == pl.col("prediction"))["n"].sum()
    assert right / len(Y) == accuracy_score(Y, C)
    state = tmp_path / "state.parquet"
    bound.state(METRICS).collect().write_parquet(state)
    assert evaluate(sqleval.from_state(state)) == RIGHT


def test_curves_splits_and_reports(rows: pa.Table, tmp_path: Path) -> None:
    frame = pl.DataFrame(rows).with_columns(p=pl.Series(P))
    is_text = frame.schema["c"] in (pl.String, pl.Categorical) or frame["c"].dtype == pl.Enum
    bound = sqleval.scan(frame, label="c", score="p", positive="1" if is_text else None)
    points = bound.curve("roc").collect()
    assert auc(points["fpr"], points["tpr"]) == pytest.approx(roc_auc_score(C, P))
    parts = sqleval.split(frame.with_row_index("id"), key="id", stratify="c", test_size=0.2)
    tested = parts.collect().filter(role="test")["id"].to_list()
    assert sorted(C[i] for i in tested) == [0] * 8 + [1] * 12
    path = tmp_path / "rows.parquet"
    frame.write_parquet(path)
    page = tmp_path / "page.html"
    run("report", str(path), "--label", "y", "--prediction", "c", "--output", str(page))
    shown = page.read_text()
    for value in (accuracy_score(Y, C), f1_score(Y, C)):
        assert f"{value:.4f}"[:5] in shown


def test_comparisons_and_folds(rows: pa.Table) -> None:
    both = rows.append_column("other", rows["c"])
    bound = sqleval.scan(both, label="y", prediction={"a": "c", "b": "other"})
    found = bound.compare("f1", replicates=100).collect()
    assert found["value"].item() == pytest.approx(f1_score(Y, C))
    assert found["difference"].item() == 0
    folds = sqleval.resample(pl.DataFrame(rows), "f1", fold="fold", **ROLES)
    assert folds["pooled"].item() == pytest.approx(f1_score(Y, C))


def test_a_job(rows: pa.Table, tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.spec |= {"score": None, "prediction": "c", "by": None, "metrics": METRICS}
    lake.put(pl.DataFrame(rows).with_columns(day=pl.lit(FIRST)))
    found = read_results(lake.run(backfill=True)).sort("metric")
    assert (found["metric"].to_list(), found["value"].to_list()) == (METRICS, RIGHT)


def test_labels_that_arrive_late(rows: pa.Table) -> None:
    frame = pl.DataFrame(rows).with_row_index("id")
    late = frame.select("id", "y")
    options = {"labels": late.cast({"id": pl.String}), "on": "id"}
    assert evaluate(sqleval.scan(frame.drop("y"), **ROLES, **options)) == RIGHT
