"""Jobs over a DuckLake find changes in its catalogue."""

import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sqleval
from sqleval.jobs.running.run import Run
from tests.support.commands import run
from tests.support.ducklakes import MERGED, unpack
from tests.support.lake import LATER, Lake, on

DAYS = [f"2026-01-0{day}" for day in range(1, 6)]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Return a job over a lake whose last commits are still to come."""
    made = Lake(tmp_path)
    unpack(tmp_path)
    shutil.move(tmp_path / "sqlite" / "lake.sqlite", tmp_path / "sqlite" / "late.sqlite")
    shutil.move(tmp_path / "sqlite" / "early.sqlite", tmp_path / "sqlite" / "lake.sqlite")
    source = "ducklake:sqlite/lake.sqlite#preds"
    made.spec |= {"source": source, "metrics": ["roc_auc"], "by": None, "missing": "ignore"}
    return made


def reasons(done: Run) -> dict[str, str]:
    return {d.period: d.reason for d in done.decisions if d.action == "evaluate"}


def test_a_run_evaluates_what_the_catalogue_says_has_changed(lake: Lake) -> None:
    rows = pl.read_parquet(lake.folder / "sqlite" / "rows.parquet")
    assert [*reasons(lake.run(backfill=True))] == DAYS[:4]
    shutil.move(lake.folder / "sqlite" / "late.sqlite", lake.folder / "sqlite" / "lake.sqlite")
    # Rows of the file of three days are deleted, and a file and a row of the catalogue are new.
    changed = dict.fromkeys(DAYS[:3], "data changed")
    assert reasons(lake.run(backfill=True)) == {**changed, DAYS[4]: "new"}
    assert reasons(lake.run(backfill=True)) == {}
    last = rows.filter(snapshot=rows["snapshot"].max())
    expected = sqleval.scan(last, label="y", score="p", by="day").evaluate("roc_auc").collect()
    found = lake.history().sort("period").select("period", "value", "n")
    assert found["period"].to_list() == DAYS
    assert found["value"].to_list() == pytest.approx(expected["value"].to_list(), abs=1e-12)
    assert found["n"].to_list() == expected["n"].to_list()
    # So does the command, which may read the catalogue and its files alone.
    lake.job(name="again")
    done = run("run", str(lake.folder / "job.yml"), "--backfill")
    assert "5 evaluated" in done.stdout + done.stderr
    assert lake.history().filter(job="again")["n"].to_list() == expected["n"].to_list()


@pytest.fixture
def merges(tmp_path: Path) -> Lake:
    made = Lake(tmp_path)
    unpack(tmp_path, MERGED)
    source = "ducklake:merged/lake.sqlite#preds"
    made.spec |= {"source": source, "metrics": ["roc_auc"], "by": None, "missing": "ignore"}
    return made


def run_at(lake: Lake, name: str, **options: Any) -> dict[str, str]:
    """Run the job over the catalogue as it was after a step."""
    folder = lake.folder / "merged"
    shutil.copy(folder / f"{name}.sqlite", folder / "lake.sqlite")
    done = lake.run(as_of=LATER, **options)
    assert not done.errors
    here = f"ducklake:{folder}/lake.sqlite#preds"
    expected = sqleval.scan(here, label="y", score="p", by="day").evaluate("roc_auc").collect()
    found = lake.history().sort("period")
    assert found["value"].to_list() == pytest.approx(expected["value"].to_list(), abs=1e-12)
    assert found["n"].to_list() == expected["n"].to_list()
    return reasons(done)


def test_merged_files_change_no_day(merges: Lake) -> None:
    assert [*run_at(merges, "three", backfill=True)] == DAYS[:3]
    assert run_at(merges, "merged") == {}
    # A day that is evaluated again is read from the new file.
    assert run_at(merges, "merged", date=on(DAYS[1]), force=True) == {DAYS[1]: "forced"}
    assert run_at(merges, "four") == {DAYS[3]: "new"}
    assert run_at(merges, "again") == {}
    assert run_at(merges, "deleted") == dict.fromkeys(DAYS[:4], "data changed")


@pytest.mark.parametrize(
    ("first", "then", "changed", "new"),
    [
        ("three", "four", 0, [3]),  # merged, then one more day
        ("three", "again", 3, [3]),  # the added day is in the merged file as well
        ("four", "deleted", 4, []),
        ("three", "expired", 3, [3, 4, 5]),  # the catalogue has forgotten the merges
    ],
)
def test_several_steps_between_two_runs(
    merges: Lake, first: str, then: str, changed: int, new: list[int]
) -> None:
    run_at(merges, first, backfill=True)
    days = [*DAYS, "2026-01-06"]
    expected = dict.fromkeys(days[:changed], "data changed")
    assert run_at(merges, then) == expected | {days[at]: "new" for at in new}
