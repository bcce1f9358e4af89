"""The next run completes a run, or a removal, that was killed at any of its writes."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sqleval.jobs.judging import judge as judging
from tests.support.kills import check_point, prepare_night, prepare_removal
from tests.support.lake import Lake, rows
from tests.support.tried import check_tried


# Each point costs a process; `python -m tests.bench.kills` kills at all of them.
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize(("store", "step"), [("duckdb", 13), ("delta", 20)])
def test_what_is_killed_at_a_write_is_completed(tmp_path: Path, store: str, step: int) -> None:
    night = prepare_night(tmp_path, store)
    assert night.points > 15
    # The first point is between the history and the end, where outputs are written. The last
    # one is while the history is tidied up, if that is a Delta table.
    tried = [*range(night.complete - 3, step // 4, -step), night.points - 2]
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


def test_gates_judge_all_periods_of_a_run_that_was_killed_before_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = Lake(tmp_path)
    lake.put(rows())
    lake.run(as_of=datetime(2026, 1, 2, 3, tzinfo=UTC), changes={"gates": ["rows >= 10000"]})
    # Four days are over now: three with files in the history, and a new one.
    lake.put(rows(days=1, start=4))
    night = datetime(2026, 1, 6, 3, tzinfo=UTC)
    with monkeypatch.context() as context:
        context.delattr(judging, "judge_gates")
        with pytest.raises(AttributeError):
            lake.run(as_of=night)
    failed = lake.run(as_of=night).verdicts.filter(status="failed")["period"].unique().sort()
    assert failed.to_list() == [f"2026-01-0{n}" for n in range(2, 6)]
    # The next night judges the last one alone.
    assert lake.run(as_of=night).verdicts["period"].unique().to_list() == ["2026-01-05"]
