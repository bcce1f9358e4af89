"""Connections to a database of PostgreSQL through its ADBC driver."""

from __future__ import annotations

from typing import Any
from weakref import finalize

from sqleval.common.imports import import_optional


class PostgresDatabase:
    """A database to which any number of connections are made; each is closed by who asked for it.

    The driver reads the types of the database, which takes twenty times as long as a connection.
    They are read once, and no connection stays open for them.

    Parameters
    ----------
    url : str
        Where the database is.

    Raises
    ------
    MissingExtra
        If the driver is not installed.
    adbc_driver_manager.dbapi.Error
        If no connection can be made.
    """

    def __init__(self, url: str) -> None:
        dbapi = import_optional("adbc_driver_postgresql.dbapi", "postgres", "PostgreSQL")
        self._first: Any = dbapi.connect(url)
        # Its clones need what it has read, and not the connection itself.
        self._first.adbc_connection.close()
        finalize(self, self._first.close)

    def connect(self) -> Any:
        """Return a new connection."""
        return self._first.adbc_clone()
