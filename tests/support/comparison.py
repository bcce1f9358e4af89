"""Comparison of results whose values are sums of doubles."""

from typing import Any

import polars as pl
from polars import testing


def assert_frame_equal(
    left: pl.DataFrame | pl.LazyFrame,
    right: pl.DataFrame | pl.LazyFrame,
    *,
    rel_tol: float = 1e-12,
    abs_tol: float = 1e-12,
    **options: Any,
) -> None:
    """Assert that frames are equal except for rounding; Polars' default allows 1e-5 of a value.

    Sums of doubles agree to 1e-12, whatever the threads and the order of rows.
    """
    testing.assert_frame_equal(left, right, rel_tol=rel_tol, abs_tol=abs_tol, **options)  # type: ignore


def assert_same_result(found: pl.LazyFrame, expected: pl.LazyFrame | pl.DataFrame) -> None:
    """Assert that a frame equals DuckDB's, except for the units of an engine's types."""
    one, other = found.collect(), expected.lazy().collect()
    assert one.schema == other.schema
    drop = ["method"] if "method" in one.columns else []
    assert_frame_equal(one.drop(drop), other.drop(drop), abs_tol=1e-9, rel_tol=1e-9)
