"""Calibration curves equal scikit-learn's; the gain table."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss

import sqleval
from sqleval import RequestError
from tests.support.cases import drawn
from tests.support.curve_points import TOLERANCE


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
@pytest.mark.parametrize("bins", [2, 5, 20])
@pytest.mark.parametrize("weight", [None, "count"])
def test_calibration_curve_equals_scikit_learn(
    weight: str | None, bins: int, strategy: str
) -> None:
    frame = drawn("binary", 250, seed=2)
    curve = sqleval.scan(frame, label="y", score="p", weight=weight).curve(
        "calibration", bins=bins, strategy=strategy
    )
    got = curve.collect()
    times = frame["count"].to_numpy() if weight else np.ones(250, dtype=int)
    label, score = (np.repeat(frame[name].to_numpy(), times) for name in ("y", "p"))
    observed, predicted = calibration_curve(label, score, n_bins=bins, strategy=strategy)
    np.testing.assert_allclose(got["observed"], observed, **TOLERANCE)
    np.testing.assert_allclose(got["predicted"], predicted, **TOLERANCE)
    assert got["n"].sum() == times.sum()
    assert got["bin"].is_between(1, bins).all()
    assert got["bin"].is_unique().all()


def test_probabilities_on_the_edge_of_a_bin_fall_where_scikit_learn_puts_them() -> None:
    score = np.arange(101) / 100
    label = np.arange(101) % 2
    frame = pl.DataFrame({"y": label, "p": score})
    for bins in (3, 7, 10, 20, 49):
        curve = sqleval.scan(frame, label="y", score="p").curve("calibration", bins=bins)
        observed, predicted = calibration_curve(label, score, n_bins=bins)
        np.testing.assert_allclose(curve.collect()["observed"], observed, **TOLERANCE)
        np.testing.assert_allclose(curve.collect()["predicted"], predicted, **TOLERANCE)


@pytest.mark.parametrize("bins", [1, 5, 10, 49])
def test_parts_of_the_brier_score_by_bins_add_up(bins: int) -> None:
    rng = np.random.default_rng(8)
    score = rng.random(3000)
    label = (rng.random(3000) < score**1.3).astype(int)
    frame = pl.DataFrame({"y": label, "p": score, "w": rng.random(3000)})
    names = [f"brier_{part}(bins={bins})" for part in ("reliability", "resolution")]
    for weight in (None, "w"):
        bound = sqleval.scan(frame, label="y", score="p", weight=weight)
        values = bound.evaluate([*names, "brier_uncertainty"]).collect()["value"]
        reliability, resolution, uncertainty = values
        # The Brier score of the mean score of each bin, in place of the score.
        weights = np.ones(3000) if weight is None else frame["w"].to_numpy()
        place = np.ceil(score * bins)
        sums, counts = (np.bincount(place.astype(int), x) for x in (score * weights, weights))
        mean = (sums / np.where(counts > 0, counts, 1))[place.astype(int)]
        expected = brier_score_loss(label, mean, sample_weight=weights)
        assert reliability - resolution + uncertainty == pytest.approx(expected, abs=1e-14)


def test_calibration_refuses_scores_outside_0_to_1() -> None:
    frame = pl.DataFrame({"y": [0, 1], "p": [0.5, 1.5]})
    with pytest.raises(sqleval.DataError, match=r"needs? scores in 0 .. 1"):
        sqleval.scan(frame, label="y", score="p").curve("calibration").collect()


def test_gain_table_worked_by_hand() -> None:
    # Ten rows, half of the positives in the first three; the tie of four straddles both bins.
    frame = pl.DataFrame({"y": [1, 1, 0, 1, 0, 1, 0, 0, 0, 0], "p": [9, 8, 7, 5, 5, 5, 5, 3, 2, 1]})
    bound = sqleval.scan(frame, label="y", score="p", threshold=5)
    assert bound.curve("gain_table").collect().height == 10
    rows = bound.curve("gain_table", bins=2).collect().rows()
    # The first bin: three rows, and two of the tie of four, which count as one positive.
    assert rows[0] == pytest.approx((0.5, 5, 0.75, 1.5, 0.75 - 2 / 6, 5, 3, 9))
    assert rows[1] == pytest.approx((1.0, 1, 1.0, 1.0, 0.0, 5, 1, 5))
    # A boundary between two scores: the second part starts at the next lower score.
    tenths = bound.curve("gain_table", bins=10).collect()
    assert tenths["upper"].to_list() == [9, 8, 7, 5, 5, 5, 5, 3, 2, 1]
    assert tenths["threshold"].to_list() == [9, 8, 7, 5, 5, 5, 5, 3, 2, 1]
    assert tenths["n_positive"].to_list() == pytest.approx([1, 1, 0, *[0.5] * 4, 0, 0, 0])
    assert tenths["n"].to_list() == [1.0] * 10


@pytest.mark.parametrize("bins", [0, -1, 1.5, 10_001])
def test_gain_table_refuses_a_wrong_number_of_bins(bins: Any) -> None:
    bound = sqleval.scan(drawn("binary"), label="y", score="p")
    with pytest.raises(RequestError, match="bins"):
        bound.curve("gain_table", bins=bins)
