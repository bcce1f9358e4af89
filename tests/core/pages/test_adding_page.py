"""The examples of the page on adding work: SQL files, modules, rows of tables, and their use."""

import importlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import numpy as np
import polars as pl
import pytest
from polars.selectors import by_name
from sklearn.metrics import recall_score

import sqleval
from sqleval.catalog import Catalogue, find_sql_folder
from sqleval.catalog.roles import RoleFacts
from sqleval.catalog.tasks import TaskFacts
from sqleval.common.columns import Column
from sqleval.common.sql_text import quote
from sqleval.common.whole_file import replace_file
from sqleval.compiler.intervals import Bounds
from sqleval.engines.base import Engine
from sqleval.history.opening import StoreKind, open_store
from sqleval.history.store import ALL, FLAGS, RESULTS, TABLES
from sqleval.jobs.file.reading import read_job
from sqleval.jobs.running.plan import RunOptions
from sqleval.jobs.running.run import run_job
from sqleval.sources.files import open_files
from sqleval.sources.formats import FileFormat
from sqleval.sources.lake.data_files import DataFile
from sqleval.sources.lake.format import Snapshot, TableFormat
from sqleval.sources.source import Source
from tests.support.cases import DATA, ROLES, Case, rows_of
from tests.support.curve_points import Curve
from tests.support.pages import read_page

PAGE = read_page("docs/developers/adding.md")
SECTIONS = {
    part.partition("\n")[0]: part for part in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]
}
#: A block, and the first word and name of the sentence before it, if any.
BLOCK = re.compile(
    r"(?:^(File|Module|Row of) `([\w/.]+)`[^\n]*:\n\n)?^```(\w+)\n(.*?)^```$", re.M | re.DOTALL
)
#: What the examples may use without an import.
NAMES: dict[str, Any] = {
    "pl": pl, "np": np, "sqleval": sqleval, "duckdb": duckdb, "Path": Path, "Engine": Engine,
    "Column": Column, "Source": Source, "quote": quote, "by_name": by_name, "Bounds": Bounds,
    "contextmanager": contextmanager, "recall_score": recall_score,
    "Case": Case, "Curve": Curve, "StoreKind": StoreKind, "open_store": open_store,
    "RESULTS": RESULTS, "ALL": ALL, "FLAGS": FLAGS, "TABLES": TABLES, "replace_file": replace_file,
    "read_job": read_job, "RunOptions": RunOptions, "run_job": run_job,
    "open_files": open_files, "FileFormat": FileFormat, "DataFile": DataFile, "Snapshot": Snapshot,
    "TableFormat": TableFormat, "NamedTuple": NamedTuple,
    "datetime": datetime, "UTC": UTC, "TaskFacts": TaskFacts, "RoleFacts": RoleFacts,
}  # fmt: skip


def blocks(section: str) -> Iterator[tuple[str, str, str, str]]:
    for match in BLOCK.finditer(SECTIONS[section]):
        yield match[1] or "", match[2] or "", match[3], match[4]


def add_row(table: str, text: str, names: dict[str, Any], patch: pytest.MonkeyPatch) -> Any:
    """Put a row into a table of the package until the test ends; return it."""
    module, _, name = table.rpartition(".")
    home = importlib.import_module(module)
    rows = getattr(home, name)
    if isinstance(rows, list):
        row = eval(text, names)
        # Put it first, because the first row that fits is used.
        patch.setattr(home, name, [row, *rows])
        return row
    row = eval("{" + text + "}", names)
    for key, value in row.items():
        patch.setitem(rows, key, value)
    return row


@pytest.mark.parametrize("section", SECTIONS)
def test_an_example_works(section: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = dict(NAMES)
    done = 0
    tables = []
    for kind, name, language, text in blocks(section):
        if kind == "File":
            path = tmp_path / "sql" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            names["catalogue"] = Catalogue(find_sql_folder(), tmp_path / "sql")
        elif kind == "Row of":
            row = add_row(name, text, names, monkeypatch)
            tables.append((name, row))
        elif language == "python":
            exec(text, names)
            done += not kind
    assert done == 1  # the block that uses the new row
    for table, row in tables:
        if table.startswith("tests."):
            check_case(row, names["catalogue"])


def check_case(case: Case | Curve, catalogue: Catalogue) -> None:
    """Compare a new metric or curve with its reference on every data set without keys."""
    compared = 0
    for data in DATA:
        if data.kind != "binary" or data.options or data.outside or not data.frame.height:
            continue
        scan = sqleval.scan(data.frame, **ROLES["binary"], catalogue=catalogue)
        rows = rows_of(data.frame, "binary")
        if isinstance(case, Curve):
            points = scan.curve(case.text).collect().select(case.columns).to_numpy()
            np.testing.assert_allclose(points, case.points(rows), atol=1e-12)
        elif set(rows.label) == {0, 1} and ((rows.label == 0) & (rows.prediction == 1)).any():
            value = scan.evaluate(case.metric).collect()["value"].item()
            assert value == pytest.approx(case.reference(rows), abs=1e-12)
        else:
            continue
        compared += 1
    assert compared
