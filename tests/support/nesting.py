"""Collects many results at once over every kind of stream.

``python -m tests.support.nesting CASE [URL]`` ends with the number of results that it checked. It
is a process of its own, which can be stopped if a case would wait for ever; see
``tests/core/frontend/test_nesting.py``.
"""

import asyncio
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow.dataset as ds

import sqleval

ROWS = pl.DataFrame({"y": [0, 1, 0, 1] * 5_000, "p": [i / 20_000 for i in range(20_000)]})
ROWS = ROWS.with_columns(g=(pl.int_range(pl.len()) % 7).cast(pl.String))
FRAMES = 20


def open_sources(folder: Path, url: str | None) -> list[Any]:
    """Return one source of each kind; with a URL also the objects there."""
    ROWS.write_parquet(folder / "rows.parquet", row_group_size=2_000)
    ROWS.write_csv(folder / "rows.csv")
    ROWS.write_ipc(folder / "rows.arrow")
    con = duckdb.connect()
    con.register("rows", ROWS.to_arrow())
    sources: list[Any] = [
        ROWS.lazy(),
        pl.scan_parquet(folder / "rows.parquet"),
        pl.scan_csv(folder / "rows.csv", schema_overrides={"g": pl.String}),
        ds.dataset(folder / "rows.parquet"),
        ds.dataset(folder / "rows.csv", format="csv"),
        folder / "rows.parquet",
        folder / "rows.arrow",
        con.sql("FROM rows"),
        ROWS,
    ]
    return sources + ([url] if url else [])


def evaluate(source: Any) -> pl.LazyFrame:
    """Return the result frame of a source by slice."""
    return sqleval.scan(source, label="y", score="p", by="g").evaluate(["roc_auc", "accuracy"])


def evaluate_result(source: Any) -> pl.LazyFrame:
    """Return the result of rows that are themselves computed from a result."""
    values = evaluate(source).filter(metric="accuracy").select("g", a="value")
    rows = ROWS.lazy().join(values.with_columns(pl.col("g").cast(pl.String)), on="g")
    return evaluate(rows.with_columns(p=pl.col("p") * pl.col("a")))


def check(frames: list[pl.DataFrame]) -> None:
    """Check that all results have the same number of rows, and each its values."""
    for frame in frames:
        assert frame.height == 14, frame
        assert frame["value"].null_count() == 0
        assert frame["n"].sum() == 2 * ROWS.height


def repeat(sources: list[Any], times: int = FRAMES) -> list[Any]:
    """Return a number of sources, taken in turn."""
    return [sources[i % len(sources)] for i in range(times)]


def collect_all(sources: list[Any], engine: Any) -> int:
    """Collect twenty results in one call."""
    frames = pl.collect_all([evaluate(source) for source in repeat(sources)], engine=engine)
    check(frames)
    return len(frames)


def collect_nested(sources: list[Any], engine: Any) -> int:
    """Collect results of results, one by one and in one call."""
    frames = [evaluate_result(source) for source in sources]
    check([frame.collect(engine=engine) for frame in frames])
    check(pl.collect_all(frames, engine=engine))
    return 2 * len(frames)


def collect_async(sources: list[Any], engine: Any) -> int:
    """Collect ten results in an event loop."""

    async def gather() -> list[pl.DataFrame]:
        frames = [evaluate_result(source) for source in repeat(sources, 10)]
        return await asyncio.gather(*(frame.collect_async(engine=engine) for frame in frames))

    frames = asyncio.run(gather())
    check(frames)
    return len(frames)


def collect_in_threads(sources: list[Any], engine: Any) -> int:
    """Collect results of results in eight threads."""
    with ThreadPoolExecutor(8) as pool:
        work = [evaluate_result(source) for source in repeat(sources)]
        frames = list(pool.map(lambda frame: frame.collect(engine=engine), work))
    check(frames)
    return len(frames)


CASES = {
    "all": collect_all, "nested": collect_nested, "async": collect_async,
    "threads": collect_in_threads,
}  # fmt: skip


def main() -> None:
    """Run a case with one engine of Polars, and print the number of results."""
    case, engine, *url = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        sources = open_sources(Path(folder), url[0] if url else None)
        print(CASES[case](sources, engine))


if __name__ == "__main__":
    main()
