"""Removes the rows of a curve that do not change its picture."""

from collections.abc import Sequence

import polars as pl

#: The number of columns into which a picture is divided, more than its width in pixels.
COLUMNS = 1000


def thin(
    frame: pl.DataFrame, x: str, y: str, keys: Sequence[str] = (), *, columns: int = COLUMNS
) -> pl.DataFrame:
    """Remove the rows of a curve that do not change its picture.

    The range of ``x`` is divided into ``columns``. For each series (combination of ``keys``) and
    column, the first, last, lowest and highest row stay in order (M4,
    doi:10.14778/2732951.2732953), as do both ends of each series. If ``x`` is monotone, a removed
    row is at most one column's width away from the line through the rest. If no series has more
    than ``4 * columns`` rows, all rows stay.
    """
    if frame.height <= 4 * columns:
        return frame
    names = [f"key{i}" for i in range(len(keys))]
    across, up = (pl.col(name).cast(pl.Float64) for name in (x, y))
    work = frame.select(
        *(pl.col(key).alias(name) for key, name in zip(keys, names, strict=True)),
        # Infinite and NaN coordinates cannot be drawn, and would make the range infinite.
        x=pl.when(across.is_finite()).then(across),
        y=pl.when(up.is_finite()).then(up),
    ).with_row_index("row")
    row = pl.col("row")
    ends = work.group_by(names or pl.lit(0)).agg(pl.len(), first=row.first(), last=row.last())
    if ends.select(pl.col("len").max()).item() <= 4 * columns:
        return frame
    low, high = work.select(low=pl.col("x").min(), high=pl.col("x").max()).row(0)
    width = (high - low) / columns if low is not None and high > low else 1.0
    column = ((pl.col("x") - (low or 0.0)) / width).floor().clip(0, columns - 1).alias("column")
    kept = work.group_by([*names, column]).agg(
        first=row.first(),
        last=row.last(),
        low=row.get(pl.col("y").arg_min()),
        high=row.get(pl.col("y").arg_max()),
    )
    rows = [*(kept[name] for name in ("first", "last", "low", "high")), ends["first"], ends["last"]]
    return frame[pl.concat(rows).drop_nulls().unique().sort()]
