"""Trends: lines with bands, and marks of failed gates."""

from typing import Any

import polars as pl

from sqleval.plots.charts import draw_trend, write_svg

DAY = 86_400_000
FRAME = pl.DataFrame(
    {
        "slice": ["all rows"] * 3,
        "x": [0, DAY, 2 * DAY],
        "y": [0.7, 0.8, 0.6],
        "low": [0.6, None, 0.5],
        "high": [0.75, None, 0.7],
        "part": ["a"] * 3,
        "failed": [False, False, True],
    }
)
NONE = pl.DataFrame(schema={"x": pl.Int64})


def list_marks(frame: pl.DataFrame, others: pl.DataFrame) -> dict[str, list[str]]:
    """Return the rows of each mark as CSV."""
    chart: Any = draw_trend(frame, others, title="roc_auc").to_dict()
    layers = chart["layer"]
    names = [
        "band", "line", "points", "failed", "other",
    ] if others.height else ["band", "line", "points", "failed"]  # fmt: skip
    assert len(layers) == len(names)
    return {
        name: chart["datasets"][layer["data"]["name"]].splitlines()[1:]
        for name, layer in zip(names, layers, strict=True)
    }


def test_a_trend_has_a_band_a_line_and_marks() -> None:
    marks = list_marks(FRAME, pl.DataFrame({"x": [DAY]}))
    assert [each.split(",")[2:] for each in marks["band"]] == [
        ["0", "0.6", "0.75"], [str(2 * DAY), "0.5", "0.7"],
    ]  # fmt: skip
    assert len(marks["line"]) == 3
    assert marks["failed"] == [f"{2 * DAY},0.6"]
    assert marks["other"] == [str(DAY)]
    assert "other" not in list_marks(FRAME, NONE)


def test_a_trend_is_an_svg_that_scales() -> None:
    two = pl.concat([FRAME, FRAME.with_columns(slice=pl.lit("model=b"))])
    svg = write_svg(draw_trend(two, NONE, title="roc_auc"))
    assert "viewBox" in svg
    assert "model=b" in svg
    assert "Jan 02" in svg or "Fri 02" in svg
