"""The files, commands and Python of the page on your own metrics work in order in one folder."""

import re
from pathlib import Path

import pytest

from sqleval.catalog import catalogue
from sqleval.catalog.catalogue import builtin
from tests.support.pages import ROOT, read_page, run, unexpected

PAGE = read_page("docs/guide/own-metrics.md")
#: The file that a block is to be written to, if any, its language, and its text.
BLOCK = re.compile(r"(?:^File `([\w/.]+)`:\n\n)?^```(\w+)\n(.*?)^```$", re.M | re.DOTALL)
#: The command whose exit code is that of a failed gate, as the page says.
FAILS = "sqleval run job.yml --as-of 2013-09-30"


def test_the_blocks_work_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(catalogue, "_added", [])
    (tmp_path / "data").symlink_to(ROOT / "data")
    printed = ""
    shown = 0
    for file, language, text in BLOCK.findall(PAGE):
        if file:
            path = tmp_path / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        elif language == "sh":
            printed = ""
            for command in text.splitlines():
                done = run(command, tmp_path, capfd)
                assert done.returncode == (command == FAILS), done.stderr
                assert unexpected(done) == [] or "-m lift" in command, command
                printed += done.stdout
        elif language == "python":
            exec(text, {})
        else:
            lines = [line.rstrip() for line in printed.splitlines()]
            assert "\n".join(text.splitlines()) in "\n".join(lines)
            shown += 1
    assert shown == 4
    builtin.cache_clear()


def test_a_file_that_ignores_weights_is_told_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(catalogue, "_added", [])
    header = BLOCK.findall(PAGE)[0][2].partition("SELECT")[0]
    (tmp_path / "ours" / "team").mkdir(parents=True)
    (tmp_path / "ours" / "team" / "positives.sql").write_text(
        f"{header}SELECT\n    slice,\n"
        "    CAST(SUM(label) AS DOUBLE) / NULLIF(COUNT(*), 0) AS value,\n"
        "    CASE WHEN COUNT(*) = 0 THEN 'no rows' END AS note\nFROM predictions\n"
        "GROUP BY slice\n"
    )
    done = run("sqleval check ours", tmp_path, capfd)
    assert done.returncode == 1
    (said,) = re.findall(r"^`(weights: .*)`\. No check", PAGE, re.MULTILINE)
    assert said in done.stdout
    builtin.cache_clear()
