"""Intervals from what a metric file already returns: a rate's counts, or a standard error."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from sqleval.catalog.contract import INTERVALS

#: The SQL of a metric's output columns, by name.
At = Mapping[str, str]
Header = Mapping[str, object]


class Bounds(NamedTuple):
    """SQL of the two ends, and the name of the method (None where there is no interval)."""

    low: str = "NULL"
    high: str = "NULL"
    method: str | None = None


def write_interval(at: At, z: str, header: Header, weighted: bool) -> Bounds:
    """Return the interval of one metric.

    Parameters
    ----------
    at : mapping of str to str
        SQL of the metric's output columns, by name.
    z : str
        The standard normal quantile as a parameter; empty when no interval is asked for.
    header : mapping
        The metric's header: its ``range`` cuts a symmetric interval, ``interval`` names the
        source of the standard error.
    weighted : bool
        Whether weights are bound; an interval then takes them as counts of rows.
    """
    if not z:
        return Bounds()
    for method, needed in INTERVALS.items():
        if {*needed} <= at.keys():
            return METHODS[method](at, z, header, weighted)
    return Bounds()


def read_range(header: Mapping[str, object]) -> tuple[str | None, str | None]:
    """Return the ends of a metric's range as SQL; None where there is none."""
    least, _, most = str(header.get("range", "")).partition("..")
    found = (least.strip(), most.strip())
    low, high = (f"{float(end):e}" if end and "inf" not in end else None for end in found)
    return low, high


def is_rounded(header: Mapping[str, object]) -> bool:
    """Whether a metric is computed from sums: one without any end of a range is a threshold."""
    return any(read_range(header))


def _clip_to_range(low: str, high: str, header: Mapping[str, object]) -> tuple[str, str]:
    least, most = read_range(header)
    return (
        f"GREATEST({low}, {least})" if least else low,
        f"LEAST({high}, {most})" if most else high,
    )


def widen_interval(
    at: Mapping[str, str], header: Mapping[str, object], margin: str, sampled: Bounds
) -> Bounds:
    """Return the interval that contains what all scores would have given.

    Parameters
    ----------
    at : mapping of str to str
        SQL of the metric's columns; without ``low`` and ``high`` it is exact.
    header : mapping
        The metric's header.
    margin : str
        By how much sums of doubles may be off, as a share; empty where no scores are binned.
    sampled : Bounds
        The interval of the value as if it were exact, which becomes wider; or none.
    """
    value = at["value"]
    low, high = (at.get(end, value) for end in ("low", "high"))
    # A metric without any end is a threshold: one of the scores, and not rounded. All others are
    # sums, which another plan adds up in another order.
    if margin and is_rounded(header):
        low, high = _clip_to_range(
            f"{low} - {margin} * GREATEST(ABS({low}), 1e0)",
            f"{high} + {margin} * GREATEST(ABS({high}), 1e0)",
            header,
        )
        # An undefined end must not become that of the range.
        low, high = (
            f"CASE WHEN {at.get(end, value)} IS NOT NULL THEN {sql} END"
            for end, sql in (("low", low), ("high", high))
        )
    if sampled.method is None:
        return Bounds(low, high)
    return Bounds(
        f"{sampled.low} - ({value} - {low})", f"{sampled.high} + ({high} - {value})", sampled.method
    )


def _write_wilson(at: At, z: str, _: Header, weighted: bool) -> Bounds:
    # Wilson (1927), doi:10.1080/01621459.1927.10502953
    trials = f"NULLIF(CAST({at['trials']} AS DOUBLE), 0)"
    p = f"CAST({at['successes']} AS DOUBLE) / {trials}"
    centre = f"{p} + {z} * {z} / (2e0 * {trials})"
    half = (
        f"{z} * SQRT(GREATEST({p} * (1e0 - {p}), 0e0) / {trials}"
        f" + {z} * {z} / (4e0 * {trials} * {trials}))"
    )
    scale = f"(1e0 + {z} * {z} / {trials})"
    known = f"CASE WHEN {at['trials']} > 0 THEN"
    return Bounds(
        f"{known} GREATEST(({centre} - {half}) / {scale}, 0e0) END",
        f"{known} LEAST(({centre} + {half}) / {scale}, 1e0) END",
        _name_method("wilson", weighted),
    )


def _write_normal(at: At, z: str, header: Header, weighted: bool) -> Bounds:
    half = f"{z} * {at['stderr']}"
    low, high = _clip_to_range(f"{at['value']} - {half}", f"{at['value']} + {half}", header)
    # GREATEST and LEAST skip NULL: without a standard error they would invent an end.
    known = f"CASE WHEN {at['stderr']} IS NOT NULL THEN"
    method = _name_method(str(header.get("interval", "normal")), weighted)
    return Bounds(f"{known} {low} END", f"{known} {high} END", method)


def _name_method(method: str, weighted: bool) -> str:
    return f"{method}, weights as counts" if weighted else method


#: The SQL of each method of `contract.INTERVALS`.
METHODS: Mapping[str, Callable[[At, str, Header, bool], Bounds]] = {
    "wilson": _write_wilson,
    "normal": _write_normal,
}
