"""Reads the columns of a source and their types with DuckDB."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from glob import escape
from typing import Any

import polars as pl

from sqleval.common.columns import NO_TYPE, Column, is_number
from sqleval.common.names import find_nearest
from sqleval.common.sql_text import write_literal
from sqleval.engines.csv_dates import refuse_misfits, settle_dates
from sqleval.engines.csv_header import settle_header
from sqleval.engines.csv_quotes import settle_quotes
from sqleval.engines.duckdb_connection import (
    connect,
    convert_errors,
    is_out_of_memory,
    shorten_message,
    user_connection_lock,
)
from sqleval.errors import EngineError, RequestError, SourceError
from sqleval.sources.reading import Reading
from sqleval.sources.source import HIVE, Ask, FileStamp, Source
from sqleval.sources.stores import read_first_bytes


def _read_types_by_file(source: Source) -> tuple[list[str], dict[str, dict[str, str]]]:
    """Return one file for each distinct schema, and the types of each column by file.

    Names that differ only in case are one column, as in DuckDB.
    """
    listed = f"[{', '.join(map(write_literal, source.several))}]"
    alike = (
        "SELECT MIN(file_name) FROM (SELECT file_name, LIST_SORT(LIST("
        "CONCAT_WS('|', name, type, duckdb_type, num_children))) AS columns "
        f"FROM parquet_schema({listed}) GROUP BY file_name) GROUP BY columns ORDER BY 1"
    )
    with convert_errors(alike, [source]), connect([], {}) as con:
        files = [file for (file,) in con.execute(alike).fetchall()]
    types: dict[str, dict[str, str]] = {}
    for file in files:
        reader = f"read_parquet({write_literal(escape(file))}, {HIVE})"
        for column in read_columns(source, f"SELECT * FROM {reader} LIMIT 0").values():
            types.setdefault(column.name.casefold(), {})[file] = column.type
    return files, types


def _describe_difference(files: Mapping[str, str]) -> str:
    """Return why a column with several types cannot be used; each type has an example file."""
    return "is not the same in all files: " + ", ".join(f"{k} in {v}" for k, v in files.items())


def _unify_types(source: Source) -> Source:
    """Make DuckDB read a number whose type differs between Parquet files as the widest type.

    By default DuckDB takes the type of the first file, and rounds 0.7 in the others to 1.
    """
    if not source.several:
        return source
    files, types = _read_types_by_file(source)
    source = replace(source, several=())
    if all(len(of) == len(files) and len(set(of.values())) == 1 for of in types.values()):
        return source
    relation = source.relation.removesuffix(")") + ", union_by_name = TRUE)"
    unusable: dict[str, str] = {}
    singles = frozenset(name for name, of in types.items() if {"FLOAT"} < set(of.values()))
    for name, of in types.items():
        one_file = {of.get(file, "none"): file for file in files}
        # A file without any value of the column does not decide its type.
        one_file.pop(NO_TYPE, None)
        if len(one_file) > 1 and not all(map(is_number, one_file)):
            unusable[name] = _describe_difference(one_file)
    return replace(source, relation=relation, unusable=unusable, singles=singles)


def _read_header(source: Source, file: str) -> bytes:
    """Return the line of a CSV file that holds its header, if it has one."""
    options = source.reading.options
    lines = read_first_bytes(file).split(b"\n")[options.get("skip", 0) :]
    comment = options.get("comment", "").encode()
    return next((line for line in lines if not (comment and line.startswith(comment))), b"")


def _unify_headers(source: Source) -> Source:
    """Match the columns of CSV files by name where their headers differ.

    By default DuckDB matches columns by position, and would mix those of different names.
    """
    if not source.text_reader.startswith("read_csv") or len(source.files) < 2:
        return source
    if "union_by_name" in source.reader_options:
        return source
    headers: dict[bytes, str] = {}
    for file in source.files:
        headers.setdefault(_read_header(source, file), file)
    if len(headers) == 1:
        return source
    types: dict[str, dict[str, str]] = {}
    for file in headers.values():
        statement = f"SELECT * FROM {source.write_text_reader(file)} LIMIT 0"
        columns = read_columns(source, statement)
        types[file] = {column.name.casefold(): column.type for column in columns.values()}
    if len({tuple(of) for of in types.values()}) == 1:
        return source
    unusable: dict[str, str] = {}
    for name in dict.fromkeys(name for of in types.values() for name in of):
        one_file = {of.get(name, "none"): file for file, of in types.items()}
        if "none" in one_file:
            unusable[name] = _describe_difference(one_file)
    return replace(source.add_options("union_by_name = TRUE"), unusable=unusable)


@lru_cache(maxsize=64)
def describe_files(
    relation: str,
    label: str,
    files: tuple[str, ...],
    several: tuple[str, ...],
    text_reader: str,
    settle: Callable[[Source, Ask], Source] | None,
    reading: Reading,
    _version: tuple[FileStamp, ...],
) -> tuple[Source, dict[str, Column]]:
    """Describe local files; ``_version`` is part of the key of the cache."""
    source = Source(
        relation, files=files, several=several, text_reader=text_reader, label=label,
        settle=settle, reading=reading,
    )  # fmt: skip
    return describe_source(source)


def describe_source(source: Source) -> tuple[Source, dict[str, Column]]:
    """Return the source as statements must read it, and its columns by name."""
    if source.settle is not None:
        source = source.settle(source, partial(_ask, source))
    source = _unify_headers(_unify_types(_fit_types(settle_quotes(source))))
    columns = _read_types(source)
    if (named := settle_header(source, columns)) is not source:
        source = _unify_headers(named)
        columns = _read_types(source)
    if (settled := settle_dates(source, columns)) is not source:
        source, columns = settled, _read_types(settled)
    source = refuse_misfits(source, columns)
    for name, column in columns.items():
        if reason := source.unusable.get(name.casefold()):
            columns[name] = column._replace(unusable=reason)
        elif name.casefold() in source.singles and column.kind == "float64":
            columns[name] = column._replace(has_singles=True)
    return source, columns


def _fit_types(source: Source) -> Source:
    """Return a source of CSV files without the types of columns that it does not have.

    They are an error, except in a second source, which has the options of the first one.
    """
    types = source.reading.options.get("types")
    if not types or not source.text_reader.startswith("read_csv"):
        return source
    columns = _read_types(source.read_as(None))
    unknown = [name for name, _ in types if name not in columns]
    if unknown and not source.reading.is_second:
        near = find_nearest(unknown[0], columns)
        raise RequestError(f"csv= types: {source.label} has no column {unknown[0]!r}{near}")
    known = {name: kind for name, kind in types if name in columns}
    return source.read_as(None).read_as(known) if known else source.read_as(None)


def _ask(source: Source, statement: str) -> tuple[Mapping[str, str], Sequence[tuple[Any, ...]]]:
    """Return the types of a statement's columns, and its few rows."""
    with (
        convert_errors(statement, [source]),
        connect([source], source.objects([])) as con,
    ):
        con.execute(statement)
        types = {name: str(kind) for name, kind, *_ in con.description}
        return types, con.fetchall()


def _read_types(source: Source) -> dict[str, Column]:
    """Return the columns of a source.

    Raises
    ------
    SourceError
        If it cannot be read.
    """
    statement = f"SELECT * FROM {source.relation} AS s LIMIT 0"
    try:
        return read_columns(source, statement)
    except EngineError as error:
        if is_out_of_memory(error.__cause__):
            raise
        # The statement contains only the source, so the source is wrong.
        refused = SourceError(f"cannot read {source.label}: {shorten_message(error.__cause__)}")
        refused.statement = statement
        raise refused from error


def read_columns(source: Source, statement: str) -> dict[str, Column]:
    """Return the columns of a statement that returns no rows."""
    if source.empty is not None and source.con is None:
        return dict(read_object_columns(statement, _Rowless.create(source)))
    return _run_for_columns(source, statement)


def _get_schema(frame: Any) -> Hashable:
    return tuple(frame.schema.items()) if isinstance(frame, pl.DataFrame) else frame.schema


@dataclass(frozen=True)
class _Rowless:
    """An object's source without the rows; equal to any other with the same columns and types."""

    name: str
    schema: Hashable
    source: Source = field(compare=False)

    @classmethod
    def create(cls, source: Source) -> _Rowless:
        schema = _get_schema(source.empty)
        # Copy nothing else of the source: the cache would keep its rows in memory.
        rowless = Source(source.relation, source.name, empty=source.empty, label=source.label)
        return cls(source.name, schema, rowless)


@lru_cache(maxsize=64)
def read_object_columns(statement: str, rowless: _Rowless) -> dict[str, Column]:
    """Return the columns of a statement over an object; planned once for equal schemas."""
    return _run_for_columns(rowless.source, statement)


def _run_for_columns(source: Source, statement: str) -> dict[str, Column]:
    objects = {source.name: source.empty} if source.empty is not None else {}
    with convert_errors(statement, [source]):
        if source.duckdb_relation is not None:
            with user_connection_lock:
                return list_relation_columns(source.duckdb_relation.query(source.name, statement))
        with connect([source], objects) as con:
            # `execute` plans the statement once, a relation would plan it twice.
            con.execute(statement)
            columns = _make_columns((name, kind) for name, kind, *_ in con.description)
            con.fetchall()  # leave no result open on the user's connection
            return columns


def list_relation_columns(relation: Any) -> dict[str, Column]:
    """Return the columns of a relation by name."""
    return _make_columns(zip(relation.columns, relation.types, strict=True))


def _make_columns(columns: Iterable[tuple[str, object]]) -> dict[str, Column]:
    return {name: Column(name, str(kind)) for name, kind in columns}
