"""An inspection of a table of a lake is about its rows, not about those of its files."""

from pathlib import Path
from typing import Any

import deltalake
import polars as pl
import pytest
from pyiceberg.catalog.sql import SqlCatalog

import sqleval
from sqleval.inspection.findings import Finding
from tests.support.delta import rename_columns
from tests.support.ducklakes import unpack
from tests.support.iceberg_deletes import commit, write_positions

#: Half of the labels of the first rows are 1, and a fifth of those of the others.
N = 1000
FIRST = pl.DataFrame({"y": [i % 2 for i in range(N)], "p": [i % 97 / 100 for i in range(N)]})
SECOND = FIRST.with_columns(y=pl.Series([int(i % 5 == 0) for i in range(N)]))


def make_delta(folder: Path) -> str:
    """Make a table of two files with other names of the columns than its own."""
    path = folder / "table"
    deltalake.write_deltalake(path, FIRST.to_arrow())
    deltalake.write_deltalake(path, SECOND.to_arrow(), mode="append")
    rename_columns(path, {"p": "prob", "y": "target"})
    return str(path)


def make_iceberg(folder: Path) -> Any:
    """Make a table of two files that differ by rows which a third file says are deleted."""
    catalog = SqlCatalog("test", uri=f"sqlite:///{folder}/c.db", warehouse=f"file://{folder}")
    catalog.create_namespace("lake")
    names = {"p": "prob", "y": "target"}
    table: Any = catalog.create_table("lake.rows", schema=FIRST.rename(names).to_arrow().schema)
    table.append(FIRST.rename(names).to_arrow())
    (task,) = table.scan().plan_files()
    table.append(FIRST.rename(names).to_arrow())
    ones = [i for i in range(N) if i % 2 and i % 3]
    commit(table, write_positions(table, task.file.file_path, ones))
    return table


def make_ducklake(folder: Path) -> str:
    return f"ducklake:{unpack(folder) / 'sqlite' / 'lake.sqlite'}#preds"


def list_checks(findings: list[Finding]) -> list[str]:
    return [each.check for each in findings]


@pytest.mark.parametrize("make", [make_delta, make_iceberg])
def test_the_files_of_a_table_are_not_compared(make: Any, tmp_path: Path) -> None:
    source = make(tmp_path)
    assert sqleval.scan(source, label="target", score="prob").source.files
    checks = list_checks(sqleval.inspect(source, label="target", score="prob"))
    assert "roc_auc" in checks
    assert not {"files", "drift"} & {*checks}


def test_the_files_of_a_ducklake_are_not_counted(tmp_path: Path) -> None:
    findings = sqleval.inspect(make_ducklake(tmp_path), label="y", score="p", version=18)
    assert "files" not in list_checks(findings)
