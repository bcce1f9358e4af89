"""Products and powers of counts in dialects whose whole numbers are narrower."""

import pytest
import sqlglot

from sqleval.dialects.rewrites import adapt
from sqleval.export.dialects import DIALECTS

#: A product of sums of BIGINT, below a query that renames them.
_COUNTS = """
WITH rows_ AS (SELECT CAST(c AS BIGINT) AS weight, CAST(w AS DOUBLE) AS real FROM t),
sums AS (SELECT SUM(weight) AS a, SUM(CASE WHEN weight > 1 THEN weight ELSE 0 END) AS b,
         SUM(real) AS r FROM rows_),
both_ AS (SELECT a, b, r FROM sums UNION ALL SELECT b, a, r FROM sums)
"""


def _adapt(expression: str, dialect: str, source: str = "both_") -> str:
    tree = sqlglot.parse_one(f"{_COUNTS} SELECT {expression} AS x FROM {source}", dialect="duckdb")
    return adapt(tree, dialect).sql(dialect=dialect).partition(") SELECT ")[2]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("a * b", "CAST(a AS DECIMAL(38, 0)) * b"),
        ("SUM(a * b - (a + 1) * b)",
         "SUM(CAST(a AS DECIMAL(38, 0)) * b - CAST((a + 1) AS DECIMAL(38, 0)) * b)"),
        ("LAG(a) OVER (ORDER BY r) * COUNT(*)",
         "CAST(LAG(a) OVER (ORDER BY r) AS DECIMAL(38, 0)) * COUNT(*)"),
        # Only a product of two counts needs more digits than a count.
        ("2 * a", "2 * a"),
        ("a * r", "a * r"),
        ("CAST(a AS DOUBLE) * b", "CAST(a AS DOUBLE PRECISION) * b"),
        ("a * (b * 5e-1)", "a * (b * 5e-1)"),
        ("POWER(a, 2)", "POWER(CAST(a AS DOUBLE PRECISION), 2)"),
        ("POWER(r, 2)", "POWER(r, 2)"),
    ],
)  # fmt: skip
def test_only_products_and_powers_of_counts_are_widened(expression: str, expected: str) -> None:
    assert _adapt(expression, "postgres") == f"{expected} AS x FROM both_"


def test_the_columns_of_a_subquery_and_of_a_join_are_known() -> None:
    joined = "(SELECT a AS n FROM sums) AS s CROSS JOIN rows_ AS o"
    assert _adapt("s.n * o.weight", "trino", joined).startswith("CAST(s.n AS DECIMAL(38, 0)) * ")
    assert _adapt("n * real", "trino", joined).startswith("n * real")


@pytest.mark.parametrize(
    ("dialect", "kind"),
    [("duckdb", None), ("snowflake", None), ("bigquery", "NUMERIC"), ("sqlite", "REAL"),
     ("clickhouse", "Nullable(Decimal(38, 0))")],
)  # fmt: skip
def test_each_dialect_has_its_widest_number(dialect: str, kind: str | None) -> None:
    product = _adapt("a * b", dialect).partition(" AS x")[0]
    assert product == ("a * b" if kind is None else f"CAST(a AS {kind}) * b")
    assert dialect in DIALECTS
