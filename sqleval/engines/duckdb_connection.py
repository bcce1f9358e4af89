"""Connections to DuckDB: the process's own and users', and DuckDB's errors as sqleval's."""

from __future__ import annotations

import re
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from typing import Any

import duckdb

from sqleval.common.sql_text import quote
from sqleval.engines.duckdb_databases import attach
from sqleval.engines.process import cursor
from sqleval.errors import DataError, EngineError, RequestError, SourceError, SqlevalError
from sqleval.inputs.source import Source

#: Held while a user's connection runs a statement: it takes one at a time.
user_connection_lock = threading.RLock()


def shorten_message(error: BaseException | None) -> str:
    """Return what DuckDB says, without its picture of the statement and its guesses."""
    lines = str(error).split("\n\nLINE ")[0].strip().splitlines()
    return "\n".join(line for line in lines if line and not line.startswith("Did you mean"))


def _convert_error(error: Exception, statement: str, sources: Sequence[Source]) -> SqlevalError:
    """Convert an error of DuckDB to one of sqleval; the statement stays out of the message."""
    text, about = shorten_message(error), " and ".join(source.label for source in sources)
    if (stream := _STREAM.search(text)) is not None:
        found = (source.find_unreadable() for source in sources if source.find_unreadable)
        reason = next(filter(None, found), f"{about}: {stream[1].strip()}")
        raised = SourceError(f"cannot read {reason}")
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


#: What DuckDB says of an object of PyArrow or Polars whose rows it reads, before the reason.
_STREAM = re.compile(r" failed(?:\(\))?: (?:IOError: )+(.*?)(?: Detail: |$)", re.DOTALL)


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
    databases = [source.database for source in sources if source.database is not None]
    if user_connection is None:
        with ExitStack() as stack:
            names = [(stack.enter_context(attach(each.path)), each) for each in databases]
            own_cursor = stack.enter_context(closing(cursor()))
            for name, thing in objects.items():
                own_cursor.register(name, thing)
            for name, database in names:
                if database.query is not None:
                    own_cursor.execute(f"USE {quote(name)}")
            if key_bits:
                own_cursor.execute(f"SET SESSION perfect_ht_threshold = {key_bits}")
            if not optimize:
                own_cursor.execute("PRAGMA disable_optimizer")
            yield own_cursor
        return
    if databases:
        raise RequestError(
            f"{databases[0].path!r} cannot be read beside a table of con=: attach it there, and "
            "join the two in query="
        )
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
