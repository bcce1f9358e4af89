"""Defines the columns of results and their Polars types."""

import polars as pl

from sqleval.binding.binding import Binding
from sqleval.common.columns import is_integer

#: Columns of a result of metrics, after its slice keys.
TALL = pl.Schema(
    {
        "metric": pl.String, "value": pl.Float64, "low": pl.Float64, "high": pl.Float64,
        "n": pl.Int64, "n_dropped": pl.Int64, "method": pl.String, "note": pl.String,
    }
)  # fmt: skip
#: Columns of a statement that a result does not keep.
HIDDEN = pl.Schema(
    {
        "_problem": pl.String, "_notice": pl.String,
        "_successes": pl.Float64, "_trials": pl.Float64,
    }
)  # fmt: skip


def get_class_type(binding: Binding) -> pl.DataType:
    """Return the type of the classes: whole numbers, or texts."""
    if binding.many is not None:
        return pl.Int64() if is_integer(binding.many.label.type) else pl.String()
    texts = binding.has_several_classes and not is_integer(binding.role["label"].type)
    return pl.String() if texts else pl.Int64()


def get_column_type(binding: Binding, kind: str | None) -> pl.DataType:
    """Return the type of a curve's column; ``kind`` is one of `header.TYPES`."""
    if kind == "class":
        return get_class_type(binding)
    if kind == "integer" or (kind == "count" and not binding.has_fractions):
        return pl.Int64()
    return pl.String() if kind == "text" else pl.Float64()
