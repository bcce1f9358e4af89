"""Keeps some points of a curve, in equal steps along it (``points=``)."""

from collections.abc import Sequence

import polars as pl

from sqleval.catalog import request
from sqleval.catalog.catalogue import Catalogue
from sqleval.common.numbers import convert_scalar
from sqleval.errors import RequestError


def check_points(points: object, chosen: request.Request, catalogue: Catalogue) -> int:
    """Return the largest number of points; raise `RequestError` if a curve cannot be thinned."""
    whole = convert_scalar(points)
    if isinstance(whole, bool) or not isinstance(whole, int) or whole < 2:
        raise RequestError(f"points must be a whole number of 2 or more, not {points!r}")
    if not chosen.relation.measured:
        names = ", ".join(each.name for each in catalogue.relations("curve") if each.measured)
        raise RequestError(
            f"points= is for curves with a row per score ({names}), and {chosen.name} has few rows"
        )
    return whole


def keep_points(frame: pl.LazyFrame, measured: Sequence[str], points: int) -> pl.LazyFrame:
    """Return at most so many points of each curve, as they are.

    The length of a curve is the sum of its steps, where a step is the sum of the changes of all
    measured columns, each divided by the range of its column. It is divided into ``points - 1``
    equal parts. The first point in each part stays, the last point of the curve, and a point
    before a step that leaves out a part. So the length between two points that stay is less than
    two parts, unless they are neighbours anyway. `sql/console.sql` does the same (`_thinned`).
    """
    names = frame.collect_schema().names()
    keys = [name for name in names if name not in (*measured, "threshold")]

    def over(each: pl.Expr) -> pl.Expr:
        return each.over(keys) if keys else each

    steps: list[pl.Expr] = []
    for name in measured:
        column = pl.col(name).cast(pl.Float64)
        span = over(column.max() - column.min())
        change = over((column - column.shift(1)).abs())
        steps.append(pl.when(span > 0).then(change / span).fill_null(0.0))
    length, total = over(pl.col("_step").cum_sum()), over(pl.col("_step").sum())
    # 1e-9: many a step is a fraction of the length, whose sum is rounded up or down.
    place = length * (points - 1) / total + 1e-9
    part = pl.when(total > 0).then(place.floor().clip(0, points - 2))
    before, after = (over(pl.col("_part").shift(n)) for n in (1, -1))
    is_kept = (
        (over(pl.len()) <= points)
        | before.ne_missing(pl.col("_part"))
        | after.is_null()
        | (after > pl.col("_part") + 1)
    )
    return (
        frame.with_columns(_step=pl.sum_horizontal(steps))
        .with_columns(_part=part.fill_null(0.0))
        .filter(is_kept)
        .select(names)
    )
