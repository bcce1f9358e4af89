"""The examples of the page for users of other libraries run."""

import sqlite3
from pathlib import Path

import pytest

from tests.support.pages import ROOT, Script, blocks, run, run_script

PAGE = "docs/guide/coming-from.md"


@pytest.mark.parametrize(
    "script", [each for each in blocks(PAGE, "python") if "mlflow" not in each.text], ids=str
)
def test_a_script_of_the_page_runs(
    script: Script,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    (folder := tmp_path / "empty").mkdir()
    monkeypatch.chdir(folder)
    assert run_script(script, folder, capfd)[0].stdout


def test_values_are_logged_to_mlflow(tmp_path: Path) -> None:
    (script,) = [each for each in blocks(PAGE, "python") if "mlflow" in each.text]
    (tmp_path / "data").symlink_to(ROOT / "data")
    (tmp_path / "script.py").write_text(script.text, encoding="utf-8")
    # In a process of its own: MLflow sets variables, and writes that it creates its tables.
    done = run(["python", "script.py"], tmp_path)
    assert done.returncode == 0, done.stderr
    with sqlite3.connect(tmp_path / "mlflow.db") as connection:
        values = dict(connection.execute("SELECT key, value FROM metrics"))
    connection.close()
    assert values.keys() == {"roc_auc", "log_loss"}
    assert 0.6 < values["roc_auc"] < 0.8


def test_the_job_of_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").symlink_to(ROOT / "data")
    (job,) = blocks(PAGE, "yaml")
    (tmp_path / "drifts.yml").write_text(job.text, encoding="utf-8")
    (command,) = blocks(PAGE, "sh")
    done = run(command.text.strip(), tmp_path, capfd)
    assert "6 evaluated, gates: 12 passed, 0 failed" in done.stdout + done.stderr
