"""Reads DuckDB files as sources: each statement opens a database that is confined to its files.

Without the confinement a view in a file could read any file of the machine.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import duckdb

from sqleval.binding.where import find_quoted
from sqleval.common.sql_text import quote, write_literal
from sqleval.engines.duckdb_opening import confine_to, list_places, open_database
from sqleval.errors import SourceError, get_first_line
from sqleval.sources.database.naming import (
    choose_table,
    is_sqlite,
    write_subquery,
    write_table_name,
)
from sqleval.sources.lake.ducklake_catalogue import LakeCatalogue
from sqleval.sources.paths import list_roots
from sqleval.sources.source import Source

#: A string literal in the relation of a source, as this package writes it.
_TEXT = re.compile(r"'((?:[^']|'')*)'")


class _Names:
    """The name under which each file is attached; relations contain it."""

    def __init__(self) -> None:
        self.by_path: dict[str, str] = {}
        self.renew()

    def renew(self) -> None:
        """Replace the lock in a forked process, where the thread that holds it may not exist."""
        self.lock = threading.Lock()


_names = _Names()
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_names.renew)
_TABLES = """
SELECT table_schema, table_name, table_type = 'BASE TABLE' FROM information_schema.tables
WHERE table_catalog = $name
"""


def _name(path: str) -> str:
    """Return the name to attach a file under: its stem, as in DuckDB, or with a number if taken."""
    names = _names.by_path
    with _names.lock:
        if path not in names:
            stem = Path(path).stem
            taken = {each.casefold() for each in (*names.values(), "memory", "system", "temp")}
            others = (f"{stem}_{n}" for n in range(2, len(taken) + 3))
            names[path] = next(each for each in (stem, *others) if each.casefold() not in taken)
        return names[path]


def list_named_files(source: Source) -> list[str]:
    """Return the files and folders that a source names; folders end in a slash."""
    if source.database is None:
        texts = [text.replace("''", "'") for text in _TEXT.findall(source.relation)]
    else:
        texts = [source.database.path, *find_quoted(source.database.query or "")]
    return [root for text in texts if "." in text for root in list_roots(text)]


@contextmanager
def open_files(
    paths: Sequence[str], named: Sequence[str] = (), writes: Sequence[str] = ()
) -> Generator[tuple[duckdb.DuckDBPyConnection, list[str]]]:
    """Yield a connection to which DuckDB files are attached read-only, and their names there.

    Parameters
    ----------
    paths : sequence of str
        The DuckDB files.
    named : sequence of str
        Other files, and folders that end in a slash, that may be read.
    writes : sequence of str
        Files and folders that may be written.

    Raises
    ------
    SourceError
        If one is not a DuckDB file, or is open for writing elsewhere.
    """
    folders = [path for path in named if path.endswith("/")]
    folders += [f"{os.path.abspath(path)}/" for path in writes]  # noqa: PTH100
    files = [path for path in named if not path.endswith("/")]
    keys = [str(Path(path).resolve()) for path in paths]
    with closing(open_database()) as con:
        confine_to(con, [*folders, *list_places([*paths, *files, *writes])])
        for path, key in zip(paths, keys, strict=True):
            try:
                con.execute(
                    f"ATTACH IF NOT EXISTS {write_literal(key)} AS {quote(_name(key))} "
                    "(READ_ONLY, TYPE duckdb)"
                )
            except duckdb.Error as error:
                raise SourceError(f"cannot read {path!r}: {_explain(error)}") from error
        yield con, [_name(key) for key in keys]


def _explain(error: duckdb.Error) -> str:
    text = get_first_line(error).partition(": ")[2]
    if "set lock" in text:
        return "another process has it open for writing; try again when it has ended"
    if "Unique file handle" in text:
        return "this process has it open for writing; pass that connection as con="
    return text


@contextmanager
def open_catalogue(path: str) -> Generator[LakeCatalogue]:
    """Yield the catalogue of a DuckLake, a DuckDB or SQLite file.

    Raises
    ------
    SourceError
        If it cannot be read.
    MissingExtra
        If it is a SQLite file, and the driver is not installed.
    """
    if is_sqlite(path):
        from sqleval.sources.database.adbc import open_sqlite_catalogue  # late: few need it

        with open_sqlite_catalogue(path) as catalogue:
            yield catalogue
        return
    with open_files([path]) as (con, (name,)):
        tables = con.execute(_TABLES, {"name": name}).fetchall()
        con.execute(f"USE {quote(name)}")

        def select(statement: str) -> object:
            try:
                return con.sql(statement).to_arrow_table()
            except duckdb.Error as error:
                raise SourceError(f"cannot read {path!r}: {_explain(error)}") from error

        yield LakeCatalogue(path, frozenset(table for _, table, _ in tables), select)


def open_database_file(source: Source) -> Source:
    """Return the source of a DuckDB file with the relation of its table or query.

    The relation of a DuckLake's table reads the data files that its catalogue lists.

    Raises
    ------
    SourceError
        If the file cannot be read, or does not have the table.
    """
    file = source.database
    assert file is not None
    if file.read is not None:
        with open_catalogue(file.path) as catalogue:
            return file.read(catalogue)
    if file.query is not None:
        return replace(source, relation=write_subquery(file.query))
    with open_files([file.path]) as (con, (name,)):
        tables = con.execute(_TABLES, {"name": name}).fetchall()
        names = [(schema, table) for schema, table, _ in tables]
        chosen = choose_table(names, file.table, f"the database {file.path!r}", f"{file.path}#")
        relation = f"{quote(name)}.{write_table_name(*chosen)}"
        rows = None
        if (*chosen, True) in tables:
            ((rows,),) = con.execute(f"SELECT COUNT(*) FROM {relation}").fetchall()
    return replace(source, relation=relation, rows=rows)
