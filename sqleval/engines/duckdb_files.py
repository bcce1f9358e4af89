"""Writes to DuckDB files: a history in a transaction, macros by a script."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from sqleval.common.sql_text import write_literal
from sqleval.common.whole_file import create_file
from sqleval.engines.duckdb_opening import limits, open_for_file
from sqleval.engines.process import raise_if_interrupted
from sqleval.errors import EngineError, RequestError, SourceError, StoreBusy, get_first_line
from sqleval.sources.database.naming import is_sqlite

#: Parts of DuckDB's messages for a database that another process or connection uses.
_BUSY = ("could not set lock", "different configuration", "conflict", "unique file handle")
#: The in-memory connection to which the last file was attached, by process, file and limits.
#: Attaching the file again takes a twentieth of the time of a new connection.
_open_connections: dict[tuple[Any, ...], duckdb.DuckDBPyConnection] = {}
#: One thread at a time has a file attached.
_ONE_AT_A_TIME = threading.RLock()


@contextmanager
def database(path: str, *, read_only: bool = False) -> Generator[Any]:
    """Yield a connection to which a database file is attached, as ``file``.

    All changes are one transaction, which is committed at the end. A missing file is created, in a
    format that every supported DuckDB opens. With ``read_only`` there is no transaction, any
    number of processes may open the file, and it may be write-protected.

    Raises
    ------
    StoreBusy
        If another process or connection uses the file: try again.
    EngineError
        If it is not a database, or cannot be written.
    """
    try:
        if not (read_only or Path(path).exists()):
            # DuckDB would empty a file that another process creates just after DuckDB has looked
            # for it, and the first results of that process would be lost.
            with create_file(path) as draft, attach_file(str(draft), "STORAGE_VERSION 'v1.4.0'"):
                pass
        with attach_file(path, "READ_ONLY" if read_only else "READ_WRITE") as con:
            if read_only:
                yield con
                return
            con.execute("BEGIN")
            yield con
            con.execute("COMMIT")
    except duckdb.Error as error:
        # Remove the advice to open the file in another way.
        text = re.split(r"\. (However|See also)\b", get_first_line(error))[0]
        busy = any(word in text.lower() for word in _BUSY)
        raised = StoreBusy if busy else EngineError
        raise raised(f"the history {path}: {text}{_name_sqlite(path)}") from error
    except RuntimeError as error:
        raise_if_interrupted(error)
        raise


@contextmanager
def attach_file(path: str, options: str) -> Generator[duckdb.DuckDBPyConnection]:
    """Yield a connection that has a file attached as ``file`` and can read no other."""
    with _ONE_AT_A_TIME:
        key = (os.getpid(), os.path.abspath(path), *limits.items())  # noqa: PTH100
        con = _open_connections.pop(key, None)
        if con is None:
            _close_others()
            con = open_for_file(path, keeps_order=True)
        try:
            con.execute(f"ATTACH {write_literal(key[1])} AS file ({options}, TYPE duckdb)")
            yield con
            con.execute("DETACH file")
        except BaseException:
            # Closing the connection always ends the transaction and releases the lock.
            con.close()
            raise
        _open_connections[key] = con


def _close_others() -> None:
    """Close connections for other files; a forked process leaves its parent's connection alone."""
    for key in [key for key in _open_connections if key[0] == os.getpid()]:
        _open_connections.pop(key).close()


def install(write_script: Callable[[], str], path: str) -> None:
    """Run a script in a database file; create the file if it is missing.

    The script may take seconds to write, so it is written after the file was opened.

    Raises
    ------
    SourceError
        If the file is not a DuckDB database or cannot be written, or another process holds it.
    RequestError
        If no file is named.
    """
    if not path:
        raise RequestError("--install: name the DuckDB file that gets the macros")
    try:
        with open_for_file(path) as con:
            attach = f"ATTACH {write_literal(os.path.abspath(path))} AS file"  # noqa: PTH100
            try:
                # The oldest format that stores the types of a macro's arguments; every supported
                # DuckDB opens it.
                con.execute(f"{attach} (TYPE duckdb, STORAGE_VERSION 'v1.4.0')")
            except duckdb.InvalidInputException:
                con.execute(f"{attach} (TYPE duckdb)")  # a newer file keeps its format
            con.execute("USE file")
            before = _list_macros(con)
            con.execute(write_script())
            # Drop macros that another release has made and this one does not have.
            for name, kind in before - _list_macros(con):
                con.execute(f'DROP {kind} sqleval."{name}"')
    except duckdb.Error as error:
        text = get_first_line(error) + _name_sqlite(path)
        raise SourceError(f"cannot make macros in {path}: {text}") from error


def _name_sqlite(path: str) -> str:
    return " (it is a SQLite file)" if is_sqlite(path) else ""


def _list_macros(con: Any) -> set[tuple[str, str]]:
    """Return the name of each public macro of sqleval in a database, and its kind for DROP."""
    schema = "schema_name = 'sqleval' AND database_name = 'file'"
    (has_help,) = con.execute(
        f"SELECT COUNT(*) > 0 FROM duckdb_functions() WHERE {schema} AND function_name = 'help'"
    ).fetchone()
    if not has_help:
        return set()
    # An alias is known by its comment.
    return set(
        con.execute(
            "SELECT DISTINCT f.function_name, CASE f.function_type WHEN 'table_macro' "
            "THEN 'MACRO TABLE' ELSE 'MACRO' END FROM duckdb_functions() AS f "
            "LEFT JOIN sqleval.help() AS h ON f.function_name = h.name "
            f"WHERE {schema} AND (h.name IS NOT NULL OR f.comment LIKE 'another name of %')"
        ).fetchall()
    )
