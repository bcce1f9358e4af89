"""Chooses the plan of a statement: rows, distinct scores, ranges of the score, or bins."""

import warnings
from collections.abc import Sequence
from typing import Any

import polars as pl

from sqleval.compiler.bins import Bins, create_bins, fit_bins
from sqleval.compiler.scope import Plan
from sqleval.errors import FewerPoints
from sqleval.frontend import plan
from sqleval.frontend.bound import Bound, list_objects, list_sources
from sqleval.frontend.plan import (
    BITS_OF_CURVES,
    FEW_SCORES,
    MANY_POINTS,
    estimate_distinct_scores,
    estimate_largest_slice,
    estimate_points,
    fit_buckets,
    probe_files,
    write_probe,
    write_row_count,
    write_score_sample,
)
from sqleval.sources.bounded import take_first

#: Up to so many rows one window takes less time than the sort of integers, which has more steps.
_FEW_ROWS = 100_000
#: While rows are sorted in memory: bytes per row, and the share of the engine's memory for them.
_ROW_BYTES, _SHARE = 40, 0.25
#: Sorting rows in memory is faster than a window if there are so many times more possible scores
#: than rows, and so many rows per slice.
_FEW_TIES, _ROWS_OF_SLICE = 4, 50


def choose_rows_or_groups(bound: Bound, *, can_sort: bool = False) -> Plan:
    """Choose (few) rows, rows with integer ids for text slice keys, sorted rows, or scores.

    ``can_sort`` says whether the metrics can be computed from rows that are sorted in memory.
    """
    if bound.engine.is_distributed:
        return choose_buckets(bound)
    if bound.binding.state is not None:
        return "rows"
    if not _should_probe(bound):
        return "few" if bound.source.has_at_most(_FEW_ROWS) else "rows"
    if bound.binding.has_fractions or bound.binding.has_counts:
        return "numbered"
    probed = _probe_scores(bound)
    # Measured: up to this share of distinct scores, grouping is faster than ranking rows.
    if estimate_distinct_scores(probed) < 0.09 * probed[-1]:
        return "groups"
    return "sorted" if can_sort and _should_sort(bound, probed) else "numbered"


def _should_sort(bound: Bound, probed: Sequence[Any]) -> bool:
    """Whether sorting all rows in memory is possible, and faster than a window."""
    source = bound.source
    # Several statements read the rows, so a stream cannot be sorted, and many small files would be
    # opened again. A user's connection must not get a table of this package.
    if bound.binding.reads_once or source.con is not None or source.duckdb_relation is not None:
        return False
    first, _, *_, slices, rows = probed
    has_few_ties = estimate_distinct_scores(probed) >= _FEW_TIES * rows
    if 2 * slices > first:  # else the first rows have nearly all
        slices = estimate_distinct_scores((first, slices))
    fits = rows * _ROW_BYTES <= _SHARE * bound.engine.get_memory()
    return has_few_ties and fits and slices * _ROWS_OF_SLICE <= rows


def choose_bins(bound: Bound, bins: Bins, *, can_sort: bool = False) -> Plan:
    """Choose bins that keep the tolerance, or an exact plan if it is faster.

    Grouping a few distinct scores is exact and faster. With slices, ranking rows is as fast as
    without them, while each slice would need its own bins.
    """
    if not _should_probe(bound) or bound.source.once:
        return bins
    if bound.binding.keys:
        return choose_rows_or_groups(bound, can_sort=can_sort)
    probed = _probe_scores(bound)
    if estimate_distinct_scores(probed) < FEW_SCORES and not bound.binding.is_weighted:
        return "groups"
    return fit_bins(probed, bins)


def choose_points(bound: Bound) -> Plan:
    """Choose bins for a curve with a point per score if it has too many points to send."""
    sampled = _sample_scores(bound)
    if sampled is None:
        return "rows"
    points = estimate_points(sampled[0])
    if points <= MANY_POINTS:
        return _fit_windows(bound, *sampled)
    bins = create_bins(BITS_OF_CURVES)
    warnings.warn(
        f"the curve has {points:,.0f} points or more; the result has the exact points at the "
        f"lowest scores of {bins.method}; bins= chooses others",
        FewerPoints,
        stacklevel=3,
    )
    return bins


def choose_buckets(bound: Bound) -> Plan:
    """Choose ranges of the score, so that no task of a distributed engine ranks all rows."""
    sampled = _sample_scores(bound)
    return "rows" if sampled is None else _fit_windows(bound, *sampled)


def _fit_windows(bound: Bound, sample: pl.DataFrame, rows: int) -> Plan:
    """Return "rows" if one task can rank the rows of any slice, else ranges of the score."""
    # With sets, a set may have fewer keys than the sample, or none.
    is_sliced = bound.binding.by and not bound.binding.sets
    if is_sliced and estimate_largest_slice(sample, rows) <= plan.ROWS_OF_ONE_TASK:
        return "rows"
    return fit_buckets(sample.select(pl.col("^score_.*$")), rows)


def _sample_scores(bound: Bound) -> tuple[pl.DataFrame, int] | None:
    """Return scores and slice keys of a random sample of rows, and the number of all rows.

    Return None if one task can rank all rows.
    """
    columns = bound.binding.score_columns
    if bound.binding.state is not None or not columns:
        return None
    objects = list_objects(bound)
    statement = write_row_count(bound.binding)
    ((rows,),) = bound.engine.rows(statement, {}, list_sources(bound), objects)
    if rows <= plan.ROWS_OF_ONE_TASK:
        return None
    sample = write_score_sample(bound.binding, columns, rows)
    return bound.engine.run(sample, {}, list_sources(bound), objects, pl.DataFrame), rows


def _should_probe(bound: Bound) -> bool:
    """Return whether probing the first scores before choosing a plan saves time."""
    return bound.source.is_large and bound.engine.looks_ahead


def _probe_scores(bound: Bound) -> tuple[Any, ...]:
    """Return the row of `plan.write_probe`, which describes the first scores."""
    (column, *_) = bound.binding.score_columns
    statement = write_probe(bound.binding, column, bound.source.approximate_rows)
    objects = bound.source.objects([each.name for each in (column, *bound.binding.by)])
    source = bound.source
    places = (source.con, source.duckdb_relation, source.database)
    if objects or any(place is not None for place in places):
        if source.rows is not None:  # else the statement counts all rows
            objects = {name: take_first(each, plan.PROBED) for name, each in objects.items()}
        return bound.engine.rows(statement, {}, list_sources(bound), objects)[0]
    return probe_files(statement, bound.source.label, bound.engine)
