"""Reads the catalogue of a DuckLake: the columns and files of a table at a snapshot.

The catalogue is a DuckDB or SQLite file of plain tables. They are read by the specification of
DuckLake 1.0, so DuckDB's extension is not needed.
"""

# Frozen, as is `ducklake_rows`: no new features. DuckDB's extension `ducklake` makes both
# unnecessary when PyPI has it (duckdb-extension-ducklake) for each version of DuckDB that is
# allowed; so far 1.5 alone has it.

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from sqleval.common.sql_text import quote, write_literal
from sqleval.errors import SourceError
from sqleval.sources.database.naming import DUCKLAKE, choose_table
from sqleval.sources.stores import is_remote

#: DuckDB's types of the scalar types of DuckLake.
_TYPES = {
    "boolean": "BOOLEAN", "int8": "TINYINT", "int16": "SMALLINT", "int32": "INTEGER",
    "int64": "BIGINT", "int128": "HUGEINT", "uint8": "UTINYINT", "uint16": "USMALLINT",
    "uint32": "UINTEGER", "uint64": "UBIGINT", "float32": "FLOAT", "float64": "DOUBLE",
    "date": "DATE", "time": "TIME", "timestamp": "TIMESTAMP", "timestamp_s": "TIMESTAMP_S",
    "timestamp_ms": "TIMESTAMP_MS", "timestamp_ns": "TIMESTAMP_NS", "timestamptz": "TIMESTAMPTZ",
    "varchar": "VARCHAR", "json": "VARCHAR", "uuid": "UUID",
}  # fmt: skip
_VERSION = "1.0"


class LakeCatalogue(NamedTuple):
    """A catalogue: its path, its table names, and a function that runs a SELECT and gives Arrow."""

    path: str
    tables: frozenset[str]
    select: Callable[[str], Any]

    def rows(self, statement: str) -> list[dict[str, Any]]:
        """Return the rows of a statement over the catalogue, by column."""
        return self.select(statement).to_pylist()


#: Opens the catalogue at a path.
OpenCatalogue = Callable[[str], AbstractContextManager[LakeCatalogue]]


class LakeColumn(NamedTuple):
    """A column: name, DuckDB's type, and its value in files that are older than the column."""

    name: str
    type: str
    default: str | None


class LakeFile(NamedTuple):
    """A data file of a table.

    Attributes
    ----------
    path : str
        The file.
    size, rows : int
        Its bytes, and its number of rows, including deleted ones.
    names : mapping of int to str or None
        The names of columns in the file by number; None if the file itself has the numbers.
    begin : int
        The snapshot that added its first rows.
    last : int
        The snapshot that added its last rows, if a merge has made the file; else 0.
    is_merged : bool
        Whether it also has rows of snapshots after the one that is read.
    deletes : str
        The file of the numbers of its deleted rows; empty without one.
    has_later_deletes : bool
        Whether that file also has rows that were deleted later.
    deleted : tuple of int
        The numbers of further deleted rows.
    """

    path: str
    size: int
    rows: int
    names: dict[int, str] | None
    begin: int
    last: int
    is_merged: bool
    deletes: str
    has_later_deletes: bool
    deleted: tuple[int, ...]


class LakeTable(NamedTuple):
    """A table of a DuckLake at a snapshot.

    Attributes
    ----------
    label : str
        Its name in messages.
    folder : str
        The folder of its data files.
    number : int
        Its number in the catalogue.
    snapshot : int
        The snapshot.
    columns : mapping of int to LakeColumn
        Its columns by number.
    files : tuple of LakeFile
        Its data files.
    inlined : pyarrow.Table
        The rows that the catalogue itself holds, as texts.
    """

    label: str
    folder: str
    number: int
    snapshot: int
    columns: dict[int, LakeColumn]
    files: tuple[LakeFile, ...]
    inlined: Any


def read_lake_table(
    catalogue: LakeCatalogue, table: str, version: int | str | None, moment: datetime | None
) -> LakeTable:
    """Return a table at a snapshot or a time; without either, at the newest snapshot.

    Raises
    ------
    SourceError
        If it is not a catalogue, has no such table or snapshot, or the table cannot be read.
    """
    path = catalogue.path
    if "ducklake_metadata" not in catalogue.tables:
        raise SourceError(f"{path!r} is not a catalogue of a DuckLake: no table ducklake_metadata")
    rows = catalogue.rows("SELECT key, value FROM ducklake_metadata WHERE scope IS NULL")
    metadata = {row["key"]: row["value"] for row in rows}
    if metadata.get("version") != _VERSION:
        raise SourceError(
            f"the DuckLake {path!r} has version {metadata.get('version')} of the format, and "
            f"{_VERSION} is read; DuckDB's extension converts older ones by ATTACH "
            "'ducklake:...' (AUTOMATIC_MIGRATION)"
        )
    snapshot = _find_snapshot(catalogue, version, moment)
    number, name, parts = _find_table(catalogue, table, snapshot)
    label = f"{DUCKLAKE}{path}#{name} (snapshot {snapshot})"
    folder = _locate(path, (metadata.get("data_path") or "", True), *parts)
    if is_remote(folder):
        raise SourceError(f"cannot read {label}: {folder} is not local")
    columns = _list_columns(catalogue, number, snapshot)
    if not columns:
        raise SourceError(f"cannot read {label}: it has no column of a simple type")
    files = tuple(_list_files(catalogue, number, snapshot, folder, label))
    inlined = _read_inlined(catalogue, number, snapshot, columns, label)
    return LakeTable(label, folder, number, snapshot, columns, files, inlined)


def read_changes(catalogue: LakeCatalogue, table: int) -> dict[int, frozenset[str]]:
    """Return a table's changes, such as ``merge_adjacent``, in each snapshot that is kept."""
    rows = catalogue.rows("SELECT snapshot_id, changes_made FROM ducklake_snapshot_changes")
    return {
        row["snapshot_id"]: frozenset(re.findall(rf"(\w+):{table}\b", row["changes_made"] or ""))
        for row in rows
    }


def _is_alive(snapshot: int, alias: str) -> str:
    """Write the condition that a row of the catalogue is part of a snapshot."""
    return (
        f"{alias}.begin_snapshot <= {snapshot} "
        f"AND ({alias}.end_snapshot IS NULL OR {alias}.end_snapshot > {snapshot})"
    )


def _find_snapshot(
    catalogue: LakeCatalogue, version: int | str | None, moment: datetime | None
) -> int:
    path = catalogue.path
    if isinstance(version, str):
        raise SourceError(f"version={version!r}: the versions of a DuckLake are numbers")
    last = "SELECT MIN(snapshot_id) AS first, MAX(snapshot_id) AS last FROM ducklake_snapshot"
    if moment is not None:
        times = "SELECT snapshot_id, CAST(snapshot_time AS VARCHAR) AS at FROM ducklake_snapshot"
        snapshots = [
            row["snapshot_id"]
            for row in catalogue.rows(times)
            if datetime.fromisoformat(row["at"]) <= moment
        ]
        if not snapshots:
            raise SourceError(f"the DuckLake {path!r} has no snapshot at {moment}, or before")
        return max(snapshots)
    (ends,) = catalogue.rows(last)
    if version is None:
        return ends["last"]
    if not catalogue.rows(
        f"SELECT snapshot_id FROM ducklake_snapshot WHERE snapshot_id = {version}"
    ):
        raise SourceError(
            f"the DuckLake {path!r} has no snapshot {version} ({ends['first']} to {ends['last']})"
        )
    return version


def _find_table(
    catalogue: LakeCatalogue, name: str, snapshot: int
) -> tuple[int, str, tuple[tuple[str, bool], ...]]:
    """Return a table's number and name, and the parts of its folder."""
    rows = catalogue.rows(
        f"""
        SELECT
            s.schema_name, t.table_name, t.table_id, s.path AS schema_path,
            s.path_is_relative AS schema_is_relative, t.path, t.path_is_relative
        FROM ducklake_table AS t
        JOIN ducklake_schema AS s USING (schema_id)
        WHERE {_is_alive(snapshot, "t")} AND {_is_alive(snapshot, "s")}
        """
    )
    names = {(row["schema_name"], row["table_name"]): row for row in rows}
    # A name without a schema means the table in the schema `main`, if there is one.
    exact = f"main.{name}" if ("main", name) in names else name
    schema, table = choose_table(
        [*names], exact, f"the DuckLake {catalogue.path!r}", f"{DUCKLAKE}{catalogue.path}#"
    )
    row = names[schema, table]
    parts = (
        (row["schema_path"], bool(row["schema_is_relative"])),
        (row["path"], bool(row["path_is_relative"])),
    )
    return row["table_id"], f"{schema}.{table}", parts


def _locate(catalogue: str, *parts: tuple[str, object]) -> str:
    """Join the parts of a path; an absolute part replaces those before it.

    A relative path was written by a process in another working directory. DuckDB resolves it in
    this process's one. If nothing is there, it is resolved from the catalogue's folder.
    """
    place = ""
    for part, is_relative in parts:
        place = f"{place.rstrip('/')}/{part}" if place and is_relative else part
    if is_remote(place) or Path(place).is_absolute() or Path(place).exists():
        return place
    return str(Path(catalogue).parent / place)


def _list_columns(catalogue: LakeCatalogue, table: int, snapshot: int) -> dict[int, LakeColumn]:
    """Return the columns of simple types by number; other columns cannot be used."""
    rows = catalogue.rows(
        f"""
        SELECT c.column_id, c.column_name, c.column_type, c.initial_default
        FROM ducklake_column AS c
        WHERE c.table_id = {table} AND c.parent_column IS NULL AND {_is_alive(snapshot, "c")}
        ORDER BY c.column_order
        """
    )
    columns: dict[int, LakeColumn] = {}
    for row in rows:
        kind = row["column_type"].lower()
        is_decimal = re.fullmatch(r"decimal\(\d+, ?\d+\)", kind)
        written = kind.upper() if is_decimal else _TYPES.get(kind)
        if written is not None:
            name, default = row["column_name"], row["initial_default"]
            columns[row["column_id"]] = LakeColumn(name, written, default)
    return columns


def _list_files(
    catalogue: LakeCatalogue, table: int, snapshot: int, folder: str, label: str
) -> Iterator[LakeFile]:
    rows = catalogue.rows(
        f"""
        SELECT
            f.data_file_id, f.path, f.path_is_relative, f.file_format, f.file_size_bytes,
            f.begin_snapshot, f.record_count, f.encryption_key, f.mapping_id, f.partial_max,
            d.path AS deletes, d.path_is_relative AS deletes_is_relative,
            d.format AS deletes_format, d.encryption_key AS deletes_key,
            d.partial_max AS deletes_max
        FROM ducklake_data_file AS f
        LEFT JOIN ducklake_delete_file AS d
            ON d.data_file_id = f.data_file_id AND {_is_alive(snapshot, "d")}
        WHERE f.table_id = {table} AND {_is_alive(snapshot, "f")}
        ORDER BY f.data_file_id
        """
    )
    deleted = _read_deleted(catalogue, table, snapshot)
    names = _read_names(catalogue, table)

    for row in rows:
        path = _locate(catalogue.path, (folder, True), (row["path"], row["path_is_relative"]))
        formats = {row["file_format"] or "parquet", row["deletes_format"] or "parquet"}
        if row["encryption_key"] or row["deletes_key"] or formats != {"parquet"}:
            what = ", ".join(sorted(formats - {"parquet"})) or "encrypted"
            raise SourceError(f"cannot read {label}: {path} or its deleted rows are {what}")
        mapping = row["mapping_id"]
        if mapping is not None and names.get(mapping) is None:
            raise SourceError(
                f"cannot read {label}: {path} was added with columns in its path; "
                "CALL ducklake_rewrite_data_files(...) writes them to files"
            )
        yield LakeFile(
            path,
            row["file_size_bytes"],
            row["record_count"],
            None if mapping is None else names[mapping],
            row["begin_snapshot"],
            row["partial_max"] or 0,
            (row["partial_max"] or 0) > snapshot,
            _locate(catalogue.path, (folder, True), (row["deletes"], row["deletes_is_relative"]))
            if row["deletes"]
            else "",
            (row["deletes_max"] or 0) > snapshot,
            tuple(deleted.get(row["data_file_id"], ())),
        )


def _read_deleted(catalogue: LakeCatalogue, table: int, snapshot: int) -> dict[int, list[int]]:
    """Return the numbers of deleted rows that the catalogue itself stores, by file."""
    name = f"ducklake_inlined_delete_{table}"
    if name not in catalogue.tables:
        return {}
    deleted: dict[int, list[int]] = {}
    for row in catalogue.rows(
        f"SELECT file_id, row_id FROM {name} WHERE begin_snapshot <= {snapshot} ORDER BY row_id"
    ):
        deleted.setdefault(row["file_id"], []).append(row["row_id"])
    return deleted


def _read_names(catalogue: LakeCatalogue, table: int) -> dict[int, dict[int, str] | None]:
    """Return, by mapping, the names of columns in files that have no column numbers.

    A mapping with a column in the path is None.
    """
    rows = catalogue.rows(
        f"""
        SELECT m.mapping_id, n.target_field_id, n.source_name, n.is_partition
        FROM ducklake_column_mapping AS m
        JOIN ducklake_name_mapping AS n USING (mapping_id)
        WHERE m.table_id = {table} AND n.parent_column IS NULL
        """
    )
    in_paths = {row["mapping_id"] for row in rows if row["is_partition"]}
    names: dict[int, dict[int, str] | None] = dict.fromkeys(in_paths)
    for row in rows:
        if row["mapping_id"] not in in_paths:
            source_names = names.setdefault(row["mapping_id"], {})
            assert source_names is not None
            source_names[row["target_field_id"]] = row["source_name"]
    return names


def _read_inlined(
    catalogue: LakeCatalogue, table: int, snapshot: int, columns: dict[int, LakeColumn], label: str
) -> Any:
    """Return the rows that the catalogue itself stores, by the columns' names, as texts."""
    pa: Any = import_module("pyarrow")
    schema = pa.schema([(column.name, pa.string()) for column in columns.values()])
    inlined_tables = catalogue.rows(
        f"""
        SELECT i.table_name, v.begin_snapshot
        FROM ducklake_inlined_data_tables AS i
        JOIN ducklake_schema_versions AS v
            ON v.table_id = i.table_id AND v.schema_version = i.schema_version
        WHERE i.table_id = {table}
        """
    )
    parts: list[Any] = []
    for row in inlined_tables:
        name = row["table_name"]
        then = _list_columns(catalogue, table, row["begin_snapshot"])
        stored = set(catalogue.select(f"SELECT * FROM {quote(name)} LIMIT 0").column_names)
        if not {column.name for column in then.values()} <= stored:
            raise SourceError(f"cannot read {label}: {name} has other columns than its schema")
        chosen = ", ".join(
            f"CAST({_write_inlined(number, column, then)} AS VARCHAR) AS {quote(column.name)}"
            for number, column in columns.items()
        )
        rows = catalogue.select(
            f"SELECT {chosen} FROM {quote(name)} AS r WHERE {_is_alive(snapshot, 'r')}"
        )
        if rows.num_rows:
            parts.append(rows.cast(schema))
    return pa.concat_tables(parts) if parts else schema.empty_table()


def _write_inlined(number: int, column: LakeColumn, then: dict[int, LakeColumn]) -> str:
    """Write a column by its name in an older schema; a newer column has its default value."""
    if number in then:
        return f"r.{quote(then[number].name)}"
    return "NULL" if column.default is None else write_literal(column.default)
