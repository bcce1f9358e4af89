"""Opens connections to DuckDB for sources, and converts DuckDB's errors to sqleval's."""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from functools import lru_cache
from glob import escape
from pathlib import Path
from typing import Any

import duckdb

from sqleval.binding.many_labels import WRONG_LABELS
from sqleval.binding.pivot import WRONG_CASE
from sqleval.binding.vectors import OTHER_LENGTH
from sqleval.binding.whole_numbers import WHOLE_BEFORE
from sqleval.common.sql_text import quote, write_literal
from sqleval.engines.confinement import confinement
from sqleval.engines.duckdb_databases import list_named_files, open_files
from sqleval.engines.process import cursor, raise_if_interrupted, read_no_text_ahead, restart
from sqleval.errors import DataError, EngineError, RequestError, SourceError, SqlevalError
from sqleval.sources.formats import PARQUET
from sqleval.sources.lines import MISFIT
from sqleval.sources.source import FileStamp, Source

#: Classes of the errors that damaged Parquet files cause; a page header causes the first.
_DAMAGE = (
    duckdb.Error, duckdb.InvalidInputException, duckdb.InternalException, duckdb.FatalException,
)  # fmt: skip
#: Beginning of DuckDB's out-of-memory error.
_OUT_OF_MEMORY = "Out of Memory Error: "
#: A part of the names of the files that DuckDB spills to.
_SPILLED = "duckdb_temp"
#: Held while a user's connection runs a statement, because it runs one at a time.
user_connection_lock = threading.RLock()


#: Where a message of DuckDB goes on with the statement, the stack or advice.
_REST = re.compile(r"\n\nLINE |\n\nStack Trace:|\nPossible [Ss]olutions?:")


def shorten_message(error: BaseException | None) -> str:
    """Return DuckDB's message without the excerpt of the statement and the advice.

    The advice names options of DuckDB, which sqleval does not have.
    """
    text = _REST.split(str(error))[0]
    lines = text.strip().splitlines()
    return "\n".join(line for line in lines if line and not line.startswith("Did you mean"))


#: DuckDB's message for a stream that fails while it is read: the kind of error, and the reason.
_STREAM = re.compile(
    r" failed(?:\(\))?: (IOError|Invalid|Unknown error): (?:IOError: )*(.*?)(?:\.? Detail: .*)?$",
    re.DOTALL,
)


def _convert_stream_error(kind: str, reason: str, sources: Sequence[Source]) -> SqlevalError:
    """Convert an error of PyArrow or Polars: an unreadable file, a wrong value, a failure."""
    about = " and ".join(source.label for source in sources)
    unreadable_files = (source.find_unreadable() for source in sources if source.find_unreadable)
    if unreadable := next(filter(None, unreadable_files), None):
        return SourceError(f"cannot read {unreadable}")
    if kind == "IOError" or any(word in reason.lower() for word in ("csv", "json", "parquet")):
        return SourceError(f"cannot read {about}: {reason}")
    if kind == "Invalid":
        return DataError(f"a value of {about} cannot be used: {reason}")
    return EngineError(f"cannot read {about}: {reason}")


def _convert_error(error: Exception, statement: str, sources: Sequence[Source]) -> SqlevalError:
    """Convert an error of DuckDB to one of sqleval; the statement stays out of the message."""
    about = " and ".join(source.label for source in sources)
    raised = (
        _convert_confinement(error, sources)
        or _convert_lack_of_room(error, about)
        or _convert_lost_stream(error, sources)
        or _convert_damage(error, sources)
        or _convert_by_class(error, about)
    )
    raised.statement = statement
    return raised


def _convert_confinement(error: Exception, sources: Sequence[Source]) -> SqlevalError | None:
    """Convert DuckDB's refusal of a file that neither the command nor the source names."""
    text = shorten_message(error)
    if not isinstance(error, duckdb.PermissionException) or _CONFINED not in text:
        return None
    path = text.partition('"')[2].partition('"')[0]
    # If there is no such file, DuckDB searches a folder of that name.
    file = path.partition("/**/")[0]
    database = next((source.database for source in sources if source.database is not None), None)
    named = list(confinement.paths or ())
    if database is not None:
        named += [path for source in sources for path in list_named_files(source)]
    if file in named and not Path(file).exists():
        return SourceError(f"no such file: {file!r}")
    if database is None:
        return SourceError(f"cannot read {path!r}: commands and jobs read only the files they name")
    return SourceError(
        f"cannot read {path!r}: a view or query of {database.path!r} reads only the files that are "
        "named beside it; name this one, or pass, in Python, a connection of your own as con="
    )


def is_out_of_memory(error: BaseException | None) -> bool:
    """Whether DuckDB ran out of memory, also if the reader of its rows reports that."""
    return isinstance(error, duckdb.OutOfMemoryException) or _OUT_OF_MEMORY in str(error)


def _convert_lack_of_room(error: Exception, about: str) -> SqlevalError | None:
    """Convert an error of too little memory, or of too little disk to write or spill to."""
    text = shorten_message(error).split("\n")[0]
    if is_out_of_memory(error):
        return EngineError(
            f"DuckDB ran out of memory over {about}: {text.rpartition('Error: ')[2]}; raise "
            "--memory-limit (memory_limit= of sqleval.configure), lower --threads, or choose a "
            "--temp-directory with more room"
        )
    if not isinstance(error, duckdb.IOException) or "not write" not in text:
        return None
    advice = ""
    if _SPILLED in text:
        advice = (
            "; choose a --temp-directory (temp_directory= of sqleval.configure) with more room, or "
            "raise --memory-limit"
        )
    return EngineError(f"DuckDB cannot write to disk: {text.partition(': ')[2]}{advice}")


def _convert_lost_stream(error: Exception, sources: Sequence[Source]) -> SqlevalError | None:
    """Convert an error in a stream of PyArrow or Polars to one that names the file."""
    stream = _STREAM.search(shorten_message(error))
    return None if stream is None else _convert_stream_error(stream[1], stream[2], sources)


def _convert_damage(error: Exception, sources: Sequence[Source]) -> SqlevalError | None:
    """Convert an error of a damaged Parquet file to one that names the file.

    DuckDB has no class for such errors. If a page header is damaged, it does not say which file
    of a pattern has it.
    """
    if type(error) not in _DAMAGE:
        return None
    text = shorten_message(error)
    files = [file for source in sources if source.con is None for file in source.files]
    files = [file for file in files if file.lower().endswith(PARQUET)]
    named = next((file for file in files if file in text), None)
    if len(files) == 1 and isinstance(error, (duckdb.InternalException, duckdb.FatalException)):
        named = files[0]
    damaged = named or next(filter(_is_damaged, files), None)
    return None if damaged is None else SourceError(f"cannot read {damaged!r}: {text}")


def _is_damaged(file: str) -> bool:
    """Whether a Parquet file exists and cannot be read to its end."""
    own_cursor = cursor()
    try:
        name = write_literal(escape(file))
        # COUNT(*) would read only the footer.
        own_cursor.execute(f"SELECT MAX(HASH(COLUMNS(*))) FROM read_parquet({name})").fetchall()
    except duckdb.Error as error:
        restart_if_broken(error)
        return type(error) in _DAMAGE
    finally:
        own_cursor.close()
    return False


def _convert_by_class(error: Exception, about: str) -> SqlevalError:
    text = shorten_message(error)
    if MISFIT in text:
        return DataError(f"{about}: {text.partition(MISFIT)[2]}")
    files = any(word in text.lower() for word in ("parquet", "tprotocol", "csv", "json", "schema"))
    if isinstance(error, (duckdb.IOException, duckdb.HTTPException)) or files:
        advice = ""
        if "CSV Error" in text:
            advice = (
                "\nSeparator, encoding, types and other options of a CSV file can be given: "
                "csv={'separator': ';', 'encoding': 'latin-1'} (--csv separator=';' "
                "--csv encoding=latin-1)"
            )
        return SourceError(f"cannot read {about}: {text}{advice}")
    for begin in (WRONG_CASE, WRONG_LABELS):
        if begin in text:
            return DataError(f"{about}: {text.partition(begin)[2]}")
    if WHOLE_BEFORE in text:
        text = text[text.index("column ") :]
        column = text[: text.index(WHOLE_BEFORE)].removeprefix("column ").strip()
        advice = (
            f"give its type: csv={{'types': {{{column!r}: 'DOUBLE'}}}} (--csv "
            f"types={column}:DOUBLE), or for JSON in a query (--query, query=): FROM "
            "read_json('file.json', columns = {...})"
        )
        return DataError(f"{about}: {text}; {advice}")
    if OTHER_LENGTH in text:
        return DataError(f"{about}: {text[text.index('score=') :]}")
    if isinstance(error, (duckdb.ConversionException, duckdb.OutOfRangeException)):
        return DataError(f"a value of {about} cannot be used: {text}")
    if isinstance(error, (duckdb.BinderException, duckdb.CatalogException, duckdb.ParserException)):
        return EngineError(f"DuckDB refused the statement over {about}: {text}")
    return EngineError(f"DuckDB failed over {about}: {text}")


#: A part of DuckDB's message for a file outside of the confinement.
_CONFINED = "file system operations are disabled by configuration"


@contextmanager
def connect(
    sources: Sequence[Source],
    objects: Mapping[str, object],
    key_bits: int = 0,
    *,
    optimize: bool = True,
    writes: Sequence[str] = (),
) -> Generator[Any]:
    """Yield a connection on which the sources can be read.

    Keys of a GROUP BY that have at most ``key_bits`` bits index an array of groups. By default
    DuckDB hashes keys of more than 12 bits, which takes three times as long. ``writes`` are the
    files that the statement writes.
    """
    user_connection = next((source.con for source in sources if source.con is not None), None)
    databases = [source.database for source in sources if source.database is not None]
    if user_connection is None:
        opened = _open_with_databases(sources, writes) if databases else _open_cursor(sources)
        with opened as own_cursor:
            for name, thing in objects.items():
                own_cursor.register(name, thing)
            if key_bits:
                own_cursor.execute(f"SET SESSION perfect_ht_threshold = {key_bits}")
            keeps_order = any(source.keeps_order for source in sources)
            if keeps_order and not duckdb.__version__.startswith("1."):  # DuckDB 1 always does
                own_cursor.execute("SET SESSION preserve_insertion_order = TRUE")
            if not optimize:
                own_cursor.execute("PRAGMA disable_optimizer")
            yield own_cursor
        return
    if databases:
        raise RequestError(
            f"{databases[0].path!r} cannot be read beside a table of con=: attach it there, and "
            "join the two in query="
        )
    # Use the user's connection itself: a cursor of it sees neither temporary tables nor views of
    # Python objects. The lock lets one statement at a time run and be read to its end.
    with user_connection_lock:
        for name, thing in objects.items():
            user_connection.register(name, thing)
        try:
            yield user_connection
        finally:
            for name in objects:
                user_connection.unregister(name)


@contextmanager
def _open_cursor(sources: Sequence[Source]) -> Generator[Any]:
    """Yield a cursor of the process's own database."""
    reads_text = any(source.reads_text for source in sources)
    with closing(cursor()) as own_cursor, read_no_text_ahead() if reads_text else nullcontext():
        yield own_cursor


@contextmanager
def _open_with_databases(sources: Sequence[Source], writes: Sequence[str]) -> Generator[Any]:
    """Yield a connection to a database that may read DuckDB files and the other sources' files."""
    databases = [source.database for source in sources if source.database is not None]
    named = [path for source in sources for path in list_named_files(source)]
    with open_files([each.path for each in databases], named, writes) as (con, names):
        if any(source.reads_text for source in sources) and not duckdb.__version__.startswith("1."):
            con.execute("SET GLOBAL read_ahead_depth = 0")
        for name, database in zip(names, databases, strict=True):
            if database.query is not None:
                con.execute(f"USE {quote(name)}")
        yield con


#: An aggregate function over a window, with up to three brackets within brackets.
_SUM = re.compile(
    r"\b(?:SUM|COUNT|MIN|MAX|AVG)"
    r"\((?:[^()]++|\((?:[^()]++|\((?:[^()]++|\([^()]*+\))*+\))*+\))*+\)\s+OVER \("
)


#: A column of statements over the scores of more than 16 classes.
_MANY_CLASSES = "score_17"


def is_small(sources: Sequence[Source], rows: int = 20_000) -> bool:
    """Whether all sources are known to be so small that planning takes longer than running."""
    return all(source.has_at_most(rows) for source in sources)


@lru_cache(maxsize=64)
def _count_sums(statement: str) -> int:
    """Return the number of aggregate functions over windows in a statement."""
    return len(_SUM.findall(statement))


def should_optimize(statement: str, sources: Sequence[Source]) -> bool:
    """Whether DuckDB's optimizer saves more time than it takes.

    It takes a third of the time of a statement over few rows. Without it DuckDB sums a window anew
    for each row, so a running sum takes quadratic time: a ROC curve of 20,000 rows takes 100 times
    as long. Every step would also carry the scores of all classes: with 250 classes that is four
    fifths of the time.
    """
    if not is_small(sources, 5_000 if _MANY_CLASSES in statement else 20_000):
        return True
    # Measured: without the optimizer, one thread takes a minute for 119 metrics (0.3 MB) instead of
    # two seconds, because pipelines wait for one another. It takes half a second for 90 metrics.
    if len(statement) > 200_000:
        return True
    sums = _count_sums(statement)
    # Measured: a nanosecond for each pair of rows in each window, and 3 ms for the optimizer.
    return sums > 0 and not is_small(sources, math.isqrt(3_000_000 // sums))


def restart_if_broken(error: duckdb.Error) -> None:
    """Replace the process's database after an internal error, as DuckDB then refuses statements."""
    if isinstance(error, (duckdb.InternalException, duckdb.FatalException)):
        restart()


def _get_polars_error() -> type[Exception]:
    """Return the class of the errors that Polars raises while it reads rows."""
    from polars.exceptions import ComputeError  # late: not every command needs it

    return ComputeError


@contextmanager
def convert_errors(statement: str, sources: Sequence[Source]) -> Generator[None]:
    """Raise DuckDB's errors as sqleval's, and an error if a file changes while it is read."""
    before = [_stamp_files(source) for source in sources]
    for source in sources:
        _check_matches(source)
    try:
        yield
    except duckdb.Error as error:
        if "KeyboardInterrupt" in str(error):
            raise KeyboardInterrupt from error  # a stream was stopped, not the engine
        restart_if_broken(error)
        _check_unchanged(sources, before)
        raise _convert_error(error, statement, sources) from error
    except _get_polars_error() as error:
        # A statement may fail while Polars reads its rows.
        if is_out_of_memory(error) or MISFIT in str(error):
            raise _convert_error(error, statement, sources) from error
        raise
    except (RuntimeError, UnicodeDecodeError) as error:
        raise_if_interrupted(error)
        if isinstance(error, RuntimeError) and "nanobind" not in str(error):
            raise
        about = " and ".join(source.label for source in sources)
        raise SourceError(f"cannot read {about}: a column name is not UTF-8") from error
    _check_unchanged(sources, before)


def _stamp_files(source: Source) -> tuple[FileStamp, ...]:
    """Return the state of the local files of a source."""
    try:
        return source.version() or ()
    except OSError as error:
        raise SourceError(f"cannot read {error.filename!r}: {error.strerror}") from error


def _check_matches(source: Source) -> None:
    """Raise if the pattern matches a new file, whose types were not compared."""
    matches = source.list_matches() if source.list_matches is not None else ()
    if new := set(matches).difference(source.files):
        raise SourceError(f"{min(new)!r} is new since {source.label!r} was opened; open it again")


def _check_unchanged(sources: Sequence[Source], before: Sequence[tuple[FileStamp, ...]]) -> None:
    """Raise if a file has changed: a statement may read it twice, and would mix two versions."""
    for source, stamps in zip(sources, before, strict=True):
        for file, old, new in zip(source.files, stamps, _stamp_files(source), strict=False):
            if old != new:
                raise SourceError(f"{file!r} was changed while it was read; try again")
