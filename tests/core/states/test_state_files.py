"""Files of states: their checksums, and files that would count rows twice."""

import shutil
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import sqleval
from sqleval import RequestError, SourceError
from sqleval.cli import main
from sqleval.states.files import write_state
from sqleval.states.merging import merge_states
from tests.core.sources.test_damages import flip_page
from tests.support.lake import Lake, evaluated, rows


def build(frame: pl.DataFrame, grain: str | None = "day") -> pl.DataFrame:
    bound = sqleval.scan(frame, label="y", score="p", by="seg")
    return bound.state(grain=grain, time="day" if grain else None).collect()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a state of two days and one of two others."""
    (tmp_path / "states").mkdir()
    for start in (0, 2):
        write_state(build(rows(2, start=start)), str(tmp_path / "states" / f"{start}.parquet"))
    return tmp_path / "states"


def test_states_are_written_with_checksums(folder: Path) -> None:
    result = sqleval.from_state(folder, verify=True, by="seg", grain="week").evaluate("roc_auc")
    assert result.collect()["n"].sum() == 480
    assert merge_states(folder, verify=True).collect()["n"].sum() == 480
    for command in ("evaluate", "merge"):
        call = ["state", command, str(folder), "--verify", "--output", f"{folder}/../out.parquet"]
        assert CliRunner().invoke(main.sqleval, call).exit_code == 0
    file = folder / "2.parquet"
    column = pq.read_schema(file).names.index("n")
    flip_page(file, column)
    for read in (lambda: sqleval.from_state(folder, verify=True).evaluate("roc_auc").collect(),
                 lambda: merge_states(folder, verify=True).collect()):  # fmt: skip
        with pytest.raises(SourceError, match=r"2\.parquet': column 'n'.*differs from its checks"):
            read()


def test_a_damaged_definition_is_seen_before_it_is_read(folder: Path) -> None:
    file = folder / "2.parquet"
    flip_page(file, pq.read_schema(file).names.index("definition"))
    with pytest.raises(SourceError, match=r"2\.parquet': column 'definition'"):
        sqleval.from_state(folder, verify=True)


def test_only_files_can_be_verified() -> None:
    with pytest.raises(RequestError, match=r"verify= \(--verify\) checks local Parquet files"):
        sqleval.from_state(build(rows(1)), verify=True)


def test_a_copied_state_is_refused(folder: Path) -> None:
    shutil.copy(folder / "0.parquet", folder / "0 (copy).parquet")
    with pytest.raises(SourceError, match=r"0 \(copy\)\.parquet and .*/0\.parquet are copies of"):
        sqleval.from_state(folder)


def test_states_of_parts_of_a_day_are_added_up(folder: Path) -> None:
    # Each file may hold a part of the rows; without periods, two may even be equal.
    write_state(build(rows(2, start=2, seed=5)), str(folder / "more.parquet"))
    assert sqleval.from_state(folder).evaluate("roc_auc").collect()["n"].item() == 720
    for name in ("a", "b"):
        write_state(build(rows(2), None), str(folder.parent / f"{name}.parquet"))
    parts = [folder.parent / "a.parquet", folder.parent / "b.parquet"]
    assert sqleval.from_state(parts).evaluate("roc_auc").collect()["n"].item() == 480


def test_an_older_state_of_a_day_fails_its_month_and_is_named(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.spec |= {"states": "states", "verify": True}
    lake.put(rows())
    lake.run(backfill=True)
    day = tmp_path / "states" / "2026-01-02.parquet"
    shutil.copy(day, tmp_path / "states" / "kept.parquet")
    lake.put(rows(days=1, start=1, seed=3))
    assert evaluated(lake.run()) == ["2026-01-02"]
    lake.spec = {
        "name": "months", "from_state": "states", "metrics": ["roc_auc"], "verify": True,
        "period": {"column": "period", "grain": "month"}, "history": "months.duckdb",
    }  # fmt: skip
    done = lake.run(backfill=True)
    (error,) = {*done.errors}
    assert "2026-01-02.parquet and " in error
    assert "kept.parquet are both of the period 2026-01-02 of the job 'nightly'" in error
    (tmp_path / "states" / "kept.parquet").unlink()
    assert not lake.run().errors
