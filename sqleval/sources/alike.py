"""Renames columns of a frame whose names differ only in case, which SQL does not tell apart."""

from collections.abc import Sequence
from typing import Any

import polars as pl


def _number_names(names: Sequence[str]) -> list[str]:
    """Return the names; one that differs only in case from an earlier one gets a number.

    Examples
    --------
    >>> _number_names(["Label", "label", "p"])
    ['Label', 'label_1', 'p']
    """
    taken, numbered = set[str](), list[str]()
    for name in names:
        new, number = name, 0
        while new.casefold() in taken:
            number += 1
            new = f"{name}_{number}"
        taken.add(new.casefold())
        numbered.append(new)
    return numbered


def rename_alike(source: object) -> object:
    """Return a frame with names as DuckDB gives them to the columns of a file.

    Other objects are returned as they are.
    """
    frame: Any = source
    if isinstance(source, (pl.DataFrame, pl.LazyFrame)):
        names = source.collect_schema().names()
        numbered = _number_names(names)
        return (
            source if numbered == names else source.rename(dict(zip(names, numbered, strict=True)))
        )
    kind = type(source)
    if kind.__module__.split(".")[0] == "pyarrow" and kind.__name__ in ("Table", "RecordBatch"):
        names = list(frame.schema.names)
        numbered = _number_names(names)
        return frame if numbered == names else frame.rename_columns(numbered)
    if kind.__module__.split(".")[0] == "pandas" and hasattr(frame, "columns"):
        names = list(map(str, frame.columns))
        numbered = _number_names(names)
        # Two columns of one name are refused when the frame is opened.
        if numbered != names and len({*names}) == len(names):
            return frame.set_axis(numbered, axis=1)
    return frame
