"""Opens warehouses by their clients on emulators, each with the table ``preds``."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from io import BytesIO
from typing import Any, NamedTuple

import polars as pl
from sqlglot import exp

from tests.support.emulators import ROOT, Emulator, find_port
from tests.support.engines import TYPES, Sail


class Place(NamedTuple):
    """An open connection, the table's name there, and the cancelled statements."""

    connection: Any
    table: str
    cancelled: Sequence[object] = ()


def list_statements(rows: pl.DataFrame, table: str, dialect: str) -> list[str]:
    """Return the statements that make a table of rows."""
    fields = rows.to_arrow().schema
    columns = ", ".join(
        f"{exp.to_identifier(field.name, quoted=True).sql(dialect)} "
        f"{exp.DataType.build(TYPES.get(field.type, 'VARCHAR'), 'duckdb').sql(dialect)}"
        for field in fields
    )
    values = ", ".join(
        f"({', '.join(exp.convert(value).sql(dialect) for value in row)})" for row in rows.rows()
    )
    return [f"CREATE TABLE {table} ({columns})", f"INSERT INTO {table} VALUES {values}"]


@contextmanager
def open_snowflake(rows: pl.DataFrame) -> Iterator[Place]:
    """Snowflake by fakesnow's server, which reads its SQL; DuckDB calculates."""
    import fakesnow
    from snowflake import connector

    with (
        fakesnow.server() as address,
        connector.connect(**address, database="DB", schema="TESTS") as connection,
        connection.cursor() as cursor,
    ):
        for statement in list_statements(rows, '"preds"', "snowflake"):
            cursor.execute(statement)
        cursor.execute('CREATE TABLE folded AS SELECT "label" AS y, "score" AS p FROM "preds"')
        yield Place(connection, '"preds"')


@contextmanager
def open_bigquery(rows: pl.DataFrame) -> Iterator[Place]:
    """BigQuery by the server of Crucible, which refuses what it does not know; DuckDB calculates.

    It has an environment of its own, as it pins DuckDB and sqlglot.
    """
    from google.auth.credentials import AnonymousCredentials
    from google.cloud import bigquery

    subprocess.run(["bash", str(ROOT / ".ci" / "environment"), "bigquery"], check=True)
    port = find_port()
    program = str(ROOT / ".venv-bigquery" / "bin" / "crucible")
    server = Emulator(program, "serve", "--dialect", "bigquery", "--port", str(port), port=port)
    client = bigquery.Client(
        project="a-project",
        credentials=AnonymousCredentials(),
        client_options={"api_endpoint": f"http://{server.host}"},
    )
    try:
        client.create_dataset("tests")
        create, _ = list_statements(rows, "tests.preds", "bigquery")
        client.query(create).result()
        content = BytesIO(rows.write_csv(include_header=False).encode())
        config = bigquery.LoadJobConfig(schema=client.get_table("tests.preds").schema)
        client.load_table_from_file(content, "tests.preds", job_config=config).result()
        yield Place(client, "a-project.tests.preds")
    finally:
        client.close()
        server.close()


@contextmanager
def open_trino(rows: pl.DataFrame) -> Iterator[Place]:
    """Trino by `trino_server`; DuckDB calculates."""
    import duckdb
    import trino

    from tests.support.trino_server import serve_trino

    con = duckdb.connect(config={"python_enable_replacements": False})
    con.register("rows", rows)
    con.execute("CREATE TABLE preds AS FROM rows")
    with (
        serve_trino(con) as server,
        trino.dbapi.connect(
            "127.0.0.1", server.server_port, user="tests", catalog="memory", schema="main"
        ) as connection,
    ):
        yield Place(connection, "memory.main.preds", server.cancelled)


@contextmanager
def open_databricks(rows: pl.DataFrame) -> Iterator[Place]:
    """Databricks by `databricks_server`; Sail calculates."""
    from databricks import sql

    from tests.support.databricks_server import serve_databricks

    with Sail() as sail:
        sail.load("preds", rows.to_arrow())
        with (
            serve_databricks(sail._connection.session) as (url, service),
            sql.connect(
                "127.0.0.1", "/sql", "none", _connection_uri=url, enable_telemetry=False
            ) as connection,
        ):
            yield Place(connection, "preds", service.cancelled)


@contextmanager
def open_clickhouse(rows: pl.DataFrame) -> Iterator[Place]:
    """ClickHouse itself, in this process by chdb."""
    from chdb.session import Session

    session = Session()
    session.query("CREATE DATABASE tests")
    create, insert = list_statements(rows, "tests.preds", "clickhouse")
    session.query(f"{create} ENGINE = Memory")
    session.query(insert)
    yield Place(session, "tests.preds")
    session.close()


#: The function that opens each warehouse, by the name of its engine.
PLACES: dict[str, Callable[[pl.DataFrame], AbstractContextManager[Place]]] = {
    "Snowflake": open_snowflake,
    "BigQuery": open_bigquery,
    "Trino": open_trino,
    "Databricks": open_databricks,
    "ClickHouse": open_clickhouse,
}
