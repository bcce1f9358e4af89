"""Adjusts p-values for several tests, as Polars expressions: Holm, Benjamini-Hochberg."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import polars as pl

from sqleval.common.names import find_nearest
from sqleval.errors import RequestError
from sqleval.inference.libraries import np

if TYPE_CHECKING:
    from sqleval.inference.libraries import Array


def _adjust_bonferroni(p_values: pl.Expr, place: pl.Expr, count: pl.Expr) -> pl.Expr:
    return p_values * count


def _adjust_holm(p_values: pl.Expr, place: pl.Expr, count: pl.Expr) -> pl.Expr:
    return (p_values * (count - place)).cum_max()


def _adjust_benjamini_hochberg(p_values: pl.Expr, place: pl.Expr, count: pl.Expr) -> pl.Expr:
    return (p_values * count / (place + 1)).cum_min(reverse=True)


#: Methods by name: functions of ascending p-values, their positions from 0 and their number.
_METHODS: Mapping[str, Callable[[pl.Expr, pl.Expr, pl.Expr], pl.Expr]] = {
    "none": lambda p_values, place, count: p_values,
    "bonferroni": _adjust_bonferroni,
    "holm": _adjust_holm,
    "benjamini_hochberg": _adjust_benjamini_hochberg,
}
#: Short names, as in R and statsmodels.
_ALIASES = {"bh": "benjamini_hochberg", "fdr_bh": "benjamini_hochberg", "fdr": "benjamini_hochberg"}


def check_adjustment(method: str | None) -> str:
    """Return the full name of a method of adjustment; None is ``none``.

    Raises
    ------
    RequestError
        If there is no such method.

    Examples
    --------
    >>> check_adjustment("bh")
    'benjamini_hochberg'
    """
    name = _ALIASES.get(str(method).lower(), str(method).lower())
    if name not in _METHODS:
        allowed = [*_METHODS, *_ALIASES]
        raise RequestError(
            f"adjust={method!r}{find_nearest(str(method), allowed)}; one of: {', '.join(allowed)}"
        )
    return name


def adjust_p_values(p_values: pl.Expr, method: str | None = "holm") -> pl.Expr:
    """Return p-values adjusted for their number.

    NULL and NaN become NULL and do not count as tests. Adjusted values are at least the raw values,
    at most 1, and in the same order.

    Parameters
    ----------
    p_values : polars.Expr
        A column of p-values. ``.over(keys)`` on the result adjusts within groups.
    method : {"holm", "benjamini_hochberg", "bonferroni", "none"}
        ``holm`` and ``bonferroni`` bound the probability of any false rejection; Holm rejects all
        that Bonferroni rejects, and more. ``benjamini_hochberg`` (also ``bh``) bounds the expected
        share of false rejections among all rejections, for independent or positively dependent
        tests.

    Raises
    ------
    RequestError
        If there is no such method.

    References
    ----------
    Holm (1979), A simple sequentially rejective multiple test procedure; Benjamini and Hochberg
    (1995), doi:10.1111/j.2517-6161.1995.tb02031.x. Equal to
    ``statsmodels.stats.multitest.multipletests``.

    Examples
    --------
    >>> frame = pl.DataFrame({"p": [0.01, 0.04, None, 0.03]})
    >>> frame.select(adjust_p_values(pl.col("p")))["p"].to_list()
    [0.03, 0.06, None, 0.06]
    """
    valid_p_values = p_values.cast(pl.Float64).fill_nan(None)
    ascending = valid_p_values.sort(nulls_last=True)
    adjusted = _METHODS[check_adjustment(method)](
        ascending, pl.int_range(pl.len()), valid_p_values.count()
    )
    # Equal p-values get the same adjusted value, so the order of ties does not matter.
    place = valid_p_values.rank("ordinal").cast(pl.Int64) - 1
    return adjusted.clip(0.0, 1.0).gather(place)


def adjust_by_holm(p_values: Array) -> Array:
    """Return an array of p-values adjusted for their number, as `adjust_p_values` does.

    NaN stay NaN. For a few p-values an expression of Polars takes many times as long.

    Examples
    --------
    >>> from sqleval.inference.libraries import load_library
    >>> adjust_by_holm(load_library("numpy").array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    flat = p_values.ravel()
    order = np.argsort(flat, kind="stable")  # NaN come last, so they do not affect other values
    factors = np.isfinite(flat).sum() - np.arange(len(flat))
    adjusted = np.empty_like(flat)
    adjusted[order] = np.clip(np.maximum.accumulate(flat[order] * factors), 0.0, 1.0)
    return adjusted.reshape(p_values.shape)


def add_adjusted_p_values(
    frame: pl.DataFrame,
    method: str | None = "holm",
    *,
    by: Sequence[str] = ("metric", "model"),
) -> pl.DataFrame:
    """Add the column ``p_adjusted``: ``p_value`` within groups, by default over the slices.

    Parameters
    ----------
    frame : polars.DataFrame
        One row per test.
    method : str, optional
        As in `adjust_p_values`.
    by : sequence of str
        Keys of the groups. Keys that are not columns of the frame are ignored, so a comparison
        without slices and models is one group.

    Examples
    --------
    >>> frame = pl.DataFrame({"metric": ["auc", "auc", "f1"], "p_value": [0.01, 0.04, 0.04]})
    >>> add_adjusted_p_values(frame)["p_adjusted"].to_list()
    [0.02, 0.04, 0.04]
    """
    keys = [key for key in by if key in frame.columns]
    adjusted = adjust_p_values(pl.col("p_value"), method)
    return frame.with_columns(p_adjusted=adjusted.over(keys) if keys else adjusted)
