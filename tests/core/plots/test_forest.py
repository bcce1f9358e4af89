"""Results as pictures: forest plots, differences, and points of curves."""

import io
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sqleval
from sqleval import RequestError
from sqleval.errors import MissingExtra
from sqleval.plots.charts import write_svg
from tests.support.flights import ROWS

MODELS = {"one": "p", "two": "q"}
FEW = pl.DataFrame(
    {"y": [1, 1, 0, 1, 0], "p": [0.1, 0.3, 0.5, 0.7, 0.4], "g": ["a", "a", "b", "b", None]}
)


def read_layers(chart: Any, mark: str, plot: int = 0) -> list[pl.DataFrame]:
    """Return the data of the layers with a mark, in one of the plots."""
    content = chart.to_dict()
    return [
        pl.read_csv(io.StringIO(content["datasets"][layer["data"]["name"]]))
        for layer in content["concat"][plot]["layer"]
        if layer["mark"]["type"] == mark
    ]


def list_labels(chart: Any) -> list[str]:
    """Return the names of the rows of a forest plot, from the top."""
    (first, *_) = (
        layer for layer in chart.to_dict()["concat"][0]["layer"] if "y" in layer["encoding"]
    )
    return first["encoding"]["y"]["scale"]["domain"]


def test_a_forest_plot_has_the_values_and_intervals_of_the_result() -> None:
    scan = sqleval.scan(ROWS, label="delayed", score="p", by="carrier", sets="overall")
    result = scan.evaluate(["roc_auc", "f1"], ci=0.95).collect()
    chart = sqleval.plot(result)
    assert len(chart.to_dict()["concat"]) == 2
    assert list_labels(chart) == ["all rows", "AA", "DL", "NULL"]
    for place, metric in enumerate(("roc_auc", "f1")):
        expected = result.filter(metric=metric)
        (points,) = read_layers(chart, "point", place)
        assert points["x"].to_list() == pytest.approx(expected["value"].to_list())
        line, ends = read_layers(chart, "rule", place)
        assert ends["x"].to_list() == pytest.approx(expected["low"].to_list())
        assert ends["x2"].to_list() == pytest.approx(expected["high"].to_list())
        whole = expected.filter(pl.col("by") == "overall")["value"].item()
        assert line["x"].to_list() == pytest.approx([whole])
        assert points["text_n"].to_list() == [f"{n:,}" for n in expected["n"]]


def test_a_null_key_is_a_slice_unless_sets_say_otherwise() -> None:
    scan = sqleval.scan(FEW, label="y", score="p", by="g")
    chart = sqleval.plot(scan.evaluate("log_loss"))
    assert list_labels(chart) == ["a", "b", "NULL"]
    assert read_layers(chart, "rule")[0].is_empty()  # no interval, and no line
    assert len(read_layers(chart, "rule")) == 1
    both = FEW.with_columns(h=pl.lit("x"))
    scan = sqleval.scan(both, label="y", score="p", by=["g", "h"], sets="cube")
    labels = list_labels(sqleval.plot(scan.evaluate("log_loss")))
    assert labels[0] == "all rows"
    assert {"NULL, all", "all, x", "NULL, x"} <= {*labels}


def test_undefined_values_are_gaps_with_their_note() -> None:
    scan = sqleval.scan(FEW, label="y", score="p", by="g")
    chart = sqleval.plot(scan.evaluate("roc_auc", ci=0.95))
    (points,) = read_layers(chart, "point")
    assert points["slice"].to_list() == ["b"]
    missing = read_layers(chart, "text")[0]
    assert missing["slice"].to_list() == ["a", "NULL"]
    assert missing["text_value"].to_list() == ["undefined"] * 2
    assert missing["text_note"].to_list() == ["no negative labels", "no positive labels"]


def test_models_are_colours_beside_slices_and_rows_alone() -> None:
    scan = sqleval.scan(ROWS, label="delayed", score=MODELS, by="carrier", sets="overall")
    chart = sqleval.plot(scan.evaluate("roc_auc"))
    lines, _ = read_layers(chart, "rule")
    assert lines["series"].to_list() == ["one", "two"]
    assert "model" in write_svg(chart)
    chart = sqleval.plot(sqleval.scan(ROWS, label="delayed", score=MODELS).evaluate("roc_auc"))
    assert list_labels(chart) == ["one", "two"]
    chart = sqleval.plot(sqleval.scan(ROWS, label="delayed", score="p").evaluate("roc_auc"))
    assert list_labels(chart) == ["all rows"]


def test_a_comparison_shows_differences_beside_0() -> None:
    scan = sqleval.scan(ROWS, label="delayed", score=MODELS, by="carrier")
    result = scan.compare("roc_auc").collect()
    chart = sqleval.plot(result, title="Which is better")
    line, _ = read_layers(chart, "rule")
    assert line["x"].to_list() == [0]
    (points,) = read_layers(chart, "point")
    assert points["x"].to_list() == pytest.approx(result["difference"].to_list())
    assert set(points["series"]) == {"one - two"} or set(points["series"]) == {"two - one"}
    assert points["text_verdict"].to_list() == result["verdict"].to_list()
    assert chart.to_dict()["title"]["text"] == "Which is better"


@pytest.mark.parametrize("curve", ["roc", "threshold", "score_histogram", "calibration"])
def test_the_points_of_a_curve_are_drawn_as_by_plot(curve: str) -> None:
    scan = sqleval.scan(ROWS, label="delayed", score="p", by="carrier")
    chart = sqleval.plot(scan.curve(curve), curve).to_dict()
    drawn = scan.plot(curve).to_dict()
    assert chart["title"]["text"] == drawn["title"]["text"].removesuffix(": delayed")
    assert len(chart.get("layer", ())) in (len(drawn.get("layer", ())), 0)


def test_a_curve_with_columns_of_its_own_needs_no_name() -> None:
    scan = sqleval.scan(ROWS, label="delayed", score="p", by="carrier")
    chart = sqleval.plot(scan.curve("threshold"))
    assert chart.to_dict()["title"]["text"] == "Threshold curve"
    with pytest.raises(RequestError, match=r"roc_curve, roc_from_pr, roc_hull have these columns"):
        sqleval.plot(scan.curve("roc"))
    assert sqleval.plot(scan.confusion(), "confusion").to_dict()["facet"]["field"] == "series"


def test_results_that_cannot_be_drawn_are_refused(tmp_path: Path) -> None:
    scan = sqleval.scan(FEW, label="y", score="p", by="g")
    with pytest.raises(RequestError, match="no result of evaluate or compare"):
        sqleval.plot(FEW)
    with pytest.raises(RequestError, match="no curve called 'rok'"):
        sqleval.plot(FEW, "rok")
    with pytest.raises(RequestError, match="the result has no rows"):
        sqleval.plot(scan.evaluate("roc_auc").collect().clear())
    with pytest.raises(RequestError, match="a result is a Polars frame, and not int"):
        sqleval.plot(3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(RequestError, match="the suffix must be one of"):
        sqleval.plot(scan.evaluate("roc_auc"), output=tmp_path / "forest.pdf")
    many = pl.DataFrame({"g": range(1001), "metric": "f1", "value": 0.5, "low": 0.1, "high": 0.9})
    with pytest.raises(RequestError, match="1,001 slices are too many"):
        sqleval.plot(many)
    sqleval.plot(scan.evaluate("roc_auc"), output=tmp_path / "forest.svg")
    assert "undefined" in (tmp_path / "forest.svg").read_text(encoding="utf-8")


def test_the_extra_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    result = sqleval.scan(FEW, label="y", score="p").evaluate("roc_auc").collect()
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(MissingExtra, match="plots: cannot import 'altair'"):
        sqleval.plot(result)
