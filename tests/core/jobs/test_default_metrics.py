"""A job without ``metrics`` keeps the default set of its first run through all releases."""

from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import polars as pl
import pytest

from sqleval.catalog.tasks import TASKS
from sqleval.jobs.file.reading import read_job
from sqleval.jobs.running.plan import RunOptions
from sqleval.jobs.running.run import Run, open_job_store, run_job
from sqleval.jobs.running.validation import check_job
from tests.support.old_defaults import JOBS, METRICS, unpack, write_day

NEXT = datetime(2026, 1, 6, 3, tzinfo=UTC)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Unpack the history and its jobs, and add a day; other metrics are the default now."""
    unpack(tmp_path)
    write_day(tmp_path, date(2026, 1, 5))
    return tmp_path


@pytest.fixture(autouse=True)
def other_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the default sets differ from those of the old release."""
    for task, metrics in (("regression", ("rmse", "mse")), ("ranking", ("ndcg(k=3)",))):
        other = replace(TASKS[task], defaults=metrics, scored_defaults=())
        monkeypatch.setitem(TASKS, task, other)


def run(folder: Path, name: str, changed: str = "") -> Run:
    path = folder / f"{name}.yml"
    path.write_text(path.read_text(encoding="utf-8") + changed, encoding="utf-8")
    return run_job(read_job(path), RunOptions(as_of=NEXT))


def read_metrics(folder: Path, name: str) -> dict[str, list[str]]:
    """Return the metrics of each period in the history."""
    rows = open_job_store(read_job(folder / f"{name}.yml")).read("sqleval_history", name)
    periods = rows.group_by("period").agg(pl.col("metric").unique().sort())
    return dict(periods.sort("period").iter_rows())


@pytest.mark.parametrize("name", JOBS)
def test_a_job_of_an_older_release_goes_on_with_its_metrics(folder: Path, name: str) -> None:
    assert " metrics by all rows" in check_job(read_job(folder / f"{name}.yml"))
    done = run(folder, name)
    assert [each.period for each in done.decisions if each.action == "evaluate"] == ["2026-01-05"]
    assert done.notes == []
    assert {*done.verdicts["status"]} == {"passed"}
    assert {*done.verdicts["gate"]} == {gate.check for gate in done.job.gates}
    metrics = read_metrics(folder, name)
    assert list(metrics) == [f"2026-01-0{day}" for day in range(1, 6)]
    assert all(each == METRICS[name] for each in metrics.values())
    # The next run is as quiet as before the release.
    assert {each.action for each in run(folder, name).decisions} <= {"keep", "wait"}


def test_a_new_job_has_the_present_defaults(folder: Path) -> None:
    text = (folder / "regression.yml").read_text(encoding="utf-8").partition("gates")[0]
    (folder / "new.yml").write_text(text.replace("name: regression", "name: new"))
    run(folder, "new")
    assert read_metrics(folder, "new")["2026-01-05"] == ["mse", "rmse"]


def test_the_file_decides_if_it_names_metrics(folder: Path) -> None:
    run(folder, "regression", "metrics: [mae, rmse, mse]\n")
    done = run(folder, "ranking", "metrics: ['ndcg(k=10)']\n")
    assert read_metrics(folder, "regression")["2026-01-05"] == METRICS["regression"]
    assert done.job.metrics == ["ndcg(k=10)"]
    assert read_metrics(folder, "ranking")["2026-01-05"] == ["ndcg(k=10)"]


def test_other_roles_make_another_task_with_its_own_defaults(folder: Path) -> None:
    path = folder / "regression.yml"
    text = path.read_text(encoding="utf-8")
    text = text.replace("prediction: p\n", "score: p\nqid: query\n").split("gates")[0]
    path.write_text(text, encoding="utf-8")
    done = run(folder, "regression")
    assert done.job.metrics is None
    assert read_metrics(folder, "regression")["2026-01-05"] == ["ndcg(k=3)"]
