"""Writes intervals from columns that a metric returns: a rate's counts, or a standard error."""

from collections.abc import Callable, Mapping
from math import isfinite
from typing import NamedTuple

from sqleval.catalog.header import parse_range
from sqleval.catalog.intervals import find_interval, name_interval
from sqleval.common.sql_text import LARGEST

#: The SQL of a metric's output columns, by name.
At = Mapping[str, str]
Header = Mapping[str, object]

_NO_VARIATION = "no interval: no variation in the sample"
INFINITE = "no interval: the value or its standard error is infinite"
BEYOND = "no interval: an end lies beyond the values of the sample"
FEW_ROWS = "few rows: interval may be too narrow"
HEAVY_TAILS = "errors with heavy tails: interval may be too narrow"
#: Above this kurtosis, intervals are too narrow (`tests/bench/coverage.py`); normal errors have 3.
_MOST_KURTOSIS = 10
#: A standard error from fewer rows is itself uncertain, as `tests/bench/coverage.py` shows. For
#: areas under ROC curves, the rows of the smaller class count.
_MIN_SUPPORT = 5
MIN_PAIRS = 20
#: A share of the range that is closer to 0 or 1 differs only by rounding, and has no error.
_LEAST, _MOST = "1e-14", "(1e0 - 1e-14)"


class Level(NamedTuple):
    """The level of intervals, as SQL: the standard normal quantile, and 1 - ci.

    With ``is_exact``, rates have Clopper and Pearson's interval: the statement returns counts, and
    `inference.rates` adds the ends. With ``has_parts``, the statement also returns the counts and
    standard errors, for tests of differences. With ``is_plain``, areas have DeLong's interval of
    the paper, which is not on the logit scale.
    """

    z: str
    alpha: str
    is_exact: bool = False
    has_parts: bool = False
    is_plain: bool = False


class Bounds(NamedTuple):
    """SQL of the two ends, the name of the method, and SQL of the note on them.

    Without an interval the method is None. With counts, the ends are computed after the statement,
    and the ends here are the amounts by which score bins widen them.
    """

    low: str = "NULL"
    high: str = "NULL"
    method: str | None = None
    note: str | None = None
    counts: tuple[str, str] | None = None


def write_interval(at: At, level: Level | None, header: Header, weighted: bool) -> Bounds:
    """Return the interval of one metric.

    Parameters
    ----------
    at : mapping of str to str
        SQL of the metric's output columns, by name.
    level : Level or None
        The level; None when no interval is asked for.
    header : mapping
        The metric's header: a symmetric interval is clipped to its ``range``, and ``interval``
        names the method.
    weighted : bool
        Whether sampling weights are bound.
    """
    method = find_interval(at, header)
    if level is None or method is None:
        return Bounds()
    return METHODS[method](at, level, header, weighted)


def read_range(header: Mapping[str, object]) -> tuple[str | None, str | None]:
    """Return the ends of a metric's range as SQL; None for an end without a limit."""
    ends = parse_range(str(header.get("range") or ".."))
    low, high = (f"{end:e}" if isfinite(end) else None for end in ends)
    return low, high


def is_rounded(header: Mapping[str, object]) -> bool:
    """Whether a metric is computed from sums; a metric without a range is a threshold, a score."""
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
    """Widen an interval so that it contains the interval of the exact scores.

    Parameters
    ----------
    at : mapping of str to str
        SQL of the metric's columns; without ``low`` and ``high`` it is exact.
    header : mapping
        The metric's header.
    margin : str
        The relative error of sums of doubles, as SQL; empty without bins.
    sampled : Bounds
        The sampling interval of the value, to be widened; or none.
    """
    value = at["value"]
    low, high = (at.get(end, value) for end in ("low", "high"))
    # All metrics except thresholds, which are scores, are made of sums. Other plans add them up in
    # another order.
    if margin and is_rounded(header):
        low, high = _clip_to_range(
            f"{low} - {margin} * LEAST(GREATEST(ABS({low}), 1e0), {LARGEST})",
            f"{high} + {margin} * LEAST(GREATEST(ABS({high}), 1e0), {LARGEST})",
            header,
        )
        # An undefined end must stay NULL, although LEAST and GREATEST skip NULL.
        low, high = (
            f"CASE WHEN {at.get(end, value)} IS NOT NULL THEN {sql} END"
            for end, sql in (("low", low), ("high", high))
        )
    if sampled.method is None:
        return Bounds(low, high)
    return sampled._replace(
        low=f"{sampled.low} - ({value} - {low})", high=f"{sampled.high} + ({high} - {value})"
    )


def _write_wilson_ends(successes: str, count: str, z: str) -> tuple[str, str]:
    # Wilson (1927), doi:10.1080/01621459.1927.10502953
    trials = f"NULLIF(CAST({count} AS DOUBLE), 0)"
    p = f"CAST({successes} AS DOUBLE) / {trials}"
    centre = f"{p} + {z} * {z} / (2e0 * {trials})"
    half = (
        f"{z} * SQRT(ABS({p} * (1e0 - {p})) / {trials} + {z} * {z} / (4e0 * {trials} * {trials}))"
    )
    scale = f"(1e0 + {z} * {z} / {trials})"
    return (
        # At a rate of 0 or 1, one end equals the rate except for rounding.
        f"LEAST(GREATEST(({centre} - {half}) / {scale}, 0e0), {p})",
        f"GREATEST(LEAST(({centre} + {half}) / {scale}, 1e0), {p})",
    )


def find_counts(name: str, at: At, *, weighted: bool) -> tuple[str, str]:
    """Return successes and trials as SQL; with weights, the effective numbers."""
    if not weighted:
        return at[name], at["trials"]
    trials = at["effective_trials"]
    return f"CAST({at[name]} AS DOUBLE) / NULLIF({at['trials']}, 0) * {trials}", trials


def _write_wilson(at: At, level: Level, header: Header, weighted: bool) -> Bounds:
    successes, trials = find_counts("successes", at, weighted=weighted)
    low, high = _write_wilson_ends(successes, trials, level.z)
    case_when = f"CASE WHEN {at['trials']} > 0 THEN"
    if level.is_exact:
        nothing, counts = f"{case_when} 0e0 END", (successes, trials)
        method = _linearise("clopper-pearson", weighted)
        return Bounds(nothing, nothing, method, counts=counts)
    method = _name_method(at, header, weighted)
    return Bounds(f"{case_when} {low} END", f"{case_when} {high} END", method)


def _write_wilson_of_prevalence(at: At, level: Level, header: Header, weighted: bool) -> Bounds:
    """Return the range of p (1 - p) over the interval of p, as the standard error at 1/2 is 0."""
    ends = _write_wilson_ends(*find_counts("positives", at, weighted=weighted), level.z)
    first, last = (f"{p} * (1e0 - {p})" for p in ends)
    case_when = f"CASE WHEN {at['trials']} > 0 THEN"
    holds_half = f"{ends[0]} <= 5e-1 AND {ends[1]} >= 5e-1"
    return Bounds(
        f"{case_when} LEAST({first}, {last}) END",
        f"{case_when} CASE WHEN {holds_half} THEN 2.5e-1 ELSE GREATEST({first}, {last}) END END",
        _name_method(at, header, weighted),
    )


def _write_delong(at: At, level: Level, header: Header, weighted: bool) -> Bounds:
    """Return DeLong's interval on the logit scale, or a one-sided bound if all pairs are in order.

    If all pairs are in order, so are m = min(P, N) pairs without a common row. By Clopper and
    Pearson (1934), m of m pairs are in order with a probability below alpha if the true share is
    below alpha^(1/m).
    """
    share, span, least = _write_share(at["value"], header)
    pairs, error = at["pairs"], at["stderr"]
    if level.is_plain:
        plain = _write_normal(at, level, header, weighted)
        few = f"CASE WHEN {error} > {_LEAST} AND {pairs} < {MIN_PAIRS} THEN '{FEW_ROWS}' END"
        note = f"COALESCE({plain.note}, {few})"
        return plain._replace(method=_linearise("delong, normal", weighted), note=note)
    bound = f"{span:e} * POWER({level.alpha}, 1e0 / NULLIF(CAST({pairs} AS DOUBLE), 0))"
    most = least + span
    inner = _write_logit(at, level, header)

    def write_end(at_least: str, at_most: str, end: str) -> str:
        return (
            f"CASE WHEN {share} >= {_MOST} THEN {at_most}"
            f" WHEN {share} <= {_LEAST} THEN {at_least} ELSE {end} END"
        )

    order = ("in the wrong order", "in order")
    at_least, at_most = order if header["direction"] == "higher" else order[::-1]
    return Bounds(
        write_end(f"{least:e}", f"{least:e} + {bound}", inner[0]),
        write_end(f"{most:e} - {bound}", f"{most:e}", inner[1]),
        _name_method(at, header, weighted),
        f"CASE WHEN {share} >= {_MOST} THEN 'one-sided bound: all pairs are {at_most}'"
        f" WHEN {share} <= {_LEAST} THEN 'one-sided bound: all pairs are {at_least}'"
        f" WHEN {error} <= {_LEAST} THEN '{_NO_VARIATION}'"
        f" WHEN {error} > {_LEAST} AND {pairs} < {MIN_PAIRS} THEN '{FEW_ROWS}' END",
    )


def _write_share(value: str, header: Header) -> tuple[str, float, float]:
    """Scale a value to 0 .. 1 within its range; also return the range's length and low end."""
    ends = (float(end or default) for end, default in zip(read_range(header), (0, 1), strict=True))
    least, most = ends
    if (least, most) == (0, 1):
        return value, 1.0, 0.0
    return f"(({value} - {least:e}) / {most - least:e})", most - least, least


def _write_logit(at: At, level: Level, header: Header) -> tuple[str, str]:
    """Return an interval that is symmetric on the logit scale ln(a / (1 - a)).

    Here a is the value scaled to 0 .. 1. The standard error of the logit is the standard error of a
    divided by a (1 - a). The interval never leaves the range, and with few rows it contains the
    true value more often than a symmetric interval of a.
    """
    share, span, least = _write_share(at["value"], header)
    odds = f"(1e0 - {share}) / NULLIF({share}, 0)"
    # EXP of more than 709 overflows.
    scale = f"NULLIF({span:e} * {share} * (1e0 - {share}), 0)"
    step = f"LEAST({_write_quantile(at, level)} * {at['stderr']} / {scale}, 7e2)"
    inside = f"{at['stderr']} > {_LEAST} AND {share} > {_LEAST} AND {share} < {_MOST}"
    if "degrees" in at:
        inside += f" AND {at['degrees']} > 0"
    low, high = (
        f"CASE WHEN {inside} THEN {least:e} + {span:e} / (1e0 + {odds} * EXP({sign}{step})) END"
        for sign in ("", "-")
    )
    return low, high


def _write_quantile(at: At, level: Level) -> str:
    """Return the quantile of t, or the normal quantile if there are no degrees of freedom.

    The first term of the expansion in 1 / degrees (Fisher 1925) is enough: with 10 degrees of
    freedom and a level of 95 %, it gives 2.197 instead of 2.228.
    """
    if "degrees" not in at:
        return level.z
    square = f"({level.z} * {level.z} + 1e0)"
    return f"{level.z} * (1e0 + {square} / NULLIF(4e0 * {at['degrees']}, 0))"


def _write_log(at: At, level: Level, end: str, sign: str) -> tuple[str, str]:
    """Return an interval that is symmetric on the scale of the logarithm of the distance to an end.

    Parameters
    ----------
    at : mapping of str to str
        SQL of the metric's columns.
    level : Level
        The level.
    end : str
        The end of the range, as SQL.
    sign : str
        ``-`` for the upper end of the range, otherwise empty.
    """
    error, distance = at["stderr"], at["value"]
    if sign or float(end):
        distance = f"({sign}({distance} - {end}))"
    step = f"LEAST({_write_quantile(at, level)} * {error} / NULLIF({distance}, 0), 7e2)"
    inside = f"{error} > 0 AND {error} <= {LARGEST} AND {distance} > 0"
    if "degrees" in at:
        inside += f" AND {at['degrees']} > 0"
    near, far = (f"{distance} * EXP({way}{step})" for way in ("-", ""))
    if sign:
        near, far = f"{end} - {far}", f"{end} - {near}"
    elif float(end):
        near, far = f"{end} + {near}", f"{end} + {far}"
    low, high = (f"CASE WHEN {inside} THEN {sql} END" for sql in (near, far))
    return low, high


def _write_delta(at: At, level: Level, header: Header, weighted: bool) -> Bounds:
    """Return the interval from a delta-method standard error, on a scale without limits."""
    least, most = read_range(header)
    if least is not None and most is not None:
        low, high = _write_logit(at, level, header)
        reason = _write_reason(at, _LEAST)
        return Bounds(low, high, _name_method(at, header, weighted), reason)
    if least is not None or most is not None:
        end, sign = (most, "-") if least is None else (least, "")
        low, high = _write_log(at, level, str(end), sign)
        return Bounds(low, high, _name_method(at, header, weighted), _write_reason(at))
    return _write_normal(at, level, header, weighted)


def _write_normal(at: At, level: Level, header: Header, weighted: bool) -> Bounds:
    error = at["stderr"]
    half = f"{_write_quantile(at, level)} * {error}"
    low, high = _clip_to_range(f"{at['value']} - {half}", f"{at['value']} + {half}", header)
    # GREATEST and LEAST skip NULL, and would return the range's end without a standard error.
    case_when = f"CASE WHEN {error} > 0 AND {error} <= {LARGEST} THEN"
    method = _name_method(at, header, weighted)
    return Bounds(f"{case_when} {low} END", f"{case_when} {high} END", method, _write_reason(at))


def _write_order_statistics(at: At, level: Level, header: Header, weighted: bool) -> Bounds:
    """Return the two values of the sample between which a quantile lies."""
    both = f"{at['lower']} IS NOT NULL AND {at['upper']} IS NOT NULL"
    low, high = (f"CASE WHEN {both} THEN {at[end]} END" for end in ("lower", "upper"))
    note = f"CASE WHEN NOT ({both}) THEN '{BEYOND}' END"
    return Bounds(low, high, _name_method(at, header, weighted), note)


def _write_none(at: At, level: Level, header: Header, weighted: bool) -> Bounds:
    """Return the note of a maximum, whose bootstrap would not reach beyond the sample either."""
    return Bounds(method="", note=f"CASE WHEN {at['value']} IS NOT NULL THEN '{BEYOND}' END")


def _write_reason(at: At, rounding: str = "0") -> str:
    """Return why an interval is missing, or may be too narrow.

    A standard error of at most ``rounding`` is 0.
    """
    error, few = at["stderr"], ""
    if "support" in at:
        # Only an interval with a standard error can be too narrow.
        test = f"{error} > {rounding} AND {at['support']} < {_MIN_SUPPORT}"
        test += f" AND {at['degrees']} > 0" if "degrees" in at else ""
        few = f" WHEN {test} THEN '{FEW_ROWS}'"
    if "kurtosis" in at:
        test = f"{error} > {rounding} AND {at['kurtosis']} > {_MOST_KURTOSIS}"
        few += f" WHEN {test} THEN '{HEAVY_TAILS}'"
    infinite = f"WHEN {error} > {LARGEST} OR {at['value']} > {LARGEST} THEN '{INFINITE}'"
    return f"CASE {infinite} WHEN {error} <= {rounding} THEN '{_NO_VARIATION}'{few} END"


def _name_method(at: At, header: Header, weighted: bool) -> str:
    """Return the name of a metric's interval for the column ``method``."""
    return _linearise(str(name_interval(at, header)), weighted)


def _linearise(method: str, weighted: bool) -> str:
    return f"{method}, linearised" if weighted else method


#: The SQL of each method of `header.INTERVALS`.
METHODS: Mapping[str, Callable[[At, Level, Header, bool], Bounds]] = {
    "wilson": _write_wilson,
    "wilson of the prevalence": _write_wilson_of_prevalence,
    "delong": _write_delong,
    "order statistics": _write_order_statistics,
    "normal": _write_normal,
    "delta": _write_delta,
    "none": _write_none,
}


def clip_rounding(value: str, header: Mapping[str, object]) -> str:
    """Clip a value that rounding of weighted sums has moved just past an end of its range."""
    least, most = read_range(header)
    cases = [f"WHEN {value} > {most} AND {value} <= {most} + 1e-14 THEN {most}"] if most else []
    if least:
        cases.append(f"WHEN {value} < {least} AND {value} >= {least} - 1e-14 THEN {least}")
    return f"CASE {' '.join(cases)} ELSE {value} END" if cases else value
