"""Keeps the rows of a statement of any engine in a DuckDB table, which may spill to disk."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from itertools import count
from typing import Any

from sqleval.common.telemetry import start_statement_span
from sqleval.engines.base import Engine
from sqleval.engines.duckdb_connection import connect, convert_errors
from sqleval.engines.embedded import embedded
from sqleval.engines.process import cursor, run_interruptibly
from sqleval.sources.opening import open_source
from sqleval.sources.source import Source

#: Numbers of the tables, so that threads, which share the database, use different names.
_numbers = count()


@contextmanager
def keep_rows(
    engine: Engine, statement: str, sources: Sequence[Source], objects: Mapping[str, object]
) -> Generator[Source]:
    """Run a statement and yield a table of its rows in the embedded engine.

    The table may be larger than memory, and is dropped at the end.

    Parameters
    ----------
    engine : Engine
        The engine that runs the statement.
    statement, sources, objects
        As for `Engine.run`.

    Raises
    ------
    SourceError, DataError, EngineError
        By the cause. The error has the statement as an attribute.
    """
    # Only one connection would see a temporary table.
    name = f"memory.main.sqleval_rows_{next(_numbers)}"
    is_of_process = all(each.con is None and each.duckdb_relation is None for each in sources)
    try:
        if engine is embedded() and is_of_process:
            rows = _create_table(name, statement, sources, objects)
        else:
            rows = engine.run(statement, {}, sources, objects, partial(_copy, name, sources))
        yield Source(name, label=" and ".join(each.label for each in sources), rows=rows)
    finally:
        with closing(cursor()) as con:
            con.execute(f"DROP TABLE IF EXISTS {name}")


def _copy(name: str, sources: Sequence[Source], stream: Any) -> int:
    """Make a table of a stream, which is read in batches; return the number of its rows."""
    rows = open_source(stream, name="sqleval_stream")
    read = [Source(rows.relation, label=each.label) for each in sources]
    return _create_table(name, f"FROM {rows.relation}", read, rows.objects([]))


def _create_table(
    name: str, statement: str, sources: Sequence[Source], objects: Mapping[str, object]
) -> int:
    """Make a table of the rows of a statement; return their number."""
    sql = f"CREATE TABLE {name} AS\n{statement}"
    with (
        convert_errors(sql, sources),
        start_statement_span(embedded().dialect, sql),
        connect(sources, objects) as con,
    ):
        ((rows,),) = run_interruptibly(con, lambda: con.execute(sql).fetchall())
    return int(rows)
