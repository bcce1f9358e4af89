"""Writes small pieces of SQL text: names, literals, conditions, a SELECT."""

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from math import isinf

from sqleval.common.columns import is_float

#: A value of the user's: a class, the positive label.
Scalar = str | int | float | bool | date
#: The cells of a small table: label, prediction, number.
Cells = tuple[tuple[str | int, str | int, float], ...]
#: The values that a ``$parameter`` may have.
Value = Scalar | Cells | None
#: The largest DOUBLE. ``ABS(x) <= LARGEST`` tests for finite numbers in all engines, because SQL
#: engines order NaN above all numbers.
LARGEST = "1.7976931348623157e308"


def quote(name: str) -> str:
    """Return ``name`` as a quoted SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def write_name(name: str) -> str:
    """Return a column's name in SQL, in quotes only if it needs them."""
    return name if re.fullmatch(r"[a-zA-Z_]\w*", name) else quote(name)


def write_literal(text: str) -> str:
    """Return ``text`` as a SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


def write_key_equality(left: str, right: str, keys: Sequence[str]) -> str:
    """Return the condition that joins two relations on slice keys, which may be NULL."""
    if not keys:
        return "TRUE"
    return " AND ".join(f"{left}.{key} IS NOT DISTINCT FROM {right}.{key}" for key in keys)


def write_squared_deviations(weight: str, value: str) -> str:
    """Return the SQL of the sum of ``weight * (value - mean) ** 2`` over the rows of a group.

    It uses covariances, which engines compute around the mean. A difference of sums of squares
    would lose precision if the mean is large compared to the deviation.
    """
    if weight == "1":
        return f"COUNT({value}) * COVAR_POP({value}, {value})"
    # A value of weight 0 must not change the mean.
    value = f"(CASE WHEN {weight} > 0 THEN {value} END)"
    n = f"COUNT({value})"
    shift = f"COVAR_POP({weight}, {value})"
    return (
        f"{n} * (COVAR_POP({weight} * {value}, {value}) - AVG({value}) * {shift})"
        f" - COALESCE(POWER({n} * {shift}, 2) / NULLIF(SUM({weight}), 0), 0e0)"
    )


def write_scalar(value: Scalar) -> str:
    """Return ``value`` as a SQL literal."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, date):
        kind = "TIMESTAMP" if isinstance(value, datetime) else "DATE"
        return f"CAST({write_literal(str(value))} AS {kind})"
    if isinstance(value, str):
        return write_literal(value)
    # NumPy's float64 is a float, but its repr is not SQL.
    return repr(float(value)) if isinstance(value, float) else repr(value)


def write_double(value: float) -> str:
    """Return a number as a SQL literal of the type DOUBLE.

    Examples
    --------
    >>> write_double(0.5), write_double(1e-6), write_double(float("-inf"))
    ('0.5e0', '1e-06', "CAST('-Infinity' AS DOUBLE)")
    """
    if isinf(value):
        return f"CAST('{'-' if value < 0 else ''}Infinity' AS DOUBLE)"
    # With an exponent the literal is a DOUBLE, without one a DECIMAL.
    text = repr(float(value))
    return text if "e" in text else f"{text}e0"


def write_present_test(column: str, kind: str, *, finite: bool, null: bool = False) -> str:
    """Return the condition that a value is neither NULL nor NaN (nor infinite).

    With ``null``, NULL is allowed.
    """
    if not is_float(kind):
        return "TRUE" if null else f"{column} IS NOT NULL"
    # DuckDB folds comparisons and ISNAN away by the statistics of a Parquet file, which ignore NaN.
    # It does not fold these functions; IS TRUE prevents that for the second test.
    test = f"ISFINITE({column})" if finite else f"(ISFINITE({column}) OR ISINF({column}))"
    return f"({column} IS NULL OR {test} IS TRUE)" if null else f"{test} IS TRUE"


def select(items: Mapping[str, str], rest: str, order: Sequence[str] = ()) -> str:
    """Return a SELECT with one column per line."""
    columns = ",\n  ".join(f"{sql} AS {name}" for name, sql in items.items())
    order_by = "\nORDER BY\n  " + ",\n  ".join(order) if order else ""
    return f"SELECT\n  {columns}\n{rest}{order_by}"


def write_with(ctes: Mapping[str, str], query: str) -> str:
    """Return a query with CTEs, by name; a CTE follows those that it reads."""
    bodies = ",\n".join(f"{name} AS (\n{sql}\n)" for name, sql in ctes.items())
    return f"WITH {bodies}\n{query}"


#: Comments, and quoted text, in which a backslash may escape a character. The quantifiers give
#: nothing back: doubled quotes could else be matched in exponentially many ways.
_COMMENT = r"--[^\n]*|/\*[\s\S]*?\*/"
_QUOTED = {
    has_escapes: re.compile(
        rf"{_COMMENT}|\"(?:[^\"]|\"\")*+\"|`[^`]*`|'(?:[^'{escape}]|''{more})*+'"
    )
    for has_escapes, escape, more in ((False, "", ""), (True, r"\\", r"|\\[\s\S]"))
}
#: A line between parentheses, which stand at the end of the line before and alone on the next one.
_SHORT_PARENTHESES = re.compile(r"\(\n *([^\n]*)\n *\)")


def join_parentheses(sql: str, *, has_escapes: bool = False, width: int = 80) -> str:
    r"""Return SQL with short parentheses on one line, which a printer puts on three.

    Parameters
    ----------
    sql : str
        The text.
    has_escapes : bool
        Whether a backslash escapes a character of quoted text.
    width : int
        The longest text between parentheses.

    Examples
    --------
    >>> print(join_parentheses("a AND (\n  b > 1\n)"))
    a AND (b > 1)
    >>> join_parentheses("'(\n  quoted\n)'")
    "'(\n  quoted\n)'"
    """
    quoted: list[str] = []

    def hide(match: re.Match[str]) -> str:
        quoted.append(match[0])
        return f"\0{len(quoted) - 1}\0"

    def show(text: str) -> str:
        return re.sub("\0(\\d+)\0", lambda match: quoted[int(match[1])], text)

    def join(match: re.Match[str]) -> str:
        content = show(match[1])
        is_short = "\n" not in content and "--" not in content and len(content) <= width
        return f"({match[1]})" if is_short else match[0]

    hidden = _QUOTED[has_escapes].sub(hide, sql)
    while (joined := _SHORT_PARENTHESES.sub(join, hidden)) != hidden:
        hidden = joined
    return show(hidden)
