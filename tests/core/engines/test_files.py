"""The connection that reads and changes a DuckDB file can touch no other file."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import duckdb
import polars as pl
import pytest

import sqleval
from sqleval.engines.duckdb_files import attach_file
from sqleval.engines.duckdb_opening import open_database
from sqleval.errors import SourceError
from sqleval.history.opening import open_store
from sqleval.history.store import TABLES
from sqleval.states.files import read_state_table
from tests.support.commands import run
from tests.support.tried import check_tried

JOB = """
name: nightly
source: rows.parquet
label: y
score: p
period: {column: day}
metrics: [roc_auc]
history: history.duckdb
"""
ROWS = pl.DataFrame({"y": [0, 1], "p": [0.1, 0.9], "day": ["2026-01-02"] * 2})
#: Statements that reach outside of the file.
OUTSIDE = [
    "FROM read_text('{0}/secret.txt')", "FROM glob('{0}/*')", "FROM '{0}/rows.parquet'",
    "COPY (SELECT 1) TO '{0}/out.csv'", "ATTACH '{0}/other.duckdb' AS other",
    "EXPORT DATABASE '{0}/all'", "INSTALL httpfs", "LOAD sqlite_scanner",
    "SET GLOBAL enable_external_access = TRUE", "SET GLOBAL memory_limit = '1TB'",
    "FROM sqlite_scan('{0}/x.db', 't')", "FROM read_csv('https://example.org/x.csv')",
    "FROM python_variable",
]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with rows, a job, and a file that nobody names."""
    ROWS.write_parquet(tmp_path / "rows.parquet")
    (tmp_path / "job.yml").write_text(JOB, encoding="utf-8")
    (tmp_path / "secret.txt").write_text("a secret", encoding="utf-8")
    return tmp_path


def create(path: Path, *statements: str) -> None:
    with duckdb.connect(path) as con:
        for statement in statements:
            con.execute(statement)


@pytest.mark.parametrize("statement", OUTSIDE)
def test_a_connection_to_a_file_touches_no_other(statement: str, folder: Path) -> None:
    python_variable = ROWS  # noqa: F841
    before = {path.name for path in folder.iterdir()} | {"file.duckdb"}
    create(folder / "file.duckdb", "CREATE TABLE t AS SELECT 1 AS a")
    with attach_file(str(folder / "file.duckdb"), "READ_WRITE") as con:
        if "memory_limit" in statement:  # a setting that sqleval's statements change
            statement = "SET GLOBAL allowed_configs = ['memory_limit']"
        with pytest.raises(duckdb.Error):
            con.execute(statement.format(folder)).fetchall()
    assert {path.name for path in folder.iterdir()} == before


def test_the_page_counts_the_statements() -> None:
    check_tried("statements on a connection to a file that leave it", len(OUTSIDE))


@pytest.mark.parametrize("table", TABLES)
def test_a_history_that_is_a_view_is_refused(table: str, folder: Path) -> None:
    path = folder / "history.duckdb"
    text = f"CREATE VIEW {table} AS SELECT content AS job FROM read_text('{folder}/secret.txt')"
    create(path, text)
    message = f"{table} is a view, and must be a table"
    for command in (
        ["history", str(path)],
        ["history", str(path), "--restated"],
        ["history", "prune", str(path), "--keep", "1d"],
        ["run", str(folder / "job.yml"), "--as-of", "2026-01-03"],
    ):
        done = run(*command, code=3)
        assert f"the history {path}: {message}" in done.stderr
        assert "a secret" not in done.stdout + done.stderr


def test_a_view_over_a_file_in_a_table_of_states_is_not_read(folder: Path) -> None:
    path = str(folder / "state.duckdb")
    create(Path(path), f"CREATE VIEW state AS FROM read_text('{folder}/secret.txt')")
    with pytest.raises(SourceError, match="file system operations are disabled"):
        read_state_table(path, "state")
    for source in (f"{path}#state", path):
        done = run("evaluate", source, "--label", "filename", "--score", "size", code=2)
        assert "reads only the files that are named beside it" in done.stderr


def test_macros_of_a_file_are_not_run_when_others_are_installed(folder: Path) -> None:
    path = folder / "lake.duckdb"
    hostile = f"SELECT content AS name FROM read_text('{folder}/secret.txt')"
    create(path, "CREATE SCHEMA sqleval", f"CREATE MACRO sqleval.help() AS TABLE {hostile}")
    done = run("macros", "--install", str(path), code=2)
    assert "file system operations are disabled" in done.stderr
    path.unlink()
    run("macros", "--install", str(path))
    run("macros", "--install", str(path))  # replaces the existing macros


@pytest.mark.parametrize("kind", ["sqlite", "foreign"])
def test_a_file_of_another_kind_is_an_error_that_names_it(kind: str, folder: Path) -> None:
    path = folder / "history.db"
    if kind == "sqlite":
        with sqlite3.connect(path) as con:
            con.execute("CREATE TABLE sqleval_history (job TEXT)")
        con.close()
    else:
        path.write_bytes(b"no database" * 1000)
    before = path.read_bytes()
    job = (folder / "job.yml").read_text("utf-8").replace("history.duckdb", "history.db")
    (folder / "job.yml").write_text(job, encoding="utf-8")
    for command, code in (
        (["history", str(path)], 3),
        (["run", str(folder / "job.yml"), "--as-of", "2026-01-03"], 3),
        (["macros", "--install", str(path)], 2),
        (["state", "evaluate", str(path)], 2),
        (["split", str(folder / "rows.parquet"), "--key", "y", "--output", str(path)], 2),
    ):
        done = run(*command, code=code)
        assert str(path) in done.stderr
        assert "not a valid DuckDB database file" in done.stderr
        assert ("it is a SQLite file" in done.stderr) == (
            kind == "sqlite" and command[0] in ("history", "run", "macros")
        )
    assert path.read_bytes() == before


def test_connections_have_the_limits_that_were_set(
    folder: Path, set_threads: Callable[[int], None]
) -> None:
    path = str(folder / "history.duckdb")
    with attach_file(path, "READ_WRITE"):
        pass  # this connection is not taken again when limits change
    set_threads(1)
    sqleval.configure(memory_limit="123MB")
    try:
        with open_database() as con, attach_file(path, "READ_ONLY") as attached:
            for each in (con, attached):
                limits = "SELECT current_setting('threads'), current_setting('memory_limit')"
                assert each.execute(limits).fetchall() == [(1, "117.3 MiB")]
    finally:
        sqleval.configure(memory_limit="4GB")


def test_a_history_is_found_from_another_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "other").mkdir()
    monkeypatch.chdir(folder)
    run("run", "job.yml", "--as-of", "2026-01-03")
    assert open_store("history.duckdb").read("sqleval_history").height == 1
    monkeypatch.chdir("other")
    assert open_store("history.duckdb").read("sqleval_history").is_empty()
    (folder / "linked.duckdb").symlink_to(folder / "history.duckdb")
    assert open_store("../linked.duckdb").read("sqleval_history").height == 1
