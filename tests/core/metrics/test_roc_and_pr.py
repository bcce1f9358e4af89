"""ROC and PR curves and confusion matrices equal scikit-learn's on every data set."""

import warnings
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import confusion_matrix, precision_recall_curve, roc_curve

import sqleval
from sqleval import ManySlices
from tests.support.cases import Data, drawn, predictions, rows_of, stacked
from tests.support.curve_points import BINARY as COMPARED

BINARY = [data for data in stacked() if data.kind == "binary"]


def reference_curve(name: str, frame: pl.DataFrame, **options: Any) -> np.ndarray:
    """Return scikit-learn's points as (threshold, x, y), thresholds descending from infinity."""
    # Ranks replace scores, which may be infinite; the thresholds are mapped back.
    distinct, places = np.unique(frame["p"].to_numpy().astype(float), return_inverse=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name == "roc_curve":
            x, y, thresholds = roc_curve(frame["y"], places, **options)
            own = thresholds[1:]
        else:
            x, y, own = precision_recall_curve(frame["y"], places, **options)
            x, y, own = x[::-1], y[::-1], own[::-1]
            if not (frame["y"] == 1).any():
                y = np.full_like(y, np.nan)  # scikit-learn says 1
    return np.column_stack([[np.inf, *distinct[own.astype(int)]], x, y])


CURVES = [
    pytest.param(name, data, drop, id=f"{name}-{data.name}-{'dropped' if drop else 'all'}")
    for name in ("roc_curve", "pr_curve")
    for data in BINARY
    for drop in (False, True)
    # Whether three points of real weights lie on one line is a matter of rounding.
    if not (drop and data.weight == "w")
    # All points; `test_curve_equals_its_reference` compares them on this data, except the first
    # point of a PR curve.
    if drop or data not in COMPARED or (name == "pr_curve" and data.name == "plain")
]


@pytest.mark.parametrize(("name", "data", "drop"), CURVES)
def test_curve_equals_scikit_learn(name: str, data: Data, drop: bool) -> None:
    curve = predictions(data).curve(name, drop_intermediate=drop).collect()
    columns = (
        ["threshold", "fpr", "tpr"] if name == "roc_curve" else ["threshold", "precision", "recall"]
    )
    assert [column for column in curve.columns if column not in data.by] == columns
    points, known = data.groups(curve), data.groups(data.known)
    for key, frame in known.items():
        weight = frame[data.weight].to_numpy().astype(float) if data.weight else np.ones(len(frame))
        rows = frame.filter(pl.Series(weight > 0))
        if not rows.height:
            continue
        expected = reference_curve(
            name, rows, drop_intermediate=drop, sample_weight=weight[weight > 0]
        )
        got = points[key].select(columns).to_numpy()
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["roc", "pr"])
def test_curve_of_no_rows_has_its_columns(name: str) -> None:
    curve = sqleval.scan(drawn("binary").clear(), label="y", score="p", by="g").curve(name)
    assert curve.collect().schema == curve.collect_schema()
    assert curve.collect().is_empty()


def test_large_results_keep_their_order() -> None:
    rng = np.random.default_rng(5)
    n = 150_000  # more than DuckDB keeps in one piece
    frame = pl.DataFrame(
        {"y": rng.integers(0, 2, n), "p": rng.random(n), "g": rng.integers(0, 50_000, n)}
    )
    for name in ("roc", "pr", "gain"):
        curve = sqleval.scan(frame, label="y", score="p").curve(name).collect()
        assert curve.height > n
        assert curve["threshold"].is_sorted(descending=True)
    slices = sqleval.scan(frame, label="y", score="p", by="g").evaluate(["roc_auc", "prevalence"])
    with pytest.warns(ManySlices, match="makes 47,511 slices"):
        assert slices.collect()["g"].is_sorted()


def test_dropping_points_keeps_the_area() -> None:
    bound = sqleval.scan(drawn("binary", 500), label="y", score="p")
    full = bound.curve("roc").collect()
    short = bound.curve("roc", drop_intermediate=True).collect()
    assert short.height < full.height
    areas = [np.trapezoid(curve["tpr"], curve["fpr"]) for curve in (full, short)]
    assert areas[0] == pytest.approx(areas[1], rel=1e-12)


@pytest.mark.parametrize(
    "data", [data for data in stacked() if data.kind in ("binary", "multiclass")], ids=str
)
def test_confusion_equals_scikit_learn(data: Data) -> None:
    table = predictions(data).confusion().collect()
    assert table["n"].dtype == (pl.Float64 if data.weight else pl.Int64)
    tables = data.groups(table)
    threshold = data.options.get("threshold", 0.5)
    for key, frame in data.groups(data.known).items():
        rows = rows_of(frame, data.kind, threshold=threshold, weight=data.weight)
        if not len(rows.label):
            continue
        classes = rows.classes.tolist()
        with warnings.catch_warnings():
            # scikit-learn warns of a single class, even where labels= names it.
            warnings.simplefilter("ignore")
            expected = confusion_matrix(
                rows.label, rows.prediction, sample_weight=rows.weight, labels=classes
            )
        cells = {
            (a, b): n for a, b, n in tables[key].select("label", "prediction", "n").iter_rows()
        }
        got = [[cells.get((a, b), 0) for b in classes] for a in classes]
        np.testing.assert_allclose(got, expected, rtol=1e-12)
        assert sum(cells.values()) == pytest.approx(rows.weight.sum())


def test_confusion_at_a_threshold() -> None:
    frame = drawn("binary")
    table = sqleval.scan(frame, label="y", score="p").confusion(threshold=0.3).collect()
    rows = rows_of(frame, "binary", threshold=0.3)
    expected = confusion_matrix(rows.label, rows.prediction).ravel().tolist()
    assert table.sort("label", "prediction")["n"].to_list() == expected
