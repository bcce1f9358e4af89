"""Finds state files that would count rows twice: copies, and two files of a job's period."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from glob import escape
from itertools import combinations
from pathlib import Path

import polars as pl

from sqleval.common.sql_text import write_literal
from sqleval.engines.embedded import embedded
from sqleval.errors import SourceError
from sqleval.sources.source import Source

#: Key of a file's metadata that names the job. A job writes one file per period.
OWNER = "sqleval.job"


def refuse_copies(files: Sequence[str]) -> None:
    """Raise `SourceError`, naming two files, if local files with periods count rows twice.

    States that were built by hand may share a period, because each may hold a part of its rows.
    """
    for one, other, why in (*_find_equal_files(files), *_find_shared_periods(files)):
        raise SourceError(
            f"{one} and {other} {why}, so that its rows would count twice; remove one of the files"
        )


def _find_equal_files(files: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Yield pairs of files with rows and with the same bytes."""
    of_size: dict[int, list[str]] = {}
    for file in files:
        of_size.setdefault(Path(file).stat().st_size, []).append(file)
    for alike in of_size.values():
        file_by_content: dict[bytes, str] = {}
        for file in alike if len(alike) > 1 else ():
            content = hashlib.sha256(Path(file).read_bytes()).digest()
            if content not in file_by_content:
                file_by_content[content] = file
            elif pl.scan_parquet(file, glob=False).select(pl.len()).collect().item():
                yield file_by_content[content], file, "are copies of one state"


def _find_shared_periods(files: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Yield pairs of files of one job that share a period."""
    of_job: dict[str, list[str]] = {}
    for file in files:
        owner = pl.read_parquet_metadata(file).get(OWNER)
        if owner is not None:
            of_job.setdefault(owner, []).append(file)
    for job, listed in of_job.items():
        if len(listed) < 2:
            continue
        paths = f"[{', '.join(write_literal(escape(file)) for file in listed)}]"
        statement = (
            'SELECT period, LIST(DISTINCT filename ORDER BY filename) AS "files" '
            f"FROM read_parquet({paths}, filename = TRUE, union_by_name = TRUE) "
            "GROUP BY period HAVING COUNT(DISTINCT filename) > 1 ORDER BY period LIMIT 1"
        )
        for period, shared in embedded().rows(statement, {}, [Source("", label=job)], {}):
            one, other = next(combinations(shared, 2))
            yield one, other, f"are both of the period {period} of the job {job!r}"
