"""States of release 0.1 hold sums of squares, and are read and merged with those of today.

``release_0_1`` has the states that release 0.1 made of ``rows.parquet``, by ``g`` and with ``ci``.
"""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sqleval
from sqleval.states.merging import merge_states
from tests.support.comparison import assert_frame_equal

STORED = Path(__file__).parent / "release_0_1"
#: By file: the roles, the options and the metrics of the state.
FILES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "errors": ({"label": "y", "prediction": "p", "task": "regression"}, ["mae", "mse"]),
    "losses": ({"label": "y", "score": "p", "weight": "w"}, ["log_loss", "brier_score"]),
}


NO_SQUARES = "no interval: the state has no squares of weights; build it anew from the rows"


def intervals(data: sqleval.Predictions, metrics: list[str]) -> pl.DataFrame:
    return data.evaluate(metrics, ci=0.95).collect().drop("method")


def check(found: pl.DataFrame, whole: pl.DataFrame, roles: dict[str, Any]) -> None:
    """Compare intervals with those of the rows; old states with weights have values alone."""
    if "weight" in roles:
        assert whole["low"].null_count() == 0
        none = pl.lit(None, pl.Float64)
        whole = whole.with_columns(low=none, high=none, note=pl.lit(NO_SQUARES))
    assert_frame_equal(found, whole)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("way", ["file", "frame", "merged"])
def test_intervals_of_an_old_state(name: str, way: str) -> None:
    roles, metrics = FILES[name]
    whole = sqleval.scan(STORED / "rows.parquet", by="g", **roles)
    state: Any = STORED / f"{name}.parquet"
    if way == "frame":
        state = pl.read_parquet(state)
    elif way == "merged":
        state = merge_states([state]).collect()
        assert not [column for column in state.columns if column.endswith("_squared")]
    found = sqleval.from_state(state, by="g")
    check(intervals(found, metrics), intervals(whole, metrics), roles)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("way", ["files", "frames", "merged"])
def test_old_and_new_states_together(name: str, way: str, tmp_path: Path) -> None:
    roles, metrics = FILES[name]
    rows = pl.read_parquet(STORED / "rows.parquet")
    other = rows.with_columns(p=1 - pl.col("p"))
    bins = {"bins": 8} if name == "losses" else {}
    new = sqleval.scan(other, **roles).state(metrics, by="g", ci=True, **bins).collect()
    new.write_parquet(tmp_path / "new.parquet")
    states: Any = [STORED / f"{name}.parquet", tmp_path / "new.parquet"]
    if way == "frames":
        states = pl.concat(map(pl.read_parquet, states), how="diagonal")
    elif way == "merged":
        states = merge_states(states).collect()
    whole = intervals(sqleval.scan(pl.concat([rows, other]), **roles), metrics)
    check(intervals(sqleval.from_state(states), metrics), whole, roles)
