"""The history in Delta tables, two folders under one path."""

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
    """Tables partitioned by job, so that jobs that write at one time do not meet."""

    path: str
    options: Mapping[str, str] = field(repr=False)

    def _delta(self) -> Any:
        return import_optional("deltalake", "delta", "Delta tables")

    def read(self, table: str, job: str | None = None) -> pl.DataFrame:
        """Return a table's rows, or those of one job."""
        delta, schema = self._delta(), TABLES[table]
        try:
            found = delta.DeltaTable(f"{self.path}/{table}", storage_options=dict(self.options))
            only = None if job is None else [("job", "=", job)]
            frame = pl.DataFrame(found.to_pyarrow_table(filters=only))
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
        """Put ``results`` in the place of these periods' rows, and ``files`` of all files."""
        if periods:
            of = ", ".join(map(literal, periods))
            self._write("sqleval_history", results, f"job = {literal(job)} AND period IN ({of})")
        if files is not None:
            self._write("sqleval_files", files, f"job = {literal(job)}")

    def rename(self, job: str, definitions: Mapping[str, str]) -> None:
        """Write each definition of a job's rows under its new name."""
        delta = self._delta()
        at = f"{self.path}/sqleval_history"
        cases = " ".join(
            f"WHEN {literal(old)} THEN {literal(new)}" for old, new in definitions.items()
        )
        olds = ", ".join(map(literal, definitions))
        with self._translated():
            delta.DeltaTable(at, storage_options=dict(self.options)).update(
                updates={"definition": f"CASE definition {cases} END"},
                predicate=f"job = {literal(job)} AND definition IN ({olds})",
            )

    @contextmanager
    def _translated(self) -> Generator[None]:
        """Raise a failed write as this project's error."""
        exceptions = self._delta().exceptions
        try:
            yield
        except exceptions.CommitFailedError as error:
            raise StoreBusy(f"the history {self.path}: {error}") from error
        except exceptions.DeltaError as error:
            raise EngineError(f"the history {self.path}: {error}") from error

    def _write(self, table: str, frame: pl.DataFrame, where: str) -> None:
        delta = self._delta()
        at = f"{self.path}/{table}"
        options = dict(self.options)
        with self._translated():
            if not delta.DeltaTable.is_deltatable(at, storage_options=options):
                empty = pl.DataFrame(schema=TABLES[table])
                # Not an error where another job has just made it.
                delta.write_deltalake(
                    at, empty, mode="ignore", partition_by=["job"], storage_options=options
                )
            delta.write_deltalake(
                at, frame, mode="overwrite", predicate=where, storage_options=options
            )
