"""The consoles of the page on SQL consoles: DuckDB's shell, a notebook, marimo."""

import json
import runpy
import subprocess
from pathlib import Path

import duckdb_cli
import nbformat
import pytest
from nbclient import NotebookClient

from tests.core.pages import test_console_page as page
from tests.core.pages.test_console_page import find_value, read_lines

folder = page.folder


def test_the_shell(folder: Path) -> None:
    command, *lines = read_lines("DuckDB's shell")
    program = Path(duckdb_cli.__file__).parent / command.split()[0]
    done = subprocess.run(
        [program, "-no-init", "-json", *command.split()[1:]], input="\n".join(lines), cwd=folder,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    (row,) = json.loads(done.stdout)
    assert row["value"] == pytest.approx(find_value(folder), abs=1e-12)


def test_a_notebook(folder: Path) -> None:
    cells = read_lines("Jupyter")
    cells[-1] = f"print(repr({cells[-1]}.fetchall()[0][2]))"
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    where = {"metadata": {"path": str(folder)}}
    NotebookClient(book, kernel_name="python3", timeout=120, resources=where).execute()
    assert float(book.cells[-1].outputs[0]["text"]) == pytest.approx(find_value(folder), abs=1e-12)


def test_marimo(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = "\n    ".join(read_lines("marimo"))
    (folder / "book.py").write_text(
        "import marimo\n\napp = marimo.App()\n\n@app.cell\ndef _():\n"
        f"    {lines}\n    value = auc['value'][0]\n    con.close()\n    return (value,)\n",
        encoding="utf-8",
    )
    monkeypatch.chdir(folder)
    _, defined = runpy.run_path("book.py")["app"].run()
    assert defined["value"] == pytest.approx(find_value(folder), abs=1e-12)
