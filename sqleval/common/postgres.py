"""Connects to PostgreSQL through its ADBC driver."""

from __future__ import annotations

import os
from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any
from urllib.parse import parse_qsl, urlsplit
from weakref import finalize

from sqleval.common.imports import import_optional

#: The seconds to wait for a server's answer, if neither the URL nor PGCONNECT_TIMEOUT sets them.
_TIMEOUT = 10


def limit_wait(url: str) -> str:
    """Return the URL of a server with a connection timeout."""
    named = dict(parse_qsl(urlsplit(url).query, keep_blank_values=True))
    if "connect_timeout" in named or os.environ.get("PGCONNECT_TIMEOUT"):
        return url
    return f"{url}{'&' if '?' in url else '?'}connect_timeout={_TIMEOUT}"


def _leave_on_interrupt(connect: Callable[[], Any]) -> Any:
    """Connect in another thread, which Ctrl-C or SIGTERM abandons; return the connection.

    The driver does not react to signals while it connects.
    """
    results: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()

    def run() -> None:
        try:
            results.put((connect(), None))
        except BaseException as error:
            results.put((None, error))

    Thread(target=run, daemon=True).start()
    while True:
        try:
            connection, error = results.get(timeout=0.1)
        except Empty:
            continue
        if error is not None:
            raise error
        return connection


class PostgresDatabase:
    """A database that makes any number of connections; the caller closes each.

    The driver reads the types of the database, which takes twenty times as long as connecting.
    They are read once, and no connection stays open.

    Parameters
    ----------
    url : str
        The URL of the database.

    Raises
    ------
    MissingExtra
        If the driver is not installed.
    adbc_driver_manager.dbapi.Error
        If no connection can be made.
    """

    def __init__(self, url: str) -> None:
        dbapi = import_optional("adbc_driver_postgresql.dbapi", "postgres", "PostgreSQL")
        limited = limit_wait(url)
        self._first: Any = _leave_on_interrupt(lambda: dbapi.connect(limited))
        # Clones need the types that it has read, but not the open connection.
        self._first.adbc_connection.close()
        finalize(self, self._first.close)

    def connect(self) -> Any:
        """Return a new connection."""
        return _leave_on_interrupt(self._first.adbc_clone)
