"""The DuckDB database of this process: opens, configures, interrupts and closes it."""

from __future__ import annotations

import atexit
import os
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import duckdb

from sqleval.common.sql_text import write_literal
from sqleval.engines.confinement import confinement
from sqleval.engines.waiting import is_watched, wait_for
from sqleval.errors import RequestError

T = TypeVar("T")
#: Settings that this package changes for single statements; a confined database allows them.
_CONFIGURED = [
    "enable_optimizer", "enable_progress_bar", "enable_progress_bar_print", "memory_limit",
    "perfect_ht_threshold", "preserve_insertion_order", "read_ahead_depth", "temp_directory",
    "threads",
]  # fmt: skip
#: Row groups that DuckDB 2 reads before they are decoded; by itself it reads as many as the memory
#: limit allows.
READ_AHEAD = 1


class _Database:
    """The process's own database, in memory; every statement runs on a cursor of it.

    Opening it takes as long as importing a library and needs no Python, so it is opened in the
    background while the first scan imports the compiler.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process = 0
        self._settings: dict[str, str | int] = {}

    def open_soon(self) -> None:
        with self._lock:
            # A forked process has its parent's database without the threads that run it.
            if self._process != os.getpid():
                self._process = os.getpid()
                self._opening = threading.Thread(target=self._open, daemon=True)
                self._opening.start()

    def _open(self) -> None:
        self._con = duckdb.connect(
            config={
                # Every result has its ORDER BY; to keep rows in order before that costs a quarter.
                # DuckDB 1 would lose that ORDER BY as well, where a statement has several CTEs.
                "preserve_insertion_order": duckdb.__version__.startswith("1."),
                # A name in a query= must never mean a Python variable of this package.
                "python_enable_replacements": False,
                # The default would spill into the working directory.
                "temp_directory": _name_spill_folder(tempfile.gettempdir()),
            }
        )
        if not duckdb.__version__.startswith("1."):
            self._con.execute(f"SET GLOBAL read_ahead_depth = {READ_AHEAD}")
        for name, value in self._settings.items():
            self._set(name, value)
        self._is_confined = False

    def _confine(self, paths: Sequence[str]) -> None:
        """Refuse other files, the network, extensions and changes of these settings."""
        settings = self._con.execute("SELECT name FROM duckdb_settings()").fetchall()
        setting_names = {name for (name,) in settings}
        listed = {
            "allowed_directories": [path for path in paths if path.endswith("/")],
            "allowed_paths": [path for path in paths if not path.endswith("/")],
            "allowed_configs": [name for name in _CONFIGURED if name in setting_names],
        }
        for name, values in listed.items():
            texts = ", ".join(map(write_literal, values))
            self._con.execute(f"SET GLOBAL {name} = [{texts}]")
        self._con.execute("SET GLOBAL enable_external_access = FALSE")
        self._con.execute("SET GLOBAL lock_configuration = TRUE")

    def _set(self, name: str, value: str | int) -> None:
        if name == "temp_directory":
            value = _name_spill_folder(str(value))
        self._con.execute(f"SET GLOBAL {name} = {write_literal(str(value))}")

    def configure(self, settings: Mapping[str, str | int]) -> None:
        self.open_soon()
        self._opening.join()
        for name, value in settings.items():
            try:
                self._set(name, value)
            except duckdb.Error as error:
                text = str(error).splitlines()[0].partition(": ")[2]
                raise RequestError(f"{name}={value!r}: {text}") from error
            self._settings[name] = value

    def close(self) -> None:
        """Close the database, and remove what it has spilled."""
        if self._process == os.getpid():
            self._opening.join()
            self._con.close()
            self._process = 0

    def restart(self) -> None:
        """Open a new database for the next statement; those that run keep the old one."""
        self.open_soon()
        self._opening.join()
        with self._lock:
            self._con.close()
            self._process = 0

    def cursor(self) -> duckdb.DuckDBPyConnection:
        self.open_soon()
        self._opening.join()
        with self._lock:
            # Only now: settings can no longer be changed afterwards.
            if confinement.paths is not None and not self._is_confined:
                self._is_confined = True
                self._confine(confinement.paths)
        return self._con.cursor()


def _name_spill_folder(folder: str) -> str:
    """Return the folder that this process spills to; a shared one would be overwritten."""
    return str(Path(folder) / f"sqleval-{os.getpid()}")


_database = _Database()
open_soon, close, cursor = _database.open_soon, _database.close, _database.cursor
restart = _database.restart
atexit.register(close)
# A confinement cannot be changed in an open database.
confinement.on_change.append(close)


def configure(settings: Mapping[str, str | int]) -> None:
    """Set DuckDB's settings for all statements from now on.

    Raises
    ------
    RequestError
        If DuckDB refuses a value.
    """
    _database.configure(settings)


def run_interruptibly(con: Any, work: Callable[[], T]) -> T:
    """Run ``work`` on a connection, and stop it at once when the user interrupts.

    DuckDB itself looks for an interrupt only in the main thread and between its tasks, some of
    which take half a minute; but it stops quickly where another thread tells it to.
    """
    if is_watched():
        con.execute("SET enable_progress_bar = TRUE")
        con.execute("SET enable_progress_bar_print = FALSE")
    return wait_for(work, con.interrupt, con.query_progress)
