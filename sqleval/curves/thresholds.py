"""Adds an interval to each measure of a threshold curve, for a threshold that is fixed before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from sqleval.inference.libraries import np, special
from sqleval.inference.two_rates import find_wilson_ends

if TYPE_CHECKING:
    from sqleval.inference.libraries import Array

#: The measures of a threshold curve that have intervals.
MEASURES = ("precision", "recall", "f1", "cost")
#: The columns of the ends of their intervals.
ENDS_OF_MEASURES = tuple(f"{name}_{end}" for name in MEASURES for end in ("low", "high"))
#: As in `compiler.intervals`: a share that is closer to 0 or 1 differs only by rounding.
_LEAST = 1e-14


def add_intervals(
    frame: pl.DataFrame, keys: Sequence[str], ci: float, parameters: Mapping[str, Any]
) -> pl.DataFrame:
    """Return a threshold curve with the intervals that `evaluate` gives at each threshold.

    Parameters
    ----------
    frame : polars.DataFrame
        The rows of the curve, which count rows of the sample.
    keys : sequence of str
        The columns that identify a curve.
    ci : float
        The level.
    parameters : mapping
        The parameters of the curve: ``cost_fn`` and ``cost_fp``, each 1 by default.

    Examples
    --------
    >>> points = {"precision": [1.0, 0.8], "recall": [0.5, 1.0], "f1": [0.67, 0.89]}
    >>> points |= {"cost": [0.4, 0.2], "n_predicted": [4, 10]}
    >>> rows = add_intervals(pl.DataFrame(points), [], 0.95, {"cost_fn": 5.0})
    >>> rows.select(pl.col("recall_low", "recall_high").round(3)).row(0)
    (0.215, 0.785)
    """
    predicted = pl.col("n_predicted").cast(pl.Float64)
    counts = frame.select(
        *keys, predicted=predicted, tp=(pl.col("precision") * predicted).round().fill_null(0.0)
    )
    # At the lowest threshold, every row is predicted positive.
    totals = [pl.col(name).max() for name in ("tp", "predicted")]
    totals = [total.over(keys) for total in totals] if keys else totals
    counts = counts.with_columns(positives=totals[0], total=totals[1])
    tp, predicted_rows, positives, total = (
        counts[name].to_numpy() for name in ("tp", "predicted", "positives", "total")
    )
    fp, fn = predicted_rows - tp, positives - tp
    z = float(special.ndtri((1 + ci) / 2))
    cost_fn, cost_fp = (float(parameters.get(name, 1.0)) for name in ("cost_fn", "cost_fp"))
    with np.errstate(all="ignore"):
        ends = [
            find_wilson_ends(tp, predicted_rows, z)[1:],
            find_wilson_ends(tp, positives, z)[1:],
            _find_ends_of_f1(tp, fp, fn, z),
            _find_ends_of_cost(fn, fp, total, (cost_fn, cost_fp), z),
        ]
    columns = [end for pair in ends for end in pair]
    return frame.with_columns(
        pl.Series(name, end).fill_nan(None)
        for name, end in zip(ENDS_OF_MEASURES, columns, strict=True)
    )


def _find_ends_of_f1(tp: Array, fp: Array, fn: Array, z: float) -> tuple[Array, Array]:
    """Return the interval by the delta method on the logit scale, as in f1.stderr.sql."""
    all_counts = 2 * tp + fp + fn
    share, wrong = tp / all_counts, (fp + fn) / all_counts
    error = 2 * np.sqrt(tp * wrong**2 + (fp + fn) * share**2) / all_counts
    value = 2 * share
    step = np.minimum(z * error / (value * (1 - value)), 700)
    is_inside = (error > _LEAST) & (value > _LEAST) & (value < 1 - _LEAST)
    odds = (1 - value) / value
    low, high = (1 / (1 + odds * np.exp(sign * step)) for sign in (1, -1))
    return np.where(is_inside, low, np.nan), np.where(is_inside, high, np.nan)


def _find_ends_of_cost(
    fn: Array, fp: Array, total: Array, costs: tuple[float, float], z: float
) -> tuple[Array, Array]:
    """Return the interval on the scale of the logarithm, as in expected_cost.stderr.sql."""
    cost_fn, cost_fp = costs
    value = (cost_fn * fn + cost_fp * fp) / total
    right = total - fn - fp
    spread = fn * (cost_fn - value) ** 2 + fp * (cost_fp - value) ** 2 + right * value**2
    error = np.sqrt(spread) / total
    step = np.minimum(z * error / value, 700)
    is_inside = (error > 0) & (value > 0)
    low, high = (value * np.exp(sign * step) for sign in (-1, 1))
    return np.where(is_inside, low, np.nan), np.where(is_inside, high, np.nan)
