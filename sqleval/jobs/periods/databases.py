"""Reads a table of a database as the source of a job.

A database does not record changes by period. Each run therefore reads the job's columns in all
rows; a hash of them per period is the version of the period's rows.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from sqleval.common.sql_text import quote, write_literal
from sqleval.engines.embedded import embedded
from sqleval.jobs.definitions import list_columns, write_expressions
from sqleval.jobs.file.model import Job
from sqleval.sources.database.naming import find_database
from sqleval.sources.lake.data_files import DataFile
from sqleval.sources.lake.format import Snapshot
from sqleval.sources.opening import open_source
from sqleval.sources.source import Source


@dataclass(frozen=True)
class DatabaseRows:
    """A table of a database, shown to the job as one data file.

    A run opens and describes the table once, and reads its rows anew in each statement.
    """

    source: str
    path: str
    _opened: dict[str, Source] = field(default_factory=dict[str, Source], repr=False)

    @property
    def files(self) -> tuple[DataFile, ...]:
        """The one file that stands for the table's rows."""
        return (DataFile(self.path, 0),)

    def open(self, paths: Iterable[str], name: str, name_as: str = "") -> Source:
        """Return the source of all rows, with the table's name in a column ``name_as``."""
        if name not in self._opened:
            self._opened[name], _ = embedded().describe(open_source(self.source, name=name))
        source = self._opened[name]
        if not name_as:
            return source
        added = f"{write_literal(self.path)} AS {quote(name_as)}"
        relation = f"(SELECT s.*, {added} FROM {source.relation} AS s)"
        return source.add_columns(relation, [name_as], [])


def load_database(path: str) -> Snapshot | None:
    """Return the table of a database that a path or URL names; None for any other source.

    Raises
    ------
    SourceError
        If there is no such database or table.
    """
    database = find_database(path)
    if database is None or database.kind == "ducklake":
        return None
    is_file = database.kind != "postgres"
    short = f"{database.address}#{database.table}".rstrip("#") if is_file else path
    rows = DatabaseRows(path, short)
    rows.open([], "_sqleval_rows")
    return Snapshot(database.address, rows, rows.open, {})


def is_database(snapshot: Snapshot | None) -> bool:
    """Whether the source is a database, whose rows each run reads to find changes."""
    return snapshot is not None and isinstance(snapshot.content, DatabaseRows)


def write_version(
    job: Job, snapshot: Snapshot | None, alias: str, source: Source
) -> tuple[str, list[str]]:
    """Return the SQL of a hash of rows of a database, and the columns that it reads.

    For files the SQL is NULL. The sum does not depend on the order of rows. Each row is hashed
    twice, because DuckDB combines the hashes of columns by XOR: without the second hash, a sum
    would hardly change if two rows swapped their labels, and an XOR over rows not at all.
    """
    if not is_database(snapshot):
        return "NULL", []
    named, sql = {*list_columns(job)}, write_expressions(job).casefold()
    columns = embedded().describe(source)[1]
    read = [c for c in columns if c in named or c.casefold().replace('"', '""') in sql]
    return f"SUM(HASH(HASH({', '.join(f'{alias}.{quote(c)}' for c in read)})))", read
