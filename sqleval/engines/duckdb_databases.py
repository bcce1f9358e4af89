"""DuckDB files as sources: attached to the process's own database while a statement reads them."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import duckdb

from sqleval.common.sql_text import quote, write_literal
from sqleval.engines.process import cursor
from sqleval.errors import SourceError, get_first_line
from sqleval.inputs.databases import choose_table, is_sqlite, write_subquery, write_table_name
from sqleval.inputs.ducklake import LakeCatalogue
from sqleval.inputs.source import Source


class _Attached:
    """The files that were attached: the name of each, and how many statements read it now."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.renew()

    def renew(self) -> None:
        """Forget the statements of the parent of a forked process, which are none of its own."""
        self.lock = threading.Lock()
        self.readers: Counter[str] = Counter()


_attached = _Attached()
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_attached.renew)
_TABLES = """
SELECT table_schema, table_name, table_type = 'BASE TABLE' FROM information_schema.tables
WHERE table_catalog = $name
"""


def _name(path: str) -> str:
    """Return the name of a file: its own, as DuckDB has it, or another where that is taken."""
    names = _attached.names
    if path not in names:
        stem = Path(path).stem
        taken = {each.casefold() for each in (*names.values(), "memory", "system", "temp")}
        others = (f"{stem}_{n}" for n in range(2, len(taken) + 3))
        names[path] = next(each for each in (stem, *others) if each.casefold() not in taken)
    return names[path]


@contextmanager
def attach(con: duckdb.DuckDBPyConnection, path: str) -> Generator[str]:
    """Attach a DuckDB file to the database of a cursor, only to be read, and yield its name there.

    It is detached when the last statement that reads it has ended, so that others may write it.

    Raises
    ------
    SourceError
        If it is not a DuckDB file, or is open for writing elsewhere.
    """
    key = str(Path(path).resolve())
    with _attached.lock:
        name = _name(key)
        try:
            # Also for a second statement: the first may read it in a database that was replaced.
            con.execute(
                f"ATTACH IF NOT EXISTS {write_literal(key)} AS {quote(name)} "
                "(READ_ONLY, TYPE duckdb)"
            )
        except duckdb.Error as error:
            raise SourceError(f"cannot read {path!r}: {_explain(error)}") from error
        _attached.readers[key] += 1
    try:
        yield name
    finally:
        with _attached.lock:
            _attached.readers[key] -= 1
            if _attached.readers[key] <= 0:
                with closing(cursor()) as current:
                    current.execute(f"DETACH DATABASE IF EXISTS {quote(name)}")


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
        from sqleval.inputs.adbc import open_sqlite_catalogue  # late: few need it

        with open_sqlite_catalogue(path) as catalogue:
            yield catalogue
        return
    with closing(cursor()) as con, attach(con, path) as name:
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

    That of a DuckLake, which the catalogue describes, reads its data files.

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
    with closing(cursor()) as con, attach(con, file.path) as name:
        tables = con.execute(_TABLES, {"name": name}).fetchall()
        names = [(schema, table) for schema, table, _ in tables]
        chosen = choose_table(names, file.table, f"the database {file.path!r}", f"{file.path}#")
        relation = f"{quote(name)}.{write_table_name(*chosen)}"
        rows = None
        if (*chosen, True) in tables:
            ((rows,),) = con.execute(f"SELECT COUNT(*) FROM {relation}").fetchall()
    return replace(source, relation=relation, rows=rows)
