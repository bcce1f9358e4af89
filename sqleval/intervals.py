"""Intervals from what a metric file already returns: a rate's counts, or a standard error."""

from collections.abc import Mapping
from typing import NamedTuple


class Bounds(NamedTuple):
    """SQL of the two ends, and the name of the method (None where there is no interval)."""

    low: str = "NULL"
    high: str = "NULL"
    method: str | None = None


def interval(at: Mapping[str, str], z: str, header: Mapping[str, object], weighted: bool) -> Bounds:
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
        Whether weights are bound; Wilson's interval then takes them as counts of rows.
    """
    if not z:
        return Bounds(at.get("low", "NULL"), at.get("high", "NULL"))
    if "successes" in at:
        return _wilson(at, z, "wilson, weights as counts" if weighted else "wilson")
    if "stderr" in at:
        low, high = (f"{at['value']} {sign} {z} * {at['stderr']}" for sign in "-+")
        least, _, most = str(header.get("range", "")).partition("..")
        if least.strip() not in ("", "-inf"):
            low = f"GREATEST({low}, {float(least):e})"
        if most.strip() not in ("", "inf"):
            high = f"LEAST({high}, {float(most):e})"
        # GREATEST and LEAST skip NULL: without a standard error they would invent an end.
        known = f"CASE WHEN {at['stderr']} IS NOT NULL THEN"
        method = str(header.get("interval", "normal"))
        return Bounds(f"{known} {low} END", f"{known} {high} END", method)
    return Bounds()


def _wilson(at: Mapping[str, str], z: str, method: str) -> Bounds:
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
        method,
    )
