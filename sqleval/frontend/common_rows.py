"""Adds a note to results of several models that have different rows."""

from __future__ import annotations

import polars as pl

from sqleval.binding.binding import Binding
from sqleval.common.sql_text import select, write_with
from sqleval.compiler.rows import write_row_count
from sqleval.resampling.cells import Input, write_rows
from sqleval.resampling.values import replace_models


def note_different_rows(frame: pl.DataFrame, data: Input, predicate: str | None) -> pl.DataFrame:
    """Return a result with notes on rows that lack the value of another model.

    Parameters
    ----------
    frame : polars.DataFrame
        The result of metrics.
    data : Input
        The rows that it was computed from.
    predicate : str or None
        A condition on the slice keys.
    """
    if not frame["n_dropped"].sum():
        return frame
    joint = replace_models(data.binding)
    names = list(joint.key_names)
    if data.source.once or (data.labels is not None and data.labels.once):
        least = pl.col("n").min()
        counted = frame.with_columns(_common=least.over(names) if names else least)
    else:
        counted = _join_counts(frame, _count_common_rows(data, joint, predicate), names)
    rest = pl.col("n") - pl.col("_common")
    text = pl.format(
        "{} rows lack the value of another model; common=True (--common) leaves them out", rest
    )
    text = pl.when(rest > 0).then(text.str.replace("^1 rows lack", "1 row lacks"))
    note = pl.concat_str("note", text, separator="; ", ignore_nulls=True).replace("", None)
    return counted.with_columns(note=note).drop("_common")


def _count_common_rows(data: Input, joint: Binding, predicate: str | None) -> pl.DataFrame:
    """Count the rows that all models have, by slice."""
    size = "COUNT(*)"
    if joint.has_counts:
        size = f"CAST(COALESCE(SUM({write_row_count(joint)}), 0) AS BIGINT)"
    items = {key: key for key in joint.keys} | {"_common": size}
    group = f"\nGROUP BY {', '.join(joint.keys)}" if joint.keys else ""
    ctes = write_rows(joint, predicate)
    return data.run(write_with(ctes, select(items, f"FROM _usable_rows{group}"))).rename(
        dict(zip(joint.keys, joint.key_names, strict=True))
    )


def _join_counts(frame: pl.DataFrame, counts: pl.DataFrame, names: list[str]) -> pl.DataFrame:
    if not names:
        return frame.join(counts, how="cross", maintain_order="left")
    typed = counts.with_columns(pl.col(name).cast(frame.schema[name]) for name in names)
    joined = frame.join(typed, on=names, how="left", nulls_equal=True, maintain_order="left")
    # A row with a gap between roles is not a slice, so it has no count.
    if "role" in names:
        return joined
    return joined.with_columns(pl.col("_common").fill_null(0))
