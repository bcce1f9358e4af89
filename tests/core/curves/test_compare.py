"""Comparisons of models' curves: differences, ranges, p-values, verdicts, and wrong input."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from sklearn.metrics import roc_curve

import sqleval
from sqleval import DataError, RequestError
from sqleval.cli.main import sqleval as command
from tests.support.comparison import assert_frame_equal

MODELS = {"a": "a", "b": "b"}


def draw_rows(n: int, shift: float = 0.0, seed: int = 0) -> pl.DataFrame:
    """Return two models with correlated errors; b separates the classes better by ``shift``."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, n)
    shared = rng.normal(size=n)
    scores = {
        name: np.round(label * (1 + extra) + shared + rng.normal(size=n) * 0.7, 3)
        for name, extra in (("a", 0.0), ("b", shift))
    }
    return pl.DataFrame({"k": np.arange(n), "y": label, **scores})


def compare(rows: Any, curve: str = "roc", **options: Any) -> pl.DataFrame:
    scan = {"label": "y", "score": MODELS} | options.pop("scan", {})
    lazy = sqleval.scan(rows, **scan).compare_curves(curve, **{"replicates": 200} | options)
    found = lazy.collect()
    assert found.schema == lazy.collect_schema()
    assert found["verdict"].null_count() == 0
    return found


def test_the_difference_is_that_of_the_curves() -> None:
    rows = draw_rows(400, 0.4)
    found = compare(rows)

    def evaluate(name: str, x: float) -> float:
        fpr, tpr, _ = roc_curve(rows["y"], rows[name], drop_intermediate=False)
        return float(tpr[fpr <= x + 1e-12].max())

    for row in found.iter_rows(named=True):
        # Nearly all scores are distinct, so lines and steps give the same curve.
        assert row["difference"] == pytest.approx(
            evaluate("b", row["at"]) - evaluate("a", row["at"]), abs=0.006
        )
        assert row["start"] <= row["at"] <= row["end"]
        assert row["low"] < row["difference"] < row["high"]
        outside = row["low"] > 0 or row["high"] < 0
        assert (row["better"] is not None) is outside
    assert found["start"][0] == 0
    assert found["end"][-1] == 1
    assert (found["start"][1:] > found["end"][:-1]).all()


def test_few_of_equal_models_differ() -> None:
    sets = 24
    rows = draw_rows(100 * sets).with_columns(g=pl.int_range(pl.len()) % sets)
    found = compare(rows, scan={"by": "g"}, replicates=100).unique("g")
    assert found.height == sets
    # The test is conservative: its standard error is at least that of one positive.
    assert (found["p_value"] < 0.05).sum() <= 4
    assert found["p_value"].mean() > 0.5
    assert (found.filter(pl.col("p_value") > 0.1)["better"].null_count()) == found.filter(
        pl.col("p_value") > 0.1
    ).height


@pytest.mark.parametrize("curve", ["roc", "pr", "gain", "cost"])
def test_a_better_model_is_found(curve: str) -> None:
    rows = draw_rows(300, 1.5)
    found = compare(rows, curve, replicates=100)
    assert found["p_value"][0] < 0.01
    assert "b is better " in found["verdict"][0]
    assert "a" not in found["better"].to_list()
    if curve != "roc":
        return  # models change places in the same way for all curves
    swapped = compare(rows, curve, baseline="b", replicates=100)
    assert "b is better " in swapped["verdict"][0]
    assert_frame_equal(
        swapped.select("start", "end", "better", "at"), found.select("start", "end", "better", "at")
    )


def test_crossing_curves_are_named() -> None:
    rng = np.random.default_rng(2)
    label = rng.integers(0, 2, 2000)
    # Some positives of b are far above the positives of a, the others below.
    top = rng.random(2000) < 0.4
    a = label * 1.4 + rng.normal(size=2000)
    b = np.where(label == 1, np.where(top, 3.5, 0.2), 0) + rng.normal(size=2000)
    rows = pl.DataFrame({"y": label, "a": a.round(2), "b": b.round(2)})
    found = compare(rows, replicates=100)
    assert found["better"].drop_nulls().to_list() == ["b", "a"]
    for row in found.drop_nulls("better").iter_rows(named=True):
        words = f"{row['better']} is better from {row['start']:.3g} to {row['end']:.3g}; "
        assert words in row["verdict"]
    assert "; the curves cross near 0." in found["verdict"][0]


def test_order_and_slices_change_nothing() -> None:
    rows = draw_rows(360, 0.3).with_columns(g=pl.int_range(pl.len()) % 3, w=pl.lit(2))
    call: dict[str, Any] = {"scan": {"by": "g", "sets": "overall"}, "replicates": 100}
    plain = compare(rows, **call)
    # In another order, evaluate a slice alone, and all rows.
    rows = rows.sample(fraction=1, shuffle=True, seed=1)
    alone = compare(rows.filter(pl.col("g") == 1), scan={"by": "g"}, replicates=100)
    assert_frame_equal(plain.filter(pl.col("g") == 1).drop("by"), alone)
    # Up to 2,000 rows the scores are exact, alone or beside slices, with any number of models.
    whole = plain.filter(pl.col("by") == "overall").drop("g", "by")
    assert_frame_equal(whole, compare(rows, replicates=100))


def test_rows_without_a_score_of_every_model_are_left_out() -> None:
    rows = draw_rows(250, 0.3)
    lost = rows.with_columns(b=pl.when(pl.col("k") % 5 > 0).then("b"))
    kept = compare(lost.drop_nulls(), replicates=100)
    assert_frame_equal(compare(lost, scan={"nulls": "drop"}, replicates=100), kept)
    with pytest.raises(DataError, match="'b' is NULL or NaN in 50 of 500 scores"):
        compare(lost)


def test_undefined_slices_say_why() -> None:
    rows = draw_rows(100, 0.3).with_columns(g=pl.lit("both"))
    positive = rows.filter(pl.col("y") == 1).with_columns(g=pl.lit("one class"))
    equal = rows.with_columns(b="a", g=pl.lit("equal"))
    found = compare(pl.concat([rows, positive, equal]), scan={"by": "g"}, replicates=100)
    notes = dict(found.select("g", "note").unique().iter_rows())
    assert notes["both"] is None
    assert notes["one class"] == "no test: a curve is undefined"
    words = found.filter(pl.col("g") == "equal")["verdict"].item()
    assert words == "no evidence of a difference; equal curves"
    assert compare(rows.clear()).is_empty()


def test_a_difference_that_does_not_vary_has_no_test() -> None:
    label = [0, 1] * 30
    rows = pl.DataFrame({"y": label, "a": [0.2 + 0.6 * y for y in label], "b": 0.5})
    found = compare(rows).row(0, named=True)
    assert found["note"] == "no test: the difference is the same in all replicates"
    assert (found["verdict"], found["p_value"]) == ("no test", None)


@pytest.mark.parametrize(("scan", "options", "message"), [
    ({}, {"curve": "calibration"}, "its bins differ by model"),
    ({}, {"curve": "ks"}, "ks_curve has no bands"),
    ({}, {"baseline": "c"}, "baseline='c'"),
    ({"score": "a"}, {}, "two models are needed"),
    ({"by": "better"}, {}, "by='better': a comparison has a column of that name"),
    ({}, {"ci": 2}, "ci=2"),
])  # fmt: skip
def test_wrong_input(scan: dict[str, Any], options: dict[str, Any], message: str) -> None:
    rows = draw_rows(20).with_columns(better="y")
    with pytest.raises(RequestError, match=message):
        sqleval.scan(rows, **{"label": "y", "score": MODELS} | scan).compare_curves(**options)


def test_the_command_prints_the_ranges(tmp_path: Any) -> None:
    path = tmp_path / "rows.parquet"
    draw_rows(300, 1.5).write_parquet(path)
    call = ["compare", str(path), "--label", "y", "--score", "a=a", "--score", "b=b"]
    result = CliRunner().invoke(command, [*call, "--curve", "roc", "--replicates", "100"])
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert lines[0].split()[:4] == ["curve", "model", "start", "end"]
    assert lines[-1].startswith("roc_curve: b is better ")
    result = CliRunner().invoke(command, [*call, "--curve", "roc", "--metric", "ks"])
    assert result.exit_code == 2
    assert "--curve compares whole curves; leave out --metric" in result.output
