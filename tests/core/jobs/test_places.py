"""Outputs of a job never overwrite what it reads or keeps, or each other."""

import os
import shutil
from collections.abc import Callable
from copy import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from sqleval import RequestError
from sqleval.jobs.file.reading import read_job
from sqleval.jobs.running.plan import RunOptions
from sqleval.jobs.running.run import run_job
from sqleval.jobs.running.validation import check_job
from tests.support.commands import run
from tests.support.lake import LATER, Lake, rows

#: A change of the job, and the message.
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "the history": (
        {"outputs": {"json": "history.duckdb"}},
        "outputs.json: 'history.duckdb' is the history,",
    ),
    "its log": ({"report": "history.duckdb.wal"}, "is the log of the history"),
    "the job file": ({"report": "job.yml"}, "report: 'job.yml' is the job file"),
    "another spelling": ({"report": "preds/../job.yml"}, "is the job file"),
    "a symbolic link": ({"report": "links/job.html"}, "is the job file"),
    "a hard link": ({"report": "hard.html"}, "is the job file"),
    "through a folder": ({"report": "folder/job.yml"}, "is the job file"),
    "a file of the source": (
        {"outputs": {"junit": "preds/2026-01-02.parquet"}},
        "is preds/2026-01-02.parquet, a file of source",
    ),
    "a link to a file of the source": ({"outputs": {"junit": "source.xml"}}, "a file of source"),
    "a file of a pattern": (
        {"source": "preds/*.parquet", "report": "folder/preds/2026-01-02.parquet"},
        "is preds/2026-01-02.parquet, a file of source",
    ),
    "a file of labels": (
        {"labels": {"source": "labels.parquet", "on": "key"}, "report": "labels.parquet"},
        "is labels.parquet, a file of labels.source",
    ),
    "a later file of the source": ({"report": "preds/new.parquet"}, "would be read as a file of"),
    "a state": ({"states": "states", "report": "states/r.html"}, "is inside the folder of states"),
    "a file of the history": (
        {"history": "history.delta", "outputs": {"prometheus": "history.delta/sqleval_files/a"}},
        "is inside the history",
    ),
    "two outputs": (
        {"report": "out", "outputs": {"json": "x/../out"}},
        "is the file of report as well",
    ),
    "two outputs by a link": (
        {"outputs": {"json": "one.txt", "junit": "two.txt"}},
        "is the file of outputs.json as well",
    ),
    "events": ({"outputs": {"openlineage": "job.yml"}}, "outputs.openlineage: 'job.yml' is"),
    "a folder": ({"outputs": {"json": "preds"}}, "outputs.json: 'preds' is a folder"),
    "runs of MLflow": ({"outputs": {"mlflow": "job.yml"}}, "outputs.mlflow: 'job.yml' is a file"),
    "a folder of MLflow": ({"outputs": {"mlflow": "mlruns"}}, "write sqlite:///mlflow.db"),
    "MLflow's folder as a URL": ({"outputs": {"mlflow": "file:///mlruns"}}, "does not write to"),
    "MLflow's database": ({"outputs": {"mlflow": "sqlite:///x/../history.duckdb"}}, "the history"),
    "SQLite": ({"outputs": {"json": "h.sqlite"}}, "'h.sqlite' has the ending of a database"),
    "SQLite for MLflow": ({"outputs": {"mlflow": "h.sqlite"}}, "write sqlite:///FILE"),
    "a URL": ({"outputs": {"junit": "s3://b/h.xml"}}, "s3:// is not supported; write a local path"),
    "a report's URL": ({"report": "s4://bucket/r.html"}, "report: s4:// is not supported"),
    "a scheme": (
        {"outputs": {"mlflow": "s4://bucket"}},
        "or a URL of http://, https://, file://, sqlite://,",
    ),
    "a server": ({"outputs": {"openlineage": "s4://b"}}, "or a URL of http://, https://"),
    "states in the source": ({"states": "folder/preds/s"}, "the folder of states is inside source"),
    "a history in the source": ({"history": "preds/h.delta"}, "the history is inside source"),
}


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Four days with a history."""
    made = Lake(tmp_path_factory.mktemp("first"))
    made.put(rows())
    made.run(backfill=True)
    return made


@pytest.fixture
def lake(first: Lake, tmp_path: Path) -> Lake:
    """A copy of the lake, with links to files of the job."""
    shutil.copytree(first.folder, tmp_path, copy_function=shutil.copy2, dirs_exist_ok=True)
    made = copy(first)
    made.folder = tmp_path
    rows().select("key", "y").write_parquet(tmp_path / "labels.parquet")
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "job.html").symlink_to("../job.yml")
    (tmp_path / "folder").symlink_to(tmp_path)
    (tmp_path / "source.xml").symlink_to("preds/2026-01-02.parquet")
    (tmp_path / "one.txt").write_text("")
    (tmp_path / "two.txt").symlink_to("one.txt")
    return made


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.mark.parametrize("name", WRONG)
def test_an_output_over_something_is_refused(lake: Lake, name: str) -> None:
    changes, message = WRONG[name]
    path = lake.folder / "job.yml"
    path.write_text(yaml.safe_dump({**lake.spec, **changes}), encoding="utf-8")
    os.link(path, lake.folder / "hard.html")
    before = contents(lake.folder)
    calls: list[Callable[[], object]] = [
        lambda: check_job(read_job(path)),
        lambda: run_job(read_job(path), RunOptions(as_of=LATER, backfill=True)),
        lambda: run_job(read_job(path), RunOptions(as_of=LATER), dry=True),
    ]
    for call in calls:
        with pytest.raises(RequestError) as refused:
            call()
        assert message in str(refused.value)
    assert contents(lake.folder) == before


@pytest.mark.parametrize("mlflow", ["sqlite:///m.db", "sqlite:////tmp/m.db", "http://host:5000"])
def test_outputs_of_their_own_are_fine(lake: Lake, mlflow: str) -> None:
    outputs = {"json": "out/a.json", "junit": "out/a.xml", "openlineage": "out/a.jsonl"}
    lake.job(report="preds/r.html", outputs={**outputs, "mlflow": mlflow}, states="states")
    check_job(read_job(lake.folder / "job.yml"))


def test_a_folder_of_mlflow_that_its_user_allowed(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    check_job(lake.job(outputs={"mlflow": "runs"}))


def test_the_history_is_not_exported_over_itself(lake: Lake) -> None:
    before = contents(lake.folder)
    store = str(lake.folder / "history.duckdb")
    for job in (store, str(lake.folder / "job.yml")):
        done = run("history", job, "--output", store, "--format", "csv", code=2)
        assert "choose another file" in done.stderr
    assert contents(lake.folder) == before
