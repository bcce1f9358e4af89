"""A run, or a removal, that is killed at any of its writes is completed by the next one."""

import os
from pathlib import Path

import pytest

from tests.support.kills import check_point, prepare_night, prepare_removal
from tests.support.tried import check_tried


# Each point costs a process; `python -m tests.bench.kills` kills at all of them.
@pytest.mark.slow
@pytest.mark.long
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize(("store", "step"), [("duckdb", 13), ("delta", 20)])
def test_what_is_killed_at_a_write_is_completed(tmp_path: Path, store: str, step: int) -> None:
    night = prepare_night(tmp_path, store)
    assert night.points > 15
    tried = range(step // 2, night.points, step)
    for point in tried:
        check_point(night, point)
    removal = prepare_removal(night)
    assert removal.points > 5
    removed = range(0, removal.points, 7)
    for point in removed:
        check_point(removal, point)
    what = {
        "duckdb": "kills at a write, history in a DuckDB file",
        "delta": "kills at a write, history in a Delta table",
    }[store]
    check_tried(what, len(tried) + len(removed), night.points + removal.points)
