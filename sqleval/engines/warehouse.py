"""Base class of warehouses: reads tables by name, and translates statements to their SQL."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from math import isinf
from typing import Any, ClassVar, NamedTuple, TypeVar

import sqlglot
from sqlglot import exp

from sqleval.common.arrow import ArrowStream
from sqleval.common.sql_text import Value
from sqleval.common.telemetry import start_statement_span
from sqleval.dialects.rewrites import adapt, put_nulls_last
from sqleval.engines.base import BEGINNINGS, Engine
from sqleval.engines.embedded import embedded
from sqleval.errors import EngineError, RequestError, SqlevalError
from sqleval.sources.source import Source

T = TypeVar("T")
logger = logging.getLogger("sqleval")


class Translated(NamedTuple):
    """A statement in the SQL of a warehouse, and the names of its result's columns."""

    text: str
    names: tuple[str, ...]


class Warehouse(Engine):
    """An engine whose statements are translated as a whole, and whose results are small.

    An object of a source is the SQL text that replaces the source's name in a statement.
    """

    #: The name of the engine in messages.
    name: ClassVar[str]
    #: Whether it understands MATERIALIZED, and NOT MATERIALIZED, of a CTE.
    keeps_hints: ClassVar[bool] = False

    def translate(
        self, statement: str, params: Mapping[str, Value], relations: Mapping[str, object]
    ) -> Translated:
        """Translate a statement from DuckDB's SQL to the warehouse's.

        Parameters
        ----------
        statement : str
            The statement.
        params : mapping of str to value
            The values of its ``$parameters``, which are written into it.
        relations : mapping of str to str
            The warehouse's SQL that replaces each table's name in the statement.
        """
        tree = sqlglot.parse_one(statement, dialect="duckdb")
        for node in list(tree.find_all(exp.Placeholder)):
            node.replace(_write_value(params[node.name]))
        hints = {cte.alias: cte.args.get("materialized") for cte in tree.find_all(exp.CTE)}
        adapt(tree, self.dialect)
        if self.keeps_hints:
            for cte in tree.find_all(exp.CTE):
                cte.set("materialized", hints.get(cte.alias))
        put_nulls_last(tree)
        self._rewrite(tree)
        for table in tree.find_all(exp.Table):
            if table.name in relations:
                table.set("this", exp.Var(this=relations[table.name]))
        names = tuple(tree.named_selects) if isinstance(tree, exp.Query) else ()
        text = tree.sql(dialect=self.dialect, comments=False, pretty=True, copy=False)
        return Translated(text, names)

    def _rewrite(self, tree: exp.Expr) -> None:
        """Rewrite, in place, expressions that only this warehouse writes differently."""

    @abstractmethod
    def _fetch(self, translated: Translated) -> Any:
        """Return the rows of a statement (``__arrow_c_stream__``); the user can interrupt."""

    @abstractmethod
    def _convert_errors(
        self, text: str, label: str, kind: type[SqlevalError] | None = None
    ) -> AbstractContextManager[None]:
        """Raise the driver's errors as this package's: of a class, or by their text."""

    def _make_error(
        self, kind: type[SqlevalError], label: str, text: str, reason: str
    ) -> SqlevalError:
        """Return an error about a source or a statement."""
        error = kind(f"{BEGINNINGS[kind].format(label, name=self.name)}: {reason}")
        error.statement, error.reason = text or None, reason
        return error

    def write_sql(self, statement: str, sources: Sequence[Source]) -> str:
        """Return a statement without parameters in the SQL of the warehouse."""
        relations: dict[str, object] = {}
        for source in sources:
            relations |= source.objects([])
        return self.translate(statement, {}, relations).text

    def check_condition(self, source: Source, condition: str) -> None:
        """Raise `EngineError` if the warehouse cannot evaluate a condition on rows ``s``."""
        text = f"SELECT 1 AS one FROM {source.relation} AS s WHERE {condition} LIMIT 0"
        translated = self.translate(text, {}, source.objects([]))
        with self._convert_errors(translated.text, source.label, EngineError):
            self._fetch(translated)

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
        translated = self.translate(statement, params, objects)
        logger.debug("%s", translated.text)
        with (
            self._convert_errors(translated.text, label),
            start_statement_span(self.dialect, translated.text),
        ):
            rows = self._fetch(translated)
        return take(ArrowStream(rows))

    @contextmanager
    def stream(
        self, statement: str, source: Source, objects: Mapping[str, object]
    ) -> Generator[Any]:
        """Raise `RequestError`: only results leave a warehouse."""
        raise self._lacks("hand over rows in batches")
        yield

    def predicate_sql(self, predicate: Any) -> str | None:
        """Return a Polars predicate as DuckDB's SQL, from which it is translated."""
        return embedded().predicate_sql(predicate)

    def open_soon(self) -> None:
        """Do nothing: the warehouse runs."""


def _write_value(value: Value) -> exp.Expr:
    """Return the value of a parameter as a constant."""
    if not isinstance(value, float):
        return exp.convert(value)
    if isinf(value):
        return exp.cast(exp.convert("Infinity" if value > 0 else "-Infinity"), "DOUBLE")
    return exp.cast(exp.convert(value), "DOUBLE")


def check_source(source: object, query: str | None, place: str) -> None:
    """Raise `RequestError` unless the source is a table's name, or there is a query."""
    if query is not None and source is not None:
        raise RequestError("give a source or query=, not both")
    if query is None and (not isinstance(source, str) or "://" in source):
        raise RequestError(f"engine= is {place}: give the name of one of its tables, or query=")
