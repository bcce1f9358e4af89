"""Makes lazy frames whose rows a function returns when they are collected."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import polars as pl
from polars.io.plugins import register_io_source

from sqleval.common.forks import refuse_fork

#: A function of columns, predicate, number of rows and batch size that returns the rows.
Read = Callable[[list[str] | None, pl.Expr | None, int | None, int | None], Iterator[pl.DataFrame]]
#: The id of the process in which Polars has collected such a frame; a fork inherits the id.
_process = 0


def create_lazy_frame(read: Read, schema: pl.Schema) -> pl.LazyFrame:
    """Return a lazy frame of the rows that ``read`` yields.

    Raises
    ------
    EngineError
        In a process that was forked after such a frame was collected. If the frame itself is older
        than the process, Polars raises it as a ``ComputeError`` when the frame is collected.
    """

    def start(
        columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, size: int | None
    ) -> Iterator[pl.DataFrame]:
        global _process
        _process = os.getpid()
        return read(columns, predicate, n_rows, size)

    def promise() -> pl.Schema:
        # Polars calls this first. In a fork it would then wait for ever for missing threads.
        refuse_fork(_process)
        return schema

    refuse_fork(_process)
    return register_io_source(start, schema=promise)
