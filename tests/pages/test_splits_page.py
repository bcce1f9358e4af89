"""The page on splits: its Python and its commands run."""

from pathlib import Path

import pytest

from .pages import blocks, page, placed, run_commands, run_python

PAGE = page("guide/splits.md")


@pytest.mark.long
@pytest.mark.slow
def test_from_split_to_final_model(tmp_path: Path) -> None:
    said = run_python(PAGE, placed(tmp_path))
    (simulated,) = blocks(PAGE, "text")
    assert simulated in said
    assert "train again on all rows with C=1.0" in said


@pytest.mark.long
@pytest.mark.slow
def test_the_commands_run(tmp_path: Path) -> None:
    run_commands(PAGE, placed(tmp_path))
    assert len(list((tmp_path / "folds").iterdir())) == 10
