"""What all tests share."""

import os
import re
from typing import Any

# As many workers as cores run already: a second thread of OpenMP or BLAS only waits, and it waits
# by turning round, so that the models of the flights took three times as long. It is asked for
# before anything loads NumPy.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import polars as pl

from sqleval import errors

if int(pl.__version__.split(".")[0]) < 2:
    # Polars 1 wraps what a Python source raises in a ComputeError, as text; Polars 2 raises it.
    # The tests ask for the error itself, so here it is taken out again.
    _collect = pl.LazyFrame.collect

    def collect(self: pl.LazyFrame, *args: Any, **kwargs: Any) -> Any:
        try:
            return _collect(self, *args, **kwargs)
        except pl.exceptions.ComputeError as error:
            match = re.search(r"exception: (\w+Error): (.*)", str(error), re.DOTALL)
            if match and hasattr(errors, match[1]):
                raise getattr(errors, match[1])(match[2]) from error
            raise

    pl.LazyFrame.collect = collect  # type: ignore[method-assign]
