"""Printed SQL has no column or relation that nothing reads, and with --bare no checks."""

from collections.abc import Iterator

import duckdb
import polars as pl
import pytest
import sqlglot

from sqleval.export.pruning import drop_unused
from sqleval.export.statement import export_statement
from tests.support.cases import drawn
from tests.support.commands import run
from tests.support.comparison import assert_frame_equal


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # The last aggregate stays: without it there would be a row for each row of t.
        ("WITH a AS (SELECT SUM(x) AS s, MIN(x) AS m FROM t) SELECT COUNT(*) AS n FROM a",
         "WITH a AS (SELECT SUM(x) AS s FROM t) SELECT COUNT(*) AS n FROM a"),
        ("WITH a AS (SELECT g, SUM(x) AS s FROM t GROUP BY g) SELECT COUNT(*) AS n FROM a",
         "WITH a AS (SELECT g FROM t GROUP BY g) SELECT COUNT(*) AS n FROM a"),
        ("WITH a AS (SELECT g, SUM(x) AS s FROM t GROUP BY 1) SELECT s FROM a",
         "WITH a AS (SELECT g, SUM(x) AS s FROM t GROUP BY 1) SELECT s FROM a"),
        ("WITH a AS (SELECT g, SUM(x) AS s FROM t GROUP BY ALL) SELECT s FROM a",
         "WITH a AS (SELECT g, SUM(x) AS s FROM t GROUP BY ALL) SELECT s FROM a"),
        ("WITH a AS (SELECT x, y FROM t ORDER BY 2 DESC) SELECT x FROM a",
         "WITH a AS (SELECT x, y FROM t ORDER BY 2 DESC) SELECT x FROM a"),
        ("WITH a AS (SELECT DISTINCT x, y FROM t) SELECT x FROM a",
         "WITH a AS (SELECT DISTINCT x, y FROM t) SELECT x FROM a"),
        ("WITH a AS (SELECT x, y FROM t), b AS (SELECT * FROM a) SELECT x FROM b",
         "WITH a AS (SELECT x, y FROM t), b AS (SELECT * FROM a) SELECT x FROM b"),
        ("WITH a AS (SELECT 1 AS x), b AS (SELECT x FROM a) SELECT 2 AS y", "SELECT 2 AS y"),
        ("WITH a AS (SELECT x, y FROM t ORDER BY y) SELECT x FROM a",
         "WITH a AS (SELECT x, y FROM t ORDER BY y) SELECT x FROM a"),
        ("WITH a AS (SELECT x, y, z FROM t UNION ALL SELECT 1, 2, 3) SELECT y FROM a",
         "WITH a AS (SELECT y FROM t UNION ALL SELECT 2) SELECT y FROM a"),
        ("WITH a AS (SELECT x, y FROM t UNION SELECT 1, 2) SELECT x FROM a",
         "WITH a AS (SELECT x, y FROM t UNION SELECT 1, 2) SELECT x FROM a"),
        ("WITH a AS (SELECT k, x, y FROM t) SELECT b.v FROM b JOIN a USING (k)",
         "WITH a AS (SELECT k FROM t) SELECT b.v FROM b JOIN a USING (k)"),
        ("WITH a AS (SELECT c.x AS x, c.y AS y FROM (SELECT x, y FROM t) AS c) SELECT x FROM a",
         "WITH a AS (SELECT c.x AS x FROM (SELECT x, y FROM t) AS c) SELECT x FROM a"),
        ("WITH a AS (SELECT c.x, c.y FROM (SELECT SUM(z) AS x, 1 AS y FROM t) c) SELECT x FROM a",
         "WITH a AS (SELECT SUM(z) AS x FROM t) SELECT x FROM a"),
        ("WITH a AS (SELECT c.x AS y FROM (SELECT SUM(z) AS x FROM t) AS c) SELECT y FROM a",
         "WITH a AS (SELECT c.x AS y FROM (SELECT SUM(z) AS x FROM t) AS c) SELECT y FROM a"),
        ("WITH a AS (SELECT c.x FROM (SELECT x FROM t) AS c WHERE c.x > 0) SELECT x FROM a",
         "WITH a AS (SELECT c.x FROM (SELECT x FROM t) AS c WHERE c.x > 0) SELECT x FROM a"),
    ],
)  # fmt: skip
def test_what_nothing_reads_is_left_out(before: str, after: str) -> None:
    assert drop_unused(sqlglot.parse_one(before)).sql() == after


@pytest.fixture(scope="module")
def console() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as con:
        con.register("rows", drawn("binary", 80).to_arrow())
        con.execute("CREATE TABLE preds AS FROM rows")
        yield con


@pytest.mark.parametrize(
    ("metrics", "options"),
    [
        (["precision"], {}),
        (["roc_auc", "log_loss", "f1", "ks"], {"ci": 0.95}),
        (["roc_auc", "log_loss", "f1", "ks"], {"ci": 0.95, "by": "g", "weight": "w"}),
        (["recall", "brier_score"], {"by": "g", "sets": "overall", "bins": 9}),
        # A note depends on the number of scores outside 0 .. 1.
        (["recall(threshold=1.5)"], {}),
        (["recall(threshold=1.5)"], {"by": "g"}),
        (["roc_curve"], {"by": "g"}),
        (["roc_curve"], {}),
    ],
)
def test_a_bare_statement_has_the_same_values(
    metrics: list[str], options: dict[str, object], console: duckdb.DuckDBPyConnection
) -> None:
    whole, bare = (
        export_statement(
            metrics, "duckdb", "preds", label="y", score="p", nulls="drop", bare=bare, **options
        )  # pyright: ignore[reportArgumentType]
        for bare in (False, True)
    )
    checked = pl.DataFrame(console.sql(whole))
    assert checked["_problem"].null_count() == checked.height > 0
    assert_frame_equal(pl.DataFrame(console.sql(bare)), checked.drop("_problem", "_notice"))
    assert ("scores_outside" in bare) is (metrics == ["recall(threshold=1.5)"])
    assert "_problem " not in bare
    assert ("_audit AS" in bare) is (metrics != ["roc_curve"])
    assert "must hold 0 and 1" in whole
    assert "must hold 0 and 1" not in bare


def test_a_bare_statement_is_short() -> None:
    given = ("sql", "precision", "--table", "preds", "--label", "y", "--score", "p")
    whole, bare = (
        run(*given, "--dialect", "snowflake", *more).stdout.splitlines()
        for more in ((), ("--bare",))
    )
    assert len(bare) < 80 < 1.8 * len(bare) < len(whole)
    assert run("sql", "preds.parquet", "--label", "y", "--score", "p", "--bare", code=2).stderr == (
        "error: --bare needs --table, such as --table preds --dialect duckdb\n"
    )
