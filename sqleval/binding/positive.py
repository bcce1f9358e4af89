"""Checks that a column can hold a class or a positive value, and converts the value."""

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from math import isfinite
from typing import cast
from uuid import UUID

from sqleval.binding.canonical import parse_number, parse_truth_value, spell
from sqleval.common.columns import Column, Form, Kind
from sqleval.common.sql_text import Scalar
from sqleval.errors import RequestError

_LARGEST_FLOAT = 3.4028235e38
_BITS = {"TINYINT": 8, "SMALLINT": 16, "INTEGER": 32, "BIGINT": 64, "HUGEINT": 128}
_FRACTIONS: tuple[Kind, ...] = ("float32", "float64", "decimal")
_TEXTS: tuple[Kind, ...] = ("date", "timestamp", "instant", "time", "uuid")


def convert_positive(
    value: Scalar | None,
    roles: Mapping[str, Column],
    predicted: Sequence[Column] = (),
    form: Form | None = None,
) -> tuple[Scalar | None, str]:
    """Return the positive value in the label's type, and as written; check it for predictions.

    For columns that are read as canonical texts, it is a canonical text.

    Examples
    --------
    >>> convert_positive("1", {"label": Column("y", "BIGINT")})
    (1, "'1'")
    """
    if value is None:
        texts: dict[Form | None, str] = {"number": "1", "truth value": "true"}
        positive = texts.get(form)
        return positive, repr(positive) if positive else ""
    single = [roles[role] for role in ("prediction", "label") if role in roles]
    converted = value
    for column in (*predicted, *single):
        converted = convert_class(value, column, "positive")
    return converted if form is None else spell(converted, form), repr(value)


def convert_class(value: Scalar, column: Column, role: str) -> Scalar:
    """Return a class or a positive value that its column can hold; integers in its type.

    Raises
    ------
    RequestError
        If the column cannot hold the value, so that the engine would raise an error, or round.

    Examples
    --------
    >>> convert_class("1", Column("y", "BIGINT"), "positive")
    1
    >>> convert_class(1.7, Column("y", "BIGINT"), "positive")
    Traceback (most recent call last):
    sqleval.errors.RequestError: positive=1.7 is not an integer, and 'y' is BIGINT
    """
    allowed = None
    if column.kind in ("integer", "hugeint"):
        number = parse_number(value)
        if number is None or number != number.to_integral_value():
            allowed = "an integer"
        elif (limits := _find_limits(column.type)) and not limits[0] <= number <= limits[1]:
            allowed = f"an integer from {limits[0]} to {limits[1]}"
        else:
            return int(number)
    elif column.kind in _FRACTIONS:
        allowed = _refuse_number(parse_number(value), column)
    elif column.kind == "boolean":
        allowed = None if parse_truth_value(value) is not None else "a truth value"
    elif column.kind == "binary":
        allowed = None if isinstance(value, str) else "a text"
    elif column.kind in _TEXTS:
        allowed = _refuse_text(value, column.kind)
    if allowed is not None:
        raise RequestError(
            f"{role}={value!r} is not {allowed}, and {column.name!r} is {column.type}"
        )
    # NumPy numbers and decimals are written as text, which the engine casts to the type.
    is_written_as_is = column.kind not in _FRACTIONS or type(value) in (bool, int, float, str)
    return value if is_written_as_is else str(value)


def _find_limits(kind: str) -> tuple[int, int] | None:
    """Return the least and the largest number of an integer type."""
    if kind.startswith("U"):
        bits = _BITS.get(kind[1:])
        return None if bits is None else (0, 2**bits - 1)
    bits = _BITS.get(kind)
    return None if bits is None else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _refuse_number(number: Decimal | None, column: Column) -> str | None:
    """Return the words for the numbers that a column can hold; None if it can hold this one."""
    if number is None:
        return "a number"
    if column.kind == "float32" and abs(number) > _LARGEST_FLOAT:
        return f"a number up to {_LARGEST_FLOAT}"
    if column.kind != "decimal":
        return None if isfinite(float(number)) else "a number of double precision"
    digits = re.fullmatch(r"DECIMAL\((\d+),\s*(\d+)\)", column.type)
    if digits is None or not number:
        return None
    width, scale = map(int, digits.groups())
    # Trailing zeros do not count: 1.50 has one decimal.
    places = -cast("int", number.normalize().as_tuple().exponent)
    fits = places <= scale and number.adjusted() < width - scale
    return None if fits else f"a number with {width} digits, {scale} of them decimals"


def _refuse_text(value: object, kind: Kind) -> str | None:
    """Return the words for what a column of dates, times or UUIDs holds; None if it fits."""
    if isinstance(value, date):
        if kind in ("timestamp", "instant"):
            return None
        # The engine would drop the time.
        has_time = isinstance(value, datetime) and value.time() != time()
        if kind == "date" and not has_time:
            return None
    allowed, parse = {
        "date": ("a date such as '2013-07-01'", date.fromisoformat),
        "time": ("a time such as '14:30:00', as a text", time.fromisoformat),
        "uuid": ("a UUID, as a text", UUID),
    }.get(kind, ("a time such as '2013-07-01 14:30:00'", datetime.fromisoformat))
    # Python also reads 20130701 and 2013-W27-1, but SQL does not.
    is_iso = kind in ("time", "uuid") or re.match(r"\d{4}-\d\d-\d\d", str(value).strip())
    if not isinstance(value, str) or not is_iso:
        return allowed
    try:
        parse(value.strip())
    except ValueError:
        return allowed
    return None
