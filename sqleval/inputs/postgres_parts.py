"""Reads a large table of PostgreSQL by several connections, each a range of its blocks.

All of them read one snapshot, so that the rows are those that one connection would read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from itertools import pairwise
from typing import Any

from sqleval.common.postgres import PostgresDatabase
from sqleval.common.sql_text import write_literal
from sqleval.inputs.postgres import open_reading

#: The most connections that read a table.
_CONNECTIONS = 4
#: The size from which several connections read a table, in bytes; of smaller ones the connections
#: take as long as they save.
_BYTES = 32 << 20
#: The size of a batch, in bytes, and the driver's name for it.
_BATCH, _BATCH_OPTION = 4 << 20, "adbc.postgresql.batch_size_hint_bytes"
#: The seconds between two attempts to cancel a statement, which may not have reached the server.
_PULSE = 0.1
#: After the last block that a table can have.
_END = 2**32 - 1
_BEGIN = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"
#: A large table whose rows are in its own blocks, of a server that can scan a range of them: from
#: version 14. Where rows have policies, these are judged first, for all blocks.
_TABLE = """
FROM pg_class AS c JOIN pg_am AS a ON a.oid = c.relam
WHERE c.oid = TO_REGCLASS({name}) AND c.relkind = 'r' AND c.relpersistence = 'p'
    AND a.amname = 'heap' AND NOT c.relhassubclass AND NOT c.relrowsecurity
    AND PG_RELATION_SIZE(c.oid) >= {bytes} AND CURRENT_SETTING('server_version_num')::int >= 140000
"""
_BLOCKS = "PG_RELATION_SIZE(c.oid) / CURRENT_SETTING('block_size')::int"
#: Differs between a server and its copies, to which another connection may lead.
_SERVER = "PG_POSTMASTER_START_TIME()::text"
#: SQLSTATE of errors after which one connection reads the table, where several cannot: PostgreSQL's
#: manual, appendix A. 55P03: somebody else waits for the first connection to end, to change the
#: table. Further connections would wait for them, and the first connection for these: a deadlock.
_REFUSALS = {
    "08P01",  # a pooler has no other connection to the server
    "0A000", "42501",  # snapshots are not shared, or not by this user
    "22023", "42704", "55000",  # the other connection leads to a server without the snapshot
    "42703", "42883", "42P01",  # a server of another kind, which lacks what is asked for
    "53300",  # too many connections
    "55P03",  # the table is locked
}  # fmt: skip


def _is_refusal(error: Any) -> bool:
    if error.sqlstate is None:  # The server does not take the connection.
        return error.status_code.name == "IO"
    return error.sqlstate in _REFUSALS


def count_connections() -> int:
    """Return how many connections read a large table: as many as there are cores, up to four."""
    if hasattr(os, "sched_getaffinity"):
        return min(_CONNECTIONS, len(os.sched_getaffinity(0)))
    return min(_CONNECTIONS, os.cpu_count() or 1)


def read_table(
    database: PostgresDatabase, relation: str, write: Callable[[str], str]
) -> Generator[Any]:
    """Yield the batches of a table; those of a large one come from several connections.

    Parameters
    ----------
    database : PostgresDatabase
        Where the table is.
    relation : str
        The table, as it stands after FROM.
    write : callable
        Returns the statement over a relation.
    """
    count = count_connections()
    first = database.connect()
    with open_reading(first) as cursor:
        if count > 1:
            with ExitStack() as stack, ThreadPoolExecutor(count) as pool:
                parts = _open_parts(first, relation, write, count, stack, pool)
                yield from _read_parts(parts, pool)
            if parts:
                return
            first.rollback()
            cursor.execute("SET TRANSACTION READ ONLY")
        cursor.execute(write(relation))
        yield from cursor.fetch_record_batch()


def _select_row(cursor: Any, relation: str, items: str) -> Any:
    """Return values about a table that several connections may read; None of another one."""
    cursor.execute(f"SELECT {items}{_TABLE.format(name=write_literal(relation), bytes=_BYTES)}")
    return cursor.fetchone()


def _open_parts(
    first: Any,
    relation: str,
    write: Callable[[str], str],
    count: int,
    stack: ExitStack,
    pool: ThreadPoolExecutor,
) -> dict[Generator[Any], Any]:
    """Return the parts of a table, and their connections; none where one connection reads it.

    Each holds a lock on the table: a snapshot does not keep the rows that TRUNCATE removes.
    """
    lock = f"LOCK TABLE ONLY {relation} IN ACCESS SHARE MODE"

    def join(_: int) -> Any:
        connection = stack.enter_context(first.adbc_clone())
        with connection.cursor() as cursor:
            cursor.execute(_BEGIN)
            cursor.execute(f"SET TRANSACTION SNAPSHOT {write_literal(snapshot)}")
            cursor.execute(f"{lock} NOWAIT")
            cursor.execute(f"SELECT {_SERVER}")
            return connection if cursor.fetchone() == (server,) else None

    try:
        with first.cursor() as cursor:
            # Before the lock, which a view would pass on to its tables.
            if _select_row(cursor, relation, "1") is None:
                return {}
            first.rollback()
            cursor.execute(_BEGIN)
            cursor.execute(lock)
            row = _select_row(cursor, relation, f"PG_EXPORT_SNAPSHOT(), {_SERVER}, {_BLOCKS}")
        if row is None:  # It has changed.
            return {}
        snapshot, server, blocks = row
        connections = [first, *pool.map(join, range(1, count))]
    except first.Error as error:
        if _is_refusal(error):
            return {}
        raise
    if None in connections:
        return {}
    bounds = [*(blocks * part // count for part in range(count)), _END]
    spans = [
        f"(SELECT * FROM ONLY {relation} WHERE ctid >= '({start},0)' AND ctid < '({end},0)')"
        for start, end in pairwise(bounds)
    ]
    return {
        _read(connection, write(span)): connection
        for connection, span in zip(connections, spans, strict=True)
    }


def _read(connection: Any, statement: str) -> Generator[Any]:
    with connection.cursor() as cursor:
        cursor.adbc_statement.set_options(**{_BATCH_OPTION: str(_BATCH)})
        cursor.execute(statement)
        yield from cursor.fetch_record_batch()


def _read_parts(parts: Mapping[Generator[Any], Any], pool: ThreadPoolExecutor) -> Generator[Any]:
    """Yield the batches of all parts, each of which reads one ahead.

    They come as they are ready: a part may wait for a lock until another one has ended.
    """
    running: dict[Future[Any], Generator[Any]] = {
        pool.submit(next, part, None): part for part in parts
    }
    try:
        while running:
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                batch = future.result()
                part = running.pop(future)
                if batch is None:
                    parts[part].close()
                else:
                    running[pool.submit(next, part, None)] = part
                    yield batch
    finally:
        while pending := wait(running, timeout=_PULSE).not_done:
            for future in pending:
                parts[running[future]].adbc_cancel()
