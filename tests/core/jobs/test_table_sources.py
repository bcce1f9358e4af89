"""Jobs over tables of Delta, Iceberg and Lance find changes in their logs."""

import json
import os
import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import deltalake
import polars as pl
import pytest
from pyiceberg.expressions import EqualTo
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import DoubleType, StringType
from pyiceberg.utils.config import Config

import sqleval
from sqleval import RequestError, SourceError
from sqleval.jobs.outputs.exports import export_run
from sqleval.jobs.periods import counting
from sqleval.jobs.running import evaluation
from sqleval.jobs.running.plan import RunOptions
from sqleval.jobs.running.run import run_job
from sqleval.jobs.running.validation import check_job
from tests.support import iceberg_deletes
from tests.support.commands import run
from tests.support.comparison import assert_frame_equal
from tests.support.delta import rename_columns, write_deletion_vector
from tests.support.iceberg_server import serve_catalogue
from tests.support.lake import LATER, evaluated, on, read_results, rows, weekly
from tests.support.table_lakes import (
    DAYS,
    DeltaLake,
    IcebergLake,
    LanceLake,
    check_values,
    reasons,
)


@pytest.fixture(params=[DeltaLake, IcebergLake, LanceLake], ids=["delta", "iceberg", "lance"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    made = request.param(tmp_path)
    made.append(rows(days=3))
    return made


@pytest.fixture
def delta(tmp_path: Path) -> DeltaLake:
    made = DeltaLake(tmp_path)
    made.append(rows(days=3))
    return made


@pytest.fixture
def iceberg(tmp_path: Path) -> IcebergLake:
    made = IcebergLake(tmp_path)
    made.append(rows(days=3))
    return made


def test_a_run_evaluates_what_the_log_says_has_changed(
    table: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert evaluated(table.run(backfill=True)) == DAYS[:3]
    counted: list[int] = []
    count: Callable[..., Any] = counting._count_rows

    def spy(job: Any, files: Any, *others: Any) -> Any:
        counted.append(len(files))
        return count(job, files, *others)

    monkeypatch.setattr(counting, "_count_rows", spy)
    for file in table.table.rglob("*"):
        os.utime(file, ns=(0, 0))
    assert evaluated(table.run()) == []
    assert counted == []
    table.append(rows(days=1, start=3))
    dry = run_job(table.job(), RunOptions(as_of=LATER), dry=True)
    assert reasons(dry) == {DAYS[3]: "new"}
    assert reasons(table.run()) == {DAYS[3]: "new"}
    assert counted == [1, 1]
    table.delete("key", 150)
    assert reasons(table.run()) == {DAYS[1]: "data changed"}
    assert table.run().decisions[-1].action == "keep"
    check_values(table)
    table.delete("day", date(2026, 1, 1))
    assert evaluated(table.run()) == []
    assert table.history().filter(pl.col("job") == "nightly")["period"].n_unique() == 4
    assert check_job(table.job()).startswith("3 files, binary (1 is positive")


def test_a_table_of_a_rest_catalogue(iceberg: IcebergLake, monkeypatch: pytest.MonkeyPatch) -> None:
    with serve_catalogue(iceberg.catalog, "secret-token") as (url, served):
        monkeypatch.setenv("PYICEBERG_CATALOG__REST__URI", url)
        monkeypatch.setenv("PYICEBERG_CATALOG__REST__TOKEN", "secret-token")
        monkeypatch.setattr("pyiceberg.catalog._ENV_CONFIG", Config())
        iceberg.spec["source"] = "iceberg://rest/lake.preds"
        assert evaluated(iceberg.run(backfill=True)) == DAYS[:3]
        iceberg.delete("key", 150)
        assert reasons(iceberg.run()) == {DAYS[1]: "data changed"}
        assert "/v1/namespaces/lake/tables/preds" in served
        check_values(iceberg)


def add_deletion_vector(table: Path, start: str, deleted: list[int]) -> None:
    """Delete rows of the data file with a path prefix, by a commit to the log."""
    log = table / "_delta_log"
    commits = sorted(log.glob("*.json"))
    lines = [json.loads(line) for commit in commits for line in commit.read_text().splitlines()]
    (add,) = (a["add"] for a in lines if a.get("add", {}).get("path", "").startswith(start))
    remove = {"path": add["path"], "deletionTimestamp": add["modificationTime"], "dataChange": True}
    add = {**add, "deletionVector": write_deletion_vector(deleted)}
    text = "\n".join(map(json.dumps, [{"remove": remove}, {"add": add}]))
    (log / f"{len(commits):020}.json").write_text(text)


VECTORS = {"configuration": {"delta.enableDeletionVectors": "true"}}


def test_a_deletion_vector_changes_a_day(tmp_path: Path) -> None:
    lake = DeltaLake(tmp_path)
    lake.append(rows(days=3), **VECTORS)
    lake.run(backfill=True)
    add_deletion_vector(lake.table, f"day={DAYS[1]}", [0, 2, 5, 119])
    assert reasons(lake.run()) == {DAYS[1]: "data changed"}
    assert lake.history().filter(period=DAYS[1])["n"].to_list() == [116]
    check_values(lake)


def test_renamed_columns_of_a_delta_table(tmp_path: Path) -> None:
    lake = DeltaLake(tmp_path)
    lake.append(rows(days=3))
    lake.run(backfill=True)
    names = {"p": "score", "key": "p", "day": "a day"}
    rename_columns(lake.table, names)
    lake.spec |= {"score": "score", "period": {"column": "a day"}}
    assert evaluated(lake.run(backfill=True)) == DAYS[:3]
    for day, value in lake.history().filter(metric="roc_auc").select("period", "value").rows():
        part = rows(days=3).filter(day=date.fromisoformat(day))
        expected = sqleval.scan(part, label="y", score="p").evaluate("roc_auc").collect()["value"]
        assert value == pytest.approx(expected.item(), abs=1e-12)
    assert evaluated(lake.run(backfill=True)) == []


def test_a_compaction_changes_no_day(tmp_path: Path) -> None:
    lake = DeltaLake(tmp_path)
    for start in range(3):
        lake.append(rows(days=1, start=start), partition_by=None)
        lake.append(rows(days=1, start=start, seed=7), partition_by=None)
    lake.run(backfill=True)
    before = lake.history()
    table = deltalake.DeltaTable(lake.table)
    assert table.optimize.compact()["numFilesRemoved"] == 6
    assert evaluated(lake.run(backfill=True)) == []
    # A day that is evaluated again is read from the new file.
    assert evaluated(lake.run(date=on(DAYS[1]), force=True)) == [DAYS[1]]
    assert_frame_equal(
        lake.history().select("period", "metric", "value", "n").sort("period"),
        before.select("period", "metric", "value", "n").sort("period"),
    )
    # One more day comes; then its file is merged with the other days' file.
    lake.append(rows(days=1, start=3), partition_by=None)
    assert reasons(lake.run()) == {DAYS[3]: "new"}
    table.update_incremental()
    assert table.optimize.compact()["numFilesRemoved"] == 2
    assert evaluated(lake.run(backfill=True)) == []
    check_values(lake)
    # Now a row of the file with all days is deleted.
    lake.delete("key", 150)
    assert evaluated(lake.run()) == DAYS
    check_values(lake)


def test_a_compaction_with_a_commit_before_it_that_no_run_has_seen(tmp_path: Path) -> None:
    lake = DeltaLake(tmp_path)
    for start in range(2):
        lake.append(rows(days=1, start=start), partition_by=None)
    lake.run(backfill=True)
    lake.append(rows(days=1, start=1, seed=5), partition_by=None)
    deltalake.DeltaTable(lake.table).optimize.compact()
    # The history lacks one of the rewritten files, so that the periods of all are evaluated.
    assert evaluated(lake.run()) == DAYS[:2]
    assert lake.history().sort("period")["n"].to_list() == [120, 240]
    check_values(lake)


def test_a_commit_that_claims_to_change_no_data(tmp_path: Path) -> None:
    """Rows are counted where the log counts them, and a deleted row is not a compaction."""
    lake = DeltaLake(tmp_path)
    lake.append(rows(days=2), partition_by=None)
    lake.run(backfill=True)
    lake.delete("key", 150)
    commit = lake.table / "_delta_log" / f"{1:020}.json"
    commit.write_text(commit.read_text().replace('"dataChange":true', '"dataChange":false'))
    assert evaluated(lake.run()) == DAYS[:2]
    check_values(lake)


def test_a_deletion_vector_of_an_encoded_path(tmp_path: Path) -> None:
    lake = DeltaLake(tmp_path)
    frame = rows(days=2).with_columns(seg="seg " + pl.col("seg"))
    lake.append(frame, partition_by=["seg"], **VECTORS)
    add_deletion_vector(lake.table, "seg=seg%2520a", [0, 2, 5, 79])
    lake.run(backfill=True, changes={"slices": [[], ["seg"]]})
    found = lake.history().sort("period", "slice").select("slice", "n").rows()
    assert found == [
        ('{"seg":"seg a"}', 37), ('{"seg":"seg b"}', 40), ('{"seg":"seg c"}', 40), ("{}", 117),
        ('{"seg":"seg a"}', 39), ('{"seg":"seg b"}', 40), ('{"seg":"seg c"}', 40), ("{}", 119),
    ]  # fmt: skip


def test_deleted_positions_of_an_iceberg_table(iceberg: IcebergLake) -> None:
    iceberg.run(backfill=True)
    delete_positions(iceberg, date(2026, 1, 2), [0, 7, 119])
    assert reasons(iceberg.run()) == {DAYS[1]: "data changed"}
    assert iceberg.history().filter(period=DAYS[1])["n"].to_list() == [117]
    check_values(iceberg)
    for source in (iceberg.made, str(iceberg.table)):
        every = sqleval.scan(source, label="y", score="p", by="day").evaluate("roc_auc").collect()
        assert every["n"].to_list() == [120, 117, 120]


def delete_positions(lake: IcebergLake, day: date, positions: list[int]) -> None:
    """Delete rows of the data file of a day by a file of their positions."""
    (task,) = lake.made.scan(row_filter=EqualTo("day", day)).plan_files()
    deletes = iceberg_deletes.write_positions(lake.made, task.file.file_path, positions)
    iceberg_deletes.commit(lake.made, deletes)


def test_partition_evolution_of_an_iceberg_table(iceberg: IcebergLake) -> None:
    iceberg.run(backfill=True)
    with iceberg.made.update_spec() as spec:
        spec.add_field("day", IdentityTransform(), "day")
    assert evaluated(iceberg.run()) == []
    iceberg.append(rows(days=1, start=3))
    assert reasons(iceberg.run()) == {DAYS[3]: "new"}
    with iceberg.made.update_schema() as schema:
        schema.add_column("country", StringType())
        schema.rename_column("seg", "segment")
    assert evaluated(iceberg.run()) == []


def test_a_replaced_column_changes_all_days(iceberg: IcebergLake) -> None:
    iceberg.run(backfill=True)
    with iceberg.made.update_schema(allow_incompatible_changes=True) as schema:
        schema.rename_column("p", "old")
    with iceberg.made.update_schema() as schema:
        schema.add_column("p", DoubleType())
    assert evaluated(iceberg.run()) == DAYS[:3]


def test_a_late_row_changes_two_days(tmp_path: Path) -> None:
    lake = DeltaLake(tmp_path)
    lake.append(rows(days=3), partition_by=None)
    lake.run(backfill=True)
    lake.append(rows(days=1, start=3).vstack(rows(days=1).head(3)), partition_by=None)
    assert reasons(lake.run()) == {DAYS[0]: "data changed", DAYS[3]: "new"}
    check_values(lake)


def test_labels_in_a_table(table: Any) -> None:
    predictions = table.read().drop("y")
    predictions.write_parquet(table.folder / "preds" / "all.parquet")
    deltalake.write_deltalake(table.folder / "predicted", predictions.to_arrow())
    table.spec |= {
        "labels": {"source": table.spec["source"], "on": "key"},
        "source": "predicted" if table.kind == "delta" else "preds",
    }  # fmt: skip
    assert evaluated(table.run(backfill=True)) == DAYS[:3]
    assert set(table.history()["matured"]) == {1.0}
    table.delete("key", 150)
    done = table.run(changes={"nulls": "drop"})
    assert reasons(done) == {DAYS[1]: "data changed"}
    found = table.history().filter(period=DAYS[1])
    assert found["matured"].item() == pytest.approx(119 / 120)
    assert found["n"].item() == 119
    rest = table.read().filter(day=date(2026, 1, 2))
    value = sqleval.scan(rest, label="y", score="p").evaluate("roc_auc").collect()["value"].item()
    assert found["value"].item() == pytest.approx(value, abs=1e-12)
    check_job(table.job())


def test_a_table_with_labels_in_files(delta: DeltaLake) -> None:
    for start in (0, 1):
        labels = rows(days=1, start=start).select("key", "y")
        (delta.folder / "labels").mkdir(exist_ok=True)
        labels.write_parquet(delta.folder / "labels" / f"{start}.parquet")
        done = delta.run(
            changes={"labels": {"source": "labels", "on": "key", "maturity": "1d"}},
            as_of=datetime(2026, 1, 3 + start, tzinfo=UTC),
        )
        assert evaluated(done) == [DAYS[start]]
    history = delta.history()
    assert set(history.filter(~pl.col("metric").str.starts_with("arrived"))["matured"]) == {1.0}


def test_commits_during_a_run_are_read_by_the_next(
    table: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluate: Callable[..., Any] = evaluation.evaluate_periods
    commits = [lambda: table.append(rows(days=1, seed=9)), lambda: table.delete("key", 150)]

    def commit_first(*parts: Any) -> Any:
        for commit in commits:
            commit()
        commits.clear()
        return evaluate(*parts)

    monkeypatch.setattr(evaluation, "evaluate_periods", commit_first)
    table.run(backfill=True)
    assert table.history()["n"].to_list() == [120] * 3
    assert set(reasons(table.run()).values()) == {"data changed"}
    assert sorted(table.history()["n"]) == [119, 120, 240]


def test_a_data_file_that_is_gone(table: Any) -> None:
    is_lance = table.kind == "lance"
    files = [*table.table.rglob("data/*.lance" if is_lance else "*.parquet")]
    files.sort(key=lambda file: (file.stat().st_mtime_ns, str(file)))
    gone = files[0]
    key = 0 if is_lance else pl.read_parquet(gone)["key"].min()
    gone.unlink()
    done = table.run(backfill=True)
    pattern = rf"cannot read the \w+ (table|dataset) '.*': .*{gone.name}: "
    assert re.match(pattern, done.errors[0])
    assert "Traceback" not in done.errors[0]
    lost = DAYS[int(str(key)) // 120]
    assert evaluated(done) == [each for each in DAYS[:3] if each != lost]
    assert set(read_results(done)["n"]) == {120}
    # A file that is lost after its rows were counted fails its own day only.
    min(files[1:]).unlink()
    done = table.run(backfill=True, force=True)
    assert [len(done.rows), len(done.errors)] == [1, 2], done.errors


def test_a_data_file_that_is_gone_after_it_was_counted(delta: DeltaLake) -> None:
    delta.run(date=on(DAYS[0]))
    for file in delta.table.rglob("*.parquet"):
        file.unlink()
    done = delta.run(force=True, backfill=True)
    assert len(done.errors) == 3
    assert all("/table" in error for error in done.errors)
    assert delta.history().filter(period=DAYS[0])["error"].to_list() == [None]


def test_wrong_tables_of_a_job_are_refused(delta: DeltaLake) -> None:
    lists = delta.job(source=["table", "preds"])
    for check in (check_job, lambda job: run_job(job, RunOptions(as_of=LATER))):
        with pytest.raises(RequestError, match="is a table in a list of 2 sources"):
            check(lists)
    rename_columns(delta.table, {}, "number")
    for source, message in {
        "table": "cannot read the Delta table '.*/table': it has column mapping by number",
        "delta+nosuch": "cannot read the Delta table '.*/nosuch'",
        "iceberg+nosuch": "'.*/nosuch' is not an Iceberg table",
        "lance+nosuch": "cannot read '.*/nosuch'",
        "iceberg://nosuch/a.b": "cannot read 'iceberg://nosuch/a.b'",
    }.items():
        job = delta.job(source=source, labels=None)
        with pytest.raises(SourceError, match=message):
            check_job(job)
        assert re.search(message, run_job(job, RunOptions(as_of=LATER)).errors[0])


def test_states_slices_and_a_failing_slice(delta: DeltaLake) -> None:
    broken = rows(days=1, start=3).with_columns(
        p=pl.when(pl.col("key") == 363).then(None).otherwise("p")
    )
    delta.append(broken)
    changes = {"slices": [[], ["seg"]], "nulls": "error", "states": "states"}
    done = delta.run(backfill=True, changes=changes)
    failed = (
        read_results(done).filter(pl.col("error").is_not_null(), period=DAYS[3])["slice"].to_list()
    )
    assert failed == ["{}", '{"seg":"a"}']
    assert len(list((delta.folder / "states").iterdir())) == 3
    weekly(delta, metrics=["roc_auc"]).run(backfill=True)


def test_conditions_and_kinds_of_times(delta: DeltaLake) -> None:
    """Times of each type, with and without a time zone, are found in the range of their day."""
    frame = rows(days=3).with_columns(
        local=pl.col("day").cast(pl.Datetime("us")) + pl.duration(minutes=pl.col("key") % 120 * 12),
        text=pl.col("day").cast(pl.String),
    )
    frame = frame.with_columns(instant=pl.col("local").dt.replace_time_zone("UTC"))
    deltalake.write_deltalake(delta.folder / "times", frame.to_arrow())
    days = dict(zip(DAYS[:3], [76, 80, 80], strict=True))
    # Five hours are the 25 rows at the end of the day before.
    shifted = {"2025-12-31": 13, DAYS[0]: 80, DAYS[1]: 80, DAYS[2]: 63}
    zones = {None: days, "America/New_York": shifted}
    cases = [("day", "America/New_York"), ("text", None)]
    cases += [(column, zone) for column in ("local", "instant") for zone in zones]
    for column, zone in cases:
        done = delta.run(
            backfill=True,
            changes={
                "name": f"{column}{'' if zone is None else '-there'}", "source": "delta+times",
                "where": "seg <> 'b' AND key > 5", "period": {"column": column, "timezone": zone},
            },
        )  # fmt: skip
        expected = zones[zone] if column in ("local", "instant") else days
        assert dict(done.rows.select("period", "n").iter_rows()) == expected


def test_init_and_openlineage(delta: DeltaLake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(delta.folder)
    run("init", "delta+table", "--output", "job.yml")
    assert "source: delta+table\n" in (delta.folder / "job.yml").read_text()
    run("validate", "job.yml")
    run("run", "job.yml", "--backfill", "--as-of", "2026-01-05")
    delta.run(backfill=True, changes={"outputs": {"openlineage": "events.json"}})
    done = delta.run(force=True)
    export_run(done)
    (event, _) = map(json.loads, (delta.folder / "events.json").read_text().splitlines())
    names = [(each["namespace"], each["name"]) for each in event["inputs"]]
    assert names == [("file", str(delta.table))]
