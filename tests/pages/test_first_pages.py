"""The pages for newcomers run where they show."""

from pathlib import Path

import pytest

from .pages import page, placed, run_commands, run_python


@pytest.mark.long
@pytest.mark.slow
def test_first_steps_run(tmp_path: Path) -> None:
    text = page("guide/first-steps.md")
    printed = run_python(text, placed(tmp_path))
    assert "FROM _results AS r" in printed
    (inspected,) = run_commands(text, tmp_path)
    commands = [line for line in inspected.splitlines() if line.startswith("  sqleval evaluate")]
    assert len(commands) == 2
    assert all(command in text for command in commands)


@pytest.mark.long
@pytest.mark.slow
def test_the_page_of_lakes_runs(tmp_path: Path) -> None:
    text = page("guide/lake.md")
    assert "delong" in run_python(text, placed(tmp_path))
    inspected, by_month, _ = run_commands(text, tmp_path)
    assert "--nulls drop" in inspected
    assert "roc_auc" in by_month
    assert (tmp_path / "summer.parquet").is_file()
