"""A job over many labels whose labels come later, with slices, gates and a history."""

from pathlib import Path

import polars as pl
import pytest

import sqleval
from tests.support.commands import run
from tests.support.many_labels import ROLES, make_rows

JOB = """
name: late
source: scores/*.parquet
label: {a: y_a, b: y_b, c: y_c}
score: {a: p_a, b: p_b, c: p_c}
labels: {source: labels.parquet, on: id, maturity: 0d}
period: {column: day}
slices: [[], [g]]
metrics: ["f1(average='samples')", "f1(average=None)", hamming_loss]
history: history.duckdb
gates:
  - f1(average='samples') >= 0.2
  - hamming_loss <= 0.01
"""


def test_each_day_has_the_values_of_its_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = make_rows().with_columns(day=pl.date(2026, 1, 1) + pl.duration(days=pl.col("id") // 60))
    Path("scores").mkdir()
    for (day,), part in rows.partition_by("day", as_dict=True).items():
        part.drop("^y_.$").write_parquet(f"scores/{day}.parquet")
    rows.select("id", "^y_.$").write_parquet("labels.parquet")
    Path("job.yml").write_text(JOB, encoding="utf-8")
    done = run("run", "job.yml", "--backfill", code=1)
    assert "2 evaluated, gates: 6 passed, 6 failed" in done.stdout + done.stderr
    shown = run("history", "job.yml", "--format", "json").stdout
    history = pl.read_json(shown.encode())
    metrics = ["f1(average='samples')", "f1(average=None)", "hamming_loss"]
    for (day,), part in rows.partition_by("day", as_dict=True).items():
        want = sqleval.scan(part, **ROLES, by="g", sets="overall").evaluate(metrics).collect()
        found = history.filter(pl.col("period") == str(day))
        for row in want.iter_rows(named=True):
            (value,) = found.filter(
                pl.col("metric") == row["metric"],
                pl.col("g").eq_missing(row["g"]),
                pl.col("class").eq_missing(row["class"]),
            )["value"]
            assert value == pytest.approx(row["value"], abs=1e-12)
