"""Signals, a full disk and too little memory: exit code 3, a line, and nothing left behind."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from tests.bench.damages import write_rows
from tests.support.commands import run
from tests.support.tried import check_tried

SQLEVAL = [sys.executable, "-m", "sqleval"]
#: Any number of rows.
ROWS = "SELECT i, i % 2 AS y, RANDOM() AS p FROM RANGE({}) AS t(i)"
ROLES = ["--label", "y", "--score", "p"]
JOB = """
name: nightly
source: rows.parquet
label: y
score: p
by: i
period: {column: day}
metrics: [roc_auc]
history: out/history.duckdb
report: out/page.html
"""
STOPPED = {
    "evaluate": (signal.SIGTERM, [*ROLES, "--by", "i", "--output", "out/e.csv"]),
    "state build": (signal.SIGINT, [*ROLES, "--by", "i", "--output", "out/s.duckdb"]),
    "split": (signal.SIGTERM, ["--key", "i", "--output", "out/folds", "--by", "fold"]),
    "report": (signal.SIGINT, [*ROLES, "--output", "out/r.html"]),
}


def stop(command: list[str], number: int, folder: Path) -> tuple[int, str]:
    """Send a signal to a command once it spills; return its code and its stderr."""
    for name in ("spill", "out"):
        (folder / name).mkdir()
    process = subprocess.Popen(
        [*SQLEVAL, *command, "--temp-directory", "spill", "--threads", "1"],
        cwd=folder, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    end = time.monotonic() + 60
    while not any((folder / "spill").rglob("*.tmp")):
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < end
        time.sleep(0.01)
    start = time.monotonic()
    process.send_signal(number)
    output = process.communicate(timeout=30)[1]
    assert time.monotonic() - start < 10
    return process.returncode, output


def list_left(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("name", STOPPED)
def test_a_signal_stops_a_command_and_leaves_nothing(name: str, tmp_path: Path) -> None:
    check_tried("commands stopped by a signal", len(STOPPED) + 1)  # and a job, below
    number, options = STOPPED[name]
    # More rows than a command can sort before it is stopped. A report first reads all rows without
    # sorting them, and a split first counts them.
    query = ROWS.format({"report": 5_000_000, "split": 50_000_000}.get(name, 1_000_000_000))
    command = [*name.split(), "--query", query, *options, "--memory-limit", "60MB"]
    code, message = stop(command, number, tmp_path)
    assert code == 3, message
    word = "terminated" if number == signal.SIGTERM else "interrupted"
    assert message.strip() == f"error: {word}"
    assert list_left(tmp_path) == ["out", "spill"]


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_signal_stops_a_job(tmp_path: Path) -> None:
    i = pl.int_range(700_000, eager=True).alias("i")
    frame = pl.select(i, y=i % 2, p=i * 0.618 % 1, day=pl.lit("2026-01-01"))
    frame.write_parquet(tmp_path / "rows.parquet")
    (tmp_path / "job.yml").write_text(JOB, encoding="utf-8")
    code, message = stop(["run", "job.yml", "--memory-limit", "60MB"], signal.SIGTERM, tmp_path)
    assert code == 3, message
    assert message.strip() == "error: terminated"
    left = list_left(tmp_path)
    assert [path for path in left if path != "out/history.duckdb"] == [
        "job.yml", "out", "rows.parquet", "spill",
    ]  # fmt: skip


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_signal_ends_a_wait_for_a_store_that_does_not_answer(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        job = (
            "name: j\nsource: s3://bucket/rows.parquet\nlabel: y\nscore: p\nmetrics: [roc_auc]\n"
            "period: {column: day}\nhistory: h.duckdb\n"
            f"storage: {{endpoint: 'http://127.0.0.1:{server.getsockname()[1]}', anonymous: true, "
            "region: us-east-1}\n"
        )
        (tmp_path / "job.yml").write_text(job, encoding="utf-8")
        process = subprocess.Popen(
            [*SQLEVAL, "run", "job.yml"], cwd=tmp_path, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )  # fmt: skip
        server.settimeout(60)
        connection, _ = server.accept()
        with connection:
            time.sleep(0.5)
            process.send_signal(signal.SIGTERM)
            message = process.communicate(timeout=30)[1]
    assert (process.returncode, message.strip()) == (3, "error: terminated")


#: Runs commands in one process whose files may not grow beyond a size; prints codes and stderr.
LIMITED = """
import json, resource, sys
from contextlib import redirect_stderr
from io import StringIO
from sqleval.cli.main import run_command
from sqleval.engines.embedded import embedded
limit, commands = json.loads(sys.argv[1])
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
done = []
for command in commands:
    with redirect_stderr(StringIO()) as output:
        code = run_command(command)
    done.append((int(code), output.getvalue()))
embedded().close()
print(json.dumps(done))
"""


def run_limited(folder: Path, limit: int, commands: list[list[str]]) -> list[tuple[int, str]]:
    """Run commands with a limit on the bytes of a file; return their codes and messages."""
    for name in ("spill", "out"):
        (folder / name).mkdir()
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, json.dumps([limit, commands])],
        cwd=folder, capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": "spill"},
    )  # fmt: skip
    return json.loads(done.stdout)


def list_commands(source: list[str], room: list[str]) -> list[list[str]]:
    """Return one command of each kind that sorts all rows."""
    return [
        ["evaluate", *source, *ROLES, "-m", "roc_auc", "--output", "out/e.csv", *room],
        ["state", "build", *source, *ROLES, "--by", "i", "--output", "out/s.parquet", *room],
        ["split", *source, "--key", "i", "--output", "out/split.parquet", *room],
        ["split", *source, "--key", "i", "--output", "out/split.duckdb", *room],
        ["report", *source, *ROLES, "--output", "out/r.html", *room],
    ]


@pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
@pytest.mark.parametrize("lacking", ["memory", "disk"])
def test_a_full_disk_is_an_error_and_leaves_no_file(tmp_path: Path, lacking: str) -> None:
    # In memory, 5 MB and 24 MB without what sorting adds.
    rows, limit = (400_000, "3MB") if lacking == "memory" else (2_000_000, "30MB")
    source = ["--query", ROWS.format(rows)]
    room = ["--threads", "1", "--memory-limit", limit]
    done = run_limited(tmp_path, 1_000_000 * (lacking == "disk"), list_commands(source, room))
    what = {"memory": "commands without memory", "disk": "commands without disk to spill to"}
    check_tried(what[lacking], len(done))
    for code, message in done:
        assert code == 3, message
        assert message.startswith("error: DuckDB ")
        assert ("out of memory" if lacking == "memory" else "write to disk") in message
        assert "--memory-limit" in message or lacking == "disk"
        assert len(message.splitlines()) == 1
    assert list_left(tmp_path) == ["out", "spill"]


@pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
def test_outputs_on_a_full_disk(tmp_path: Path) -> None:
    write_rows(tmp_path / "rows.parquet", "none", checksums=False, rows=3_000)
    rows = ["rows.parquet", *ROLES]
    keys = ["--query", "SELECT MD5(CAST(i AS TEXT)) AS i FROM RANGE(5000) AS t(i)", "--key", "i"]
    commands = [
        ["evaluate", *rows, "--by", "p", "-m", "accuracy", "--output", "out/e.csv"],
        ["evaluate", *rows, "--by", "p", "-m", "accuracy", "--output", "out/e.parquet"],
        ["state", "build", *rows, "--by", "p", "--output", "out/s.parquet"],
        ["split", *keys, "--output", "out/split.parquet"],
        ["split", *keys, "--output", "out/split.duckdb"],
    ]
    done = run_limited(tmp_path, 8_000, commands)
    check_tried("commands without disk for their outputs", len(done))
    for code, message in done:
        assert code == 3, message
        assert message.startswith(("error: cannot write", "error: DuckDB cannot write"))
        assert len(message.splitlines()) == 1
    assert list_left(tmp_path) == ["out", "rows.parquet", "spill"]


@pytest.mark.parametrize("output", ["rows.parquet/split.parquet", "/proc/self/split.parquet"])
@pytest.mark.skipif(sys.platform != "linux", reason="no user can write a file to /proc")
def test_a_split_that_cannot_be_written(
    output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path / "rows.parquet", "none", checksums=False, rows=10)
    done = run("split", "rows.parquet", "--key", "g", "--output", output, code=2)
    assert done.stderr.startswith(f"error: cannot write '{output}': ")
    assert len(done.stderr.splitlines()) == 1
