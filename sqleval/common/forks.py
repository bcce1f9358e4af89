"""Refuses forked processes, which would wait for missing threads of Polars and DuckDB."""

import os

from sqleval.errors import EngineError


def refuse_fork(process: int) -> None:
    """Raise `EngineError` if this process was forked from one that had started the threads.

    Parameters
    ----------
    process : int
        The id of the process that started them; 0 if none did.
    """
    if process not in (0, os.getpid()):
        raise EngineError(
            "this process was forked from one that had used sqleval, and a fork has none of the "
            "threads of Polars and DuckDB; start workers by 'spawn' or 'forkserver'"
        )
