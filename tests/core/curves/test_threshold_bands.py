"""Bands of a threshold curve: at each threshold, the intervals of the metrics there."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import sqleval
from sqleval import RequestError

RNG = np.random.default_rng(4)
ROWS = pl.DataFrame({"y": RNG.random(300) < 0.3, "g": RNG.integers(0, 3, 300)}).with_columns(
    p=pl.Series(RNG.random(300).round(2)) * 0.7 + pl.col("y") * 0.3, n=pl.lit(2)
)
METRICS = {
    "precision": "precision", "recall": "recall", "f1": "f1",
    "cost": "expected_cost(cost_fn=3.0, cost_fp=2.0)",
}  # fmt: skip


@pytest.mark.parametrize("roles", [{}, {"counts": "n"}, {"by": "g"}], ids=str)
def test_bands_are_the_intervals_of_the_metrics_at_each_threshold(roles: dict[str, Any]) -> None:
    scan = sqleval.scan(ROWS, label="y", score="p", **roles)
    lazy = scan.curve("threshold", ci=0.9, cost_fn=3, cost_fp=2)
    points = lazy.collect()
    assert points.schema == lazy.collect_schema()
    plain = scan.curve("threshold", cost_fn=3, cost_fp=2).collect()
    assert points.select(plain.columns).equals(plain)
    keys = [roles["by"]] if "by" in roles else []
    for threshold in (0.05, *points["threshold"].unique().sort()[[1, 40, -3, -2]]):
        bound = sqleval.scan(ROWS, label="y", score="p", threshold=threshold, **roles)
        result = bound.evaluate([*METRICS.values()], ci=0.9).collect()
        # Decisions change at scores, so the threshold is that of the lowest score above it.
        at = points.filter(pl.col("threshold") >= threshold).sort("threshold")
        for name, metric in METRICS.items():
            label = next(m for m in result["metric"].unique() if m.startswith(metric[:9]))
            expected = result.filter(metric=label)
            rows = at.unique(keys, keep="first", maintain_order=True) if keys else at.head(1)
            rows = rows.sort(keys) if keys else rows
            for end, column in (("low", f"{name}_low"), ("high", f"{name}_high")):
                want = expected.sort(keys)[end] if keys else expected[end]
                np.testing.assert_allclose(
                    rows[column].to_numpy(), want.to_numpy(), rtol=1e-9, atol=1e-12,
                    err_msg=f"{column} at {threshold}",
                )  # fmt: skip


def test_one_class_and_no_rows_have_no_band_where_nothing_varies() -> None:
    scan = sqleval.scan(ROWS.with_columns(y=pl.lit(0)), label="y", score="p")
    points = scan.curve("threshold", ci=0.9).collect()
    assert points["recall_low"].null_count() == points.height
    assert points["f1_low"].null_count() == points.height
    assert points["precision_high"].drop_nulls().len() == points.height - 1
    empty = sqleval.scan(ROWS.clear(), label="y", score="p").curve("threshold", ci=0.9).collect()
    assert empty.is_empty()


def test_bands_count_independent_rows() -> None:
    message = "its intervals count independent rows"
    with pytest.raises(RequestError, match=message):
        sqleval.scan(ROWS, label="y", score="p", weight="n").curve("threshold", ci=0.9)
    scan = sqleval.scan(ROWS, label="y", score="p")
    with pytest.raises(RequestError, match=message):
        scan.curve("threshold", ci=0.9, cluster="g")
    with pytest.raises(RequestError, match=message):
        sqleval.from_state(scan.state().collect()).curve("threshold", ci=0.9)
    models = {"a": "p", "b": "1 - p"}
    with pytest.raises(RequestError, match="its thresholds differ by model"):
        sqleval.scan(ROWS, label="y", score=models).compare_curves("threshold")


def test_a_picture_shows_the_bands() -> None:
    scan = sqleval.scan(ROWS, label="y", score="p")
    content = scan.plot("threshold", ci=0.9).to_dict()
    assert content["title"]["subtitle"] == "90 % bands: for each threshold by itself"
    marks = [layer["mark"]["type"] for part in content["vconcat"] for layer in part["layer"]]
    assert marks.count("area") == 4
    points = scan.curve("threshold", ci=0.9)
    drawn = sqleval.plot(points, "threshold").to_dict()
    marks = [layer["mark"]["type"] for part in drawn["vconcat"] for layer in part["layer"]]
    assert marks.count("area") == 4
