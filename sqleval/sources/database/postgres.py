"""Opens read-only connections to PostgreSQL, and finds tables there."""

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
    """Yield a read-only cursor of a connection to PostgreSQL; close both at the end."""
    with connection, connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION READ ONLY")
        yield cursor


def find_postgres_table(cursor: Any, table: str, url: str, prefix: str) -> str:
    """Return the SQL name of a table, which ``table`` names with or without its schema.

    ``prefix`` is the text before a table in a source, for the message.

    Raises
    ------
    SourceError
        If there is no such table, or there are several.
    """
    cursor.execute(_TABLES)
    where = f"the database {url!r}"
    return write_table_name(*choose_table(cursor.fetchall(), table, where, prefix))
