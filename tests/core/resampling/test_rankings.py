"""Intervals of rankings from replicates: queries, or clusters of them, are drawn whole."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import sqleval
from sqleval.errors import DataError
from tests.support.rankings import RANKED, draw_means, draw_rankings, list_values, scan

N = 4_000


def read_ends(bound: sqleval.Predictions, metrics: Any = "ndcg", **options: Any) -> list[float]:
    options = {"ci": 0.95, "ci_method": "percentile", "replicates": N} | options
    found = bound.evaluate(metrics, **options).collect()
    return [found["low"].item(), found["high"].item()]


def approximate(sample: np.ndarray) -> Any:
    """Return the percentiles of a sample, within three Monte Carlo errors of both."""
    low, high = np.quantile(sample, [0.025, 0.975])
    # The density of a normal sample at its 97.5th percentile is 0.058 / sd.
    error = np.sqrt(0.025 * 0.975 / N) / 0.058 * sample.std()
    return pytest.approx([low, high], abs=3 * error)


@pytest.mark.parametrize("k", [None, 3])
def test_queries_are_drawn(k: int | None) -> None:
    values = [np.array([each]) for each in list_values(RANKED, "a", k).values()]
    metric = "ndcg" if k is None else f"ndcg(k={k})"
    assert read_ends(scan(), metric) == approximate(draw_means(values))
    found = scan().evaluate(metric, ci=0.95, ci_method="bootstrap", replicates=N).collect()
    (row,) = found.iter_rows(named=True)
    half = (row["high"] - row["low"]) / 2
    error = np.std(values, ddof=1) / np.sqrt(len(values))
    # 1.96 standard errors, or Student's 2.0, plus the remaining bias.
    assert 1.9 * error < half < 2.2 * error
    assert row["note"] == "undefined for 2 of 60 queries"
    assert row["method"] == f"bootstrap, {N:,} replicates"


def test_slices_and_models_are_drawn_by_themselves() -> None:
    found = scan(score={"a": "a", "b": "b"}, by="g").evaluate(
        "ndcg", ci=0.95, ci_method="percentile", replicates=N
    )
    for group, model, low, high in found.collect().select("g", "model", "low", "high").iter_rows():
        values = list_values(RANKED.filter(pl.col("g") == group), model).values()
        assert [low, high] == approximate(draw_means([np.array([each]) for each in values]))


def test_clusters_of_queries_are_drawn() -> None:
    values = list_values(RANKED, "a")
    users = [
        np.array([values[q] for q in range(3 * u, 3 * u + 3) if q in values]) for u in range(20)
    ]
    assert read_ends(scan(), cluster="u") == approximate(draw_means(users))
    for column, number in (("k", 60), ("gap", 1)):
        gap = pl.when(pl.col("k") != 100).then("u")
        rows = RANKED.with_columns(gap=gap)
        queries = "1 query" if number == 1 else f"{number} queries"
        message = f"cluster='{column}' is NULL in some rows, or not the same.* of {queries}; whole"
        with pytest.raises(DataError, match=message):
            read_ends(scan(rows), cluster=column)
    # The row without a user is left out; its query keeps the others.
    dropped = scan(RANKED.with_columns(gap=gap), nulls="drop").evaluate(
        "ndcg", ci=0.95, cluster="gap"
    )
    assert dropped.collect()["n_dropped"].item() == 1


def test_bca_is_that_of_scipy() -> None:
    stats = pytest.importorskip("scipy.stats")
    values = np.array([*list_values(RANKED, "b").values()])
    expected = stats.bootstrap(
        (values,), np.mean, n_resamples=20_000, method="BCa", rng=np.random.default_rng(0)
    ).confidence_interval
    found = read_ends(scan(score="b"), ci_method="bca")
    assert found == pytest.approx([*expected], abs=0.08 * (expected.high - expected.low))


def test_many_queries_have_rounded_values() -> None:
    """Values of 9 bits give the interval of all queries, and a slice has the same one alone."""
    rows = draw_rankings(3_000, 3)
    options: Any = {"ci": 0.95, "ci_method": "percentile", "replicates": N}
    found = scan(rows).evaluate("ndcg", **options).collect()
    method = f"bootstrap percentile, values of 9 bits, {N:,} replicates"
    assert found["method"].item() == method
    values = np.array([*list_values(rows, "a").values()])
    error = 1.96 * values.std() / np.sqrt(len(values))
    (row,) = found.iter_rows(named=True)
    assert row["high"] - row["low"] == pytest.approx(2 * error, rel=0.06)
    by = scan(rows, by="g").evaluate("ndcg", ci=0.95, ci_method="bootstrap").collect()
    alone = scan(rows.filter(pl.col("g") == "s")).evaluate("ndcg", ci=0.95, ci_method="bootstrap")
    columns = ["value", "low", "high", "method", "note"]
    assert by.filter(pl.col("g") == "s").select(columns).rows() == [
        pytest.approx(each) for each in alone.collect().select(columns).rows()
    ]


def test_few_or_equal_queries_say_so() -> None:
    few = scan(draw_rankings(12)).evaluate("ndcg", ci=0.95, ci_method="bootstrap").collect()
    assert "few queries: interval may be too narrow" in few["note"].item()
    alike = RANKED.with_columns(a=pl.col("y").cast(pl.Float64))
    found = scan(alike).evaluate("ndcg", ci=0.95, ci_method="bootstrap").collect()
    same = "undefined for 2 of 60 queries; no interval: the metric is the same in all replicates"
    assert (found["value"].item(), found["note"].item()) == (1.0, same)
    none = scan(RANKED[:0]).evaluate("ndcg", ci=0.95, ci_method="bootstrap").collect()
    assert none["note"].item() == "no rows"


def test_groups_of_queries_are_compared() -> None:
    """A metric reduced over a key: the values of its groups, and its interval from replicates."""
    groups = [[*list_values(RANKED.filter(g=name), "a").values()] for name in "st"]
    means = [np.mean(each) for each in groups]
    metrics = {
        "ndcg(reduce='smallest')": min(means),
        "ndcg(reduce='difference')": max(means) - min(means),
        "ndcg(reduce='ratio')": min(means) / max(means),
    }
    found = scan(over="g").evaluate([*metrics], ci=0.95, ci_method="percentile", replicates=N)
    found = found.collect()
    assert dict(found.select("metric", "value").iter_rows()) == pytest.approx(metrics)
    # Each query is drawn as often as the Poisson distribution says.
    rng = np.random.default_rng(0)
    drawn: list[np.ndarray] = []
    for each in groups:
        counts = rng.poisson(1, (20_000, len(each)))
        drawn.append((counts * each).sum(axis=1) / counts.sum(axis=1))
    smallest = np.minimum(*drawn)
    ends = found.filter(metric="ndcg(reduce='smallest')").select("low", "high").row(0)
    assert [*ends] == approximate(smallest)
