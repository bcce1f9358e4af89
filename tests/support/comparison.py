"""Comparison of results whose values are sums of doubles."""

import polars as pl
from polars.testing import assert_frame_equal


def assert_same(got: pl.DataFrame, wanted: pl.DataFrame) -> None:
    """Compare two results; sums of doubles repeat to 1e-12, whatever the threads and row order."""
    assert_frame_equal(got, wanted, check_exact=False, rel_tol=1e-12, abs_tol=1e-12)
