"""Histories, states and job definitions that release 0.1 stored can be read.

The folder ``release_0_1`` was written by that release: five jobs, one run each with --backfill. A
history has been kept in DuckDB, Delta and PostgreSQL (as a script that makes its tables).
"""

import os
import shutil
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

import sqleval
from sqleval.catalog import request
from sqleval.catalog.catalogue import builtin
from sqleval.history.view import list_definition_changes
from sqleval.jobs.definitions import hash_definition
from sqleval.jobs.file.reading import read_job
from sqleval.jobs.plan import RunOptions
from sqleval.jobs.run import Run, open_job_store, run_job

STORED = Path(__file__).parent / "release_0_1"
#: When every file of that folder was modified, which a clone does not keep.
MODIFIED = 1_767_225_600_000_000_000
JOBS = ("default", "named", "classes", "values", "weekly")


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    folder = tmp_path / "release_0_1"
    shutil.copytree(STORED, folder)
    for file in folder.rglob("*.parquet"):
        if "delta" not in str(file.parent):
            os.utime(file, ns=(MODIFIED, MODIFIED))
    return folder


def again(folder: Path, name: str, *, force: bool = False, dry: bool = False) -> Run:
    asked = RunOptions(as_of=datetime(2026, 2, 1, tzinfo=UTC), backfill=True, force=force)
    return run_job(read_job(folder / f"{name}.yml"), asked, dry=dry)


@pytest.mark.parametrize("name", JOBS)
def test_nothing_is_evaluated_again(stored: Path, name: str) -> None:
    store = open_job_store(read_job(stored / f"{name}.yml"))
    before = store.read("sqleval_history", name)
    assert set(before["run"].unique()) != set()
    done = again(stored, name)
    assert {(step.action, step.reason) for step in done.decisions} <= {
        ("keep", "nothing new"),
        ("keep", "its data is gone"),
    }
    assert done.rows.is_empty()
    assert not done.errors
    assert not done.notes
    after = store.read("sqleval_history", name)
    order = ["period", "slice", "metric"]
    same = [column for column in before.columns if column != "definition"]
    assert after.select(same).sort(order).equals(before.select(same).sort(order))
    assert after["definition"].null_count() == 0
    assert not set(after["definition"]) & set(before["definition"])
    assert not list(list_definition_changes(after))


@pytest.mark.parametrize(
    ("metric", "definition"), [("log_loss", "93dfd614ea84"), ("f_beta(beta=2)", "d0ac771422fe")]
)
def test_a_range_of_a_parameter_is_not_part_of_a_definition(metric: str, definition: str) -> None:
    # The definitions were these before the parameters had the range they have now.
    assert "allowed" in builtin().get("f_beta").header
    job = read_job(STORED / "named.yml")
    assert hash_definition(job, request.parse(metric, "binary")) == definition


@pytest.mark.parametrize("name", JOBS)
def test_the_numbers_are_the_same_today(stored: Path, name: str) -> None:
    store = open_job_store(read_job(stored / f"{name}.yml"))
    before = store.read("sqleval_history", name)
    again(stored, name, force=True)
    after = store.read("sqleval_history", name)
    at = ["period", "slice", "metric"]
    both = before.join(after, on=at, how="full", suffix="_now")
    assert both.height == before.height == after.height
    # Some metrics have another interval since, as `method` says.
    alike = both.filter(pl.col("method").eq_missing(pl.col("method_now")))
    assert alike.height >= both.height / 2
    for column in ("value", "low", "high"):
        rows = both if column == "value" else alike
        off = (rows[column] - rows[f"{column}_now"]).abs().max()
        assert off is None or float(str(off)) <= 1e-12
        assert rows[column].is_null().equals(rows[f"{column}_now"].is_null())
    for column in ("parameters", "n", "n_dropped", "fingerprint", "matured"):
        assert both[column].equals(both[f"{column}_now"])
    undefined = both.filter(pl.col("value").is_null())
    assert undefined["note"].equals(undefined["note_now"])


def test_a_dry_run_writes_no_definition(stored: Path) -> None:
    store = open_job_store(read_job(stored / "default.yml"))
    before = store.read("sqleval_history", "default")
    done = again(stored, "default", dry=True)
    assert {step.action for step in done.decisions} == {"keep"}
    assert store.read("sqleval_history", "default").equals(before)


def test_states_are_added_to_those_of_today(stored: Path) -> None:
    rows = pl.read_parquet(stored / "whole" / "*.parquet")
    scores = {"one": "p", "two": "q"}
    made = sqleval.scan(rows, label="y", score=scores, by="seg").state(
        grain="day", time="day", bins=12
    )
    made.collect().write_parquet(stored / "today.parquet")
    whole = sqleval.scan(rows, label="y", score=scores, by="seg").evaluate("log_loss").collect()
    old = sqleval.from_state(stored / "states", by=["seg", "model"]).evaluate("log_loss")
    joined = whole.join(old.collect(), on=["seg", "model"])
    assert joined.height == whole.height
    assert (joined["value"] - joined["value_right"]).abs().max() <= 1e-12
    both = sqleval.from_state(
        [stored / "states" / "2026-01-01.parquet", stored / "today.parquet"], by=["model"]
    )
    found = both.evaluate(["roc_auc", "log_loss"]).collect()
    assert found["n"].to_list() == [rows.height + 30] * 4


def test_by_name_and_by_default_are_one_definition(stored: Path) -> None:
    text = (stored / "default.yml").read_text(encoding="utf-8")
    (stored / "default.yml").write_text(text + "metrics: [roc_auc]\n", encoding="utf-8")
    done = again(stored, "default")
    assert {(step.action, step.reason) for step in done.decisions} == {("add", "fewer metrics")}
    assert "another definition" not in " ".join(done.notes)
