"""Every curve against a reference, on data that breaks curves."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from sklearn.calibration import calibration_curve
from sklearn.metrics import classification_report, precision_recall_curve, roc_curve

import sqleval
from sqleval import RequestError
from tests.support import references as ref
from tests.support.cases import DATA, ROLES, Data, Rows, drawn, rows_of

NAN = np.nan
TOLERANCE: dict[str, float] = {"rtol": 1e-12, "atol": 1e-12}
#: How labels and types are read is tested with the metrics, and no matter of curves.
ELSEWHERE = ("label", "FLOAT tenths", "integer", "one negative", "one positive", "wrong")
BINARY = [d for d in DATA if d.kind == "binary" and not any(name in d.name for name in ELSEWHERE)]

Points = Callable[[Rows], np.ndarray]


# -- references: the points of a curve as columns, in its order ---------------------------------


def roc(rows: Rows) -> np.ndarray:
    """Return scikit-learn's (threshold, fpr, tpr), NaN where a class is missing."""
    distinct, place = ref.places(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn warns of a missing class
        fpr, tpr, at = roc_curve(
            rows.label, place, sample_weight=rows.weight, drop_intermediate=False
        )
    return np.column_stack([np.append(np.inf, distinct[at[1:].astype(int)]), fpr, tpr])


def pr(rows: Rows) -> np.ndarray:
    """Return scikit-learn's (threshold, precision, recall) from the highest threshold."""
    distinct, place = ref.places(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        precision, recall, at = precision_recall_curve(rows.label, place, sample_weight=rows.weight)
    recall = recall if rows.label.any() else recall * NAN  # scikit-learn says 1
    threshold = np.append(np.inf, distinct[at[::-1].astype(int)])
    return np.column_stack([threshold, precision[::-1], recall[::-1]])


def pr_from_origin(rows: Rows) -> np.ndarray:
    points = pr(rows)
    points[0, 1] = 0
    return points


def pr_from_roc(rows: Rows) -> np.ndarray:
    points = pr(rows)
    # Without both classes a ROC curve says nothing of precision.
    points[:, 1] = points[:, 1] if ref.both(rows) else NAN
    return points


def pr_at_prior(prior: float) -> Points:
    def points(rows: Rows) -> np.ndarray:
        threshold, fpr, tpr = roc(rows).T
        found, mistaken = tpr * prior, fpr * (1 - prior)
        predicted = np.where(found + mistaken == 0, 1.0, found + mistaken)
        precision = np.where(found + mistaken == 0, 1.0, found / predicted)
        return np.column_stack([threshold, precision, tpr])

    return points


def roc_from_pr(rows: Rows) -> np.ndarray:
    points = roc(rows)
    # Where nothing is found, precision is 0 whatever the false positives are.
    points[1:][points[1:, 2] == 0, 1:] = NAN
    points[:, 1:] = points[:, 1:] if rows.label.any() else NAN
    return points


def hull(rows: Rows) -> np.ndarray:
    if not ref.both(rows):
        return np.empty((0, 3))
    points = roc(rows)
    nearest = [
        int(np.abs(points[:, 1:] - vertex).sum(axis=1).argmin())
        for vertex in ref.roc_hull(points[:, 1:])
    ]
    return points[nearest]


def lines(rows: Rows) -> np.ndarray:
    points = roc(rows)
    points[:, 2] = 1 - points[:, 2]
    return points


def gain(rows: Rows) -> np.ndarray:
    threshold, tp, fp = ref.counts(rows)
    share = (tp + fp) / rows.weight.sum()
    found = tp / tp[-1] if tp[-1] else tp * NAN
    lift = np.append(NAN, found[1:] / share[1:])
    return np.column_stack([threshold, share, found, lift])


def gains(bins: int) -> Points:
    def points(rows: Rows) -> np.ndarray:
        threshold, tp, fp = ref.counts(rows)
        share = np.arange(1, bins + 1) / bins
        place = share * (tp[-1] + fp[-1])
        # A tie that straddles the place is taken in part.
        tpr, fpr = (
            np.interp(place, tp + fp, n) / n[-1] if n[-1] else place * NAN for n in (tp, fp)
        )
        reached = [threshold[np.argmax(tp + fp >= at * (1 - 1e-12))] for at in place]
        return np.column_stack([share, reached, tpr, tpr / share, tpr - fpr])

    return points


def ks(rows: Rows) -> np.ndarray:
    threshold, fpr, tpr = roc(rows)[1:].T
    return np.column_stack([threshold, tpr, fpr, np.abs(tpr - fpr)])


def bins_of(bins: int, strategy: str) -> Points:
    return lambda rows: ref.calibration_curve(rows, bins, strategy)


def report(rows: Rows) -> np.ndarray:
    """Return scikit-learn's report as (class, precision, recall, f1, support, predictions)."""
    table = classification_report(
        rows.label, rows.prediction, sample_weight=rows.weight, output_dict=True, zero_division=NAN
    )
    return np.array(
        [
            [
                c,
                *(table[str(c)][name] for name in ("precision", "recall", "f1-score", "support")),
                rows.weight[rows.prediction == c].sum(),
            ]
            for c in np.union1d(rows.label, rows.prediction)
        ]
    )


@dataclass(frozen=True)
class Curve:
    """A curve as it is asked for, its columns, and the reference for its points."""

    text: str
    columns: tuple[str, ...]
    points: Points
    probabilities: bool = False
    exact: bool = True

    @property
    def name(self) -> str:
        """The name of its file."""
        return self.text.partition("(")[0]

    def __str__(self) -> str:
        return self.text


ROC = ("threshold", "fpr", "tpr")
PR = ("threshold", "precision", "recall")
BINS = ("bin", "predicted", "observed", "n")
GAINS = ("share", "threshold", "gain", "lift", "ks")
CURVES = [
    Curve("roc_curve", ROC, roc),
    Curve("pr_curve(start='origin')", PR, pr_from_origin),
    Curve("pr_from_roc", PR, pr_from_roc),
    Curve("pr_from_roc(prior=0.2)", PR, pr_at_prior(0.2)),
    Curve("roc_from_pr", ROC, roc_from_pr),
    Curve("roc_hull", ROC, hull, exact=False),
    Curve("cost_lines", ("threshold", "fpr", "fnr"), lines),
    Curve("gain_curve", ("threshold", "share", "gain", "lift"), gain),
    Curve("gain_table(bins=7)", GAINS, gains(7)),
    Curve("ks_curve", ("threshold", "tpr", "fpr", "distance"), ks),
    *(
        Curve(f"calibration_curve(bins={bins}, strategy='{how}')", BINS, bins_of(bins, how), True)
        # Thirds of a rank round in scikit-learn: whether a row on a quantile is below it is chance.
        for bins, how in ((10, "uniform"), (4, "quantile"))
    ),
    Curve(
        "classification_report",
        ("class", "precision", "recall", "f1", "support", "predictions"),
        report,
    ),
]


def predictions(data: Data) -> sqleval.Predictions:
    return sqleval.scan(data.frame, **ROLES["binary"], **data.options)


@pytest.mark.parametrize(
    ("curve", "data"),
    [
        pytest.param(curve, data, id=f"{curve}-{data.name}")
        for curve in CURVES
        for data in BINARY
        if not (curve.probabilities and data.outside)
        # Sums of real weights round, and so does what is a vertex.
        if curve.exact or data.weight != "w"
    ],
)
def test_curve_equals_its_reference(curve: Curve, data: Data) -> None:
    got = predictions(data).curve(curve.text).collect()
    assert [name for name in got.columns if name not in data.by] == list(curve.columns)
    points, known = data.groups(got), data.groups(data.known)
    threshold = data.options.get("threshold", 0.5)
    compared = 0
    for key, frame in known.items():
        rows = rows_of(frame, "binary", threshold=threshold, weight=data.weight)
        if not len(rows.label):
            # Without keys, a curve may keep its start: there is no slice to leave out.
            assert key not in points or points[key].height <= 1
            continue
        wanted = curve.points(rows)
        found = points.get(key, got.clear()).select(curve.columns).to_numpy()
        np.testing.assert_allclose(found, wanted, **TOLERANCE, err_msg=str(key))
        compared += 1
    assert compared or "no " in data.name or "slice without" in data.name
    assert points.keys() <= known.keys() | {()}


@pytest.mark.parametrize("data", [data for data in BINARY if data.weight == "w"], ids=str)
def test_hull_of_real_weights_has_the_vertices_and_at_most_what_rounds(data: Data) -> None:
    found = data.groups(predictions(data).curve("roc_hull").collect())
    for key, frame in data.groups(data.known).items():
        rows = rows_of(frame, "binary", weight="w")
        got = found.get(key, pl.DataFrame(schema=dict.fromkeys(ROC, pl.Float64)))
        got = got.select(ROC).to_numpy()[:, 1:]
        wanted = hull(rows)[:, 1:]
        apart = np.abs(wanted[:, None] - got).sum(axis=2)
        assert (apart.min(axis=1, initial=1) < 1e-12).all() or not len(wanted)
        assert len(wanted) or not len(got)
        if len(wanted):
            # What is above the hull's lines by a last digit is no other curve.
            above = np.interp(got[:, 0], wanted[:, 0], wanted[:, 1])
            assert (np.abs(above - got[:, 1])[got[:, 0] > 0] < 1e-12).all()


def test_hull_of_a_random_walk_equals_scipy() -> None:
    rng = np.random.default_rng(7)
    frame = pl.DataFrame({"y": rng.integers(0, 2, 5000), "p": rng.permutation(5000) / 5000})
    got = sqleval.scan(frame, label="y", score="p").curve("roc_hull").collect()
    wanted = hull(rows_of(frame, "binary"))
    assert len(wanted) > 5
    np.testing.assert_allclose(got.to_numpy(), wanted, **TOLERANCE)


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
        wanted = hull(rows_of(part, "binary", weight="count"))
        np.testing.assert_allclose(got.select(ROC).to_numpy(), wanted, **TOLERANCE)


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
    wanted = np.column_stack([-steps, fp / fp[-1], tp / tp[-1]])
    assert got.row(0) == (np.inf, 0, 0)
    np.testing.assert_allclose(got.to_numpy()[1:], wanted, **TOLERANCE)


def test_an_infinite_score_that_is_a_vertex_follows_the_start() -> None:
    frame = pl.DataFrame({"y": [1, 1, 0, 0], "p": [np.inf, np.inf, 0.5, 0.1]})
    got = sqleval.scan(frame, label="y", score="p").curve("roc_hull").collect()
    assert got.rows() == [(np.inf, 0, 0), (np.inf, 0, 1), (0.1, 1, 1)]


def test_roc_comes_back_from_pr_wherever_a_positive_is_found() -> None:
    frame = drawn("binary", 300, seed=4).with_columns(pl.col("p").round(2))
    bound = sqleval.scan(frame, label="y", score="p", weight="w")
    got = bound.curve("roc_from_pr").collect().to_numpy()
    wanted = roc(rows_of(frame, "binary", weight="w"))
    found = np.append(True, wanted[1:, 2] > 0)
    np.testing.assert_allclose(got[found], wanted[found], **TOLERANCE)
    assert np.isnan(got[~found, 1:]).all()


def test_the_prior_of_pr_from_roc_changes_precision_only() -> None:
    frame = drawn("binary", 300)
    bound = sqleval.scan(frame, label="y", score="p")
    got = bound.curve("pr_from_roc", prior=0.01).collect()
    # Of the same scores with each negative 99 * P / N times, precision is that at 1 in 100.
    positives = frame["y"].sum()
    times = pl.when(y=0).then(99 * positives / (300 - positives)).otherwise(1.0)
    want = pr(rows_of(frame.with_columns(w=times), "binary", weight="w"))
    np.testing.assert_allclose(got.to_numpy(), want, **TOLERANCE)


# -- the cost curve ----------------------------------------------------------------------------


def lowest(rows: Rows, x: np.ndarray) -> np.ndarray:
    """Return the minimum over all lines at each x."""
    _, fpr, fnr = lines(rows).T
    return (fpr[:, None] * (1 - x) + fnr[:, None] * x).min(axis=0)


def check_cost_curve(rows: Rows, curve: pl.DataFrame, ratio: float = 1.0) -> None:
    """Compare a cost curve with all lines; ``ratio`` is cost_fn / cost_fp."""
    x, y, prior, threshold = curve.select(
        "probability_cost", "normalized_cost", "prior", "threshold"
    ).to_numpy().T  # fmt: skip
    assert (x[0], y[0], x[-1]) == (0, 0, 1)
    assert y[-1] == pytest.approx(0, abs=1e-12)
    assert (np.diff(x) >= 0).all()
    assert x.max() <= 1
    grid = np.linspace(0, 1, 1001)
    np.testing.assert_allclose(np.interp(grid, x, y), lowest(rows, grid), **TOLERANCE)
    # The threshold of a corner is the best one from there to the next corner.
    heights = {t: (fpr, fnr) for t, fpr, fnr in lines(rows)[1:]}
    heights[np.inf] = heights.get(np.inf, (0.0, 1.0))
    for i in np.flatnonzero(np.diff(x) > 1e-9):
        middle = (x[i] + x[i + 1]) / 2
        fpr, fnr = heights[threshold[i]] if i else heights.get(threshold[i], (0.0, 1.0))
        height = fpr * (1 - middle) + fnr * middle
        assert height == pytest.approx(lowest(rows, np.array([middle]))[0], rel=1e-9, abs=1e-12)
    # At its prior the costs put a corner where it is.
    np.testing.assert_allclose(prior * ratio / (prior * ratio + 1 - prior), x, **TOLERANCE)


@pytest.mark.parametrize("data", [d for d in BINARY if "infinite" not in d.name], ids=str)
def test_cost_curve_is_the_lowest_line(data: Data) -> None:
    curve = predictions(data).curve("cost_curve", cost_fn=5, cost_fp=2).collect()
    points = data.groups(curve)
    for key, frame in data.groups(data.known).items():
        rows = rows_of(frame, "binary", weight=data.weight)
        if ref.both(rows):
            check_cost_curve(rows, points[key], 2.5)
        else:
            # Where a class is missing there are no lines, and so no lowest one.
            assert key not in points or points[key].is_empty()


def test_cost_curve_takes_infinite_scores() -> None:
    frame = pl.DataFrame({"y": [1, 0, 1, 0, 1], "p": [np.inf, np.inf, 1.0, -np.inf, 0.0]})
    curve = sqleval.scan(frame, label="y", score="p", threshold=0).curve("cost").collect()
    rows = rows_of(frame, "binary")
    grid = np.linspace(0, 1, 1001)
    got = np.interp(grid, curve["probability_cost"], curve["normalized_cost"])
    np.testing.assert_allclose(got, lowest(rows, grid), **TOLERANCE)


def test_only_the_ratio_of_costs_counts() -> None:
    frame = drawn("binary", 300)
    bound = sqleval.scan(frame, label="y", score="p", weight="w", by="h")
    small = bound.curve("cost_curve", cost_fn=5, cost_fp=1).collect()
    large = bound.curve("cost_curve", cost_fn=50, cost_fp=10).collect()
    assert_frame_equal(small, large, abs_tol=1e-15)
    for (h,), part in small.partition_by("h", as_dict=True).items():
        check_cost_curve(rows_of(frame.filter(h=h), "binary", weight="w"), part, 5)


# -- calibration and gain against a library ------------------------------------------------------


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


def test_calibration_refuses_scores_that_are_no_probabilities() -> None:
    frame = pl.DataFrame({"y": [0, 1], "p": [0.5, 1.5]})
    with pytest.raises(sqleval.DataError, match=r"needs? scores in 0 .. 1"):
        sqleval.scan(frame, label="y", score="p").curve("calibration").collect()


def test_gain_table_worked_by_hand() -> None:
    # Ten rows, half of them found in the first three; the tie of four straddles two places.
    frame = pl.DataFrame({"y": [1, 1, 0, 1, 0, 1, 0, 0, 0, 0], "p": [9, 8, 7, 5, 5, 5, 5, 3, 2, 1]})
    bound = sqleval.scan(frame, label="y", score="p", threshold=5)
    assert bound.curve("gain_table").collect().height == 10
    rows = bound.curve("gain_table", bins=2).collect().rows()
    # Half of the rows: the first three and two of the tie of four, which brings one positive.
    assert rows[0] == pytest.approx((0.5, 5, 0.75, 1.5, 0.75 - 2 / 6))
    assert rows[1] == pytest.approx((1.0, 1, 1.0, 1.0, 0.0))


@pytest.mark.parametrize("bins", [0, -1, 1.5, 10_001])
def test_gain_table_refuses_what_is_no_number_of_bins(bins: Any) -> None:
    bound = sqleval.scan(drawn("binary"), label="y", score="p")
    with pytest.raises(RequestError, match="bins"):
        bound.curve("gain_table", bins=bins)


# -- dominance ---------------------------------------------------------------------------------


def pieces(frame: pl.DataFrame, one: str, other: str) -> list[tuple[float, float, str | None]]:
    """Return the stretches of the reference, with the model that lies above."""
    curves = [roc(rows_of(frame.with_columns(p=name), "binary")) for name in (one, other)]
    above = {1: one, -1: other, 0: None}
    stretches = ref.dominance(*(column for each in curves for column in each.T[1:]))
    return [(start, end, above[sign]) for start, end, sign in stretches]


def assert_dominance(got: pl.DataFrame, frame: pl.DataFrame, names: list[str]) -> None:
    found = got.partition_by("model", "other_model", as_dict=True)
    assert list(found) == list(combinations(names, 2))
    for (one, other), part in found.items():
        wanted = pieces(frame, one, other)
        assert part["above"].to_list() == [piece[2] for piece in wanted]
        places = part.select("from_fpr", "to_fpr").to_numpy()
        np.testing.assert_allclose(places, [piece[:2] for piece in wanted], rtol=0, atol=1e-9)


def rivals(seed: int) -> pl.DataFrame:
    """Return rows with the scores of three models, with more or fewer ties."""
    rng = np.random.default_rng(seed)
    label = np.append([0, 1], rng.integers(0, 2, 10 + 3 * seed))
    scores = rng.normal(label[:, None] * [0.4, 0.8, 1.2], 1, (len(label), 3))
    scores = scores.round(seed % 3) if seed % 4 else scores
    return pl.DataFrame({"y": label, "a": scores[:, 0], "b": scores[:, 1], "c": scores[:, 2]})


@pytest.mark.parametrize("seed", range(30))
def test_dominance_equals_its_reference(seed: int) -> None:
    frame, names = rivals(seed), ["a", "b", "c"]
    bound = sqleval.scan(frame, label="y", score={name: name for name in names}, threshold=0)
    assert_dominance(bound.curve("roc_dominance").collect(), frame, names)


def test_dominance_of_one_model_everywhere_is_one_row() -> None:
    frame = pl.DataFrame({"y": [0, 0, 1, 1], "good": [1, 2, 3, 4], "bad": [4, 3, 2, 1]})
    roles = {"label": "y", "score": {"good": "good", "bad": "bad"}, "threshold": 2}
    got = sqleval.scan(frame, **roles).curve("roc_dominance").collect()
    assert got.rows() == [("bad", "good", 0, 1, "good")]


def test_identical_curves_have_nothing_above() -> None:
    frame = drawn("binary").with_columns(q=pl.col("p") ** 3)
    bound = sqleval.scan(frame, label="y", score={"one": "p", "two": "q"})
    assert bound.curve("roc_dominance").collect().rows() == [("one", "two", 0, 1, None)]


def test_dominance_by_slice_leaves_out_slices_of_one_class() -> None:
    frame = pl.concat(
        [
            rivals(9).with_columns(g=pl.lit("many")),
            rivals(2).with_columns(g=pl.lit("few")),
            rivals(5).with_columns(y=1, g=pl.lit("none")),
        ],
        how="vertical_relaxed",
    )
    roles = {"label": "y", "score": {"a": "a", "c": "c"}, "threshold": 0, "by": "g"}
    parts = (
        sqleval.scan(frame, **roles)
        .curve("roc_dominance")
        .collect()
        .partition_by("g", as_dict=True)
    )
    assert list(parts) == [("few",), ("many",)]
    for (g,), part in parts.items():
        assert_dominance(part, frame.filter(g=g), ["a", "c"])


def test_dominance_takes_weights_as_repeated_rows() -> None:
    frame = rivals(12).with_columns(n=pl.int_range(pl.len()) % 3 + 1)
    roles = {"label": "y", "score": {"a": "a", "b": "b"}, "threshold": 0}
    got = sqleval.scan(frame, **roles, weight="n").curve("roc_dominance").collect()
    repeated = frame[np.repeat(np.arange(frame.height), frame["n"].to_numpy())]
    assert_dominance(got, repeated, ["a", "b"])


def test_dominance_needs_models() -> None:
    bound = sqleval.scan(drawn("binary"), label="y", score="p")
    with pytest.raises(RequestError, match="several models are needed"):
        bound.curve("roc_dominance")


# -- what holds of all -------------------------------------------------------------------------

#: Curves that have tests of their own.
OWN: dict[str, Callable[..., None]] = {
    "cost_curve": test_cost_curve_is_the_lowest_line,
    "roc_dominance": test_dominance_equals_its_reference,
}
NAMES = [row["name"] for row in sqleval.metrics() if row["kind"] == "curve"]


@pytest.mark.parametrize("name", NAMES)
def test_every_curve_file_has_a_test(name: str) -> None:
    assert name in {curve.name for curve in CURVES} | OWN.keys()


@pytest.mark.parametrize("weight", [None, "count", "w"])
@pytest.mark.parametrize("rows", [0, 60])
@pytest.mark.parametrize("name", NAMES)
def test_columns_are_of_the_promised_types(name: str, rows: int, weight: str | None) -> None:
    frame = drawn("binary", 60).with_columns(q="w").head(rows)
    for by in ([], ["g", "h"]):
        score: Any = {"one": "p", "two": "q"}
        bound = sqleval.scan(frame, label="y", score=score, weight=weight, by=by)
        lazy = bound.curve(name)
        curve = lazy.collect()
        assert curve.schema == lazy.collect_schema()
        assert curve.columns[: len(by)] == by
        if rows:
            assert curve.height
        elif by:
            assert curve.is_empty()


@pytest.mark.parametrize("name", NAMES)
def test_a_curve_by_slice_is_that_of_the_rows_of_the_slice(name: str) -> None:
    frame = drawn("binary", 100, seed=8).with_columns(q="w")
    roles: dict[str, Any] = {"label": "y", "score": {"one": "p", "two": "q"}, "by": "g"}
    lazy = sqleval.scan(frame, **roles).curve(name)
    whole = lazy.collect()
    assert whole["g"].unique().len() == 3
    for key, part in whole.partition_by("g", as_dict=True).items():
        rows = frame.filter(pl.col("g").eq_missing(pl.lit(key[0])))
        alone = sqleval.scan(rows, **roles).curve(name).collect()
        assert_frame_equal(part, alone)
    north = lazy.filter(g="north").collect()
    assert_frame_equal(north, whole.filter(g="north"))


def test_parameters_may_stand_in_the_text() -> None:
    frame = drawn("binary")
    bound = sqleval.scan(frame, label="y", score="p")
    got = bound.curve("cost(cost_fn=5)").collect()
    check_cost_curve(rows_of(frame, "binary"), got, 5)
    # What is given beside the text comes after it.
    got = bound.curve("cost(cost_fn=5)", cost_fn=3).collect()
    check_cost_curve(rows_of(frame, "binary"), got, 3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cots", "no curve called 'cots'"),
        ("roc_auc", "no curve called 'roc_auc'"),
        ("cost(cost_fn=-1)", "cost_fn"),
        ("cost(cost=1)", "no parameter 'cost'"),
        ("cost(", "cannot read"),
        ("calibration(strategy='equal')", "strategy"),
        ("pr_from_roc(prior=1)", "prior"),
        ("pr(start='zero')", "start"),
    ],
)
def test_what_is_no_curve_is_refused(text: str, message: str) -> None:
    bound = sqleval.scan(drawn("binary"), label="y", score="p")
    with pytest.raises(RequestError) as refused:
        bound.curve(text)
    assert message in str(refused.value)
