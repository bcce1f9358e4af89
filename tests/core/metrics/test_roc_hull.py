"""The convex hull of the ROC curve, and the way between ROC and PR points."""

import numpy as np
import polars as pl
import pytest

import sqleval
from sqleval.export.statement import export_statement
from tests.support.cases import Data, drawn, predictions, rows_of
from tests.support.curve_points import BINARY, ROC, TOLERANCE, hull, pr, roc


@pytest.mark.parametrize("data", [data for data in BINARY if data.weight == "w"], ids=str)
def test_hull_of_real_weights_has_the_vertices_and_at_most_what_rounds(data: Data) -> None:
    found = data.groups(predictions(data).curve("roc_hull").collect())
    for key, frame in data.groups(data.known).items():
        rows = rows_of(frame, "binary", weight="w")
        got = found.get(key, pl.DataFrame(schema=dict.fromkeys(ROC, pl.Float64)))
        got = got.select(ROC).to_numpy()[:, 1:]
        expected = hull(rows)[:, 1:]
        apart = np.abs(expected[:, None] - got).sum(axis=2)
        assert (apart.min(axis=1, initial=1) < 1e-12).all() or not len(expected)
        assert len(expected) or not len(got)
        if len(expected):
            # A point above the hull by a last digit is a rounding error.
            above = np.interp(got[:, 0], expected[:, 0], expected[:, 1])
            assert (np.abs(above - got[:, 1])[got[:, 0] > 0] < 1e-12).all()


def test_hull_of_a_random_walk_equals_scipy() -> None:
    rng = np.random.default_rng(7)
    frame = pl.DataFrame({"y": rng.integers(0, 2, 5000), "p": rng.permutation(5000) / 5000})
    got = sqleval.scan(frame, label="y", score="p").curve("roc_hull").collect()
    expected = hull(rows_of(frame, "binary"))
    assert len(expected) > 5
    np.testing.assert_allclose(got.to_numpy(), expected, **TOLERANCE)


@pytest.mark.parametrize("shape", ["concave", "waves", "below the diagonal"])
def test_hull_of_many_rows_equals_scipy(shape: str) -> None:
    # Most of the 4,096 strips have corners, and most chords of the coarse hull have points above.
    rng = np.random.default_rng(3)
    p = rng.random(100_000)
    share = {"concave": p, "waves": 0.5 + 0.45 * np.sin(40 * p), "below the diagonal": 1 - p}
    frame = pl.DataFrame({"y": (rng.random(len(p)) < share[shape]).astype(int), "p": p})
    got = sqleval.scan(frame, label="y", score="p").curve("roc_hull").collect()
    expected = hull(rows_of(frame, "binary"))
    assert (len(expected) == 2) == (shape == "below the diagonal")
    np.testing.assert_allclose(got.to_numpy(), expected, **TOLERANCE)


@pytest.mark.parametrize("seed", range(5))
def test_hull_of_models_with_weights_by_slice_equals_scipy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, 600)
    frame = pl.DataFrame(
        {
            "y": label,
            "p": (rng.normal(label * (1 + seed / 2), 1) * 8).round() / 8,
            "q": rng.normal(-label, 1).round(1),
            "count": rng.integers(0, 5, 600),
            "g": rng.integers(0, 2, 600),
        }
    )
    models = {"one": "p", "other": "q"}
    curve = sqleval.scan(frame, label="y", score=models, weight="count", by="g").curve("roc_hull")
    parts = curve.collect().partition_by("g", "model", as_dict=True)
    assert len(parts) == 4
    for (g, model), got in parts.items():
        part = frame.filter(g=g).with_columns(p=models[model])
        expected = hull(rows_of(part, "binary", weight="count"))
        np.testing.assert_allclose(got.select(ROC).to_numpy(), expected, **TOLERANCE)


@pytest.mark.parametrize("scale", [1e-99, 1e-30, 1e99])
def test_hull_does_not_depend_on_the_unit_of_weights(scale: float) -> None:
    # The largest and smallest weights that are allowed: the product of four is 0, or infinite.
    rng = np.random.default_rng(5)
    label = rng.integers(0, 2, 300)
    frame = pl.DataFrame({"y": label, "p": rng.normal(label, 1).round(1), "w": rng.random(300)})
    found, expected = (
        sqleval.scan(rows, label="y", score="p", weight="w").curve("roc_hull").collect()
        for rows in (frame.with_columns(pl.col("w") * scale), frame)
    )
    assert expected.height > 5
    np.testing.assert_allclose(found.to_numpy(), expected.to_numpy(), **TOLERANCE)
    np.testing.assert_allclose(expected, hull(rows_of(frame, "binary", weight="w")), **TOLERANCE)


def test_hull_of_a_concave_curve_has_every_point() -> None:
    # Each step is flatter than the one before, so that no point lies on a line between others.
    steps = np.arange(1500)
    frame = pl.DataFrame(
        {
            "y": [1] * 1500 + [0] * 1500,
            "p": np.tile(-steps, 2),
            "n": np.concatenate([1500 - steps, 1 + steps]),
        }
    )
    got = sqleval.scan(frame, label="y", score="p", counts="n").curve("roc_hull").collect()
    tp, fp = np.cumsum(1500 - steps), np.cumsum(1 + steps)
    expected = np.column_stack([-steps, fp / fp[-1], tp / tp[-1]])
    assert got.row(0) == (np.inf, 0, 0)
    np.testing.assert_allclose(got.to_numpy()[1:], expected, **TOLERANCE)


def test_an_infinite_score_that_is_a_vertex_follows_the_start() -> None:
    frame = pl.DataFrame({"y": [1, 1, 0, 0], "p": [np.inf, np.inf, 0.5, 0.1]})
    got = sqleval.scan(frame, label="y", score="p").curve("roc_hull").collect()
    assert got.rows() == [(np.inf, 0, 0), (np.inf, 0, 1), (0.1, 1, 1)]


def test_roc_comes_back_from_pr_wherever_a_positive_is_found() -> None:
    frame = drawn("binary", 300, seed=4).with_columns(pl.col("p").round(2))
    bound = sqleval.scan(frame, label="y", score="p", weight="w")
    got = bound.curve("roc_from_pr").collect().to_numpy()
    expected = roc(rows_of(frame, "binary", weight="w"))
    found = np.append(True, expected[1:, 2] > 0)
    np.testing.assert_allclose(got[found], expected[found], **TOLERANCE)
    assert np.isnan(got[~found, 1:]).all()


def test_the_prior_of_pr_from_roc_changes_precision_only() -> None:
    frame = drawn("binary", 300)
    bound = sqleval.scan(frame, label="y", score="p")
    got = bound.curve("pr_from_roc", prior=0.01).collect()
    # With each negative counted 99 * P / N times, the share of positives is 1 in 100.
    positives = frame["y"].sum()
    times = pl.when(y=0).then(99 * positives / (300 - positives)).otherwise(1.0)
    want = pr(rows_of(frame.with_columns(w=times), "binary", weight="w"))
    np.testing.assert_allclose(got.to_numpy(), want, **TOLERANCE)


def test_hull_candidates_keep_their_strips_by_a_left_join() -> None:
    # DuckDB 2.0.0 fails on the inner join, with four million distinct scores or with 4,000 slices.
    frame = pl.DataFrame({"y": [0, 1], "p": [0.1, 0.9]})
    bound = sqleval.scan(frame, label="y", score="p")
    assert "LEFT JOIN coarse_hull" in bound.sql("cost_curve_area")
    other = export_statement(["cost_curve_area"], "postgres", "preds", label="y", score="p")
    assert "JOIN coarse_hull" in other
    assert "LEFT JOIN coarse_hull" not in other
