"""A history that release 0.1 stored in PostgreSQL can be read and added to."""

import json
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import psycopg
import pytest

from sqleval.history.store import TABLES
from sqleval.jobs.file.reading import read_job
from sqleval.jobs.run import open_job_store
from tests.core.jobs import test_stored as files
from tests.core.jobs.test_stored import again
from tests.support.engines import PostgreSQL

stored = files.stored


@pytest.fixture(scope="module")
def server() -> Iterator[PostgreSQL]:
    with PostgreSQL() as running:
        yield running


def test_a_history_in_postgresql_is_read_and_added_to(stored: Path, server: PostgreSQL) -> None:
    with psycopg.connect(server.url, autocommit=True) as con:
        con.execute("DROP TABLE IF EXISTS " + ", ".join(TABLES))
        con.execute((stored / "history.sql").read_text(encoding="utf-8"))
    file = stored / "default.yml"
    here = open_job_store(read_job(file)).read("sqleval_history", "default")
    job = file.read_text(encoding="utf-8").replace("history.duckdb", json.dumps(server.url))
    file.write_text(job.partition("states:")[0], encoding="utf-8")
    files.test_nothing_is_evaluated_again(stored, "default")
    store = open_job_store(read_job(file))
    stable = ["period", "slice", "metric", "parameters", "n", "note", "fingerprint"]
    before = store.read("sqleval_history", "default").sort("period", "slice", "metric")
    assert before.select(stable).equals(here.sort("period", "slice", "metric").select(stable))
    # A number that changes is kept as restated, in a table that release 0.1 did not have.
    rows = pl.read_parquet(stored / "whole" / "1.parquet")
    rows.with_columns(p=1 - pl.col("p")).write_parquet(stored / "whole" / "1.parquet")
    done = again(stored, "default")
    assert [step.period for step in done.decisions if step.action != "keep"] == ["2026-01-01"]
    restated = store.read("sqleval_restated", "default")
    assert set(restated["period"]) == {"2026-01-01"}
    after = store.read("sqleval_history", "default").sort("period", "slice", "metric")
    others = pl.col("period") != "2026-01-01"
    assert after.filter(others).equals(before.filter(others))
    assert not after["value"].equals(before["value"])
