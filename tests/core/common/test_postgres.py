"""A PostgreSQL that is not there."""

import pytest

from sqleval.common.postgres import PostgresDatabase


def test_a_missing_server_is_an_error_at_once() -> None:
    dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi")
    with pytest.raises(dbapi.Error, match=r"(?i)connect"):
        PostgresDatabase("postgresql://localhost:1/none")
