"""Predictions in stores of Google and Azure, and on a web server, are those of the local files."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import fsspec.exceptions
import polars as pl
import pytest

import sqleval
from sqleval.inputs.adbc import shorten_error
from sqleval.inputs.stores import shorten
from tests.support.comparison import assert_frame_equal
from tests.support.emulators import (
    ACCOUNT,
    KEY,
    AzureStorage,
    GoogleStorage,
    WebServer,
    find_azurite,
)
from tests.support.flights import FLIGHTS

LOCAL = FLIGHTS / "predictions"
PREDICTIONS: dict[str, Any] = {"label": "delayed", "score": "p_boosted", "nulls": "drop"}
PATH = "lake/flights/predictions"
#: Of the order of rows, of their values, and of decisions on them.
METRICS = ["roc_auc", "log_loss", "precision"]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def google() -> Iterator[GoogleStorage]:
    server = GoogleStorage(LOCAL, PATH)
    yield server
    server.close()


@pytest.fixture(scope="module")
def azure() -> Iterator[AzureStorage]:
    if (azurite := find_azurite()) is None:
        pytest.skip("no azurite here: npm install --prefix .azurite azurite")
    server = AzureStorage(azurite, LOCAL, PATH)
    yield server
    server.close()


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


@pytest.mark.medium
def test_google_storage(google: GoogleStorage) -> None:
    storage = {"endpoint": f"http://{google.host}", "anonymous": True}
    check_source(f"gs://{PATH}", storage)
    check_month(f"gcs://{PATH}/month=*/*.parquet", storage)


def test_azure_storage(azure: AzureStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", KEY)
    storage = {"endpoint": f"http://{azure.host}", "account": ACCOUNT}
    check_source(f"az://{PATH}", storage)
    check_month(f"az://{PATH}/month=*/*.parquet", storage)
    with pytest.raises(sqleval.SourceError, match="no such file: 'az://lake/nosuch'") as raised:
        sqleval.scan("az://lake/nosuch", **PREDICTIONS, storage=storage)
    assert KEY not in str(raised.value)


@pytest.mark.medium
def test_a_web_server(web: WebServer) -> None:
    files = sorted(file.relative_to(LOCAL).as_posix() for file in LOCAL.rglob("*.parquet"))
    urls = [f"{web.url}/{file}" for file in files]
    check_source(urls, {})
    web.read.clear()
    sqleval.scan(urls, **PREDICTIONS, where="month = '08'").evaluate("roc_auc").collect()
    ((path, size),) = web.read.items()
    assert path == "/month=08/part-0.parquet"
    # The end of the file, and three of nineteen columns.
    assert size - 65_536 < 0.25 * (LOCAL / path[1:]).stat().st_size
    with pytest.raises(sqleval.SourceError, match="no such file: 'http://127"):
        sqleval.scan(f"{web.url}/nosuch.parquet", **PREDICTIONS)


def test_an_error_without_a_text_has_the_name_of_its_type() -> None:
    error = fsspec.exceptions.FSTimeoutError()
    assert str(error) == ""
    assert shorten(error) == shorten_error(error) == "FSTimeoutError"
