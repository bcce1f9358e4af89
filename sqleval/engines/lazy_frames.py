"""Makes lazy frames whose rows a function returns when they are collected."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import polars as pl
from polars.io.plugins import register_io_source

from sqleval.common.forks import refuse_fork

#: Returns rows, given the columns, the predicate, the number of rows and of those of a batch.
Read = Callable[[list[str] | None, pl.Expr | None, int | None, int | None], Iterator[pl.DataFrame]]
#: The process in which Polars has collected such a frame; a fork starts with its number.
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
        # Polars asks before it waits, for ever, for threads that a fork does not have.
        refuse_fork(_process)
        return schema

    refuse_fork(_process)
    return register_io_source(start, schema=promise)
