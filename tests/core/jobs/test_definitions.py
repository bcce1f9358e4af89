"""Definitions of metrics in a history: which changes of a job change them."""

from pathlib import Path

import pytest

from sqleval.catalog import request
from sqleval.jobs.definitions import hash_definition
from sqleval.jobs.file.reading import read_job
from tests.support.lake import Lake, rows

JOB = """
name: named
source: rows
label: y
score: p
labels: {source: labels, on: id, maturity: 1d}
where: "seg <> 'z'"
threshold: 0.45
nulls: drop
by: seg
period: {column: at, grain: day, timezone: Europe/Paris}
metrics: [log_loss, f_beta(beta=2)]
ci: 0.9
history: named.delta
"""


@pytest.mark.parametrize(
    ("metric", "definition"), [("log_loss", "v1-7c17649e5"), ("f_beta(beta=2)", "v1-0fee18106")]
)
def test_definitions_stay_as_long_as_no_value_changes(
    tmp_path: Path, metric: str, definition: str
) -> None:
    """Stored definitions keep their form, because gates would lose their references otherwise."""
    (tmp_path / "job.yml").write_text(JOB, encoding="utf-8")
    job = read_job(tmp_path / "job.yml")
    assert hash_definition(job, request.parse(metric, "binary")) == definition


def test_by_name_and_by_default_are_one_definition(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.put(rows())
    lake.run(changes={"metrics": None}, backfill=True)
    done = lake.run(changes={"metrics": ["roc_auc"]}, backfill=True)
    assert {(step.action, step.reason) for step in done.decisions} == {("add", "fewer metrics")}
    assert "another definition" not in " ".join(done.notes)
