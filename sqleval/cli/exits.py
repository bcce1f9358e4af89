"""Exit codes of the command."""

from enum import IntEnum

from sqleval.errors import EngineError, SqlevalError


class Exit(IntEnum):
    """Exit codes; a leak in a split counts as a gate that failed."""

    DONE = 0
    GATE_FAILED = 1
    WRONG_INPUT = 2
    FAILED = 3


def find_exit_code(error: SqlevalError) -> Exit:
    """Return the exit code of an error: 3 for an engine or a store, 2 for wrong input."""
    return Exit.FAILED if isinstance(error, EngineError) else Exit.WRONG_INPUT
