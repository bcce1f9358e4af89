"""Checks that the rows have enough units for a split: rows, groups or times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqleval.common.counts import format_row_count
from sqleval.compiler.statement import Cte
from sqleval.errors import DataError
from sqleval.splits.statement import Split


def check_units(split: Split) -> None:
    """Raise `DataError` if there are too few rows, groups or times, or a group or time is missing.

    A source that can be read only once is not checked.
    """
    if (split.min_units == 0 and not split.groups) or split.source.once:
        return
    # DuckDB sorts NaN above all numbers, and overlooks it where the statistics of files decide.
    time = "TRY(time)" if split.engine.dialect == "duckdb" else "time"
    valid = f"CASE WHEN {time} <= 1.7976931348623157e308 THEN time END"
    has_group = " AND ".join(f"{name} IS NOT NULL" for name in split.groups)
    counts = {
        "rows": "COUNT(*), 0",
        "groups": f"COUNT(DISTINCT text), COUNT(*) - COUNT(CASE WHEN {has_group} THEN 1 END)",
        "times": f"COUNT(DISTINCT {valid}), COUNT(*) - COUNT({valid})",
    }[split.unit]
    count, missing = _read_row(split, split.statement.ctes[:1], f"SELECT {counts} FROM _rows")
    where = split.source.label
    if missing and split.groups:
        # Its text would be that of the group '', and nobody knows that they belong together.
        raise DataError(
            f"the group of {format_row_count(missing)} of {where} is NULL; filter them out with "
            "where=, or give them a group: that of their own key, if they belong to nobody else"
        )
    if missing:
        raise DataError(
            f"the time of {missing:,} rows of {where} is NULL or NaN; filter them out with where="
        )
    if count < split.min_units:
        raise DataError(
            f"{where} has fewer {split.unit} than the split needs: {count:,} of {split.min_units:,}"
        )
    _check_blocks(split, count)


def _check_blocks(split: Split, times: int) -> None:
    """Raise `DataError` if some block of times has no rows, and its fold would be missing."""
    names = [cte.name for cte in split.statement.ctes]
    if "time_blocks" not in names:
        return
    ctes = split.statement.ctes[: names.index("time_blocks") + 1]
    (blocks,) = _read_row(split, ctes, "SELECT COUNT(DISTINCT block) FROM time_blocks")
    # The first block has no fold: it only trains.
    folds, found = split.min_units - 1, blocks - 1
    if found < folds:
        raise DataError(
            f"{split.source.label} gives {found:,} of n_splits={folds:,} folds: of its {times:,} "
            "times some have more rows than a block, and rows of the same time stay together; "
            "lower n_splits, or give a finer time="
        )


def _read_row(split: Split, ctes: Sequence[Cte], select: str) -> tuple[Any, ...]:
    """Return the only row of a SELECT from the first steps of a split."""
    statement = replace(split.statement, ctes=tuple(ctes), select=select)
    objects = split.source.objects(split.columns)
    (row,) = split.engine.rows(statement.inline(), {}, [split.source], objects)
    return row
