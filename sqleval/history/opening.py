"""Opens a history store by its path or URL."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from sqleval.errors import RequestError

if TYPE_CHECKING:
    from sqleval.history.duckdb import DuckDB
from sqleval.history.store import Store


def open_store(
    url: str, *, password: str | None = None, options: Mapping[str, str] | None = None
) -> Store:
    """Return the store at a path or URL. The first write creates it.

    Raises
    ------
    RequestError
        If the path or URL is of no supported store.
    MissingExtra
        If the store needs an extra that is not installed.
    """
    scheme = urlsplit(url).scheme if "://" in url else ""
    ending = Path(url).suffix.lower()
    if scheme in ("postgresql", "postgres"):
        from sqleval.history.postgres import PostgreSQL

        return PostgreSQL(url, password)
    if ending in (".duckdb", ".ddb", ".db") and not scheme:
        return _open_duckdb(url)
    if ending == ".delta" or scheme:
        from sqleval.history.delta import Delta

        return Delta(url, options or {})
    raise RequestError(
        f"cannot open the history {url!r}; write a DuckDB file (history.duckdb), a Delta table "
        "(history.delta, s3://bucket/history) or postgresql://user@host/database"
    )


def _open_duckdb(path: str) -> DuckDB:
    from sqleval.history.duckdb import DuckDB

    return DuckDB(path)
