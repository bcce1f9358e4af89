"""The eight rows in a Parquet file."""

from pathlib import Path

import pytest

from tests.support.lazy import SMALL


@pytest.fixture
def path(tmp_path: Path) -> Path:
    SMALL.write_parquet(tmp_path / "rows.parquet")
    return tmp_path / "rows.parquet"
