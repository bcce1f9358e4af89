"""References of the curves of a regression, and rows on which they are compared."""

from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
import polars as pl
from statsmodels.stats.weightstats import DescrStatsW

from tests.support.case import Data, Rows
from tests.support.references import pick

Points = Callable[[Rows], np.ndarray]
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def repeat(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Return label and prediction of each row, as often as its whole weight says."""
    times = rows.weight.astype(int)
    return np.repeat(rows.label, times), np.repeat(rows.prediction.astype(float), times)


def find_bins(rows: Rows, bins: int) -> np.ndarray:
    """Return the number of each row's bin, of equal mass by prediction, as pandas.qcut has it."""
    prediction = rows.prediction.astype(float)
    if (rows.weight % 1 == 0).all():
        _, whole = repeat(rows)
        edges = pd.qcut(whole, bins, retbins=True, labels=False, duplicates="drop")[1]
        # With ties fewer edges remain, so number the bins by the quantiles themselves.
        inner = np.quantile(whole, np.linspace(0, 1, bins + 1))[1:-1]
        place = np.searchsorted(inner, prediction)
        if len(edges) > 1:
            groups = pd.cut(prediction, edges, labels=False, include_lowest=True)
            ranks = (np.unique(each, return_inverse=True)[1] for each in (place, groups))
            assert np.array_equal(*ranks)
        return place
    # pandas takes no weights. Quantile k / bins is below a prediction if it lies in the weight
    # below it; the last position is the total without a mean weight of at most 1.
    below = (rows.weight * (prediction[:, None] > prediction)).sum(axis=1)
    last = min(1, rows.weight.sum() / len(np.unique(prediction)))
    parts = np.arange(1, bins) / bins * (rows.weight.sum() - last)
    return (below[:, None] > parts).sum(axis=1)


def by_bin(bins: int, describe: Callable[[Rows], tuple[float, ...]]) -> Points:
    """Return the reference that describes the rows of each bin: (bin, mean prediction, ..., n)."""

    def points(rows: Rows) -> np.ndarray:
        place = find_bins(rows, bins)
        table = []
        for i in np.unique(place):
            part = pick(rows, place == i)
            mean = np.average(part.prediction.astype(float), weights=part.weight)
            table.append((i + 1, mean, *describe(part), part.weight.sum()))
        return np.array(table)

    return points


def actual(part: Rows) -> tuple[float, ...]:
    """Return the mean label and its standard error, linearised for weights."""
    n, total = len(part.label), part.weight.sum()
    # Means far from 0 are rounded as DOUBLE.
    mean = np.average(part.label.astype(np.longdouble), weights=part.weight)
    squares = (part.weight**2 * (part.label - mean) ** 2).sum() / total**2
    return float(mean), float(np.sqrt(squares * n / (n - 1))) if n > 1 else np.nan


def errors(part: Rows) -> tuple[float, ...]:
    error = part.prediction.astype(float) - part.label
    mae, mse, bias = (np.average(e, weights=part.weight) for e in (np.abs(error), error**2, error))
    return mae, np.sqrt(mse), bias


def spread(part: Rows) -> tuple[float, ...]:
    """Return mean and quantiles of the residuals."""
    residual = part.prediction.astype(float) - part.label
    described = DescrStatsW(residual, weights=part.weight)
    if (part.weight % 1 == 0).all():
        label, prediction = repeat(part)
        quantiles = np.quantile(prediction - label, QUANTILES, method="averaged_inverted_cdf")
    else:
        quantiles = described.quantile(np.array(QUANTILES), return_pandas=False)
    return (described.mean, *quantiles)


def thin(points: np.ndarray, share: np.ndarray, bins: int) -> np.ndarray:
    """Keep the first point in each step of the share."""
    step = np.floor(share * bins + 1e-9)
    return points[step > np.append(0, step[:-1])]


def lorenz(bins: int) -> Points:
    """Return (prediction, share, label_share), a point per distinct prediction."""

    def points(rows: Rows) -> np.ndarray:
        prediction = rows.prediction.astype(float)
        at = np.unique(prediction)
        share, label_share = (
            np.array([column[prediction <= x].sum() for x in at]) / (column.sum() or np.nan)
            for column in (rows.weight, rows.weight * rows.label)
        )
        if (rows.label < 0).any():
            label_share[:] = np.nan
        every = thin(np.column_stack([at, share, label_share]), share, bins)
        start = [np.nan, 0, label_share[-1] * 0]
        return np.vstack([start, every])

    return points


def rec(bins: int) -> Points:
    def points(rows: Rows) -> np.ndarray:
        error = np.abs(rows.prediction.astype(float) - rows.label)
        at = np.unique(error)
        share = np.array([np.average(error <= x, weights=rows.weight) for x in at])
        every = np.column_stack([at, share])
        kept = thin(every, share, bins)
        return kept if at[0] > 0 or kept[0, 0] == 0 else np.vstack([every[:1], kept])

    return points


def histogram(bins: int, reach: float) -> Points:
    """Return (bin, lower, upper, n) by numpy.histogram, and the rows beyond it."""

    def points(rows: Rows) -> np.ndarray:
        residual = rows.prediction.astype(float) - rows.label
        edge = reach * np.sqrt(np.average(residual**2, weights=rows.weight))
        if edge == 0:
            return np.array([[bins // 2 + 1, 0, 0, rows.weight.sum()]])
        n, edges = np.histogram(residual, bins, (-edge, edge), weights=rows.weight)
        rank = np.arange(1, bins + 1)
        table = np.column_stack([rank, edges[:-1], edges[1:], n])[n > 0]
        low, high = residual < -edge, residual > edge
        if low.any():
            table = np.vstack([[0, -np.inf, -edge, rows.weight[low].sum()], table])
        if high.any():
            table = np.vstack([table, [bins + 1, edge, np.inf, rows.weight[high].sum()]])
        return table

    return points


def list_data(rows: pl.DataFrame) -> Iterator[Data]:
    """Yield rows with ties, labels that are not negative, and values far from 0."""
    rng = np.random.default_rng(3)
    positive = rows.with_columns(y=pl.Series(rng.gamma(2, 3, rows.height))).with_columns(
        v=(pl.col("y") + rng.normal(0, 2, rows.height)).round(0)
    )
    yield Data("ties", "regression", positive, {"by": ["g"]})
    yield Data("ties and counts", "regression", positive, {"weight": "count"})
    yield Data("ties and real weights", "regression", positive, {"weight": "w"})
    yield Data("right half", "regression", positive.with_columns(y=pl.max_horizontal("v", 0.0)))
    yield Data("one prediction", "regression", positive.with_columns(v=3.0))
    yield Data("far from 0", "regression", rows.with_columns(pl.col("y", "v") + 1e6))
