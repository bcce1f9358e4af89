"""The eight rows in a Parquet file, and the statements that run."""

from pathlib import Path
from typing import Any

import pytest

from sqleval.engines.duckdb import DuckDB
from tests.support.lazy import SMALL


@pytest.fixture
def path(tmp_path: Path) -> Path:
    SMALL.write_parquet(tmp_path / "rows.parquet")
    return tmp_path / "rows.parquet"


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list of statements that run."""
    statements: list[str] = []
    for name in ("rows", "run"):
        call = getattr(DuckDB, name)

        def record(engine: DuckDB, sql: str, *given: Any, call: Any = call, **options: Any) -> Any:
            statements.append(sql)
            return call(engine, sql, *given, **options)

        monkeypatch.setattr(DuckDB, name, record)
    return statements
