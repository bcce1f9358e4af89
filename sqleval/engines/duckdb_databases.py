"""DuckDB files as sources: attached to the process's own database while a statement reads them."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import duckdb

from sqleval.common.sql_text import quote, write_literal
from sqleval.engines.process import cursor
from sqleval.errors import SourceError
from sqleval.inputs.databases import choose_table, is_sqlite, write_subquery, write_table_name
from sqleval.inputs.ducklake import Catalogue
from sqleval.inputs.source import Source

_lock = threading.Lock()
#: The name of each file that was attached, and how many statements read it now.
_names: dict[str, str] = {}
_readers: dict[str, int] = {}
_TABLES = """
SELECT table_schema, table_name, table_type = 'BASE TABLE' FROM information_schema.tables
WHERE table_catalog = $name
"""


def _name(path: str) -> str:
    """Return the name of a file: its own, as DuckDB has it, or another where that is taken."""
    if path not in _names:
        stem = Path(path).stem
        taken = {each.casefold() for each in (*_names.values(), "memory", "system", "temp")}
        others = (f"{stem}_{n}" for n in range(2, len(taken) + 3))
        _names[path] = next(each for each in (stem, *others) if each.casefold() not in taken)
    return _names[path]


@contextmanager
def attach(path: str) -> Generator[str]:
    """Attach a DuckDB file, only to be read, and yield its name there.

    It is detached when the last statement that reads it has ended, so that others may write it.

    Raises
    ------
    SourceError
        If it is not a DuckDB file, or is open for writing elsewhere.
    """
    key = str(Path(path).resolve())
    with _lock:
        name = _name(key)
        if not _readers.get(key):
            try:
                with closing(cursor()) as con:
                    con.execute(f"ATTACH {write_literal(key)} AS {quote(name)} (READ_ONLY)")
            except duckdb.Error as error:
                raise SourceError(f"cannot read {path!r}: {_explain(error)}") from error
        _readers[key] = _readers.get(key, 0) + 1
    try:
        yield name
    finally:
        with _lock:
            _readers[key] -= 1
            if not _readers[key]:
                with closing(cursor()) as con:
                    con.execute(f"DETACH {quote(name)}")


def _explain(error: duckdb.Error) -> str:
    text = str(error).splitlines()[0].partition(": ")[2]
    if "set lock" in text:
        return "another process has it open for writing; try again when it has ended"
    if "Unique file handle" in text:
        return "this process has it open for writing; pass that connection as con="
    return text


@contextmanager
def open_catalogue(path: str) -> Generator[Catalogue]:
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
    with attach(path) as name, closing(cursor()) as con:
        tables = con.execute(_TABLES, {"name": name}).fetchall()
        con.execute(f"USE {quote(name)}")

        def select(statement: str) -> object:
            try:
                return con.sql(statement).to_arrow_table()
            except duckdb.Error as error:
                raise SourceError(f"cannot read {path!r}: {_explain(error)}") from error

        yield Catalogue(path, frozenset(table for _, table, _ in tables), select)


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
    with attach(file.path) as name, closing(cursor()) as con:
        tables = con.execute(_TABLES, {"name": name}).fetchall()
        names = [(schema, table) for schema, table, _ in tables]
        chosen = choose_table(names, file.table, f"the database {file.path!r}", f"{file.path}#")
        relation = f"{quote(name)}.{write_table_name(*chosen)}"
        rows = None
        if (*chosen, True) in tables:
            ((rows,),) = con.execute(f"SELECT COUNT(*) FROM {relation}").fetchall()
    return replace(source, relation=relation, rows=rows)
