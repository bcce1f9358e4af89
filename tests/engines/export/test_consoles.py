"""The macros in DuckDB's shell and in Harlequin."""

import asyncio
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.support.commands import run

QUERY = "FROM sqleval.roc_auc('predictions', label := label, score := score)"
ROWS = "(VALUES (1, 0.9), (0, 0.8), (1, 0.7), (0, 0.2)) AS v(label, score)"
TABLE = f"CREATE TABLE predictions AS FROM {ROWS}"
ROW = {"slice": "all", "metric": "roc_auc", "value": 0.75, "n": 4, "n_dropped": 0, "note": None}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Isolate the tests from the user's settings, and leave these unchanged."""
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path))


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("script") / "sqleval.sql"
    path.write_text(run("macros").stdout, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = made(tmp_path_factory.mktemp("installed"))
    run("macros", "--install", str(path))
    return path


@pytest.fixture
def file(tmp_path: Path, installed: Path) -> Path:
    """Return a database that holds the predictions and, installed by the command, the macros."""
    return Path(shutil.copy(installed, tmp_path))


def made(folder: Path) -> Path:
    path = folder / "preds.duckdb"
    with duckdb.connect() as con:
        con.execute(f"ATTACH '{path}' AS file (STORAGE_VERSION 'v1.4.0')")
        con.execute(f"USE file; {TABLE}")
    return path


# -- DuckDB's shell ------------------------------------------------------------------------------


def shell(*arguments: object, stdin: str | None = None, code: int = 0) -> tuple[Any, str]:
    folder = Path(str(pytest.importorskip("duckdb_cli").__file__)).parent
    command = [str(folder / "duckdb"), "-bail", "-json", *map(str, arguments)]
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)
    assert (done.returncode != 0) == (code != 0), done.stderr
    return json.loads(done.stdout or "null"), done.stderr


def test_shell_reads_the_script(script: Path) -> None:
    assert shell("-c", f".read {script}", "-c", TABLE, "-c", QUERY) == ([ROW], "")


def test_shell_is_piped_the_script(script: Path) -> None:
    text = f"{script.read_text()}{TABLE};\n{QUERY};\n"
    assert shell(stdin=text) == ([ROW], "")


def test_shell_starts_with_the_script(script: Path) -> None:
    assert shell("-init", script, "-c", TABLE, "-c", QUERY)[0] == [ROW]


@pytest.mark.parametrize("readonly", [False, True])
def test_shell_opens_an_installed_file(readonly: bool, file: Path) -> None:
    assert shell(*(["-readonly"] if readonly else []), file, "-c", QUERY) == ([ROW], "")
    rows, _ = shell(file, "-c", "FROM sqleval.help()")
    assert "roc_auc" in {row["name"] for row in rows}
    rows, _ = shell(file, "-c", "SELECT sqleval.auc(label, score) AS a FROM predictions")
    assert rows == [{"a": 0.75}]


def test_shell_attaches_an_installed_file(file: Path) -> None:
    query = QUERY.replace("sqleval.", "m.sqleval.")
    attach = f"ATTACH '{file}' AS m (READ_ONLY)"
    # The macros call each other by schema, so their file must be the current database.
    assert shell("-c", attach, "-c", "USE m", "-c", query) == ([ROW], "")


def test_shell_reads_a_parquet_file(script: Path, tmp_path: Path) -> None:
    path = tmp_path / "predictions.parquet"
    duckdb.sql(f"COPY (FROM {ROWS}) TO '{path}'")
    query = QUERY.replace("'predictions'", f"'{path}'")
    assert shell("-c", f".read {script}", "-c", query) == ([ROW], "")


def test_shell_shows_what_is_refused(file: Path) -> None:
    query = QUERY.replace("label := label", "label := label + 1")
    rows, message = shell(file, "-c", query, code=1)
    assert rows is None
    assert "label must hold 0 and 1" in message


# -- Harlequin -----------------------------------------------------------------------------------


async def harlequin(adapter: Any, query: str) -> tuple[list[str], list[list[Any]]]:
    from harlequin import Harlequin

    app = Harlequin(adapter, record_history=False)
    async with asyncio.timeout(60), app.run_test() as pilot:
        # A worker connects, which takes as long as the script; an earlier query would be lost.
        while app.editor is None or app.connection is None:
            await pilot.pause(0.02)
        app.editor.text = query
        await pilot.press("ctrl+j")
        while (table := app.results_viewer.get_visible_table()) is None:
            assert len(app.screen_stack) == 1, app.screen.error  # an error dialog
            await pilot.pause(0.02)
        return table.plain_column_labels, [table.get_row_at(i) for i in range(table.row_count)]


def test_harlequin_starts_with_the_script(tmp_path: Path, script: Path) -> None:
    pytest.importorskip("harlequin")
    from harlequin_duckdb import DuckDbAdapter

    adapter = DuckDbAdapter([str(made(tmp_path))], init_path=str(script))
    names, rows = asyncio.run(harlequin(adapter, QUERY))
    assert [dict(zip(names, row, strict=True)) for row in rows] == [ROW]


def test_harlequin_opens_an_installed_file(installed: Path) -> None:
    # The editor and the table of results, tested above, call only these methods.
    pytest.importorskip("harlequin")
    from harlequin_duckdb import DuckDbAdapter

    connection = DuckDbAdapter([str(installed)], read_only=True, no_init=True).connect()
    try:
        assert [item.label for item in connection.get_catalog().items][:1] == ["preds"]
        cursor = connection.execute(QUERY)
        assert cursor is not None
        names, rows = [name for name, _ in cursor.columns()], cursor.fetchall()
    finally:
        connection.close()
    assert [dict(zip(names, row.values(), strict=True)) for row in rows.to_pylist()] == [ROW]
