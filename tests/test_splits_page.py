"""The page of splits is generated where it lists, and runs where it shows: from split to model."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sqleval import docs

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "splits.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data").symlink_to(ROOT / "data")
    return tmp_path


def test_the_methods_are_up_to_date() -> None:
    assert docs.updated(PAGE) == PAGE


@pytest.mark.slow
def test_from_split_to_final_model(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(blocks("python"))],
        capture_output=True, text=True, check=False, cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (simulated,) = blocks("text")
    assert simulated in done.stdout
    assert "train again on all rows with C=1.0" in done.stdout


@pytest.mark.slow
def test_the_commands_run(folder: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for command in blocks("sh")[0].strip().splitlines():
        done = subprocess.run(
            command, shell=True, capture_output=True, text=True, check=False, cwd=folder,
            env={**os.environ, "PATH": path},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    assert len(list((folder / "folds").iterdir())) == 10
