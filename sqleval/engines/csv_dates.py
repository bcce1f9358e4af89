"""Chooses the date format of CSV files: one for all files of a source.

DuckDB guesses the format from the first rows of a file. It reads 09/11/2018 as 9 November even if
09/13/2018 follows in another file or in later rows.
"""

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from itertools import combinations
from typing import Any

from sqleval.common.columns import Column, Kind
from sqleval.common.sql_text import quote, write_literal
from sqleval.engines.duckdb_connection import connect, convert_errors
from sqleval.sources.reading import DATE, describe_misfit
from sqleval.sources.source import Source

#: The number of rows from which a misfit is found, as many as DuckDB guesses types from.
_ROWS = 20_480
#: A date format of DuckDB: day, month and year in any order, and perhaps a time of day.
_FORMAT = re.compile(r"%([dmyY])(\W)%([dmyY])\2%([dmyY])(.*)")
#: The option of DuckDB's reader for the format, by kind of column.
_OPTIONS: Mapping[Kind, str] = {"date": "dateformat", "timestamp": "timestampformat"}


def settle_dates(source: Source, columns: Mapping[str, Column]) -> Source:
    """Return a source of CSV files whose dates have the one format that fits all rows.

    If several formats fit and read a date differently, or none fits, the date columns become texts
    that cannot be used.

    Parameters
    ----------
    source : Source
        Any source. It is returned unchanged if it does not read CSV files.
    columns : mapping of str to Column
        Its columns, with the types that the engine has guessed.
    """
    options = {
        name: _OPTIONS[column.kind]
        for name, column in columns.items()
        # A format in the reader's options decides all columns of its kind.
        if column.kind in _OPTIONS and f", {_OPTIONS[column.kind]} = " not in source.reader_options
    }
    if not source.text_reader.startswith("read_csv") or not options:
        return source
    guessed = _guess_formats(source, {*options.values()})
    parts = {
        name: match
        for name, option in options.items()
        if (match := _FORMAT.fullmatch(guessed.get(option, ""))) and match[1] != "Y"
    }
    # With union_by_name DuckDB would guess a format for each file.
    stated = guessed if ", union_by_name = " in source.reader_options else {}
    if not parts:
        return _add_options(source, stated)
    orders = _list_orders(parts)
    fitting, example = _find_fitting(source, orders)
    if fitting and (len(fitting) == 1 or not example):
        chosen = {options[name]: text for name, text in fitting[0].items()}
        return _add_options(source, stated | chosen)
    formats = dict.fromkeys(text for order in fitting or orders for text in order.values())
    listed = " or ".join(map(repr, formats))
    reason = (
        f"has dates such as {example!r}, which can be read as {listed}"
        if fitting
        else f"has dates that no single format fits ({listed})"
    )
    text = next(iter(orders[0].values()))
    reason += (
        f"; state the format: csv={{'date_format': {text!r}}} (--csv date_format={text!r}), in a "
        "job by period.format"
    )
    unusable = {**source.unusable, **{name.casefold(): reason for name in parts}}
    return replace(source.read_as(dict.fromkeys(parts, "VARCHAR")), unusable=unusable)


def refuse_misfits(source: Source, columns: Mapping[str, Column]) -> Source:
    """Return a source of CSV files whose texts cannot be used where they should be dates.

    These are columns of which most texts look like dates, and that the ``date_format`` given by the
    user does not fit. A condition would compare their texts.
    """
    options = source.reading.options
    text_format, types = options.get("date_format"), dict(options.get("types", ()))
    texts = [n for n, each in columns.items() if each.kind == "text" and n not in types]
    if not source.text_reader.startswith("read_csv") or not text_format or not texts:
        return source
    examples = [
        f"CASE WHEN 2 * COUNT_IF(REGEXP_MATCHES({quote(name)}, {write_literal(DATE)})) > "
        f"COUNT({quote(name)}) THEN MIN({quote(name)}) FILTER (TRY_STRPTIME({quote(name)}, "
        f"{write_literal(text_format)}) IS NULL) END"
        for name in texts
    ]
    row = _run(
        source,
        f"SELECT {', '.join(examples)} FROM (SELECT * FROM {source.relation} AS s LIMIT {_ROWS})",
    )
    unusable = {
        name.casefold(): describe_misfit(name, example, source.reading)
        for name, example in zip(texts, row, strict=True)
        if example is not None
    }
    return replace(source, unusable={**source.unusable, **unusable})


def _run(source: Source, statement: str) -> Sequence[Any]:
    """Return the only row of a statement."""
    with convert_errors(statement, [source]), connect([source], {}) as con:
        (row,) = con.execute(statement).fetchall()
        return row


def _guess_formats(source: Source, options: Set[str]) -> dict[str, str]:
    """Return DuckDB's guesses, by option, for the first file with such columns."""
    guessed: dict[str, str] = {}
    for file in source.files:
        row = _run(source, f"SELECT DateFormat, TimestampFormat FROM {source.write_sniffer(file)}")
        formats = zip(("dateformat", "timestampformat"), row, strict=True)
        guessed = {name: text for name, text in formats if text is not None} | guessed
        if options <= guessed.keys():
            break
    return guessed


def _list_orders(parts: Mapping[str, re.Match[str]]) -> list[dict[str, str]]:
    """Return the format of each column, for each usual order of day, month and year.

    All columns have the same order.
    """
    are_short = all("y" in match.group(1, 3, 4) for match in parts.values())
    orders = ("dmy", "mdy", "ymd") if are_short else ("dmy", "mdy")
    return [
        {column: _write_format(order, match) for column, match in parts.items()} for order in orders
    ]


def _write_format(order: str, match: re.Match[str]) -> str:
    year = "Y" if "Y" in match.group(1, 3, 4) else "y"
    letters = [f"%{year if letter == 'y' else letter}" for letter in order]
    return match[2].join(letters) + match[5]


def _find_fitting(
    source: Source, orders: Sequence[Mapping[str, str]]
) -> tuple[list[Mapping[str, str]], str | None]:
    """Return the orders that fit all rows, and a text that two of them read as different dates."""

    def parse(order: Mapping[str, str], column: str) -> str:
        return f"TRY_STRPTIME({quote(column)}, {write_literal(order[column])})"

    columns = list(orders[0])
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
    row = _run(source, f"SELECT {selected} FROM {texts.relation} AS s")
    fitting = [i for i in range(len(orders)) if not row[i]]
    by_pair = dict(zip(pairs, row[len(orders) :], strict=True))
    examples_read: list[str | None] = [
        text for pair in combinations(fitting, 2) for text in by_pair[pair]
    ]
    return [orders[i] for i in fitting], next(filter(None, examples_read), None)


def _add_options(source: Source, formats: Mapping[str, str]) -> Source:
    written = [f"{name} = {write_literal(text)}" for name, text in formats.items()]
    return source.add_options(", ".join(written)) if written else source
