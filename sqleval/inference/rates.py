"""Computes the exact interval of a rate from its counts (Clopper and Pearson)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from sqleval.inference.libraries import np, special

if TYPE_CHECKING:
    from sqleval.inference.libraries import Array, ArrayLike


def find_exact_ends(successes: ArrayLike, trials: ArrayLike, ci: float) -> tuple[Array, Array]:
    """Return the ends of the intervals of rates; NaN without trials.

    Parameters
    ----------
    successes, trials : array_like
        The counts, or sums of weights used as counts.
    ci : float
        Confidence level. The intervals contain the true rate at least this often.

    References
    ----------
    Clopper and Pearson (1934), doi:10.1093/biomet/26.4.404; statsmodels' ``proportion_confint``
    with ``method="beta"``.

    Examples
    --------
    >>> low, high = find_exact_ends([0, 7], [5, 10], 0.95)
    >>> low.round(4).tolist(), high.round(4).tolist()
    ([0.0, 0.3475], [0.5218, 0.9333])
    """
    hits, total = (np.asarray(counts, dtype=float) for counts in (successes, trials))
    misses = total - hits
    alpha = 1 - ci
    # A beta distribution needs positive parameters.
    low = special.betaincinv(np.where(hits > 0, hits, 1), misses + 1, alpha / 2)
    high = special.betaincinv(hits + 1, np.where(misses > 0, misses, 1), 1 - alpha / 2)
    low, high = np.where(hits > 0, low, 0.0), np.where(misses > 0, high, 1.0)
    has_trials = total > 0
    return np.where(has_trials, low, np.nan), np.where(has_trials, high, np.nan)


def add_exact_ends(frame: pl.DataFrame, ci: float, counts: tuple[str, str]) -> pl.DataFrame:
    """Return a result with the exact ends of its rates, without the counts.

    Parameters
    ----------
    frame : polars.DataFrame
        A result whose ``low`` and ``high`` hold, for a rate, the widths by which score bins widen
        the interval.
    ci : float
        The level.
    counts : tuple of str
        The columns of successes and trials, which are NULL for other metrics.

    Examples
    --------
    >>> rates = {"low": [0.0], "high": [0.0], "successes": [9.0], "trials": [10.0]}
    >>> rows = add_exact_ends(pl.DataFrame(rates), 0.95, ("successes", "trials")).rows()
    >>> [round(end, 4) for end in rows[0]]
    [0.555, 0.9975]
    """
    successes, trials = (frame[name].to_numpy() for name in counts)
    ends = find_exact_ends(successes, trials, ci)
    columns = [
        pl.when(pl.col(counts[1]) > 0).then(pl.col(name) + pl.lit(pl.Series(end))).otherwise(name)
        for name, end in zip(("low", "high"), ends, strict=True)
        if name in frame.columns
    ]
    return frame.with_columns(columns).drop(counts)
