"""Functions among the macros: aggregated area with bounds, normal distribution, DeLong's test."""

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

from tests.support.cases import drawn
from tests.support.macros import create_table, fetch_rows


def random_scores(rng: np.random.Generator, n: int) -> np.ndarray:
    tiny, huge = 5e-324, 1.7976931348623157e308
    kinds = (
        lambda: rng.random(n), lambda: rng.integers(0, 4, n) / 3, lambda: rng.normal(size=n),
        lambda: 1 - rng.random(n) ** 8 * 1e-3, lambda: rng.lognormal(0, 50, n),
        lambda: rng.choice([-0.0, 0.0, tiny, -tiny, 3 * tiny, 2.3e-308], n),
        lambda: rng.choice([-1.0, 1.0], n) * rng.random(n) * 1e308 * 1.7,
        lambda: rng.choice([huge, np.nextafter(huge, 0), 9.99e289, 1.01e290, -huge, 0.1], n),
        lambda: np.where(rng.random(n) < 0.3, rng.choice([-np.inf, np.inf], n), rng.normal(size=n)),
    )  # fmt: skip
    return kinds[rng.integers(len(kinds))]()


def test_bounds_of_the_aggregate_hold_the_exact_area(console: duckdb.DuckDBPyConnection) -> None:
    rng = np.random.default_rng(3)
    columns: dict[str, list[Any]] = {"i": [], "bits": [], "y": [], "p": []}
    exact: dict[int, float] = {}
    for i in range(220):
        n = int(rng.integers(2, 60))
        y = np.r_[0, 1, rng.random(n - 2) < rng.random()].astype(int)
        p = random_scores(rng, n)
        exact[i] = float(roc_auc_score(y, np.unique(p, return_inverse=True)[1]))
        for key, values in zip(columns, ([i] * n, [3 + i % 11] * n, y, p), strict=True):
            columns[key] += list(values)
    create_table(console, pl.DataFrame(columns), "sets")
    mixed = 0
    for bits in range(3, 14):
        given = f"y, p, bits := {bits}"
        rows = console.execute(
            f"SELECT i, sqleval.auc_binned({given}), sqleval.auc_low({given}), "
            f"sqleval.auc_high({given}), sqleval.auc(y, p) "
            f"FROM sets WHERE bits = {bits} GROUP BY i"
        ).fetchall()
        assert len(rows) == 20
        for i, auc, low, high, whole in rows:
            assert 0 <= low <= exact[i] <= high <= 1, (i, bits)
            assert low <= auc <= high
            assert whole == pytest.approx(exact[i], abs=1e-15)
            mixed += high - low > 3e-15
    assert mixed > 110


def test_the_aggregate_is_exact(console: duckdb.DuckDBPyConnection) -> None:
    # A case where the middle of the bin would be 0.59375.
    rows = console.execute(
        "SELECT sqleval.auc(y, p), sqleval.auc(y, q) FROM (VALUES "
        "(1, 0.9999, 0.9999), (1, 0.9, 0.9), (1, 0.95, 0.95), (1, 0.01, 0.01), (0, 0.02, 0.02), "
        "(0, 0.1, 0.1), (0, 0.79, 0.79), (0, 0.99989, 0.9999989)) AS t(y, p, q)"
    ).fetchall()
    assert rows == [(0.625, 0.5625)]
    for bits in ("0", "54", "1.5", "NULL"):
        query = f"SELECT sqleval.auc_binned(1, 0.5, bits := {bits})"
        with pytest.raises(duckdb.Error, match=f"a whole number from 1 to 53, not {bits}"):
            console.execute(query)


def test_the_aggregate_as_part_of_queries(console: duckdb.DuckDBPyConnection) -> None:
    con = console
    sql = "SELECT g, sqleval.auc(y, p) AS a FROM preds GROUP BY g"
    rows = con.execute(f"{sql} ORDER BY sqleval.auc(y, p) DESC").fetchall()
    assert [a for _, a in rows] == sorted((a for _, a in rows), reverse=True)
    for g, a in rows:
        one = "SELECT sqleval.auc(y, p) FROM (FROM preds WHERE g IS NOT DISTINCT FROM $g)"
        assert con.execute(one, {"g": g}).fetchall() == [(a,)]
    assert con.execute(f"SELECT g FROM ({sql}) WHERE a > 2").fetchall() == []
    assert con.execute(
        "SELECT sqleval.auc(y = 1, p) = sqleval.auc(y, p) FROM preds"
    ).fetchone() == (True,)
    for where in ("y = 1", "y = 0", "FALSE"):
        each = (f"sqleval.{name}(y, p)" for name in ("auc", "auc_binned", "auc_low", "auc_high"))
        assert (
            con.execute(f"SELECT {', '.join(each)} FROM preds WHERE {where}").fetchone()
            == (None,) * 4
        )
    for label, score, message in (
        ("2 * y", "p", "label must hold 0 and 1, or booleans, not 2"),
        ("y", "'nan'::DOUBLE", "score is NaN"),
        ("'yes'", "p", "yes"),
    ):
        with pytest.raises(duckdb.Error, match=message):
            con.execute(f"SELECT sqleval.auc({label}, {score}) FROM preds").fetchall()


def test_nan_in_a_large_file_is_refused(console: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    # With many rows the engine reads the statistics of a file, which leave NaN out.
    rng = np.random.default_rng(5)
    scores = np.where(rng.random(100_000) < 0.05, np.nan, rng.random(100_000))
    rows = pl.DataFrame({"y": rng.integers(0, 2, 100_000), "p": scores})
    rows.write_parquet(tmp_path / "rows.parquet", row_group_size=20_000)
    with pytest.raises(duckdb.Error, match="score is NaN"):
        console.execute(f"SELECT sqleval.auc(y, p) FROM '{tmp_path}/rows.parquet'").fetchall()


def test_normal_distribution_function(console: duckdb.DuckDBPyConnection) -> None:
    z = np.unique(
        np.r_[
            np.linspace(-40, 40, 20001),
            -7.0710678118655,
            7.0710678118655,
            np.linspace(-7.08, -7.06, 99),
        ]
    )
    create_table(console, pl.DataFrame({"z": z}), "z")
    got = console.execute("SELECT sqleval.normal_cdf(z) FROM z ORDER BY z").fetchnumpy()
    (values,) = got.values()
    want = norm.cdf(z)
    assert np.abs(values - want).max() <= 1e-15
    lower = (z < 0) & (want > 1e-300)
    assert (np.abs(values - want) / np.where(want > 0, want, 1))[lower].max() <= 1e-7
    sql = (
        "SELECT sqleval.normal_cdf(z) FROM (VALUES (NULL), ('inf'::DOUBLE), ('-inf'), (0)) AS t(z)"
    )
    assert console.execute(sql).fetchall() == [(None,), (1.0,), (0.0,), (0.5,)]


def components(label: np.ndarray, score: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    one, other = score[label == 1][:, None], score[label == 0][None, :]
    beats = (one > other) + 0.5 * (one == other)
    return beats.mean(axis=1), beats.mean(axis=0)


def delong(label: np.ndarray, score: np.ndarray, baseline: np.ndarray) -> tuple[float, ...]:
    """Return the difference of two areas, its standard error and p-value, from all pairs."""
    (v10, v01), (w10, w01) = components(label, score), components(label, baseline)
    contrast = np.array([1.0, -1.0])
    cov = np.cov(v10, w10) / len(v10) + np.cov(v01, w01) / len(v01)
    error = float(np.sqrt(contrast @ cov @ contrast))
    difference = float(v10.mean() - w10.mean())
    return difference, error, float(2 * norm.sf(abs(difference / error)))


@pytest.mark.parametrize("digits", [17, 1, 0])
@pytest.mark.parametrize("by", [None, "g"])
def test_difference_of_two_areas(
    by: str | None, digits: int, console: duckdb.DuckDBPyConnection
) -> None:
    frame = drawn("binary", 200).with_columns(
        a=pl.col("p").round(digits), b=(pl.col("w") + pl.col("y") * 0.3).round(digits)
    )
    create_table(console, frame)
    slices = f", slice := {by}" if by else ""
    roles = f"label := y, score := b, baseline := a{slices}"
    rows = fetch_rows(console, f"FROM sqleval.roc_auc_difference('data', {roles})")
    parts = frame.partition_by(by, as_dict=True) if by else {("all",): frame}
    assert [row["slice"] for row in rows] == sorted(
        (k for (k,) in parts), key=lambda k: (k is None, k)
    )
    for row in rows:
        part = parts[row["slice"],]
        want = delong(*(part[name].to_numpy() for name in ("y", "b", "a")))
        assert (row["value"], row["stderr"], row["p_value"]) == pytest.approx(want, rel=1e-9)
        assert row["z"] == pytest.approx(want[0] / want[1], rel=1e-9)
        assert (row["n"], row["n_dropped"], row["note"]) == (part.height, 0, None)


@pytest.mark.parametrize(
    ("frame", "note"),
    [
        ({"y": [0, 1, 0, 1], "a": [1, 2, 3, 4], "b": [2, 4, 6, 8]}, "rank the classes alike"),
        ({"y": [0, 0], "a": [1, 2], "b": [2, 1]}, "no positive labels"),
        ({"y": [1, 1], "a": [1, 2], "b": [2, 1]}, "no negative labels"),
        ({"y": [1, 0, 0], "a": [1, 2, 0], "b": [2, 1, 0]}, "one row of a class"),
        ({"y": [1, 0], "a": [None, None], "b": [2, 1]}, "no rows"),
    ],
)
def test_difference_that_is_undefined(
    frame: dict[str, list[Any]], note: str, console: duckdb.DuckDBPyConnection
) -> None:
    create_table(console, pl.DataFrame(frame, schema_overrides={"a": pl.Float64}))
    call = (
        "sqleval.roc_auc_difference('data', label := y, score := b, baseline := a, nulls := 'drop')"
    )
    (row,) = fetch_rows(console, f"FROM {call}")
    assert row["p_value"] is None
    assert note in row["note"]
