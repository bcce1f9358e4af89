"""Curves of a regression: areas, intervals of means, numbers of points, and refused requests."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import sqleval
from sqleval import DataError, RequestError


def draw(n: int, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    label = rng.gamma(2, 3, n)
    return pl.DataFrame({"y": label, "p": label * rng.normal(1, 0.2, n), "g": np.arange(n) % 2})


def curve(frame: pl.DataFrame, name: str, *, prediction: str = "p", **params: Any) -> pl.DataFrame:
    return sqleval.scan(frame, label="y", prediction=prediction).curve(name, **params).collect()


def test_the_area_between_lorenz_curve_and_diagonal_is_half_the_gini_coefficient() -> None:
    frame = draw(300).with_columns(pl.col("y").round(1))
    points = curve(frame, "lorenz", prediction="y", bins=10_000)
    label = frame["y"].to_numpy()
    # Half the relative mean absolute difference of all pairs.
    gini = np.abs(label[:, None] - label).mean() / (2 * label.mean())
    area = np.trapezoid(points["label_share"], points["share"])
    assert 1 - 2 * area == pytest.approx(gini, rel=1e-12)


def test_the_area_above_the_error_characteristic_is_the_mean_absolute_error() -> None:
    frame = draw(300)
    points = curve(frame, "rec", bins=10_000)
    error, share = (np.append(0, points[name]) for name in ("error", "share"))
    mae = np.abs(frame["p"] - frame["y"]).mean()
    assert (np.diff(error) * (1 - share[:-1])).sum() == pytest.approx(mae, rel=1e-12)


@pytest.mark.parametrize("name", ["lorenz", "rec"])
def test_a_curve_has_at_most_its_number_of_points(name: str) -> None:
    frame = draw(5_000)
    every, some = (curve(frame, name, bins=bins) for bins in (100_000, 40))
    assert every.height >= 5_000
    assert 40 <= some.height <= 41  # and the origin of the Lorenz curve
    assert some.join(every, on=some.columns, how="semi", nulls_equal=True).equals(some)
    shares = some["share"].to_numpy()
    assert shares[-1] == 1
    assert np.diff(np.append(0, shares)).max() < 1 / 40 + 2 / 5_000


def test_intervals_of_mean_labels_are_those_of_student() -> None:
    frame = draw(200).with_columns(n=pl.int_range(200) % 3 + 1)
    bound = sqleval.scan(frame, label="y", prediction="p", counts="n")
    found = bound.curve("predicted_vs_actual", bins=4, ci=0.9).collect()
    rows = frame[np.repeat(np.arange(200), frame["n"].to_numpy())]
    edges = np.quantile(rows["p"], [0.25, 0.5, 0.75])
    place = np.searchsorted(edges, rows["p"])
    for i, row in enumerate(found.iter_rows(named=True)):
        label = rows["y"].to_numpy()[place == i]
        assert row["stderr"] == pytest.approx(stats.sem(label), rel=1e-12)
        for prefix, level in (("", 0.9), ("simultaneous_", 0.9 ** (1 / 4))):
            ends = stats.t.interval(level, len(label) - 1, label.mean(), stats.sem(label))
            got = row[f"{prefix}low"], row[f"{prefix}high"]
            assert got == pytest.approx(ends, rel=1e-12)


def test_intervals_of_mean_labels_with_weights_cover_them() -> None:
    # 400 samples as slices, each with two bins of 60 weighted rows.
    rng = np.random.default_rng(5)
    n = 400 * 120
    frame = pl.DataFrame(
        {
            "s": np.arange(n) // 120,
            "p": np.arange(n) % 2,
            "y": rng.normal(np.arange(n) % 2, 1, n),
            "w": rng.exponential(1, n),
        }
    )
    bound = sqleval.scan(frame, label="y", prediction="p", weight="w", by="s", task="regression")
    found = bound.curve("predicted_vs_actual", bins=10, ci=0.95).collect()
    truth = found["predicted"]
    covered = ((found["low"] <= truth) & (truth <= found["high"])).mean()
    assert found.height == 800
    assert 0.92 < float(covered) < 0.97  # pyright: ignore[reportArgumentType]


def test_rows_beyond_the_histogram_are_counted() -> None:
    frame = draw(1_000)
    rows = curve(frame, "residual_histogram", bins=5, reach=1.0)
    assert rows["n"].sum() == 1_000
    assert rows["bin"].to_list() == [0, 1, 2, 3, 4, 5, 6]
    assert (rows["lower"][0], rows["upper"][-1]) == (-np.inf, np.inf)
    assert rows["upper"][:-1].to_list() == pytest.approx(rows["lower"][1:].to_list())


def test_curves_of_a_regression_need_rows() -> None:
    bound = sqleval.scan(draw(20), label="y", prediction="p")
    state = sqleval.from_state(bound.state("rmse").collect())
    for name in ("predicted_vs_actual", "rec", "residual_histogram"):
        with pytest.raises(RequestError, match=r"needs the label and the prediction of every row"):
            state.curve(name).collect()
    missing = draw(20).with_columns(y=pl.when(pl.int_range(20) > 0).then("y"))
    with pytest.raises(DataError, match=r"label='y' is NULL, NaN or infinite in 1 of 20 rows"):
        curve(missing, "rec")


def test_bands_that_a_curve_of_a_regression_has_not() -> None:
    bound = sqleval.scan(draw(20), label="y", prediction="p")
    with pytest.raises(
        RequestError, match=r"rec_curve has no bands; curves with bands: .*predicted"
    ):
        bound.curve("rec", ci=0.95)
    with pytest.raises(RequestError, match="cluster= is given, and its intervals are for indep"):
        bound.curve("predicted_vs_actual", ci=0.95, cluster="g")
    two = sqleval.scan(draw(20).with_columns(q="y"), label="y", prediction={"one": "p", "two": "q"})
    with pytest.raises(RequestError, match="cannot be compared: its bins differ by model"):
        two.compare_curves("predicted_vs_actual")


def test_a_state_says_that_an_interval_needs_the_rows() -> None:
    bound = sqleval.scan(draw(50), label="y", prediction="p")
    state = sqleval.from_state(bound.state(["r2", "mae"], ci=True).collect())
    found = state.evaluate(["r2", "mae"], ci=0.95).collect()
    r2, mae = found.to_dicts()
    assert (r2["method"], r2["note"]) == (
        None, "no interval: it needs the rows, and the state holds sums of them"
    )  # fmt: skip
    want = bound.evaluate("mae", ci=0.95).collect().row(0, named=True)
    assert (mae["low"], mae["high"]) == pytest.approx((want["low"], want["high"]), rel=1e-12)
