"""Writes notes on weights: their effective number, and whether they look like counts.

A weight never decides how an interval is computed: ``weight=`` is a sampling weight, ``counts=``
counts rows.
"""

from collections.abc import Callable, Mapping

from sqleval.catalog.contract import SQUARES

#: With fewer effective successes or failures, the spread of their weights is uncertain.
_MIN_EFFECTIVE = 20
#: The note on weights that are whole numbers, like counts of rows.
WHOLE = "whole weights are sampling weights, too: counts= takes counts of rows"
#: A weight if it is a whole number, else 0. From 2^53 on, every DOUBLE is whole.
WHOLE_WEIGHT = "CASE WHEN weight = FLOOR(weight) AND weight < 9.007e15 THEN weight ELSE 0 END"
#: Below this ratio of effective to actual rows, a note is written.
LEAST_SHARE = "5e-1"


def audit_weights(usable: str, *, binned: bool) -> dict[str, str]:
    """Return the columns of the audit that describe the weights.

    Parameters
    ----------
    usable : str
        The condition of a usable row, or empty.
    binned : bool
        Whether the audit reads sums of weights per bin instead of rows.

    Examples
    --------
    >>> audit_weights("", binned=True)["_weight_squares"]
    'SUM(CASE WHEN weight > 0 THEN squares END)'
    """
    size, squares = ("_rows", "squares") if binned else ("1", "weight * weight")
    test = f"{usable} AND weight > 0" if usable else "weight > 0"
    items = {
        "_weight_sum": f"SUM(CASE WHEN {test} THEN weight END)",
        "_weight_squares": f"SUM(CASE WHEN {test} THEN {squares} END)",
        "_weight_rows": f"SUM(CASE WHEN {test} THEN {size} END)",
    }
    if not binned:
        items["_weight_least"] = f"MIN(CASE WHEN {test} THEN {WHOLE_WEIGHT} END)"
    return items


def write_correction() -> str:
    """Return the SQL of the factor of a linearised standard error, over the audit ``a``.

    A row with a large weight pulls the mean towards itself, so that its residual is too small. If
    all rows have one variance, the expected sum of w^2 (x - mean)^2 is too small by the factor
    1 - 2 sum w^3 / (sum w sum w^2) + 1 / m, with m = (sum w)^2 / sum w^2. For equal weights this is
    1 - 1 / n, which standard errors already correct. The sum of cubes is approximated by
    n (sum w^2)^3 / (sum w)^3, which is exact for equal and for lognormal weights.
    """
    rows = "NULLIF(CAST(a._weight_rows AS DOUBLE), 0)"
    share = "a._weight_squares / NULLIF(a._weight_sum, 0) / NULLIF(a._weight_sum, 0)"
    bias = f"1e0 - 2e0 * a._weight_rows * ({share}) * ({share}) + {share}"
    return f"SQRT((1e0 - 1e0 / {rows}) / GREATEST({bias}, 5e-1))"


def write_effective_rows() -> str:
    """Return the SQL of the effective number of rows, over the audit ``a``."""
    return "a._weight_sum * (a._weight_sum / NULLIF(a._weight_squares, 0))"


def describe_weights(*, binned: bool) -> str:
    """Return the SQL of the note on weights, over the audit ``a``; NULL without a note.

    Kish's effective number of rows is (sum w)^2 / sum w^2 (Kish 1965, Survey sampling).
    """
    effective = write_effective_rows()
    few = (
        f"CASE WHEN {effective} < {LEAST_SHARE} * a._weight_rows THEN"
        f" CONCAT('weights: effective number of rows ', CAST(CAST(FLOOR({effective} + 5e-1)"
        " AS BIGINT) AS VARCHAR), ' of ', CAST(CAST(a._weight_rows AS BIGINT) AS VARCHAR)) END"
    )
    if binned:
        return few
    is_whole = "a._weight_least >= 1 AND a._weight_sum > a._weight_rows"
    return f"CASE WHEN {is_whole} THEN '{WHOLE}' ELSE {few} END"


def add_remark(note: str, remark: str) -> str:
    """Return the SQL of a note followed by a remark; each may be NULL."""
    return (
        f"CASE WHEN {remark} IS NULL THEN {note} WHEN {note} IS NULL THEN {remark}"
        f" ELSE CONCAT({note}, '; ', {remark}) END"
    )


def place_effective_trials(
    add_cte: Callable[[str, str], str], cte: str, columns: Mapping[str, str]
) -> tuple[str, Mapping[str, str]]:
    """Add the effective trials to the relation of a weighted rate; other relations are unchanged.

    They become a column, because Wilson's formula uses them a dozen times.
    """
    hits = next((name for name in ("successes", "positives") if name in columns), None)
    if hits is None or not {*SQUARES} <= columns.keys():
        return cte, columns
    at = {name: f"r.{column}" for name, column in columns.items()}
    trials = _write_effective_trials(at[hits], at)
    sql = f"SELECT *, {trials} AS effective_trials\nFROM {cte} AS r"
    placed = add_cte(f"{cte}_effective", sql)
    return placed, {**columns, "effective_trials": "effective_trials"}


def _write_effective_trials(successes: str, at: Mapping[str, str]) -> str:
    """Return the SQL of the effective number of trials of weighted rows.

    It is p (1 - p) divided by the variance of the rate p, linearised for weights w (Korn and
    Graubard 1998, Confidence intervals for proportions with small expected number of positive
    counts): (sum w)^2 / sum w^2 if successes and failures are weighted alike. The variance is
    uncertain below `_MIN_EFFECTIVE` successes or failures; then the smaller of both numbers is
    taken.
    """
    hits, total = (f"CAST({sql} AS DOUBLE)" for sql in (successes, at["trials"]))
    hit_squares, squares = (f"CAST({at[name]} AS DOUBLE)" for name in SQUARES)
    trials = f"NULLIF({total}, 0)"
    p, q = f"{hits} / {trials}", f"({total} - {hits}) / {trials}"
    miss_squares = f"GREATEST({squares} - {hit_squares}, 0e0)"
    kish = f"{total} * ({total} / NULLIF({squares}, 0))"
    variance = f"({q} * ({q}) * {hit_squares} + {p} * ({p}) * {miss_squares})"
    linearised = f"{total} * ({total} / NULLIF({variance}, 0)) * ({p}) * ({q})"
    least = f"{_MIN_EFFECTIVE}e0"
    misses = f"({total} - {hits})"
    are_many = (
        f"{hits} * {hits} >= {least} * {hit_squares}"
        f" AND {misses} * {misses} >= {least} * {miss_squares}"
    )
    # At a rate of 0 or 1, the variance is 0 except for rounding.
    return (
        f"CASE WHEN {p} <= 1e-12 OR {q} <= 1e-12 THEN {kish} WHEN {are_many} THEN {linearised}"
        f" ELSE LEAST({kish}, {linearised}) END"
    )
