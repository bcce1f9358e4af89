"""A store explains a refused token in the body of its answer, which HEAD does not return."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import sqleval
from sqleval import SourceError

BODY = (
    b'<?xml version="1.0" encoding="UTF-8"?><Error><Code>ExpiredToken</Code>'
    b"<Message>The provided token has expired.</Message></Error>"
)


class _Refusal(BaseHTTPRequestHandler):
    """A server that answers like S3 when a token has expired."""

    def do_GET(self) -> None:
        self.send_response(400)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(BODY)

    do_HEAD = do_GET  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.setenv(name, "x")
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    with ThreadingHTTPServer(("127.0.0.1", 0), _Refusal) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("path", ["preds.parquet", "preds/*.parquet", "preds"])
def test_an_expired_token_is_named(path: str, endpoint: str) -> None:
    storage = {"endpoint": endpoint, "region": "us-east-1"}
    with pytest.raises(SourceError, match=r"cannot list .*The provided token has expired"):
        sqleval.scan(f"s3://lake/{path}", label="y", score="p", storage=storage)
