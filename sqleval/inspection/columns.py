"""Describes the columns of a source by aggregates, reading each column once."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from sqleval.common.columns import Column, Kind, is_float
from sqleval.common.sql_text import quote, write_present_test
from sqleval.engines.embedded import embedded
from sqleval.inspection.findings import Finding, format_number, format_share
from sqleval.sources.source import Source

#: Up to this size, distinct values are counted exactly. In larger sources that takes five times as
#: long as an estimate, and nine times the memory (6 million rows of 10 columns).
_EXACT_ROWS, _EXACT_BYTES = 1_000_000, 20_000_000
#: Columns per statement: the time of planning grows with their square.
_TOGETHER = 1_000
#: For CSV and JSON, where each statement guesses the types anew: seconds for wide files.
_TOGETHER_OF_TEXT = 2_500
#: Values per statement that counts distinct ones.
_MOST_VALUES = 20_000_000
#: Kinds whose order has no meaning.
_OPAQUE: tuple[Kind, ...] = ("nested", "binary", "interval", "other")


class Facts(NamedTuple):
    """Aggregates of a column.

    ``low`` and ``high`` are the extremes of finite values. ``distinct`` counts values except NULL
    and NaN; it is an estimate unless ``is_exact``, and 0 for lists, structs and the like.
    """

    column: Column
    rows: int
    present: int
    low: Any
    high: Any
    distinct: int
    is_exact: bool
    nan: int
    infinite: int

    @property
    def name(self) -> str:
        """The column's name."""
        return self.column.name

    @property
    def value(self) -> str:
        """The SQL of the column's value in the row ``s``."""
        return f"s.{quote(self.name)}"

    def write_test(self, *, finite: bool) -> str:
        """Return the SQL test that a value is present and, if ``finite``, finite."""
        return write_present_test(self.value, self.column.type, finite=finite)

    @property
    def missing(self) -> int:
        """The number of rows with NULL or NaN."""
        return self.rows - self.present + self.nan

    @property
    def is_constant(self) -> bool:
        """Whether all rows have the same value."""
        whole = self.rows > 1 and not self.missing and not self.infinite
        return whole and self.low is not None and self.low == self.high

    @property
    def has_two_values(self) -> bool:
        """Whether the count of distinct values is two."""
        return self.low is not None and self.low != self.high and self.distinct <= 2

    @property
    def is_probability(self) -> bool:
        """Whether the column holds fractions from 0 to 1, and not only 0 and 1."""
        if self.low is None or self.distinct <= 2:
            return False
        is_real = is_float(self.column.type) or self.column.kind == "decimal"
        return is_real and self.low >= 0 and self.high <= 1


def read_rows(
    source: Source, select: str, columns: Sequence[str], tail: str = ""
) -> list[tuple[Any, ...]]:
    """Return the rows, which must be few, of a SELECT from the source as ``s``."""
    statement = f"SELECT {select} FROM {source.relation} AS s{tail}"
    return embedded().rows(statement, {}, [source], source.objects(columns))


def describe_columns(source: Source, columns: Mapping[str, Column]) -> tuple[int, list[Facts]]:
    """Return the number of rows, and the aggregates of each column.

    A column is left out if files give it different types.
    """
    is_exact = bool(
        source.rows <= _EXACT_ROWS
        if source.rows is not None
        else source.files and source.bytes <= _EXACT_BYTES
    )
    chosen = [column for column in columns.values() if not column.unusable]
    rows, facts = 0, list[Facts]()
    together = _TOGETHER_OF_TEXT if source.text_reader else _TOGETHER
    for start in range(0, len(chosen), together):
        rows, described = _describe_together(source, chosen[start : start + together], is_exact)
        facts += described
    return rows, facts


def _describe_together(
    source: Source, chosen: Sequence[Column], is_exact: bool
) -> tuple[int, list[Facts]]:
    """Return the number of rows, and the aggregates of columns, from few statements."""
    parts = [part for column in chosen for part in _write_aggregates(column)]
    names = [column.name for column in chosen]
    ((rows, *counts),) = read_rows(source, ", ".join(["COUNT(*)", *parts]), names)
    facts: list[Facts] = []
    for i, column in enumerate(chosen):
        here, low, high, distinct, finite = counts[5 * i : 5 * i + 5]
        distinct = min(max(distinct, int(low != high) + 1), here) if low is not None else 0
        facts.append(Facts(column, rows, here, low, high, distinct, is_exact, 0, here - finite))
    counted = _count_exactly(source, facts) if is_exact else {}
    facts = [f._replace(distinct=counted.get(f.name, f.distinct)) for f in facts]
    odd = {f.name: f for f in facts if f.infinite}
    odd = _describe_finite(source, [*odd.values()]) if odd else {}
    return rows, [odd.get(f.name, f) for f in facts]


def _write_aggregates(column: Column) -> list[str]:
    """Return the aggregates of a column: present, low, high, distinct, finite."""
    value = f"s.{quote(column.name)}"
    if column.kind in _OPAQUE:
        return [f"COUNT({value})", "NULL", "NULL", "0", f"COUNT({value})"]
    count = f"COUNT({value})"
    if is_float(column.type):
        # MIN and MAX could not tell: DuckDB may take them from statistics that ignore NaN.
        count = f"COUNT(CASE WHEN {write_present_test(value, column.type, finite=True)} THEN 1 END)"
    bounds = [f"MIN({value})", f"MAX({value})", f"APPROX_COUNT_DISTINCT({value})"]
    return [f"COUNT({value})", *bounds, count]


def _count_exactly(source: Source, facts: Sequence[Facts]) -> dict[str, int]:
    """Return the exact number of distinct values of each column; NaN is a value.

    A COUNT(DISTINCT) without groups takes 60 ms a column, even of few rows. So the columns of a
    type become rows, with the column's number as group.
    """
    by_type: dict[str, list[str]] = {}
    for f in facts:
        if f.present and f.column.kind not in _OPAQUE:
            by_type.setdefault(f.column.type, []).append(f.name)
    counted: dict[str, int] = {}
    most = max(_MOST_VALUES // max(facts[0].rows, 1), 1)
    for names in by_type.values():
        for start in range(0, len(names), most):
            some = names[start : start + most]
            values = ", ".join(f"s.{quote(name)}" for name in some)
            inside = (
                f"SELECT UNNEST([{values}]) AS value, UNNEST(RANGE({len(some)})) AS place "
                f"FROM {source.relation} AS s"
            )
            nested = replace(source, relation=f"({inside})")
            select, tail = "s.place, COUNT(DISTINCT s.value)", " GROUP BY s.place"
            for place, distinct in read_rows(nested, select, some, tail):
                counted[some[place]] = distinct
    return counted


def _describe_finite(source: Source, facts: Sequence[Facts]) -> dict[str, Facts]:
    """Return the aggregates of columns with NaN or infinite values."""
    parts: list[str] = []
    for f in facts:
        finite = f"CASE WHEN {f.write_test(finite=True)} THEN {f.value} END"
        number = f"CASE WHEN {f.write_test(finite=False)} THEN 1 END"
        parts += [f"MIN({finite})", f"MAX({finite})", f"COUNT({number})"]
    (counts,) = read_rows(source, ", ".join(parts), [f.name for f in facts])
    described: dict[str, Facts] = {}
    for i, f in enumerate(facts):
        low, high, numbers = counts[3 * i : 3 * i + 3]
        nan = f.present - numbers
        least = int(low != high) + 1 if low is not None else 0
        described[f.name] = f._replace(
            low=low,
            high=high,
            distinct=min(max(f.distinct - (nan > 0), least), numbers),
            nan=nan,
            infinite=f.infinite - nan,
        )
    return described


def format_distinct(facts: Facts) -> str:
    """Return the number of distinct values; an estimate has ~ and three digits."""
    if facts.is_exact or facts.distinct < 10:
        return f"{facts.distinct:,}"
    step = 10 ** max(len(str(facts.distinct)) - 3, 0)
    return f"~{round(facts.distinct / step) * step:,}"


def shorten_type(facts: Facts) -> str:
    """Return the type of a column, without the fields of a struct of many."""
    return facts.column.type.split("(")[0] if len(facts.column.type) > 20 else facts.column.type


def describe_values(facts: Facts) -> str:
    """Return the values of a column in a few words."""
    if facts.column.kind in _OPAQUE:
        return shorten_type(facts)
    if facts.low is None:
        return f"{format_distinct(facts)} distinct" if facts.present else "no values"
    low, high = format_number(facts.low), format_number(facts.high)
    if facts.has_two_values:
        return f"two values, {low} and {high}"
    if facts.is_probability:
        return f"numbers in 0 .. 1, {format_distinct(facts)} distinct"
    return f"{format_distinct(facts)} distinct, {low} to {high}"


def describe_column(facts: Facts) -> Finding:
    """Return the line about a column."""
    parts = [shorten_type(facts)]
    if facts.distinct:
        parts.append(f"{format_distinct(facts)} distinct")
    if facts.low is not None:
        parts.append(f"{format_number(facts.low)} to {format_number(facts.high)}")
    if facts.missing:
        parts.append(f"{format_share(facts.missing, facts.rows)} missing")
    return Finding("column", facts.name, ", ".join(parts))
