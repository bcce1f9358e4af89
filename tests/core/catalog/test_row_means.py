"""A metric that is a mean of a value by row is written as this value."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import ttest_1samp, ttest_rel

import sqleval
from sqleval.catalog import Catalogue, builtin, find_sql_folder
from sqleval.errors import LoadError

HEADER = """/*
summary: mean cube of the error
formula: mean((prediction - label)^3)
direction: none
range: -inf .. inf
reference: numpy.mean
{more}task: regression
weights: frequency
since: 0.2.0
*/
"""
RNG = np.random.default_rng(5)
N = 200
Y = RNG.gamma(2, 3, N) + 0.1
ROWS = pl.DataFrame(
    {
        "y": Y, "a": Y + RNG.normal(0.2, 1, N), "b": Y + RNG.normal(0, 1.3, N),
        "w": RNG.random(N), "g": RNG.choice(["x", "y"], N),
    }
)  # fmt: skip


def read(folder: Path, query: str, more: str = "") -> Catalogue:
    (folder / "ours").mkdir(exist_ok=True)
    (folder / "ours" / "cubed.sql").write_text(HEADER.format(more=more) + query, encoding="utf-8")
    return Catalogue(find_sql_folder(), folder)


def test_a_value_by_row_is_a_metric_with_mean_interval_and_state(tmp_path: Path) -> None:
    query = "SELECT slice, POWER(prediction - label, 3) AS row_value FROM predictions"
    catalogue = read(tmp_path, query)
    scan = sqleval.scan(
        ROWS, label="y", prediction="a", task="regression", by="g", catalogue=catalogue
    )
    got = scan.evaluate("cubed", ci=0.95).collect()
    for group, value, low, high in got.select("g", "value", "low", "high").iter_rows():
        rows = ROWS.filter(g=group)
        cubes = ((rows["a"] - rows["y"]) ** 3).to_numpy()
        exact = ttest_1samp(cubes, 0).confidence_interval(0.95)
        assert value == pytest.approx(cubes.mean(), abs=1e-12)
        assert [low, high] == pytest.approx([exact.low, exact.high], rel=2e-3)
    state = scan.state("cubed", ci=True).collect()
    merged = (
        sqleval.from_state(state, by="g", catalogue=catalogue).evaluate("cubed", ci=0.95).collect()
    )
    for column in ("value", "low", "high"):
        assert merged[column].to_list() == pytest.approx(got[column].to_list(), abs=1e-9)


def test_two_models_are_compared_by_their_row_values() -> None:
    scan = sqleval.scan(ROWS, label="y", prediction={"a": "a", "b": "b"}, task="regression")
    (row,) = scan.compare("mape", baseline="a").collect().to_dicts()
    losses = {m: (abs(ROWS[m] - ROWS["y"]) / ROWS["y"]).to_numpy() for m in ("a", "b")}
    assert row["difference"] == pytest.approx(losses["b"].mean() - losses["a"].mean(), abs=1e-12)
    assert row["p_value"] == pytest.approx(ttest_rel(losses["b"], losses["a"]).pvalue, rel=1e-6)


def test_a_row_without_a_value_makes_the_mean_undefined() -> None:
    rows = ROWS.with_columns(y=pl.when(g="x").then(0.0).otherwise("y"))
    scan = sqleval.scan(rows, label="y", prediction={"a": "a", "b": "b"}, task="regression")
    by = sqleval.scan(rows, label="y", prediction="a", task="regression", by="g")
    for result in (by, sqleval.from_state(by.state("mape", ci=True).collect(), by="g")):
        got = result.evaluate("mape", ci=0.95).collect().sort("g")
        assert got["value"].is_null().to_list() == [True, False]
        assert got["low"].is_null().to_list() == [True, False]
        assert got["note"].to_list() == ["a label is 0", None]
    (row,) = scan.compare("mape", baseline="a").collect().to_dicts()
    assert row["difference"] is None


def test_row_values_of_all_metrics_are_read_once() -> None:
    names = ["mape", "smape", "msle", "pinball_loss(alpha=0.1)", "pinball_loss(alpha=0.9)", "huber"]
    scan = sqleval.scan(ROWS, label="y", prediction="a", task="regression")
    text = scan.sql(names)
    assert text.count("FROM predictions") == 1
    assert "pinball_loss_2" in text


def test_losses_with_heavy_tails_have_a_note() -> None:
    rng = np.random.default_rng(1)
    label = rng.gamma(2, 3, 2000) + 0.1
    for power, note in ((1, None), (5, "errors with heavy tails: interval may be too narrow")):
        rows = pl.DataFrame({"y": label, "a": label + rng.normal(0, 1, 2000) ** power})
        scan = sqleval.scan(rows, label="y", prediction="a")
        got = scan.evaluate(["huber", "smape"], ci=0.95).collect()
        # Losses with an upper end have no heavy tails.
        assert got["note"].to_list() == [note, None]


def test_the_rows_are_a_step_with_the_parameters_of_the_file() -> None:
    catalogue = builtin()
    assert catalogue.get("huber").reads == ("huber_rows",)
    assert [*catalogue.parameters("huber")] == ["delta"]
    assert catalogue.get("huber_rows").kind == "step"
    assert catalogue.get("mape").notes == ("a label is 0",)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("SELECT slice, AVG(label) AS row_value FROM predictions GROUP BY slice", "of each row"),
        ("SELECT slice, label AS row_value, 1 AS low FROM predictions", "no column 'low'"),
        ("SELECT slice, label AS row_value, 'x' AS note FROM predictions", "one reason"),
        ("SELECT slice, 'x' AS row_value FROM predictions", "is a number"),
    ],
)
def test_other_columns_are_refused(tmp_path: Path, query: str, words: str) -> None:
    with pytest.raises(LoadError, match=words):
        read(tmp_path, query).get("cubed")
