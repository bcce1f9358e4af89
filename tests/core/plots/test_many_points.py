"""Pictures of many scores show exact points, at most a column of the picture apart."""

import numpy as np
import polars as pl
import pytest

import sqleval
from sqleval.frontend.pictures import collect_points
from sqleval.plots.thinning import COLUMNS
from tests.support.comparison import assert_frame_equal

SIZE = 300_000
RNG = np.random.default_rng(12)
SCORES = RNG.random(SIZE)
ROWS = pl.DataFrame({"y": (RNG.random(SIZE) < SCORES).astype(int), "p": SCORES})
#: Most scores lie in few bins.
HEAVY = ROWS.with_columns(p=1 - pl.col("p") * 1e-6)
X = {"roc": "fpr", "pr": "recall", "gain": "share"}


@pytest.mark.parametrize("curve", X)
def test_the_points_are_exact_and_close_to_each_other(curve: str) -> None:
    bound = sqleval.scan(ROWS, label="y", score="p")
    points, exact = collect_points(bound, curve, {}), bound.curve(curve).collect()
    assert points.height < exact.height / 10
    same = exact.join(points.select("threshold"), on="threshold", how="semi")
    assert_frame_equal(same.filter(same.is_duplicated().not_()), points, rel_tol=1e-12)
    steps = points[X[curve]].diff().abs()
    assert steps.max() <= 1 / COLUMNS  # type: ignore[operator]


@pytest.mark.parametrize("curve", X)
def test_many_equal_scores_are_one_step_and_not_a_reason_for_all_points(curve: str) -> None:
    rows = ROWS.with_columns(p=(1.1 * pl.col("p")).clip(upper_bound=1.0))
    bound = sqleval.scan(rows, label="y", score="p")
    points, exact = collect_points(bound, curve, {}), bound.curve(curve).collect()
    assert points.height < exact.height / 10
    same = exact.join(points.select("threshold"), on="threshold", how="semi")
    assert_frame_equal(same.filter(same.is_duplicated().not_()), points, rel_tol=1e-12)
    # Only the step of the equal scores is larger than a column.
    steps = points[X[curve]].diff().abs()
    assert steps.filter(steps > 1 / COLUMNS).len() == 1


@pytest.mark.parametrize("roles", [{"counts": "n"}, {"over": "g"}], ids=str)
def test_inputs_that_bins_do_not_take_are_drawn_from_all_points(roles: dict[str, str]) -> None:
    rows = ROWS.with_columns(n=pl.lit(2), g=pl.int_range(SIZE) % 2)
    bound = sqleval.scan(rows, label="y", score="p", **roles)
    assert collect_points(bound, "roc", {}).equals(bound.curve("roc").collect())


def test_heavy_bins_and_small_slices_have_all_points() -> None:
    bound = sqleval.scan(HEAVY, label="y", score="p")
    assert collect_points(bound, "roc", {}).equals(bound.curve("roc").collect())
    slices = ROWS.with_columns(g=pl.int_range(SIZE) < 20)
    bound = sqleval.scan(slices, label="y", score="p", by="g")
    assert collect_points(bound, "roc", {}).filter(pl.col("g")).height > 15


def test_parameters_streams_and_other_curves_are_as_asked_for() -> None:
    bound = sqleval.scan(ROWS, label="y", score="p")
    with_bins = collect_points(bound, "roc", {"bins": 3})
    assert with_bins.equals(bound.curve("roc", bins=3).collect())
    assert collect_points(bound, "calibration", {}).height == 10
    reader = ROWS.to_arrow().to_reader()
    once = sqleval.scan(reader, label="y", score="p")
    assert collect_points(once, "roc", {}).height == SIZE + 1


def test_curves_of_several_classes_are_drawn_from_all_points() -> None:
    rows = ROWS.with_columns(q=1 - pl.col("p"))
    bound = sqleval.scan(rows, label="y", score={0: "q", 1: "p"}, task="multiclass")
    assert collect_points(bound, "roc", {}).equals(bound.curve("roc").collect())
