"""One cause gives one error, and everything else is evaluated."""

import polars as pl

from tests.support.commands import run
from tests.support.lake import Lake, on, rows


def test_a_column_that_is_missing_is_one_error_in_many_slices(lake: Lake) -> None:
    lake.backfill(by=None, slices=[[], ["seg"], ["key"]])
    part = rows(days=1, start=4).with_columns(p=pl.lit(1.5))
    lake.put(part)
    done = lake.run()
    (error,) = [each for each in done.errors if "in 120 slices" in each]
    assert error.startswith("2026-01-05 in 120 slices: log_loss needs scores in 0 .. 1")
    assert len(done.errors) == 3  # the slices differ in their rows


def test_other_models_of_the_day_are_evaluated(lake: Lake) -> None:
    lake.put(rows().with_columns(q=pl.col("p") / 2))
    lake.backfill(by=None, score={"a": "p", "b": "q"}, slices=[[], ["seg"]])
    rows(days=1, start=4).write_parquet(lake.folder / "preds" / "2026-01-05.parquet")
    done = lake.run()
    assert len(done.errors) == 1
    assert done.errors[0].startswith("2026-01-05 model=b: score='q': no such column")
    found = lake.history().filter(pl.col("error").is_null(), period="2026-01-05")
    assert found.height == (1 + 3) * 2
    assert all('"model":"a"' in text for text in found["slice"])
    alone = lake.run(changes={"score": {"a": "p"}, "history": "alone.duckdb"})
    at = ["slice", "metric"]
    values = alone.rows.sort(at)["value"].to_list()
    assert found.sort(at)["value"].to_list() == values


def test_messages_of_several_jobs_name_them(lake: Lake) -> None:
    lake.job(gates=["roc_auc >= 0.99"])
    other = lake.folder / "other.yml"
    other.write_text((lake.folder / "job.yml").read_text().replace("nightly", "other"))
    first = str(lake.folder / "job.yml")
    done = run("run", first, str(other), "--date", "2026-01-02", code=1)
    lines = [line for line in done.stderr.splitlines() if line]
    assert all(first in line or str(other) in line for line in lines)
    assert f"incident: {other}: roc_auc >= 0.99 failed" in done.stderr
    assert lake.run(date=on("2026-01-02")).has_failed_gate
