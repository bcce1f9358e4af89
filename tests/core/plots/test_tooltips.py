"""Tooltips: every chart shows the numbers of its marks; files without a pointer leave them out."""

import io
from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest

import sqleval
from sqleval.plots.charts import draw_trend, write_svg
from tests.core.plots.test_plots import CURVES, INF, KEYS, draw_curve, example
from tests.core.plots.test_trends import FRAME, NONE

#: Some numbers under the pointer of each chart, by title.
TITLES = {
    "calibration_curve": {"mean predicted probability", "observed share", "rows"},
    "cost_curve": {"probability cost", "normalized expected cost", "prior", "threshold"},
    "cost_lines": {"false positive rate", "false negative rate", "threshold"},
    "error_by_quantile": {"predicted", "rmse", "mae", "bias", "n"},
    "gain_curve": {"threshold", "lift"},
    "gain_table": {"share of rows targeted", "lift"},
    "ks_curve": {"threshold", "share of positives", "share of negatives", "distance"},
    "lorenz_curve": {"prediction"},
    "pr_curve": {"Recall", "Precision", "threshold"},
    "pr_from_roc": {"Recall", "Precision", "threshold"},
    "predicted_vs_actual": {"mean prediction", "mean label", "rows"},
    "rec_curve": {"absolute error", "share of rows"},
    "residual_histogram": {"from", "to", "share of rows", "rows"},
    "residuals": {"predicted", "median", "q05", "q25", "q75", "q95", "n"},
    "roc_curve": {"False positive rate (1 - specificity)", "threshold"},
    "roc_from_pr": {"threshold"},
    "roc_hull": {"threshold"},
    "score_histogram": {"class", "from", "to", "rows", "share of the class"},
    "threshold_curve": {
        "threshold", "precision", "recall", "F1", "cost per row",
        "rows predicted positive",
    },
}  # fmt: skip


def list_parts(content: Any) -> Iterator[dict[str, Any]]:
    """Yield a chart and all charts inside of it."""
    yield content
    for name in ("layer", "hconcat", "vconcat", "concat"):
        for part in content.get(name, ()):
            yield from list_parts(part)
    if "spec" in content:
        yield from list_parts(content["spec"])


def list_tooltips(chart: Any) -> list[dict[str, Any]]:
    """Return every tooltip of a chart, after a check that its column is in the data."""
    content = chart.to_dict()
    found: list[dict[str, Any]] = []
    for part in list_parts(content):
        shown = part.get("encoding", {}).get("tooltip", ())
        shown = [shown] if isinstance(shown, dict) else shown
        data = part.get("data", content.get("data"))
        if shown and data is not None:
            frame = pl.read_csv(io.StringIO(content["datasets"][data["name"]]))
            assert {each["field"] for each in shown} <= set(frame.columns)
        found += shown
    return found


@pytest.mark.parametrize("curve", CURVES)
def test_every_chart_has_its_numbers_under_the_pointer(curve: str) -> None:
    alone = {each["title"] for each in list_tooltips(draw_curve(curve, example(curve)))}
    assert alone >= TITLES[curve]
    frame = pl.concat(
        example(curve).with_columns(model=pl.lit(model), origin=pl.lit("JFK")) for model in "ab"
    )
    several = list_tooltips(draw_curve(curve, frame, KEYS))
    assert {each["title"] for each in several} >= TITLES[curve] | {"model, origin"}


@pytest.mark.parametrize("curve", ["roc", "cost", "calibration"])
def test_bands_are_under_the_pointer(curve: str) -> None:
    rows = pl.DataFrame({"y": [0, 1] * 40, "p": [i * 37 % 80 / 80 for i in range(80)]})
    chart = sqleval.scan(rows, label="y", score="p").plot(curve, ci=0.9, replicates=100)
    assert {each["title"] for each in list_tooltips(chart)} >= {"low", "high"}


def test_matrices_and_trends_have_tooltips() -> None:
    rows = pl.DataFrame({"y": [0, 1, 1], "p": [0.2, 0.4, 0.9]})
    shown = list_tooltips(sqleval.scan(rows, label="y", score="p").plot("confusion"))
    assert {each["title"] for each in shown} >= {"label", "prediction", "rows", "share"}
    ones = pl.DataFrame({"y": [1], "p": [0.2]})
    chart = sqleval.scan(ones, label="y", score="p", positive=1).plot("confusion")
    assert "NaN" not in str(chart.to_dict())
    titles = {each["title"] for each in list_tooltips(draw_trend(FRAME, NONE, title="f1"))}
    assert titles == {"value", "low", "high", "time"}


def test_numbers_are_texts_with_infinite_and_missing_ones() -> None:
    content = draw_curve("gain_curve", example("gain_curve")).to_dict()
    (hover,) = [part for part in content["layer"] if part["mark"].get("style") == "hover"]
    table = pl.read_csv(io.StringIO(content["datasets"][hover["data"]["name"]]))
    assert table.row(0, named=True)["text_threshold"] == INF
    assert table["text_lift"].to_list()[:2] == ["undefined", "2"]


def test_pictures_leave_out_what_only_a_pointer_shows() -> None:
    frame = pl.DataFrame({"threshold": range(3000), "fpr": range(3000), "tpr": range(3000)})
    frame = frame.with_columns(pl.col("fpr", "tpr") / 2999)
    chart = draw_curve("roc_curve", frame)
    content = chart.to_dict()
    (hover,) = [part for part in content["layer"] if part["mark"].get("style") == "hover"]
    assert content["datasets"][hover["data"]["name"]].count("\n") < 310
    assert 'class="mark-symbol' in (svg := write_svg(chart))  # the ideal point
    assert svg.count('aria-roledescription="point"') == 1
