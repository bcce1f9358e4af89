"""A job settles its task once; later rows of another kind are an error of their period."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from sklearn.metrics import f1_score

from sqleval.jobs.running.run import open_job_store
from sqleval.jobs.running.validation import check_job
from tests.support.lake import FIRST, Lake, read_results, rows

Y, C = [1, 0, 1, 0, 1] * 20, [1, 1, 1, 0, 0] * 20


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Return a job on predicted classes, without a task."""
    lake = Lake(tmp_path)
    lake.spec |= {"score": None, "prediction": "c", "by": None, "metrics": ["f1"]}
    return lake


def put(lake: Lake, day: int, labels: list[Any], predictions: list[Any], **types: Any) -> None:
    """Write the rows of a day of January."""
    frame = pl.DataFrame({"y": labels, "c": predictions}, strict=False)
    lake.put(frame.cast(types).with_columns(day=pl.lit(FIRST.replace(day=day))))


def read_settled(lake: Lake) -> list[tuple[str, float | None, str]]:
    stored = open_job_store(lake.job()).read("sqleval_settled", "nightly")
    return stored.select("task", "threshold", "period").rows()


def test_integers_of_0_and_1_are_binary_in_a_job(lake: Lake) -> None:
    put(lake, 1, Y, C)
    assert "binary (1 is positive)" in check_job(lake.job())
    done = lake.run(changes={"gates": ["f1 >= 0.99"]}, backfill=True)
    result = read_results(done).row(0, named=True)
    assert (result["metric"], result["value"]) == ("f1", pytest.approx(f1_score(Y, C)))
    assert done.has_failed_gate
    assert read_settled(lake) == [("binary", 0.5, "2026-01-01")]


@pytest.mark.parametrize("types", [{"c": pl.Float64}, {"y": pl.Float64, "c": pl.Float64}])
def test_another_type_is_no_other_metric(lake: Lake, types: dict[str, Any]) -> None:
    put(lake, 1, Y, C)
    lake.run(backfill=True)
    put(lake, 2, Y, C, **types)
    found = read_results(lake.run(backfill=True))
    assert found["metric"].to_list() == ["f1", "f1"]
    assert found["value"].to_list() == [pytest.approx(f1_score(Y, C))] * 2


def test_rows_of_another_kind_are_an_error_of_their_period(lake: Lake) -> None:
    put(lake, 1, Y, C)
    lake.run(backfill=True)
    put(lake, 2, [0, 1, 2, 2] * 20, [0, 1, 1, 2] * 20)
    put(lake, 3, ["no", "yes"] * 20, ["no", "yes"] * 20)
    put(lake, 4, Y, C)
    done = lake.run(changes={"gates": ["f1 >= 0.5"]}, backfill=True)
    found = read_results(done)
    assert found["value"].is_null().to_list() == [False, True, True, False]
    assert found["metric"].unique().to_list() == ["f1"]
    assert "another value, such as 2" in found["error"][1]
    assert "'y' is VARCHAR" in found["error"][2]


def test_one_value_settles_nothing(lake: Lake) -> None:
    put(lake, 1, [0] * 20, [0] * 20)
    lake.run(backfill=True)
    assert read_settled(lake) == []
    put(lake, 2, [0, 1, 2, 2] * 20, [0, 1, 1, 2] * 20)
    lake.run(backfill=True)
    assert read_settled(lake) == [("multiclass", 0.5, "2026-01-02")]
    put(lake, 3, Y, C)
    found = read_results(lake.run(backfill=True)).sort("period")
    assert found["metric"].to_list()[1:] == ["f1(average='macro')"] * 2


def test_the_job_file_is_stronger_than_the_history(lake: Lake) -> None:
    put(lake, 1, Y, C)
    lake.run(backfill=True)
    found = read_results(lake.run(changes={"task": "multiclass"}, backfill=True))
    assert set(found["metric"]) == {"f1(average='macro')"}


def test_other_columns_are_settled_anew(lake: Lake) -> None:
    put(lake, 1, Y, C)
    lake.run(backfill=True)
    put(lake, 1, [0, 1, 2, 2] * 20, [0, 1, 1, 2] * 20)
    lake.run(changes={"where": "y >= 0"}, backfill=True)
    assert [task for task, *_ in read_settled(lake)] == ["binary", "multiclass"]


def test_logits_get_no_default_threshold(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.spec |= {"by": None, "metrics": None}
    first, second = rows(days=1), rows(days=1, start=1)
    lake.put(first.with_columns(p=pl.col("p") * 6 - 3))
    assert "no threshold, as scores are outside 0 .. 1" in check_job(lake.job())
    lake.run(backfill=True)
    assert read_settled(lake) == [("binary", None, "2026-01-01")]
    lake.put(second)  # which happen to lie in 0 .. 1
    found = read_results(lake.run(backfill=True)).filter(period="2026-01-02")
    values = {row["metric"]: row for row in found.iter_rows(named=True)}
    assert values["roc_auc"]["value"] is not None
    for metric in ("accuracy", "log_loss"):
        assert values[metric]["value"] is None
        assert values[metric]["note"] == "the scores of earlier rows were outside 0 .. 1"
    done = lake.run(changes={"metrics": ["f_beta(beta=2)", "roc_auc"]}, backfill=True)
    assert len(done.errors) == 2
    assert "f_beta(beta=2) needs threshold=" in done.errors[1]
    done = lake.run(changes={"threshold": 0.7}, backfill=True)
    assert not done.errors


def test_probabilities_keep_the_default_threshold(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.spec |= {"by": None, "metrics": ["f1"]}
    lake.put(rows(days=1))
    lake.run(backfill=True)
    assert read_settled(lake) == [("binary", 0.5, "2026-01-01")]
    lake.put(rows(days=1, start=1).with_columns(p=pl.col("p") * 6 - 3))
    found = read_results(lake.run(backfill=True)).filter(period="2026-01-02")
    assert "the default threshold 0.5 is for scores in 0 .. 1" in found["error"].item()


def test_labels_of_other_types_join_in_a_job(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    frame = rows(days=1)
    lake.put(frame.drop("y"))
    labels = frame.select(pl.col("key").cast(pl.String), "y")
    labels.write_parquet(lake.folder / "labels.parquet")
    changes = {"labels": {"source": "labels.parquet", "on": "key"}}
    assert "1 file" in check_job(lake.job(**changes))
    found = read_results(lake.run(backfill=True))
    assert found.filter(metric="roc_auc", slice='{"seg":"a"}')["n"].item() == 40
    assert found["error"].null_count() == found.height


def test_a_slice_keeps_its_text_where_a_null_makes_it_a_float(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.spec |= {"by": ["store"]}
    frame = rows(days=2).with_columns(store=pl.int_range(pl.len()) % 2 + 1)
    lake.put(frame.filter(pl.col("day") == FIRST))
    lake.run(backfill=True)
    late = frame.filter(pl.col("day") > FIRST).with_columns(pl.col("store").cast(pl.Float64))
    lake.put(late)
    found = read_results(lake.run(backfill=True))
    assert set(found["slice"]) == {'{"store":1}', '{"store":2}'}
