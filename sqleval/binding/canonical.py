"""Canonical texts: values of different types are equal where their canonical texts are.

A number has the text of its value, whatever its type: 1, 1.0 and DECIMAL 1.00 are ``1``. Beside
numbers a text is the number that it spells, and beside truth values the truth value, as DuckDB
casts it; any other text stays as it is, and so equals no number.
"""

import re
from decimal import Decimal, InvalidOperation
from math import isfinite

from sqleval.common.columns import FRACTIONS, NUMBERS, TEXTS, WHOLE, Column, Form, find_type_kind
from sqleval.common.sql_text import Scalar, quote, write_literal

#: The texts that DuckDB casts to BOOLEAN, in any case.
TRUE_TEXTS = ("true", "t", "yes", "y", "1")
FALSE_TEXTS = ("false", "f", "no", "n", "0")
#: Whole numbers below it are exact as DOUBLE, and their text as DOUBLE has no exponent.
_EXACT = "9e15"
#: A number as a text, for engines without TRY_CAST.
_NUMBER = r"^ *[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]{1,2})? *$"


def write_canonical(sql: str, kind: str, form: Form, dialect: str = "duckdb") -> str:
    """Return the SQL of the canonical text of a value; NULL for NULL and NaN.

    Parameters
    ----------
    sql : str
        The value.
    kind : str
        Its type.
    form : {"number", "truth value", "text"}
        What it is compared with: beside ``text`` a text stays as it is.
    dialect : str
        The engine's SQL. The result is written as DuckDB's.

    Examples
    --------
    >>> write_canonical("x", "BIGINT", "number")
    'CAST(x AS VARCHAR)'
    """
    found = find_type_kind(kind)
    text = f"CAST({sql} AS VARCHAR)"
    if found == "decimal":
        is_whole = re.fullmatch(r"DECIMAL\(\d+,\s*0\)", kind) is not None
        return text if is_whole else f"RTRIM(RTRIM({text}, '0'), '.')"
    if found in FRACTIONS:
        return _write_fraction(sql, text)
    if found == "boolean" and form == "number":
        return f"CASE WHEN {sql} THEN '1' WHEN NOT {sql} THEN '0' END"
    if found not in TEXTS or form == "text":
        return text
    if form == "number":
        number = f"TRY_CAST({text} AS DOUBLE)"
        if dialect != "duckdb":
            is_number = f"REGEXP_MATCHES({text}, {write_literal(_NUMBER)})"
            number = f"CASE WHEN {is_number} THEN CAST({text} AS DOUBLE) END"
        # Longer whole numbers, infinities and NaN are compared as they are spelled.
        spelled = _write_fraction(number, f"CAST({number} AS VARCHAR)")
        return f"CASE WHEN ABS({number}) < {_EXACT} THEN {spelled} ELSE {text} END"
    words = {"true": TRUE_TEXTS, "false": FALSE_TEXTS}
    cases = " ".join(
        f"WHEN LOWER({text}) IN ({', '.join(map(write_literal, texts))}) THEN '{value}'"
        for value, texts in words.items()
    )
    return f"CASE {cases} ELSE {text} END"


def _write_fraction(number: str, text: str) -> str:
    """Return the SQL of the text of a FLOAT or DOUBLE: without a fraction where it has none."""
    # The first test is false for NaN, whose text would be a class, and true for -0.0.
    return (
        f"CASE WHEN ABS({number}) < {_EXACT} AND {number} = FLOOR({number}) "
        f"THEN CAST(CAST({number} AS BIGINT) AS VARCHAR) "
        f"WHEN ISFINITE({number}) OR ISINF({number}) THEN {text} END"
    )


def read_column(column: Column, home: str = "s", dialect: str = "duckdb") -> str:
    """Return a column of the source as SQL, in the type in which it is to be read."""
    sql = f"{home}.{quote(column.name)}"
    if column.form is not None:
        return write_canonical(sql, column.stored, column.form, dialect)
    return f"CAST({sql} AS {column.type})" if column.is_assumed and column.type else sql


def make_canonical(column: Column, form: Form) -> Column:
    """Return a column that is read as canonical text."""
    return Column(column.name, "VARCHAR", form=form, stored=column.type)


def parse_number(value: object) -> Decimal | None:
    """Return a value, or the number that a text spells; None for any other."""
    text = str(int(value)) if isinstance(value, bool) else str(value)
    try:
        number = Decimal("" if "_" in text else text)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def parse_truth_value(value: object) -> bool | None:
    """Return a truth value, or the one that a text or 0 and 1 spell; None for any other."""
    if isinstance(value, str):
        return {**dict.fromkeys(TRUE_TEXTS, True), **dict.fromkeys(FALSE_TEXTS, False)}.get(
            value.lower()
        )
    return bool(value) if value in (0, 1) else None


def spell(value: Scalar, form: Form) -> str:
    """Return the canonical text of a value that the user gives.

    Examples
    --------
    >>> spell(1.0, "number"), spell("yes", "truth value"), spell("2.50", "number")
    ('1', 'true', '2.5')
    """
    if form == "truth value" and (truth_value := parse_truth_value(value)) is not None:
        return str(truth_value).lower()
    number = parse_number(value) if form == "number" else None
    if number is None:
        return str(value)
    if number == number.to_integral_value():
        return str(int(number))
    return repr(float(number)) if isfinite(float(number)) else str(value)


def write_keys(
    ours: Column, theirs: Column, homes: tuple[str, str], dialect: str = "duckdb"
) -> tuple[str, str]:
    """Return the keys of two relations as SQL in which equal keys are equal.

    Parameters
    ----------
    ours, theirs : Column
        The key of each relation.
    homes : tuple of str
        The names of the relations.
    dialect : str
        The engine's SQL.

    Examples
    --------
    >>> write_keys(Column("id", "BIGINT"), Column("id", "VARCHAR"), ("s", "l"))
    ('CAST(s."id" AS VARCHAR)', 'CAST(l."id" AS VARCHAR)')
    """
    form = choose_key_form(ours, theirs)

    def write(column: Column, home: str) -> str:
        sql = f"{home}.{quote(column.name)}"
        return sql if form is None else write_canonical(sql, column.type, form, dialect)

    return write(ours, homes[0]), write(theirs, homes[1])


def choose_key_form(ours: Column, theirs: Column) -> Form | None:
    """Return the form in which two keys are compared; None where the engine compares them.

    Keys match by canonical text alone: a text is never read as a number, so that '01' is not 1.
    """
    kinds = {ours.kind, theirs.kind}
    is_alike = (
        not (ours.type and theirs.type)
        or (len(kinds) == 1 and "decimal" not in kinds)
        or any(kinds <= family for family in (WHOLE, TEXTS, {"date", "timestamp"}))
    )
    if is_alike:
        return None
    return "number" if kinds <= NUMBERS | {"boolean"} else "text"
