"""Sets memory, threads, spill folder and progress of the embedded engine."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from os import W_OK, PathLike, access, cpu_count, fspath
from pathlib import Path
from typing import Literal, cast

from sqleval.engines.embedded import embedded
from sqleval.engines.waiting import watch
from sqleval.errors import FewerThreads, RequestError

#: A size that is negative or 0, such as 0.0GB. The engine checks any other text.
_NOT_ABOVE_0 = re.compile(r"\s*(-|[0.]+\s*([^\d.\s]|$))")


def _limit_threads(threads: int) -> int:
    """Return a number of threads, at most one per core: more need memory and save no time."""
    cores = cpu_count() or threads
    if threads > cores:
        warnings.warn(
            f"threads={threads} (--threads) is more than the cores of this machine: {cores} are "
            "used",
            FewerThreads,
            stacklevel=3,
        )
    return min(threads, cores)


def configure(
    *,
    memory_limit: str | None = None,
    threads: int | None = None,
    temp_directory: str | PathLike[str] | None = None,
    progress: Callable[[float], object] | Literal[False] | None = None,
) -> None:
    """Set limits and progress for all later statements of this process; others stay as they are.

    Statements over tables of your own ``con=`` and relations keep that connection's settings.

    Parameters
    ----------
    memory_limit : str, optional
        Memory that the engine may use, such as ``"4GB"``; more data spills to disk. By default
        80 % of the machine's memory.
    threads : int, optional
        Number of threads, by default one per core. A larger number is lowered to one per core,
        with a warning.
    temp_directory : path, optional
        Folder in which this process makes its spill folder, which is removed at its end. It can be
        set until data has spilled. By default the system's folder of temporary files.
    progress : function, optional
        Called with the percentage of a statement that is done, when it rises and at least once a
        second. If the function raises, the statement is cancelled. DuckDB 1.5 reports few values
        between 0 and 100. False ends the calls.

    Raises
    ------
    RequestError
        If the engine refuses a value, or cannot write to the folder.

    Examples
    --------
    >>> import sqleval
    >>> sqleval.configure(memory_limit="2GB", threads=2)
    """
    number = cast("object", threads)
    if number is not None and (type(number) is not int or number < 1):
        raise RequestError(f"threads={threads!r} must be a whole number from 1 on")
    limit = cast("object", memory_limit)
    if limit is not None and (not isinstance(limit, str) or _NOT_ABOVE_0.match(limit)):
        raise RequestError(f"memory_limit={limit!r} must be a size above 0, such as '4GB'")
    # Check it now: DuckDB would fail only when it spills, and would name the file that it reads.
    if temp_directory is not None:
        if not isinstance(temp_directory, (str, PathLike)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise RequestError(f"temp_directory={temp_directory!r} must be the path of a folder")
        spill = Path(temp_directory)
        if not spill.is_dir() or not access(spill, W_OK):
            raise RequestError(
                f"temp_directory={str(spill)!r} is not a folder that can be written to"
            )
    if not (progress is None or progress is False or callable(progress)):
        raise RequestError(
            f"progress={progress!r} must be a function that takes the percentage, such as print"
        )
    settings: dict[str, str | int] = {}
    settings |= {} if memory_limit is None else {"memory_limit": memory_limit}
    settings |= {} if threads is None else {"threads": _limit_threads(threads)}
    settings |= {} if temp_directory is None else {"temp_directory": fspath(temp_directory)}
    if settings:
        embedded().configure(settings)
    if progress is not None:
        watch(progress or None)
