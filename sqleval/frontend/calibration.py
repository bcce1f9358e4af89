"""Adds to expected metrics a note on how well calibrated the scores of labelled rows were."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

#: The mean score divided by the share of positives, and their mean distance over score bins.
METRICS = ("pcoc", "expected_calibration_error")


def describe_calibration(measured: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Return a sentence on the calibration of labelled rows, in ``calibration``, by slice keys."""
    on = list(keys)
    wide = measured.pivot(
        "metric", index=[*on, "n"], values="value", aggregate_function="first"
    )  # fmt: skip
    ratio, error = (pl.col(name).round_sig_figs(3) for name in METRICS)
    words = pl.format(
        "calibration of {} labelled rows: mean score {} times the share of positives, "
        "expected calibration error {}",
        "n", ratio, error,
    )  # fmt: skip
    none = pl.format("calibration unknown: {} labelled rows", "n")
    return wide.select(*on, calibration=pl.coalesce(words, none))


def note_calibration(
    frame: pl.DataFrame, described: pl.DataFrame, keys: Sequence[str]
) -> pl.DataFrame:
    """Add the sentences of `describe_calibration` to the notes of a result, by slice keys."""
    described = described.rename({"calibration": "_calibration"})
    if keys:
        described = described.with_columns(pl.col(key).cast(frame.schema[key]) for key in keys)
        joined = frame.join(
            described, on=list(keys), how="left", nulls_equal=True, maintain_order="left"
        )
    else:
        joined = frame.join(described, how="cross", maintain_order="left")
    unknown = pl.lit("calibration unknown: no labelled rows")
    note = pl.concat_str(
        [pl.col("note"), pl.coalesce("_calibration", unknown)], separator="; ", ignore_nulls=True
    )
    return joined.with_columns(note=note).drop("_calibration")
