"""The scripts of the page on Spark run, with a Sail server that they start."""

from pathlib import Path

import pytest

from tests.support.pages import run_script, scripts

SCRIPTS = {str(script): script for script in scripts("docs/guide/spark.md")}


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_of_the_page_runs(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    (folder := tmp_path / "empty").mkdir()
    monkeypatch.chdir(folder)
    run_script(SCRIPTS[name], folder, capfd)
