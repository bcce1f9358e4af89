"""Checks the page checksums of local Parquet files, which the engine does not look at."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Any

import polars as pl

from sqleval.errors import MissingChecksums, RequestError, SourceError, get_first_line
from sqleval.inputs.source import PARQUET, FileStamp, Source

#: Rows that are decoded at a time.
_BATCH = 65_536
#: Bytes that are read at a time.
_BUFFER = 1 << 20
#: Files that are checked at a time.
_THREADS = min(4, os.cpu_count() or 1)
#: Longer than the first four fields of a page header: a type and three numbers of five bytes.
_HEADER = 24
#: Thrift's compact form of "the next field, a 32-bit integer".
_NEXT_IS_INTEGER = 0x15
#: Whether the files that have been checked contain checksums.
_has_checksums: dict[tuple[str, tuple[str, ...], tuple[FileStamp, ...]], bool] = {}


def verify_source(source: Source) -> Source:
    """Return a source whose page checksums are checked before columns are read.

    Raises
    ------
    RequestError
        If it is not made of local Parquet files.

    Examples
    --------
    >>> from sqleval.inputs.files import open_paths
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

    The files are streamed, and remembered: those that have not changed are not read again.

    Parameters
    ----------
    files : sequence of str
        Local Parquet files.
    columns : sequence of str
        Column names; those that a file lacks, such as Hive keys, are skipped.

    Warns
    -----
    MissingChecksums
        If a file carries no checksums.

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
    bare = [file for file, done in zip(files, running, strict=True) if not done.result()]
    if bare:
        warnings.warn(
            f"{len(bare):,} of {len(files):,} files carry no page checksums in the columns read, "
            f"so that --verify (verify=) finds little in them: {bare[0]} is one",
            MissingChecksums,
            stacklevel=2,
        )


def _wait_interruptibly(running: Sequence[Future[bool]]) -> None:
    """Wait for all, or for the first error; raise it, or the user's interrupt."""
    pending: set[Future[bool]] = {*running}
    while pending:
        done, pending = wait(pending, timeout=0.1, return_when="FIRST_EXCEPTION")
        for each in done:
            each.result()
        # In a thread of Polars no signal arrives; after Ctrl-C its next operation raises.
        pl.select(pl.lit(1))


def _check_unless_known(file: str, columns: tuple[str, ...], stop: threading.Event) -> bool:
    """Check a file that has changed or is new; return whether it carries checksums."""
    try:
        stamp = Source("", files=(file,)).version() or ()
    except OSError as error:
        raise SourceError(f"cannot read {file!r}: {error.strerror}") from error
    key = file, columns, stamp
    if key not in _has_checksums:
        has_checksums = _check_file(file, columns, stop)
        if stop.is_set():
            return False
        _has_checksums[key] = has_checksums
    return _has_checksums[key]


def _check_file(file: str, columns: Sequence[str], stop: threading.Event) -> bool:
    """Read columns of a file, page by page; return whether they carry checksums."""
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
                            return False
            return _carries_checksums(file, opened.metadata, names)
    except Exception as error:
        # Damage makes PyArrow raise anything, from an IndexError to a UnicodeDecodeError.
        text = get_first_line(error)
        if "CRC" in text:
            text = "a page differs from its checksum: the file is damaged"
        raise SourceError(f"cannot read {file!r}: {place}{text}") from error


def _carries_checksums(file: str, metadata: Any, names: Sequence[str]) -> bool:
    """Whether the first page of every chunk of some columns carries a checksum."""
    chunks = [
        metadata.row_group(group).column(i)
        for group in range(metadata.num_row_groups)
        for i in range(metadata.num_columns)
    ]
    with open(file, "rb") as opened:  # noqa: PTH123
        for chunk in chunks:
            path = chunk.path_in_schema
            if not any(path == name or path.startswith(f"{name}.") for name in names):
                continue
            opened.seek(chunk.dictionary_page_offset or chunk.data_page_offset)
            if not _has_fourth_field(opened.read(_HEADER)):
                return False
    return True


def _has_fourth_field(header: bytes) -> bool:
    """Whether a page header has its fourth field, the checksum; PyArrow does not tell.

    It is a Thrift struct in compact form. Its first three fields are there always: the type and
    the two sizes of the page. Of each there is a byte for the field, and those of the number, of
    which all but the last have the highest bit.
    """
    at = 0
    for _ in range(3):
        at += 1
        while header[at] & 0x80:
            at += 1
        at += 1
    return header[at] == _NEXT_IS_INTEGER
