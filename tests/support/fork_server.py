"""Runs Python programs as forks of a process that has imported the libraries of the project.

``python fork_server.py SOCKET`` imports them and waits at the socket. Each request becomes a fork
with the streams, the folder, the environment and the arguments of the client. The program starts
there as the interpreter starts it: the project itself, and all further imports of the program, are
imported in the fork, and the interpreter ends as it always does.

The libraries are imported here but never called, because a fork would lack their threads; only
Pydantic, which starts none, makes a model. Their objects are also frozen: otherwise the garbage
collection at the end of each fork would visit all of them and so copy their memory, which takes ten
times as long as the start of the fork. DuckDB reports objects that are left at its end. It and
objects that may refer to it are therefore not frozen.
"""

import gc
import importlib
import json
import os
import re
import runpy
import selectors
import signal
import socket
import sys
import types
from contextlib import suppress
from pathlib import Path
from typing import Any

LIBRARIES = (
    "altair", "click", "jinja2", "pydantic.main", "rich.live", "rich.progress", "rich.table",
    "sqlglot.dialects.duckdb", "sqlglot.optimizer.scope", "tenacity", "yaml",
)  # fmt: skip
NOT_FROZEN = ("polars", "pyarrow", "duckdb")
#: The environment before the libraries are imported, which add variables of their own.
ENVIRONMENT = dict(os.environ)
#: Variables that no library reads at its import; all others must be as they are here. The command
#: reads Click's variables of completion, and scikit-learn sets the KMP_ ones.
FREE = re.compile(
    r"AWS_\w+|COLUMNS|LINES|OLDPWD|OTEL_\w+|PATH|PG\w+|PWD|PYTEST_\w+|SHLVL|_"
    r"|COMP_\w+|_SQLEVAL_COMPLETE|KMP_\w+|_*AIRFLOW_\w+|DAGSTER_\w+"
)


class Request:
    """A request of a client: a program, its arguments, folder and environment, and streams."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        header, self.streams, _, _ = socket.recv_fds(connection, 8, 3)
        text = b""
        while len(text) < int.from_bytes(header, "big"):
            text += connection.recv(1 << 20)
        output = json.loads(text)
        self.program: str = output["program"]
        self.arguments: list[str] = output["arguments"]
        self.folder: str = output["folder"]
        self.environment: dict[str, str] = output["environment"]

    def can_be_fork(self) -> bool:
        """Whether a fork behaves like a process of its own."""
        changed = {name for name, _ in self.environment.items() ^ ENVIRONMENT.items()}
        if self.program == sys.executable:
            # Options of the interpreter need a new process.
            option = self.arguments[0]
            if option.startswith("-") and option not in ("-c", "-m"):
                return False
        return all(map(FREE.fullmatch, changed))

    def become(self) -> None:
        """Take the streams, the folder and the environment; the signals are as after a start."""
        for place, stream in enumerate(self.streams):
            os.dup2(stream, place)
            os.close(stream)
        os.chdir(self.folder)
        os.environ.clear()
        os.environ.update(self.environment)
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def run(self) -> None:
        """Run the program as the module `__main__`."""
        script = [] if self.program == sys.executable else [self.program]
        first, *rest = [*script, *self.arguments]
        if first == "-m":
            # The interpreter gives the program this name while it imports the package.
            sys.argv, sys.orig_argv = ["-m", *rest[1:]], [sys.executable, first, *rest]
            sys.path.insert(0, self.folder)
            runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
            return
        main = sys.modules["__main__"] = types.ModuleType("__main__")
        if first == "-c":
            sys.argv = ["-c", *rest[1:]]
            sys.path.insert(0, "")
            exec(compile(rest[0], "<string>", "exec"), vars(main))
            return
        sys.argv = [first, *rest]
        sys.path.insert(0, str(Path(first).resolve().parent))
        vars(main)["__file__"] = first
        exec(compile(Path(first).read_bytes(), first, "exec"), vars(main))


def serve(path: str) -> Request:
    """Answer requests until stdin ends; return only in a fork, with the request to run."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(100)
    print("ready", flush=True)
    waiting = selectors.DefaultSelector()
    waiting.register(0, selectors.EVENT_READ)
    waiting.register(listener, selectors.EVENT_READ)
    #: The end of a fork and its connection; each maps to the other one and the fork's number.
    forks: dict[Any, tuple[Any, int]] = {}
    while True:
        for ready, _ in [(key.fileobj, events) for key, events in waiting.select()]:
            if ready == 0:
                os._exit(0)
            if ready is listener:
                request = Request(listener.accept()[0])
                child = os.fork() if request.can_be_fork() else -1
                if not child:
                    for each in (waiting, listener, *forks):
                        os.close(each) if isinstance(each, int) else each.close()
                    request.connection.close()
                    return request
                for stream in request.streams:
                    os.close(stream)
                request.connection.sendall(b"fork" if child > 0 else b"none")
                if child > 0:
                    end = os.pidfd_open(child)
                    forks[end] = request.connection, child
                    forks[request.connection] = end, child
                    waiting.register(end, selectors.EVENT_READ)
                    waiting.register(request.connection, selectors.EVENT_READ)
            elif ready in forks:
                other, child = forks.pop(ready)
                del forks[other]
                ends = [ready, other]
                if not isinstance(ready, int):
                    # The client has ended before the fork.
                    os.kill(child, signal.SIGKILL)
                    ends.reverse()
                status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
                for each in ends:
                    waiting.unregister(each)
                os.close(ends[0])
                with suppress(BrokenPipeError):
                    ends[1].sendall(b"%d" % status)
                ends[1].close()


if __name__ == "__main__":
    # Ctrl-C at the tests is for them and for the forks.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    del sys.path[0]
    for library in LIBRARIES:
        importlib.import_module(library)
    # Pydantic looks for plugins in all installed packages when it makes its first model.
    importlib.import_module("pydantic").create_model("Model")
    gc.freeze()
    for library in NOT_FROZEN:
        importlib.import_module(library)
    request = serve(sys.argv[1])
    request.become()
    request.run()
