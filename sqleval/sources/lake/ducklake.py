"""Opens tables of DuckLakes at a snapshot, by the catalogue that lists their files."""

from __future__ import annotations

from sqleval.sources.database.naming import DUCKLAKE, Database, check_file, find_database
from sqleval.sources.lake.ducklake_catalogue import (
    LakeCatalogue,
    LakeTable,
    OpenCatalogue,
    read_changes,
    read_lake_table,
)
from sqleval.sources.lake.ducklake_rows import LakeFiles, open_lake
from sqleval.sources.lake.format import AsOf, Snapshot, TableFormat
from sqleval.sources.source import DatabaseFile, Source
from sqleval.sources.stores import Storage


def _read_table(source: Database, as_of: AsOf, catalogue: LakeCatalogue) -> LakeTable:
    """Return a table of a DuckLake, whose catalogue is open."""
    return read_lake_table(catalogue, source.table, as_of.version, as_of.timestamp)


def _open(table: str, as_of: AsOf, storage: Storage, name: str) -> Source:
    """Open a table of a DuckLake: its catalogue's path, ``#`` and the table."""
    database = find_database(f"{DUCKLAKE}{table}")
    assert database is not None
    check_file(database.address)

    def read(catalogue: LakeCatalogue) -> Source:
        return open_lake(_read_table(database, as_of, catalogue), name)

    file = DatabaseFile(database.address, database.table, None, read)
    return Source("", label=f"{DUCKLAKE}{table}", database=file)


def _load(path: str, _: Storage, open_catalogue: OpenCatalogue) -> Snapshot:
    database = find_database(f"{DUCKLAKE}{path}")
    assert database is not None
    check_file(database.address)
    with open_catalogue(database.address) as catalogue:
        table = _read_table(database, AsOf(), catalogue)
        content = LakeFiles(table, read_changes(catalogue, table.number))
    return Snapshot(
        table.folder,
        content,
        content.open,
        {column.name: number for number, column in table.columns.items()},
    )


def _is_table(_: str) -> bool:
    return False  # a catalogue is a database file, so only the prefix names a DuckLake


DUCKLAKE_TABLES = TableFormat(_is_table, _open, _load)
