"""Probes the first rows, to choose between rows, groups and bins."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import polars as pl

from sqleval.binding.binding import Binding
from sqleval.common.columns import Column
from sqleval.common.sql_text import quote, write_present_test
from sqleval.compiler.buckets import Buckets
from sqleval.engines.base import Engine
from sqleval.sources.source import Source

#: The rows that are read before a plan is chosen.
PROBED = 65_536


def write_probe(binding: Binding, column: Column, rows: int | None) -> str:
    """Return the statement that describes the first scores.

    Its columns are the number of scores, the number of distinct scores (in each slice), the lowest
    score, the highest, the number of pairs that share one of 4,096 bins of equal width between
    these two, the number of slices, and the number of all rows (``rows``, or counted if it is
    None).
    """
    keys = [f"s.{quote(key.name)}" for key in binding.by]
    total = f"(SELECT COUNT(*) FROM {binding.relation})" if rows is None else str(rows)
    score = f"s.{quote(column.name)}"
    is_present = write_present_test(score, column.type, finite=True)
    group = f"ROW({', '.join([*keys, score])})" if keys else score
    slices = f"ROW({', '.join(keys)})" if keys else "1"
    return (
        f"WITH first AS (SELECT CAST({score} AS DOUBLE) AS score, {group} AS group_, "
        f"{slices} AS slice_ "
        f"FROM {binding.relation} AS s WHERE {is_present} LIMIT {PROBED}),\n"
        "ends AS (SELECT COUNT(*) AS n, COUNT(DISTINCT group_) AS n_distinct, "
        "MIN(score) AS lowest, MAX(score) AS highest, COUNT(DISTINCT slice_) AS n_slices "
        "FROM first),\n"
        "bins AS (SELECT COUNT(*) AS n FROM first CROSS JOIN ends GROUP BY "
        "FLOOR((first.score - ends.lowest) / NULLIF(ends.highest - ends.lowest, 0) * 4.095e3))\n"
        "SELECT n, n_distinct, lowest, highest, "
        "(SELECT CAST(SUM(bins.n * (bins.n - 1)) AS DOUBLE) FROM bins), "
        f"n_slices, {total} FROM ends"
    )


#: The largest number of rows that one task of a distributed engine ranks.
ROWS_OF_ONE_TASK = 1_000_000
#: The approximate number of rows in the sample that decides the ranges of the score.
_SAMPLED_ROWS = 50_000
#: The number of ranges, with about equally many rows each; see `compiler.buckets`.
_RANGES = 32
#: The least number of buckets in a range, and the rows of a bucket from which on there are more.
_LEAST_BUCKETS, _ROWS_OF_BUCKET = 128, 250_000
#: If one score has more than this share of the rows, rows are counted before they are ranked.
_LARGEST_TIE = 1 / 256


def write_row_count(binding: Binding) -> str:
    """Return the statement that counts the rows of the source."""
    return f"SELECT COUNT(*) AS n FROM {binding.relation} AS s"


def write_score_sample(binding: Binding, columns: Sequence[Column], rows: int) -> str:
    """Return the statement that reads scores and slice keys of a random sample of ``rows`` rows.

    The choice of rows changes only the time of a result.
    """
    items = [
        f"CAST(s.{quote(column.name)} AS DOUBLE) AS score_{i}" for i, column in enumerate(columns)
    ]
    items += [f"s.{quote(column.name)} AS key_{i}" for i, column in enumerate(binding.by)]
    conditions = [f"RANDOM() < {_SAMPLED_ROWS / max(rows, _SAMPLED_ROWS)!r}"]
    conditions += [f"({binding.where})"] if binding.where else []
    return (
        f"SELECT {', '.join(items)} FROM {binding.relation} AS s WHERE {' AND '.join(conditions)}"
    )


def estimate_largest_slice(sample: pl.DataFrame, rows: int) -> float:
    """Estimate the number of rows of the largest slice, from a random sample of ``rows`` rows.

    Examples
    --------
    >>> keys = pl.DataFrame({"score_0": [0.5] * 50_000, "key_0": [1] * 40_000 + [2] * 10_000})
    >>> estimate_largest_slice(keys, 1_000_000)
    800000.0
    """
    keys = [name for name in sample.columns if name.startswith("key_")]
    sizes = sample.group_by(keys).len()["len"] if keys else pl.Series([len(sample)])
    most = sizes.cast(pl.Int64).to_list()
    return max(most, default=0) * max(rows / _SAMPLED_ROWS, 1.0)


def fit_buckets(sample: pl.DataFrame, rows: int = 0) -> Buckets:
    """Return ranges of the score with about equally many rows each, from a sample of ``rows`` rows.

    Above a billion rows there are more buckets, so that as many tasks can share them.
    """
    columns = sample.get_columns()
    scores = pl.concat([column.rename("score").drop_nulls() for column in columns])
    scores = scores.filter(scores.is_finite()).sort()
    if scores.is_empty():
        return Buckets((), has_ties=False)
    places = [(len(scores) - 1) * i // _RANGES for i in range(_RANGES + 1)]
    cuts = scores.gather(places).unique().sort().to_list()
    most = scores.value_counts()["count"].cast(pl.Int64).to_list()
    per_range = max(_LEAST_BUCKETS, rows // (_RANGES * _ROWS_OF_BUCKET))
    return Buckets(tuple(cuts), max(most) > len(scores) * _LARGEST_TIE, per_range)


#: From a distributed engine, a curve with more points is read in bins of this many bits.
MANY_POINTS = 200_000
BITS_OF_CURVES = 12


def estimate_points(sample: pl.DataFrame) -> float:
    """Estimate the number of distinct scores, from a random sample of rows."""
    scores = sample.get_columns()[0].drop_nulls()
    return estimate_distinct_scores((len(scores), scores.n_unique()))


#: Up to this many distinct scores, grouping is as fast as binning.
FEW_SCORES = 65_536


def estimate_distinct_scores(probed: Sequence[Any]) -> float:
    """Estimate the number of distinct scores from the repeats among the first ones.

    Of n draws from d equally likely values, about n * n / 2 d repeat an earlier draw.
    """
    first, distinct, *_ = probed
    return first * first / (2 * (first - distinct)) if distinct < first else float("inf")


@lru_cache(maxsize=64)
def probe_files(statement: str, label: str, engine: Engine) -> tuple[Any, ...]:
    """Run a probe over files once per process; a stale answer could only make a plan slower."""
    return engine.rows(statement, {}, [Source("", label=label)], {})[0]
