"""A run, or a removal, that is killed at any of its writes is completed by the next one."""

import os
from pathlib import Path

import pytest

from tests.support.kills import check_point, prepare_night, prepare_removal


# Each point costs a process; `python -m tests.bench.kills` kills at all of them.
@pytest.mark.slow
@pytest.mark.long
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize(("store", "step"), [("duckdb", 13), ("delta", 20)])
def test_what_is_killed_at_a_write_is_completed(tmp_path: Path, store: str, step: int) -> None:
    night = prepare_night(tmp_path, store)
    assert night.points > 15
    for point in range(step // 2, night.points, step):
        check_point(night, point)
    removal = prepare_removal(night)
    assert removal.points > 5
    for point in range(0, removal.points, 7):
        check_point(removal, point)
