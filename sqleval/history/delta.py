"""A history in two Delta tables under one path."""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from sqleval.common.imports import import_optional
from sqleval.common.sql_text import literal
from sqleval.errors import EngineError, StoreBusy
from sqleval.history.store import TABLES


@dataclass(frozen=True)
class Delta:
    """Tables partitioned by job, so that concurrent jobs do not conflict."""

    path: str
    options: Mapping[str, str] = field(repr=False)

    def _import_delta(self) -> Any:
        return import_optional("deltalake", "delta", "Delta tables")

    def read(self, table: str, job: str | None = None) -> pl.DataFrame:
        """Return the rows of a table, optionally of one job; a missing table is empty."""
        delta, schema = self._import_delta(), TABLES[table]
        try:
            rows = delta.DeltaTable(f"{self.path}/{table}", storage_options=dict(self.options))
            only = None if job is None else [("job", "=", job)]
            frame = pl.DataFrame(rows.to_pyarrow_table(filters=only))
        except delta.exceptions.TableNotFoundError:
            return pl.DataFrame(schema=schema)
        except delta.exceptions.DeltaError as error:
            raise EngineError(f"the history {self.path}: {error}") from error
        return frame.select(pl.col(name).cast(kind) for name, kind in schema.items())

    def replace(
        self,
        job: str,
        periods: Sequence[str],
        results: pl.DataFrame,
        files: pl.DataFrame | None,
    ) -> None:
        """Replace the results of these periods and, if ``files`` is not None, all file rows."""
        if periods:
            names = ", ".join(map(literal, periods))
            self._write("sqleval_history", results, f"job = {literal(job)} AND period IN ({names})")
        if files is not None:
            self._write("sqleval_files", files, f"job = {literal(job)}")

    def replace_definitions(self, job: str, definitions: Mapping[str, str]) -> None:
        """Replace definition hashes in the results of a job: old hash to new hash."""
        delta = self._import_delta()
        path = f"{self.path}/sqleval_history"
        cases = " ".join(
            f"WHEN {literal(old)} THEN {literal(new)}" for old, new in definitions.items()
        )
        olds = ", ".join(map(literal, definitions))
        with self._translate_errors():
            delta.DeltaTable(path, storage_options=dict(self.options)).update(
                updates={"definition": f"CASE definition {cases} END"},
                predicate=f"job = {literal(job)} AND definition IN ({olds})",
            )

    @contextmanager
    def _translate_errors(self) -> Generator[None]:
        """Raise errors of Delta as errors of sqleval."""
        exceptions = self._import_delta().exceptions
        try:
            yield
        except exceptions.CommitFailedError as error:
            raise StoreBusy(f"the history {self.path}: {error}") from error
        except exceptions.DeltaError as error:
            raise EngineError(f"the history {self.path}: {error}") from error

    def _write(self, table: str, frame: pl.DataFrame, where: str) -> None:
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
            delta.write_deltalake(
                path, frame, mode="overwrite", predicate=where, storage_options=options
            )
