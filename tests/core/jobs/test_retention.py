"""Old periods are removed by the command, and by a job with the key ``keep``."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from sqleval.errors import RequestError
from sqleval.history.duckdb import DuckDB
from sqleval.jobs.retention import count_needed
from sqleval.jobs.running.run import open_job_store
from tests.support.commands import run
from tests.support.lake import Lake, evaluated, on, rows, steps

TABLES = ("sqleval_history", "sqleval_restated", "sqleval_files")


@pytest.fixture(params=["duckdb", "delta"])
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Lake:
    """Twenty days in two files, evaluated, with the numbers of one day replaced."""
    made = Lake(tmp_path)
    frame = rows(days=20, each=30)
    halves = frame.group_by(pl.col("day").dt.day() > 12)
    for (is_late,), part in halves:
        part.write_parquet(tmp_path / "preds" / f"{is_late}.parquet")
    made.spec |= {"history": f"history.{request.param}", "by": None, "missing": "ignore"}
    made.backfill(as_of=NOW)
    halved = frame.filter(pl.col("day").dt.day() > 12).with_columns(pl.col("p") / 2)
    halved.write_parquet(tmp_path / "preds" / "True.parquet")
    made.backfill(as_of=NOW, metrics=["log_loss"])
    return made


NOW = datetime(2026, 1, 21, 3, tzinfo=UTC)


def read(lake: Lake, table: str) -> pl.DataFrame:
    return open_job_store(lake.job()).read(table, "nightly")


def days(lake: Lake, table: str = "sqleval_history") -> list[int]:
    """Return the days of January that a table has."""
    found = read(lake, table)["period"].drop_nulls().unique().sort()
    return [int(period[-2:]) for period in found]


def prune(lake: Lake, *options: str, code: int = 0) -> tuple[list[str], str]:
    lake.job()
    done = run("history", "prune", str(lake.folder / "job.yml"), *options, code=code)
    return [" ".join(line.split()) for line in done.stdout.splitlines()], done.stderr


def test_the_command_removes_and_counts(lake: Lake) -> None:
    whole = {table: read(lake, table) for table in TABLES}
    assert days(lake, "sqleval_restated") == [*range(1, 21)]
    table, notes = prune(lake, "--before", "2026-01-15", "--dry-run")
    # Twelve days lose a number, a replaced number and a record each; a file keeps one record.
    counts = [
        "job table removed kept", "nightly results 12 8", "nightly restated 12 16",
        "nightly files 11 9",
    ]  # fmt: skip
    assert table == counts
    assert notes == "note: kept though older: 2 periods of the last 8, which gates compare\n"
    assert all(read(lake, table).equals(frame) for table, frame in whole.items())
    # The date is in the job's time zone, in which its days begin.
    lake.spec["period"] = {"column": "day", "timezone": "America/New_York"}
    west = prune(lake, "--before", "2026-01-05", "--dry-run")
    assert west[0][1] == "nightly results 4 16"
    lake.spec["period"] = {"column": "day"}
    assert prune(lake, "--before", "2026-01-15")[0] == counts
    assert days(lake) == days(lake, "sqleval_restated") == days(lake, "sqleval_files")
    assert days(lake) == [*range(13, 21)]
    kept = pl.col("period") >= "2026-01-13"
    assert (
        read(lake, "sqleval_history")
        .sort("period")
        .equals(whole["sqleval_history"].filter(kept).sort("period"))
    )
    # A run without dates evaluates none of them again, and a second removal finds no more.
    done = lake.run(as_of=NOW)
    assert steps(done) == {"2026-01-20": "keep"}
    assert not done.notes
    assert days(lake, "sqleval_files") == [*range(13, 21)]
    assert prune(lake, "--before", "2026-01-15")[0][1:] == [
        "nightly results 0 8", "nightly restated 0 16", "nightly files 0 9",
    ]  # fmt: skip
    # A run of its date evaluates a removed period.
    assert evaluated(lake.run(date=on("2026-01-03"), as_of=NOW)) == ["2026-01-03"]
    assert days(lake) == [3, *range(13, 21)]


def test_what_gates_need_is_kept(lake: Lake) -> None:
    lake.spec |= {
        "baseline": {"from": "2026-01-02", "to": "2026-01-04"},
        "gates": ["log_loss <= baseline + 9", "drop(log_loss, previous 9) < 9"],
    }
    _, notes = prune(lake, "--keep", "24h")
    assert notes.splitlines() == [
        "note: kept though older: 10 periods of the last 10, which gates compare",
        "note: kept though older: 3 periods of the baseline 2026-01-02 to 2026-01-04",
    ]
    assert days(lake) == [2, 3, 4, *range(11, 21)]
    before = lake.run(as_of=NOW)
    # The days between the baseline and the others do not come back.
    assert steps(before) == {"2026-01-20": "keep"}
    assert before.verdicts["status"].to_list() == ["passed", "passed"]


def test_a_store_without_a_job_file(lake: Lake) -> None:
    store = str(lake.folder / lake.spec["history"])
    done = run("history", "prune", store, "--job", "nightly", "--keep", "1d")
    assert "all periods before the cutoff are removed, except a job's last" in done.stderr
    assert days(lake) == [20]
    assert steps(lake.run(as_of=NOW)) == {"2026-01-20": "keep"}
    for options, message in (
        (["--keep", "1d", "--job", "nightli"], "did you mean 'nightly'?"),
        (["--keep", "1m"], "write 36h, 7d, 2w or 1y"),
        (["--keep", "9999y"], "--keep: "),
        ([], "give either --keep 2y or --before"),
        (["--before", "2026"], "is not a date"),
    ):
        assert message in run("history", "prune", store, *options, code=2).stderr


def test_the_key_of_a_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compacted: list[DuckDB] = []
    monkeypatch.setattr(DuckDB, "compact", lambda store: compacted.append(store))
    monkeypatch.setattr("sqleval.jobs.retention._SHARE", 0.05)
    lake = Lake(tmp_path)
    lake.put(rows(days=20, each=30))
    lake.spec |= {"by": None, "missing": "ignore", "keep": "10d"}
    lake.spec["baseline"] = {"from": "2026-01-02", "to": "2026-01-03"}
    done = lake.run(backfill=True, as_of=NOW)
    # Days that the same run would remove are not evaluated.
    assert [int(period[-2:]) for period in evaluated(done)] == [2, 3, *range(11, 21)]
    assert steps(done)["2026-01-04"] == "keep"
    assert (done.notes, compacted) == ([], [])
    late = datetime(2026, 1, 23, 3, tzinfo=UTC)
    done = lake.run(as_of=late)
    assert done.notes == [
        "keep: removed 4 results",
        "kept though older: 2 periods of the baseline 2026-01-02 to 2026-01-03",
    ]
    assert len(compacted) == 1  # 4 of 44 rows were removed
    assert days(lake) == [2, 3, *range(13, 21)]
    assert steps(lake.run(as_of=late)) == {"2026-01-20": "keep"}
    assert evaluated(lake.run(as_of=late, date=on("2026-01-05"))) == []
    job = str(lake.folder / "job.yml")
    done = run("run", job, "--date", "2026-01-05", "--as-of", "2026-01-23T03:00")
    assert "nightly: 1 left alone" in done.stderr
    # The newest periods stay, however old they are.
    lake.run(as_of=datetime(2027, 1, 1, tzinfo=UTC))
    assert days(lake) == [2, 3, *range(13, 21)]


def test_a_duckdb_file_becomes_smaller(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.put(rows(days=3))
    lake.run(backfill=True)
    store, path = open_job_store(lake.job()), tmp_path / "history.duckdb"
    first = store.read("sqleval_history")
    n = pl.int_range(200_000)
    many = pl.DataFrame({"i": range(200_000)}).select(n.hash().cast(pl.String).alias("slice"))
    rest = [name for name in first.columns if name != "slice"]
    big = many.join(first.head(1).select(rest), how="cross").select(first.columns)
    store.replace("other", ["2026-01-01"], big.with_columns(job=pl.lit("other")), None)
    store.replace("other", ["2026-01-02"], first.head(1).with_columns(
        job=pl.lit("other"), period=pl.lit("2026-01-02")), None)  # fmt: skip
    size = path.stat().st_size
    run("history", "prune", str(path), "--job", "other", "--before", "2026-01-02")
    assert path.stat().st_size < size / 2
    kept = store.read("sqleval_history")
    assert kept.filter(job="nightly").equals(first)
    assert kept.filter(job="other")["period"].to_list() == ["2026-01-02"]
    assert not lake.run().errors


@pytest.mark.parametrize(
    ("gates", "needed"),
    [
        ([], 8),
        (["drop(roc_auc, previous 14) < 0.1"], 15),
        ([{"check": "roc_auc > 0.5", "in_a_row": 9}], 9),
        (["worse(roc_auc, previous 28)"], 56),
        ([{"check": "worse(roc_auc, previous 28)", "windows": [1, 7]}], 35),
    ],
)
def test_periods_that_gates_compare(tmp_path: Path, gates: list[Any], needed: int) -> None:
    assert count_needed(Lake(tmp_path).job(gates=gates, ci=0.9)) == needed


def test_a_retention_that_is_not_a_duration(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    for text, message in (("2 years", "write 36h, 7d, 2w or 1y"), ("9" * 12 + "y", "longer than")):
        with pytest.raises(RequestError, match=message):
            lake.job(keep=text)
