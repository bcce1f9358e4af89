"""Opens the engine that a user names: by a session, an address or a word."""

import atexit
import os
import re
import socket
import warnings
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any
from urllib.parse import urlsplit

from sqleval.common.imports import import_optional
from sqleval.engines.base import Engine
from sqleval.engines.bigquery import BigQuery
from sqleval.engines.clickhouse import ClickHouse
from sqleval.engines.connected import Connected
from sqleval.engines.databricks import Databricks
from sqleval.engines.postgres import Postgres
from sqleval.engines.snowflake import Snowflake
from sqleval.engines.spark import Spark, is_spark
from sqleval.engines.trino import Trino
from sqleval.errors import EngineError, RequestError, get_first_line
from sqleval.sources.database.naming import find_database
from sqleval.sources.frames import is_adbc

#: The attribute of a session that holds its engine, so that both live equally long.
_ENGINE = "_sqleval_engine"
#: The engines that were opened by name.
_named: dict[str, Spark] = {}
#: The port of Spark Connect.
_PORT = 15002
#: The engine of each class of connections, by its module and name.
_CONNECTIONS: Mapping[tuple[str, str], type[Connected]] = {
    ("chdb.session.state", "Session"): ClickHouse,
    ("databricks.sql.client", "Connection"): Databricks,
    ("google.cloud.bigquery.client", "Client"): BigQuery,
    ("snowflake.connector.connection", "SnowflakeConnection"): Snowflake,
    ("trino.dbapi", "Connection"): Trino,
}
_ACCEPTED = (
    "duckdb, spark, sail, sc://host:port, postgresql://user@host/database, a SparkSession, an ADBC "
    "connection to PostgreSQL, a connection to Snowflake, Databricks or Trino, a client of "
    "BigQuery, a session of chdb (ClickHouse) or an Engine"
)


def open_engine(engine: object, source: object = None) -> Engine | None:
    """Return the engine that a user names; None for DuckDB, which is embedded.

    Parameters
    ----------
    engine : Engine, pyspark.sql.SparkSession, connection, str or None
        ``spark`` is the session of this process, or a new one with the configuration of
        ``spark-submit``; ``sc://host:port`` is a server of Spark Connect; ``sail`` is a server
        within this process; ``postgresql://user@host/database`` is a database. A connection is
        one of ADBC to PostgreSQL, one of the clients of Snowflake, Databricks or Trino, a client
        of BigQuery, or a session of chdb, which is ClickHouse in this process.
    source : object
        A DataFrame of Spark's is read by its own session.

    Raises
    ------
    RequestError
        If there is no such engine.
    MissingExtra
        If its library is not installed.
    EngineError
        If it does not start or answer.
    """
    if engine is None:
        return _open_session(_get_session(source)) if is_spark(source, "DataFrame") else None
    if isinstance(engine, Engine):
        return engine
    if is_spark(engine, "SparkSession"):
        return _open_session(engine)
    if engine == "duckdb":
        return None
    if is_adbc(engine, "Connection"):
        return _open_connection(engine)
    connected = _open_connected(engine)
    if connected is not None:
        return connected
    if isinstance(engine, str) and (engine in ("spark", "sail") or engine.startswith("sc://")):
        return _open_named(engine)
    if isinstance(engine, str) and "://" in engine:
        return _open_database(engine)
    # Hide an address of another form, because it may hold a password.
    shown = "'...'" if isinstance(engine, str) and re.search("[=@;]", engine) else repr(engine)
    raise RequestError(f"engine={shown} must be one of: {_ACCEPTED}")


@lru_cache(maxsize=16)
def _open_connection(connection: Any) -> Postgres:
    vendor = str(connection.adbc_get_info().get("vendor_name", "another database"))
    if vendor != "PostgreSQL":
        raise RequestError(
            f"engine= is a connection to {vendor}, where no statements run; con= reads its tables"
        )
    return Postgres(connection=connection)


def _open_connected(connection: Any) -> Connected | None:
    """Return the engine of a warehouse's own connection; None for anything else."""
    for each in type(connection).__mro__:
        kind = _CONNECTIONS.get((each.__module__, each.__name__))
        if kind is not None:
            return _remember(kind, connection)
    return None


@lru_cache(maxsize=16)
def _remember(kind: type[Connected], connection: Any) -> Connected:
    return kind(connection)


@lru_cache(maxsize=16)
def _open_database(url: str) -> Postgres:
    database = find_database(url)  # which refuses a password
    if database is None or database.kind != "postgres":
        scheme = url.partition("://")[0]
        raise RequestError(f"engine='{scheme}://...' must be one of: {_ACCEPTED}")
    if database.table:
        raise RequestError(f"engine={database.address!r} is the database; its table is the source")
    return Postgres(database.address)


def refuse_options(engine: Engine, **options: object) -> None:
    """Raise `RequestError` for options that only sources of DuckDB and Polars have."""
    for name, value in options.items():
        # version=0 is an option, although 0 is false.
        if value is not None and value is not False and value != {}:
            raise RequestError(
                f"{name}= is for what DuckDB reads; the engine of {engine.dialect} reads tables: "
                "give a table, or query= in its own SQL"
            )


def _get_session(frame: Any) -> Any:
    return frame.sparkSession


def _open_session(session: Any) -> Spark:
    # All results of a session share one engine, and with it the cache of types.
    if not hasattr(session, _ENGINE):
        setattr(session, _ENGINE, Spark(session))
    return getattr(session, _ENGINE)


def _open_named(engine: str) -> Spark:
    """Return the engine of a word or address, with a new session if the last one was stopped."""
    if engine not in _named or _named[engine].is_stopped:
        _named[engine] = _start_named(engine)
    return _named[engine]


def _start_named(engine: str) -> Spark:
    extra = "sail" if engine == "sail" else "spark"
    shown = f"engine={_hide_options(engine)!r}"
    sql: Any = import_optional("pyspark.sql", extra, shown)
    errors: Any = import_optional("pyspark.errors", extra, shown)
    with warnings.catch_warnings():
        # Rows travel as Arrow, and nothing here uses pandas.
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")
        try:
            return _open_session(_create_session(sql.SparkSession.builder, engine))
        except errors.PySparkException as error:
            reason = get_first_line(error)
            raise EngineError(f"{shown} does not answer: {reason}") from error


def _hide_options(address: str) -> str:
    """Return an address without its options, one of which may be a token."""
    return address.partition("/;")[0].partition(";")[0]


def _create_session(builder: Any, engine: str) -> Any:
    if engine == "spark":
        # Spark would draw its progress bar across the one of the command.
        return builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    if engine != "sail":
        _check_server(engine)
    return builder.remote(_start_sail() if engine == "sail" else engine).create()


def _check_server(address: str) -> None:
    """Raise `EngineError` if nothing listens at an address: PySpark would try for ten minutes."""
    if any(f"{scheme}_proxy" in os.environ for scheme in ("grpc", "http", "https")):
        return  # Perhaps only the proxy can reach the server.
    parts = urlsplit(address)
    try:
        server = parts.hostname or "", parts.port or _PORT
        socket.create_connection(server, timeout=10).close()
    except (OSError, ValueError) as error:
        shown = _hide_options(address)
        raise EngineError(f"engine={shown!r}: no server answers there: {error}") from error


@cache
def _start_sail() -> str:
    """Start Sail within this process, and return its address."""
    # By default Sail logs to stderr, from the level INFO on.
    os.environ.setdefault("RUST_LOG", "error")
    # By default Sail drops a session that was idle for 15 minutes, as in a notebook.
    os.environ.setdefault("SAIL_SPARK__SESSION_TIMEOUT_SECS", str(365 * 24 * 3600))
    spark: Any = import_optional("pysail.spark", "sail", "engine='sail'")
    server = spark.SparkConnectServer(port=0)
    server.start(background=True)
    atexit.register(server.stop)
    host, port = server.listening_address
    return f"sc://{host}:{port}"
