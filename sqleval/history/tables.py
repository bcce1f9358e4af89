"""Writes a result to a table: of a Delta lake, or of PostgreSQL."""

from typing import Any
from urllib.parse import unquote, urldefrag

import polars as pl

from sqleval.common.imports import import_optional
from sqleval.common.postgres import PostgresDatabase
from sqleval.common.postgres_urls import split_postgres_url
from sqleval.errors import EngineError, get_first_line


def write_rows(frame: pl.DataFrame, output: str) -> None:
    """Make or replace the table of ``delta+PATH`` or ``postgresql://HOST/DATABASE#TABLE``.

    Raises
    ------
    RequestError
        If a PostgreSQL URL holds a password.
    EngineError
        If the table cannot be written; it stays as it was.
    """
    if output.startswith("delta+"):
        _write_delta(frame, output.removeprefix("delta+"))
        return
    table = unquote(split_postgres_url(output).fragment)
    _write_postgres(frame, urldefrag(output).url, table)


def _write_delta(frame: pl.DataFrame, place: str) -> None:
    """Make or replace a Delta table; its earlier versions stay readable."""
    delta: Any = import_optional("deltalake", "delta", "Delta tables")
    try:
        delta.write_deltalake(place, frame, mode="overwrite", schema_mode="overwrite")
    except (delta.exceptions.DeltaError, OSError) as error:
        raise EngineError(f"cannot write the table {place!r}: {get_first_line(error)}") from error


def _write_postgres(frame: pl.DataFrame, url: str, table: str) -> None:
    """Make or replace a table in one transaction."""
    dbapi: Any = import_optional("adbc_driver_postgresql.dbapi", "postgres", "PostgreSQL")
    schema, _, name = table.rpartition(".")
    options = {"db_schema_name": schema} if schema else {}
    try:
        with PostgresDatabase(url).connect() as connection, connection.cursor() as cursor:
            cursor.adbc_ingest(name, frame.to_arrow(), mode="replace", **options)
            connection.commit()
    except dbapi.Error as error:
        text = get_first_line(error)
        raise EngineError(f"cannot write the table {table!r} of {url}: {text}") from error
