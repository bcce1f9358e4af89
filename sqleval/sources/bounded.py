"""Reads a dataset of PyArrow file by file, in memory that does not grow with its rows.

By default PyArrow reads up to a gibibyte of a dataset's files ahead, and offers no lower limit.
Within one file, the number of batches that it reads ahead can be set.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from importlib import import_module
from typing import Any

#: Files that are opened ahead, each with a row group in memory; small files, more of which are
#: opened ahead because each takes some requests; batches that are read ahead in a file.
_FILES, _SMALL_FILES, _BATCHES = 2, 4, 2
#: A file whose first batch has fewer rows is small; batches have more than 120,000.
_ROWS = 100_000


class _Scanner:
    """The scanner of one statement, with its columns and its condition."""

    def __init__(self, dataset: Any, plain: Any, options: dict[str, Any]) -> None:
        self._dataset, self._options = dataset, options
        self._masks: Mapping[str, Any] = dataset.masks
        self.projected_schema = plain.projected_schema

    def to_reader(self) -> Any:
        pa: Any = import_module("pyarrow")
        return pa.RecordBatchReader.from_batches(self.projected_schema, self._read())

    def _start(self, fragment: Any) -> tuple[Any, Any]:
        options = {**self._options, "batch_readahead": _BATCHES}
        schema, mask = self._dataset.schema, self._masks.get(fragment.path)
        scanner = fragment.scanner(schema=schema, **options)
        if mask is not None:
            # The mask counts the rows of the whole file, so conditions are applied after it.
            whole = fragment.scanner(schema=schema, batch_readahead=_BATCHES)
            ds: Any = import_module("pyarrow.dataset")
            scanner = ds.Scanner.from_batches(
                drop_rows(whole.to_batches(), mask), schema=schema, **self._options
            )
        reader = scanner.to_reader()
        return next(reader, None), reader

    def _read(self) -> Iterator[Any]:
        fragments = self._dataset.get_fragments(filter=self._options.get("filter"))
        ahead = _FILES
        with ThreadPoolExecutor(_SMALL_FILES) as pool:
            started: deque[Future[tuple[Any, Any]]] = deque()
            for fragment in fragments:
                started.append(pool.submit(self._start, fragment))
                while len(started) >= ahead:
                    first, rest = started.popleft().result()
                    is_small = first is None or first.num_rows < _ROWS
                    ahead = _SMALL_FILES if is_small else _FILES
                    yield from _chain(first, rest)
            while started:
                yield from _chain(*started.popleft().result())


def _chain(first: Any, rest: Any) -> Iterator[Any]:
    if first is not None:
        yield first
        yield from rest


@cache
def _make_class() -> Any:
    ds: Any = import_module("pyarrow.dataset")

    class FileByFile(ds.UnionDataset):
        """A dataset that is read file by file."""

        masks: Mapping[str, Any]

        def scanner(self, **options: Any) -> Any:
            plain: Any = ds.UnionDataset.scanner(self, **options)
            return _Scanner(self, plain, options)

    return FileByFile


def read_file_by_file(dataset: Any, masks: Mapping[str, Any] | None = None) -> Any:
    """Return a dataset of the same files that is read in bounded memory.

    ``masks`` has, by path, the mask of the rows of a file that remain; see `drop_rows`.
    """
    bounded_dataset = _make_class()(dataset.schema, [dataset])
    bounded_dataset.masks = masks or {}
    return bounded_dataset


def take_first(dataset: object, rows: int) -> object:
    """Return a dataset of the first row groups of Parquet files, with ``rows`` rows or more.

    A scanner requests its whole file, however few of its rows are then read. Other objects, and
    datasets of other formats, are returned as they are.
    """
    if (ds := sys.modules.get("pyarrow.dataset")) is None or not isinstance(dataset, _make_class()):
        return dataset
    whole: Any = dataset
    fragments: list[Any] = []
    for fragment in whole.get_fragments():
        if whole.masks or not isinstance(fragment, ds.ParquetFileFragment):
            return whole
        ids: list[int] = []
        for group in fragment.row_groups:
            if rows > 0:
                ids.append(group.id)
                rows -= group.num_rows
        fragments.append(fragment.subset(row_group_ids=ids))
        if rows <= 0:
            first = fragments[0]
            few = ds.FileSystemDataset(fragments, whole.schema, first.format, first.filesystem)
            return read_file_by_file(few)
    return whole


def drop_rows(batches: Iterable[Any], mask: Any) -> Iterator[Any]:
    """Yield the batches of a file without the rows that a mask excludes.

    Rows beyond the end of the mask remain.
    """
    pa: Any = import_module("pyarrow")
    at = 0
    for batch in batches:
        keep = mask.slice(at, batch.num_rows)
        rest = pa.repeat(True, batch.num_rows - len(keep))
        at += batch.num_rows
        yield batch.filter(pa.concat_arrays([keep, rest]))
