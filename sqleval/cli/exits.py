"""Exit codes of the command."""

import errno
from enum import IntEnum

from sqleval.errors import EngineError, SqlevalError, unwrap_error

#: Message of a broken pipe or connection other than stdout.
CLOSED = "the other end of a connection or pipe has closed it"


class Exit(IntEnum):
    """Exit codes; a leak in a split counts as a gate that failed."""

    DONE = 0
    GATE_FAILED = 1
    WRONG_INPUT = 2
    FAILED = 3


def find_exit_code(error: SqlevalError) -> Exit:
    """Return the exit code of an error: 3 for an engine or a store, 2 for wrong input."""
    return Exit.FAILED if isinstance(error, EngineError) else Exit.WRONG_INPUT


def describe_error(error: Exception) -> tuple[str, Exit]:
    """Return an error's message and exit code; the message of an unexpected one has its type."""
    error = unwrap_error(error)
    if isinstance(error, SqlevalError):
        return str(error), find_exit_code(error)
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        file = "" if error.filename is None else f" {error.filename!r}"
        return f"cannot write{file}: {error.strerror}", Exit.FAILED
    if isinstance(error, BrokenPipeError):
        return CLOSED, Exit.FAILED
    return f"unexpected {type(error).__name__}: {error} (--debug shows where)", Exit.FAILED
