"""A year of nights in a Delta history."""

from pathlib import Path

import pytest

from sqleval.history.opening import open_store
from tests.core.history.test_compaction import check_rows, live


def test_a_year_of_nights_takes_at_most_twice_its_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A night has 200 slices of two metrics, and replaces the night before: labels come late."""
    path = tmp_path / "history.delta"
    expected, kept, on_disk = live(path, 365, 200, monkeypatch)
    check_rows(open_store(str(path)), expected, kept)
    assert expected.height == 365 * 200 * 2
    assert on_disk <= 2 * (expected.height + kept.height)
