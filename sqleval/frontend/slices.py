"""Applies the options of slices to a result: ``min_rows``, ``gap`` and ``worst_first``."""

from collections.abc import Mapping, Sequence

import polars as pl

from sqleval.binding.binding import OVERALL, Binding
from sqleval.catalog.request import Request, format_request
from sqleval.compiler.metric_rows import has_class_column
from sqleval.errors import RequestError


def apply_slice_options(
    result: pl.LazyFrame,
    binding: Binding,
    requests: Sequence[Request],
    *,
    min_rows: int,
    gap: bool,
    worst_first: bool,
) -> pl.LazyFrame:
    """Return a result with the options of slices applied; see `Predictions.evaluate`."""
    if isinstance(min_rows, bool) or not isinstance(min_rows, int) or min_rows < 0:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise RequestError(f"min_rows={min_rows!r} must be a whole number from 0 on")
    has_roles = "role" in binding.role
    classes = ["class"] if has_class_column(requests) else []
    if min_rows:
        slice_keys = [key for key in binding.key_names if key != "role"]
        size = _find_size(result, [*slice_keys, *classes]) if has_roles else pl.col("n")
        result = _blank_small_slices(result, min_rows, size)
    if gap:
        if () not in binding.sets:
            raise RequestError(
                "gap= needs the value of all rows: sets='overall' (--sets overall), or a set []"
            )
        if "gap" in binding.key_names:
            raise RequestError("by= names 'gap', which gap= adds as a column; rename the key")
        slice_keys = {column.name for column in binding.by} | {"by"}
        others = [key for key in binding.key_names if key not in slice_keys]
        result = _add_gap(result, [*others, *classes])
    if worst_first:
        by_label = {format_request(each): each for each in requests}
        result = _sort_worst_first(result, by_label, has_roles=has_roles)
    return result


def _find_size(result: pl.LazyFrame, within: list[str]) -> pl.Expr:
    """Return the number of rows of a value; for a gap, of the smaller of its two roles."""
    names = result.collect_schema().names()
    # By place, because a key such as ^.*$ would be read as a pattern.
    groups = [pl.nth(names.index(name)) for name in ("metric", *within)]
    role = pl.col("role")
    size = pl.col("n")
    for other, gap in (("test", "gap"), ("validation", "validation_gap")):
        is_part = role.is_in(["train", other])
        least = pl.col("n").filter(is_part).min().over(groups)
        size = pl.when(role == gap).then(least).otherwise(size)
    return size


def _blank_small_slices(result: pl.LazyFrame, min_rows: int, size: pl.Expr) -> pl.LazyFrame:
    """Blank the values of slices with fewer rows; the note gives the reason."""
    is_small = size < min_rows
    return result.with_columns(
        *(pl.when(~is_small).then(name).alias(name) for name in ("value", "low", "high")),
        note=pl.when(is_small).then(pl.lit(f"fewer than {min_rows:,} rows")).otherwise("note"),
    )


def _add_gap(result: pl.LazyFrame, within: list[str]) -> pl.LazyFrame:
    """Add ``gap`` after the value: the value minus the value of all rows.

    ``within`` are keys such as ``model``, each with its own value of all rows.
    """
    whole = pl.col("value").filter(pl.col("by") == OVERALL).first().over("metric", *within)
    names = result.collect_schema().names()
    place, last = names.index("value") + 1, len(names)
    # By place, because a key such as ^.*$ would be read as a pattern.
    order = [*range(place), last, *range(place, last)]
    gap = (pl.col("value") - whole).fill_nan(None)  # undefined for two infinite values
    return result.with_columns(gap=gap).select(pl.nth(*order))


def _sort_worst_first(
    result: pl.LazyFrame, by_label: Mapping[str, Request], *, has_roles: bool
) -> pl.LazyFrame:
    """Sort the result by metric, then from the worst slice to the best; undefined values come last.

    For a metric without a direction, the largest values come first. Gaps between roles follow the
    values, the largest first.
    """
    place = {metric: i for i, metric in enumerate(by_label)}
    sign = {
        metric: 1.0 if by_label[metric].relation.header["direction"] == "higher" else -1.0
        for metric in by_label
    }
    metric = pl.col("metric")
    order = [metric.replace_strict(place, return_dtype=pl.Int64)]
    badness = pl.col("value") * metric.replace_strict(sign, return_dtype=pl.Float64)
    if has_roles:
        is_gap = pl.col("role").is_in(["gap", "validation_gap"])
        order.append(is_gap)
        badness = pl.when(is_gap).then(-pl.col("value")).otherwise(badness)
    return result.sort(*order, badness, nulls_last=True, maintain_order=True)
