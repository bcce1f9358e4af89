"""What lies in a job's sources: which file has rows of which period, without reading it twice.

The answer is kept in the history. A run lists the files, and reads those whose size or time of
modification is new; where nothing is new it reads none.
"""

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import polars as pl

from sqleval.bind import find
from sqleval.engine import duckdb as engine
from sqleval.errors import DataError, EngineError, SourceError
from sqleval.history import FILES
from sqleval.jobs.model import Job
from sqleval.jobs.periods import expression
from sqleval.names import literal, quote
from sqleval.source import is_remote, of_files, open_source

#: The columns that are added to a source, under names that no user has.
FILE, PERIOD = "_sqleval_file", "_sqleval_period"


class File(NamedTuple):
    """A file as it was listed."""

    path: str
    name: str
    size: int
    modified: int
    version: str


@dataclass(frozen=True)
class Lake:
    """The files of a job's sources and what is in them.

    Attributes
    ----------
    files : polars.DataFrame
        One row a file and period, as the history keeps it.
    fresh : bool
        Whether this differs from what the history has.
    """

    job: Job
    files: pl.DataFrame
    fresh: bool

    @property
    def _known(self) -> pl.DataFrame:
        return self.files.filter(pl.col("period").is_not_null())

    @property
    def periods(self) -> list[str]:
        """The periods that have rows, in order."""
        return self._known.filter(side="source")["period"].unique().sort().to_list()

    @property
    def errors(self) -> list[str]:
        """What kept a file from being read."""
        return self.files["error"].drop_nulls().to_list()

    @property
    def without_period(self) -> int:
        """Rows whose period is missing."""
        lost = self.files.filter(pl.col("period").is_null(), side="source")
        return int(lost["rows"].sum())

    def rows(self, period: str) -> int:
        """Return how many rows a period has."""
        return int(self.files.filter(side="source", period=period)["rows"].sum())

    def paths(self, side: str, periods: Sequence[str]) -> list[str]:
        """Return the files of a side that have to do with these periods."""
        chosen = self._known.filter(pl.col("period").is_in(list(periods)), side=side)
        return [self.job.path(name) for name in chosen["file"].unique().sort()]

    def fingerprints(self) -> dict[str, str]:
        """Return what tells one state of a period's data from another."""
        state = (
            self._known.select(
                "period", key=pl.concat_str("side", "file", "version", separator="|")
            )
            .unique()
            .sort("key")
            .group_by("period")
            .agg(pl.col("key").str.join("\n"))
        )
        return {period: _hash(text) for period, text in state.iter_rows()}

    def matured(self) -> dict[str, float]:
        """Return the share of each period's rows that have a label by now."""
        if self.job.labels is None:
            return {}
        rows = self._known.group_by("period").agg(
            pl.col("rows").filter(side="source").sum(),
            pl.col("labelled").filter(side="labels").sum(),
        )
        return {period: labelled / n for period, n, labelled in rows.iter_rows() if n}


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _listed(job: Job, source: str | list[str]) -> list[File]:
    """List the files of a source, without opening one."""
    # What a file is known to hold follows from these as well.
    mapping = f"{job.period!r}|{job.label}|{job.labels.on if job.labels else None}"
    found: list[tuple[str, int, int]] = []
    paths = job.paths(source)
    for path in [paths] if isinstance(paths, str) else paths:
        if is_remote(path):
            found += engine.listing(path)
            continue
        for file in open_source(path, name="_sqleval_rows").files:
            stat = Path(file).stat()
            found.append((file, stat.st_size, stat.st_mtime_ns))
    return [
        File(path, _short(path, job), size, modified, _hash(f"{size}|{modified}|{mapping}"))
        for path, size, modified in dict.fromkeys(found)
    ]


def _short(path: str, job: Job) -> str:
    """Return a path as the job file would write it, so that both can move together."""
    if is_remote(path):
        return path
    inside = os.path.relpath(path, job.folder)
    return str(Path(path).absolute()) if inside.startswith("..") else Path(inside).as_posix()


def _rows(job: Job, side: str, file: File, **found: object) -> dict[str, object]:
    at = {"job": job.name, "side": side, "file": file.name, "version": file.version}
    return {**dict.fromkeys(FILES), **at, "size": file.size, "modified": file.modified, **found}


def dated(job: Job, files: Sequence[str]) -> tuple[str, str]:
    """Return the relation of these files, and the SQL of a row's period over it as ``s``."""
    source = of_files(files, name_as=FILE)
    columns = engine.describe(source)
    column = find(columns, job.period.column, "period.column", source.label)
    return source.relation, expression(column, job.period.grain, job.period.timezone)


def _read(job: Job, files: Sequence[File]) -> list[dict[str, object]]:
    """Count the rows of each period in files that are new."""
    if not files:
        return []
    try:
        relation, period = dated(job, [file.path for file in files])
        counts = engine.few(
            f"SELECT s.{FILE}, {period}, COUNT(*) FROM {relation} AS s GROUP BY 1, 2 ORDER BY 1, 2",
            {}, [of_files([file.path for file in files], name_as=FILE)], {},
        )  # fmt: skip
    except (SourceError, DataError, EngineError) as error:
        if len(files) > 1:
            return [row for file in files for row in _read(job, [file])]
        return [_rows(job, "source", files[0], error=str(error))]
    by_path = {file.path: file for file in files}
    rows = [_rows(job, "source", by_path[p], period=name, rows=n) for p, name, n in counts]
    empty = by_path.keys() - {path for path, _, _ in counts}
    return rows + [_rows(job, "source", by_path[path], rows=0) for path in sorted(empty)]


def _matched(
    job: Job, ours: Sequence[str], theirs: Sequence[File], condition: str
) -> list[dict[str, object]]:
    """Count the rows of each period that each file of labels has a label for."""
    assert job.labels is not None
    if not ours or not theirs:
        return []
    relation, period = dated(job, ours)
    labels = of_files([file.path for file in theirs], name_as=FILE)
    key = quote(job.labels.on)
    try:
        columns = engine.describe(labels)
        find(columns, job.labels.on, "labels.on", labels.label)
        label = f"l.{quote(job.label)}" if job.label in columns else "1"
        counts = engine.few(
            f"SELECT l.{FILE}, {period}, COUNT(*), COUNT({label}) FROM {relation} AS s "
            f"JOIN {labels.relation} AS l ON s.{key} = l.{key} WHERE {period} {condition} "
            "GROUP BY 1, 2 ORDER BY 1, 2",
            {}, [labels], {},
        )  # fmt: skip
    except (SourceError, DataError, EngineError) as error:
        if len(theirs) > 1:
            return [row for file in theirs for row in _matched(job, ours, [file], condition)]
        return [_rows(job, "labels", theirs[0], error=str(error))]
    by_path = {file.path: file for file in theirs}
    return [
        _rows(job, "labels", by_path[path], period=name, rows=n, labelled=known)
        for path, name, n, known in counts
    ]


def _texts(periods: Iterable[str]) -> str:
    return ", ".join(map(literal, periods))


def look(job: Job, known: pl.DataFrame) -> Lake:
    """Return what lies in the sources now.

    Parameters
    ----------
    job : Job
        The job.
    known : polars.DataFrame
        What the history knows of the files.

    Raises
    ------
    SourceError
        If no file matches.
    RequestError
        If the period's column or the labels' key is none of the source's.
    """
    sides = {"source": _listed(job, job.source)}
    if job.labels is not None:
        sides["labels"] = _listed(job, job.labels.source)
    now = {(side, file.name, file.version) for side, files in sides.items() for file in files}
    then = set(known.select("side", "file", "version").iter_rows())
    if now == then and known["error"].null_count() == known.height:
        return Lake(job, known, fresh=False)
    current = pl.DataFrame(
        list(now), schema=dict.fromkeys(("side", "file", "version"), pl.String), orient="row"
    )
    # A file that could not be read is tried again: what kept it may have passed.
    kept = known.filter(pl.col("error").is_null()).join(current, on=current.columns, how="semi")
    seen = set(kept.select("side", "file", "version").iter_rows())
    new = {
        side: [f for f in files if (side, f.name, f.version) not in seen]
        for side, files in sides.items()
    }
    ours = kept.filter(side="source")
    read = pl.DataFrame(_read(job, new["source"]), schema=FILES)
    source = pl.concat([ours, read])
    if job.labels is None:
        return Lake(job, source, fresh=True)
    before = known.filter(side="source").join(ours, on=["file", "version"], how="anti")
    moved = {*read["period"].drop_nulls(), *before["period"].drop_nulls()}
    lake = Lake(job, source, fresh=True)
    stays = kept.filter(pl.col("period").is_in(list(moved)).not_(), side="labels")
    rows = _matched(
        job, lake.paths("source", list(moved)), sides["labels"], f"IN ({_texts(moved)})"
    )
    others = f"NOT IN ({_texts(moved)})" if moved else "IS NOT NULL"
    rows += _matched(job, lake.paths("source", lake.periods), new["labels"], others)
    found = pl.concat([stays, pl.DataFrame(rows, schema=FILES)])
    # A file that has a label for no row is known as well.
    named = set(found["file"])
    idle = [_rows(job, "labels", f, rows=0) for f in sides["labels"] if f.name not in named]
    return Lake(job, pl.concat([source, found, pl.DataFrame(idle, schema=FILES)]), fresh=True)
