"""Windows of statements for many machines stay small, as one task sorts a window's rows."""

import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest

import sqleval
from sqleval.frontend.bound import list_objects, list_sources
from sqleval.frontend.plan import fit_buckets
from sqleval.frontend.predictions import Predictions
from tests.core.compiler.test_buckets import compile_buckets, list_statements
from tests.support import spark_process
from tests.support import support_matrix as matrix
from tests.support.versions import needs

pytestmark = needs("older engines print plans in another form, of the same text", duckdb="2")

LIMIT = spark_process.ROWS_INTO_ONE_PARTITION
MODELS = {"even": "even", "noise": "noise"}


def list_windows(operator: dict[str, Any]) -> Iterator[tuple[int, str]]:
    """Yield the rows and the text of each window in a plan that has run."""
    if "WINDOW" in operator["type"]:
        texts = operator["extra_info"]["Projections"]
        for text in [texts] if isinstance(texts, str) else texts:
            yield operator["intermediate_rows"], text
    for child in operator.get("children", ()):
        yield from list_windows(child)


def is_distributed(window: str) -> bool:
    """Whether a window is split over several tasks, by bucket, level or strip."""
    keys = re.search(r"OVER \(PARTITION BY (.*?)(?: ORDER BY .*)?\)", window)
    return keys is not None and not {"bucket", "level", "strip"}.isdisjoint(keys[1].split(", "))


def run_windows(predictions: Predictions, names: list[str]) -> list[tuple[int, str]]:
    """Return the windows of metrics and intervals, or a curve, that have run on DuckDB."""
    sample = spark_process.make_rows().select(score_0="even")
    statement = compile_buckets(predictions, names, fit_buckets(sample), ci=0.95)
    ((_, plan),) = predictions.engine.rows(
        f"EXPLAIN (ANALYZE, FORMAT JSON) {statement.sql}", statement.params,
        list_sources(predictions), list_objects(predictions),
    )  # fmt: skip
    return list(list_windows(json.loads(plan)["operator"][0]))


@pytest.fixture(scope="module")
def rows() -> pl.DataFrame:
    return spark_process.make_rows()


@pytest.mark.parametrize(
    ("first", "names"),
    [each for each in list_statements() if each[0].roles.get("label") == "label"],
    ids=matrix.name_statement,
)
def test_no_task_ranks_all_rows(first: matrix.Call, names: list[str], rows: pl.DataFrame) -> None:
    score = MODELS if isinstance(first.roles["score"], dict) else "even"
    predictions = sqleval.scan(rows, label="y", score=score)
    # Metrics of pairs join rows, which takes seconds here and has no window.
    windows = run_windows(predictions, [name for name in names if name != "roc_auc_pairs"])
    large = {text: n for n, text in windows if n > LIMIT and not is_distributed(text)}
    assert not large


def test_curves_of_many_points_are_compared_in_parts(rows: pl.DataFrame) -> None:
    # Most rows are negatives of different weights, so that each is a point of the curve.
    rng = np.random.default_rng(12)
    weighted = rows.with_columns(
        weight=pl.Series(rng.random(rows.height)),
        y=pl.col("y") * pl.Series(rng.random(rows.height) < 0.5),
    )
    predictions = sqleval.scan(
        weighted, label="y", score=MODELS, weight="weight", where="even < 0.5e0"
    )
    windows = run_windows(predictions, ["roc_dominance"])
    assert not {text: n for n, text in windows if n > LIMIT and not is_distributed(text)}


def test_a_window_over_all_rows_is_seen(rows: pl.DataFrame) -> None:
    windows = run_windows(sqleval.scan(rows, label="y", score="even"), ["roc_auc"])
    assert max(n for n, text in windows if is_distributed(text)) == rows.height > LIMIT
    assert not is_distributed("sum(positives) OVER (ORDER BY bucket DESC NULLS LAST)")
    assert not is_distributed("sum(positives) OVER (PARTITION BY slice_1 ORDER BY bucket)")
