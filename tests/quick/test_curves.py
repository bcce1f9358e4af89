"""Every curve equals its reference on difficult data; the cost curve; dominance."""

from collections.abc import Callable
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest

import sqleval
from sqleval import RequestError
from sqleval.catalog import builtin
from tests.support import references as ref
from tests.support.cases import Data, Rows, drawn, predictions, rows_of
from tests.support.comparison import assert_frame_equal
from tests.support.curve_points import BINARY, COMPARED, CURVES, TOLERANCE, Curve, lines, roc

#: Data sets that differ from others only in the type of scores or in combinations of scores and
#: weights. Steps that all curves share read them, so half of the curves get each, in turn.
SHARED = ("FLOAT scores", "infinite and weighted", "real weights", "one row")


@pytest.mark.parametrize(
    ("curve", "data"),
    [
        pytest.param(curve, data, id=f"{curve}-{data.name}")
        for nth, curve in enumerate(CURVES)
        for place, data in enumerate(COMPARED[curve.kind])
        if (nth + place) % 2 or not data.name.startswith(SHARED)
        if not (curve.probabilities and data.outside)
        # Sums of real weights are rounded, so rounding decides which points are vertices.
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
        rows = rows_of(frame, curve.kind, threshold=threshold, weight=data.weight)
        if not len(rows.label):
            # Without keys, a curve may keep its start, because there is no slice to leave out.
            assert key not in points or points[key].height <= 1
            continue
        expected = curve.points(rows)
        found = points.get(key, got.clear()).select(curve.columns).to_numpy()
        assert found.shape == expected.shape, str(key)
        for name, one, other in zip(curve.columns, found.T, expected.T, strict=True):
            # A mean of positive and negative errors is rounded at the size of the errors.
            size = np.max(np.abs(other), where=np.isfinite(other), initial=1)
            atol = TOLERANCE["atol"] * (size if curve.kind == "regression" else 1)
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=atol, err_msg=f"{key} {name}")
        compared += 1
    assert compared or "no " in data.name or "slice without" in data.name
    assert points.keys() <= known.keys() | {()}


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
            # Without one of the classes there are no lines, and so no minimum.
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


def pieces(
    frame: pl.DataFrame, one: str, other: str, weight: str | None = None
) -> list[tuple[float, float, str | None]]:
    """Return the stretches of the reference, with the model that lies above."""
    frames = [frame.with_columns(p=name) for name in (one, other)]
    curves = [roc(rows_of(each, "binary", weight=weight)) for each in frames]
    above = {1: one, -1: other, 0: None}
    stretches = ref.dominance(*(column for each in curves for column in each.T[1:]))
    return [(start, end, above[sign]) for start, end, sign in stretches]


def assert_dominance(
    got: pl.DataFrame, frame: pl.DataFrame, names: list[str], weight: str | None = None
) -> None:
    found = got.partition_by("model", "other_model", as_dict=True)
    assert list(found) == list(combinations(names, 2))
    for (one, other), part in found.items():
        expected = pieces(frame, one, other, weight)
        assert part["above"].to_list() == [piece[2] for piece in expected]
        places = part.select("from_fpr", "to_fpr").to_numpy()
        np.testing.assert_allclose(places, [piece[:2] for piece in expected], rtol=0, atol=1e-9)


def rivals(seed: int) -> pl.DataFrame:
    """Return rows with the scores of three models, with more or fewer ties."""
    rng = np.random.default_rng(seed)
    label = np.append([0, 1], rng.integers(0, 2, 10 + 3 * seed))
    scores = rng.normal(label[:, None] * [0.4, 0.8, 1.2], 1, (len(label), 3))
    scores = scores.round(seed % 3) if seed % 4 else scores
    return pl.DataFrame({"y": label, "a": scores[:, 0], "b": scores[:, 1], "c": scores[:, 2]})


def test_dominance_equals_its_reference() -> None:
    # Many sets of rows as slices, in one statement; some of them once more alone.
    names, sets = ["a", "b", "c"], {seed: rivals(seed) for seed in range(30)}
    roles: dict[str, Any] = {"label": "y", "score": {name: name for name in names}, "threshold": 0}
    stack = pl.concat(part.with_columns(seed=pl.lit(seed)) for seed, part in sets.items())
    got = sqleval.scan(stack, **roles, by="seed").curve("roc_dominance").collect()
    parts = got.partition_by("seed", as_dict=True)
    assert list(parts) == [(seed,) for seed in sets]
    for (seed,), part in parts.items():
        assert_dominance(part, sets[seed], names)
    for seed in (0, 1, 2, 3, 29):
        got = sqleval.scan(sets[seed], **roles).curve("roc_dominance").collect()
        assert_dominance(got, sets[seed], names)


def test_dominance_of_one_model_everywhere_is_one_row() -> None:
    frame = pl.DataFrame({"y": [0, 0, 1, 1], "good": [1, 2, 3, 4], "bad": [4, 3, 2, 1]})
    roles = {"label": "y", "score": {"good": "good", "bad": "bad"}, "threshold": 2}
    got = sqleval.scan(frame, **roles).curve("roc_dominance").collect()
    assert got.rows() == [("bad", "good", 0, 1, "good")]


def test_identical_curves_have_nothing_above() -> None:
    frame = drawn("binary").with_columns(q=pl.col("p") ** 3)
    bound = sqleval.scan(frame, label="y", score={"one": "p", "two": "q"})
    assert bound.curve("roc_dominance").collect().rows() == [("one", "two", 0, 1, None)]


def relation_of(stretches: list[tuple[float, float, str | None]], one: str) -> tuple[Any, ...]:
    """Summarise the stretches of a pair from the view of one model: relation and crossings."""
    leads = [(start, above) for start, _, above in stretches if above]
    crossings = [b[0] for a, b in pairwise(leads) if a[1] != b[1]]
    winners = {above for _, above in leads}
    relation = "encloses" if winners == {one} else "is enclosed by"
    relation = {0: "coincides with", 2: "crosses"}.get(len(winners), relation)
    ends = (crossings[0], crossings[-1]) if crossings else (None, None)
    return (relation, len(crossings), *ends)


def test_enclosure_follows_from_the_ranges() -> None:
    # Two slices for each seed; in one, curves coincide somewhere or everywhere.
    names, parts = ["a", "b", "c"], {}
    for seed in range(15):
        parts["as drawn", seed] = rivals(seed)
        parts["alike", seed] = rivals(seed).with_columns(
            b=pl.col("a") * 2, c=pl.max_horizontal("a", "c")
        )
    frame = pl.concat(
        part.with_columns(g=pl.lit(g), seed=pl.lit(seed)) for (g, seed), part in parts.items()
    )
    roles: dict[str, Any] = {"label": "y", "score": {name: name for name in names}, "threshold": 0}
    got = sqleval.scan(frame, **roles, by=["g", "seed"]).curve("roc_enclosure").collect()
    assert got.height == 6 * len(parts)
    for row in got.iter_rows(named=True):
        one, other = row["model"], row["other_model"]
        key = row["g"], row["seed"]
        expected = relation_of(pieces(parts[key], *sorted((one, other))), one)
        found = (row["relation"], row["crossings"], row["first_crossing"], row["last_crossing"])
        assert found[:2] == expected[:2], key
        assert found[2:] == pytest.approx(expected[2:], abs=1e-9), key


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


def test_sums_of_real_weights_make_no_ranges() -> None:
    # The sums of curves that coincide somewhere, or rise vertically, are rounded in several ways.
    rng = np.random.default_rng(8)
    label = rng.random(2_000) < 0.3
    frame = pl.DataFrame(
        {"y": label, "a": rng.normal(label, 1), "w": rng.random(2_000)}
    ).with_columns(b=pl.max_horizontal("a", 0.0), c=pl.col("a").exp())
    models = {name: name for name in "abc"}
    bound = sqleval.scan(frame, label="y", score=models, weight="w", threshold=0)
    got = bound.curve("roc_dominance").collect()
    assert_dominance(got, frame, list(models), "w")


def test_dominance_needs_models() -> None:
    bound = sqleval.scan(drawn("binary"), label="y", score="p")
    with pytest.raises(RequestError, match="several models are needed"):
        bound.curve("roc_dominance")


#: Curves that have tests of their own.
OWN: dict[str, Callable[..., None]] = {
    "cost_curve": test_cost_curve_is_the_lowest_line,
    "roc_dominance": test_dominance_equals_its_reference,
    "roc_enclosure": test_enclosure_follows_from_the_ranges,
}
NAMES = [row["name"] for row in sqleval.metrics() if row["kind"] == "curve"]


def scan_models(name: str, n: int, by: Any, **options: Any) -> sqleval.Predictions:
    """Return the predictions of two models over random rows, for which a curve is made."""
    regression = builtin().get(name).task == "regression"
    kind, role, one = ("regression", "prediction", "v") if regression else ("binary", "score", "p")
    frame = drawn(kind, 100, seed=8).with_columns(q="w").head(n)
    roles: dict[str, Any] = {"label": "y", role: {"one": one, "two": "q"}}
    return sqleval.scan(frame, **roles, by=by, **options)


@pytest.mark.parametrize("name", NAMES)
def test_every_curve_file_has_a_test(name: str) -> None:
    assert name in {curve.name for curve in CURVES} | OWN.keys()


@pytest.mark.parametrize("name", NAMES)
def test_columns_are_of_the_promised_types(name: str) -> None:
    # With and without rows, with each kind of weight, and with and without slice keys.
    for rows, weight, by in (
        (0, None, ["g", "h"]), (0, "w", []), (60, None, []), (60, "count", ["g", "h"]),
        (60, "w", []),
    ):  # fmt: skip
        lazy = scan_models(name, rows, by, weight=weight).curve(name)
        curve = lazy.collect()
        assert curve.schema == lazy.collect_schema()
        assert curve.columns[: len(by)] == by
        if rows:
            assert curve.height
        elif by:
            assert curve.is_empty()


@pytest.mark.parametrize("name", NAMES)
def test_a_curve_by_slice_is_that_of_the_rows_of_the_slice(name: str) -> None:
    lazy = scan_models(name, 100, "g").curve(name)
    whole = lazy.collect()
    assert whole["g"].unique().len() == 3
    # NULL is a key like any other.
    part = whole.filter(pl.col("g").is_null())
    rows = scan_models(name, 100, "g", where="g IS NULL")
    assert_frame_equal(part, rows.curve(name).collect())
    north = lazy.filter(g="north").collect()
    assert_frame_equal(north, whole.filter(g="north"))


def test_parameters_in_the_name_equal_keyword_arguments() -> None:
    frame = drawn("binary")
    bound = sqleval.scan(frame, label="y", score="p")
    got = bound.curve("cost(cost_fn=5)").collect()
    check_cost_curve(rows_of(frame, "binary"), got, 5)
    # Parameters beside the text follow those in the text.
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
def test_unknown_curves_are_refused(text: str, message: str) -> None:
    bound = sqleval.scan(drawn("binary"), label="y", score="p")
    with pytest.raises(RequestError) as refused:
        bound.curve(text)
    assert message in str(refused.value)
