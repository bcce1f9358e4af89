"""A job of several models over the rows that all of them have."""

from pathlib import Path

import polars as pl
import pytest
from sklearn.metrics import log_loss

from sqleval.errors import RequestError
from tests.support.lake import FIRST, Lake, read_results

Y = [0, 1, 1, 0, 1, 0] * 5
A = [0.1, 0.8, None, 0.3, 0.6, 0.2] * 5
B = [0.3, None, 0.4, 0.4, 0.9, 0.1] * 5


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    made = Lake(tmp_path)
    made.spec |= {"label": "y", "score": {"a": "a", "b": "b"}, "by": None, "nulls": "drop"}
    made.spec |= {"metrics": ["log_loss"]}
    made.put(pl.DataFrame({"y": Y, "a": A, "b": B}).with_columns(day=pl.lit(FIRST)))
    return made


@pytest.mark.parametrize("with_states", [False, True])
def test_only_rows_that_all_models_have(lake: Lake, tmp_path: Path, *, with_states: bool) -> None:
    lake.spec |= {"common": True} | ({"states": str(tmp_path / "states")} if with_states else {})
    rows = [row for row in zip(Y, A, B, strict=True) if None not in row]
    found = read_results(lake.run(backfill=True)).sort("slice")
    assert found["n"].to_list() == [len(rows)] * 2
    labels = [row[0] for row in rows]
    right = [log_loss(labels, [row[i] for row in rows]) for i in (1, 2)]
    assert found["value"].to_list() == pytest.approx(right, rel=1e-12)


def test_without_it_each_model_has_its_rows(lake: Lake) -> None:
    found = read_results(lake.run(backfill=True)).sort("slice")
    assert found["n"].to_list() == [25, 25]


@pytest.mark.parametrize("spec", [{"score": "a"}, {"nulls": "error"}])
def test_it_needs_models_and_dropped_rows(lake: Lake, spec: dict[str, str]) -> None:
    lake.spec |= {"common": True, **spec}
    with pytest.raises(RequestError, match="common"):
        lake.run(backfill=True)
