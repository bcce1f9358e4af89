"""Converts column types of an engine to Polars types."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import polars as pl

from sqleval.binding.binding import Binding
from sqleval.common.columns import Column, fits_frame
from sqleval.engines.base import Engine
from sqleval.engines.embedded import embedded
from sqleval.errors import RequestError


def find_key_types(binding: Binding, engine: Engine | None = None) -> pl.Schema:
    """Return the slice keys and the Polars types that their DuckDB types become."""
    for column in binding.by:
        if column.kind != "enum" and not fits_frame(column.type):
            raise RequestError(
                f"by={column.name!r} is {column.type}, and Polars has neither INTERVAL nor UNION; "
                "a slice key can be its text, CAST(... AS VARCHAR)"
            )
    types: dict[str, Any] = dict(find_polars_types(binding.by, engine))
    types |= {name: pl.String() for name in binding.key_names if name not in types}
    return pl.Schema(types)


def find_polars_types(
    columns: Sequence[Column], engine: Engine | None = None
) -> dict[str, pl.DataType]:
    """Return the columns' names and the Polars types that their DuckDB types become."""
    types = _read_frame_types(tuple(column.type for column in columns), engine)
    return dict(zip((column.name for column in columns), types, strict=True))


@lru_cache(maxsize=256)
def _read_frame_types(types: tuple[str, ...], engine: Engine | None) -> tuple[pl.DataType, ...]:
    if not types:
        return ()
    nulls = ", ".join(f"CAST(NULL AS {kind}) AS c{i}" for i, kind in enumerate(types))
    engine = engine or embedded()
    return tuple(engine.run(f"SELECT {nulls} LIMIT 0", {}, [], {}, pl.DataFrame).dtypes)
