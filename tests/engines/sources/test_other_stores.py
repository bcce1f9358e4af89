"""Predictions in stores of Google and Azure give the metrics of the local files."""

from collections.abc import Iterator

import pytest

import sqleval
from tests.core.sources.test_other_stores import LOCAL, PREDICTIONS, check_month, check_source
from tests.support.emulators import ACCOUNT, KEY, AzureStorage, GoogleStorage, find_azurite

PATH = "lake/flights/predictions"


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
