"""Runs statements on DuckDB, the embedded engine."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import duckdb

from sqleval.common.arrow import ArrowStream
from sqleval.common.columns import Column
from sqleval.common.sql_text import Value, quote, write_literal
from sqleval.common.telemetry import start_statement_span
from sqleval.common.whole_file import make_folder, replace_file
from sqleval.engines import process
from sqleval.engines.base import Engine
from sqleval.engines.confinement import confinement
from sqleval.engines.duckdb_columns import (
    describe_files,
    describe_source,
    list_relation_columns,
    read_columns,
)
from sqleval.engines.duckdb_connection import (
    connect,
    convert_errors,
    is_small,
    should_optimize,
    user_connection_lock,
)
from sqleval.engines.duckdb_databases import open_database_file
from sqleval.engines.duckdb_files import attach_file
from sqleval.engines.process import run_interruptibly
from sqleval.errors import EngineError, SourceError, get_first_line
from sqleval.sources.source import Source
from sqleval.sources.stores import is_remote

T = TypeVar("T")
logger = logging.getLogger("sqleval")
#: The units of DuckDB's memory limit, each 1,024 of the one before.
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


@lru_cache(maxsize=64)
def _parse_statement(statement: str) -> Any:
    """Parse a statement once: a long one takes longer to parse than to plan.

    The result belongs to no connection; several connections may run it at the same time.
    """
    with connect([], {}) as con:
        (parsed,) = con.extract_statements(statement)
        return parsed


def _create_relation(con: Any, statement: str, params: dict[str, Value]) -> Any:
    """Return a relation of a statement, which runs when its rows are read."""
    return con.sql(statement, params=params)


def _keep_rows(con: Any, statement: str, params: dict[str, Value]) -> Any:
    """Run a statement and return its rows, in their order, as a relation of a table.

    DuckDB plans a relation of a statement twice, for its columns and to run it. For few rows that
    is most of the time.
    """
    if not duckdb.__version__.startswith("1."):  # DuckDB 1 keeps the order, without this setting
        con.execute("SET SESSION preserve_insertion_order = TRUE")
    con.execute(_parse_statement(f"CREATE TEMP TABLE sqleval_rows AS\n{statement}"), params)
    return con.sql("FROM temp.sqleval_rows")


@contextmanager
def _attach(con: Any, path: str) -> Generator[None]:
    """Attach a database file as ``sqleval_output``."""
    try:
        con.execute(f"ATTACH {write_literal(path)} AS sqleval_output (TYPE duckdb)")
    except duckdb.Error as error:
        reason = get_first_line(error).partition(": ")[2]
        raised = EngineError if "not write" in reason else SourceError  # a full disk, or the path
        if "already attached" in reason:
            reason = "the rows are read from this file; choose another one"
        raise raised(f"cannot write {path!r}: {reason}") from error
    try:
        yield
    finally:
        con.execute("DETACH sqleval_output")


@contextmanager
def _name_output(path: str, target: str) -> Generator[None]:
    """Raise an error that names the path, if DuckDB cannot open the draft written for it."""
    try:
        yield
    except SourceError as error:
        reason = get_first_line(error.__cause__ or error).partition(": ")[2]
        if isinstance(error.__cause__, duckdb.IOException) and target in reason:
            shown = reason.replace(target, path)
            raise SourceError(f"cannot write {path!r}: {shown}") from error.__cause__
        raise


class DuckDB(Engine):
    """DuckDB within this process; see `base.Engine`."""

    dialect = "duckdb"
    looks_ahead = True

    def get_memory(self) -> int:
        """Return the bytes of memory that DuckDB may use."""
        with connect([], {}) as con:
            ((limit,),) = con.execute("SELECT current_setting('memory_limit')").fetchall()
        number, unit = limit.split()  # such as 18.6 GiB
        return int(float(number) * 1024 ** _UNITS.index(unit))

    def describe(self, source: Source) -> tuple[Source, dict[str, Column]]:
        """Return the source as statements must read it, and its columns by name.

        Raises
        ------
        SourceError
            If there is no such table or file, or the query is wrong.
        """
        if source.look is not None:
            source = source.look()
        if source.database is not None and not source.relation:
            source = open_database_file(source)
        if source.catalogued:
            confinement.allow_folders(source.files)
        if source.duckdb_relation is not None:
            if source.relation != quote(source.name):
                return describe_source(source)
            with user_connection_lock:
                return source, list_relation_columns(source.duckdb_relation)
        try:
            version = source.version() if source.con is None else None
        except OSError as error:
            raise SourceError(f"cannot read {error.filename!r}: {error.strerror}") from error
        if version is None or source.unusable or source.singles:
            return describe_source(source)
        described, columns = describe_files(
            source.relation, source.label, source.files, source.several, source.text_reader,
            source.settle, source.reading, version,
        )  # fmt: skip
        # The cache's key, the files' names and versions, does not determine these.
        kept = {"check": source.check, "is_table": source.is_table}
        kept |= {"has_order": source.has_order, "keeps_order": source.keeps_order}
        return replace(described, list_matches=source.list_matches, **kept), dict(columns)

    def check_condition(self, source: Source, condition: str) -> None:
        """Raise `EngineError` if DuckDB cannot evaluate a condition on rows ``s``."""
        read_columns(source, f"SELECT 1 FROM {source.relation} AS s WHERE {condition} LIMIT 0")

    def rows(
        self,
        statement: str,
        params: Mapping[str, Value],
        sources: Sequence[Source],
        objects: Mapping[str, object],
        key_bits: int = 0,
    ) -> list[tuple[Any, ...]]:
        """Return the rows of a statement whose number of rows does not grow with the data."""
        # `execute` plans once, a relation twice, which is most of the time of small sources.
        logger.debug("%s\n-- %s", statement, params)
        if any(source.duckdb_relation is not None for source in sources):
            return self._run_relation(statement, params, sources, objects, lambda r: r.fetchall())
        is_ours = all(source.con is None for source in sources)
        optimize = should_optimize(statement, sources)
        with (
            convert_errors(statement, sources),
            start_statement_span(self.dialect, statement),
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
        with convert_errors(statement, sources), start_statement_span(self.dialect, statement):
            if with_relation is not None:
                # A relation runs on its own connection, which takes one statement at a time.
                with user_connection_lock:
                    relation = with_relation.duckdb_relation
                    return take(relation.query(with_relation.name, statement))
            optimize = should_optimize(statement, sources)
            # A user's connection must not get a table of this package.
            is_ours = all(source.con is None for source in sources)
            run = _keep_rows if is_ours and is_small(sources) else _create_relation
            with connect(sources, objects, key_bits, optimize=optimize) as con:
                return run_interruptibly(con, lambda: take(run(con, statement, dict(params))))

    @contextmanager
    def stream(
        self, statement: str, source: Source, objects: Mapping[str, object]
    ) -> Generator[Any]:
        """Run a statement and yield its rows as a relation, to be read in batches."""
        logger.debug("%s", statement)
        with convert_errors(statement, [source]), start_statement_span(self.dialect, statement):
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
            sql = f"COPY (\n{statement}\n) TO {write_literal(target)} ({', '.join(options)})"
            with (
                _name_output(path, target),
                convert_errors(sql, [source]),
                start_statement_span(self.dialect, sql),
                connect([source], objects, writes=[target]) as con,
            ):
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
            with (
                convert_errors(sql, [source]),
                connect([source], objects, writes=[path]) as con,
            ):
                with _attach(con, path):
                    run_interruptibly(con, lambda: con.execute(sql).fetchall())
                    ((rows,),) = con.execute(f"SELECT COUNT(*) FROM {name}").fetchall()
                return int(rows)
        except BaseException:
            # DuckDB undoes the table, but a new file would stay.
            for leftover in (path, f"{path}.wal") if is_new else ():
                Path(leftover).unlink(missing_ok=True)
            raise

    def predicate_sql(self, predicate: Any) -> str | None:
        """Return a Polars predicate as DuckDB SQL, or None if DuckDB has no such expression."""
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
            with attach_file(path, "READ_ONLY") as con:
                return take(ArrowStream(con.sql(f"FROM file.{quote(name)}")))
        except duckdb.Error as error:
            raise SourceError(f"cannot read {path}: {get_first_line(error)}") from error

    def configure(self, settings: Mapping[str, str | int]) -> None:
        """Set limits of memory, threads and disk for all statements from now on."""
        process.configure(settings)

    def open_soon(self) -> None:
        """Open the database in the background."""
        process.open_soon()

    def close(self) -> None:
        """Close the database, and remove its spill files."""
        process.close()
