"""Rows that an Iceberg table deletes by column values are the rows that Sail leaves out."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pyiceberg.transforms import IdentityTransform

from sqleval.engines.opening import open_engine
from tests.core.sources import test_equality_deletes as files
from tests.core.sources.test_equality_deletes import (
    CASES,
    KEY,
    NAME,
    Table,
    add_nested,
    make_rows,
    make_table,
    read_rows,
)
from tests.support.iceberg_deletes import commit, write_deletes, write_rows

open_case = files.open_case


def read_by_sail(table: Table) -> set[int]:
    session = open_engine("sail").session
    path = table.location().removeprefix("file://")
    return {row.row for row in session.read.format("iceberg").load(path).select("row").collect()}


@pytest.mark.parametrize("case", CASES)
def test_rows_that_sail_reads(
    case: Any, open_case: Callable[[Any], tuple[Table, set[int]]]
) -> None:
    """Sail reads the same rows as sqleval in `test_rows_that_are_left`."""
    table, rows = open_case(case)
    assert read_by_sail(table) == rows


def make_history(table: Table, seed: int) -> None:
    """Add snapshots of random rows and deletes, some of them in one partition."""
    made = random.Random(seed)
    with table.update_spec() as spec:
        spec.add_field("day", IdentityTransform())
    keys = [None, *range(6)]
    for at in range(8):
        rows = make_rows(made.choices(keys, k=4), 100 + 4 * at)
        files = write_rows(table, rows) if made.random() < 0.8 else []
        for _ in range(made.randrange(3)):
            names = [f"n{made.randrange(3)}" for _ in range(2)]
            values = pl.DataFrame({"key": made.choices(keys, k=2), "name": names})
            values = values.cast({"key": pl.Int64})
            columns, numbers = made.choice(
                [(["key"], [KEY]), (["name", "key"], [NAME, KEY]), (["key"], [KEY])]
            )
            place: tuple[Any, ...] = ((), 0) if made.random() < 0.5 else ((made.randrange(2),), 1)
            files.append(write_deletes(table, values.select(columns), numbers, *place))
        if files:
            commit(table, *files)


@pytest.mark.parametrize("seed", range(2))
def test_random_histories_that_sail_reads(seed: int, tmp_path: Path) -> None:
    table = make_table(tmp_path)
    make_history(table, seed)
    found = read_by_sail(table)
    assert found
    assert read_rows(table) == found
    add_nested(table)
    assert read_rows(table, has_files=False) == found
