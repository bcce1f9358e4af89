"""Chooses rows, groups or bins by the first scores."""

from functools import lru_cache
from typing import Any

from sqleval.common.columns import Column
from sqleval.common.sql_text import present, quote
from sqleval.engines.base import Engine
from sqleval.inputs.binding import Binding
from sqleval.inputs.source import Source


def write_probe(binding: Binding, column: Column, rows: int | None) -> str:
    """Return the statement that looks at the first scores.

    It returns how many they are, how many of them are distinct, the lowest, the highest, how
    many pairs of them share one of 4,096 bins of equal width between the two, and how many rows
    there are in all, which are counted where that is not known.
    """
    total = f"(SELECT COUNT(*) FROM {binding.relation})" if rows is None else str(rows)
    score = f"s.{quote(column.name)}"
    known = present(score, column.type, finite=True)
    return (
        f"WITH first AS (SELECT CAST({score} AS DOUBLE) AS score FROM {binding.relation} AS s "
        f"WHERE {known} LIMIT 65536),\n"
        "ends AS (SELECT COUNT(*) AS n, COUNT(DISTINCT score) AS n_distinct, "
        "MIN(score) AS lowest, MAX(score) AS highest FROM first),\n"
        "bins AS (SELECT COUNT(*) AS n FROM first CROSS JOIN ends GROUP BY "
        "FLOOR((first.score - ends.lowest) / NULLIF(ends.highest - ends.lowest, 0) * 4.095e3))\n"
        "SELECT n, n_distinct, lowest, highest, "
        f"(SELECT CAST(SUM(bins.n * (bins.n - 1)) AS DOUBLE) FROM bins), {total} FROM ends"
    )


#: So many groups are found as soon as so many bins.
FEW_SCORES = 65_536


def estimate_distinct_scores(probed: tuple[Any, ...]) -> float:
    """Return about how many distinct scores there are, from how many of the first ones repeat.

    Of n drawn from d equally likely ones, n * n / 2 d meet one that was drawn before.
    """
    first, distinct, *_ = probed
    return first * first / (2 * (first - distinct)) if distinct < first else float("inf")


@lru_cache(maxsize=64)
def probe_files(statement: str, label: str, engine: Engine) -> tuple[Any, ...]:
    """Return what files say to a probe, as they were when first asked: it decides a plan only."""
    return engine.rows(statement, {}, [Source("", label=label)], {})[0]
