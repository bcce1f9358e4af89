"""Connections to PostgreSQL that only read, and the tables that they find."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from sqleval.sources.database.naming import choose_table, write_table_name

_TABLES = """
SELECT n.nspname, c.relname FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p') AND NOT c.relispartition
    AND n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'
    AND HAS_TABLE_PRIVILEGE(c.oid, 'SELECT')
"""


@contextmanager
def open_reading(connection: Any) -> Generator[Any]:
    """Yield a cursor that may only read; close it, and the connection to PostgreSQL, behind it."""
    with connection, connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION READ ONLY")
        yield cursor


def find_postgres_table(cursor: Any, table: str, url: str, prefix: str) -> str:
    """Return a table, with or without its schema, as it stands after FROM.

    ``prefix`` is what stands before a table where one is named, for the message.

    Raises
    ------
    SourceError
        If there is no such table, or several.
    """
    cursor.execute(_TABLES)
    where = f"the database {url!r}"
    return write_table_name(*choose_table(cursor.fetchall(), table, where, prefix))
