"""A server with the protocol of Databricks' connector that calculates in a Spark session.

The protocol is Thrift over HTTP, by the connector's own generated code. It tests the connector, the
types and the translation against Spark's SQL, not Databricks.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, TimeoutError
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from uuid import uuid4

import pyarrow as pa
from databricks.sql.thrift_api.TCLIService import TCLIService, ttypes
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.transport.TTransport import TMemoryBuffer

_OK = ttypes.TStatus(statusCode=ttypes.TStatusCode.SUCCESS_STATUS)
_VERSION = ttypes.TProtocolVersion.SPARK_CLI_SERVICE_PROTOCOL_V7
_KINDS = {
    pa.bool_(): "BOOLEAN", pa.int32(): "INT", pa.int64(): "BIGINT", pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE", pa.date32(): "DATE", pa.null(): "NULL",
    pa.binary(): "BINARY",
}  # fmt: skip


def _find_kind(kind: pa.DataType) -> Any:
    if pa.types.is_decimal(kind):
        places = {"precision": kind.precision, "scale": kind.scale}
        values = {key: ttypes.TTypeQualifierValue(i32Value=value) for key, value in places.items()}
        return ttypes.TPrimitiveTypeEntry(
            ttypes.TTypeId.DECIMAL_TYPE, ttypes.TTypeQualifiers(values)
        )
    name = "TIMESTAMP" if pa.types.is_timestamp(kind) else _KINDS.get(kind, "STRING")
    return ttypes.TPrimitiveTypeEntry(getattr(ttypes.TTypeId, f"{name}_TYPE"))


class Service:
    """The calls of the protocol that the connector makes for a query."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self._pool = ThreadPoolExecutor(2)
        self._results: dict[bytes, Future[pa.Table]] = {}
        #: The statements that a client has cancelled.
        self.cancelled: list[bytes] = []

    def OpenSession(self, request: Any) -> Any:  # noqa: N802
        handle = ttypes.TSessionHandle(ttypes.THandleIdentifier(uuid4().bytes, uuid4().bytes))
        return ttypes.TOpenSessionResp(
            status=_OK, sessionHandle=handle, serverProtocolVersion=_VERSION
        )

    def CloseSession(self, request: Any) -> Any:  # noqa: N802
        return ttypes.TCloseSessionResp(_OK)

    def ExecuteStatement(self, request: Any) -> Any:  # noqa: N802
        number = uuid4().bytes
        self._results[number] = self._pool.submit(
            lambda: self._session.sql(request.statement).toArrow()
        )
        handle = ttypes.TOperationHandle(
            ttypes.THandleIdentifier(number, number),
            ttypes.TOperationType.EXECUTE_STATEMENT,
            hasResultSet=True,
        )
        return ttypes.TExecuteStatementResp(_OK, handle)

    def GetOperationStatus(self, request: Any) -> Any:  # noqa: N802
        number, state, message = request.operationHandle.operationId.guid, "RUNNING", None
        try:
            error = self._results[number].exception(0.05)
            state = "ERROR" if error else "FINISHED"
            condition = getattr(error, "getCondition", lambda: "")() or "INTERNAL"
            message = error and f"[{condition}] {str(error).partition('] ')[2] or error}"
        except TimeoutError:
            if number in self.cancelled:
                state = "CANCELED"
        state = getattr(ttypes.TOperationState, f"{state}_STATE")
        return ttypes.TGetOperationStatusResp(_OK, operationState=state, displayMessage=message)

    def GetResultSetMetadata(self, request: Any) -> Any:  # noqa: N802
        schema = self._results[request.operationHandle.operationId.guid].result().schema
        columns = [
            ttypes.TColumnDesc(
                field.name, ttypes.TTypeDesc([ttypes.TTypeEntry(_find_kind(field.type))]), i
            )
            for i, field in enumerate(schema)
        ]
        return ttypes.TGetResultSetMetadataResp(
            _OK,
            ttypes.TTableSchema(columns),
            resultFormat=ttypes.TSparkRowSetType.ARROW_BASED_SET,
            arrowSchema=schema.serialize().to_pybytes(),
        )

    def FetchResults(self, request: Any) -> Any:  # noqa: N802
        table = self._results[request.operationHandle.operationId.guid].result()
        batches = [
            ttypes.TSparkArrowBatch(batch.serialize().to_pybytes(), batch.num_rows)
            for batch in table.to_batches()
        ]
        return ttypes.TFetchResultsResp(
            _OK,
            hasMoreRows=False,
            results=ttypes.TRowSet(0, [], arrowBatches=batches),
            resultSetMetadata=self.GetResultSetMetadata(request),
        )

    def CancelOperation(self, request: Any) -> Any:  # noqa: N802
        self.cancelled.append(request.operationHandle.operationId.guid)
        return ttypes.TCancelOperationResp(_OK)

    def CloseOperation(self, request: Any) -> Any:  # noqa: N802
        return ttypes.TCloseOperationResp(_OK)

    def close(self) -> None:
        self._pool.shutdown()


@contextmanager
def serve_databricks(session: Any) -> Iterator[tuple[str, Service]]:
    """Run the server over the tables of a Spark session; yield its address."""
    service = Service(session)
    processor = TCLIService.Processor(service)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers["Content-Length"]))
            answer = TMemoryBuffer()
            processor.process(TBinaryProtocol(TMemoryBuffer(content)), TBinaryProtocol(answer))
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer.getvalue())))
            self.end_headers()
            self.wfile.write(answer.getvalue())

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/sql", service
        finally:
            server.shutdown()
            thread.join()
            service.close()
