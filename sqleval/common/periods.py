"""Writes the SQL that assigns rows to periods, and computes names, starts and ends of periods.

The name of a period is its first day (``2013-07-01``) in the job's time zone. The name of an hour
is its start in UTC (``2013-07-01T04:00Z``), because an hour of local time occurs twice when clocks
are set back.
"""

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Literal, get_args
from zoneinfo import ZoneInfo

from sqleval.common.columns import Column
from sqleval.common.sql_text import quote, write_literal
from sqleval.errors import RequestError

Grain = Literal["hour", "day", "week", "month", "quarter", "year"]
GRAINS: tuple[Grain, ...] = get_args(Grain)
#: A text with an offset from UTC or a zone after its time, so that it needs no other time zone. A
#: cast to TIMESTAMP would drop a zone, and PM; a cast to TIMESTAMPTZ takes PM for a zone and fails.
_ZONE = r":\d\d.*([A-Za-z]|[+-]\d\d(:?\d\d)?$)"
#: First and last year: the names of a period and of the one after it have four-digit years.
_YEARS = 1000, 9998
#: The shortest length of a period; a day may lose an hour to daylight saving time.
LENGTHS: Mapping[Grain, timedelta] = {
    "hour": timedelta(hours=1), "day": timedelta(hours=23), "week": timedelta(days=6),
    "month": timedelta(days=27), "quarter": timedelta(days=89), "year": timedelta(days=364),
}  # fmt: skip
#: The name of a period, or its beginning.
_NAME = re.compile(r"\d{4}(-\d{2}(-\d{2}(T\d{2}(:\d{2}Z?)?)?)?)?")
_MONTHS = {"month": 1, "quarter": 3, "year": 12}


def parse_grain(grain: str) -> Grain:
    """Return ``grain`` as a `Grain`; an unknown one raises `RequestError`."""
    for allowed in GRAINS:
        if grain == allowed:
            return allowed
    raise RequestError(f"grain={grain!r} must be one of {', '.join(GRAINS)}")


def is_period_name(text: str) -> bool:
    """Return whether a text is the name of a period, or its beginning.

    Examples
    --------
    >>> is_period_name("2013-07"), is_period_name("2013-13")
    (True, False)
    """
    if _NAME.fullmatch(text) is None:
        return False
    try:
        datetime.fromisoformat(text + "0000-01-01"[len(text) :])
    except ValueError:
        return False
    return True


def check_period_name(text: str) -> None:
    """Raise `RequestError` if a text is not a period, such as the month 2013-13.

    Examples
    --------
    >>> check_period_name("2013-07")
    """
    if not is_period_name(text):
        raise RequestError(f"{text!r} is not a period; write 2013-07-01, 2013-07 or 2013")


def write_period_sql(column: Column, grain: Grain, timezone: str | None) -> str:
    """Return the SQL of the name of a row's period; see `write_period_start_sql`."""
    return f"CAST({write_period_start_sql(column, grain, timezone)} AS VARCHAR)"


def write_period_start_sql(
    column: Column, grain: Grain, timezone: str | None, text_format: str | None = None
) -> str:
    """Return the SQL expression for the start of the period of a row of ``s``.

    It is the first day as a DATE, which sorts several times faster than a text; for an hour it is
    the name. A TIMESTAMP without a time zone is in UTC if the job has a time zone, and local
    otherwise. A DATE is local, and so is a text without an offset or a zone. A text has a format
    of ``strptime``, or ISO 8601. The period is NULL before the year 1000 and after 9998.

    Raises
    ------
    RequestError
        If the column is not a date, a time or a text, or if it is a DATE and the grain an hour.
    """
    value, kind = f"s.{quote(column.name)}", column.kind
    home = write_literal(timezone or "UTC")
    utc = None
    if kind == "text" and text_format is not None:
        at = f"STRPTIME({value}, {write_literal(text_format)})"
        at = at if "%z" in text_format else f"({at} AT TIME ZONE {home})"
        utc = f"({at} AT TIME ZONE 'UTC')"
    elif kind == "text":
        utc = (
            f"CASE WHEN REGEXP_MATCHES({value}, '{_ZONE}') "
            f"THEN CAST({value} AS TIMESTAMP WITH TIME ZONE) AT TIME ZONE 'UTC' "
            f"ELSE (CAST({value} AS TIMESTAMP) AT TIME ZONE {home}) AT TIME ZONE 'UTC' END"
        )
    elif kind == "instant":
        utc = f"(CAST({value} AS TIMESTAMP WITH TIME ZONE) AT TIME ZONE 'UTC')"
    elif kind == "timestamp":
        utc = f"CAST({value} AS TIMESTAMP)" if timezone else None
    elif kind != "date" or grain == "hour":
        needs = "a TIMESTAMP" if kind == "date" else "a DATE, a TIMESTAMP"
        raise RequestError(
            f"period.column={column.name!r} is {column.type}, and a period of one {grain} needs "
            f"{needs} or a text such as 2013-07-01T05:00"
        )
    local = f"CAST({value} AS TIMESTAMP)"
    if utc is not None:
        local = f"(({utc} AT TIME ZONE 'UTC') AT TIME ZONE {home})"
    start = f"DATE_TRUNC('{grain}', {local})"
    if grain != "hour":
        period = f"CAST({start} AS DATE)"
    elif utc is None or timezone is None:
        period = f"STRFTIME({start}, '%Y-%m-%dT%H:%M')"
    else:
        # Subtract the time since the hour began. Clocks that move within the hour are an exception
        # (Lord Howe Island, 30 minutes).
        back = f"({utc} - ({local} - {start}))"
        is_start = f"(({back} AT TIME ZONE 'UTC') AT TIME ZONE {home}) = {start}"
        moved = f"(({start} AT TIME ZONE {home}) AT TIME ZONE 'UTC')"
        at = f"CASE WHEN {is_start} THEN {back} ELSE {moved} END"
        period = f"STRFTIME({at}, '%Y-%m-%dT%H:%MZ')"
    return f"CASE WHEN YEAR({local}) BETWEEN {_YEARS[0]} AND {_YEARS[1]} THEN {period} END"


def find_zone(timezone: str | None) -> tzinfo:
    """Return the time zone of this name; UTC by default."""
    return ZoneInfo(timezone) if timezone else UTC


def find_start(period: str, timezone: str | None) -> datetime:
    """Return the start of a period."""
    at = datetime.fromisoformat(period)
    return at if at.tzinfo else at.replace(tzinfo=find_zone(timezone))


def find_end(period: str, grain: Grain, timezone: str | None) -> datetime:
    """Return the end of a period, which is the start of the next one."""
    at = find_start(period, timezone)
    if grain == "hour":
        end = at.astimezone(UTC) + timedelta(hours=1)
        # An hour is longer or shorter if clocks move by half an hour within it.
        while find_period(end, grain, timezone) == period:
            end += timedelta(minutes=15)
        start = find_start(find_period(end, grain, timezone), timezone)
        return (start if start > at else end).astimezone(at.tzinfo)
    first = _find_next_day(at.date(), grain)
    return datetime(first.year, first.month, first.day, tzinfo=find_zone(timezone))


def _find_next_day(first: date, grain: Grain) -> date:
    """Return the first day of the next period."""
    if grain in _MONTHS:
        months = first.year * 12 + first.month - 1 + _MONTHS[grain]
        return date(months // 12, months % 12 + 1, 1)
    return first + timedelta(days=7 if grain == "week" else 1)


def find_period(at: datetime, grain: Grain, timezone: str | None) -> str:
    """Return the name of the period that contains a time.

    Examples
    --------
    >>> from datetime import datetime, UTC
    >>> find_period(datetime(2013, 7, 3, 2, tzinfo=UTC), "week", "America/New_York")
    '2013-07-01'
    """
    # Convert through UTC, because clocks skip some local times (all of 2011-12-30 in Apia).
    local = at.astimezone(UTC).astimezone(find_zone(timezone))
    if grain == "hour":
        hour = local.replace(minute=0, second=0, microsecond=0)
        start = at.astimezone(UTC) - (local.replace(tzinfo=None) - hour.replace(tzinfo=None))
        if start.astimezone(local.tzinfo).replace(tzinfo=None) != hour.replace(tzinfo=None):
            start = hour.replace(fold=0).astimezone(UTC)
        return start.isoformat()[:16] + ("Z" if timezone else "")
    day = local.date()
    if grain == "week":
        day -= timedelta(days=day.weekday())
    elif grain in _MONTHS:
        day = date(day.year, (day.month - 1) // _MONTHS[grain] * _MONTHS[grain] + 1, 1)
    return day.isoformat()


def list_periods(first: datetime, last: datetime, grain: Grain, timezone: str | None) -> list[str]:
    """Return the names of all periods between two times, both included, in order."""
    names: list[str] = []
    at = first
    while at <= last:
        name = find_period(at, grain, timezone)
        names.append(name)
        at = find_end(name, grain, timezone)
        # Names of hours have no seconds, but offsets of local mean time do (+5:53:28 in Kolkata).
        while grain == "hour" and find_period(at, grain, timezone) == name:
            at += timedelta(minutes=1)
    return names
