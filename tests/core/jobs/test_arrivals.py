"""Rows are checked on the day they arrive, not only after their labels mature."""

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from sqleval.jobs.running.run import Run
from tests.support.commands import run
from tests.support.lake import Lake, evaluated, on, rows, steps


def night(day: int) -> datetime:
    return datetime(2026, 1, day, 3, tzinfo=UTC)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Four days whose labels take a week; the job has seen three of them."""
    made = Lake(tmp_path)
    made.put(rows(days=3).drop("y"))
    rows(days=9).select("key", "y").write_parquet(tmp_path / "labels.parquet")
    labels = {"source": "labels.parquet", "on": "key", "maturity": "7d"}
    made.job(labels=labels, by=None, slices=[[], ["seg"]], gates=["rows >= 35"], nulls="error")
    made.run(as_of=night(4))
    return made


def arrive(lake: Lake, **columns: Any) -> Run:
    """Run the job in the night after a fourth day has come."""
    lake.put(rows(days=1, start=3).drop("y").with_columns(**columns))
    return lake.run(as_of=night(5))


def test_good_rows_are_counted_once(lake: Lake) -> None:
    done = arrive(lake)
    assert steps(done) == {"2026-01-04": "check"}
    assert (done.errors, done.has_failed_gate) == ([], False)
    found = done.rows.select("metric", "slice", "value", "n")
    assert {*found.rows()} == {
        ("arrived(rows)", keys, float(n), n)
        for keys, n in [("{}", 120), *((f'{{"seg":"{seg}"}}', 40) for seg in "abc")]
    }
    again = lake.run(as_of=night(5))
    assert steps(again) == {"2026-01-04": "keep"}
    assert again.rows.is_empty()


TOO_HIGH = pl.when(pl.col("key") == 360).then(1.5).otherwise("p")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"p": pl.col("p").cast(pl.String)}, "score='p' must be a number and is VARCHAR"),
        ({"p": TOO_HIGH}, "log_loss needs scores in 0 .. 1; score='p' is outside in 1 of 120 rows"),
        ({"p": pl.when(pl.col("key") > 361).then("p")}, "score='p' is missing in 2 of 120 rows"),
    ],
)
def test_wrong_rows_fail_in_their_night(
    lake: Lake, columns: dict[str, pl.Expr], message: str
) -> None:
    if "1.5" in str(columns["p"]):
        lake.job(slices=[[]])
    for _ in range(2):  # also if nothing has changed since
        done = arrive(lake, **columns)
        assert any(message in error for error in done.errors), done.errors
        assert all(error.startswith("2026-01-04 ") for error in done.errors)
    mended = arrive(lake, p=pl.col("key") / 1000)
    assert mended.errors == []
    assert lake.history()["error"].null_count() == lake.history().height


@pytest.mark.parametrize("column", ["p", "seg", "key"])
def test_a_missing_column_fails_in_its_night(lake: Lake, column: str) -> None:
    frame = rows(days=1, start=3).drop("y", column)
    frame.write_parquet(lake.folder / "preds" / "2026-01-04.parquet")
    done = lake.run(as_of=night(5))
    assert any(f"={column!r}" in error or repr(column) in error for error in done.errors)


def test_too_few_rows_fail_in_their_night(lake: Lake) -> None:
    lake.put(rows(days=1, each=90, start=3).drop("y").with_columns(day=date(2026, 1, 4)))
    done = lake.run(as_of=night(5))
    failed = done.verdicts.filter(status="failed").select("gate", "period", "value").rows()
    assert failed == [("rows >= 35", "2026-01-04", 30.0)] * 3
    assert lake.run(as_of=night(5)).has_failed_gate
    # The number of rows is compared with earlier days, labelled or not.
    gate = {"check": "rows >= previous 3 * 0.8", "by": []}
    done = lake.run(as_of=night(5), changes={"gates": [gate]})
    (verdict,) = done.verdicts.filter(status="failed").to_dicts()
    assert (verdict["value"], verdict["limit"]) == (90.0, 96.0)


def test_a_date_that_is_not_due_is_an_error_that_says_when_it_is(lake: Lake) -> None:
    path = str(lake.folder / "job.yml")
    done = run("run", path, "--date", "2026-01-02", "--as-of", "2026-01-05", code=3)
    assert "error: 2026-01-02 is not due: labels mature until 2026-01-10 00:00" in done.stderr
    done = run("run", path, "--date", "2026-01-05", "--as-of", "2026-01-05T12:00", code=3)
    assert "error: 2026-01-05 is not due: labels mature until 2026-01-13 00:00" in done.stderr
    lake.put(rows(days=1))
    lake.job(labels=None, gates=None)
    done = run("run", path, "--date", "2026-01-01", "--as-of", "2026-01-01T12:00", code=3)
    assert "error: 2026-01-01 is not due: not over until 2026-01-02 00:00" in done.stderr
    assert evaluated_on(lake, "2026-01-01") == {"2026-01-01": "evaluate"}


def evaluated_on(lake: Lake, day: str) -> dict[str, str]:
    return steps(lake.run(date=on(day)))


@pytest.mark.parametrize("change", ["classes", "models", "ranking", "weights"])
def test_other_tasks_are_counted_as_well(lake: Lake, change: str) -> None:
    changes: dict[str, Any] = {
        "classes": {"score": None, "prediction": "seg", "metrics": ["accuracy"], "slices": [[]]},
        "models": {"score": {"a": "p", "b": "q"}, "slices": [["seg"]]},
        "ranking": {"qid": "seg", "metrics": ["ndcg"], "slices": [[]]},
        "weights": {"weight": "q", "slices": [[]]},
    }[change]
    lake.put(rows(days=4).drop("y").with_columns(q=pl.col("p") / 2))
    labels = rows(days=9).select("key", y=pl.col("seg") if change == "classes" else pl.col("y"))
    labels.write_parquet(lake.folder / "labels.parquet")
    done = lake.run(as_of=night(5), changes={**changes, "history": "other.duckdb"})
    assert done.errors == []
    assert set(steps(done).values()) == {"check"}
    assert done.rows["n"].unique().to_list() == [40 if change == "models" else 120]
    assert done.rows.height == 4 * (6 if change == "models" else 1)
    mature = lake.run(as_of=night(30), backfill=True)
    assert mature.errors == []


def test_periods_that_were_checked_are_evaluated_though_the_first_nights_were_missed(
    lake: Lake,
) -> None:
    lake.put(rows(days=1, start=1).drop("y", "p"))
    assert len(lake.run(as_of=night(5)).errors) == 1
    # Skip all runs from the fifth on, until the labels of all days are mature.
    done = lake.run(as_of=night(20))
    assert [f"2026-01-0{day}" for day in (1, 2, 3)] == evaluated(done)
    (error,) = done.errors
    assert error.startswith("2026-01-02 all rows: score='p': no such column")
