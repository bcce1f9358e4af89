"""A row of one table defines a task; no other module compares the names of tasks."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sqleval
from sqleval.catalog.tasks import TASKS
from tests.core.comparison.data import ROWS
from tests.support.comparison import assert_frame_equal

PACKAGE = Path(__file__).parents[3] / "sqleval"
TABLE = PACKAGE / "catalog" / "tasks.py"
#: A kind of column and a condition of twins share their name with a task.
OTHERS = ("column.kind", "'unweighted'")
METRICS = ["roc_auc", "log_loss", "f1", "recall(threshold=0.4)"]


def list_comparisons(text: str) -> Iterator[str]:
    """Yield the comparisons of a module with the name of a task, or a choice by it."""
    for node in ast.walk(ast.parse(text)):
        parts: list[ast.AST] = []
        if isinstance(node, ast.Compare):
            parts = [node.left, *node.comparators]
        elif isinstance(node, ast.MatchValue):
            parts = [node.value]
        elif isinstance(node, ast.Dict) and any(isinstance(key, ast.Constant) for key in node.keys):
            parts = [key for key in node.keys if key is not None]
        inner = [part for each in parts for part in ast.walk(each)]
        values = {part.value for part in inner if isinstance(part, ast.Constant)}
        shown = ast.unparse(node)
        # The name of a task is that of a column of results, too.
        is_column = isinstance(node, ast.Dict) or "task" not in shown
        names = {*TASKS} - ({"value"} if is_column else set())
        if values & names and not any(other in shown for other in OTHERS):
            yield shown


def test_no_other_module_compares_a_task() -> None:
    compared = {
        str(path.relative_to(PACKAGE)): found
        for path in PACKAGE.rglob("*.py")
        if path != TABLE and (found := [*list_comparisons(path.read_text("utf-8"))])
    }
    # One of Spark's types has the name of a task.
    compared.pop("dialects/spark.py", None)
    compared.pop("common/columns.py", None)
    assert compared == {}


def test_a_comparison_is_found() -> None:
    assert [*list_comparisons("x = binding.task == 'ranking'")]
    assert [*list_comparisons("x = task not in ('ranking', 'binary')")]
    assert [*list_comparisons("x = {'binary': 1}[task]")]
    assert [*list_comparisons("x = task == 'value'")]
    assert not [*list_comparisons("x = Reading('ranking')")]


@pytest.fixture
def extra(monkeypatch: pytest.MonkeyPatch) -> str:
    """Add a task of two classes with another set of default metrics to the table."""
    binary = TASKS["binary"]
    monkeypatch.setitem(TASKS, "extra", replace(binary, scored_defaults=("gini", "accuracy")))
    return "extra"


def scan(task: str | None, score: Any = "a", **roles: Any) -> sqleval.Predictions:
    return sqleval.scan(ROWS, label="y", score=score, task=task, **roles)


def test_a_task_is_a_row(extra: str, tmp_path: Path) -> None:
    """An added task is evaluated, binned, kept and compared according to its properties."""
    assert scan(extra).evaluate().collect()["metric"].to_list() == ["gini", "accuracy"]
    two = {"a": "a", "b": "b"}
    for by in ((), "g"):
        for call in (
            lambda bound: bound.evaluate(METRICS, ci=0.95, replicates=100),
            lambda bound: bound.evaluate(METRICS[:2], bins=12),
            lambda bound: bound.curve("roc"),
            lambda bound: bound.confusion(),
        ):
            found, expected = (call(scan(each, by=by)).collect() for each in (extra, "binary"))
            assert_frame_equal(found, expected)
        found, expected = (
            scan(each, two, by=by).compare(METRICS, replicates=100).collect()
            for each in (extra, "binary")
        )
        assert_frame_equal(found, expected)
    state = scan(extra).state(["roc_auc", "log_loss"]).collect()
    back = sqleval.from_state(state).evaluate(["log_loss"]).collect()
    expected = scan("binary").evaluate(["log_loss"]).collect()
    assert back["value"].to_list() == pytest.approx(expected["value"].to_list())
    with pytest.raises(sqleval.RequestError, match=r"one of binary, .*, extra"):
        scan("extr")


JOB = """
name: extra
source: rows.parquet
label: y
score: a
task: extra
period: {column: day, grain: day}
metrics: [gini]
history: history.duckdb
gates: [gini >= 0.1]
"""
RUN = """
from dataclasses import replace
from sqleval.catalog.tasks import TASKS
TASKS["extra"] = replace(TASKS["binary"])
from sqleval.cli.main import main
main()
"""


def test_commands_and_jobs_take_it(tmp_path: Path) -> None:
    rows = ROWS.with_columns(day=pl.date(2026, 1, 1))
    rows.write_parquet(tmp_path / "rows.parquet")
    (tmp_path / "job.yml").write_text(JOB)
    evaluate = ["evaluate", "rows.parquet", "--label", "y", "--score", "a", "--task", "extra"]
    for arguments in (
        evaluate,
        ["validate", "job.yml"],
        ["run", "job.yml", "--as-of", "2026-01-03"],
    ):
        done = subprocess.run(
            [sys.executable, "-c", RUN, *arguments], cwd=tmp_path, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    assert "roc_auc" in subprocess.run(
        [sys.executable, "-c", RUN, *evaluate], cwd=tmp_path, capture_output=True, text=True,
        check=True,
    ).stdout  # fmt: skip
