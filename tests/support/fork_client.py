"""Runs a program as a fork: ``python fork_client.py SOCKET PROGRAM [ARGUMENT...]``.

The fork has the streams, the folder and the environment of this process, which ends as it does.
What cannot be a fork takes the place of this process.
"""

import json
import os
import signal
import socket
import sys
from contextlib import suppress

#: Variables that PySpark, Sail and Snowflake's connector set in the process of the tests.
_OF_LIBRARIES = (
    "SPARK_CONNECT_MODE_ENABLED", "RUST_LOG", "SAIL_SPARK__SESSION_TIMEOUT_SECS",
    "ARROW_DEFAULT_MEMORY_POOL",
)  # fmt: skip


def main(path: str, program: str, *arguments: str) -> None:
    """Ask for a fork and wait for its end, or become the program."""
    for name in _OF_LIBRARIES:
        os.environ.pop(name, None)
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    request = {
        "program": program, "arguments": arguments, "folder": os.getcwd(),  # noqa: PTH109
        "environment": dict(os.environ),
    }  # fmt: skip
    text = json.dumps(request).encode()
    socket.send_fds(connection, [len(text).to_bytes(8, "big")], [0, 1, 2])
    connection.sendall(text)
    if connection.recv(4) != b"fork":
        os.execv(program, [program, *arguments])
    # Close the streams here, so that their other ends notice when the fork closes them.
    empty = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(empty, stream)
    status = int(connection.recv(8))
    if status < 0:
        with suppress(OSError):  # SIGKILL has no handler
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


if __name__ == "__main__":
    main(*sys.argv[1:])
