"""Results over streams, nested and at once: none waits for ever for another."""

import json
import os
import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.support.commands import start_programs
from tests.support.nesting import ROWS
from tests.support.object_store import KEY, SECRET, ObjectStore

#: Seconds after which cases are taken for a deadlock; they take about five.
LIMIT = 120
#: Runs cases one after the other, whose arguments are given.
SCRIPT = """
import json, sys
from tests.support.nesting import main
for arguments in json.loads(sys.argv[1]):
    sys.argv[1:] = arguments
    main()
"""


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


@pytest.mark.long
@pytest.mark.parametrize(
    "cases",
    [[("threads", "in-memory"), ("all", "streaming")],
     [("async", "streaming"), ("nested", "in-memory")]],
)  # fmt: skip
def test_results_do_not_wait_for_each_other(
    cases: list[tuple[str, str]], url: tuple[str, dict[str, str]]
) -> None:
    # A process of its own: what waits with Python's lock could not be stopped in this one.
    arguments = [[case, engine, url[0]] for case, engine in cases]
    done = subprocess.run(
        [start_programs() / "python", "-c", SCRIPT, json.dumps(arguments)],
        capture_output=True, text=True, check=False, timeout=LIMIT,
        cwd=Path(__file__).parents[2], env={**os.environ, **url[1]},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    numbers = [int(line) for line in done.stdout.split()]
    assert len(numbers) == len(cases)
    assert min(numbers) >= 10
