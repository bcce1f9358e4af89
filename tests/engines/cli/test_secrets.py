"""Secrets of the environment appear neither in the list of processes nor in the output."""

import os
import subprocess
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import psycopg
import pytest
import yaml

import sqleval
from tests.support.commands import SQLEVAL, run
from tests.support.engines import PostgreSQL
from tests.support.flights import ROWS
from tests.support.object_store import KEY, SECRET, ObjectStore
from tests.support.tried import check_tried

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/cmdline").exists(), reason="processes of Linux"
)
ROLES = ["--label", "delayed", "--score", "p", "-m", "roc_auc", "--format", "csv"]
PASSWORD = "pw-7r0ub4dor"


def list_family(pid: int) -> list[Path]:
    """Return the folders in ``/proc`` of a process and of the processes that it started."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            stat = (folder / "stat").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended
        parents[int(folder.name)] = int(stat.rpartition(")")[2].split()[1])
    family = [pid]
    for each in family:
        family += [child for child, parent in parents.items() if parent == each]
    return [Path(f"/proc/{each}") for each in family]


def read_command_lines(process: subprocess.Popen[str]) -> list[bytes]:
    """Return the command lines of a running process, and of the processes that it started."""
    lines: list[bytes] = []
    for folder in list_family(process.pid):
        try:
            lines.append((folder / "cmdline").read_bytes())
        except (FileNotFoundError, ProcessLookupError):
            continue
    return lines


@contextmanager
def start(folder: Path, arguments: list[str], **secrets: str) -> Iterator[subprocess.Popen[str]]:
    """Start the command with secrets in its environment; it ends with the block."""
    with subprocess.Popen(
        [SQLEVAL, *arguments], cwd=folder, env={**os.environ, **secrets}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            process.kill()  # nothing if it has ended


def check_lines(lines: list[bytes], arguments: list[str], secret: str) -> None:
    """Check that the command lines belong to the command, and hold no secret."""
    assert lines
    assert all(argument.encode() in lines[0].split(b"\0") for argument in arguments)
    assert not any(secret.encode() in line for line in lines)


@pytest.fixture
def postgres() -> Generator[PostgreSQL]:
    """Start a database whose user `reader` needs a password."""
    with PostgreSQL() as server:
        server.load("flights", ROWS.to_arrow())
        rules = Path(str(server.run("SHOW hba_file").rows[0][0]))
        before = rules.read_text(encoding="utf-8")
        rules.write_text(f"local all reader scram-sha-256\n{before}", encoding="utf-8")
        with psycopg.connect(server.url, autocommit=True) as con:
            con.execute("SELECT PG_RELOAD_CONF()")
            con.execute(f"CREATE ROLE reader LOGIN PASSWORD '{PASSWORD}'")  # type: ignore
            con.execute("GRANT SELECT ON flights TO reader; GRANT ALL ON SCHEMA public TO reader")
            yield server
            con.execute("DROP OWNED BY reader; DROP ROLE reader")
            rules.write_text(before, encoding="utf-8")
            con.execute("SELECT PG_RELOAD_CONF()")


def write_job(folder: Path, source: str, history: str) -> None:
    job = {
        "name": "nightly", "source": source, "label": "delayed", "score": "p",
        "period": {"column": "flight_date", "grain": "year"}, "metrics": ["roc_auc"],
        "history": history,
    }  # fmt: skip
    (folder / "job.yml").write_text(yaml.safe_dump(job), encoding="utf-8")


@pytest.mark.parametrize("door", ["evaluate", "engine", "run"])
def test_the_password_of_postgres(
    postgres: PostgreSQL, tmp_path: Path, door: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = postgres.url.replace("//postgres@", "//reader@")
    write_job(tmp_path, f"{url}#flights", url)
    doors = {
        "evaluate": ["evaluate", f"{url}#flights", *ROLES],
        "engine": ["evaluate", "flights", "--engine", url, *ROLES],
        "run": ["run", "job.yml", "--as-of", "2014-06-01", "--backfill"],
    }
    what = "commands and jobs with a password of PostgreSQL in the environment"
    check_tried(what, len(doors))
    arguments = doors[door]
    waiting = (
        "SELECT COUNT(*) FROM pg_stat_activity "
        "WHERE usename = 'reader' AND wait_event_type = 'Lock'"
    )
    # The table is locked until it is released, so the command waits with its connection open.
    with psycopg.connect(postgres.url) as lock:
        lock.execute("LOCK TABLE flights IN ACCESS EXCLUSIVE MODE")
        with start(tmp_path, arguments, PGPASSWORD=PASSWORD) as process:
            end = time.monotonic() + 60
            while not postgres.run(waiting).rows[0][0]:
                assert process.poll() is None, process.communicate()
                assert time.monotonic() < end
                time.sleep(0.02)
            environment = Path(f"/proc/{process.pid}/environ").read_bytes()
            assert f"PGPASSWORD={PASSWORD}".encode() in environment.split(b"\0")
            check_lines(read_command_lines(process), arguments, PASSWORD)
            lock.rollback()
            out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert PASSWORD not in out + err
    expected = sqleval.scan(ROWS, label="delayed", score="p").evaluate("roc_auc").collect()
    if door == "run":
        found = postgres.run("SELECT value FROM sqleval_history").rows[0][0]
        files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
        assert not any(PASSWORD.encode() in content for content in files)
    else:
        found = pl.read_csv(out.encode())["value"].item()
    assert found == pytest.approx(expected["value"].item(), abs=1e-12)
    # The command does need the password.
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PGPASSWORD", "other")
    err = run(*arguments, code=2 if door == "evaluate" else 3).stderr
    assert 'password authentication failed for user "reader"' in err


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Generator[ObjectStore]:
    """Start an object store that holds the rows."""
    path = tmp_path_factory.mktemp("store") / "rows.parquet"
    ROWS.write_parquet(path)
    store = ObjectStore()
    try:
        store.put("lake/preds/rows.parquet", path.read_bytes())
        yield store
    finally:
        store.close()


@pytest.mark.parametrize("door", ["evaluate", "run"])
def test_the_secret_key_of_s3(tmp_path: Path, store: ObjectStore, door: str) -> None:
    write_job(tmp_path, "s3://lake/preds", "history.duckdb")
    doors = {
        "evaluate": ["evaluate", "s3://lake/preds", *ROLES],
        "run": ["run", "job.yml", "--as-of", "2014-06-01", "--backfill"],
    }
    check_tried("commands and jobs with a secret key of S3 in the environment", len(doors))
    arguments = doors[door]
    secrets = {
        "AWS_ENDPOINT_URL": store.url, "AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_EC2_METADATA_DISABLED": "true",
    }  # fmt: skip
    store.forget()
    store.delay(2)
    looks: list[list[bytes]] = []
    with start(tmp_path, arguments, **secrets) as process:
        while process.poll() is None:
            looks.append(read_command_lines(process))
            time.sleep(0.05)
        out, err = process.communicate()
    assert process.returncode == 0, err
    assert SECRET not in out + err
    # Before the program has started, and after its end, there is no line.
    lines = [each for each in looks if each and arguments[0].encode() in each[0].split(b"\0")]
    assert len(lines) > 10
    for each in lines:
        check_lines(each, arguments, SECRET)
    reads = [request for request in store.requests if request.method == "GET"]
    assert any(KEY in each.headers.get("AUTHORIZATION", "") for each in reads)
