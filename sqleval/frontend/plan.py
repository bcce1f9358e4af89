"""Probes the first rows, by which a task, or rows, groups or bins are chosen."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from sqleval.common.columns import Column
from sqleval.common.sql_text import present, quote
from sqleval.engines.base import Engine
from sqleval.inputs.binding import Binding
from sqleval.inputs.source import Source


def write_probe(binding: Binding, column: Column, rows: int | None) -> str:
    """Return the statement that looks at the first scores.

    Its columns: the number of scores read, of distinct scores, the lowest, the highest, the number
    of pairs that share one of 4,096 bins of equal width between the two, and the number of rows in
    all (``rows``, or counted if that is None).
    """
    total = f"(SELECT COUNT(*) FROM {binding.relation})" if rows is None else str(rows)
    score = f"s.{quote(column.name)}"
    is_present = present(score, column.type, finite=True)
    return (
        f"WITH first AS (SELECT CAST({score} AS DOUBLE) AS score FROM {binding.relation} AS s "
        f"WHERE {is_present} LIMIT 65536),\n"
        "ends AS (SELECT COUNT(*) AS n, COUNT(DISTINCT score) AS n_distinct, "
        "MIN(score) AS lowest, MAX(score) AS highest FROM first),\n"
        "bins AS (SELECT COUNT(*) AS n FROM first CROSS JOIN ends GROUP BY "
        "FLOOR((first.score - ends.lowest) / NULLIF(ends.highest - ends.lowest, 0) * 4.095e3))\n"
        "SELECT n, n_distinct, lowest, highest, "
        f"(SELECT CAST(SUM(bins.n * (bins.n - 1)) AS DOUBLE) FROM bins), {total} FROM ends"
    )


def write_class_probe(binding: Binding, columns: Sequence[Column]) -> str:
    """Return the statement that tells whether the first values of columns are all 0, 1 or NULL.

    It returns no row for an empty input.
    """
    names = [f"s.{quote(column.name)}" for column in columns]
    others = " OR ".join(f"CAST({name} AS BIGINT) NOT IN (0, 1)" for name in names)
    return (
        f"SELECT COALESCE(SUM(CASE WHEN {others} THEN 1 ELSE 0 END), 0) = 0 FROM (SELECT "
        f"{', '.join(names)} FROM {binding.relation} AS s LIMIT 1000) AS s HAVING COUNT(*) > 0"
    )


#: Up to this many distinct scores, grouping is as fast as binning.
FEW_SCORES = 65_536


def estimate_distinct_scores(probed: tuple[Any, ...]) -> float:
    """Estimate the number of distinct scores from the repeats among the first ones.

    Of n draws from d equally likely values, about n * n / 2 d repeat an earlier draw.
    """
    first, distinct, *_ = probed
    return first * first / (2 * (first - distinct)) if distinct < first else float("inf")


@lru_cache(maxsize=64)
def probe_files(statement: str, label: str, engine: Engine) -> tuple[Any, ...]:
    """Run a probe over files, once per process: a stale answer could only make a plan slower."""
    return engine.rows(statement, {}, [Source("", label=label)], {})[0]
