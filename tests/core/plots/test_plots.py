"""Charts: axes, series and titles, thinning that moves no curve, and self-contained files."""

import io
import re
import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sqleval
from sqleval import RequestError, SourceError
from sqleval.catalog.catalogue import builtin
from sqleval.errors import MissingExtra
from sqleval.frontend.pictures import find_chart
from sqleval.plots import charts
from sqleval.plots.charts import save_chart
from sqleval.plots.thinning import thin
from tests.support.comparison import assert_frame_equal

FLIGHTS = Path(__file__).resolve().parents[3] / "data" / "flights" / "predictions"
KEYS = ["model", "origin"]
INF, NAN = float("inf"), float("nan")
COLUMNS = 1000


def flights(curve: str) -> pl.DataFrame:
    bound = sqleval.scan(
        FLIGHTS,
        label="delayed",
        score={"logistic": "p_logistic", "boosted": "p_boosted"},
        by="origin",
        nulls="drop",
    )
    return bound.curve(curve).collect()


@pytest.fixture(scope="module")
def roc() -> pl.DataFrame:
    return flights("roc")


def draw_curve(curve: str, *args: Any, **options: Any) -> Any:
    """Draw a curve of the package with the chart of its header."""
    chart = find_chart(builtin().get(curve), builtin())
    return charts.draw_curve(chart, *args, **options)


def example(curve: str) -> pl.DataFrame:
    """Return a small curve by hand, of one series."""
    fpr = [0.0, 0.0, 0.25, 0.5, 1.0]
    tpr = [0.0, 0.5, 0.5, 1.0, 1.0]
    threshold = [INF, 0.9, 0.7, 0.4, 0.1]
    share = [0.0, 0.25, 0.375, 0.75, 1.0]
    base = {"threshold": threshold, "fpr": fpr, "tpr": tpr}
    recall = {"recall": [0.0, 0.25, 0.25, 0.5, 1.0], "precision": [1.0, 1.0, 0.5, 0.75, 0.6]}
    bins = {"bin": [1, 2, 3], "predicted": [10.0, 20.0, 30.0], "n": [5, 5, 5]}
    columns: dict[str, dict[str, Any]] = {
        "roc_curve": base,
        "roc_hull": base,
        "roc_from_pr": base,
        "pr_curve": {"threshold": threshold, **recall},
        "pr_from_roc": {"threshold": threshold, **recall},
        "ks_curve": {**base, "distance": [0.0, 0.5, 0.25, 0.5, 0.0]},
        "gain_curve": {
            "threshold": threshold,
            "share": share,
            "gain": tpr,
            "lift": [None, 2] * 2 + [1],
        },
        "gain_table": {
            "share": [0.25, 0.5, 1.0],
            "threshold": [0.9, 0.5, 0.1],
            "gain": [0.5, 0.75, 1.0],
            "lift": [2.0, 1.5, 1.0],
            "ks": [0.4, 0.5, 0.0],
        },
        "calibration_curve": {
            "bin": [0, 1, 2],
            "predicted": [0.1, None, 0.9],
            "observed": [0.2, None, 0.8],
            "n": [40, 0, 7],
        },
        "cost_curve": {
            "probability_cost": [0.0, 0.5, 1.0],
            "normalized_cost": [0.0, 0.25, 0.0],
            "prior": [0.0, 0.5, 1.0],
            "threshold": [INF, 0.7, 0.1],
        },
        "cost_lines": {"threshold": threshold, "fpr": fpr, "fnr": [1 - rate for rate in tpr]},
        "predicted_vs_actual": {
            **bins,
            "actual": [12.0, 18.0, 35.0],
            "stderr": [1.0, None, 2.0],
        },
        "error_by_quantile": {
            **bins,
            "mae": [2.0, 3.0, 4.0],
            "rmse": [3.0, 4.0, 6.0],
            "bias": [-1.0, 0.0, 1.0],
        },
        "residuals": {
            **bins,
            "mean": [0.0, 0.0, 1.0],
            **{f"q{q:02}": [q - 50.0] * 3 for q in (5, 25, 75, 95)},
            "median": [0.0, 1.0, 2.0],
        },
        "residual_histogram": {
            "bin": [0, 1, 2, 3, 4],
            "lower": [-INF, -3.0, -1.0, 1.0, 3.0],
            "upper": [-3.0, -1.0, 1.0, 3.0, INF],
            "n": [1, 2, 4, 2, 1],
        },
        "lorenz_curve": {
            "prediction": [None, 1.0, 2.0],
            "share": [0.0, 0.5, 1.0],
            "label_share": [0.0, 0.3, 1.0],
        },
        "rec_curve": {"error": [0.5, 2.0, 40.0], "share": [0.5, 0.99, 1.0]},
        "score_histogram": {
            "bin": [0, 1, 2, 3],
            "lower": [-INF, 0.0, 0.5, 1.0],
            "upper": [0.0, 0.5, 1.0, INF],
            "n_negative": [1, 6, 2, 0],
            "n_positive": [0, 1, 8, 2],
        },
        "threshold_curve": {
            "threshold": threshold,
            "precision": [None, 1.0, 0.5, 0.75, 0.6],
            "recall": recall["recall"],
            "f1": [0.0, 0.4, 0.3, 0.6, 0.75],
            "cost": [0.6, 0.45, 0.6, 0.4, 0.5],
            "n_predicted": [0, 2, 3, 6, 8],
        },
    }
    return pl.DataFrame(columns[curve], strict=False)


CURVES = [
    "calibration_curve",
    "cost_curve",
    "cost_lines",
    "error_by_quantile",
    "gain_curve",
    "gain_table",
    "ks_curve",
    "lorenz_curve",
    "pr_curve",
    "pr_from_roc",
    "predicted_vs_actual",
    "rec_curve",
    "residual_histogram",
    "residuals",
    "roc_curve",
    "roc_from_pr",
    "roc_hull",
    "score_histogram",
    "threshold_curve",
]
TITLES = {
    "calibration_curve": ["Mean predicted probability", "Observed share of positives", "Rows"],
    "cost_curve": ["Probability cost", "Normalized expected cost"],
    "cost_lines": ["Probability cost", "Normalized expected cost"],
    "error_by_quantile": ["Mean prediction", "Error", "RMSE", "MAE", "bias"],
    "gain_curve": ["Share of rows targeted", "Share of positives found (gain)", "random"],
    "gain_table": ["Share of rows targeted", "Lift (gain / share)"],
    "ks_curve": ["Threshold", "KS = 0.500 at 0.9", "positives", "negatives"],
    "lorenz_curve": ["Share of rows, lowest prediction first", "Share of the sum of labels"],
    "pr_curve": ["Recall", "Precision", "P = R"],
    "pr_from_roc": ["Recall", "Precision", "P = R"],
    "predicted_vs_actual": ["Mean prediction", "Mean label", "perfect"],
    "rec_curve": ["Absolute error, up to that of 99% of the rows", "Share of rows with at most"],
    "residual_histogram": ["Residual (prediction - label)", "Share of rows", "10.0% beyond"],
    "residuals": ["Mean prediction", "Residual (prediction - label)"],
    "roc_curve": ["False positive rate (1 - specificity)", "True positive rate", "chance", "ideal"],
    "roc_from_pr": ["False positive rate (1 - specificity)", "chance", "ideal"],
    "roc_hull": ["False positive rate (1 - specificity)", "chance", "ideal"],
    "score_histogram": ["Score", "Share of the class", "negatives, n = 9", "10.0% at inf"],
    "threshold_curve": [
        "Threshold",
        "Precision, recall, F1",
        "highest F1 0.75 at 0.1",
        "lowest cost per row 0.4 at 0.4",
    ],
}


def svg(tmp_path: Path, *args: Any, **options: Any) -> str:
    path = tmp_path / "picture.svg"
    save_chart(draw_curve(*args, **options), str(path))
    return path.read_text(encoding="utf-8")


def path_of(text: str, color: str) -> np.ndarray:
    """Return the corners of the first line of a colour, from 0 to 1 in a 360 by 360 plot."""
    found = re.search(rf'd="(M[^"]*)" stroke="{color}"', text)
    assert found
    corners = re.findall(r"[ML](-?[\d.]+),(-?[\d.]+)", found[1])
    points = np.array([[float(x), float(y)] for x, y in corners]) / 360
    return np.column_stack([points[:, 0], 1 - points[:, 1]])


def drawn(picture: Any, *columns: str) -> pl.DataFrame:
    """Return the data of a picture that has the columns."""
    frames = [pl.read_csv(io.StringIO(text)) for text in picture.to_dict()["datasets"].values()]
    return next(frame for frame in frames if set(columns) <= set(frame.columns))


# -- pictures ------------------------------------------------------------------------------


#: Left out, because the lines and legends come from the same calls as another curve's.
ALIKE = {"roc_hull", "roc_from_pr", "pr_from_roc", "pr_curve", "cost_curve", "gain_curve"}


#: Curves whose legends name lines or classes.
LEGENDS = {"ks_curve", "error_by_quantile", "score_histogram", "threshold_curve"}


@pytest.mark.parametrize("curve", [curve for curve in CURVES if curve not in ALIKE])
def test_every_curve_has_its_axes_and_no_legend_without_keys(curve: str, tmp_path: Path) -> None:
    text = svg(tmp_path, curve, example(curve), title="What it is")
    for expected in (*TITLES[curve], "What it is"):
        assert expected in text
    assert "NaN" not in text
    assert "Infinity" not in text
    assert ("role-legend" in text) == (curve in LEGENDS)


@pytest.mark.parametrize("curve", [curve for curve in CURVES if curve != "score_histogram"])
def test_each_combination_of_keys_is_a_series(curve: str, tmp_path: Path) -> None:
    combinations = [("logistic", "JFK"), ("logistic", None), ("boosted", "JFK")]
    frame = pl.concat(
        example(curve).with_columns(
            pl.lit(model).alias("model"), pl.lit(origin, pl.String).alias("origin")
        )
        for model, origin in combinations
    )
    text = svg(tmp_path, curve, frame, KEYS)
    for expected in TITLES[curve] if curve in ALIKE else ():
        assert expected in text
    for expected in ("model, origin", "logistic, JFK", "logistic, NULL", "boosted, JFK"):
        assert f">{expected}</text>" in text
    for color in ("#0072B2", "#D55E00", "#009E73"):
        assert color in text
    assert "NaN" not in text
    assert "Infinity" not in text


def test_real_curves(roc: pl.DataFrame, tmp_path: Path) -> None:
    text = svg(tmp_path, "roc_curve", roc, KEYS)
    for model in ("boosted", "logistic"):
        for origin in ("EWR", "JFK", "LGA"):
            assert f">{model}, {origin}</text>" in text
    one = roc.filter(origin="JFK", model="boosted")
    points = path_of(svg(tmp_path, "roc_curve", one), "#0072B2")
    area = np.trapezoid(one["tpr"], one["fpr"])
    assert np.trapezoid(points[:, 1], points[:, 0]) == pytest.approx(area, abs=5e-4)
    roles = {"label": "delayed", "score": "p_boosted", "nulls": "drop", "where": "origin = 'JFK'"}
    pr = sqleval.scan(FLIGHTS, **roles).curve("pr").collect()
    points = path_of(svg(tmp_path, "pr_curve", pr), "#0072B2")
    steps = (pr["recall"].diff() * pr["precision"]).sum()
    assert np.trapezoid(points[:, 1], points[:, 0]) == pytest.approx(steps, abs=5e-4)


def test_the_area_under_the_steps_is_average_precision(tmp_path: Path) -> None:
    frame = example("pr_curve")
    points = path_of(svg(tmp_path, "pr_curve", frame), "#0072B2")
    expected = (frame["recall"].diff() * frame["precision"]).sum()
    assert np.trapezoid(points[:, 1], points[:, 0]) == pytest.approx(expected, abs=1e-9)
    assert points[:, 1].min() == pytest.approx(0.5)  # rows of equal recall keep their order


def test_the_largest_distance_is_found_before_thinning() -> None:
    n = 20_000
    threshold = np.linspace(1, 0, n)
    frame = pl.DataFrame(
        {"threshold": threshold, "tpr": np.sqrt(1 - threshold), "fpr": 1 - threshold}
    )
    frame = frame.with_columns(distance=pl.col("tpr") - pl.col("fpr"))
    picture = draw_curve("ks_curve", frame)
    top = frame.row(frame["distance"].arg_max() or 0, named=True)
    largest = drawn(picture, "distance")
    assert largest["x"].to_list() == [top["threshold"]]
    assert drawn(picture, "kind").height < n


def test_infinite_and_missing_coordinates_are_left_out() -> None:
    picture = draw_curve("ks_curve", example("ks_curve"))
    assert drawn(picture, "kind")["x"].max() == 0.9
    frame = example("roc_curve").with_columns(tpr=pl.Series([0.0, None, NAN, 1.0, 1.0]))
    kept = drawn(draw_curve("roc_curve", frame), "series")
    assert kept.select("x", "y").rows() == [(0.0, 0.0), (0.5, 1.0), (1.0, 1.0)]
    assert drawn(draw_curve("calibration_curve", example("calibration_curve")), "n").height == 2


def test_many_cost_lines_are_an_even_selection() -> None:
    fpr = np.linspace(0, 1, 5000)
    frame = pl.DataFrame({"fpr": fpr, "fnr": 1 - fpr})
    lines = drawn(draw_curve("cost_lines", frame), "x2")
    assert lines.height == 300
    assert (lines["y"][0], lines["y"][-1]) == (0.0, 1.0)
    assert np.abs(np.diff(lines["y"]) - 1 / 299).max() <= 1 / 4999
    assert drawn(draw_curve("cost_lines", frame[:300]), "x2").height == 300
    assert drawn(draw_curve("cost_lines", frame[:1]), "x2").height == 1


@pytest.mark.parametrize("many", [8, 15, 45])
def test_many_series_have_a_colour_each(many: int, tmp_path: Path) -> None:
    frames = [example("roc_curve").with_columns(carrier=pl.lit(i)) for i in range(many)]
    text = svg(tmp_path, "roc_curve", pl.concat(frames), ["carrier"])
    colors = re.findall(r'd="[^"]*" stroke="([^"]+)" stroke-width="1.8"', text)
    assert len(set(colors)) == many
    assert len(colors) == 2 * many  # the line, and its legend
    assert f">{many - 1}</text>" in text


def test_keys_that_read_the_same_stay_apart() -> None:
    names = [None, "NULL", "", "a, b"]
    frame = pl.concat(
        example("roc_curve").with_columns(g=pl.lit(name, pl.String)) for name in names
    )
    kept = drawn(draw_curve("roc_curve", frame, ["g"]), "series")
    assert kept["series"].unique(maintain_order=True).to_list() == [
        "NULL",
        "NULL (2)",
        "''",
        "a, b",
    ]


# -- thinning ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def million() -> pl.DataFrame:
    n = 1_000_000
    rng = np.random.default_rng(5)
    label = rng.random(n) < np.linspace(0.9, 0.02, n) ** 2
    tp, fp = np.cumsum(label), np.cumsum(~label)
    return pl.DataFrame(
        {
            "row": np.arange(n),
            "fpr": fp / fp[-1],
            "tpr": tp / tp[-1],
            "precision": tp / (tp + fp),
        }
    )


def test_thinning_does_not_move_a_curve(million: pl.DataFrame) -> None:
    x, y = million["fpr"].to_numpy(), million["tpr"].to_numpy()
    few = thin(million, "fpr", "tpr", columns=COLUMNS)
    fx, fy = few["fpr"].to_numpy(), few["tpr"].to_numpy()
    assert few.height <= 4 * COLUMNS + 2
    assert few["row"].is_sorted()
    assert few["row"].is_unique().all()
    assert (few["row"][0], few["row"][-1]) == (0, million.height - 1)
    # The distance to the line, across or up, whichever is smaller.
    away = np.minimum(np.abs(x - np.interp(y, fy, fx)), np.abs(y - np.interp(x, fx, fy)))
    assert away.max() <= 1 / COLUMNS
    # At most half a column's width times the whole height; in fact less than a millionth.
    assert abs(np.trapezoid(y, x) - np.trapezoid(fy, fx)) < 1e-6


def test_thinning_keeps_what_a_column_shows(million: pl.DataFrame) -> None:
    def shown(frame: pl.DataFrame) -> pl.DataFrame:
        column = ((pl.col("tpr") - low) / width).floor().clip(0, COLUMNS - 1).alias("column")
        at = pl.col("precision")
        return frame.group_by(column, maintain_order=True).agg(
            first=at.first(), last=at.last(), low=at.min(), high=at.max()
        )

    low = million["tpr"].min()
    width = (1.0 - float(str(low))) / COLUMNS
    few = thin(million, "tpr", "precision", columns=COLUMNS)
    assert few.height < 4 * COLUMNS
    # First, last, lowest and highest: the line goes through every height of the full one.
    assert_frame_equal(shown(few), shown(million))
    steps, all_steps = (
        (frame["tpr"].diff() * frame["precision"]).sum() for frame in (few, million)
    )
    assert steps == pytest.approx(all_steps, abs=1e-3)


def test_thinning_is_by_series(million: pl.DataFrame) -> None:
    some = million.gather_every(5)
    pair = pl.concat(
        [
            some.with_columns(g=pl.lit(None, pl.String)),
            some.with_columns(g=pl.lit("b"), tpr=pl.col("tpr").sqrt()),
        ]
    )
    few = thin(pair, "fpr", "tpr", ["g"])
    for name in (None, "b"):
        same = pl.col("g").eq_missing(pl.lit(name, pl.String))
        assert_frame_equal(few.filter(same), thin(pair.filter(same), "fpr", "tpr", ["g"]))
    # The rows of several series may be interleaved.
    mixed = pair.sort("row", maintain_order=True)
    assert_frame_equal(thin(mixed, "fpr", "tpr", ["g"]), few.sort("row", maintain_order=True))


def test_short_and_odd_curves_are_thinned_too() -> None:
    n = 5000
    short = pl.DataFrame({"x": np.arange(4000.0), "y": np.arange(4000.0)})
    assert thin(short, "x", "y") is short
    pair = pl.concat([short.with_columns(g=pl.lit(g)) for g in range(2)])
    assert thin(pair, "x", "y", ["g"]) is pair
    assert thin(pair, "x", "y").height < pair.height
    upright = pl.DataFrame({"x": np.ones(n), "y": np.arange(n)})
    assert thin(upright, "x", "y")["y"].to_list() == [0, n - 1]
    empty = pl.DataFrame(
        {"x": [None] * n, "y": [1.0] * n}, schema={"x": pl.Float64, "y": pl.Float64}
    )
    assert thin(empty, "x", "y").height == 2
    odd = pl.DataFrame({"x": np.arange(n) / n, "y": np.sin(np.arange(n))})
    odd = odd.with_columns(
        x=pl.when(pl.int_range(n) == 7).then(INF).otherwise("x"),
        y=pl.when(pl.int_range(n) == 9).then(NAN).otherwise("y"),
    )
    assert thin(odd, "x", "y", columns=10).height <= 46
    falling = pl.DataFrame({"x": np.arange(n, 0, -1), "y": np.arange(n)})
    assert thin(falling, "x", "y", columns=10)["y"].is_sorted()


def test_a_picture_of_a_million_rows_is_small(million: pl.DataFrame, tmp_path: Path) -> None:
    text = svg(tmp_path, "roc_curve", million)
    assert len(text) < 200_000
    points = path_of(text, "#0072B2")
    area = np.trapezoid(million["tpr"], million["fpr"])
    assert np.trapezoid(points[:, 1], points[:, 0]) == pytest.approx(area, abs=1e-4)


# -- files ---------------------------------------------------------------------------------


def test_png_is_at_double_size(tmp_path: Path) -> None:
    save_chart(draw_curve("roc_curve", example("roc_curve")), str(tmp_path / "roc.PNG"))
    data = (tmp_path / "roc.PNG").read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", data[16:24])
    assert 720 < width < 1000
    assert 720 < height < 1000


def test_html_stands_on_its_own(tmp_path: Path) -> None:
    evil = "</script><script>alert(1)</script>"
    frame = example("roc_curve").with_columns(model=pl.lit(evil))
    save_chart(draw_curve("roc_curve", frame, ["model"], title="<b>"), str(tmp_path / "roc.html"))
    text = (tmp_path / "roc.html").read_text(encoding="utf-8")
    assert "True positive rate" in text
    assert not re.search(r"<script[^>]*\bsrc\s*=", text)
    assert not re.search(r"<link[^>]*\bhref\s*=", text)
    assert "import(" not in text.split("vegaEmbed(")[-1]
    assert evil not in text
    assert r"\u003c/script>\u003cscript>alert(1)" in text


def test_saving_leaves_no_trace_in_the_library(tmp_path: Path) -> None:
    import altair

    before = altair.data_transformers.active, altair.data_transformers.options
    text = svg(tmp_path, "roc_curve", example("roc_curve"))
    assert "<svg" in text
    assert (altair.data_transformers.active, altair.data_transformers.options) == before


# -- errors --------------------------------------------------------------------------------


def test_a_curve_without_a_chart_names_the_others() -> None:
    bound = sqleval.scan(pl.DataFrame({"y": [0, 1], "p": [0.1, 0.9]}), label="y", score="p")
    with pytest.raises(RequestError, match="cannot draw 'classification_report'") as caught:
        bound.plot("classification_report")
    for curve in CURVES:
        assert curve in str(caught.value)


def test_a_missing_column_is_named() -> None:
    with pytest.raises(RequestError, match="roc_curve needs the column 'tpr'"):
        draw_curve("roc_curve", example("roc_curve").drop("tpr"))
    with pytest.raises(RequestError, match="roc_curve needs the column 'origin'"):
        draw_curve("roc_curve", example("roc_curve"), ["origin"])


@pytest.mark.parametrize("curve", CURVES)
def test_a_curve_without_points_is_refused(curve: str) -> None:
    frame = example(curve)
    nothing = frame.select(pl.lit(None, dtype).alias(n) for n, dtype in frame.schema.items())
    for empty in (frame.clear(), nothing):
        with pytest.raises(RequestError, match=f"{curve}: nothing to draw"):
            draw_curve(curve, empty)


def test_another_ending_is_refused(tmp_path: Path) -> None:
    picture = draw_curve("roc_curve", example("roc_curve"))
    for name in ("roc.pdf", "roc"):
        with pytest.raises(RequestError, match=r"must be one of \.svg, \.png, \.html"):
            save_chart(picture, str(tmp_path / name))
    with pytest.raises(RequestError, match=r"output=3 must be the path of a file"):
        sqleval.scan(pl.DataFrame({"y": [0, 1], "p": [0.1, 0.9]}), label="y", score="p").plot(
            "roc",
            3,  # pyright: ignore[reportArgumentType]
        )
    with pytest.raises(SourceError, match=r"cannot write .*roc\.svg': No such file"):
        save_chart(picture, str(tmp_path / "nowhere" / "roc.svg"))


def test_the_extra_is_named_where_it_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    picture = draw_curve("roc_curve", example("roc_curve"))
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(MissingExtra, match=r"pip install 'altair>=6' 'vl-convert-python>=1\.9'$"):
        save_chart(picture, str(tmp_path / "roc.svg"))
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(MissingExtra, match="plots: cannot import 'altair'; run pip install"):
        draw_curve("roc_curve", example("roc_curve"))
