"""Windows within buckets of the score give what windows over all rows give."""

from dataclasses import replace
from itertools import pairwise
from math import isfinite, isnan
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

import sqleval
from sqleval.catalog import request
from sqleval.compiler.buckets import Buckets, write_bucket
from sqleval.compiler.curve import compile_curve
from sqleval.compiler.metrics import compile_metrics
from sqleval.compiler.statement import Statement
from sqleval.frontend.bound import list_objects, list_sources, parse_requests
from sqleval.frontend.plan import fit_buckets
from sqleval.frontend.predictions import Predictions
from tests.support import support_matrix as matrix


def run(predictions: Predictions, statement: Statement) -> list[tuple[Any, ...]]:
    """Run the text for an engine of several machines on DuckDB."""
    engine, objects = predictions.engine, list_objects(predictions)
    return engine.rows(statement.sql, statement.params, list_sources(predictions), objects)


def compile_buckets(
    predictions: Predictions, names: str | list[str], buckets: Buckets, ci: float | None = None
) -> Statement:
    """Return the statement of metrics or a curve for an engine of several machines."""
    binding = replace(predictions.binding, dialect="spark")
    first = names if isinstance(names, str) else names[0]
    curve = request.parse_table(first, binding.task)
    if curve is not None:
        return compile_curve(binding, curve, buckets)
    return compile_metrics(binding, parse_requests(predictions, names, None), buckets, ci)


def assert_close(one: list[tuple[Any, ...]], other: list[tuple[Any, ...]]) -> None:
    """Assert that rows are equal except for the last digits of numbers."""
    assert len(one) == len(other)
    for found, expected in zip(one, other, strict=True):
        for left, right in zip(found, expected, strict=True):
            if left == right:
                continue
            # `pytest.approx` would take most of the time of a curve of many points.
            assert isinstance(left, float), (found, expected)
            assert isinstance(right, float), (found, expected)
            is_near = isfinite(right) and abs(left - right) <= max(1e-9 * abs(right), 1e-9)
            assert is_near or (isnan(left) and isnan(right)), (found, expected)


def list_statements() -> list[tuple[matrix.Call, list[str]]]:
    """Return each curve, and small groups of metrics with the same roles: all take long to plan."""
    return [
        (first, names[start : start + 12])
        for first, names in matrix.together()
        for start in range(0, len(names), 12)
    ]


def group_rows(frame: pl.DataFrame) -> dict[str, list[tuple[Any, ...]]]:
    """Return the rows of each metric, or of a curve, without the columns about the computation."""
    names = frame["metric"] if "metric" in frame.columns else ["a curve"] * frame.height
    grouped: dict[str, list[tuple[Any, ...]]] = {}
    rows = frame.drop("method", "_problem", "_notice", strict=False).rows()
    for name, row in zip(names, rows, strict=True):
        grouped.setdefault(name, []).append(row)
    return grouped


@pytest.mark.parametrize(("first", "names"), list_statements(), ids=matrix.name_statement)
def test_every_metric_and_curve(first: matrix.Call, names: list[str]) -> None:
    source = matrix.tables()[first.table]
    predictions = matrix.bind(first, source)
    expected = group_rows(matrix.evaluate(first, names, source).collect())
    statements = [
        compile_buckets(predictions, names, Buckets((0.1, 0.25, 0.3, 0.7), has_ties))
        for has_ties in (False, True)
    ]
    # Without ranks, both statements are equal, so one is run.
    if statements[0].sql == statements[1].sql:
        assert statements[0].params == statements.pop().params
    for statement in statements:
        frame = pl.DataFrame(
            run(predictions, statement), orient="row", infer_schema_length=None,
            schema=[*statement.columns, "_problem", "_notice"],
        )  # fmt: skip
        assert frame.select("_problem", "_notice").null_count().row(0) == (frame.height,) * 2
        found = group_rows(frame)
        assert found.keys() == expected.keys()
        for metric, rows in expected.items():
            assert_close(found[metric], rows)


SHAPES = {
    "uniform": lambda rng, n: rng.random(n),
    "nearly sure": lambda rng, n: 1 / (1 + np.exp(-rng.normal(8, 2, n))),
    "clicks": lambda rng, n: 1 / (1 + np.exp(-rng.normal(-5, 1, n))),
    "two peaks": lambda rng, n: 1 / (1 + np.exp(-rng.normal(0, 6, n))),
    "narrow": lambda rng, n: 0.7 + rng.normal(0, 1e-5, n),
    "any number": lambda rng, n: rng.standard_cauchy(n) * 1e6,
}


@pytest.mark.parametrize("shape", SHAPES)
def test_no_bucket_has_many_rows(shape: str) -> None:
    rng = np.random.default_rng(3)
    scores = SHAPES[shape](rng, 100_000)
    buckets = fit_buckets(pl.DataFrame({"score_0": rng.choice(scores, 50_000)}))
    assert not buckets.has_ties
    frame = pl.DataFrame({"y": rng.integers(0, 2, 100_000), "p": scores})
    predictions = sqleval.scan(frame, label="y", score="p")
    largest = "SELECT MAX(n) FROM (SELECT bucket, COUNT(*) AS n FROM predictions GROUP BY bucket)"
    statement = compile_buckets(predictions, "roc_auc_trapezoid", buckets)
    names = [cte.name for cte in statement.ctes]
    ctes = statement.ctes[: names.index("predictions") + 1]
    ((most,),) = run(predictions, replace(statement, ctes=ctes, select=largest))
    # A range has 1/32 of the rows; outside of the cuts it may be a single bucket.
    assert most < 0.04 * 100_000
    if shape not in ("uniform", "any number"):
        return  # results from buckets do not depend on the shape
    ((value, *_),) = run(predictions, statement.narrow(("value",), None))
    expected = predictions.evaluate("roc_auc").collect()["value"].item()
    assert value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("has_ties", [False, True])
def test_infinite_and_equal_scores_have_a_bucket(has_ties: bool) -> None:
    scores = [-np.inf, -1e300, 0.0, 0.5, 0.5, 0.5, 0.7, 1e300, np.inf, np.inf]
    frame = pl.DataFrame({"y": [0, 1, 0, 1, 0, 0, 1, 0, 1, 0], "p": scores})
    predictions = sqleval.scan(frame, label="y", score="p")
    expected = predictions.evaluate("roc_auc").collect()["value"].item()
    for sample in (frame["p"], pl.Series([0.5, 0.5]), pl.Series([], dtype=pl.Float64)):
        buckets = fit_buckets(sample.to_frame())._replace(has_ties=has_ties)
        statement = compile_buckets(predictions, "roc_auc", buckets).narrow(("value",), None)
        assert run(predictions, statement)[0][0] == pytest.approx(expected, abs=1e-15)


CUTS = (-1e-310, 0.1, 0.3, 0.30000000000000004, 0.7, 1e17)
NEXT_TO_CUTS = [
    ["roc_auc", "average_precision", "ks", "best_f_beta_threshold", "cost_curve_area"],
    ["expected_calibration_error(strategy='quantile')"], ["roc"], ["pr"], ["roc_hull"],
]  # fmt: skip


@pytest.mark.parametrize("has_ties", [False, True])
@pytest.mark.parametrize("names", NEXT_TO_CUTS, ids=lambda names: names[0])
def test_scores_next_to_cuts(names: list[str], has_ties: bool) -> None:
    rng = np.random.default_rng(6)
    cuts = CUTS[1:-1] if "calibration" in names[0] else CUTS
    # The ends of ranges and of their buckets, each with neighbouring numbers.
    ends = [low + (high - low) * k / 128 for low, high in pairwise(cuts) for k in (0, 1, 64, 127)]
    ends = np.array([*ends, cuts[-1]])
    scores = np.concatenate([np.nextafter(ends, -np.inf), ends, np.nextafter(ends, np.inf)])
    scores = rng.permutation(np.tile(scores, 3))
    label = rng.random(len(scores)) < 0.2 + 0.6 * np.argsort(np.argsort(scores)) / len(scores)
    frame = pl.DataFrame({"y": label, "p": scores})
    predictions = sqleval.scan(frame, label="y", score="p")
    curve = request.parse_table(names[0], predictions.task)
    interval: dict[str, Any] = {"ci": 0.95, "replicates": 0}
    expected = predictions.curve(names[0]) if curve else predictions.evaluate(names, **interval)
    statement = compile_buckets(predictions, names, Buckets(cuts, has_ties), 0.95)
    found = pl.DataFrame(
        run(predictions, statement), orient="row", infer_schema_length=None,
        schema=[*statement.columns, "_problem", "_notice"],
    )  # fmt: skip
    found = found.drop("_problem", "_notice", "method", strict=False)
    assert_close(found.rows(), expected.collect().drop("method", strict=False).rows())


def test_intervals_of_more_positives_than_levels() -> None:
    rng = np.random.default_rng(7)
    scores = rng.random(6_000)
    frame = pl.DataFrame({"y": rng.random(6_000) < scores, "p": scores.round(4)})
    predictions = sqleval.scan(frame, label="y", score="p")
    for name in ("average_precision", "pr_auc_interpolated", "pr_auc_trapezoid"):
        statement = compile_buckets(predictions, name, Buckets((0.1, 0.5, 0.9), False), 0.95)
        columns = ("value", "low", "high")
        (found,) = run(predictions, statement.narrow(columns, None))
        expected = predictions.evaluate(name, ci=0.95).collect().select(columns).row(0)
        assert found[:3] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("has_ties", [False, True])
def test_dominance_of_weighted_slices(has_ties: bool) -> None:
    rng = np.random.default_rng(9)
    label = rng.random(3_000) < 0.3
    frame = pl.DataFrame(
        {
            "y": label, "p": rng.normal(label, 1).round(2), "q": rng.normal(label * 0.9, 1),
            "w": rng.random(3_000), "g": rng.integers(0, 3, 3_000),
        }
    ).with_columns(r=pl.max_horizontal("q", 0.0))  # fmt: skip
    models = {name: name for name in "pqr"}
    predictions = sqleval.scan(frame, label="y", score=models, weight="w", by="g", threshold=0)
    expected = predictions.curve("roc_dominance").collect().rows()
    buckets = Buckets(tuple(np.linspace(-3, 3, 33).tolist()), has_ties)
    found = run(predictions, compile_buckets(predictions, "roc_dominance", buckets))
    assert_close([row[:-2] for row in found], expected)
    assert len(expected) > 50


def test_a_score_of_many_rows_is_counted_first() -> None:
    rng = np.random.default_rng(4)
    scores = np.where(rng.random(50_000) < 0.4, 0.25, rng.random(50_000))
    assert fit_buckets(pl.DataFrame({"score_0": scores})).has_ties


def test_more_rows_have_more_buckets() -> None:
    scores = np.random.default_rng(2).random(50_000)
    sample = pl.DataFrame({"score_0": scores})
    few, many = fit_buckets(sample, 10**9), fit_buckets(sample, 10**11)
    assert few == fit_buckets(sample)
    assert many.per_range * 32 == pytest.approx(10**11 / 250_000)
    with duckdb.connect() as con:
        rows = con.sql(f"SELECT score_0, {write_bucket('score_0', many)} AS bucket FROM sample")
        found = rows.pl().sort("score_0")["bucket"]
    assert found.is_sorted()
    assert found.dtype == pl.Int32
    assert found.n_unique() > 40_000
    frame = pl.DataFrame({"y": (scores**2 > 0.2) * 1, "p": np.roll(scores, 1)})
    predictions = sqleval.scan(frame, label="y", score="p")
    names = ["roc_auc", "average_precision", "ks"]
    one, other = (run(predictions, compile_buckets(predictions, names, b)) for b in (few, many))
    assert_close(one, other)
