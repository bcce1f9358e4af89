"""Runs statements in Snowflake, through its connector."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from importlib import import_module
from threading import Lock
from typing import Any

import polars as pl
from sqlglot import exp
from sqlglot.errors import SqlglotError

from sqleval.common.columns import Column
from sqleval.common.sql_text import quote
from sqleval.engines.waiting import wait_for
from sqleval.engines.warehouse import Translated, Warehouse, check_source
from sqleval.errors import DataError, EngineError, RequestError, SourceError, SqlevalError
from sqleval.inputs.databases import write_subquery
from sqleval.inputs.source import Source

#: The connector's numbers of types: the name of `common.columns`, and the type of a result.
_TYPES: Mapping[int, tuple[str, pl.DataType]] = {
    0: ("BIGINT", pl.Int64()),
    1: ("DOUBLE", pl.Float64()),
    2: ("VARCHAR", pl.String()),
    3: ("DATE", pl.Date()),
    6: ("TIMESTAMP WITH TIME ZONE", pl.Datetime("us", "UTC")),
    7: ("TIMESTAMP WITH TIME ZONE", pl.Datetime("us", "UTC")),
    8: ("TIMESTAMP", pl.Datetime("us")),
    11: ("BLOB", pl.Binary()),
    12: ("TIME", pl.Time()),
    13: ("BOOLEAN", pl.Boolean()),
}
_OTHER = ("STRUCT(...)", pl.String())
#: The SQLSTATE of a table that does not exist or may not be read; and the beginning of those of
#: errors over a value in the rows.
_UNREADABLE, _VALUES = "42S02", "22"


def _find_type(described: Any) -> tuple[str, pl.DataType]:
    """Return the type of a column, by its description."""
    if described.type_code == 0 and described.scale:
        return f"DECIMAL({described.precision}, {described.scale})", pl.Float64()
    return _TYPES.get(described.type_code, _OTHER)


class Snowflake(Warehouse):
    """Snowflake by the user's own connection; see `base.Engine`.

    Statements wait for each other.

    Parameters
    ----------
    connection : snowflake.connector.SnowflakeConnection
        An open connection; it stays open when the engine is closed.
    """

    dialect = "snowflake"

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._lock = Lock()

    def open(self, source: object, query: str | None, name: str) -> Source:
        """Return a table or a query as a source.

        Raises
        ------
        RequestError
            If it is something else.
        """
        check_source(source, query, "a connection to Snowflake")
        relation = self._write_table(str(source)) if query is None else write_subquery(query)
        label = str(source) if query is None else "the query"
        return Source(quote(name), name=name, make=lambda _: relation, label=label)

    def _write_table(self, name: str) -> str:
        """Return the name of a table as the user spells it: Snowflake folds what is not quoted."""
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
            If Snowflake cannot read it.
        """
        text = f"SELECT * FROM {source.relation} AS s"
        text = self.translate(text, {}, source.objects([])).text
        with (
            self._convert_errors(text, source.label, SourceError),
            self._lock,
            self._connection.cursor() as cursor,
        ):
            described = cursor.describe(text)
        return source, {each.name: Column(each.name, _find_type(each)[0]) for each in described}

    def _fetch(self, translated: Translated) -> pl.DataFrame:
        text, names = translated
        running: list[str] = []

        def work() -> pl.DataFrame:
            with self._lock, self._connection.cursor() as cursor:
                cursor.execute_async(text)
                running.append(cursor.sfqid)
                cursor.get_results_from_sfqid(cursor.sfqid)
                table = cursor.fetch_arrow_all(force_return_table=True)
                types = [_find_type(each)[1] for each in cursor.description]
            columns = pl.DataFrame(table).get_columns()
            # Snowflake folds names that are not quoted, as are those of a step, read by *.
            folded = [column.name.lower() for column in columns]
            named = folded if "*" in names else names
            return pl.DataFrame(
                column.cast(kind).alias(name)
                for column, kind, name in zip(columns, types, named, strict=True)
            )

        def cancel() -> None:
            for number in running:
                self._connection.cursor().abort_query(number)

        return wait_for(work, cancel, lambda: -1.0)

    def close(self) -> None:
        """Leave the connection open: it is the user's."""

    @contextmanager
    def _convert_errors(
        self, text: str, label: str, kind: type[SqlevalError] | None = None
    ) -> Generator[None]:
        errors: Any = import_module("snowflake.connector.errors")
        try:
            yield
        except errors.Error as error:
            state = str(error.sqlstate or "")
            # Its first line may be no more than "SQL compilation error:".
            reason = " ".join(str(error.raw_msg or error).split())
            if kind is SourceError or state == _UNREADABLE:
                raised: SqlevalError = SourceError(f"cannot read {label}: {reason}")
            elif kind is None and state.startswith(_VALUES):
                raised = DataError(f"a value of {label} cannot be used: {reason}")
            else:
                raised = EngineError(f"Snowflake failed over {label}: {reason}")
            raised.statement, raised.reason = text, reason
            raise raised from error
