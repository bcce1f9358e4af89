"""Histograms of scores: edges, ranges of a slice, infinite scores, states and other engines."""

import numpy as np
import polars as pl
import pytest

import sqleval

RNG = np.random.default_rng(6)


def read_counts(scores: list[float], bins: int, labels: list[int] | None = None) -> pl.DataFrame:
    frame = pl.DataFrame({"y": labels or [0] * len(scores), "p": scores})
    scan = sqleval.scan(frame, label="y", score="p", threshold=0)
    return scan.curve("score_histogram", bins=bins).collect()


@pytest.mark.parametrize("bins", [1, 2, 3, 7, 10, 20, 49])
def test_scores_at_edges_lie_where_numpy_puts_them(bins: int) -> None:
    for low, high in ((0.0, 1.0), (-3.0, 4.0), (0.1, 1.3), (1e15, 1e15 + 64)):
        edges = np.linspace(low, high, bins + 1)
        near = np.concatenate([edges, np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf)])
        scores = np.clip(near, low, high)
        got = read_counts(scores.tolist(), bins)
        n, at = np.histogram(scores, bins, (low, high))
        assert got["n_negative"].to_list() == n.tolist()
        assert got["lower"].to_list() == pytest.approx(at[:-1].tolist(), rel=1e-15)
        assert got["upper"][-1] == high


def test_the_range_is_0_to_1_or_that_of_the_scores() -> None:
    inside = read_counts([0.2, 0.3], 4)
    assert (inside["lower"][0], inside["upper"][-1]) == (0.0, 1.0)
    beyond = read_counts([0.2, 1.2], 4)
    assert (beyond["lower"][0], beyond["upper"][-1]) == (0.2, 1.2)
    equal = read_counts([7.0, 7.0], 4)  # as numpy.histogram
    assert (equal["lower"][0], equal["upper"][-1]) == (6.5, 7.5)
    assert read_counts([], 4).is_empty()


def test_infinite_scores_have_bins_of_their_own() -> None:
    inf = float("inf")
    got = read_counts([-inf, -1.0, 3.0, inf, inf], 2, [0, 0, 1, 1, 0])
    assert got.rows() == [
        (0, -inf, -1.0, 1, 0), (1, -1.0, 1.0, 1, 0), (2, 1.0, 3.0, 0, 1), (3, 3.0, inf, 1, 1),
    ]  # fmt: skip
    alone = read_counts([inf], 2)
    assert alone["lower"].to_list() == [0.0, 0.5, 1.0]


def test_a_state_has_the_histogram_of_its_score_bins() -> None:
    rows = pl.DataFrame({"y": RNG.random(500) < 0.4, "p": RNG.random(500)})
    scan = sqleval.scan(rows, label="y", score="p")
    exact = scan.curve("score_histogram", bins=5).collect()
    state = sqleval.from_state(scan.state().collect()).curve("score_histogram", bins=5).collect()
    assert state.columns == exact.columns
    assert state["n_positive"].sum() == exact["n_positive"].sum()
    # Only score bins across an edge may differ.
    assert (state["n_negative"] - exact["n_negative"]).abs().max() <= 2  # type: ignore[operator]
