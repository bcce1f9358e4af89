"""Provides a lake of four days to tests of jobs."""

from pathlib import Path

import pytest

from tests.support.lake import Lake, rows


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Four days of predictions, and a job that reads them."""
    made = Lake(tmp_path)
    made.put(rows())
    return made
