"""Defines the outcome of a test, and reads the arguments of tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, cast, get_args

import polars as pl

from sqleval.common.names import find_nearest
from sqleval.common.numbers import is_real_number
from sqleval.errors import RequestError
from sqleval.inference.libraries import np, special

if TYPE_CHECKING:
    from sqleval.inference.libraries import Array, ArrayLike, Flags

#: "greater": the difference is above 0. Differences are the model's value minus the baseline's.
Alternative = Literal["two-sided", "greater", "less"]


class Outcome(NamedTuple):
    """The outcome of a test, one element per slice; NaN if undefined.

    ``low`` and ``high`` are the ends of the interval for the difference. A test with a one-sided
    alternative has a one-sided interval, whose other end is infinite.
    """

    statistic: Array
    p_value: Array
    low: Array
    high: Array

    def to_columns(self) -> dict[str, pl.Series]:
        """Return the fields as columns of a frame, with NULL for NaN.

        Examples
        --------
        >>> from sqleval.inference.difference import apply_z_test
        >>> frame = pl.DataFrame({"difference": [0.1, 0.1], "stderr": [0.05, 0.0]})
        >>> outcome = apply_z_test(frame["difference"], frame["stderr"])
        >>> frame.with_columns(**outcome.to_columns())["statistic"].to_list()
        [2.0, None]
        """
        columns = cast("dict[str, Array]", self._asdict())
        return {name: to_series(name, values) for name, values in columns.items()}


def to_series(name: str, values: Array) -> pl.Series:
    """Return values as a column of a frame, with NULL for NaN."""
    return pl.Series(name, np.atleast_1d(values), pl.Float64).fill_nan(None)


def to_floats(*values: ArrayLike) -> tuple[Array, ...]:
    """Return numbers as arrays of doubles of one shape; None and NULL become NaN.

    Examples
    --------
    >>> [array.tolist() for array in to_floats([1, None], 2)]
    [[1.0, nan], [2.0, 2.0]]
    """
    arrays = [np.asarray(each, dtype=np.float64) for each in values]
    return tuple(np.array(each) for each in np.broadcast_arrays(*arrays))


def keep_defined(value: Array, condition: Flags) -> Array:
    """Return the values for which a condition holds, and NaN for others."""
    return np.where(condition, value, np.nan)


def check_alternative(alternative: str) -> Alternative:
    """Check an alternative and return it.

    Raises
    ------
    RequestError
        If there is no such alternative.
    """
    allowed = get_args(Alternative)
    if alternative not in allowed:
        raise RequestError(
            f"alternative={alternative!r}{find_nearest(alternative, allowed)}; one of: "
            f"{', '.join(allowed)}"
        )
    return cast("Alternative", alternative)


def check_share(name: str, value: float) -> float:
    """Check that a number, such as a confidence level, is between 0 and 1; return it.

    Raises
    ------
    RequestError
        If the value is not a number between 0 and 1.
    """
    if not is_real_number(value) or not 0 < value < 1:
        raise RequestError(f"{name}={value!r} must be between 0 and 1")
    return value


def compute_normal_p_value(z: Array, alternative: str) -> Array:
    """Return the p-value of a statistic that is standard normal under the null hypothesis."""
    side = check_alternative(alternative)
    if side == "two-sided":
        return 2 * special.ndtr(-np.abs(z))
    return special.ndtr(-z if side == "greater" else z)


def find_ends(
    difference: Array, stderr: Array, quantiles: tuple[Array, Array], alternative: str
) -> tuple[Array, Array]:
    """Return the ends of an interval of a difference.

    Parameters
    ----------
    difference, stderr : array
        The estimate and its standard error.
    quantiles : (array, array)
        The quantile of the statistic for a one-sided interval, and for a two-sided one.
    alternative : str
        Whether the interval is two-sided, or open above (``greater``) or below (``less``).
    """
    one_sided, two_sided = quantiles
    side = check_alternative(alternative)
    half = (two_sided if side == "two-sided" else one_sided) * stderr
    low = difference - half if side != "less" else np.full_like(difference, -np.inf)
    high = difference + half if side != "greater" else np.full_like(difference, np.inf)
    is_defined = ~np.isnan(half + difference)
    return keep_defined(low, is_defined), keep_defined(high, is_defined)
