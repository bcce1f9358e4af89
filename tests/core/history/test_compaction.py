"""A Delta history stays small: its files are merged, and old ones are deleted."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import deltalake
import polars as pl
import pyarrow.parquet as pq
import pytest

from sqleval.errors import StoreBusy
from sqleval.history import delta
from sqleval.history.opening import open_store
from sqleval.history.store import RESULTS, Store
from tests.core.history.test_history import files, results
from tests.support.commands import run
from tests.support.lake import Lake, evaluated, rows


def count_rows_on_disk(folder: Path) -> int:
    """Count the rows of all data files of a history, including files that no version needs."""
    return sum(pq.read_metadata(path).num_rows for path in folder.rglob("job=*/*.parquet"))


def make_night(day: str, slices: int, round_: int) -> pl.DataFrame:
    """Return the results of a day, as a run writes them."""
    names = [f'{{"seg": "{n}"}}' for n in range(slices)]
    frame = pl.DataFrame({"slice": names}).join(pl.DataFrame({"metric": ["f1", "ks"]}), how="cross")
    frame = frame.with_columns(
        job=pl.lit("a"), period=pl.lit(day), value=pl.int_range(pl.len()) / 7 + round_, n=9
    )
    missing = [pl.lit(None, RESULTS[n]).alias(n) for n in RESULTS if n not in frame.columns]
    return frame.with_columns(missing).cast(RESULTS).select(RESULTS.names())


def live(
    folder: Path, nights: int, slices: int, monkeypatch: pytest.MonkeyPatch
) -> tuple[pl.DataFrame, pl.DataFrame, int]:
    """Write a history night by night; return the expected results and files, and the rows on disk.

    The rows on disk are counted at the end of the last night. Labels come late, so each night also
    replaces the results of the day before. In the next night the files are older than 12 hours;
    to avoid the wait, the limit is set to 0 hours between nights.
    """
    store = open_store(str(folder))
    store.replace("b", ["1"], results("b", ["1"]), files("b", "1"))
    for name in ("sqleval_history", "sqleval_files"):
        # Delta cleans up its log at a checkpoint after 30 days; do not wait for these either.
        table, quick = deltalake.DeltaTable(folder / name), "interval 0 days"
        table.alter.set_table_properties({"delta.logRetentionDuration": quick})
        table.alter.set_table_properties({"delta.checkpointInterval": "10"})
    days = [f"{date(2026, 1, 1) + timedelta(days=n)}" for n in range(nights)]
    frames: dict[str, pl.DataFrame] = {}
    for n, day in enumerate(days):
        new = {each: make_night(each, slices, n) for each in days[max(n - 1, 0) : n + 1]}
        frames |= new
        store.replace("a", [*new], pl.concat(new.values()), None)
        kept = pl.concat([files("a", each) for each in days[: n + 1]])
        store.replace("a", [], results("a", []), kept)
        store.tidy("a")
        rows = sum(each.height for each in frames.values()) + kept.height + 3
        # Files that this night replaced stay for 12 hours; one file may hold the rows of the last
        # two days.
        replaced = 2 * frames[day].height + kept.height
        on_disk = count_rows_on_disk(folder)
        assert on_disk <= 2 * rows + replaced, day
        for name in ("sqleval_history", "sqleval_files"):
            with monkeypatch.context() as patch:
                patch.setattr(delta, "_KEPT_HOURS", 0)
                delta._vacuum(deltalake.DeltaTable(folder / name))
        assert count_rows_on_disk(folder) == rows, day
    return pl.concat(frames.values()), kept, on_disk


def check_rows(store: Store, expected: pl.DataFrame, kept: pl.DataFrame) -> None:
    """Check that a history has the expected rows of the job `a`, and the rows of `b`."""
    order = ["period", "slice", "metric"]
    assert store.read("sqleval_history", "a").sort(order).equals(expected.sort(order))
    assert store.read("sqleval_files", "a").sort("file").equals(kept)
    assert store.read("sqleval_history", "b").equals(results("b", ["1"]))


def test_nights_in_a_delta_table_take_little_more_than_their_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A whole year is in the lane `random`."""
    monkeypatch.setattr(delta, "_MANY_FILES", 4)
    path = tmp_path / "history.delta"
    expected, kept, _ = live(path, 14, 3, monkeypatch)
    assert len([*(path / "sqleval_history" / "job=a").iterdir()]) <= 4
    check_rows(open_store(str(path)), expected, kept)


def test_a_reader_keeps_its_files_for_twelve_hours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delta, "_MANY_FILES", 2)
    store, days = open_store(str(tmp_path / "history.delta")), ["1", "2", "3"]
    for day in days:
        store.replace("a", [day], results("a", [day]), files("a", day))
    table = tmp_path / "history.delta" / "sqleval_history"
    before = deltalake.DeltaTable(table)
    before.create_checkpoint()
    store.tidy("a")
    assert len(deltalake.DeltaTable(table).file_uris()) == 1
    query = deltalake.QueryBuilder().register("before", before)
    read: Any = query.execute("SELECT * FROM before")
    assert pl.DataFrame(read).height == 6
    # A killed writer has left a file that belongs to no version.
    (data,) = deltalake.DeltaTable(table).file_uris()
    (table / "job=a" / "part-killed.parquet").write_bytes(Path(data).read_bytes())
    store.tidy("a")
    assert count_rows_on_disk(table) == 6 + 6 + 6
    monkeypatch.setattr(delta, "_KEPT_HOURS", 0)
    store.tidy("a")
    assert count_rows_on_disk(table) == 6
    assert store.read("sqleval_history", "a").sort("period").equals(results("a", days))


def test_files_of_a_delta_table_stay_as_its_property_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delta, "_KEPT_HOURS", 0)
    path = tmp_path / "history.delta"
    store = open_store(str(path))
    store.replace("a", ["1"], results("a", ["1"]), files("a", "x"))
    table = deltalake.DeltaTable(path / "sqleval_files")
    table.alter.set_table_properties({"delta.deletedFileRetentionDuration": "interval 1 days"})
    store.replace("a", ["1"], results("a", ["1"]), files("a", "y"))
    store.tidy("a")
    assert count_rows_on_disk(path / "sqleval_files") == 2
    assert count_rows_on_disk(path / "sqleval_history") == 2


def interrupt_compaction(path: Path, monkeypatch: pytest.MonkeyPatch, job: str) -> None:
    """Let another run replace a night each time a compaction begins."""
    original = deltalake.DeltaTable.file_uris

    def list_files(table: deltalake.DeltaTable, **chosen: Any) -> list[str]:
        found = original(table, **chosen)
        open_store(str(path)).replace(job, ["1"], results(job, ["1"], 0.75), None)
        return found

    monkeypatch.setattr(delta, "_MANY_FILES", 0)
    monkeypatch.setattr(deltalake.DeltaTable, "file_uris", list_files)


@pytest.mark.parametrize("job", ["a", "b"])
def test_a_writer_during_a_compaction_loses_nothing(
    job: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, days = tmp_path / "history.delta", ["1", "2", "3"]
    store = open_store(str(path))
    for name in ("a", "b"):
        for day in days:
            store.replace(name, [day], results(name, [day]), None)
    with monkeypatch.context() as patch:
        interrupt_compaction(path, patch, job)
        with pytest.raises(StoreBusy, match="concurrent"):
            store.tidy("a")
    monkeypatch.setattr(delta, "_MANY_FILES", 0)
    store.tidy("a")
    of_a = [("job", "=", "a")]
    table = deltalake.DeltaTable(path / "sqleval_history")
    assert len(table.file_uris(file_pruning_predicate=of_a)) == 1
    for name in ("a", "b"):
        value = 0.75 if name == job else 0.5
        expected = pl.concat([results(name, days[:1], value), results(name, days[1:])])
        found = store.read("sqleval_history", name).sort("period", maintain_order=True)
        assert found.equals(expected), name


def test_a_run_is_green_if_its_history_stays_as_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = Lake(tmp_path)
    lake.put(rows(days=2))
    lake.job(history="history.delta")
    monkeypatch.chdir(tmp_path)
    with monkeypatch.context() as patch:
        interrupt_compaction(tmp_path / "history.delta", patch, "b")
        assert "the history" not in run("run", "job.yml", "--backfill").stderr
    assert set(lake.history()["job"]) == {"nightly", "b"}
    monkeypatch.setattr(delta, "_vacuum", refuse)
    lake.put(rows(days=1, start=2))
    done = run("run", "job.yml", "--as-of", f"{datetime(2026, 1, 4, 3, tzinfo=UTC)}")
    assert "note: the history" in done.stderr
    assert "AccessDenied; the results are written, but the history grows" in done.stderr
    assert lake.history().filter(job="nightly")["period"].n_unique() == 3
    monkeypatch.undo()
    assert evaluated(lake.run(as_of=datetime(2026, 1, 4, 3, tzinfo=UTC))) == []


def refuse(_: object) -> None:
    """Fail like an object store that does not allow deletes."""
    raise OSError("AccessDenied")
