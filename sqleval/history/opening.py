"""Opens a history store by its path or URL."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from sqleval.errors import RequestError
from sqleval.history.store import Store


class StoreKind(NamedTuple):
    """A kind of store.

    Attributes
    ----------
    example : str
        How it is written, for messages.
    matches : callable
        Whether a URL is of this kind, by its scheme (empty for a path) and its ending.
    open : callable
        Returns the store for a URL, a password and options.
    """

    example: str
    matches: Callable[[str, str], bool]
    open: Callable[[str, str | None, Mapping[str, str]], Store]


def _is_duckdb(scheme: str, ending: str) -> bool:
    return not scheme and ending in (".duckdb", ".ddb", ".db")


def _open_duckdb(url: str, _: str | None, __: Mapping[str, str]) -> Store:
    from sqleval.history.duckdb import DuckDB  # late: a store imports its library

    return DuckDB(url)


def _is_postgres(scheme: str, _: str) -> bool:
    return scheme in ("postgresql", "postgres")


def _open_postgres(url: str, password: str | None, _: Mapping[str, str]) -> Store:
    from sqleval.history.postgres import PostgreSQL

    return PostgreSQL(url, password)


def _is_delta(scheme: str, ending: str) -> bool:
    return bool(scheme) or ending == ".delta"


def _open_delta(url: str, _: str | None, options: Mapping[str, str]) -> Store:
    from sqleval.history.delta import Delta

    return Delta(url, options)


#: The kinds of stores; the first that matches is taken, so that Delta's URLs come last.
STORES: list[StoreKind] = [
    StoreKind("a DuckDB file (history.duckdb)", _is_duckdb, _open_duckdb),
    StoreKind("postgresql://user@host/database", _is_postgres, _open_postgres),
    StoreKind("a Delta table (history.delta, s3://bucket/history)", _is_delta, _open_delta),
]


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
    for kind in STORES:
        if kind.matches(scheme, ending):
            return kind.open(url, password, options or {})
    examples = ", or ".join(kind.example for kind in STORES)
    raise RequestError(f"cannot open the history {url!r}; write {examples}")
