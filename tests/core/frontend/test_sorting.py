"""Rows that are sorted by one integer give the values of rows that DuckDB sorts."""

import math
import random
import re
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import sqleval
from sqleval.catalog import builtin
from sqleval.engines.duckdb import DuckDB
from sqleval.frontend import choosing
from sqleval.sources.source import Source
from tests.support.flights import FLIGHTS

#: Scores at the ends of ranges of doubles, and neighbours of each other.
SPECIAL = [
    0.0, -0.0, 1.0, -1.0, 0.5, 0.1, 2**-6, 2**-10, 1e-300, 5e-324, -5e-324, 1e-20, -1e-20, 3.7,
    9e15, 1e17, -1e17, 1.7976931348623157e308, math.inf, -math.inf,
    *(math.nextafter(x, 2) for x in (0.5, 0.1, 1.0, 2**-6, -1.0)),
    *(math.nextafter(x, -2) for x in (0.5, 0.1, 1.0, 2**-6, -1.0)),
]  # fmt: skip
KINDS = ("special", "uniform", "rounded", "near", "large", "mixed")


def draw_score(kind: str, draws: random.Random) -> float:
    """Return a random score of a kind."""
    if kind == "mixed":
        kind = draws.choice(KINDS[:-1])
    return {
        "special": lambda: draws.choice(SPECIAL),
        "uniform": draws.random,
        "rounded": lambda: round(draws.random(), 1),
        "near": lambda: 0.3 + draws.randrange(5) * 2**-54,
        "large": lambda: draws.gauss(0, 8),
    }[kind]()


def count_pairs(rows: pl.DataFrame) -> float | None:
    """Return the ROC AUC as the fraction of ordered pairs, in rational arithmetic."""
    positives = rows.filter(pl.col("y") == 1)["p"].to_list()
    negatives = rows.filter(pl.col("y") == 0)["p"].to_list()
    if not positives or not negatives:
        return None
    won = sum(2 * (a > b) + (a == b) for a in positives for b in negatives)
    return float(Fraction(won, 2 * len(positives) * len(negatives)))


@pytest.fixture
def sorts(monkeypatch: pytest.MonkeyPatch, statements: list[str]) -> list[str]:
    """Pretend that every input is large enough to be sorted in memory; list its statements."""
    monkeypatch.setattr(Source, "is_large", True)
    monkeypatch.setattr(choosing, "_probe_scores", lambda _: (9, 9))
    monkeypatch.setattr(choosing, "_should_sort", lambda *_: True)
    return statements


def check_pairs(seed: int) -> None:
    """Compare the areas of random rows, with and without slices, with their pairs."""
    draws = random.Random(seed)
    n, kind = draws.choice([3, 10, 60, 200]), KINDS[seed % len(KINDS)]
    rows = pl.DataFrame(
        {
            "y": [int(draws.random() < 0.4) for _ in range(n)],
            "p": [draw_score(kind, draws) for _ in range(n)],
            "g": [draws.choice(["a", "b", None, ""]) for _ in range(n)],
            "d": [date(2026, 1, draws.randrange(1, 4)) for _ in range(n)],
        },
        schema_overrides={"y": pl.Int8, "p": pl.Float64, "g": pl.String},
    )
    found = sqleval.scan(rows, label="y", score="p").evaluate("roc_auc").collect()
    assert found["value"].item() == count_pairs(rows)
    by = [["g"], ["d"], ["g", "d"]][seed % 3]
    sliced = sqleval.scan(rows, label="y", score="p", by=by).evaluate("roc_auc").collect()
    assert len(sliced) == rows.n_unique(by)
    for *keys, value, size in sliced.select(*by, "value", "n").iter_rows():
        same = [pl.col(name).eq_missing(key) for name, key in zip(by, keys, strict=True)]
        part = rows.filter(*same)
        assert (value, size) == (count_pairs(part), len(part))


@pytest.mark.parametrize("seed", range(40))
def test_every_pair_counts_once(seed: int, sorts: list[str]) -> None:
    check_pairs(seed)
    assert any("sqleval_placed_units" in sql for sql in sorts)


@pytest.mark.parametrize("seed", range(40))
def test_every_pair_of_few_rows_counts_once(seed: int) -> None:
    bound = sqleval.scan(pl.DataFrame({"y": [0, 1], "p": [0.1, 0.8]}), label="y", score="p")
    assert choosing.choose_rows_or_groups(bound) == "few"
    assert "highest_rank" in bound.sql("roc_auc", plan="few")
    check_pairs(seed)


def test_few_rows_by_a_key_of_the_folders() -> None:
    roles: dict[str, Any] = {"label": "delayed", "score": "p_boosted", "nulls": "drop"}
    lake = f"{FLIGHTS}/predictions/month=07/*.parquet"
    bound = sqleval.scan(lake, **roles, by="month")
    expected = bound.evaluate("roc_auc_trapezoid").collect()["value"]
    with duckdb.connect() as con:
        found = con.sql(bound.sql("roc_auc", plan="few")).pl()
    assert found.select("month", "value").rows() == [("07", pytest.approx(expected.item()))]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"by": "g"},
        {"by": ["k", "t"], "where": "p < 0.7"},
        {"score": "f", "by": "k"},
        {"score": "holes", "by": "g", "nulls": "drop"},
        {"label": "late", "positive": "yes", "by": "g"},
        {"where": "p > 2", "by": "g"},
        {"where": "p > 2"},
        {"where": "y = 1", "by": "k"},
        {"score": "1 - p", "by": "g"},
    ],
    ids=str,
)
def test_options_mean_the_same(
    options: dict[str, Any], tmp_path: Path, sorts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = pl.DataFrame({"i": range(3_000)}).select(
        y=pl.col("i") * 37 % 11 % 3 % 2, p=(pl.col("i") * 7_919 % 2_503) / 2_503,
        g=(pl.col("i") % 5).cast(pl.String), k=pl.col("i") % 7, t=pl.col("i") % 2 == 0,
    )  # fmt: skip
    frame = frame.with_columns(
        f=pl.col("p").cast(pl.Float32),
        holes=pl.when(pl.col("k") != 3).then("p"),
        late=pl.when(pl.col("y") == 1).then(pl.lit("yes")).otherwise(pl.lit("no")),
    )
    frame.write_parquet(tmp_path / "rows.parquet")
    roles = {"label": "y", "score": "p", **options}
    bound = sqleval.scan(tmp_path / "rows.parquet", **roles)
    found = bound.evaluate("roc_auc").collect()
    assert any("sqleval_placed_units" in sql for sql in sorts)
    pasted = duckdb.connect().sql(bound.sql("roc_auc", plan="sorted")).pl()
    one = found.row(0)[0] if len(found) else None
    if options.get("by") and one is not None:
        chosen = bound.evaluate("roc_auc").filter(pl.col(found.columns[0]) == one).collect()
        assert_frame_equal(chosen, found.filter(pl.col(found.columns[0]) == one))
    monkeypatch.setattr(choosing, "_should_sort", lambda *_: False)
    expected = bound.evaluate("roc_auc").collect()
    assert_frame_equal(found, expected)
    if len(expected) and found["n"].sum():
        assert_frame_equal(pasted.select(found.columns).cast(dict(found.schema)), expected)


def test_errors_are_those_of_other_plans(sorts: list[str]) -> None:
    rows = pl.DataFrame({"y": [0, 1, 2, 1], "p": [0.1, 0.2, 0.3, None], "g": ["a", "b", "a", "b"]})
    with pytest.raises(sqleval.DataError, match=r"score='p'.* 1 of 4 rows"):
        sqleval.scan(rows, label="y", score="p", by="g").evaluate("roc_auc").collect()
    known = sqleval.scan(rows.drop_nulls(), label="y", score="p", by="g", task="binary")
    with pytest.raises(sqleval.DataError, match="another value, such as 2, is in 1 of 3 rows"):
        known.evaluate("roc_auc").collect()
    assert sorts


def test_large_inputs_are_sorted_if_they_fit(tmp_path: Path) -> None:
    rows = pl.select(i=pl.int_range(400_000)).select(
        y=pl.col("i") % 3 % 2, p=(pl.col("i") * 0.6180339887498949) % 1, g=pl.col("i") % 9
    )
    rows.write_parquet(tmp_path / "rows.parquet", compression="uncompressed")
    bound = sqleval.scan(tmp_path / "rows.parquet", label="y", score="p", by="g")
    choose = choosing.choose_rows_or_groups
    assert choose(bound, can_sort=True) == "sorted"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DuckDB, "get_memory", lambda _: 10_000_000)
        assert choose(bound, can_sort=True) == "numbered"
    assert DuckDB().get_memory() > 10_000_000


def test_many_small_files_are_read_by_one_statement(tmp_path: Path) -> None:
    rows = pl.select(i=pl.int_range(400_000)).select(
        y=pl.col("i") % 3 % 2, p=(pl.col("i") * 0.6180339887498949) % 1
    )
    for i in range(100):
        part = rows[i * 4_000 : (i + 1) * 4_000]
        part.write_parquet(tmp_path / f"{i}.parquet", compression="uncompressed")
    bound = sqleval.scan(tmp_path, label="y", score="p")
    assert bound.source.is_large
    assert bound.source.has_small_files
    assert choosing.choose_rows_or_groups(bound, can_sort=True) == "numbered"


def test_the_portable_step_gives_the_rows_of_its_twin() -> None:
    portable, twin = builtin().files("unit_ties")
    assert twin.when == {"duckdb"}
    with duckdb.connect() as con:
        con.execute("CREATE TABLE unit_scale AS SELECT 6 AS bits, 64 AS width, 16 AS zero")
        con.execute(
            "CREATE TABLE placed_units AS SELECT unit, ROW_NUMBER() OVER (ORDER BY unit) AS place, "
            "LAG(unit) OVER (ORDER BY unit) AS unit_before FROM "
            "(SELECT i * 37 % 256 AS unit FROM range(700) AS t(i))"
        )
        both = [con.sql(each.query.sql("duckdb")).pl() for each in (portable, twin)]
    assert_frame_equal(*both, check_row_order=False, check_dtypes=False)
    assert both[0]["tie"].n_unique() > 50


def test_other_keys_and_types_are_not_sorted() -> None:
    rows = pl.DataFrame({"y": [0, 1], "p": [0.1, 0.8], "k": [1, 2]})
    for options in ({"score": {"a": "p", "b": "p"}}, {"score": "k"}, {"by": "p"}, {"weight": "k"}):
        bound = sqleval.scan(rows, **{"label": "y", "score": "p", **options})
        assert "placed_units" not in bound.sql("roc_auc", plan="sorted")
    bound = sqleval.scan(rows, label="y", score="p", by="k")
    assert "placed_units" in bound.sql("roc_auc", plan="sorted")
    assert "placed_units" not in bound.sql("roc_auc", ci=0.95, plan="sorted")
    assert re.search(r"_slices AS MATERIALIZED", bound.sql("roc_auc", plan="sorted"))
