"""Slice keys by expression: SQL, intervals with given ends, intervals of equally many rows."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pytest

import sqleval
from sqleval import ManySlices, RequestError
from tests.support.commands import start_programs
from tests.support.comparison import assert_frame_equal
from tests.support.flights import ROWS

ROLES: dict[str, Any] = {"label": "delayed", "score": "p"}
METRICS = ["roc_auc", "log_loss"]
MONTHS = ROWS.with_columns(m=pl.col("flight_date").dt.month().cast(pl.Int64))


def _file(path: Path) -> Path:
    ROWS.write_parquet(path / "rows.parquet")
    return path / "rows.parquet"


SOURCES: dict[str, Callable[[Path], Any]] = {
    "file": _file,
    "frame": lambda _: ROWS,
    "stream": lambda _: ROWS.lazy(),
    "arrow": lambda _: ROWS.to_arrow(),
    "reader": lambda _: ROWS.to_arrow().to_reader(),
    "pandas": lambda _: ROWS.to_pandas(),
    "relation": lambda _: duckdb.from_arrow(ROWS.to_arrow()),
}


@cache
def evaluate_months() -> pl.DataFrame:
    return sqleval.scan(MONTHS, by=["m", "carrier"], **ROLES).evaluate(METRICS).collect()


@pytest.mark.parametrize("name", SOURCES)
def test_a_key_by_expression_is_a_key_that_is_a_column(name: str, tmp_path: Path) -> None:
    by = {"m": "month(flight_date)", "carrier": "carrier"}
    got = sqleval.scan(SOURCES[name](tmp_path), by=by, **ROLES).evaluate(METRICS).collect()
    assert_frame_equal(got, evaluate_months())


@pytest.mark.parametrize("name", ["file", "frame", "relation"])
def test_with_labels_conditions_and_filters(name: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {**ROLES, "where": "p > 0.1", "on": "key"}
    options["labels"] = ROWS.select("key", "delayed")
    source = SOURCES[name](tmp_path)
    by = {"m": "month(flight_date)"}
    got = sqleval.scan(source, by=by, **options).evaluate("roc_auc").filter(pl.col("m") > 7)
    want = sqleval.scan(MONTHS, by="m", **options).evaluate("roc_auc").filter(pl.col("m") > 7)
    assert got.collect().height > 1
    assert_frame_equal(got.collect(), want.collect())


def test_states_and_curves_have_the_key() -> None:
    bound = sqleval.scan(ROWS, by={"m": "month(flight_date)"}, **ROLES)
    assert set(bound.state("log_loss").collect()["m"]) == set(MONTHS["m"])
    assert set(bound.curve("roc").collect()["m"]) == set(MONTHS["m"])


def test_cut_makes_the_intervals_of_pandas() -> None:
    ends = [float("-inf"), 0.1, 0.25, 0.5, float("inf")]
    frame = ROWS.with_columns(bin=pl.Series(list(pd.cut(ROWS["q"].to_list(), ends).astype(str))))
    got = (
        sqleval.scan(ROWS, by={"bin": "cut(q, [0.1, 0.25, 0.5])"}, **ROLES)
        .evaluate("prevalence").collect()
    )  # fmt: skip
    # Sorted as numbers, not as texts.
    assert got["bin"].to_list() == ["(-inf, 0.1]", "(0.1, 0.25]", "(0.25, 0.5]", "(0.5, inf]"]
    for row in got.iter_rows(named=True):
        part = frame.filter(pl.col("bin") == row["bin"])
        assert (row["n"], row["value"]) == (part.height, pytest.approx(part["delayed"].mean()))


def test_missing_numbers_are_in_no_interval() -> None:
    rows = pl.DataFrame({"y": [0, 1, 0, 1], "p": [0.1, 0.9, 0.2, 0.3],
                         "x": [1.0, None, float("nan"), float("inf")]})  # fmt: skip
    got = sqleval.scan(rows, label="y", score="p", by={"x_": "cut(x, [1, 2])"}).evaluate("accuracy")
    assert got.select("x_", "n").collect().rows() == [("(-inf, 1]", 1), ("(2, inf]", 1), (None, 2)]


@pytest.mark.parametrize("name", ["file", "stream", "relation"])
def test_qcut_makes_intervals_of_equally_many_rows(name: str, tmp_path: Path) -> None:
    got = (
        sqleval.scan(SOURCES[name](tmp_path), by={"size": "qcut(q, 5)"}, **ROLES)
        .evaluate("roc_auc").collect()
    )  # fmt: skip
    assert got.height == 5
    assert got["n"].sum() == ROWS.height
    # Equal numbers stay together, so that the sizes are not quite equal.
    assert (got["n"] - ROWS.height / 5).abs().max() < 0.01 * ROWS.height


def test_qcut_of_few_values_has_fewer_intervals() -> None:
    got = sqleval.scan(ROWS, by={"w4": "qcut(w, 10)"}, **ROLES).evaluate("accuracy").collect()
    assert got["w4"].to_list() == ["(-inf, 0]", "(0, 1]", "(1, 2]", "(2, 3]"]


@pytest.mark.parametrize(
    ("by", "message"),
    [
        ({"m": "month(nothing)"}, "by='nothing': no such column"),
        ({"m": "month("}, r"by='month\(' is not SQL"),
        ({"m": "1; DROP TABLE t"}, "must be one expression, such as"),
        ({"carrier": "month(flight_date)"}, "by='carrier' is a column of .* another name"),
        ({"m": "sum(p)"}, "may not hold a subquery, an aggregate"),
        ({"m": "nearly(carrier)"}, "may not hold the function nearly"),
        ({"m": "qcut(p, 1)"}, r"qcut\(column, 4\) for intervals with equally many rows"),
        ({"m": "cut(p, 4)"}, r"write cut\(column, \[18, 30, 65\]\)"),
        ({"m": "cut(p, [3, 1])"}, r"write cut\(column, \[18, 30, 65\]\)"),
        ({"m": "cut(p, [1, 1e400])"}, r"write cut\(column, \[18, 30, 65\]\)"),
        ({"value": "month(flight_date)"}, "the result has a column of that name"),
        ({"m": 5}, "or a mapping of names to SQL expressions"),
    ],
)
def test_texts_that_are_not_expressions_are_refused(by: Any, message: str) -> None:
    with pytest.raises(RequestError, match=message):
        sqleval.scan(ROWS, by=by, **ROLES).evaluate("roc_auc")


def test_a_reader_is_not_read_for_its_quantiles() -> None:
    with pytest.raises(
        RequestError, match=r"the RecordBatchReader can be read only once; give the ends"
    ):
        sqleval.scan(ROWS.to_arrow().to_reader(), by={"size": "qcut(q, 5)"}, **ROLES)


def test_thousands_of_slices_are_noted() -> None:
    frame = pl.select(i=pl.int_range(6000), y=pl.int_range(6000) % 2, p=0.5)
    bound = sqleval.scan(frame, label="y", score="p", by="i")
    with pytest.warns(ManySlices, match=r"by= \(i\) makes 6,000 slices; min_rows="):
        assert bound.evaluate("prevalence").collect().height == 6_000


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [start_programs() / "sqleval", *arguments], capture_output=True, text=True, check=False
    )


def test_the_command_takes_expressions_beside_names(tmp_path: Path) -> None:
    roles = ["--label", "delayed", "--score", "p"]
    by = ["--by", "carrier", "--by", "m=date_trunc('month', flight_date)"]
    done = command(
        "evaluate", str(_file(tmp_path)), *roles, *by, "-m", "accuracy", "--format", "json"
    )
    rows = json.loads(done.stdout)
    assert list(rows[0])[:2] == ["carrier", "m"]
    assert {row["m"][:10] for row in rows} == {f"2013-{m:02}-01" for m in MONTHS["m"]}
    refused = command("sql", "f1", "--dialect", "spark", "--table", "t", *roles, *by)
    assert refused.returncode == 2
    assert "create a view with the key" in refused.stderr


@pytest.mark.parametrize("where", ["p > 0.2", "g = 'a'", "k = 'A'"])
def test_a_condition_on_a_lazy_frame_leaves_computed_keys(where: str) -> None:
    rows = pl.DataFrame({"y": [0, 1, 0, 1], "p": [0.1, 0.9, 0.8, 0.7], "g": ["a", "b", "a", None]})
    found, expected = (
        sqleval.scan(source, label="y", score="p", by={"k": "upper(g)"}, where=where)
        .evaluate("prevalence")
        .collect()
        for source in (rows.lazy(), rows)
    )
    assert found.equals(expected)


_ZONES = """
import duckdb, sqleval
roles = {"label": "y", "score": "p"}
kept = sqleval.scan("at.parquet", where="at >= '2024-03-31 01:00:00'", **roles)
print(kept.evaluate("prevalence").collect()["n"].item())
days = sqleval.scan("at.parquet", by={"day": "at::DATE"}, **roles).evaluate("prevalence")
print(days.collect()["day"].to_list())
by_time = sqleval.scan("at.parquet", by="at", **roles).evaluate("prevalence")
assert by_time.collect_schema() == by_time.collect().schema
print(by_time.collect_schema()["at"])
own = duckdb.connect()
own.execute("SET TimeZone = 'Asia/Tokyo'")
own.execute("CREATE TABLE t AS FROM 'at.parquet'")
theirs = sqleval.scan("t", con=own, by={"hour": "HOUR(at)"}, **roles).evaluate("prevalence")
print(theirs.collect()["hour"].to_list())
"""


def test_the_zone_of_the_machine_does_not_matter(tmp_path: Path) -> None:
    """In New York it is another day; a connection of Tokyo keeps its zone."""
    duckdb.execute(
        "COPY (SELECT i % 2 AS y, 0.5 AS p, TIMESTAMPTZ '2024-03-31 00:30:00+00' + "
        f"INTERVAL (i % 3) HOUR AS at FROM range(200) AS t(i)) TO '{tmp_path / 'at.parquet'}'"
    )
    done = subprocess.run(
        [sys.executable, "-c", _ZONES], env={**os.environ, "TZ": "America/New_York"}, cwd=tmp_path,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.splitlines() == [
        "133",
        "[datetime.date(2024, 3, 31)]",
        "Datetime(time_unit='us', time_zone='UTC')",
        "[9, 10, 11]",
    ]
