"""Runs statements on Spark, or on any engine that speaks Spark Connect, such as Sail."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from os import getpid
from signal import SIGINT, getsignal
from typing import Any, TypeVar, cast

from sqleval.binding.vectors import OTHER_LENGTH
from sqleval.common.arrow import ArrowStream
from sqleval.common.columns import Column
from sqleval.common.imports import import_optional
from sqleval.common.sql_text import Value, quote
from sqleval.common.telemetry import start_statement_span
from sqleval.dialects.spark import find_error_class, name_type, shorten, translate
from sqleval.engines.base import BEGINNINGS, Engine
from sqleval.engines.spark_files import is_path, quote_name, read_files, read_paths, write_path
from sqleval.engines.waiting import listen_for_interrupts, wait_for
from sqleval.errors import DataError, EngineError, RequestError, SourceError, SqlevalError
from sqleval.sources.source import Source

T = TypeVar("T")
logger = logging.getLogger("sqleval")
_ANSI = "spark.sql.ansi.enabled"
#: Spark's analyzer resolves a CTE over another in four or more iterations, of which it admits 100.
#: Only Newton's steps for a calibration line make a longer chain.
_ITERATIONS, _MOST_ITERATIONS, _MANY_CTES = "spark.sql.analyzer.maxIterations", "10000", 24
_numbers = count()


def is_spark(value: object, kind: str) -> bool:
    """Whether a value is of a class of PySpark: ``DataFrame`` or ``SparkSession``."""
    classes = type(value).__mro__
    return any(c.__module__.startswith("pyspark.sql") and c.__name__ == kind for c in classes)


def _list_paths(source: object) -> list[str]:
    """Return the paths in a list; an empty list if the source is something else."""
    every = cast("list[object]", source) if isinstance(source, list) else []
    paths = [path for path in every if isinstance(path, str)]
    return paths if len(paths) == len(every) else []


class Spark(Engine):
    """Spark, through a session, classic or of Spark Connect; see `base.Engine`.

    Parameters
    ----------
    session : pyspark.sql.SparkSession
        The session; it stays open when the engine is closed.
    """

    dialect = "spark"
    is_distributed = True

    def __init__(self, session: Any) -> None:
        self.session = session
        self._is_classic = "connect" not in type(session).__module__
        # Sessions of this process have such a handler, also through Connect.
        if getattr(getsignal(SIGINT), "__module__", "").startswith("pyspark"):
            listen_for_interrupts()
        if not self._is_classic and session.conf.get(_ANSI, None) is None:
            # Only Sail has no value for this setting. In ANSI mode Sail 0.7 raises a division by
            # zero even if NULLIF has removed the zeros; otherwise the result is NULL.
            session.conf.set(_ANSI, "false")

    @property
    def is_stopped(self) -> bool:
        """Whether the session has been stopped, so that it no longer answers."""
        if self._is_classic:
            return self.session.sparkContext._jsc is None
        return self.session.is_stopped

    def open(self, source: object, query: str | None, name: str) -> Source:
        """Return a DataFrame, a table, a path or a query as a source.

        Raises
        ------
        SourceError
            If there is no such table or path, or the query is wrong.
        RequestError
            If the source is something else.
        """
        label, written, read = self._find_reader(source, query)
        return replace(self._open_frame(label, read, name), written=written)

    def open_files(self, files: Sequence[str], name: str) -> Source:
        """Return the source of listed files; see `spark_files.read_files`."""
        label = f"{len(files)} files" if len(files) > 1 else files[0]
        return self._open_frame(label, lambda: read_files(self.session, files), name)

    def _open_frame(self, label: str, read: Callable[[], Any], name: str) -> Source:
        with self._convert_errors("", label, at_source=True):
            frame = read()
            columns: list[str] = list(frame.columns)
        if not columns:
            raise SourceError(f"cannot read {label}: there is no such path, or nothing in it")
        repeated = sorted({column for column in columns if columns.count(column) > 1})
        if repeated:
            raise SourceError(f"{label} has two columns called {repeated[0]!r}; rename one")

        def select(needed: Sequence[str]) -> object:
            listed = [quote_name(column) for column in needed]
            return frame.select(*listed) if listed else frame

        return Source(quote(name), name=name, make=select, empty=frame, label=label)

    def _find_reader(self, source: object, query: str | None) -> tuple[str, str, Callable[[], Any]]:
        """Return a source's name in messages, its text after FROM, and a reader of its DataFrame.

        The text is empty for a DataFrame, several paths and CSV files.
        """
        if query is not None:
            if source is not None:
                raise RequestError("give a source or query=, not both")
            written = f"({query.strip().rstrip(';')})"
            return "the query", written, lambda: self.session.sql(query)
        if is_spark(source, "DataFrame"):
            return "the DataFrame", "", lambda: source
        if isinstance(source, str) and not is_path(source):
            return source, source, lambda: self.session.table(source)
        if paths := [source] if isinstance(source, str) else _list_paths(source):
            label = f"{len(paths)} paths" if len(paths) > 1 else paths[0]
            written = write_path(paths[0]) if len(paths) == 1 else ""
            return label, written, lambda: read_paths(self.session, paths)
        if source is None:
            raise RequestError("give a source: a table, a path, a DataFrame or query=")
        raise RequestError(
            f"Spark cannot read a {type(source).__module__}.{type(source).__qualname__}; give a "
            "table, a path or a DataFrame of Spark's"
        )

    def describe(self, source: Source) -> tuple[Source, dict[str, Column]]:
        """Return the source, and its columns by name.

        Raises
        ------
        SourceError
            If Spark cannot read it.
        """
        frame: Any = source.empty
        with self._convert_errors("", source.label, at_source=True):
            if source.relation != quote(source.name):
                text = f"SELECT * FROM {source.relation} AS s LIMIT 0"
                frame = self._prepare(text, {}, {source.name: frame})
            fields = frame.schema.fields
        return source, {
            f.name: Column(f.name, name_type(f.dataType.simpleString())) for f in fields
        }

    def check_condition(self, source: Source, condition: str) -> None:
        """Raise `EngineError` if Spark cannot evaluate a condition on rows ``s``."""
        text = f"SELECT 1 AS one FROM {source.relation} AS s WHERE {condition} LIMIT 0"
        with self._convert_errors(text, source.label):
            _ = self._prepare(text, {}, {source.name: source.empty}).schema

    def _prepare(
        self, statement: str, params: Mapping[str, Value], objects: Mapping[str, object]
    ) -> Any:
        """Return a statement as a DataFrame, without running it."""
        text = translate(statement, tuple(objects))
        logger.debug("%s\n-- %s", text, params)
        conf = self.session.conf
        if text.count(" AS (") > _MANY_CTES and conf.isModifiable(_ITERATIONS):
            conf.set(_ITERATIONS, _MOST_ITERATIONS)
        return self.session.sql(text, args=dict(params), **objects)

    def write_sql(self, statement: str, sources: Sequence[Source]) -> str:
        """Return a statement without parameters in Spark's SQL, over tables and paths.

        A comment names the sources that have no name in SQL.
        """
        text = translate(statement, tuple(source.name for source in sources), pretty=True)
        unnamed = [source for source in sources if not source.written]
        comments = (
            f"-- {source.name} stands for {source.label}: make a temporary view of this name\n"
            for source in unnamed
        )
        names = {source.name: source.written or source.name for source in sources}
        return "".join(comments) + text.format(**names)

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
        label = ", ".join(source.label for source in sources) or "no source"
        with (
            self._convert_errors(statement, label),
            start_statement_span(self.dialect, statement),
        ):
            frame = self._prepare(statement, params, objects)
            return take(ArrowStream(self._collect(frame)))

    def _collect(self, frame: Any) -> Any:
        """Return the rows of a DataFrame as an Arrow table; the user can interrupt."""
        tag = f"sqleval-{getpid()}-{next(_numbers)}"
        jobs = self.session.sparkContext if self._is_classic else None
        add, remove = (
            (jobs.addJobTag, jobs.removeJobTag)
            if jobs is not None
            else (self.session.addTag, self.session.removeTag)
        )

        def work() -> Any:
            add(tag)  # The tag holds for this thread: no other statement is cancelled.
            try:
                return frame.toArrow()
            finally:
                remove(tag)

        def cancel() -> None:
            if jobs is not None:
                jobs.cancelJobsWithTag(tag)
            else:
                self.session.interruptTag(tag)

        with self._read_progress() as read_percent:
            return wait_for(work, cancel, read_percent)

    @contextmanager
    def _read_progress(self) -> Generator[Callable[[], float]]:
        """Yield a function that returns the percentage of a statement's tasks that are done."""
        if self._is_classic:
            yield lambda: _count_done_tasks(self.session.sparkContext.statusTracker())
            return
        share = [-1.0]

        def note(stages: Any, *_: object, **__: object) -> None:
            tasks = sum(stage.num_tasks for stage in stages or ())
            if tasks:
                share[0] = 100.0 * sum(stage.num_completed_tasks for stage in stages) / tasks

        self.session.registerProgressHandler(note)
        try:
            yield lambda: share[0]
        finally:
            self.session.removeProgressHandler(note)

    @contextmanager
    def stream(
        self, statement: str, source: Source, objects: Mapping[str, object]
    ) -> Generator[Any]:
        """Run a statement and yield its rows, whose ``to_arrow_reader`` reads them in batches."""
        with self._convert_errors(statement, source.label):
            yield _Rows(self._collect(self._prepare(statement, {}, objects)))

    def predicate_sql(self, predicate: Any) -> str | None:
        """Return a Polars predicate as DuckDB's SQL, from which it is translated."""
        from sqleval.engines.embedded import embedded

        return embedded().predicate_sql(predicate)

    def open_soon(self) -> None:
        """Do nothing: the session runs."""

    def close(self) -> None:
        """Leave the session open: it is the user's."""

    @contextmanager
    def _convert_errors(
        self, statement: str, label: str, *, at_source: bool = False
    ) -> Generator[None]:
        """Raise Spark's errors as this package's."""
        errors: Any = import_optional("pyspark.errors", "spark", "Spark")
        try:
            yield
        except SqlevalError:
            raise
        except errors.PySparkException as error:
            raise self._convert(error, statement, label, at_source=at_source) from error
        except Exception as error:
            # Errors of Py4J and gRPC, which PySpark does not wrap after a session has ended.
            if type(error).__module__.partition(".")[0] not in ("py4j", "grpc"):
                raise
            raise EngineError(f"Spark failed over {label}: {_read_message(error)}") from error

    @staticmethod
    def _convert(error: Any, statement: str, label: str, *, at_source: bool) -> SqlevalError:
        kind = SourceError if at_source else find_error_class(str(error.getCondition() or ""))
        kind = DataError if OTHER_LENGTH in str(error) else kind
        raised = kind(f"{BEGINNINGS[kind].format(label, name='Spark')}: {_read_message(error)}")
        raised.statement = statement
        return raised


class _Rows:
    """Rows as an Arrow table, read in batches."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def to_arrow_reader(self, batch_size: int = 1_000_000) -> Any:
        """Return a reader of batches."""
        return self._table.to_reader(max_chunksize=batch_size)


def _read_message(error: BaseException) -> str:
    return shorten(str(error)) or type(error).__name__


def _count_done_tasks(tracker: Any) -> float:
    """Return the percentage of the tasks of all active stages that are done."""
    stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    tasks = sum(stage.numTasks for stage in stages if stage)
    done = sum(stage.numCompletedTasks for stage in stages if stage)
    return 100.0 * done / tasks if tasks else -1.0
