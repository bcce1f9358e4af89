"""Jobs over a DuckLake: its catalogue says what changed."""

import shutil
from pathlib import Path

import polars as pl
import pytest

import sqleval
from sqleval.jobs.run import Run
from tests.support.commands import run
from tests.support.ducklakes import unpack
from tests.support.lake import Lake

DAYS = [f"2026-01-0{day}" for day in range(1, 6)]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Return a job over a lake of which the last commits are still to come."""
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
    wanted = sqleval.scan(last, label="y", score="p", by="day").evaluate("roc_auc").collect()
    found = lake.history().sort("period").select("period", "value", "n")
    assert found["period"].to_list() == DAYS
    assert found["value"].to_list() == pytest.approx(wanted["value"].to_list(), abs=1e-12)
    assert found["n"].to_list() == wanted["n"].to_list()
    # So does the command, which may read the catalogue and its files alone.
    lake.job(name="again")
    done = run("run", str(lake.folder / "job.yml"), "--backfill")
    assert "5 evaluated" in done.stdout + done.stderr
    assert lake.history().filter(job="again")["n"].to_list() == wanted["n"].to_list()
