"""Periods: how a column is cut into them, what they are called, when they end.

A period is called by its first day (``2013-07-01``), in the job's time zone. An hour is called by
its start in UTC (``2013-07-01T04:00Z``): where a clock is set back, an hour of local time comes
twice.
"""

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Literal, get_args
from zoneinfo import ZoneInfo

from sqleval.common.columns import Column
from sqleval.common.sql_text import literal, quote
from sqleval.errors import RequestError

Grain = Literal["hour", "day", "week", "month", "quarter", "year"]
GRAINS: tuple[Grain, ...] = get_args(Grain)
#: A text that ends so is an instant, wherever the clock hangs.
_OFFSET = r":\d\d.*(Z|[+-]\d\d(:?\d\d)?)$"
#: A name has a year of four digits, and the period after it must have one as well.
_YEARS = 1000, 9998
#: The least that a period lasts.
LENGTHS: Mapping[Grain, timedelta] = {
    "hour": timedelta(hours=1), "day": timedelta(hours=23), "week": timedelta(days=6),
    "month": timedelta(days=27), "quarter": timedelta(days=89), "year": timedelta(days=364),
}  # fmt: skip
_MONTHS = {"month": 1, "quarter": 3, "year": 12}


def checked_grain(grain: str) -> Grain:
    """Return a grain, or raise `RequestError` if it is none."""
    for known in GRAINS:
        if grain == known:
            return known
    raise RequestError(f"grain={grain!r} must be one of {', '.join(GRAINS)}")


def expression(column: Column, grain: Grain, timezone: str | None) -> str:
    """Return the name of a row's period as SQL, over the source ``s``.

    A TIMESTAMP without a time zone is taken as UTC where the job names a time zone, and as it
    stands otherwise; a DATE is local, and so is a text that names no offset. Times outside of
    the years that a period can be named in have none.

    Raises
    ------
    RequestError
        If the column is no date, time or text, or a DATE is cut into hours.
    """
    value, kind = f"s.{quote(column.name)}", column.kind
    home = literal(timezone or "UTC")
    utc = None
    if kind == "text":
        utc = (
            f"CASE WHEN REGEXP_MATCHES({value}, '{_OFFSET}') "
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
            f"period.column={column.name!r} is {column.type}, and a period of a {grain} needs "
            f"{needs} or a text such as 2013-07-01T05:00"
        )
    local = f"CAST({value} AS TIMESTAMP)"
    if utc is not None:
        local = f"(({utc} AT TIME ZONE 'UTC') AT TIME ZONE {home})"
    start = f"DATE_TRUNC('{grain}', {local})"
    if grain != "hour":
        name = f"CAST(CAST({start} AS DATE) AS VARCHAR)"
    elif utc is None or timezone is None:
        name = f"STRFTIME({start}, '%Y-%m-%dT%H:%M')"
    else:
        name = f"STRFTIME({utc} - ({local} - {start}), '%Y-%m-%dT%H:%MZ')"
    return f"CASE WHEN YEAR({local}) BETWEEN {_YEARS[0]} AND {_YEARS[1]} THEN {name} END"


def zone(timezone: str | None) -> tzinfo:
    """Return the job's time zone; UTC where it names none."""
    return ZoneInfo(timezone) if timezone else UTC


def start(period: str, timezone: str | None) -> datetime:
    """Return when a period begins."""
    at = datetime.fromisoformat(period)
    return at if at.tzinfo else at.replace(tzinfo=zone(timezone))


def end(period: str, grain: Grain, timezone: str | None) -> datetime:
    """Return when a period is over."""
    at = start(period, timezone)
    if grain == "hour":
        return (at.astimezone(UTC) + timedelta(hours=1)).astimezone(at.tzinfo)
    first = _after(at.date(), grain)
    return datetime(first.year, first.month, first.day, tzinfo=zone(timezone))


def _after(first: date, grain: Grain) -> date:
    if grain in _MONTHS:
        months = first.year * 12 + first.month - 1 + _MONTHS[grain]
        return date(months // 12, months % 12 + 1, 1)
    return first + timedelta(days=7 if grain == "week" else 1)


def containing(at: datetime, grain: Grain, timezone: str | None) -> str:
    """Return the period that an instant lies in.

    Examples
    --------
    >>> from datetime import datetime, UTC
    >>> containing(datetime(2013, 7, 3, 2, tzinfo=UTC), "week", "America/New_York")
    '2013-07-01'
    """
    local = at.astimezone(zone(timezone))
    if grain == "hour":
        hour = local.replace(minute=0, second=0, microsecond=0)
        return f"{hour.astimezone(UTC):%Y-%m-%dT%H:%M}" + ("Z" if timezone else "")
    day = local.date()
    if grain == "week":
        day -= timedelta(days=day.weekday())
    elif grain in _MONTHS:
        day = date(day.year, (day.month - 1) // _MONTHS[grain] * _MONTHS[grain] + 1, 1)
    return day.isoformat()


def between(first: datetime, last: datetime, grain: Grain, timezone: str | None) -> list[str]:
    """Return the periods from the one that ``first`` lies in to that of ``last``, in order."""
    names: list[str] = []
    at = first
    while at <= last:
        name = containing(at, grain, timezone)
        names.append(name)
        at = end(name, grain, timezone)
    return names
