"""Returns the embedded engine: DuckDB, once in a process."""

from functools import cache

from sqleval.engines.base import Engine


@cache
def embedded() -> Engine:
    """Return the engine within this process, DuckDB."""
    from sqleval.engines.duckdb import DuckDB  # late: it takes longest of all imports

    return DuckDB()
