"""What is said of slices beside their values: too few rows, a gap to the whole, the worst first."""

from collections.abc import Mapping, Sequence

import polars as pl

from sqleval.catalog.request import Request, format_request
from sqleval.compiler.metric_rows import per_class
from sqleval.errors import RequestError
from sqleval.inputs.binding import OVERALL, Binding


def judged(
    found: pl.LazyFrame,
    binding: Binding,
    requests: Sequence[Request],
    *,
    min_rows: int,
    gap: bool,
    worst_first: bool,
) -> pl.LazyFrame:
    """Return a result with what was asked of its slices; see `Predictions.evaluate`."""
    if isinstance(min_rows, bool) or not isinstance(min_rows, int) or min_rows < 0:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise RequestError(f"min_rows={min_rows!r} must be a whole number from 0 on")
    if min_rows:
        found = _large_enough(found, min_rows)
    if gap:
        if () not in binding.sets:
            raise RequestError("gap= needs the value of all rows: sets='overall', or a set []")
        if "gap" in binding.key_names:
            raise RequestError("by= names 'gap', which gap= adds as a column; rename the key")
        own = {column.name for column in binding.by} | {"by"}
        also = ["class"] if per_class(requests) else []
        found = _with_gap(found, [*(k for k in binding.key_names if k not in own), *also])
    if worst_first:
        found = _worst_first(found, {format_request(each): each for each in requests})
    return found


def _large_enough(found: pl.LazyFrame, min_rows: int) -> pl.LazyFrame:
    """Return the result without the values of slices that have fewer rows, which are named."""
    few = pl.col("n") < min_rows
    return found.with_columns(
        *(pl.when(~few).then(name).alias(name) for name in ("value", "low", "high")),
        note=pl.when(few).then(pl.lit(f"fewer than {min_rows:,} rows")).otherwise("note"),
    )


def _with_gap(found: pl.LazyFrame, beside: list[str]) -> pl.LazyFrame:
    """Return the result with ``gap``, the value less that of all rows, beside the value.

    ``beside`` are the keys within which a whole is one, such as ``model``.
    """
    whole = pl.col("value").filter(pl.col("by") == OVERALL).first().over("metric", *beside)
    names = found.collect_schema().names()
    place, last = names.index("value") + 1, len(names)
    # By place: a key such as ^.*$ would be a pattern.
    order = [*range(place), last, *range(place, last)]
    return found.with_columns(gap=pl.col("value") - whole).select(pl.nth(*order))


def _worst_first(found: pl.LazyFrame, by_label: Mapping[str, Request]) -> pl.LazyFrame:
    """Return the result metric by metric, the worst slice of each first, the undefined last.

    Of a metric that is neither better high nor low, the largest come first.
    """
    place = {metric: i for i, metric in enumerate(by_label)}
    sign = {
        metric: 1.0 if by_label[metric].relation.header["direction"] == "higher" else -1.0
        for metric in by_label
    }
    metric = pl.col("metric")
    badness = pl.col("value") * metric.replace_strict(sign, return_dtype=pl.Float64)
    return found.sort(
        metric.replace_strict(place, return_dtype=pl.Int64), badness,
        nulls_last=True, maintain_order=True,
    )  # fmt: skip
