"""Opens a history store by its path or URL."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from sqleval.common.postgres_urls import split_postgres_url
from sqleval.errors import RequestError
from sqleval.history.store import Store

#: The name of a parameter of a URL that holds a secret.
_SECRET = re.compile(r"(pass|pwd|secret|token|sig|key)[^=&]*=", re.IGNORECASE)

#: The schemes of URLs of Delta tables.
_DELTA_SCHEMES = (
    "s3", "s3a", "gs", "gcs", "az", "azure", "adl", "abfs", "abfss", "hdfs", "lakefs", "file",
)  # fmt: skip


class StoreKind(NamedTuple):
    """A kind of store.

    Attributes
    ----------
    example : str
        An example of a path or URL, for messages.
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
    return scheme in _DELTA_SCHEMES if scheme else ending == ".delta"


def is_folder(url: str) -> bool:
    """Return whether a local store is a folder of files."""
    return _is_delta("", Path(url).suffix.lower())


def _open_delta(url: str, _: str | None, options: Mapping[str, str]) -> Store:
    from sqleval.history.delta import Delta

    return Delta(url, options)


#: The kinds of stores; the first that matches is taken, so that Delta's URLs come last.
STORES: list[StoreKind] = [
    StoreKind("a DuckDB file (history.duckdb)", _is_duckdb, _open_duckdb),
    StoreKind("postgresql://user@host/database", _is_postgres, _open_postgres),
    StoreKind("a Delta table (history.delta, s3://bucket/history)", _is_delta, _open_delta),
]


def check_no_password(url: str) -> None:
    """Raise `RequestError` if a URL holds a password, or may; the message shows no part of it."""
    scheme, separator, rest = url.partition("://")
    if not separator:
        return
    if _is_postgres(scheme.lower(), ""):
        if split_postgres_url(url).fragment:
            raise RequestError("the URL of a history must have no part after #")
    elif ":" in rest.rpartition("@")[0] or _SECRET.search(rest.partition("?")[2]):
        raise RequestError(
            f"a URL {scheme}://... must not hold a password, which logs and lists of processes "
            "would show"
        )


def find_store_kind(url: str) -> StoreKind:
    """Return the kind of the store at a path or URL.

    Raises
    ------
    RequestError
        If no supported store has such a path or URL.

    Examples
    --------
    >>> find_store_kind("history.duckdb").example
    'a DuckDB file (history.duckdb)'
    """
    scheme = urlsplit(url).scheme if "://" in url else ""
    ending = Path(url).suffix.lower()
    for kind in STORES:
        if kind.matches(scheme, ending):
            return kind
    examples = ", or ".join(kind.example for kind in STORES)
    scheme_hint = f" (schemes: {', '.join(_DELTA_SCHEMES)})" if scheme else ""
    raise RequestError(f"cannot open the history {url!r}; write {examples}{scheme_hint}")


def open_store(
    url: str, *, password: str | None = None, options: Mapping[str, str] | None = None
) -> Store:
    """Return the store at a path or URL. The first write creates it.

    Raises
    ------
    RequestError
        If no supported store has such a path or URL, or it holds a password.
    MissingExtra
        If the store needs an extra that is not installed.
    """
    check_no_password(url)
    if "\0" in url:
        raise RequestError(f"the history {url!r}: a path must not contain the character NUL")
    return find_store_kind(url).open(url, password, options or {})
