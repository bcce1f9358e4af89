"""Finds the periods in the files of a job's sources.

The history keeps the result. A run lists the files and reads only those whose version has changed.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import polars as pl

from sqleval.common.periods import write_period_sql
from sqleval.common.sql_text import literal, quote
from sqleval.engines.base import Engine
from sqleval.engines.embedded import embedded
from sqleval.errors import RequestError, SourceError, SqlevalError
from sqleval.history.store import FILES
from sqleval.inputs.files import open_files
from sqleval.inputs.lookup import find_column
from sqleval.inputs.snapshots import Snapshot
from sqleval.inputs.source import Source
from sqleval.inputs.stores import check_storage
from sqleval.jobs.compaction import restore_rewritten_files
from sqleval.jobs.file.model import Job
from sqleval.jobs.listing import File, Listing, hash_text, list_source
from sqleval.states.reading import merge_definitions, unify_columns, write_longer_period_sql

#: Columns that are added to a source; users have no columns of these names.
FILE, PERIOD = "_sqleval_file", "_sqleval_period"


@dataclass(frozen=True)
class Lake:
    """The files of a job's sources and their periods.

    Attributes
    ----------
    job : Job
        The job.
    files : polars.DataFrame
        One row per file and period, as in the history.
    is_changed : bool
        Whether the files differ from those in the history.
    listings : mapping of str to Listing
        The files of each side, ``source`` and ``labels``, as they were listed.
    """

    job: Job
    files: pl.DataFrame
    is_changed: bool
    listings: Mapping[str, Listing] = field(default_factory=dict[str, Listing])

    @cached_property
    def _with_period(self) -> pl.DataFrame:
        return self.files.filter(pl.col("period").is_not_null())

    @property
    def unreadable(self) -> dict[str, str]:
        """The periods of files that cannot be read any more, and the error."""
        lost = self._with_period.filter(pl.col("error").is_not_null())
        return dict(lost.select("period", "error").iter_rows())

    @cached_property
    def periods(self) -> list[str]:
        """The periods with rows, in order."""
        return self._with_period.filter(side="source")["period"].unique().sort().to_list()

    @property
    def errors(self) -> list[str]:
        """The errors of files that cannot be read."""
        return self.files["error"].drop_nulls().unique(maintain_order=True).to_list()

    @property
    def without_period(self) -> int:
        """The number of rows without a period."""
        lost = self.files.filter(pl.col("period").is_null(), side="source")
        return int(lost["rows"].sum())

    def count_rows(self, period: str) -> int:
        """Return the number of rows of a period."""
        return int(self.files.filter(side="source", period=period)["rows"].sum())

    def list_emptied_periods(self, stored: pl.DataFrame) -> list[str]:
        """Return the periods that lost all their rows, though their files are still readable.

        If a file is missing, its rows may still be right, so that its periods are not listed.
        """
        readable = self.files.filter(pl.col("error").is_null(), side="source")["file"].implode()
        before = stored.filter(pl.col("period").is_not_null(), side="source")
        gone = before.filter(~pl.col("period").is_in(self.periods))
        emptied = gone.group_by("period").agg(pl.col("file").is_in(readable).all())
        return emptied.filter("file")["period"].to_list()

    def list_files(self, side: str, periods: Sequence[str]) -> list[str]:
        """Return the paths of a side (``source`` or ``labels``) with rows of these periods."""
        chosen = self._with_period.filter(pl.col("period").is_in(list(periods)), side=side)
        return self._resolve_files(side, chosen)

    def find_snapshot(self, side: str) -> Snapshot | None:
        """Return the version of the table of a side; None if it is no table."""
        return self.listings[side].snapshot if side in self.listings else None

    def list_datasets(self, periods: Sequence[str]) -> list[str]:
        """Return the tables, and the files of no table, with rows of these periods."""
        found: list[str] = []
        for side in self.listings:
            files, snapshot = self.list_files(side, periods), self.find_snapshot(side)
            found += [snapshot.location] if snapshot and files else files
        return found

    def list_label_files(self, periods: Sequence[str]) -> list[str]:
        """Return the files with labels for these periods, or one other file for its columns.

        Raises
        ------
        SourceError
            If no file of labels can be read.
        """
        readable = self.files.filter(pl.col("error").is_null(), side="labels")
        if readable.is_empty():
            raise SourceError(f"no file of labels can be read: {'; '.join(self.errors)}")
        return self.list_files("labels", periods) or self._resolve_files("labels", readable)[:1]

    def _resolve_files(self, side: str, files: pl.DataFrame) -> list[str]:
        names = files.filter(pl.col("error").is_null())["file"].unique().sort()
        listing = self.listings[side]
        paths = {file.name: (file.path,) for file in listing.files} | {**listing.stand_ins}
        return sorted({path for name in names for path in paths[name]})

    def compute_fingerprints(self) -> dict[str, str]:
        """Return a hash of the files of each period; it changes with its data."""
        files = (
            self._with_period.select(
                "period", key=pl.concat_str("side", "file", "version", separator="|")
            )
            .unique()
            .sort("key")
            .group_by("period")
            .agg(pl.col("key").str.join("\n"))
        )
        return {period: hash_text(text) for period, text in files.iter_rows()}

    def compute_matured(self) -> dict[str, float]:
        """Return the share of rows with a label, by period."""
        if self.job.labels is None:
            return {}
        rows = self._with_period.group_by("period").agg(
            pl.col("rows").filter(side="source").sum(),
            pl.col("labelled").filter(side="labels").sum(),
        )
        # A repeated key among the labels counts twice; evaluating its period raises an error.
        return {period: min(1.0, labelled / n) for period, n, labelled in rows.iter_rows() if n}


def _create_row(job: Job, side: str, file: File, **values: object) -> dict[str, object]:
    """Return a row of the table of files."""
    keys = {"job": job.name, "side": side, "file": file.name, "version": file.version}
    return {**dict.fromkeys(FILES), **keys, "size": file.size, "modified": file.modified, **values}


def open_job_files(
    job: Job,
    files: Sequence[str],
    name: str = "_sqleval_rows",
    snapshot: Snapshot | None = None,
) -> Source:
    """Return the source of files of a job, or of a table, with each row's file in a column."""
    if snapshot is not None:
        return snapshot.open_files(files, name, FILE)
    return open_files(files, name_as=FILE, name=name, storage=check_storage(job.storage))


def open_with_period(
    job: Job, files: Sequence[str], snapshot: Snapshot | None = None
) -> tuple[Source, str]:
    """Return the source of files, of a table or none, and the SQL of a row's period, over ``s``.

    Raises
    ------
    RequestError
        If the column of the period is missing or has another type.
    SourceError
        If a file cannot be read.
    """
    source = open_job_files(job, files, snapshot=snapshot)
    if job.from_state is not None:
        described = embedded().describe(source)
        definition = job.state_definition or merge_definitions(*described)
        source = described[0] if source.look else unify_columns(source)
        return source, write_longer_period_sql(definition, job.period.grain)
    return add_period(job, source)


def add_period(job: Job, source: Source, engine: Engine | None = None) -> tuple[Source, str]:
    """Return a source as it is to be read, and the SQL of a row's period, over ``s``."""
    source, columns = (engine or embedded()).describe(source)
    column = find_column(columns, job.period.column, "period.column", source.label)
    return source, write_period_sql(column, job.period.grain, job.period.timezone)


def _count_rows(
    job: Job,
    files: Sequence[File],
    snapshot: Snapshot | None,
    job_errors: list[RequestError],
) -> list[dict[str, object]]:
    """Count the rows per period in new files.

    Errors of files that do not fit the job are added to ``job_errors``.
    """
    if not files:
        return []
    try:
        source, period = open_with_period(job, [file.path for file in files], snapshot)
        # A row of a state stands for n rows.
        count = "COUNT(*)"
        if job.state_definition is not None:
            count = f"CAST(SUM(s.n) / {max(len(job.state_definition.models), 1)} AS BIGINT)"
        counts = embedded().rows(
            f"SELECT s.{FILE}, {period}, {count} FROM {source.relation} AS s "
            "GROUP BY 1, 2 ORDER BY 1, 2",
            {}, [source], source.objects([FILE, job.period.column]),
        )  # fmt: skip
    except SqlevalError as error:
        if len(files) > 1:
            return [row for f in files for row in _count_rows(job, [f], snapshot, job_errors)]
        if isinstance(error, RequestError):
            job_errors.append(error)
        return [_create_row(job, "source", files[0], error=str(error))]
    by_path = {file.path: file for file in files}
    rows = [_create_row(job, "source", by_path[p], period=name, rows=n) for p, name, n in counts]
    empty = by_path.keys() - {path for path, _, _ in counts}
    return rows + [_create_row(job, "source", by_path[path], rows=0) for path in sorted(empty)]


def _restore_periods(
    rows: list[dict[str, object]], stored: pl.DataFrame
) -> list[dict[str, object]]:
    """Give files that cannot be read the periods that they have in the history."""
    before = stored.filter(pl.col("period").is_not_null())
    restored: list[dict[str, object]] = []
    for row in rows:
        names = before.filter(side=row["side"], file=row["file"])["period"].unique().sort()
        periods: list[str | None] = names.to_list() if row["error"] is not None else []
        restored += [{**row, "period": period} for period in periods] or [row]
    return restored


def _count_labels(
    lake: Lake,
    paths: Sequence[str],
    label_files: Sequence[File],
    condition: str,
    job_errors: list[RequestError],
) -> list[dict[str, object]]:
    """Count the rows with a label, per file of labels and period."""
    job = lake.job
    assert job.labels is not None
    if not paths or not label_files:
        return []
    on = job.labels.on
    key = quote(on)
    # What replaces several files that only the history knows counts as the first of them.
    stand_ins = lake.listings["labels"].stand_ins
    by_path = {
        path: file
        for file in reversed(label_files)
        for path in stand_ins.get(file.name, (file.path,))
    }
    try:
        labels = open_job_files(job, list(by_path), "_sqleval_labels", lake.find_snapshot("labels"))
        source, period = open_with_period(job, paths, lake.find_snapshot("source"))
        labels, columns = embedded().describe(labels)
        find_column(columns, on, "labels.on", labels.label)
        values = [name for name in columns if name == job.label]
        label = f"l.{quote(values[0])}" if values else "1"
        counts = embedded().rows(
            f"SELECT l.{FILE}, {period}, COUNT(*), COUNT({label}) FROM {source.relation} AS s "
            f"JOIN {labels.relation} AS l ON s.{key} = l.{key} WHERE {period} {condition} "
            "GROUP BY 1, 2 ORDER BY 1, 2",
            {}, [source, labels],
            source.objects([on, job.period.column])
            | labels.objects([FILE, on, *values]),
        )  # fmt: skip
    except SqlevalError as error:
        if len(label_files) > 1:
            return [
                row
                for file in label_files
                for row in _count_labels(lake, paths, [file], condition, job_errors)
            ]
        if isinstance(error, RequestError):
            job_errors.append(error)
        return [_create_row(job, "labels", label_files[0], error=str(error))]
    return [
        _create_row(job, "labels", by_path[path], period=name, rows=n, labelled=labelled)
        for path, name, n, labelled in counts
    ]


def _write_list(periods: Iterable[str]) -> str:
    return ", ".join(map(literal, periods))


def read_lake(job: Job, stored: pl.DataFrame) -> Lake:
    """List the files of the sources, and read those that are new or changed.

    Parameters
    ----------
    job : Job
        The job.
    stored : polars.DataFrame
        The rows of its files in the history.

    Raises
    ------
    SourceError
        If no file matches.
    RequestError
        If the sources lack the column of the period or the key of the labels.
    """
    late = {"labels": job.labels.source} if job.labels is not None else {}
    listings = {
        side: restore_rewritten_files(job, side, list_source(job, source), stored)
        for side, source in {"source": job.sources, **late}.items()
    }
    sides = {side: listing.files for side, listing in listings.items()}
    now = {(side, file.name, file.version) for side, files in sides.items() for file in files}
    before = set(stored.select("side", "file", "version").iter_rows())
    if now == before and stored["error"].null_count() == stored.height:
        return Lake(job, stored, is_changed=False, listings=listings)
    current = pl.DataFrame(
        list(now), schema=dict.fromkeys(("side", "file", "version"), pl.String), orient="row"
    )
    # A file that could not be read is tried again.
    kept = stored.filter(pl.col("error").is_null()).join(current, on=current.columns, how="semi")
    seen = set(kept.select("side", "file", "version").iter_rows())
    new = {
        side: [f for f in files if (side, f.name, f.version) not in seen]
        for side, files in sides.items()
    }
    job_errors: list[RequestError] = []
    read = _read_source(job, listings["source"], new["source"], kept, stored, job_errors)
    source = pl.concat([kept.filter(side="source"), read])
    lake = Lake(job, source, is_changed=True, listings=listings)
    if job.labels is None:
        return lake
    removed = stored.filter(side="source").join(
        kept.filter(side="source"), on=["file", "version"], how="anti"
    )
    changed = {*read["period"].drop_nulls(), *removed["period"].drop_nulls()}
    labels = _read_labels(lake, sides["labels"], new["labels"], changed, kept, stored, job_errors)
    return replace(lake, files=pl.concat([source, labels]))


def _read_source(
    job: Job,
    listing: Listing,
    new: Sequence[File],
    kept: pl.DataFrame,
    stored: pl.DataFrame,
    job_errors: list[RequestError],
) -> pl.DataFrame:
    """Return the rows of new files of the source."""
    rows = _count_rows(job, new, listing.snapshot, job_errors)
    # If no file fits the job, the job is wrong.
    if job_errors and kept.filter(side="source").is_empty() and all(row["error"] for row in rows):
        raise job_errors[0]
    return pl.DataFrame(_restore_periods(rows, stored), schema=FILES)


def _read_labels(
    lake: Lake,
    files: Sequence[File],
    new: Sequence[File],
    changed: Collection[str],
    kept: pl.DataFrame,
    stored: pl.DataFrame,
    job_errors: list[RequestError],
) -> pl.DataFrame:
    """Return the rows of the files of labels.

    Labels are counted in all ``files`` for periods with ``changed`` rows, and only in ``new`` files
    for the other periods.
    """
    job = lake.job
    stays = kept.filter(pl.col("period").is_in(list(changed)).not_(), side="labels")
    paths = lake.list_files("source", list(changed))
    rows = _count_labels(lake, paths, files, f"IN ({_write_list(changed)})", job_errors)
    others = f"NOT IN ({_write_list(changed)})" if changed else "IS NOT NULL"
    paths = lake.list_files("source", lake.periods)
    rows += _count_labels(lake, paths, new, others, job_errors)
    if job_errors and stays.is_empty() and rows and all(row["error"] for row in rows):
        raise job_errors[0]
    counted = pl.concat([stays, pl.DataFrame(_restore_periods(rows, stored), schema=FILES)])
    # Files without a label for any row are recorded as well, so that they are not read again.
    names = set(counted["file"])
    idle = [_create_row(job, "labels", file, rows=0) for file in files if file.name not in names]
    return pl.concat([counted, pl.DataFrame(idle, schema=FILES)])
