"""The bootstrap's random numbers are uniform, independent, Poisson, and equal on all engines."""

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest
import sqlglot
from scipy import stats

from sqleval.catalog.catalogue import builtin
from sqleval.compiler.rewrite import bind_query, write_sql
from sqleval.resampling.replicates import create_salts
from tests.support.engines import DuckDB, Engine, SQLite

PRIME = 2**31 - 1


def run(
    engine: Engine, units: np.ndarray, mean: float, numbers: range, seed: int = 0,
    last: str = "draws",
) -> pl.DataFrame:  # fmt: skip
    """Return ``cell``, ``replicate``, ``share`` and ``drawn`` of each unit and replicate."""
    files = [builtin().get(name) for name in dict.fromkeys(("uniforms", last))]
    ctes = ",\n".join(
        f"{file.name} AS (\n{write_sql(bind_query(file.query, ('cell',), {}, {}))}\n)"
        for file in files
    )
    drawn = "d.drawn" if last == "draws" else "0"
    sql = (
        f"WITH {ctes}\nSELECT d.cell, d.replicate, u.share, {drawn} AS drawn FROM {last} AS d "
        "JOIN uniforms AS u ON u.cell = d.cell AND u.replicate = d.replicate ORDER BY 2, 1"
    )
    if engine.dialect != "duckdb":
        (sql,) = sqlglot.transpile(sql, read="duckdb", write=engine.dialect)
    cells = {"cell": np.arange(len(units)), "unit": units, "mean": np.full(len(units), mean)}
    engine.load("cells", pl.DataFrame(cells).to_arrow())
    engine.load("replicates", create_salts(seed, numbers).to_arrow())
    names = ["cell", "replicate", "share", "drawn"]
    return pl.DataFrame(engine.run(sql).rows, schema=names, orient="row")


@pytest.fixture(scope="module")
def duckdb() -> DuckDB:
    return DuckDB()


def mix(units: np.ndarray, seed: int, number: int) -> np.ndarray:
    """Return the uniforms of a replicate: the three rounds, implemented a second time."""
    _, first, second = create_salts(seed, [number]).row(0)
    found: list[float] = []
    for unit in map(int, units):
        a = (unit * 48271 + first) % PRIME
        b = ((a * a + second) % PRIME * 69621 + unit + first) % PRIME
        c = ((b * b + second + unit) % PRIME * 16807 + first) % PRIME
        found.append((c + 0.5) / PRIME)
    return np.array(found)


def test_uniforms_are_those_of_a_second_implementation(duckdb: DuckDB) -> None:
    # The largest unit numbers belong to blocks, numbered per model.
    units = np.array([1, 2, 3, 1_000, 2**28, 50 * 2**29 + 2**28])
    found = run(duckdb, units, 1.0, range(1, 4), seed=7)
    for number in (1, 2, 3):
        shares = found.filter(replicate=number)["share"].to_numpy()
        assert shares == pytest.approx(mix(units, 7, number), abs=1e-15)
        # Poisson numbers by inversion of the same shares.
        drawn = found.filter(replicate=number)["drawn"].to_numpy()
        assert (drawn == stats.poisson.ppf(shares, 1.0)).all()


def test_sqlite_has_the_same_uniforms() -> None:
    check_uniforms(SQLite)


def check_uniforms(start: Callable[[], Engine]) -> None:
    """Compare the uniforms of an engine with DuckDB's."""
    units = np.array([1, 2, 3, 1_000, 2**28, 50 * 2**29 + 2**28])
    with start() as engine, DuckDB() as duckdb:
        other, own = (run(each, units, 1.0, range(1, 4), last="uniforms")
                      for each in (engine, duckdb))  # fmt: skip
    assert other.rows() == own.rows()


def find_distances(columns: np.ndarray) -> np.ndarray:
    """Return the one-sample Kolmogorov-Smirnov statistic of each column, as SciPy does."""
    n = len(columns)
    ranked, places = np.sort(columns, axis=0), np.arange(n)[:, None]
    distances = np.maximum((places + 1) / n - ranked, ranked - places / n).max(axis=0)
    assert distances[0] == pytest.approx(stats.kstest(columns[:, 0], "uniform").statistic)
    return distances


def test_uniforms_are_uniform_and_independent(duckdb: DuckDB) -> None:
    units, replicates = 2_000, 30
    found = run(duckdb, np.arange(1, units + 1), 1.0, range(1, replicates + 1))
    shares = found["share"].to_numpy().reshape(replicates, units)
    assert shares.min() > 0
    assert shares.max() < 1
    assert stats.kstest(shares.ravel(), "uniform").pvalue > 1e-3
    assert find_distances(shares.T).max() < stats.kstwo.isf(1e-4, units)
    assert find_distances(shares).max() < stats.kstwo.isf(1e-6, replicates)
    limit = 4.5 / np.sqrt(units * replicates)
    ranked = stats.norm.ppf(shares)
    for step in (1, 2, 3, 7, 48):
        neighbours = ranked[:, :-step] * ranked[:, step:]
        assert abs(neighbours.mean()) < limit, f"units {step} apart"
    between = np.corrcoef(ranked)[np.triu_indices(replicates, 1)]
    assert abs(between).max() < 4.5 / np.sqrt(units)
    assert between.std() == pytest.approx(1 / np.sqrt(units), rel=0.2)
    # Pairs fill the square: a chi-square over 10 x 10 fields.
    for other in (shares[1], np.roll(shares[0], 1), shares[0][::-1]):
        counts, *_ = np.histogram2d(shares[0], other, bins=10, range=[[0, 1], [0, 1]])
        assert stats.chisquare(counts.ravel()).pvalue > 1e-4


def test_seeds_are_independent(duckdb: DuckDB) -> None:
    units = np.arange(1, 3_001)
    rows = [
        run(duckdb, units, 1.0, range(1, 2), seed)["share"].to_numpy() for seed in (0, 1, 2**40)
    ]
    between = np.corrcoef(rows)[np.triu_indices(3, 1)]
    assert abs(between).max() < 4.5 / np.sqrt(3_000)
    # Different seeds give different replicates.
    assert len(create_salts(1, range(1, 500)).vstack(create_salts(11, range(1, 500))).unique(
        ["first_salt", "second_salt"])) == 998  # fmt: skip


@pytest.mark.parametrize("mean", [0.3, 1.0, 2.5, 3.99, 4.01, 9.0, 100.0, 1e4])
def test_draws_are_poisson(duckdb: DuckDB, mean: float) -> None:
    n = 30_000
    drawn = run(duckdb, np.arange(1, n // 20 + 1), mean, range(1, 21))["drawn"].to_numpy()
    assert drawn.min() >= 0
    # Above a mean of 4 an expansion is used: the mean within 0.03 %, the variance within 0.2 %.
    bias, spread = (0, 0) if mean <= 4 else (3e-4, 2e-3)
    error = 4.5 * np.sqrt(mean / n)
    assert drawn.mean() == pytest.approx(mean, abs=error + bias * mean)
    variance_error = 4.5 * np.sqrt((mean + 2 * mean**2) / n)
    assert drawn.var() == pytest.approx(mean, abs=variance_error + spread * mean)
    assert stats.skew(drawn) == pytest.approx(mean**-0.5, abs=4.5 * np.sqrt((6 + 20 / mean) / n))
    edges = np.unique(stats.poisson.ppf(np.linspace(0.01, 0.99, 25), mean))
    edges = np.concatenate([[-1], edges, [np.inf]])
    observed = np.histogram(drawn, bins=edges + 0.5)[0]
    expected = np.diff(stats.poisson.cdf(edges, mean)) * n
    assert stats.chisquare(observed, expected).pvalue > 1e-4


def test_the_tails_of_small_means_end_nowhere_early(duckdb: DuckDB) -> None:
    # The inversion has branches up to 21: beyond, the probability is below 1e-8.
    assert stats.poisson.sf(20, 4.0) < 1e-8
    shares = run(duckdb, np.arange(1, 50_001), 4.0, range(1, 4))
    # The quantile is the least number whose distribution function reaches the share.
    levels = stats.poisson.cdf(np.arange(40), 4.0)
    expected = np.searchsorted(levels, shares["share"].to_numpy())
    assert (shares["drawn"].to_numpy() == expected).all()
