"""Connections to DuckDB: the process's own and users', and DuckDB's errors as sqleval's."""

from __future__ import annotations

import re
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import duckdb

from sqleval.engines.process import cursor
from sqleval.errors import DataError, EngineError, SourceError, SqlevalError
from sqleval.inputs.source import Source

#: Held while a user's connection runs a statement: it takes one at a time.
user_connection_lock = threading.RLock()


def shorten_message(error: BaseException | None) -> str:
    """Return what DuckDB says, without its picture of the statement and its guesses."""
    lines = str(error).split("\n\nLINE ")[0].strip().splitlines()
    return "\n".join(line for line in lines if line and not line.startswith("Did you mean"))


#: What DuckDB says of a stream whose rows it reads: the kind of error, and the reason.
_STREAM = re.compile(
    r"reading the stream registered as .* failed: (IOError|Invalid|Unknown error): "
    r"(.*?)(\. Detail: .*)?$",
    re.DOTALL,
)


def _convert_stream_error(kind: str, reason: str, sources: Sequence[Source]) -> SqlevalError:
    """Convert an error of PyArrow or Polars: an unreadable file, a wrong value, a failure."""
    about = " and ".join(source.label for source in sources)
    found = (source.find_unreadable() for source in sources if source.find_unreadable)
    if unreadable := next(filter(None, found), None):
        return SourceError(f"cannot read {unreadable}")
    if kind == "IOError" or "CSV" in reason or "JSON" in reason or "Parquet" in reason:
        return SourceError(f"cannot read {about}: {reason}")
    if kind == "Invalid":
        return DataError(f"a value of {about} cannot be used: {reason}")
    return EngineError(f"cannot read {about}: {reason}")


def _convert_error(error: Exception, statement: str, sources: Sequence[Source]) -> SqlevalError:
    """Convert an error of DuckDB to one of sqleval; the statement stays out of the message."""
    text, about = shorten_message(error), " and ".join(source.label for source in sources)
    if stream := _STREAM.search(text):
        raised = _convert_stream_error(stream[1], stream[2], sources)
        raised.statement = statement
        return raised
    files = any(word in text.lower() for word in ("parquet", "tprotocol", "csv", "json", "schema"))
    if isinstance(error, (duckdb.IOException, duckdb.HTTPException)) or files:
        raised: SqlevalError = SourceError(f"cannot read {about}: {text}")
    elif isinstance(error, (duckdb.ConversionException, duckdb.OutOfRangeException)):
        raised = DataError(f"a value of {about} cannot be used: {text}")
    elif isinstance(
        error, (duckdb.BinderException, duckdb.CatalogException, duckdb.ParserException)
    ):
        raised = EngineError(f"DuckDB refused the statement over {about}: {text}")
    else:
        raised = EngineError(f"DuckDB failed over {about}: {text}")
    raised.statement = statement
    return raised


@contextmanager
def connect(
    sources: Sequence[Source],
    objects: Mapping[str, object],
    key_bits: int = 0,
    *,
    optimize: bool = True,
) -> Generator[Any]:
    """Yield a connection on which the sources can be read.

    Where ``key_bits`` are filled by the keys of a grouping, an array takes its groups; DuckDB
    would hash keys of more than 12 bits, which takes three times as long.
    """
    user_connection = next((source.con for source in sources if source.con is not None), None)
    if user_connection is None:
        own_cursor = cursor()
        try:
            for name, thing in objects.items():
                own_cursor.register(name, thing)
            if key_bits:
                own_cursor.execute(f"SET SESSION perfect_ht_threshold = {key_bits}")
            if not optimize:
                own_cursor.execute("PRAGMA disable_optimizer")
            yield own_cursor
        finally:
            own_cursor.close()
        return
    # The user's connection, not a cursor of it: a cursor sees neither temporary tables nor views
    # of Python objects. One statement at a time, and each is read to its end.
    with user_connection_lock:
        for name, thing in objects.items():
            user_connection.register(name, thing)
        try:
            yield user_connection
        finally:
            for name in objects:
                user_connection.unregister(name)


def should_optimize(sources: Sequence[Source]) -> bool:
    """Whether the optimizer saves more time than it takes: a third of that of a few rows."""
    return not all(source.is_small for source in sources)


@contextmanager
def convert_errors(statement: str, sources: Sequence[Source]) -> Generator[None]:
    """Raise DuckDB's errors as sqleval's."""
    try:
        yield
    except duckdb.Error as error:
        if "KeyboardInterrupt" in str(error):
            raise KeyboardInterrupt from error  # a stream was stopped, not the engine
        raise _convert_error(error, statement, sources) from error
