"""A folder of SQL files of one's own: on the command line, in a job, in the environment."""

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import sqleval
from sqleval import LoadError
from sqleval.catalog import Catalogue, catalogue, find_sql_folder
from sqleval.catalog.catalogue import add_folder, builtin

from .test_foreign_metrics import MATCHES

JOB = """
name: nightly
source: rows.parquet
label: y
prediction: p
period: {column: day, grain: day}
sql: [ours]
metrics: [matches, accuracy]
history: history.duckdb
gates: [matches >= 0.9]
"""
ROWS = pl.DataFrame({"y": [1, 0, 1, 0], "p": [1, 0, 0, 0], "q": [1, 0, 1, 0]})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make a folder with rows, a job, and a metric that equals accuracy."""
    (tmp_path / "ours" / "team").mkdir(parents=True)
    (tmp_path / "ours" / "team" / "matches.sql").write_text(MATCHES, encoding="utf-8")
    ROWS.with_columns(day=pl.date(2026, 1, 1)).write_parquet(tmp_path / "rows.parquet")
    (tmp_path / "job.yml").write_text(JOB, encoding="utf-8")
    return tmp_path


def run(folder: Path, *arguments: str, code: int = 0, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "sqleval", *arguments], cwd=folder, capture_output=True, text=True,
        check=False, env=os.environ | environment,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


ROLES = ("rows.parquet", "--label", "y", "--prediction", "p")
SQL = ("--sql", "ours")


def test_commands_know_the_folder(folder: Path) -> None:
    rows = json.loads(run(folder, "evaluate", *ROLES, *SQL, "-m", "matches", "--format", "json"))
    assert [row["value"] for row in rows] == [0.75]
    assert "matches" in run(folder, "list", *SQL, "--family", "team")
    assert "numpy" not in (shown := run(folder, "show", "matches", *SQL))
    assert "share of rows whose prediction is the label" in shown
    models = ("rows.parquet", "--label", "y", "--prediction", "a=p", "--prediction", "b=q")
    assert "matches" in run(folder, "compare", *models, *SQL, "-m", "matches")
    table = ("--table", "preds", "--label", "y", "--prediction", "p", "--task", "binary")
    assert "WITH" in run(folder, "sql", "matches", *table, *SQL)
    assert "sqleval.matches" in run(folder, "macros", *SQL)
    run(folder, "state", "build", *ROLES, *SQL, "-m", "matches", "--output", "s.parquet")
    back = run(folder, "state", "evaluate", "s.parquet", *SQL, "-m", "matches", "--format", "json")
    assert [row["value"] for row in json.loads(back)] == [0.75]


def test_a_variable_of_the_environment_names_folders(folder: Path) -> None:
    several = os.pathsep.join(["ours"])
    assert "0.75" in run(folder, "evaluate", *ROLES, "-m", "matches", SQLEVAL_SQL=several)
    assert "no metric called 'matches'" in run(folder, "evaluate", *ROLES, "-m", "matches", code=2)
    assert "nowhere" in run(folder, "evaluate", *ROLES, SQLEVAL_SQL="nowhere", code=2)


#: Mistakes in the file of a metric: what is replaced, and what the error says.
MISTAKES = {
    "a column": ("label = prediction", "label = predicted", ":13: confusion has no column"),
    "no comma": ("    slice,\n    CAST", "    slice\n    CAST", "a comma may be missing before it"),
    "a star": ("    slice,\n    CAST", "    *,\n    CAST", ":12: SELECT * hides what a file"),
    "a key": ("direction: higher\n", "", ":1: the header of a metric needs 'direction' (higher,"),
    "a colon": ("summary: share", "summary: a: share", "a text with a colon stands in quotes"),
    "a relation": ("FROM confusion", "FROM preds", "reads predictions, or another file by its"),
    "quotes": ("AS value", "AS value, \"no rows\" AS note", "a text stands in single quotes"),
    "no value": ("AS value", "AS share", "a metric, which has a range, returns the column 'value'"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named_with_its_line(folder: Path, mistake: str) -> None:
    old, new, message = MISTAKES[mistake]
    assert old in MATCHES
    (folder / "ours" / "team" / "matches.sql").write_text(MATCHES.replace(old, new))
    with pytest.raises(LoadError) as raised:
        sqleval.scan(
            ROWS, label="y", prediction="p", catalogue=Catalogue(find_sql_folder(), folder / "ours")
        ).evaluate("matches")
    assert str(raised.value).startswith("team/matches.sql:")
    assert message in str(raised.value)


def test_a_curve_names_its_texts(folder: Path) -> None:
    text = MATCHES.replace("AS value", "AS share, 'all' AS rows").replace("range: 0 .. 1\n", "")
    text = text.replace("successes", "right").replace("trials", "total")
    (folder / "ours" / "team" / "matches.sql").write_text(text)
    with pytest.raises(LoadError, match=r"'rows' is a text: write types: \{rows: text\} in the"):
        Catalogue(find_sql_folder(), folder / "ours").get("matches")


def test_a_folder_that_is_none_is_named(folder: Path) -> None:
    path = folder / "ours" / "team"
    with pytest.raises(LoadError, match=rf"name the folder above, {path.parent}, or write "):
        Catalogue(path)
    with pytest.raises(LoadError, match="is a file; name the folder that holds FAMILY"):
        Catalogue(path / "matches.sql")
    (folder / "job.yml").write_text(JOB.replace("[ours]", "[theirs]"))
    assert "job.yml:7: sql: there is no folder" in run(folder, "validate", "job.yml", code=2)
    (folder / "job.yml").write_text(JOB.replace("[ours]", "ours"))
    assert "job.yml:7: sql: write a list: [ours]" in run(folder, "validate", "job.yml", code=2)


def test_a_job_names_folders_beside_itself(folder: Path) -> None:
    assert "2 metrics" in run(folder, "validate", "job.yml")
    shown = run(folder, "run", "job.yml", "--as-of", "2026-01-03", code=1)
    assert "matches >= 0.9" in shown
    kept = run(folder, "history", "job.yml", "--format", "json")
    assert {row["metric"]: row["value"] for row in json.loads(kept)} == {
        "matches": 0.75, "accuracy": 0.75,
    }  # fmt: skip


def test_a_package_offers_a_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By an entry point of its distribution, as installed ones have it."""
    (folder / "our_metrics.py").write_text(f"FOLDER = {str(folder / 'ours')!r}\n")
    info = folder / "our_metrics-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: our-metrics\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[sqleval.sql]\nours = our_metrics:FOLDER\n")
    arguments = ("evaluate", *ROLES, "-m", "matches")
    assert "0.75" in run(folder, *arguments, PYTHONPATH=str(folder))


def test_the_catalogue_of_a_process(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "_added", [])
    names = {row["name"] for row in sqleval.metrics(sql=folder / "ours")}
    assert "matches" in names
    assert "matches" not in {row["name"] for row in sqleval.metrics()}
    try:
        add_folder(folder / "ours")
        add_folder(folder / "ours")
        assert builtin().get("matches").family == "team"
        found = sqleval.scan(ROWS, label="y", prediction="p").evaluate("matches").collect()
        assert found["value"].item() == 0.75
        with pytest.raises(LoadError, match=r"holds no FAMILY/NAME\.sql"):
            add_folder(folder)
        assert len(builtin().folders) == 2
    finally:
        catalogue._added.clear()
        builtin.cache_clear()
