"""Changes DuckDB files: a history in a transaction, macros by a script."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import duckdb

from sqleval.common.sql_text import literal
from sqleval.errors import EngineError, SourceError, StoreBusy

#: What another process, or another connection of this one, makes of a database that is in use.
_BUSY = ("could not set lock", "different configuration", "conflict", "unique file handle")
#: A database opened by two threads at once is given to the second before it can scan frames.
_ONE_AT_A_TIME = threading.RLock()


@contextmanager
def database(path: str) -> Generator[Any]:
    """Yield a connection to a database file, in a transaction that is committed at the end.

    The file is made if there is none, in a form that every DuckDB still supported opens.

    Raises
    ------
    StoreBusy
        If someone else holds or changes it: try again.
    EngineError
        If it is no database, or cannot be written.
    """
    try:
        with (
            _ONE_AT_A_TIME,
            duckdb.connect(path, config={"storage_compatibility_version": "v1.4.0"}) as con,
        ):
            con.execute("BEGIN")
            yield con
            con.execute("COMMIT")
    except duckdb.Error as error:
        text = str(error).splitlines()[0]
        busy = any(word in text.lower() for word in _BUSY)
        raised = StoreBusy if busy else EngineError
        raise raised(f"the history {path}: {text}") from error


def install(write_script: Callable[[], str], path: str) -> None:
    """Run a script in a database file, which is made if there is none.

    The script, which may take seconds to write, is written when the file is open.

    Raises
    ------
    SourceError
        If the file is no DuckDB database or cannot be written, or another process holds it.
    """
    try:
        with duckdb.connect() as con:
            try:
                # What every DuckDB that is still supported opens, and the least that has the types
                # of a macro's arguments.
                con.execute(f"ATTACH {literal(path)} AS file (STORAGE_VERSION 'v1.4.0')")
            except duckdb.InvalidInputException:
                con.execute(f"ATTACH {literal(path)} AS file")  # a newer file keeps its own
            con.execute("USE file")
            con.execute(write_script())
    except duckdb.Error as error:
        raise SourceError(f"cannot make macros in {path}: {str(error).splitlines()[0]}") from error
