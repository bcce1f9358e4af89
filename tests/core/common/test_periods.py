"""Periods: how rows are cut into hours, days, weeks, months, quarters and years, in any zone."""

from datetime import UTC, date, datetime, timedelta
from functools import cache
from itertools import pairwise
from zoneinfo import ZoneInfo

import duckdb
import polars as pl
import pytest

from sqleval import RequestError
from sqleval.common import periods
from sqleval.common.columns import Column
from tests.support.versions import needs

INSTANTS = [
    datetime(2013, 1, 1) + timedelta(hours=n * 5 + 1, minutes=17) for n in range(2 * 365 * 24 // 5)
]


GRAINS = {"day": "1d", "week": "1w", "month": "1mo", "quarter": "1q", "year": "1y", "hour": "1h"}
UTC_TIMES = pl.DataFrame({"at": INSTANTS}).select(pl.col("at").dt.replace_time_zone("UTC"))


@cache
def name_periods(grain: str, timezone: str) -> list[str]:
    """Return the name of the period of each instant, cut by Polars."""
    local = UTC_TIMES.select(pl.col("at").dt.convert_time_zone(timezone))
    cut = local.select(pl.col("at").dt.truncate(GRAINS[grain]))["at"]
    if grain == "hour":
        return cut.dt.convert_time_zone("UTC").dt.strftime("%Y-%m-%dT%H:%MZ").to_list()
    return cut.dt.strftime("%Y-%m-%d").to_list()


@pytest.mark.parametrize("grain", GRAINS)
@pytest.mark.parametrize("timezone", ["UTC", "America/New_York", "Asia/Kolkata"])
@pytest.mark.parametrize("kind", ["TIMESTAMP", "TIMESTAMP WITH TIME ZONE"])
def test_periods_in_sql_are_those_of_polars(grain: periods.Grain, timezone: str, kind: str) -> None:
    sql = periods.write_period_sql(Column("at", kind), grain, timezone)
    naive = UTC_TIMES.select(pl.col("at").dt.replace_time_zone(None))
    with duckdb.connect() as con:
        con.execute("SET TimeZone = 'Pacific/Auckland'")  # nothing may follow from it
        con.register("t", naive)
        held = 't."at"' if kind == "TIMESTAMP" else '(t."at" AT TIME ZONE \'UTC\') AS "at"'
        found = con.execute(f"SELECT {sql} FROM (SELECT {held} FROM t) AS s").fetchall()
    assert [name for (name,) in found] == name_periods(grain, timezone)


@pytest.mark.parametrize("grain", GRAINS)
@pytest.mark.parametrize("timezone", ["UTC", "America/New_York", "Asia/Kolkata"])
def test_periods_in_python_are_those_of_polars(grain: periods.Grain, timezone: str) -> None:
    names = name_periods(grain, timezone)
    aware = [at.replace(tzinfo=UTC) for at in INSTANTS]
    assert [periods.find_period(at, grain, timezone) for at in aware] == names
    for at, name in list(zip(aware, names, strict=True))[:: 40 if grain == "hour" else 7]:
        assert periods.find_start(name, timezone) <= at < periods.find_end(name, grain, timezone)


def test_an_hour_that_comes_twice_is_two_periods() -> None:
    first = datetime(2013, 11, 3, 5, 30, tzinfo=UTC)  # 1:30 in New York, and 1:30 again
    names = periods.list_periods(first, first + timedelta(hours=1), "hour", "America/New_York")
    assert names == ["2013-11-03T05:00Z", "2013-11-03T06:00Z"]
    day = periods.find_start("2013-11-03", "America/New_York")
    assert periods.find_end("2013-11-03", "day", "America/New_York").astimezone(
        UTC
    ) - day.astimezone(UTC) == timedelta(hours=25)


@pytest.mark.parametrize(("first", "grain", "timezone", "names"), [
    # Local mean time, of +5:53:28, and a day that clocks skipped.
    (datetime(1000, 1, 1), "hour", "Asia/Kolkata", ["0999-12-31T18:06Z", "0999-12-31T19:06Z"]),
    (datetime(2011, 12, 29), "day", "Pacific/Apia", ["2011-12-29", "2011-12-31"]),
])  # fmt: skip
def test_periods_of_unusual_clocks_follow_each_other(
    first: datetime, grain: periods.Grain, timezone: str, names: list[str]
) -> None:
    begin = first.replace(tzinfo=periods.find_zone(timezone))
    last = begin.astimezone(UTC) + 1.9 * periods.LENGTHS[grain]
    assert periods.list_periods(begin, last, grain, timezone) == names


@pytest.mark.parametrize(
    ("timezone", "around"),
    [
        ("Australia/Lord_Howe", datetime(2013, 4, 6, 12)),  # back by half an hour
        ("Australia/Lord_Howe", datetime(2013, 10, 5, 12)),  # forward by half an hour
        ("Asia/Pyongyang", datetime(2015, 8, 14, 12)),  # from +9:00 to +8:30
        ("America/Caracas", datetime(2007, 12, 9, 4)),  # from -4:00 to -4:30
        ("Asia/Kathmandu", datetime(1985, 12, 31, 16)),  # from +5:30 to +5:45
        ("America/New_York", datetime(2013, 11, 3, 3)),
        ("America/New_York", datetime(2013, 3, 10, 3)),
        ("America/Havana", datetime(2013, 11, 3, 1)),
    ],
)
def test_hours_are_right_where_clocks_are_moved(timezone: str, around: datetime) -> None:
    utc = [around + timedelta(minutes=5 * n) for n in range(72)]
    sql = periods.write_period_sql(Column("at", "TIMESTAMP"), "hour", timezone)
    with duckdb.connect() as con:
        con.register("t", pl.DataFrame({"at": utc}))
        found = [name for (name,) in con.execute(f"SELECT {sql} FROM t AS s").fetchall()]
    aware = [at.replace(tzinfo=UTC) for at in utc]
    assert found == [periods.find_period(at, "hour", timezone) for at in aware]
    assert found == sorted(found)
    listed = periods.list_periods(aware[0], aware[-1], "hour", timezone)
    assert listed == list(dict.fromkeys(found))
    ends = [periods.find_end(name, "hour", timezone) for name in listed]
    starts = [periods.find_start(name, timezone) for name in listed]
    assert ends[:-1] == starts[1:]
    zone = ZoneInfo(timezone)
    for at, name in zip(aware, found, strict=True):
        start = periods.find_start(name, timezone)
        assert start <= at < periods.find_end(name, "hour", timezone)
        # All times of an hour have the same hour on the clock.
        assert at.astimezone(zone).hour == start.astimezone(zone).hour


@pytest.mark.parametrize(
    ("timezone", "around"),
    [
        ("Australia/Lord_Howe", datetime(2013, 4, 6)),  # 1:30 to 2:00 comes twice
        ("Asia/Kathmandu", datetime(1985, 12, 31)),
        ("Asia/Kathmandu", datetime(2013, 7, 4)),  # +5:45
        ("America/St_Johns", datetime(2010, 11, 7)),  # back at 0:01, to the day before
        ("America/Havana", datetime(2013, 11, 3)),  # midnight comes twice
        ("America/Sao_Paulo", datetime(2013, 10, 20)),  # there is no midnight
    ],
)
def test_days_are_those_of_the_wall_clock(timezone: str, around: datetime) -> None:
    utc = [around + timedelta(minutes=15 * n) for n in range(-96, 192)]
    sql = periods.write_period_sql(Column("at", "TIMESTAMP"), "day", timezone)
    with duckdb.connect() as con:
        con.register("t", pl.DataFrame({"at": utc}))
        found = [name for (name,) in con.execute(f"SELECT {sql} FROM t AS s").fetchall()]
    zone = ZoneInfo(timezone)
    aware = [at.replace(tzinfo=UTC) for at in utc]
    assert found == [str(at.astimezone(zone).date()) for at in aware]
    assert found == [periods.find_period(at, "day", timezone) for at in aware]
    days = sorted(set(found))
    assert periods.list_periods(aware[0], aware[-1], "day", timezone) == days
    for day, following in pairwise(days):
        assert periods.find_end(day, "day", timezone) == periods.find_start(following, timezone)
    # On each day, just the first instant with its date is its start.
    for at, name in zip(aware, found, strict=True):
        assert at >= periods.find_start(name, timezone).astimezone(UTC)


@pytest.mark.parametrize("text", ["2013-13", "2013-02-30", "2013-1", "1:30", "90", "2013-07-01T25"])
def test_texts_that_are_not_periods_are_refused(text: str) -> None:
    with pytest.raises(RequestError, match="is not a period"):
        periods.check_period_name(text)


@pytest.mark.parametrize("text", ["2013", "2013-07", "2013-07-04", "2013-07-04T05:00Z"])
def test_a_period_and_its_beginning(text: str) -> None:
    periods.check_period_name(text)


def test_dates_and_texts_stand_as_they_are() -> None:
    with duckdb.connect() as con:
        for kind, value in (("DATE", "DATE '2013-07-04'"), ("VARCHAR", "'2013-07-04'")):
            sql = periods.write_period_sql(Column("d", kind), "month", "Asia/Tokyo")
            (found,) = con.execute(f"SELECT {sql} FROM (SELECT {value} AS d) AS s").fetchall()
            assert found == ("2013-07-01",)
    with pytest.raises(RequestError, match="INTEGER"):
        periods.write_period_sql(Column("d", "INTEGER"), "day", None)


@pytest.mark.parametrize(
    ("text", "period"),
    [
        ("2024-03-30 23:30:00 UTC", "2024-03-30T23:00Z"),
        ("2024-03-30 23:30 UTC", "2024-03-30T23:00Z"),
        ("2024-03-30 23:30:00 America/New_York", "2024-03-31T03:00Z"),
        ("2024-03-30 23:30:00 Etc/GMT+5", "2024-03-31T04:00Z"),
        ("2024-03-30T23:30:00.5Z", "2024-03-30T23:00Z"),
        ("2024-03-30 23:30:00+00:00", "2024-03-30T23:00Z"),
        ("2024-03-30T23:30", "2024-03-30T22:00Z"),
        ("2024-03-30 11:30:00 PM", None),
    ],
)
@needs("DuckDB 1 reads fewer texts as times", duckdb="2")
def test_a_text_with_a_zone_is_in_it(text: str, period: str | None) -> None:
    sql = periods.write_period_sql(Column("t", "VARCHAR"), "hour", "Europe/Berlin")
    with duckdb.connect() as con:
        rows = con.sql(f"SELECT {sql} FROM (SELECT $t AS t) AS s", params={"t": text})
        if period is not None:
            assert rows.fetchall() == [(period,)]
            return
        with pytest.raises(duckdb.ConversionException, match="Unknown TimeZone 'PM'"):
            rows.fetchall()


def test_the_periods_between_two_dates() -> None:
    first, last = datetime(2013, 12, 30, tzinfo=UTC), datetime(2014, 1, 2, tzinfo=UTC)
    days = periods.list_periods(first, last, "day", None)
    assert days == [str(date(2013, 12, 30) + timedelta(days=n)) for n in range(4)]
    assert periods.list_periods(first, last, "month", None) == ["2013-12-01", "2014-01-01"]
