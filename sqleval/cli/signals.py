"""Lets Ctrl-C and SIGTERM stop the command with one line of text, and leave nothing behind."""

import os
import signal
import sys
import threading
import time
from typing import Any

from sqleval.cli.exits import Exit

#: Seconds that a command has to end by itself after SIGTERM.
_GRACE = 8

_terminated = threading.Event()


def stop_on_sigterm() -> None:
    """Let SIGTERM, which schedulers send, stop the command as Ctrl-C does."""
    # Because a shell ignores SIGINT in commands that it starts in the background.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if not hasattr(signal, "pthread_sigmask"):
        return  # Windows has no such signal
    # A handler would run in the main thread, which waits for Polars. So another thread waits for
    # the signal. All threads that start later inherit the mask.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    threading.Thread(target=_pass_on, daemon=True).start()


def _pass_on() -> None:
    signal.sigwait({signal.SIGTERM})
    _terminated.set()
    os.kill(os.getpid(), signal.SIGINT)
    # A read from a server that does not answer cannot be interrupted, and spilled files may stay.
    # Docker kills after 10 s.
    time.sleep(_GRACE)
    os.write(2, b"error: terminated\n")
    os._exit(Exit.FAILED)


def name_interrupt() -> str:
    """Return how the command was stopped."""
    return "terminated" if _terminated.is_set() else "interrupted"


def hide_interrupt(error: Any) -> None:
    """Hide an interrupt in a destructor, because the statement is interrupted as well."""
    if error.exc_type is not KeyboardInterrupt:
        sys.__unraisablehook__(error)
