"""Holds the files of a job's sources by period, hashes them, and opens them.

`sqleval.jobs.periods.counting` fills it from the history and the files that have changed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import polars as pl

from sqleval.binding.lookup import find_column
from sqleval.binding.row_query import apply_query, parse_query
from sqleval.common.periods import write_period_start_sql
from sqleval.common.sql_text import write_literal
from sqleval.engines.base import Engine
from sqleval.engines.embedded import embedded
from sqleval.errors import RequestError, SourceError, get_first_line
from sqleval.jobs.file.model import Job
from sqleval.jobs.periods.databases import is_database
from sqleval.jobs.periods.listing import Listing, hash_text
from sqleval.sources.files import open_files
from sqleval.sources.lake.format import Snapshot
from sqleval.sources.reading import find_date_option
from sqleval.sources.source import Source
from sqleval.sources.stores import check_storage
from sqleval.states.reading import merge_definitions, unify_columns, write_longer_period_sql

#: Columns that are added to a source; columns of users must not have these names.
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

    @cached_property
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

        The periods of missing files are not listed, because their results may still be right. The
        periods of a database are not listed either, because it may be a view of the last weeks.
        """
        if not self.is_changed or stored.is_empty() or is_database(self.find_snapshot("source")):
            return []
        before = stored.filter(pl.col("period").is_not_null(), side="source")
        gone = before.filter(~pl.col("period").is_in(self.periods))
        if gone.is_empty():
            return []
        readable = self.files.filter(pl.col("error").is_null(), side="source")["file"].implode()
        emptied = gone.group_by("period").agg(pl.col("file").is_in(readable).all())
        return emptied.filter("file")["period"].to_list()

    def list_files(self, side: str, periods: Sequence[str]) -> list[str]:
        """Return the paths of a side (``source`` or ``labels``) with rows of these periods."""
        chosen = self._with_period.filter(pl.col("period").is_in(list(periods)), side=side)
        return self._resolve_files(side, chosen)

    def find_snapshot(self, side: str) -> Snapshot | None:
        """Return the version of the table of a side; None if it is not a table."""
        return self.listings[side].snapshot if side in self.listings else None

    def list_datasets(self, periods: Sequence[str]) -> list[str]:
        """Return the tables, and the files outside tables, with rows of these periods."""
        datasets: list[str] = []
        for side in self.listings:
            files, snapshot = self.list_files(side, periods), self.find_snapshot(side)
            datasets += [snapshot.location] if snapshot and files else files
        return datasets

    def list_label_files(self, periods: Sequence[str]) -> list[str]:
        """Return the files with labels for these periods; without any, one file for its columns.

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

    @cached_property
    def fingerprints(self) -> dict[str, str]:
        """The hash of the files of each period, which changes with the period's data."""
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

    def compute_fingerprints_before(self, stored: pl.DataFrame) -> dict[str, str]:
        """Return the fingerprints of periods from their files in the last completed run."""
        return replace(self, files=stored).fingerprints if self.is_changed else self.fingerprints

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


def open_job_files(
    job: Job,
    files: Sequence[str],
    name: str = "_sqleval_rows",
    snapshot: Snapshot | None = None,
    side: str = "source",
) -> Source:
    """Return the source of the files or table of a side, with each row's file in a column."""
    if snapshot is not None:
        return snapshot.open_files(files, name, FILE)
    return open_files(
        files, name_as=FILE, name=name, storage=check_storage(job.storage),
        reading=job.read_side(side),
    )  # fmt: skip


def open_with_period(
    job: Job, files: Sequence[str], snapshot: Snapshot | None = None
) -> tuple[Source, str]:
    """Return the source of files or a table's files, and the SQL of a row's period, over ``s``.

    The SQL gives the period's first day, or the name of an hour or of a period of states.

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
    """Return a source that is ready to be read, and the SQL of a row's period, over ``s``."""
    period = job.period
    if period.format is not None and source.text_reader.startswith("read_csv"):
        name = find_date_option(period.format)
        if f", {name} = " not in source.reader_options:  # the job may give it in csv:, too
            source = source.add_options(f"{name} = {write_literal(period.format)}")
    source, columns = (engine or embedded()).describe(add_query(job, source, engine))
    column = find_column(columns, period.column, "period.column", source.label)
    return source, write_period_start_sql(column, period.grain, period.timezone, period.format)


def add_query(job: Job, source: Source, engine: Engine | None = None) -> Source:
    """Return a source of the results of the job's query; the source itself without one.

    Raises
    ------
    RequestError
        If the query does not fit the columns of the source.
    SourceError
        If a file cannot be read.
    """
    if job.query is None:
        return source
    reader, query = engine or embedded(), parse_query(job.query)
    source, columns = reader.describe(source)
    result = apply_query(query, source, columns, FILE, reader.dialect)
    try:
        result, columns = reader.describe(result)
    except SourceError as error:  # only the query is new
        reason = error.__cause__ or error
        raise RequestError(f"query: {get_first_line(reason)}") from error
    folded = {name.casefold() for name in columns}
    if missing := [name for name, _ in query.items if name.casefold() not in folded]:
        raise RequestError(
            f"query: {missing[0]!r} is a struct, whose fields UNNEST would make columns; UNNEST "
            "takes a list"
        )
    return result
