"""Reads and runs the scripts of the documentation: blocks of a page, or a page's joined blocks."""

import os
import re
import runpy
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from sqleval.cli.main import run_command
from tests.support.commands import Done, start_programs

ROOT = Path(__file__).parents[2]
PAGES = [
    path.relative_to(ROOT).as_posix()
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
]
#: The languages of blocks. A block of Python is one script; each line of other blocks is a command.
LANGUAGES = ("python", "sh")
#: The words on a page whose blocks are one script, from top to bottom.
TOGETHER = "blocks of this page belong together"
#: The words on a page whose blocks read `data/`.
WITH_DATA = r"comes? with the repository"
#: The lines that commands without output may write to stderr: written files, or no problem.
STATUS = re.compile(
    r"no problems found|\S+\.yml: \d+ files, .+|incident: .+"
    r"|(?:\S+\.yml: )?(?:wrote .+|\w+: \d+ (?:evaluated|left alone)\b.*)"
)
#: The installation, which tests skip because the project is installed.
INSTALLATION = re.compile(r"python3 -m venv \.venv && \.venv/bin/pip install .+")
#: Pages whose Python runs in a process of its own, so that stderr shows what libraries print when
#: the interpreter ends: with files, with a DuckDB connection, and with a Spark server.
WITH_PROCESSES = ("README.md", "docs/guide/lake.md", "docs/guide/spark.md")
#: A command that needs no shell: words, and quotes in which nothing is replaced. It has no options
#: that change the settings of the process.
PLAIN = re.compile(
    r"""sqleval(?!.*--(?:threads|memory-limit))"""
    r"""( ([\w./:=,+-]|'[^']*'|"[^"$`\\]*")+)+( +#.*)?"""
)


class Script(NamedTuple):
    """A block of a page, or all blocks in one language if they belong together."""

    page: str
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


@cache
def read_page(name: str) -> str:
    """Return a page's text."""
    return (ROOT / name).read_text(encoding="utf-8")


def says(name: str, sentence: str) -> bool:
    """Whether a page has some words, wherever its lines end."""
    return re.search(sentence, " ".join(read_page(name).split())) is not None


def blocks(name: str, *languages: str) -> list[Script]:
    """Return a page's blocks in some languages."""
    text = read_page(name)
    found = re.finditer(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    # In the README, `sh` marks the two commands that CI runs, and `shell` the others.
    every = [
        Script(
            name, text[: match.start()].count("\n") + 1,
            "sh" if match[1] == "shell" else match[1], match[2],
        )
        for match in found
    ]  # fmt: skip
    return [script for script in every if script.language in languages]


def scripts(name: str) -> list[Script]:
    """Return the scripts of a page."""
    every = blocks(name, *LANGUAGES)
    if not says(name, TOGETHER):
        return every
    parts = [[block for block in every if block.language == name] for name in LANGUAGES]
    return [part[0]._replace(text="".join(block.text for block in part)) for part in parts if part]


def all_scripts() -> list[Script]:
    """Return the scripts of all pages; a script of several pages is listed once."""
    first = {script.text: script for name in reversed(PAGES) for script in scripts(name)}
    return list(first.values())


def run(
    command: str | list[str], folder: Path, capfd: pytest.CaptureFixture[str] | None = None
) -> Done:
    """Run a command in a folder as a reader would, with `sqleval` on the path.

    With ``capfd``, a plain command runs in this process, which must be in that folder; that takes
    half the time.
    """
    if capfd is not None and isinstance(command, str) and PLAIN.fullmatch(command):
        hook = sys.unraisablehook
        try:
            code = run_command(shlex.split(command, comments=True)[1:])
        finally:
            sys.unraisablehook = hook
        printed = capfd.readouterr()
        return Done(code, printed.out, printed.err)
    places = (start_programs(), Path(sys.executable).parent, os.environ["PATH"])
    done = subprocess.run(
        command, shell=isinstance(command, str), capture_output=True, text=True, check=False,
        cwd=folder, env={**os.environ, "PATH": os.pathsep.join(map(str, places))},
    )  # fmt: skip
    return Done(done.returncode, done.stdout, done.stderr)


def run_script(
    script: Script, folder: Path, capfd: pytest.CaptureFixture[str] | None = None
) -> list[Done]:
    """Run a script in an empty folder, with the data if it reads it; return what it printed.

    Each line of a script of commands is one command. With ``capfd``, scripts that need no process
    of their own run in this one, which must be in that folder.
    """
    if "data/" in script.text:
        (folder / "data").symlink_to(ROOT / "data")
    if script.language == "python":
        # The script is a file beside the folder, so that tracebacks show its lines.
        file = folder.with_suffix(".py")
        file.write_text(script.text, encoding="utf-8")
        if capfd is None or script.page in WITH_PROCESSES:
            done = run(["python", str(file)], folder)
        else:
            runpy.run_path(str(file), run_name="__main__")
            printed = capfd.readouterr()
            done = Done(0, printed.out, printed.err)
        assert (done.returncode, done.stderr) == (0, ""), f"{script}\n{done.stderr}"
        return [done]
    every: list[Done] = []
    # A backslash continues a command on the next line.
    for line in re.sub(r"\\\n *", "", script.text.strip()).splitlines():
        if INSTALLATION.fullmatch(line):
            continue
        done = run(line.removeprefix(".venv/bin/"), folder, capfd)
        assert done.returncode == 0, f"{script}\n{line}\n{done.stderr}"
        assert unexpected(done) == [], f"{script}\n{line}"
        every.append(done)
    return every


def unexpected(done: Done) -> list[str]:
    """Return the lines on a command's stderr besides its status."""
    return [line for line in done.stderr.splitlines() if not STATUS.fullmatch(line)]
