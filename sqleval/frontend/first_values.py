"""Reads the first values of columns, from which `sqleval.binding.reading` infers the task."""

from collections.abc import Sequence
from math import isnan
from typing import NamedTuple

from sqleval.binding.label_keys import Labels
from sqleval.common.columns import NUMBERS, Column
from sqleval.common.sql_text import quote
from sqleval.engines.base import Engine
from sqleval.sources.source import Source

#: Number of rows to look at.
_ROWS = 1000
#: Footers of files are read for extremes up to this number of files.
_MOST_FOOTERS = 100


class FirstValues(NamedTuple):
    """The sources of an input; their first rows are read if the task depends on them."""

    source: Source
    labels: Source | None
    engine: Engine

    def read(
        self,
        joined: Labels | None,
        condition: str | None,
        condition_columns: Sequence[str],
        columns: Sequence[tuple[str, Column]],
    ) -> list[list[object]]:
        """Return the values of columns in the first rows, without missing ones.

        Parameters
        ----------
        joined : Labels or None
            The join with late labels.
        condition : str or None
            The condition on rows of the source ``s``.
        condition_columns : sequence of str
            The columns that the condition reads.
        columns : sequence of (str, Column)
            The columns, each with its role.
        """
        late = () if joined is None else joined.roles
        values: dict[bool, dict[str, list[object]]] = {}
        for source, is_late in ((self.source, False), (self.labels, True)):
            chosen = [column for role, column in columns if (role in late) is is_late]
            if source is not None and chosen:
                where = None if is_late else condition
                values[is_late] = self._run(source, chosen, where, condition_columns)
        return [values[role in late][column.name] for role, column in columns]

    def _run(
        self,
        source: Source,
        columns: Sequence[Column],
        condition: str | None,
        also: Sequence[str],
    ) -> dict[str, list[object]]:
        """Return the first values of columns, and their extremes if footers have them."""
        names = list(dict.fromkeys(column.name for column in columns))
        read = list(dict.fromkeys([*names, *(also if condition else ())]))
        shown = ", ".join(f"s.{quote(name)}" for name in read)
        where = f" WHERE ({condition})" if condition else ""
        selected = ", ".join(f"s.{quote(name)}" for name in names)
        statement = (
            f"SELECT DISTINCT {selected} FROM "
            f"(SELECT {shown} FROM {source.relation} AS s LIMIT {_ROWS}) AS s{where}"
        )
        peek = source.peek
        objects = source.objects(read) if peek is None else {source.name: peek(_ROWS)}
        rows = self.engine.rows(statement, {}, [source], objects)
        found = {name: [row[i] for row in rows] for i, name in enumerate(names)}
        numbers = list(dict.fromkeys(c.name for c in columns if c.kind in NUMBERS))
        if numbers and condition is None and peek is None and _has_footers(source):
            ends = ", ".join(f"MIN(s.{quote(name)}), MAX(s.{quote(name)})" for name in numbers)
            extremes = f"SELECT {ends} FROM {source.relation} AS s"
            (row,) = self.engine.rows(extremes, {}, [source], {})
            for i, name in enumerate(numbers):
                found[name] += row[2 * i : 2 * i + 2]
        return {
            name: [value for value in values if not _is_missing(value)]
            for name, values in found.items()
        }


def _has_footers(source: Source) -> bool:
    """Return whether the engine can read a column's extremes from the footers of a few files."""
    is_plain = source.relation.startswith("read_parquet(") and source.make is None
    return is_plain and 0 < len(source.files) <= _MOST_FOOTERS


def _is_missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and isnan(value))
