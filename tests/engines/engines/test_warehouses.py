"""The front end through the clients of warehouses, on emulators, gives DuckDB's frames.

`tests.support.warehouses` lists the parser and the engine behind each: never the warehouse itself.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import cache
from typing import Any

import polars as pl
import pytest
from google.api_core.exceptions import NotFound

import sqleval
from sqleval import DataError, EngineError, RequestError, SourceError
from sqleval.catalog import builtin, request
from sqleval.engines import waiting
from sqleval.engines.warehouse import Translated
from tests.support import support_matrix as matrix
from tests.support.comparison import assert_same_result
from tests.support.warehouses import PLACES, Place

pytestmark = [
    # DuckDB 2 warns of the way in which fakesnow reads its results.
    pytest.mark.filterwarnings("ignore:Arrow output on a DB-API result:UserWarning"),
    # PySpark 4.2 warns of pandas 3.
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:UserWarning"),
]
SCORED: dict[str, Any] = {"label": "label", "score": "score"}


@pytest.fixture(scope="module")
def rows() -> pl.DataFrame:
    frame = pl.DataFrame(matrix.tables()["preds"])
    answers = pl.when(label=1).then(pl.lit("it's \\ yes")).otherwise(pl.lit("no"))
    return frame.with_columns(
        answer=answers, day=pl.date(2026, 1, 1) + pl.duration(days=pl.int_range(pl.len()) // 8)
    )


@pytest.fixture(scope="module")
def open_place(rows: pl.DataFrame) -> Iterator[Callable[[str], Place]]:
    """Return a function that opens each warehouse once: a process can start one fakesnow server."""
    with ExitStack() as stack:
        yield cache(lambda name: stack.enter_context(PLACES[name](rows)))


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest, open_place: Callable[[str], Place]) -> Place:
    return open_place(request.param)


#: Few: `export.test_dialects` runs the texts of all on fakesnow, and Spark's, which are nearly
#: Databricks', on Sail. For Trino and BigQuery only the constructs can differ. Curves of models
#: take as long as all others, and `test_dialects` runs their text.
ASKED = [
    pytest.param(name, asked, names, id=f"{name}-{asked.name[:40]}-{len(names)}")
    for name in PLACES
    for asked, names in matrix.together(matrix.sample())
    if asked.name != "roc_dominance" or name in ("Trino", "BigQuery")
]


def test_the_sample_has_every_construct_of_sql() -> None:
    def list_constructs(questions: Sequence[matrix.Call]) -> set[type]:
        names = {request.find_name(asked.name) for asked in questions}
        files = {file for name in names for file in builtin().closure(name).values()}
        return {type(node) for file in files for node in file.query.walk()}

    assert list_constructs(matrix.sample()) == list_constructs(matrix.every())


@pytest.mark.parametrize(("place", "asked", "names"), ASKED, indirect=["place"])
def test_metrics_and_curves(
    asked: matrix.Call, names: list[str], rows: pl.DataFrame, place: Place
) -> None:
    found = matrix.evaluate(asked, names, place.table, engine=place.connection)
    assert_same_result(found, matrix.evaluate(asked, names, rows))


#: Values of options on which independent parts of the statement depend, several in one request;
#: `export.test_dialect_options` tries all options on fakesnow and Sail.
CALLS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "weights, conditions and a positive class": (
        {
            "label": "answer", "score": "score", "positive": "it's \\ yes", "weight": "w",
            "where": "day < DATE '2026-01-20' AND q > 3",
        },
        {"metrics": ["roc_auc", "log_loss"]},
    ),
    "intervals of slices, an infinite threshold, and one of many digits": (
        {**SCORED, "by": ["seg", "day"], "threshold": -math.inf},
        {"metrics": ["f1", "f1(threshold=0.4600000001)"], "ci": 0.95},
    ),
    "bins": (SCORED, {"metrics": "roc_auc", "bins": 5}),
    "no rows": ({**SCORED, "where": "q > 1000"}, {"metrics": "f1"}),
    "no slices": ({**SCORED, "where": "q > 1000", "by": "seg"}, {"metrics": "f1"}),
}  # fmt: skip


@pytest.fixture(scope="module")
def expected(rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
    return {
        name: sqleval.scan(rows, nulls="drop", **roles).evaluate(**call).collect()
        for name, (roles, call) in CALLS.items()
    }


@pytest.mark.parametrize("name", CALLS)
def test_options(name: str, expected: dict[str, pl.DataFrame], place: Place) -> None:
    roles, call = CALLS[name]
    found = sqleval.scan(place.table, engine=place.connection, nulls="drop", **roles)
    assert_same_result(found.evaluate(**call), expected[name])


def test_queries(rows: pl.DataFrame, place: Place) -> None:
    query = f"SELECT * FROM {place.table} -- all"
    found = sqleval.scan(query=query, engine=place.connection, **SCORED, nulls="drop")
    expected = sqleval.scan(rows, **SCORED, nulls="drop").evaluate("roc_auc")
    assert_same_result(found.evaluate("roc_auc"), expected)
    assert f"SELECT * FROM {place.table} -- all" in found.sql("roc_auc")


def test_errors(place: Place) -> None:
    call: dict[str, Any] = {"engine": place.connection, **SCORED}
    # The name as the user writes it, and then the message of the warehouse.
    with pytest.raises(SourceError, match=r"cannot read tests\.nowhere: .*(?i:nowhere)"):
        sqleval.scan("tests.nowhere", **call)
    # Text that is no name is quoted, so it names a table that does not exist.
    with pytest.raises(SourceError, match=r"cannot read tests\.preds AS x"):
        sqleval.scan("tests.preds AS x", **call)
    with pytest.raises(RequestError, match="Lower is not read alike by all engines"):
        sqleval.scan(place.table, **call, where="lower(seg) = 'a'")
    with pytest.raises(RequestError, match="splits are made and checked by DuckDB"):
        sqleval.check_split(place.table, place.table, key="q", engine=place.connection)
    lazy = sqleval.scan(place.table, **call).evaluate("roc_auc")
    # Only on fakesnow is a sum of whole numbers a double.
    with pytest.raises(DataError, match=r"score='score' is NULL or NaN in \d+(\.0)? of 240 rows"):
        lazy.collect()
    engine = sqleval.scan(place.table, **call).engine
    with pytest.raises(EngineError, match=r"over no source: .*(?i:nothing)") as error:
        engine.rows("SELECT t.nothing AS x FROM (SELECT 1 AS y) AS t", {}, [], {})
    assert "t.nothing" in str(error.value.statement).replace("`", "")
    with pytest.raises(EngineError, match=r"failed over .*: .*(?i:nothing)"):
        engine.check_condition(sqleval.scan(place.table, **call).source, "s.nothing > 1")
    source = sqleval.scan(place.table, **call).source
    if engine.dialect in ("databricks", "clickhouse"):
        return  # The cast of a text that is not a number is NULL in Sail and in ClickHouse's text.
    with pytest.raises(DataError, match=r"a value of .* cannot be used: .*(?i:yes|no)"):
        engine.rows(
            "SELECT SUM(CAST(answer AS INT)) AS x FROM input", {}, [source], {"input": place.table}
        )


#: A column of each type, and the type's name in `common.columns`; for Trino, types of this server.
COLUMNS: dict[str, dict[str, str]] = {
    "Snowflake": {
        "1::NUMBER(9, 0)": "BIGINT", "1.5::NUMBER(9, 1)": "DECIMAL(9, 1)", "1.5::FLOAT": "DOUBLE",
        "'a'": "VARCHAR", "TRUE": "BOOLEAN", "'2026-01-02'::DATE": "DATE",
        "'2026-01-02 03:04:05'::TIMESTAMP_NTZ": "TIMESTAMP",
        "'2026-01-02 03:04:05 +0000'::TIMESTAMP_TZ": "TIMESTAMP WITH TIME ZONE",
        "'03:04:05'::TIME": "TIME", "TO_BINARY('ab', 'HEX')": "BLOB",
    },
    "BigQuery": {
        "CAST(1 AS INT64)": "BIGINT", "CAST(1.5 AS NUMERIC)": "DECIMAL(38, 9)",
        "CAST(1.5 AS FLOAT64)": "DOUBLE", "'a'": "VARCHAR", "TRUE": "BOOLEAN",
        "DATE '2026-01-02'": "DATE", "DATETIME '2026-01-02 03:04:05'": "TIMESTAMP",
        "TIMESTAMP '2026-01-02 03:04:05+00'": "TIMESTAMP WITH TIME ZONE", "TIME '03:04:05'": "TIME",
        "b'ab'": "BLOB",
    },
    "Trino": {
        "CAST(1 AS INTEGER)": "INTEGER", "CAST(1.5 AS DECIMAL(9, 1))": "DECIMAL(9, 1)",
        "CAST(1.5 AS DOUBLE)": "DOUBLE", "CAST(1.5 AS REAL)": "FLOAT", "'a'": "VARCHAR",
        "TRUE": "BOOLEAN", "DATE '2026-01-02'": "DATE",
        "CAST('2026-01-02 03:04:05' AS TIMESTAMP(6))": "TIMESTAMP",
        "TIMESTAMP WITH TIME ZONE '2026-01-02 03:04:05+00'": "TIMESTAMP WITH TIME ZONE",
    },
    "Databricks": {
        "CAST(1 AS BIGINT)": "BIGINT", "CAST(1.5 AS DECIMAL(9, 1))": "DECIMAL(9, 1)",
        "CAST(1.5 AS DOUBLE)": "DOUBLE", "CAST(1.5 AS FLOAT)": "FLOAT", "'a'": "VARCHAR",
        "TRUE": "BOOLEAN", "DATE '2026-01-02'": "DATE",
        "TIMESTAMP_NTZ '2026-01-02 03:04:05'": "TIMESTAMP",
        "TIMESTAMP '2026-01-02 03:04:05'": "TIMESTAMP WITH TIME ZONE", "X'ab'": "BLOB",
    },
    "ClickHouse": {
        "toInt32(1)": "INTEGER", "toUInt8(1)": "UTINYINT", "toDecimal32(1.5, 1)": "DECIMAL(9, 1)",
        "1.5": "DOUBLE", "toFloat32(1.5)": "FLOAT", "'a'": "VARCHAR", "toNullable('a')": "VARCHAR",
        "toLowCardinality(toNullable('a'))": "VARCHAR", "true": "BOOLEAN",
        "toDate('2026-01-02')": "DATE", "toDateTime64('2026-01-02 03:04:05', 6)": "TIMESTAMP",
        "[1, 2]": "STRUCT(...)",
    },
}  # fmt: skip


@pytest.mark.parametrize(("place", "types"), COLUMNS.items(), ids=list(COLUMNS), indirect=["place"])
def test_types_of_columns(place: Place, types: dict[str, str]) -> None:
    columns = ", ".join(f"{each} AS c{number}" for number, each in enumerate(types))
    engine = sqleval.scan(place.table, engine=place.connection, **SCORED).engine
    _, found = engine.describe(engine.open(None, f"SELECT {columns}", "source"))
    assert [column.type for column in found.values()] == list(types.values())


@pytest.mark.parametrize("place", ["Snowflake"], indirect=True)
def test_names_of_snowflake(rows: pl.DataFrame, place: Place) -> None:
    expected = sqleval.scan(rows, **SCORED, nulls="drop").evaluate("roc_auc")
    call: dict[str, Any] = {"engine": place.connection, "nulls": "drop"}
    found = sqleval.scan("db.tests.folded", label="Y", score="P", **call)
    assert_same_result(found.evaluate("roc_auc"), expected)
    # Integers and decimals share a type code, and differ in their scale.
    query = 'SELECT label, score, CAST(q + 0.5 AS DECIMAL(9, 1)) AS "half" FROM tests.preds'
    found = sqleval.scan(query=query, **call, **SCORED, by="half").evaluate("accuracy")
    half = (pl.col("q") + 0.5).alias("half")
    expected = sqleval.scan(rows.with_columns(half), **SCORED, by="half", nulls="drop")
    assert_same_result(found, expected.evaluate("accuracy"))
    with pytest.raises(RequestError, match="'@stage/x' must be the name of a table"):
        sqleval.scan("@stage/x", **call, label="Y", score="P")


@pytest.mark.parametrize("place", ["Trino", "Databricks"], indirect=True)
def test_an_interrupt_cancels_the_statement(place: Place) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    engine = sqleval.scan(place.table, engine=place.connection, **SCORED).engine
    # Sail goes on with a cancelled statement, so it is at most a second of work.
    times = 8 if engine.dialect == "databricks" else 30
    joins = f"input AS a, input AS b, input AS c, (SELECT * FROM input LIMIT {times}) AS d"
    text = f"SELECT COUNT(*) AS n FROM {joins} WHERE a.w + b.w + c.w + d.w > 1"
    waiting.on_pulse.append(interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            engine.rows(text, {}, [], {"input": place.table})
    finally:
        waiting.on_pulse.remove(interrupt)
    assert place.cancelled


@pytest.mark.parametrize("place", ["BigQuery"], indirect=True)
def test_bigquery_cancels_the_job_that_runs(place: Place) -> None:
    # The emulator ends a job within the request that starts it, so no interrupt can come between.
    # It accepts a request to cancel this job, and refuses one for an unknown job.
    engine = sqleval.scan(place.table, engine=place.connection, **SCORED).engine
    cancelled: list[Any] = []
    rows = engine._execute(
        Translated("SELECT 7 AS x", ("x",)), lambda each: cancelled.append(each())
    )
    assert rows["x"].item() == 7
    assert [job.query for job in cancelled] == ["SELECT 7 AS x"]
    with pytest.raises(NotFound, match="Not found: Job a-project:nothing"):
        place.connection.cancel_job("nothing")
