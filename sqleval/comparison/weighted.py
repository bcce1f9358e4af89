"""Adjusts tests for sampling weights: the standard error, and a note on few effective rows."""

from __future__ import annotations

import polars as pl

from sqleval.common.sql_text import select, write_with
from sqleval.comparison.pairs import Pairs, replace_input
from sqleval.compiler.weights import audit_weights, describe_weights, write_correction
from sqleval.resampling.cells import write_rows


def _measure_weights(pairs: Pairs) -> pl.DataFrame:
    """Return the correction of the standard error, and the note on weights, per slice.

    Parameters
    ----------
    pairs : Pairs
        The models.

    Returns
    -------
    polars.DataFrame
        The slice keys, ``_correction`` (the factor of a linearised standard error) and
        ``_weights`` (the note on weights, or NULL).
    """
    joint = pairs.joint
    ctes = write_rows(joint, None)
    keys = {key: key for key in joint.keys}
    group = f"\nGROUP BY {', '.join(joint.keys)}" if joint.keys else ""
    sums = audit_weights("", binned=False)
    ctes["_audit"] = select(keys | sums, f"FROM _usable_rows{group}")
    items = {key: f"a.{key}" for key in joint.keys}
    items |= {
        "_correction": f"CAST({write_correction()} AS DOUBLE)",
        "_weights": f"CAST({describe_weights(binned=False)} AS VARCHAR)",
    }
    frame = replace_input(pairs.data, joint).run(
        write_with(ctes, select(items, "FROM _audit AS a"))
    )
    return frame.with_columns(pl.col("_weights").cast(pl.String))


def add_weights(frame: pl.DataFrame, pairs: Pairs) -> pl.DataFrame:
    """Add the columns of `_measure_weights` to the sums of a test.

    Rows without weights have the correction 1 and no note.
    """
    if not pairs.joint.is_weighted:
        return frame.with_columns(_correction=pl.lit(1.0), _weights=pl.lit(None, pl.String))
    measured = _measure_weights(pairs)
    keys = list(pairs.joint.keys)
    if not keys:
        return frame.join(measured, how="cross", maintain_order="left")
    return frame.join(measured, on=keys, how="left", nulls_equal=True, maintain_order="left")


def add_note_on_weights(frame: pl.DataFrame) -> pl.DataFrame:
    """Append ``_weights`` to ``_note`` where there is a test."""
    weights = pl.when(pl.col("p_value").is_not_null()).then("_weights")
    note = pl.concat_str("_note", weights, separator="; ", ignore_nulls=True).replace("", None)
    return frame.with_columns(_note=note)
