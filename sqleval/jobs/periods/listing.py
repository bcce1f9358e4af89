"""Lists the files of a job's sources, each with a version that changes when its rows may have.

A file's version is its size and time of modification. The files of a table are those that its log
lists; their versions are their sizes and deleted rows, so that times of files do not matter.
"""

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from sqleval.engines.confinement import confinement
from sqleval.engines.duckdb_databases import open_catalogue
from sqleval.errors import RequestError, SourceError, SqlevalError
from sqleval.jobs.definitions import (
    define_reading,
    list_columns,
    normalize_query,
    write_period_text,
)
from sqleval.jobs.file.model import Job
from sqleval.jobs.periods.databases import load_database
from sqleval.sources.lake.ducklake_rows import LakeFiles
from sqleval.sources.lake.format import Snapshot
from sqleval.sources.lake.tables import load_snapshot
from sqleval.sources.opening import open_source
from sqleval.sources.stores import check_storage, is_remote


class File(NamedTuple):
    """A listed file."""

    path: str
    name: str
    size: int
    modified: int
    version: str


class Listing(NamedTuple):
    """The files of a source, and the version of the table if the source is one."""

    files: list[File]
    snapshot: Snapshot | None = None
    #: Removed file, by its name in the history: the files that replaced it.
    stand_ins: Mapping[str, tuple[str, ...]] = {}


def list_source(job: Job, source: str | list[str]) -> Listing:
    """List the files of a source without opening them.

    Raises
    ------
    SourceError
        If there is no such file or table, or it cannot be read.
    RequestError
        If a job cannot read a table of this kind, or not at this place.
    """
    try:
        return _list_source(job, source)
    except OSError as error:
        if isinstance(error, SqlevalError):
            raise
        # For example a folder without permission, or a file that was removed just now.
        raise SourceError(f"cannot read {error.filename!r}: {error.strerror}") from error


def _list_source(job: Job, source: str | list[str]) -> Listing:
    """List the files of a source, as `list_source` does."""
    paths = job.resolve_paths(source)
    paths = [paths] if isinstance(paths, str) else paths
    storage = check_storage(job.storage)
    snapshots = [
        load_database(path) or load_snapshot(path, storage, open_catalogue) for path in paths
    ]
    tables = [path for path, each in zip(paths, snapshots, strict=True) if each is not None]
    if tables and job.from_state is not None:
        raise RequestError(f"{tables[0]!r} is a table; states are Parquet files")
    if tables and len(paths) > 1:
        raise RequestError(
            f"{tables[0]!r} is a table in a list of {len(paths)} sources; a job reads one table"
        )
    if tables and snapshots[0] is not None:
        if isinstance(snapshots[0].content, LakeFiles):  # its catalogue says where its files are
            confinement.allow_folders(snapshots[0].content.places)
        return Listing(_list_data_files(job, snapshots[0]), snapshots[0])
    return Listing(_list_plain_files(job, paths))


def _write_mapping(job: Job) -> str:
    """Return the keys of a job on which the periods and label counts of a file depend."""
    label = job.label if job.value is None else job.value
    # Most jobs have neither, and keep their versions.
    query = "" if job.query is None else f"|{normalize_query(job)}"
    reading = f"|{each}" if (each := define_reading(job)) else ""
    on = job.labels.on if job.labels else None
    return f"{write_period_text(job)}|{label}|{on}{query}{reading}"


def _list_data_files(job: Job, snapshot: Snapshot) -> list[File]:
    """List the data files of a table; times of modification are not part of their versions.

    The files of a DuckLake have the number of its snapshot instead, to recognise merges.
    """
    content = snapshot.content
    modified = content.table.snapshot if isinstance(content, LakeFiles) else 0
    return [
        File(
            file.path,
            shorten_path(file.path, job),
            file.size,
            modified,
            hash_data_file(job, snapshot, file.size, file.deleted, file.columns),
        )
        for file in snapshot.files
    ]


def hash_data_file(
    job: Job,
    snapshot: Snapshot,
    size: int,
    deleted: str = "",
    columns: Mapping[str, str] = {},
) -> str:
    """Return the version of a data file of a table."""
    # A column that replaces another one of the same name has another number.
    fields = sorted((name, snapshot.fields.get(name)) for name in list_columns(job))
    mapping = f"{_write_mapping(job)}|{fields if snapshot.fields else ''}"
    elsewhere = [(name, columns[name]) for name in list_columns(job) if name in columns]
    return hash_text(f"{size}|{deleted}|{mapping}{elsewhere or ''}")


def _list_plain_files(job: Job, paths: Sequence[str]) -> list[File]:
    mapping = _write_mapping(job)
    files: list[tuple[str, int, int]] = []
    for path in paths:
        files += open_source(path, name="_sqleval_rows", storage=job.storage).listing()
    return [
        File(
            path,
            shorten_path(path, job),
            size,
            modified,
            hash_text(f"{size}|{modified}|{mapping}"),
        )
        for path, size, modified in dict.fromkeys(files)
    ]


def shorten_path(path: str, job: Job) -> str:
    """Return a path relative to the job file, so that both can be moved together."""
    if is_remote(path):
        return path
    relative = os.path.relpath(path, job.folder)
    return str(Path(path).absolute()) if relative.startswith("..") else Path(relative).as_posix()


def hash_text(text: str) -> str:
    """Return a short hash of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]
