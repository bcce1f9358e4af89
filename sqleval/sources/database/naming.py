"""Finds the database that a path or URL names, and its table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from glob import has_magic
from os import PathLike
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote as escape
from urllib.parse import unquote

from sqleval.common.names import find_nearest
from sqleval.common.postgres_urls import split_postgres_url
from sqleval.common.sql_text import quote
from sqleval.errors import SourceError
from sqleval.sources.formats import PREFIXES

#: The kind of a database file by its ending. The first bytes of the file decide, if it exists.
_ENDINGS = {
    ".duckdb": "duckdb", ".ddb": "duckdb", ".db": "duckdb", ".sqlite": "sqlite",
    ".sqlite3": "sqlite",
}  # fmt: skip
#: The prefix of the path of a DuckLake's catalogue.
DUCKLAKE = "ducklake:"
_SQLITE_BEGINS = b"SQLite format 3\0"
_SCHEMES = {"postgresql": "postgres", "postgres": "postgres", "sqlite": "sqlite"}


class Database(NamedTuple):
    """A database that a text names.

    Attributes
    ----------
    kind : str
        ``duckdb``, ``sqlite``, ``postgres`` or ``ducklake``.
    address : str
        The path of the file, or the URL, which never holds a password. For a DuckLake, the path of
        its catalogue.
    table : str
        The table after ``#``; empty if there is none.
    """

    kind: str
    address: str
    table: str


def find_database(source: object) -> Database | None:
    """Return the database that a path or URL names; None for another source.

    Raises
    ------
    RequestError
        If a URL holds a password, or is malformed.
    """
    if isinstance(source, PathLike):
        source = str(source)  # pyright: ignore[reportUnknownArgumentType]
    if not isinstance(source, str):
        return None
    if source.startswith(tuple(PREFIXES)):
        return None
    if source.startswith(DUCKLAKE):
        path, _, table = source.removeprefix(DUCKLAKE).partition("#")
        return Database("ducklake", path, table)
    scheme, separator, rest = source.partition("://")
    if separator:
        kind = _SCHEMES.get(scheme.lower(), "")
        if kind == "postgres":
            return _parse_url(source)
        if kind == "sqlite":
            # As in SQLAlchemy, three slashes precede a relative path, four an absolute one.
            path, _, table = rest.removeprefix("/").partition("#")
            return Database(kind, unquote(path), unquote(table))
        return None
    try:
        path, table = _split_table(source)
        path, table = (path, table) if path else (source, "")
        if Path(path).is_dir() or (has_magic(path) and not Path(path).exists()):
            return None
    except OSError:
        return None  # such as a name that is too long for the file system
    kind = _ENDINGS.get(Path(path).suffix.lower(), "")
    if not kind:
        return None
    return Database("sqlite" if is_sqlite(path) else kind, path, table)


def _split_table(source: str) -> tuple[str, str]:
    """Return the file and the table of a source; both names may hold ``#``."""
    if Path(source).exists():
        return source, ""
    for match in reversed([*re.finditer("#", source)]):
        if Path(source[: match.start()]).is_file():
            return source[: match.start()], source[match.end() :]
    path, _, table = source.rpartition("#")
    return path, table


def write_sqlite_url(path: str, table: str) -> str:
    """Return the URL of a SQLite file, as `find_database` reads it."""
    return f"sqlite:///{escape(path)}" + (f"#{escape(table)}" if table else "")


def is_sqlite(path: str) -> bool:
    """Whether a file begins with the signature of SQLite."""
    try:
        with Path(path).open("rb") as file:
            return file.read(len(_SQLITE_BEGINS)) == _SQLITE_BEGINS
    except (OSError, ValueError):  # such as a name with the character NUL
        return False


def check_file(path: str) -> None:
    """Raise `SourceError` if there is no such file; the message suggests the nearest name."""
    if not Path(path).is_file():
        folder = Path(path).parent
        near = [each.name for each in folder.glob("*")] if folder.is_dir() else []
        raise SourceError(f"no such file: {path!r}{find_nearest(Path(path).name, near)}")


def _parse_url(url: str) -> Database:
    """Return the database of a PostgreSQL URL; messages show nothing that may be a password."""
    parts = split_postgres_url(url)
    address = parts._replace(fragment="").geturl()
    return Database("postgres", address, unquote(parts.fragment))


def write_subquery(query: str) -> str:
    """Return a query as the text after FROM."""
    # The line break ends a comment that the query may end with.
    return f"({query.strip().rstrip(';')}\n)"


def choose_table(
    tables: Sequence[tuple[str, str]], table: str, where: str, prefix: str
) -> tuple[str, str]:
    """Return schema and name of the table that a source names, or of the only table.

    Parameters
    ----------
    tables : sequence of (str, str)
        Schema and name of each table of the database.
    table : str
        A name, with or without its schema; empty for the only table.
    where : str
        The database, in messages.
    prefix : str
        The text before the table in a source, such as the address and ``#``.

    Raises
    ------
    SourceError
        If there is no such table, or there are several.
    """
    names = {f"{schema}.{name}": (schema, name) for schema, name in tables}
    matches = [pair for text, pair in names.items() if table in (text, pair[1])]
    exact = [pair for text, pair in names.items() if table == text]
    if len(exact or matches) == 1:
        return (exact or matches)[0]
    if not names:
        raise SourceError(f"{where} holds no table")
    if not table and len(names) == 1:
        return next(iter(names.values()))
    listed = ", ".join(sorted(names)[:10]) + (", ..." if len(names) > 10 else "")
    first = min(names)
    if table and not matches:
        what = f"has no table {table!r}{find_nearest(table, [*names, *(n for _, n in tables)])}"
    else:
        what = f"holds {len(names)} tables" if not table else f"has several tables {table!r}"
    # Suggest a source's text, which is the same in Python, commands and job files.
    raise SourceError(f"{where} {what} ({listed}); choose one, such as {f'{prefix}{first}'!r}")


def write_table_name(schema: str, table: str) -> str:
    """Return a table's name in SQL, as written after FROM."""
    return ".".join(quote(part) for part in (schema, table) if part)
