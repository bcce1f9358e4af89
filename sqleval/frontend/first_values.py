"""Reads the first values of columns, by which the input is read (`sqleval.inputs.reading`)."""

from collections.abc import Sequence
from math import isnan
from typing import NamedTuple

from sqleval.common.columns import NUMBERS, Column
from sqleval.common.sql_text import quote
from sqleval.engines.base import Engine
from sqleval.inputs.binding import Labels
from sqleval.inputs.source import Source

#: The rows that are looked at.
_ROWS = 1000
#: Up to this many files, the extremes in their footers are read.
_MOST_FOOTERS = 100


class FirstValues(NamedTuple):
    """The sources of an input, whose first rows are read when a task is chosen by them."""

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
        """Return the values of columns in the first rows, without those that are missing.

        Parameters
        ----------
        joined : Labels or None
            The join with late labels.
        condition : str or None
            The condition on rows of the source ``s``.
        condition_columns : sequence of str
            The columns that it reads.
        columns : sequence of (str, Column)
            The columns, each with its role.
        """
        found: list[list[object]] = []
        for role, column in columns:
            is_late = joined is not None and role in joined.roles
            where = None if is_late else condition
            source = self.labels if is_late else self.source
            assert source is not None
            rows = self._run(source, column, where, condition_columns)
            found.append([value for row in rows for value in row if not _is_missing(value)])
        return found

    def _run(
        self, source: Source, column: Column, condition: str | None, also: Sequence[str]
    ) -> Sequence[Sequence[object]]:
        """Return the first values of a column, and its extremes where footers have them."""
        read = also if condition else ()
        names = [column.name, *(name for name in read if name != column.name)]
        shown = ", ".join(f"s.{quote(name)}" for name in names)
        where = f" WHERE ({condition})" if condition else ""
        statement = (
            f"SELECT DISTINCT s.{quote(column.name)} FROM "
            f"(SELECT {shown} FROM {source.relation} AS s LIMIT {_ROWS}) AS s{where}"
        )
        if source.peek is not None:
            return self.engine.rows(statement, {}, [source], {source.name: source.peek(_ROWS)})
        rows = self.engine.rows(statement, {}, [source], source.objects(names))
        if condition is None and column.kind in NUMBERS and _has_footers(source):
            name = f"s.{quote(column.name)}"
            extremes = f"SELECT MIN({name}), MAX({name}) FROM {source.relation} AS s"
            rows = [*rows, *self.engine.rows(extremes, {}, [source], {})]
        return rows


def _has_footers(source: Source) -> bool:
    """Whether the engine answers the extremes of a column from the footers of few files."""
    is_plain = source.relation.startswith("read_parquet(") and source.make is None
    return is_plain and 0 < len(source.files) <= _MOST_FOOTERS


def _is_missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and isnan(value))
