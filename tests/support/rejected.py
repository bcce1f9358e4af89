"""Lists SQL that no file under ``sql/`` may contain, each snippet with its error message."""

from typing import NamedTuple


class Rejected(NamedTuple):
    """A SELECT, written below a sound header, and the end of its message."""

    sql: str
    message: str


ISNAN = "use ABS(x) <= 1.7976931348623157e308, the one finite test that all engines share"
LIST = "ArrayAgg is not portable: a list of rows does not spill to disk"
STAR = "SELECT * hides what a file returns; list the columns"
LOG = "Log is not portable: the order of LOG's arguments differs; use LN(x) / LN(b)"
JOIN = "only JOIN ... USING (...) and CROSS JOIN are portable here"
DIVISION = "integer division differs; write CAST(a AS DOUBLE) / b"
ZERO = "division by zero is an error on some engines; divide by NULLIF(b, 0)"
DECIMAL = "the decimal literal 0.5 is rounded by some engines; write 0.5 as a power of ten"
SLICE = "slice may stand only as a bare column in SELECT, GROUP BY, PARTITION BY or USING"
ALIAS = "is also a column inside its own expression; ClickHouse would substitute the alias"
SUBQUERY = "a subquery may stand only in FROM"
UNKNOWN = "is not portable: no such function in the portable list"
VALUES = "VALUES may only list numbers for a CROSS JOIN"
ORDER = "ORDER BY outside a window has no meaning in a relation"


def of(expression: str, message: str) -> Rejected:
    """Return a metric whose value is this aggregate."""
    return Rejected(f"SELECT slice, {expression} AS value FROM predictions GROUP BY slice", message)


def row(expression: str, message: str) -> Rejected:
    """Return a metric whose value is this expression over one row."""
    return Rejected(f"SELECT slice, {expression} AS value FROM predictions", message)


def after(rest: str, message: str) -> Rejected:
    """Return a metric whose SELECT ends with this text."""
    return Rejected(f"SELECT slice, score AS value FROM predictions {rest}", message)


FUNCTIONS = [
    of("SUM(CASE WHEN ISNAN(score) THEN 1 ELSE 0 END)", f"IsNan is not portable: {ISNAN}"),
    of("LIST(score)", LIST),
    of("ARRAY_AGG(score)", LIST),
    of("MEDIAN(score)", "Median is not portable"),
    of("QUANTILE_CONT(score, 5e-1)",
       "PercentileCont is not portable: quantile syntax differs between engines"),
    of("PERCENTILE_CONT(5e-1) WITHIN GROUP (ORDER BY score)", "WithinGroup is not portable"),
    of("APPROX_QUANTILE(score, 5e-1)", "ApproxQuantile is not portable"),
    of("SUM(LOG(2, score))", LOG),
    of("SUM(LOG(score))", LOG),
    of("SUM(LOG2(score))", LOG),
    of("SUM(LOG10(score))", LOG),
    of("ANY_VALUE(score)", "is not portable"),
    of("ARG_MAX(label, score)", "ArgMax is not portable"),
    of("COUNT_IF(label = 1)",
       "CountIf is not portable: use SUM(CASE WHEN ... THEN 1 ELSE 0 END)"),
    of("BOOL_AND(label = 1)", "LogicalAnd is not portable"),
    of("STDDEV_SAMP(score)", "StddevSamp is not portable"),
    of("HISTOGRAM(score)", f"HISTOGRAM {UNKNOWN}"),
    of("FSUM(score)", f"FSUM {UNKNOWN}"),
    of("RETICULATE(score)", f"RETICULATE {UNKNOWN}"),
    of("SUM(score) FILTER (WHERE label = 1)",
       "Filter is not portable: use SUM(CASE WHEN ... THEN ... END)"),
    of("COUNT(DISTINCT score)", "Distinct is not portable"),
    of("SUM(DISTINCT score)", "Distinct is not portable"),
    of("SUM(score ORDER BY label)", "is not portable"),
    # In DuckDB the second argument of MAX makes it a list of the two largest.
    of("MAX(score, 2)", "is not portable"),
    # A sum of booleans is an error on PostgreSQL and Spark.
    of("SUM(label = 1)", "CASE WHEN"),
    row("TRY_CAST(label AS DOUBLE)", "TryCast is not portable: use CAST"),
    row("RANDOM()", "Rand is not portable"),
    row("CURRENT_DATE", "CurrentDate is not portable"),
    row("ROUND(score)", "Round is not portable"),
    row("CONCAT(label, 'a')", "Concat is not portable"),
    row("label LIKE 'a%'", "Like is not portable"),
    row("label IS NOT DISTINCT FROM 1",
        "NullSafeEQ is not portable: use JOIN ... USING (slice)"),
    row("label & 1", "BitwiseAnd is not portable"),
    row("{'a': 1}", "Struct is not portable"),
    row("[1, 2]", "Array is not portable"),
    row("COLUMNS('s.*')", "Columns is not portable"),
    row("INTERVAL 1 DAY", "Interval is not portable"),
    row("?", "parameter"),
]  # fmt: skip

ARITHMETIC = [
    of("SUM(label) / NULLIF(COUNT(*), 0)", DIVISION),
    of("CAST(SUM(label) AS DOUBLE) / COUNT(*)", ZERO),
    of("SUM(label) // 2", "IntDiv is not portable: use CAST(... AS DOUBLE) / ..."),
    of("0.5 * SUM(score)", DECIMAL),
    of(".5 * SUM(score)", DECIMAL),
    row("1e0 / 0", ZERO),
    row("1e0 / 'a'", ZERO),
]

WINDOWS = [
    row("NTILE(10) OVER (PARTITION BY slice ORDER BY score)", "Ntile is not portable"),
    row("DENSE_RANK() OVER (PARTITION BY slice ORDER BY score)", "DenseRank is not portable"),
    row("LAG(score) IGNORE NULLS OVER (PARTITION BY slice ORDER BY score)",
        "IgnoreNulls is not portable"),
    row("SUM(score) OVER (PARTITION BY slice ORDER BY score RANGE BETWEEN 1 PRECEDING AND CURRENT"
        " ROW)", "is not portable"),
    row("SUM(score) OVER (PARTITION BY slice ORDER BY score GROUPS BETWEEN 1 PRECEDING AND CURRENT"
        " ROW)", "is not portable"),
    row("SUM(score) OVER (PARTITION BY slice ORDER BY score ROWS UNBOUNDED PRECEDING EXCLUDE TIES)",
        "is not portable"),
    row("SUM(score) OVER (ORDER BY slice)", SLICE),
    Rejected(
        "SELECT slice, SUM(score) OVER w AS value FROM predictions"
        " WINDOW w AS (PARTITION BY slice)",
        "WINDOWS is not portable"),
    after("QUALIFY ROW_NUMBER() OVER (PARTITION BY slice ORDER BY score) = 1",
          "Qualify is not portable: filter in an outer SELECT"),
]  # fmt: skip

SELECTS = [
    Rejected("SELECT * FROM predictions", STAR),
    Rejected("SELECT p.* FROM predictions AS p", STAR),
    Rejected("SELECT * EXCLUDE (score) FROM predictions", STAR),
    Rejected("FROM predictions", STAR),
    Rejected("SELECT DISTINCT slice, score AS value FROM predictions", "DISTINCT is not portable"),
    Rejected("SELECT slice, SUM(score) FROM predictions GROUP BY slice",
             "every output column needs a name"),
    Rejected("SELECT slice, SUM(score) AS score, 1 AS value FROM predictions GROUP BY slice",
             f"the alias 'score' {ALIAS}"),
    # Only DuckDB lets an expression read an alias of the same SELECT.
    Rejected("SELECT slice, score * 2 AS twice, twice + 1 AS value FROM predictions", "twice"),
    Rejected("SELECT 1 AS slice, 1 AS value", "a SELECT needs a FROM"),
    after("LIMIT 1", "LIMIT is not portable"),
    after("OFFSET 1", "Offset is not portable"),
    after("ORDER BY score", ORDER),
    after("USING SAMPLE 10", "SAMPLE is not portable"),
    after("TABLESAMPLE (10 PERCENT)", "TableSample is not portable"),
    after("PIVOT (SUM(score) FOR label IN (0, 1))", "Pivot is not portable"),
    after("WHERE score > (SELECT AVG(score) FROM predictions)", SUBQUERY),
    after("WHERE label IN (SELECT label FROM predictions)", SUBQUERY),
    after("WHERE EXISTS (SELECT label FROM predictions)", "Exists is not portable"),
    row("(SELECT MAX(score) FROM predictions)", SUBQUERY),
    Rejected("SELECT slice, SUM(score) AS value FROM predictions GROUP BY ALL",
             "GROUP BY ALL is not portable; list the columns"),
    Rejected("SELECT slice, SUM(score) AS value FROM predictions GROUP BY 1", "list the columns"),
    Rejected("SELECT slice, SUM(score) AS value FROM predictions GROUP BY ROLLUP (slice)",
             "Rollup is not portable"),
    Rejected("SELECT slice, score AS value FROM predictions GROUP BY GROUPING SETS ((slice), ())",
             "GroupingSets is not portable"),
    after("UNION SELECT slice, score AS value FROM predictions", "write UNION ALL"),
    after("UNION ALL SELECT slice, score AS value FROM predictions",
          "a metric is one SELECT, not a UNION"),
    after("INTERSECT SELECT slice, score AS value FROM predictions", "Intersect is not portable"),
    after("EXCEPT SELECT slice, score AS value FROM predictions", "Except is not portable"),
    Rejected("WITH a AS MATERIALIZED (SELECT slice, score FROM predictions)"
             " SELECT slice, score AS value FROM a", "MATERIALIZED is not portable"),
    Rejected("WITH RECURSIVE a AS (SELECT slice, score FROM predictions)"
             " SELECT slice, score AS value FROM a", "RECURSIVE is not portable"),
]  # fmt: skip

RELATIONS = [
    Rejected("SELECT p.slice, score AS value FROM predictions AS p ASOF JOIN totals AS t"
             " USING (slice, score)", JOIN),
    Rejected("SELECT p.slice, score AS value FROM predictions AS p JOIN totals AS t"
             " ON p.slice = t.slice", JOIN),
    Rejected("SELECT p.slice, score AS value FROM predictions AS p LEFT JOIN totals AS t"
             " USING (slice)", JOIN),
    Rejected("SELECT p.slice, score AS value FROM predictions AS p FULL JOIN totals AS t"
             " USING (slice)", JOIN),
    Rejected("SELECT p.slice, score AS value FROM predictions AS p NATURAL JOIN totals", JOIN),
    Rejected("SELECT p.slice, score AS value FROM predictions AS p, totals", JOIN),
    Rejected("SELECT slice, x AS value FROM predictions CROSS JOIN generate_series(1, 3) AS g(x)",
             "GenerateSeries is not portable"),
    Rejected("SELECT slice, x AS value FROM predictions CROSS JOIN UNNEST([1, 2]) AS g(x)",
             "Unnest is not portable"),
    Rejected("SELECT slice, 1 AS value FROM predictions CROSS JOIN LATERAL (SELECT 1 AS one) AS l",
             "Lateral is not portable"),
    Rejected("SELECT slice, score AS value FROM (VALUES (1, 2)) AS t(slice, score)", VALUES),
    after("CROSS JOIN (VALUES (1, label)) AS t(half, more)", VALUES),
    after("WHERE (label, score) = (1, 0)", "compare one value at a time"),
    Rejected("SELECT slice, score AS value FROM read_parquet('x.parquet')",
             "ReadParquet is not portable"),
    Rejected("SELECT slice, score AS value FROM 'x.parquet'", "unknown relation 'x.parquet'"),
    Rejected("SELECT slice, score AS value FROM other.predictions",
             "unknown relation 'other.predictions'"),
    Rejected("SELECT slice, total AS value FROM totls",
             "unknown relation 'totls'; did you mean 'totals'?"),
    Rejected("SELECT slice, score AS value FROM prediction",
             "unknown relation 'prediction'; did you mean 'predictions'?"),
]  # fmt: skip

SLICES = [
    row("CASE WHEN slice = 'a' THEN 1 END", SLICE),
    row("COALESCE(slice, 'a')", SLICE),
    after("WHERE slice IS NOT NULL", SLICE),
    Rejected("SELECT slice AS s, score AS value, slice FROM predictions", SLICE),
    Rejected("SELECT slice || 'x' AS slice, score AS value FROM predictions", ALIAS),
    Rejected("SELECT MAX(slice) AS slice, 1 AS value FROM predictions", ALIAS),
    Rejected("SELECT score AS value FROM predictions", "the output needs the column slice"),
]

REJECTED = [*FUNCTIONS, *ARITHMETIC, *WINDOWS, *SELECTS, *RELATIONS, *SLICES]
