"""Offers a LazyFrame as an Arrow stream."""

from collections.abc import Iterator
from importlib import import_module
from queue import Full, Queue
from threading import Event, Thread
from typing import Any

import polars as pl

from sqleval.sources.batches import BatchStream

#: The number of batches of a LazyFrame that are made ahead.
_BATCHES_AHEAD = 4


class LazyStream(BatchStream):
    """A LazyFrame as an Arrow stream that DuckDB pulls batch by batch, never collected."""

    def __init__(self, frame: pl.LazyFrame, *, keeps_order: bool) -> None:
        self._keeps_order = keeps_order
        pa: Any = import_module("pyarrow")
        self._frame = frame
        empty = pl.DataFrame(schema=frame.collect_schema())
        self.schema: Any = pa.RecordBatchReader.from_stream(empty).schema

    def read_batches(self) -> Iterator[Any]:
        """Yield the batches that another thread makes; raise the error that ends the thread.

        Not `collect_batches`, whose stream ends as if all rows had been read when Polars panics,
        for example over a truncated file.
        """
        pa: Any = import_module("pyarrow")
        batches: Queue[pl.DataFrame | BaseException | None] = Queue(_BATCHES_AHEAD)
        is_stopped = Event()

        def put(item: pl.DataFrame | BaseException | None) -> bool:
            while not is_stopped.is_set():
                try:
                    batches.put(item, timeout=0.1)
                except Full:
                    continue
                return False
            return True

        def run() -> None:
            try:
                self._frame.sink_batches(put, maintain_order=self._keeps_order)
            except BaseException as error:  # a panic is not an Exception
                put(error)
            else:
                put(None)

        Thread(target=run, daemon=True).start()
        try:
            while (item := batches.get()) is not None:
                if isinstance(item, BaseException):
                    raise _convert_error(item) from item
                yield from pa.RecordBatchReader.from_stream(item)
        finally:
            is_stopped.set()


def _convert_error(error: BaseException) -> Exception:
    """Convert an error of Polars to a built-in one, whose class an Arrow stream passes on."""
    text = str(error) or type(error).__name__
    if isinstance(error, OSError):
        return OSError(text)
    return ValueError(text) if isinstance(error, pl.exceptions.PolarsError) else RuntimeError(text)
