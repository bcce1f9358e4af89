"""Adds to a result the exact intervals of its rates, which SQL cannot compute."""

from collections.abc import Callable
from typing import Any

import polars as pl

from sqleval.compiler.metric_rows import COUNTS
from sqleval.inference.libraries import load_library
from sqleval.inference.rates import find_exact_ends
from sqleval.inputs.arguments import check_level


def choose_finish(
    ci: float | None, ci_method: str | None
) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """Return what adds to a result the ends of intervals that SQL cannot compute.

    Raises
    ------
    RequestError
        If the level or the method is not allowed.
    MissingExtra
        If SciPy is needed and not installed.
    """
    check_level(ci, ci_method)
    if ci is None or ci_method != "clopper_pearson":
        return lambda frame: frame
    load_library("special")  # a missing extra is an error before collect
    return lambda frame: add_exact_ends(frame, ci)


def add_exact_ends(frame: pl.DataFrame, ci: float) -> pl.DataFrame:
    """Return a result with the exact ends of its rates, without the counts.

    ``low`` and ``high`` of a rate hold by how much score bins widen the interval.
    """
    successes, trials = (frame[name].to_numpy() for name in COUNTS)
    ends: Any = find_exact_ends(successes, trials, ci)
    is_rate = pl.col(COUNTS[1]) > 0
    columns = [
        pl.when(is_rate).then(pl.col(name) + pl.lit(pl.Series(end))).otherwise(name).alias(name)
        for name, end in zip(("low", "high"), ends, strict=True)
        if name in frame.columns
    ]
    return frame.with_columns(columns).drop(COUNTS)
