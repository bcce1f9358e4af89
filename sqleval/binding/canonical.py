"""Writes canonical texts, by which values of different types are compared.

A number's text does not depend on its type: 1, 1.0 and DECIMAL 1.00 are ``1``. A text that is
compared with numbers is read as a number, and a text that is compared with truth values as a truth
value, as DuckDB casts it. Any other text stays unchanged, so that it equals no number.
"""

import re
from decimal import Decimal, InvalidOperation
from math import isfinite

from sqleval.common.columns import FRACTIONS, NUMBERS, TEXTS, WHOLE, Column, Form, find_type_kind
from sqleval.common.sql_text import Scalar, quote, write_literal

#: The texts that DuckDB casts to BOOLEAN, in any case.
TRUE_TEXTS = ("true", "t", "yes", "y", "1")
FALSE_TEXTS = ("false", "f", "no", "n", "0")
#: Whole numbers below this are exact as DOUBLE, and their text has no exponent.
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
        The kind of values it is compared with. For ``text``, a text stays unchanged.
    dialect : str
        The engine's SQL. The result is written as DuckDB's.

    Examples
    --------
    >>> write_canonical("x", "BIGINT", "number")
    'CAST(x AS VARCHAR)'
    """
    type_kind = find_type_kind(kind)
    text = f"CAST({sql} AS VARCHAR)"
    if type_kind == "decimal":
        is_whole = re.fullmatch(r"DECIMAL\(\d+,\s*0\)", kind) is not None
        return text if is_whole else f"RTRIM(RTRIM({text}, '0'), '.')"
    if type_kind in FRACTIONS:
        return _write_fraction(sql, text)
    if type_kind == "boolean" and form == "number":
        return f"CASE WHEN {sql} THEN '1' WHEN NOT {sql} THEN '0' END"
    if type_kind not in TEXTS or form == "text":
        return text
    if form == "number":
        number = f"TRY_CAST({text} AS DOUBLE)"
        if dialect != "duckdb":
            is_number = f"REGEXP_MATCHES({text}, {write_literal(_NUMBER)})"
            number = f"CASE WHEN {is_number} THEN CAST({text} AS DOUBLE) END"
        # Longer whole numbers, infinities and NaN are compared by their spelling.
        spelled = _write_fraction(number, f"CAST({number} AS VARCHAR)")
        return f"CASE WHEN ABS({number}) < {_EXACT} THEN {spelled} ELSE {text} END"
    words = {"true": TRUE_TEXTS, "false": FALSE_TEXTS}
    cases = " ".join(
        f"WHEN LOWER({text}) IN ({', '.join(map(write_literal, texts))}) THEN '{value}'"
        for value, texts in words.items()
    )
    return f"CASE {cases} ELSE {text} END"


def _write_fraction(number: str, text: str) -> str:
    """Return the SQL of the text of a FLOAT or DOUBLE; whole numbers have no ".0"."""
    # The tests are false for NaN, whose text would be a class; the first is true for -0.0.
    return (
        f"CASE WHEN ABS({number}) < {_EXACT} AND {number} = FLOOR({number}) "
        f"THEN CAST(CAST({number} AS BIGINT) AS VARCHAR) "
        f"WHEN ISFINITE({number}) OR ISINF({number}) THEN {text} END"
    )


def read_column(column: Column, home: str = "s", dialect: str = "duckdb") -> str:
    """Return a column of the source as SQL, in the type that it is read as."""
    sql = f"{home}.{quote(column.name)}"
    if column.form is not None:
        return write_canonical(sql, column.stored, column.form, dialect)
    return f"CAST({sql} AS {column.type})" if column.is_assumed and column.type else sql


def make_canonical(column: Column, form: Form) -> Column:
    """Return a column that is read as canonical text."""
    return Column(column.name, "VARCHAR", form=form, stored=column.type)


def parse_number(value: object) -> Decimal | None:
    """Return the number of a numeric value or text; None for any other value."""
    text = str(int(value)) if isinstance(value, bool) else str(value)
    try:
        number = Decimal("" if "_" in text else text)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def parse_truth_value(value: object) -> bool | None:
    """Return the truth value of a bool, a text, 0 or 1; None for any other value."""
    if isinstance(value, str):
        return {**dict.fromkeys(TRUE_TEXTS, True), **dict.fromkeys(FALSE_TEXTS, False)}.get(
            value.lower()
        )
    return bool(value) if value in (0, 1) else None


def spell(value: Scalar, form: Form) -> str:
    """Return the canonical text of a value from the user.

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
    """Return the keys of two relations as SQL expressions that can be compared.

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
    """Return the form in which two keys are compared; None if the engine can compare them.

    A text key is never read as a number, so that '01' does not match 1.
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
