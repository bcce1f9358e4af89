"""The counts of `sqleval.drift` are in tables that DuckDB spills to disk and then drops."""

import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from scipy.stats import ks_2samp, wasserstein_distance

import sqleval
from sqleval.engines import process
from sqleval.errors import DataError, RequestError
from tests.support.comparison import assert_frame_equal

#: Compute the drift of more scores than the memory limit holds; print values and memory.
LIMITED = """
import json, resource, sys
import sqleval
sqleval.configure(memory_limit="50MB", threads=1, temp_directory="spill")
def measure_peak():
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
sqleval.drift("small.parquet", "small.parquet", score="p")
before = measure_peak()
found = sqleval.drift("old.parquet", "new.parquet", score="p")
print(json.dumps([dict(found.select("metric", "value").rows()), measure_peak() - before]))
"""
#: A join whose rows do not fit in memory, which fails only after the first rows were read.
FAILS_LATE = """
import polars as pl
import sqleval
from sqleval.engines.embedded import embedded
from sqleval.sources.source import Source
sqleval.configure(memory_limit="10MB", threads=1, temp_directory="spill")
sql = '''SELECT a.i, b.i AS j
FROM (SELECT i, RANDOM() AS r FROM RANGE(3000000) AS t(i)) AS a
JOIN (SELECT i FROM RANGE(2000000) AS t(i)) AS b ON a.i = b.i'''
try:
    embedded().run(sql, {}, [Source("rows", label="rows")], {}, pl.DataFrame)
except sqleval.EngineError as error:
    print(error)
"""
ROWS = pl.DataFrame({"p": [0.1, 0.2, 0.2, 0.7], "g": ["a", "a", "b", None]})
LATER = pl.DataFrame({"p": [0.2, 0.3, 0.6, 0.9], "g": ["a", "b", "b", None]})


def run_script(script: str, folder: Path) -> str:
    (folder / "spill").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="no module resource")
def test_drift_stays_within_the_memory_limit(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    old, new = rng.normal(size=600_000), rng.normal(0.1, 1.1, 600_000)
    for name, scores in (("old", old), ("new", new), ("small", old[:10])):
        pl.DataFrame({"p": scores}).write_parquet(tmp_path / f"{name}.parquet")
    values, grown = json.loads(run_script(LIMITED, tmp_path))
    assert values["ks"] == pytest.approx(ks_2samp(old, new, method="asymp").statistic, rel=1e-12)
    assert values["wasserstein"] == pytest.approx(wasserstein_distance(old, new), rel=1e-9)
    # Counts in memory would take 250 MB.
    assert grown < 150
    assert not any((tmp_path / "spill").rglob("*"))


def test_memory_that_ends_while_rows_are_read_is_an_error_of_one_line(tmp_path: Path) -> None:
    message = run_script(FAILS_LATE, tmp_path)
    assert message.startswith("DuckDB ran out of memory over rows: ")
    assert "raise --memory-limit" in message
    assert message.count("\n") == 1
    assert "Error" not in message


def list_tables() -> list[Any]:
    with closing(process.cursor()) as con:
        return con.execute("SELECT table_name FROM duckdb_tables() WHERE NOT internal").fetchall()


def test_samples_of_a_users_connection() -> None:
    expected = sqleval.drift(ROWS, LATER, score="p", by="g")
    with duckdb.connect() as con:
        con.register("new_frame", LATER)
        con.execute("CREATE TEMP TABLE new AS FROM new_frame")
        for current in (con.table("new"), con.sql("SELECT p, g FROM new")):
            assert_frame_equal(sqleval.drift(ROWS, current, score="p", by="g"), expected)
            assert_frame_equal(
                sqleval.drift(current, current, "psi", score="p").select("value"),
                pl.DataFrame({"value": [0.0]}),
            )
        old = sqleval.scan(ROWS.with_columns(y=pl.lit(1)), label="y", score="p", by="g")
        query = "SELECT *, 1 AS y FROM new"
        new = sqleval.scan(query=query, label="y", score="p", by="g", con=con)
        found = sqleval.drift(old, new).filter(pl.col("distribution") != "label")
        assert_frame_equal(found, expected)
        assert con.execute("SELECT table_name FROM duckdb_tables()").fetchall() == [("new",)]
    assert list_tables() == []


def test_tables_are_gone_after_an_error() -> None:
    wrong = LATER.with_columns(w=-1.0)
    with pytest.raises(DataError, match="current: 4 rows with a weight"):
        sqleval.drift(ROWS.with_columns(w=1.0), wrong, score="p", weight="w")
    with pytest.raises(RequestError, match="by='g' is of type"):
        sqleval.drift(ROWS, LATER.with_columns(g=1.5), score="p", by="g")
    assert list_tables() == []


@pytest.mark.parametrize("kind", [pl.Null, pl.String, pl.Int64, pl.Date, pl.Boolean])
def test_a_key_that_no_row_has(kind: Any) -> None:
    none = {side: rows.with_columns(g=pl.lit(None, kind)) for side, rows in
            (("old", ROWS), ("new", LATER))}  # fmt: skip
    both = sqleval.drift(none["old"], none["new"], "ks", score="p", by="g")
    whole = sqleval.drift(ROWS, LATER, "ks", score="p")
    assert both["g"].to_list() == [None]
    assert both["value"].to_list() == whole["value"].to_list() == [0.5]
    for old, new, n in ((none["old"], LATER, (4, 1)), (ROWS, none["new"], (1, 4))):
        found = sqleval.drift(old, new, "ks", score="p", by="g")
        assert found["g"].to_list() == ["a", "b", None]
        row = found.filter(pl.col("g").is_null())
        assert row.select("n_reference", "n_current").row(0) == n
        assert found["value"].null_count() == 2
