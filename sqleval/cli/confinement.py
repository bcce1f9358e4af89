"""Confines the engine to the files that a command, or its job, names."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sqleval.cli.formats import DATABASES
from sqleval.engines.confinement import confinement
from sqleval.errors import RequestError

if TYPE_CHECKING:
    from sqleval.jobs.file.model import Job


@contextmanager
def confine() -> Generator[None]:
    """Let the engine touch only files that are allowed later, no network and no extension."""
    confinement.set([])
    try:
        yield
    finally:
        confinement.set(None)


def allow_sources(
    sources: Iterable[str | None], query: str | None = None, *, in_place: bool = False
) -> None:
    """Let the engine read sources, and the files that are written in a query.

    Raises
    ------
    RequestError
        If the command would write its result over one of them, and not ``in_place``.
    """
    from sqleval.binding.where import find_quoted
    from sqleval.sources.database.naming import find_database
    from sqleval.sources.paths import list_roots
    from sqleval.sources.stores import expand_home

    roots: list[str] = []
    for source in map(expand_home, filter(None, (*sources, *find_quoted(query or "")))):
        # Skip names that no file can have; opening the source raises the error.
        with suppress(OSError):
            if not in_place:
                _refuse_overwriting(source)
            database = find_database(source)
            if database is not None:
                # The last changes to a DuckDB file may lie in its log beside it.
                roots += [database.address, f"{database.address}.wal"]
            elif source != "-":
                roots += list_roots(source)
    confinement.allow(roots)


def _refuse_overwriting(source: str) -> None:
    """Raise `RequestError` if ``--output`` of the command is a file or table of a source."""
    from sqleval.sources.database.naming import find_database
    from sqleval.sources.paths import is_read_from

    context = click.get_current_context(silent=True)
    params = context.params if context is not None else {}
    output = params.get("output")
    if not output or not Path(output).is_file():
        return
    database = find_database(source)
    if database is None:
        is_source = is_read_from(output, source)
    else:
        is_source = is_read_from(output, database.address)
        if "into" in params and output.endswith(DATABASES):
            tables = (database.table, params["into"])
            table, into = (name.lower().removeprefix("main.") for name in tables)
            is_source = is_source and table == into
    if is_source:
        raise RequestError(
            f"--output {output!r} would overwrite a file of {source!r}; choose another name"
        )


def allow_output(path: str) -> None:
    """Let the engine write a file with its draft beside it, or a folder."""
    folder = str(Path(path).expanduser().resolve().parent)
    confinement.allow([folder.rstrip("/") + "/"])


def allow_job(job: Job) -> None:
    """Let the engine read the sources of a job, and write its states."""
    labels = job.labels.source if job.labels else []
    for paths in (job.sources, labels):
        resolved = job.resolve_paths(paths)
        allow_sources([resolved] if isinstance(resolved, str) else resolved)
    if job.states is not None:
        allow_output(job.resolve_path(job.states.folder) + "/state")
