"""Writes ``tests/core/sources/ducklakes.tar.xz``, DuckLakes made by DuckDB's extension.

The extension is there for DuckDB 1.5.5 alone, in an environment of its own::

    pip install duckdb==1.5.5 duckdb-extension-ducklake==1.5.5 \
        duckdb-extension-sqlite-scanner==1.5.5
    python tests/support/ducklakes.py

The archive holds the same steps with two kinds of catalogues, each with its data files, and the
rows that the extension reads at every snapshot (``rows.parquet``). ``early.sqlite`` is the
catalogue before the last steps. ``merged_ducklakes.tar.xz`` is a lake whose files are merged.
"""

import os
import shutil
import tarfile
import tempfile
from pathlib import Path

import duckdb

STEPS = [
    "CREATE TABLE preds(key INTEGER, day DATE, y BIGINT, p DOUBLE, seg VARCHAR)",
    """INSERT INTO preds SELECT i, DATE '2026-01-01' + CAST(i // 40 AS INTEGER), i * 7 % 3 // 2,
    (i * 37 % 101) / 101.0, 'seg ' || i % 3 FROM range(120) AS t(i)""",
    # The catalogue itself holds so few rows.
    """INSERT INTO preds VALUES (1000, DATE '2026-01-02', 1, 0.5, 'it''s'),
    (1001, DATE '2026-01-02', 0, 0.25, NULL)""",
    "DELETE FROM preds WHERE key BETWEEN 20 AND 31",
    "DELETE FROM preds WHERE key IN (7, 1000)",
    "ALTER TABLE preds ADD COLUMN w BIGINT DEFAULT 2",
    "ALTER TABLE preds RENAME COLUMN seg TO filename",
    "ALTER TABLE preds ALTER COLUMN key TYPE BIGINT",
    "INSERT INTO preds VALUES (5000000000, DATE '2026-01-03', 1, 'inf', 'z', 1)",
    """INSERT INTO preds SELECT i, DATE '2026-01-04', i % 2, (i * 37 % 101) / 101.0, 'new', 3
    FROM range(300, 340) AS t(i)""",
    "UPDATE preds SET p = 0.75 WHERE key = 310",
    "CREATE SCHEMA other",
    "CREATE TABLE other.labels(key INTEGER, l INTEGER[])",
    "CREATE TABLE other.preds(key INTEGER)",
    "CREATE TABLE other.lists(l INTEGER[])",
    "CREATE TABLE empty(y BIGINT, p DOUBLE)",
    "CALL ducklake_flush_inlined_data('l')",
    "DELETE FROM preds WHERE key BETWEEN 50 AND 60",
    # One file of deleted rows and one data file each have rows of two snapshots.
    "DELETE FROM preds WHERE key BETWEEN 61 AND 70",
    """INSERT INTO preds SELECT i, DATE '2026-01-04', i % 2, (i * 37 % 101) / 101.0, 'new', 4
    FROM range(340, 360) AS t(i)""",
    """INSERT INTO preds SELECT i, DATE '2026-01-04', i % 2, (i * 37 % 101) / 101.0, 'new', 4
    FROM range(360, 380) AS t(i)""",
    "CALL ducklake_merge_adjacent_files('l')",
    "EARLY",
    "DELETE FROM preds WHERE day = DATE '2026-01-03' AND p BETWEEN 0.9 AND 1",
    # A file of another writer has names instead of numbers, and lacks columns.
    """COPY (SELECT 9000 AS key, DATE '2026-01-05' AS day, i % 2 AS y, i / 20 AS p
    FROM range(20) AS t(i)) TO 'data/added.parquet'""",
    "CALL ducklake_add_data_files('l', 'preds', 'data/added.parquet', allow_missing => true)",
    "INSERT INTO preds VALUES (9001, DATE '2026-01-05', 1, 0.5, NULL, 1)",
]


_DAY = """INSERT INTO preds SELECT i, DATE '2026-01-0{0}', i * 7 % 3 // 2, (i * 37 % 101) / 101.0
FROM range({0}00, {0}40) AS t(i)"""
_MERGE = "CALL ducklake_merge_adjacent_files('l')"
#: Steps between which the catalogue is kept, as ``merged/NAME.sqlite``.
MERGES = {
    "three": ["CREATE TABLE preds(key INTEGER, day DATE, y BIGINT, p DOUBLE)",
              *(_DAY.format(day) for day in (1, 2, 3))],
    "merged": [_MERGE],
    "four": [_DAY.format(4)],
    "again": [_MERGE],
    "deleted": ["DELETE FROM preds WHERE key < 125"],
    "expired": [_DAY.format(5), _DAY.format(6), _MERGE,
                "CALL ducklake_expire_snapshots('l', older_than => now())"],
}  # fmt: skip
ARCHIVE = Path(__file__).resolve().parents[1] / "core" / "sources" / "ducklakes.tar.xz"
MERGED = ARCHIVE.with_name("merged_ducklakes.tar.xz")


def unpack(folder: Path, archive: Path = ARCHIVE) -> Path:
    """Unpack lakes; the paths in their catalogues are relative to them."""
    with tarfile.open(archive) as file:
        # Python has filters from 3.11.4 on; Debian 12 has 3.11.2.
        file.extraction_filter = getattr(tarfile, "data_filter", None)
        file.extractall(folder)
    return folder


def load(con: duckdb.DuckDBPyConnection) -> None:
    for name in ("ducklake", "sqlite_scanner"):
        folder = Path(duckdb.__file__).parent.parent / f"duckdb_extension_{name}"
        (file,) = folder.rglob("*.duckdb_extension")
        con.execute(f"LOAD '{file}'")


def write(folder: Path, catalogue: str, prefix: str) -> None:
    """Write a lake into a folder, with paths that are relative to it."""
    folder.mkdir()
    os.chdir(folder)
    con = duckdb.connect()
    load(con)
    con.execute("SET TimeZone = 'UTC'")
    attach = f"ATTACH 'ducklake:{prefix}{catalogue}' AS l (DATA_PATH 'data/'); USE l"
    con.execute(attach)
    for step in STEPS:
        if step != "EARLY":
            con.execute(step)
            continue
        con.execute("USE memory; DETACH l")
        shutil.copy(catalogue, "early" + Path(catalogue).suffix)
        con.execute(attach)
    texts: list[str] = []
    for (at,) in con.execute("SELECT snapshot_id FROM l.snapshots()").fetchall():
        # The rows are not in order, because the extension sorts a changed type by old statistics.
        try:
            names = con.sql(f"FROM preds AT (VERSION => {at})").columns
        except duckdb.Error:
            continue  # before the table was made
        chosen = [
            name if name in names else f"NULL AS {name}"
            for name in ("key", "day", "y", "p", "seg", "filename", "w")
        ]
        texts.append(
            f"SELECT {at} AS snapshot, {', '.join(chosen)} FROM preds AT (VERSION => {at})"
        )
    rows = " UNION ALL ".join(texts)
    con.execute(f"COPY ({rows}) TO 'rows.parquet' (COMPRESSION zstd)")
    con.close()


def write_merges(folder: Path) -> None:
    """Write a lake whose files are merged, with its catalogue after each of the steps."""
    folder.mkdir()
    os.chdir(folder)
    con = duckdb.connect()
    load(con)
    for name, steps in MERGES.items():
        con.execute("ATTACH 'ducklake:sqlite:lake.sqlite' AS l (DATA_PATH 'data/'); USE l")
        for step in steps:
            con.execute(step)
        con.execute("USE memory; DETACH l")
        shutil.copy("lake.sqlite", f"{name}.sqlite")
    con.close()


def main() -> None:
    """Write the archives."""
    with tempfile.TemporaryDirectory() as name:
        write_merges(Path(name) / "merged")
        with tarfile.open(MERGED, "w:xz", preset=9) as file:
            file.add(Path(name) / "merged", "merged", filter=_forget)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder / "duckdb", "lake.ducklake", "")
        write(folder / "sqlite", "lake.sqlite", "sqlite:")
        (folder / "duckdb" / "early.ducklake").unlink()
        with tarfile.open(ARCHIVE, "w:xz", preset=9) as file:
            for kind in ("duckdb", "sqlite"):
                file.add(folder / kind, kind, filter=_forget)


def _forget(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Return a member of the archive without its owner and time."""
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    return member


if __name__ == "__main__":
    main()
