"""A compaction of a table of predictions or labels causes no evaluation."""

from pathlib import Path
from typing import Any

import deltalake
import polars as pl
import pytest
from pyiceberg.io.pyarrow import _dataframe_to_data_files  # type: ignore[reportPrivateUsage]
from pyiceberg.table.snapshots import Operation, Summary

from sqleval.sources.lake.iceberg_tasks import list_tasks
from tests.support.comparison import assert_frame_equal
from tests.support.lake import evaluated, on, rows
from tests.support.table_lakes import DAYS, DeltaLake, IcebergLake, check_values, reasons


def compact(lake: IcebergLake, dropped: int = 0) -> None:
    """Write all rows to one file, by a snapshot that is a `replace`, as maintenance tools do.

    PyIceberg writes files and manifests of one, and cannot name it so itself.
    """
    lake.made.refresh()
    table: Any = lake.made
    old = [task.file for task in list_tasks(table, None, "")]
    frame = lake.read().sort("key").slice(dropped).to_arrow()
    frame = frame.cast(table.schema().as_arrow())
    with table.transaction() as change:
        update: Any = change.update_snapshot().overwrite()
        for file in old:
            update.delete_data_file(file)
        for file in _dataframe_to_data_files(table.metadata, frame, table.io):
            update.append_data_file(file)
        write: Any = update._summary

        def summarize(*given: Any, **named: Any) -> Summary:
            made = write(*given, **named)
            return Summary(Operation.REPLACE, **made.additional_properties)

        update._summary = summarize
        update.commit()
    assert table.current_snapshot().summary.operation == Operation.REPLACE


@pytest.fixture
def iceberg(tmp_path: Path) -> IcebergLake:
    made = IcebergLake(tmp_path)
    made.append(rows(days=3))
    return made


def test_a_compaction_of_an_iceberg_table(iceberg: IcebergLake) -> None:
    iceberg.run(backfill=True)
    before = iceberg.history()
    compact(iceberg)
    assert len(list(iceberg.made.scan().plan_files())) == 1
    assert evaluated(iceberg.run(backfill=True)) == []
    # A day that is evaluated again is read from the new file.
    assert evaluated(iceberg.run(date=on(DAYS[1]), force=True)) == [DAYS[1]]
    columns = ["period", "metric", "value", "n"]
    assert_frame_equal(
        iceberg.history().select(columns).sort("period"), before.select(columns).sort("period")
    )
    # One more day, then a compaction of compacted files.
    iceberg.append(rows(days=1, start=3))
    assert reasons(iceberg.run()) == {DAYS[3]: "new"}
    compact(iceberg)
    assert evaluated(iceberg.run(backfill=True)) == []
    check_values(iceberg)


def test_a_replace_with_fewer_rows(iceberg: IcebergLake) -> None:
    iceberg.run(backfill=True)
    compact(iceberg, dropped=5)
    assert evaluated(iceberg.run()) == DAYS[:3]
    check_values(iceberg)


def test_a_replace_of_labels_with_fewer_rows(iceberg: IcebergLake) -> None:
    """The history counts only labels with a prediction, so that counts cannot show a rewrite."""
    rows(days=3).drop("y").write_parquet(iceberg.folder / "preds" / "all.parquet")
    labels = {"source": iceberg.spec["source"], "on": "key"}
    iceberg.spec |= {"labels": labels, "source": "preds"}
    iceberg.run(backfill=True)
    compact(iceberg, dropped=5)
    assert evaluated(iceberg.run()) == DAYS[:3]
    assert iceberg.history().sort("period")["n"].to_list() == [115, 120, 120]


@pytest.mark.parametrize("kind", [DeltaLake, IcebergLake])
def test_a_compaction_of_labels(kind: Any, tmp_path: Path) -> None:
    lake = kind(tmp_path)
    for start in range(2):
        part = rows(days=1, start=start)
        lake.append(part, **({"partition_by": None} if kind is DeltaLake else {}))
    labels = lake.spec["source"]
    predictions = rows(days=3).drop("y")
    # A label of the third day exists already, and one of the first day is missing.
    first = predictions.filter(pl.col("key") < 239, pl.col("key") > 0)
    first.write_parquet(lake.folder / "preds" / "1.parquet")
    lake.spec |= {"labels": {"source": labels, "on": "key"}, "source": "preds"}
    assert evaluated(lake.run(backfill=True)) == DAYS[:2]
    if kind is DeltaLake:
        assert deltalake.DeltaTable(lake.table).optimize.compact()["numFilesRemoved"] == 2
    else:
        compact(lake)
    assert evaluated(lake.run(backfill=True)) == []
    # Predictions that come later find their labels in the new file.
    last = predictions.filter(pl.col("key") == 239)
    last.write_parquet(lake.folder / "preds" / "2.parquet")
    assert reasons(lake.run(backfill=True)) == {DAYS[1]: "data changed"}
    assert lake.history().sort("period")["n"].to_list() == [119, 120]
    assert set(lake.history()["matured"]) == {1.0}
    assert evaluated(lake.run(backfill=True)) == []
