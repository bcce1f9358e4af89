"""Serves files by the protocols of Google's and Azure's stores and by HTTP, on loopback only."""

import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pyarrow.fs

ROOT = Path(__file__).parents[2]
#: The account of Azure's emulator, and its key, which its documentation shows.
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


def find_azurite() -> str | None:
    """Return the emulator of Azure's blobs, from the path or from CI's folder."""
    return shutil.which("azurite-blob") or shutil.which(
        "azurite-blob", path=str(ROOT / ".azurite" / "node_modules" / ".bin")
    )


def find_port() -> int:
    """Return a port of the loopback interface that is free."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


class Emulator:
    """A process that serves a store until `close`."""

    def __init__(self, *command: str, port: int) -> None:
        self.host = f"127.0.0.1:{port}"
        self._process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return
            except OSError:
                assert self._process.poll() is None, command
                time.sleep(0.05)
        raise RuntimeError(f"{command} does not answer")

    def put_folder(self, files: Any, folder: Path, path: str) -> None:
        """Write all files of a folder to a file system of this store."""
        files.create_dir(path.partition("/")[0])
        for file in sorted(folder.rglob("*.parquet")):
            with files.open_output_stream(f"{path}/{file.relative_to(folder).as_posix()}") as out:
                out.write(file.read_bytes())

    def close(self) -> None:
        """End the process."""
        self._process.terminate()
        self._process.wait()


class GoogleStorage(Emulator):
    """Google Cloud Storage, by gcp-storage-emulator."""

    def __init__(self, folder: Path, path: str) -> None:
        port = find_port()
        code = f"create_server('127.0.0.1', {port}, in_memory=True).run()"
        code = f"from gcp_storage_emulator.server import create_server; {code}"
        super().__init__(sys.executable, "-W", "ignore", "-c", code, port=port)
        files = pyarrow.fs.GcsFileSystem(
            anonymous=True, endpoint_override=self.host, scheme="http", project_id="test"
        )
        self.put_folder(files, folder, path)


class AzureStorage(Emulator):
    """Azure's blobs, by azurite."""

    def __init__(self, azurite: str, folder: Path, path: str) -> None:
        port = find_port()
        super().__init__(
            azurite, "--inMemoryPersistence", "--blobHost", "127.0.0.1", "--blobPort", str(port),
            "--skipApiVersionCheck", "--silent", "--disableTelemetry", port=port,
        )  # fmt: skip
        files = pyarrow.fs.AzureFileSystem(
            ACCOUNT, account_key=KEY, blob_storage_authority=self.host, blob_storage_scheme="http",
            dfs_storage_authority=self.host, dfs_storage_scheme="http",
        )  # fmt: skip
        self.put_folder(files, folder, path)


class _Ranges(SimpleHTTPRequestHandler):
    """Serves files of a folder, or the parts that Range names, and counts the bytes sent."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path))
        if not path.is_file():
            self.send_error(404)
            return
        content = path.read_bytes()
        match = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        start, end = 0, len(content)
        if match:
            start, end = int(match[1]), min(end, int(match[2] or end) + 1)
        self.send_response(206 if match else 200)
        if match:
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{len(content)}")
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(end - start))
        self.end_headers()
        self.wfile.write(content[start:end])
        read: dict[str, int] = self.server.read  # type: ignore[attr-defined]
        read[self.path] = read.get(self.path, 0) + end - start

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


class WebServer:
    """A folder served by HTTP."""

    def __init__(self, folder: Path) -> None:
        self._server = ThreadingHTTPServer(
            ("127.0.0.1", 0), partial(_Ranges, directory=str(folder))
        )
        #: The bytes that were sent of each file.
        self.read: dict[str, int] = {}
        self._server.read = self.read  # type: ignore[attr-defined]
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def close(self) -> None:
        """Stop the server."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
