"""Exit codes, outputs and notifications do not depend on the screen: closed, full or narrow."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import NamedTuple

import polars as pl
import pytest

from tests.support.commands import SQLEVAL, run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/dev/full is Linux's")
JOB = """
name: nightly
source: rows.parquet
label: y
score: p
by: [town]
period: {column: day}
metrics: [roc_auc]
gates: ["roc_auc >= 0.99"]
history: history.duckdb
outputs: {json: out.json, junit: out.xml, prometheus: out.prom}
notify: [{command: ["sh", "-c", "cat > notified.json"]}]
"""
ROLES = ["rows.parquet", "--label", "y", "--score", "p", "--by", "town", "-m", "roc_auc"]
RUN = ["run", "job.yml", "--as-of", "2026-01-03", "--backfill"]
OUTPUTS = ["history.duckdb", "notified.json", "out.json", "out.prom", "out.xml"]
#: The error of a full disk behind stdout.
FULL = "cannot write to stdout: No space left on device"


class Ended(NamedTuple):
    """The exit code of a command, and the output that reached its pipes."""

    code: int
    out: str
    err: str


@pytest.fixture(scope="module")
def call(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Ended]:
    """Return a function that runs the command in a folder of its own, with redirections."""
    folder = tmp_path_factory.mktemp("streams")
    rows = {"y": [0, 1, 1, 0] * 5, "p": [0.1, 0.4, 0.2, 0.8] * 5, "town": ["Zürich"] * 20}
    pl.DataFrame({**rows, "day": ["2026-01-02"] * 20}).write_parquet(folder / "rows.parquet")
    leak = pl.DataFrame(
        {"key": [1, 1, 2], "x": [1, 1, 2], "fold": [0, 0, 0], "role": ["train", "test", "train"]}
    )
    leak.write_csv(folder / "leak.csv")
    (folder / "job.yml").write_text(JOB, encoding="utf-8")

    def call(command: list[str], redirections: str = "", **variables: str) -> Ended:
        for name in OUTPUTS:
            (folder / name).unlink(missing_ok=True)
        script = f'"$@" {redirections}; exit "${{PIPESTATUS[0]}}"'
        done = subprocess.run(
            ["bash", "-c", script, "bash", SQLEVAL, *command],
            cwd=folder, capture_output=True, text=True, check=False,
            env={**os.environ, "PYTHONUNBUFFERED": "", **variables},
        )  # fmt: skip
        if command[0] == "run":
            assert {*OUTPUTS} <= {path.name for path in folder.iterdir()}, done.stderr
            notified = json.loads((folder / "notified.json").read_text("utf-8"))
            assert notified["exit_code"] == 1
            assert "town=Zürich" in notified["incidents"][0]
        return Ended(done.returncode, done.stdout, done.stderr)

    return call


@pytest.mark.parametrize("redirections", [
    "| true", "> /dev/full", ">&-", "2> /dev/full", "2>&-", "2>&1 | true", "> /dev/full 2>&1",
    ">&- 2>&- <&-",
])  # fmt: skip
def test_a_job_ends_as_on_any_screen(redirections: str, call: Callable[..., Ended]) -> None:
    done = call(RUN, redirections)
    assert done.code == 1
    assert ("town=Zürich" in done.err) == ("2" not in redirections)
    assert (f"note: {FULL}" in done.err) == (redirections == "> /dev/full")


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_job_writes_escapes_where_the_encoding_is_narrow(
    unbuffered: str, call: Callable[..., Ended]
) -> None:
    done = call(RUN, PYTHONIOENCODING="ascii", PYTHONUNBUFFERED=unbuffered)
    assert done.code == 1
    assert r"town=Z\xfcrich" in done.out
    assert r"town=Z\xfcrich" in done.err


def test_data_of_a_job_that_are_lost_are_an_error(call: Callable[..., Ended]) -> None:
    done = call([*RUN, "--format", "json"], "> /dev/full")
    assert done.code == 3
    assert done.err.endswith(f"error: {FULL}\n")
    assert call([*RUN, "--format", "json"], "| true").code == 1


@pytest.mark.parametrize("command", [
    ["evaluate", *ROLES], ["evaluate", *ROLES, "--format", "csv"], ["inspect", "rows.parquet"],
    ["list"], ["--help"], ["macros"],
])  # fmt: skip
def test_other_commands(command: list[str], call: Callable[..., Ended]) -> None:
    assert call(command, "> /dev/full") == (3, "", f"error: {FULL}\n")
    for redirections in ("| true", ">&-"):
        assert call(command, redirections) == (0, "", "")
    assert call(command, ">&- 2> /dev/full").code == 0


def test_errors_keep_their_code_on_any_screen(call: Callable[..., Ended]) -> None:
    for redirections in ("2> /dev/full", "2>&-", "> /dev/full"):
        assert call(["evaluate", "nowhere.parquet"], redirections).code == 2
        assert call(["evaluate", "--nope"], redirections).code == 2


def test_a_leak_is_exit_code_1_without_a_reader(call: Callable[..., Ended]) -> None:
    check = ["split", "check", "leak.csv", "leak.csv", "--key", "key"]
    assert call(check).code == 1
    assert call(check, "| true").code == 1


def test_data_are_whole_where_the_encoding_is_narrow(call: Callable[..., Ended]) -> None:
    done = call(["evaluate", *ROLES, "--format", "json"], PYTHONIOENCODING="ascii")
    assert json.loads(done.out)[0]["town"] == "Zürich"
    assert done.err == ""
    done = call(["evaluate", *ROLES, "--format", "csv"], PYTHONIOENCODING="ascii")
    assert r"Z\xfcrich,roc_auc" in done.out
    assert done.err.startswith("note: ascii lacks some characters, which are written as escapes")


def test_a_lost_connection_is_no_closed_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise BrokenPipeError(32, "Broken pipe")

    # click would take the error for a closed stdout, and end without a message.
    monkeypatch.setattr("sqleval.catalog.listing.metrics", fail)
    done = run("list", code=3)
    assert done.stderr == "error: the other end of a connection or pipe has closed it\n"
