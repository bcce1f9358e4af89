"""A history in Delta tables under one path."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from sqleval.common.imports import import_optional
from sqleval.common.sql_text import write_literal
from sqleval.errors import EngineError, StoreBusy, join_lines
from sqleval.history.store import ALL, TABLES, Selection, write_conditions


@dataclass(frozen=True)
class Delta:
    """Tables partitioned by job, so that concurrent jobs do not conflict."""

    path: str
    options: Mapping[str, str] = field(repr=False)

    def _import_delta(self) -> Any:
        return import_optional("deltalake", "delta", "Delta tables")

    def read(self, table: str, job: str | None = None, only: Selection = ALL) -> pl.DataFrame:
        """Return the rows of a table, optionally of one job; a missing table is empty."""
        delta, schema = self._import_delta(), only.list_columns(table)
        where = write_conditions(job, only, write_literal)
        start = "SELECT DISTINCT" if only.distinct else "SELECT"
        statement = f"{start} {only.write_columns(table)} FROM history{where}"
        with self._translate_errors():
            try:
                rows = delta.DeltaTable(f"{self.path}/{table}", storage_options=dict(self.options))
            except delta.exceptions.TableNotFoundError:
                return pl.DataFrame(schema=schema)
            # DataFusion's query reads only the files, row groups and pages that it needs.
            query = delta.QueryBuilder().register("history", rows).execute(statement)
            frame = pl.DataFrame(query)
        return frame.select(pl.col(name).cast(kind) for name, kind in schema.items())

    def replace(
        self,
        job: str,
        periods: Sequence[str],
        results: pl.DataFrame,
        files: pl.DataFrame | None,
        restated: pl.DataFrame | None = None,
    ) -> None:
        """Replace the results of these periods and, if ``files`` is not None, all file rows.

        The rows of ``restated`` are added to what earlier calls have added.
        """
        if restated is not None:
            # First, so that nothing is lost if the process ends between two tables.
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

    def replace_definitions(self, job: str, definitions: Mapping[str, str]) -> None:
        """Replace definition hashes in the results of a job: old hash to new hash."""
        delta = self._import_delta()
        path = f"{self.path}/sqleval_history"
        cases = " ".join(
            f"WHEN {write_literal(old)} THEN {write_literal(new)}"
            for old, new in definitions.items()
        )
        olds = ", ".join(map(write_literal, definitions))
        with self._translate_errors():
            delta.DeltaTable(path, storage_options=dict(self.options)).update(
                updates={"definition": f"CASE definition {cases} END"},
                predicate=f"job = {write_literal(job)} AND definition IN ({olds})",
            )

    def remove(self, job: str, periods: Sequence[str]) -> None:
        """Remove the results of these periods, and those that they had replaced."""
        names = ", ".join(map(write_literal, periods))
        # The results last: as long as they are there, the next call completes this one.
        for table in self._list_tables("sqleval_restated", "sqleval_history"):
            with self._translate_errors():
                table.delete(f"job = {write_literal(job)} AND period IN ({names})")

    def compact(self) -> None:
        """Write small files together, and delete those that are in no version that is kept.

        How long versions are kept is a property of the table: a week, if it is not set.
        """
        for table in self._list_tables(*TABLES):
            with self._translate_errors():
                table.optimize.compact()
                table.vacuum(dry_run=False)

    def _list_tables(self, *names: str) -> Iterator[Any]:
        """Yield the tables that exist."""
        delta, options = self._import_delta(), dict(self.options)
        for name in names:
            path = f"{self.path}/{name}"
            with self._translate_errors():
                exists = delta.DeltaTable.is_deltatable(path, storage_options=options)
            if exists:
                with self._translate_errors():
                    table = delta.DeltaTable(path, storage_options=options)
                yield table

    @contextmanager
    def _translate_errors(self) -> Generator[None]:
        """Raise errors of Delta, and of Polars that reads its rows, as errors of sqleval."""
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

    def _write(self, table: str, frame: pl.DataFrame, where: str | None) -> None:
        delta = self._import_delta()
        path = f"{self.path}/{table}"
        options = dict(self.options)
        with self._translate_errors():
            if not delta.DeltaTable.is_deltatable(path, storage_options=options):
                empty = pl.DataFrame(schema=TABLES[table])
                # mode=ignore: another job may have created the table just now.
                delta.write_deltalake(
                    path, empty, mode="ignore", partition_by=["job"], storage_options=options
                )
            mode = "append" if where is None else "overwrite"
            delta.write_deltalake(path, frame, mode=mode, predicate=where, storage_options=options)
