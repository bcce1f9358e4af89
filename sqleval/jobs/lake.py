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

from sqleval.common.periods import expression
from sqleval.common.sql_text import literal, quote
from sqleval.engines.embedded import embedded
from sqleval.errors import RequestError, SourceError, SqlevalError
from sqleval.history.store import FILES
from sqleval.inputs.files import is_remote, of_files
from sqleval.inputs.lookup import find
from sqleval.inputs.opening import open_source
from sqleval.inputs.source import Source
from sqleval.jobs.definitions import period_text
from sqleval.jobs.file.model import Job
from sqleval.states.reading import by_name, common, longer_periods

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
    def broken(self) -> dict[str, str]:
        """The periods that a file had rows of and cannot be read now, and why."""
        lost = self._known.filter(pl.col("error").is_not_null())
        return dict(lost.select("period", "error").iter_rows())

    @property
    def periods(self) -> list[str]:
        """The periods that have rows, in order."""
        return self._known.filter(side="source")["period"].unique().sort().to_list()

    @property
    def errors(self) -> list[str]:
        """What kept a file from being read."""
        return self.files["error"].drop_nulls().unique(maintain_order=True).to_list()

    @property
    def without_period(self) -> int:
        """Rows whose period is missing."""
        lost = self.files.filter(pl.col("period").is_null(), side="source")
        return int(lost["rows"].sum())

    def rows(self, period: str) -> int:
        """Return how many rows a period has."""
        return int(self.files.filter(side="source", period=period)["rows"].sum())

    def emptied(self, known: pl.DataFrame) -> list[str]:
        """Return the periods that had rows in files, as known before, which now have none of them.

        Their rows are of other periods now, or nowhere, while those of a lost file may be right.
        """
        here = self.files.filter(pl.col("error").is_null(), side="source")["file"].implode()
        before = known.filter(pl.col("period").is_not_null(), side="source")
        gone = before.filter(~pl.col("period").is_in(self.periods))
        read = gone.group_by("period").agg(pl.col("file").is_in(here).all())
        return read.filter("file")["period"].to_list()

    def paths(self, side: str, periods: Sequence[str]) -> list[str]:
        """Return the files of a side that have to do with these periods."""
        chosen = self._known.filter(pl.col("period").is_in(list(periods)), side=side)
        return self._placed(chosen)

    def labels(self, periods: Sequence[str]) -> list[str]:
        """Return the files of labels that have one for these periods, or any, for the columns.

        Raises
        ------
        SourceError
            If no file of labels can be read.
        """
        readable = self.files.filter(pl.col("error").is_null(), side="labels")
        if readable.is_empty():
            raise SourceError(f"no file of labels can be read: {'; '.join(self.errors)}")
        return self.paths("labels", periods) or self._placed(readable)[:1]

    def _placed(self, chosen: pl.DataFrame) -> list[str]:
        names = chosen.filter(pl.col("error").is_null())["file"].unique().sort()
        return [self.job.path(name) for name in names]

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
        # A key that is repeated among the labels counts twice, and its period will say so.
        return {period: min(1.0, labelled / n) for period, n, labelled in rows.iter_rows() if n}


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def listed(job: Job, source: str | list[str]) -> list[File]:
    """List the files of a source, without opening one."""
    # What a file is known to hold follows from these as well.
    mapping = f"{period_text(job)}|{job.label}|{job.labels.on if job.labels else None}"
    found: list[tuple[str, int, int]] = []
    paths = job.paths(source)
    for path in [paths] if isinstance(paths, str) else paths:
        if is_remote(path):
            found += embedded().list_files(path)
            continue
        found += open_source(path, name="_sqleval_rows").listing()
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


def dated(job: Job, files: Sequence[str]) -> tuple[Source, str]:
    """Return the source of these files, and the SQL of a row's period over it as ``s``.

    Raises
    ------
    RequestError
        If the files have no such column, or it is no time.
    SourceError
        If a file cannot be read.
    """
    source = of_files(files, name_as=FILE)
    if job.from_state is not None:
        made_of = job.made_of or common(*embedded().describe(source))
        return by_name(source), longer_periods(made_of, job.period.grain)
    source, columns = embedded().describe(source)
    column = find(columns, job.period.column, "period.column", source.label)
    return source, expression(column, job.period.grain, job.period.timezone)


def _read(job: Job, files: Sequence[File], refused: list[RequestError]) -> list[dict[str, object]]:
    """Count the rows of each period in files that are new.

    ``refused`` takes what of a file does not fit the job: where no file does, the job is wrong.
    """
    if not files:
        return []
    try:
        source, period = dated(job, [file.path for file in files])
        # A row of a state stands for many.
        rows = "COUNT(*)"
        if job.made_of is not None:
            rows = f"CAST(SUM(s.n) / {max(len(job.made_of.models), 1)} AS BIGINT)"
        counts = embedded().rows(
            f"SELECT s.{FILE}, {period}, {rows} FROM {source.relation} AS s "
            "GROUP BY 1, 2 ORDER BY 1, 2",
            {}, [source], {},
        )  # fmt: skip
    except SqlevalError as error:
        if len(files) > 1:
            return [row for file in files for row in _read(job, [file], refused)]
        if isinstance(error, RequestError):
            refused.append(error)
        return [_rows(job, "source", files[0], error=str(error))]
    by_path = {file.path: file for file in files}
    found = [_rows(job, "source", by_path[p], period=name, rows=n) for p, name, n in counts]
    empty = by_path.keys() - {path for path, _, _ in counts}
    return found + [_rows(job, "source", by_path[path], rows=0) for path in sorted(empty)]


def _remembered(rows: list[dict[str, object]], known: pl.DataFrame) -> list[dict[str, object]]:
    """Say of a file that cannot be read which periods it had rows of, as far as that is known."""
    before = known.filter(pl.col("period").is_not_null())
    told: list[dict[str, object]] = []
    for row in rows:
        of = before.filter(side=row["side"], file=row["file"])["period"].unique().sort()
        periods: list[str | None] = of.to_list() if row["error"] is not None else []
        told += [{**row, "period": period} for period in periods] or [row]
    return told


def _matched(
    job: Job,
    ours: Sequence[str],
    theirs: Sequence[File],
    condition: str,
    refused: list[RequestError],
) -> list[dict[str, object]]:
    """Count the rows of each period that each file of labels has a label for."""
    assert job.labels is not None
    if not ours or not theirs:
        return []
    labels = of_files([file.path for file in theirs], name_as=FILE)
    key = quote(job.labels.on)
    try:
        source, period = dated(job, ours)
        labels, columns = embedded().describe(labels)
        find(columns, job.labels.on, "labels.on", labels.label)
        label = f"l.{quote(job.label)}" if job.label in columns else "1"
        counts = embedded().rows(
            f"SELECT l.{FILE}, {period}, COUNT(*), COUNT({label}) FROM {source.relation} AS s "
            f"JOIN {labels.relation} AS l ON s.{key} = l.{key} WHERE {period} {condition} "
            "GROUP BY 1, 2 ORDER BY 1, 2",
            {}, [source, labels], {},
        )  # fmt: skip
    except SqlevalError as error:
        if len(theirs) > 1:
            return [
                row for file in theirs for row in _matched(job, ours, [file], condition, refused)
            ]
        if isinstance(error, RequestError):
            refused.append(error)
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
    sides = {"source": listed(job, job.sources)}
    if job.labels is not None:
        sides["labels"] = listed(job, job.labels.source)
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
    refused: list[RequestError] = []
    rows = _read(job, new["source"], refused)
    if refused and ours.is_empty() and all(row["error"] for row in rows):
        raise refused[0]
    read = pl.DataFrame(_remembered(rows, known), schema=FILES)
    source = pl.concat([ours, read])
    if job.labels is None:
        return Lake(job, source, fresh=True)
    before = known.filter(side="source").join(ours, on=["file", "version"], how="anti")
    moved = {*read["period"].drop_nulls(), *before["period"].drop_nulls()}
    lake = Lake(job, source, fresh=True)
    stays = kept.filter(pl.col("period").is_in(list(moved)).not_(), side="labels")
    rows = _matched(
        job, lake.paths("source", list(moved)), sides["labels"], f"IN ({_texts(moved)})", refused
    )
    others = f"NOT IN ({_texts(moved)})" if moved else "IS NOT NULL"
    rows += _matched(job, lake.paths("source", lake.periods), new["labels"], others, refused)
    if refused and stays.is_empty() and rows and all(row["error"] for row in rows):
        raise refused[0]
    found = pl.concat([stays, pl.DataFrame(_remembered(rows, known), schema=FILES)])
    # A file that has a label for no row is known as well.
    named = set(found["file"])
    idle = [_rows(job, "labels", f, rows=0) for f in sides["labels"] if f.name not in named]
    return Lake(job, pl.concat([source, found, pl.DataFrame(idle, schema=FILES)]), fresh=True)
