"""The jobs of the pages by task run, and their gates pass as the pages say."""

import re
from pathlib import Path

import pytest

from tests.support.pages import ROOT, read_page, run


@pytest.mark.parametrize("page", ["multiclass", "calibration"])
def test_the_gates_of_a_page_pass(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    text = read_page(f"docs/guide/{page}.md")
    (job,) = re.findall(r"^```yaml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    (command,) = re.findall(r"`(sqleval run \S+ --backfill)`", text)
    (tmp_path / "data").symlink_to(ROOT / "data")
    (tmp_path / command.split()[2]).write_text(job, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    done = run(command, tmp_path, capfd)
    assert done.returncode == 0, done.stderr
    (said,) = re.findall(r"`(\w+: 6 evaluated, [^`]*)`", text)
    assert said in done.stdout + done.stderr
