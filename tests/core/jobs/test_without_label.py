"""Jobs over a column without a label: default metrics, gates, models and states."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.support.commands import Done, run

JOB = """
name: judged
source: rows.parquet
{roles}
slices: [[], [topic]]
period: {{column: day, grain: day}}
ci: 0.95
history: history.duckdb
gates: [{gate}]
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    random = np.random.default_rng(4)
    pl.DataFrame(
        {
            "passed": random.random(400) < 0.8,
            "other": random.random(400) < 0.7,
            "topic": ["law", "math"] * 200,
            "day": [f"2026-01-0{1 + i // 200}" for i in range(400)],
        }
    ).write_parquet(tmp_path / "rows.parquet")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_job(roles: str, gate: str = "share >= 0.5", *, code: int = 0) -> Done:
    Path("job.yml").write_text(JOB.format(roles=roles, gate=gate))
    return run("run", "job.yml", "--backfill", code=code)


def read_history() -> pl.DataFrame:
    return pl.read_csv(run("history", "history.duckdb", "--format", "csv").stdout.encode())


@pytest.mark.parametrize("states", ["", "\nstates: states"])
def test_the_default_metrics_are_kept_and_judged(states: str) -> None:
    run_job(f"value: passed{states}")
    history = read_history()
    rows = pl.read_parquet("rows.parquet")
    expected = rows.group_by("day").agg(pl.col("passed").mean()).sort("day")["passed"].to_list()
    for metric in ("mean", "share"):
        whole = history.filter(pl.col("topic").is_null(), metric=metric).sort("period")
        assert whole["value"].to_list() == pytest.approx(expected)
    run_job(f"value: passed{states}", "{check: share >= 0.9, on: low}", code=1)


def test_models_and_expressions() -> None:
    run_job("value: {a: passed, b: 'other = TRUE'}", "mean >= 0.5")
    history = read_history().filter(pl.col("topic").is_null(), metric="share")
    assert history.height == 4
    rows = pl.read_parquet("rows.parquet")
    found = history.group_by("model").agg(pl.col("value").mean()).sort("model")["value"]
    assert found.to_list() == pytest.approx([rows["passed"].mean(), rows["other"].mean()])


def test_a_median_of_states_is_refused() -> None:
    done = run_job("value: passed\nmetrics: [median]\nstates: states", "median >= 0", code=2)
    assert "median needs every value, and a state holds sums" in done.stderr
