"""The page on large inputs: its Python and its commands run."""

from pathlib import Path

import pytest

from .pages import page, placed, run_commands, run_python


@pytest.mark.slow
@pytest.mark.long
def test_the_page_of_large_inputs_runs(tmp_path: Path) -> None:
    text = page("guide/large-inputs.md")
    said = run_python(text, placed(tmp_path))
    assert "bins of 9 bits" in said
    assert said.count("low") == 2
    (_, window, merged, months, cube) = run_commands(text, tmp_path)
    assert "bins of 11 bits" in window
    assert merged == ""
    assert "2013-07-01" in months
    assert "carrier, origin" in cube
