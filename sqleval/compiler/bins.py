"""Defines score bins: from the options ``bins=`` and ``tolerance=``, and from the first scores.

A row of ``_grouped`` stands for all rows of one slice and label whose scores share a bin;
`bin_rows` writes it.
"""

from collections.abc import Mapping, Sequence
from math import ceil, inf, isfinite, log2
from typing import Any, NamedTuple

from sqleval.binding.binding import Binding
from sqleval.catalog.contract import Relation
from sqleval.catalog.request import Request
from sqleval.catalog.roles import find_unsupported
from sqleval.common.numbers import convert_scalar, is_real_number
from sqleval.common.sql_text import LARGEST, write_double
from sqleval.compiler.intervals import read_range
from sqleval.errors import RequestError

#: The numbers of significant bits that a bin may keep. Veltkamp's splitting needs at least 1.
BITS = range(1, 31)
#: Larger scores could overflow when multiplied by Veltkamp's constant.
_HUGE = "1e290"
#: More bins of equal width than this are no faster than significant bits.
_MAX_BINS = 2**20
#: With a smaller tolerance, bins are slower than ranking all rows.
_MIN_TOLERANCE = 3e-6


class Bins(NamedTuple):
    """How scores are binned.

    Attributes
    ----------
    bits : int
        Significant bits that a score keeps; 0 if bins are of equal width.
    low, factor : float
        The middle of bin 0 of equal width, and the number of bins per unit.
    places : int
        The number of bins of equal width.
    tolerance : float or None
        The largest ``high - low`` of a metric, or the largest share of a class in a bin; the
        heaviest bins are split into scores to reach it.
    bounds : tuple of str
        The measures that tell which bins are the heaviest: those of `header.BOUNDS` for a metric,
        ``share`` for the picture of a curve.
    """

    bits: int = 0
    low: float = 0.0
    factor: float = 0.0
    places: int = 0
    tolerance: float | None = None
    bounds: tuple[str, ...] = ()

    @property
    def method(self) -> str:
        """The text of the bins in the result's column ``method``."""
        if self.tolerance is not None:
            return f"bins within {self.tolerance:g}"
        return f"bins of {self.bits} bits"


def create_bins(bins: object) -> Bins:
    """Return bins of this many significant bits, or raise `RequestError`."""
    bins = convert_scalar(bins)
    if isinstance(bins, bool) or not isinstance(bins, int) or bins not in BITS:
        raise RequestError(
            f"bins={bins!r} must be a whole number of significant bits from "
            f"{BITS[0]} to {BITS[-1]}; 11 keep about three decimal digits of each score"
        )
    return Bins(bins)


def fit_bins(probed: Sequence[Any], bins: Bins) -> Bins:
    """Return bins of equal width that keep the tolerance, according to the first scores.

    They are faster than bins of significant bits. If scores are so crowded that too many bins would
    be needed, the bins are returned unchanged.

    Parameters
    ----------
    probed : sequence
        The row of `frontend.plan.write_probe`.
    bins : Bins
        Bins of significant bits with a tolerance.
    """
    assert bins.tolerance is not None
    n, _, lowest, highest, pairs, *_ = probed
    if not n or not 0 < highest - lowest < inf:
        return bins
    margin = (highest - lowest) / 4
    low, high = lowest - margin, highest + margin
    if lowest >= 0 and highest <= 1:
        low, high = 0.0, 1.0
    # The number of pairs of scores that share a bin, relative to evenly spread scores.
    crowded = 4096 * pairs / max(n * (n - 1), 1) * ((high - low) / (highest - lowest))
    least = max(crowded / 2, 1) / bins.tolerance
    if not least < _MAX_BINS:
        return bins
    # Narrower bins, because precision depends on few rows at the top, a distance on a few bins.
    finer = 1 if bins.bounds == ("pairs",) else 4
    places = min(2 ** ceil(log2(least)) * finer, _MAX_BINS)
    if not isfinite(places / (high - low)):
        return bins
    return bins._replace(bits=0, low=low, factor=places / (high - low), places=places)


def parse_bins(
    bins: object, tolerance: object = None, requests: Sequence[Request] = ()
) -> Bins | None:
    """Return the bins of the options ``bins=`` or ``tolerance=``; None for exact results."""
    if bins is not None and tolerance is not None:
        raise RequestError("give bins= or tolerance=, not both")
    if bins is not None:
        return create_bins(bins)
    return None if tolerance is None else create_tolerance_bins(tolerance, requests)


def write_bin(score: str, bins: Bins) -> str:
    """Return the SQL of the bin of a score, in the order of the scores.

    A score is rounded to its significant bits by Veltkamp's splitting, which is plain arithmetic
    and the same on every engine. With bins of equal width, it gets the number of the nearest bin,
    or NULL if that is out of the range of INTEGER.
    """
    value = f"CAST({score} AS DOUBLE)"
    if not bins.bits:
        above = f"({value} - {write_double(bins.low)})" if bins.low else value
        return f"TRY_CAST({above} * {write_double(bins.factor)} AS INTEGER)"
    # Dekker (1971), doi:10.1007/BF01397083
    factor = write_double(2.0 ** (53 - bins.bits) + 1)

    def split(x: str) -> str:
        return f"{factor} * {x} - ({factor} * {x} - {x})"

    small = f"({value} * 5.421010862427522e-20)"
    return (
        f"CASE WHEN ABS({value}) < {_HUGE} THEN {split(value)}"
        f" WHEN ABS({value}) <= {LARGEST} THEN {split(small)}"
        f" ELSE {value} END"
    )


def create_tolerance_bins(tolerance: object, requests: Sequence[Request]) -> Bins | None:
    """Return bins that keep ``high - low`` of these metrics within a tolerance, or None.

    None means that no bins can promise it, or that exact results are faster than so many bins.

    Raises
    ------
    RequestError
        If the tolerance is not a number from 1e-9 to below 1.
    """
    tolerance = convert_scalar(tolerance)
    if not is_real_number(tolerance):
        raise RequestError(f"tolerance={tolerance!r} must be a number, such as 1e-5")
    if not 1e-9 <= tolerance < 1:
        raise RequestError(f"tolerance={tolerance!r} must be from 1e-9 to below 1")
    ranked = [each.relation for each in requests if each.depends_on("score_counts")]
    bounds = {each.header.get("bound") for each in ranked}
    if None in bounds or tolerance < _MIN_TOLERANCE:
        return None
    # The bounds of a metric from -1 to 1 are twice as wide.
    twice = any((read_range(each.header)[0] or "").startswith("-") for each in ranked)
    least = tolerance / 2 if twice else float(tolerance)
    bits = min(max(ceil(log2(1 / least)) - 1, 10), 20)
    return Bins(bits, tolerance=least, bounds=tuple(sorted(map(str, bounds))))


def check_file_allows_bins(
    relation: Relation, values: Mapping[str, object], *, has_values: bool
) -> None:
    """Raise `RequestError` if a file needs every score, or every row of a regression."""
    unbinned = str(relation.header.get("unbinned", ""))
    option, _, value = unbinned.partition("=")
    declared = relation.params.get(option)
    current = values.get(option, declared.default) if declared else None
    reads_scores = (
        "score" in relation.needs.get("predictions", ()) and "arranged" not in relation.when
    )
    if has_values and {"label", "prediction", "value"} & {*relation.needs.get("predictions", ())}:
        raise RequestError(
            f"{relation.name} needs the label and the prediction of every row, and a state of a "
            "regression holds sums of a step, such as those of errors"
        )
    if has_values and unbinned == "always":
        raise RequestError(f"{relation.name} needs every value, and a state holds sums of values")
    is_excluded = unbinned == "always" or (current == value if value else current is not None)
    if is_excluded or (reads_scores and relation.name != "score_bins"):
        what = f"{relation.name}({option}={current!r})" if declared else relation.name
        raise RequestError(
            f"{what} needs every score, and score bins (bins=, states) take several together"
        )


def check_binding_allows_bins(binding: Binding) -> None:
    """Raise `RequestError` if the input cannot be binned."""
    if (obstacle := find_obstacle(binding)) is not None:
        raise RequestError(obstacle)


def find_obstacle(binding: Binding) -> str | None:
    """Return why the input cannot be binned; None if it can."""
    if binding.many is not None:
        return "bins=, tolerance= and states do not go with many labels"
    if not binding.has_two_classes or "score" not in binding.role:
        return "bins= is for the scores of two classes: give score="
    if binding.is_expected:
        return "bins= is for labelled rows: with expected= a row counts in parts"
    if binding.over:
        return "bins= is for one set of rows, and over= tells several apart"
    if binding.has_counts:
        return "bins= is for rows, and counts= are given"
    if (lost := find_unsupported(binding.further)) is not None:
        return f"bins= does not keep the values of {lost}=: leave it out"
    return None
