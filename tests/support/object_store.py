"""Serves the S3 protocol on the loopback interface and logs the requests.

It is a process of its own, started by ``python -m tests.support.object_store``: within the test's
process, PyArrow would wait for it with Python's lock, which it needs to answer.
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple
from urllib.request import urlopen

from werkzeug.serving import WSGIRequestHandler, make_server

KEY, SECRET, TOKEN = "AKIAREADER", "wJalrXUtnFEMI", "FwoGZXIvYXdzEBY"
_CONTROL = "/_control/"


class Request(NamedTuple):
    """One request, and the bytes that were sent for it."""

    method: str
    path: str
    headers: dict[str, str]
    sent: int


class _Quiet(WSGIRequestHandler):
    def log(self, type: str, message: str, *args: Any) -> None:
        pass


class _Server:
    """Answers, keeps a log, and refuses or delays requests for parts of objects if told to."""

    def __init__(self) -> None:
        # Imported late: only the server's process needs it, and the import takes half a second.
        from moto.moto_server.werkzeug_app import create_backend_app

        # The dispatcher is avoided, because it searches folders for the service of each request.
        self._app = create_backend_app("s3")
        self._log: list[Request] = []
        self._refused, self._delay = 0, 0.0

    def _control(self, what: str) -> bytes:
        name, _, value = what.partition("=")
        if name == "forget":
            # Begin a new list, so that late answers to earlier requests go to the old log.
            self._log = []
        elif name == "refused":
            self._refused = int(value)
        elif name == "delay":
            self._delay = float(value)
        return json.dumps({"log": self._log, "refused": self._refused}).encode()

    def __call__(self, environ: Any, start: Any) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        if path.startswith(_CONTROL):
            start("200 OK", [("Content-Type", "application/json")])
            return [self._control(path.removeprefix(_CONTROL))]
        log = self._log
        headers = {name[5:]: text for name, text in environ.items() if name.startswith("HTTP_")}
        body: list[bytes] = []
        if "RANGE" in headers and self._refused:
            self._refused -= 1
            body = [b"<Error><Code>SlowDown</Code><Message>Slow down</Message></Error>"]
            start("503 Slow Down", [("Content-Type", "application/xml")])
        else:
            if "RANGE" in headers and self._delay:
                wait, self._delay = self._delay, 0.0
                time.sleep(wait)
            body = list(self._app(environ, start))
        sent = sum(map(len, body))
        log.append(Request(environ["REQUEST_METHOD"], path, headers, sent))
        return body


class ObjectStore:
    """A client of the server: reads its log, and sets the requests to refuse."""

    def __init__(self) -> None:
        import pyarrow.fs  # imported here, because the server's process does not need it

        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        assert self._process.stdout is not None
        self.url = f"http://127.0.0.1:{int(self._process.stdout.readline())}"
        self.files = pyarrow.fs.S3FileSystem(
            access_key="writer",
            secret_key="writer",
            endpoint_override=self.url,
            region="eu-west-1",
            allow_bucket_creation=True,
        )
        self._buckets: set[str] = set()

    def _control(self, what: str = "log") -> dict[str, Any]:
        with urlopen(f"{self.url}{_CONTROL}{what}") as answer:
            return json.load(answer)

    def put(self, path: str, content: bytes) -> None:
        """Write an object, ``bucket/key``."""
        if (bucket := path.partition("/")[0]) not in self._buckets:
            self.files.create_dir(bucket)
            self._buckets.add(bucket)
        with self.files.open_output_stream(path, compression=None) as stream:
            stream.write(content)

    def put_folder(self, folder: Path, path: str) -> int:
        """Write all files of a folder; return their bytes."""
        total = 0
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                self.put(f"{path}/{file.relative_to(folder).as_posix()}", file.read_bytes())
                total += file.stat().st_size
        return total

    def forget(self) -> None:
        """Begin a new log."""
        self._control("forget")

    def refuse(self, times: int) -> None:
        """Answer this many requests for a part of an object with 503, "slow down"."""
        self._control(f"refused={times}")

    def delay(self, seconds: float) -> None:
        """Delay the next answer to a request for a part of an object by ``seconds``."""
        self._control(f"delay={seconds}")

    @property
    def left_to_refuse(self) -> int:
        """The requests that are still to be refused."""
        return int(self._control()["refused"])

    @property
    def requests(self) -> list[Request]:
        """The requests since `forget`."""
        return [Request(*each) for each in self._control()["log"]]

    @property
    def read(self) -> dict[str, int]:
        """The bytes that were sent of each object."""
        found: dict[str, int] = {}
        for request in self.requests:
            if request.method == "GET" and "RANGE" in request.headers:
                found[request.path] = found.get(request.path, 0) + request.sent
        return found

    def close(self) -> None:
        """Stop the server."""
        self._process.terminate()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


if __name__ == "__main__":
    server = make_server("127.0.0.1", 0, _Server(), threaded=True, request_handler=_Quiet)
    print(server.port, flush=True)
    server.serve_forever()
