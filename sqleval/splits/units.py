"""Checks that there are enough units for a split: rows, groups or times."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from sqleval.common.counts import format_row_count
from sqleval.common.sql_text import LARGEST
from sqleval.errors import DataError
from sqleval.splits.statement import Split

#: The columns that `add_units` adds, and one more that is NULL if the split has no rows.
_COUNTED = ("_sqleval_units", "_sqleval_missing", "_sqleval_blocks")
_HAS_ROW = "_sqleval_row"


def check_units(split: Split) -> None:
    """Raise `DataError` if there are too few rows, groups or times, or a group or time is missing.

    A source that can be read only once is not checked here; see `add_units`.
    """
    if not _needs_units(split) or split.source.once:
        return
    statement = replace(split.statement, select=_write_counts(split))
    objects = split.source.objects(split.columns)
    (counts,) = split.engine.rows(statement.inline(), {}, [split.source], objects)
    _check_counts(split, *counts)


def add_units(split: Split, select: str) -> str:
    """Return the SELECT of a split with the counts of its units, if it can be read only once.

    `take_units` checks and removes the counts. If the split has no rows, there is one with counts.
    """
    if not _needs_units(split) or not split.source.once:
        return select
    counts = f"SELECT * FROM (\n{_write_counts(split)}\n) AS c({', '.join(_COUNTED)})"
    rows = f"SELECT *, 1 AS {_HAS_ROW} FROM (\n{select}\n) AS r"
    return f"SELECT * FROM (\n{counts}\n) AS counts\nLEFT JOIN (\n{rows}\n) AS rows_of ON TRUE"


def take_units(split: Split, frame: pl.DataFrame) -> pl.DataFrame:
    """Return rows of the SELECT of `add_units` without the counts.

    Raises
    ------
    DataError
        As in `check_units`.
    """
    if _HAS_ROW not in frame.columns:
        return frame
    for counts in frame.select(_COUNTED).head(1).iter_rows():
        _check_counts(split, *counts)
    return frame.filter(pl.col(_HAS_ROW).is_not_null()).drop(*_COUNTED, _HAS_ROW)


def _needs_units(split: Split) -> bool:
    return split.min_units > 0 or bool(split.groups)


def _write_counts(split: Split) -> str:
    """Return the SELECT of the number of units, of rows without one, and of blocks of times."""
    # DuckDB sorts NaN above all numbers, but ignores NaN if it uses the statistics of files.
    time = "TRY(time)" if split.engine.dialect == "duckdb" else "time"
    valid = f"CASE WHEN {time} <= {LARGEST} THEN time END"
    has_group = " AND ".join(f"{name} IS NOT NULL" for name in split.groups)
    counts = {
        "rows": "COUNT(*), 0",
        "groups": f"COUNT(DISTINCT text), COUNT(*) - COUNT(CASE WHEN {has_group} THEN 1 END)",
        "times": f"COUNT(DISTINCT {valid}), COUNT(*) - COUNT({valid})",
    }[split.unit]
    has_blocks = any(cte.name == "time_blocks" for cte in split.statement.ctes)
    blocks = "(SELECT COUNT(DISTINCT block) FROM time_blocks)" if has_blocks else "NULL"
    return f"SELECT {counts}, {blocks} FROM _rows"


def _check_counts(split: Split, count: int, missing: int, blocks: int | None) -> None:
    """Raise `DataError` if there are too few units, or if a block of times has no rows."""
    where = split.source.label
    if missing and split.groups:
        # As texts, NULL and '' would be one group, but rows with NULL may not belong together.
        raise DataError(
            f"the group of {format_row_count(missing)} of {where} is NULL; filter them out with "
            "where=, or give each one a group, such as its own key if no other row belongs to it"
        )
    if missing:
        raise DataError(
            f"the time of {format_row_count(missing)} of {where} is NULL or NaN; filter them out "
            "with where="
        )
    if count < split.min_units:
        raise DataError(
            f"{where} has fewer {split.unit} than the split needs: {count:,} of {split.min_units:,}"
        )
    # The first block only trains, so it is no fold.
    folds = split.min_units - 1
    if blocks is not None and blocks - 1 < folds:
        raise DataError(
            f"{where} gives {blocks - 1:,} of n_splits={folds:,} folds: of its {count:,} times "
            "some have more rows than a block, and rows of the same time stay together; lower "
            "n_splits, or give a finer time="
        )
