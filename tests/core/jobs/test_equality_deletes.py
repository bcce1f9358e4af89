"""Jobs over Iceberg tables whose rows are deleted by the values of columns."""

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pyiceberg.transforms import IdentityTransform

from tests.core.jobs.test_compactions import compact
from tests.support.iceberg_deletes import commit, write_deletes, write_positions, write_rows
from tests.support.lake import evaluated, rows
from tests.support.table_lakes import DAYS, IcebergLake, check_values, reasons

KEY = 1


class ValueLake(IcebergLake):
    """A lake whose predictions are an Iceberg table whose rows PyIceberg cannot read."""

    def __init__(self, folder: Path, *, is_partitioned: bool = False) -> None:
        super().__init__(folder)
        if is_partitioned:
            with self.made.update_spec() as spec:
                spec.add_field("day", IdentityTransform())
        self.left = rows(days=3)
        self.append(self.left)

    def remove(self, keys: Sequence[int], *partition: object) -> None:
        """Delete the rows of keys, of a partition or of all."""
        spec = self.made.spec().spec_id if partition else 0
        deletes = write_deletes(self.made, pl.DataFrame({"key": keys}), [KEY], partition, spec)
        commit(self.made, deletes)
        self.left = self.left.filter(~pl.col("key").is_in(keys))

    def read(self) -> pl.DataFrame:
        return self.left


def count(lake: ValueLake) -> list[int]:
    found = lake.history().filter(job=lake.spec["name"]).sort("period")
    return found["n"].to_list()


def test_deletes_of_a_partition(tmp_path: Path) -> None:
    lake = ValueLake(tmp_path, is_partitioned=True)
    lake.run(backfill=True)
    days = (date(2026, 1, 2) - date(1970, 1, 1)).days
    lake.remove([120, 130, 239], days)
    assert reasons(lake.run()) == {DAYS[1]: "data changed"}
    assert count(lake) == [120, 117, 120]
    check_values(lake)
    assert evaluated(lake.run(backfill=True)) == []


def test_deletes_of_a_whole_table(tmp_path: Path) -> None:
    """Equality deletes may belong to any file, so that all periods are evaluated."""
    lake = ValueLake(tmp_path)
    lake.remove([5])
    lake.run(backfill=True)
    assert count(lake) == [119, 120, 120]
    lake.remove([6, 130])
    assert evaluated(lake.run()) == DAYS[:3]
    assert count(lake) == [118, 119, 120]
    check_values(lake)
    # Rows of later snapshots stay, and deletes do not belong to their files.
    again = rows(days=3).filter(pl.col("key").is_in([6, 130]))
    commit(lake.made, *write_rows(lake.made, again))
    lake.left = pl.concat([lake.left, again])
    assert reasons(lake.run()) == dict.fromkeys(DAYS[:2], "data changed")
    assert count(lake) == [119, 120, 120]
    check_values(lake)
    assert evaluated(lake.run(backfill=True)) == []


def test_deletes_of_labels(tmp_path: Path) -> None:
    lake = ValueLake(tmp_path)
    rows(days=3).drop("y").write_parquet(lake.folder / "preds" / "all.parquet")
    lake.spec |= {"labels": {"source": lake.spec["source"], "on": "key"}, "source": "preds"}
    lake.run(backfill=True)
    lake.remove([5, 6, 130])
    assert evaluated(lake.run()) == DAYS[:3]
    assert count(lake) == [118, 119, 120]


@pytest.mark.parametrize("kind", ["numbers", "values"])
def test_deletes_after_a_compaction_that_no_run_has_seen(kind: str, tmp_path: Path) -> None:
    lake = ValueLake(tmp_path)
    lake.run(backfill=True)
    compact(lake)
    if kind == "values":
        lake.remove([5, 130])
    else:
        (task,) = lake.made.scan().plan_files()
        commit(lake.made, write_positions(lake.made, task.file.file_path, [5, 130]))
        lake.left = lake.left.filter(~pl.col("key").is_in([5, 130]))
    assert evaluated(lake.run()) == DAYS[:3]
    assert count(lake) == [119, 119, 120]
    check_values(lake)


def test_a_compaction_that_leaves_deleted_rows_out(tmp_path: Path) -> None:
    lake = ValueLake(tmp_path)
    lake.remove([5, 130])
    lake.run(backfill=True)
    compact(lake)
    table: Any = lake.made
    assert table.current_snapshot().summary["total-records"] == "358"
    lake.run(backfill=True)
    assert count(lake) == [119, 119, 120]
    check_values(lake)
    assert evaluated(lake.run(backfill=True)) == []
