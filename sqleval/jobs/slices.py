"""Writes slice keys as the text that the history has."""

from collections.abc import Sequence

import polars as pl


def write_slices(frame: pl.DataFrame, names: Sequence[str]) -> pl.Series:
    """Return the slice keys of each row as a JSON object."""
    if not names:
        return pl.repeat("{}", frame.height, dtype=pl.String, eager=True)
    # By name and not by pl.col, which reads a name such as ^.*$ as a pattern.
    # Each key alone: a number that a NULL made a float keeps the text of its value, 1 and not 1.0.
    parts = [_write_key(frame[name]) for name in names]
    return pl.select(pl.lit("{") + pl.concat_str(parts, separator=",") + "}").to_series()


def _write_key(key: pl.Series) -> pl.Series:
    """Return a slice key as the inside of a JSON object; a whole number is a number in it."""
    # By name and not by pl.col, which reads a name such as ^.*$ as a pattern.
    name = key.name
    if key.dtype.is_integer() or key.dtype == pl.Boolean:
        return _write_object(key)
    if not key.dtype.is_float():
        return _write_object(key.cast(pl.String).alias(name))
    is_whole = (key == key.floor()) & (key.abs() < 2.0**53)
    whole = _write_object(key.set(~is_whole.fill_null(value=False), None).cast(pl.Int64))
    return whole.zip_with(is_whole | key.is_null(), _write_object(key.cast(pl.String).alias(name)))


def _write_object(key: pl.Series) -> pl.Series:
    """Return the value of a key with its name as JSON, without the braces."""
    return key.to_frame().to_struct().struct.json_encode().str.slice(1).str.strip_suffix("}")
