"""The commands of docs/guide/regression.md run in order, and print what the page shows."""

import re
from pathlib import Path

import pytest

from tests.support.pages import ROOT, read_page, run, unexpected

PAGE = read_page("docs/guide/regression.md")


def test_the_commands_print_what_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").symlink_to(ROOT / "data")
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    (job,) = (text for language, text in blocks if language == "yaml")
    (tmp_path / "minutes.yml").write_text(job, encoding="utf-8")
    compared = 0
    for (language, text), (following, shown) in zip(blocks, [*blocks[1:], ("", "")], strict=True):
        if language != "sh":
            continue
        printed: list[str] = []
        for command in text.splitlines():
            done = run(command, tmp_path, capfd)
            assert (done.returncode, unexpected(done)) == (0, []), done.stderr
            printed += [line.rstrip() for line in done.stdout.splitlines()]
        if following == "text":
            # An inspection prints more than its commands.
            lines = [line.strip() for line in printed] if "inspect" in text else printed
            wanted = shown.splitlines()
            assert lines == wanted or ("inspect" in text and {*wanted} <= {*lines})
            compared += 1
    assert compared == 7
    assert (tmp_path / "minutes.html").read_text(encoding="utf-8").count("<svg") == 5
