"""Reads a dataset of PyArrow file by file, in memory that does not grow with its rows.

PyArrow reads ahead of the engine up to a gibibyte over the files of a dataset, and offers no lower
limit. Within a file, it reads ahead a few batches.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from importlib import import_module
from typing import Any

#: Files that are opened ahead, and batches that are read ahead in each.
_FILES, _BATCHES = 4, 4


class _Scanner:
    """What the engine asks for rows, once: the columns and the condition of a statement."""

    def __init__(self, dataset: Any, plain: Any, options: dict[str, Any]) -> None:
        self._dataset, self._options = dataset, options
        self.projected_schema = plain.projected_schema

    def to_reader(self) -> Any:
        pa: Any = import_module("pyarrow")
        return pa.RecordBatchReader.from_batches(self.projected_schema, self._read())

    def _start(self, fragment: Any) -> tuple[Any, Any]:
        options = {**self._options, "batch_readahead": _BATCHES}
        reader = fragment.scanner(schema=self._dataset.schema, **options).to_reader()
        return next(reader, None), reader

    def _read(self) -> Iterator[Any]:
        fragments = self._dataset.get_fragments(filter=self._options.get("filter"))
        with ThreadPoolExecutor(_FILES) as pool:
            started: deque[Future[tuple[Any, Any]]] = deque()
            for fragment in fragments:
                started.append(pool.submit(self._start, fragment))
                if len(started) == _FILES:
                    yield from _finish(started.popleft())
            while started:
                yield from _finish(started.popleft())


def _finish(started: Future[tuple[Any, Any]]) -> Iterator[Any]:
    first, rest = started.result()
    if first is not None:
        yield first
        yield from rest


@cache
def _make_class() -> Any:
    ds: Any = import_module("pyarrow.dataset")

    class FileByFile(ds.UnionDataset):
        """A dataset that is read file by file."""

        def scanner(self, **options: Any) -> Any:
            plain: Any = ds.UnionDataset.scanner(self, **options)
            return _Scanner(self, plain, options)

    return FileByFile


def read_file_by_file(dataset: Any) -> Any:
    """Return a dataset of the same files that is read in bounded memory."""
    return _make_class()(dataset.schema, [dataset])
