"""Rounds scores and numbers to significant bits, so that many rows become equal."""

from __future__ import annotations

import polars as pl

from sqleval.compiler.bins import Bins, write_bin

#: The largest relative change by rounding without a note.
_LARGE_CHANGE = 0.05


def write_score(score: str, bits: int) -> str:
    """Return the SQL of a score, rounded to significant bits unless these are 0.

    Between 1/2 and 1, the distance from 1 is rounded, because the loss of a probability depends on
    it.
    """
    value = f"CAST({score} AS DOUBLE)"
    if not bits:
        return value
    distance = write_bin(f"1e0 - {value}", Bins(bits))
    return (
        f"CASE WHEN {value} > 5e-1 AND {value} < 1e0 THEN 1e0 - ({distance})"
        f" ELSE {write_bin(score, Bins(bits))} END"
    )


def write_rounded(number: str, bits: int) -> str:
    """Return the SQL of a number, rounded to significant bits unless these are 0."""
    return write_bin(number, Bins(bits)) if bits else f"CAST({number} AS DOUBLE)"


def write_number(prediction: str, label: str, bits: int) -> str:
    """Return the SQL of a predicted number, rounded together with its label.

    The rounded error is added to the rounded label: a small error would be lost if both numbers
    were rounded separately.
    """
    if not bits:
        return f"CAST({prediction} AS DOUBLE)"
    error = f"CAST({prediction} AS DOUBLE) - CAST({label} AS DOUBLE)"
    return f"({write_rounded(label, bits)}) + ({write_bin(error, Bins(bits))})"


def warn_of_change(exact: pl.Expr, rounded: pl.Expr, bits: pl.Expr) -> pl.Expr:
    """Return a note where rounding changes a metric much; NULL elsewhere.

    Parameters
    ----------
    exact, rounded : polars.Expr
        The metric from exact and from rounded scores.
    bits : polars.Expr
        The significant bits; NULL where scores are not rounded.
    """
    note = pl.format(
        "with scores rounded to {} bits the metric is {}: subtract a constant from scores that are "
        "far from 0 and close together",
        bits,
        rounded.round_sig_figs(3),
    )
    return pl.when((rounded - exact).abs() > _LARGE_CHANGE * exact.abs()).then(note)
