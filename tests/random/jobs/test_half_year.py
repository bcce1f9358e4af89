"""Half a year of flights, one run per night: late labels, and one carrier that degrades."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import polars as pl
import yaml

from sqleval.jobs.file.reading import read_job
from sqleval.jobs.file.starter import write_starter
from sqleval.jobs.running.plan import RunOptions
from sqleval.jobs.running.run import Run, open_job_store, run_job

ROOT = Path(__file__).parents[3]
JOB = """\
name: flights
source: predictions
label: delayed
labels: {source: labels, on: key, maturity: 2d}
score: p_boosted
by: carrier
nulls: drop
period: {column: flight_date}
metrics: [roc_auc]
history: history.duckdb
baseline: {from: 2013-07, to: 2013-07}
gates:
  # A single bad day is not a degradation: the weather alone makes some.
  - {check: "drop(roc_auc, baseline) < 0.2", min_rows: 100, in_a_row: 4}
  - {check: age <= 3}
missing: ignore
"""
#: From this day on the scores of one carrier are reversed.
BROKEN, CARRIER = date(2013, 10, 15), "UA"


#: Days before the first run, two before the carrier breaks. Then the job runs each night, and from
#: the 114th day on, the eighth day of the broken carrier, every fourth week.
BEFORE, MONTHLY = 105, 114


def add(folder: Path, flights: pl.DataFrame, labels: pl.DataFrame, today: date) -> None:
    """Add the rows and labels that arrived during a day."""
    flights.filter(flight_date=today).write_parquet(folder / "predictions" / f"{today}.parquet")
    labels.filter(known_on=today).write_parquet(folder / "labels" / f"{today}.parquet")


def add_months(folder: Path, flights: pl.DataFrame, labels: pl.DataFrame, last: date) -> None:
    """Add the arrivals up to a day, a file a month, as each night lists and reads all files."""
    for name, frame, column in (
        ("predictions", flights, "flight_date"), ("labels", labels, "known_on")
    ):  # fmt: skip
        past = frame.filter(pl.col(column) <= last)
        for (month,), part in past.group_by(pl.col(column).dt.strftime("%Y-%m")):
            part.write_parquet(folder / name / f"{month}.parquet")


def night(folder: Path, today: date, *, backfill: bool) -> Run:
    """Run the job at three in the morning after a day."""
    three = datetime(today.year, today.month, today.day, 3, tzinfo=UTC) + timedelta(days=1)
    return run_job(read_job(folder / "job.yml"), RunOptions(as_of=three, backfill=backfill))


def test_half_a_year_night_by_night(tmp_path: Path) -> None:
    for name in ("predictions", "labels"):
        (tmp_path / name).mkdir()
    (tmp_path / "job.yml").write_text(JOB, encoding="utf-8")
    lake = ROOT / "data" / "flights"
    worse = (pl.col("flight_date") >= BROKEN) & (pl.col("carrier") == CARRIER)
    flights = pl.read_parquet(lake / "predictions" / "**" / "*.parquet").select(
        "key", "flight_date", "carrier",
        p_boosted=pl.when(worse).then(1 - pl.col("p_boosted")).otherwise("p_boosted"),
    )  # fmt: skip
    labels = pl.read_parquet(lake / "labels" / "labels.parquet").select(
        "key", "delayed", "known_on"
    )
    days = flights["flight_date"].unique().sort()
    named: dict[date, list[tuple[str, str]]] = {}
    evaluated: list[str] = []
    add_months(tmp_path, flights, labels, days[BEFORE - 1])
    for nth, today in enumerate(days[BEFORE - 1 :], start=BEFORE):
        if nth > BEFORE:
            add(tmp_path, flights, labels, today)
        if nth > MONTHLY and nth % 28 and today != days[-1]:
            continue
        done = night(tmp_path, today, backfill=nth == BEFORE)
        assert not done.errors
        evaluated += [step.period for step in done.decisions if step.action == "evaluate"]
        failed = done.verdicts.filter(status="failed")
        named[today] = failed.select("slice", "since").unique().rows()

    # Only this carrier fails, and not before it breaks. The labels of the first bad day are mature
    # two days later, and the gate waits for a fourth; the day before was bad by chance.
    found = {today: slices for today, slices in named.items() if slices}
    first = min(found)
    assert first <= BROKEN + timedelta(days=2 + 3)
    assert found[first] == [(f'{{"carrier":"{CARRIER}"}}', str(BROKEN - timedelta(days=1)))]
    assert {name for slices in found.values() for name, _ in slices} == {found[first][0][0]}
    assert len(found) > 5
    assert [*found][-3:] == [*named][-3:]

    # The last two days wait for their labels; a day is evaluated again only where labels came
    # later than two days after it.
    assert set(evaluated) == {str(day) for day in days[:-2]}
    assert len(evaluated) < 2 * len(days)

    # The history of nightly runs equals one backfill of the whole half year.
    job = read_job(tmp_path / "job.yml")
    history = open_job_store(job).read("sqleval_history").sort("period", "slice", "metric")
    as_of = datetime(2014, 1, 1, 3, tzinfo=UTC)
    again = run_job(job, RunOptions(as_of=as_of, backfill=True))
    assert {step.action for step in again.decisions} == {"keep"}
    (tmp_path / "history.duckdb").unlink()
    run_job(job, RunOptions(as_of=as_of, backfill=True))
    whole = open_job_store(job).read("sqleval_history").sort("period", "slice", "metric")
    same = ["period", "slice", "metric", "n", "n_dropped", "note", "matured", "fingerprint"]
    # Days are counted before their labels come; the backfill counts only days that still wait.
    is_early = pl.col("metric").str.starts_with("arrived")
    assert {*whole.filter(is_early)["period"]} == {str(day) for day in days[-2:]}
    whole, history = (each.filter(~is_early) for each in (whole, history))
    assert whole.select(same).equals(history.select(same))
    assert (whole["value"] - history["value"]).abs().max() < 1e-12  # type: ignore[operator]


def test_the_starter_is_quiet_for_half_a_year(tmp_path: Path) -> None:
    job = tmp_path / "job.yml"
    job.write_text(write_starter(str(ROOT / "data/flights/predictions"), job), encoding="utf-8")
    as_of = datetime(2014, 1, 1, 3, tzinfo=UTC)
    done = run_job(read_job(job), RunOptions(as_of=as_of, backfill=True))
    assert done.verdicts["period"].n_unique() == 184

    def count_red(of: Run, *gates: str) -> int:
        failed = of.verdicts.filter(pl.col("gate").is_in(gates or of.verdicts["gate"].implode()))
        return failed.filter(status="failed")["period"].n_unique()

    assert count_red(done) <= 1
    # A limit for single days fails on every third day, and for carriers on nearly every one.
    spec = yaml.safe_load(job.read_text(encoding="utf-8"))
    limits = (({"check": "roc_auc >= 0.6", "min_rows": 500}, 50), ("roc_auc >= 0.6", 150))
    spec["gates"] = [gate for gate, _ in limits]
    job.write_text(yaml.safe_dump(spec), encoding="utf-8")
    done = run_job(read_job(job), RunOptions(as_of=as_of, backfill=True))
    for name, (_, least) in zip(read_job(job).gate_names, limits, strict=True):
        assert count_red(done, name) > least
