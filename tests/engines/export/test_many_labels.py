"""Text of many labels for other engines: it gives the values of `evaluate`."""

from typing import Any

import pytest

import sqleval
from sqleval.export.statement import export_statement
from tests.support.engines import DataFusion, DuckDB, Engine, PostgreSQL, Sail, SQLite
from tests.support.many_labels import METRICS, ROLES, make_rows


@pytest.mark.parametrize("start", [DuckDB, SQLite, DataFusion, PostgreSQL, Sail])
def test_each_engine_gives_the_values_of_evaluate(start: type[Engine]) -> None:
    rows = make_rows()
    names = ["g", "metric", "class"]
    want = sqleval.scan(rows, **ROLES, by="g").evaluate(METRICS).collect().sort(names)
    with start() as engine:
        engine.load("preds", rows.to_arrow())
        sql = export_statement(METRICS, engine.dialect, "preds", by="g", key="id", **ROLES)
        found = engine.run(sql.rstrip().rstrip(";"))
        again = export_statement(["f1_samples"], engine.dialect, "preds", key="g", **ROLES)
        refused = engine.run(again.rstrip().rstrip(";"))
    columns = [name.lower() for name in found.columns]
    read: list[dict[str, Any]] = [dict(zip(columns, row, strict=True)) for row in found.rows]
    read.sort(key=lambda row: tuple(str(row[name] or "") for name in names))
    assert {row["_problem"] for row in read} == {None}
    for name in (*names, "n", "note"):
        assert [row[name] for row in read] == want[name].to_list()
    assert [row["value"] for row in read] == pytest.approx(want["value"].to_list(), abs=1e-12)
    (row,) = (
        dict(zip(map(str.lower, refused.columns), each, strict=True)) for each in refused.rows
    )
    assert row["_problem"] == (
        "key='g' has a value that several rows of a slice share, and must tell rows apart"
    )
