"""Writes files of deleted rows to an Iceberg table, which PyIceberg cannot do."""

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.io.pyarrow import _dataframe_to_data_files  # type: ignore[reportPrivateUsage]
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    ManifestWriterV2,
)
from pyiceberg.table import Transaction
from pyiceberg.table.snapshots import Operation
from pyiceberg.table.update.snapshot import _FastAppendFiles  # type: ignore[reportPrivateUsage]
from pyiceberg.typedef import Record


class _DeleteManifestWriter(ManifestWriterV2):
    def content(self) -> ManifestContent:
        return ManifestContent.DELETES

    @property
    def _meta(self) -> dict[str, str]:
        return {**super()._meta, "content": "deletes"}


class _Change(Transaction):
    """Computes the metadata once for equal updates, because PyIceberg copies it each time."""

    _computed: tuple[tuple[Any, ...], Any] | None = None

    @property
    def table_metadata(self) -> Any:
        if self._computed is None or self._computed[0] is not self._updates:
            self._computed = self._updates, super().table_metadata
        return self._computed[1]


class _Append(_FastAppendFiles):
    """Adds data files and delete files in one snapshot, with manifests of their own."""

    def _manifests(self) -> list[ManifestFile]:
        groups: dict[tuple[bool, int], list[DataFile]] = {}
        for file in self._added_data_files:
            is_data = file.content == DataFileContent.DATA
            groups.setdefault((is_data, file.spec_id), []).append(file)
        made: list[ManifestFile] = []
        for (is_data, spec), files in groups.items():
            kind = ManifestWriterV2 if is_data else _DeleteManifestWriter
            output = self.new_manifest_output()
            with kind(
                self.spec(spec), self.schema(), output, self._snapshot_id, self._compression
            ) as writer:
                for file in files:
                    writer.add(
                        ManifestEntry.from_args(
                            status=ManifestEntryStatus.ADDED, snapshot_id=self._snapshot_id,
                            sequence_number=None, file_sequence_number=None, data_file=file,
                        )
                    )  # fmt: skip
            made.append(writer.to_manifest_file())
        return made + self._existing_manifests()


def _to_arrow(rows: pl.DataFrame | pa.Table) -> pa.Table:
    if isinstance(rows, pl.DataFrame):
        return rows.to_arrow(compat_level=pl.CompatLevel.oldest())
    return rows


def _write(table: Any, rows: pa.Table) -> str:
    """Write a file of deletes; return its URL."""
    path = f"{table.location()}/data/deletes-{uuid4()}.parquet"
    with table.io.new_output(path).create() as stream:
        pq.write_table(rows, stream)
    return path


def write_deletes(
    table: Any,
    rows: pl.DataFrame | pa.Table,
    numbers: Sequence[int],
    partition: Sequence[object] = (),
    spec: int = 0,
) -> DataFile:
    """Write a file of equality deletes, which compares the columns of these numbers."""
    made = _to_arrow(rows)
    schema = pa.schema(
        field.with_metadata({"PARQUET:field_id": str(number)})
        for field, number in zip(made.schema, numbers, strict=True)
    )
    path = _write(table, made.cast(schema))
    file = DataFile.from_args(
        content=DataFileContent.EQUALITY_DELETES, file_path=path,
        file_format=FileFormat.PARQUET, partition=Record(*partition), record_count=made.num_rows,
        file_size_in_bytes=len(table.io.new_input(path)), equality_ids=list(numbers),
        column_sizes={}, value_counts={}, null_value_counts={}, nan_value_counts={},
        lower_bounds={}, upper_bounds={},
    )  # fmt: skip
    file.spec_id = spec
    return file


def write_positions(table: Any, data_file: str, positions: Sequence[int]) -> DataFile:
    """Write a file with the positions of deleted rows of a data file."""
    fields = [("file_path", pa.string(), 2147483546), ("pos", pa.int64(), 2147483545)]
    schema = pa.schema(
        pa.field(name, kind, False, {"PARQUET:field_id": str(at)}) for name, kind, at in fields
    )
    values = [[data_file] * len(positions), list(positions)]
    path = _write(table, pa.table(values, schema=schema))
    bounds = {2147483546: data_file.encode()}
    file = DataFile.from_args(
        content=DataFileContent.POSITION_DELETES, file_path=path,
        file_format=FileFormat.PARQUET, partition=Record(), record_count=len(positions),
        file_size_in_bytes=len(table.io.new_input(path)), column_sizes={}, value_counts={},
        null_value_counts={}, nan_value_counts={}, lower_bounds=bounds, upper_bounds=bounds,
    )  # fmt: skip
    file.spec_id = 0
    return file


def write_rows(table: Any, rows: pl.DataFrame | pa.Table) -> list[DataFile]:
    """Write data files of rows; a column that they lack is NULL."""
    made = _to_arrow(rows)
    schema = table.schema().as_arrow()
    columns = [
        made[field.name].cast(field.type)
        if field.name in made.column_names
        else pa.nulls(made.num_rows, field.type)
        for field in schema
    ]
    arrow = pa.table(columns, schema=schema)
    files = list(_dataframe_to_data_files(table.metadata, arrow, table.io))
    for file in files:
        file.spec_id = table.spec().spec_id
    return files


def commit(table: Any, *files: DataFile) -> int:
    """Add data files and files of deletes in one snapshot; return its number."""
    with _Change(table) as change:
        update = _Append(Operation.OVERWRITE, change, table.io)
        for file in files:
            update.append_data_file(file)
        update.commit()
    return table.current_snapshot().snapshot_id
