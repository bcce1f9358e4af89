"""Evaluated numbers are kept: replaced ones stay readable, and vanished data is reported."""

from datetime import date
from pathlib import Path

import polars as pl
import pytest

from sqleval.jobs.running.run import open_job_store
from tests.support.commands import run
from tests.support.lake import Lake, evaluated, on, rows

DAY = "2026-01-02"


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Four days whose labels lie in one file a day."""
    made = Lake(tmp_path)
    truth = rows().select("key", "y", "day")
    made.put(rows().drop("y"))
    (tmp_path / "labels").mkdir()
    for (day,), part in truth.partition_by("day", as_dict=True).items():
        part.drop("day").write_parquet(tmp_path / "labels" / f"{day}.parquet")
    made.job(labels={"source": "labels", "on": "key"}, slices=[[], ["seg"]], by=None)
    return made


def numbers(lake: Lake) -> pl.DataFrame:
    columns = ["period", "slice", "metric", "value", "n", "error"]
    return lake.history().select(columns).sort(columns)


def restated(lake: Lake) -> pl.DataFrame:
    return open_job_store(lake.job()).read("sqleval_restated", "nightly")


def test_labels_that_vanish_leave_the_numbers(lake: Lake) -> None:
    assert not lake.run(backfill=True).notes
    before = numbers(lake)
    labels = lake.folder / "labels" / f"{DAY}.parquet"
    content = labels.read_bytes()
    labels.unlink()
    done = lake.run()
    assert evaluated(done) == [DAY]
    assert numbers(lake).equals(before)
    (note,) = done.notes
    assert note.startswith(f"gone: 1 file of labels (labels/{DAY}.parquet), with rows of {DAY};")
    (error,) = done.errors
    assert error.startswith(f"{DAY} all rows, seg=a, seg=b and 1 more: no rows are left ")
    assert f"(data changed: labels/{DAY}.parquet is gone)" in error
    assert lake.run().errors  # as long as the files are gone
    assert restated(lake).is_empty()
    labels.write_bytes(content)
    assert not lake.run().errors
    assert numbers(lake).equals(before)


def test_the_user_may_accept_that_labels_are_gone(lake: Lake) -> None:
    lake.backfill()
    (lake.folder / "labels" / f"{DAY}.parquet").unlink()
    before = lake.history().filter(period=DAY)
    done = lake.run(date=on(DAY), force=True)
    assert not done.errors
    assert set(numbers(lake).filter(period=DAY)["n"]) == {0}
    kept = restated(lake)
    at = ["slice", "metric"]
    columns = [*at, "value", "n", "run", "definition"]
    assert kept.select(columns).sort(at).equals(before.select(columns).sort(at))
    assert set(kept["new_n"]) == {0}
    assert set(kept["reason"]) == {f"forced: labels/{DAY}.parquet is gone"}


@pytest.mark.parametrize("sets", [[[], ["seg"]], [["seg"]]])
def test_labels_that_contradict_each_other_leave_the_numbers(
    lake: Lake, sets: list[list[str]]
) -> None:
    lake.backfill(slices=sets)
    before = numbers(lake)
    labels = lake.folder / "labels" / f"{DAY}.parquet"
    truth = pl.read_parquet(labels)
    pl.concat([truth, truth.head(1).with_columns(y=1 - pl.col("y"))]).write_parquet(labels)
    done = lake.run()
    assert all("repeats keys" in error for error in done.errors)
    assert {error.split(" ")[0] for error in done.errors} == {DAY}
    assert numbers(lake).equals(before)
    assert lake.run().errors
    truth.write_parquet(labels)
    assert not lake.run().errors
    assert numbers(lake).equals(before)


def test_new_labels_replace_numbers_which_stay_readable(lake: Lake) -> None:
    labels = lake.folder / "labels" / f"{DAY}.parquet"
    lake.backfill()
    before, stored = numbers(lake), lake.history()
    truth = pl.read_parquet(labels)
    flipped = truth.with_columns(y=pl.when(pl.int_range(pl.len()) == 0).then(1 - pl.col("y"))
                                 .otherwise("y"))  # fmt: skip
    flipped.write_parquet(labels)
    done = lake.run()
    assert not done.errors
    kept = restated(lake)
    (note,) = done.notes
    assert (
        note == f"{kept.height} stored numbers were replaced; sqleval history --restated shows them"
    )
    now = numbers(lake)
    changed = before.join(now, on=before.columns, how="anti", nulls_equal=True)
    assert 0 < changed.height < 8
    at = ["period", "slice", "metric"]
    assert (
        kept.select([*at, "value", "n"])
        .sort(at)
        .equals(changed.select([*at, "value", "n"]).sort(at))
    )
    new = kept.join(now, on=at, how="left", suffix="_stored")
    assert new["new_value"].equals(new["value_stored"], check_names=False)
    assert set(kept["reason"]) == {"data changed"}
    assert set(kept["run"]) == set(stored["run"])
    assert set(kept["new_run"]) == {done.id}
    output = run("history", str(lake.folder / "job.yml"), "--restated", "--format", "csv").stdout
    assert pl.read_csv(output.encode())["new_run"].to_list() == [done.id] * kept.height
    # The same data gives the same numbers: nothing is restated.
    lake.run(backfill=True, force=True)
    assert restated(lake).equals(kept)


def test_a_slice_without_its_labels_leaves_the_numbers(lake: Lake) -> None:
    lake.backfill()
    before = numbers(lake)
    labels = lake.folder / "labels" / f"{DAY}.parquet"
    keys = rows().filter(pl.col("seg") == "b")["key"]
    pl.read_parquet(labels).filter(~pl.col("key").is_in(keys.implode())).write_parquet(labels)
    (error,) = lake.run().errors
    assert error.startswith(f"{DAY} seg=b: no rows are left (data changed)")
    assert numbers(lake).equals(before)


def test_a_slice_whose_rows_were_corrected_is_replaced(lake: Lake) -> None:
    lake.backfill()
    day = rows().drop("y").filter(pl.col("day") == date(2026, 1, 2))
    lake.put(day.with_columns(seg=pl.col("seg").replace("b", "c")))
    assert not lake.run().errors
    assert set(numbers(lake).filter(period=DAY)["slice"]) == {"{}", '{"seg":"a"}', '{"seg":"c"}'}
    kept = restated(lake)
    assert set(kept["slice"]) == {'{"seg":"b"}', '{"seg":"c"}'}
    assert kept.filter(slice='{"seg":"b"}')["new_n"].to_list() == [None, None]


def test_another_condition_may_leave_no_rows(lake: Lake) -> None:
    lake.backfill()
    assert not lake.run(backfill=True, changes={"where": f"day <> DATE '{DAY}'"}).errors
    assert set(numbers(lake).filter(period=DAY)["n"]) == {0}
    kept = restated(lake).filter(period=DAY)
    assert kept.height == 8
    assert set(kept["reason"]) == {"definition changed"}


def test_a_metric_that_is_removed_stays_readable(lake: Lake) -> None:
    lake.backfill()
    before = lake.history().filter(metric="log_loss")
    lake.run(backfill=True, changes={"metrics": ["roc_auc"]})
    kept = restated(lake)
    assert kept["value"].sort().equals(before["value"].sort())
    assert set(kept["reason"]) == {"fewer metrics"}


def test_predictions_that_vanish_are_reported(lake: Lake) -> None:
    lake.backfill()
    before = numbers(lake)
    (lake.folder / "preds" / f"{DAY}.parquet").unlink()
    done = lake.run()
    assert done.notes[0].startswith(
        f"gone: 1 file of predictions (preds/{DAY}.parquet), with rows of {DAY};"
    )
    assert not done.errors
    assert numbers(lake).equals(before)
    lake.put(rows().drop("y").filter(pl.col("day") == date(2026, 1, 2)).with_columns(
        day=pl.lit(date(2026, 1, 4))
    ))  # fmt: skip
    lake.run()
    rows(days=1, start=7).drop("y").write_parquet(lake.folder / "preds" / "2026-01-03.parquet")
    assert "no rows are left of 2026-01-03; the stored numbers stay" in lake.run().notes
