"""Forks: a forked process has none of the threads of Polars and DuckDB, and would wait for them."""

import os

from sqleval.errors import EngineError


def refuse_fork(process: int) -> None:
    """Raise `EngineError` if this process was forked from one that had started the threads.

    Parameters
    ----------
    process : int
        The process that had started them; 0 if none had.
    """
    if process not in (0, os.getpid()):
        raise EngineError(
            "this process was forked from one that had used sqleval, and a fork has none of the "
            "threads of Polars and DuckDB; start workers by 'spawn' or 'forkserver'"
        )
