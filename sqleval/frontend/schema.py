"""The columns of results and their Polars types."""

import polars as pl

from sqleval.common.columns import is_integer
from sqleval.inputs.binding import Binding

#: The columns of a tall result after its slice keys.
TALL = pl.Schema(
    {
        "metric": pl.String, "value": pl.Float64, "low": pl.Float64, "high": pl.Float64,
        "method": pl.String, "n": pl.Int64, "n_dropped": pl.Int64, "note": pl.String,
    }
)  # fmt: skip


def type_of(binding: Binding, column: str) -> pl.DataType:
    """Return the type of a curve's column: rates and thresholds, or classes and counts."""
    if column in ("n", "support", "predictions") and not binding.weighted:
        return pl.Int64()
    if column in ("model", "other_model", "above"):
        return pl.String()
    if column in ("bin",):
        return pl.Int64()
    if column in ("label", "prediction", "class"):
        several = binding.task == "multiclass" and not is_integer(binding.role["label"].type)
        return pl.String() if several else pl.Int64()
    return pl.Float64()
