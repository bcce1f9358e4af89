"""Recognises a header of numbers in CSV files, such as ``0,1,2`` above probabilities.

DuckDB takes a first line of numbers above numbers for a row.
"""

import csv
import re
from collections.abc import Mapping, Sequence

from sqleval.common.columns import Column
from sqleval.engines.duckdb_connection import connect, convert_errors
from sqleval.sources.paths import list_keys
from sqleval.sources.source import Source
from sqleval.sources.stores import read_first_bytes

#: The number of rows below the first line that are looked at.
_ROWS = 100
_WHOLE = re.compile(r"\s*\d+\s*")
_FRACTION = re.compile(r"\s*[+-]?\d*[.,]\d+([eE][+-]?\d+)?\s*")


def settle_header(source: Source, columns: Mapping[str, Column]) -> Source:
    """Return a source of CSV files whose first line is the header, if it is one of numbers.

    That is a line of distinct whole numbers above columns of fractions. Where values could be whole
    numbers as well, a line ``1,0`` may be a row, so it stays one.

    Parameters
    ----------
    source : Source
        Any source. It is returned unchanged if it does not read CSV files.
    columns : mapping of str to Column
        Its columns, which DuckDB names ``column0`` and so on if it has found no header.
    """
    if not source.text_reader.startswith("read_csv") or ", header = " in source.reader_options:
        return source
    if any(_WHOLE.fullmatch(name) for name in columns):
        # DuckDB 1 finds such a header in one file, and may miss it in the next one.
        return source.add_options("header = TRUE") if len(source.files) > 1 else source
    others = {*list_keys(source.files)}
    is_unnamed = len(columns) > 1 and all(
        re.fullmatch(r"column\d+|_sqleval_\w+", name) or name in others for name in columns
    )
    if not is_unnamed:
        return source
    rows = _read_first_rows(source)
    return source.add_options("header = TRUE") if is_header(rows) else source


def _read_first_rows(source: Source) -> list[list[str]]:
    """Return the first rows of the first file as texts."""
    statement = f"SELECT Delimiter, Quote, SkipRows FROM {source.write_sniffer(source.files[0])}"
    with convert_errors(statement, [source]), connect([source], {}) as con:
        ((delimiter, quote, skip),) = con.execute(statement).fetchall()
    encoding = source.reading.options.get("encoding", "utf-8")
    text = read_first_bytes(source.files[0]).decode(encoding, errors="replace")
    # The last line may be cut off.
    lines = text.splitlines()[int(skip) :][: _ROWS + 1]
    lines = lines[:-1] if len(lines) <= _ROWS and not text.endswith("\n") else lines
    quote = quote if len(quote) == 1 else None
    quoting = csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE
    return [*csv.reader(lines, delimiter=delimiter[:1], quotechar=quote, quoting=quoting)]


def is_header(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first of some rows holds names that are numbers.

    Examples
    --------
    >>> is_header([["0", "1"], ["0.3", "0.7"]]), is_header([["1", "0"], ["0.3", "0.7"]])
    (True, False)
    """
    if len(rows) < 2:
        return False
    first = [name.strip() for name in rows[0]]
    numbered = [place for place, name in enumerate(first) if _WHOLE.fullmatch(name)]
    is_plain = len({*first}) == len(first) and all(first) and len(numbered) > 1
    # A row of a model that is certain: 1,0. As names they would be in order.
    names = [first[place] for place in numbered]
    may_be_row = {*names} <= {"0", "1"} and names != sorted(names)
    if not is_plain or may_be_row:
        return False
    others = [row for row in rows[1:] if len(row) == len(first)]
    fractions = [
        place
        for place in numbered
        if 2 * sum(bool(_FRACTION.fullmatch(row[place])) for row in others) > len(others)
    ]
    return 2 * len(fractions) > len(numbered)
