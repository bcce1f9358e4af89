"""The DuckDB database of this process: opens, configures, interrupts and closes it."""

from __future__ import annotations

import atexit
import os
import tempfile
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import duckdb

from sqleval.common.sql_text import write_literal
from sqleval.engines.confinement import confinement
from sqleval.engines.waiting import is_watched, wait_for
from sqleval.errors import EngineError, RequestError, get_first_line

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
        self._opening: Future[duckdb.DuckDBPyConnection] = Future()
        self._inherited: list[Future[duckdb.DuckDBPyConnection]] = []
        self._is_confined = False
        self._text_readers = 0

    def renew_lock(self) -> None:
        """Replace the lock in a forked process, where the thread that holds it may not exist."""
        self._lock = threading.Lock()

    def open_soon(self) -> None:
        """Open the database in the background, unless it is open.

        Raises
        ------
        EngineError
            If the process was forked from one that had opened it. Polars, which has no threads
            there either, would wait for them for ever.
        """
        with self._lock:
            if self._process not in (0, os.getpid()):
                raise EngineError(
                    "this process was forked from one that had used sqleval, and a fork has none "
                    "of the threads of Polars and DuckDB; start workers by 'spawn' or 'forkserver'"
                )
            self._start()

    def _start(self) -> Future[duckdb.DuckDBPyConnection]:
        """Return the opening of the database, started unless it was; the lock is held."""
        # A forked process has its parent's database without the threads that run it.
        if self._process != os.getpid():
            if self._process:
                # To free it would end threads that are not there, which ends the process.
                self._inherited.append(self._opening)
            opening: Future[duckdb.DuckDBPyConnection] = Future()
            threading.Thread(target=self._open, args=(opening,), daemon=True).start()
            self._opening, self._process = opening, os.getpid()
            self._is_confined, self._text_readers = False, 0
        return self._opening

    def _open(self, opening: Future[duckdb.DuckDBPyConnection]) -> None:
        try:
            opening.set_result(self._connect())
        except Exception as error:
            opening.set_exception(error)

    @contextmanager
    def _hold(self) -> Generator[duckdb.DuckDBPyConnection]:
        """Yield the open database while the lock is held, so that nobody closes it meanwhile.

        Raises
        ------
        EngineError
            If it cannot be opened; the next call tries again.
        """
        while True:
            with self._lock:
                opening = self._start()
            error = opening.exception()  # waits
            with self._lock:
                if not self._is_current(opening):
                    continue  # closed meanwhile
                if error is not None:
                    self._process = 0
                    reason = get_first_line(error)
                    raise EngineError(f"DuckDB cannot open its database: {reason}") from error
                yield opening.result()
                return

    def _is_current(self, opening: Future[duckdb.DuckDBPyConnection]) -> bool:
        return self._opening is opening and self._process == os.getpid()

    def _connect(self) -> duckdb.DuckDBPyConnection:
        con = duckdb.connect(
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
            con.execute(f"SET GLOBAL read_ahead_depth = {READ_AHEAD}")
        # The zone of the machine, which is the default, would change what a condition means.
        con.execute("SET GLOBAL TimeZone = 'UTC'")
        for name, value in self._settings.items():
            _set(con, name, value)
        return con

    def configure(self, settings: Mapping[str, str | int]) -> None:
        """Set DuckDB's settings, in databases that are opened later too."""
        with self._hold() as con:
            for name, value in settings.items():
                try:
                    _set(con, name, value)
                except duckdb.Error as error:
                    text = get_first_line(error).partition(": ")[2]
                    raise RequestError(f"{name}={value!r}: {text}") from error
                self._settings[name] = value

    def close(self) -> None:
        """Close the database, and remove what it has spilled."""
        opening = self._forget()
        if opening is not None and opening.exception() is None:
            opening.result().close()

    def restart(self) -> None:
        """Open a new database for the next statement; those that run keep the old one."""
        # To close it would stop them, or fail. It is closed when the last cursor is.
        self._forget()

    def _forget(self) -> Future[duckdb.DuckDBPyConnection] | None:
        """Return the database of this process, which is no longer that of the next statement."""
        with self._lock:
            opening = self._opening if self._process == os.getpid() else None
            self._opening, self._process = Future(), 0
        return opening

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """Return a connection to the database, which keeps it open where others close it."""
        with self._hold() as con:
            # Only now: settings can no longer be changed afterwards.
            if confinement.paths is not None and not self._is_confined:
                _confine(con, confinement.paths)
                self._is_confined = True
            return con.cursor()

    @contextmanager
    def read_no_text_ahead(self) -> Generator[None]:
        """Keep DuckDB 2 from reading text files ahead, which it does without a limit of memory.

        The setting is that of the process, so that other statements that run meanwhile may take
        longer; the last statement that reads text sets it back.
        """
        if duckdb.__version__.startswith("1."):
            yield
            return
        with self._hold() as con:
            opening = self._opening
            self._text_readers += 1
            con.execute("SET GLOBAL read_ahead_depth = 0")
        try:
            yield
        finally:
            with self._lock:
                if self._is_current(opening):
                    self._text_readers -= 1
                    if not self._text_readers:
                        con.execute(f"SET GLOBAL read_ahead_depth = {READ_AHEAD}")


def _confine(con: duckdb.DuckDBPyConnection, paths: Sequence[str]) -> None:
    """Refuse other files, the network, extensions and changes of these settings."""
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


def _set(con: duckdb.DuckDBPyConnection, name: str, value: str | int) -> None:
    if name == "temp_directory":
        value = _name_spill_folder(str(value))
    con.execute(f"SET GLOBAL {name} = {write_literal(str(value))}")


def _name_spill_folder(folder: str) -> str:
    """Return the folder that this process spills to; a shared one would be overwritten."""
    return str(Path(folder) / f"sqleval-{os.getpid()}")


_database = _Database()
open_soon, close, cursor = _database.open_soon, _database.close, _database.cursor
restart, read_no_text_ahead = _database.restart, _database.read_no_text_ahead
atexit.register(close)
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_database.renew_lock)
# A confinement cannot be changed in an open database.
confinement.on_change.append(_database.restart)


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


def raise_if_interrupted(error: Exception) -> None:
    """Raise `KeyboardInterrupt` for what DuckDB raises after Ctrl-C in the main thread."""
    if "Query interrupted" in str(error):
        raise KeyboardInterrupt from error
