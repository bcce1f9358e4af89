"""Defines score buckets, the ranges of the score that a distributed engine partitions by."""

import math
from itertools import pairwise
from typing import NamedTuple

from sqleval.common.sql_text import write_double


class Buckets(NamedTuple):
    """Ranges of the score with about equally many rows.

    Attributes
    ----------
    cuts : tuple of float
        The ends of ranges, ascending. The scores below the first one are one bucket; so are the
        scores from the last one on.
    has_ties : bool
        Whether scores have so many ties that rows are counted by score before they are ranked.
    per_range : int
        The number of buckets of equal width between two cuts.
    """

    cuts: tuple[float, ...]
    has_ties: bool
    per_range: int = 128


def write_bucket(score: str, buckets: Buckets) -> str:
    """Return the SQL of the bucket of a score: an INTEGER that rises with the score.

    It is no DOUBLE, because Spark would shuffle rows once more to partition by a DOUBLE.
    """
    if not buckets.cuts:
        return "0"
    value = f"CAST({score} AS DOUBLE)"
    ranges = [("0", buckets.cuts[0])]
    for i, (low, high) in enumerate(pairwise(buckets.cuts)):
        # A little less, so that the rounded product does not reach the next range.
        per_unit = buckets.per_range * (1 - 1e-12) / (high - low)
        offset = "0"  # of a range that is too narrow or too wide to divide
        if 0 < per_unit < math.inf:
            above = f"({value} - {write_double(low)})"
            offset = f"CAST(FLOOR({above} * {write_double(per_unit)}) AS INTEGER)"
        ranges.append((f"{1 + i * buckets.per_range} + {offset}", high))
    ranges.append((str(1 + (len(buckets.cuts) - 1) * buckets.per_range), 0.0))
    return _write_choice(value, ranges)


def _write_choice(value: str, ranges: list[tuple[str, float]]) -> str:
    """Return the SQL that finds a value's range by binary search."""
    if len(ranges) == 1:
        return ranges[0][0]
    middle = len(ranges) // 2
    below, above = (_write_choice(value, part) for part in (ranges[:middle], ranges[middle:]))
    return (
        f"CASE WHEN {value} < {write_double(ranges[middle - 1][1])} THEN {below} ELSE {above} END"
    )
