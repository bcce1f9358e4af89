"""Predictions on a web server give the metrics of the local files."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import fsspec.exceptions
import polars as pl
import pytest

import sqleval
from sqleval.sources.database.adbc import shorten_error
from sqleval.sources.stores import shorten
from tests.support.comparison import assert_frame_equal
from tests.support.emulators import WebServer
from tests.support.flights import FLIGHTS

LOCAL = FLIGHTS / "predictions"
PREDICTIONS: dict[str, Any] = {"label": "delayed", "score": "p_boosted", "nulls": "drop"}
#: Metrics of the order of scores, of their values, and of decisions.
METRICS = ["roc_auc", "log_loss", "precision"]


@pytest.fixture(scope="module")
def web() -> Iterator[WebServer]:
    server = WebServer(LOCAL)
    yield server
    server.close()


def evaluate(source: object, **storage: Any) -> pl.DataFrame:
    """Return metrics by slice, with their intervals in closed form."""
    scan = sqleval.scan(source, **PREDICTIONS, by=["month", "carrier"], **storage)
    return scan.evaluate(METRICS, ci=0.95, replicates=0).collect()


@cache
def evaluate_local_files() -> pl.DataFrame:
    return evaluate(LOCAL)


def check_source(source: object, storage: dict[str, Any]) -> None:
    """Compare a source with the local files, also one month, for which one file is read."""
    assert_frame_equal(evaluate(source, storage=storage), evaluate_local_files())
    check_month(source, storage)


def check_month(source: object, storage: dict[str, Any]) -> None:
    """Compare one month with the local files."""
    one = sqleval.scan(source, **PREDICTIONS, where="month = '08'", storage=storage)
    assert len(one.source.listing()) == 1
    local = sqleval.scan(LOCAL, **PREDICTIONS, where="month = '08'").evaluate("roc_auc")
    assert_frame_equal(one.evaluate("roc_auc").collect(), local.collect())


def test_a_web_server(web: WebServer) -> None:
    files = sorted(file.relative_to(LOCAL).as_posix() for file in LOCAL.rglob("*.parquet"))
    urls = [f"{web.url}/{file}" for file in files]
    check_source(urls, {})
    web.read.clear()
    sqleval.scan(urls, **PREDICTIONS, where="month = '08'").evaluate("roc_auc").collect()
    ((path, size),) = web.read.items()
    assert path == "/month=08/part-0.parquet"
    # Only the end of the file and three of nineteen columns are read.
    assert size - 65_536 < 0.25 * (LOCAL / path[1:]).stat().st_size
    with pytest.raises(sqleval.SourceError, match="no such file: 'http://127"):
        sqleval.scan(f"{web.url}/nosuch.parquet", **PREDICTIONS)


def test_an_error_without_a_text_has_the_name_of_its_type() -> None:
    error = fsspec.exceptions.FSTimeoutError()
    assert str(error) == ""
    assert shorten(error) == shorten_error(error) == "FSTimeoutError"
