"""Metrics over the folds and repeats of a split: means, their intervals, what they gloss over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from sqleval.catalog.catalogue import builtin
from sqleval.errors import RequestError
from sqleval.frontend.scan import scan
from sqleval.inputs.lookup import names_of
from sqleval.selection.student import t_quantile

#: What a result of `resample` holds besides the slice keys.
RESULT = (
    "metric", "mean", "std", "stderr", "low", "high", "pooled", "n_folds", "n_undefined", "train",
    "gap", "note", "_ratio", "_all",
)  # fmt: skip


def refuse_names(option: str, names: Sequence[str], own: Sequence[str]) -> None:
    """Raise `RequestError` if a column is called as one of the result's own."""
    clash = [name for name in names if name in own]
    if clash:
        raise RequestError(f"{option}={clash[0]!r}: the result has a column called so; rename it")


def by_fold(
    source: object,
    metrics: str | Sequence[str] | None,
    folds: Sequence[str],
    extra: Sequence[str],
    roles: Mapping[str, Any],
) -> pl.DataFrame:
    """Return the metrics of each fold: the keys, the folds, ``metric``, ``value`` and ``n``."""
    given = dict(roles)
    by = [*names_of(given.pop("by", None)), *extra, *folds]
    return scan(source, **given, by=by).evaluate(metrics).collect()


def _interval(ci: float | None, ratio: float | None) -> list[pl.Expr]:
    """Return low, high and the note of the corrected resampled t interval."""
    none = pl.lit(None, pl.Float64)
    if ci is None:
        return [none.alias("low"), none.alias("high"), pl.lit(None, pl.String).alias("note")]
    level = ci

    def t(freedom: int) -> float | None:
        return t_quantile(level, freedom) if freedom > 0 else None

    # The folds share training rows, so that their values vary together; Nadeau and Bengio (2003)
    # add the ratio of test to training rows for that. Without it the interval is far too narrow.
    share = pl.lit(ratio, pl.Float64) if ratio is not None else pl.col("_ratio")
    spread = (1 / pl.col("n_folds") + share).sqrt() * pl.col("std")
    width = (pl.col("n_folds") - 1).map_elements(t, return_dtype=pl.Float64) * spread
    note = (
        pl.when(pl.col("n_folds") < 2)
        .then(pl.lit("no interval: one fold"))
        .when(share.is_null())
        .then(pl.lit("no interval: ratio= of test to training rows is needed"))
    )
    return [
        (pl.col("mean") - width).alias("low"),
        (pl.col("mean") + width).alias("high"),
        note.alias("note"),
    ]


def resample(
    source: object,
    metrics: str | Sequence[str] | None = None,
    *,
    fold: str | Sequence[str] = ("repeat", "fold"),
    role: str | None = None,
    ci: float | None = None,
    ratio: float | None = None,
    **roles: Any,
) -> pl.DataFrame:
    """Return metrics over the folds of a split: mean, spread, an interval, and the pooled value.

    Parameters
    ----------
    source : path, frame or table
        Predictions, each row once for each fold that it was tested in, as for `scan`.
    metrics : str or sequence of str, optional
        As for `Predictions.evaluate`.
    fold : str or sequence of str
        The columns that tell folds apart; the first of several is the repeat.
    role : str, optional
        A column with ``train`` and ``test``: the values are those of the test rows, and
        ``train`` and ``gap`` are added.
    ci : float, optional
        Level of the interval, such as 0.95.
    ratio : float, optional
        Test rows as a multiple of training rows, for the interval; 1 / (k - 1) if left out, where
        a repeat has k folds. A repeat of one fold needs it.
    **roles
        The other options of `scan`.

    Returns
    -------
    polars.DataFrame
        The slice keys, ``metric``, ``mean``, ``std`` and ``stderr`` over the folds, ``low`` and
        ``high`` (corrected for the training rows that folds share), ``pooled`` (the metric of all
        test rows at once), ``n_folds``, ``n_undefined`` (folds without a value) and ``note``.

    Raises
    ------
    RequestError
        If a column does not exist or a metric does not fit.

    Examples
    --------
    >>> import polars as pl, sqleval
    >>> rows = pl.DataFrame(
    ...     {"fold": [1, 1, 2, 2], "y": [0, 1, 0, 1], "q": [0, 1, 1, 1], "p": [0.2, 0.9, 0.6, 0.7]}
    ... )
    >>> got = sqleval.resample(rows, "accuracy", fold="fold", label="y", prediction="q", ci=0.95)
    >>> got["mean"].item(), got["pooled"].item()
    (0.75, 0.75)
    """
    folds, keys = names_of(fold), names_of(roles.get("by"))
    if not folds:
        raise RequestError("fold= is needed: the columns that tell folds apart")
    refuse_names("by", keys, RESULT)
    if ci is not None and not 0 < ci < 1:
        raise RequestError(f"ci={ci!r} must be between 0 and 1, such as 0.95")
    if ratio is not None and not 0 < ratio < float("inf"):
        raise RequestError(f"ratio={ratio!r} must be a number above 0, such as 1/9 for ten folds")
    sides = [role] if role is not None else []
    each = by_fold(source, metrics, folds, sides, roles)
    pooled = by_fold(source, metrics, [], sides, roles)
    at = [*keys, "metric"]
    training = each.clear()
    if role is not None:
        training = (
            each.filter(pl.col(role) == "train").group_by(at).agg(train=pl.col("value").mean())
        )
        each = each.filter(pl.col(role) == "test").drop(role)
        pooled = pooled.filter(pl.col(role) == "test")
        if each.is_empty():
            raise RequestError(f"role={role!r} has no row with 'test'")
    # A repeat's folds part the rows among them, so that all but the tested ones train.
    repeat = folds[:-1]
    sizes = each.with_columns(_all=pl.col("n").sum().over([*at, *repeat]))
    sizes = sizes.with_columns(_ratio=pl.col("n") / (pl.col("_all") - pl.col("n")))
    grouped = sizes.group_by(at, maintain_order=True).agg(
        mean=pl.col("value").mean(),
        std=pl.col("value").std(),
        n_folds=pl.col("value").count().cast(pl.Int64),
        n_undefined=pl.col("value").null_count().cast(pl.Int64),
        _ratio=pl.when((pl.col("_all") > pl.col("n")).all()).then(pl.col("_ratio").mean()),
    )
    found = grouped.with_columns(stderr=pl.col("std") / pl.col("n_folds").sqrt()).with_columns(
        _interval(ci, ratio)
    )
    found = found.join(
        pooled.select(*at, pooled="value"), on=at, how="left", nulls_equal=True,
        maintain_order="left",
    )  # fmt: skip
    columns = [*at, "mean", "std", "stderr", "low", "high", "pooled", "n_folds", "n_undefined"]
    if role is None:
        return found.select(*columns, "note")
    found = found.join(training, on=at, how="left", nulls_equal=True, maintain_order="left")
    better = pl.col("metric").replace_strict(_signs(found["metric"]), return_dtype=pl.Float64)
    gap = (pl.col("train") - pl.col("mean")) * better
    return found.with_columns(gap=gap).select(*columns, "train", "gap", "note")


def _signs(metrics: pl.Series) -> dict[str, float]:
    """Return 1 for metrics of which more is better, and -1 for the others."""
    signs = {"higher": 1.0, "lower": -1.0, "none": -1.0}
    return {name: signs[direction_of(name)] for name in metrics.unique()}


def direction_of(metric: str) -> str:
    """Return whether more of a metric is better: ``higher``, ``lower`` or ``none``."""
    return str(builtin().get(metric.partition("(")[0]).header["direction"])
