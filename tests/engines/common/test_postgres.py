"""Connections to PostgreSQL: types are read once, and no connection stays open."""

import time

import pytest

from sqleval.common.postgres import PostgresDatabase
from tests.support.engines import PostgreSQL

OTHERS = """
SELECT COUNT(*) FROM pg_stat_activity
WHERE datname = CURRENT_DATABASE() AND pid <> PG_BACKEND_PID() AND backend_type = 'client backend'
"""


def wait_for_others(server: PostgreSQL, count: int) -> None:
    """Wait until so many other connections are open: the server notices a closed one late."""
    for _ in range(100):
        ((found,),) = server.run(OTHERS).rows
        if found == count:
            return
        time.sleep(0.05)
    pytest.fail(f"{found} connections, not {count}")


def test_connections_know_the_types_and_none_stays_open() -> None:
    pytest.importorskip("psycopg")
    with PostgreSQL() as server:
        server._connection.execute("CREATE TYPE mood AS ENUM ('sad', 'ok')")
        database = PostgresDatabase(server.url)
        wait_for_others(server, 0)
        with database.connect() as one, database.connect() as two:
            wait_for_others(server, 2)
            for connection in (one, two):
                with connection.cursor() as cursor:
                    cursor.execute("SELECT CAST('ok' AS mood) AS m, CAST('{1,2}' AS INT[]) AS x")
                    assert cursor.fetch_arrow_table().to_pylist() == [{"m": "ok", "x": [1, 2]}]
        wait_for_others(server, 0)
