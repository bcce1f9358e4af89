"""A second engine behind the interface of `sqleval.engines.base`: PostgreSQL, for the tests."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import polars as pl
import sqlglot
from sqlglot import exp

from sqleval.common.columns import Column
from sqleval.common.sql_text import Value
from sqleval.engines.base import Engine
from sqleval.errors import EngineError, SourceError
from sqleval.export.rewrites import adapt
from sqleval.inputs.source import Source

T = TypeVar("T")
#: PostgreSQL's type codes: the name of `common.columns`, and the type of a result.
TYPES: Mapping[int, tuple[str, pl.DataType]] = {
    16: ("BOOLEAN", pl.Boolean()),
    20: ("BIGINT", pl.Int64()),
    21: ("SMALLINT", pl.Int16()),
    23: ("INTEGER", pl.Int32()),
    25: ("VARCHAR", pl.String()),
    700: ("FLOAT", pl.Float32()),
    701: ("DOUBLE", pl.Float64()),
    1043: ("VARCHAR", pl.String()),
    1082: ("DATE", pl.Date()),
    1700: ("DECIMAL", pl.Float64()),
}


def translate(statement: str, params: Mapping[str, Value]) -> str:
    """Return a statement of DuckDB's in PostgreSQL's SQL, with the parameters' values."""
    tree = sqlglot.parse_one(statement, dialect="duckdb")
    for node in list(tree.find_all(exp.Placeholder)):
        value = params[node.name]
        constant = exp.convert(value)
        node.replace(exp.cast(constant, "DOUBLE") if isinstance(value, float) else constant)
    return adapt(tree, "postgres").sql(dialect="postgres", comments=False)


class PostgresEngine(Engine):
    """PostgreSQL by a psycopg connection."""

    dialect = "postgres"

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        #: The text of each statement that has run.
        self.statements: list[str] = []

    def _execute(self, statement: str, params: Mapping[str, Value]) -> Any:
        import psycopg  # of the extra `engines`

        text = translate(statement, params)
        self.statements.append(text)
        try:
            return self._connection.execute(text, binary=True)
        except psycopg.Error as error:
            raise EngineError(f"PostgreSQL: {str(error).splitlines()[0]}") from error

    def describe(self, source: Source) -> tuple[Source, dict[str, Column]]:
        try:
            cursor = self._execute(f"SELECT * FROM {source.relation} AS s LIMIT 0", {})
        except EngineError as error:
            raise SourceError(f"cannot read {source.label}: {error}") from error
        return source, {
            each.name: Column(each.name, TYPES[each.type_code][0]) for each in cursor.description
        }

    def check_condition(self, source: Source, condition: str) -> None:
        self._execute(f"SELECT 1 AS one FROM {source.relation} AS s WHERE {condition} LIMIT 0", {})

    def run(
        self,
        statement: str,
        params: Mapping[str, Value],
        sources: Sequence[Source],
        objects: Mapping[str, object],
        take: Callable[[Any], T],
        key_bits: int = 0,
    ) -> T:
        assert not objects, "only tables of the server are read"
        cursor = self._execute(statement, params)
        schema = {each.name: TYPES[each.type_code][1] for each in cursor.description}
        rows = [
            [float(v) if isinstance(schema[n], pl.Float64) and v is not None else v
             for n, v in zip(schema, row, strict=True)]
            for row in cursor.fetchall()
        ]  # fmt: skip
        return take(pl.DataFrame(rows, schema=schema, orient="row").to_arrow())

    @contextmanager
    def stream(
        self, statement: str, source: Source, objects: Mapping[str, object]
    ) -> Generator[Any]:
        raise NotImplementedError("no test reads a split of PostgreSQL in batches")
        yield

    def watch(self, progress: Callable[[float], object] | None) -> None:
        """Tell nobody: the server does not know how far it is."""

    def on_pulse(self, check: Callable[[], object]) -> None:
        """Never call: statements of the tests are short."""

    def open_soon(self) -> None:
        """Do nothing: the server runs already."""

    def close(self) -> None:
        self._connection.close()
