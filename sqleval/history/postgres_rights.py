"""Finds the rights in PostgreSQL that a history needs and a user lacks, and how to grant them."""

from collections.abc import Sequence
from typing import Any

from sqleval.history.store import TABLES

#: The SQLSTATE of a missing right.
LACKS_RIGHT = "42501"
_NAMES = ", ".join(f"('{table}')" for table in TABLES)
#: Kind and name of an object, and the rights on it that the user lacks. The right to create is
#: needed only if a table is missing. A schema that a user may not use is not in the search path.
_LACKING = f"""
WITH tables AS (
    SELECT to_regclass(name) AS id
    FROM (VALUES {_NAMES}) AS names(name)
),
named AS (
    SELECT c.oid AS id, quote_ident(n.nspname) || '.' || quote_ident(c.relname) AS name
    FROM tables AS t
    JOIN pg_class AS c ON c.oid = t.id
    JOIN pg_namespace AS n ON n.oid = c.relnamespace
),
sequences AS (
    SELECT pg_get_serial_sequence(name, 'ordinal') AS name FROM named
),
lacking AS (
    SELECT 1 AS place, 'TABLE' AS kind, name, wanted AS missing
    FROM named
    CROSS JOIN unnest(ARRAY['SELECT', 'INSERT', 'DELETE']) AS wanted
    WHERE NOT has_table_privilege(id, wanted)
    UNION ALL
    SELECT 2, 'SEQUENCE', name, 'USAGE'
    FROM sequences
    WHERE NOT has_sequence_privilege(name, 'USAGE, UPDATE')
    UNION ALL
    SELECT 3, 'SCHEMA', quote_ident(current_schema()), 'CREATE'
    WHERE EXISTS (SELECT 1 FROM tables WHERE id IS NULL)
    AND NOT has_schema_privilege(current_schema(), 'CREATE')
    UNION ALL
    SELECT 3, 'SCHEMA', 'public', 'USAGE'
    WHERE current_schema() IS NULL
)
SELECT kind, name, string_agg(missing, ', '), quote_ident(current_user)
FROM lacking
GROUP BY place, kind, name
ORDER BY place, name
"""


def describe_lacking_rights(cursor: Any) -> str | None:
    """Return the rights that the user lacks, and the statements that grant them; None if none.

    Parameters
    ----------
    cursor : adbc_driver_manager.dbapi.Cursor
        A cursor of a connection to the database.
    """
    cursor.execute(_LACKING)
    rows: Sequence[tuple[str, str, str, str]] = cursor.fetchall()
    if not rows:
        return None
    lacking = "; ".join(f"{rights} on {kind.lower()} {name}" for kind, name, rights, _ in rows)
    user = rows[0][3]
    grants = "; ".join(
        f"GRANT {rights} ON {kind} {name} TO {user}" for kind, name, rights, _ in rows
    )
    return f"the user {user} lacks {lacking}. Let their owner run: {grants}"
