"""The textbook: it runs from top to bottom, and its commands draw its pictures."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # the page needs one engine

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "textbook.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


COMMANDS = [line for block in blocks("sh") for line in block.strip().splitlines()]


def run(command: list[str], **options: object) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=ROOT,
        env={**os.environ, "PATH": path}, **options,
    )  # fmt: skip


@pytest.mark.long
def test_the_python_of_the_chapter_runs() -> None:
    code = blocks("python")
    assert sum(block.count("assert ") for block in code) > 50
    done = run([sys.executable, "-c", "\n".join(code)])
    assert done.returncode == 0, done.stderr


@pytest.mark.long
@pytest.mark.parametrize("command", COMMANDS, ids=lambda line: line.rpartition("/")[2])
def test_a_command_draws_its_picture(command: str, tmp_path: Path) -> None:
    assert "docs/pictures/" in command
    done = run(["bash", "-c", command.replace("docs/pictures/", f"{tmp_path}/")])
    assert done.returncode == 0, done.stderr
    (drawn,) = tmp_path.iterdir()
    assert drawn.read_text(encoding="utf-8").count("<path") > 3
    assert (ROOT / "docs" / "pictures" / drawn.name).is_file()


def test_every_picture_comes_from_a_command_of_the_page() -> None:
    shown = set(re.findall(r"!\[[^]]*\]\(pictures/([^)]+)\)", PAGE))
    assert shown == {command.rpartition("/")[2] for command in COMMANDS}
