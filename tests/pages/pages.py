"""The Python and the commands of a page of the documentation, run in a folder."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def page(name: str) -> str:
    """Return a page's text."""
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def blocks(text: str, language: str) -> list[str]:
    """Return a page's blocks in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def placed(folder: Path) -> Path:
    """Put the data where a page has it."""
    (folder / "data").symlink_to(ROOT / "data")
    return folder


def run_python(text: str, folder: Path) -> str:
    """Run all Python of a page as one script; return what it prints."""
    script = "\n".join(blocks(text, "python"))
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    # Warnings of labels that match no row are meant.
    rest = [line for line in done.stderr.splitlines() if "labels" not in line]
    assert rest == [], done.stderr
    return done.stdout


def run_commands(text: str, folder: Path) -> list[str]:
    """Run the commands of a page, one a line; return what each prints."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    said: list[str] = []
    for command in "".join(blocks(text, "sh")).strip().splitlines():
        done = subprocess.run(
            command, shell=True, capture_output=True, text=True, check=False, cwd=folder,
            env={**os.environ, "PATH": path},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        said.append(done.stdout)
    return said
