"""Notes on the weights of an interval: their effective number, and whether they look like counts.

A weight never decides how an interval is computed: ``weight=`` is a sampling weight, ``counts=``
counts rows.
"""

#: The note of an interval from a state with weights and without their squares.
NO_SQUARES = "no interval: the state has no squares of weights; build it anew from the rows"
#: The note of weights that are whole numbers, as counts of rows are.
WHOLE = "whole weights are sampling weights, too: counts= takes counts of rows"
#: A weight if it is a whole number, else 0. From 2^53 on every DOUBLE is one.
WHOLE_WEIGHT = "CASE WHEN weight = FLOOR(weight) AND weight < 9.007e15 THEN weight ELSE 0 END"
#: The note is written below this share of the rows.
LEAST_SHARE = "5e-1"


def audit_weights(usable: str, *, binned: bool) -> dict[str, str]:
    """Return the columns of the audit that describe the weights.

    Parameters
    ----------
    usable : str
        The condition of a usable row, or empty.
    binned : bool
        Whether there are sums of weights per bin instead of rows.

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
    """Return the SQL by which a linearised standard error is multiplied, over the audit ``a``.

    A row of large weight pulls a mean towards itself, so that its residual is too small. If rows
    vary alike, the sum of w^2 (x - mean)^2 is too small by 1 - 2 sum w^3 / (sum w sum w^2) + 1 / m,
    with m = (sum w)^2 / sum w^2: by 1 - 1 / n for equal weights, which standard errors correct for
    by themselves. The sum of cubes is taken to be n (sum w^2)^3 / (sum w)^3, exact for equal and
    for lognormal weights.
    """
    rows = "NULLIF(CAST(a._weight_rows AS DOUBLE), 0)"
    share = "a._weight_squares / NULLIF(a._weight_sum, 0) / NULLIF(a._weight_sum, 0)"
    bias = f"1e0 - 2e0 * a._weight_rows * ({share}) * ({share}) + {share}"
    return f"SQRT((1e0 - 1e0 / {rows}) / GREATEST({bias}, 5e-1))"


def describe_weights(*, binned: bool) -> str:
    """Return the SQL of the note on weights, over the audit ``a``; NULL where there is none.

    Kish's effective number of rows is (sum w)^2 / sum w^2 (Kish 1965, Survey sampling).
    """
    share = "a._weight_sum / NULLIF(a._weight_squares, 0)"
    effective = f"a._weight_sum * ({share})"
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
    """Return the SQL of a note followed by a remark, each of which may be NULL."""
    return (
        f"CASE WHEN {remark} IS NULL THEN {note} WHEN {note} IS NULL THEN {remark}"
        f" ELSE CONCAT({note}, '; ', {remark}) END"
    )
