"""Jobs over broken or missing states: no number is lost, mixed or counted twice."""

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

import sqleval
from sqleval import RequestError
from sqleval.errors import SourceError
from sqleval.jobs import states
from tests.support.lake import (
    Lake,
    lake_with_states,
    on,
    read_results,
    rows,
    state_files,
    steps,
    week,
    weekly,
)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Six days, and a job with one metric that keeps their states."""
    made = lake_with_states(tmp_path)
    made.spec["metrics"] = ["log_loss"]
    return made


def test_a_period_that_does_not_fit_its_neighbours_loses_nothing(lake: Lake) -> None:
    odd = rows(days=1, start=2).with_columns(pl.col("y").cast(pl.Boolean))
    lake.put(odd)
    done = lake.run(backfill=True)
    assert not done.errors
    assert lake.history().height == 6 * 3
    assert len(state_files(lake)) == 6


def test_a_state_that_cannot_be_written_is_an_error_beside_the_numbers(lake: Lake) -> None:
    (lake.folder / "states").write_text("no folder")
    done = lake.run(date=on("2026-01-02"))
    assert len(done.errors) == 1
    assert "no state: cannot write" in done.errors[0]
    assert lake.history().height == 3


def test_scores_outside_0_to_1_have_a_state(lake: Lake) -> None:
    lake.put(rows(days=6).with_columns(p=pl.col("p") * 10 - 3))
    assert not lake.run(backfill=True, changes={"metrics": ["roc_auc"]}).errors
    done = weekly(lake, metrics=["roc_auc"]).run(backfill=True)
    assert not done.errors
    assert done.rows["high"].null_count() == 0


def test_a_slice_that_starts_to_fail_leaves_numbers_and_state_of_one_data(lake: Lake) -> None:
    lake.backfill()
    before, files = lake.history(), state_files(lake)
    lake.put(rows(days=1, start=3).with_columns(p=pl.when(seg="a").then(7.0).otherwise("p")))
    assert lake.run().errors
    assert lake.history().equals(before)
    assert state_files(lake) == files


def test_a_slice_that_fails_leaves_no_older_state(lake: Lake) -> None:
    lake.backfill()
    # Without the history no numbers can be lost, and the state has other rows.
    (lake.folder / "history.duckdb").unlink()
    lake.put(rows(days=1, start=3).with_columns(p=pl.when(seg="a").then(7.0).otherwise("p")))
    assert "2026-01-04.parquet" in state_files(lake)
    assert lake.run(date=on("2026-01-04")).errors
    assert "2026-01-04.parquet" not in state_files(lake)


def test_a_state_that_cannot_be_replaced_leaves_no_older_one(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object) -> None:
        raise SourceError("cannot write the state")

    lake.backfill()
    lake.put(rows(days=1, start=3, seed=7))
    monkeypatch.setattr(states, "write_period_states", fail)
    done = lake.run()
    assert done.errors == ["2026-01-04: no state: cannot write the state"]
    assert "2026-01-04.parquet" not in state_files(lake)
    assert len(state_files(lake)) == 5


def test_weeks_of_other_states_are_of_another_definition(lake: Lake) -> None:
    lake.put(rows(days=12))
    lake.run(span=(on("2026-01-01")[0], on("2026-01-04")[0]))
    lake.run(backfill=True, as_of=datetime(2026, 1, 5, tzinfo=UTC))
    where = {"where": "p > 0.3"}
    lake.run(span=(on("2026-01-05")[0], on("2026-01-12")[0]), changes=where)
    done = weekly(lake, where=None).run(backfill=True)
    assert not done.errors
    found = read_results(done).filter(metric="log_loss", slice="{}").sort("period")["definition"]
    assert found.n_unique() == 2
    assert found[1] == found[2]
    assert "2025-12-29 has another definition; --backfill evaluates it again" in done.notes[0]


def test_decisions_alone_use_their_states(lake: Lake) -> None:
    frame = rows(days=6).with_columns(d=(pl.col("p") > 0.5).cast(pl.Int8))
    lake.put(frame)
    lake.spec |= {"score": None, "prediction": "d", "metrics": ["accuracy"]}
    lake.backfill()
    assert set(steps(lake.run(backfill=True)).values()) == {"keep"}
    done = lake.run(backfill=True, changes={"metrics": ["accuracy", "f1"]})
    assert set(steps(done).values()) == {"add"}


def test_two_jobs_have_two_folders(lake: Lake) -> None:
    lake.run(date=on("2026-01-02"))
    done = lake.run(date=on("2026-01-02"), changes={"name": "other"})
    assert "has states of another job (nightly)" in done.errors[0]
    assert read_results(done).height == 3
    with pytest.raises(RequestError, match="states: preds/states is inside the source preds"):
        lake.job(states="preds/states")


def test_intervals_come_from_states_as_well(lake: Lake) -> None:
    lake.run(backfill=True, changes={"ci": 0.95})
    done = weekly(lake).run(backfill=True)
    assert not done.errors
    of = sqleval.scan(week(5, 6), label="y", score="p").evaluate("log_loss", ci=0.95).collect()
    here = read_results(done).filter(period="2026-01-05", slice="{}", metric="log_loss")
    columns = ["value", "low", "high"]
    assert here.select(columns).row(0) == pytest.approx(of.select(columns).row(0), abs=1e-12)
    grown = lake.run(backfill=True, changes={"metrics": ["log_loss", "brier_score"]})
    assert set(steps(grown).values()) == {"add"}


def test_a_damaged_state_is_made_again(lake: Lake) -> None:
    lake.backfill()
    (lake.folder / "states" / "2026-01-03.parquet").write_bytes(b"no")
    done = lake.run(backfill=True)
    assert [p for p, do in steps(done).items() if do == "evaluate"] == ["2026-01-03"]
    assert set(steps(lake.run(backfill=True)).values()) == {"keep"}


def test_rows_whose_day_is_corrected_are_counted_once(lake: Lake) -> None:
    lake.backfill()
    moved = rows(days=1, start=1).with_columns(day=pl.lit("2026-01-03").str.to_date())
    moved.write_parquet(lake.folder / "preds" / "2026-01-02.parquet")
    lake.run()
    assert "2026-01-02.parquet" not in state_files(lake)
    done = weekly(lake).run(backfill=True)
    assert read_results(done).filter(period="2025-12-29", slice="{}")["n"].unique().to_list() == [
        4 * 120
    ]


def test_a_period_without_rows_has_its_row_of_a_metric_that_is_added(lake: Lake) -> None:
    changes = {"where": "day <> DATE '2026-01-02'"}
    lake.run(backfill=True, changes=changes)
    done = lake.run(backfill=True, changes={"metrics": ["log_loss", "ks"]})
    assert not done.notes
    empty = read_results(done).filter(period="2026-01-02")
    assert sorted(empty["metric"]) == ["ks", "log_loss"]
    assert empty["note"].unique().to_list() == ["no rows"]
    assert set(steps(lake.run(backfill=True)).values()) == {"keep"}


def test_the_report_counts_rows_once_for_several_models(lake: Lake) -> None:
    lake.put(rows(days=6).with_columns(q=1 - pl.col("p")))
    lake.run(backfill=True, changes={"score": {"a": "p", "b": "q"}})
    done = weekly(lake).run(backfill=True)
    assert done.lake is not None
    assert done.lake.count_rows("2025-12-29") == 4 * 120


WRITE = """
import sys
from sqleval.common.whole_file import replace_file
with replace_file(sys.argv[1], lock=True) as draft:
    draft.write_bytes(b"half")
    print(1, flush=True)
    input()
"""


def write_half(lake: Lake, name: str) -> subprocess.Popen[bytes]:
    """Start a process that has written a part of a state."""
    path = str(lake.folder / "states" / name)
    command = [sys.executable, "-c", WRITE, path]
    started = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert started.stdout is not None
    started.stdout.readline()
    return started


def list_drafts(lake: Lake) -> list[Path]:
    return list((lake.folder / "states").glob(".*"))


@pytest.mark.skipif(os.name != "posix", reason="locks of POSIX")
def test_what_a_killed_run_left_is_removed_and_nothing_else(lake: Lake) -> None:
    lake.run(date=on("2026-01-02"))
    killed = write_half(lake, "2026-01-03.parquet")
    killed.kill()
    killed.communicate()
    assert len(list_drafts(lake)) == 1
    mine = lake.folder / "states" / ".notes.part"
    mine.write_text("mine", encoding="utf-8")
    alive = write_half(lake, "other.txt")
    assert len(list_drafts(lake)) == 3
    lake.run(date=on("2026-01-02"))  # this holds even if no state is written
    assert len(list_drafts(lake)) == 2
    alive.communicate(b"\n")
    assert alive.returncode == 0
    assert (lake.folder / "states" / "other.txt").read_bytes() == b"half"
    assert list_drafts(lake) == [mine]


def test_a_copied_state_is_refused_by_the_next_run(lake: Lake) -> None:
    lake.backfill()
    weekly(lake).backfill()
    before = weekly(lake).history().filter(job="weekly")
    folder = lake.folder / "states"
    renamed = pl.read_parquet(folder / "2026-01-06.parquet")
    metadata = pl.read_parquet_metadata(folder / "2026-01-06.parquet")
    renamed.write_parquet(folder / "again.parquet", metadata=metadata, compression="gzip")
    for _ in range(2):
        done = weekly(lake).run(backfill=True)
        assert "/2026-01-06.parquet and " in done.errors[0]
        assert "/again.parquet are both of the period 2026-01-06" in done.errors[0]
        stored = weekly(lake).history().filter(job="weekly")
        assert stored.sort(pl.all()).equals(before.sort(pl.all()))
    (folder / "again.parquet").unlink()
    assert not weekly(lake).run(backfill=True).errors
