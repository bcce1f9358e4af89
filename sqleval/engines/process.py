"""The DuckDB database of this process: opens, configures, interrupts and closes it."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, TypeVar

import duckdb

from sqleval.common.forks import refuse_fork
from sqleval.engines.confinement import confinement
from sqleval.engines.duckdb_opening import (
    READ_AHEAD,
    confine_to,
    limits,
    open_database,
    set_limit,
)
from sqleval.engines.waiting import is_watched, wait_for
from sqleval.errors import EngineError, RequestError, get_first_line

T = TypeVar("T")


class _Database:
    """The process's own database, in memory; every statement runs on a cursor of it.

    Opening it takes as long as importing a library and needs no Python, so it is opened in the
    background while the first scan imports the compiler.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process = 0
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
            If the process was forked from one that had opened it. DuckDB and Polars would wait
            there for ever for threads that a fork does not have.
        """
        with self._lock:
            refuse_fork(self._process)
            self._start()

    def _start(self) -> Future[duckdb.DuckDBPyConnection]:
        """Start to open the database unless that was done; return the future. Needs the lock."""
        # A forked process has its parent's database without the threads that run it.
        if self._process != os.getpid():
            if self._process:
                # Freeing it would end threads that do not exist here, and so end the process.
                self._inherited.append(self._opening)
            opening: Future[duckdb.DuckDBPyConnection] = Future()
            threading.Thread(target=self._open, args=(opening,), daemon=True).start()
            self._opening, self._process = opening, os.getpid()
            self._is_confined, self._text_readers = False, 0
        return self._opening

    def _open(self, opening: Future[duckdb.DuckDBPyConnection]) -> None:
        try:
            opening.set_result(open_database())
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

    def configure(self, settings: Mapping[str, str | int]) -> None:
        """Set DuckDB's settings, in this database and in those that are opened later."""
        with self._hold() as con:
            for name, value in settings.items():
                try:
                    set_limit(con, name, value)
                except duckdb.Error as error:
                    text = get_first_line(error).partition(": ")[2]
                    raise RequestError(f"{name}={value!r}: {text}") from error
                limits[name] = value

    def close(self) -> None:
        """Close the database, and remove its spill files."""
        opening = self._forget()
        if opening is not None and opening.exception() is None:
            opening.result().close()

    def restart(self) -> None:
        """Open a new database for the next statement; those that run keep the old one."""
        # Closing the old one would stop them, or fail. It closes with its last cursor.
        self._forget()

    def _forget(self) -> Future[duckdb.DuckDBPyConnection] | None:
        """Return the database and forget it, so that the next statement opens a new one."""
        with self._lock:
            opening = self._opening if self._process == os.getpid() else None
            self._opening, self._process = Future(), 0
        return opening

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """Return a cursor, which keeps the database open even if others close it."""
        with self._hold() as con:
            # Confine it as late as here, because settings cannot be changed afterwards.
            if confinement.paths is not None and not self._is_confined:
                confine_to(con, confinement.paths)
                self._is_confined = True
            return con.cursor()

    @contextmanager
    def read_no_text_ahead(self) -> Generator[None]:
        """Keep DuckDB 2 from reading text files ahead, which it does without a limit of memory.

        The setting holds for the whole process, so other running statements may take longer. The
        last statement that reads text sets it back.
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


_database = _Database()
open_soon, close, cursor = _database.open_soon, _database.close, _database.cursor
restart, read_no_text_ahead = _database.restart, _database.read_no_text_ahead
atexit.register(close)
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_database.renew_lock)
# The confinement of an open database cannot be changed, so a new one is opened.
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
    which take half a minute; but it stops quickly if another thread tells it to.
    """
    if is_watched():
        con.execute("SET enable_progress_bar = TRUE")
        con.execute("SET enable_progress_bar_print = FALSE")
    return wait_for(work, con.interrupt, con.query_progress)


def raise_if_interrupted(error: Exception) -> None:
    """Raise `KeyboardInterrupt` for the error that DuckDB raises after Ctrl-C."""
    if "Query interrupted" in str(error):
        raise KeyboardInterrupt from error
