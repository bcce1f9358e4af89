"""Checks the page checksums of local Parquet files, which DuckDB does not check."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Any

import polars as pl

from sqleval.errors import RequestError, SourceError, get_first_line
from sqleval.sources.formats import PARQUET
from sqleval.sources.source import FileStamp, Source

#: The number of rows that are decoded at a time.
_BATCH = 65_536
#: The number of bytes that are read at a time.
_BUFFER = 1 << 20
#: The number of files that are checked at a time.
_THREADS = min(4, os.cpu_count() or 1)
#: The files that were checked: path, columns, and stamps that show whether a file has changed.
_checked: set[tuple[str, tuple[str, ...], tuple[FileStamp, ...]]] = set()


def verify_source(source: Source) -> Source:
    """Return a source whose page checksums are checked before columns are read.

    Raises
    ------
    RequestError
        If the source does not consist of local Parquet files.

    Examples
    --------
    >>> from sqleval.sources.files import open_paths
    >>> verify_source(open_paths(["data/flights/labels"], name="rows")).check is not None
    True
    """
    files = source.files
    is_parquet = all(file.lower().endswith(PARQUET) for file in files)
    if not files or not is_parquet or "://" in source.relation:
        raise RequestError(
            f"verify= (--verify) checks local Parquet files, and {source.label} is something else; "
            "only their pages carry checksums"
        )
    return replace(source, check=partial(verify_files, files))


def verify_files(files: Sequence[str], columns: Sequence[str]) -> None:
    """Check the pages of some columns in Parquet files against their checksums.

    The files are streamed. A file that has not changed since its last check is not read again. A
    file without checksums passes if it can be read, because only its page headers would show that.

    Parameters
    ----------
    files : sequence of str
        Local Parquet files.
    columns : sequence of str
        Column names; those that a file lacks, such as Hive keys, are skipped.

    Raises
    ------
    SourceError
        If a page differs from its checksum or cannot be read; the message names the file, the
        column and the row group.
    """
    stop = threading.Event()
    pool = ThreadPoolExecutor(_THREADS)
    try:
        running = [pool.submit(_check_unless_known, file, tuple(columns), stop) for file in files]
        _wait_interruptibly(running)
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)


def _wait_interruptibly(running: Sequence[Future[None]]) -> None:
    """Wait for all checks; raise the first error, or the user's interrupt."""
    pending: set[Future[None]] = {*running}
    while pending:
        done, pending = wait(pending, timeout=0.1, return_when="FIRST_EXCEPTION")
        for each in done:
            each.result()
        # In a thread of Polars no signal arrives, but after Ctrl-C the next operation raises.
        pl.select(pl.lit(1))


def _check_unless_known(file: str, columns: tuple[str, ...], stop: threading.Event) -> None:
    """Check a file that has changed or is new."""
    try:
        stamp = Source("", files=(file,)).version() or ()
    except OSError as error:
        raise SourceError(f"cannot read {file!r}: {error.strerror}") from error
    key = file, columns, stamp
    if key not in _checked:
        _check_file(file, columns, stop)
        if not stop.is_set():
            _checked.add(key)


def _check_file(file: str, columns: Sequence[str], stop: threading.Event) -> None:
    """Read columns of a file, page by page."""
    pq: Any = import_module("pyarrow.parquet")  # late: it takes longer to import than to use
    place = ""
    try:
        with pq.ParquetFile(
            file, page_checksum_verification=True, pre_buffer=False, buffer_size=_BUFFER
        ) as opened:
            folded_names = {name.casefold() for name in columns}
            names = [name for name in opened.schema_arrow.names if name.casefold() in folded_names]
            for group in range(opened.num_row_groups):
                for name in names:
                    place = f"column {name!r}, row group {group + 1}: "
                    for _ in opened.iter_batches(
                        _BATCH, row_groups=[group], columns=[name], use_threads=False
                    ):
                        if stop.is_set():
                            return
    except Exception as error:
        # Damage makes PyArrow raise anything, from an IndexError to a UnicodeDecodeError.
        text = get_first_line(error)
        if "CRC" in text:
            text = "a page differs from its checksum: the file is damaged"
        raise SourceError(f"cannot read {file!r}: {place}{text}") from error
