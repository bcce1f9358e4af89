"""The front end through Snowflake's connector, on fakesnow's server, gives DuckDB's frames.

Fakesnow reads Snowflake's SQL and speaks its protocol; DuckDB does its arithmetic.
"""

from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import sqleval
from sqleval import DataError, EngineError, RequestError, SourceError
from sqleval.catalog import request
from sqleval.common.sql_text import scalar
from tests.support import support_matrix as matrix
from tests.support.engines import TYPES

pytestmark = [
    pytest.mark.slow,
    pytest.mark.long,
    # Of DuckDB 2, at how fakesnow reads its results.
    pytest.mark.filterwarnings("ignore:Arrow output on a DB-API result:UserWarning"),
]
SCORED: dict[str, Any] = {"label": "label", "score": "score"}


@pytest.fixture(scope="module")
def rows() -> pl.DataFrame:
    frame = pl.DataFrame(matrix.tables()["preds"])
    answers = pl.when(label=1).then(pl.lit("it's \\ yes")).otherwise(pl.lit("no"))
    return frame.with_columns(
        answer=answers, day=pl.date(2026, 1, 1) + pl.duration(days=pl.int_range(pl.len()))
    )


@pytest.fixture(scope="module")
def connection(rows: pl.DataFrame) -> Iterator[Any]:
    import fakesnow
    from snowflake import connector

    with (
        fakesnow.server() as address,
        connector.connect(**address, database="DB", schema="TESTS") as connection,
        connection.cursor() as cursor,
    ):
        table = rows.to_arrow()
        columns = ", ".join(
            f'"{field.name}" {TYPES.get(field.type, "VARCHAR")}' for field in table.schema
        )
        values = ", ".join(f"({', '.join(map(write, row))})" for row in rows.rows())
        cursor.execute(f'CREATE TABLE "preds" ({columns})')
        cursor.execute(f'INSERT INTO "preds" VALUES {values}')
        cursor.execute('CREATE TABLE folded AS SELECT "label" AS y, "score" AS p FROM "preds"')
        yield connection


def write(value: Any) -> str:
    return "NULL" if value is None else scalar(value).replace("\\", "\\\\")


def assert_same(found: pl.LazyFrame, wanted: pl.LazyFrame) -> None:
    """Assert that a frame is that of DuckDB, but for the units that an engine takes."""
    one, other = found.collect(), wanted.collect()
    assert one.schema == other.schema
    drop = ["method"] if "method" in one.columns else []
    assert_frame_equal(one.drop(drop), other.drop(drop), abs_tol=1e-9, rel_tol=1e-9)


# Each sixth: the texts of all are run on fakesnow for the page of engines.
@pytest.mark.parametrize("asked", matrix.every()[::6], ids=lambda asked: asked.name[:40])
def test_metrics_and_curves(asked: matrix.Asked, rows: pl.DataFrame, connection: Any) -> None:
    roles = dict(asked.roles)
    if roles.get("task") == "multiclass" and isinstance(roles.get("score"), dict):
        roles["score"] = {int(key): column for key, column in roles["score"].items()}
    both = [
        sqleval.scan('"preds"', engine=connection, nulls="drop", **roles),
        sqleval.scan(rows, nulls="drop", **roles),
    ]
    curve = request.parse_table(asked.name, both[0].task)
    found, wanted = (
        each.curve(asked.name) if curve else each.evaluate(asked.name) for each in both
    )
    assert_same(found, wanted)


CALLS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "the default set": (SCORED, {}),
    "intervals of slices": ({**SCORED, "by": ["seg", "day"]}, {"metrics": "f1", "ci": 0.95}),
    "bins": (SCORED, {"metrics": ["roc_auc", "f1", "average_precision"], "bins": 5}),
    "weights": ({**SCORED, "weight": "w"}, {"metrics": ["roc_auc", "log_loss"]}),
    "conditions": ({**SCORED, "where": "day < DATE '2026-03-01' AND q > 3"}, {"metrics": "f1"}),
    "a positive class": (
        {"label": "answer", "score": "score", "positive": "it's \\ yes"},
        {"metrics": "roc_auc"},
    ),
    "no rows": ({**SCORED, "where": "q > 1000"}, {"metrics": ["roc_auc", "f1"]}),
    "no slices": ({**SCORED, "where": "q > 1000", "by": "seg"}, {"metrics": ["roc_auc", "f1"]}),
}


@pytest.mark.parametrize("name", CALLS)
def test_options(name: str, rows: pl.DataFrame, connection: Any) -> None:
    roles, call = CALLS[name]
    found = sqleval.scan('"preds"', engine=connection, nulls="drop", **roles).evaluate(**call)
    assert_same(found, sqleval.scan(rows, nulls="drop", **roles).evaluate(**call))


def test_names_that_snowflake_folds_and_queries(rows: pl.DataFrame, connection: Any) -> None:
    wanted = sqleval.scan(rows, **SCORED, nulls="drop").evaluate("roc_auc")
    call: dict[str, Any] = {"engine": connection, "nulls": "drop", "label": "Y", "score": "P"}
    assert_same(sqleval.scan("db.tests.folded", **call).evaluate("roc_auc"), wanted)
    query = "SELECT y, p FROM folded QUALIFY ROW_NUMBER() OVER (ORDER BY y) > 0 -- all"
    assert_same(sqleval.scan(query=query, **call).evaluate("roc_auc"), wanted)


def test_the_statement_is_in_snowflakes_sql(connection: Any) -> None:
    scan = sqleval.scan('"preds"', engine=connection, **SCORED)
    with connection.cursor() as cursor:
        names = [each.name for each in cursor.describe(scan.sql("f1"))]
    assert names[:2] == ["metric", "value"]


def test_errors(connection: Any) -> None:
    call: dict[str, Any] = {"engine": connection, **SCORED}
    with pytest.raises(SourceError, match=r"cannot read nowhere: .*NOWHERE"):
        sqleval.scan("nowhere", **call)
    with pytest.raises(RequestError, match="'@stage/x' must be the name of a table"):
        sqleval.scan("@stage/x", **call)
    # What is no name is quoted, and so the name of no table.
    with pytest.raises(SourceError, match="cannot read preds AS x"):
        sqleval.scan("preds AS x", **call)
    with pytest.raises(RequestError, match="Lower is not read alike by all engines"):
        sqleval.scan('"preds"', **call, where="lower(seg) = 'a'")
    lazy = sqleval.scan('"preds"', **call).evaluate("roc_auc")
    # A sum of whole numbers is a double on fakesnow alone.
    with pytest.raises(DataError, match=r"score='score' is NULL or NaN in \d+(\.0)? of 240 rows"):
        lazy.collect()
    engine = sqleval.scan('"preds"', **call).engine
    with pytest.raises(EngineError, match=r"over no source: .*NOTHING") as error:
        engine.rows("SELECT t.nothing AS x FROM (SELECT 1 AS y) AS t", {}, [], {})
    assert "t.nothing" in str(error.value.statement)
    with pytest.raises(DataError, match=r"a value of no source cannot be used: .*'x'"):
        engine.rows("SELECT CAST('x' AS INT) AS x", {}, [], {})
