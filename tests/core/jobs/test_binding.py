"""The rows of a job's periods, and their slices by several sets of keys."""

from collections import Counter
from datetime import UTC, date, datetime, timedelta

import polars as pl
import pytest

from sqleval.common.periods import Grain, find_period, find_start
from sqleval.history.store import FILES
from sqleval.jobs.binding import bind_periods
from sqleval.jobs.periods.counting import read_lake
from tests.support.comparison import assert_frame_equal
from tests.support.lake import Lake, rows, steps

_TIMES = [pl.Datetime("us"), pl.Datetime("us", "UTC")]


@pytest.mark.parametrize(
    ("grain", "zone", "kind"),
    [
        (grain, zone, kind)
        for grain, zones in {
            "day": [None], "week": ["UTC"], "month": ["America/New_York"],
            "hour": [None, "Asia/Kolkata"],
        }.items()
        for zone in zones
        for kind in ([*_TIMES, pl.Date] if grain != "hour" else _TIMES)
    ],
)  # fmt: skip
def test_rows_at_the_ends_of_a_period(
    lake: Lake, grain: Grain, zone: str | None, kind: pl.DataType
) -> None:
    # In these months New York has summer time from 10 March to 3 November.
    starts = [find_start(name, zone) for name in ("2013-03-01", "2013-03-04", "2013-11-01")]
    starts += [datetime(2013, 3, 10, hour, tzinfo=UTC) for hour in range(3)]
    # Dates are local, and so are times without a zone if the job has none.
    is_local = kind == pl.Date or (kind == pl.Datetime("us") and zone is None)
    near = [at + timedelta(microseconds=us) for at in starts for us in (-1, 0, 1)]
    at = [each.replace(tzinfo=None) if is_local else each.astimezone(UTC) for each in near]
    column = pl.Series("at", [each.replace(tzinfo=None) for each in at]).cast(pl.Datetime("us"))
    if kind == pl.Datetime("us", "UTC"):
        column = column.dt.replace_time_zone("UTC")
    frame = pl.DataFrame({"y": [0, 1, 1] * len(starts), "p": 0.5, "at": column.cast(kind)})
    frame.write_parquet(lake.folder / "preds" / "all.parquet")
    for path in lake.folder.glob("preds/2*.parquet"):
        path.unlink()
    expected = Counter(
        find_period(each.replace(tzinfo=UTC), grain, None) if is_local
        else find_period(each.replace(tzinfo=each.tzinfo or UTC), grain, zone)
        for each in at
    )  # fmt: skip
    job = lake.job(by=[], period={"column": "at", "grain": grain, "timezone": zone})
    listed = read_lake(job, pl.DataFrame(schema=FILES))
    assert {period: listed.count_rows(period) for period in listed.periods} == expected
    for period, n in expected.items():
        bound = bind_periods(job, listed, [period], [[]]).evaluate("prevalence").collect()
        assert bound.select(pl.nth(0).cast(pl.String), "n").rows() == [(period, n)]


def test_a_slice_that_fails_among_several_sets_of_keys(lake: Lake) -> None:
    bad = (pl.col("day") == date(2026, 1, 2)) & (pl.col("seg") == "b")
    # One day fails, and another does not.
    for day in (3, 4):
        (lake.folder / "preds" / f"2026-01-0{day}.parquet").unlink()
    frame = rows(days=2).with_columns(half=pl.int_range(240) % 2)
    lake.put(frame.with_columns(p=pl.when(bad).then(1.5).otherwise("p")))
    sets = [["seg"], [], ["half", "seg"]]
    lake.run(changes={"by": None, "slices": sets}, backfill=True)
    together = lake.history().sort("period", "slice", "metric")
    failed = together.filter(pl.col("error").is_not_null())
    assert set(failed.select("period", "slice").iter_rows()) == {
        ("2026-01-02", text)
        for text in ("{}", '{"seg":"b"}', '{"half":0,"seg":"b"}', '{"half":1,"seg":"b"}')
    }
    assert together.height == 2 * 2 * (3 + 1 + 6)
    for keys in sets:
        (lake.folder / "history.duckdb").unlink()
        lake.run(changes={"slices": [keys]}, backfill=True)
        alone = lake.history().sort("period", "slice", "metric")
        columns = ["period", "slice", "metric", "value", "n"]
        here = together.select(columns).join(alone, on=["period", "slice"], how="semi")
        assert_frame_equal(here, alone.select(columns))


@pytest.mark.parametrize("kind", [*_TIMES, pl.Date, pl.String])
def test_a_day_that_clocks_skip_loses_no_rows(lake: Lake, kind: pl.DataType) -> None:
    """In Apia 2011-12-31 followed 2011-12-29."""
    for path in lake.folder.glob("preds/2*.parquet"):
        path.unlink()
    zone = "Pacific/Apia"
    first, last = (find_start(name, zone).astimezone(UTC) for name in ("2011-12-28", "2012-01-02"))
    hours = int((last - first) / timedelta(hours=1))
    at = pl.Series("at", [first + timedelta(hours=n) for n in range(hours)])
    local = at.dt.convert_time_zone(zone)
    column = {
        str(pl.Date): local.dt.date(),
        str(pl.String): local.dt.strftime("%Y-%m-%dT%H:%M:%S%:z"),
        str(_TIMES[0]): at.dt.replace_time_zone(None),
    }.get(str(kind), at)
    frame = pl.DataFrame({"y": pl.int_range(hours, eager=True) % 2, "p": 0.5, "at": column})
    frame.write_parquet(lake.folder / "preds" / "all.parquet")
    changes = {"by": None, "period": {"column": "at", "timezone": zone}, "gates": ["rows >= 24"]}
    names = ["2011-12-28", "2011-12-29", "2011-12-31", "2012-01-01"]
    for day in names:  # each one is the last period that is over, so that the age is 0
        night = find_start(day, zone).astimezone(UTC) + timedelta(hours=27)
        done = lake.run(as_of=night, changes={**changes, "gates": ["age <= 0", "rows >= 24"]})
        assert (done.errors, done.has_failed_gate) == ([], False)
        assert steps(done)[day] == "evaluate"
    (lake.folder / "history.duckdb").unlink()
    done = lake.run(as_of=last, backfill=True)
    found = lake.history().filter(metric="roc_auc").select("period", "n").sort("period")
    assert found.rows() == [(name, 24) for name in names]


def test_rows_that_get_lost_are_an_error(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "sqleval.jobs.binding._write_time_range", lambda *_: ("s.key % 4 = 0", True)
    )
    done = lake.run()
    assert done.errors == [
        "2026-01-04 all rows: the results are of 30 rows, and the files have 120 of this period"
    ]


@pytest.mark.parametrize("zone", ["America/New_York", "Australia/Lord_Howe"])
def test_local_times_of_the_doubled_hour_are_one_period(lake: Lake, zone: str) -> None:
    for path in lake.folder.glob("preds/2*.parquet"):
        path.unlink()
    day = "2013-11-03" if zone == "America/New_York" else "2013-04-07"
    times = [f"{day}T{n // 4:02}:{n % 4 * 15:02}" for n in range(24)]
    frame = pl.DataFrame({"y": [0, 1] * 12, "p": [0.2, 0.7] * 12, "at": times})
    frame.write_parquet(lake.folder / "preds" / "all.parquet")
    period = {"column": "at", "timezone": zone, "grain": "hour"}
    done = lake.run(backfill=True, changes={"by": None, "period": period})
    assert done.errors == []
    counts = lake.history().filter(metric="roc_auc")["n"]
    assert counts.to_list() == [4] * 6
