"""Exit codes."""

from enum import IntEnum

from sqleval.errors import EngineError, SqlevalError


class Exit(IntEnum):
    """Exit codes."""

    DONE = 0
    GATE_FAILED = 1
    WRONG_INPUT = 2
    FAILED = 3


def code_of(error: SqlevalError) -> Exit:
    """Return the exit code of an error: the engine's or a store's failure, or wrong input."""
    return Exit.FAILED if isinstance(error, EngineError) else Exit.WRONG_INPUT
