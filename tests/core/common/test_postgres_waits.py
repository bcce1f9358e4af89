"""A server of PostgreSQL that accepts connections and never answers."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator

import pytest

import sqleval
from sqleval import SourceError
from sqleval.common.postgres import limit_wait
from tests.support.commands import SQLEVAL


@pytest.fixture
def silent() -> Iterator[str]:
    """Yield the URL of such a server."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"postgresql://me@127.0.0.1:{server.getsockname()[1]}/db"


def test_the_wait_for_an_answer_has_a_limit(silent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert limit_wait("postgresql:///db") == "postgresql:///db?connect_timeout=10"
    assert limit_wait("postgresql://a/db?x=1") == "postgresql://a/db?x=1&connect_timeout=10"
    assert limit_wait("postgresql://a/db?connect_timeout=3").endswith("?connect_timeout=3")
    start = time.monotonic()
    with pytest.raises(SourceError, match="timeout expired"):
        sqleval.scan(f"{silent}?connect_timeout=2#preds", label="y", score="p")
    assert time.monotonic() - start < 8
    monkeypatch.setenv("PGCONNECT_TIMEOUT", "2")
    assert limit_wait("postgresql://a/db") == "postgresql://a/db"
    with pytest.raises(SourceError, match="timeout expired"):
        sqleval.scan(f"{silent}#preds", label="y", score="p")


@pytest.mark.parametrize(
    "arguments",
    [
        ["evaluate", "{}#preds", "--label", "y", "--score", "p"],
        ["evaluate", "preds", "--engine", "{}", "--label", "y", "--score", "p"],
        ["history", "{}"],
    ],
    ids=["source", "engine", "history"],
)
def test_the_wait_can_be_ended(silent: str, arguments: list[str]) -> None:
    words = [each.format(silent) for each in arguments]
    process = subprocess.Popen(
        [SQLEVAL, *words], stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PGCONNECT_TIMEOUT": "60"},
    )  # fmt: skip
    time.sleep(4)
    assert process.poll() is None
    start = time.monotonic()
    process.send_signal(signal.SIGTERM)
    output = process.communicate(timeout=30)[1]
    assert time.monotonic() - start < 3
    assert (process.returncode, output.strip()) == (3, "error: terminated")
