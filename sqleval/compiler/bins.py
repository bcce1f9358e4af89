"""What becomes of rows whose scores are taken together in bins.

A row of ``_grouped`` stands for all rows of one slice and label whose scores share a bin. What a
step says of each row is then a key of it, or, where it is only ever summed, the mean over them.
"""

from collections.abc import Mapping, Sequence
from math import ceil, inf, isfinite, log2
from typing import Any, NamedTuple

from sqleval.catalog.contract import Relation
from sqleval.catalog.request import Request
from sqleval.compiler.intervals import ends
from sqleval.errors import RequestError
from sqleval.inputs.binding import Binding

#: What a bin's rows keep of their scores; Veltkamp's constant leaves 1 bit at least.
BITS = range(1, 31)
#: Beyond it the product with the constant could overflow.
_HUGE = "1e290"
#: More bins of equal width than this are no faster than significant bits.
_MOST_PLACES = 2**20
#: What is open to less than this is found faster by ranking all rows.
_EXACT = 3e-6


class Bins(NamedTuple):
    """How scores are taken together.

    Attributes
    ----------
    bits : int
        Significant bits that a score keeps; 0 where bins are of equal width.
    low, factor : float
        Where the first bin of equal width lies, and how many there are to a unit.
    places : int
        How many bins of equal width there are.
    tolerance : float or None
        How much a metric may be left open; the heaviest bins are told apart until it is reached.
    bounds : tuple of str
        How it is found which bins are the heaviest: of `catalog.BOUNDS`.
    """

    bits: int = 0
    low: float = 0.0
    factor: float = 0.0
    places: int = 0
    tolerance: float | None = None
    bounds: tuple[str, ...] = ()

    @property
    def method(self) -> str:
        """What the result says of them."""
        if self.tolerance is not None:
            return f"bins within {self.tolerance:g}"
        return f"bins of {self.bits} bits"


def of_bits(bins: object) -> Bins:
    """Return bins of so many significant bits, or raise `RequestError`."""
    if isinstance(bins, bool) or not isinstance(bins, int) or bins not in BITS:
        raise RequestError(
            f"bins={bins!r} must be a whole number of significant bits from "
            f"{BITS[0]} to {BITS[-1]}; 11 keep about three decimal digits of each score"
        )
    return Bins(bins)


def fitting(probed: Sequence[Any], wanted: Bins) -> Bins:
    """Return bins for scores of which the first are known, as the probe tells of them.

    Bins of equal width are found and counted faster than significant bits, but where scores crowd
    together there would have to be too many of them.
    """
    assert wanted.tolerance is not None
    n, _, lowest, highest, pairs, _ = probed
    if not n or not 0 < highest - lowest < inf:
        return wanted
    margin = (highest - lowest) / 4
    low, high = lowest - margin, highest + margin
    if lowest >= 0 and highest <= 1:
        low, high = 0.0, 1.0
    # How much oftener two scores share a bin than they would if they were spread evenly.
    crowded = 4096 * pairs / max(n * (n - 1), 1) * ((high - low) / (highest - lowest))
    least = max(crowded / 2, 1) / wanted.tolerance
    if not least < _MOST_PLACES:
        return wanted
    # Precision turns on the few rows at the top, and a largest distance on those of a few bins.
    finer = 1 if wanted.bounds == ("pairs",) else 4
    places = min(2 ** ceil(log2(least)) * finer, _MOST_PLACES)
    if not isfinite(places / (high - low)):
        return wanted
    return wanted._replace(bits=0, low=low, factor=places / (high - low), places=places)


def asked(bins: object, tolerance: object = None, requests: Sequence[Request] = ()) -> Bins | None:
    """Return the bins that are asked for, if any; those of a tolerance follow from the scores."""
    if bins is not None and tolerance is not None:
        raise RequestError("give bins= or tolerance=, not both")
    if bins is not None:
        return of_bits(bins)
    return None if tolerance is None else to_tolerance(tolerance, requests)


def bin_of(score: str, bins: Bins) -> str:
    """Return the SQL of the bin of a score, in the order of the scores.

    A score keeps so many significant bits by Veltkamp's splitting, which is plain arithmetic and
    the same on every engine; or it gets the number of a bin of equal width, NULL outside them.
    """
    value = f"CAST({score} AS DOUBLE)"
    if not bins.bits:
        above = f"({value} - {bins.low!r}e0)" if bins.low else value
        return f"TRY_CAST({above} * {bins.factor!r}e0 AS INTEGER)"
    # Dekker (1971), doi:10.1007/BF01397083
    factor = f"{2.0 ** (53 - bins.bits) + 1!r}e0"

    def rounded(x: str) -> str:
        return f"{factor} * {x} - ({factor} * {x} - {x})"

    small = f"({value} * 5.421010862427522e-20)"
    return (
        f"CASE WHEN ABS({value}) < {_HUGE} THEN {rounded(value)}"
        f" WHEN ABS({value}) <= 1.7976931348623157e308 THEN {rounded(small)}"
        f" ELSE {value} END"
    )


def to_tolerance(tolerance: object, requests: Sequence[Request]) -> Bins | None:
    """Return bins that leave these metrics no more open than that.

    None where no bins can promise it, or so many would be needed that exact is faster.

    Raises
    ------
    RequestError
        If it is no number that can be promised.
    """
    if isinstance(tolerance, bool) or not isinstance(tolerance, (int, float)):
        raise RequestError(f"tolerance={tolerance!r} must be a number, such as 1e-5")
    if not 1e-9 <= tolerance < 1:
        raise RequestError(f"tolerance={tolerance!r} must be from 1e-9 to below 1")
    cut = [each.relation for each in requests if each.depends_on("score_counts")]
    bounds = {each.header.get("bound") for each in cut}
    if None in bounds or tolerance < _EXACT:
        return None
    # What reaches from -1 to 1 is left open twice as far.
    twice = any((ends(each.header)[0] or "").startswith("-") for each in cut)
    least = tolerance / 2 if twice else float(tolerance)
    bits = min(max(ceil(log2(1 / least)) - 1, 10), 20)
    return Bins(bits, tolerance=least, bounds=tuple(sorted(map(str, bounds))))


def refuse(relation: Relation, values: Mapping[str, object]) -> None:
    """Raise `RequestError` for a file that needs every score."""
    told = str(relation.header.get("unbinned", ""))
    option, _, value = told.partition("=")
    given = values.get(option, relation.params[option].default) if value else None
    raw = "score" in relation.needs.get("predictions", ()) and "arranged" not in relation.when
    if told == "always" or (value and given == value) or (raw and relation.name != "score_bins"):
        what = f"{relation.name}({option}={value!r})" if value else relation.name
        raise RequestError(f"{what} needs every score, and bins= takes them together")


def refuse_binding(binding: Binding) -> None:
    """Raise `RequestError` for an input that bins are not for."""
    if binding.task != "binary" or "score" not in binding.role:
        raise RequestError("bins= is for the scores of two classes: give score=")
    if binding.over:
        raise RequestError("bins= is for one set of rows, and over= tells several apart")
    if binding.counted:
        raise RequestError("bins= is for rows, and counts= are given")
