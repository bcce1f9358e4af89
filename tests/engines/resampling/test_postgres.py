"""Intervals and comparisons on PostgreSQL equal DuckDB's."""

from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest

import sqleval
from tests.core.comparison.data import LONG, MODELS, draw_models
from tests.support.comparison import assert_frame_equal
from tests.support.engines import PostgreSQL

#: The slice is so large that scores are rounded; few distinct scores make few cells.
LARGE = draw_models(2_100).with_columns(pl.col(*MODELS).round(1), g=pl.lit("large"))
ROWS = pl.concat([LARGE, draw_models(300, 2)])


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with PostgreSQL() as server:
        server.load("rows", ROWS.to_arrow())
        server.load("long", LONG.to_arrow())
        yield server.url


def assert_same(found: pl.DataFrame, expected: pl.DataFrame) -> None:
    found, expected = (frame.sort(frame.columns[:3]) for frame in (found, expected))
    # The units of an engine may be rows or groups.
    drop = ["method"] if "low" in found.columns and "verdict" not in found.columns else []
    assert_frame_equal(found.drop(drop), expected.drop(drop), rel_tol=1e-8, abs_tol=1e-8)


@pytest.mark.parametrize(("roles", "call"), [
    ({"by": "g", "over": "fold"}, {}), ({"by": "g", "over": "fold"}, {"cluster": "user"}),
    ({"weight": "w", "by": "g"}, {"ci_method": "bootstrap"}),
    ({"weight": "w", "by": "g"}, {"cluster": "user"}),
    ({"counts": "w"}, {}), ({"by": "g"}, {"ci_method": "bca"}),
])  # fmt: skip
def test_intervals(roles: dict[str, Any], call: dict[str, Any], url: str) -> None:
    # PostgreSQL counts the cells, and DuckDB draws from them, for every metric of scores.
    metrics = ["ks", "f1"]
    if call.get("ci_method") == "bootstrap":
        metrics += ["log_loss", "average_precision"]
    own, other = (
        sqleval.scan(source, label="y", score="a", engine=engine, **roles)
        .evaluate(metrics, ci=0.95, replicates=100, **call)
        .collect()
        for source, engine in ((ROWS, None), ("rows", url))
    )
    assert own["low"].null_count() == 0
    assert_same(other, own)


@pytest.mark.parametrize(("roles", "options"), [
    ({"by": "g", "sets": "overall"}, {}), ({"weight": "w"}, {}), ({}, {"cluster": "user"}),
    ({}, {"paired": False}), ({}, {"test": "bootstrap", "margin": 0.1}),
])  # fmt: skip
def test_comparisons(roles: dict[str, Any], options: dict[str, Any], url: str) -> None:
    # By slice, each of the tests in closed form; elsewhere cells of scores and of decisions.
    metrics = ["roc_auc", "f1"] + (["log_loss", "accuracy"] if "by" in roles else [])
    own, other = (
        sqleval.scan(source, label="y", score={"a": "a", "b": "b"}, engine=engine, **roles)
        .compare(metrics, replicates=100, **options)
        .collect()
        for source, engine in ((ROWS, None), ("rows", url))
    )
    assert_same(other, own)


def test_long_tables_and_ranks(url: str) -> None:
    for options in ({"metrics": "roc_auc"}, {"metrics": "log_loss", "test": "wilcoxon"}):
        own, other = (
            sqleval.scan(source, label="y", score="p", engine=engine)
            .compare(**options, model="m", key="k")
            .collect()
            for source, engine in ((LONG, None), ("long", url))
        )
        assert_same(other, own)
