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
#: How the message of an error of an engine begins, by its kind.
BEGINNINGS: Mapping[type[SqlevalError], str] = {
    SourceError: "cannot read {}",
    DataError: "a value of {} cannot be used",
    EngineError: "{name} failed over {}",
}


class Engine(ABC):
    """What runs statements where the rows are.

    A statement comes as text in the SQL of DuckDB with ``$parameters``, which the engine binds or
    writes out. Before it runs, the ``objects`` of its sources are registered under their names,
    and afterwards they are gone. Results leave as objects with ``__arrow_c_stream__``.

    Attributes
    ----------
    dialect : str
        The SQL that it reads, as `sqlglot` calls it. Only ``duckdb`` has twins of SQL files.
    looks_ahead : bool
        Whether the first scores of a large source are read to choose rows, groups or bins.
    is_distributed : bool
        Whether a statement runs as tasks on several machines, so that no window may hold all rows.
    """

    dialect: str
    looks_ahead: bool = False
    is_distributed: bool = False

    def open(self, source: object, query: str | None, name: str) -> Source:
        """Return a table's name, or whatever else the engine reads, as a source.

        Parameters
        ----------
        source : object
            What the user gives.
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
        """Return files, which a job has listed, as a source.

        Raises
        ------
        SourceError
            If one of them cannot be read.
        """
        return self.open(list(files), None, name)

    @abstractmethod
    def describe(self, source: Source) -> tuple[Source, dict[str, Column]]:
        """Return the source as it is to be read, and its columns by name.

        Their types are those of `common.columns`.

        Raises
        ------
        SourceError
            If there is no such table or file, or the query is wrong.
        """

    @abstractmethod
    def check_condition(self, source: Source, condition: str) -> None:
        """Raise `EngineError` if a row of the source, as ``s``, cannot be judged by a condition."""

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

        ``key_bits`` is the size of the keys of its largest grouping, where they are whole numbers
        that are only counted; 0 elsewhere.

        Raises
        ------
        SourceError, DataError, EngineError
            As the cause is; the statement is an attribute of the error.
        """

    def write_sql(self, statement: str, objects: Mapping[str, object]) -> str:
        """Return a statement without parameters as it runs, for people to read."""
        return statement

    def rows(
        self,
        statement: str,
        params: Mapping[str, Value],
        sources: Sequence[Source],
        objects: Mapping[str, object],
        key_bits: int = 0,
    ) -> list[tuple[Any, ...]]:
        """Run a statement whose number of rows does not grow with the data; return them."""

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
        """Return a Polars predicate as SQL; None where the engine cannot express it."""
        return None

    def configure(self, settings: Mapping[str, str | int]) -> None:
        """Set limits of memory, threads and disk for all statements from now on."""
        raise self._lacks("be configured here")

    @abstractmethod
    def open_soon(self) -> None:
        """Begin to start the engine in the background, if that takes time."""

    @abstractmethod
    def close(self) -> None:
        """Cancel what runs and free what the engine holds."""
