"""The notebooks of the documentation run, and give the values of a script."""

import runpy
from typing import Any

import nbformat
import polars as pl
import pytest
from nbclient import NotebookClient

import sqleval
from tests.support.pages import ROOT

NOTEBOOKS = ROOT / "docs" / "notebooks"
JUPYTER = NOTEBOOKS / "first-steps.ipynb"


@pytest.fixture(scope="module")
def expected() -> pl.DataFrame:
    models = {"logistic": "p_logistic", "boosted": "p_boosted"}
    source = ROOT / "data" / "flights" / "predictions"
    both = sqleval.scan(source, label="delayed", score=models, nulls="drop")
    return both.evaluate(["roc_auc", "log_loss"], ci=0.95).collect()


def list_texts(book: Any) -> list[str]:
    """Return what the cells of a notebook show, as text."""
    return [
        output["data"]["text/plain"]
        for cell in book.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if "data" in output
    ]


def test_the_notebook_of_jupyter(expected: pl.DataFrame) -> None:
    book = nbformat.read(JUPYTER, as_version=4)
    # A notebook is kept without its outputs.
    assert list_texts(book) == []
    where = {"metadata": {"path": str(NOTEBOOKS)}}
    NotebookClient(book, kernel_name="python3", timeout=300, resources=where).execute()
    assert [
        output.get("text")
        for cell in book.cells
        for output in cell.get("outputs", ())
        if output.output_type == "stream"
    ] == []
    texts = list_texts(book)
    assert len(texts) == 5
    for value in expected["value"]:
        assert f"{value:.6f}" in texts[1]


def test_the_notebook_of_marimo(expected: pl.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(NOTEBOOKS)
    _, defined = runpy.run_path("first_steps_marimo.py")["app"].run()
    assert defined["result"]["value"].to_list() == pytest.approx(expected["value"].to_list())
    assert defined["slices"].drop_nulls("value").height > 10
    assert defined["difference"]["verdict"].item()


def test_both_notebooks_have_the_same_steps() -> None:
    cells = nbformat.read(JUPYTER, as_version=4).cells
    names = ["findings", "result", "difference", "slices"]
    code = [cell.source for cell in cells if cell.cell_type == "code"]
    marimo = (NOTEBOOKS / "first_steps_marimo.py").read_text(encoding="utf-8")
    for name in names:
        assert any(f"{name} =" in cell for cell in code)
        assert f"    {name} =" in marimo
