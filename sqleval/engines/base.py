"""The interface of an engine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from sqleval.common.columns import Column
from sqleval.common.sql_text import Value
from sqleval.errors import DataError, EngineError, RequestError, SourceError, SqlevalError
from sqleval.sources.opening import open_source
from sqleval.sources.source import Source

T = TypeVar("T")
#: Beginning of an engine's error message, by class of the error.
BEGINNINGS: Mapping[type[SqlevalError], str] = {
    SourceError: "cannot read {}",
    DataError: "a value of {} cannot be used",
    EngineError: "{name} failed over {}",
}


class Engine(ABC):
    """Base class of engines, which run statements where the rows are.

    A statement is text in DuckDB's SQL. The engine binds its ``$parameters`` or writes them out.
    The ``objects`` of its sources are registered under their names while the statement runs.
    Results are objects with ``__arrow_c_stream__``.

    Attributes
    ----------
    dialect : str
        `sqlglot`'s name of the engine's SQL dialect. Only ``duckdb`` has twins of SQL files.
    looks_ahead : bool
        Whether the compiler reads the first scores of a large source, to choose between rows,
        groups and bins.
    is_distributed : bool
        Whether a statement runs as tasks on several machines, so that no window may hold all rows.
    """

    dialect: str
    looks_ahead: bool = False
    is_distributed: bool = False

    def get_memory(self) -> int:
        """Return the bytes of memory that the engine may use in this process."""
        return 0

    def open(self, source: object, query: str | None, name: str) -> Source:
        """Return the source of a table's name, or of another object that the engine reads.

        Parameters
        ----------
        source : object
            The table, path or object that the user passes.
        query : str or None
            A SELECT in the engine's own SQL, instead of a source.
        name : str
            The name under which an object is registered.

        Raises
        ------
        SourceError, RequestError
            If there is no such table, or the engine cannot read such an object.
        """
        return open_source(source, query=query, name=name, table=True)

    def open_files(self, files: Sequence[str], name: str) -> Source:
        """Return the source of files that a job has listed.

        Raises
        ------
        SourceError
            If one of them cannot be read.
        """
        return self.open(list(files), None, name)

    @abstractmethod
    def describe(self, source: Source) -> tuple[Source, dict[str, Column]]:
        """Return the source as statements must read it, and its columns by name.

        The types have the names of `common.columns`.

        Raises
        ------
        SourceError
            If there is no such table or file, or the query is wrong.
        """

    @abstractmethod
    def check_condition(self, source: Source, condition: str) -> None:
        """Raise `EngineError` if the engine cannot evaluate a condition on rows ``s``."""

    @abstractmethod
    def run(
        self,
        statement: str,
        params: Mapping[str, Value],
        sources: Sequence[Source],
        objects: Mapping[str, object],
        take: Callable[[Any], T],
        key_bits: int = 0,
    ) -> T:
        """Run a statement and return what ``take`` makes of its rows (``__arrow_c_stream__``).

        ``key_bits`` is the number of bits of the keys of the largest GROUP BY, if the keys are
        whole numbers and the statement only counts them; otherwise 0.

        Raises
        ------
        SourceError, DataError, EngineError
            By the cause. The error has the statement as an attribute.
        """

    def write_sql(self, statement: str, sources: Sequence[Source]) -> str:
        """Return a statement without parameters as the engine runs it, for display."""
        return statement

    def rows(
        self,
        statement: str,
        params: Mapping[str, Value],
        sources: Sequence[Source],
        objects: Mapping[str, object],
        key_bits: int = 0,
    ) -> list[tuple[Any, ...]]:
        """Return the rows of a statement whose number of rows does not grow with the data."""

        def take(stream: Any) -> list[tuple[Any, ...]]:
            from polars import DataFrame  # late: not every command needs it

            return DataFrame(stream).rows()

        return self.run(statement, params, sources, objects, take, key_bits)

    @abstractmethod
    def stream(
        self, statement: str, source: Source, objects: Mapping[str, object]
    ) -> AbstractContextManager[Any]:
        """Run a statement and yield an object whose ``to_arrow_reader`` reads it in batches."""

    def write_parquet(
        self,
        statement: str,
        path: str,
        by: Sequence[str],
        source: Source,
        objects: Mapping[str, object],
    ) -> int:
        """Write rows to a Parquet file, or to a folder per value of ``by``; return their number."""
        raise self._lacks("write Parquet files")

    def write_table(
        self,
        statement: str,
        path: str,
        table: str,
        source: Source,
        objects: Mapping[str, object],
    ) -> int:
        """Make or replace a table of a database file from rows; return their number."""
        raise self._lacks("write database files")

    def read_table(self, path: str, name: str, take: Callable[[Any], T]) -> T:
        """Return what ``take`` makes of a table's rows in a database file."""
        raise self._lacks("read database files")

    def _lacks(self, what: str) -> RequestError:
        return RequestError(f"the engine of {self.dialect} cannot {what}")

    def predicate_sql(self, predicate: Any) -> str | None:
        """Return a Polars predicate as SQL; None if the engine cannot express it."""
        return None

    def configure(self, settings: Mapping[str, str | int]) -> None:
        """Set limits of memory, threads and disk for all statements from now on."""
        raise self._lacks("be configured here")

    @abstractmethod
    def open_soon(self) -> None:
        """Start the engine in the background, if starting it takes time."""

    @abstractmethod
    def close(self) -> None:
        """Cancel running statements and free the engine's resources."""
