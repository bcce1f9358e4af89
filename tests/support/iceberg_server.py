"""A server with the REST protocol of Iceberg's catalogues, for reading tables.

PyIceberg's SQL catalogue finds the tables, and PyIceberg's models of the protocol write the
answers. It tests how tables are reached through the REST client, not a catalogue of a vendor.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

from pyiceberg.catalog.rest import ConfigResponse, TableResponse
from pyiceberg.catalog.rest.response import ErrorResponse, ErrorResponseMessage
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.typedef import IcebergBaseModel


def _answer(catalog: SqlCatalog, path: str) -> tuple[int, IcebergBaseModel]:
    """Return the status and body of the answer to a GET."""
    parts = [unquote(part) for part in path.split("/")[1:]]
    match parts:
        case ["v1", "config"]:
            return 200, ConfigResponse(defaults={}, overrides={})
        case ["v1", "namespaces", namespace, "tables", name]:
            try:
                table = catalog.load_table((*namespace.split("\x1f"), name))
            except NoSuchTableError as error:
                return 404, _fail(404, "NoSuchTableException", str(error))
            metadata = {"metadata-location": table.metadata_location, "metadata": table.metadata}
            return 200, TableResponse.model_validate(metadata)
    return 404, _fail(404, "NoSuchEndpoint", f"no endpoint {path}")


def _fail(code: int, kind: str, message: str) -> ErrorResponse:
    return ErrorResponse(error=ErrorResponseMessage(message=message, type=kind, code=code))


@contextmanager
def serve_catalogue(catalog: SqlCatalog, token: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the URL of a catalogue and the paths that clients with the token have read."""
    served: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = urlsplit(self.path).path
            if self.headers["Authorization"] == f"Bearer {token}":
                served.append(path)
                code, body = _answer(catalog, path)
            else:
                code, body = 401, _fail(401, "NotAuthorizedException", "the token is not valid")
            text = body.model_dump_json(by_alias=True, exclude_none=True).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, format: str, *args: object) -> None:
            """Write nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
