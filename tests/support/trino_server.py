"""A server with Trino's client protocol that calculates in DuckDB.

It reads a statement by sqlglot's parser of Trino's SQL, and so tests the client, the types and the
translation, not Trino. POST begins a statement, GET reads its state or rows from ``nextUri``, and
DELETE cancels it.
"""

from __future__ import annotations

import json
import math
import re
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, TimeoutError
from contextlib import contextmanager
from datetime import date, datetime
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any

import duckdb
import sqlglot

_TYPES = {"FLOAT": "real", "HUGEINT": "bigint", '"NULL"': "unknown", "TIMESTAMP": "timestamp(6)"}
#: Trino's names of errors, by DuckDB's error classes.
_ERRORS = {
    duckdb.CatalogException: "TABLE_NOT_FOUND",
    duckdb.BinderException: "COLUMN_NOT_FOUND",
    duckdb.ConversionException: "INVALID_CAST_ARGUMENT",
    duckdb.OutOfRangeException: "NUMERIC_VALUE_OUT_OF_RANGE",
    duckdb.InterruptException: "USER_CANCELED",
}


class _Statement:
    def __init__(self, con: duckdb.DuckDBPyConnection, text: str, pool: ThreadPoolExecutor) -> None:
        self._con = con.cursor()
        self._text = text
        self._result: Future[dict[str, Any]] = pool.submit(self._run)

    def _run(self) -> dict[str, Any]:
        try:
            (text,) = sqlglot.transpile(self._text, read="trino", write="duckdb")
            found = self._con.execute(text)
            columns = [_describe(name, str(kind)) for name, kind, *_ in found.description]
            rows = [[_write(value) for value in row] for row in found.fetchall()]
        except (duckdb.Error, sqlglot.ParseError) as error:
            name = _ERRORS.get(type(error), "SYNTAX_ERROR")
            failure = {"errorName": name, "errorType": "USER_ERROR", "message": str(error)}
            return {"error": failure}
        return {"columns": columns, "data": rows}

    def read(self) -> dict[str, Any] | None:
        """Return the result, or None if the statement runs."""
        try:
            return self._result.result(0.05)
        except TimeoutError:
            return None

    def cancel(self) -> None:
        self._con.interrupt()


def _describe(name: str, kind: str) -> dict[str, Any]:
    kind = _TYPES.get(kind, kind.lower().replace(" ", ""))
    kind = kind.replace("timestampwithtimezone", "timestamp(6) with time zone")
    raw = kind.partition("(")[0]
    arguments = [{"kind": "LONG", "value": int(n)} for n in re.findall(r"\d+", kind) or [6]]
    if kind.endswith("with time zone"):
        raw = "timestamp with time zone"
    return {"name": name, "type": kind, "typeSignature": {"rawType": raw, "arguments": arguments}}


def _write(value: object) -> object:
    """Return a value as Trino writes it in JSON."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, datetime) and value.tzinfo is not None:
        return f"{value:%Y-%m-%d %H:%M:%S.%f} UTC"
    return str(value) if isinstance(value, (date, Decimal)) else value


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        number = str(next(self.server.numbers))
        self.server.statements[number] = _Statement(self.server.con, text, self.server.pool)
        self._answer(number, None)

    def do_GET(self) -> None:
        number = self.path.rpartition("/")[2]
        self._answer(number, self.server.statements[number].read())

    def do_DELETE(self) -> None:
        number = self.path.rpartition("/")[2]
        self.server.statements[number].cancel()
        self.server.cancelled.append(number)
        self.send_response(204)
        self.end_headers()

    def _answer(self, number: str, result: dict[str, Any] | None) -> None:
        url = f"http://127.0.0.1:{self.server.server_port}/v1/statement/{number}"
        state = "FINISHED" if result else "RUNNING"
        answer = {"id": number, "infoUri": url, "stats": {"state": state}, **(result or {})}
        if result is None:
            answer["nextUri"] = url
        content = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


class Server(ThreadingHTTPServer):
    """The server, on a free port of the loopback interface."""

    daemon_threads = True

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.con, self.pool, self.numbers = con, ThreadPoolExecutor(2), count(1)
        self.statements: dict[str, _Statement] = {}
        #: The numbers of the statements that a client has cancelled.
        self.cancelled: list[str] = []


@contextmanager
def serve_trino(con: duckdb.DuckDBPyConnection) -> Iterator[Server]:
    """Run the server over the tables of a connection."""
    with Server(con) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
            server.pool.shutdown()
