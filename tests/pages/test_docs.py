"""The README runs as printed, its catalogue is generated, and the contract page is complete."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from docs import generate as docs
from sqleval.catalog import contract

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def test_the_catalogue_is_up_to_date() -> None:
    assert docs.updated(README) == README


def test_python_examples_run() -> None:
    code = "\n".join(blocks("python"))
    # -W error would also judge what DuckDB 1.x says about itself while it is imported.
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr
    assert "roc_auc" in done.stdout


def shell(command: str, home: Path) -> subprocess.CompletedProcess[str]:
    """Run a command as a reader would, in a folder of its own that has the data."""
    (home / "data").symlink_to(ROOT / "data")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        command, shell=True, capture_output=True, text=True, check=False, cwd=home,
        env={**os.environ, "PATH": path},
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("command", blocks("sh")[2].strip().splitlines(), ids=lambda c: c[:30])
def test_command_line_examples_run(command: str, tmp_path: Path) -> None:
    done = shell(command, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.long
@pytest.mark.slow
def test_a_job_starts_as_the_page_says(tmp_path: Path) -> None:
    done = shell(blocks("sh")[3].strip().replace("\n", " && "), tmp_path)
    assert done.returncode == 0, done.stderr
    assert "job.yml: 6 files, binary, 2 metrics by carrier, 1 gate" in done.stderr


def test_the_contract_page_lists_what_the_loader_knows() -> None:
    page = (ROOT / "sql" / "README.md").read_text(encoding="utf-8")
    table = page[page.index("## The header") :]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == contract.HEADER_KEYS
    for condition in contract.CONDITIONS:
        assert f"`{condition}`" in page
