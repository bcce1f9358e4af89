"""Checks the properties that every curve has, whatever it shows, over any rows."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from sqleval.checking.properties import Rows, Wrong, is_close, repeat
from sqleval.export.dialects import DIALECTS
from sqleval.export.statement import export_statement
from sqleval.frontend.from_state import from_state
from sqleval.frontend.scan import scan


def compute_curve(rows: Rows, name: str) -> pl.DataFrame:
    """Return the points of a curve."""
    return scan(rows.frame, **rows.roles).curve(name).collect()


def find_difference(actual: pl.DataFrame, expected: pl.DataFrame, words: tuple[str, str]) -> str:
    """Return the first difference of two curves, with the words for both; "" if they are equal.

    Examples
    --------
    >>> import polars as pl
    >>> one, two = (pl.DataFrame({"fpr": [0.0, value]}) for value in (0.5, 0.25))
    >>> find_difference(one, two, ("shuffled", "in order"))
    'fpr of point 2 is 0.5 shuffled, 0.25 in order'
    """
    if actual.height != expected.height:
        return f"{actual.height} points {words[0]}, {expected.height} {words[1]}"
    for name in expected.columns:
        for i, pair in enumerate(zip(actual[name], expected[name], strict=True), start=1):
            are_numbers = all(isinstance(each, (int, float)) for each in pair)
            if not (is_close(*pair) if are_numbers else pair[0] == pair[1]):
                return f"{name} of point {i} is {pair[0]} {words[0]}, {pair[1]} {words[1]}"
    return ""


def check_no_rows(rows: Rows, names: Sequence[str]) -> Wrong:
    """Find curves that raise an error without rows."""
    for name in names:
        compute_curve(rows.replace(rows.frame.clear(), by=()), name)
    return {}


def check_order(rows: Rows, names: Sequence[str]) -> Wrong:
    """Find curves that depend on the order of rows."""
    shuffled = rows.replace(rows.frame.sample(fraction=1, shuffle=True, seed=1))
    words = ("with the rows shuffled", "in order")
    return {
        name: find_difference(compute_curve(shuffled, name), compute_curve(rows, name), words)
        for name in names
    }


def check_slices(rows: Rows, names: Sequence[str], key: str) -> Wrong:
    """Find curves whose points of a slice differ from the points of its rows alone."""
    wrong: Wrong = {}
    for name in names:
        grouped = compute_curve(rows.replace(rows.frame, by=[key]), name)
        for value in rows.frame[key].unique():
            is_slice = pl.col(key).eq_missing(value)
            alone = compute_curve(rows.replace(rows.frame.filter(is_slice)), name)
            here = grouped.filter(is_slice).drop(key)
            wrong[name] = wrong.get(name) or find_difference(here, alone, ("as a slice", "alone"))
    return wrong


def check_repeats(rows: Rows, names: Sequence[str], role: str, column: str) -> Wrong:
    """Find curves for which a weight or count of 2 differs from the row twice."""
    weighted = rows.replace(rows.frame, **{role: column})
    repeated = rows.replace(repeat(rows.frame, column))
    words = (f"with {role}", "with the rows repeated")
    wrong: Wrong = {}
    for name in names:
        # A weight of 2 is less certain than two rows.
        uncertain = ["stderr"] if role == "weight" else []
        points = (compute_curve(each, name) for each in (weighted, repeated))
        one, two = (each.drop(uncertain, strict=False) for each in points)
        wrong[name] = find_difference(one, two, words)
    return wrong


def check_state(rows: Rows, names: Sequence[str]) -> Wrong:
    """Find curves that raise an error on a state."""
    state = scan(rows.frame, **rows.roles).state().collect()
    for name in names:
        from_state(state, by=rows.by).curve(name).collect()
    return {}


def check_dialects(rows: Rows, names: Sequence[str]) -> Wrong:
    """Find curves that cannot be exported to a dialect: they raise an error."""
    for name in names:
        for dialect in DIALECTS:
            export_statement([name], dialect, "preds", **rows.roles)
    return {}
