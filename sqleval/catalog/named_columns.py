"""Checks the columns that the header of a SQL file names."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from sqleval.catalog.header import CENTRE, TYPES, VARIANCE, find_key_line, make_error
from sqleval.common.names import find_nearest

_Header = Mapping[str, Any]
#: Keys of a header, and what is wrong with them.
_Problems = Iterator[tuple[str, str]]


def check_named_columns(path: Path, text: str, header: _Header, columns: Sequence[str]) -> None:
    """Raise if a header names a column that the file does not return, or a type that is none."""
    finds = (_find_wrong_forms, _find_unknown_columns, _find_wrong_moments, _find_wrong_types)
    for key, problem in (each for find in finds for each in find(header, columns)):
        raise make_error(path, find_key_line(text, key), problem)


def _find_wrong_forms(header: _Header, _: Sequence[str]) -> _Problems:
    if not isinstance(header.get("types") or {}, dict):
        yield "types", "types must be a mapping, name of a column: type"
    band: Any = header.get("band") or []
    if not isinstance(band, list) or len(cast("list[object]", band)) not in (0, 3, 4):
        yield "band", "band must be [x, y, lines], [x, y, steps] or [x, y, points], x and y columns"


def _find_unknown_columns(header: _Header, columns: Sequence[str]) -> _Problems:
    order = str(header.get("order") or "").split(",")
    named: dict[str, Iterable[object]] = {
        **{key: header.get(key) or () for key in ("means", "centres", "variances", "types")},
        "order": [part.split()[0] for part in order if part.strip()],
        "band": (header.get("band") or [])[:2],
        "chart": _list_chart_columns(header.get("chart") or {}),
    }
    for key, name in ((key, name) for key, names in named.items() for name in names):
        if name not in columns:
            near = find_nearest(name, columns) or f"; it returns {', '.join(columns)}"
            yield key, f"{key}: no column {name!r}{near}"


def _find_wrong_moments(header: _Header, columns: Sequence[str]) -> _Problems:
    for key, ending in (("centres", CENTRE), ("variances", VARIANCE)):
        for name in header.get(key) or ():
            if not name.endswith(ending) or name.removesuffix(ending) not in columns:
                yield key, f"{key}: {name!r} must be the name of a column and {ending!r}"


def _find_wrong_types(header: _Header, _: Sequence[str]) -> _Problems:
    types: Mapping[str, object] = header.get("types") or {}
    for name, type_name in types.items():
        if type_name not in TYPES:
            allowed = ", ".join(TYPES)
            yield "types", f"the type of {name} must be one of {allowed}, not {type_name!r}"


def _list_chart_columns(chart: Mapping[str, Any] | str) -> list[Any]:
    if isinstance(chart, str):
        return []
    axes = [chart[axis][0] for axis in ("x", "y") if axis in chart]
    return [*axes, *chart.get("columns", ())]
