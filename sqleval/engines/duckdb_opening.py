"""Opens every connection to DuckDB with the limits of this process, and confines it to files."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from glob import escape
from itertools import count
from pathlib import Path

import duckdb

from sqleval.common.sql_text import write_literal

#: Settings that this package changes for single statements; a confined database allows them.
_CONFIGURED = [
    "enable_optimizer", "enable_progress_bar", "enable_progress_bar_print", "memory_limit",
    "perfect_ht_threshold", "preserve_insertion_order", "read_ahead_depth", "temp_directory",
    "threads",
]  # fmt: skip
#: Row groups that DuckDB 2 reads ahead of decoding. By default it reads as many as the memory
#: limit allows.
READ_AHEAD = 1
#: Endings of the files that DuckDB writes for a database file.
_BESIDE = ("", ".wal", ".wal.checkpoint", ".wal.recovery")
#: Memory, threads and the folder to spill to, as `sqleval.configure` has set them.
limits: dict[str, str | int] = {}
#: Numbers of spill folders: two databases in one folder would overwrite each other's files.
_numbers = count(1)


def open_database(*, keeps_order: bool = False) -> duckdb.DuckDBPyConnection:
    """Return a connection to a new database in memory.

    It loads no extension. By default DuckDB downloads one for an unknown name, or for a file of
    another database.

    Parameters
    ----------
    keeps_order : bool
        Whether results keep the order in which rows were written.
    """
    con = duckdb.connect(
        config={
            # Statements end in ORDER BY, and keeping rows in order before that takes a quarter
            # more time. Without it, DuckDB 1 ignores that ORDER BY after several CTEs.
            "preserve_insertion_order": keeps_order or duckdb.__version__.startswith("1."),
            # A name in a query= must never mean a Python variable of this package.
            "python_enable_replacements": False,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            # The default would spill into the working directory.
            "temp_directory": _name_spill_folder(tempfile.gettempdir()),
        }
    )
    if not duckdb.__version__.startswith("1."):
        con.execute(f"SET GLOBAL read_ahead_depth = {READ_AHEAD}")
    # The default, the zone of the machine, would change the meaning of conditions.
    con.execute("SET GLOBAL TimeZone = 'UTC'")
    for name, value in limits.items():
        set_limit(con, name, value)
    return con


def set_limit(con: duckdb.DuckDBPyConnection, name: str, value: str | int) -> None:
    """Set a limit of a database."""
    if name == "temp_directory":
        value = _name_spill_folder(str(value))
    con.execute(f"SET GLOBAL {name} = {write_literal(str(value))}")


def _name_spill_folder(folder: str) -> str:
    """Return the path of a new spill folder, which only one database uses."""
    return str(Path(folder) / f"sqleval-{os.getpid()}-{next(_numbers)}")


def confine_to(con: duckdb.DuckDBPyConnection, paths: Iterable[str]) -> None:
    """Make a database refuse other files, the network, extensions and changes of settings.

    Parameters
    ----------
    con : DuckDBPyConnection
        The database; it stays confined.
    paths : iterable of str
        Files, and folders that end in a slash.
    """
    paths = [*paths]
    settings = con.execute("SELECT name FROM duckdb_settings()").fetchall()
    setting_names = {name for (name,) in settings}
    listed = {
        "allowed_directories": [path for path in paths if path.endswith("/")],
        "allowed_paths": [path for path in paths if not path.endswith("/")],
        "allowed_configs": [name for name in _CONFIGURED if name in setting_names],
    }
    for name, values in listed.items():
        texts = ", ".join(map(write_literal, values))
        con.execute(f"SET GLOBAL {name} = [{texts}]")
    con.execute("SET GLOBAL enable_external_access = FALSE")
    con.execute("SET GLOBAL lock_configuration = TRUE")


def open_for_file(path: str, *, keeps_order: bool = False) -> duckdb.DuckDBPyConnection:
    """Return a connection to a new database that may touch one DuckDB file, and no other.

    Otherwise a view in the file could read any file of the machine.
    """
    con = open_database(keeps_order=keeps_order)
    confine_to(con, list_places([path]))
    return con


def list_places(files: Iterable[str]) -> list[str]:
    """Return the paths of files, and of the files that DuckDB writes beside them.

    Each path is also listed as an escaped pattern: this package passes files to DuckDB as such
    patterns, and DuckDB compares the pattern.
    """
    paths = {find(file) for file in files for find in (os.path.abspath, os.path.realpath)}
    places = [f"{file}{ending}" for file in sorted(paths) for ending in _BESIDE]
    return list(dict.fromkeys([*places, *map(escape, places)]))
