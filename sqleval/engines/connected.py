"""Base class of warehouses that run statements on the user's connection."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any, ClassVar

import polars as pl
from polars import selectors
from sqlglot import exp
from sqlglot.errors import SqlglotError

from sqleval.common.columns import Column
from sqleval.common.sql_text import quote
from sqleval.engines.waiting import wait_for
from sqleval.engines.warehouse import Translated, Warehouse, check_source
from sqleval.errors import EngineError, RequestError, SourceError, SqlevalError
from sqleval.sources.database.naming import write_subquery
from sqleval.sources.source import Source


def write_empty(text: str) -> str:
    """Return a SELECT without its rows; BigQuery charges LIMIT 0 as if it read all."""
    return f"SELECT * FROM ({text}) AS described WHERE FALSE"


class Connected(Warehouse):
    """A warehouse that is reached by the user's own connection; see `base.Engine`.

    It runs one statement at a time.

    Parameters
    ----------
    connection : object
        An open connection; it stays open when the engine is closed.
    """

    #: Whether the warehouse folds names without quotes to upper case.
    folds: ClassVar[bool] = False

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._lock = Lock()

    @abstractmethod
    def _describe(self, text: str) -> Sequence[Column]:
        """Return the columns of a SELECT, without reading rows."""

    @abstractmethod
    def _execute(
        self, translated: Translated, on_start: Callable[[Callable[[], object]], object]
    ) -> pl.DataFrame:
        """Return the rows of a statement; at its start, pass ``on_start`` a cancelling function."""

    @abstractmethod
    def _list_errors(self) -> tuple[type[Exception], ...]:
        """Return the classes of the driver's errors."""

    @abstractmethod
    def _judge(self, error: Any, text: str) -> tuple[type[SqlevalError], str]:
        """Return the class of error to raise for a driver's error, and the reason."""

    def open(self, source: object, query: str | None, name: str) -> Source:
        """Return a table or a query as a source.

        Raises
        ------
        RequestError
            If the source is something else.
        """
        check_source(source, query, f"a connection to {self.name}")
        relation = self._write_table(str(source)) if query is None else write_subquery(query)
        label = str(source) if query is None else "the query"
        return Source(quote(name), name=name, make=lambda _: relation, label=label)

    def _write_table(self, name: str) -> str:
        """Return a table's name in the warehouse's SQL, quoted only where the user has quotes."""
        try:
            table = exp.to_table(name, dialect=self.dialect)
        except (SqlglotError, TypeError):  # sqlglot raises both
            table = exp.Table()
        if not table.parts or not all(isinstance(part, exp.Identifier) for part in table.parts):
            raise RequestError(f"{name!r} must be the name of a table, such as db.schema.preds")
        return table.sql(dialect=self.dialect)

    def describe(self, source: Source) -> tuple[Source, dict[str, Column]]:
        """Return the source, and its columns by name.

        Raises
        ------
        SourceError
            If the warehouse cannot read it.
        """
        text = f"SELECT * FROM {source.relation} AS s"
        text = self.translate(text, {}, source.objects([])).text
        with self._convert_errors(text, source.label, SourceError), self._lock:
            columns = self._describe(text)
        return source, {column.name: column for column in columns}

    def check_condition(self, source: Source, condition: str) -> None:
        """Raise `EngineError` if the warehouse cannot evaluate a condition on rows ``s``."""
        text = f"SELECT 1 AS one FROM {source.relation} AS s WHERE {condition}"
        text = self.translate(text, {}, source.objects([])).text
        with self._convert_errors(text, source.label, EngineError), self._lock:
            self._describe(text)

    def _fetch(self, translated: Translated) -> pl.DataFrame:
        running: list[Callable[[], object]] = []

        def work() -> pl.DataFrame:
            with self._lock:
                frame = self._execute(translated, running.append)
            # SELECT * lists no names, so the warehouse's names count, which it may have folded.
            columns = [name.lower() for name in frame.columns] if self.folds else frame.columns
            frame.columns = columns if "*" in translated.names else list(translated.names)
            return frame.with_columns(selectors.decimal().cast(pl.Float64))

        def cancel() -> None:
            for each in running:
                each()

        return wait_for(work, cancel, lambda: -1.0)

    def close(self) -> None:
        """Leave the connection open: it is the user's."""

    @contextmanager
    def _convert_errors(
        self, text: str, label: str, kind: type[SqlevalError] | None = None
    ) -> Generator[None]:
        try:
            yield
        except self._list_errors() as error:
            error_type, reason = self._judge(error, text)
            if kind is not None and error_type is not SourceError:
                error_type = kind
            raise self._make_error(error_type, label, text, reason) from error
