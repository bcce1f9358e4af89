"""Facts beside a curve: areas, rows, shares, operating points, and matrices of counts."""

import re
from typing import Any

import polars as pl
import pytest

import sqleval
from sqleval import RequestError
from sqleval.plots.charts import write_svg
from tests.support.flights import ROWS

TWO = sqleval.scan(ROWS, label="delayed", score={"one": "p", "two": "q"})
ONE = sqleval.scan(ROWS, label="delayed", score="p")


def texts(node: Any) -> list[str]:
    """Return every text of a chart: titles, legends, labels, data."""
    if isinstance(node, dict):
        return [text for value in node.values() for text in texts(value)]
    if isinstance(node, list):
        return [text for value in node for text in texts(value)]
    return [node] if isinstance(node, str) else []


def rows(chart: Any, *columns: str) -> pl.DataFrame:
    """Return the data of the layer that has exactly these columns, and a row for each model."""
    for text in texts(chart.to_dict()):
        first, *rest = text.splitlines() or [""]
        if set(first.split(",")) == set(columns) and len(rest) == 2:
            return pl.read_csv(text.encode())
    raise AssertionError(f"no layer with {columns}")


def values(bound: sqleval.Predictions, metric: str) -> list[float]:
    return bound.evaluate(metric).collect()["value"].to_list()


@pytest.mark.parametrize(
    ("curve", "name", "metric"),
    [
        ("roc", "AUC", "roc_auc"),
        ("pr", "AP", "average_precision"),
        ("calibration", "ECE", "expected_calibration_error"),
    ],
)
def test_the_legend_has_the_metric_and_the_rows(curve: str, name: str, metric: str) -> None:
    shown = texts(TWO.plot(curve).to_dict())
    for model, value in zip(("one", "two"), values(TWO, metric), strict=True):
        assert f"{model}: {name} {value:.3f}, n = {ROWS.height:,}" in shown
    (alone,) = values(ONE, metric)
    title = ONE.plot(curve).to_dict()["title"]
    assert title["subtitle"] == f"{name} {alone:.3f}, n = {ROWS.height:,}"
    assert title["text"].endswith(": delayed")


def test_precision_of_chance_and_break_even_points() -> None:
    chart = TWO.plot("pr")
    assert f"prevalence {ROWS['delayed'].mean():.3f}" in texts(chart.to_dict())
    points = [
        pl.read_csv(text.encode())
        for text in texts(chart.to_dict())
        if text.startswith("x,y\n") and text.count("\n") == 3
    ]
    even = values(TWO, "break_even_point")
    assert any(sorted(each["x"]) == pytest.approx(sorted(even)) for each in points)


def test_the_operating_point_is_the_best_threshold_at_the_costs() -> None:
    chart = TWO.plot("cost", cost_fn=5)
    best = values(TWO, "best_expected_cost_threshold(cost_fn=5)")
    shown = f"costs 5 : 1, best threshold one {best[0]:.4g}, two {best[1]:.4g}"
    assert shown in texts(chart.to_dict())
    share = ROWS["delayed"].mean()
    assert isinstance(share, float)
    lines = rows(chart, "series", "x", "y", "x2", "y2")
    dots = rows(chart, "series", "x", "y")
    for threshold, line, dot in zip(
        best, lines.rows(named=True), dots.rows(named=True), strict=True
    ):
        score = {"one": "p", "two": "q"}[line["series"].partition(":")[0]]
        bound = sqleval.scan(ROWS, label="delayed", score=score)
        rates = [f"{name}(threshold={threshold!r})" for name in ("false_positive_rate", "recall")]
        fpr, tpr = bound.evaluate(rates).collect()["value"]
        # The line of a threshold runs from its false positive rate to its false negative rate.
        assert (line["y"], line["y2"]) == pytest.approx((fpr, 1 - tpr), abs=1e-12)
        x = 5 * share / (5 * share + 1 - share)
        assert (dot["x"], dot["y"]) == pytest.approx((x, (1 - x) * fpr + x * (1 - tpr)))
    # A curve without costs marks no point.
    assert not any(text.startswith("costs ") for text in texts(TWO.plot("cost").to_dict()))


def test_the_names_of_operating_points_are_whole() -> None:
    bound = sqleval.scan(ROWS, label="delayed", score={"v:1": "p", "v:2": "q"})
    best = values(bound, "best_expected_cost_threshold(cost_fn=5)")
    shown = f"costs 5 : 1, best threshold v:1 {best[0]:.4g}, v:2 {best[1]:.4g}"
    assert shown in texts(bound.plot("cost", cost_fn=5).to_dict())


def test_a_matrix_shows_its_counts() -> None:
    shown = texts(ONE.plot("confusion", threshold=0.3).to_dict())
    (cells,) = (text for text in shown if text.startswith("series,"))
    table = pl.read_csv(cells.encode())
    truth, positive = ROWS["delayed"], (ROWS["p"] >= 0.3).cast(pl.Int64)
    for row in table.iter_rows(named=True):
        n = ((truth == row["label"]) & (positive == row["prediction"])).sum()
        name = {(1, 1): "TP", (0, 1): "FP", (1, 0): "FN", (0, 0): "TN"}[
            row["label"], row["prediction"]
        ]
        assert row["text"] == f"{name} {n:,}"
        assert row["percent"] == f"{100 * n / (truth == row['label']).sum():.1f}%"


def test_a_matrix_of_several_classes_has_empty_cells() -> None:
    frame = pl.DataFrame({"y": ["a", "b", "c", "a"], "c": ["a", "b", "a", "a"], "m": 1})
    bound = sqleval.scan(frame, label="y", prediction="c", by="m")
    (cells,) = (
        text for text in texts(bound.plot("confusion").to_dict()) if text.startswith("series,")
    )
    counts = pl.read_csv(cells.encode()).select("label", "prediction", "n")
    assert counts.height == 9
    assert counts.filter(pl.col("n") > 0).rows() == [("a", "a", 2), ("b", "b", 1), ("c", "a", 1)]


def test_a_matrix_of_many_classes_has_small_cells_in_order() -> None:
    frame = pl.DataFrame({"y": range(40), "w": [1523.0] * 39 + [0.25]})
    bound = sqleval.scan(frame, label="y", prediction="y", weight="w", task="multiclass")
    svg = write_svg(bound.plot("confusion"))
    assert int(re.findall(r' width="(\d+)"', svg)[0]) < 1300
    shown = re.findall(r">([^<>]+)</text>", svg)
    assert [text for text in shown if text.isdigit()] == [str(i) for i in range(40)] * 2
    assert (shown.count("1.52k"), shown.count("0.25")) == (39, 1)


def test_long_names_take_several_lines() -> None:
    hour = "late by more than an hour"
    segment = "a segment of customers, with a name of many letters"
    frame = pl.DataFrame({"y": [hour, "b", "c"], "c": ["b", "b", hour], "m": segment})
    svg = write_svg(sqleval.scan(frame, label="y", prediction="c", by="m").plot("confusion"))
    lines = re.findall(r">([^<>]+)</t(?:ext|span)>", svg)
    assert {"late by more", "than an hour", "a segment of customers, with"} <= {*lines}
    assert max(map(len, lines)) == 28


def test_a_picture_of_a_page_has_its_legend_below() -> None:
    svg = write_svg(TWO.plot("roc"))
    # Narrow pages would shrink a wider picture, and its text.
    assert int(re.findall(r' width="(\d+)"', svg)[0]) < 450


def test_many_calibrations_are_many_plots() -> None:
    frame = ROWS.with_columns(g=pl.int_range(pl.len()) % 12)
    chart = sqleval.scan(frame, label="delayed", score="p", by="g").plot("calibration").to_dict()
    assert chart["facet"]["field"] == "series"
    assert len(chart["facet"]["sort"]) == 12


def test_classes_have_their_own_areas() -> None:
    frame = pl.DataFrame({"y": ["a", "b"] * 4, "pa": [0.8, 0.3, 0.6, 0.6, 0.7, 0.1, 0.2, 0.4]})
    frame = frame.with_columns(pb=1 - pl.col("pa"))
    roles = {"label": "y", "score": {"a": "pa", "b": "pb"}, "task": "multiclass"}
    bound = sqleval.scan(frame, **roles)
    first, second = values(bound, "roc_auc(average=None)")
    shown = texts(bound.plot("roc").to_dict())
    assert {f"a: AUC {first:.3f}, n = 8", f"b: AUC {second:.3f}, n = 8"} <= set(shown)


def test_a_lorenz_curve_has_its_gini() -> None:
    amounts = pl.DataFrame({"y": [1.5, 2.5, 4.0, 0.5], "v": [1.0, 3.5, 3.0, 0.2]})
    scan = sqleval.scan(amounts, label="y", prediction="v")
    (gini,) = values(scan, "regression_gini")
    title = scan.plot("lorenz").to_dict()["title"]
    assert title["subtitle"] == f"normalized Gini {gini:.3f}, n = 4"


def test_a_curve_without_points_says_why() -> None:
    amounts = pl.DataFrame({"y": [1.5, -2.5], "v": [1.0, 3.5]})
    with pytest.raises(RequestError, match=r"label_share \(a label is negative, or all are 0\)"):
        sqleval.scan(amounts, label="y", prediction="v").plot("lorenz")
    positives = pl.DataFrame({"y": [1, 1], "p": [0.1, 0.4]})
    with pytest.raises(RequestError, match=r"fpr, tpr \(no negative labels\)"):
        sqleval.scan(positives, label="y", score="p").plot("roc")
