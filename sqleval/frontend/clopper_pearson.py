"""Clopper and Pearson's exact interval of a rate, by SciPy, from the counts in a result."""

from collections.abc import Callable
from typing import Any

import polars as pl

from sqleval.common.imports import import_optional
from sqleval.compiler.metric_rows import COUNTS
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
    _import_special()  # a missing extra is an error before collect
    return lambda frame: add_exact_ends(frame, ci)


def _import_special() -> Any:
    return import_optional("scipy.special", "stats", "ci_method='clopper_pearson'")


def add_exact_ends(frame: pl.DataFrame, ci: float) -> pl.DataFrame:
    """Return a result with the exact ends of its rates, without the counts.

    ``low`` and ``high`` of a rate hold by how much score bins widen the interval.
    """
    special = _import_special()
    alpha = 1 - ci
    successes, trials = (frame[name].to_numpy() for name in COUNTS)
    failures = trials - successes
    # Clopper and Pearson (1934), doi:10.1093/biomet/26.4.404, as quantiles of beta distributions;
    # with no successes the low end is 0, and with no failures the high end 1.
    low = special.betaincinv(successes, failures + 1, alpha / 2)
    high = special.betaincinv(successes + 1, failures, 1 - alpha / 2)
    ends = {
        "low": pl.when(pl.col(COUNTS[0]) > 0).then(pl.lit(pl.Series(low))).otherwise(0.0),
        "high": pl.when(pl.col(COUNTS[0]) < pl.col(COUNTS[1]))
        .then(pl.lit(pl.Series(high)))
        .otherwise(1.0),
    }
    is_rate = pl.col(COUNTS[1]) > 0
    columns = [
        pl.when(is_rate).then(pl.col(name) + end).otherwise(pl.col(name)).alias(name)
        for name, end in ends.items()
        if name in frame.columns
    ]
    return frame.with_columns(columns).drop(COUNTS)
