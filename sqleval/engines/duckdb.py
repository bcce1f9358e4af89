"""Runs statements on DuckDB, the embedded engine."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from glob import escape
from pathlib import Path
from typing import Any, TypeVar

import duckdb

from sqleval.common.arrow import ArrowStream
from sqleval.common.columns import Column, is_number
from sqleval.common.sql_text import Value, literal, quote
from sqleval.common.whole_file import make_folder, replace_file
from sqleval.engines import process
from sqleval.engines.base import Engine
from sqleval.engines.duckdb_connection import (
    connect,
    convert_errors,
    shorten_message,
    should_optimize,
    user_connection_lock,
)
from sqleval.engines.duckdb_databases import open_database_file
from sqleval.engines.process import run_interruptibly
from sqleval.errors import EngineError, SourceError
from sqleval.inputs.files import HIVE
from sqleval.inputs.source import FileStamp, Source
from sqleval.inputs.stores import is_remote, read_first_line

T = TypeVar("T")
logger = logging.getLogger("sqleval")


def _read_types_by_file(source: Source) -> tuple[list[str], dict[str, dict[str, str]]]:
    """Return one file for each combination of types, and each column's types by file.

    Names that differ in the case of letters alone are one column, as DuckDB reads them.
    """
    listed = f"[{', '.join(map(literal, source.several))}]"
    alike = (
        "SELECT MIN(file_name) FROM (SELECT file_name, LIST_SORT(LIST("
        "CONCAT_WS('|', name, type, duckdb_type, num_children))) AS columns "
        f"FROM parquet_schema({listed}) GROUP BY file_name) GROUP BY columns ORDER BY 1"
    )
    with convert_errors(alike, [source]), connect([], {}) as con:
        files = [file for (file,) in con.execute(alike).fetchall()]
    types: dict[str, dict[str, str]] = {}
    for file in files:
        reader = f"read_parquet({literal(escape(file))}, {HIVE})"
        for column in _read_columns(source, f"SELECT * FROM {reader} LIMIT 0").values():
            types.setdefault(column.name.casefold(), {})[file] = column.type
    return files, types


def _unify_types(source: Source) -> Source:
    """Read a number whose type differs between Parquet files as the widest of the types.

    DuckDB takes the type of the first file, and would round 0.7 to 1 in the others.
    """
    if not source.several:
        return source
    files, types = _read_types_by_file(source)
    source = replace(source, several=())
    if all(len(of) == len(files) and len(set(of.values())) == 1 for of in types.values()):
        return source
    relation = source.relation.removesuffix(")") + ", union_by_name = TRUE)"
    differs: dict[str, str] = {}
    for name, of in types.items():
        one_file = {of.get(file, "none"): file for file in files}
        # A column without a value in any row has no type of its own.
        one_file.pop('"NULL"', None)
        if len(one_file) > 1 and not all(map(is_number, one_file)):
            differs[name] = ", ".join(f"{kind} in {file}" for kind, file in one_file.items())
    return replace(source, relation=relation, differs=differs)


def _unify_headers(source: Source) -> Source:
    """Match the columns of CSV files by name where their headers differ.

    DuckDB would give a column the type of the one that stands in its place in another file.
    """
    reader = source.text_reader
    if not reader.startswith("read_csv") or len(source.files) < 2 or "union_by_name" in reader:
        return source
    headers: dict[bytes, str] = {}
    for file in source.files:
        headers.setdefault(read_first_line(file), file)
    if len(headers) == 1:
        return source
    types: dict[str, dict[str, str]] = {}
    for file in headers.values():
        statement = f"SELECT * FROM read_csv({literal(escape(file))}, {HIVE}) LIMIT 0"
        columns = _read_columns(source, statement)
        types[file] = {column.name.casefold(): column.type for column in columns.values()}
    if len({tuple(of) for of in types.values()}) == 1:
        return source
    differs: dict[str, str] = {}
    for name in dict.fromkeys(name for of in types.values() for name in of):
        one_file = {of.get(name, "none"): file for file, of in types.items()}
        if "none" in one_file:
            differs[name] = ", ".join(f"{kind} in {file}" for kind, file in one_file.items())
    reader = source.text_reader.removesuffix(")") + ", union_by_name = TRUE)"
    relation = source.relation.replace(source.text_reader, reader)
    return replace(source, relation=relation, text_reader=reader, differs=differs)


@lru_cache(maxsize=64)
def _describe_files(
    relation: str,
    label: str,
    files: tuple[str, ...],
    several: tuple[str, ...],
    text_reader: str,
    _version: tuple[FileStamp, ...],
) -> tuple[Source, dict[str, Column]]:
    """Describe local files; ``_version`` is part of the key of the cache."""
    source = Source(relation, files=files, several=several, text_reader=text_reader, label=label)
    return _describe_source(source)


def _describe_source(source: Source) -> tuple[Source, dict[str, Column]]:
    source = _unify_headers(_unify_types(source))
    statement = f"SELECT * FROM {source.relation} AS s LIMIT 0"
    try:
        columns = _read_columns(source, statement)
    except EngineError as error:
        # Nothing but the source is in this statement, so it is the source that is wrong.
        refused = SourceError(f"cannot read {source.label}: {shorten_message(error.__cause__)}")
        refused.statement = statement
        raise refused from error
    for name, column in columns.items():
        if differs := source.differs.get(name.casefold()):
            columns[name] = column._replace(differs=differs)
    return source, columns


def _read_columns(source: Source, statement: str) -> dict[str, Column]:
    """Return the columns of a statement that returns no rows."""
    objects = {source.name: source.empty} if source.empty is not None else {}
    with convert_errors(statement, [source]):
        if source.duckdb_relation is not None:
            with user_connection_lock:
                return _list_relation_columns(source.duckdb_relation.query(source.name, statement))
        with connect([source], objects) as con:
            # Planned once, where a relation would be planned twice.
            con.execute(statement)
            columns = _make_columns((name, kind) for name, kind, *_ in con.description)
            con.fetchall()  # leave no result open on the user's connection
            return columns


def _list_relation_columns(relation: Any) -> dict[str, Column]:
    return _make_columns(zip(relation.columns, relation.types, strict=True))


def _make_columns(columns: Iterable[tuple[str, object]]) -> dict[str, Column]:
    return {name: Column(name, str(kind)) for name, kind in columns}


@lru_cache(maxsize=64)
def _parse_statement(statement: str) -> Any:
    """Parse a statement once: a long one takes longer to parse than to plan.

    The result belongs to no connection; several may run it at the same time.
    """
    with connect([], {}) as con:
        (parsed,) = con.extract_statements(statement)
        return parsed


@contextmanager
def _attach(con: Any, path: str) -> Generator[None]:
    """Attach a database file as ``sqleval_output``."""
    try:
        con.execute(f"ATTACH {literal(path)} AS sqleval_output")
    except duckdb.Error as error:
        reason = str(error).splitlines()[0].partition(": ")[2]
        raised = EngineError if "not write" in reason else SourceError  # a full disk, or the path
        raise raised(f"cannot write {path!r}: {reason}") from error
    try:
        yield
    finally:
        con.execute("DETACH sqleval_output")


class DuckDB(Engine):
    """DuckDB within this process; see `base.Engine`."""

    dialect = "duckdb"
    looks_ahead = True

    def describe(self, source: Source) -> tuple[Source, dict[str, Column]]:
        """Return the source as it is to be read, and its columns by name.

        Raises
        ------
        SourceError
            If there is no such table or file, or the query is wrong.
        """
        if source.look is not None:
            source = source.look()
        if source.database is not None and not source.relation:
            source = open_database_file(source)
        if source.duckdb_relation is not None:
            if source.relation != quote(source.name):
                return _describe_source(source)
            with user_connection_lock:
                return source, _list_relation_columns(source.duckdb_relation)
        try:
            version = source.version() if source.con is None else None
        except OSError as error:
            raise SourceError(f"cannot read {error.filename!r}: {error.strerror}") from error
        if version is None or source.differs:
            return _describe_source(source)
        described, columns = _describe_files(
            source.relation, source.label, source.files, source.several, source.text_reader, version
        )
        return replace(described, check=source.check), dict(columns)

    def check_condition(self, source: Source, condition: str) -> None:
        """Raise `EngineError` if DuckDB cannot judge a row of the source by ``condition``."""
        _read_columns(source, f"SELECT 1 FROM {source.relation} AS s WHERE {condition} LIMIT 0")

    def rows(
        self,
        statement: str,
        params: Mapping[str, Value],
        sources: Sequence[Source],
        objects: Mapping[str, object],
        key_bits: int = 0,
    ) -> list[tuple[Any, ...]]:
        """Run a statement whose number of rows does not grow with the data; return them."""
        # Planned once, where a relation would be planned twice: most of the time of small sources.
        logger.debug("%s\n-- %s", statement, params)
        if any(source.duckdb_relation is not None for source in sources):
            return self._run_relation(statement, params, sources, objects, lambda r: r.fetchall())
        is_ours = all(source.con is None for source in sources)
        optimize = should_optimize(sources)
        with (
            convert_errors(statement, sources),
            connect(sources, objects, key_bits, optimize=optimize) as con,
        ):
            parsed = _parse_statement(statement) if is_ours else statement
            return run_interruptibly(con, lambda: con.execute(parsed, dict(params)).fetchall())

    def run(
        self,
        statement: str,
        params: Mapping[str, Value],
        sources: Sequence[Source],
        objects: Mapping[str, object],
        take: Callable[[Any], T],
        key_bits: int = 0,
    ) -> T:
        """Run a statement and return what ``take`` makes of its rows (``__arrow_c_stream__``)."""
        return self._run_relation(
            statement, params, sources, objects, lambda rows: take(ArrowStream(rows)), key_bits
        )

    def _run_relation(
        self,
        statement: str,
        params: Mapping[str, Value],
        sources: Sequence[Source],
        objects: Mapping[str, object],
        take: Callable[[Any], T],
        key_bits: int = 0,
    ) -> T:
        """Run a statement and return what ``take`` makes of its rows, a DuckDB relation."""
        logger.debug("%s\n-- %s", statement, params)
        with_relation = next((s for s in sources if s.duckdb_relation is not None), None)
        with convert_errors(statement, sources):
            if with_relation is not None:
                # A relation runs on its own connection, which takes one statement at a time.
                with user_connection_lock:
                    relation = with_relation.duckdb_relation
                    return take(relation.query(with_relation.name, statement))
            optimize = should_optimize(sources)
            with connect(sources, objects, key_bits, optimize=optimize) as con:
                return run_interruptibly(con, lambda: take(con.sql(statement, params=dict(params))))

    @contextmanager
    def stream(
        self, statement: str, source: Source, objects: Mapping[str, object]
    ) -> Generator[Any]:
        """Run a statement and yield its rows as a relation, to be read in batches."""
        logger.debug("%s", statement)
        with convert_errors(statement, [source]):
            if source.duckdb_relation is not None:
                with user_connection_lock:
                    yield source.duckdb_relation.query(source.name, statement)
                return
            with connect([source], objects) as con:
                yield con.sql(statement)

    def write_parquet(
        self,
        statement: str,
        path: str,
        by: Sequence[str],
        source: Source,
        objects: Mapping[str, object],
    ) -> int:
        """Write rows to a Parquet file, or to a folder per value of ``by``; return their number.

        Raises
        ------
        SourceError
            If it cannot be written.
        """
        options = ["FORMAT parquet"]
        if by:
            options.append(f"PARTITION_BY ({', '.join(map(quote, by))})")

        def copy(target: str) -> int:
            sql = f"COPY (\n{statement}\n) TO {literal(target)} ({', '.join(options)})"
            with convert_errors(sql, [source]), connect([source], objects) as con:
                ((rows,),) = run_interruptibly(con, lambda: con.execute(sql).fetchall())
            return int(rows)

        if is_remote(path):
            return copy(path)
        with make_folder(path) if by else replace_file(path) as draft:
            return copy(str(draft))

    def write_table(
        self, statement: str, path: str, table: str, source: Source, objects: Mapping[str, object]
    ) -> int:
        """Make or replace a table of a DuckDB file from rows; return their number.

        Raises
        ------
        SourceError
            If the file cannot be written.
        """
        name = f"sqleval_output.{quote(table)}"
        sql = f"CREATE OR REPLACE TABLE {name} AS\n{statement}"
        is_new = not Path(path).exists()
        try:
            with convert_errors(sql, [source]), connect([source], objects) as con:
                with _attach(con, path):
                    run_interruptibly(con, lambda: con.execute(sql).fetchall())
                    ((rows,),) = con.execute(f"SELECT COUNT(*) FROM {name}").fetchall()
                return int(rows)
        except BaseException:
            # A table is made whole or not at all, but the new file would stay.
            for leftover in (path, f"{path}.wal") if is_new else ():
                Path(leftover).unlink(missing_ok=True)
            raise

    def predicate_sql(self, predicate: Any) -> str | None:
        """Return a Polars predicate as DuckDB SQL, or None where DuckDB cannot say it."""
        from duckdb.polars_io import (
            _predicate_to_expression,  # pyright: ignore[reportPrivateUsage, reportUnknownVariableType]
        )

        expression = _predicate_to_expression(predicate)
        return None if expression is None else str(expression)  # pyright: ignore[reportUnknownArgumentType]

    def read_table(self, path: str, name: str, take: Callable[[Any], T]) -> T:
        """Return what ``take`` makes of a table's rows (``__arrow_c_stream__``) in a database file.

        Raises
        ------
        SourceError
            If there is no such file or table.
        """
        try:
            with duckdb.connect(path, read_only=True) as con:
                return take(ArrowStream(con.table(quote(name))))
        except duckdb.Error as error:
            raise SourceError(f"cannot read {path}: {str(error).splitlines()[0]}") from error

    def configure(self, settings: Mapping[str, str | int]) -> None:
        """Set limits of memory, threads and disk for all statements from now on."""
        process.configure(settings)

    def open_soon(self) -> None:
        """Open the database in the background."""
        process.open_soon()

    def close(self) -> None:
        """Close the database, and remove what it has spilled."""
        process.close()
