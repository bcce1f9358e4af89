"""Which format the dates of CSV files have: one for all files of a source.

DuckDB guesses it from the first rows of a file. For 09/11/2018 it takes the day before the month,
also where 09/13/2018 follows in another file or below these rows.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from glob import escape
from itertools import combinations
from typing import Any, NamedTuple

from sqleval.common.columns import Kind, find_type_kind
from sqleval.common.sql_text import quote, write_literal
from sqleval.engines.duckdb_connection import connect, convert_errors
from sqleval.inputs.source import Source

#: A format of DuckDB's: day, month and year in some order, and perhaps a time of the day.
_FORMAT = re.compile(r"%([dmyY])(\W)%([dmyY])\2%([dmyY])(.*)")
#: The option of DuckDB's reader for the format of a kind of column.
_OPTIONS: Mapping[Kind, str] = {"date": "dateformat", "timestamp": "timestampformat"}


def find_option(text_format: str) -> str:
    """Return the option of DuckDB's reader that takes a format of ``strptime``.

    Examples
    --------
    >>> find_option("%d.%m.%Y"), find_option("%d.%m.%Y %H:%M")
    ('dateformat', 'timestampformat')
    """
    has_time = any(f"%{letter}" in text_format for letter in "HIMScXz")
    return "timestampformat" if has_time else "dateformat"


class _Order(NamedTuple):
    """An order of day, month and year, and the format of each column by it."""

    name: str
    formats: Mapping[str, str]


def settle_dates(source: Source) -> Source:
    """Return a source of CSV files whose dates have the one format that fits all rows.

    Columns whose dates have two readings, or none, are texts that cannot be used.
    """
    reader = source.text_reader
    if not reader.startswith("read_csv"):
        return source
    kinds = _read_kinds(source)
    times = [name for name, kind in kinds.items() if kind in _OPTIONS]
    if not times or not source.files or "dateformat" in reader:
        return source
    guessed = _guess_formats(source)
    parts = {
        name: match
        for name in times
        if (match := _FORMAT.fullmatch(guessed[_OPTIONS[kinds[name]]] or "")) and match[1] != "Y"
    }
    if not parts:
        # By name, each file would have a format of its own.
        return _add_options(source, guessed) if "union_by_name" in reader else source
    orders = _list_orders(parts)
    fitting, example = _find_fitting(source, orders)
    if len(fitting) == 1 or (fitting and not example):
        chosen = {_OPTIONS[kinds[name]]: text for name, text in fitting[0].formats.items()}
        return _add_options(source, guessed | chosen)
    listed = " or ".join(repr(text) for text in _list_formats(fitting or orders))
    reason = (
        f"has dates such as {example!r}, which can be read as {listed}"
        if fitting
        else f"has dates of which no one format fits all ({listed})"
    )
    reason += (
        "; state the format in a query: FROM read_csv('file.csv', dateformat = '%m/%d/%Y'), in a "
        "job by period.format"
    )
    unusable = {**source.unusable, **{name.casefold(): reason for name in parts}}
    return replace(source.read_as(dict.fromkeys(parts, "VARCHAR")), unusable=unusable)


def _run(source: Source, statement: str) -> Sequence[Sequence[Any]]:
    with convert_errors(statement, [source]), connect([source], {}) as con:
        return con.execute(statement).fetchall()


def _read_kinds(source: Source) -> dict[str, Kind]:
    rows = _run(source, f"DESCRIBE SELECT * FROM {source.relation} AS s LIMIT 0")
    return {name: find_type_kind(kind) for name, kind, *_ in rows}


def _guess_formats(source: Source) -> dict[str, str | None]:
    """Return DuckDB's guess for the first file, by option of its reader."""
    first = write_literal(escape(source.files[0]))
    rows = _run(source, f"SELECT DateFormat, TimestampFormat FROM sniff_csv({first})")
    return dict(zip(("dateformat", "timestampformat"), rows[0], strict=True))


def _list_orders(parts: Mapping[str, re.Match[str]]) -> list[_Order]:
    """Return the orders that columns may have, which is one for all columns."""
    are_short = all("y" in match.group(1, 3, 4) for match in parts.values())
    orders = ("dmy", "mdy", "ymd") if are_short else ("dmy", "mdy")
    return [
        _Order(order, {column: _write_format(order, match) for column, match in parts.items()})
        for order in orders
    ]


def _write_format(order: str, match: re.Match[str]) -> str:
    year = "Y" if "Y" in match.group(1, 3, 4) else "y"
    letters = [f"%{year if letter == 'y' else letter}" for letter in order]
    return match[2].join(letters) + match[5]


def _list_formats(orders: Sequence[_Order]) -> list[str]:
    return list(dict.fromkeys(text for order in orders for text in order.formats.values()))


def _find_fitting(source: Source, orders: Sequence[_Order]) -> tuple[list[_Order], str | None]:
    """Return the orders that fit all rows, and a text that two of them read as different dates."""

    def parse(order: _Order, column: str) -> str:
        return f"TRY_STRPTIME({quote(column)}, {write_literal(order.formats[column])})"

    columns = list(orders[0].formats)
    misfits = [
        " OR ".join(f"({quote(c)} IS NOT NULL AND {parse(order, c)} IS NULL)" for c in columns)
        for order in orders
    ]
    pairs = list(combinations(range(len(orders)), 2))
    examples = [
        " || ".join(
            f"[MIN({quote(c)}) FILTER (WHERE {parse(orders[i], c)} <> {parse(orders[j], c)})]"
            for c in columns
        )
        for i, j in pairs
    ]
    selected = ", ".join([*(f"COUNT_IF({each})" for each in misfits), *examples])
    texts = source.read_as(dict.fromkeys(columns, "VARCHAR"))
    (row,) = _run(source, f"SELECT {selected} FROM {texts.relation} AS s")
    counts, found = row[: len(orders)], dict(zip(pairs, row[len(orders) :], strict=True))
    fitting = [i for i, count in enumerate(counts) if not count]
    found_texts: list[str] = [
        text for pair in combinations(fitting, 2) for text in found[pair] if text
    ]
    return [orders[i] for i in fitting], found_texts[0] if found_texts else None


def _add_options(source: Source, formats: Mapping[str, str | None]) -> Source:
    written = [f"{name} = {write_literal(text)}" for name, text in formats.items() if text]
    return source.add_options(", ".join(written)) if written else source
