"""The page about many labels: its job evaluates the files that its Python writes."""

from pathlib import Path

import pytest

from tests.shape_walk import run_line
from tests.support.pages import blocks, run_script, scripts

PAGE = "docs/guide/multilabel.md"


def test_the_job_passes_its_gates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (script,) = (each for each in scripts(PAGE) if each.language == "python")
    run_script(script, tmp_path)
    (job,) = blocks(PAGE, "yaml")
    (tmp_path / "comments.yml").write_text(job.text)
    done = run_line("sqleval run comments.yml --backfill")
    assert (done.code, "3 evaluated" in done.errors) == (0, True), done.errors
    shown = run_line("sqleval history comments.yml --format json")
    assert shown.output.count("f1(average='macro')") == 3
