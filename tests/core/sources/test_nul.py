"""A path with the character NUL, which no file system allows, raises an error that says so."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import sqleval
from sqleval import RequestError, SourceError, SqlevalError
from sqleval.history.opening import open_store
from tests.support.commands import run

ROWS = pl.DataFrame({"y": [0, 1], "p": [0.1, 0.9], "day": ["2026-01-02"] * 2})
ROLES = {"label": "y", "score": "p"}
SOURCES = [
    "a\0b", "a\0b.parquet", "a\0b*.parquet", "a\0b.csv", "a\0b.duckdb#t", "a\0b.delta",
    "ducklake:a\0b.ducklake#t", "sqlite:///a\0b.sqlite#t", "sqlite:///a%00b.sqlite#t",
    "s3://bucket/a\0b.parquet",
]  # fmt: skip
JOB = """
name: nightly
label: y
score: p
period: {column: day}
metrics: [roc_auc]
"""
KEYS = [
    'source: "a\\0b.parquet"', 'source: ["a\\0b.parquet"]', 'states: "a\\0b"',
    'report: "a\\0b.html"',
    'history: "a\\0b.duckdb"', 'outputs: {json: "a\\0b.json"}', 'notify: [{command: ["a\\0b"]}]',
    'label: "a\\0b"',
]  # fmt: skip


@pytest.mark.parametrize("source", SOURCES)
def test_a_source(source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    calls: list[Callable[[], object]] = [
        lambda: sqleval.scan(source, **ROLES),
        lambda: sqleval.scan(ROWS, score="p", label="y", labels=source, on="p"),
        lambda: sqleval.inspect(source),
    ]
    for call in calls:
        with pytest.raises(SqlevalError):
            call()


def test_other_paths(tmp_path: Path) -> None:
    path = f"{tmp_path}/a\0b"
    for name in (f"{path}.duckdb", f"{path}.delta"):
        with pytest.raises(RequestError, match="a path must not contain the character NUL"):
            open_store(name)
    with pytest.raises(SourceError):
        sqleval.from_state(f"{path}.parquet")
    with pytest.raises(RequestError):
        sqleval.configure(temp_directory=path)
    with pytest.raises(SqlevalError):
        sqleval.scan(ROWS, **ROLES).plot("roc", f"{path}.svg")
    assert [*tmp_path.iterdir()] == []


def test_an_argument_of_a_command() -> None:
    done = run("evaluate", "a\0b.parquet", "--label", "y", code=2)
    assert done.stderr == (
        "error: 'a\\x00b.parquet' holds the character NUL, which no path or name may have\n"
    )


@pytest.mark.parametrize("key", KEYS)
def test_a_job_file(key: str, tmp_path: Path) -> None:
    ROWS.write_parquet(tmp_path / "rows.parquet")
    name = key.partition(":")[0]
    keys = {"source": "rows.parquet", "history": "history.duckdb"}
    lines = [f"{k}: {v}" for k, v in keys.items() if k != name]
    text = "\n".join([*(x for x in JOB.splitlines() if not x.startswith(f"{name}:")), *lines, key])
    (tmp_path / "job.yml").write_text(text, encoding="utf-8")
    for command in (["validate"], ["run", "--as-of", "2026-01-03"]):
        done = run(command[0], str(tmp_path / "job.yml"), *command[1:], code=2)
        assert "holds the character NUL" in done.stderr
        assert f"job.yml:{len(text.splitlines())}: " in done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"rows.parquet", "job.yml"}
