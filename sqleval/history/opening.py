"""Opens the store of a history by its path or URL."""

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
    """Return the store behind a path or URL; nothing is made before something is written.

    Raises
    ------
    RequestError
        If it is none of the kinds that are known.
    MissingExtra
        If the kind needs an extra that is not installed.
    """
    scheme = urlsplit(url).scheme if "://" in url else ""
    ending = Path(url).suffix.lower()
    if scheme in ("postgresql", "postgres"):
        from sqleval.history.postgres import PostgreSQL

        return PostgreSQL(url, password)
    if ending in (".duckdb", ".ddb", ".db") and not scheme:
        return _duckdb(url)
    if ending == ".delta" or scheme:
        from sqleval.history.delta import Delta

        return Delta(url, options or {})
    raise RequestError(
        f"history {url!r} is no store; write a DuckDB file (history.duckdb), a Delta table "
        "(history.delta, s3://bucket/history) or postgresql://user@host/database"
    )


def _duckdb(path: str) -> DuckDB:
    from sqleval.history.duckdb import DuckDB

    return DuckDB(path)
