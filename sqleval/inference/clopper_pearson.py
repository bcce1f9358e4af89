"""Clopper and Pearson's exact interval of a rate, from its counts in a result."""

from __future__ import annotations

import polars as pl

from sqleval.inference.libraries import special


def add_exact_ends(frame: pl.DataFrame, ci: float, counts: tuple[str, str]) -> pl.DataFrame:
    """Return a result with the exact ends of its rates, without the counts.

    Parameters
    ----------
    frame : polars.DataFrame
        A result whose ``low`` and ``high`` hold, for a rate, by how much score bins widen the
        interval.
    ci : float
        The level.
    counts : tuple of str
        The columns of successes and trials, which are NULL for other metrics.

    References
    ----------
    Clopper and Pearson (1934), doi:10.1093/biomet/26.4.404, as quantiles of beta distributions.

    Examples
    --------
    >>> rates = {"low": [0.0], "high": [0.0], "successes": [9.0], "trials": [10.0]}
    >>> rows = add_exact_ends(pl.DataFrame(rates), 0.95, ("successes", "trials")).rows()
    >>> [round(end, 4) for end in rows[0]]
    [0.555, 0.9975]
    """
    hits, n = counts
    tail = (1 - ci) / 2
    successes, trials = (frame[name].to_numpy() for name in counts)
    failures = trials - successes
    # With no successes the low end is 0, and with no failures the high end 1.
    low = special.betaincinv(successes, failures + 1, tail)
    high = special.betaincinv(successes + 1, failures, 1 - tail)
    ends = {
        "low": pl.when(pl.col(hits) > 0).then(pl.lit(pl.Series(low))).otherwise(0.0),
        "high": pl.when(pl.col(hits) < pl.col(n)).then(pl.lit(pl.Series(high))).otherwise(1.0),
    }
    columns = [
        pl.when(pl.col(n) > 0).then(pl.col(name) + end).otherwise(pl.col(name)).alias(name)
        for name, end in ends.items()
        if name in frame.columns
    ]
    return frame.with_columns(columns).drop(counts)
