"""Results over streams, nested and concurrent, do not deadlock."""

import os
import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.support.commands import start_programs
from tests.support.nesting import ROWS
from tests.support.object_store import KEY, SECRET, ObjectStore

#: Seconds after which a case is taken for a deadlock; it takes about three.
LIMIT = 120


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Generator[tuple[str, dict[str, str]]]:
    """Return the URL of objects with the rows, and the variables that open it."""
    folder = tmp_path_factory.mktemp("rows")
    ROWS.write_parquet(folder / "part=a" / "rows.parquet", mkdir=True)
    server = ObjectStore()
    server.put_folder(folder, "lake/rows")
    variables = {"AWS_ENDPOINT_URL": server.url, "AWS_REGION": "eu-west-1",
                 "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET}  # fmt: skip
    yield "s3://lake/rows", variables
    server.close()


@pytest.mark.parametrize(
    ("case", "engine"),
    [("all", "streaming"), ("nested", "in-memory"), ("async", "streaming"),
     ("threads", "in-memory")],
)  # fmt: skip
def test_results_do_not_wait_for_each_other(
    case: str, engine: str, url: tuple[str, dict[str, str]]
) -> None:
    # A separate process, because a deadlock that holds Python's lock could not be stopped here.
    done = subprocess.run(
        [start_programs() / "python", "-m", "tests.support.nesting", case, engine, url[0]],
        capture_output=True, text=True, check=False, timeout=LIMIT,
        cwd=Path(__file__).parents[3], env={**os.environ, **url[1]},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 10
