"""Streams are read batch by batch, once, and only in the columns that are needed."""

import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import deltalake
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from polars.io.plugins import register_io_source

import sqleval
from sqleval import SourceError
from tests.support.flights import METRICS, ROLES, ROWS
from tests.support.sources import as_reader
from tests.support.versions import needs


def counted(batches: int, rows: int) -> tuple[pl.LazyFrame, dict[str, Any]]:
    """Return a LazyFrame made of batches, and a record of how it is read.

    The batches share the memory of NumPy arrays, so an array is freed only when every engine
    has released its batch.
    """
    seen: dict[str, Any] = {"reads": 0, "alive": 0, "peak": 0, "columns": set()}
    lock = threading.Lock()

    def died() -> None:
        with lock:
            seen["alive"] -= 1

    def read(
        columns: list[str] | None, predicate: pl.Expr | None, limit: int | None, size: int | None
    ) -> Iterator[pl.DataFrame]:
        seen["reads"] += 1
        seen["columns"] |= set(columns or ["all"])
        for i in range(batches):
            score = np.random.default_rng(i).random(rows)
            weakref.finalize(score, died)
            with lock:
                seen["alive"] += 1
                seen["peak"] = max(seen["peak"], seen["alive"])
            table = pa.table({"p": pa.array(score)})
            del score
            frame = pl.DataFrame(pl.from_arrow(table)).with_columns(
                y=(pl.int_range(pl.len()) % 3 == 0).cast(pl.Int8), wide=pl.lit("x" * 100)
            )
            del table
            frame = frame if predicate is None else frame.filter(predicate)
            yield frame.select(columns) if columns is not None else frame
            del frame

    schema = {"p": pl.Float64, "y": pl.Int8, "wide": pl.String}
    return register_io_source(read, schema=schema), seen


@needs("Polars 1 and DuckDB 1 read further ahead", polars="2", duckdb="2")
def test_a_lazy_frame_is_streamed_and_only_what_is_needed_is_read() -> None:
    lazy, seen = counted(batches=200, rows=2_000)
    result = sqleval.scan(lazy, label="y", score="p").evaluate(["log_loss", "precision"])
    assert seen["reads"] == 0
    got = result.collect()
    assert got["n"].to_list() == [400_000, 400_000]
    assert seen["columns"] == {"p", "y"}
    assert seen["reads"] == 1
    assert 0 < seen["peak"] < 100
    result.collect()
    assert seen["reads"] == 2


def test_a_lazy_frame_is_read_once_however_many_metrics_share_it() -> None:
    lazy, seen = counted(batches=3, rows=1000)
    bound = sqleval.scan(lazy, label="y", score="p")
    got = bound.evaluate().collect()
    assert got.height == 12
    assert seen["reads"] == 1


def test_an_error_inside_a_lazy_frame_is_raised_and_leaves_the_next_read_working() -> None:
    frame = pl.DataFrame({"y": ["0", "1", "x"], "p": [0.1, 0.9, 0.5]})
    broken = frame.lazy().with_columns(pl.col("y").cast(pl.Int64))
    with pytest.raises(sqleval.SqlevalError, match="conversion from `str` to `i64` failed"):
        sqleval.scan(broken, label="y", score="p").evaluate("roc_auc").collect()
    sound = frame[:2].lazy().with_columns(pl.col("y").cast(pl.Int64))
    got = sqleval.scan(sound, label="y", score="p").evaluate("roc_auc").collect()
    assert got["value"].item() == 1


def test_a_failed_stream_is_not_taken_for_its_end(tmp_path: Path) -> None:
    # A torn file that Polars panics over; its own stream of batches ends as if all were read.
    deltalake.write_deltalake(tmp_path, ROWS.to_arrow())
    (file,) = tmp_path.glob("*.parquet")
    file.write_bytes(b"torn")
    for metrics in ("roc_auc", METRICS):
        result = sqleval.scan(tmp_path, **ROLES).evaluate(metrics)
        with pytest.raises(sqleval.SqlevalError, match="cannot read "):
            result.collect()


def test_a_reader_is_read_once() -> None:
    bound = sqleval.scan(as_reader(Path())["source"], **ROLES)
    result = bound.evaluate(METRICS)
    result.collect()
    for again in (result, bound.evaluate("roc_auc"), bound.curve("roc")):
        with pytest.raises(SourceError, match="this RecordBatchReader has been read, and it can"):
            again.collect()


def test_a_dataset_reads_only_the_columns_it_needs(tmp_path: Path) -> None:
    # The second file's `carrier` cannot be read as text, but this call does not read it.
    ROWS.write_parquet(tmp_path / "1.parquet")
    ROWS.with_columns(carrier=pl.struct("key")).write_parquet(tmp_path / "2.parquet")
    source = ds.dataset(tmp_path, format="parquet")
    got = sqleval.scan(source, label="delayed", score="p").evaluate("roc_auc").collect()
    assert got["n"].item() == 2 * ROWS.height


def test_a_dataset_of_many_files_is_not_held_in_memory(tmp_path: Path) -> None:
    # PyArrow alone would hold what it has read ahead, up to a gibibyte.
    size, files = 100_000, 40
    path = str(tmp_path / "rows.parquet")
    pl.select(y=pl.int_range(size) % 2, p=pl.int_range(size) / size).write_parquet(path)
    script = """
import sys, pyarrow as pa, pyarrow.dataset as ds, sqleval
dataset = ds.dataset([sys.argv[1]] * int(sys.argv[2]))
found = sqleval.scan(dataset, label="y", score="p").evaluate("roc_auc", bins=8).collect()
print(found["n"].item(), pa.default_memory_pool().max_memory())
"""
    # A separate process, whose peak of memory no other test has raised.
    done = subprocess.run(
        [sys.executable, "-c", script, path, str(files)], capture_output=True, text=True, check=True
    )
    n, memory = map(int, done.stdout.split())
    assert n == files * size
    # How many files are read at a time varies; each takes two columns of eight bytes.
    assert memory < files * size * 16 / 4
