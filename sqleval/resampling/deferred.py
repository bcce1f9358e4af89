"""Creates lazy frames of results that Python completes after a statement has run."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import polars as pl

from sqleval.common.telemetry import keep_span
from sqleval.engines.lazy_frames import create_lazy_frame


def defer_frame(compute: Callable[[], pl.DataFrame], schema: pl.Schema) -> pl.LazyFrame:
    """Return a lazy frame whose rows are computed when it is collected.

    Parameters
    ----------
    compute : callable
        Returns the rows.
    schema : polars.Schema
        Their columns and types.

    Examples
    --------
    >>> frame = defer_frame(lambda: pl.DataFrame({"n": [1, 2]}), pl.Schema({"n": pl.Int64}))
    >>> frame.filter(pl.col("n") > 1).collect()["n"].to_list()
    [2]
    """

    def read(
        columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, _: int | None
    ) -> Iterator[pl.DataFrame]:
        frame = compute()
        frame = frame if n_rows is None else frame.head(n_rows)
        frame = frame if predicate is None else frame.filter(predicate)
        yield frame if columns is None else frame.select(columns)

    return create_lazy_frame(keep_span(read), schema)
