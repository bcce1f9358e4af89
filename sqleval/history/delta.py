"""Stores a history in Delta tables under one path."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from sqleval.common.imports import import_optional
from sqleval.common.sql_text import write_literal
from sqleval.errors import EngineError, StoreBusy, join_lines
from sqleval.history import schema
from sqleval.history.store import ALL, TABLES, Selection, write_conditions

#: Hours for which a file that no version needs is kept; readers and writers need only seconds.
_KEPT_HOURS = 12
_RETENTION = "delta.deletedFileRetentionDuration"
#: A run merges the files of its job in a table that has more files than this.
_MANY_FILES = 32


@dataclass(frozen=True)
class Delta:
    """Tables partitioned by job, so that concurrent jobs do not conflict."""

    path: str
    options: Mapping[str, str] = field(repr=False)

    def _import_delta(self) -> Any:
        return import_optional("deltalake", "delta", "Delta tables")

    def check_rights(self) -> None:
        """Do nothing: the object store itself refuses to read or write a file."""

    def read(self, table: str, job: str | None = None, only: Selection = ALL) -> pl.DataFrame:
        """Return the rows of a table, optionally of one job; a missing table is empty."""
        delta, types = self._import_delta(), only.list_columns(table)
        where = write_conditions(job, only, write_literal)
        start = "SELECT DISTINCT" if only.distinct else "SELECT"
        with self._translate_errors():
            rows = self._load(table)
            if rows is None:
                return pl.DataFrame(schema=types)
            source = schema.write_relation(table, _list_columns(rows), "history")
            statement = f"{start} {only.write_columns(table)} FROM {source}{where}"
            # DataFusion's query reads only the files, row groups and pages that it needs.
            query = delta.QueryBuilder().register("history", rows).execute(statement)
            frame = pl.DataFrame(query)
        return frame.select(pl.col(name).cast(kind) for name, kind in types.items())

    def replace(
        self,
        job: str,
        periods: Sequence[str],
        results: pl.DataFrame,
        files: pl.DataFrame | None,
        restated: pl.DataFrame | None = None,
    ) -> None:
        """Replace the results of these periods and, if ``files`` is not None, all file rows.

        The rows of ``restated`` are appended.
        """
        if restated is not None:
            # Append first, so that nothing is lost if the process ends between two tables.
            self._write("sqleval_restated", restated, None)
        if periods:
            names = ", ".join(map(write_literal, periods))
            self._write(
                "sqleval_history", results, f"job = {write_literal(job)} AND period IN ({names})"
            )
        if files is not None:
            self._write("sqleval_files", files, f"job = {write_literal(job)}")

    def append(self, table: str, rows: pl.DataFrame) -> None:
        """Add rows to a table."""
        self._write(table, rows, None)

    def remove(self, job: str, periods: Sequence[str]) -> None:
        """Remove the results of these periods, and the results that they had replaced."""
        names = ", ".join(map(write_literal, periods))
        # Delete the results last: as long as they exist, the next call completes this one.
        for table in self._list_tables("sqleval_restated", "sqleval_history"):
            with self._translate_errors():
                table.delete(f"job = {write_literal(job)} AND period IN ({names})")

    def compact(self) -> None:
        """Merge small files, and delete files that no version needs any more.

        Deleted files are kept for 12 hours, or for the time in a property of the table.
        """
        for table in self._list_tables(*TABLES):
            with self._translate_errors():
                table.optimize.compact()
                _vacuum(table)

    def tidy(self, job: str) -> None:
        """Do the same after a run, but merge files only if the job has many of them."""
        of_job = [("job", "=", job)]
        for table in self._list_tables(*TABLES):
            with self._translate_errors():
                if len(table.file_uris(file_pruning_predicate=of_job)) > _MANY_FILES:
                    table.optimize.compact(partition_filters=of_job)
                _vacuum(table)

    def _list_tables(self, *names: str) -> Iterator[Any]:
        """Yield the tables that exist."""
        for name in names:
            with self._translate_errors():
                table = self._load(name)
            if table is not None:
                yield table

    def _load(self, name: str) -> Any:
        """Return a table, or None if there is none yet.

        Raises
        ------
        EngineError
            If the history has a newer version.
        """
        delta = self._import_delta()
        try:
            table = delta.DeltaTable(f"{self.path}/{name}", storage_options=dict(self.options))
        except delta.exceptions.TableNotFoundError:
            return None
        schema.check_version(table.metadata().description, self.path)
        return table

    @contextmanager
    def _translate_errors(self) -> Generator[None]:
        """Raise errors of Delta, and of Polars while it reads rows, as errors of sqleval."""
        exceptions = self._import_delta().exceptions
        try:
            yield
        except exceptions.CommitFailedError as error:
            raise StoreBusy(f"the history {self.path}: {error}") from error
        except exceptions.DeltaError as error:
            raise EngineError(f"the history {self.path}: {error}") from error
        except OSError as error:
            raise EngineError(f"the history {self.path}: {join_lines(error)}") from error
        except pl.exceptions.PolarsError as error:
            text = str(error).splitlines()[0]
            raise EngineError(f"the history {self.path}: {text}") from error

    def _write(self, name: str, frame: pl.DataFrame, where: str | None) -> None:
        delta = self._import_delta()
        with self._translate_errors():
            table = self._load(name)
            if table is None:
                table = self._create(name)
            _upgrade(delta, table, name)
            mode = "append" if where is None else "overwrite"
            delta.write_deltalake(table, frame, mode=mode, predicate=where)

    def _create(self, name: str) -> Any:
        """Create a table and return it; return another job's table if that was faster."""
        self._import_delta().write_deltalake(
            f"{self.path}/{name}",
            pl.DataFrame(schema=TABLES[name]),
            mode="ignore",
            partition_by=["job"],
            description=schema.write_version(None),
            storage_options=dict(self.options),
        )
        return self._load(name)


def _list_columns(table: Any) -> list[str]:
    return [field.name for field in table.schema().fields]


def _upgrade(delta: Any, table: Any, name: str) -> None:
    """Add the columns that a table of an older version lacks, then the present version.

    If two runs do so at the same time, the store is busy for the second one.
    """
    missing = schema.list_missing_columns(name, _list_columns(table))
    if missing:
        empty: Any = pl.DataFrame(schema=TABLES[name])
        fields = delta.Schema.from_arrow(empty.to_arrow().schema).fields
        table.alter.add_columns([each for each in fields if each.name in missing])
    description = table.metadata().description
    if schema.read_version(description) < schema.VERSION:
        table.alter.set_table_description(schema.write_version(description))


def _vacuum(table: Any) -> None:
    """Delete files that no version needs any more, and files of killed writers."""
    hours = None if _RETENTION in table.metadata().configuration else _KEPT_HOURS
    # A full vacuum, because the log forgets removed files after a week, before the next run of a
    # monthly job.
    options = {"retention_hours": hours, "enforce_retention_duration": False, "full": True}
    # A vacuum writes two versions even if there is nothing to delete.
    if table.vacuum(dry_run=True, **options):
        table.vacuum(dry_run=False, **options)
